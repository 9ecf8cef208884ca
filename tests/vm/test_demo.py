# SPDX-License-Identifier: GPL-2.0-only
"""The demonstration comes out as it promises, and shows what the README shows."""

import re

import pytest
from demo import run
from harness.guest import Guest
from harness.module import REPO
from harness.tool import build_tool


def shown() -> list[str]:
    """The block of the README with its output."""
    blocks = (REPO / "README.md").read_text().split("\n```\n")
    return next(block for block in blocks if "Three cgroups compete" in block).splitlines()


def form(line: str) -> str:
    """A line without what differs each time: numbers, and how long bars are."""
    line = re.sub(r"#*\.*(?=  ?[\d.]+% of )", "BAR", line)
    return re.sub(r" +", " ", re.sub(r"[-+]?\d+(\.\d+)?", "0", line)).strip()


def test_demo(ioband: Guest, capsys: pytest.CaptureFixture[str]) -> None:
    good = run(ioband, build_tool())
    out = capsys.readouterr().out.strip()
    assert good, out
    assert [form(line) for line in out.splitlines()] == [form(line) for line in shown()]
