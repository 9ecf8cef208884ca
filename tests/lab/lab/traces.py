# SPDX-License-Identifier: GPL-2.0-only
"""The results of an experiment as arrays: every I/O, and samples at the disk.

Times are seconds from the start of the experiment.  The traces tell when a job is active
(from its first submission to its last completion), so nothing depends on the start of
fio.
"""

import gzip
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .scenario import Job, Setting

Numbers = npt.NDArray[np.float64]
LOG_STEP_S = 1e-3  # resolution of times in fio's logs


class MeasureError(ValueError):
    """The traces lack something; the text says what."""


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


class Moved:
    """The bytes of a trace in any window, without a pass over all of it.

    The edges lie between two times that fio's logs distinguish.
    """

    def __init__(self, trace: Trace):
        self._at_s = trace.at_s
        self._sums = np.concatenate(([0.0], np.cumsum(trace.bytes)))

    def between(self, start: float, end: float) -> float:
        """Bytes that completed from start to before end."""
        edges = (np.round(np.array([start, end]) / LOG_STEP_S) - 0.5) * LOG_STEP_S
        low, high = np.searchsorted(self._at_s, edges)
        return float(self._sums[high] - self._sums[low])


@dataclass(frozen=True)
class Sample:
    """Bytes of groups at the disk up to a moment, and their device time."""

    at_s: float
    read: dict[str, float]
    written: dict[str, float]
    busy_s: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Observation:
    """A finished experiment; traces are by job and number of its span."""

    setting: Setting
    seconds: float
    settle: float
    traces: dict[tuple[str, int], Trace]
    samples: tuple[Sample, ...] = ()
    notes: tuple[str, ...] = ()

    def jobs(self, subjects: Iterable[str]) -> list[Job]:
        """The jobs of the named groups and jobs, each once."""
        wanted = [job for subject in subjects for job in self.setting.members(subject)]
        return [job for job in self.setting.jobs if job in wanted]

    def trace(self, *subjects: str) -> Trace:
        """All I/Os of groups and jobs."""
        names = {job.name for job in self.jobs(subjects or ("*",))}
        return merge(trace for (name, _), trace in self.traces.items() if name in names)

    def spans(self, group: str) -> list[tuple[float, float]]:
        """The spans of a group, each from a first submission to a last completion, joined."""
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
        """The groups that are active from start to end, without a break."""
        return [
            group.name
            for group in self.setting.groups
            if any(a <= start and end <= b for a, b in self.spans(group.name))
        ]

    def window(self, options: dict[str, Any]) -> tuple[float, float]:
        """The requested window, else the time for which every job runs, settled."""
        if "window" in options:
            start, end = options["window"]
            return float(start), float(end)
        some = [trace for trace in self.traces.values() if trace.at_s.size]
        spans = [(trace.span[0], float(trace.at_s.max())) for trace in some]
        if not spans:
            raise MeasureError("no I/O completed")
        start = max(start for start, _ in spans) + self.settle
        end = min(self.seconds, min(end for _, end in spans))
        if end <= start:  # the jobs run one after the other
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
    """Read the results of an experiment from its directory."""
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
            {name: moved[0] for name, moved in entry["disk"].items()},
        )
        for entry in result["samples"]
    )
    return Observation(setting, seconds, settle, traces, samples, tuple(result["notes"]))
