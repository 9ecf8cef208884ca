# SPDX-License-Identifier: GPL-2.0-only
"""Suspend, reload, remove and kill with queued bios; limits on queued bios."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from harness.cgroup import Cgroup
from harness.devices import DmDevice, linear, mounted, null_blk, scsi_debug, sectors
from harness.guest import CommandError, Guest, Job
from harness.ioband import Ioband
from harness.load import FIO_INTERRUPTED, READ_NOWAIT
from harness.machine import UnsupportedError
from harness.module import REPO, build_module
from harness.tracing import TRACING, calls_traced, charged, most_calls, traced
from harness.waiting import wait_until

# One I/O at a time, 100 ms each: bios stay queued for long.
CRAWLING = {
    "irqmode": 2,
    "completion_nsec": 100_000_000,
    "hw_queue_depth": 1,
    "submit_queues": 1,
}
# A millisecond each.
SLOW = {"irqmode": 2, "completion_nsec": 1_000_000}
OTHER_DEPTH = 4
ENDLESS = {"time_based": 1, "runtime": 600}
UDEV_READS = 8  # reads of udev at a time, when it probes a device
HELD_IOS_MAX = 1024
HELD_BYTES_MAX = 64 << 20
HELD_DYING = 4
DISCARDS = 4096


def start_fio(group: Cgroup, device: str, **options: object) -> Job:
    """fio with a deep queue, in the background."""
    given: dict[str, object] = {
        "name": group.path,
        "filename": device,
        "direct": 1,
        "thread": 1,
        "ioengine": "libaio",
        "rw": "randread",
        "bs": "4k",
        "randrepeat": 0,
    }
    return group.start(["fio", *(f"--{key}={value}" for key, value in (given | options).items())])


def end(*jobs: Job) -> None:
    """Kill jobs that do not end by themselves."""
    for job in jobs:
        job.kill()
    for job in jobs:
        assert job.wait(check=False).rc in (0, -9, FIO_INTERRUPTED)


def wait_until_held(device: Ioband, ios: int, seconds: float = 30) -> None:
    """Wait until that many bios are queued in the pool; fails if they are not."""
    wait_until(device.guest, lambda: device.info().held.ios >= ios, f"{ios} bios are held", seconds)


def wait_until_read(device: Ioband, label: str, ios: int, seconds: float = 30) -> None:
    """Wait until a group has read that much; fails if it has not."""

    def has_read() -> bool:
        stats = device.io().get(label)
        return stats is not None and stats.read.ios >= ios

    wait_until(device.guest, has_read, f"{label} has read {ios} times", seconds)


def reads_done(guest: Guest, device: str) -> int:
    """Reads that a disk has completed."""
    disk = guest.run(["readlink", "-f", device]).out.strip().removeprefix("/dev/")
    return int(guest.read(f"/sys/block/{disk}/stat").split()[0])


@contextmanager
def two_groups(guest: Guest) -> Iterator[tuple[Cgroup, Cgroup]]:
    with Cgroup(guest, "a") as a, Cgroup(guest, "b") as b:
        yield a, b


@contextmanager
def clogged(guest: Guest, full: Cgroup, other: Cgroup, **options: object) -> Iterator[Ioband]:
    """A device with ten I/Os a second, and a group with as many queued bios as its limit.

    At the end the rest of its bios is dispatched to another disk.
    """
    load = {"iodepth": 1200} | ENDLESS | options
    with clogged_by(guest, other, lambda path: start_fio(full, path, **load)) as (top, go_on):
        yield top
        end(go_on())


@contextmanager
def clogged_by(
    guest: Guest,
    other: Cgroup,
    start: Callable[[str], Job],
    discard_bytes: int = 64 << 10,
) -> Iterator[tuple[Ioband, Callable[[], Job]]]:
    """The same with any job on the device; yields also a function that sends the rest elsewhere.

    The device discards discard_bytes at a time, and has 4096 times as much.
    """
    kind = {"memory_backed": 1, "discard": 1, "max_sectors": 2048}
    size_mib = discard_bytes * DISCARDS >> 20
    with (
        null_blk(guest, "nullb7", size_mib=size_mib, **CRAWLING, **kind) as disk,
        null_blk(guest, "nullb8", size_mib=size_mib, **kind) as fast,
        Ioband(guest, "top", disk, depth=1) as top,
    ):
        name = guest.run(["readlink", "-f", top.path]).out.strip().removeprefix("/dev/")
        guest.write(f"/sys/block/{name}/queue/discard_max_bytes", str(discard_bytes))
        rival = start_fio(other, top.path, iodepth=OTHER_DEPTH, **ENDLESS)
        while "/b" not in top.io():
            guest.sleep(0.1)
        job = start(top.path)
        wait_until_held(top, 20)
        held = 0
        while (now := top.info().held.ios) > held:
            held = now
            guest.sleep(1)

        def go_on() -> Job:
            top.below = fast
            top.reload(top.line(), noflush=True)
            return job

        yield top, go_on
        end(rival)
        assert top.info().held == (0, 0)


# -- suspend -------------------------------------------------------------------------------


def test_suspend_sends_held_bios(ioband: Guest) -> None:
    guest = ioband
    with two_groups(guest) as (a, b), clogged(guest, a, b, iodepth=30) as top:
        before = top.io()["/a"]
        top.suspend()
        info, after = top.info(), top.io()["/a"]
        assert (info.held, info.inflight, after.inflight) == ((0, 0), (0, 0), 0)
        assert after.read.ios - before.read.ios >= before.held.ios
        guest.sleep(0.3)
        assert top.io()["/a"] == after
        # With udev this would take a minute, as udev reads from the device.
        top.dmsetup("resume", "--noudevsync")


def test_noflush_suspend_gives_held_bios_back(ioband: Guest) -> None:
    """They wait in device-mapper, and are queued in the same groups after the resume."""
    guest = ioband
    many = 30 * guest.patience  # some are dispatched before the suspend
    with two_groups(guest) as (a, b), clogged(guest, a, b, iodepth=many) as top:

        def both_hold() -> bool:
            return all(top.io()[name].held.ios >= 2 for name in ("/a", "/b"))

        wait_until(guest, both_hold, "both groups hold bios")
        before = top.io()
        done = reads_done(guest, top.below)
        top.suspend(noflush=True)
        info, after = top.info(), top.io()
        assert (info.held, info.inflight) == ((0, 0), (0, 0))
        # Only bios in flight, or dispatched meanwhile: ten a second.
        assert reads_done(guest, top.below) - done < before["/a"].held.ios / 2
        done = reads_done(guest, top.below)
        guest.sleep(0.5)
        assert reads_done(guest, top.below) == done
        assert top.io() == after
        uncounted = reads_done(guest, top.path) - reads_done(guest, top.below)
        # With udev this would take a minute, as udev reads from the device.
        top.dmsetup("resume", "--noudevsync")
        wait_until_held(top, 25)
        again = top.io()
        assert again["/a"].held.ios > again["/b"].held.ios >= 2
        top.suspend(noflush=True)
        # A kernel thread submitted them, so their cgroups were looked up.  From then on
        # device-mapper counts a bio: bios that it is given back now are "read" once more.
        asked = reads_done(guest, top.path) - reads_done(guest, top.below) - uncounted
        gone = reads_done(guest, top.below) - done
        assert 25 - gone <= asked <= OTHER_DEPTH + many + UDEV_READS
        top.dmsetup("resume", "--noudevsync")
        wait_until_read(top, "/a", after["/a"].read.ios + 5)


def test_noflush_suspend_gives_back_no_bio_in_part(ioband: Guest) -> None:
    """The lock is dropped between bios, and a split of a discard may be dispatched meanwhile."""
    guest = ioband
    options = {"irqmode": 2, "completion_nsec": 50_000, "memory_backed": 1, "discard": 1}
    guest.run(["modprobe", "dm-delay"])
    with null_blk(guest, "nullb7", size_mib=1024, **options) as disk, two_groups(guest) as groups:
        full, other = groups
        # Discards are as slow as writes, so that they are split.
        table = f"0 {sectors(guest, disk)} delay {disk} 0 0 {disk} 0 4"
        with DmDevice(guest, "slow", table) as slow, Ioband(guest, "top", slow.path) as top:
            name = guest.run(["readlink", "-f", top.path]).out.strip().removeprefix("/dev/")
            guest.write(f"/sys/block/{name}/queue/discard_max_bytes", str(96 << 10))
            rival = start_fio(other, top.path, iodepth=OTHER_DEPTH, **ENDLESS)
            discards = full.start(f"while true; do blkdiscard --force {top.path}; done")
            for _ in range(10):
                wait_until_held(top, 500)
                top.suspend(noflush=True)
                assert top.info().held == (0, 0)
                top.dmsetup("resume", "--noudevsync")
            slow.reload(f"0 {sectors(guest, disk)} linear {disk} 0")  # for the rest
            end(rival, discards)
            guest.run("while pgrep -x blkdiscard; do sleep 0.1; done")  # it waits for its bios


@pytest.mark.long("a minute at a device of ten reads a second")
def test_suspend_does_not_wait_for_another_device(ioband: Guest) -> None:
    """A task sleeps for back-pressure of a group full of another device's bios."""
    guest = ioband
    with (
        two_groups(guest) as (full, other),
        null_blk(guest, size_mib=64) as disk,
        Ioband(guest, "second", disk, depth=1) as second,  # udev probes it while that is quick
        clogged(guest, full, other),
    ):
        waiting = start_fio(full, second.path, iodepth=8, time_based=1, runtime=600)
        guest.sleep(3)
        for noflush in (True, False):
            guest.run(["dmsetup", "suspend", *["--noflush"] * noflush, "second"], timeout=20)
            second.resume()
        second.reload(f"0 {second.length} linear {disk} 0", noflush=True)
        end(waiting)


