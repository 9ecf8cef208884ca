# SPDX-License-Identifier: GPL-2.0-only
"""make search: random loads in the simulator, and the page of their results.

The program that judges is search.c; sim/judge.h has the definitions.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from cprograms import UNIT, build
from harness.cache import build_dir, locked

RESULTS = UNIT.parents[1] / "Documentation/results"
NAME = "search"
FILES = {f"{NAME}.json", f"{NAME}.md", f"{NAME}.svg"}
OPTIONS = ("SANITIZE=", "CFLAGS=-O2")
CHUNK = 50
# While the device completes nothing, one leaf may have one I/O beyond the limit (sched/below.c).
SPARE = 1
WORST = 5
POINTS = 150
NOT_JUDGED = -1

# Loads that are known to be hard, each with the figure that is judged; of so many seeds the
# worst.
NAMED_SEEDS = (1, 2, 3)
NAMED = {
    "readers-4": ("used", "nvme; 100 64K*64; 4x 100 4K*1 think=800us"),
    "readers-8": ("used", "nvme; 100 64K*64; 8x 100 4K*1 think=800us"),
    "readers-32": ("used", "nvme; 100 64K*64; 32x 100 4K*1 think=800us"),
    "readers-quick": ("used", "nvme; 100 64K*64; 8x 100 4K*1 think=150us"),
    "readers-nested": ("used", "nvme; 100 64K*64; 100(8x 100 4K*1 think=800us)"),
    "readers-levels": (
        "used",
        "nvme; 100 levels(100 64K*64; 8x 400 4K*1 think=800us); 100 64K*64",
    ),
    "small-and-heavy": ("synchronous", "line; 1000 4K*1; 4x 10 1M*4"),
    "small-and-deep": ("used", "line; 1000 4K*1; 4x 10 64K*64"),
    "writer-and-reader": ("used", "flash; 85 512K*1; 230 4K*1 writes=100"),
    "mixed-sizes": ("used", "nvme; 470 4K*12 writes=100 seq; 120 1M*4"),
    "cap-on-ios": ("used", "volume64; 100 256K*16; 100 64K*47; 38 512K*1"),
    "minimum-deep": ("used", "volume64; 100 8K*43 min=100000000; 100 128K*3"),
    "occasional-line": ("synchronous", "line; 50 128K*64; 500 4K*1 think=60ms"),
    "occasional-parallel": ("used", "volume64; 50 128K*64; 500 4K*1 think=60ms"),
    "stall": ("over", "nvme stall=920ms; 4x 100 64K*64"),
}

# So many of the plain loads are also judged with each of these limits instead of an estimate.
FIXED_COUNT = 200
FIXED = [
    (depth, split_kib)
    for depth in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
    for split_kib in (1024, 128, 32)
]
# A limit that uses less of the device does not count.
FILLED = 0.95

SETS = {
    "plain": "only weights are set, on line, cloud, flash, nvme and volume64",
    "all": "every setting is random, on all devices",
    "occasional": "a group with 4 to 64 I/Os, up to three with one each 10 to 300 ms, all devices",
}


class Result(NamedTuple):
    """The verdict on one load; NOT_JUDGED where there is none."""

    nr: int
    used: float
    deep: float
    synchronous: float
    first: float
    none_first: float
    lag_ms: float
    idle: float
    idle_ns: int
    over: int
    load: str

    @property
    def share(self) -> float:
        """Of the worst group, deep or not."""
        shares = [each for each in (self.deep, self.synchronous) if each != NOT_JUDGED]
        return min(shares, default=NOT_JUDGED)

    @property
    def device(self) -> str:
        """Its name, and whether it has slices."""
        words = self.load.partition(";")[0].split()
        return words[0] + (" with slices" if any("slice=" in word for word in words) else "")

    @property
    def is_stalled(self) -> bool:
        """Whether its device stalls."""
        return "stall=" in self.load


def parse(line: str) -> Result:
    """A line that the program has printed."""
    *figures, load = line.split("\t")
    kinds = list(Result.__annotations__.values())
    return Result(*(kind(word) for kind, word in zip(kinds, figures, strict=False)), load)


def build_program(output: Path, *arguments: str) -> Path:
    """Build the program for speed; more arguments are make's.  Returns where it is."""
    if wrong := build(output, *OPTIONS, *arguments, "search"):
        raise SystemExit(f"search does not build:\n{wrong}")
    return output / "search"


