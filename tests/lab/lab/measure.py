# SPDX-License-Identifier: GPL-2.0-only
"""The figures that goals name, from the traces of an experiment.

An I/O belongs to the window in which it completed.  Groups are compared over
windows in which all of them are active.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from .scenario import Setting
from .traces import LOG_STEP_S, MeasureError, Moved, Numbers, Observation, Sample, Trace, merge

MIB = 1 << 20
STEPS = 20  # starts of windows within the width of one
FULL_SHARE = 0.9  # from this part on, a group has its share again


def jain(values: Iterable[float]) -> float:
    """Jain's index: 1 when all are equal, 1/n when one has everything."""
    each = np.array(list(values), dtype=np.float64)
    squares = float((each**2).sum())
    return float(each.sum()) ** 2 / (each.size * squares) if squares else math.nan


def percentile(values: Numbers, percent: float) -> float:
    """The least value that this part of the values does not exceed; NaN without values."""
    if not values.size:
        return math.nan
    rank = max(math.ceil(percent / 100 * values.size), 1)
    return float(np.partition(values, rank - 1)[rank - 1])


def shares(setting: Setting, active: Iterable[str]) -> dict[str, float]:
    """The part of the whole that the tree of weights gives each active group."""
    weights = {group.path: group.weight for group in setting.groups}
    paths = {name: setting.group(name).path for name in active}
    alive = {
        "/".join(p.split("/")[: i + 1]) for p in paths.values() for i in range(p.count("/") + 1)
    }

    def level(path: str) -> float:
        parent = path.rpartition("/")[0]
        siblings = [p for p in alive if p and p.rpartition("/")[0] == parent]
        return weights.get(path, 100) / sum(weights.get(p, 100) for p in siblings)

    found = {}
    for name, path in paths.items():
        parts = path.split("/")
        ancestors = ["/".join(parts[: i + 1]) for i in range(1, len(parts))]
        found[name] = math.prod(level(ancestor) for ancestor in ancestors)
    return found


def _moved(obs: Observation, names: Iterable[str], start: float, end: float) -> dict[str, float]:
    return {name: float(obs.trace(name).between(start, end).bytes.sum()) for name in names}


def _worst_error(asked: dict[str, float], moved: dict[str, float], largest: float) -> float:
    """The largest deviation of a group from its share, in percent.

    A deviation of at most one largest I/O counts as 0, a larger one counts in full.
    """
    total = sum(moved.values())
    worst = 0.0
    for name, share in asked.items():
        off = abs(moved[name] - share * total)
        if off > largest:
            worst = max(worst, 100 * off / (share * total))
    return worst


def _selected(obs: Observation, of: tuple[str, ...], options: dict[str, Any]) -> Trace:
    trace = obs.trace(*of).between(*obs.window(options))
    if "io" in options:
        trace = trace.where(trace.write == (options["io"] == "write"))
    return trace


def bandwidth_mbps(obs: Observation, of: tuple[str, ...], options: dict[str, Any]) -> float:
    """Megabytes (1e6) per second."""
    start, end = obs.window(options)
    return float(_selected(obs, of, options).bytes.sum()) / (end - start) / 1e6


def iops(obs: Observation, of: tuple[str, ...], options: dict[str, Any]) -> float:
    """I/Os per second."""
    start, end = obs.window(options)
    return _selected(obs, of, options).at_s.size / (end - start)


def latency_mean_ms(obs: Observation, of: tuple[str, ...], options: dict[str, Any]) -> float:
    """Mean latency of the I/Os, as fio sees it."""
    latencies = _selected(obs, of, options).latency_s
    return float(latencies.mean()) * 1e3 if latencies.size else _of_nothing(obs, of)


def _of_nothing(obs: Observation, of: tuple[str, ...]) -> float:
    """A latency without completed I/O: infinite if there are jobs, NaN otherwise."""
    return math.inf if obs.jobs(of) else math.nan


