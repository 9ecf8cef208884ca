# SPDX-License-Identifier: GPL-2.0-only
"""Locks taken per I/O, by dm-ioband and by the kernel's own schedulers.

A probe on each function that takes a spin lock or a mutex counts its callers.  The
kernel is a stock kernel with two CPUs.  The load is that of contestants.py, with one
process on each CPU: both in one cgroup (no competition), or each in its own cgroup.  The
locks taken by functions of the module are the pool's, which all CPUs share.  Locks that
functions of the kernel take on its behalf (as to wake a worker) are in the difference
to dm-linear.  The number of locks depends little on the speed of the CPUs; contention
does depend on it, and is not measured.
"""

import contextlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from contestants import CONTESTANTS, Entry, entered, loaded, reads
from harness.cache import progress
from harness.cgroup import Cgroup
from harness.guest import Guest, Sample
from harness.kernels import get_kernel, own_kernel_name
from harness.module import build_module
from harness.tracing import TRACING, on_one_cpu
from output import add_later_us, arguments, disk_name, publish

CPUS = 2
SETTLE_S = 3.0  # trials of the open state, see sched/overhead.h
WINDOW_S = 3.0
BASE = "dm-linear"
NAMES = ("none", "mq-deadline", "kyber", "bfq", BASE, "ioband")
# Locks that ioband itself takes per I/O, at most, by load.
GOALS = {"one cgroup": 0.05, "two cgroups": 0.05}
FUNCTIONS = (
    *(f"_raw_spin_lock{kind}" for kind in ("", "_bh", "_irq", "_irqsave")),
    *("_raw_spin_trylock", "_raw_read_lock", "_raw_write_lock"),
    *("mutex_lock", "mutex_trylock"),
)
LINE = re.compile(
    r"\{ caller: \[\w+\] (?P<caller>\S+)(?P<module> \[\w+\])?\s*\} hitcount:\s+(?P<hits>\d+)"
)
COUNT = "hist:keys=caller.sym:size=4096"
OPTIONS: list[dict[str, object]] = [{"cpus_allowed": cpu} for cpu in range(CPUS)]
OWN = " [dm_ioband]"


class Window(NamedTuple):
    """Locks taken by each caller in an interval, and the I/Os of the interval."""

    callers: Counter[str]
    ios: int
    seconds: float

    def per_io(self) -> dict[str, float]:
        """Locks per I/O by caller."""
        return {caller: count / self.ios for caller, count in self.callers.items()}


@contextlib.contextmanager
def watched(guest: Guest) -> Iterator[list[str]]:
    """Count the callers of all functions; yields the files with the counts."""
    events = [f"{TRACING}/events/locks/{function}" for function in FUNCTIONS]
    with on_one_cpu(guest):
        for function, event in zip(FUNCTIONS, events, strict=True):
            probe = f"p:locks/{function} {function} caller=$stack0"
            guest.run(f"echo '{probe}' >>{TRACING}/kprobe_events")
            guest.write(f"{event}/trigger", COUNT)
    yield [f"{event}/hist" for event in events]
    if guest.alive:
        with on_one_cpu(guest):
            for event in events:
                guest.write(f"{event}/trigger", f"!{COUNT}")
            guest.write(f"{TRACING}/kprobe_events", "")


def taken(sample: Sample, files: Sequence[str]) -> Counter[str]:
    """The number of locks taken by each caller."""
    callers: Counter[str] = Counter()
    for file in files:
        for match in LINE.finditer(sample.texts[file]):
            callers[match["caller"] + (match["module"] or "")] += int(match["hits"])
    return callers


def counted(
    guest: Guest,
    entry: Entry,
    groups: Sequence[Cgroup],
    files: Sequence[str],
    options: Sequence[dict[str, object]] = OPTIONS,
) -> Window:
    """Run a process in each group, with options of its own, and count the callers of locks."""
    with loaded(guest, entry, groups, *options):
        guest.sleep(SETTLE_S)
        first, last = guest.sample([entry.counters, *files], WINDOW_S)
    ios = reads(last.texts[entry.counters]) - reads(first.texts[entry.counters])
    callers = taken(last, files) - taken(first, files)
    return Window(callers, ios, (last.at_ms - first.at_ms) / 1000)


def measure(guest: Guest, later_us: int = 0) -> dict[str, dict[str, dict[str, float]]]:
    """Locks per I/O by load, contestant and caller."""
    figures: dict[str, dict[str, dict[str, float]]] = {load: {} for load in GOALS}
    with watched(guest) as files, Cgroup(guest, "a") as one, Cgroup(guest, "b") as two:
        for each in (each for each in CONTESTANTS if each.name in NAMES):
            for load, groups in zip(GOALS, ([one, one], [one, two]), strict=True):
                with entered(guest, each, [one, two], "bench", CPUS, later_us) as entry:
                    callers = counted(guest, entry, groups, files).per_io()
                progress(f"{each.name}, {load}: {sum(callers.values()):.2f}")
                figures[load][each.name] = callers
    return figures


def own(callers: Mapping[str, float]) -> dict[str, float]:
    """The module's own functions with their counts, the most frequent first."""
    its = {caller.removesuffix(OWN): count for caller, count in callers.items() if OWN in caller}
    return dict(sorted(its.items(), key=lambda item: -item[1]))


def table(figures: dict[str, dict[str, dict[str, float]]], release: str, later_us: int = 0) -> str:
    """The figures as text."""
    lines = [
        f"Locks taken per I/O, 4-KiB random reads {disk_name(later_us)}, {CPUS} CPUs, {release}",
        f"{'':12}" + "".join(f"{load:>14}{'-linear':>9}" for load in figures),
    ]
    for name in NAMES:
        line = f"{name:12}"
        for by_name in figures.values():
            total, base = (sum(by_name[key].values()) for key in (name, BASE))
            line += f"{total:14.2f}" + (f"{total - base:+9.2f}" if name != BASE else f"{'':9}")
        lines.append(line.rstrip())
    for load, goal in GOALS.items():
        its = own(figures[load]["ioband"])
        state = "met" if sum(its.values()) <= goal else "missed"
        whose = ", ".join(
            f"{caller} {count:.2f}" for caller, count in its.items() if count >= 0.005
        )
        lines.append(
            f"ioband, {load}: its own {sum(its.values()):.3f}, goal {goal} {state}"
            + (f" ({whose})" if whose else "")
        )
    return "\n".join(lines)


def main() -> None:
    """Measure, print a table, and write the figures as JSON."""
    parser = arguments(main.__doc__)
    parser.add_argument("--kernel", default=own_kernel_name())
    add_later_us(parser)
    args = parser.parse_args()
    kernel = get_kernel(args.kernel)
    module = build_module(kernel)[0]
    progress(f"booting {kernel.release} on {CPUS} CPUs")
    with Guest(kernel, smp=CPUS, parallel=True) as guest:
        guest.insmod(module)
        figures = measure(guest, args.later_us)
    text = table(figures, kernel.release, args.later_us)
    publish(text, {"locks_per_io": figures}, kernel.release, args.json)


if __name__ == "__main__":
    main()
