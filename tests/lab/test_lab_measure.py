# SPDX-License-Identifier: GPL-2.0-only
"""The meaning of figures, on constructed traces."""

import dataclasses
import gzip
import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lab.measure import METRICS, jain, percentile, shares, sliding, summary
from lab.scenario import PLAIN_POOL, Disk, Group, Job, Setting
from lab.traces import MeasureError, Observation, Sample, Trace, merge, observe


def group(name: str, weight: int = 100, path: str = "") -> Group:
    return Group(name, path or f"/{name}", weight, 0, 0, 0, "")


def trace(times: Iterable[float], size: int = 1000, latency: float = 0.001) -> Trace:
    at = np.array(list(times), dtype=np.float64)
    zeros = np.zeros(at.size)
    return Trace(at, zeros + latency, zeros + size, zeros, zeros + 1)


def steady(rate: float, start: float, end: float, size: int = 1000) -> Trace:
    """I/Os at equal distances."""
    return trace(np.arange(start, end, 1 / rate) + 0.5 / rate, size)


def observation(groups: list[Group], traces: dict[str, list[Trace]], **more: Any) -> Observation:
    def planned(one: Trace) -> tuple[float, float]:
        start = int(one.span[0] + 1e-3) if one.at_s.size else 0
        return (start, start + 1)

    jobs = tuple(
        Job(name, name, "", tuple(map(planned, each)), {}) for name, each in traces.items()
    )
    setting = Setting("", Disk("cloud", {}), PLAIN_POOL, (), tuple(groups), jobs)
    found = {(name, i): one for name, each in traces.items() for i, one in enumerate(each)}
    return Observation(setting, **({"seconds": 10, "settle": 0.5, "traces": found} | more))


def value(obs: Observation, metric: str, *of: str, **options: Any) -> float:
    return METRICS[metric].value(obs, of or ("*",), options)


def two(rate_a: float = 200, rate_b: float = 100, weight_a: int = 200) -> Observation:
    groups = [group("a", weight_a), group("b")]
    return observation(groups, {"a": [steady(rate_a, 0, 10)], "b": [steady(rate_b, 0, 10)]})


def test_jain() -> None:
    assert jain([3, 3, 3]) == pytest.approx(1)
    assert jain([1, 0, 0, 0]) == pytest.approx(0.25)
    assert math.isnan(jain([0, 0]))


def test_percentile() -> None:
    values = np.arange(1, 101, dtype=np.float64)
    assert [percentile(values, p) for p in (1, 50, 99, 100)] == [1, 50, 99, 100]
    assert math.isnan(percentile(np.zeros(0), 50))


def test_merge_keeps_the_order_of_completion() -> None:
    merged = merge([trace([1, 3], 10), trace([2], 20)])
    assert list(merged.at_s) == [1, 2, 3] and list(merged.bytes) == [10, 20, 10]
    assert not merge([]).at_s.size


def test_shares_follow_the_tree() -> None:
    groups = [
        group("a", 200),
        group("x", 100, "/a/x"),
        group("y", 300, "/a/y"),
        group("b", 100),
    ]
    setting = Setting("", Disk("hdd", {}), PLAIN_POOL, (), tuple(groups), ())
    assert shares(setting, ["x", "y", "b"]) == pytest.approx({"x": 1 / 6, "y": 1 / 2, "b": 1 / 3})
    # The share of an idle sibling goes to its siblings, not to all groups.
    assert shares(setting, ["x", "b"]) == pytest.approx({"x": 2 / 3, "b": 1 / 3})
    assert shares(setting, ["x", "y"]) == pytest.approx({"x": 1 / 4, "y": 3 / 4})


def test_ratio_and_bandwidth() -> None:
    obs = two()
    assert value(obs, "ratio", "a", "b") == pytest.approx(2, rel=0.01)
    assert value(obs, "bandwidth_mbps") == pytest.approx(0.3, rel=0.01)
    assert value(obs, "bandwidth_mbps", "a", window=[1, 2]) == pytest.approx(0.2)
    assert value(obs, "iops", "b") == pytest.approx(100, rel=0.01)
    assert value(obs, "jain_index") == pytest.approx(1, abs=1e-3)
    assert value(two(rate_a=100), "jain_index") < 0.95


