# SPDX-License-Identifier: GPL-2.0-only
"""The tests' own test: with a mistake in the scheduler or the parser, one of them fails."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cprograms import UNIT
from harness.cache import build_dir
from mutants import (
    AHEAD,
    ARGS,
    BELOW,
    BELOW_H,
    BUCKET,
    CORE,
    CORE_H,
    DEPTH,
    IDLE,
    LATENCY,
    LIVE,
    MATH_H,
    MAX,
    MIN,
    PAUSE,
    SLICE,
    STALL,
    STALL_H,
    TREE,
    TREE_H,
    Mutant,
)
from schemata import DRIVER, Programs, is_in_body, misplaced, trials, with_mutants

# In the order in which they are tried: the quick ones first.
CORE_PROGRAMS = (
    "core_test",
    "turn_test",
    "levels_test",
    "max_test",
    "many_test",
    "slice_test",
    "ahead_test",
    "min_test",
    "sim_test",
    "core_fuzz",
)


def first(*names: str) -> tuple[str, ...]:
    """All of them, with those before the others that are about a source."""
    return (*names, *(name for name in CORE_PROGRAMS if name not in names))


# By source: its mistakes, and the programs of which one must notice each.
SOURCES = {
    "sched/core.c": (CORE, (*CORE_PROGRAMS, "latency_test", "below_test")),
    "sched/tree.c": (TREE, (*CORE_PROGRAMS, "latency_test")),
    "sched/live.c": (LIVE, first("levels_test", "many_test", "core_fuzz")),
    "sched/slice.c": (SLICE, first("turn_test", "levels_test", "slice_test", "ahead_test")),
    "sched/ahead.c": (AHEAD, ("ahead_test", "core_fuzz")),
    "sched/pause.c": (PAUSE, first("turn_test", "max_test")),
    "sched/bucket.c": (BUCKET, first("max_test", "min_test")),
    "sched/max.c": (MAX, first("max_test")),
    "sched/min.c": (MIN, ("min_test", "levels_test", "core_fuzz")),
    "sched/latency.c": (LATENCY, ("latency_test", "many_test")),
    "sched/idle.c": (IDLE, ("idle_test", "core_fuzz")),
    "sched/tree.h": (TREE_H, CORE_PROGRAMS),
    "sched/core.h": (CORE_H, CORE_PROGRAMS),
    "sched/stall.h": (STALL_H, ("stall_test",)),
    "sched/below.h": (BELOW_H, ("below_test",)),
    "sched/math.h": (MATH_H, CORE_PROGRAMS),
    "sched/depth.c": (DEPTH, ("depth_test", "min_test")),
    "sched/stall.c": (STALL, ("stall_test",)),
    "sched/below.c": (BELOW, ("below_test",)),
    "args.c": (ARGS, ("args_say", "args_fuzz")),
}

LONG = pytest.mark.long("hundreds of mutants, each of which runs trials until one notices it")

# So many trials of each program are run without a mutant; the others are before the first
# mutant that needs them.
FEW = 3

# Mutants of the core that no trial may notice: one in a function, and one outside.
HARMLESS = [
    Mutant("harmless", "leaf->inflight++;", "leaf->inflight += 1;"),
    Mutant("harmless-apart", "IOBAND_GRACE_GAPS	2", "IOBAND_GRACE_GAPS	(1 + 1)"),
]

# Each kind of function that mutants may be in.
FUNCTIONS = """\
#include <stdio.h>

struct pair {
	int left, right;
};

static int pong(int n);

static int ping(int n)
{
	return n ? pong(n - 1) + 1 : 0;
}

static int pong(int n)
{
	return n ? ping(n - 1) + 1 : 0;
}

static struct pair next(void)
{
	static int calls;

	calls++;
	return (struct pair){ calls, -calls };
}

static void say(const int numbers[], struct pair (*get)(void))
{
	struct pair pair;

	get();
	pair = get();
	printf("%d %d %d\\n", numbers[0], pair.left, pair.right);
}

