# SPDX-License-Identifier: GPL-2.0-only
"""Throughput of dm-ioband and of the kernel's own schedulers at the speed of the host.

The kernel is User-Mode Linux on two processors, so the load of contestants.py runs
as native code, with one process on each processor.  Either both are in one cgroup (no
competition), or each is in its own cgroup.  In the second case the weights are equal,
as other weights would leave a processor idle.  All processes are started once and
then stopped.  In each round, every contestant runs for a second, in a new order.  The time before
it does not count: after a pause, ioband compares the shared state with the open one.

The results are a contestant's rate divided by that of dm-linear in the same round, and
ioband's rate divided by that of each scheduler.  Each result is the median over the
rounds, with the interval that holds the median of endless rounds with 95 % certainty.

The host also runs other work.  For each thread it reports the time of running, and the
time of being ready without a processor.  So there are two rates.  I/Os by the time that
the guest had are the throughput.  I/Os by CPU time do not include idle processors,
but are steadier on a busy host.  A ratio with a wide interval is not printed.  A goal is
met or missed if the whole interval is on one side of it, and otherwise undecided.
"""

import math
import os
import random
import statistics
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NamedTuple

from contestants import CONTESTANTS, Entry, completed, entered, loaded
from harness.cache import progress
from harness.cgroup import Cgroup
from harness.guest import Guest
from harness.load import Load
from harness.module import build_module
from lab.kernel import get_lab_kernel
from lab.machine import Uml
from output import arguments, publish

CPUS = 2
SETTLE_S = 0.6  # trial of the open state, see sched/overhead.h
TURN_S = 1.0
ROUNDS = 20
BASE = "dm-linear"
SCHEDULERS = ("none", "mq-deadline", "kyber", "bfq")
NAMES = (*SCHEDULERS, BASE, "ioband")
# The least ratio of ioband, by load.
GOALS = {"one cgroup": 0.97, "two cgroups": 0.90}
RATES = {"by_time": "time", "by_cpu": "CPU time"}
MAX_WIDTH = 0.1  # of an interval, as a part of the median
NICE = -20
# Any other clock takes a system call for each I/O, which is slow in User-Mode Linux.
OPTIONS = [{"cpus_allowed": cpu, "clocksource": "cpu"} for cpu in range(CPUS)]


class Turn(NamedTuple):
    """A contestant under one load in one round."""

    by_time: float  # I/Os per second of guest time
    by_cpu: float  # I/Os per second of CPU time
    had: float  # part of guest time
    held: float  # part of the I/Os


class Ratio(NamedTuple):
    """A contestant's rate divided by the base's: the median over the rounds, and its interval."""

    low: float
    middle: float
    high: float

    @property
    def is_worth_something(self) -> bool:
        """Whether the rounds agree."""
        return self.high - self.low <= MAX_WIDTH * self.middle

    def against(self, goal: float) -> str:
        """Compare with a goal; even a wide interval may be on one side of it."""
        if self.low < goal <= self.high:
            return "not to be told from these rounds"
        return "met" if self.low >= goal else "missed"


# -- the host ------------------------------------------------------------------


def prefer(session: int) -> None:
    """Give the processes of a session priority on the host, where permitted."""
    with suppress(OSError):
        os.setpriority(os.PRIO_PGRP, session, NICE)
    # With automatic groups a priority counts only among the processes of a session.
    with suppress(OSError):
        Path(f"/proc/{session}/autogroup").write_text(str(NICE))


def ran_and_waited_ns(session: int) -> tuple[int, int]:
    """Time for which the threads of a session ran, and were ready without a processor."""
    ran = waited = 0
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            fields = (process / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) == session:
                for thread in process.glob("task/*/schedstat"):
                    times = thread.read_text().split()
                    ran, waited = ran + int(times[0]), waited + int(times[1])
    return ran, waited


# -- measuring -----------------------------------------------------------------


def take_turn(guest: Guest, entry: Entry, load: Load) -> Turn:
    """Let the processes of one contestant run for a while."""
    load.resume()
    guest.sleep(SETTLE_S)
    entry.device.held()
    before, reads, since = (
        ran_and_waited_ns(guest.pid),
        completed(guest, entry),
        time.monotonic_ns(),
    )
    guest.sleep(TURN_S)
    since = time.monotonic_ns() - since
    reads = completed(guest, entry) - reads
    after = ran_and_waited_ns(guest.pid)
    held = entry.device.held()
    load.pause()
    ran, waited = (b - a for a, b in zip(before, after, strict=True))
    had = max(1 - waited / (CPUS * since), 0.01)
    return Turn(reads * 1e9 / since / had, reads * 1e9 / ran, had, held)


