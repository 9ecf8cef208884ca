# SPDX-License-Identifier: GPL-2.0-only
"""No bio is lost or misdirected by any change while I/O runs."""

import itertools
import json
import random
import struct
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import pytest
from harness.cgroup import Cgroup
from harness.devices import DmDevice, VolumeGroup, linear, mounted, null_blk, ramdisks, sectors
from harness.guest import SHARE, CommandError, Guest, Job
from harness.ioband import Amount, Ioband
from harness.load import fio
from harness.tracing import PROBES, TRACING, probed
from harness.variants import variants
from harness.waiting import wait_until

# Changes must meet bios on another processor.  A test's own mark would replace this one.
pytestmark = [pytest.mark.guest(parallel=True)]

MODES = ("cgroup", "device", "device+cgroup", "uid", "gid", "pid", "pgrp")
# A millisecond for each I/O, long enough that bios are queued.
SLOW = {"irqmode": 2, "completion_nsec": 1_000_000}
BLOCK = 16384
IODEPTH = 32
VERIFY = {
    "rw": "randwrite",
    "bs": BLOCK,
    "size": "8m",
    "iodepth": IODEPTH,
    "ioengine": "libaio",
    "randrepeat": 0,
    "verify": "crc32c",
    "verify_fatal": 1,
}


def fio_argv(name: str, device: str, **options: object) -> list[str]:
    given = {"name": name, "filename": device, "direct": 1, "thread": 1, "output-format": "json"}
    return ["fio", *(f"--{key}={value}" for key, value in (given | options).items())]


class Moved(NamedTuple):
    """Counters of reads and writes."""

    read: Amount
    write: Amount

    def since(self, earlier: "Moved") -> "Moved":
        """The difference to earlier counters."""
        return Moved(
            *(
                Amount(now.ios - then.ios, now.bytes - then.bytes)
                for now, then in zip(self, earlier, strict=True)
            )
        )


@dataclass(frozen=True)
class Stack:
    """Two logical volumes of one disk, each below an ioband device of the same pool."""

    disk: str
    a: Ioband
    b: Ioband

    def counted(self) -> dict[str, Moved]:
        """The I/O completed on each level: by the pool for its groups, else by the kernel."""
        self.a.guest.run(["udevadm", "settle"])
        stats = self.a.stats()
        groups = [
            [Amount(each.ios, each.bytes) for each in way]
            for way in ([group.read for group in stats], [group.write for group in stats])
        ]
        return {
            "devices": self._completed(self.a.path, self.b.path),
            "groups": Moved(*(add(way) for way in groups)),
            "volumes": self._completed(self.a.below, self.b.below),
            "disk": self._completed(self.disk),
        }

    def _completed(self, *paths: str) -> Moved:
        """The completions that the block layer counts on devices."""
        guest = self.a.guest
        lines = []
        for path in paths:
            name = guest.run(["readlink", "-f", path]).out.strip().removeprefix("/dev/")
            lines.append([int(word) for word in guest.read(f"/sys/block/{name}/stat").split()])
        read = add([Amount(words[0], words[2] * 512) for words in lines])
        return Moved(read, add([Amount(words[4], words[6] * 512) for words in lines]))


def add(amounts: list[Amount]) -> Amount:
    """The sum."""
    return Amount(sum(each.ios for each in amounts), sum(each.bytes for each in amounts))


@contextmanager
def two_volumes(guest: Guest, **settings: object) -> Iterator[Stack]:
    with (
        null_blk(guest, size_mib=96, memory_backed=1, **SLOW) as disk,
        VolumeGroup(guest, "vg0", [disk]) as group,
        Ioband(guest, "a", group.create("a", 32), **settings) as a,
        Ioband(guest, "b", group.create("b", 32), **settings) as b,
    ):
        yield Stack(disk, a, b)