def _percentile_ms(
    obs: Observation, of: tuple[str, ...], options: dict[str, Any], percent: float
) -> float:
    latencies = _selected(obs, of, options).latency_s
    return percentile(latencies, percent) * 1e3 if latencies.size else _of_nothing(obs, of)


def latency_p99_ms(obs: Observation, of: tuple[str, ...], options: dict[str, Any]) -> float:
    """The latency that 99 % of the I/Os do not exceed."""
    return _percentile_ms(obs, of, options, 99)


def latency_max_ms(obs: Observation, of: tuple[str, ...], options: dict[str, Any]) -> float:
    """The largest latency."""
    return _percentile_ms(obs, of, options, 100)


def ratio(obs: Observation, of: tuple[str, ...], options: dict[str, Any]) -> float:
    """Bytes of the first divided by bytes of the second."""
    one, two = (float(_selected(obs, (name,), options).bytes.sum()) for name in of)
    return one / two if two else math.inf


def time_ratio(obs: Observation, of: tuple[str, ...], options: dict[str, Any]) -> float:
    """Device time of the first divided by that of the second, as counted by the modelled disk."""
    if not obs.samples:
        raise MeasureError("the run took no samples at the disk (sample_ms)")
    one, two = (_busy_by_group(obs, *obs.window(options))[name] for name in of)
    return one / two if two else math.inf


def _asked(obs: Observation, start: float, end: float) -> dict[str, float]:
    """The shares of the groups that are active all the time; an error for less than two."""
    asked = shares(obs.setting, obs.active(start, end))
    if len(asked) < 2:
        raise MeasureError(f"no two groups compete all the time from {start:g} to {end:g} s")
    return asked


def share_error_pct(obs: Observation, of: tuple[str, ...], options: dict[str, Any]) -> float:
    """The largest deviation of a group from its share over the window, if above one I/O."""
    start, end = obs.window(options)
    asked = _asked(obs, start, end)
    moved = _moved(obs, asked, start, end)
    return _worst_error(asked, moved, float(obs.trace().bytes.max()))


def sliding(start: float, end: float, width: float) -> Numbers:
    """Starts of windows of a width, close enough to stand for every window from start to end.

    The last window ends with the end; the result is empty if no window fits.
    """
    room = end - start - width
    if room < 0:
        return np.zeros(0)
    return start + np.linspace(0, room, math.ceil(room / (width / STEPS)) + 1)


def _steady(obs: Observation) -> Iterator[tuple[float, float]]:
    """The intervals in which no group starts or stops.

    After its last submission, a group is served until its last completion, but with ever fewer
    waiting I/Os.  So the last submission is an end as well.
    """
    spans = [span for group in obs.setting.groups for span in obs.spans(group.name)]
    edges = {edge for span in spans for edge in span}
    edges |= {trace.span[1] for trace in obs.traces.values() if trace.at_s.size}
    return itertools.pairwise(sorted(edges))


def interval_error_pct(obs: Observation, of: tuple[str, ...], options: dict[str, Any]) -> float:
    """The same in the worst window of window_ms in which no group starts or stops.

    Only windows that begin at from_s or later count.
    """
    width = options.get("window_ms", 200) / 1e3
    first = options.get("from_s", 0)
    series = {group.name: Moved(obs.trace(group.name)) for group in obs.setting.groups}
    largest = float(obs.trace().bytes.max())
    worst = math.nan
    for start, end in _steady(obs):
        asked = shares(obs.setting, obs.active(start, end))
        for moment in sliding(max(start, first), end, width) if len(asked) > 1 else ():
            moved = {name: series[name].between(moment, moment + width) for name in asked}
            worst = np.fmax(worst, _worst_error(asked, moved, largest))
    return float(worst)


def jain_index(obs: Observation, of: tuple[str, ...], options: dict[str, Any]) -> float:
    """Jain's index of the service of groups divided by their shares."""
    start, end = obs.window(options)
    asked = _asked(obs, start, end)
    moved = _moved(obs, asked, start, end)
    return jain(moved[name] / share for name, share in asked.items())


