# SPDX-License-Identifier: GPL-2.0-only
"""Backlogged groups share by weight, and the device loses no throughput.

The service of each group is from the pool's own statistics, read at two moments while
all groups are backlogged.  Time is instructions executed, so the load of the host does
not matter.  The smoke tests compare ratios alone, so another kernel's guest has a clock.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from itertools import pairwise, product

import pytest
from harness.cgroup import Cgroup
from harness.devices import DmDevice, VolumeGroup, linear, null_blk
from harness.guest import Guest
from harness.ioband import Ioband, group_name
from harness.load import Load, Stream
from harness.tracing import TRACING, traced
from harness.variants import REST, variants

pytestmark = pytest.mark.guest(icount=True)

Disk = Callable[[Guest], AbstractContextManager[str]]
# Two I/Os at a time, 2 ms each.
SLOTS = {"irqmode": 2, "completion_nsec": 2_000_000, "hw_queue_depth": 2, "submit_queues": 1}
DISKS: dict[str, Disk] = {
    # A limit on the bytes in each 20 ms.
    "bandwidth": lambda guest: null_blk(guest, mbps=80),
    "slots": lambda guest: null_blk(guest, **SLOTS),
}
SETTLE_S = 1.0
WINDOW_S = 3.0


def stream(name: str, device: str, cgroup: Cgroup | None, **options: object) -> Stream:
    """A deep queue; fio keeps no log, as the pool counts."""
    given: dict[str, object] = {"write_lat_log": None, **options}
    known = {key: given.pop(key) for key in ("rw", "bs", "iodepth") if key in given}
    return Stream(name, device, cgroup, options=given, **known)


@contextmanager
def running(guest: Guest, *streams: Stream) -> Iterator[Load]:
    """The streams run, and have settled."""
    load = Load(guest, streams).start()
    guest.sleep(SETTLE_S)
    yield load
    load.end()


def service(device: Ioband, what: str = "bytes", seconds: float = WINDOW_S) -> dict[str, int]:
    """The service of each group of the pool in a window from now on."""
    before = device.io()
    device.guest.sleep(seconds)
    after = device.io()
    return {
        label: getattr(stats, what) - (getattr(before[label], what) if label in before else 0)
        for label, stats in after.items()
    }


def assert_shares(
    got: dict[str, int], weights: dict[str, float], quantum: int, tolerance: float = 0.02
) -> None:
    """Each group's part fits its weight, within the tolerance and two I/Os."""
    total = sum(got[name] for name in weights)
    for name, weight in weights.items():
        wanted = total * weight / sum(weights.values())
        text = f"{name}: {got[name] / total:.2%}, wanted {wanted / total:.2%} of {got}"
        assert abs(got[name] - wanted) <= tolerance * wanted + 2 * quantum, text


@contextmanager
def cgroups(guest: Guest, *paths: str) -> Iterator[dict[str, Cgroup]]:
    with ExitStack() as stack:
        yield {path: stack.enter_context(Cgroup(guest, path)) for path in paths}


# -- shares by weight ----------------------------------------------------------------------


@pytest.mark.parametrize("disk", variants(DISKS, "slots"))
@pytest.mark.parametrize(
    "weights",
    [
        (200, 100),
        (10000, 10),
        *(pytest.param(pair, marks=REST) for pair in ((100, 100), (1000, 100))),
    ],
)
def test_two_groups(ioband: Guest, disk: str, weights: tuple[int, int]) -> None:
    guest = ioband
    with (
        DISKS[disk](guest) as below,
        Ioband(guest, "d", below) as device,
        cgroups(guest, "a", "b") as group,
    ):
        for path, weight in zip("ab", weights, strict=True):
            device.set_weight(group[path], weight)
        with running(guest, *(stream(path, device.path, group[path]) for path in "ab")):
            got = service(device)
            assert device.info().state == "shared"
    assert_shares(got, dict(zip(("/a", "/b"), weights, strict=True)), 65536)


