# SPDX-License-Identifier: GPL-2.0-only
"""Jobs that compete for a small disk, and the I/O of each in a window."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from .cgroup import Cgroup
from .devices import null_blk
from .guest import Guest
from .ioband import Ioband
from .load import Load, Stream, Window
from .waiting import wait_until

SETTLE_S = 0.5
# Two I/Os at a time, 2 ms each.
DISK = {"irqmode": 2, "completion_nsec": 2_000_000, "hw_queue_depth": 2, "submit_queues": 1}
DISK_IOPS = 1000


@contextmanager
def competing(
    guest: Guest, *names: str, disk: dict[str, object] | None = None, **settings: object
) -> Iterator[tuple[Ioband, list[Cgroup]]]:
    """An ioband device over the small disk, or another one, and cgroups, parents first."""
    with (
        null_blk(guest, **(DISK | (disk or {}))) as below,
        Ioband(guest, "d", below, **settings) as device,
        ExitStack() as on,
    ):
        yield device, [on.enter_context(Cgroup(guest, name)) for name in names]


def running(device: Ioband, *streams: Stream, state: str = "shared", window_s: float = 2) -> Window:
    """The I/O of each job while all run, with the pool in the given state."""
    load = Load(device.guest, list(streams)).start()
    # A pool stays shared for two seconds after the I/O of another group, such as that of udev.
    wait_until(device.guest, lambda: device.info().state == state, f"the pool is {state}")
    device.guest.sleep(SETTLE_S)
    # All I/O in flight when fio ends would count as completed at its end.
    start_ms = device.guest.now_ms()
    device.guest.sleep(window_s)
    end_ms = device.guest.now_ms()
    assert device.info().state == state
    return load.stop().window(start_ms, end_ms)
