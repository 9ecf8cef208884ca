# SPDX-License-Identifier: GPL-2.0-only
"""Annotations of pods become settings of their groups: ioband-node beside containerd.

containerd is real, asked for pods as the kubelet asks it.  The API server of the cluster is a
small one of the laboratory.
"""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from harness.compete import DISK, SETTLE_S
from harness.containers import Containers, Pod, containers
from harness.crio import Crio
from harness.devices import VolumeGroup, mounted, null_blk
from harness.guest import Guest
from harness.node import CLASS_FILE, LVM_SOCKET, Cluster, Node, ioband_node, node_program, put
from harness.prometheus import promtool
from harness.tool import Tool
from harness.waiting import wait_until
from prometheus_client.parser import text_string_to_metric_families
from test_insert import hidden_gone

# The time is that of the guest's instructions: a busy host makes no start of a container late.
pytestmark = pytest.mark.guest(systemd=True, icount=True)

long = pytest.mark.long("a pod takes an emulated processor seconds, and containerd ten")

CLASSES = """
classes:
  gold: {weight: 300}
  capped: {weight: 100, maximum: "rbps=4MiB", namespaces: ["batch-*"]}
bounds:
  weight: {min: idle, max: 500}
  minimum: "rbps=8MiB"
  maximum: any
  latency: 5ms
"""
VOLUMES = """
volumes:
  - {match: "vg1/wrapped*", how: wrap, pool: vg1}
  - {match: "vg1/*", how: insert, pool: vg1}
"""
CONFIG = CLASSES + VOLUMES
# Of a node with two pools, which has all of the administrator's means.
ALL = f"""{CLASSES}
classFile: {CLASS_FILE}
volumes:
  - {{match: "vg1/*", how: insert, pool: vg1}}
  - {{match: "vg2/*", how: insert, pool: vg2}}
"""
# goresctrl's format, of which containerd has the annotation too.
CLASSES_OF_A_FILE = """
Classes:
  slow:
    - Weight: "50"
    - Devices: [{disk}]
      ThrottleReadBps: 4Mi
"""
POOLS = ("vg1", "vg2")
CLASS = "blockio.resources.beta.kubernetes.io/pod"
CONTAINER_CLASS = "blockio.resources.beta.kubernetes.io/container.main"
OWN_CLASS = "ioband.io/class"
WEIGHT = "ioband.io/weight"
MINIMUM = "ioband.io/minimum"
MAXIMUM = "ioband.io/maximum"
LATENCY = "ioband.io/latency"
WINDOW_S = 6
# As much random reading as the volume takes.
FIO = (
    *("/usr/bin/fio", "--name=job", "--filename=/dev/volume", "--rw=randread", "--bs=64k"),
    *("--iodepth=16", "--ioengine=libaio", "--direct=1", "--thread", "--norandommap"),
    *("--time_based", "--runtime=3600"),
)
USR = {"/usr": "/usr"}
OUT = "/run/out"
# Edits of a pod, each of all annotations, and what "iobandctl groups --weights" has of it then.
EDITS = (
    ({LATENCY: "20ms"}, "latency=20000"),
    ({MINIMUM: "rbps=1MiB"}, f"min={1 << 20},0,0,0"),
    ({MAXIMUM: "wiops=200"}, "max=max,max,max,200"),
    ({WEIGHT: "400"}, "weight=400"),
    ({WEIGHT: "idle"}, "weight=idle"),
    ({CLASS: "gold"}, "weight=300"),
)
# $1: the FIFO of the API server, $2: a command for it, $3: iobandctl, $4: a line;
# how many milliseconds until iobandctl prints the line.
AWAIT = """
start=$(date +%s%3N)
echo "$2" >"$1"
until "$3" groups --weights | grep -qxF "$4"; do
	[ $(($(date +%s%3N) - start)) -lt 20000 ] || exit 1
done
echo $(($(date +%s%3N) - start))
"""
# iobandctl that takes long to set, and notes when it has: $0 is in OUT.
SLOW = """#!/bin/sh
[ "$1" = set ] || exec {program} "$@"
sleep 0.2
{program} "$@" || exit
cut -d ' ' -f 1 /proc/uptime >>{out}/set
"""


