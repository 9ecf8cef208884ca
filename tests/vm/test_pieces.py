# SPDX-License-Identifier: GPL-2.0-only
"""Large bios are split while groups compete, and complete as a whole."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from harness.cgroup import Cgroup
from harness.devices import DmDevice, null_blk, sectors
from harness.guest import Guest
from harness.ioband import Ioband
from harness.load import Load, Stream

PIECE = 16384
# A millisecond each, whatever the size.  Several tags: a single one would always go to the
# worker, which has the priority, and never to a submitter without a tag.
FEW = {"irqmode": 2, "completion_nsec": 1_000_000, "hw_queue_depth": 8, "submit_queues": 1}
# A millisecond each, any number at a time.
SLOW = {"irqmode": 2, "completion_nsec": 1_000_000}


def stream(device: str, group: Cgroup, **options: object) -> Stream:
    return Stream(group.path.rsplit("/", 1)[-1], device, group, **options)


@contextmanager
def two_groups(guest: Guest) -> Iterator[tuple[Cgroup, Cgroup]]:
    with Cgroup(guest, "a") as a, Cgroup(guest, "b") as b:
        yield a, b


def reads(guest: Guest, disk: str) -> int:
    """Requests that a disk has completed."""
    return int(guest.read(f"/sys/block/{disk.removeprefix('/dev/')}/stat").split()[0])


@pytest.mark.guest(icount=True)
def test_synchronous_readers_share_by_weight(ioband: Guest) -> None:
    """Each has one bio at a time; its queued splits keep the group backlogged."""
    guest = ioband
    sync = {"ioengine": "psync", "write_lat_log": None}
    with (
        null_blk(guest, **FEW) as disk,
        Ioband(guest, "d", disk, depth=f"1/{PIECE}") as device,
        two_groups(guest) as (a, b),
    ):
        guest.write(f"/sys/block/{disk.removeprefix('/dev/')}/queue/nomerges", "2")
        device.set_weight(a, 200)
        streams = [stream(device.path, group, bs="256k", options=sync) for group in (a, b)]
        load = Load(guest, streams).start()
        guest.sleep(0.5)
        before, before_reads = device.io(), reads(guest, disk)
        guest.sleep(3)
        after, after_reads = device.io(), reads(guest, disk)
        load.end()
        assert device.info().piece_bytes == PIECE
        assert device.table().endswith(f" depth=1/{PIECE} slice=0 writes_starved=2")
        got = {name: after[name].bytes - before[name].bytes for name in ("/a", "/b")}
    assert got["/a"] / got["/b"] == pytest.approx(2, abs=0.04 + 2 * 262144 / got["/b"])
    # Each split is a request; the counters are read one after the other.
    assert after_reads - before_reads == pytest.approx(sum(got.values()) / PIECE, rel=0.1)


def test_with_slices(ioband: Guest) -> None:
    """A slice can end within a bio."""
    guest = ioband
    with (
        null_blk(guest, **FEW) as disk,
        Ioband(guest, "d", disk, depth=f"4/{PIECE}", slice=20) as device,
        two_groups(guest) as groups,
    ):
        guest.write(f"/sys/block/{disk.removeprefix('/dev/')}/queue/nomerges", "2")
        before = reads(guest, disk)
        load = Load(guest, [stream(device.path, each, bs="256k") for each in groups]).start()
        guest.sleep(2)
        info = device.info()
        load.end()
        got = device.io()
        pieces = reads(guest, disk) - before
        device.set(depth="auto")
        assert device.info().piece_bytes == 1 << 20
    assert (info.state, info.piece_bytes) == ("shared", PIECE)
    assert min(got[name].bytes for name in ("/a", "/b")) > 0
    assert sum(got[name].bytes for name in ("/a", "/b")) / pieces == pytest.approx(PIECE, rel=0.02)


@pytest.mark.all_kernels
def test_data_in_pieces(ioband: Guest) -> None:
    """Split writes are verified, while the device is suspended and its settings change."""
    guest = ioband
    verify = {"verify": "crc32c", "verify_fatal": 1, "size": "16m", "loops": 2}
    with (
        null_blk(guest, size_mib=64, memory_backed=1, **SLOW) as disk,
        Ioband(guest, "d", disk, depth=f"3/{PIECE}") as device,
        two_groups(guest) as (a, b),
    ):
        argv = ["fio", f"--filename={device.path}", "--direct=1", "--thread", "--rw=randwrite"]
        argv += ["--ioengine=libaio", "--randrepeat=0", "--output-format=json"]
        argv += [f"--{key}={value}" for key, value in verify.items()]
        jobs = [
            a.start([*argv, "--name=a", "--bs=512k", "--iodepth=4"]),
            b.start([*argv, "--name=b", "--bs=64k", "--iodepth=8", "--offset=32m"]),
        ]
        settings = [f"2/{PIECE}", "5/65536", "auto", "1/32768", "4", f"3/{PIECE}"]
        rounds = 0
        while rounds < len(settings) or not any(job.poll() for job in jobs):
            device.suspend(noflush=bool(rounds % 2))
            device.resume()
            device.set(depth=settings[rounds % len(settings)])
            guest.sleep(0.05)
            rounds += 1
        for job in jobs:
            out = job.wait(240).out
            assert json.loads(out[out.index("{") :])["jobs"][0]["error"] == 0
        stats = device.io()
        assert (device.info().held, device.info().inflight) == ((0, 0), (0, 0))
    # Whole bios are counted; split bios had been queued.
    assert stats["/a"].write.ios == 2 * 32
    assert stats["/a"].write.bytes == 2 * 16 << 20
    assert stats["/a"].write.held > 20


def test_error_in_a_piece(ioband: Guest) -> None:
    """A bio fails if one of its splits does; other bios do not."""
    guest = ioband
    guest.expect_dmesg("I/O error")
    with (
        null_blk(guest, size_mib=64, memory_backed=1, **SLOW) as disk,
        two_groups(guest) as (a, b),
    ):
        total = sectors(guest, disk)
        bad = 1024 + 64  # one page, in the second split of the third bio
        table = [
            f"0 {bad} linear {disk} 0",
            f"{bad} 8 error",
            f"{bad + 8} {total - bad - 8} linear {disk} {bad + 8}",
        ]
        below = DmDevice(guest, "holed", "\n".join(table))
        with below, Ioband(guest, "d", below.path, depth=f"2/{PIECE}") as device:
            # Both groups stay active, so they compete.
            options = {"offset": "32m", "write_lat_log": None}
            streams = [
                stream(device.path, group, bs=bs, iodepth=4, options=options)
                for group, bs in ((a, "4k"), (b, "256k"))
            ]
            load = Load(guest, streams).start()
            guest.sleep(0.3)
            codes = []
            for index in range(4):
                argv = ["dd", f"if={device.path}", "of=/dev/null", "iflag=direct", "bs=256k"]
                job = a.start([*argv, "count=1", f"skip={index}"])
                codes.append(job.wait(60, check=False).rc)
            info = device.info()
            load.end()
            assert (device.info().held, device.info().inflight) == ((0, 0), (0, 0))
    assert codes == [0, 0, 1, 0]
    assert (info.state, info.piece_bytes) == ("shared", PIECE)
