# SPDX-License-Identifier: GPL-2.0-only
"""Words of the table line and of messages."""

import subprocess
from pathlib import Path

import pytest
from argument_lines import RIGHT, WRONG_MESSAGES, WRONG_TABLES, Line, mistakes
from cprograms import ENV, UNIT, cases, run_case


@pytest.mark.parametrize(
    ("lines", "at_least"),
    [(WRONG_TABLES, 100), (WRONG_MESSAGES, 100), (RIGHT, 30)],
    ids=["wrong-tables", "wrong-messages", "right"],
)
def test_lines(programs: Path, lines: list[Line], at_least: int) -> None:
    assert len(set(lines)) >= at_least
    if wrong := mistakes(programs / "args_say", lines):
        pytest.fail("\n".join(wrong), pytrace=False)


def test_corpus(programs: Path) -> None:
    """Texts found by libFuzzer; each covers a different path in the parser."""
    lines = (UNIT / "iobandctl/corpus/module.txt").read_text().splitlines()
    assert len(lines) > 100
    texts = b"".join(
        line.encode().decode("unicode_escape").encode("latin-1") + b"\0" for line in lines
    )
    done = subprocess.run(
        [programs / "args_fuzz", "lines"], input=texts, capture_output=True, env=ENV
    )
    assert done.stdout == b"%d lines\n" % texts.count(b"\0"), done.stderr.decode()


@pytest.mark.parametrize("case", cases("args_fuzz"))
def test_fuzz(programs: Path, case: str) -> None:
    if wrong := run_case(programs / "args_fuzz", case):
        pytest.fail(wrong, pytrace=False)
