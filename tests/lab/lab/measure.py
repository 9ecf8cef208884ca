# SPDX-License-Identifier: GPL-2.0-only
"""What an experiment shows: traces of every I/O, and the figures that goals name.

Times are seconds from the start of the experiment.  An I/O belongs to the window
in which it completed.  Groups are compared over windows in which all of them
have something to do; when that is, the traces tell (from a job's first
submission to its last completion), so nothing depends on when fio was ready.
"""

import gzip
import itertools
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .scenario import Job, Setting

Numbers = npt.NDArray[np.float64]
MIB = 1 << 20
LOG_STEP_S = 1e-3  # fio's logs say when in milliseconds
FULL_SHARE = 0.9  # a group has its share again when it gets this part of it


class MeasureError(ValueError):
    """The traces do not hold what was asked for; the text says what is missing."""


class Trace(NamedTuple):
    """I/Os in the order of completion; stream tells the fio threads of a job apart."""

    at_s: Numbers
    latency_s: Numbers
    bytes: Numbers
    write: Numbers
    stream: Numbers

    def where(self, mask: npt.NDArray[np.bool_]) -> "Trace":
        """The I/Os of a mask."""
        return Trace(*(column[mask] for column in self))

    def between(self, start: float, end: float) -> "Trace":
        """The I/Os that completed from start to before end."""
        return self.where((self.at_s >= start) & (self.at_s < end))

    @property
    def span(self) -> tuple[float, float]:
        """From the first submission to the last one."""
        submitted = self.at_s - self.latency_s
        return float(submitted.min()), float(submitted.max())


EMPTY = Trace(*(np.zeros(0) for _ in Trace._fields))


def merge(traces: Iterable[Trace]) -> Trace:
    """Several traces as one, in the order of completion."""
    parts = list(traces)
    if not parts:
        return EMPTY
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    order = np.argsort(columns[0], kind="stable")
    return Trace(*(column[order] for column in columns))


@dataclass(frozen=True)
class Sample:
    """The bytes that groups had moved at the disk at a moment."""

    at_s: float
    read: dict[str, float]
    written: dict[str, float]


@dataclass(frozen=True)
class Observation:
    """One experiment that has been run; traces are by job and number of its span."""

    setting: Setting
    seconds: float
    settle: float
    traces: dict[tuple[str, int], Trace]
    samples: tuple[Sample, ...] = ()
    notes: tuple[str, ...] = ()
    device_s: dict[str, float] | None = None

    def jobs(self, subjects: Iterable[str]) -> list[Job]:
        """The jobs that groups' and jobs' names stand for, each once."""
        wanted = [job for subject in subjects for job in self.setting.members(subject)]
        return [job for job in self.setting.jobs if job in wanted]

    def trace(self, *subjects: str) -> Trace:
        """All I/Os of groups and jobs."""
        names = {job.name for job in self.jobs(subjects or ("*",))}
        return merge(trace for (name, _), trace in self.traces.items() if name in names)

    def spans(self, group: str) -> list[tuple[float, float]]:
        """When a group has something to do: from first submission to last completion, joined."""
        names = {job.name for job in self.setting.members(group)}
        found = sorted(
            (trace.span[0], float(trace.at_s.max()))
            for (name, _), trace in self.traces.items()
            if name in names and trace.at_s.size
        )
        joined: list[tuple[float, float]] = []
        for start, end in found:
            if joined and start <= joined[-1][1]:
                joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
            else:
                joined.append((start, end))
        return joined

    def active(self, start: float, end: float) -> list[str]:
        """The groups that have something to do from start to end, without a break."""
        return [
            group.name
            for group in self.setting.groups
            if any(a <= start and end <= b for a, b in self.spans(group.name))
        ]

    def window(self, options: dict[str, Any]) -> tuple[float, float]:
        """The window asked for, else the one in which every job runs, settled."""
        if "window" in options:
            start, end = options["window"]
            return float(start), float(end)
        some = [trace for trace in self.traces.values() if trace.at_s.size]
        spans = [(trace.span[0], float(trace.at_s.max())) for trace in some]
        if not spans:
            raise MeasureError("no I/O completed")
        start = max(start for start, _ in spans) + self.settle
        end = min(self.seconds, min(end for _, end in spans))
        if end <= start:  # the jobs take turns
            return self.settle, self.seconds
        return start, end