def first_latency_ms(obs: Observation, of: tuple[str, ...], options: dict[str, Any]) -> float:
    """The latency of the first I/O of each span that begins later; the largest of them.

    fio's log does not tell the order of submissions within a millisecond; the first completion
    among them counts.
    """
    firsts = []
    for trace in _woken(obs, of):
        submitted = trace.at_s - trace.latency_s
        first = trace.latency_s[submitted <= submitted.min() + LOG_STEP_S]
        firsts.append(float(first.min()) * 1e3)
    return max(firsts, default=math.nan)


def _woken(obs: Observation, of: tuple[str, ...]) -> list[Trace]:
    """The traces of spans that do not begin with the run, but while others have the disk."""
    return [
        trace
        for job in obs.jobs(of)
        for index, (start, _) in enumerate(job.active)
        if start > 0 and (trace := obs.traces[job.name, index]).at_s.size
    ]


def full_share_ms(obs: Observation, of: tuple[str, ...], options: dict[str, Any]) -> float:
    """Time from the first submission until a group has had its share for window_ms.

    That is the end of the first window with its share, with a tolerance of one largest I/O; the
    worst of the spans that begin later.
    """
    width = options.get("window_ms", 100) / 1e3
    return max((_until_full(obs, of[0], one, width) for one in _woken(obs, of)), default=math.nan)


def _until_full(obs: Observation, name: str, trace: Trace, width: float) -> float:
    """The same for one span."""
    own, whole = Moved(trace), Moved(obs.trace())
    start, end = trace.span
    middle = (start + end) / 2
    asked = shares(obs.setting, obs.active(middle, middle))[name]
    largest = float(obs.trace().bytes.max())
    for moment in sliding(start, end, width):
        wanted = FULL_SHARE * asked * whole.between(moment, moment + width)
        if own.between(moment, moment + width) + largest >= wanted > 0:
            return float(moment + width - start) * 1e3
    return math.inf


def _rates(obs: Observation, of: tuple[str, ...], options: dict[str, Any]) -> list[float]:
    """MiB/s in every window of window_ms."""
    width = options.get("window_ms", 100) / 1e3
    own = Moved(obs.trace(*of))
    moments = sliding(*obs.window(options), width)
    if not moments.size:
        raise MeasureError(f"the run is shorter than {width:g} s")
    return [own.between(moment, moment + width) / width / MIB for moment in moments]


def rate_min_mibps(obs: Observation, of: tuple[str, ...], options: dict[str, Any]) -> float:
    """The least rate in any window of window_ms, in MiB/s."""
    return min(_rates(obs, of, options))


def rate_max_mibps(obs: Observation, of: tuple[str, ...], options: dict[str, Any]) -> float:
    """The largest rate in any window of window_ms, in MiB/s."""
    return max(_rates(obs, of, options))


class Written:
    """The bytes that groups had written at the disk at any moment, from the samples."""

    def __init__(self, obs: Observation, names: Iterable[str]):
        self.moments = np.array([sample.at_s for sample in obs.samples])
        if self.moments.size < 2:
            raise MeasureError("the run took no samples at the disk (sample_ms)")
        wanted = tuple(names)
        self._sums = [sum(s.written.get(name, 0.0) for name in wanted) for s in obs.samples]

    def between(self, start: Numbers, width: float) -> Numbers:
        """Bytes in windows of a width."""
        edges = (np.interp(edge, self.moments, self._sums) for edge in (start, start + width))
        return -np.subtract(*edges)


def disk_rate_max_mibps(obs: Observation, of: tuple[str, ...], options: dict[str, Any]) -> float:
    """The largest rate of a group's writes at the disk in window_ms, in MiB/s."""
    width = options.get("window_ms", 1000) / 1e3
    written = Written(obs, of)
    return float(written.between(written.moments, width).max()) / width / MIB


