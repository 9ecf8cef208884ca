# SPDX-License-Identifier: GPL-2.0-only
"""The tests' own test: with a mistake in the scheduler or the parser, one of them fails."""

from pathlib import Path

import pytest
from mutants import ARGS, CAP, CORE, DEPTH, SLICE, TREE, Mutant, build_base, survives

CORE_PROGRAMS = ("core_test", "core_fuzz", "many_test", "sim_test", "slice_test")
DEPTH_PROGRAMS = ("depth_test",)
ARGS_PROGRAMS = ("args_say", "args_fuzz")


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("base")
    if wrong := build_base(output):
        pytest.fail(f"the unit tests do not build:\n{wrong}", pytrace=False)
    return output


@pytest.mark.parametrize(
    ("source", "programs"),
    [
        ("dm-ioband-core.c", CORE_PROGRAMS),
        ("dm-ioband-slice.c", CORE_PROGRAMS),
        ("dm-ioband-cap.c", CORE_PROGRAMS),
        ("dm-ioband-depth.c", DEPTH_PROGRAMS),
        ("dm-ioband-args.c", ARGS_PROGRAMS),
    ],
)
def test_no_mistake(source: str, programs: tuple[str, ...], base: Path, tmp_path: Path) -> None:
    first_line = "// SPDX-License-Identifier"
    assert survives(Mutant("none", first_line, first_line), source, programs, base, tmp_path)


@pytest.mark.parametrize("mutant", CORE, ids=[mutant.name for mutant in CORE])
def test_core(mutant: Mutant, base: Path, tmp_path: Path) -> None:
    assert not survives(mutant, "dm-ioband-core.c", CORE_PROGRAMS, base, tmp_path)


@pytest.mark.parametrize("mutant", SLICE, ids=[mutant.name for mutant in SLICE])
def test_slice(mutant: Mutant, base: Path, tmp_path: Path) -> None:
    assert not survives(mutant, "dm-ioband-slice.c", CORE_PROGRAMS, base, tmp_path)


@pytest.mark.parametrize("mutant", CAP, ids=[mutant.name for mutant in CAP])
def test_cap(mutant: Mutant, base: Path, tmp_path: Path) -> None:
    assert not survives(mutant, "dm-ioband-cap.c", CORE_PROGRAMS, base, tmp_path)


@pytest.mark.parametrize("mutant", TREE, ids=[mutant.name for mutant in TREE])
def test_tree(mutant: Mutant, base: Path, tmp_path: Path) -> None:
    assert not survives(mutant, "dm-ioband-tree.h", CORE_PROGRAMS, base, tmp_path)


@pytest.mark.parametrize("mutant", DEPTH, ids=[mutant.name for mutant in DEPTH])
def test_depth(mutant: Mutant, base: Path, tmp_path: Path) -> None:
    assert not survives(mutant, "dm-ioband-depth.c", DEPTH_PROGRAMS, base, tmp_path)


@pytest.mark.parametrize("mutant", ARGS, ids=[mutant.name for mutant in ARGS])
def test_args(mutant: Mutant, base: Path, tmp_path: Path) -> None:
    assert not survives(mutant, "dm-ioband-args.c", ARGS_PROGRAMS, base, tmp_path)
