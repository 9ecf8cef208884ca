# SPDX-License-Identifier: GPL-2.0-only
"""ioband's times of bios, on a disk with the same latency for each bio at any load.

Time is instructions executed, so the load of the host does not matter.
"""

from dataclasses import dataclass, replace

import pytest
from harness.cgroup import Cgroup
from harness.compete import SETTLE_S
from harness.devices import null_blk
from harness.guest import Guest
from harness.ioband import Counters, Ioband, group_name
from harness.load import Load, Stream

pytestmark = pytest.mark.guest(icount=True)

TOOK_MS = 10
# The kernel's part of it: an interrupt, and the wakeup of a worker.
SLACK_MS = 0.2
IODEPTH = 20
DEPTH = 2
# 400 bios of each job, so that one more or less has little effect.
WINDOW_S = 4


@dataclass(frozen=True)
class Seen:
    """The statistics of a group in one direction at a moment."""

    at_ms: float
    done: Counters
    wait: tuple[int, ...]
    service: tuple[int, ...]

    def __sub__(self, other: "Seen") -> "Seen":
        return replace(
            self,
            done=Counters(*(b - a for a, b in zip(other.done, self.done, strict=True))),
            wait=tuple(b - a for a, b in zip(other.wait, self.wait, strict=True)),
            service=tuple(b - a for a, b in zip(other.service, self.service, strict=True)),
        )

    @property
    def wait_ms(self) -> float:
        """The mean time in the queue of the bios that were queued."""
        return self.done.wait_ns / self.done.held / 1e6

    @property
    def service_ms(self) -> float:
        """The mean time of a bio in flight."""
        return self.done.service_ns / self.done.ios / 1e6


def seen(device: Ioband, name: str, way: str) -> Seen:
    """Read the statistics of a group."""
    (stats,) = (stats for stats in device.stats() if stats.name == name)
    at_ms = device.guest.now_ms()
    (latency,) = (latency for latency in device.latency() if latency.name == name)
    wait, service = (latency.histograms[f"{way}.{what}"] for what in ("wait", "service"))
    return Seen(at_ms, getattr(stats, way), wait, service)


def part_at(histogram: tuple[int, ...], ms: float) -> float:
    """The part of all bios that is in the bucket of a time, as documented."""
    return histogram[int(ms * 1e6 / 1024).bit_length()] / sum(histogram)


def started(device: Ioband, *streams: Stream) -> Load:
    """The streams run, and have settled."""
    load = Load(device.guest, streams).start()
    device.guest.sleep(SETTLE_S)
    return load


def test_alone_nothing_waits(ioband: Guest) -> None:
    with (
        null_blk(ioband, irqmode=2, completion_nsec=TOOK_MS * 1_000_000) as disk,
        Ioband(ioband, "d", disk, depth=DEPTH) as device,
        Cgroup(ioband, "a") as a,
    ):
        name = group_name(a)
        load = started(device, Stream("a", device.path, a, bs="4k", iodepth=IODEPTH))
        before = seen(device, name, "read")
        ioband.sleep(1)
        after = seen(device, name, "read")
        fio = load.stop().window(before.at_ms, after.at_ms)["a"]
    got = after - before
    assert fio.iops / 1000 * got.service_ms == pytest.approx(IODEPTH, rel=0.05)
    assert TOOK_MS <= got.service_ms <= TOOK_MS + SLACK_MS
    assert part_at(got.service, TOOK_MS) > 0.99
    assert (got.done.held, got.done.wait_ns, sum(got.wait)) == (0, 0, 0)


def test_what_is_held_waits_as_littles_law_says(ioband: Guest) -> None:
    """The mean number of queued bios is their rate times their mean time in the queue."""
    with (
        null_blk(ioband, irqmode=2, completion_nsec=TOOK_MS * 1_000_000) as disk,
        Ioband(ioband, "d", disk, depth=DEPTH) as device,
        Cgroup(ioband, "a") as a,
        Cgroup(ioband, "b") as b,
    ):
        ways = {"a": "read", "b": "write"}
        streams = [
            Stream(each.path, device.path, each, f"rand{ways[each.path]}", "4k", IODEPTH)
            for each in (a, b)
        ]
        names = {each.path: group_name(each) for each in (a, b)}
        load = started(device, *streams)
        before = {path: seen(device, names[path], way) for path, way in ways.items()}
        ioband.sleep(WINDOW_S)
        after = {path: seen(device, names[path], way) for path, way in ways.items()}
        fio = load.stop().window(before["a"].at_ms, after["b"].at_ms)
    for path in names:
        got = after[path] - before[path]
        # From fio's log, as much time may pass between the statistics and the clock's reading.
        rate = fio[path].iops / 1000
        assert got.done.held == pytest.approx(got.done.ios, rel=0.02)
        assert rate == pytest.approx(DEPTH / TOOK_MS / len(names), rel=0.03)
        assert TOOK_MS <= got.service_ms <= TOOK_MS + SLACK_MS
        held = IODEPTH - DEPTH / len(names)
        assert got.wait_ms * rate == pytest.approx(held, rel=0.03)
        assert got.wait_ms + got.service_ms == pytest.approx(fio[path].mean_ms, rel=0.03)
        assert part_at(got.service, TOOK_MS) > 0.99
        assert part_at(got.wait, held / rate) > 0.95