@pytest.mark.guest(icount=True, cgroup="v1")
def test_cgroups_of_version_1(ioband: Guest) -> None:
    guest = ioband
    with (
        DISKS["slots"](guest) as below,
        Ioband(guest, "d", below) as device,
        cgroups(guest, "a", "b") as group,
    ):
        device.set_weight("cgroup:/a", 300)
        with running(guest, *(stream(path, device.path, group[path]) for path in "ab")):
            got = service(device)
    assert_shares(got, {"/a": 3, "/b": 1}, 65536)


# Streams by group: a single task in the first, two in the second.  The number of a process
# is not known yet.
SORTED: dict[str, list[dict[str, object]]] = {
    "uid": [{"uid": 1000}, {"uid": 1001}, {"uid": 1001}],
    "gid": [{"gid": 1000}, {"gid": 1001}, {"gid": 1001}],
    "pid": [{}, {"numjobs": 2}],
    "pgrp": [{}, {"numjobs": 2}],
}


@pytest.mark.parametrize("mode", variants(SORTED, "uid", "pid"))
def test_modes_that_sort_by_task(ioband: Guest, mode: str) -> None:
    guest = ioband
    jobs = {f"job{number}": options for number, options in enumerate(SORTED[mode])}
    with DISKS["slots"](guest) as below, Ioband(guest, "d", below, mode=mode) as device:
        guest.run(f"chmod 666 $(readlink -f {device.path})")
        streams = [stream(name, device.path, None, **options) for name, options in jobs.items()]
        with running(guest, *streams) as load:
            numbers = [options.get(mode, load.pids[name]) for name, options in jobs.items()]
            first, second = (f"{mode}:{number}" for number in numbers[:2])
            device.set_weight(first, 300)
            got = service(device)
    assert_shares(got, {first: 3, second: 1}, 65536)


MIXED = "4k/30:16k/30:64k/20:256k/15:1m/5"
LOADS = {
    "writes": ({"rw": "randwrite"}, {"rw": "randwrite"}),
    "read beside write": ({"rw": "randread"}, {"rw": "randwrite"}),
    "small beside large": ({"bs": "4k", "iodepth": 64}, {"bs": "512k"}),
    "mixed sizes": ({"bssplit": MIXED, "iodepth": 64}, {"bssplit": MIXED, "iodepth": 64}),
    "mixed directions": ({"rw": "randrw"}, {"rw": "rw"}),
}


FEW_LOADS = ("read beside write", "small beside large", "mixed directions")


@pytest.mark.parametrize(
    ("load", "measure"),
    variants(product(LOADS, ("bytes", "ios")), *((load, "bytes") for load in FEW_LOADS)),
)
def test_loads(ioband: Guest, load: str, measure: str) -> None:
    guest = ioband
    with (
        DISKS["slots"](guest) as below,
        Ioband(guest, "d", below, measure=measure) as device,
        cgroups(guest, "a", "b") as group,
    ):
        device.set_weight(group["a"], 300)
        streams = [
            stream(path, device.path, group[path], **options)
            for path, options in zip("ab", LOADS[load], strict=True)
        ]
        with running(guest, *streams):
            got = service(device, measure)
    quantum = (1 << 20 if "mixed sizes" in load else 512 << 10) if measure == "bytes" else 1
    assert_shares(got, {"/a": 3, "/b": 1}, quantum)


@pytest.mark.parametrize("rw", variants(["randread", "randwrite"], "randread"))
def test_mixed_sizes_for_long(ioband: Guest, rw: str) -> None:
    """The tolerance includes several of the largest I/Os."""
    guest = ioband
    load = {"rw": rw, "bssplit": "4k/40:64k/40:512k/20", "iodepth": 64}
    with (
        DISKS["slots"](guest) as below,
        Ioband(guest, "d", below) as device,
        cgroups(guest, "a", "b") as group,
    ):
        device.set_weight(group["a"], 200)
        with running(guest, *(stream(path, device.path, group[path], **load) for path in "ab")):
            got = service(device, seconds=2 * WINDOW_S)
    assert 0.02 * got["/b"] > 5 * (512 << 10)
    assert_shares(got, {"/a": 2, "/b": 1}, 0)