def read_log(path: Path, origin_ms: float, stream: int) -> Trace:
    """One of fio's latency logs: lines of "ms since 1970, ns, direction, bytes, ..."."""
    text = gzip.decompress(path.read_bytes()).decode()
    if not text:
        return EMPTY
    width = text.partition("\n")[0].count(",") + 1
    flat = np.array(text.replace(",", " ").replace("0x", " ").split(), dtype=np.float64)
    table = flat.reshape(-1, width)
    return Trace(
        (table[:, 0] - origin_ms) / 1e3,
        table[:, 1] / 1e9,
        table[:, 3],
        (table[:, 2] == 1).astype(np.float64),
        np.full(len(table), float(stream)),
    )


def _log_number(path: Path) -> int:
    match = re.search(r"_lat\.(\d+)\.log\.gz$", path.name)
    return int(match[1]) if match else 0


def observe(directory: Path, setting: Setting, seconds: float, settle: float) -> Observation:
    """Read what an experiment left in its directory."""
    result = json.loads((directory / "result.json").read_text())
    traces = {}
    for job in setting.jobs:
        for index in range(len(job.active)):
            logs = sorted(directory.glob(f"{job.name}.{index}_lat.*.log.gz"), key=_log_number)
            traces[job.name, index] = merge(
                read_log(log, result["origin_ms"], _log_number(log)) for log in logs
            )
    samples = tuple(
        Sample(
            entry["at_s"],
            {name: moved[1] for name, moved in entry["disk"].items()},
            {name: moved[2] for name, moved in entry["disk"].items()},
        )
        for entry in result["samples"]
    )
    device_s = {name: moved[0] for name, moved in result["disk"].items()}
    notes = tuple(result["notes"])
    return Observation(setting, seconds, settle, traces, samples, notes, device_s)


def jain(values: Iterable[float]) -> float:
    """Jain's index: 1 when all are equal, 1/n when one has everything."""
    each = np.array(list(values), dtype=np.float64)
    squares = float((each**2).sum())
    return float(each.sum()) ** 2 / (each.size * squares) if squares else math.nan


def percentile(values: Numbers, percent: float) -> float:
    """The least value that this part of the values does not exceed; NaN of nothing."""
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


def _worst_error(obs: Observation, start: float, end: float) -> float:
    """How far the worst group is from its share, in percent, one largest I/O forgiven."""
    asked = shares(obs.setting, obs.active(start, end))
    if len(asked) < 2:
        return 0.0
    moved = _moved(obs, asked, start, end)
    total = sum(moved.values())
    largest = float(obs.trace().bytes.max())
    worst = 0.0
    for name, share in asked.items():
        wanted = share * total
        excess = max(0.0, abs(moved[name] - wanted) - largest)
        worst = max(worst, 100 * excess / wanted if wanted else 0.0)
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
    return float(latencies.mean()) * 1e3 if latencies.size else math.nan


def latency_p99_ms(obs: Observation, of: tuple[str, ...], options: dict[str, Any]) -> float:
    """The latency that 99 % of the I/Os do not exceed."""
    return percentile(_selected(obs, of, options).latency_s, 99) * 1e3


def latency_max_ms(obs: Observation, of: tuple[str, ...], options: dict[str, Any]) -> float:
    """The largest latency."""
    return percentile(_selected(obs, of, options).latency_s, 100) * 1e3


def ratio(obs: Observation, of: tuple[str, ...], options: dict[str, Any]) -> float:
    """Bytes of the first by bytes of the second."""
    one, two = (float(_selected(obs, (name,), options).bytes.sum()) for name in of)
    return one / two if two else math.inf


def time_ratio(obs: Observation, of: tuple[str, ...], options: dict[str, Any]) -> float:
    """The disk's time for the first by that for the second, as the modelled disk counts it."""
    if obs.device_s is None:
        raise MeasureError("the disk did not count its time by group")
    one, two = (obs.device_s[name] for name in of)
    return one / two if two else math.inf


def share_error_pct(obs: Observation, of: tuple[str, ...], options: dict[str, Any]) -> float:
    """How far the worst group is from its share over the window, one largest I/O forgiven."""
    return _worst_error(obs, *obs.window(options))


def _intervals(obs: Observation, width_s: float) -> Iterator[tuple[float, float]]:
    """Windows of one width in which no group comes or goes.

    A group that has submitted its last I/O is served until that completes, but with ever
    less waiting: a window does not begin on one side of that moment and end on the other.
    """
    spans = [span for group in obs.setting.groups for span in obs.spans(group.name)]
    edges = {edge for span in spans for edge in span}
    edges |= {trace.span[1] for trace in obs.traces.values() if trace.at_s.size}
    moments = sorted(edges)
    for start, end in itertools.pairwise(moments):
        while start + width_s <= end:
            yield start, start + width_s
            start += width_s