def test_one_direction() -> None:
    both = merge([steady(100, 0, 10), steady(100, 0, 10)._replace(write=np.ones(1000))])
    both = both._replace(latency_s=np.where(both.write == 1, 0.009, 0.001))
    obs = observation([group("a")], {"a": [both]})
    assert value(obs, "latency_mean_ms", "a", io="read") == pytest.approx(1)
    assert value(obs, "latency_max_ms", "a", io="write") == pytest.approx(9)


def test_latencies() -> None:
    times = np.arange(1, 101) / 10
    slow = trace(times)._replace(latency_s=np.arange(1, 101) / 1e3)
    obs = observation([group("a")], {"a": [slow]}, settle=0)
    assert value(obs, "latency_p99_ms", window=[0, 11]) == pytest.approx(99)
    assert value(obs, "latency_max_ms", window=[0, 11]) == pytest.approx(100)
    assert value(obs, "latency_mean_ms", window=[0, 11]) == pytest.approx(50.5)


def test_share_error_forgives_one_io() -> None:
    assert value(two(), "share_error_pct") < 0.2
    assert value(two(rate_a=150), "share_error_pct") == pytest.approx(20, abs=0.1)
    groups = [group("a", 2), group("b", 1)]
    one_late = {"a": [trace([1, 2, 3, 4], 1000)], "b": [trace([1.5, 4.2], 1000)]}
    assert value(observation(groups, one_late), "share_error_pct", window=[1.5, 3.9]) == 0
    # A larger deviation counts in full: 3000 and 500 instead of 1750 each.
    unequal = {"a": [trace(np.arange(1, 4.5, 0.5), 500)], "b": [trace([1, 4.2], 500)]}
    obs = observation([group("a"), group("b")], unequal)
    assert value(obs, "share_error_pct", window=[1, 2.1]) == 0
    assert value(obs, "share_error_pct", window=[1, 4]) == pytest.approx(100 * 1250 / 1750)


def test_shares_of_a_window_in_which_nobody_competes_are_an_error() -> None:
    """Every peer would pass in such a window."""
    late = {"a": [steady(200, 0.2, 10)], "b": [steady(10, 0.2, 10)]}
    obs = observation([group("a"), group("b")], late)
    for metric in ("share_error_pct", "jain_index"):
        with pytest.raises(MeasureError, match="no two groups compete all the time from 0 to 4 s"):
            value(obs, metric, window=[0, 4])
    assert value(obs, "share_error_pct", window=[0.5, 4]) > 50


def test_windows_of_a_width() -> None:
    assert sliding(0, 1, 2).size == 0
    assert list(sliding(3, 5, 2)) == [3]
    found = sliding(0, 10, 2)
    assert found[0] == 0 and found[-1] == 8 and np.diff(found).max() <= 2 / 20 + 1e-9


def test_intervals_only_count_while_the_same_groups_compete() -> None:
    groups = [group("a"), group("b")]
    # b is idle from 4 to 6 and a has everything then, which is correct.
    with_pause = {
        "a": [merge([steady(100, 0, 4), steady(200, 4, 6), steady(100, 6, 10)])],
        "b": [steady(100, 0, 4), steady(100, 6, 10)],
    }
    assert value(observation(groups, with_pause), "interval_error_pct", window_ms=500) < 0.1
    # For half a second in the middle a got nothing, and made up for it later.
    unfair = {
        "a": [merge([steady(100, 0, 4), steady(200, 4.5, 5), steady(100, 5, 10)])],
        "b": [steady(100, 0, 10)],
    }
    obs = observation(groups, unfair)
    assert value(obs, "interval_error_pct", window_ms=200) > 50
    assert value(obs, "interval_error_pct", window_ms=200, from_s=4.9) > 2
    assert value(obs, "interval_error_pct", window_ms=200, from_s=5) < 0.1
    assert value(obs, "share_error_pct") < 2


