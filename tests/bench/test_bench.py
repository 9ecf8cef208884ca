# SPDX-License-Identifier: GPL-2.0-only
"""What the benchmarks make of their figures."""

import cost
import lines
import locks
import numpy as np
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


READ, WRITE = 0, 1


@pytest.mark.parametrize(
    ("accesses", "expected"),
    [
        ([(0, WRITE), (0, READ), (0, WRITE)], 0),  # one CPU
        ([(0, READ), (1, READ), (0, READ)], 0),  # all only read
        ([(0, WRITE), (1, READ), (1, READ), (0, READ)], 1),  # a reader gets a copy, once
        ([(0, READ), (1, READ), (0, WRITE)], 1),  # the other copy is dropped
        ([(0, WRITE), (1, WRITE), (0, WRITE)], 2),
    ],
)
def test_lines_move_between_caches(accesses: list[tuple[int, int]], expected: int) -> None:
    here = [(100 + number, 0x1000, *access) for number, access in enumerate(accesses)]
    apart = [(100, 0x1000 + 64 * cpu, cpu, store) for cpu, store in accesses]
    assert lines.moves(here).total() == expected
    assert lines.moves(apart).total() == 0


def test_only_lines_of_the_modules_count() -> None:
    symbols = lines.Symbols(
        "0000000000000100 t null_queue_rq\t[null_blk]\n"
        "0000000000000200 t ioband_map\t[dm_ioband]\n"
        "0000000000000300 T _raw_spin_lock\n"
        "0000000000000400 T tick\n"
    )
    accesses = np.array(
        [
            (0x104, 0x9000, 1, 0, WRITE),  # a read enters the disk
            (0x108, 0x9000, 2, 0, READ),
            (0x208, 0x5000, 3, 0, READ),  # the lock's line is the module's
            (0x304, 0x5000, 3, 0, WRITE),
            (0x304, 0x5000, 4, 1, WRITE),
            (0x404, 0x7000, 5, 0, WRITE),  # the tick's is not
            (0x404, 0x7000, 5, 1, WRITE),
            (0x104, 0x9100, 6, 1, WRITE),
        ],
        lines.ACCESS,
    )
    found = lines.evaluate(accesses, symbols, {"dm_ioband"}, 2)
    assert found.ios == [1, 1]
    assert found.by_function == {"_raw_spin_lock": 0.5} and found.per_io == 0.5


def test_the_growth_of_lines_has_a_goal() -> None:
    def figures(*per_io: float) -> dict[int, lines.Figures]:
        return {
            cpus: {
                load: {name: lines.Moves(its, {}, [1] * cpus, 0.0) for name in lines.MODULES}
                for load in lines.LOADS
            }
            for cpus, its in zip((2, 16), per_io, strict=True)
        }

    for its, verdict in (((2.0, 2.4), "met"), ((2.0, 2.5), "missed"), ((0.1, 1.0), "met")):
        last = lines.table(figures(*its), "6.1", 0).splitlines()[-1]
        assert f"goal 1.2 {verdict}; 16 of 16 CPUs submit" in last


def test_the_cost_of_a_shared_pool_has_one_column() -> None:
    figures = {cost.BASE: {"2": 6000.0}, "ioband": {"2": 6600.0}}
    text = cost.table(figures, "6.1").splitlines()
    assert text[1].split() == ["two", "cgroups", "-none", "-linear"]
    assert text[-1] == "ioband, two cgroups: +600 to dm-linear, goal at most 600 met"


def test_idle_time_is_summed() -> None:
    text = (
        "\n  .nohz_mode      : 2\n  .idle_sleeptime : 1200 nsecs\n  .iowait_sleeptime: 34 nsecs\n"
    )
    assert cost.idle_ns(text) == 1234
