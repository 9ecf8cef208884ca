# SPDX-License-Identifier: GPL-2.0-only
"""One experiment: a User-Mode-Linux kernel that boots, runs a command and ends.

    run_experiment(get_lab_kernel("virtual-time"), work, ["python3", EXPERIMENT])

The guest sees the host's root, read-only; on top of it lie tmpfs on /tmp, /run
and /dev/shm, the directory `work`, writable, at /run/lab (where the command
starts), and the tests of this repository at /run/tests.  The console is in
work/console.log.
"""

import contextlib
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from harness.machine import CMDLINE, end, spawn
from harness.module import REPO

from .kernel import LabKernel

TESTS = REPO / "tests"
GUEST = TESTS / "lab/guest"
# The virtual clock starts at the same moment always.
START_NS = 1_700_000_000 * 10**9
CLOCK = (
    "time-travel=inf-cpu",
    f"time-travel-start={START_NS}",
    "norandmaps",
    "null_blk.nr_devices=0",
)
BAD_END = re.compile(r"Kernel panic|Oops|BUG: ")
TAIL_LINES = 60


class ExperimentError(RuntimeError):
    """The experiment failed; the text has the end of its console."""


def uml_argv(
    kernel: LabKernel, init: Path, scratch: Path, memory_mib: int, *words: str, **paths: Path
) -> list[str]:
    """A User-Mode-Linux executable and its arguments; paths become lab.NAME=PATH."""
    for path in (init, *paths.values()):
        if re.search(r"[\s,]", str(path)):
            raise ValueError(f"{path}: a kernel's command line takes no blanks and commas in paths")
    return [
        str(kernel.image),
        f"mem={memory_mib}M",
        "seccomp=on",  # the other way costs two context switches a page fault
        "root=/dev/root",
        "rootfstype=hostfs",
        "rootflags=/",
        "ro",
        f"init={init}",
        "con=null",
        "con0=null,fd:1",
        "ssl=null",
        f"uml_dir={scratch}/",
        "umid=lab",
        *words,
        *(f"lab.{name}={path}" for name, path in paths.items()),
    ]


def uml_environment(scratch: Path, memory_mib: int) -> dict[str, str]:
    """What the executable needs; the file with the guest's memory is on no disk if possible."""
    memory = str(scratch)
    with contextlib.suppress(FileNotFoundError):
        if shutil.disk_usage("/dev/shm").free > memory_mib << 20:
            memory = "/dev/shm"
    return {"PATH": "/usr/bin:/bin", "HOME": str(scratch), "TMPDIR": memory}


def _problem(work: Path, rc: int, console: str) -> str:
    """What went wrong, or nothing."""
    if BAD_END.search(console):
        return "the kernel crashed"
    if rc:
        return f"the kernel ended with code {rc}"
    with contextlib.suppress(FileNotFoundError):
        code = (work / "code").read_text().strip()
        return "" if code == "0" else f"the command ended with code {code}"
    return "the guest ended before its command did"


def run_experiment(
    kernel: LabKernel,
    work: Path,
    command: Sequence[str | Path],
    *,
    timeout_s: float = 600,
    memory_mib: int = 512,
) -> None:
    """Run a command in a guest of its own; timeout_s is the host's time."""
    work = work.resolve()
    (work / "code").unlink(missing_ok=True)
    (work / "command").write_text(shlex.join(str(word) for word in command) + "\n")
    console = work / "console.log"
    words = (*CMDLINE.split(), *(CLOCK if kernel.variant == "virtual-time" else ()))
    timed_out = False
    with tempfile.TemporaryDirectory(prefix="lab-") as name:
        scratch = Path(name)
        argv = uml_argv(kernel, GUEST / "init", scratch, memory_mib, *words, work=work, tests=TESTS)
        proc = spawn(argv, console, env=uml_environment(scratch, memory_mib))
        try:
            proc.wait(timeout_s)
        except subprocess.TimeoutExpired:
            timed_out = True
        finally:
            end(proc)
    text = console.read_text(errors="replace")
    problem = f"not done in {timeout_s:.0f} s" if timed_out else ""
    problem = problem or _problem(work, proc.returncode, text)
    if problem:
        tail = "\n".join(text.splitlines()[-TAIL_LINES:])
        raise ExperimentError(f"{work.name}: {problem}; its console:\n{tail}")