@dataclass
class Rig:
    """A node of a cluster, with the volumes vg1/a and vg1/b."""

    guest: Guest
    tool: Tool
    runtime: Containers
    node: Node
    group: VolumeGroup | None = None

    @property
    def cluster(self) -> Cluster:
        """The API server."""
        return self.node.cluster

    def run(self, *pods: Pod) -> None:
        """Run pods that the cluster knows."""
        self.cluster.put(*pods)
        self.runtime.run(*pods)

    def settings(self, path: str) -> dict[str, dict[str, int]]:
        """The settings of a cgroup that were made, by pool."""
        found = {}
        for row in self.tool.json("groups", "--weights"):
            if row["group"] == path:
                found[row["pool"]] = {
                    kind: value
                    for kind, value in row.items()
                    if value and kind.startswith(("weight", "max_", "min_", "latency_"))
                }
        return found

    def compare(self) -> None:
        """Have ioband-node compare all, as after a change of a device."""
        self.guest.run(["udevadm", "trigger", "--action=change", "--sysname-match=dm-*"])
        self.guest.run(["udevadm", "settle"])
        self.guest.sleep(2)

    def await_settings(self, pod: Pod, settings: dict[str, dict[str, int]]) -> float:
        """Soon a pod has settings, by pool; returns the seconds that it took."""
        path = pod.cgroup(self.runtime.systemd)
        return wait_until(
            self.guest,
            lambda: self.settings(path) == settings,
            f"{pod.name} has {self.settings(path)}",
        )

    def await_events(self, pod: Pod, *events: tuple[str, str]) -> None:
        """Soon a pod has such events and no others: their reasons, and a word of each."""
        wait_until(
            self.guest,
            lambda: len(self.cluster.events(pod)) >= len(events),
            f"{pod.name} has {self.cluster.events(pod)}",
        )
        found = sorted(self.cluster.events(pod))
        assert [reason for reason, _ in found] == sorted(reason for reason, _ in events), found
        for reason, word in events:
            assert any(reason == of and word in message for of, message in found), (word, found)

    def weights(self) -> dict[str, int]:
        """The weights of cgroups that were set, by path."""
        rows = self.tool.json("groups", "--weights")
        return {row["group"]: row["weight"] for row in rows}

    def weight(self, pod: Pod) -> int | None:
        """The weight of a pod that was set."""
        return self.weights().get(pod.cgroup(self.runtime.systemd))

    def bytes(self, pod: Pod) -> int:
        """What a pod did through ioband."""
        return self.bytes_of(pod)[0]

    def bytes_of(self, *pods: Pod) -> list[int]:
        """What pods did through ioband, all at one moment."""
        rows = [row for row in self.tool.json("stat") if row["op"] == "total" and row["path"]]
        paths = [pod.cgroup(self.runtime.systemd) for pod in pods]
        return [sum(row["bytes"] for row in rows if row["path"].startswith(path)) for path in paths]

    def rate(self, pod: Pod) -> float:
        """What a pod does in a second."""
        start, start_ms = self.bytes(pod), self.guest.now_ms()
        self.guest.sleep(WINDOW_S)
        end, end_ms = self.bytes(pod), self.guest.now_ms()
        return 1000 * (end - start) / (end_ms - start_ms)

    def ratio(self, one: Pod, other: Pod) -> float:
        """What one pod gets by what another gets."""
        wait_until(self.guest, lambda: all(self.bytes_of(one, other)), "both pods do I/O", 60)
        self.guest.sleep(SETTLE_S)
        before = self.bytes_of(one, other)
        self.guest.sleep(WINDOW_S)
        after = self.bytes_of(one, other)
        return (after[0] - before[0]) / (after[1] - before[1])

    def await_weight(self, pod: Pod, weight: int | None) -> None:
        """Soon a pod has a weight."""
        wait_until(self.guest, lambda: self.weight(pod) == weight, f"{pod.name} has not {weight}")

    def event(self, pod: Pod) -> tuple[str, str]:
        """The one event that a pod has soon."""
        wait_until(self.guest, lambda: self.cluster.events(pod), f"no event of {pod.name}")
        (event,) = self.cluster.events(pod)
        return event


