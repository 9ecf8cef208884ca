# SPDX-License-Identifier: GPL-2.0-only
"""The checks of "make check", one test each."""

import subprocess
from collections import Counter
from pathlib import Path

import pytest
from harness.packages import versions

REPO = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("check", ["check-c", "check-checkpatch", "check-python", "check-shell"])
def test_style(check: str) -> None:
    done = subprocess.run(["make", "-s", check], cwd=REPO, text=True, capture_output=True)
    if done.returncode:
        pytest.fail(f"make {check}:\n{done.stdout}{done.stderr}", pytrace=False)


def test_one_version() -> None:
    assert len(set(versions().values())) == 1, versions()


def test_names_of_tests() -> None:
    """pytest takes a file for a module of its name alone, and collects one of two namesakes."""
    names = Counter(path.name for path in (REPO / "tests").rglob("test_*.py"))
    assert [name for name, count in names.items() if count > 1] == []
