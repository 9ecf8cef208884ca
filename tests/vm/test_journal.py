# SPDX-License-Identifier: GPL-2.0-only
"""One journal, two tenants: fsync of a group beside a group that writes on the same file system."""

from dataclasses import dataclass

import pytest
from harness.cgroup import Cgroup
from harness.devices import linear, mounted, null_blk
from harness.guest import Guest, Job
from harness.ioband import Ioband
from harness.load import dirty_limit
from harness.variants import variants
from harness.waiting import wait_until

pytestmark = pytest.mark.guest(icount=True)

# 50 MB/s, 100 us for each I/O.
DISK = {"size_mib": 512, "memory_backed": 1, "irqmode": 2, "completion_nsec": 100_000, "mbps": 50}
DIRTY_BYTES = 64 << 20
WBPS = 2_000_000
SETTLE_S = 3
PAY_S = 60
# The bound on what a maximum allows at once: ext4 makes bios of up to 8 MiB.
BIO = 8 << 20
# A round takes up to 1.7 times as long as another one on the same device, which depends on where
# the writer is in its file when the round begins.
ROUNDS = 3
# Write new files without end.  ext4 would write back a truncated file when it is closed.
FILL = """
import os, sys
name = f"{sys.argv[1]}/big"
while True:
    file = os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    for _ in range(100):
        os.write(file, bytes(1 << 20))
    os.close(file)
    os.unlink(name)
"""
# Other writers without end.
TRUNCATE = """
import os, sys
while True:
    file = os.open(f"{sys.argv[1]}/big", os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
    for _ in range(16):
        os.write(file, bytes(1 << 20))
    os.close(file)
"""
IN_PLACE = """
import os, sys
file = os.open(f"{sys.argv[1]}/old", os.O_WRONLY)
while True:
    for number in range(100):
        os.pwrite(file, bytes(1 << 20), number << 20)
"""
APPEND = """
import os, sys
file = os.open(f"{sys.argv[1]}/big", os.O_CREAT | os.O_WRONLY)
while True:
    os.ftruncate(file, 0)
    os.lseek(file, 0, os.SEEK_SET)
    for _ in range(25):
        os.write(file, bytes(4 << 20))
        SYNC
"""
WRITERS = {
    "new files": FILL,
    "truncate": TRUNCATE,
    "in place": IN_PLACE,
    "sync": APPEND.replace("SYNC", "os.sync()"),
    "fsync": APPEND.replace("SYNC", "os.fsync(file)"),
}
# Append to a file and sync it, 50 times; print the time of all, and the longest.
SYNC = """
import os, sys, time
file = os.open(f"{sys.argv[1]}/synced", os.O_CREAT | os.O_WRONLY)
times = []
for _ in range(50):
    time.sleep(0.02)
    begin = time.monotonic()
    os.write(file, b"x" * 4096)
    os.fsync(file)
    times.append(time.monotonic() - begin)
print(sum(times), max(times))
"""


@dataclass
class Times:
    """Seconds of the fsyncs: of all, and of the longest."""

    total: float
    longest: float

    def __str__(self) -> str:
        return f"{self.total:.2f} s (the longest {self.longest:.2f})"


def fsyncs(
    guest: Guest,
    point: str,
    writer: Cgroup,
    syncer: Cgroup,
    kind: str,
    meter: "Meter | None" = None,
) -> tuple[Times, Job]:
    """The times of 50 fsyncs beside a group that writes, and the job that writes on."""
    guest.run(["rm", "-f", f"{point}/big"])
    if kind == "in place" and not guest.exists(f"{point}/old"):
        writer.run(f"dd if=/dev/zero of={point}/old bs=1M count=100 oflag=direct && sync")
    load = writer.start(["python3", "-c", WRITERS[kind], point])
    syncs = ["python3", "-c", SYNC, point]
    if meter:
        meter.run(SETTLE_S)
        job = syncer.start(syncs)
        while not job.poll():
            meter.run(1)
        times = job.wait().out
    else:
        guest.sleep(SETTLE_S)
        times = syncer.run(syncs, timeout=300).out
    assert not load.poll()
    return Times(*map(float, times.split())), load