def paths(group: dict[str, Any]) -> Iterator[str]:
    """The paths of a group and those below it."""
    if group.get("path"):
        yield group["path"]
    for child in group.get("children", []):
        yield from paths(child)


@contextlib.contextmanager
def volumes(tool: Tool, name: str = "vg1") -> Iterator[VolumeGroup]:
    """The volumes a and b of a group, on a disk that does a thousand I/Os a second."""
    guest = tool.guest
    with (
        null_blk(guest, memory_backed=1, **DISK) as disk,
        VolumeGroup(guest, name, [disk]) as group,
    ):
        for volume in ("a", "b"):
            group.create(volume, 128)
        yield group
        take_out(tool)


def take_out(tool: Tool) -> None:
    """Have ioband in no volume."""
    for row in tool.json("list"):
        tool.run("extract" if row["inserted"] else "unwrap", row["name"])
    hidden_gone(tool.guest)


@contextlib.contextmanager
def two_pools(tool: Tool) -> Iterator[str]:
    """The volumes vg1/a and vg2/a, each on a disk of its own; yields the disk of the first."""
    guest = tool.guest
    with (
        null_blk(guest, memory_backed=1, **DISK) as one,
        null_blk(guest, "nullb1", memory_backed=1, **DISK) as two,
        VolumeGroup(guest, "vg1", [one]) as first,
        VolumeGroup(guest, "vg2", [two]) as second,
    ):
        for group in (first, second):
            group.create("a", 128)
        yield one
        take_out(tool)


@contextlib.contextmanager
def rig_with_two_pools(tool: Tool, iobandctl: str) -> Iterator[Rig]:
    """A node with two pools, and with all of the administrator's means."""
    guest = tool.guest
    with (
        two_pools(tool) as disk,
        containers(guest) as runtime,
        ioband_node(guest, iobandctl, ALL, class_file=CLASSES_OF_A_FILE.format(disk=disk)) as node,
    ):
        node.await_ok()
        wait_until(guest, lambda: len(tool.json("list")) == 2, "ioband is in the volumes")
        assert sorted(row["pool"] for row in tool.json("list")) == list(POOLS)
        yield Rig(guest, tool, runtime, node)


def everywhere(**setting: int) -> dict[str, dict[str, int]]:
    """The same setting on all pools."""
    return dict.fromkeys(POOLS, setting)


@contextlib.contextmanager
def rig_with_one_pool(
    tool: Tool, config: str = CONFIG, group_name: str = "vg1", **options: Any
) -> Iterator[Rig]:
    """A node with ioband in its volumes; the options are those of containers()."""
    guest = tool.guest
    with (
        volumes(tool, group_name) as group,
        containers(guest, **options) as runtime,
        ioband_node(guest, tool.program, config) as node,
    ):
        node.await_ok()
        wait_until(guest, lambda: len(tool.json("list")) == 2, "ioband is in the volumes")
        yield Rig(guest, tool, runtime, node, group)


@pytest.fixture
def rig(tool: Tool) -> Iterator[Rig]:
    """A node with containerd, and ioband in its volumes."""
    with rig_with_one_pool(tool) as one:
        yield one


def reader(name: str, volume: str, **annotations: str) -> Pod:
    """A pod that reads from a volume as much as it can."""
    return Pod(name, annotations, command=FIO, volume=f"/dev/vg1/{volume}", mounts=USR)


