# SPDX-License-Identifier: GPL-2.0-only
"""No bio is lost, and none goes elsewhere, whatever is changed while I/O runs."""

import json
import random
import struct
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import pytest
from harness.cgroup import Cgroup
from harness.devices import DmDevice, VolumeGroup, linear, mounted, null_blk, ramdisks, sectors
from harness.guest import SHARE, CommandError, Guest, Job
from harness.ioband import Ioband
from harness.load import fio

MODES = ("cgroup", "device", "device+cgroup", "uid", "gid", "pid", "pgrp")
# A millisecond for each I/O: with so much to wait for, bios are held.
SLOW = {"irqmode": 2, "completion_nsec": 1_000_000}
VERIFY = {
    "rw": "randwrite",
    "bs": "16k",
    "size": "8m",
    "iodepth": 32,
    "ioengine": "libaio",
    "randrepeat": 0,
    "verify": "crc32c",
    "verify_fatal": 1,
}


def fio_argv(name: str, device: str, **options: object) -> list[str]:
    given = {"name": name, "filename": device, "direct": 1, "thread": 1, "output-format": "json"}
    return ["fio", *(f"--{key}={value}" for key, value in (given | options).items())]


@contextmanager
def two_volumes(guest: Guest, **settings: object) -> Iterator[tuple[Ioband, Ioband]]:
    """Two logical volumes of one disk, each below an ioband device of the same pool."""
    with (
        null_blk(guest, size_mib=96, memory_backed=1, **SLOW) as disk,
        VolumeGroup(guest, "vg0", [disk]) as group,
        Ioband(guest, "a", group.create("a", 32), **settings) as a,
        Ioband(guest, "b", group.create("b", 32), **settings) as b,
    ):
        yield a, b


def completed(guest: Guest, *devices: Ioband) -> tuple[int, int]:
    """Reads and writes that the block layer counts as completed on the devices."""
    total = Counter()
    guest.run(["udevadm", "settle"])
    for device in devices:
        disk = guest.run(["readlink", "-f", device.path]).out.strip().removeprefix("/dev/")
        fields = [int(field) for field in guest.read(f"/sys/block/{disk}/stat").split()]
        total += Counter(read=fields[0], write=fields[4])
    return total["read"], total["write"]


def counted(device: Ioband) -> tuple[int, int]:
    """Reads and writes that the groups of the pool count."""
    stats = device.stats()
    return sum(group.read.ios for group in stats), sum(group.write.ios for group in stats)


def change_everything(a: Ioband, b: Ioband, groups: tuple[Cgroup, Cgroup], seed: int) -> None:
    """One round of all that may be done to devices in use, in another order each time."""
    dice = random.Random(seed)
    dev = dice.choice((a, b))
    steps = [
        lambda: a.set(mode=dice.choice(MODES)),
        lambda: b.set(mode=dice.choice(MODES)),
        lambda: dev.set(measure=dice.choice(("bytes", "ios"))),
        lambda: dev.set(depth=dice.choice(("auto", "1", "3", "64", "2/16384"))),
        lambda: dev.set(slice=dice.choice((0, 2, 20))),
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
    ]
    dice.shuffle(steps)
    for step in steps:
        step()


def finish(jobs: list[Job]) -> list[dict[str, int]]:
    """fio's jobs, verified to their ends: how many I/Os each did by direction."""
    done = []
    for job in jobs:
        out = job.wait(240).out
        result = json.loads(out[out.index("{") :])["jobs"][0]
        assert result["error"] == 0
        done.append({way: result[way]["total_ios"] for way in ("read", "write")})
    return done


def test_verify_while_everything_changes(ioband: Guest) -> None:
    guest = ioband
    with (
        two_volumes(guest, depth=3) as (a, b),
        Cgroup(guest, "a") as group_a,
        Cgroup(guest, "b") as group_b,
    ):
        before, counted_before = completed(guest, a, b), counted(a)
        jobs = [
            group.start(fio_argv(dev.name, dev.path, loops=3, **VERIFY))
            for dev, group in ((a, group_a), (b, group_b))
        ]
        rounds = 0
        while rounds < 2 or not any(job.poll() for job in jobs):
            change_everything(a, b, (group_a, group_b), rounds)
            rounds += 1
        done = finish(jobs)
        after, counted_after = completed(guest, a, b), counted(a)
        status = a.info()
        held_ios = sum(group.write.held for group in a.stats())

    writes = sum(job["write"] for job in done)
    assert writes == 2 * 3 * 512
    assert after[1] - before[1] == writes
    assert counted_after[1] - counted_before[1] == writes
    # udev looks at a device when it is resumed.
    assert sum(job["read"] for job in done) <= after[0] - before[0]
    # A group without I/O goes after a minute, with what it counted: a slow guest takes longer.
    gone = after[0] - before[0] - (counted_after[0] - counted_before[0])
    assert gone == 0 or (guest.patience > 1 and gone > 0)
    assert (status.held, status.inflight) == ((0, 0), (0, 0))
    assert held_ios > 500  # or nothing was shown


def test_every_io_is_counted_once_in_its_group(ioband: Guest) -> None:
    guest = ioband
    with (
        two_volumes(guest, depth=3) as (a, b),
        Cgroup(guest, "a") as group_a,
        Cgroup(guest, "b") as group_b,
    ):
        jobs = [
            group.start(fio_argv(dev.name, dev.path, **VERIFY))
            for dev, group in ((a, group_a), (b, group_b))
        ]
        done = finish(jobs)
        io = a.io()
    for name, job in zip(("/a", "/b"), done, strict=True):
        assert (io[name].read.ios, io[name].write.ios) == (512, 512)
        assert (io[name].read.bytes, io[name].write.bytes) == (8 << 20, 8 << 20)
        assert (job["read"], job["write"]) == (512, 512)
        assert io[name].write.held > 0  # or nothing was shown
        assert (io[name].held, io[name].inflight) == ((0, 0), 0)


@pytest.mark.parametrize("feature", ["1 drop_writes", "5 corrupt_bio_byte 600 w 1 0"])
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


@pytest.mark.parametrize("fstype", CHECK)
def test_file_system_is_clean_after_use(ioband: Guest, fstype: str) -> None:
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
        with mounted(guest, dev.path, fstype) as point:
            guest.run(["mkdir", f"{point}/x", f"{point}/y"])
            jobs = [groups[name].start(USE_FILES, cwd=f"{point}/{name}") for name in groups]
            for count in range(6):
                dev.set_weight(groups["x"], 1 + 5000 * (count % 2))
                dev.suspend(noflush=count % 3 == 1, lockfs=count % 3 != 2)
                dev.resume()
            for job in jobs:
                job.wait(180)
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


def logged_writes(guest: Guest, disk: str, log: str, name: str, rival: Ioband) -> list[Logged]:
    """What arrives below a device of the given kind when one task writes, flushes and syncs."""
    guest.run(["dd", "if=/dev/zero", f"of={log}", "bs=1M", "count=1"])
    with DmDevice(guest, "log", f"0 {sectors(guest, disk)} log-writes {disk} {log}") as below:
        if name == "linear":
            device: DmDevice = linear(guest, "top", below.path)
        else:
            device = Ioband(guest, "top", below.path)
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
            fio(guest, group, filename=device.path, rw="write", bs="8k", size="256k", fsync=5)
            fio(guest, group, filename=device.path, rw="write", bs="4k", size="64k", sync="dsync")
            if isinstance(device, Ioband):
                assert device.io()["/writer"].write.held > 0  # or nothing was shown
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
