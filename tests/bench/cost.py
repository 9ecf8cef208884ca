# SPDX-License-Identifier: GPL-2.0-only
"""Instructions per I/O of dm-ioband and of other ways to share a disk among cgroups.

The guest's clock counts instructions (one a nanosecond) on one CPU.  So instructions
per I/O are nanoseconds per I/O, without those in which the CPU is idle.  They repeat
within 0.5 % (most within 0.1 %) whatever the load of the host, if the CPU is always
busy.  The load is that of contestants.py: one process, and two processes in two cgroups.

With a limit for ioband, groups compete in the shared state.  Then the disk has requests
for all I/Os of two processes, and the CPU is idle part of the time.  Only two processes
are measured, and all states of the pool in between are checked.  The figures repeat
within 2 %: when a task sleeps depends on small differences.
"""

import math
import re
import sys

from contestants import CONTESTANTS, Contestant, Entry, contestants, entered, loaded, reads
from harness.cache import progress
from harness.cgroup import Cgroup
from harness.guest import Guest
from harness.kernels import get_kernel, own_kernel_name
from harness.module import build_module
from output import add_later_us, arguments, disk_name, publish

SETTLE_S = 1.0
WINDOW_S = 1.0
DISK = "nullb0"
# The time for which the only CPU was idle, in ns.
TIMERS = "/proc/timer_list"
IDLE = re.compile(r"^\s*\.(?:idle|iowait)_sleeptime\s*:\s*(\d+)", re.MULTILINE)
# With a limit: requests of the disk, more than all I/Os; and windows, of which the lowest counts.
REQUESTS = 256
SHARED_WINDOWS = 5
BASE = "dm-linear"
HEADS = {"1": "one process", "2": "two cgroups"}
# Instructions of ioband above those of dm-linear, at most, by the number of processes.
GOALS = {"1": 270, "2": 600}


def idle_ns(timers: str) -> int:
    """The time for which the CPU was idle so far."""
    return sum(map(int, IDLE.findall(timers)))


def window(guest: Guest, entry: Entry) -> float:
    """Instructions per I/O that the disk completes in a window."""
    samples = guest.sample([entry.counters, TIMERS], WINDOW_S)
    first, last = samples
    idle, done = (
        [count(sample.texts[path]) for sample in samples]
        for count, path in ((idle_ns, TIMERS), (reads, entry.counters))
    )
    return ((last.at_ms - first.at_ms) * 1e6 - (idle[1] - idle[0])) / (done[1] - done[0])


def instructions_per_io(
    guest: Guest, entry: Entry, groups: list[Cgroup], windows: int = 1, shared: bool = False
) -> tuple[float, str]:
    """Run one process in each group, and count the I/Os that the disk completes meanwhile.

    Of several windows, the lowest figure counts, as other work of the guest only adds.
    """
    costs = []
    with loaded(guest, entry, groups):
        guest.sleep(SETTLE_S)
        states = {entry.device.state()}
        entry.device.held()
        for _ in range(windows):
            costs.append(window(guest, entry))
            states.add(entry.device.state())
        held = entry.device.held()
    if shared and states not in ({"none"}, {"shared"}):
        raise RuntimeError(f"{entry.name}: the pool was {' and '.join(states)}, not only shared")
    return min(costs), "" if math.isnan(held) else f" ({100 * held:.0f} % of the I/Os were held)"


def measure(
    guest: Guest, contestants: list[Contestant], later_us: int = 0, shared: bool = False
) -> dict[str, dict[str, float]]:
    """Instructions per I/O by contestant and number of processes; of @shared pools, of two."""
    figures: dict[str, dict[str, float]] = {}
    attributes = {"hw_queue_depth": REQUESTS} if shared else {}
    with Cgroup(guest, "a") as one, Cgroup(guest, "b") as two:
        for contestant in contestants:
            figures[contestant.name] = {}
            for groups in ([one, two],) if shared else ([one], [one, two]):
                with entered(
                    guest, contestant, groups, DISK, later_us=later_us, **attributes
                ) as entry:
                    windows = SHARED_WINDOWS if shared else 1
                    cost, remark = instructions_per_io(guest, entry, groups, windows, shared)
                progress(f"{contestant.name}, {len(groups)} cgroups: {cost:.0f}{remark}")
                figures[contestant.name][str(len(groups))] = round(cost, 1)
    return figures


def table(figures: dict[str, dict[str, float]], release: str, later_us: int = 0) -> str:
    """The figures as text."""
    heads = {key: head for key, head in HEADS.items() if all(key in c for c in figures.values())}
    lines = [
        f"Instructions per I/O, 4-KiB random reads {disk_name(later_us)}, {release}",
        f"{'':12}" + "".join(f"{head:>12}{'-none':>8}{'-linear':>8}" for head in heads.values()),
    ]
    for name, costs in figures.items():
        line = f"{name:12}"
        for key in heads:
            line += f"{costs[key]:12.0f}"
            for base in ("none", BASE):
                known = base in figures and base != name
                line += f"{costs[key] - figures[base][key]:+8.0f}" if known else f"{'':8}"
        lines.append(line.rstrip())
    return "\n".join(lines + verdicts(figures))


def verdicts(figures: dict[str, dict[str, float]]) -> list[str]:
    """Compare the figures with the goals, if both operands were measured."""
    if not {"ioband", BASE} <= figures.keys():
        return []
    lines = []
    for key in figures[BASE]:
        goal = GOALS[key]
        more = figures["ioband"][key] - figures[BASE][key]
        state = "met" if more <= goal else "missed"
        lines.append(f"ioband, {HEADS[key]}: {more:+.0f} to {BASE}, goal at most {goal} {state}")
    return lines


def main() -> None:
    """Measure, print a table, and write the figures as JSON."""
    names = [contestant.name for contestant in CONTESTANTS]
    parser = arguments(main.__doc__)
    parser.add_argument("--kernel", default=own_kernel_name())
    add_later_us(parser)
    parser.add_argument(
        "--limit",
        type=int,
        metavar="IOS",
        help="in-flight limit of ioband, so that the pool is shared; with --later-us",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(names))
    args = parser.parse_args()
    if unknown := set(args.names) - set(names):
        sys.exit(f"{', '.join(unknown)}: there are only {', '.join(names)}")
    if args.limit and not args.later_us:
        sys.exit("--limit: the disk never has so many I/Os without --later-us")
    settings = {"depth": args.limit} if args.limit else {}
    chosen = [c for c in contestants(**settings) if not args.names or c.name in args.names]
    kernel = get_kernel(args.kernel)
    module = build_module(kernel)[0] if any(c.name.startswith("ioband") for c in chosen) else None
    progress(f"booting {kernel.release}, with instructions for a clock")
    with Guest(kernel, icount=True) as guest:
        if module:
            guest.insmod(module)
        figures = measure(guest, chosen, args.later_us, bool(args.limit))
    document = {"instructions_per_io": figures}
    text = table(figures, kernel.release, args.later_us)
    publish(text, document, kernel.release, args.json)


if __name__ == "__main__":
    main()