def test_a_group_that_ends_is_served_until_its_last_io_completes() -> None:
    groups = [group("a"), group("b")]
    last = steady(30, 4, 4.1)  # b submits its last I/O at 4.0, and then gets less
    b = merge([steady(100, 0, 4), last._replace(latency_s=last.at_s - 4)])
    a = merge([steady(100, 0, 4), steady(170, 4, 4.1), steady(200, 4.1, 10)])
    obs = observation(groups, {"a": [a], "b": [b]})
    assert value(obs, "interval_error_pct", window_ms=200) < 0.1


def test_first_latency() -> None:
    spans = [steady(100, 0, 1), steady(100, 5, 6)]
    # All begin together, so the latency of the run's first I/O is no latency of waking up.
    spans[0] = spans[0]._replace(latency_s=np.r_[0.5, np.full(99, 0.001)])
    spans[1] = spans[1]._replace(latency_s=np.r_[0.02, np.full(99, 0.001)])
    obs = observation([group("a")], {"a": spans})
    assert value(obs, "first_latency_ms", "a") == pytest.approx(20)


def test_full_share() -> None:
    groups = [group("a"), group("b")]
    slow_start = merge([steady(20, 2, 2.3, 10), steady(1000, 2.3, 6, 10)])
    other = merge([steady(2000, 0, 2.3, 10), steady(1000, 2.3, 6, 10)])
    obs = observation(groups, {"a": [slow_start], "b": [other]})
    assert value(obs, "full_share_ms", "a", window_ms=50) == pytest.approx(320, abs=10)
    quick = {"a": [steady(1000, 2, 6, 10)], "b": [steady(1000, 0, 6, 10)]}
    assert value(observation(groups, quick), "full_share_ms", "a", window_ms=50) == pytest.approx(
        50
    )
    # Service before the pause does not count.
    spans = {"a": [steady(1000, 0, 1, 10), slow_start], "b": [other]}
    later = value(observation(groups, spans), "full_share_ms", "a", window_ms=50)
    assert later == pytest.approx(320, abs=10)
    # The service at the end does not count while it is less than the share.
    starved = {"a": [steady(200, 2, 6, 10)], "b": [steady(1800, 0, 6, 10)]}
    assert value(observation(groups, starved), "full_share_ms", "a", window_ms=50) == math.inf


def test_rates() -> None:
    bursts = merge([steady(100, 0, 5, 1 << 20), steady(300, 2, 2.1, 1 << 20)])
    obs = observation([group("a")], {"a": [bursts]}, settle=0)
    assert value(obs, "rate_max_mibps", "a", window=[0, 5], window_ms=100) == pytest.approx(400)
    assert value(obs, "rate_min_mibps", "a", window=[0, 5], window_ms=100) == pytest.approx(100)
    # A window begins anywhere: here, 100 ms without I/O lie across two adjacent windows.
    gap = merge([steady(100, 0, 2.05, 1 << 20), steady(100, 2.15, 5, 1 << 20)])
    obs = observation([group("a")], {"a": [gap]}, settle=0)
    assert value(obs, "rate_min_mibps", "a", window=[0, 5], window_ms=100) == 0


def samples(rate_a: float, rate_b: float, jump: float = 0) -> tuple[Sample, ...]:
    return tuple(
        Sample(t / 10, {}, {"a": rate_a * t / 10 + (jump if t > 50 else 0), "b": rate_b * t / 10})
        for t in range(101)
    )


def test_at_the_disk() -> None:
    groups = [group("a", 200), group("b")]
    mib = 1 << 20
    obs = observation(groups, {}, samples=samples(2 * mib, mib))
    assert value(obs, "disk_rate_max_mibps", "a", window_ms=1000) == pytest.approx(2)
    assert value(obs, "disk_ratio", "a", "b", window_ms=2000) == pytest.approx(2)
    obs = observation(groups, {}, samples=samples(2 * mib, mib, jump=3 * mib))
    assert value(obs, "disk_rate_max_mibps", "a", window_ms=1000) == pytest.approx(5)
    assert value(obs, "disk_ratio", "a", "b", window_ms=2000) == pytest.approx(3.5)
    assert value(obs, "disk_rate_mean_mibps", "b", window=[1, 4]) == pytest.approx(1)
    idle = tuple(Sample(t / 10, {}, {"a": 0, "b": 0}) for t in range(101))
    with pytest.raises(MeasureError, match="nothing was written"):
        value(observation(groups, {}, samples=idle), "disk_ratio", "a", "b")
    with pytest.raises(MeasureError, match="took no samples"):
        value(two(), "disk_ratio", "a", "b")


