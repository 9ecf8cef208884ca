# SPDX-License-Identifier: GPL-2.0-only
"""A running kernel, with the host's root below it and an agent inside.

    with Guest(get_kernel("6.1")) as guest:
        print(guest.run("dmsetup version").out)

There are two clocks.  By default the guest's time is the host's.  With icount=True it
is the number of executed instructions, one nanosecond each, on one CPU.  An idle guest
jumps to its next timer.  Measurements therefore do not depend on the load of the host, and
repeat almost exactly.  Guest time passes only while the host waits for a request: wait
with guest.sleep(), never with time.sleep().  A guest that waits for its host (for a file
that it has not read yet) is idle too, so seconds may pass between two commands.
"""

import argparse
import base64
import contextlib
import itertools
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from .cache import cache_dir, progress, prune
from .kernels import SUITES, BuildTarget, get_kernel, own_kernel_name
from .machine import Machine, Options
from .qemu import Qemu
from .thin_fio import fio_environment

BOOT_TIMEOUT_S = 300
ANSWER_TIMEOUT_S = 60
SHARE = "/run/share"

_instance = itertools.count(1)


class GuestError(RuntimeError):
    """An error in the guest."""


class CommandError(GuestError):
    """A command in the guest ended with another code than 0."""


class GuestTimeout(GuestError):
    """A command did not end in its time; it was killed, the guest is usable."""


class GuestDied(GuestError):
    """The guest panicked, hung or ended; the text has the end of its console."""


@dataclass(frozen=True)
class Result:
    """How a command ended."""

    rc: int
    out: str
    err: str


@dataclass(frozen=True)
class Sample:
    """Content of files by path, and when they were read (guest's clock)."""

    at_ms: float
    texts: dict[str, str]


class Job:
    """A command that runs in the guest beside the host's process."""

    def __init__(self, guest: "Guest", number: int, argv: Sequence[str]):
        self._guest = guest
        self.number = number
        self.argv = argv
        self.pid = 0

    def poll(self) -> Result | None:
        """The result if the command has ended, else None."""
        self._guest.sync()
        return self._guest.results.get(self.number)

    def wait(self, timeout: float = 60, check: bool = True) -> Result:
        """Wait for the end; a command that takes longer (host seconds) is killed."""
        result = self._guest.wait_job(self, timeout)
        if check and result.rc:
            text = (result.out[-2000:] + result.err[-4000:]).strip()
            raise CommandError(f"{' '.join(self.argv)}: exit code {result.rc}: {text}")
        return result

    def kill(self, signum: int = signal.SIGKILL) -> None:
        """Send a signal to the command and its children."""
        self._guest.request("kill", job=self.number, signum=signum)


