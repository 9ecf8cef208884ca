# SPDX-License-Identifier: GPL-2.0-only
"""The C programs of the unit tests: built by the Makefile here, run case by case."""

import os
import re
import signal
import subprocess
from pathlib import Path

UNIT = Path(__file__).resolve().parent
ENV = {
    **os.environ,
    "ASAN_OPTIONS": "detect_leaks=1:abort_on_error=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}
# A limit for a case on a very busy machine.
STARVED_S = 6000


def build(output: Path, *arguments: str) -> str | None:
    """Build the programs; more arguments are make's.  Returns the errors, or None."""
    command = ["make", "-s", "-C", UNIT, f"O={output}", *arguments]
    done = subprocess.run(command, text=True, capture_output=True)
    return f"{done.stdout}{done.stderr}" if done.returncode else None


def cases(program: str) -> list[str]:
    """Names of the cases of a program, as its source lists them."""
    source = (UNIT / f"{program}.c").read_text()
    return re.findall(r"^\t\tTEST\((\w+)\),$", source, re.MULTILINE)


def run_case(program: Path, case: str, cpu_s: int = 300, env: dict[str, str] = ENV) -> str | None:
    """Run one case, with a limit on its processor time.  Returns the errors, or None.

    The hard limit lies above the soft limit: the signal of that one is in the result.
    """
    done = subprocess.run(
        ["prlimit", f"--cpu={cpu_s}:{cpu_s + 5}", program, case],
        env=env,
        text=True,
        errors="replace",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=STARVED_S,
    )
    if done.returncode == -signal.SIGXCPU:
        return f"{case}: no end after {cpu_s} s of a processor"
    if done.returncode or not re.search(r"PASSED  \] [1-9]", done.stdout):
        return f"{case}: exit status {done.returncode}\n{done.stdout}"
    return None
