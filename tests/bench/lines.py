# SPDX-License-Identifier: GPL-2.0-only
"""Cache lines that move between CPUs per I/O, with 2 to 16 CPUs.

The kernel is a stock kernel on emulated CPUs.  The load is that of contestants.py, with one
process on each CPU: all in one cgroup, or each in a cgroup of its own.  A plugin of the emulator
(accesses.c) records the accesses of each CPU to memory of the kernel.  The records of all CPUs
are merged by the number of instructions that the CPU has executed, as if all were equally fast, and
replayed on a model of caches without a bound, which are kept coherent by invalidation (MESI).
A line moves when a CPU reads it after another CPU has written it, or writes it while others have
it.  The first accesses to a line do not count.

The figures are of the lines that functions of a module access at all: ioband's, BFQ's, or those of
device-mapper.  So the words of its locks count, and what a tick does in the middle of an I/O does
not; an emulated CPU has many ticks per I/O.  Each figure has a guest of its own.
"""

import contextlib
import math
import os
import subprocess
import tempfile
import time
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from contestants import CONTESTANTS, Contestant, entered, loaded
from harness.cache import progress
from harness.cgroup import Cgroup
from harness.guest import Guest
from harness.kernels import Kernel, get_kernel, own_kernel_name
from harness.module import build_module
from output import add_later_us, arguments, disk_name, publish

HERE = Path(__file__).resolve().parent
CPUS = (2, 4, 8, 16)
BASE = "dm-linear"
MODULES = {"bfq": {"bfq"}, BASE: {"dm_mod"}, "ioband": {"dm_mod", "dm_ioband"}}
LOADS = ("one cgroup", "a cgroup each")
GOAL = 1.2  # from the fewest CPUs to the most, ioband's lines may grow by this factor
SETTLE_S = 3.0  # trials of the open state, see sched/overhead.h
INSNS = 400_000  # of each CPU
PATIENCE_S = 180
LINE_SHIFT = 6
# The blk-mq driver's function that gets each request.
SUBMIT = "null_queue_rq"
ACCESS = np.dtype(
    [("insn", "u8"), ("addr", "u8"), ("at", "u4"), ("cpu", "u2"), ("store", "u2")], align=True
)


class Moves(NamedTuple):
    """Lines that moved per I/O, in all and by function; the I/Os of each CPU, and the part held."""

    per_io: float
    by_function: dict[str, float]
    ios: list[int]
    held: float = math.nan


Figures = dict[str, dict[str, Moves]]  # by load and contestant


# -- recording -----------------------------------------------------------------


def build_plugin(directory: Path) -> Path:
    """The plugin of the emulator."""
    plugin = directory / "accesses.so"
    flags = ("-std=gnu11", "-O2", "-Wall", "-shared", "-fPIC", "-fvisibility=hidden")
    subprocess.run(["gcc", *flags, "-pthread", HERE / "accesses.c", "-o", plugin], check=True)
    return plugin


@contextlib.contextmanager
def observed(kernel: Kernel, plugin: Path, cpus: int) -> Iterator[tuple[Guest, Callable]]:
    """A guest with the plugin, and the function that records, once."""
    control, records = (plugin.parent / name for name in ("control", "records"))
    os.mkfifo(control)
    memory = 1024 + 128 * cpus
    option = f"{plugin},control={control},records={records}"

    def record() -> npt.NDArray[np.void]:
        """The accesses of the next INSNS instructions of each CPU, merged."""
        control.write_text(f"{INSNS}\n")
        end = time.monotonic() + PATIENCE_S
        while not records.exists():
            if time.monotonic() > end:
                raise TimeoutError(f"no records of {INSNS} instructions after {PATIENCE_S} s")
            guest.sleep(0.5)
        accesses = np.fromfile(records, ACCESS)
        return accesses[np.argsort(accesses["at"], kind="stable")]

    try:
        with Guest(kernel, smp=cpus, parallel=True, memory_mib=memory, plugin=option) as guest:
            yield guest, record
    finally:
        control.unlink()
        records.unlink(missing_ok=True)


