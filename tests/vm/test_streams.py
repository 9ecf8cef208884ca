# SPDX-License-Identifier: GPL-2.0-only
"""Inside a group: I/O priorities, and reads before writes.

Runs of reads on a disk that seeks are seen in the laboratory, on its modelled disk.
What each job got is what fio logged.  Time is instructions executed: how busy the
host is does not matter.
"""

import pytest
from harness.compete import SETTLE_S, competing, running
from harness.guest import Guest
from harness.load import Load, Stream

pytestmark = pytest.mark.guest(icount=True)

REAL_TIME, BEST_EFFORT, IDLE = 1, 2, 3


def test_levels_compete_in_their_group_alone(ioband: Guest) -> None:
    """By their weights; the bios say their level themselves."""
    guest = ioband
    with competing(guest, "a", "b") as (device, (a, b)):

        def level(name: str, prioclass: int, prio: int) -> Stream:
            options: dict[str, object] = {"prioclass": prioclass, "prio": prio}
            return Stream(name, device.path, a, bs="4k", iodepth=8, options=options)

        other = Stream("other", device.path, b, bs="4k")
        levels = running(
            device,
            level("be0", BEST_EFFORT, 0),
            level("be4", BEST_EFFORT, 4),
            level("be7", BEST_EFFORT, 7),
            other,
            window_s=4,
        )
        classes = running(
            device, level("rt", REAL_TIME, 4), level("be4", BEST_EFFORT, 4), other, window_s=4
        )
        idle = running(
            device, level("idle", IDLE, 0), level("be4", BEST_EFFORT, 4), other, window_s=4
        )
    assert levels["be0"].iops / levels["be4"].iops == pytest.approx(400 / 100, rel=0.05)
    assert levels["be0"].iops / levels["be7"].iops == pytest.approx(400 / 35, rel=0.1)
    assert classes["rt"].iops / classes["be4"].iops == pytest.approx(2500 / 100, rel=0.1)
    assert 0 < idle["idle"].iops < 0.02 * idle["be4"].iops
    for got in (levels, classes, idle):
        of_a = sum(each.iops for name, each in got.jobs.items() if name != "other")
        assert of_a / got["other"].iops == pytest.approx(1, rel=0.03)


def test_a_priority_wins_nothing_from_other_groups(ioband: Guest) -> None:
    guest = ioband
    with competing(guest, "a", "b") as (device, (a, b)):
        got = running(
            device,
            Stream("rt", device.path, a, options={"prioclass": REAL_TIME, "prio": 0}),
            Stream("idle", device.path, b, options={"prioclass": IDLE}),
        )
    assert got["rt"].iops / got["idle"].iops == pytest.approx(1, rel=0.03)


def test_the_level_of_a_task_counts(ioband: Guest) -> None:
    """For reads through the page cache, which on older kernels say nothing themselves."""
    guest = ioband
    with competing(guest, "a", "b") as (device, (a, b)):
        buffered: dict[str, object] = {
            "ioengine": "psync",
            "direct": 0,
            "size": "256m",
            "prioclass": 2,
        }
        got = running(
            device,
            Stream("high", device.path, a, "read", options=buffered | {"prio": 0}),
            Stream("low", device.path, a, "read", options=buffered | {"prio": 7, "offset": "512m"}),
            Stream("other", device.path, b),
        )
    # Read-ahead does not keep so much waiting that the full 11 times come out.
    assert got["high"].bandwidth > 2 * got["low"].bandwidth > 0


def test_reads_go_before_writes(ioband: Guest) -> None:
    """A reader does not wait for its group's writers, nor do they starve."""
    guest = ioband
    with competing(guest, "a", "b", depth="2") as (device, (a, b)):
        writer = Stream("writer", device.path, a, "randwrite", "4k", 64)
        other = Stream("other", device.path, b, bs="4k")
        one = running(device, Stream("reader", device.path, a, "randread", "4k", 1), writer, other)
        many = running(
            device, Stream("reader", device.path, a, "randread", "4k", 64), writer, other
        )
    # Of 500 I/Os of the group a second one in 65 would be the reader's, one at a time.
    assert one["reader"].iops > 100
    assert many["reader"].iops / many["writer"].iops == pytest.approx(2, rel=0.05)


def test_the_ratio_of_reads_to_writes_is_set(ioband: Guest) -> None:
    """While both go on, by a message; other groups have no part in it."""
    guest = ioband
    with competing(guest, "a", "b", depth="2", writes_starved=1) as (device, (a, b)):
        load = Load(
            guest,
            [
                Stream("reader", device.path, a, "randread", "4k", 64),
                Stream("writer", device.path, a, "randwrite", "4k", 64),
                Stream("other", device.path, b, bs="4k"),
            ],
        ).start()
        windows = []
        for reads in (1, 8, 3):
            device.set(writes_starved=reads)
            assert device.info().writes_starved == reads
            guest.sleep(SETTLE_S)
            start_ms = guest.now_ms()
            guest.sleep(3)
            windows.append((reads, start_ms, guest.now_ms()))
        got = load.stop()
    for reads, start_ms, end_ms in windows:
        window = got.window(start_ms, end_ms)
        assert window["reader"].iops / window["writer"].iops == pytest.approx(reads, rel=0.05)
        both = window["reader"].iops + window["writer"].iops
        assert both / window["other"].iops == pytest.approx(1, rel=0.03)