def measure(guest: Guest, rounds: int) -> dict[str, dict[str, list[Turn]]]:
    """The turns of all rounds, by load and contestant."""
    turns = {load: {name: [] for name in NAMES} for load in GOALS}
    with ExitStack() as stack:
        one, two = (stack.enter_context(Cgroup(guest, name)) for name in ("a", "b"))
        ready: list[tuple[list[Turn], Entry, Load]] = []
        for each in (each for each in CONTESTANTS if each.name in NAMES):
            disk = f"bench-{each.name}"
            entry = stack.enter_context(entered(guest, each, [one, two], disk, CPUS))
            for name, groups in zip(GOALS, ([one, one], [one, two]), strict=True):
                load = stack.enter_context(loaded(guest, entry, groups, *OPTIONS))
                load.pause()
                ready.append((turns[name][each.name], entry, load))
        for number in range(rounds):
            progress(f"round {number + 1} of {rounds}")
            for its, entry, load in random.sample(ready, len(ready)):
                its.append(take_turn(guest, entry, load))
    return turns


# -- results -------------------------------------------------------------------


def ratio(turns: dict[str, list[Turn]], name: str, rate: str, base: str = BASE) -> Ratio:
    """A contestant's rate (a field of Turn) divided by another one's."""
    pairs = zip(turns[name], turns[base], strict=True)
    values = sorted(getattr(own, rate) / getattr(other, rate) for own, other in pairs)
    # Of n values, so many below and above the median are within 1.96 deviations of a coin's.
    outer = max(math.floor(len(values) / 2 - 0.98 * math.sqrt(len(values))), 0)
    return Ratio(values[outer], statistics.median(values), values[-1 - outer])


def row(turns: dict[str, list[Turn]], name: str, base: str = BASE) -> str:
    """The figures of a contestant under one load."""
    text = ""
    for rate in RATES:
        its = ratio(turns, name, rate, base)
        middle = f"{its.middle:.2f}" if its.is_worth_something else "noise"
        text += f"{middle:>9}{f'{its.low:.2f}..{its.high:.2f}':>12}"
    return text


def table(turns: dict[str, dict[str, list[Turn]]], release: str) -> str:
    """The figures as text."""
    rounds = len(turns["one cgroup"][BASE])
    lines = [
        f"Throughput by {BASE}'s, 4-KiB random reads, {CPUS} CPUs, {release}, {rounds} rounds",
        f"{'':12}" + "".join(f"{f'{load}, by':>21}{'':21}" for load in turns).rstrip(),
        f"{'':12}" + "".join(f"{head:>9}{'95 %':>12}" for _ in turns for head in RATES.values()),
    ]
    lines += [f"{name:12}" + "".join(row(turns[load], name) for load in turns) for name in NAMES]
    lines.append("ioband's by those of")
    lines += [
        f"{name:12}" + "".join(row(turns[load], "ioband", name) for load in turns)
        for name in SCHEDULERS
    ]
    return "\n".join(lines + remarks(turns))


def remarks(turns: dict[str, dict[str, list[Turn]]]) -> list[str]:
    """The quality of the figures, and their comparison with the goals."""
    had = [turn.had for load in turns.values() for its in load.values() for turn in its]
    lines = [
        f"The guest had {100 * statistics.median(had):.0f} % of the time of its processors"
        f" (in the worst turn {100 * min(had):.0f} %)."
    ]
    for load, goal in GOALS.items():
        its = turns[load]["ioband"]
        held = statistics.median(turn.held for turn in its)
        kiops = statistics.median(turn.by_time for turn in turns[load][BASE]) / 1000
        verdict = ratio(turns[load], "ioband", "by_time").against(goal)
        lines.append(
            f"{load}: {BASE} {kiops:.0f} kIOPS; ioband held {100 * held:.0f} %; "
            f"goal {goal} by time {verdict}."
        )
    return lines


def document(turns: dict[str, dict[str, list[Turn]]]) -> dict[str, object]:
    """All turns as data for JSON."""
    figures = {
        load: {
            name: [
                {key: None if math.isnan(value) else round(value, 4) for key, value in pairs}
                for pairs in (turn._asdict().items() for turn in its)
            ]
            for name, its in by_name.items()
        }
        for load, by_name in turns.items()
    }
    return {"turns": figures}


def main() -> None:
    """Measure, print a table, and write all turns as JSON."""
    parser = arguments(main.__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"{ROUNDS} if not given")
    args = parser.parse_args()
    kernel = get_lab_kernel("smp")
    module = build_module(kernel)[0]
    progress(f"booting {kernel.release} on {CPUS} processors")
    with Guest(kernel, Uml, smp=CPUS) as guest:
        prefer(guest.pid)
        guest.insmod(module)
        turns = measure(guest, args.rounds)
    publish(table(turns, kernel.release), document(turns), kernel.release, args.json)


if __name__ == "__main__":
    main()