def test_device_time() -> None:
    with pytest.raises(MeasureError, match="took no samples"):
        value(two(), "time_ratio", "a", "b")
    # The first two seconds are b's, but both settle only afterwards.
    busy = tuple(
        Sample(
            t / 10,
            {},
            {},
            {"a": max(0, t - 20) * 0.06, "b": min(t, 20) * 0.075 + max(0, t - 20) * 0.03},
        )
        for t in range(101)
    )
    traces = {"a": [steady(100, 1.5, 10)], "b": [steady(100, 0, 10)]}
    obs = observation([group("a"), group("b")], traces, samples=busy)
    assert value(obs, "time_ratio", "a", "b") == pytest.approx(2, rel=0.01)
    assert value(obs, "time_ratio", "a", "b", window=[0, 10]) == pytest.approx(4.8 / 3.9)


def test_gap() -> None:
    obs = observation([group("a")], {"a": [trace([2, 3, 5.5], latency=0.5)]})
    assert value(obs, "longest_gap_ms", "a", window=[2, 6]) == pytest.approx(2500)


def test_durations() -> None:
    runs = [trace([2, 3, 5.5], latency=0.5), trace([11, 12], latency=1)]
    obs = observation([group("a"), group("b")], {"a": runs, "b": [trace([7], latency=1)]})
    assert value(obs, "duration_mean_s", "a") == pytest.approx(3)
    assert value(obs, "duration_worst_s", "a") == pytest.approx(4)
    # Several jobs are one run, from the first submission to the last completion.
    assert value(obs, "duration_worst_s", "*") == pytest.approx(5.5)
    assert math.isnan(value(obs, "duration_mean_s", "none"))


def test_a_chain_that_did_not_end_has_no_duration() -> None:
    job = Job("a", "a", "", ((0, 5), (5, 9)), {"number_ios": 3})
    setting = Setting("", Disk("hdd", {}), PLAIN_POOL, (), (group("a"),), (job,))
    traces = {("a", 0): trace([2, 3, 4]), ("a", 1): trace([6, 7])}
    obs = Observation(setting, 10, 0.5, traces)
    assert value(obs, "duration_mean_s", "a") == math.inf
    assert value(obs, "duration_worst_s", "a") == math.inf
    obs = Observation(setting, 10, 0.5, traces | {("a", 1): trace([6, 7, 9])})
    assert value(obs, "duration_mean_s", "a") == pytest.approx(2.501)
    assert value(obs, "duration_worst_s", "a") == pytest.approx(3.001)


def test_who_waits_in_vain_has_a_latency() -> None:
    """The latency of no I/O is NaN; that of a job without a completion is infinite."""
    obs = observation([group("a"), group("b")], {"a": [steady(100, 0, 10)], "b": [trace([])]})
    for metric in ("latency_mean_ms", "latency_p99_ms", "latency_max_ms"):
        assert value(obs, metric, "b") == math.inf
        assert math.isnan(value(obs, metric, "nobody"))


def test_what_weights_ask_for_is_told_where_weights_decide() -> None:
    obs = two()
    timed = dataclasses.replace(obs.setting, pool=dataclasses.replace(PLAIN_POOL, measure="time"))
    capped = dataclasses.replace(
        obs.setting, groups=tuple(dataclasses.replace(g, max_mibps=1) for g in obs.setting.groups)
    )
    for setting in (timed, capped):  # device time is unknown without samples
        found = summary(dataclasses.replace(obs, setting=setting))
        assert found["jain"] is None and found["groups"]["a"]["asked"] is None
        assert found["groups"]["a"]["share"] == pytest.approx(2 / 3, abs=1e-3)


