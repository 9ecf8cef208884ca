# SPDX-License-Identifier: GPL-2.0-only
"""The tests' own test: with a mistake in the scheduler or the parser, one of them fails."""

from pathlib import Path

import pytest
from mutants import ARGS, CORE, DEPTH, Mutant, build_base, survives

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
        ("dm-ioband-depth.c", DEPTH_PROGRAMS),
        ("dm-ioband-args.c", ARGS_PROGRAMS),
    ],
)
def test_no_mistake(source: str, programs: tuple[str, ...], base: Path, tmp_path: Path) -> None:
    own_header = f'#include "{source[:-1]}h"'
    assert survives(Mutant("none", own_header, own_header), source, programs, base, tmp_path)


@pytest.mark.parametrize("mutant", CORE, ids=[mutant.name for mutant in CORE])
def test_core(mutant: Mutant, base: Path, tmp_path: Path) -> None:
    assert not survives(mutant, "dm-ioband-core.c", CORE_PROGRAMS, base, tmp_path)


@pytest.mark.parametrize("mutant", DEPTH, ids=[mutant.name for mutant in DEPTH])
def test_depth(mutant: Mutant, base: Path, tmp_path: Path) -> None:
    assert not survives(mutant, "dm-ioband-depth.c", DEPTH_PROGRAMS, base, tmp_path)


@pytest.mark.parametrize("mutant", ARGS, ids=[mutant.name for mutant in ARGS])
def test_args(mutant: Mutant, base: Path, tmp_path: Path) -> None:
    assert not survives(mutant, "dm-ioband-args.c", ARGS_PROGRAMS, base, tmp_path)
