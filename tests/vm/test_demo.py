# SPDX-License-Identifier: GPL-2.0-only
"""The demonstration reaches its shares, and prints the output that its page shows."""

import re

import pytest
from demo import run
from harness.guest import Guest
from harness.module import REPO
from harness.tool import build_tool


def shown() -> list[str]:
    """The block of the page with its output."""
    page = (REPO / "Documentation/demo.rst").read_text()
    return re.search(r"code-block:: text\n\n((?: {4}.*\n|\n)+)", page)[1].strip().splitlines()


def form(line: str) -> str:
    """A line without its numbers and the length of its bars, which differ each time."""
    line = re.sub(r"#*\.*(?=  ?[\d.]+% of )", "BAR", line)
    return re.sub(r" +", " ", re.sub(r"[-+]?\d+(\.\d+)?", "0", line)).strip()


@pytest.mark.guest(icount=True)  # how busy the host is does not matter
def test_demo(ioband: Guest, capsys: pytest.CaptureFixture[str]) -> None:
    good = run(ioband, build_tool())
    out = capsys.readouterr().out.strip()
    assert good, out
    assert [form(line) for line in out.splitlines()] == [form(line) for line in shown()]