def program() -> Path:
    """The program of this tree."""
    output = build_dir("unit-search", UNIT)
    with locked(output.name):
        return build_program(output)


def lines_of(search: Path, *arguments: str) -> list[str]:
    """What the program prints."""
    done = subprocess.run([search, *arguments], text=True, stdout=subprocess.PIPE, check=True)
    return done.stdout.splitlines()


def features(chosen: str) -> list[str]:
    """The options for a set of loads."""
    return [] if chosen == "all" else [f"--{chosen}"]


def judge_many(
    search: Path, options: Iterable[str], count: int, seed: int, workers: ThreadPoolExecutor
) -> list[Result]:
    """The first loads of a seed, judged by as many processes as there are workers."""

    def chunk(begin: int) -> list[Result]:
        size = min(CHUNK, count - begin)
        span = ["--seed", str(seed), "--from", str(begin), "--count", str(size)]
        return [parse(line) for line in lines_of(search, *options, *span)]

    return [one for results in workers.map(chunk, range(0, count, CHUNK)) for one in results]


def judge_load(search: Path, load: str) -> Result:
    """One load."""
    return parse(lines_of(search, "--load", load)[0])


def judge_named(search: Path, name: str) -> Result:
    """A load that has a name: the seed with which it is worst."""
    what, load = NAMED[name]
    device, _, groups = load.partition(";")
    found = [judge_load(search, f"{device} seed={seed};{groups}") for seed in NAMED_SEEDS]
    if what == "over":
        return max(found, key=lambda each: each.over)
    return min(found, key=lambda each: getattr(each, what))


def minimise(search: Path, what: str, load: str) -> Result:
    """The simplest load that is as bad."""
    return parse(lines_of(search, "--minimise", what, "--load", load)[0])


def best_fixed(verdicts: Iterable[Result]) -> Result:
    """Of a load with several limits: the best share of all that fill the device."""
    verdicts = list(verdicts)
    filled = [each for each in verdicts if each.used >= FILLED]
    if filled:
        return max(filled, key=lambda each: each.share)
    return max(verdicts, key=lambda each: each.used)


def judge_fixed(search: Path, count: int, seed: int, workers: ThreadPoolExecutor) -> list[Result]:
    """The first plain loads of a seed, each with its best fixed limit."""
    runs = []
    for depth, split_kib in FIXED:
        limit = ["--depth", str(depth), "--split", str(split_kib)]
        runs.append(judge_many(search, [*features("plain"), *limit], count, seed, workers))
    return [best_fixed(verdicts) for verdicts in zip(*runs, strict=True)]


# ---- the page ----------------------------------------------------------------------


def part(flags: Iterable[bool]) -> float:
    """How many of them are true, as a part of all; NOT_JUDGED of none."""
    judged = list(flags)
    return round(sum(judged) / len(judged), 5) if judged else NOT_JUDGED


def judged(results: Iterable[Result], what: str) -> list[float]:
    """A figure of those loads of which it is known."""
    values = (getattr(each, what) for each in results)
    return [value for value in values if value != NOT_JUDGED]


def below(what: str, bound: float) -> Callable[[list[Result]], float]:
    """The part of the loads in which a figure is below a bound."""
    return lambda results: part(value < bound for value in judged(results, what))


def above(what: str, bound: float) -> Callable[[list[Result]], float]:
    """Or above."""
    return lambda results: part(value > bound for value in judged(results, what))


RATES: dict[str, Callable[[list[Result]], float]] = {
    "device used less than 0.95 of none": below("used", 0.95),
    "device used less than 0.9 of none": below("used", 0.9),
    "a group below 0.8 of its share": below("share", 0.8),
    "a group below 0.5 of its share": below("share", 0.5),
    "a deep group below 0.8": below("deep", 0.8),
    "a deep group below 0.5": below("deep", 0.5),
    "a synchronous group below 0.8": below("synchronous", 0.8),
    "a synchronous group below 0.5": below("synchronous", 0.5),
    "a newcomer's first I/O takes twice its bound": above("first", 2),
    "without control: the same": above("none_first", 2),
    "a newcomer lags by more than 100 ms": above("lag_ms", 100),
    "idle for nothing": above("idle_ns", 0),
    "above the limit, the device stalls": lambda results: part(
        each.over > SPARE for each in results if each.is_stalled
    ),
    "above the limit, it does not": lambda results: part(
        each.over > SPARE for each in results if not each.is_stalled
    ),
}