@pytest.mark.parametrize("sizes", [("64k", "64k"), ("4k", "512k")])
def test_limit_above_what_the_device_takes(ioband: Guest, sizes: tuple[str, str]) -> None:
    """Tasks must not queue for the device's two requests, where weights have no effect."""
    guest = ioband
    with (
        DISKS["slots"](guest) as below,
        Ioband(guest, "d", below, depth=5) as device,
        cgroups(guest, "a", "b") as group,
    ):
        device.set_weight(group["a"], 300)
        streams = [
            stream(path, device.path, group[path], bs=size, iodepth=8)
            for path, size in zip("ab", sizes, strict=True)
        ]
        with running(guest, *streams):
            got = service(device)
    assert_shares(got, {"/a": 3, "/b": 1}, 512 << 10)


@pytest.mark.parametrize(
    ("measure", "what", "small"), [("bytes", "bytes", "64k"), ("time", "ios", "4k")]
)
def test_slices(ioband: Guest, measure: str, what: str, small: str) -> None:
    """One group at a time; on this disk each I/O takes the same time, whatever its size."""
    guest = ioband
    with (
        DISKS["slots"](guest) as below,
        Ioband(guest, "d", below, slice=20, measure=measure) as device,
        cgroups(guest, "a", "b") as group,
        traced(guest, "ioband/ioband_charge"),
    ):
        device.set_weight(group["a"], 200)
        streams = [
            stream("a", device.path, group["a"], bs=small, iodepth=8),
            stream("b", device.path, group["b"], iodepth=8),
        ]
        with running(guest, *streams):
            guest.write(f"{TRACING}/trace", "")
            got = service(device, what, 2 * WINDOW_S)
            trace = guest.read(f"{TRACING}/trace")
    served = [match[3] for match in EVENT.finditer(trace) if match[2] == "charge"]
    turns = sum(one != other for one, other in pairwise(served))
    assert 50 < turns < len(served) / 10
    # 20 I/Os in a slice, and those in flight at its end.
    assert_shares(got, {"/a": 2, "/b": 1}, 30 * (65536 if what == "bytes" else 1))


# Weights and depths of small readers.
LIMITED = {
    "one each": {"a": (200, 1), "b": (100, 1)},
    "one beside many": {"a": (200, 1), "b": (100, 32)},
    "three": {"a": (1000, 4), "b": (300, 4), "c": (100, 4)},
}


@pytest.mark.parametrize("load", variants(LIMITED, "three"))
def test_disk_with_a_limit_in_each_window(ioband: Guest, load: str) -> None:
    """It completes the I/Os of 20 ms in a burst, and is silent for the rest of the time.

    Trials of a wider limit take a part of the time, in which groups share equally.
    """
    guest = ioband
    with (
        DISKS["bandwidth"](guest) as below,
        Ioband(guest, "d", below) as device,
        cgroups(guest, *LIMITED[load]) as group,
    ):
        for path, (weight, _) in LIMITED[load].items():
            device.set_weight(group[path], weight)
        streams = [
            stream(path, device.path, group[path], bs="4k", iodepth=depth)
            for path, (_, depth) in LIMITED[load].items()
        ]
        with running(guest, *streams):
            guest.sleep(8)  # until pauses between trials of a wider limit are long
            got = service(device)
    assert sum(got.values()) > 0.95 * 80e6 * WINDOW_S
    wanted = LIMITED[load]["a"][0] / sum(weight for weight, _ in LIMITED[load].values())
    assert got["/a"] > 0.75 * wanted * sum(got.values()), got


@pytest.mark.smoke
def test_one_weight_per_device(ioband: Guest) -> None:
    guest = ioband
    with (
        DISKS["slots"](guest) as below,
        Ioband(guest, "one", below, length=65536, mode="device", weight=300) as one,
        Ioband(guest, "two", below, offset=65536, mode="device", weight=100) as two,
        cgroups(guest, "a") as group,
    ):
        streams = [
            stream("a", one.path, None),
            stream("b", two.path, None),
            stream("c", two.path, group["a"]),
        ]
        names = {dev.name: dev.groups()[index].name for index, dev in enumerate((one, two), 1)}
        with running(guest, *streams):
            first = service(one)
            two.set_weight("device", 300)
            guest.sleep(0.1)
            second = service(one)
    assert_shares(first, {names["one"]: 3, names["two"]: 1}, 65536)
    assert_shares(second, {names["one"]: 1, names["two"]: 1}, 65536)