def interval_error_pct(obs: Observation, of: tuple[str, ...], options: dict[str, Any]) -> float:
    """The same in the worst of all intervals of window_ms while the same groups compete."""
    width = options.get("window_ms", 200) / 1e3
    return max((_worst_error(obs, *span) for span in _intervals(obs, width)), default=math.nan)


def jain_index(obs: Observation, of: tuple[str, ...], options: dict[str, Any]) -> float:
    """Jain's index of what the groups moved by what they should have."""
    start, end = obs.window(options)
    asked = shares(obs.setting, obs.active(start, end))
    moved = _moved(obs, asked, start, end)
    return jain(moved[name] / share for name, share in asked.items())


def first_latency_ms(obs: Observation, of: tuple[str, ...], options: dict[str, Any]) -> float:
    """The latency of the first I/O after each pause; the largest of them.

    Which of those submitted within a millisecond was the first, fio's log does not
    tell; the one that completed first stands for it.
    """
    firsts = []
    for job in obs.jobs(of):
        for index in range(len(job.active)):
            trace = obs.traces[job.name, index]
            if trace.at_s.size:
                submitted = trace.at_s - trace.latency_s
                first = trace.latency_s[submitted <= submitted.min() + LOG_STEP_S]
                firsts.append(float(first.min()) * 1e3)
    return max(firsts, default=math.nan)


def full_share_ms(obs: Observation, of: tuple[str, ...], options: dict[str, Any]) -> float:
    """How long after its first submission a group has its share of window_ms for the first time.

    One largest I/O is forgiven.
    """
    width = options.get("window_ms", 100) / 1e3
    trace, whole = obs.trace(*of), obs.trace()
    if not trace.at_s.size:
        return math.nan
    start, end = trace.span
    middle = (start + end) / 2
    asked = shares(obs.setting, obs.active(middle, middle))[of[0]]
    largest = float(trace.bytes.max())

    def moved(one: Trace, sums: Numbers, moment: float) -> float:
        low, high = np.searchsorted(one.at_s, [moment, moment + width])
        return float(sums[high] - sums[low])

    own, all_ = (np.concatenate(([0.0], np.cumsum(one.bytes))) for one in (trace, whole))
    for moment in np.arange(start, end - width, width / 20):
        wanted = FULL_SHARE * asked * moved(whole, all_, moment)
        if moved(trace, own, moment) + largest >= wanted > 0:
            return float(moment - start) * 1e3
    return math.inf


def _rates(obs: Observation, of: tuple[str, ...], options: dict[str, Any]) -> Numbers:
    """Bytes in each window of window_ms."""
    width = options.get("window_ms", 100) / 1e3
    start, end = obs.window(options)
    count = max(int((end - start) / width), 1)
    edges = start + width * np.arange(count + 1)
    trace = obs.trace(*of)
    return np.histogram(trace.at_s, edges, weights=trace.bytes)[0]


def rate_min_mibps(obs: Observation, of: tuple[str, ...], options: dict[str, Any]) -> float:
    """The least rate in any window of window_ms, in MiB/s, one largest I/O forgiven."""
    width = options.get("window_ms", 100) / 1e3
    largest = float(obs.trace(*of).bytes.max(initial=0))
    return (float(_rates(obs, of, options).min()) + largest) / width / MIB


def rate_max_mibps(obs: Observation, of: tuple[str, ...], options: dict[str, Any]) -> float:
    """The largest rate in any window of window_ms, in MiB/s, one largest I/O forgiven."""
    width = options.get("window_ms", 100) / 1e3
    largest = float(obs.trace(*of).bytes.max(initial=0))
    return (float(_rates(obs, of, options).max()) - largest) / width / MIB


def _disk_series(obs: Observation, group: str, width_s: float, start: float) -> list[float]:
    """Bytes a group wrote at the disk in each window of a width, by the samples."""
    moments = [sample.at_s for sample in obs.samples]
    if len(moments) < 2:
        raise MeasureError("the run took no samples at the disk (sample_ms)")
    written = [sample.written.get(group, 0.0) for sample in obs.samples]
    count = int((moments[-1] - start) / width_s + 1e-6)
    edges = [start + width_s * index for index in range(count + 1)]
    values = np.interp(edges, moments, written)
    return [float(value) for value in np.diff(values)]


