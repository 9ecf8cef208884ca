# SPDX-License-Identifier: GPL-2.0-only
"""A policy below ioband delays the bios of one group; the others keep the disk.

Time is instructions executed, so the load of the host does not matter.
"""

import contextlib
import itertools
import json
from collections.abc import Iterator

import pytest
from harness.cgroup import Cgroup
from harness.compete import DISK
from harness.devices import DmDevice, linear, null_blk, sectors
from harness.guest import Guest
from harness.ioband import Ioband
from harness.load import Load, Stream, Window
from harness.tool import Tool
from harness.variants import variants
from test_tool import number_of

pytestmark = pytest.mark.guest(icount=True)

# For the search for a limit, which begins when the delayed group is known.
SETTLE_S = 14
# 2 I/Os at a time in 2 ms, or 64 in 20 ms.
DISKS = {2: DISK, 64: DISK | {"hw_queue_depth": 64, "completion_nsec": 20_000_000}}
SLOW_DISK = DISKS[64] | {"completion_nsec": 500_000_000}

Groups = tuple[Cgroup, Cgroup]


@pytest.fixture
def groups(ioband: Guest) -> Iterator[Groups]:
    """Two cgroups: a is delayed, b is not."""
    with Cgroup(ioband, "a") as a, Cgroup(ioband, "b") as b:
        yield a, b


def streams(path: str, groups: Groups, rw: str = "randread", **of_a: object) -> list[Stream]:
    """The same load of both groups."""
    return [
        Stream(name, path, group, rw=rw, bs="4k", iodepth=64, options=options)
        for name, group, options in zip("ab", groups, (of_a, {}), strict=True)
    ]


def running(
    guest: Guest, path: str, groups: Groups, rw: str, settle_s: float, seconds: float = 3
) -> Window:
    """The I/O of both in a few seconds."""
    load = Load(guest, streams(path, groups, rw)).start()
    guest.sleep(settle_s)
    start_ms = guest.now_ms()
    guest.sleep(seconds)
    end_ms = guest.now_ms()
    return load.stop().window(start_ms, end_ms)


def keeps(got: Window, plain: Window) -> None:
    """Each group has its rate on dm-linear, beside the same other one."""
    for name in "ba":
        assert got[name].iops > 0.9 * plain[name].iops, (name, got[name].iops, plain[name].iops)


@pytest.mark.parametrize(
    ("tags", "rw"),
    variants(
        itertools.product(DISKS, ["randread", "randwrite"]), (2, "randwrite"), (64, "randread")
    ),
)
def test_io_max_below(ioband: Guest, groups: Groups, tags: int, rw: str) -> None:
    """A few I/Os a second of one group do not hold back the other one."""
    guest = ioband
    with null_blk(guest, **DISKS[tags]) as below:
        groups[0].set("io.max", f"{number_of(guest, below)} riops=10 wiops=10")
        with linear(guest, "plain", below) as device:
            plain = running(guest, device.path, groups, rw, 1)
        with Ioband(guest, "d", below) as device:
            keeps(running(guest, device.path, groups, rw, SETTLE_S), plain)


def test_io_max_below_with_slices_by_time(ioband: Guest, groups: Groups) -> None:
    """The delayed group waits in slices of its own; the other one has its share of the time."""
    guest = ioband
    with null_blk(guest, **DISK) as below:
        groups[0].set("io.max", f"{number_of(guest, below)} riops=10")
        with linear(guest, "plain", below) as device:
            plain = running(guest, device.path, groups, "randread", 1)
        for weight in (100, 900):
            with Ioband(guest, "d", below, slice=20, measure="time") as device:
                device.set_weight(groups[1], weight)
                got = running(guest, device.path, groups, "randread", 2, 20)
            share = weight / (weight + 100)
            assert got["b"].iops == pytest.approx(share * plain["b"].iops, rel=0.1), weight


def test_io_max_below_with_slices_by_bytes(ioband: Guest, groups: Groups) -> None:
    """The other one has as many bytes as the delayed group, while the disk is idle."""
    guest = ioband
    with null_blk(guest, **DISK) as below:
        groups[0].set("io.max", f"{number_of(guest, below)} riops=10")
        with Ioband(guest, "d", below, slice=20) as device:
            got = running(guest, device.path, groups, "randread", 2, 20)
    assert got["a"].iops == pytest.approx(10, rel=0.1)
    assert got.ratio("b", "a") == pytest.approx(1, rel=0.2)


def test_io_max_below_a_minimum(ioband: Guest, groups: Groups) -> None:
    """A minimum that the policy below makes too high takes nothing from the other group."""
    guest = ioband
    with null_blk(guest, **DISKS[64]) as below:
        groups[0].set("io.max", f"{number_of(guest, below)} riops=10")
        with linear(guest, "plain", below) as device:
            plain = running(guest, device.path, groups, "randread", 1)
        with Ioband(guest, "d", below) as device:
            device.set_min(groups[0], riops=20)
            # First the minimum is late for a second, and then each limit of the other is tried.
            # Of the time after that, the smaller one takes a window of 1 s in 65.
            keeps(running(guest, device.path, groups, "randread", SETTLE_S, 20), plain)