@pytest.mark.smoke
def test_logical_volumes_of_one_pool(ioband: Guest) -> None:
    """A group on each of two volumes of a volume group: the pool's weights apply across both."""
    guest = ioband
    with (
        null_blk(guest, memory_backed=1, **SLOTS) as disk,
        VolumeGroup(guest, "vg0", [disk]) as volumes,
        Ioband(guest, "one", volumes.create("one", 64)) as one,
        Ioband(guest, "two", volumes.create("two", 64)) as two,
        cgroups(guest, "a", "b") as group,
    ):
        one.set_weight(group["a"], 300)
        with running(guest, stream("a", one.path, group["a"]), stream("b", two.path, group["b"])):
            got = service(one)
    assert_shares(got, {"/a": 3, "/b": 1}, 65536)


def test_cgroups_below_devices(ioband: Guest) -> None:
    guest = ioband
    settings = {"mode": "device+cgroup"}
    with (
        DISKS["slots"](guest) as below,
        Ioband(guest, "one", below, length=65536, weight=200, **settings) as one,
        Ioband(guest, "two", below, offset=65536, **settings) as two,
        cgroups(guest, "a", "b") as group,
    ):
        one.set_weight(group["a"], 300)
        streams = [
            stream(f"{device.name}{path}", device.path, group[path])
            for device in (one, two)
            for path in "ab"
        ]
        with running(guest, *streams):
            got = service(one)
        devices = [name for name in one.tree() if re.fullmatch(r"device:\d+:\d+", name)]
    weights = dict(
        zip([f"{dev}/{path}" for dev in devices for path in "ab"], (6, 2, 2, 2), strict=True)
    )
    assert_shares(got, weights, 65536)


NESTED = {"x": 200, "x/1": 100, "x/2": 300, "y": 100}


@pytest.mark.all_kernels
def test_nested_groups_and_siblings_first(ioband: Guest) -> None:
    guest = ioband
    with (
        DISKS["slots"](guest) as below,
        Ioband(guest, "d", below) as device,
        cgroups(guest, *NESTED) as group,
    ):
        for path, weight in NESTED.items():
            device.set_weight(group[path], weight)
        streams = {
            path: stream(path.replace("/", ""), device.path, group[path])
            for path in ("x/1", "x/2", "y")
        }
        with running(guest, streams["x/1"], streams["y"]):
            with running(guest, streams["x/2"]):
                busy = service(device)
            alone = service(device)  # 2 is idle: 1 gets its share, not y
        with running(guest, streams["x/1"], streams["x/2"]):
            inner = service(device)
    assert_shares(busy, {"/x/1": 2, "/x/2": 6, "/y": 4}, 65536)
    assert_shares(alone, {"/x/1": 2, "/y": 1}, 65536)
    assert_shares(inner, {"/x/1": 1, "/x/2": 3}, 65536)


def test_own_bios_of_a_parent_compete_with_its_children(ioband: Guest) -> None:
    guest = ioband
    with (
        DISKS["slots"](guest) as below,
        Ioband(guest, "d", below) as device,
        cgroups(guest, "a") as group,
    ):
        device.set_weight("root", 300)
        streams = [stream("root", device.path, None), stream("a", device.path, group["a"])]
        with running(guest, *streams):
            got = service(device)
    assert_shares(got, {"root": 3, "/a": 1}, 65536)


# -- changes --------------------------------------------------------------------------------

EVENT = re.compile(
    r"([\d.]+): (?:ioband_(\w+): .*?group=(\d+).*?bytes=(\d+)|tracing_mark_write: (\w+))"
)


def charged(trace: str, start: float, end: float) -> dict[int, int]:
    """Bytes charged to the groups by number between two moments."""
    total: dict[int, int] = {}
    for match in EVENT.finditer(trace):
        if match[2] == "charge" and start <= float(match[1]) < end:
            total[int(match[3])] = total.get(int(match[3]), 0) + int(match[4])
    return total


