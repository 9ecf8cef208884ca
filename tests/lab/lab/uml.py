# SPDX-License-Identifier: GPL-2.0-only
"""One experiment: a User-Mode-Linux kernel that boots, runs a command and ends.

    run_experiment(get_lab_kernel("virtual-time"), work, ["python3", EXPERIMENT])

The guest sees the host's root, read-only.  On top of it are tmpfs on /tmp, /run
and /dev/shm, and the tests' files for guests at /run/tests.  The directory `work` is
writable at /run/lab, where the command starts.  The console is in
work/console.log.

Lookups in the host's root take memory of the guest, and so affect the time of its
writeback.  So both directories are copies, with paths of equal length and depth on
every machine.
"""

import contextlib
import ctypes
import errno
import fcntl
import itertools
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.machine import CMDLINE, end, no_core, spawn
from harness.module import REPO

from .kernel import LabKernel

PLACE = "/tmp/dm-ioband-lab-{:02}"
# The virtual clock always starts at the same time.
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
    kernel: LabKernel, init: Path, scratch: Path, memory_mib: int, *words: str
) -> list[str]:
    """A User-Mode-Linux executable and its arguments; init is the path of the first process."""
    return [
        str(kernel.image),
        f"mem={memory_mib}M",
        "seccomp=on",  # the alternative costs two context switches a page fault
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
    ]


def uml_environment(scratch: Path, memory_mib: int) -> dict[str, str]:
    """The environment of the executable; the guest's memory is in /dev/shm if it fits."""
    memory = str(scratch)
    with contextlib.suppress(FileNotFoundError):
        if shutil.disk_usage("/dev/shm").free > memory_mib << 20:
            memory = "/dev/shm"
    return {"PATH": "/usr/bin:/bin", "HOME": str(scratch), "TMPDIR": memory}


class _Instruction(ctypes.Structure):
    """struct sock_filter."""

    _fields_ = (
        ("code", ctypes.c_uint16),
        ("jt", ctypes.c_uint8),
        ("jf", ctypes.c_uint8),
        ("k", ctypes.c_uint32),
    )


class _Program(ctypes.Structure):
    """struct sock_fprog."""

    _fields_ = (("len", ctypes.c_uint16), ("filter", ctypes.POINTER(_Instruction)))


def without_chance() -> None:
    """Deny getrandom(2) to the kernel about to start, so that its random numbers repeat.

    Tags of requests depend on them.  getrandom(2) in the guest still works, as the guest's
    kernel answers it.
    """
    no_core()
    instructions = (_Instruction * 4)(
        _Instruction(0x20, 0, 0, 0),  # load the number of the system call
        _Instruction(0x15, 0, 1, 318),  # unless it is getrandom (x86-64), skip one
        _Instruction(0x06, 0, 0, 0x00050000 | errno.ENOSYS),  # SECCOMP_RET_ERRNO
        _Instruction(0x06, 0, 0, 0x7FFF0000),  # SECCOMP_RET_ALLOW
    )
    program = _Program(len(instructions), instructions)
    libc = ctypes.CDLL(None, use_errno=True)
    pr_set_no_new_privs, pr_set_seccomp, filter_mode = 38, 22, 2
    if libc.prctl(pr_set_no_new_privs, 1, 0, 0, 0) or libc.prctl(
        pr_set_seccomp, filter_mode, ctypes.byref(program)
    ):
        raise OSError(ctypes.get_errno(), "the host lets no seccomp filter be set")


def _problem(work: Path, rc: int, console: str) -> str:
    """The error, or an empty string."""
    if BAD_END.search(console):
        return "the kernel crashed"
    if rc:
        return f"the kernel ended with code {rc}"
    with contextlib.suppress(FileNotFoundError):
        code = (work / "code").read_text().strip()
        return "" if code == "0" else f"the command ended with code {code}"
    return "the guest ended before its command did"


def for_guests() -> list[Path]:
    """The files of the tests that a guest sees."""
    own = sorted(path for path in (REPO / "tests/lab/guest").iterdir() if path.is_file())
    return [*own, REPO / "tests/vm/harness/guest_mounts.sh"]


@contextlib.contextmanager
def _place(work: Path) -> Iterator[Path]:
    """Lock a directory for this run, with copies of the guest's files.

    At the end, the contents of its `work` are copied back.
    """
    for number in itertools.count():
        place = Path(PLACE.format(number))
        try:
            place.mkdir(mode=0o700, exist_ok=True)
            lock = os.open(place, os.O_RDONLY)
        except PermissionError:  # owned by another user
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            os.close(lock)
    try:
        for name in ("tests", "work"):
            shutil.rmtree(place / name, ignore_errors=True)
        for path in for_guests():
            copy = place / path.relative_to(REPO)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
        shutil.copytree(work, place / "work", symlinks=True)
        try:
            yield place
        finally:
            shutil.copytree(place / "work", work, symlinks=True, dirs_exist_ok=True)
            shutil.rmtree(place / "work")
    finally:
        os.close(lock)


def run_experiment(
    kernel: LabKernel,
    work: Path,
    command: Sequence[str | Path],
    *,
    timeout_s: float = 600,
    memory_mib: int = 512,
) -> None:
    """Run a command in a guest of its own; timeout_s is the host's time."""
    (work / "code").unlink(missing_ok=True)
    (work / "command").write_text(shlex.join(str(word) for word in command) + "\n")
    virtual = kernel.variant == "virtual-time"
    words = (*CMDLINE.split(), *(CLOCK if virtual else ()))
    timed_out = False
    with _place(work) as place, tempfile.TemporaryDirectory(prefix="lab-", dir=place) as name:
        scratch = Path(name)
        inside = place / "work"
        (inside / "init").symlink_to(place / "tests/lab/guest/init")
        proc = spawn(
            uml_argv(kernel, Path("/proc/self/cwd/init"), scratch, memory_mib, *words),
            inside / "console.log",
            without_chance if virtual else no_core,
            cwd=inside,
            env=uml_environment(scratch, memory_mib),
        )
        try:
            proc.wait(timeout_s)
        except subprocess.TimeoutExpired:
            timed_out = True
        finally:
            end(proc)
            (inside / "init").unlink()
    text = (work / "console.log").read_text(errors="replace")
    problem = f"not done in {timeout_s:.0f} s" if timed_out else ""
    problem = problem or _problem(work, proc.returncode, text)
    if problem:
        tail = "\n".join(text.splitlines()[-TAIL_LINES:])
        raise ExperimentError(f"{work.name}: {problem}; its console:\n{tail}")