def change_everything(a: Ioband, b: Ioband, groups: tuple[Cgroup, Cgroup], seed: int) -> None:
    """One round of all changes to devices in use, in a random order."""
    dice = random.Random(seed)
    dev = dice.choice((a, b))
    steps = [
        lambda: a.set(mode=dice.choice(MODES)),
        lambda: b.set(mode=dice.choice(MODES)),
        lambda: dev.set(measure=dice.choice(("bytes", "ios"))),
        lambda: dev.set(depth=dice.choice(("auto", "1", "3", "64", "2/16384"))),
        lambda: dev.set(slice=dice.choice((0, 2, 20))),
        lambda: dev.set(writes_starved=dice.choice((1, 2, 100))),
        lambda: (dev.set(slice=5), dev.set(measure="time"), b.set(measure="bytes"), a.set(slice=0)),
        lambda: (dev.suspend(), dev.resume()),
        lambda: (dev.suspend(noflush=True), dev.resume()),
        lambda: (dev.suspend(lockfs=False), dev.resume()),
        lambda: (dev.suspend(noflush=True, lockfs=False), dev.resume()),
        lambda: dev.reload(dev.line(mode=dice.choice(MODES))),
        lambda: dev.reload(dev.line(mode=dice.choice(MODES)), noflush=True),
        lambda: (a.suspend(noflush=True), b.suspend(), a.resume(), b.resume()),
        lambda: (
            dev.set(mode="cgroup"),
            dev.set_weight(groups[0], dice.randint(1, 10000)),
            dev.set_weight(groups[1], "default"),
        ),
        lambda: (
            dev.set(mode="cgroup"),
            dev.set_max(groups[0], wbps=dice.choice((16 << 20, 64 << 20)), riops=5000),
            dev.set_max(groups[1], wiops=dice.choice((1000, "max"))),
        ),
        lambda: dev.set_max("root", wbps=50 << 20),
        lambda: (dev.set(mode="cgroup"), dev.set_max(groups[0])),
    ]
    dice.shuffle(steps)
    for step in steps:
        step()


def finish(jobs: list[Job]) -> list[dict[str, int]]:
    """Wait for fio's jobs with their verification; returns the I/Os of each by direction."""
    done = []
    for job in jobs:
        out = job.wait(240).out
        result = json.loads(out[out.index("{") :])["jobs"][0]
        assert result["error"] == 0
        done.append({way: result[way]["total_ios"] for way in ("read", "write")})
    return done


@pytest.mark.smoke
def test_verify_while_everything_changes(ioband: Guest) -> None:
    guest = ioband
    with (
        two_volumes(guest, depth=3) as stack,
        Cgroup(guest, "a") as group_a,
        Cgroup(guest, "b") as group_b,
    ):
        a, b = stack.a, stack.b
        before = stack.counted()
        jobs = [
            group.start(fio_argv(dev.name, dev.path, loops=3, **VERIFY))
            for dev, group in ((a, group_a), (b, group_b))
        ]
        rounds = 0
        while rounds < 2 or not any(job.poll() for job in jobs):
            change_everything(a, b, (group_a, group_b), rounds)
            rounds += 1
        done = finish(jobs)
        after = stack.counted()
        status = a.info()
        held_ios = sum(group.write.held for group in a.stats())

    moved = {level: after[level].since(before[level]) for level in after}
    writes = Amount(sum(job["write"] for job in done), sum(job["write"] for job in done) * BLOCK)
    assert writes.ios == 2 * 3 * 512
    # Each byte went down once.  Splits and merges make the number of bios useless here.
    assert [moved[level].write.bytes for level in ("volumes", "disk")] == [writes.bytes] * 2, moved
    # device-mapper counts a bio once more for each time that it is given back after its cgroup
    # was looked up (test_noflush_suspend_gives_held_bios_back).  At most fio's bios in flight are
    # given back at a time, four times in a round.
    again = moved["devices"].write.ios - writes.ios
    assert 0 <= again <= rounds * 4 * IODEPTH, moved
    assert moved["devices"].write.bytes == writes.bytes + again * BLOCK, moved
    # udev reads a device when it is resumed.
    assert sum(job["read"] for job in done) * BLOCK <= moved["volumes"].read.bytes, moved
    # The counters of a group go with it: soon after the end of its process in modes by
    # process, and otherwise after a minute without I/O.
    gone = [moved["volumes"][way].bytes - moved["groups"][way].bytes for way in range(2)]
    assert min(gone) >= 0, moved
    assert gone[1] or moved["groups"].write == writes, moved
    assert (status.held, status.inflight) == ((0, 0), (0, 0))
    assert held_ios > 500  # otherwise the test shows nothing.


def test_every_io_is_counted_once_in_its_group(ioband: Guest) -> None:
    guest = ioband
    loops = 8  # so that the jobs overlap
    with (
        two_volumes(guest, depth=3) as stack,
        Cgroup(guest, "a") as group_a,
        Cgroup(guest, "b") as group_b,
    ):
        jobs = [
            group.start(fio_argv(dev.name, dev.path, loops=loops, **VERIFY))
            for dev, group in ((stack.a, group_a), (stack.b, group_b))
        ]
        done = finish(jobs)
        io = stack.a.io()
    ios, size = loops * 512, loops * 8 << 20
    for name, job in zip(("/a", "/b"), done, strict=True):
        assert (io[name].read.ios, io[name].write.ios) == (ios, ios)
        assert (io[name].read.bytes, io[name].write.bytes) == (size, size)
        assert (job["read"], job["write"]) == (ios, ios)
        assert io[name].write.held > 0  # otherwise the test shows nothing
        assert (io[name].held, io[name].inflight) == ((0, 0), 0)