@pytest.mark.smoke
@pytest.mark.all_kernels
@pytest.mark.parametrize("disk", variants(DISKS, "slots"))
def test_weight_change_takes_effect_at_once(ioband: Guest, disk: str) -> None:
    guest = ioband
    # More than "bandwidth" serves at once in its 20 ms.
    small = {"bs": "16k", "iodepth": 256}
    with (
        DISKS[disk](guest) as below,
        Ioband(guest, "d", below) as device,
        cgroups(guest, "a", "b") as group,
        running(guest, *(stream(path, device.path, group[path], **small) for path in "ab")),
        traced(guest, "ioband/ioband_charge"),
    ):
        name = group_name(group["b"])
        guest.run(
            f"sleep 0.5; dmsetup message d 0 weight {name} 400; echo set >{TRACING}/trace_marker;"
            f"sleep 0.6; echo 0 >{TRACING}/tracing_on"
        )
        trace = guest.read(f"{TRACING}/trace")
        guest.write(f"{TRACING}/tracing_on", "1")
        numbers = {label: entry.seq for label, entry in device.tree().items()}
    at = next(float(match[1]) for match in EVENT.finditer(trace) if match[5] == "set")
    a, b = numbers["/a"], numbers["/b"]
    before = charged(trace, at - 0.4, at - 0.05)
    assert_shares(before, {a: 1, b: 1}, 16384, 0.05)
    first = charged(trace, at, at + 0.1)
    assert_shares(first, {a: 1, b: 4}, 16384, 0.05)
    after = charged(trace, at + 0.1, at + 0.5)
    assert_shares(after, {a: 1, b: 4}, 16384)


def test_measure_change_takes_effect_under_load(ioband: Guest) -> None:
    """Queued bios stay queued, and later bios are charged by the new measure."""
    guest = ioband
    with (
        DISKS["slots"](guest) as below,
        Ioband(guest, "d", below, measure="ios") as device,
        cgroups(guest, "a", "b") as group,
        running(
            guest,
            stream("a", device.path, group["a"], bs="4k", iodepth=64),
            stream("b", device.path, group["b"], bs="64k", iodepth=64),
        ),
    ):
        got = {}
        for turn, measure in enumerate(("ios", "bytes", "ios")):
            if turn:
                device.set(measure=measure)
                held = device.io()
                assert min(held["/a"].held.ios, held["/b"].held.ios) > 0
                guest.sleep(0.5)  # queued bios keep their old cost
            assert (device.info().measure, device.info().state) == (measure, "shared")
            got[turn] = service(device, measure)
    for turn, quantum in enumerate((1, 65536, 1)):
        assert_shares(got[turn], {"/a": 1, "/b": 1}, quantum)


def test_task_moved_to_another_cgroup_is_charged_there(ioband: Guest) -> None:
    guest = ioband
    with (
        DISKS["slots"](guest) as below,
        Ioband(guest, "d", below) as device,
        cgroups(guest, "a", "b", "rival") as group,
    ):
        device.set_weight(group["b"], 300)
        streams = [stream(path, device.path, group[path]) for path in ("a", "rival")]
        with running(guest, *streams):
            first = service(device)
            for pid in group["a"].pids:
                group["b"].set("cgroup.procs", str(pid))
            guest.sleep(0.5)  # bios in flight stay in the old group
            second = service(device)
    assert_shares(first, {"/a": 1, "/rival": 1}, 65536)
    assert_shares(second, {"/b": 3, "/rival": 1}, 65536)
    assert second["/a"] == 0


def test_pool_opens_when_one_group_is_left(ioband: Guest) -> None:
    guest = ioband
    with (
        DISKS["slots"](guest) as below,
        Ioband(guest, "d", below) as device,
        cgroups(guest, "a", "b") as group,
        running(guest, stream("a", device.path, group["a"])),
    ):
        assert device.info().state == "open"
        with running(guest, stream("b", device.path, group["b"])):
            assert device.info().state == "shared"
        guest.sleep(1)
        assert device.info().state == "shared", "the other group may come back"
        guest.sleep(1.2)
        info = device.info()
        assert (info.state, info.active, info.held) == ("open", 1, (0, 0))
        before = device.io()["/a"].read.held
        guest.sleep(0.5)
        assert device.io()["/a"].read.held == before


