# SPDX-License-Identifier: GPL-2.0-only
"""The commands of a document with their expected output, in the order of the document.

Commands are in blocks ".. code-block:: console": "# " begins a command, "> " continues it,
and the lines below are its output.  There "..." stands for any text, on a line of its own
for any lines.  A number with a decimal point is a measured share, with the tolerance that
the document states.  All other text has to match, apart from blanks.
"""

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from .cache import progress
from .guest import CommandError

BLOCK = ".. code-block:: console"
INDENT = "    "
ANY = "..."
# Queries for a passing state, or for a state that takes a moment.
QUERY = re.compile(r"iobandctl (top|explain|groups|get-weight)\b")
LOOKS = 5
WORD = re.compile(r"(\.\.\.|(?<![\d.])\d+\.\d+(?![\d.]))")


def dead_links(page: Path) -> list[str]:
    """The links of a page to files that do not exist."""
    links = re.findall(r"`[^`<]+<([\w./-]+)>`_|\]\(([\w./-]+)\)", page.read_text())
    return [
        rst or markdown for rst, markdown in links if not (page.parent / (rst or markdown)).exists()
    ]


@dataclass(frozen=True)
class Step:
    """A command, its expected output, and its place in the document."""

    command: str
    prints: tuple[str, ...]
    where: str


def _blocks(lines: list[str]) -> Iterator[tuple[int, list[str]]]:
    """The content of blocks, with the number of its first line."""
    number = 0
    while number < len(lines):
        number += 1
        if lines[number - 1] != BLOCK:
            continue
        first = number + 1
        number = first
        while number < len(lines) and (not lines[number] or lines[number].startswith(INDENT)):
            number += 1
        yield first + 1, [line.removeprefix(INDENT) for line in lines[first:number]]


def read_steps(document: Path) -> list[Step]:
    """All commands of a document."""
    steps = []
    for first, lines in _blocks(document.read_text().splitlines()):
        while lines and not lines[-1]:
            lines.pop()
        starts = [at for at, line in enumerate(lines) if line.startswith("# ")]
        if starts[:1] != [0]:
            raise ValueError(f"{document.name}:{first}: a block begins with a command")
        for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
            rest = start + 1
            while rest < end and lines[rest].startswith(">"):
                rest += 1
            command = [lines[start][2:], *(line[2:] for line in lines[start + 1 : rest])]
            where = f"{document.name}:{first + start}"
            steps.append(Step("\n".join(command), tuple(lines[rest:end]), where))
    return steps


def _pattern(line: str) -> str:
    """A regular expression for a line and its end, with a group for each share."""
    if line.strip() == ANY:
        return r"(?:.*\n)*?"
    parts = []
    for at, word in enumerate(WORD.split(" ".join(line.split()))):
        if at % 2 == 0:
            parts.append(re.escape(word))
        else:
            parts.append(".*" if word == ANY else r"(\d+\.\d+)")
    return "".join(parts) + r"\n"


def disagreement(step: Step, printed: str, tolerance: float) -> str | None:
    """The difference of the output from the document, or None."""
    text = "".join(f"{' '.join(line.split())}\n" for line in printed.splitlines())
    found = re.fullmatch("".join(_pattern(line) for line in step.prints), text)
    if not found:
        return "it is to print\n" + "\n".join(step.prints) + f"\nand prints\n{printed}"
    shares = [float(word) for line in step.prints for word in WORD.findall(line) if word != ANY]
    for promised, got in zip(shares, map(float, found.groups()), strict=True):
        if abs(promised - got) > tolerance:
            return f"{got} is to be {promised} by {tolerance} at most:\n{printed}"
    return None


def _problem(step: Step, run: Callable[[str], str], tolerance: float) -> str | None:
    try:
        return disagreement(step, run(step.command), tolerance)
    except CommandError as err:
        return str(err)


def follow(step: Step, run: Callable[[str], str], tolerance: float = 0) -> None:
    """Run a step; fails if the output differs from the document.

    run runs a command and returns its output.  Queries are repeated.
    """
    progress(f"{step.where}: {step.command.splitlines()[0]}")
    problem = _problem(step, run, tolerance)
    for _ in range(LOOKS - 1 if QUERY.match(step.command) else 0):
        if problem:
            time.sleep(0.5)
            problem = _problem(step, run, tolerance)
    if problem:
        pytest.fail(f"{step.where}: # {step.command}\n{problem}", pytrace=False)