def disk_rate_mean_mibps(obs: Observation, of: tuple[str, ...], options: dict[str, Any]) -> float:
    """The mean rate of a group's writes at the disk in the window, in MiB/s."""
    start, end = obs.window(options)
    return float(Written(obs, of).between(np.array([start]), end - start)[0]) / (end - start) / MIB


def disk_ratio(obs: Observation, of: tuple[str, ...], options: dict[str, Any]) -> float:
    """The ratio of two groups' writes at the disk, in the worst window of window_ms."""
    width = options.get("window_ms", 2000) / 1e3
    one, two = (Written(obs, (name,)) for name in of)
    moments = sliding(options.get("from_s", obs.settle), float(one.moments[-1]), width)
    wanted = obs.setting.group(of[0]).weight / obs.setting.group(of[1]).weight
    pairs = zip(one.between(moments, width), two.between(moments, width), strict=True)
    found = [float(a / b) if b else math.inf for a, b in pairs if a or b]
    if not found:
        raise MeasureError(f"nothing was written at the disk by {' and '.join(of)}")
    return max(found, key=lambda value: abs(math.log(value / wanted)) if value else math.inf)


def _durations_s(obs: Observation, of: tuple[str, ...]) -> list[float]:
    """The durations of the jobs' runs, from the first submission to the last completion.

    Infinite if I/Os are missing.
    """
    jobs = obs.jobs(of)
    found = []
    for index in range(max((len(job.active) for job in jobs), default=0)):
        running = [job for job in jobs if index < len(job.active)]
        trace = merge(obs.traces[job.name, index] for job in running)
        asked = sum(int(job.fio.get("number_ios", 0)) for job in running)
        whole = trace.at_s.size >= max(asked, 1)
        found.append(float(trace.at_s.max()) - trace.span[0] if whole else math.inf)
    return found


def duration_mean_s(obs: Observation, of: tuple[str, ...], options: dict[str, Any]) -> float:
    """The mean duration of the jobs' runs."""
    durations = _durations_s(obs, of)
    return sum(durations) / len(durations) if durations else math.nan


def duration_worst_s(obs: Observation, of: tuple[str, ...], options: dict[str, Any]) -> float:
    """The longest duration of the jobs' runs."""
    return max(_durations_s(obs, of), default=math.nan)


def longest_gap_ms(obs: Observation, of: tuple[str, ...], options: dict[str, Any]) -> float:
    """The longest time without a completion, within the window."""
    start, end = obs.window(options)
    moments = np.concatenate(([start], obs.trace(*of).between(start, end).at_s, [end]))
    return float(np.diff(moments).max()) * 1e3


class Metric(NamedTuple):
    """A figure that goals can name."""

    value: Callable[[Observation, tuple[str, ...], dict[str, Any]], float]
    options: tuple[str, ...]


METRICS = {
    function.__name__: Metric(function, options)
    for options, functions in (
        (
            ("window", "io"),
            (bandwidth_mbps, iops, latency_mean_ms, latency_p99_ms, latency_max_ms, ratio),
        ),
        (
            ("window",),
            (share_error_pct, jain_index, longest_gap_ms, disk_rate_mean_mibps, time_ratio),
        ),
        (("window", "window_ms"), (rate_min_mibps, rate_max_mibps)),
        (("window_ms",), (full_share_ms, disk_rate_max_mibps)),
        (("window_ms", "from_s"), (interval_error_pct, disk_ratio)),
        ((), (first_latency_ms, duration_mean_s, duration_worst_s)),
    )
    for function in functions
}
METRIC_OPTIONS = {name: metric.options for name, metric in METRICS.items()}


def figures(trace: Trace, seconds: float) -> dict[str, float]:
    """The figures of the tables, for I/Os that completed within some seconds."""
    latencies = trace.latency_s
    found = {
        "mbps": float(trace.bytes.sum()) / seconds / 1e6,
        "iops": trace.at_s.size / seconds,
        "mean_ms": float(latencies.mean()) * 1e3 if latencies.size else math.nan,
        "p99_ms": percentile(latencies, 99) * 1e3,
        "max_ms": percentile(latencies, 100) * 1e3,
    }
    return {key: round(value, 6) for key, value in found.items()}


