# SPDX-License-Identifier: GPL-2.0-only
"""Gathered completions are passed to the scheduler, whatever happens meanwhile.

Two groups compete, on a disk that is faster than the CPUs.  So completions are always gathered,
while the settings on which gathering depends change.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack

import pytest
from harness.cgroup import Cgroup
from harness.devices import null_blk
from harness.guest import Guest
from harness.ioband import Ioband
from harness.load import Load, Stream

CPUS = 2
DEEP = {"ioengine": "io_uring", "iodepth_batch": 32, "iodepth_batch_complete_min": 32}
# How null_blk completes an I/O: while it is submitted, in a softirq, by a timer of 20 us.
AT_ONCE, SOFTIRQ = {"irqmode": 0}, {"irqmode": 1}
TIMER = {"irqmode": 2, "completion_nsec": 20_000}


def changes(guest: Guest, device: Ioband, group: Cgroup) -> Sequence[Callable[[], object]]:
    """Changes of the conditions of gathering, each followed by its reversal."""
    online = f"/sys/devices/system/cpu/cpu{CPUS - 1}/online"
    hotplug = (lambda: guest.write(online, "0"), lambda: guest.write(online, "1"))
    return (
        lambda: device.set_min(group, riops=100),
        lambda: device.set_min(group, riops=0),
        *(hotplug if guest.exists(online) else ()),
        device.suspend,
        device.resume,
        lambda: device.suspend(noflush=True),
        device.resume,
    )


# A pool with a limit that was set is shared, also where the CPUs limit the groups.
@pytest.mark.parametrize(
    "way",
    [
        pytest.param(TIMER, id="timer"),
        pytest.param(AT_ONCE, id="at once", marks=pytest.mark.long),
        pytest.param(SOFTIRQ, id="softirq", marks=pytest.mark.long),
    ],
)
@pytest.mark.guest(parallel=True)
def test_none_is_left(ioband: Guest, way: dict[str, int]) -> None:
    """Once the load has ended, no bio is queued or in flight; a device of the pool was removed."""
    guest = ioband
    cpus = range(int(guest.run(["nproc"]).out))
    with (
        null_blk(guest, submit_queues=CPUS, **way) as below,
        null_blk(guest, "nullb1", submit_queues=CPUS, **way) as other,
        Ioband(guest, "d", below, depth=16) as device,
        ExitStack() as on,
    ):
        groups = [on.enter_context(Cgroup(guest, name)) for name in "ab"]
        jobs = [
            Stream(
                f"{group.path}{cpu}",
                device.path,
                group,
                bs="4k",
                iodepth=64,
                options=DEEP | {"cpus_allowed": cpu},
            )
            for group in groups
            for cpu in cpus
        ]
        load = Load(guest, jobs).start()
        guest.sleep(0.5)
        with Ioband(guest, "e", other) as removed:
            beside = Stream("e", removed.path, groups[0], bs="4k", iodepth=64, options=DEEP)
            short = Load(guest, [beside]).start()
            guest.sleep(0.5)
            first = device.info()
            short.stop()
        for change in changes(guest, device, groups[0]):
            change()
            guest.sleep(0.1)
        before = device.io()
        guest.sleep(0.3)
        after = device.io()
        load.stop()
        guest.sleep(0.1)
        last = device.info()
    moved = {name: after[name].ios - before[name].ios for name in after}
    print(first, last, moved)
    assert first.state == "shared"
    assert all(moved[f"/{group.path}"] for group in groups)
    assert last.inflight.ios == last.held.ios == 0