def test_two_pods_come_to_their_shares(rig: Rig) -> None:
    gold = reader("gold", "a", **{CLASS: "gold"})
    plain = reader("plain", "b", **{WEIGHT: "100"})
    rig.run(gold, plain)
    assert rig.ratio(gold, plain) == pytest.approx(3, rel=0.02)
    assert (rig.weight(gold), rig.weight(plain)) == (300, 100)
    assert rig.cluster.events(gold) == rig.cluster.events(plain) == []
    # Nothing of the kernel's own does this.
    assert "[bfq]" not in rig.guest.run("cat /sys/block/*/queue/scheduler").out
    assert "enable=1" not in rig.guest.read("/sys/fs/cgroup/io.cost.qos")
    assert rig.guest.read(f"/sys/fs/cgroup{gold.cgroup(True)}/io.weight") == "default 100\n"


@long
def test_the_setting_is_there_before_the_first_io(tool: Tool) -> None:
    """All kinds of settings, on two pools; the next edit replaces them.

    The program of the container starts when iobandctl has ended, which takes long here.
    """
    guest = tool.guest
    guest.run(["mkdir", "-p", OUT])
    slow = f"{OUT}/iobandctl"
    guest.write(slow, SLOW.format(program=tool.program, out=OUT))
    guest.run(["chmod", "755", slow])
    first = f"/busybox cat /proc/uptime >/out/first; exec {' '.join(FIO)}"
    pod = Pod(
        "one",
        {WEIGHT: "321", MINIMUM: "rbps=1MiB", MAXIMUM: "rbps=8MiB wiops=200", LATENCY: "20ms"},
        command=["/busybox", "sh", "-c", first],
        volume="/dev/vg1/a",
        mounts={OUT: "/out", **USR},
    )
    with rig_with_two_pools(tool, slow) as rig:
        rig.cluster.put(pod)
        rig.runtime.create(pod)
        assert rig.weights() == {}
        rig.runtime.start(pod)
        path = pod.cgroup(systemd=True)
        assert rig.settings(path) == everywhere(
            weight=321, min_rbps=1 << 20, max_rbps=8 << 20, max_wiops=200, latency_us=20_000
        )
        wait_until(guest, lambda: rig.bytes(pod) > 0, "the pod reads")
        # A comparison that read the groups before may have set it once more.
        was_set = guest.read(f"{OUT}/set").split()[: len(POOLS)]
        assert len(was_set) == len(POOLS)
        assert float(guest.read(f"{OUT}/first").split()[0]) >= max(map(float, was_set))

        pod.annotations = {MINIMUM: "rbps=2MiB", MAXIMUM: "rbps=4MiB", LATENCY: "50ms"}
        rig.cluster.put(pod)
        edited = everywhere(min_rbps=2 << 20, max_rbps=4 << 20, latency_us=50_000)
        assert rig.await_settings(pod, edited) <= 2  # with iobandctl that takes long
        guest.sleep(SETTLE_S)
        assert rig.rate(pod) == pytest.approx(4 << 20, rel=0.05)

        pod.annotations = {}
        rig.cluster.put(pod)
        rig.await_settings(pod, {})
        rig.runtime.remove(pod)
    guest.run(["rm", "-r", OUT])