# A rate meets its goal up to this part of the loads.
GOALS = {
    "device used less than 0.95 of none": 0,
    "a group below 0.8 of its share": 0.01,
    "a deep group below 0.5": 0,
    "idle for nothing": 0,
    "above the limit, the device stalls": 0,
    "above the limit, it does not": 0,
}


def rates(results: list[Result]) -> dict[str, float]:
    """How often something is not as it should be."""
    return {name: rate(results) for name, rate in RATES.items()}


def quantiles(values: Iterable[float]) -> list[list[float]]:
    """The value that so much of all is below, densest where there are few."""
    ordered = sorted(values)
    last = len(ordered)
    places = {max(1, round(last ** (i / POINTS))) for i in range(POINTS + 1)} if last else set()
    return [[ordered[i - 1], round(i / last, 6)] for i in sorted(places)]


def worst(results: list[Result], what: str, count: int) -> list[Result]:
    """The loads with the least of something."""
    known = [each for each in results if getattr(each, what) != NOT_JUDGED]
    return sorted(known, key=lambda each: (getattr(each, what), each.nr))[:count]


def compare(ours: list[Result], fixed: list[Result]) -> dict[str, Any]:
    """The figures of the same loads with the estimator, and each with its best fixed limit."""
    pairs = [pair for pair in zip(ours, fixed, strict=True) if pair[1].share != NOT_JUDGED]
    return {
        "count": len(ours),
        "ours": rates(ours),
        "fixed": rates(fixed),
        "near": part(one.share >= 0.9 * min(best.share, 1) for one, best in pairs),
    }