def test_mode_changes_without_draining(ioband: Guest) -> None:
    """Queued bios stay in their groups; later bios belong to other groups."""
    guest = ioband
    with two_groups(guest) as (a, b), clogged(guest, a, b, iodepth=200) as top:
        before = top.info().held.ios
        top.set(mode="uid")
        assert top.info().held.ios > before * 0.8  # the device does ten a second
        wait_until(guest, lambda: "uid:0" in top.io(), "what comes is of the user")


# -- reload, rename, remove ----------------------------------------------------------------


@pytest.mark.smoke
@pytest.mark.guest(parallel=True)
def test_reload_to_another_disk_and_pool(ioband: Guest) -> None:
    guest = ioband
    with (
        null_blk(guest, **SLOW) as first,
        null_blk(guest, "nullb1", **SLOW) as second,
        Ioband(guest, "stays", first, "old", depth=2) as stays,
        Ioband(guest, "moves", first, "old") as moves,
        two_groups(guest) as groups,
    ):
        jobs = [
            start_fio(group, moves.path, iodepth=64, time_based=1, runtime=600) for group in groups
        ]
        for count in range(4):
            disk, pool = ((second, "new"), (first, "old"))[count % 2]
            wait_until_held(moves, 50)
            moves.load(f"0 {sectors(guest, disk)} ioband {disk} 0 {pool} 1 depth=2")
            moves.suspend(noflush=count < 2)
            before = reads_done(guest, first), reads_done(guest, second)
            moves.resume()
            guest.sleep(0.5)
            after = reads_done(guest, first), reads_done(guest, second)
            assert [end > start for start, end in zip(before, after, strict=True)] == [
                disk == first,
                disk == second,
            ]
            assert (moves.info().pool, moves.info().devices) == (pool, 1 + (pool == "old"))
            assert stays.info().devices == 1 + (pool == "old")
            assert not any(job.poll() for job in jobs)
        end(*jobs)


