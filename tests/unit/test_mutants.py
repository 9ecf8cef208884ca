# SPDX-License-Identifier: GPL-2.0-only
"""The tests' own test: with a mistake in the scheduler or the parser, one of them fails."""

from pathlib import Path

import pytest
from mutants import (
    AHEAD,
    AIM,
    ARGS,
    CAP,
    CORE,
    DEPTH,
    FLOOR,
    METER,
    PAUSE,
    SLICE,
    TREE,
    Base,
    Mutant,
    build_base,
    survives,
)

# In the order in which they are tried: the quick ones first.
CORE_PROGRAMS = (
    "core_test",
    "turn_test",
    "levels_test",
    "cap_test",
    "many_test",
    "slice_test",
    "ahead_test",
    "floor_test",
    "sim_test",
    "core_fuzz",
)


def first(*names: str) -> tuple[str, ...]:
    """All of them, with those before the others that are about a source."""
    return (*names, *(name for name in CORE_PROGRAMS if name not in names))


# So many trials show that a program without a mistake passes when it is built like the others.
FEW = 4

# By source: its mistakes, and the programs of which one must notice each.
SOURCES = {
    "dm-ioband-core.c": (CORE, (*CORE_PROGRAMS, "aim_test")),
    "dm-ioband-slice.c": (SLICE, first("turn_test", "levels_test", "slice_test", "ahead_test")),
    "dm-ioband-ahead.c": (AHEAD, ("ahead_test", "core_fuzz")),
    "dm-ioband-pause.c": (PAUSE, first("turn_test", "cap_test")),
    "dm-ioband-meter.c": (METER, first("cap_test", "floor_test")),
    "dm-ioband-cap.c": (CAP, first("cap_test")),
    "dm-ioband-floor.c": (FLOOR, ("floor_test", "levels_test", "core_fuzz")),
    "dm-ioband-aim.c": (AIM, ("aim_test",)),
    "dm-ioband-tree.h": (TREE, CORE_PROGRAMS),
    "dm-ioband-depth.c": (DEPTH, ("depth_test",)),
    "dm-ioband-args.c": (ARGS, ("args_say", "args_fuzz")),
}


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Base:
    programs = {program for _, chosen in SOURCES.values() for program in chosen}
    return build_base(tmp_path_factory.mktemp("base"), programs)


@pytest.mark.long("the programs are built anew")
@pytest.mark.parametrize("source", SOURCES)
def test_no_mistake(source: str, base: Base, tmp_path: Path) -> None:
    """The same way, the first few trials; all of them are run for the base."""
    first_line = "SPDX-License-Identifier"
    trials = base.in_order(SOURCES[source][1])[:FEW]
    assert survives(Mutant("none", first_line, first_line), source, trials, base, tmp_path)


@pytest.mark.long("the programs are built anew for each of the mistakes")
@pytest.mark.parametrize(
    ("source", "mutant"),
    [
        pytest.param(
            source, mutant, id=f"{Path(source).stem.removeprefix('dm-ioband-')}-{mutant.name}"
        )
        for source, (mutants, _) in SOURCES.items()
        for mutant in mutants
    ],
)
def test_mistake(source: str, mutant: Mutant, base: Base, tmp_path: Path) -> None:
    trials = base.in_order(SOURCES[source][1])
    assert not survives(mutant, source, trials, base, tmp_path)