def describe(results: list[Result]) -> dict[str, Any]:
    """The figures of a set of loads for the page."""
    devices = sorted({each.device for each in results})
    by_device = {name: [each for each in results if each.device == name] for name in devices}
    return {
        "count": len(results),
        "rates": rates(results),
        "devices": {
            name: {
                "count": len(own),
                "least": min(judged(own, "used"), default=NOT_JUDGED),
                "used": below("used", 0.95)(own),
                "share": below("share", 0.8)(own),
                "deep": below("deep", 0.5)(own),
            }
            for name, own in by_device.items()
        },
        "distribution": {
            what: quantiles(judged(results, what)) for what in ("used", "deep", "synchronous")
        },
    }


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table of Markdown: figures to the right, the first column and loads to the left."""
    heads = list(heads)
    sides = ["---" if head in (heads[0], "load") else "---:" for head in heads]
    lines = [heads, sides, *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _ratio(value: float) -> str:
    return "-" if value == NOT_JUDGED else f"{value:.3f}"


def _percent(value: float) -> str:
    return "-" if value == NOT_JUDGED else f"{100 * value:.2f} %"


def _named_rows(document: dict[str, Any]) -> Iterable[list[str]]:
    for name, found in document["named"].items():
        figures = [_ratio(found[key]) for key in ("used", "deep", "synchronous")]
        yield [f"`{found['load']}`", name, *figures, str(found["over"])]


def _verdict(name: str, found: list[float]) -> list[str]:
    """The goal of a rate, and whether every set that is judged meets it."""
    if name not in GOALS:
        return ["", ""]
    goal = f"{100 * GOALS[name]:.0f} %" if GOALS[name] else "none"
    if max(found) == NOT_JUDGED:
        return [goal, "-"]
    return [goal, "met" if max(found) <= GOALS[name] else "missed"]


def rate_rows(sets: dict[str, Any]) -> Iterable[list[str]]:
    """The rates of all sets, each with its goal and whether it is met."""
    for name in RATES:
        found = [each["rates"][name] for each in sets.values()]
        yield [name, *map(_percent, found), *_verdict(name, found)]


def _device_rows(found: dict[str, Any]) -> Iterable[list[str]]:
    for name, own in found["devices"].items():
        yield [
            name,
            str(own["count"]),
            _ratio(own["least"]),
            *(_percent(own[key]) for key in ("used", "share", "deep")),
        ]


FIXED_RATES = (
    "device used less than 0.95 of none",
    "a group below 0.8 of its share",
    "a group below 0.5 of its share",
    "a deep group below 0.8",
    "a deep group below 0.5",
)


def _fixed_part(found: dict[str, Any]) -> str:
    rows = [
        [name, _percent(found["ours"][name]), _percent(found["fixed"][name])]
        for name in FIXED_RATES
    ]
    depths, splits = (sorted(set(each)) for each in zip(*FIXED, strict=True))
    return (
        "## What a fixed limit reaches\n\n"
        "A group that waits for each of its I/Os gets less the more is in flight, and the device\n"
        "does less the less is in flight.  So both goals cannot be met for every load.  The first\n"
        f"{found['count']} plain loads were also judged with fixed limits: {depths[0]} to "
        f"{depths[-1]} in flight\n"
        f"({len(depths)} values), in splits of {', '.join(map(str, splits))} KiB.  Of each load "
        "the table takes the limit\n"
        f"with the best share of the worst group, of all that use {FILLED} of none or more.  No\n"
        "administrator could find it: it is another one for each load.\n\n"
        + table(("of the loads", "the estimate", "the best fixed limit of each"), rows)
        + "\n\nWith the estimate, the share of the worst group is at least 0.9 of that with the "
        f"best fixed\nlimit in {_percent(found['near'])} of the loads (a share above 1 counts as "
        "1)."
    )


WHAT_IS_WORST = {
    "used": "The device is used least",
    "deep": "A group that keeps four I/Os or more outstanding has the least of its share",
    "synchronous": "A group that keeps less outstanding has the least of its share",
}


def _worst_part(document: dict[str, Any]) -> str:
    texts = []
    for what, title in WHAT_IS_WORST.items():
        rows = [
            [f"`{each['load']}`", f"{each['is']:.3f}", f"{each['was']:.3f}"]
            for each in document["worst"][what]
        ]
        texts.append(f"{title}:\n\n" + table(("load", "minimised", "as found"), rows))
    return "\n\n".join(texts)


def _head(document: dict[str, Any]) -> str:
    sets = "\n".join(f"* *{name}*: {text};" for name, text in SETS.items())
    counts = ", ".join(f"{found['count']} {name}" for name, found in document["sets"].items())
    return (
        "# Random loads in the simulator\n\n"
        "The results of the scheduler under random loads: 2 to 12 groups of random weights,\n"
        "flat and nested, 1 to 64 I/Os outstanding, 4 KiB to 1 MiB, think times of 0 to 10 ms;\n"
        "and loads of which most groups are idle most of the time.\n"
        f"Three sets:\n\n{sets[:-1]}.\n\n"
        f"Made by `make search N={document['count']} SEED={document['seed']}`: {counts} loads.\n"
        "The core of the scheduler and its search for a depth run unchanged, on modelled devices\n"
        "in virtual time, in the states in which the module has them.  Each load is simulated\n"
        "with control and without (*none*), each group also by itself.  The oracle knows no\n"
        "heuristic; `tests/unit/sim/judge.h` and `oracle.h` have the definitions with worked\n"
        "numbers.  In short:\n\n"
        "* *Used*: the sum over groups of what each got, divided by what its kind of I/O gets\n"
        "  when it saturates the device alone; by the same sum of *none*.\n"
        "* *Share*: the service of a group divided by its due: its weighted max-min share of all\n"
        "  service, by levels, no more than it gets alone, with its largest I/O of tolerance.\n"
        "  A load is judged by its worst group; *deep* ones keep four I/Os outstanding or more,\n"
        "  on average, *synchronous* ones less.\n"
        "* The bound of a newcomer's first I/O is the time that it takes alone and that of one\n"
        "  largest I/O of each other group.\n"
        "* *Above the limit* counts a device that completes nothing for 0.5 s to 1 s by itself.\n"
        "  One I/O beyond the limit is allowed then (`sched/below.c`).\n\n"
        "The figures include the collapses.  On a modelled disk the order of the seeks is\n"
        "chaotic: with another seed the same load uses the disk up to a tenth more or less.  On\n"
        "the other devices the difference is less than a hundredth.\n"
    )


def page(document: dict[str, Any]) -> str:
    """The page, made of the document."""
    sets = document["sets"]
    parts = [
        _head(document),
        f"![The part of the loads below each value]({NAME}.svg)",
        "## How often\n\n"
        + table(
            ("of the loads that are judged", *sets, "goal, at most", "verdict"), rate_rows(sets)
        ),
    ]
    parts.append(_fixed_part(document["fixed"]))
    heads = ("device", "loads", "least used", "used < 0.95", "a share < 0.8", "deep < 0.5")
    for name, found in sets.items():
        parts.append(f"## By device: {name}\n\n" + table(heads, _device_rows(found)))
    heads = ("load", "name", "used", "deep", "synchronous", "above the limit")
    parts += [
        "## Loads that have a name\n\n"
        "As `search --load` takes them (`tests/unit/sim/load.h` explains the words); of "
        f"{len(NAMED_SEEDS)}\n"
        "seeds, the worst.  The readers are databases beside a backup, the most common load.\n\n"
        + table(heads, _named_rows(document)),
        "## The worst of the plain loads\n\n"
        "The search simplifies each as long as its figure does not improve.  *As found* is the\n"
        "figure before that.\n\n" + _worst_part(document),
    ]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


PLOT = """
set terminal svg size 900,360 font "sans,10" dynamic background "white"
set multiplot layout 1,2
set logscale y
set grid
set key top left
set ylabel "part of the loads below"
set yrange [0.00005:1]
set xlabel "used, by that of none"
set xrange [0:1.2]
plot "$used_plain" with steps lw 2 title "plain", "$used_all" with steps lw 2 title "all", \\
  "$used_occasional" with steps lw 2 title "occasional"
