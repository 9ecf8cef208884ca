# SPDX-License-Identifier: GPL-2.0-only
"""Suspends, reloads and changes of settings that must not lose a bio."""

from collections.abc import Callable

from .cgroup import Cgroup
from .devices import null_blk
from .guest import Guest
from .ioband import Ioband

BELOW = {"size_mib": 64, "memory_backed": 1, "irqmode": 2, "completion_nsec": 500_000}
TURNS = 8


def verified(
    guest: Guest, rw: str, wish: Callable[[Ioband, tuple[Cgroup, Cgroup], int], None]
) -> None:
    """Two groups do verified I/O while their settings change in every round.

    Each round suspends the device, with or without a flush; some rounds reload it.
    """
    with (
        null_blk(guest, **BELOW) as below,
        Ioband(guest, "d", below, depth="4/65536") as device,
        Cgroup(guest, "a") as a,
        Cgroup(guest, "b") as b,
    ):
        jobs = [
            group.start(
                [
                    "fio", "--name=v", f"--filename={device.path}", f"--rw={rw}", "--bs=16k",
                    f"--offset={32 * index}m", "--size=32m", "--direct=1", "--ioengine=libaio",
                    "--iodepth=32", "--thread=1", "--verify=crc32c", "--verify_fatal=1",
                ]
            )
            for index, group in enumerate((a, b))
        ]  # fmt: skip
        device.set_max(b, wbps=1000 << 20)  # all settings of a group are in one allocation
        for turn in range(TURNS):
            wish(device, (a, b), turn)
            guest.sleep(0.05)
            device.suspend(noflush=bool(turn % 2))
            assert device.info().held.ios == 0
            device.resume()
            if turn % 3 == 0:
                device.reload(device.line())
        for job in jobs:
            job.wait(120)
        status = device.info()
    assert (status.held, status.inflight) == ((0, 0), (0, 0))
