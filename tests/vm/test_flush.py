# SPDX-License-Identifier: GPL-2.0-only
"""With slices a turn in which something was written ends when the medium has it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from harness.cgroup import Cgroup
from harness.devices import linear, mounted, null_blk, sectors
from harness.guest import Guest
from harness.ioband import Ioband
from harness.load import Load, Stream

# A millisecond each; cache_size is what makes null_blk say that it has a write cache.
SLOW = {"size_mib": 64, "irqmode": 2, "completion_nsec": 1_000_000, "memory_backed": 1}
CACHED = {**SLOW, "cache_size": 4}
SLICED = {"slice": 20, "measure": "time"}
FLUSH = """
import os, sys
device = os.open(sys.argv[1], os.O_RDWR)
for _ in range(2):
    try:
        os.fsync(device)
        print("flushed")
    except OSError as err:
        print(os.strerror(err.errno))
"""


WRITE = """
import mmap, os, sys
device = os.open(sys.argv[1], os.O_WRONLY | os.O_DIRECT | os.O_DSYNC)
try:
    print(os.pwrite(device, mmap.mmap(-1, 4096), 0))
except OSError as err:
    print(os.strerror(err.errno))
"""


def flushes(guest: Guest, disk: str) -> int:
    """Flushes that a disk has completed."""
    return int(guest.read(f"/sys/block/{disk.removeprefix('/dev/')}/stat").split()[15])


@contextmanager
def load(guest: Guest, path: str, a_rw: str, b_rw: str = "randread") -> Iterator[Load]:
    """Two groups compete."""
    options = {"write_lat_log": None, "continue_on_error": "all"}
    with Cgroup(guest, "a") as a, Cgroup(guest, "b") as b:
        streams = [
            Stream(group.path.rsplit("/", 1)[-1], path, group, rw=rw, iodepth=4, options=options)
            for group, rw in ((a, a_rw), (b, b_rw))
        ]
        running = Load(guest, streams).start()
        yield running
        running.end()


@pytest.mark.guest(icount=True)
@pytest.mark.parametrize(
    ("disk_options", "a_rw", "settings", "flushed"),
    [
        (CACHED, "randwrite", SLICED, True),
        (SLOW, "randwrite", SLICED, False),
        (CACHED, "randread", SLICED, False),
        (CACHED, "randwrite", {}, False),
    ],
    ids=["written", "no cache", "read only", "no slices"],
)
def test_a_turn_ends_with_a_flush(
    ioband: Guest, disk_options: dict, a_rw: str, settings: dict, flushed: bool
) -> None:
    guest = ioband
    with (
        null_blk(guest, **disk_options) as disk,
        Ioband(guest, "d", disk, **settings) as device,
    ):
        with load(guest, device.path, a_rw):
            guest.sleep(0.3)
            before = flushes(guest, disk)
            guest.sleep(1)
            seen = flushes(guest, disk) - before
        # Two turns of 20 ms, and what their changes take.
        assert (5 <= seen <= 30) if flushed else not seen, seen


def fsyncs(guest: Guest, disk: str, device: str) -> tuple[int, float]:
    """A task of a group writes 4 KiB and waits for fsync, 50 times.

    Returns the flushes of the disk and the milliseconds of a round.
    """
    with mounted(guest, device) as point, Cgroup(guest, "a") as a:
        fio = ["fio", "--name=a", f"--filename={point}/file", "--rw=randwrite", "--bs=4k"]
        a.run([*fio, "--size=1m", "--end_fsync=1"])
        guest.run("sync")
        before = flushes(guest, disk)
        options = ["--size=1m", "--fsync=1", "--overwrite=1", "--number_ios=50"]
        out = a.run([*fio, *options, "--output-format=json"]).out
        job = json.loads(out[out.index("{") :])["jobs"][0]
        return flushes(guest, disk) - before, job["job_runtime"] / 50


@pytest.mark.guest(icount=True)
def test_a_task_that_waits_for_its_writes(ioband: Guest) -> None:
    """Without others it has the flushes and the time of dm-linear; the journal is a group too.

    The blocks of the journal are dispatched at once, so no bio waits for its thread to go on.
    """
    guest = ioband
    with null_blk(guest, **CACHED) as disk:
        with linear(guest, "l", disk) as device:
            least, base_ms = fsyncs(guest, disk, device.path)
        print(f"dm-linear: {least} flushes, {base_ms:.2f} ms a round")
        assert least >= 40
        for settings in ({}, {"depth": 1}, SLICED):
            with Ioband(guest, "d", disk, **settings) as device:
                seen, round_ms = fsyncs(guest, disk, device.path)
            print(f"ioband {settings}: {seen} flushes, {round_ms:.2f} ms a round")
            assert seen <= 1.1 * least
            assert round_ms <= 1.1 * base_ms


@pytest.mark.guest(icount=True)
def test_a_flush_from_above_counts(ioband: Guest) -> None:
    """A slice ends without a flush if one from above has covered its writes."""
    guest = ioband
    with (
        null_blk(guest, **CACHED) as disk,
        Ioband(guest, "d", disk, **SLICED) as device,
        Cgroup(guest, "a") as a,
        Cgroup(guest, "b") as b,
    ):
        fio = ["fio", "--name=job", f"--filename={device.path}", "--direct=1", "--runtime=3"]
        fio += ["--time_based", "--output-format=json"]
        reader = b.start([*fio, "--rw=randread", "--bs=4k", "--ioengine=libaio", "--iodepth=4"])
        before = flushes(guest, disk)
        out = a.run([*fio, "--rw=randwrite", "--bs=512k", "--fsync=1"]).out
        seen = flushes(guest, disk) - before
        reader.wait()
        synced = json.loads(out[out.index("{") :])["jobs"][0]["sync"]["total_ios"]
    print(f"{seen} flushes of the disk, {synced} from above")
    assert synced > 50
    assert seen <= 1.03 * synced


@pytest.mark.all_kernels
@pytest.mark.guest(parallel=True)
def test_data_with_flushes(ioband: Guest) -> None:
    """Written and verified, while the device is suspended and set otherwise."""
    guest = ioband
    with (
        null_blk(guest, **CACHED) as disk,
        linear(guest, "one", disk) as below,
        Ioband(guest, "d", below.path, **SLICED) as device,
        Cgroup(guest, "a") as a,
        Cgroup(guest, "b") as b,
    ):
        argv = ["fio", f"--filename={device.path}", "--direct=1", "--thread", "--rw=randwrite"]
        argv += ["--ioengine=libaio", "--iodepth=8", "--randrepeat=0", "--output-format=json"]
        argv += ["--verify=crc32c", "--verify_fatal=1", "--size=8m", "--loops=2", "--bs=64k"]
        jobs = [
            a.start([*argv, "--name=a"]),
            b.start([*argv, "--name=b", "--offset=32m"]),
        ]
        settings = [{"measure": "bytes", "slice": 0}, {"slice": 5}, {"measure": "time"}]
        rounds = 0
        while rounds < 9 or not any(job.poll() for job in jobs):
            device.suspend(noflush=bool(rounds % 2))
            device.resume()
            device.set(**settings[rounds % 3])
            guest.sleep(0.05)
            rounds += 1
        for job in jobs:
            out = job.wait(240).out
            assert json.loads(out[out.index("{") :])["jobs"][0]["error"] == 0
        assert (device.info().held, device.info().inflight) == ((0, 0), (0, 0))
        device.set(slice=20)
        with load(guest, device.path, "randwrite"):
            before = flushes(guest, disk)
            for _ in range(50):
                guest.sleep(0.1)
                if flushes(guest, disk) > before:
                    break
            else:
                pytest.fail("no turn has ended with a flush")


def test_an_error_of_a_flush_is_told(ioband: Guest) -> None:
    """The device may tell it once only, and has told it to a flush of ioband's."""
    guest = ioband
    guest.expect_dmesg("I/O error")
    guest.run(["modprobe", "dm-flakey"])
    with null_blk(guest, **CACHED) as disk, linear(guest, "one", disk) as below:
        length = sectors(guest, disk)
        good = f"0 {length} linear {disk} 0"
        bad = f"0 {length} flakey {disk} 0 0 3600 1 error_writes"
        with Ioband(guest, "d", below.path, **SLICED) as device:
            fsync = ["python3", "-c", FLUSH, device.path]
            with load(guest, device.path, "randwrite"):
                guest.sleep(0.3)
                below.reload(bad, noflush=True)
                guest.sleep(0.3)
                below.reload(good, noflush=True)
            # A flush with data becomes two bios, of which only the second one's status counts.
            write = ["python3", "-c", WRITE, device.path]
            assert guest.run(write).out == "Input/output error\n"
            # The table that has seen the error may have gone.
            device.reload(device.line(**SLICED))
            assert guest.run(fsync).out.split("\n")[:2] == ["Input/output error", "flushed"]
            assert guest.run(write).out == "4096\n"
            assert guest.run(fsync).out.split("\n")[:2] == ["flushed", "flushed"]


def test_a_device_that_does_not_answer(ioband: Guest) -> None:
    """A flush that hangs holds up the others of its pool for a while only."""
    guest = ioband
    with (
        null_blk(guest, **CACHED) as disk,
        null_blk(guest, "nullb1", **SLOW) as other,
        linear(guest, "one", disk) as below,
        Ioband(guest, "d", below.path, **SLICED) as device,
        Ioband(guest, "e", other) as beside,
        Cgroup(guest, "c") as c,
    ):
        stream = Stream("c", beside.path, c, iodepth=4, options={"write_lat_log": None})
        running = Load(guest, [stream]).start()
        with load(guest, device.path, "randwrite", "randwrite"):
            guest.sleep(0.5)
            below.suspend(noflush=True)
            guest.sleep(8)
            before = beside.io()["/c"].ios
            guest.sleep(1)
            assert beside.io()["/c"].ios > before
            below.resume()
        running.end()
