# SPDX-License-Identifier: GPL-2.0-only
"""iobandctl watch on a fake kernel."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fakekernel import Fake


@dataclass
class Watcher:
    """A running watch, with its messages to the kernel and its output."""

    fake: Fake
    process: subprocess.Popen[bytes]

    @property
    def said(self) -> str:
        """Its output so far."""
        return (self.fake.root / "said").read_text()

    def weigh(self, path: str, weight: int) -> None:
        """Ask for the weight of a cgroup."""
        (self.fake.root / "cgroup" / path / "io.weight").write_text(f"{weight}\n")

    def sends(self, path: str, weight: int) -> None:
        """Wait until it sets the weight of a cgroup."""
        message = f"one: weight cgroup#{self.number(path)} {weight}"
        self.soon(lambda: message in self.fake.sent)

    def reload(self, conf: str) -> None:
        """Make it read another configuration; returns when it has read all groups."""
        (self.fake.root / "conf").write_text(conf)
        asked = self.fake.sent.count("one: groups")
        self.process.send_signal(signal.SIGHUP)
        self.soon(lambda: self.fake.sent.count("one: groups") > asked)

    def number(self, path: str) -> int:
        """The id of a cgroup."""
        return (self.fake.root / "cgroup" / path).stat().st_ino

    @property
    def watches(self) -> int:
        """The number of its inotify watches."""
        count = 0
        for info in Path(f"/proc/{self.process.pid}/fdinfo").iterdir():
            with contextlib.suppress(FileNotFoundError):  # closed meanwhile, as a cgroup's file is
                count += info.read_text().count("inotify wd:")
        return count

    @property
    def cpu_s(self) -> float:
        """The CPU time that it has used."""
        stat = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")

    def soon(self, holds: Callable[[], bool], seconds: float = 20) -> None:
        """Wait until a condition holds."""
        end = time.monotonic() + seconds
        while not holds():
            assert self.process.poll() is None, self.said
            assert time.monotonic() < end, f"{self.fake.sent[-9:]}\n{self.said}"
            time.sleep(0.01)
