# SPDX-License-Identifier: GPL-2.0-only
"""The machine below a guest: a process on the host, and a socket to the agent in it."""

import contextlib
import os
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
GUEST_INIT = HERE / "guest_init.sh"
GUEST_LV_ROOT = HERE / "guest_lv_root.sh"
DIE_WITH_US = ("setpriv", "--pdeathsig", "KILL")
# An oops ends the guest; its console has the message.
CMDLINE = "loglevel=5 panic=-1 oops=panic"


class UnsupportedError(RuntimeError):
    """This kind of machine lacks a requested option; the text says why."""


@dataclass(frozen=True)
class Options:
    """Properties of a guest.

    systemd makes systemd its first process, which then owns the cgroups.  With
    parallel its processors run at once, on as many of the host's.  Otherwise they take
    turns on one, every 0.1 s and whenever one of them idles or spins.  Thereby
    guests side by side do not wait for processors that the host has taken away.
    With secure_boot its firmware starts only signed programs, and so does the kernel.
    plugin observes what its processors execute (QEMU only): a file, and arguments.
    """

    smp: int = 2
    parallel: bool = False
    memory_mib: int = 1024
    icount: bool = False
    cgroup: str = "v2"
    systemd: bool = False
    secure_boot: bool = False
    plugin: str = ""
    cmdline: str = ""
    disks_mib: Sequence[int] = ()


def no_core() -> None:
    """Forbid core dumps: the core of a machine would be its whole memory."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def spawn(
    argv: Sequence[str], log: Path, before: Callable[[], None] = no_core, **options: Any
) -> subprocess.Popen[bytes]:
    """Start a machine, in a session of its own that ends with this process.

    before is called in the new process.
    """
    with open(log, "wb") as out:
        return subprocess.Popen(
            [*DIE_WITH_US, *argv],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
            preexec_fn=before,
            **options,
        )


def end(proc: subprocess.Popen[bytes]) -> None:
    """Kill a machine with all its processes."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(proc.pid, signal.SIGKILL)
    proc.wait()


class Machine:
    """A running machine; subclasses start it and set proc, console and log."""

    proc: subprocess.Popen[bytes]
    console: Path
    log: Path
    line_bytes = sys.maxsize  # a longer request goes to the agent in a file
    patience = 1  # factor for all timeouts

    def __init__(self, kernel: Any, options: Options, directory: Path, agent: socket.socket):
        """Start a kernel; the socket is its agent's, directory is for the machine's files."""
        raise NotImplementedError

    def run(self, running: bool) -> None:
        """Let the guest's time pass or stop it, if the machine can."""

    def start_again(self, root: str, initramfs: Path | None, agent: socket.socket) -> None:
        """End it if it runs, and start it again with the same disks.

        root is a volume or empty; initramfs finds that volume, or is None for the usual one.
        """
        raise UnsupportedError("this machine does not reboot")

    def press(self, key: str) -> None:
        """Press a key of its keyboard."""
        raise UnsupportedError("this machine has no keyboard")

    def plug(self, name: str, size_mib: int, bus: str, mbps: int = 0) -> None:
        """Plug a disk in while the guest runs; the disk of that name still has its data."""
        raise UnsupportedError("virtual disks are there in QEMU only")

    def unplug(self, name: str) -> None:
        """Pull a disk out that was plugged in."""
        raise UnsupportedError("virtual disks are there in QEMU only")

    def blank(self, name: str) -> None:
        """Replace a disk that was pulled out by an empty one."""
        raise UnsupportedError("virtual disks are there in QEMU only")

    def close(self) -> None:
        """End it."""
        end(self.proc)