class Guest:
    """A running virtual machine; close() or the end of "with" ends it.

    options are those of harness.machine.Options.
    """

    def __init__(self, kernel: BuildTarget, machine: type[Machine] = Qemu, **options: Any):
        self.kernel = kernel
        self.options = Options(**options)
        self.results: dict[int, Result] = {}
        self.alive = False
        self.expected: list[str] = []
        self.said: list[str] = []  # by the kernel; the fixture clears it
        self.death_expected = False
        self.got_disks = False  # disks plugged in since its first boot may be left
        self.boot_state = ""
        self._answers: dict[int, dict[str, Any]] = {}
        self._numbers = itertools.count(1)
        self._dir = cache_dir("run", f"{kernel.name}-{os.getpid()}-{next(_instance)}")
        self.share = self._dir / "share"
        self.share.mkdir()
        prune(self._dir.parent)
        try:
            self._machine = self._connect(partial(machine, kernel, self.options, self._dir))
        except BaseException:
            shutil.rmtree(self._dir)
            raise
        self.console = self._machine.console
        self.alive = True
        try:
            self._await_boot()
        except BaseException:
            self.close()
            raise

    def _connect(self, start: Callable[[socket.socket], Any]) -> Any:
        """Start a machine with a socket to this process; returns what start does."""
        self._pending = b""
        self._socket, theirs = socket.socketpair()
        try:
            with theirs:
                return start(theirs)
        except BaseException:
            self._socket.close()
            raise

    def _await_boot(self) -> None:
        try:
            self._receive_until(lambda: 0 in self._answers, BOOT_TIMEOUT_S, "to boot")
        except TimeoutError:
            seconds = BOOT_TIMEOUT_S * self.patience
            raise self._died(f"did not boot in {seconds:.0f} s") from None
        self._running(False)
        del self._answers[0]
        if self.options.systemd:
            self.boot_state = self.request("booted", answer_s=BOOT_TIMEOUT_S)

    def reboot(
        self,
        *,
        cut: bool = False,
        root: str = "",
        initramfs: Path | None = None,
        dialogue: Callable[[Machine], None] | None = None,
    ) -> None:
        """Boot again with the same disks, in good order, or (cut) as after a power cut.

        The root is as it was at the first boot, or ("VG/LV") on a logical volume with a
        file system; share/root is laid over it.  initramfs is one of Debian's, in place of
        the laboratory's own (harness.debian_initramfs).  boot_state is systemd's own word
        for the result.  dialogue talks to the firmware before the kernel starts, and ends
        with another boot.
        """
        self.dmesg()
        if not cut:
            self._shut_down()
        if dialogue:
            self._start_again(root, initramfs)
            dialogue(self._machine)
        self._start_again(root, initramfs)
        self.alive = True
        self._await_boot()

    def _start_again(self, root: str, initramfs: Path | None) -> None:
        self._socket.close()
        self._connect(partial(self._machine.start_again, root, initramfs))

    def _shut_down(self) -> None:
        self.start(["systemctl", "reboot"])
        try:
            self._receive_until(lambda: False, BOOT_TIMEOUT_S, "to shut down")
        except GuestDied:
            if "reboot: Restarting system" not in self.console_tail():
                raise

    @property
    def pid(self) -> int:
        """The machine's first process on the host; its number is that of the session too."""
        return self._machine.proc.pid

    @property
    def patience(self) -> int:
        """The factor for timeouts, which are those of an emulated stock kernel."""
        return self._machine.patience

    # -- talking to the agent ------------------------------------------------

    def _running(self, running: bool) -> None:
        if self.alive:
            self._machine.run(running)

    def _receive_until(self, done: Any, timeout: float, what: str) -> None:
        deadline = time.monotonic() + timeout * self.patience
        while not done():
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError(what)
            if not select.select([self._socket], [], [], left)[0]:
                continue
            data = self._socket.recv(1 << 20)
            if not data:
                raise self._died("ended or panicked")
            *lines, self._pending = (self._pending + data).split(b"\n")
            for line in lines:
                self._sort(json.loads(line))

    def _sort(self, message: dict[str, Any]) -> None:
        if "job" in message:
            self.results[message["job"]] = Result(message["rc"], message["out"], message["err"])
        else:
            self._answers[message["id"]] = message

    def _await(self, done: Any, timeout: float, what: str) -> None:
        self._running(True)
        try:
            self._receive_until(done, timeout, what)
        finally:
            self._running(False)

    def _died(self, how: str) -> GuestDied:
        self.alive = False
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._machine.proc.wait(2)
        return GuestDied(
            f"the guest ({self.kernel.release}) {how}; its console: {self.console}\n"
            f"{self.console_tail()}"
        )

    def console_tail(self, lines: int = 60) -> str:
        """The machine's own messages, if any, and the last lines of the console."""
        files = dict.fromkeys((self._machine.log, self.console))
        texts = [file.read_text(errors="replace") for file in files if file.exists()]
        return "\n".join("".join(texts).splitlines()[-lines:])

    def _send(self, request: dict[str, Any]) -> None:
        line = json.dumps(request)
        if len(line) >= self._machine.line_bytes:
            name = f"request-{request['id']}"
            (self.share / name).write_text(line)
            line = json.dumps({"file": f"{SHARE}/{name}"})
        self._socket.sendall(line.encode() + b"\n")

    def request(self, op: str, *, answer_s: float = ANSWER_TIMEOUT_S, **args: Any) -> Any:
        """One operation of the agent (see guest_agent.py); returns its value."""
        if not self.alive:
            raise self._died("is no longer there")
        number = next(self._numbers)
        self._send({"id": number, "op": op, **args})
        try:
            self._await(lambda: number in self._answers, answer_s, op)
        except TimeoutError:
            seconds = answer_s * self.patience
            raise self._died(f"hung: no answer to {op!r} in {seconds:.0f} s") from None
        answer = self._answers.pop(number)
        if "error" in answer:
            raise GuestError(f"{op}: {answer['error']}")
        return answer["value"]

    # -- commands --------------------------------------------------------------

    def start(
        self,
        cmd: str | Sequence[str],
        *,
        cgroup: str | None = None,
        input: str | bytes | None = None,
        cwd: str = "/",
        env: dict[str, str] | None = None,
    ) -> Job:
        """Start a command: a list of arguments, or a line for bash.

        cgroup is the directory of the cgroup that the command is put into.
        """
        argv = ["bash", "-c", cmd] if isinstance(cmd, str) else [str(arg) for arg in cmd]
        more = fio_environment() if argv[0] == "fio" else {}
        job = Job(self, next(self._numbers), argv)
        data = input.encode() if isinstance(input, str) else input
        stdin = base64.b64encode(data).decode() if data is not None else None
        job.pid = self.request(
            "start",
            job=job.number,
            argv=argv,
            cwd=cwd,
            env=more | (env or {}),
            cgroup=cgroup,
            stdin=stdin,
        )
        return job

    def run(
        self, cmd: str | Sequence[str], *, timeout: float = 60, check: bool = True, **options: Any
    ) -> Result:
        """Run a command to its end; options are those of start()."""
        return self.start(cmd, **options).wait(timeout, check)

    def sync(self) -> None:
        """Read all that the guest has sent."""
        self.request("sleep", seconds=0)

    def sleep(self, seconds: float) -> None:
        """Let guest time pass."""
        self.request("sleep", seconds=seconds, answer_s=ANSWER_TIMEOUT_S + 20 * seconds)

    def now_ms(self) -> float:
        """The guest's clock, as fio's logs have it."""
        return self.request("now_ms")

    def sample(self, paths: Sequence[str], interval_s: float, count: int = 2) -> list[Sample]:
        """Read all files count times, interval_s apart."""
        answer_s = ANSWER_TIMEOUT_S + 20 * interval_s * count
        samples = self.request(
            "sample", paths=paths, interval_s=interval_s, count=count, answer_s=answer_s
        )
        return [Sample(at_ms, dict(zip(paths, texts, strict=True))) for at_ms, texts in samples]

    def wait_job(self, job: Job, timeout: float) -> Result:
        """Wait until a job has ended; after the timeout kill it and raise GuestTimeout."""

        def ended() -> bool:
            return job.number in self.results

        if not ended() and not self.alive:
            raise self._died("is no longer there")
        try:
            self._await(ended, timeout, "job")
        except TimeoutError:
            job.kill()
            try:
                self._await(ended, 10, "job")
            except TimeoutError:
                self.write("/proc/sysrq-trigger", "w")
                raise self._died(f"hung: {' '.join(job.argv)} cannot be killed") from None
            result = self.results[job.number]
            raise GuestTimeout(
                f"{' '.join(job.argv)}: not done in {timeout * self.patience} s: "
                f"{result.out[-2000:]}{result.err[-2000:]}"
            ) from None
        return self.results[job.number]

    # -- files, log, modules ---------------------------------------------------

    def write(self, path: str, text: str | bytes) -> None:
        """Write a file in one write(2)."""
        data = text.encode() if isinstance(text, str) else text
        self.request("write", path=path, data=base64.b64encode(data).decode())

    def read(self, path: str) -> str:
        """Content of a file."""
        return base64.b64decode(self.request("read", path=path)).decode(errors="replace")

    def exists(self, path: str) -> bool:
        """Whether there is such a file."""
        return self.request("exists", path=path)

    def dmesg(self) -> list[str]:
        """Kernel messages since the last call; said keeps them."""
        lines = self.request("dmesg")
        self.said += lines
        return lines

    def expect_dmesg(self, pattern: str) -> None:
        """Accept kernel messages that match: this test provokes them."""
        self.expected.append(pattern)

    def expect_death(self) -> None:
        """Accept the death of the guest, which this test causes."""
        self.death_expected = True

    def insmod(self, module: Path, **params: object) -> None:
        """Load a module that was built on the host."""
        shutil.copyfile(module, self.share / module.name)
        args = [f"{key}={value}" for key, value in params.items()]
        # Asked on the host, where a process takes no time.
        ask = ["/usr/sbin/modinfo", "-F", "depends", module]
        needs = subprocess.run(ask, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
        needed = needs.replace("-", "_").split(",") if needs else []
        if missing := [name for name in needed if not self.exists(f"/sys/module/{name}")]:
            self.run(["modprobe", "-a", *missing])
        self.run(["insmod", f"{SHARE}/{module.name}", *args])

    def rmmod(self, name: str) -> None:
        """Unload a module."""
        self.run(["rmmod", name])

    # -- disks -------------------------------------------------------------------

    def plug(self, name: str, size_mib: int = 64, bus: str = "scsi", mbps: int = 0) -> None:
        """Plug a disk in ("scsi" or "virtio"), with its name as its serial number.

        A disk that was plugged in under that name before still has its data.  With mbps it
        is a solid-state disk of that many MB/s, and on bus "scsi".
        """
        self._machine.plug(name, size_mib, bus, mbps)
        self.got_disks = True

    def unplug(self, name: str) -> None:
        """Pull a disk out that was plugged in; the guest sees it a moment later."""
        self._machine.unplug(name)

    def blank(self, name: str) -> None:
        """Replace a disk that was pulled out by an empty one."""
        self._machine.blank(name)

    # -- the end -----------------------------------------------------------------

    def close(self) -> None:
        """End the machine; its console stays in the cache only if the guest died."""
        died = not self.alive
        self.alive = False
        self._machine.close()
        self._socket.close()
        if not died:
            shutil.rmtree(self._dir)

    def __enter__(self) -> "Guest":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def main() -> None:
    """Boot a guest and run a command in it (a line for bash)."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--kernel", default=own_kernel_name(), help=", ".join(SUITES))
    parser.add_argument("--icount", action="store_true", help="time is instructions executed")
    parser.add_argument("--cgroup", choices=("v1", "v2"), default="v2")
    parser.add_argument("--insmod", type=Path, action="append", default=[], metavar="KO")
    parser.add_argument("--timeout", type=float, default=600, metavar="S")
    parser.add_argument("command")
    args = parser.parse_args()
    kernel = get_kernel(args.kernel)
    progress(f"booting {kernel.release}")
    with Guest(kernel, icount=args.icount, cgroup=args.cgroup) as guest:
        progress("booted")
        guest.dmesg()
        for module in args.insmod:
            guest.insmod(module)
        result = guest.run(args.command, timeout=args.timeout, check=False)
        print(result.out, end="")
        print(result.err, end="", file=sys.stderr)
        for line in guest.dmesg():
            print(line, file=sys.stderr)
    sys.exit(result.rc)


if __name__ == "__main__":
    main()