@contextlib.contextmanager
def volume(guest: Guest, one: str, two: str) -> Iterator[str]:
    """A volume over two disks of one size."""
    size = sectors(guest, one)
    table = f"0 {size} linear {one} 0\n{size} {size} linear {two} 0"
    with DmDevice(guest, "volume", table) as both:
        yield both.path


def over_two(guest: Guest, path: str, groups: Groups, hanging: DmDevice | None = None) -> Window:
    """The I/O of both in 2 s; group a reads the second disk, which may hang then."""
    disk_bytes = sectors(guest, path) * 512 // 2
    part: dict[str, object] = {"size": disk_bytes}
    of_a = part | {"offset": disk_bytes}
    load = Load(
        guest,
        [
            Stream("a", path, groups[0], bs="4k", iodepth=512 if hanging else 64, options=of_a),
            Stream("b", path, groups[1], bs="4k", iodepth=64, options=part),
        ],
    ).start()
    guest.sleep(SETTLE_S)
    if hanging:
        hanging.suspend()
        guest.sleep(SETTLE_S)
    start_ms = guest.now_ms()
    guest.sleep(2)
    end_ms = guest.now_ms()
    if hanging:
        hanging.resume()
    return load.stop().window(start_ms, end_ms)


def test_slow_disk_of_a_volume(ioband: Guest, groups: Groups) -> None:
    """One pool, one device; one group reads a slow disk, the other one a fast disk."""
    guest = ioband
    with (
        null_blk(guest, size_mib=512, **DISKS[64]) as one,
        null_blk(guest, "nullb1", size_mib=512, **SLOW_DISK) as two,
        volume(guest, one, two) as below,
    ):
        plain = over_two(guest, below, groups)
        with Ioband(guest, "d", below) as device:
            keeps(over_two(guest, device.path, groups), plain)


@contextlib.contextmanager
def volume_that_hangs(guest: Guest) -> Iterator[tuple[str, DmDevice]]:
    """A volume over two disks, and the device that makes its second half hang."""
    with (
        null_blk(guest, size_mib=512, **DISKS[64]) as one,
        null_blk(guest, "nullb1", size_mib=512, **DISKS[64]) as disk,
        linear(guest, "two", disk) as two,
        volume(guest, one, two.path) as below,
    ):
        yield below, two


def test_disk_of_a_volume_hangs(ioband: Guest, groups: Groups) -> None:
    """The same, and the disk completes nothing any more."""
    guest = ioband
    with volume_that_hangs(guest) as (below, two):
        plain = over_two(guest, below, groups, two)
        with Ioband(guest, "d", below) as device:
            got = over_two(guest, device.path, groups, two)
    assert got["a"].iops == plain["a"].iops == 0
    assert got["b"].iops > 0.9 * plain["b"].iops, (got["b"].iops, plain["b"].iops)


def test_disk_of_a_volume_hangs_with_slices(ioband: Guest, groups: Groups) -> None:
    """The slice of the reader of that disk does not end until its bios complete; then all go on."""
    guest = ioband
    with (
        volume_that_hangs(guest) as (below, two),
        Ioband(guest, "d", below, slice=20, measure="time") as device,
    ):
        got = over_two(guest, device.path, groups, two)
        assert got["a"].iops == got["b"].iops == 0
        again = running(guest, device.path, groups, "randread", 1)
    assert all(again[name].iops > 0 for name in "ab"), again


def test_it_is_named(tool: Tool) -> None:
    """By explain for the group, and by check; until the policy is gone."""
    guest = tool.guest
    with null_blk(guest, **DISK) as below, Cgroup(guest, "a") as a, Cgroup(guest, "b") as b:
        number = number_of(guest, below)
        with Ioband(guest, "d", below) as device:
            load = Load(guest, streams(device.path, (a, b))).start()
            guest.sleep(1)
            (row,) = json.loads(tool.run("explain", "/a", "--json"))["explain"]
            assert row["verdict"] == "weight"
            a.set("io.max", f"{number} riops=10")
            guest.sleep(SETTLE_S)
            (row,) = json.loads(tool.run("explain", "/a", "--json"))["explain"]
            assert row["verdict"] == "below", row
            (row,) = json.loads(tool.run("explain", "/b", "--json"))["explain"]
            assert row["verdict"] != "below", row
            found = json.loads(tool.run("check", "--json"))["findings"]
            assert [each["subject"] for each in found if "policy below" in each["finding"]] == [
                "/a"
            ]
            a.set("io.max", f"{number} riops=max")
            guest.sleep(1)
            start_ms = guest.now_ms()
            (row,) = json.loads(tool.run("explain", "/a", "--json"))["explain"]
            assert row["verdict"] == "weight", row
            guest.sleep(2)
            window = load.stop().window(start_ms, start_ms + 2000)
            assert window.ratio("a", "b") == pytest.approx(1, rel=0.1)
