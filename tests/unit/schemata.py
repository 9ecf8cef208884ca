# SPDX-License-Identifier: GPL-2.0-only
"""Programs that contain all mutants; IOBAND_MUTANT in the environment selects one.

A function body that mutants change becomes a switch over its variants:

    {
        switch (mutant) {
        case 7: { the body with mutant 7 } break;
        default: { the body }
        }
    }

The function's head stays, so calls, recursion and prototypes need no change.  A mutant
outside of function bodies, as in a macro or a table, has a build of its own.
"""

import json
import re
import resource
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from argument_lines import RIGHT, WRONG_MESSAGES, WRONG_TABLES, mistakes
from cprograms import ENV, UNIT, build, cases, run_case
from mutants import Mutant

DRIVER = UNIT.parents[1] / "drivers/md/dm-ioband"
# In kernel style, braces alone in column 0 enclose the body of a function.
BODY = re.compile(r"^\{\n.*?^\}\n", re.MULTILINE | re.DOTALL)
# Sanitizers would only slow the programs down; a mutant may leave variables unused.
PLAINLY = ("SANITIZE=", "CFLAGS=-O1 -w")
# A trial that takes longer waits until the others have found nothing.
QUICK_S = 0.2


class Trial(NamedTuple):
    """A case of a program; that program as a whole if it has no name."""

    program: str
    case: str


def trials(program: str) -> list[Trial]:
    """All trials of a program, as its source lists them."""
    return [Trial(program, case) for case in ([""] if program == "args_say" else cases(program))]


def run(output: Path, trial: Trial, number: int, cpu_s: int) -> str | list[str] | None:
    """Run a trial with a mutant active; none has the number 0.  Returns the fault, or None."""
    program = output / trial.program
    env = {**ENV, "IOBAND_MUTANT": str(number)}
    if trial.case:
        return run_case(program, trial.case, cpu_s, env)
    return mistakes(program, [*WRONG_TABLES, *WRONG_MESSAGES, *RIGHT], env)


def misplaced(source: str, mutants: list[Mutant]) -> list[str]:
    """Mutants that replace what a source does not have exactly once."""
    text = (DRIVER / source).read_text()
    return [
        f"{mutant.name}: {source} has {text.count(mutant.old)} times {mutant.old!r}"
        for mutant in mutants
        if text.count(mutant.old) != 1
    ]


def is_in_body(text: str, mutant: Mutant) -> bool:
    """Whether all that a mutant replaces is in the body of one function."""
    return any(mutant.old in body for body in BODY.findall(text))


def with_mutants(name: str, text: str, mutants: dict[int, Mutant]) -> str:
    """A source that contains mutants, by number; in its variants the compiler sees their names."""

    def switch(match: re.Match[str]) -> str:
        body = match[0]
        variants = [
            f'\tcase {number}:\n#line 1 "{mutant.name}"\n'
            f"{body.replace(mutant.old, mutant.new)}\tbreak;\n"
            for number, mutant in mutants.items()
            if mutant.old in body
        ]
        if not variants:
            return body
        line = text.count("\n", 0, match.start()) + 1
        plain = f'\tdefault:\n#line {line} "{name}"\n{body}'
        return f"{{\n\tswitch (mutant) {{\n{''.join(variants)}{plain}\t}}\n}}\n"

    return f'#include "mutant.h"\n#line 1 "{name}"\n{BODY.sub(switch, text)}'


class Programs:
    """The unit tests' programs with the mutants of all sources; each is built when needed.

    Which trial noticed a mutant is noted in a file, and tried first the next time.
    """

    def __init__(self, directory: Path, sources: dict[str, list[Mutant]], notes: Path):
        self.directory = directory
        self.notes = notes
        self.noticed = json.loads(notes.read_text()) if notes.exists() else {}
        self.numbers: dict[tuple[str, Mutant], int] = {}
        self.built: set[tuple[Path, str]] = set()
        self.seconds: dict[Trial, float] = {}
        driver = shutil.copytree(DRIVER, directory / "driver")
        for source, mutants in sources.items():
            numbered = dict(enumerate(mutants, len(self.numbers) + 1))
            self.numbers |= {(source, mutant): number for number, mutant in numbered.items()}
            text = (driver / source).read_text()
            (driver / source).write_text(with_mutants(source, text, numbered))

    def save_notes(self) -> None:
        """Write down which trials have noticed mutants."""
        new = self.notes.with_suffix(".new")
        new.write_text(json.dumps(self.noticed, indent=1))
        new.replace(self.notes)

    def pass_without(self, trial: Trial) -> float:
        """Run a trial without a mutant, which has to pass.  Returns its seconds of a processor."""
        if trial not in self.seconds:
            output = self._build(self.directory, trial.program)
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            if wrong := run(output, trial, 0, 300):
                raise ValueError(f"{trial.program} without a mutant: {wrong}")
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            self.seconds[trial] = after.ru_utime - before.ru_utime
        return self.seconds[trial]

    def noticed_by(self, source: str, mutant: Mutant, programs: tuple[str, ...]) -> Trial | None:
        """The first trial of some programs that fails with a mutant, if there is one."""
        if wrong := misplaced(source, [mutant]):
            raise ValueError(wrong[0])
        name = f"{source} {mutant.name}"
        together = is_in_body((DRIVER / source).read_text(), mutant)
        directory = self.directory if together else None
        for trial in self._in_order(programs, self.noticed.get(name)):
            # A mutant that makes a trial take so much longer has made it endless.
            cpu_s = int(3 + 3 * self.pass_without(trial))
            directory = directory or self._set_apart(source, mutant)
            output = self._build(directory, trial.program)
            if run(output, trial, self.numbers[source, mutant], cpu_s):
                self.noticed[name] = trial
                return trial
        return None

    def _in_order(self, programs: tuple[str, ...], noticed: list[str] | None) -> Iterator[Trial]:
        """All trials of the programs: the quick ones of each first, then the slow ones."""
        every = [trial for program in programs for trial in trials(program)]
        if noticed and Trial(*noticed) in every:
            yield Trial(*noticed)
        slow = [trial for trial in every if self.pass_without(trial) > QUICK_S]
        yield from (trial for trial in every if trial not in slow)
        yield from sorted(slow, key=self.pass_without)

    def _build(self, directory: Path, program: str) -> Path:
        """Build a program from a directory's sources.  Returns where it is."""
        output = directory / "built"
        if (directory, program) not in self.built:
            if wrong := build(output, *PLAINLY, f"SRC={directory / 'driver'}", program):
                raise ValueError(f"{program} does not build:\n{wrong}")
            self.built.add((directory, program))
        return output

    def _set_apart(self, source: str, mutant: Mutant) -> Path:
        """Make the one mutant in a copy of the driver, and of the build.  Returns its directory."""
        directory = self.directory / str(self.numbers[source, mutant])
        shutil.copytree(self.directory / "built", directory / "built")
        driver = shutil.copytree(self.directory / "driver", directory / "driver")
        text = (DRIVER / source).read_text()
        (driver / source).write_text(text.replace(mutant.old, mutant.new))
        if source.endswith(".h"):  # which make does not see in another place
            for each in driver.rglob("*.c"):
                each.touch()
        return directory