# The disk takes 64 KiB at a time, and so splits most of these.
AT_ONCE = {key: value for key, value in VERIFY.items() if key != "bs"} | {
    "bsrange": "4k-256k",
    "size": "24m",
    "iodepth_batch": 16,
    "iodepth_batch_complete_min": 1,
}


@contextmanager
def two_at_once(guest: Guest, **options: object) -> Iterator[tuple[Ioband, list[Job]]]:
    """Two groups run AT_ONCE on one device."""
    with (
        null_blk(guest, size_mib=64, memory_backed=1, **SLOW) as disk,
        Ioband(guest, "a", disk, depth=3) as dev,
        Cgroup(guest, "a") as group_a,
        Cgroup(guest, "b") as group_b,
    ):
        guest.write(f"/sys/block/{disk.removeprefix('/dev/')}/queue/max_sectors_kb", "64")
        jobs = [
            group.start(fio_argv("job", dev.path, **(AT_ONCE | {"offset": offset} | options)))
            for group, offset in ((group_a, 0), (group_b, "32m"))
        ]
        yield dev, jobs


# A parallel emulated guest hung once while its probe was removed.
@pytest.mark.guest()
def test_what_is_submitted_in_one_go_is_gathered(ioband: Guest) -> None:
    guest = ioband
    if not guest.exists(PROBES):
        pytest.skip("the kernel has no probes")
    with probed(guest, "batch_end"), two_at_once(guest, size="4m") as (_, jobs):
        finish(jobs)
        assert "batch_end" in guest.read(f"{TRACING}/trace")


@pytest.mark.all_kernels
@pytest.mark.parametrize("ioengine", variants(["io_uring", "libaio"], "io_uring"))
def test_verify_what_is_submitted_in_one_go(ioband: Guest, ioengine: str) -> None:
    """Gathered, queued, sent by worker or task, and gathered while a suspend begins."""
    guest = ioband
    with two_at_once(guest, ioengine=ioengine) as (dev, jobs):
        for count in itertools.count():
            dev.suspend(noflush=count % 2 == 1)
            dev.set(depth=(3, 16)[count % 3 == 2])
            dev.resume()
            if any(job.poll() for job in jobs):
                break
        finish(jobs)
        assert sum(dev.io()[group].write.held for group in ("/a", "/b")) > 0


DROP, CORRUPT = "1 drop_writes", "5 corrupt_bio_byte 600 w 1 0"


@pytest.mark.parametrize("feature", variants([DROP, CORRUPT], DROP))
def test_verify_notices_what_it_should(ioband: Guest, feature: str) -> None:
    guest = ioband
    guest.run(["modprobe", "dm-flakey"])
    with (
        null_blk(guest, size_mib=32, memory_backed=1) as disk,
        DmDevice(guest, "bad", f"0 {sectors(guest, disk)} flakey {disk} 0 0 3600 {feature}") as bad,
        Ioband(guest, "a", bad.path) as dev,
        pytest.raises(CommandError, match="verify"),
    ):
        fio(guest, filename=dev.path, **VERIFY | {"size": "1m"})


# -- file systems ------------------------------------------------------------------

CHECK = {"ext4": ["fsck.ext4", "-f", "-n"], "xfs": ["xfs_repair", "-n"]}
RIVAL = {
    "rw": "randread",
    "bs": "4k",
    "iodepth": 8,
    "ioengine": "libaio",
    "time_based": 1,
    "runtime": 600,
}
# Many small files and a few large ones, some of them removed, with fsync in between.
USE_FILES = """
set -e
for n in $(seq 12); do
	mkdir -p d$n
	for m in 1 2 3 4; do head -c $((n * 6000)) /dev/urandom >d$n/$m; done
	[ $((n % 5)) -gt 0 ] || { sync -f d$n; rm -r d$((n - 1)); }
done
dd if=/dev/urandom of=large bs=64k count=64 conv=fsync status=none
truncate -s 1000000 large
find . -type f | sort | xargs sha256sum >/run/sums.$(basename "$PWD")
"""


