# SPDX-License-Identifier: GPL-2.0-only
"""Instructions per I/O of dm-ioband and of other ways to share a disk among cgroups.

The guest's clock counts instructions (one a nanosecond) on one CPU that is
always busy.  So instructions per I/O are nanoseconds per I/O, and repeat within
0.5 % (most within 0.1 %) whatever the load of the host.  The load is that of
contestants.py: one process, and two processes in two cgroups.
"""

import math
import sys
from itertools import pairwise
from operator import truediv

from contestants import CONTESTANTS, Contestant, Entry, entered, loaded, reads
from harness.cache import progress
from harness.cgroup import Cgroup
from harness.guest import Guest
from harness.kernels import get_kernel, own_kernel_name
from harness.module import build_module
from output import add_later_us, arguments, disk_name, publish

SETTLE_S = 1.0
WINDOW_S = 1.0
DISK = "nullb0"
BASE = "dm-linear"
HEADS = {"1": "one process", "2": "two cgroups"}
# Instructions of ioband above those of dm-linear, at most, by the number of processes.
GOALS = {"1": 270, "2": 600}


def instructions_per_io(
    guest: Guest, entry: Entry, groups: list[Cgroup], windows: int = 1
) -> tuple[float, str]:
    """Run one process in each group, and count the I/Os that the disk completes meanwhile.

    Of several windows, the lowest figure counts, as other work of the guest only adds.
    """
    with loaded(guest, entry, groups):
        guest.sleep(SETTLE_S)
        samples = guest.sample([entry.counters], WINDOW_S, windows + 1)
        held = entry.device.held()
    ns = [(last.at_ms - first.at_ms) * 1e6 for first, last in pairwise(samples)]
    done = [reads(sample.texts[entry.counters]) for sample in samples]
    ios = [last - first for first, last in pairwise(done)]
    remark = "" if math.isnan(held) else f" ({100 * held:.0f} % of the I/Os were held)"
    return min(map(truediv, ns, ios)), remark


def measure(
    guest: Guest, contestants: list[Contestant], later_us: int = 0
) -> dict[str, dict[str, float]]:
    """Instructions per I/O by contestant and number of processes."""
    figures: dict[str, dict[str, float]] = {}
    with Cgroup(guest, "a") as one, Cgroup(guest, "b") as two:
        for contestant in contestants:
            figures[contestant.name] = {}
            for groups in ([one], [one, two]):
                with entered(guest, contestant, groups, DISK, later_us=later_us) as entry:
                    cost, remark = instructions_per_io(guest, entry, groups)
                progress(f"{contestant.name}, {len(groups)} cgroups: {cost:.0f}{remark}")
                figures[contestant.name][str(len(groups))] = round(cost, 1)
    return figures


def table(figures: dict[str, dict[str, float]], release: str, later_us: int = 0) -> str:
    """The figures as text."""
    lines = [
        f"Instructions per I/O, 4-KiB random reads {disk_name(later_us)}, {release}",
        f"{'':12}" + "".join(f"{head:>12}{'-none':>8}{'-linear':>8}" for head in HEADS.values()),
    ]
    for name, costs in figures.items():
        line = f"{name:12}"
        for key in HEADS:
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
    for key, goal in GOALS.items():
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
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(names))
    args = parser.parse_args()
    if unknown := set(args.names) - set(names):
        sys.exit(f"{', '.join(unknown)}: there are only {', '.join(names)}")
    chosen = [c for c in CONTESTANTS if not args.names or c.name in args.names]
    kernel = get_kernel(args.kernel)
    module = build_module(kernel)[0] if any(c.name.startswith("ioband") for c in chosen) else None
    progress(f"booting {kernel.release}, with instructions for a clock")
    with Guest(kernel, icount=True) as guest:
        if module:
            guest.insmod(module)
        figures = measure(guest, chosen, args.later_us)
    document = {"instructions_per_io": figures}
    text = table(figures, kernel.release, args.later_us)
    publish(text, document, kernel.release, args.json)


if __name__ == "__main__":
    main()
