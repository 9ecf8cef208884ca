# SPDX-License-Identifier: GPL-2.0-only
"""ioband-node keeps ioband in the volumes of a CSI driver, and wraps its commands of LVM."""

import signal
from collections.abc import Iterator

import pytest
from harness.cgroup import Cgroup
from harness.devices import VolumeGroup, mounted, null_blk
from harness.golang import MODULE, build_program
from harness.guest import Guest, Job
from harness.tool import WATCH_UNIT, Tool, install_watch
from harness.waiting import wait_until
from test_insert import hidden_gone, verified
from test_tool import dm_names

pytestmark = [
    pytest.mark.guest(systemd=True),
    pytest.mark.usefixtures("udev_done"),
]

DIRECTORY = "/run/node"
SOCKET = f"{DIRECTORY}/lvm.sock"
LINKS = f"{DIRECTORY}/bin"
LVM_S = 300
CONFIG = """
groups:
  /shop: {weight: 300}
volumes:
  - {match: "vg0/pvc-*", how: insert, pool: csi}
"""
# fio's, for LVM is to get on with it.
LIGHT = "--rate_iops=50,50"


@pytest.fixture
def volumes(tool: Tool) -> Iterator[VolumeGroup]:
    """A volume group, vg0, with the volumes pvc-a and other."""
    guest = tool.guest
    with (
        null_blk(guest, size_mib=256, memory_backed=1) as disk,
        VolumeGroup(guest, "vg0", [disk]) as group,
    ):
        group.create("pvc-a", 32)
        group.create("other", 8)
        yield group
        for row in tool.json("list"):
            tool.run("extract", row["name"])
        hidden_gone(guest)


def start(tool: Tool) -> Job:
    """Start ioband-node, without a container runtime and without a cluster."""
    job = tool.guest.start(
        [
            f"{DIRECTORY}/ioband-node",
            f"--config={DIRECTORY}/node.yaml",
            "--no-kube",
            f"--iobandctl={tool.program}",
            f"--lvm-socket={SOCKET}",
        ]
    )
    wait_until(tool.guest, lambda: tool.guest.exists(SOCKET), "a socket for the wrapper")
    return job


@pytest.fixture
def node(tool: Tool, volumes: VolumeGroup) -> Iterator[Job]:
    """ioband-node; it ends in good order."""
    guest = tool.guest
    program = build_program(MODULE, "./cmd/ioband-node")
    guest.run(["mkdir", "-p", LINKS])
    guest.write(f"{DIRECTORY}/node.yaml", CONFIG)
    guest.run(f"ln -s {program} {LINKS}/lvextend")
    guest.run(f"ln -s {program} {DIRECTORY}/ioband-node")
    job = start(tool)
    yield job
    if guest.alive:
        if job.poll() is None:
            job.kill(signal.SIGTERM)
            job.wait()
        guest.run(["rm", "-r", DIRECTORY])


def inserted(tool: Tool) -> dict[str, str]:
    """The volumes with ioband, and their pools."""
    return {row["name"]: row["pool"] for row in tool.json("list") if row["inserted"]}


def wrapper(guest: Guest, command: str) -> None:
    """Run a command of LVM as TopoLVM does."""
    env = {"IOBAND_NODE_SOCKET": SOCKET}
    guest.run(f"{DIRECTORY}/ioband-node lvm -- {command}", timeout=LVM_S, env=env)


def size_of(guest: Guest, name: str) -> int:
    """The size of a mapped device in sectors."""
    return int(guest.run(["blockdev", "--getsz", f"/dev/mapper/{name}"]).out)


def test_volumes_have_ioband_while_lvm_changes_them(tool: Tool, node: Job) -> None:
    guest = tool.guest
    one, two = "vg0-pvc--a", "vg0-pvc--b"
    wait_until(guest, lambda: inserted(tool) == {one: "csi"}, "ioband in the volume that is there")
    wrapper(guest, "lvcreate -qq -y -W n -Z n -n pvc-b -L 16M vg0")
    assert inserted(tool) == {one: "csi", two: "csi"}  # before the CSI driver goes on
    with mounted(guest, "/dev/vg0/pvc-a") as point, verified(guest, point, LIGHT):
        # By its name in PATH, as lvm-localpv calls it.
        env = {"IOBAND_NODE_SOCKET": SOCKET, "PATH": f"{LINKS}:/usr/sbin:/usr/bin:/sbin:/bin"}
        guest.run("lvextend -qq -L 64M /dev/vg0/pvc-a", timeout=LVM_S, env=env)
        assert inserted(tool) == {one: "csi", two: "csi"}
        assert size_of(guest, one) == 64 << 11
        # Without the wrapper LVM takes ioband out, and it is back soon.
        guest.run("lvextend -qq -L 96M vg0/pvc-a", timeout=LVM_S)
        wait_until(guest, lambda: inserted(tool) == {one: "csi", two: "csi"}, "ioband is back")
        assert size_of(guest, one) == 96 << 11
    for name in ("pvc-a", "pvc-b"):
        wrapper(guest, f"lvremove -qq -y /dev/vg0/{name}")
    assert inserted(tool) == {}
    hidden_gone(guest)
    assert dm_names(guest) == ["vg0-other"]


def test_a_process_that_is_gone_hinders_nothing(tool: Tool, node: Job) -> None:
    """LVM runs without it, and a new one puts ioband back."""
    guest = tool.guest
    wait_until(guest, lambda: "vg0-pvc--a" in inserted(tool), "ioband in the volume")
    node.kill(signal.SIGKILL)  # iobandctl may not be done yet
    node.wait(check=False)
    assert "vg0-pvc--a" in inserted(tool)
    wrapper(guest, "lvextend -qq -L 64M vg0/pvc-a")
    assert size_of(guest, "vg0-pvc--a") == 64 << 11
    assert inserted(tool) == {}
    again = start(tool)
    wait_until(guest, lambda: "vg0-pvc--a" in inserted(tool), "ioband is back")
    again.kill(signal.SIGTERM)
    again.wait()


@pytest.mark.long("the guest waits for watch again and again")
def test_watch_runs_beside_it(tool: Tool, node: Job) -> None:
    """What watch sets after a change of a device is set again within a second."""
    guest = tool.guest
    install_watch(guest)
    guest.run(f"systemctl daemon-reload; systemctl start {WATCH_UNIT}", timeout=LVM_S)

    def weight() -> int | None:
        rows = [row for row in tool.json("groups", "--weights") if row["group"] == "/shop"]
        return rows[0]["weight"] if rows else None

    with Cgroup(guest, "shop"):
        # A device appears: both look at all groups.
        wrapper(guest, "lvcreate -qq -y -W n -Z n -n pvc-b -L 16M vg0")
        for _ in range(2):
            wait_until(guest, lambda: weight() == 300, "the weight of the configuration")
            guest.sleep(3)
        assert weight() == 300
        tool.run("set-weight", "shop", "50")
        guest.run("lvchange -qq --refresh vg0/pvc-a", timeout=LVM_S)
        assert wait_until(guest, lambda: weight() == 300, "the weight again") < 5
    guest.run(f"systemctl stop {WATCH_UNIT}; rm /run/systemd/system/{WATCH_UNIT}")
    guest.run("rm /usr/sbin/iobandctl; systemctl daemon-reload")
    wrapper(guest, "lvremove -qq -y vg0/pvc-b")