@pytest.mark.smoke
@pytest.mark.brisk
@pytest.mark.guest(parallel=True)
def test_rename_and_remove_in_use(ioband: Guest) -> None:
    guest = ioband
    with (
        null_blk(guest, **SLOW) as disk,
        two_groups(guest) as groups,
        Ioband(guest, "d", disk, depth=2) as device,
    ):
        jobs = [
            start_fio(group, device.path, iodepth=64, time_based=1, runtime=600) for group in groups
        ]
        wait_until_held(device, 50)
        guest.run(["dmsetup", "rename", "d", "renamed"])
        device.name = "renamed"
        before = device.io()["/a"].ios
        guest.sleep(0.3)
        assert device.io()["/a"].ios > before

        guest.expect_dmesg("device-mapper: ioctl: unable to remove open device")
        with pytest.raises(CommandError, match="busy"):
            device.remove()
        with pytest.raises(CommandError, match="in use"):
            guest.rmmod("dm_ioband")
        device.remove("--deferred")
        assert device.info().held.ios > 0
        end(*jobs)
        guest.run(["udevadm", "settle"])
        assert "renamed" not in guest.run(["dmsetup", "ls"]).out
    guest.rmmod("dm_ioband")


# Commands that replace ioband's table by a table of the error target.
FORCE = {
    "remove --force": ["remove", "--force", "--deferred"],  # queued bios are dispatched first
    "wipe_table": ["wipe_table", "--force", "--noflush"],  # queued bios are refused
}


@pytest.mark.parametrize("way", FORCE)
@pytest.mark.guest(parallel=True)
def test_removal_by_force_under_load(ioband: Guest, way: str) -> None:
    guest = ioband
    guest.expect_dmesg("Buffer I/O error")  # of other readers of the device, as udev
    with (
        null_blk(guest, **SLOW) as disk,
        Ioband(guest, "stays", disk, depth=2) as stays,
        Ioband(guest, "goes", disk) as goes,
        two_groups(guest) as groups,
    ):
        jobs = [
            start_fio(group, goes.path, iodepth=64, time_based=1, runtime=600) for group in groups
        ]
        wait_until_held(goes, 50)
        verb, *options = FORCE[way]
        goes.dmsetup(verb, *options)
        for job in jobs:
            result = job.wait(60, check=False)
            assert result.rc == 1
            assert "Input/output error" in result.err + result.out
        guest.run(["udevadm", "settle"])
        if verb != "remove":
            goes.remove("--retry")
        assert "goes" not in guest.run(["dmsetup", "ls"]).out
        info = stays.info()
        assert (info.devices, info.held, info.inflight) == (1, (0, 0), (0, 0))
        assert all(stats.inflight == 0 for stats in stays.stats())
        dd = ["dd", f"if={stays.path}", "of=/dev/null", "bs=64k", "count=4", "iflag=direct"]
        groups[0].run(dd)
    guest.rmmod("dm_ioband")


@pytest.mark.all_kernels
def test_held_bios_of_a_deleted_disk_fail_at_once(ioband: Guest) -> None:
    """Its maximum would fail them in 800 s; bios of another device stay queued."""
    guest = ioband
    guest.expect_dmesg("I/O error|rejecting I/O|Synchroniz")
    reads = 100
    load = {"bs": "128k", "rw": "read", "iodepth": reads, "number_ios": reads}
    keep = {"size": f"{reads * 128}k", "continue_on_error": "all", "output-format": "json"}
    with (
        scsi_debug(guest) as disk,
        null_blk(guest, size_mib=64) as other,
        Ioband(guest, "d", disk) as device,
        Ioband(guest, "stays", other) as stays,
        Cgroup(guest, "a") as group,
    ):
        device.set_max(group, rbps=1 << 14)
        job = start_fio(group, device.path, **load, **keep)
        wait_until_held(device, reads - 20)
        slow = start_fio(group, stays.path, **load)
        wait_until_held(device, reads + 50)
        guest.write(f"/sys/block/{disk.removeprefix('/dev/')}/device/delete", "1")
        took_s = wait_until(guest, lambda: device.info().held.ios <= reads, "what was held fails")
        out = job.wait(20, check=False).out
        errors = json.loads(out[out.index("{") :])["jobs"][0]["total_err"]
        held = stays.info().held.ios
        end(slow)
    print(f"{errors} errors {took_s:.2f} s after the disk was deleted, {held} held for the other")
    assert took_s < 10  # a busy guest is slow to report it
    assert errors > reads - 20
    assert held > reads // 2