# -- evaluation ----------------------------------------------------------------


class Symbols:
    """Functions of a kernel and its modules by address."""

    def __init__(self, kallsyms: str):
        lines = (line.split() for line in kallsyms.splitlines())
        self._functions = sorted(
            (int(at, 16), name, module[0].strip("[]") if module else "")
            for at, kind, name, *module in lines
            if kind in "tTwW"
        )
        self._at = [at for at, *_ in self._functions]

    def function(self, address: int) -> tuple[str, str]:
        """The function with an address, and its module."""
        _, name, module = self._functions[bisect_right(self._at, address) - 1]
        return name, module

    def bounds(self, name: str) -> tuple[int, int]:
        """The first address of a function, and of the next one."""
        index = next(i for i, (_, its, _) in enumerate(self._functions) if its == name)
        return self._at[index], self._at[index + 1]


def moves(accesses: Iterable[tuple[int, int, int, int]]) -> Counter[int]:
    """The moves of lines by instruction; an access has an instruction, address, CPU and store."""
    holders: dict[int, int] = defaultdict(int)
    dirty: dict[int, bool] = {}
    moved: Counter[int] = Counter()
    for insn, address, cpu, store in accesses:
        line, own = address >> LINE_SHIFT, 1 << cpu
        held = holders[line]
        if store:
            moved[insn] += bool(held & ~own)
            holders[line] = own
            dirty[line] = True
        elif not held & own:
            moved[insn] += dirty.get(line, False)
            holders[line] = held | own
            dirty[line] = False
    return moved


def ios_by_cpu(accesses: npt.NDArray[np.void], bounds: tuple[int, int], cpus: int) -> list[int]:
    """How often each CPU entered a function, by the first of its instructions with an access."""
    first, end = bounds
    inside = accesses[(accesses["insn"] >= first) & (accesses["insn"] < end)]
    entries = inside[inside["insn"] == inside["insn"].min(initial=end)]
    return np.bincount(entries["cpu"], minlength=cpus).tolist()


def of_modules(
    accesses: npt.NDArray[np.void], symbols: Symbols, modules: set[str]
) -> npt.NDArray[np.void]:
    """All accesses to lines that functions of some modules access."""
    insns = np.unique(accesses["insn"])
    its = [insn for insn in insns.tolist() if symbols.function(insn)[1] in modules]
    lines = accesses["addr"] >> LINE_SHIFT
    touched = np.unique(lines[np.isin(accesses["insn"], np.array(its, "u8"))])
    return accesses[np.isin(lines, touched)]


def evaluate(
    accesses: npt.NDArray[np.void], symbols: Symbols, modules: set[str], cpus: int
) -> Moves:
    """Moves of lines per I/O."""
    ios = ios_by_cpu(accesses, symbols.bounds(SUBMIT), cpus)
    its = of_modules(accesses, symbols, modules)
    columns = (its[name].tolist() for name in ("insn", "addr", "cpu", "store"))
    by_function: Counter[str] = Counter()
    for insn, count in moves(zip(*columns, strict=True)).items():
        by_function[symbols.function(insn)[0]] += count
    total = max(sum(ios), 1)
    each = {name: count / total for name, count in by_function.most_common() if count}
    return Moves(sum(each.values()), each, ios)


# -- measuring -----------------------------------------------------------------


@contextlib.contextmanager
def cgroups(guest: Guest, count: int) -> Iterator[list[Cgroup]]:
    """Some cgroups."""
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(Cgroup(guest, f"g{number}")) for number in range(count)]