def disk_rate_max_mibps(obs: Observation, of: tuple[str, ...], options: dict[str, Any]) -> float:
    """The most of a group's data that reached the disk in window_ms at any time, in MiB/s."""
    width = options.get("window_ms", 1000) / 1e3
    moments = [sample.at_s for sample in obs.samples]
    written = [sum(sample.written.get(name, 0.0) for name in of) for sample in obs.samples]
    if len(moments) < 2:
        raise MeasureError("the run took no samples at the disk (sample_ms)")
    later = np.interp(np.array(moments) + width, moments, written)
    return float((later - np.array(written)).max()) / width / MIB


def disk_ratio(obs: Observation, of: tuple[str, ...], options: dict[str, Any]) -> float:
    """The ratio of two groups' writes at the disk, in the window of window_ms where it is worst."""
    width = options.get("window_ms", 2000) / 1e3
    start = options.get("from_s", obs.settle)
    one, two = (_disk_series(obs, name, width, start) for name in of)
    wanted = obs.setting.group(of[0]).weight / obs.setting.group(of[1]).weight
    found = [a / b if b else math.inf for a, b in zip(one, two, strict=True)]
    return max(found, key=lambda value: abs(math.log(value / wanted)) if value else math.inf)


def _durations_s(obs: Observation, of: tuple[str, ...]) -> list[float]:
    """Each run of the jobs, from the first submission to the last completion.

    Never, when some I/Os are missing.
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
    """How long the jobs take, on the average of the times that they are run."""
    durations = _durations_s(obs, of)
    return sum(durations) / len(durations) if durations else math.nan


def duration_worst_s(obs: Observation, of: tuple[str, ...], options: dict[str, Any]) -> float:
    """The longest that the jobs take."""
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
        (("window",), (share_error_pct, jain_index, longest_gap_ms)),
        (("window", "window_ms"), (rate_min_mibps, rate_max_mibps)),
        (("window_ms",), (interval_error_pct, full_share_ms, disk_rate_max_mibps)),
        (("window_ms", "from_s"), (disk_ratio,)),
        ((), (first_latency_ms, duration_mean_s, duration_worst_s, time_ratio)),
    )
    for function in functions
}
METRIC_OPTIONS = {name: metric.options for name, metric in METRICS.items()}


def figures(trace: Trace, seconds: float) -> dict[str, float]:
    """What the tables print of I/Os that completed within some seconds."""
    latencies = trace.latency_s
    found = {
        "mbps": float(trace.bytes.sum()) / seconds / 1e6,
        "iops": trace.at_s.size / seconds,
        "mean_ms": float(latencies.mean()) * 1e3 if latencies.size else math.nan,
        "p99_ms": percentile(latencies, 99) * 1e3,
        "max_ms": percentile(latencies, 100) * 1e3,
    }
    return {key: round(value, 6) for key, value in found.items()}


def _bytes_by_group(obs: Observation, start: float, end: float) -> dict[str, float]:
    """What each group moved in a window: at the disk if that was sampled, else as fio sees it."""
    names = [group.name for group in obs.setting.groups if obs.setting.members(group.name)]
    if not obs.samples:
        return _moved(obs, names, start, end)
    moments = [sample.at_s for sample in obs.samples]
    found = {}
    for name in names:
        counts = [s.read.get(name, 0.0) + s.written.get(name, 0.0) for s in obs.samples]
        first, last = np.interp([start, end], moments, counts)
        found[name] = float(last - first)
    return found


def summary(obs: Observation) -> dict[str, Any]:
    """One experiment as the tables and the machine-readable results have it."""
    start, end = obs.window({})
    asked = shares(obs.setting, obs.active(start, end))
    moved = _bytes_by_group(obs, start, end)
    total = sum(moved.values())
    groups = {}
    for name, count in moved.items():
        trace = obs.trace(name).between(start, end)
        groups[name] = figures(trace, end - start) | {
            "mbps": round(count / (end - start) / 1e6, 6),
            "share": round(count / total, 6) if total else 0.0,
            "asked": round(asked[name], 6) if name in asked else None,
        }
        streams = np.unique(trace.stream)
        if streams.size > 1:
            each = [float(trace.bytes[trace.stream == n].sum()) for n in streams]
            groups[name]["stream_min_mbps"] = round(min(each) / (end - start) / 1e6, 6)
            groups[name]["stream_max_mbps"] = round(max(each) / (end - start) / 1e6, 6)
    index = jain(moved[name] / share for name, share in asked.items())
    return {
        "window_s": [round(start, 3), round(end, 3)],
        "at_disk": bool(obs.samples),
        "total_mbps": round(total / (end - start) / 1e6, 6),
        "jain": round(index, 6) if len(asked) > 1 and total else None,
        "groups": groups,
        "notes": list(obs.notes),
    }