@pytest.mark.parametrize("fstype", variants(CHECK, "xfs"))
def test_file_system_is_clean_after_use(ioband: Guest, fstype: str) -> None:
    """A rival reads all the time: with alternating flushers alone no bio would be queued."""
    guest = ioband
    with (
        null_blk(guest, size_mib=400, memory_backed=1, **SLOW) as disk,
        Ioband(guest, "a", disk, depth=2) as dev,
        ExitStack() as stack,
    ):
        groups = {
            name: stack.enter_context(Cgroup(guest, name, controllers="+io +memory"))
            for name in ("x", "y")
        }
        rival = stack.enter_context(Cgroup(guest, "rival"))
        with mounted(guest, dev.path, fstype) as point:
            guest.run(["mkdir", f"{point}/x", f"{point}/y"])
            reader = rival.start(fio_argv("rival", dev.path, **RIVAL))
            jobs = [groups[name].start(USE_FILES, cwd=f"{point}/{name}") for name in groups]
            for count in range(6):
                dev.set_weight(groups["x"], 1 + 5000 * (count % 2))
                dev.suspend(noflush=count % 3 == 1, lockfs=count % 3 != 2)
                dev.resume()
            for job in jobs:
                job.wait(180)
            reader.kill()
            reader.wait(check=False)
        guest.run([*CHECK[fstype], dev.path])
        guest.run(["mount", "-t", fstype, dev.path, point])
        for name in groups:
            guest.run(["sha256sum", "--quiet", "-c", f"/run/sums.{name}"], cwd=f"{point}/{name}")
        guest.run(["umount", point])
        guest.run([*CHECK[fstype], dev.path])
        assert dev.io()["/x"].write.held > 0


# -- order of flushes ----------------------------------------------------------------

FLUSH, FUA = 1, 2


@dataclass(frozen=True)
class Logged:
    """A write as dm-log-writes recorded it."""

    sector: int
    count: int
    flags: int


def read_log(guest: Guest, device: str) -> list[Logged]:
    """The entries of a log of dm-log-writes."""
    guest.run(["dd", f"if={device}", f"of={SHARE}/log", "bs=1M", "iflag=direct"])
    data = (guest.share / "log").read_bytes()
    (guest.share / "log").unlink()
    magic, version, count, sector_size = struct.unpack_from("<QQQI", data)
    assert (magic, version) == (0x6A736677736872, 1)
    entries = []
    at = sector_size
    for _ in range(count):
        sector, length, flags, data_len = struct.unpack_from("<QQQQ", data, at)
        at += sector_size + (data_len or length * sector_size)
        entries.append(Logged(sector, length, flags))
    return entries


def writes(dev: Ioband) -> int:
    """The number of writes that its groups completed."""
    return sum(group.write.ios for group in dev.io().values())


def logged_writes(guest: Guest, disk: str, log: str, name: str, rival: Ioband) -> list[Logged]:
    """The writes below a device of the given kind while one task writes, flushes and syncs."""
    guest.run(["dd", "if=/dev/zero", f"of={log}", "bs=1M", "count=1"])
    with DmDevice(guest, "log", f"0 {sectors(guest, disk)} log-writes {disk} {log}") as below:
        if name == "linear":
            device: DmDevice = linear(guest, "top", below.path)
        else:
            device = Ioband(guest, "top", below.path, depth=1)
        other = guest.start(
            fio_argv(
                "rival",
                rival.path,
                rw="randwrite",
                time_based=1,
                runtime=600,
                ioengine="libaio",
                iodepth=8,
            )
        )
        with device, Cgroup(guest, "writer") as group:
            before = writes(rival)
            wait_until(guest, lambda: writes(rival) > before, "the rival writes")
            fio(guest, group, filename=device.path, rw="write", bs="8k", size="256k", fsync=5)
            fio(guest, group, filename=device.path, rw="write", bs="4k", size="64k", sync="dsync")
            if isinstance(device, Ioband):
                assert device.io()["/writer"].write.held > 0  # otherwise the test shows nothing
        other.kill()
        other.wait(check=False)
    return read_log(guest, log)


def test_flushes_keep_their_places(ioband: Guest) -> None:
    guest = ioband
    guest.run(["modprobe", "dm-log-writes"])
    with (
        ramdisks(guest, 2, 16) as (disk, log),
        null_blk(guest, **SLOW) as other,
        Ioband(guest, "rival", other, depth=1) as rival,
    ):
        expected = logged_writes(guest, disk, log, "linear", rival)
        found = logged_writes(guest, disk, log, "ioband", rival)
    assert sum(bool(entry.flags & FLUSH) for entry in expected) >= 6
    assert sum(bool(entry.flags & FUA) for entry in expected) >= 16
    assert found == expected