set xlabel "share of the worst group, by what it was due (plain)"
set xrange [0:1.4]
plot "$deep" with steps lw 2 title "deep", "$synchronous" with steps lw 2 title "synchronous"
unset multiplot
"""


def plot(document: dict[str, Any]) -> str:
    """The picture, drawn by gnuplot."""
    blocks = {
        **{f"used_{name}": each["distribution"]["used"] for name, each in document["sets"].items()},
        "deep": document["sets"]["plain"]["distribution"]["deep"],
        "synchronous": document["sets"]["plain"]["distribution"]["synchronous"],
    }
    data = ""
    script = PLOT
    for name, points in blocks.items():
        lines = "\n".join(f"{value} {below}" for value, below in points)
        data += f"${name} << end\n{lines}\nend\n"
        script = script.replace(f'"${name}"', f"${name}")
    done = subprocess.run(
        ["gnuplot"], input=data + script, text=True, stdout=subprocess.PIPE, check=True
    )
    return done.stdout


def publish(document: dict[str, Any], output: Path) -> None:
    """Write the document, the page and the picture."""
    output.mkdir(parents=True, exist_ok=True)
    (output / f"{NAME}.json").write_text(json.dumps(document, indent=1) + "\n")
    (output / f"{NAME}.md").write_text(page(document))
    (output / f"{NAME}.svg").write_text(plot(document))


# ---- the command ----------------------------------------------------------------------------


def _as_named(one: Result) -> dict[str, Any]:
    return {key: getattr(one, key) for key in ("load", "used", "deep", "synchronous", "over")}


def _minimised(search: Path, what: str, one: Result) -> dict[str, Any]:
    simple = minimise(search, what, one.load)
    return {"was": getattr(one, what), "is": getattr(simple, what), "load": simple.load}


def find(search: Path, count: int, seed: int) -> dict[str, Any]:
    """Judge all loads, and make the worst simpler."""
    document: dict[str, Any] = {"count": count, "seed": seed, "sets": {}, "worst": {}}
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as workers:
        for chosen in SETS:
            begin = time.monotonic()
            results = judge_many(search, features(chosen), count, seed, workers)
            took_s = time.monotonic() - begin
            print(f"{count} {chosen} loads in {took_s:.0f} s, {count / took_s:.1f} a second")
            document["sets"][chosen] = describe(results)
            if chosen == "plain":
                plain = results
        few = min(count, FIXED_COUNT)
        document["fixed"] = compare(plain[:few], judge_fixed(search, few, seed, workers))
        named = workers.map(lambda name: judge_named(search, name), NAMED)
        document["named"] = dict(zip(NAMED, map(_as_named, named), strict=True))
        for what in WHAT_IS_WORST:
            found = worst(plain, what, WORST)
            simple = workers.map(lambda one, what=what: _minimised(search, what, one), found)
            document["worst"][what] = list(simple)
    return document


def main() -> None:
    """Judge, print and publish."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=10000, help="loads of each set")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    if options.count < 1:
        parser.error("no loads")
    document = find(program(), options.count, options.seed)
    publish(document, options.output)
    sys.stdout.write(page(document))


if __name__ == "__main__":
    main()