def _names(obs: Observation) -> list[str]:
    return [group.name for group in obs.setting.groups if obs.setting.members(group.name)]


def _sampled(
    obs: Observation, count: Callable[[Sample, str], float], start: float, end: float
) -> dict[str, float]:
    """The increase of a counter of each group at the disk in a window."""
    moments = [sample.at_s for sample in obs.samples]
    found = {}
    for name in _names(obs):
        counts = [count(sample, name) for sample in obs.samples]
        first, last = np.interp([start, end], moments, counts)
        found[name] = float(last - first)
    return found


def _bytes_by_group(obs: Observation, start: float, end: float) -> dict[str, float]:
    """The bytes of each group in a window: at the disk if sampled, else as fio sees it."""
    if not obs.samples:
        return _moved(obs, _names(obs), start, end)
    return _sampled(obs, lambda s, name: s.read.get(name, 0) + s.written.get(name, 0), start, end)


def _busy_by_group(obs: Observation, start: float, end: float) -> dict[str, float]:
    """Device time of each group in a window, in seconds."""
    return _sampled(obs, lambda s, name: s.busy_s.get(name, 0), start, end)


def _shared_by_group(obs: Observation, start: float, end: float) -> dict[str, float]:
    """The shared quantity in a window: bytes or seconds of device time; empty if unknown."""
    if obs.setting.pool.measure == "bytes":
        return _bytes_by_group(obs, start, end)
    if obs.setting.pool.measure != "time" or not obs.samples:
        return {}
    return _busy_by_group(obs, start, end)


def _due(obs: Observation, start: float, end: float) -> dict[str, float]:
    """The part by weight of each group in all service while it was active.

    Empty if a minimum or a maximum decides as well.
    """
    if any(group.min_mibps or group.max_mibps for group in obs.setting.groups):
        return {}
    edges = {
        edge for group in obs.setting.groups for span in obs.spans(group.name) for edge in span
    }
    cuts = sorted({start, end} | {edge for edge in edges if start < edge < end})
    found: dict[str, float] = {}
    for one, next_ in itertools.pairwise(cuts):
        total = sum(_shared_by_group(obs, one, next_).values())
        for name, share in shares(obs.setting, obs.active(one, next_)).items():
            found[name] = found.get(name, 0.0) + share * total
    return found


def summary(obs: Observation) -> dict[str, Any]:
    """One experiment as in the tables and in the machine-readable results."""
    start, end = obs.window({})
    moved = _bytes_by_group(obs, start, end)
    parts = _shared_by_group(obs, start, end)
    due = _due(obs, start, end) if parts else {}
    of = obs.setting.pool.measure if parts else "bytes"
    parts = parts or moved
    total = sum(parts.values())
    groups = {}
    for name, count in moved.items():
        trace = obs.trace(name).between(start, end)
        groups[name] = figures(trace, end - start) | {
            "mbps": round(count / (end - start) / 1e6, 6),
            "share": round(parts[name] / total, 6) if total else 0.0,
            "asked": round(due[name] / total, 6) if name in due and total else None,
        }
        streams = np.unique(trace.stream)
        if streams.size > 1:
            each = [float(trace.bytes[trace.stream == n].sum()) for n in streams]
            groups[name]["stream_min_mbps"] = round(min(each) / (end - start) / 1e6, 6)
            groups[name]["stream_max_mbps"] = round(max(each) / (end - start) / 1e6, 6)
    index = jain(parts[name] / count for name, count in due.items() if count)
    return {
        "window_s": [round(start, 3), round(end, 3)],
        "at_disk": bool(obs.samples),
        "share_of": of,
        "total_mbps": round(sum(moved.values()) / (end - start) / 1e6, 6),
        "jain": round(index, 6) if len(due) > 1 and total else None,
        "groups": groups,
        "notes": list(obs.notes),
    }
