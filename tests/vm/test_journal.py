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


def fsyncs(guest: Guest, point: str, writer: Cgroup, syncer: Cgroup) -> tuple[Times, Job]:
    """The times of 50 fsyncs beside a group that writes, and the job that writes on."""
    guest.run(["rm", "-f", f"{point}/big"])
    load = writer.start(["python3", "-c", FILL, point])
    guest.sleep(SETTLE_S)
    times = syncer.run(["python3", "-c", SYNC, point], timeout=300).out
    assert not load.poll()
    return Times(*map(float, times.split())), load


def rounds_of_fsyncs(guest: Guest, point: str, writer: Cgroup, syncer: Cgroup) -> Times:
    """The same for several rounds, each with a new writer."""
    rounds = []
    for _ in range(ROUNDS):
        times, load = fsyncs(guest, point, writer, syncer)
        end(guest, writer, load)
        rounds.append(times)
    return Times(sum(times.total for times in rounds), max(times.longest for times in rounds))


def end(guest: Guest, group: Cgroup, load: Job) -> None:
    """Kill a job of a group, and wait until it is gone."""
    load.kill()
    load.wait(check=False)
    wait_until(guest, lambda: not group.pids, "the job is gone")


@pytest.mark.parametrize("fstype", variants(["ext4", "xfs"], "ext4"))
def test_fsync_beside_a_writer_on_its_file_system(ioband: Guest, fstype: str) -> None:
    """It waits no longer than the device takes, whatever the weight or maximum of the writer."""
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
            alone = rounds_of_fsyncs(guest, point, writer, syncer)
        with (
            null_blk(guest, **DISK) as disk,
            Ioband(guest, "d", disk) as device,
            mounted(guest, device.path, fstype) as point,
        ):
            shared = rounds_of_fsyncs(guest, point, writer, syncer)
            device.set_max(writer, wbps=WBPS)
            start_ms = guest.now_ms()
            before = device.io()["/a"].write.bytes
            limited, load = fsyncs(guest, point, writer, syncer)
            guest.sleep(PAY_S)
            written = device.io()["/a"].write.bytes - before
            seconds = (guest.now_ms() - start_ms) / 1000
            device.set_max(writer)
            end(guest, writer, load)
    print(f"50 fsyncs, {ROUNDS} times: dm-linear {alone}, equal weights {shared}")
    print(f"50 fsyncs beside a writer at a maximum: {limited}")
    print(f"the writer at its maximum: {written / seconds / 1e6:.2f} MB/s in {seconds:.0f} s")
    assert shared.total < 2 * alone.total
    assert limited.total < 2 * alone.total / ROUNDS
    assert 0.9 * WBPS * seconds < written < 1.05 * WBPS * seconds
