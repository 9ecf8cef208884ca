# SPDX-License-Identifier: GPL-2.0-only
"""What the benchmarks make of their figures."""

import cost
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
        ([0.3, 0.6] * 15, "missed"),  # wide, but all of it is below the goal
        ([1.2, 1.8] * 15, "met"),  # and above it
        ([0.97] * 15 + [1.5] * 15, "met"),  # from the goal on
    ],
)
def test_a_goal_is_told_where_the_interval_is_on_one_side_of_it(
    rates: list[float], verdict: str
) -> None:
    by_name = {"ioband": turns(rates), speed.BASE: turns([1.0] * len(rates))}
    assert speed.ratio(by_name, "ioband", "by_time").against(0.97) == verdict


def test_rates_are_compared_within_a_round() -> None:
    base = [float(rate) for rate in range(1, 31)]
    by_name = {"ioband": turns([0.9 * rate for rate in base]), speed.BASE: turns(base)}
    assert speed.ratio(by_name, "ioband", "by_time") == pytest.approx((0.9, 0.9, 0.9))


def test_ioband_is_compared_with_each_scheduler_too() -> None:
    rates = {name: 2.0 for name in speed.SCHEDULERS} | {"kyber": 0.5, speed.BASE: 1.0}
    by_name = {name: turns([rates.get(name, 1.0)] * 30) for name in speed.NAMES}
    lines = speed.table({load: by_name for load in speed.GOALS}, "7.0").splitlines()
    own = lines[lines.index("ioband's by those of") + 1 :][: len(speed.SCHEDULERS)]
    found = {line.split()[0]: line.split()[1::2] for line in own}
    assert found.keys() == set(speed.SCHEDULERS)
    assert found["bfq"] == ["0.50"] * 4 and found["kyber"] == ["2.00"] * 4


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


def test_the_cost_has_a_goal() -> None:
    figures = {cost.BASE: {"1": 5000.0, "2": 6000.0}, "ioband": {"1": 5270.0, "2": 6601.0}}
    one, two = cost.table(figures, "6.1").splitlines()[-2:]
    assert one == "ioband, one process: +270 to dm-linear, goal at most 270 met"
    assert two == "ioband, two cgroups: +601 to dm-linear, goal at most 600 missed"
    alone = {"ioband": figures["ioband"]}
    assert cost.table(alone, "6.1").splitlines()[-1].startswith("ioband      ")
