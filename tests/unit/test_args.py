# SPDX-License-Identifier: GPL-2.0-only
"""Words of the table line and of messages."""

from pathlib import Path

import pytest
from argument_lines import RIGHT, WRONG_MESSAGES, WRONG_TABLES, Line, mistakes
from cprograms import cases, run_case


@pytest.mark.parametrize(
    ("lines", "at_least"),
    [(WRONG_TABLES, 100), (WRONG_MESSAGES, 100), (RIGHT, 30)],
    ids=["wrong-tables", "wrong-messages", "right"],
)
def test_lines(programs: Path, lines: list[Line], at_least: int) -> None:
    assert len(set(lines)) >= at_least
    if wrong := mistakes(programs / "args_say", lines):
        pytest.fail("\n".join(wrong), pytrace=False)


@pytest.mark.parametrize("case", cases("args_fuzz"))
def test_fuzz(programs: Path, case: str) -> None:
    if wrong := run_case(programs / "args_fuzz", case):
        pytest.fail(wrong, pytrace=False)