def test_where_time_is_shared_the_table_is_of_time() -> None:
    groups = [group("a", 200), group("b")]
    busy = tuple(
        Sample(t / 10, {"a": 1e6 * t, "b": 9e6 * t}, {}, {"a": 0.06 * t, "b": 0.03 * t})
        for t in range(101)
    )
    obs = observation(groups, {"a": [steady(10, 0, 10)], "b": [steady(90, 0, 10)]}, samples=busy)
    pool = dataclasses.replace(PLAIN_POOL, measure="time")
    found = summary(dataclasses.replace(obs, setting=dataclasses.replace(obs.setting, pool=pool)))
    assert found["share_of"] == "time" and found["jain"] == pytest.approx(1)
    assert found["groups"]["a"]["share"] == pytest.approx(2 / 3)
    assert found["groups"]["a"]["asked"] == pytest.approx(2 / 3)
    assert found["total_mbps"] == pytest.approx(100)
    assert found["groups"]["a"]["mbps"] == pytest.approx(10)
    found = summary(obs)
    assert found["share_of"] == "bytes" and found["groups"]["a"]["share"] == pytest.approx(0.1)


def test_nothing_completed() -> None:
    obs = observation([group("a")], {"a": [trace([])]})
    with pytest.raises(MeasureError, match="no I/O"):
        value(obs, "bandwidth_mbps")


def test_reading_what_fio_leaves(tmp_path: Path) -> None:
    origin = 1_700_000_000_000
    logs = {
        "a.0_lat.1": f"{origin + 1500}, 2000000, 0, 4096, 0, 0x0\n",
        "a.0_lat.2": f"{origin + 1200}, 1000000, 1, 8192, 0, 0x0\n",
        "a.1_lat.3": "",
        "b.0_lat.1": f"{origin + 100}, 500000, 0, 512\n",
    }
    for name, text in logs.items():
        (tmp_path / f"{name}.log.gz").write_bytes(gzip.compress(text.encode()))
    result = {"origin_ms": origin, "samples": [], "notes": ["so it is"], "disk": {"a": [1.5, 0, 0]}}
    (tmp_path / "result.json").write_text(json.dumps(result))
    jobs = (Job("a", "a", "", ((0, 1), (2, 3)), {}), Job("b", "b", "", ((0, 1),), {}))
    setting = Setting("", Disk("hdd", {}), PLAIN_POOL, (), (group("a"), group("b")), jobs)
    obs = observe(tmp_path, setting, 10, 0.5)
    both = obs.trace("a")
    assert list(both.at_s) == pytest.approx([1.2, 1.5]) and list(both.write) == [1, 0]
    assert list(both.bytes) == [8192, 4096] and list(both.stream) == [2, 1]
    assert both.latency_s[1] == pytest.approx(0.002)
    assert not obs.traces["a", 1].at_s.size and obs.notes == ("so it is",)


def test_summary() -> None:
    found = summary(two())
    assert found["groups"]["a"]["share"] == pytest.approx(2 / 3, abs=1e-3)
    assert found["groups"]["a"]["asked"] == pytest.approx(2 / 3, abs=1e-3)
    assert found["total_mbps"] == pytest.approx(0.3, rel=0.01)
    assert json.loads(json.dumps(found)) == found
    # The page cache absorbs writes that the disk has not seen.
    at_disk = observation(
        [group("a"), group("b")],
        {"a": [steady(200, 0, 10)], "b": [steady(100, 0, 10)]},
        samples=samples(1e6, 3e6),
    )
    found = summary(at_disk)
    assert found["groups"]["a"]["share"] == pytest.approx(0.25)
    assert found["total_mbps"] == pytest.approx(4)
    # b is idle for half of the time; a has everything then, as its weight asks for.
    groups = [group("a", 300), group("b")]
    paused = {"a": [steady(75, 0, 5), steady(100, 5, 10)], "b": [steady(25, 0, 5)]}
    found = summary(observation(groups, paused, settle=0))
    assert found["window_s"] == [0, 10] and found["jain"] == pytest.approx(1, abs=1e-3)
    assert found["groups"]["a"]["asked"] == pytest.approx(0.875, abs=0.01)