@pytest.mark.parametrize("disk", DISKS)
def test_reads_now_and_then_do_not_find_a_full_device(ioband: Guest, disk: str) -> None:
    """A group that reads every 60 ms waits for the limit, not for all that another one submits.

    64 reads of 128 KiB are outstanding, which take the disk 64 and 105 ms.
    """
    guest = ioband
    with (
        DISKS[disk](guest) as below,
        Ioband(guest, "d", below) as device,
        Cgroup(guest, "deep") as deep,
        Cgroup(guest, "seldom") as seldom,
    ):
        device.set_weight(seldom, 1000)
        streams = [
            Stream("deep", device.path, deep, bs="128k", iodepth=64),
            Stream("seldom", device.path, seldom, iodepth=1, options={"thinktime": 60_000}),
        ]
        load = Load(guest, streams).start()
        guest.sleep(2)
        begin_ms = guest.now_ms()
        guest.sleep(8)
        measured = load.stop().window(begin_ms, begin_ms + 8000)
    waits = [measured["seldom"].latency_ms(percentile) for percentile in (50, 90, 99)]
    print(f"{len(measured['seldom'].completions)} reads, median, p90, p99 {waits} ms")
    assert waits[0] < 25
    assert waits[1] < 50


@pytest.mark.parametrize("depth", variants([2, 3], 2))
def test_who_sleeps_below_is_not_forgotten(ioband: Guest, depth: int) -> None:
    """A task that sleeps for a request of the device is considered when another bio comes."""
    guest = ioband
    with (
        DISKS["slots"](guest) as below,
        Ioband(guest, "d", below, depth=depth) as device,
        cgroups(guest, "a", "b") as group,
    ):
        for _ in range(8):
            with running(guest, *(stream(path, device.path, group[path]) for path in "ab")):
                got = service(device, seconds=0.5)
            assert_shares(got, {"/a": 1, "/b": 1}, 65536)


def test_tracepoints(ioband: Guest) -> None:
    guest = ioband
    events = ("hold", "release", "charge", "group_create", "group_free")
    with traced(guest, *(f"ioband/ioband_{event}" for event in events)):
        with DISKS["slots"](guest) as below, Ioband(guest, "d", below, depth=2) as device:
            with cgroups(guest, "a", "b") as group:
                streams = [stream(path, device.path, group[path]) for path in "ab"]
                with running(guest, *streams):
                    guest.sleep(0.5)
                numbers = {device.tree()[label].seq for label in ("/a", "/b")}
            guest.sleep(2.5)
            assert not numbers & {entry.seq for entry in device.groups()}
        trace = guest.read(f"{TRACING}/trace")
    for event in events:
        seen = {int(number) for number in re.findall(rf"ioband_{event}: .*?group=(\d+)", trace)}
        assert numbers <= seen, event
    holds, releases = (trace.count(f"ioband_{event}:") for event in ("hold", "release"))
    assert holds == releases > 100


# -- throughput ------------------------------------------------------------------------------


def throughput(guest: Guest, device: DmDevice, groups: dict[str, Cgroup], below: str) -> float:
    """Bytes per second that the disk reads under the groups' loads."""
    path = f"/sys/block/{below.removeprefix('/dev/')}/stat"
    with running(guest, *(stream(name, device.path, group) for name, group in groups.items())):
        guest.sleep(1)
        first, last = guest.sample([path], WINDOW_S)
    done = [int(sample.texts[path].split()[2]) for sample in (first, last)]
    return (done[1] - done[0]) * 512 / (last.at_ms - first.at_ms) * 1000


@pytest.mark.parametrize("disk", variants(DISKS, "bandwidth"))
@pytest.mark.parametrize("count", variants([1, 4], 4))
def test_work_conservation(ioband: Guest, disk: str, count: int) -> None:
    guest = ioband
    with DISKS[disk](guest) as below, cgroups(guest, *"abcd"[:count]) as groups:
        with linear(guest, "l", below) as device:
            plain = throughput(guest, device, groups, below)
        with Ioband(guest, "d", below) as device:
            shared = throughput(guest, device, groups, below)
    print(f"{disk}, {count}: {plain / 1e6:.2f} MB/s linear, {shared / plain:.1%} of it with ioband")
    assert shared >= 0.97 * plain
