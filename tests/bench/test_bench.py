# SPDX-License-Identifier: GPL-2.0-only
"""What the benchmarks make of their figures."""

import locks
import pytest
import speed
from harness.guest import Sample


def turns(rates: list[float]) -> list[speed.Turn]:
    return [speed.Turn(rate, rate, 1.0, 0.0) for rate in rates]


@pytest.mark.parametrize(
    ("rates", "verdict"),
    [
        ([0.98] * 30, "met"),
        ([0.90] * 30, "missed"),
        ([0.95, 0.99] * 15, "not to be told from these rounds"),  # the goal is in the interval
        ([0.5, 1.5] * 15, "not to be told from these rounds"),  # worth nothing
    ],
)
def test_a_goal_is_told_only_from_rounds_that_agree(rates: list[float], verdict: str) -> None:
    by_name = {"ioband": turns(rates), speed.BASE: turns([1.0] * len(rates))}
    assert speed.ratio(by_name, "ioband", "by_time").against(0.97) == verdict


def test_rates_are_compared_within_a_round() -> None:
    base = [float(rate) for rate in range(1, 31)]
    by_name = {"ioband": turns([0.9 * rate for rate in base]), speed.BASE: turns(base)}
    assert speed.ratio(by_name, "ioband", "by_time") == pytest.approx((0.9, 0.9, 0.9))


def test_a_ratio_that_is_noise_is_not_printed() -> None:
    by_name = {"ioband": turns([0.5, 1.5] * 15), speed.BASE: turns([1.0] * 30)}
    assert "noise" in speed.row(by_name, "ioband")
    assert "1.00" in speed.row(by_name, speed.BASE)


def test_callers_of_locks_are_told_apart() -> None:
    text = """
{ caller: [ffffffff81e0a2c4] blk_mq_submit_bio         } hitcount:       7
{ caller: [ffffffffc0a012c4] ioband_queue_map [dm_ioband]           } hitcount:       3
"""
    callers = locks.taken(Sample(0.0, {"hist": text, "other": text}), ["hist", "other"])
    assert callers == {"blk_mq_submit_bio": 14, "ioband_queue_map [dm_ioband]": 6}
    assert locks.own(callers) == {"ioband_queue_map": 6}