@long
def test_classes_and_bounds_of_the_administrator(tool: Tool) -> None:
    """By all annotations, of pods and of a container, on two pools; and after restarts."""
    greedy = Pod("greedy", {WEIGHT: "900", MINIMUM: "rbps=64MiB wbps=1MiB", LATENCY: "1ms"})
    named = Pod("named", {OWN_CLASS: "gold"})
    of_file = Pod("of-file", {CLASS: "slow", MAXIMUM: "rbps=64MiB"})
    inside = Pod("inside", {CONTAINER_CLASS: "gold"})
    unknown = Pod("unknown", {CLASS: "tin"})
    with rig_with_two_pools(tool, tool.program) as rig:
        rig.run(greedy, named, of_file, inside, unknown)
        assert all(rig.runtime.is_running(pod) for pod in rig.runtime.pods)

        # Each value beyond its bound is replaced by the bound, with an event of the pod.
        rig.await_settings(greedy, everywhere(weight=500, min_rbps=8 << 20, latency_us=5000))
        rig.await_events(
            greedy,
            ("IobandBounded", "900 is not within idle and 500"),
            ("IobandBounded", f"{64 << 20} is above the bound; {8 << 20} is set"),
            ("IobandBounded", "1000us is below the bound; 5000us is set"),
            ("IobandRefused", "no bound for wbps"),
        )

        # Classes of the configuration and of the class file, which bounds one disk.
        rig.await_settings(named, everywhere(weight=300))
        rig.await_settings(
            of_file,
            {
                "vg1": {"weight": 50, "max_rbps": 4 << 20},
                "vg2": {"weight": 50, "max_rbps": 64 << 20},
            },
        )
        rig.await_events(of_file, ("IobandBounded", f"the maximum of the class; {4 << 20} is set"))
        assert rig.settings(rig.runtime.scope(inside)) == everywhere(weight=300)
        rig.await_settings(inside, {})
        rig.await_settings(unknown, {})
        rig.await_events(unknown, ("IobandRefused", '"tin"'))
        assert rig.cluster.events(named) == rig.cluster.events(inside) == []
        of_file.annotations = {CLASS: "gold"}
        rig.cluster.put(of_file)
        rig.await_settings(of_file, everywhere(weight=300))

        # A pod has another sandbox, with other annotations, while nothing but the runtime knows
        # them.  The runtime tells of both sandboxes, and the setting is that of the second.
        rig.node.kill()
        rig.cluster.command(refuse=True)
        named.annotations = {CLASS: "slow"}
        before = rig.runtime.again(named)
        rig.node.start()
        rig.node.await_ok()
        rig.await_settings(
            named, {"vg1": {"weight": 50, "max_rbps": 4 << 20}, "vg2": {"weight": 50}}
        )
        rig.compare()
        changes = rig.node.figure("ioband_node_changes_total")
        rig.compare()
        assert rig.node.figure("ioband_node_changes_total") == changes
        rig.runtime.forget(before)
        rig.compare()
        assert rig.settings(named.cgroup(systemd=True))["vg2"] == {"weight": 50}
        assert rig.node.figure("ioband_node_pods") == len(rig.runtime.pods)

        # The new process makes the events of the one before; the cluster has each event once.
        rig.cluster.command(refuse=False)
        named.annotations = {CLASS: "lead"}
        rig.cluster.put(named)
        rig.await_events(named, ("IobandRefused", '"lead"'))
        rig.await_events(unknown, ("IobandRefused", '"tin"'))
        assert len(rig.cluster.events(greedy)) == len(set(rig.cluster.events(greedy))) == 4


@long
def test_the_share_follows_an_edit_within_a_second(
    rig: Rig, record_property: Callable[[str, str], None]
) -> None:
    one = reader("one", "a", **{WEIGHT: "100"})
    other = reader("other", "b", **{WEIGHT: "100"})
    rig.run(one, other)
    assert rig.ratio(one, other) == pytest.approx(1, rel=0.02)
    took = []
    for annotations, setting in EDITS:
        one.annotations = annotations
        line = f"pool=vg1 group=cgroup:{one.cgroup(True)} {setting}"
        words = [rig.cluster.FIFO, put(one).strip(), rig.tool.program, line]
        done = rig.guest.run(["bash", "-c", AWAIT, "-", *words])
        took.append(int(done.out))
        rig.guest.sleep(1)
    record_property("summary", f"milliseconds from an edit to the setting in the kernel: {took}")
    assert max(took) <= 1000
    assert rig.ratio(one, other) == pytest.approx(3, rel=0.02)
    # An annotation that is taken away takes its setting along.
    one.annotations = {}
    rig.cluster.put(one)
    rig.await_weight(one, None)
    assert rig.ratio(one, other) == pytest.approx(1, rel=0.02)