def test_held_bios_of_a_disk_deleted_below_another_device_fail_in_turn(ioband: Guest) -> None:
    """ioband does not see that the disk is gone: the maximum holds, and no bio is lost."""
    guest = ioband
    guest.expect_dmesg("I/O error|rejecting I/O|Synchroniz")
    reads, riops = 100, 20
    load = {"rw": "read", "iodepth": reads, "number_ios": reads}
    keep = {"size": f"{reads * 4}k", "continue_on_error": "all", "output-format": "json"}
    with (
        scsi_debug(guest) as disk,
        linear(guest, "volume", disk) as volume,
        Ioband(guest, "d", volume.path) as device,
        Cgroup(guest, "a") as group,
    ):
        device.set_max(group, riops=riops)
        job = start_fio(group, device.path, **load, **keep)
        wait_until_held(device, reads // 2)
        deleted_ms = guest.now_ms()
        guest.write(f"/sys/block/{disk.removeprefix('/dev/')}/device/delete", "1")
        held = device.info().held.ios
        out = job.wait(30, check=False).out
        took_ms = guest.now_ms() - deleted_ms
        errors = json.loads(out[out.index("{") :])["jobs"][0]["total_err"]
        assert device.info().held.ios == 0
    print(f"{errors} errors in {took_ms} ms, of {held} held when the disk was deleted")
    assert held <= errors < reads
    assert took_ms > 1000 * held / riops / 2


# -- back-pressure -------------------------------------------------------------------------


def test_group_that_is_full_waits_and_no_other(ioband: Guest) -> None:
    guest = ioband
    with two_groups(guest) as (full, other), clogged(guest, full, other) as top:
        held = top.io()
        # A bio may just have been dispatched, and the next one not be queued yet.
        assert HELD_IOS_MAX - 1 <= held["/a"].held.ios <= HELD_IOS_MAX
        job = start_fio(other, top.path, iodepth=32, number_ios=32)
        wait_until_held(top, HELD_IOS_MAX + 25)  # its submitter does not sleep
        assert top.io()["/a"].held.ios <= HELD_IOS_MAX
        job.wait()


def test_bytes_that_are_held_are_bounded(ioband: Guest) -> None:
    guest = ioband
    with (
        two_groups(guest) as (full, other),
        clogged(guest, full, other, bs="1m", iodepth=80) as top,
    ):
        held = top.io()["/a"].held
        assert HELD_BYTES_MAX - (1 << 20) <= held.bytes < HELD_BYTES_MAX + (1 << 20)
        assert held.ios < HELD_IOS_MAX


@pytest.mark.parametrize("option", ["", "--zeroout"])
def test_who_discards_or_zeroes_waits(ioband: Guest, option: str) -> None:
    """For these the block layer makes thousands of bios at a time."""
    guest = ioband

    def start(path: str) -> Job:
        return full.start(f"blkdiscard --force {option} {path}")

    with two_groups(guest) as (full, other), clogged_by(guest, other, start) as (top, go_on):
        held = top.io()["/a"].held
        assert (1 << 20) < held.bytes < HELD_BYTES_MAX + (1 << 20)
        assert held.ios <= HELD_IOS_MAX
        go_on().wait()
        done = top.io()["/a"]
    assert (done.discard if not option else done.write).bytes == DISCARDS << 16


def require(guest: Guest, path: str) -> None:
    """The kernels with detectors do not sleep."""
    if not guest.exists(path):
        raise UnsupportedError(f"this kernel has no {path}")


def test_the_system_sleeps_behind_a_small_maximum(ioband: Guest) -> None:
    """The kernel freezes all tasks first, also tasks with queued bios, and tasks that sleep."""
    guest = ioband
    require(guest, "/sys/power/pm_test")
    with (
        null_blk(guest) as disk,
        Ioband(guest, "d0", disk) as dev,
        two_groups(guest) as (a, b),
    ):
        dev.set_max(a, wbps=64 << 10)
        dev.set_max(b, rbps=64 << 10)
        # One waits for its bios, the other to submit more.
        large = start_fio(a, dev.path, ioengine="psync", rw="write", bs="4m", **ENDLESS)
        wait_until(guest, lambda: dev.info().held.bytes > 2 << 20, "a large write waits")
        many = start_fio(b, dev.path, iodepth=4 * HELD_IOS_MAX, **ENDLESS)
        wait_until_held(dev, HELD_IOS_MAX)
        guest.write("/sys/power/pm_test", "freezer")
        guest.write("/sys/module/suspend/parameters/pm_test_delay", "1")
        begun_ms = guest.now_ms()
        guest.run("echo freeze >/sys/power/state", timeout=120)
        slept_ms = guest.now_ms() - begun_ms
        guest.write("/sys/power/pm_test", "none")
        # The maxima hold again.
        wait_until_held(dev, HELD_IOS_MAX)
        end(large, many)
    print(f"asleep after {slept_ms - 1000:.0f} ms")
    assert slept_ms < 10_000


def test_a_pool_made_while_the_system_goes_to_sleep(ioband: Guest) -> None:
    """A program that hibernates has /dev/snapshot open; a pool made meanwhile queues nothing."""
    guest = ioband
    require(guest, "/dev/snapshot")
    with null_blk(guest) as disk, Cgroup(guest, "a") as a:
        program = guest.start("exec sleep 600 </dev/snapshot")
        link = f"/proc/{program.pid}/fd/0"
        wait_until(guest, lambda: "snapshot" in guest.run(["readlink", link]).out, "it is open")
        with Ioband(guest, "d0", disk) as dev:
            dev.set_max(a, rbps=4096)
            a.run(["dd", f"if={dev.path}", "of=/dev/null", "bs=64k", "count=4", "iflag=direct"])
            assert dev.io()["/a"].read.held == 0
            program.kill()
            program.wait(check=False)
            load = start_fio(a, dev.path, **ENDLESS)
            wait_until_held(dev, 1)
            end(load)


@pytest.mark.all_kernels
def test_who_waits_keeps_nobody_from_the_detour(ioband: Guest) -> None:
    """It uses the queue of a hidden disk, which sleeping submitters must not hold."""
    guest = ioband
    hidden = "/sys/block/ioband-owner/queue/max_sectors_kb"

    def start(path: str) -> Job:
        return full.start(f"blkdiscard --force {path}")

    with two_groups(guest) as (full, other), clogged_by(guest, other, start) as (top, go_on):
        top.set_max(full, wbps=1)  # nothing is dispatched, so submitters sleep on
        limit = guest.read(hidden).strip()
        guest.start(f"echo {limit} >{hidden}").wait(20)  # freezes the queue, on newer kernels
        top.set_max(full)
        go_on().wait()


@pytest.mark.all_kernels
def test_waiting_for_room_does_not_keep_a_queue_from_being_frozen(ioband: Guest) -> None:
    """Newer kernels freeze it to change a limit in sysfs, and all groups wait meanwhile."""
    guest = ioband
    with two_groups(guest) as (full, other), clogged(guest, full, other) as top:
        top.set_max(full, rbps=1)  # until the reset the task on the wait queue sleeps
        name = guest.run(["readlink", "-f", top.path]).out.strip().removeprefix("/dev/")
        setting = f"/sys/block/{name}/queue/max_sectors_kb"
        held = top.io()["/a"].held.ios
        guest.start(f"echo {guest.read(setting).strip()} >{setting}").wait(20)
        before = top.io()
        assert before["/a"].held.ios <= held + 1
        wait_until_read(top, "/b", before["/b"].read.ios + 1)
        top.set_max(full)


def test_who_discards_and_is_killed_is_bounded(ioband: Guest) -> None:
    """A dying task's bios are dispatched up to a debt, then queued up to HELD_DYING limits."""
    guest = ioband

    def start(path: str) -> Job:
        return full.start(["blkdiscard", "--force", path])

    with (
        two_groups(guest) as (full, other),
        clogged_by(guest, other, start, discard_bytes=1 << 20) as (top, go_on),
    ):
        held = top.io()["/a"].held
        assert held.bytes == HELD_BYTES_MAX
        full.guest.run(["pkill", "-KILL", "blkdiscard"])
        wait_until_held(top, 2 * held.ios)
        guest.sleep(3)
        held = top.io()["/a"].held
        assert HELD_BYTES_MAX < held.bytes <= HELD_DYING * HELD_BYTES_MAX + (1 << 20)
        assert go_on().wait(check=False).rc == -9


def test_waiting_for_room_is_waiting_for_io(ioband: Guest) -> None:
    """The cgroup's pressure includes it; the kernel adds that up every two seconds."""
    guest = ioband

    def waited_us() -> int:
        some = full.get("io.pressure").splitlines()[0]
        return int(some.split("total=")[1])

    with two_groups(guest) as (full, other), clogged(guest, full, other):
        before = waited_us()
        guest.sleep(8)
        waited = waited_us() - before
    assert waited > 4_000_000


def test_nowait_and_a_full_group(ioband: Guest) -> None:
    guest = ioband
    with two_groups(guest) as (full, other), clogged(guest, full, other) as top:
        read = ["python3", "-c", READ_NOWAIT, top.path]
        assert full.run(read).out == "EAGAIN\n"
        assert other.run(read).out == "4096\n"  # queued, and then read


def test_in_one_go_into_a_full_group(ioband: Guest) -> None:
    """io_uring gets EAGAIN instead of sleeping, and submits again by tasks that may sleep."""
    guest = ioband
    at_once = {"ioengine": "io_uring", "iodepth": 64, "iodepth_batch": 32, "number_ios": 64}

    def start(path: str) -> Job:
        return start_fio(full, path, iodepth=1200, **ENDLESS)

    with (
        two_groups(guest) as (full, other),
        clogged_by(guest, other, start) as (top, go_on),
    ):
        before = top.io()["/a"].read.held
        job = start_fio(full, top.path, **at_once)
        guest.sleep(2)
        assert not job.poll()
        held = top.io()["/a"].held.ios
        assert HELD_IOS_MAX - 1 <= held <= HELD_IOS_MAX + 64  # one for each sleeping task
        end(go_on())
        job.wait(60)
        assert top.io()["/a"].read.held >= before + 64


@pytest.mark.all_kernels
def test_what_must_not_wait_is_not_given_back(ioband: Guest) -> None:
    """io_uring's nowait bios: device-mapper's worker would have the disk refuse them at a split."""
    guest = ioband
    large = {"ioengine": "io_uring", "iodepth": 32, "iodepth_batch": 16, "bs": "256k"}

    def start(path: str) -> Job:
        return start_fio(full, path, number_ios=32, **large)

    with two_groups(guest) as (full, other), clogged_by(guest, other, start) as (top, go_on):
        guest.write("/sys/block/nullb8/queue/max_sectors_kb", "64")
        go_on().wait(60)
        assert top.io()["/a"].read.held > 0


# -- tasks that are killed -----------------------------------------------------------------


@pytest.mark.guest(parallel=True)
def test_killed_task_ends_soon(ioband: Guest) -> None:
    guest = ioband
    with (
        null_blk(guest, **SLOW) as disk,
        Ioband(guest, "d", disk, depth=1) as device,
        two_groups(guest) as (low, high),
    ):
        device.set_weight(low, 1)
        device.set_weight(high, 10000)
        rival = start_fio(high, device.path, iodepth=64, time_based=1, runtime=600)
        victim = start_fio(low, device.path, iodepth=1200, time_based=1, runtime=600)
        wait_until_held(device, 1000)
        victim.kill()
        assert victim.wait(10, check=False).rc == -9
        assert not rival.poll()
        end(rival)


# -- long queues ---------------------------------------------------------------------------

# Nothing bounds the queued bios of an fsync.
FSYNC_IOS = 20_000
# Functions that take the lock of a pool, or are called right after that.
TAKES_LOCK = ("_raw_spin_lock_irq", "complete_shared", "batch_enter", "ioband_dispatch_wake")
# In one hold of the lock: those of one call, twice.
DISPATCHED_MAX = 512
# Prints the sectors in the trace that follow a larger one.
BACK = """
match($0, /sector=[0-9]+/) {
    sector = substr($0, RSTART + 7, RLENGTH - 7) + 0
    if (sector < last) print sector
    last = sector
}
"""


def test_search_for_dying_tasks_drops_the_lock(ioband: Guest) -> None:
    """Four times a second it looks at all queued bios, of any number."""
    guest = ioband
    tasks = 128
    with (
        null_blk(guest) as disk,
        Ioband(guest, "d", disk) as device,
        Cgroup(guest, "a") as full,
    ):
        device.set_max(full, riops=1)
        # At the bound each task still queues one bio.
        load = start_fio(full, device.path, numjobs=tasks, iodepth=16, number_ios=16)
        wait_until_held(device, HELD_IOS_MAX + tasks // 2, 60)
        with calls_traced(guest, "io_goes_at_once", "_raw_spin_lock_irq"):
            guest.sleep(1)
            bios, most = most_calls(guest, "io_goes_at_once", "_raw_spin_lock_irq")
        held = device.info().held.ios
        device.set_max(full)
        load.wait(60)
    print(f"{bios} looks at {held} bios, {most} at a time")
    assert bios > HELD_IOS_MAX + tasks // 2
    assert most <= HELD_IOS_MAX


@contextmanager
def no_background_writeback(guest: Guest) -> Iterator[None]:
    """Flushers write nothing before half of the memory is dirty."""
    late = {"dirty_ratio": 60, "dirty_background_ratio": 50, "dirty_writeback_centisecs": 360_000}
    before = {name: guest.read(f"/proc/sys/vm/{name}") for name in late}
    for name, value in late.items():
        guest.write(f"/proc/sys/vm/{name}", str(value))
    yield
    for name, text in before.items():
        guest.write(f"/proc/sys/vm/{name}", text)


@pytest.mark.parametrize("way", ["opens", "maximum", "suspend"])
def test_long_queue_is_dispatched_in_parts(ioband: Guest, way: str) -> None:
    """Interrupts are off while the lock of the pool is held."""
    guest = ioband
    many = {"direct": 0, "ioengine": "psync", "rw": "randwrite", "end_fsync": 1}
    with (
        null_blk(guest, size_mib=4096, **CRAWLING | {"hw_queue_depth": 1024}) as disk,
        no_background_writeback(guest),
        Ioband(guest, "d", disk, depth=1) as device,
        two_groups(guest) as (a, b),
    ):
        guest.write(f"/sys/block/{disk.removeprefix('/dev/')}/queue/wbt_lat_usec", "0")
        if way == "opens":
            device.set_max(b, riops=1)  # it competes all the time
            rival = start_fio(b, device.path, iodepth=8, **ENDLESS)
            wait_until_held(device, 6)
        else:
            device.set_max(a, wiops=1)
        load = start_fio(a, device.path, number_ios=FSYNC_IOS, **many)
        wait_until_held(device, int(FSYNC_IOS * 0.95), 60)
        seq = device.tree()["/a"].seq
        with (
            traced(guest, "ioband/ioband_release", only=f"seq == {seq}"),
            calls_traced(guest, "ioband_dispatch_launch", *TAKES_LOCK),
        ):
            if way == "opens":
                end(rival)
            elif way == "maximum":
                device.set_max(a)
            else:
                device.suspend()
            wait_until(guest, lambda: device.info().held.ios == 0, "all bios are dispatched")
            bios, most = most_calls(guest, "ioband_dispatch_launch", *TAKES_LOCK)
            back = guest.run(["awk", BACK, f"{TRACING}/trace"]).out.split()
        if way == "suspend":
            device.dmsetup("resume", "--noudevsync")
        load.wait(60)
    print(f"{bios} bios, {most} in a hold")
    assert bios > FSYNC_IOS / 2
    assert most <= DISPATCHED_MAX
    assert not back, "bios of the group are dispatched in the order of their arrival"


# -- bios that other tasks wait for --------------------------------------------------------


@contextmanager
def two_devices(guest: Guest) -> Iterator[tuple[Ioband, Ioband]]:
    """Of one pool with one bio in flight: one for a file system, one for its rivals."""
    with (
        null_blk(guest, size_mib=64, memory_backed=1, **SLOW) as disk,
        null_blk(guest, "nullb1", **SLOW) as busy,
        Ioband(guest, "fs", disk, depth=1) as device,
        Ioband(guest, "rival", busy) as other,
    ):
        yield device, other


def test_journal_is_not_held(ioband: Guest) -> None:
    """It belongs to the root group, with a tiny weight beside the backlogged groups.

    The root group is charged for it.
    """
    guest = ioband
    with (
        two_devices(guest) as (device, other),
        two_groups(guest) as groups,
        mounted(guest, device.path, options="noinit_itable") as point,
    ):
        rivals = [
            start_fio(group, other.path, iodepth=64, time_based=1, runtime=600) for group in groups
        ]
        wait_until_held(device, 100)
        # If its writes were queued, five would be dispatched a second, and the test would end.
        device.set_weight("root", 1)
        guest.run("udevadm settle && sync")  # no other bio of the root is in flight
        seq = device.tree()["root"].seq
        with traced(guest, "ioband/ioband_charge", only=f"seq == {seq}"):
            before = device.io()
            make = f"for n in 1 2 3; do mkdir {point}/d$n && sync {point}/d$n; done"
            groups[0].run(make, timeout=120)
            after = device.io()
            wait_until(
                guest,
                lambda: charged(guest) == device.io()["root"].bytes - before["root"].bytes,
                "all is charged",
            )
        end(*rivals)
    then, now = before["root"].write, after["root"].write
    written = now.ios - then.ios
    assert written >= 3
    assert now.held - then.held <= written / 4  # writeback beside the journal may be queued
    assert after["/b"].read.held > before["/b"].read.held


def test_metadata_that_a_task_reads_is_not_held(ioband: Guest) -> None:
    guest = ioband
    with (
        two_devices(guest) as (device, other),
        two_groups(guest) as (reader, rival),
        mounted(guest, device.path) as point,
    ):
        guest.run(f"cd {point} && mkdir d{{1..40}} && dd if=/dev/zero of=file bs=64k count=4")
        load = start_fio(rival, other.path, iodepth=64, time_based=1, runtime=600)
        wait_until_read(other, "/b", 100)
        # The group and its counters must exist.
        reader.run(["dd", f"if={other.path}", "of=/dev/null", "count=1", "iflag=direct"])
        did = []
        for command in (f"ls -R {point}", f"dd if={point}/file of=/dev/null bs=4k iflag=direct"):
            guest.run(f"umount {point} && mount {device.path} {point}")  # nothing is cached
            before = device.io()
            reader.run(command)
            after = device.io()
            did.append(after["/a"].read.ios - before["/a"].read.ios)
            did.append(after["/a"].read.held - before["/a"].read.held)
            assert after["/b"].read.held > before["/b"].read.held, "they compete"
        end(load)
    metadata, metadata_held, data, data_held = did
    assert metadata >= 40
    assert metadata_held < metadata / 4
    assert data >= 64
    assert data_held > data / 2


# Create and sync a file, again and again, for some seconds; print the longest time.
SYNC = """
import os, sys, time
point, seconds = sys.argv[1], float(sys.argv[2])
end, longest, number = time.monotonic() + seconds, 0.0, 0
while time.monotonic() < end:
    begin = time.monotonic()
    file = os.open(f"{point}/new{number % 8}", os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
    os.write(file, b"x" * 4096)
    os.fsync(file)
    os.close(file)
    longest = max(longest, time.monotonic() - begin)
    number += 1
print(number, longest)
"""


# Cut one file after the other.
CUT = """
import os, sys
for number in range(int(sys.argv[2])):
    os.truncate(f"{sys.argv[1]}/f{number}", 5000)
"""


@pytest.mark.guest(icount=True)
def test_read_in_a_transaction_delays_no_fsync(ioband: Guest) -> None:
    """A truncate of ext4 reads the last block of its file in a transaction.

    A task that truncates file after file exceeds the maximum of its group by no more than 5 s.
    """
    guest = ioband
    files, rbps = 800, 1 << 15
    with (
        two_devices(guest) as (device, other),
        two_groups(guest) as (low, high),
        mounted(guest, device.path) as point,
    ):
        guest.run(f"cd {point} && head -c 8192 /dev/zero | tee f{{0..{files - 1}}} >/dev/null")
        guest.run(f"umount {point} && mount {device.path} {point}")  # no data is cached
        # A task that reads an inode locks the directory, and is held.
        guest.run(f"ls -l {point}")
        device.set_weight(low, 1)
        device.set_max(low, rbps=rbps)
        load = start_fio(low, other.path, iodepth=256, time_based=1, runtime=600)
        wait_until_held(device, 200)  # a read of the group waits for 24 s behind these
        syncs = high.start(["python3", "-c", SYNC, point, "12"])
        guest.sleep(1)
        before, begun_ms = device.io()["/a"].read, guest.now_ms()
        cut = low.start(["python3", "-c", CUT, point, str(files)])
        number, longest = syncs.wait(120).out.split()
        after, seconds = device.io()["/a"].read, (guest.now_ms() - begun_ms) / 1000
        read = after.bytes - before.bytes
        print(f"{number} files, {float(longest):.3f} s for one")
        print(f"{read} bytes read in {seconds:.1f} s")
        assert cut.poll() is None, "it has files left"
        cut.kill()
        assert cut.wait(5, check=False).rc == -9
        held = device.info().held.ios
        end(load)
    assert held >= 200, "the maximum holds other reads"
    assert int(number) > 8
    assert float(longest) < 1
    assert rbps * 7 < read < rbps * (seconds + 6), "beyond a debt, and within the maximum"


# The flags of a bio or states of its task (urgent.c), and whether the bio is queued: in a group
# without debt, and in a group with so much debt that only few kinds of bios may add to it.
URGENCY = {
    "read": (True, True),
    "write": (True, True),
    "read thread": (True, True),
    "read meta": (False, False),
    "read prio": (False, False),
    "write journal": (True, True),
    "read killed": (False, True),
    "write killed": (False, True),
    "read thread meta": (False, False),
    "read thread prio": (False, False),
    "write meta": (False, False),
    "write prio": (False, False),
    "read swap": (False, False),
    "write swap": (False, False),
    "read reclaim": (False, False),
    "write reclaim": (False, False),
    "read victim": (False, False),
    "read journal": (False, False),
    "read meta journal": (False, False),
    "read meta nofs": (False, False),
    "read nofs": (True, True),
    "read meta worker": (False, True),
    "read meta killed": (False, True),
}
OWED_MIB = 56  # of 64, the limit of a debt; above 32 the debt is large


@pytest.fixture
def urgent(ioband: Guest) -> Iterator[str]:
    """The device that makes bios with such flags and states (urgent.c)."""
    (module,) = build_module(ioband.kernel, REPO / "tests/vm/urgent")
    ioband.insmod(module)
    ioband.run(["udevadm", "settle"])
    yield "/dev/urgent"
    if ioband.alive:
        ioband.rmmod("urgent")


# Each size is unique, and that of swap below 64 KiB: it is split otherwise.
KIB = {words: 8 + 4 * number for number, words in enumerate(URGENCY)}


@contextmanager
def held_or_not(guest: Guest, seq: int) -> Iterator[dict[str, bool]]:
    """Whether each of a group's bios of those sizes is queued; filled in when all have come."""
    seen: dict[str, bool] = {}

    def all_came() -> bool:
        trace = guest.read(f"{TRACING}/trace")
        for event, held in (("charge", False), ("hold", True)):
            came = re.findall(rf"ioband_{event}: .* bytes=(\d+)", trace)
            seen.update((words, held) for words in KIB if str(KIB[words] << 10) in came)
        return seen.keys() == KIB.keys()

    with traced(guest, "ioband/ioband_hold", "ioband/ioband_charge", only=f"seq == {seq}"):
        yield seen
        wait_until(guest, all_came, "all are held, or go")


def test_what_waits_its_turn_and_what_does_not(ioband: Guest, urgent: str) -> None:
    """Each flag and state that counts, alone."""
    guest = ioband
    with (
        two_devices(guest) as (device, other),
        two_groups(guest) as groups,
        Cgroup(guest, "c") as c,
    ):
        load = {"iodepth": 256, "time_based": 1, "runtime": 600}
        rivals = [start_fio(group, other.path, **load) for group in groups]
        wait_until_held(device, 400)
        # The group and its counters must exist.
        c.run(["dd", f"if={device.path}", "of=/dev/null", "count=1", "iflag=direct"])
        seq = device.tree()["/c"].seq
        owed = "write thread meta"  # a task would sleep for so large a debt
        submit = [f"sh -c 'echo {device.path} {KIB[each]} {each} >{urgent}'" for each in URGENCY]
        with held_or_not(guest, seq) as first:
            codes = c.run("\n".join(f"{one}; echo $?" for one in submit)).out.split()
        c.run(f"for n in {{1..{OWED_MIB}}}; do echo {device.path} 1024 {owed} >{urgent}; done")
        with held_or_not(guest, seq) as then:
            jobs = [c.start(submit[0])]
            # A debt lasts while the group is active.
            wait_until(guest, lambda: device.io()["/c"].held.ios == 1, "one waits")
            jobs.append(c.start("\n".join(f"{one} &" for one in submit[1:]) + "\nwait"))
        end(*rivals)
        for job in jobs:
            job.wait()
    assert codes == ["137" if "killed" in words else "0" for words in URGENCY]
    assert {words: (first[words], then[words]) for words in URGENCY} == URGENCY


@pytest.mark.guest(icount=True)
def test_tasks_that_read_metadata_keep_to_their_share(ioband: Guest, urgent: str) -> None:
    """None of it is queued: the tasks sleep before they read more, until the debt is paid."""
    guest = ioband
    forever = (
        f"import os; urgent = os.open('{urgent}', os.O_WRONLY)\n"
        "while True: os.write(urgent, b'/dev/mapper/d0 64 read meta')"
    )
    slow = {"irqmode": 2, "completion_nsec": 1_000_000, "hw_queue_depth": 8}
    with (
        null_blk(guest, **slow) as disk,
        Ioband(guest, "d0", disk) as device,
        Cgroup(guest, "many") as many,
        Cgroup(guest, "few") as few,
    ):
        device.set_weight(many, 1000)
        device.set_weight(few, 20)
        load = start_fio(many, device.path, iodepth=32, bs="64k", time_based=1, runtime=600)
        wait_until_read(device, "/many", 100)
        tasks = [few.start(["python3", "-c", forever]) for _ in range(32)]
        wait_until_read(device, "/few", 512)  # 32 MiB, the debt for which no task sleeps
        guest.sleep(1)
        before = device.io()
        guest.sleep(5)
        after = device.io()
        for task in tasks:
            task.kill()
        end(load)
    read = {name: after[name].read.bytes - before[name].read.bytes for name in ("/few", "/many")}
    print(read)
    assert after["/few"].read.held == 0
    assert 0.5 < read["/few"] / read["/many"] * 50 < 1.5


# Submits several bios in one system call, and prints how long it takes.
IN_ONE_CALL = """
import os, sys, time
urgent = os.open(sys.argv[1], os.O_WRONLY)
begin = time.monotonic()
os.writev(urgent, [order.encode() for order in sys.argv[2:]])
print(time.monotonic() - begin)
"""


@pytest.mark.guest(icount=True)
@pytest.mark.parametrize("last", ["read", "other pool"])
def test_a_task_pays_for_all_that_it_owes(ioband: Guest, urgent: str, last: str) -> None:
    """Its last bio is small, and of another pool or direction, for which it owes less."""
    guest = ioband
    with (
        null_blk(guest) as disk,
        null_blk(guest, "nullb1") as other_disk,
        Ioband(guest, "d0", disk) as device,
        Ioband(guest, "d1", other_disk, pool="other") as other,
        Cgroup(guest, "c") as group,
    ):
        for each in (device, other):
            # The group and its counters must exist.
            group.run(["dd", f"if={each.path}", "of=/dev/null", "count=1", "iflag=direct"])
        device.set_max(group, wbps=1 << 20, rbps=1 << 12)
        other.set_max(group, wbps=1 << 12)
        small = f"{device.path} 24 read" if last == "read" else f"{other.path} 24 write"
        orders = [*[f"{device.path} 1024 write swap"] * 9, f"{small} swap"]  # for 9 s, and for 6
        script = ["python3", "-c", IN_ONE_CALL, urgent, *orders]
        seconds = float(group.run(script).out)
    print(f"{seconds:.2f} s")
    assert 3.5 < seconds < 5.5


@pytest.mark.parametrize(
    ("words", "sleeps"), [("write direct", True), ("write direct journal", False)]
)
def test_no_task_waits_for_room_in_a_transaction(
    ioband: Guest, urgent: str, words: str, sleeps: bool
) -> None:
    """Other tasks would wait for the end of the transaction."""
    guest = ioband
    with (
        null_blk(guest) as disk,
        Ioband(guest, "d0", disk) as dev,
        Cgroup(guest, "full") as full,
    ):
        dev.set_max(full, rbps=1, wbps=1)
        full.run(["dd", "if=/dev/zero", f"of={dev.path}", "bs=4k", "count=1", "oflag=direct"])
        load = start_fio(full, dev.path, iodepth=1200, **ENDLESS)
        wait_until_held(dev, HELD_IOS_MAX)
        job = full.start(["sh", "-c", f"echo {dev.path} 4 {words} >{urgent}"])
        stack = f"/proc/{job.pid}/stack"
        wait_until(guest, lambda: "submit_bio_wait" in guest.read(stack), "it has come")
        guest.sleep(0.2)
        slept_in = guest.read(stack)
        dev.set_max(full)
        job.wait()
        end(load)
    assert "submit_bio_wait" in slept_in
    assert ("ioband_throttle_wait" in slept_in) == sleeps


@pytest.fixture
def no_clones(ioband: Guest) -> Iterator[Callable[[], None]]:
    """Lets device-mapper have no memory for further clones of bios (noclones.c)."""
    if not ioband.exists("/sys/kernel/debug/kprobes"):
        raise UnsupportedError("the kernel has no probes of functions")
    (module,) = build_module(ioband.kernel, REPO / "tests/vm/noclones")
    yield lambda: ioband.insmod(module)
    if ioband.alive:
        ioband.rmmod("noclones")


def test_a_slow_group_leaves_clones_of_the_reserve(
    ioband: Guest, no_clones: Callable[[], None]
) -> None:
    """Without memory a bio of any group of the device needs one of 16 clones."""
    guest = ioband
    with (
        null_blk(guest) as disk,
        Ioband(guest, "d0", disk) as dev,
        two_groups(guest) as (slow, other),
    ):
        dev.set_max(slow, rbps=1)
        read = f"dd if={dev.path} of=/dev/null bs=4k count=64 iflag=direct"
        other.run(read)
        no_clones()
        job = start_fio(slow, dev.path, iodepth=64, **ENDLESS)
        wait_until_held(dev, 8)
        other.run(read, timeout=30)
        assert int(guest.read("/sys/module/noclones/parameters/failures")) > 64
        assert dev.io()["/a"].held.ios == 8
        dev.set_max(slow)
        end(job)