def measure_one(
    guest: Guest, record: Callable, contestant: Contestant, load: str, later_us: int
) -> Moves:
    """Moves with a contestant under a load."""
    cpus = guest.options.smp
    options = [{"cpus_allowed": cpu} for cpu in range(cpus)]
    with cgroups(guest, cpus) as each:
        groups = each if load == LOADS[1] else [each[0]] * cpus
        with (
            entered(guest, contestant, each, "bench", cpus, later_us) as entry,
            loaded(guest, entry, groups, *options),
        ):
            guest.sleep(SETTLE_S)
            symbols = Symbols(guest.read("/proc/kallsyms"))
            entry.device.held()
            accesses, held = record(), entry.device.held()
            found = evaluate(accesses, symbols, MODULES[contestant.name], cpus)
    progress(f"{cpus} CPUs, {contestant.name}, {load}: {found.per_io:.1f} per I/O, held {held:.2f}")
    return found._replace(held=held)


def measure(kernel: Kernel, plugin: Path, cpus: int, later_us: int) -> Figures:
    """Moves by load and contestant."""
    module = build_module(kernel)[0]
    figures: Figures = {load: {} for load in LOADS}
    for contestant in (entry for entry in CONTESTANTS if entry.name in MODULES):
        for load in LOADS:
            with observed(kernel, plugin, cpus) as (guest, record):
                guest.insmod(module)
                found = measure_one(guest, record, contestant, load, later_us)
            figures[load][contestant.name] = found
    return figures


# -- results -------------------------------------------------------------------


def table(figures: dict[int, Figures], release: str, later_us: int) -> str:
    """The figures as text."""
    lines = [
        f"Cache lines moved per I/O, 4-KiB random reads {disk_name(later_us)}, {release}",
    ]
    for load in LOADS:
        lines.append(f"{load:14}" + "".join(f"{f'{cpus} CPUs':>10}" for cpus in figures))
        for name in MODULES:
            row = (by_load[load][name].per_io for by_load in figures.values())
            lines.append(f"  {name:12}" + "".join(f"{per_io:10.1f}" for per_io in row))
    for load in LOADS:
        lines.append(remark(load, [by_load[load] for by_load in figures.values()]))
    return "\n".join(lines)


def remark(load: str, by_cpus: Sequence[dict[str, Moves]]) -> str:
    """Growth of ioband's lines, and the functions in which most of them move."""
    own = [by_name["ioband"] for by_name in by_cpus]
    last = own[-1]
    where = [f"{name} {its:.1f}" for name, its in last.by_function.items() if its >= 0.05][:6]
    used = sum(2 * count * len(last.ios) >= sum(last.ios) for count in last.ios)
    # Below a line for each I/O, a factor would compare chance.
    growth = max(last.per_io, 1) / max(own[0].per_io, 1)
    return (
        f"ioband, {load}: {growth:.1f} times the lines, goal {GOAL} "
        f"{'met' if growth <= GOAL else 'missed'}; {used} of {len(last.ios)} CPUs submit; held "
        + ", ".join(f"{100 * its.held:.0f} %" for its in own)
        + (f" ({', '.join(where)})" if where else "")
    )


def document(figures: dict[int, Figures]) -> dict[str, object]:
    """The figures for JSON."""
    return {
        str(cpus): {
            load: {name: found._asdict() for name, found in by_name.items()}
            for load, by_name in by_load.items()
        }
        for cpus, by_load in figures.items()
    }


def main() -> None:
    """Measure, print a table, and write the figures as JSON."""
    parser = arguments(main.__doc__)
    parser.add_argument("--kernel", default=own_kernel_name())
    parser.add_argument("--cpus", type=int, nargs="+", default=CPUS)
    add_later_us(parser)
    args = parser.parse_args()
    kernel = get_kernel(args.kernel)
    with tempfile.TemporaryDirectory() as directory:
        plugin = build_plugin(Path(directory))
        figures = {cpus: measure(kernel, plugin, cpus, args.later_us) for cpus in args.cpus}
    text = table(figures, kernel.release, args.later_us)
    publish(text, {"lines_per_io": document(figures)}, kernel.release, args.json)


if __name__ == "__main__":
    main()