@long
def test_a_pod_gets_no_more_than_it_may_ask_for(rig: Rig) -> None:
    greedy = Pod("greedy", {WEIGHT: "900"})
    stranger = Pod("stranger", {OWN_CLASS: "capped"})
    capped = reader("capped", "a", **{OWN_CLASS: "capped", MAXIMUM: "rbps=64MiB"})
    capped.namespace = "batch-1"
    unsaid = Pod("unsaid")
    rig.run(greedy, stranger, capped, unsaid)
    assert rig.weights() == {greedy.cgroup(True): 500, capped.cgroup(True): 100}
    reason, message = rig.event(greedy)
    assert reason == "IobandBounded"
    assert "900" in message and "500" in message
    reason, message = rig.event(stranger)
    assert reason == "IobandRefused"
    assert "capped" in message
    reason, message = rig.event(capped)
    assert (reason, str(4 << 20) in message) == ("IobandBounded", True)
    assert rig.cluster.events(unsaid) == []
    assert all(rig.runtime.is_running(pod) for pod in rig.runtime.pods)
    wait_until(rig.guest, lambda: rig.bytes(capped) > 1 << 20, "the pod reads")
    assert rig.rate(capped) == pytest.approx(4 << 20, rel=0.05)


@long
def test_containerd_restarts(rig: Rig) -> None:
    one, two = Pod("one", {WEIGHT: "200"}), Pod("two", {WEIGHT: "300"})
    rig.run(one)
    rig.runtime.restart()
    assert rig.weight(one) == 200
    rig.node.await_ok()
    rig.run(two)
    assert (rig.weight(one), rig.weight(two)) == (200, 300)
    one.annotations = {WEIGHT: "250"}
    rig.cluster.put(one)
    rig.await_weight(one, 250)
    assert rig.runtime.is_running(one)


@long
def test_the_node_program_is_killed(rig: Rig) -> None:
    one, two = Pod("one", {WEIGHT: "200"}), Pod("two", {WEIGHT: "300"})
    rig.run(one)
    rig.node.kill()
    # Pods that start without it run without their settings, and get them when it is back.
    rig.run(two)
    one.annotations = {WEIGHT: "250"}
    rig.cluster.put(one)
    assert (rig.weight(one), rig.weight(two)) == (200, None)
    rig.node.start()
    rig.node.await_ok()
    rig.await_weight(one, 250)
    rig.await_weight(two, 300)
    assert "connected" in rig.node.stop()
    assert (rig.weight(one), rig.weight(two)) == (250, 300)


@long
def test_the_api_server_is_away(rig: Rig) -> None:
    """What containerd has of the annotations counts until the cluster answers; events wait."""
    rig.cluster.command(refuse=True)
    rig.cluster.command(expire=True)
    pod = Pod("one", {WEIGHT: "200", OWN_CLASS: "tin"})
    rig.runtime.run(pod)
    assert rig.weight(pod) == 200
    pod.annotations = {WEIGHT: "250"}
    rig.cluster.put(pod)
    rig.guest.sleep(65)
    assert rig.weight(pod) == 200
    assert rig.cluster.events(pod) == []
    rig.cluster.command(refuse=False)
    rig.await_weight(pod, 250)
    rig.await_events(pod, ("IobandRefused", '"tin"'))


@long
def test_a_hundred_pods_leave_no_group(rig: Rig) -> None:
    kept = Pod("kept", {WEIGHT: "200"})
    rig.run(kept)
    at_once = 20
    for turn in range(5):
        pods = [Pod(f"pod-{turn}-{i}", {WEIGHT: str(101 + i)}) for i in range(at_once)]
        rig.run(*pods)
        assert [rig.weight(pod) for pod in pods] == list(range(101, 101 + at_once))
        rig.runtime.remove(*pods)
    wait_until(rig.guest, lambda: rig.weights() == {kept.cgroup(True): 200}, "groups are left")
    (pool,) = rig.tool.json("groups")
    assert [path for path in paths(pool) if "-pod" in path] == [kept.cgroup(True)]
    assert "ioband_node_pods 1\n" in rig.node.get("metrics")[1]


