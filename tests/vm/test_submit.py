# SPDX-License-Identifier: GPL-2.0-only
"""Released bios are submitted although a worker of the target sleeps or cannot run."""

from contextlib import ExitStack

import pytest
from harness.cgroup import Cgroup
from harness.compete import DISK
from harness.devices import null_blk
from harness.guest import Guest
from harness.ioband import Ioband
from harness.load import Load, Stream, dirty_limit
from harness.machine import UnsupportedError

SPIN = ["chrt", "--fifo", "1", "taskset", "--cpu-list", "0", "sh", "-c", "while :; do :; done"]


@pytest.mark.guest(parallel=True)
def test_beside_a_task_that_does_not_yield(ioband: Guest) -> None:
    """The reader has a higher priority than the spinner of its CPU, a worker has a lower one."""
    guest = ioband
    if not guest.exists("/sys/devices/system/cpu/cpu1"):
        raise UnsupportedError("the rival needs a processor of its own")
    with (
        null_blk(guest, **DISK | {"completion_nsec": 500_000, "hw_queue_depth": 8}) as below,
        Ioband(guest, "d", below, depth=4) as device,
        ExitStack() as on,
    ):
        a, b = (on.enter_context(Cgroup(guest, name)) for name in "ab")
        jobs = [
            Stream("reader", device.path, a, bs="4k", options={"cpus_allowed": 0}),
            Stream("rival", device.path, b, bs="4k", options={"cpus_allowed": 1}),
        ]
        load = Load(guest, jobs).start()
        pid = str(load.pids["reader"])
        guest.run(["chrt", "--all-tasks", "--fifo", "--pid", "2", pid])
        moments = [guest.now_ms()]
        guest.sleep(2)
        moments.append(guest.now_ms())
        spinner = guest.start(SPIN)
        guest.sleep(0.5)
        moments.append(guest.now_ms())
        guest.sleep(2)
        moments.append(guest.now_ms())
        spinner.kill()
        measured = load.stop()
        alone = measured.window(moments[0], moments[1])["reader"].iops
        beside = measured.window(moments[2], moments[3])["reader"].iops
    print(f"reads in a second: {alone:.0f}, beside the spinner {beside:.0f}")
    assert beside > alone / 10


def read_iops(guest: Guest, wbt_us: int) -> float:
    """Reads in a second beside buffered writes, with writeback throttling or without."""
    with (
        null_blk(guest, **DISK | {"hw_queue_depth": 32}) as below,
        Ioband(guest, "d", below, depth=4) as device,
        dirty_limit(guest, 8 << 20),
        ExitStack() as on,
    ):
        queue = f"/sys/block/{below.removeprefix('/dev/')}/queue"
        guest.write(f"{queue}/wbt_lat_usec", str(wbt_us))
        a, b = (on.enter_context(Cgroup(guest, name)) for name in "ab")
        # A direct read waits for dirty pages of the same blocks.
        write = {"direct": 0, "ioengine": "psync", "size": "50%"}
        jobs = [
            Stream("reader", device.path, a, bs="4k", iodepth=4, options={"offset": "50%"}),
            Stream("writer", device.path, b, rw="write", options=write),
        ]
        load = Load(guest, jobs).start()
        guest.sleep(1)
        start_ms = guest.now_ms()
        guest.sleep(3)
        end_ms = guest.now_ms()
        return load.stop().window(start_ms, end_ms)["reader"].iops


@pytest.mark.guest(icount=True)
def test_reads_do_not_wait_for_throttled_writeback(ioband: Guest) -> None:
    """A buffered write that sleeps in the device below keeps no read from being submitted."""
    throttled, free = read_iops(ioband, 500), read_iops(ioband, 0)
    print(f"reads in a second: {throttled:.0f} with writeback throttling, {free:.0f} without")
    assert throttled > 0.8 * free
