# SPDX-License-Identifier: GPL-2.0-only
"""The agent in the guest: runs commands from the host, received over the port given.

One JSON object a line in each direction.  A request is {"id", "op", ...}; its
answer has the same id and either "value" or "error".  A request {"file"} names a
file with the request itself.  Needs the standard library only, and starts in a
moment even on an emulated processor.
"""

import base64
import glob
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tty
from typing import Any, BinaryIO

BUF = 1 << 16
TEST_MODULES = (
    *("dm_ioband", "null_blk", "scsi_debug", "brd"),
    *("noclones", "raredisk", "trimdisk", "urgent"),
)
CGROUP_ROOTS = ("/sys/fs/cgroup/blkio", "/sys/fs/cgroup")  # v1, v2

UNITS = (".slice", ".scope", ".service", ".mount")  # suffixes of systemd's cgroups


class Agent:
    """Serves one host."""

    def __init__(self, port: int):
        self._port = port
        self._lock = threading.Lock()
        self._jobs: dict[int, subprocess.Popen[bytes]] = {}
        self._kmsg = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)

    def serve(self) -> None:
        """Answer requests until the host ends."""
        self._send({"id": 0, "value": "ready"})
        pending = b""
        while True:
            data = os.read(self._port, BUF)
            if not data:
                return
            *lines, pending = (pending + data).split(b"\n")
            for line in lines:
                self._answer(json.loads(line))

    def _send(self, message: dict[str, Any]) -> None:
        data = json.dumps(message).encode() + b"\n"
        with self._lock:
            while data:
                data = data[os.write(self._port, data) :]

    def _answer(self, request: dict[str, Any]) -> None:
        if file := request.get("file"):
            request = json.loads(_read(file))
            os.unlink(file)
        number, op = request.pop("id"), request.pop("op")
        try:
            value = getattr(self, f"op_{op}")(**request)
            self._send({"id": number, "value": value})
        except Exception as err:  # the host interprets it
            self._send({"id": number, "error": f"{type(err).__name__}: {err}"})

    def op_start(
        self,
        job: int,
        argv: list[str],
        cwd: str,
        env: dict[str, str],
        cgroup: str | None,
        stdin: str | None,
    ) -> int:
        """Start a process; {"job", "rc", "out", "err"} follows when it has ended."""
        files = [tempfile.TemporaryFile(dir="/run") for _ in ("out", "err")]  # noqa: SIM115
        if cgroup:  # not with preexec_fn, for which the page table would be copied
            argv = ["/bin/sh", "-c", 'echo 0 >"$0/cgroup.procs" && exec "$@"', cgroup, *argv]
        proc = subprocess.Popen(
            argv,
            cwd=cwd,
            env=dict(os.environ, **env),
            stdout=files[0],
            stderr=files[1],
            stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
            start_new_session=True,
        )
        while cgroup and proc.poll() is None and str(proc.pid) not in _pids(cgroup):
            time.sleep(0.001)
        self._jobs[job] = proc
        data = base64.b64decode(stdin) if stdin is not None else None
        threading.Thread(target=self._wait, args=(job, proc, files, data), daemon=True).start()
        return proc.pid

    def _wait(
        self, job: int, proc: subprocess.Popen[bytes], files: list[BinaryIO], data: bytes | None
    ) -> None:
        if data is not None:
            try:
                proc.stdin.write(data)
                proc.stdin.close()
            except BrokenPipeError:
                pass
        rc = proc.wait()
        texts = []
        for file in files:
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
            file.close()
        del self._jobs[job]
        self._send({"job": job, "rc": rc, "out": texts[0], "err": texts[1]})

    def op_kill(self, job: int, signum: int) -> None:
        """Send a signal to a job's whole session."""
        if job in self._jobs:
            os.killpg(self._jobs[job].pid, signum)

    def op_write(self, path: str, data: str) -> None:
        """Write a file, in one write(2) as sysfs wants it."""
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        try:
            os.write(fd, base64.b64decode(data))
        finally:
            os.close(fd)

    def op_read(self, path: str) -> str:
        """Content of a file."""
        with open(path, "rb") as file:
            return base64.b64encode(file.read()).decode()

    def op_exists(self, path: str) -> bool:
        """Whether there is such a file."""
        return os.path.exists(path)

    def op_dmesg(self) -> list[str]:
        """Kernel messages since the last call, as "[seconds] text"."""
        lines = []
        while True:
            try:
                record = os.read(self._kmsg, BUF).decode(errors="replace")
            except BlockingIOError:
                return lines
            except BrokenPipeError:
                lines.append("(kernel messages were overwritten before they were read)")
                continue
            head, _, text = record.partition(";")
            seconds = int(head.split(",")[2]) / 1e6
            lines.append(f"[{seconds:.6f}] " + text.split("\n")[0])

    def op_sleep(self, seconds: float) -> None:
        """Let guest time pass."""
        time.sleep(seconds)

    def op_now_ms(self) -> float:
        """The clock of fio's logs."""
        return time.time() * 1000

    def op_sample(
        self, paths: list[str], interval_s: float, count: int
    ) -> list[tuple[float, list[str]]]:
        """Read files count times, interval_s apart; [milliseconds, [text, ...]] for each time."""
        samples = []
        due = time.monotonic()
        for _ in range(count):
            time.sleep(max(0.0, due - time.monotonic()))
            samples.append((time.time() * 1000, [_read(path) for path in paths]))
            due += interval_s
        return samples

    def op_kmsg(self, text: str) -> None:
        """Put a line into the kernel's log."""
        with open("/dev/kmsg", "w") as kmsg:
            kmsg.write(text + "\n")

    def op_booted(self) -> str:
        """Wait until systemd has finished the boot; returns its own word for the result."""
        argv = ["systemctl", "is-system-running", "--wait"]
        state = subprocess.run(argv, stdout=subprocess.PIPE, text=True).stdout.strip()
        _boot_mounts.update(_mounts())
        return state

    def op_leftovers(self) -> dict[str, list[str]]:
        """The objects of tests that exist now, by kind."""
        return {
            "process": [f"{job} (pid {proc.pid})" for job, proc in self._jobs.items()],
            "mount": _mounts(),
            "dm device": [_read(f"{path}/dm/name") for path in glob.glob("/sys/block/dm-*")],
            "md array": [os.path.basename(path) for path in glob.glob("/sys/block/md*")],
            "loop device": [
                path.split("/")[3] for path in glob.glob("/sys/block/loop*/loop/backing_file")
            ],
            "null_blk device": [
                path.split("/")[5] for path in glob.glob("/sys/kernel/config/nullb/*/")
            ],
            "cgroup": _cgroups(),
            "module": [
                line.split()[0]
                for line in _read("/proc/modules").splitlines()
                if line.split()[0] in TEST_MODULES
            ],
        }


def _read(path: str) -> str:
    with open(path) as file:
        return file.read().strip()


def _pids(cgroup: str) -> list[str]:
    return _read(f"{cgroup}/cgroup.procs").split()


def _cgroups() -> list[str]:
    """All cgroups but the root and systemd's, children before their parents."""
    top = next(path for path in CGROUP_ROOTS if os.path.exists(f"{path}/cgroup.procs"))
    units = tuple(f"{top}/{name}" for name in os.listdir(top) if name.endswith(UNITS))
    walk = (path for path, _, _ in os.walk(top, topdown=False) if path != top)
    return [path for path in walk if not path.startswith(units)]


def _mounts() -> list[str]:
    """Mount points made since boot, the last first."""
    points = [line.split()[1] for line in _read("/proc/self/mounts").splitlines()]
    return [point for point in reversed(points) if point not in _boot_mounts]


def main() -> None:
    """Serve the host."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    os.chdir("/")
    port = os.open(sys.argv[1], os.O_RDWR | os.O_NOCTTY)
    if os.isatty(port):
        tty.setraw(port)
    Agent(port).serve()


_boot_mounts = {line.split()[1] for line in _read("/proc/self/mounts").splitlines()}

if __name__ == "__main__":
    main()