def rounds_of_fsyncs(guest: Guest, point: str, writer: Cgroup, syncer: Cgroup, kind: str) -> Times:
    """The same for several rounds, each with a new writer."""
    rounds = []
    for _ in range(ROUNDS):
        times, load = fsyncs(guest, point, writer, syncer, kind)
        end(guest, writer, load)
        rounds.append(times)
    return Times(sum(times.total for times in rounds), max(times.longest for times in rounds))


def end(guest: Guest, group: Cgroup, load: Job) -> None:
    """Kill a job of a group, and wait until it is gone."""
    load.kill()
    load.wait(check=False)
    wait_until(guest, lambda: not group.pids, "the job is gone")


class Meter:
    """Bytes written to a disk, once a second."""

    def __init__(self, guest: Guest, disk: str):
        self.guest = guest
        self.stat = f"/sys/block/{disk.removeprefix('/dev/')}/stat"
        self.samples: list[tuple[float, int]] = []
        self.sample()

    def sample(self) -> None:
        """Take a sample."""
        sectors = int(self.guest.read(self.stat).split()[6])
        self.samples.append((self.guest.now_ms() / 1000, sectors * 512))

    def run(self, seconds: int) -> None:
        """Take samples for a time."""
        for _ in range(seconds):
            self.guest.sleep(1)
            self.sample()

    @property
    def seconds(self) -> float:
        """The time between the first and the last sample."""
        return self.samples[-1][0] - self.samples[0][0]

    def most(self, seconds: float) -> int:
        """The most bytes between two samples that are so far apart, or little less."""
        return max(
            then[1] - now[1]
            for now in self.samples
            for then in self.samples
            if 0 <= then[0] - now[0] <= seconds
        )


@pytest.mark.parametrize(
    ("fstype", "kind"),
    variants(
        [(fstype, kind) for fstype in ("ext4", "xfs") for kind in WRITERS],
        ("ext4", "new files"),
        ("ext4", "truncate"),
    ),
)
def test_fsync_beside_a_writer_on_its_file_system(ioband: Guest, fstype: str, kind: str) -> None:
    """It waits no longer than the device takes, whatever the weight or maximum of the writer.

    The writer keeps its maximum meanwhile and afterwards.
    """
    guest = ioband
    with (
        dirty_limit(guest, DIRTY_BYTES),
        Cgroup(guest, "a", controllers="+io +memory") as writer,
        Cgroup(guest, "b", controllers="+io +memory") as syncer,
    ):
        with (
            null_blk(guest, **DISK) as disk,
            linear(guest, "plain", disk) as plain,
            mounted(guest, plain.path, fstype) as point,
        ):
            alone = rounds_of_fsyncs(guest, point, writer, syncer, kind)
        with (
            null_blk(guest, **DISK) as disk,
            Ioband(guest, "d", disk) as device,
            mounted(guest, device.path, fstype) as point,
        ):
            shared = rounds_of_fsyncs(guest, point, writer, syncer, kind)
            device.set_max(writer, wbps=WBPS)
            meter = Meter(guest, disk)
            limited, load = fsyncs(guest, point, writer, syncer, kind, meter)
            meter.run(PAY_S)
            device.set_max(writer)
            end(guest, writer, load)
    in_10_s, seconds = meter.most(10), meter.seconds
    written = meter.most(seconds)
    print(f"50 fsyncs, {ROUNDS} times: dm-linear {alone}, equal weights {shared}")
    print(f"50 fsyncs beside a writer at a maximum: {limited}")
    print(f"the writer at its maximum: {written / seconds / 1e6:.2f} MB/s in {seconds:.0f} s")
    print(f"and at most {in_10_s / 1e6:.1f} MB in 10 s")
    assert shared.total < 2 * alone.total
    assert shared.longest < 2 * alone.longest
    assert limited.total < 2 * alone.total / ROUNDS
    assert limited.longest < 2 * alone.longest
    assert in_10_s < 10 * WBPS + BIO
    assert 0.9 * WBPS * seconds < written < 1.05 * WBPS * seconds + BIO
