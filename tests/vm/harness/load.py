# SPDX-License-Identifier: GPL-2.0-only
"""fio in the guest, and the I/O of its jobs while all of them ran.

Jobs start and end at different moments, so their own totals do not compare.
A Load logs every I/O with the time of its completion.  A Window has the I/O of each job
between two moments, by default between those in which all jobs ran.
"""

import itertools
import json
import math
import signal
import time
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .cgroup import Cgroup
from .guest import SHARE, CommandError, Guest, GuestTimeout, Job

_numbers = itertools.count(1)
FOREVER_S = 3600
START_TIMEOUT_S = 60
FIO_INTERRUPTED = 128  # its exit code after SIGINT
# Reads one page with RWF_NOWAIT; prints the length read, or the name of the error.
READ_NOWAIT = """
import errno, mmap, os, sys
page = mmap.mmap(-1, 4096)
device = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
try:
    print(os.preadv(device, [page], 0, os.RWF_NOWAIT))
except OSError as err:
    print(errno.errorcode[err.errno])
"""


def _arguments(options: dict[str, object]) -> list[str]:
    """fio's command line; {"direct": 1, "thread": True, "log": None} is --direct=1 --thread."""
    given = {key: value for key, value in options.items() if value is not None}
    return [f"--{key}" if value is True else f"--{key}={value}" for key, value in given.items()]


def fio(
    guest: Guest, cgroup: Cgroup | None = None, *, timeout: float = 120, **options: object
) -> dict[str, Any]:
    """Run one fio job to its end; returns its part of fio's JSON."""
    defaults = {"name": "job", "direct": 1, "thread": True, "output-format": "json"}
    argv = ["fio", *_arguments(defaults | options)]
    directory = cgroup.directory if cgroup else None
    out = guest.run(argv, cgroup=directory, timeout=timeout).out
    return json.loads(out[out.index("{") :])["jobs"][0]


@dataclass(frozen=True)
class Stream:
    """One fio process of a Load, direct and asynchronous unless its options say otherwise."""

    name: str
    device: str
    cgroup: Cgroup | None = None
    rw: str = "randread"
    bs: str = "64k"
    iodepth: int = 32
    options: dict[str, object] = field(default_factory=dict)

    def argv(self) -> list[str]:
        """The command of a job that runs until SIGINT, and logs every I/O."""
        defaults: dict[str, object] = {
            "name": self.name,
            "filename": self.device,
            "rw": self.rw,
            "bs": self.bs,
            "iodepth": self.iodepth,
            "ioengine": "libaio",
            "direct": 1,
            "thread": True,
            "norandommap": True,
            "randrepeat": 0,
            "randseed": sum(self.name.encode()),
            "time_based": True,
            "runtime": FOREVER_S,
            "write_lat_log": self.name,
            "exec_prerun": "true",  # leaves NAME.prerun.txt when the set-up is done
            "disable_slat": 1,
            "disable_clat": 1,
            "log_unix_epoch": 1,
            "log_max_value": 0,
            "output-format": "json",
        }
        return ["fio", *_arguments(defaults | self.options)]


class Completion(NamedTuple):
    """One I/O: completion time (guest's clock), latency, size and direction."""

    at_ms: int
    latency_ns: int
    bytes: int
    write: bool


@dataclass(frozen=True)
class Got:
    """The I/O of one job in a window."""

    completions: Sequence[Completion]
    seconds: float

    @property
    def bytes(self) -> int:
        """Bytes completed."""
        return sum(io.bytes for io in self.completions)

    @property
    def bandwidth(self) -> float:
        """Bytes per second."""
        return self.bytes / self.seconds

    @property
    def iops(self) -> float:
        """I/Os per second."""
        return len(self.completions) / self.seconds

    @property
    def mean_ms(self) -> float:
        """Mean latency of an I/O."""
        return sum(io.latency_ns for io in self.completions) / len(self.completions) / 1e6

    def latency_ms(self, percentile: float = 50) -> float:
        """Latency that this share of the I/Os did not exceed; 100 is the largest."""
        latencies = sorted(io.latency_ns for io in self.completions)
        rank = math.ceil(percentile / 100 * len(latencies))
        return latencies[max(rank, 1) - 1] / 1e6


@dataclass(frozen=True)
class Window:
    """The I/O of every job between two moments of the guest's clock."""

    start_ms: float
    end_ms: float
    jobs: dict[str, Got]

    def __getitem__(self, name: str) -> Got:
        return self.jobs[name]

    @property
    def bandwidth(self) -> float:
        """Bytes per second of all jobs together."""
        return sum(got.bandwidth for got in self.jobs.values())

    def share(self, name: str) -> float:
        """The part of a job in all bytes."""
        return self.jobs[name].bandwidth / self.bandwidth

    def ratio(self, name: str, other: str) -> float:
        """Bytes of one job by those of another."""
        return self.jobs[name].bytes / self.jobs[other].bytes


