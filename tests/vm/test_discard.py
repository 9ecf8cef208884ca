# SPDX-License-Identifier: GPL-2.0-only
"""Discards of a group on a disk where they are slow, and the reads of another group.

The disk (trimdisk.c) serves one bio at a time.  Time is instructions executed, so the load of
the host does not matter.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import pytest
from harness.cgroup import Cgroup
from harness.devices import DmDevice, linear
from harness.guest import Guest, Job
from harness.ioband import Ioband
from harness.load import Load, Stream, Window
from harness.module import REPO, build_module
from harness.variants import variants
from harness.waiting import wait_until

pytestmark = pytest.mark.guest(icount=True)

MIB = 1 << 20
# A read that has waited completes soon after the discards.
READ_MS = 10
# 4 ms for each MiB: 1 GiB takes 4 s, and 256 MiB one second.
SLOW = {"mib_us": 4000}
# 10 ms for each discard, and little for its size.
FIXED = {"fixed_us": 10000, "mib_us": 16}
# The longest split: see IOBAND_DISCARD_US.
SPLIT_MS = 2


class TrimDisk(NamedTuple):
    """The disk, and its parameters."""

    guest: Guest
    path: str = "/dev/trimdisk"

    def get(self, name: str) -> int:
        """A counter or parameter."""
        return int(self.guest.read(f"/sys/module/trimdisk/parameters/{name}"))

    def set(self, name: str, value: int) -> None:
        """Change a parameter, or reset a counter."""
        self.guest.write(f"/sys/module/trimdisk/parameters/{name}", str(value))


@contextmanager
def trimdisk(guest: Guest, **parameters: object) -> Iterator[TrimDisk]:
    """A disk of size_mib=256 with granules of 64 KiB."""
    (module,) = build_module(guest.kernel, REPO / "tests/vm/trimdisk")
    guest.insmod(module, **({"size_mib": 256} | parameters))
    guest.run(["udevadm", "settle"])
    yield TrimDisk(guest)
    if guest.alive:
        guest.run(["udevadm", "settle"])
        guest.rmmod("trimdisk")


def discard(group: Cgroup, device: DmDevice, *options: str) -> Job:
    """Discard the whole device."""
    return group.start(["blkdiscard", "--force", *options, device.path])


def times_ms(disk: TrimDisk, device: DmDevice, group: Cgroup) -> tuple[int, int]:
    """Discard the whole device; when its disk has begun and ended."""
    disk.set("begun_ms", 0)
    discard(group, device).wait(120)
    return disk.get("begun_ms"), disk.get("ended_ms")


class Seen(NamedTuple):
    """The reads of group b before and during the discards of group a."""

    alone: Window
    beside: Window
    seconds: float  # of the discards

    def __str__(self) -> str:
        alone, beside = self.alone["b"], self.beside["b"]
        return (
            f"{beside.iops:.0f} of {alone.iops:.0f} reads/s, p99 {beside.latency_ms(99):.2f} ms"
            f" (alone {alone.latency_ms(99):.2f}), longest {beside.latency_ms(100):.1f} ms,"
            f" discards in {self.seconds:.2f} s"
        )


def beside(disk: TrimDisk, device: DmDevice, a: Cgroup, b: Cgroup, iodepth: int) -> Seen:
    """Let group b read while group a discards the whole device."""
    guest = device.guest
    load = Load(guest, [Stream("b", device.path, b, bs="4k", iodepth=iodepth)]).start()
    guest.sleep(0.5)
    before_ms = guest.now_ms()
    guest.sleep(1)
    after_ms = guest.now_ms()
    start_ms, end_ms = times_ms(disk, device, a)
    guest.sleep(0.2)
    measured = load.stop()
    return Seen(
        measured.window(before_ms, after_ms),
        measured.window(start_ms, end_ms + READ_MS),
        (end_ms - start_ms) / 1000,
    )


@contextmanager
def two_groups(guest: Guest) -> Iterator[tuple[Cgroup, Cgroup]]:
    with Cgroup(guest, "a") as a, Cgroup(guest, "b") as b:
        yield a, b


@pytest.mark.parametrize(
    ("iodepth", "measure"),
    variants([(1, "bytes"), (16, "bytes"), (1, "ios"), (16, "ios")], (1, "bytes"), (16, "bytes")),
)
def test_reads_beside_slow_discards(ioband: Guest, iodepth: int, measure: str) -> None:
    """Under dm-linear the reader waits for the whole discard, of one second."""
    guest = ioband
    with trimdisk(guest, **SLOW) as disk, two_groups(guest) as (a, b):
        with linear(guest, "l", disk.path) as device:
            plain = beside(disk, device, a, b, iodepth)
        print(f"dm-linear: {plain}")
        assert plain.beside["b"].latency_ms(100) > 900
        for counter in ("bios", "largest_kib", "most", "torn"):
            disk.set(counter, 0)
        with Ioband(guest, "i", disk.path, measure=measure) as device:
            seen = beside(disk, device, a, b, iodepth)
            done = device.io()["/a"].discard
        print(f"ioband: {seen}")
        assert disk.get("covered") == 256 * 16
        assert disk.get("torn") == 0
        assert disk.get("most") == 1
        assert disk.get("largest_kib") <= 1024
    assert done.bytes == 256 * MIB
    assert seen.beside["b"].iops == pytest.approx(seen.alone["b"].iops / 2, rel=0.15)
    assert seen.beside["b"].latency_ms(99) < seen.alone["b"].latency_ms(99) + 2 * SPLIT_MS
    assert seen.beside["b"].latency_ms(100) < seen.alone["b"].latency_ms(100) + 10 * SPLIT_MS
    assert plain.seconds < seen.seconds < 2.5


def test_share_by_weight(ioband: Guest) -> None:
    """Discards get device time by weight, as reads do."""
    guest = ioband
    with (
        trimdisk(guest, **SLOW) as disk,
        two_groups(guest) as (a, b),
        Ioband(guest, "i", disk.path) as device,
    ):
        device.set_weight(b, 300)
        seen = beside(disk, device, a, b, 16)
    print(seen)
    assert seen.beside["b"].iops == pytest.approx(seen.alone["b"].iops * 3 / 4, rel=0.15)
    assert 3 < seen.seconds < 5


@pytest.mark.long("two minutes; other tests of discards are usual")
def test_discards_that_cost_others_nothing(ioband: Guest) -> None:
    """The disk serves reads beside them: the discards take no longer for the reads."""
    guest = ioband
    with (
        trimdisk(guest, beside=1, **SLOW) as disk,
        two_groups(guest) as (a, b),
        Ioband(guest, "i", disk.path) as device,
    ):
        seen = beside(disk, device, a, b, 16)
        assert disk.get("covered") == 256 * 16
    print(seen)
    assert seen.beside["b"].iops > 0.95 * seen.alone["b"].iops
    assert seen.seconds < 1.3


@pytest.mark.long("a minute; other tests of discards are usual")
def test_splits_are_no_smaller_than_is_good(ioband: Guest) -> None:
    """Splits of 1 MiB would take 41 s."""
    guest = ioband
    with (
        trimdisk(guest, **FIXED, size_mib=4096) as disk,
        two_groups(guest) as (a, b),
        Ioband(guest, "i", disk.path) as device,
    ):
        start_ms, end_ms = times_ms(disk, device, a)
        alone_s = (end_ms - start_ms) / 1000
        seen = beside(disk, device, a, b, 1)
        assert disk.get("covered") == 4096 * 16
    print(f"alone in {alone_s:.2f} s; {seen}")
    assert alone_s < 1
    assert seen.seconds < 2.5 * alone_s
    assert seen.beside["b"].iops == pytest.approx(seen.alone["b"].iops / 2, rel=0.25)


def test_a_read_after_idling_beside_discards(ioband: Guest) -> None:
    """A lone group's discards are split too: the next group does not wait for all of them.

    The reader is idle for so long that its group is not active when it reads again.
    """
    guest = ioband
    options = {"thinktime": 100_000}
    with (
        trimdisk(guest, **SLOW) as disk,
        two_groups(guest) as (a, b),
        Ioband(guest, "i", disk.path) as device,
    ):
        stream = Stream("b", device.path, b, bs="4k", iodepth=1, options=options)
        load = Load(guest, [stream]).start()
        guest.sleep(0.5)
        start_ms, end_ms = times_ms(disk, device, a)
        guest.sleep(0.2)
        seen = load.stop().window(start_ms, end_ms)["b"]
    print(f"{len(seen.completions)} reads, longest {seen.latency_ms(100):.1f} ms")
    assert len(seen.completions) >= 7
    assert seen.latency_ms(100) < 2 * SPLIT_MS
    assert end_ms - start_ms < 1200


def covered_bytes(device: Ioband, option: str) -> int:
    """The bytes that group a has discarded, or zeroed."""
    done = device.io()["/a"]
    assert done.inflight == 0 and done.held == (0, 0)
    return (done.write if option == "--zeroout" else done.discard).bytes


@pytest.mark.parametrize("option", variants(["", "--zeroout", "--secure"], ""))
def test_nothing_is_lost(ioband: Guest, option: str) -> None:
    """The device is suspended and reloaded in the middle of a discard, beside a reader."""
    guest = ioband
    with (
        trimdisk(guest, **SLOW) as disk,
        two_groups(guest) as (a, b),
        Ioband(guest, "i", disk.path) as device,
    ):
        load = Load(guest, [Stream("b", device.path, b, bs="4k", iodepth=4)]).start()
        for round, noflush in enumerate((False, True, False, True), start=1):
            job = discard(a, device, *option.split())
            guest.sleep(0.3)
            if round > 2:
                device.load(device.line(measure="ios" if noflush else "bytes"))
            device.suspend(noflush=noflush)
            device.resume()
            job.wait(60)
            assert covered_bytes(device, option) == round * 256 * MIB
        load.stop()
        assert disk.get("covered") == 256 * 16
        assert disk.get("torn") == 0
        assert disk.get("most") == 1


def test_an_error_of_a_split(ioband: Guest) -> None:
    """The discard fails once, and all other splits of it are passed on."""
    guest = ioband
    with (
        trimdisk(guest, **SLOW, fail_mib=100) as disk,
        two_groups(guest) as (a, _),
        Ioband(guest, "i", disk.path) as device,
    ):
        result = discard(a, device).wait(check=False)
        assert result.rc and "Input/output error" in result.err
        assert 255 * 16 <= disk.get("covered") < 256 * 16
        assert device.io()["/a"].inflight == 0
        disk.set("fail_mib", -1)
        discard(a, device).wait()
        assert disk.get("covered") == 256 * 16


def test_a_killed_task_discards_in_turn(ioband: Guest) -> None:
    """Its bios are not dispatched before those of others, as its reads and writes are."""
    guest = ioband
    with (
        trimdisk(guest, **SLOW, size_mib=1024) as disk,
        two_groups(guest) as (a, b),
        Ioband(guest, "i", disk.path) as device,
    ):
        load = Load(guest, [Stream("b", device.path, b, bs="4k", iodepth=1)]).start()
        start_ms = guest.now_ms()
        guest.sleep(0.5)
        job = a.start(f"exec blkdiscard --force --step 8M {device.path}")
        guest.sleep(0.5)
        job.kill(9)
        kill_ms = guest.now_ms()
        wait_until(guest, lambda: device.io()["/a"].inflight == 0, "its discards have completed")
        end_ms = guest.now_ms()
        measured = load.stop()
    alone = measured.window(start_ms, start_ms + 500)["b"]
    after = measured.window(kill_ms, end_ms)["b"]
    assert after.latency_ms(100) < alone.latency_ms(100) + 4 * SPLIT_MS


def test_writes_of_the_same_group_go_on(ioband: Guest) -> None:
    """A group's writes do not wait until all of its queued discards have been dispatched."""
    guest = ioband
    with (
        trimdisk(guest, **SLOW) as disk,
        two_groups(guest) as (a, b),
        Ioband(guest, "i", disk.path) as device,
    ):
        load = Load(guest, [Stream("b", device.path, b, bs="4k", iodepth=4)]).start()
        job = discard(a, device)
        guest.sleep(0.3)
        start_ms = guest.now_ms()
        a.run(f"dd if=/dev/zero of={device.path} bs=4k count=20 oflag=direct status=none")
        took_ms = guest.now_ms() - start_ms
        assert not job.poll()
        job.wait()
        load.stop()
    print(f"20 writes in {took_ms:.0f} ms")
    assert took_ms < 500


def test_with_slices(ioband: Guest) -> None:
    """Device time is charged as it passes, and discards use up the slices of their group."""
    guest = ioband
    with (
        trimdisk(guest, **SLOW) as disk,
        two_groups(guest) as (a, b),
        Ioband(guest, "i", disk.path, measure="time", slice=50) as device,
    ):
        seen = beside(disk, device, a, b, 16)
        assert disk.get("covered") == 256 * 16
    print(seen)
    assert seen.beside["b"].iops == pytest.approx(seen.alone["b"].iops / 2, rel=0.2)
    assert seen.seconds < 2.8