int main(void)
{
	const int numbers[] = { ping(3) };

	say(numbers, next);
}
"""
VARIANTS = {
    Mutant("recursion", "pong(n - 1) + 1", "pong(n - 1) + 100"): "201 2 -2",
    Mutant("declared-before", "ping(n - 1) + 1", "ping(n - 1) + 10"): "12 2 -2",
    Mutant("static", "calls++", "calls += 5"): "3 10 -10",
    Mutant("structure", "-calls }", "calls }"): "3 2 2",
    Mutant("void", "	get();\n", ""): "3 1 -1",
    Mutant("in-the-same", "numbers[0], pair.left, pair.right);\n}", "0, 0, 0);\n}"): "0 0 0",
    Mutant("another-call", "ping(3)", "ping(0)"): "0 2 -2",
}


def test_mutants_in_one_binary(tmp_path: Path) -> None:
    mutants = dict(enumerate(VARIANTS, 1))
    assert all(is_in_body(FUNCTIONS, mutant) for mutant in VARIANTS)
    source = tmp_path / "functions.c"
    source.write_text(with_mutants(source.name, FUNCTIONS, mutants))
    program = tmp_path / "functions"
    subprocess.run(["gcc", f"-I{UNIT}", f"-I{UNIT}/shim", "-o", program, source], check=True)
    said = [
        subprocess.run(
            [program],
            env={**os.environ, "IOBAND_MUTANT": str(number)},
            text=True,
            capture_output=True,
            check=True,
        ).stdout.strip()
        for number in (0, *mutants)
    ]
    assert said == ["3 2 -2", *VARIANTS.values()]


@pytest.mark.parametrize("old", ["int left, right;", "}\n\nstatic int pong(int n)\n{", "none"])
def test_mutants_apart(old: str) -> None:
    """A mutant outside of functions, or in two of them, is not in the binary of all."""
    mutant = Mutant("apart", old, "")
    assert not is_in_body(FUNCTIONS, mutant)
    assert "switch" not in with_mutants("functions.c", FUNCTIONS, {1: mutant})


@pytest.mark.parametrize("source", SOURCES)
def test_each_mutant_has_its_place(source: str) -> None:
    if wrong := misplaced(source, SOURCES[source][0]):
        pytest.fail("\n".join(wrong), pytrace=False)


def test_few_mutants_are_apart(record_property: Callable[[str, object], None]) -> None:
    """Each of them costs a build."""
    apart = [
        mutant
        for source, (mutants, _) in SOURCES.items()
        for mutant in mutants
        if not is_in_body((DRIVER / source).read_text(), mutant)
    ]
    count = sum(len(mutants) for mutants, _ in SOURCES.values())
    record_property("summary", f"{len(apart)} of {count} mutants have a build of their own")
    assert len(apart) < count / 20


@pytest.fixture(scope="module")
def with_all(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Programs]:
    """The programs, each with all mutants."""
    mutants = {source: mutants for source, (mutants, _) in SOURCES.items()}
    mutants["sched/core.c"] = [*CORE, *HARMLESS]
    notes = build_dir("mutants", UNIT) / "noticed.json"
    programs = Programs(tmp_path_factory.mktemp("mutants"), mutants, notes)
    yield programs
    programs.save_notes()


@LONG
@pytest.mark.parametrize(
    "program", sorted({program for _, programs in SOURCES.values() for program in programs})
)
def test_no_mistake(program: str, with_all: Programs) -> None:
    for trial in trials(program)[:FEW]:
        with_all.pass_without(trial)


@LONG
@pytest.mark.parametrize("mutant", HARMLESS, ids=lambda mutant: mutant.name)
def test_no_harm(mutant: Mutant, with_all: Programs) -> None:
    assert not with_all.noticed_by("sched/core.c", mutant, ("turn_test",))


@LONG
@pytest.mark.parametrize(
    ("source", "mutant"),
    [
        pytest.param(source, mutant, id=f"{Path(source).stem}-{mutant.name}")
        for source, (mutants, _) in SOURCES.items()
        for mutant in mutants
    ],
)
def test_mistake(source: str, mutant: Mutant, with_all: Programs) -> None:
    assert with_all.noticed_by(source, mutant, SOURCES[source][1])