class Measurement:
    """Every I/O of every job of a load that has ended."""

    def __init__(self, jobs: dict[str, list[Completion]]):
        self.jobs = jobs
        idle = [name for name, completions in jobs.items() if not completions]
        if idle:
            raise ValueError(f"no I/O completed in: {', '.join(idle)}")

    def common(self, settle_s: float = 0.5) -> tuple[float, float]:
        """From settle_s after the last job's first completion to the first job's last one."""
        start = max(completions[0].at_ms for completions in self.jobs.values()) + settle_s * 1000
        end = min(completions[-1].at_ms for completions in self.jobs.values())
        if end <= start:
            raise ValueError("the jobs did not run at the same time for long enough")
        return start, end

    def window(
        self, start_ms: float | None = None, end_ms: float | None = None, settle_s: float = 0.5
    ) -> Window:
        """The I/O of each job between two moments (see Guest.now_ms)."""
        if start_ms is None or end_ms is None:
            common = self.common(settle_s)
            start_ms = common[0] if start_ms is None else start_ms
            end_ms = common[1] if end_ms is None else end_ms
        seconds = (end_ms - start_ms) / 1000
        jobs = {}
        for name, completions in self.jobs.items():
            first = bisect_left(completions, start_ms, key=lambda io: io.at_ms)
            last = bisect_left(completions, end_ms, key=lambda io: io.at_ms)
            jobs[name] = Got(completions[first:last], seconds)
        return Window(start_ms, end_ms, jobs)

    def intervals(self, width_s: float, settle_s: float = 0.5) -> Iterator[Window]:
        """The common window in intervals of the same width."""
        start, end = self.common(settle_s)
        width = width_s * 1000
        while start + width <= end:
            yield self.window(start, start + width)
            start += width


class Load:
    """fio processes that run side by side from start() to stop()."""

    def __init__(self, guest: Guest, streams: Sequence[Stream]):
        self.guest = guest
        self.streams = streams
        self._name = f"load-{next(_numbers)}"
        self._directory = f"/run/{self._name}"
        self._jobs: list[Job] = []

    def start(self) -> "Load":
        """Start all processes, and wait until each of them does I/O."""
        # A stream may run as another user, and writes a file there.
        self.guest.run(["mkdir", "-m", "777", self._directory])
        for stream in self.streams:
            directory = stream.cgroup.directory if stream.cgroup else None
            self._jobs.append(
                self.guest.start(stream.argv(), cgroup=directory, cwd=self._directory)
            )
        timeout_s = START_TIMEOUT_S * self.guest.patience
        deadline = time.monotonic() + timeout_s
        while not all(
            self._has_begun(*pair) for pair in zip(self.streams, self._jobs, strict=True)
        ):
            if time.monotonic() > deadline:
                raise GuestTimeout(f"no I/O from some of {self.streams} in {timeout_s} s")
            self.guest.sleep(0.05)
        return self

    def _has_begun(self, stream: Stream, job: Job) -> bool:
        """Whether a job has finished its set-up; raises the output of a failed job."""
        if job.poll():
            job.wait()
        return self.guest.exists(f"{self._directory}/{stream.name}.prerun.txt")

    @property
    def pids(self) -> dict[str, int]:
        """The first process of each stream, which leads a process group, by the stream's name."""
        names = (stream.name for stream in self.streams)
        return {name: job.pid for name, job in zip(names, self._jobs, strict=True)}

    def pause(self) -> None:
        """Stop all processes; I/O in flight completes."""
        for job in self._jobs:
            job.kill(signal.SIGSTOP)

    def resume(self) -> None:
        """Continue all processes."""
        for job in self._jobs:
            job.kill(signal.SIGCONT)

    def end(self, timeout: float = 60) -> None:
        """End all processes, each after the I/O that it has in flight."""
        for job in self._jobs:
            job.kill(signal.SIGINT)
        for job in self._jobs:
            result = job.wait(timeout, check=False)
            if result.rc not in (0, FIO_INTERRUPTED):
                raise CommandError(f"{' '.join(job.argv)}: exit code {result.rc}: {result.err}")
        self.guest.run(f"cp -r {self._directory} {SHARE}/ && rm -r {self._directory}")

    def stop(self, timeout: float = 60) -> Measurement:
        """End all processes, and return their logs."""
        self.end(timeout)
        return Measurement({stream.name: self._completions(stream.name) for stream in self.streams})

    def run(self, seconds: float) -> Measurement:
        """Start, let guest time pass, stop."""
        self.start()
        self.guest.sleep(seconds)
        return self.stop()

    def _completions(self, name: str) -> list[Completion]:
        log = self.guest.share / self._name / f"{name}_lat.1.log"
        completions = []
        for line in log.read_text().splitlines():
            at_ms, latency_ns, direction, size, *_ = line.split(",")
            completions.append(
                Completion(int(at_ms), int(latency_ns), int(size), direction.strip() == "1")
            )
        return sorted(completions)


@contextmanager
def dirty_limit(guest: Guest, limit: int) -> Iterator[None]:
    """So few bytes of the page cache may be dirty."""
    ratio = guest.read("/proc/sys/vm/dirty_ratio")
    guest.write("/proc/sys/vm/dirty_bytes", str(limit))
    try:
        yield
    finally:
        guest.write("/proc/sys/vm/dirty_ratio", ratio)