@long
def test_a_node_without_the_module(
    guest: Guest, iobandctl: Path, request: pytest.FixtureRequest
) -> None:
    """Pods run; when the module is there, its settings follow within 10 seconds."""
    asks, plain = Pod("asks", {WEIGHT: "200"}), Pod("plain")
    tool = Tool(guest, str(iobandctl))
    # The kernel says so of an insertion into a volume.
    guest.expected.append("device-mapper: ioctl: error adding target to table")
    with (
        volumes(tool),
        containers(guest) as runtime,
        ioband_node(guest, iobandctl, CONFIG) as node,
    ):
        node.await_ok()
        node.cluster.put(asks, plain)
        runtime.run(asks, plain)
        assert all(runtime.is_running(pod) for pod in runtime.pods)
        wait_until(guest, lambda: node.cluster.events(asks), "an event")
        ((reason, message),) = node.cluster.events(asks)
        assert reason == "IobandUnavailable"
        assert "ioband" in message
        assert node.cluster.events(plain) == []
        assert node.get("healthz")[0] == 503

        request.getfixturevalue("ioband")  # the module
        rig = Rig(guest, tool, runtime, node)
        took = wait_until(guest, lambda: len(tool.json("list")) == 2, "ioband is in the volumes")
        took += wait_until(guest, lambda: rig.weight(asks) == 200, "the weight")
        assert took <= 11
        assert node.get("healthz")[0] == 200


@long
def test_ioband_comes_later_than_the_pods(tool: Tool) -> None:
    guest = tool.guest
    pod = Pod("early", {WEIGHT: "200"})
    config = CLASSES
    with containers(guest) as runtime, ioband_node(guest, tool.program, config) as node:
        node.await_ok()
        node.cluster.put(pod)
        runtime.run(pod)
        wait_until(guest, lambda: node.cluster.events(pod), "an event")
        assert [reason for reason, _ in node.cluster.events(pod)] == ["IobandNoPool"]
        with volumes(tool):
            tool.run("insert", "vg1/a")
            rig = Rig(guest, tool, runtime, node)
            took = wait_until(guest, lambda: rig.weight(pod) == 200, "the weight")
            assert took <= 2
            runtime.remove(pod)


@long
def test_the_cgroup_driver_cgroupfs(tool: Tool) -> None:
    with rig_with_one_pool(tool, systemd=False) as rig:
        gold = reader("gold", "a", **{OWN_CLASS: "gold"})
        plain = reader("plain", "b")
        rig.run(gold, plain)
        assert rig.weights() == {f"/kubepods/besteffort/pod{gold.uid}": 300}
        assert rig.ratio(gold, plain) == pytest.approx(3, rel=0.02)
        rig.runtime.remove(gold, plain)
        wait_until(rig.guest, lambda: rig.weights() == {}, "the groups are gone")


@long
def test_cri_o(tool: Tool) -> None:
    """Shares, an edit, a restart of CRI-O, and the end of the pods."""
    gold = reader("gold", "a", **{CLASS: "gold", f"{WEIGHT}.container.main": "200"})
    plain = reader("plain", "b", **{WEIGHT: "100"})
    late = Pod("late", {WEIGHT: "250"})
    with rig_with_one_pool(tool, kind=Crio) as rig:

        def await_weights(weights: dict[str, int]) -> None:
            wait_until(rig.guest, lambda: rig.weights() == weights, f"no weights {weights}")

        rig.run(gold, plain)
        weights = {gold.cgroup(True): 300, rig.runtime.scope(gold): 200, plain.cgroup(True): 100}
        await_weights(weights)
        assert rig.ratio(gold, plain) == pytest.approx(3, rel=0.02)
        assert rig.cluster.events(gold) == rig.cluster.events(plain) == []
        plain.annotations = {WEIGHT: "300"}
        rig.cluster.put(plain)
        await_weights({**weights, plain.cgroup(True): 300})
        assert rig.ratio(gold, plain) == pytest.approx(1, rel=0.02)

        rig.runtime.restart()
        rig.node.await_ok()
        rig.run(late)
        await_weights({**weights, plain.cgroup(True): 300, late.cgroup(True): 250})
        assert all(rig.runtime.is_running(pod) for pod in rig.runtime.pods)
        rig.runtime.remove(gold, plain, late)
        await_weights({})
        assert rig.node.figure("ioband_node_pods") == 0


