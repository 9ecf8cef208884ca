# SPDX-License-Identifier: GPL-2.0-only
"""Ways to share a disk among cgroups, and their common load.

The load is 4-KiB random reads on a null_blk disk, by io_uring, 64 deep in
batches of 32: one process in each of the given cgroups.  The disk completes each
I/O while it is submitted, or later by an interrupt.
Every figure includes the work of fio; only the differences count.
"""

import contextlib
import functools
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from harness.cgroup import V2_ROOT, Cgroup
from harness.devices import linear, null_blk
from harness.guest import Guest
from harness.ioband import Ioband
from harness.load import Load, Stream

LEAN = {
    "ioengine": "io_uring",
    "iodepth_batch": 32,
    "iodepth_batch_complete_min": 32,
    "fixedbufs": 1,
    "registerfiles": 1,
    "gtod_reduce": 1,
    "clocksource": "clock_gettime",
    "write_lat_log": None,
    "disable_slat": None,
    "disable_clat": None,
    "log_unix_epoch": None,
    "log_max_value": None,
}


class Device(NamedTuple):
    """The device of a load; held() is the part of I/Os queued since its last call.

    state() is that of ioband's pool.
    """

    path: str
    held: Callable[[], float] = lambda: math.nan
    state: Callable[[], str] = lambda: "none"


class Contestant(NamedTuple):
    """A way to share a disk: sets itself up on the disk and yields the device to use."""

    name: str
    set_up: Callable[[Guest, str, Sequence[Cgroup]], contextlib.AbstractContextManager[Device]]


class Entry(NamedTuple):
    """A contestant on a disk of its own."""

    name: str
    disk: str
    device: Device

    @property
    def counters(self) -> str:
        """The file with the number of completed I/Os of the disk."""
        return f"/sys/block/{Path(self.disk).name}/stat"


# -- the ways ------------------------------------------------------------------


def _set_queue(guest: Guest, disk: str, scheduler: str) -> None:
    guest.write(f"/sys/block/{Path(disk).name}/queue/scheduler", scheduler)


def _number(guest: Guest, disk: str) -> str:
    return guest.read(f"/sys/block/{Path(disk).name}/dev").strip()


@contextlib.contextmanager
def scheduler(guest: Guest, disk: str, groups: Sequence[Cgroup], name: str) -> Iterator[Device]:
    """An I/O scheduler of the kernel."""
    if name in ("bfq", "kyber"):
        guest.run(["modprobe", "bfq" if name == "bfq" else "kyber-iosched"])
    _set_queue(guest, disk, name)
    yield Device(disk)
    _set_queue(guest, disk, "none")


@contextlib.contextmanager
def io_cost(guest: Guest, disk: str, groups: Sequence[Cgroup]) -> Iterator[Device]:
    """io.cost with a model above the speed of the disk: accounting without throttling."""
    rates = " ".join(f"{way}{kind}=100000000" for way in "rw" for kind in ("seqiops", "randiops"))
    model = f"ctrl=user model=linear rbps=1000000000000 wbps=1000000000000 {rates}"
    number = _number(guest, disk)
    guest.write(f"{V2_ROOT}/io.cost.model", f"{number} {model}")
    guest.write(f"{V2_ROOT}/io.cost.qos", f"{number} enable=1")
    yield Device(disk)
    guest.write(f"{V2_ROOT}/io.cost.qos", f"{number} enable=0")


@contextlib.contextmanager
def io_max(guest: Guest, disk: str, groups: Sequence[Cgroup]) -> Iterator[Device]:
    """io.max with limits above the speed of the disk."""
    number = _number(guest, disk)
    for group in groups:
        group.set("io.max", f"{number} rbps=1000000000000 riops=1000000000")
    yield Device(disk)
    for group in groups:
        group.set("io.max", f"{number} rbps=max riops=max")


@contextlib.contextmanager
def dm_linear(guest: Guest, disk: str, groups: Sequence[Cgroup]) -> Iterator[Device]:
    """The cost of any device-mapper target."""
    with linear(guest, "bench-linear", disk) as device:
        yield Device(device.path)


@contextlib.contextmanager
def ioband(
    guest: Guest,
    disk: str,
    groups: Sequence[Cgroup],
    weight: int | None = None,
    **settings: object,
) -> Iterator[Device]:
    """dm-ioband with a group for each cgroup, the first one maybe with a weight."""
    with Ioband(guest, "bench-ioband", disk, **settings) as device:
        if weight:
            device.set_weight(groups[0], weight)
        asked = [0, 0]

        def held() -> float:
            reads = [entry.read for entry in device.stats()]
            now = [sum(read.held for read in reads), sum(read.ios for read in reads)]
            waited, ios = (new - old for new, old in zip(now, asked, strict=True))
            asked[:] = now
            return waited / ios if ios else math.nan

        yield Device(device.path, held, lambda: device.info().state)


def _scheduler(name: str) -> Contestant:
    return Contestant(name, lambda guest, disk, groups: scheduler(guest, disk, groups, name))


def contestants(**settings: object) -> list[Contestant]:
    """All of them; the settings are those of ioband's pool."""
    return [
        _scheduler("none"),
        Contestant("io.cost", io_cost),
        Contestant("io.max", io_max),
        _scheduler("kyber"),
        _scheduler("mq-deadline"),
        _scheduler("bfq"),
        Contestant("dm-linear", dm_linear),
        Contestant("ioband", functools.partial(ioband, **settings)),
        Contestant("ioband 4:1", functools.partial(ioband, weight=400, **settings)),
    ]


CONTESTANTS = contestants()


# -- the load ------------------------------------------------------------------


@contextlib.contextmanager
def entered(
    guest: Guest,
    contestant: Contestant,
    groups: Sequence[Cgroup],
    disk: str,
    queues: int = 1,
    later_us: int = 0,
    **attributes: int,
) -> Iterator[Entry]:
    """A contestant on a new disk, as traces of a policy stay with the disk that had it."""
    way = {"irqmode": 2, "completion_nsec": 1000 * later_us} if later_us else {"irqmode": 0}
    with (
        null_blk(guest, disk, blocksize=512, submit_queues=queues, **way, **attributes) as path,
        contestant.set_up(guest, path, groups) as device,
    ):
        yield Entry(contestant.name, path, device)


@contextlib.contextmanager
def loaded(
    guest: Guest, entry: Entry, groups: Sequence[Cgroup], *options: dict[str, object]
) -> Iterator[Load]:
    """Run a process in each group (groups may repeat); each process may have options of its own."""
    each = options or ({},) * len(groups)
    streams = [
        Stream(f"job{number}", entry.device.path, group, bs="4k", iodepth=64, options=LEAN | extra)
        for number, (group, extra) in enumerate(zip(groups, each, strict=True))
    ]
    load = Load(guest, streams).start()
    yield load
    load.resume()
    load.end()


def completed(guest: Guest, entry: Entry) -> int:
    """The number of reads that the disk has completed."""
    return reads(guest.read(entry.counters))


def reads(counters: str) -> int:
    """The reads of a disk by its counters."""
    return int(counters.split()[0])