@pytest.mark.guest(cgroup="v1")
def test_version_1_of_cgroups_is_refused(guest: Guest, iobandctl: Path) -> None:
    guest.write("/run/node.yaml", CONFIG)
    command = [str(node_program()), "--config=/run/node.yaml", "--no-kube"]
    done = guest.run([*command, f"--iobandctl={iobandctl}"], check=False)
    assert done.rc == 1
    assert "cgroup version 1" in done.err and "is not supported" in done.err
    guest.run(["rm", "/run/node.yaml"])


@long
def test_prometheus_takes_the_metrics(rig: Rig) -> None:
    pod = reader("reads", "a", **{WEIGHT: "200"})
    rig.run(pod)
    wait_until(rig.guest, lambda: rig.bytes(pod) > 0, "the pod reads")
    code, text = rig.node.get("metrics")
    assert code == 200
    done = promtool("check", "metrics", stdin=text)
    assert (done.returncode, done.stdout) == (0, "")
    samples = [
        (sample.name, sample.labels, sample.value)
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    ]
    labels = {"namespace": "default", "pod": "reads", "container": "", "group": pod.cgroup(True)}
    assert ("ioband_node_pod_info", labels, 1) in samples
    assert ("ioband_node_pods", {}, 1) in samples
    paths = [labels.get("group", "") for name, labels, _ in samples if "bytes" in name]
    assert any(path.startswith(pod.cgroup(True)) for path in paths)
    assert rig.node.get("healthz") == (200, "ok\n")


@long
def test_volumes_have_ioband_whatever_lvm_does_with_them(rig: Rig) -> None:
    """A new volume, a wrapped volume, and a volume that grows while a pod reads from it."""
    guest, tool = rig.guest, rig.tool

    def devices() -> dict[str, bool]:
        return {row["name"]: row["inserted"] for row in tool.json("list")}

    assert devices() == {"vg1-a": True, "vg1-b": True}
    rig.group.create("new", 16)
    rig.group.create("wrapped", 16)
    wanted = {"vg1-a": True, "vg1-b": True, "vg1-new": True, "io-vg1-wrapped": False}
    wait_until(guest, lambda: devices() == wanted, "ioband on the new volumes")
    with mounted(guest, "/dev/vg1/a") as point:
        pod = reader("reads", "a", **{WEIGHT: "200"})
        rig.run(pod)
        wrapper = [str(node_program()), "lvm", "--", "lvextend", "-qq", "-r", "-L", "+64M", "vg1/a"]
        guest.run(wrapper, env={"IOBAND_NODE_SOCKET": LVM_SOCKET})
        size = guest.run(["blockdev", "--getsize64", "/dev/vg1/a"]).out
        assert int(size) == 192 << 20
        assert int(guest.run(["stat", "-f", "-c", "%b", point]).out) > (150 << 20) // 1024
        assert devices() == wanted
        assert rig.weight(pod) == 200
        wait_until(guest, lambda: rig.bytes(pod) > 0, "the pod reads")
        rig.runtime.remove(pod)
    guest.run(
        [str(node_program()), "lvm", "--", "lvremove", "-qq", "-y", "vg1/new", "vg1/wrapped"],
        env={"IOBAND_NODE_SOCKET": LVM_SOCKET},
    )
    assert devices() == {"vg1-a": True, "vg1-b": True}
