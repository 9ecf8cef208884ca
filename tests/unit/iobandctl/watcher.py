# SPDX-License-Identifier: GPL-2.0-only
"""iobandctl watch on a fake kernel."""

import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass

from fakekernel import Fake


@dataclass
class Watcher:
    """A running watch, what it has sent, and what it has said."""

    fake: Fake
    process: subprocess.Popen[bytes]

    @property
    def said(self) -> str:
        """What it has said so far."""
        return (self.fake.root / "said").read_text()

    def weigh(self, path: str, weight: int) -> None:
        """Ask for the weight of a cgroup."""
        (self.fake.root / "cgroup" / path / "io.weight").write_text(f"{weight}\n")

    def sends(self, path: str, weight: int) -> None:
        """Soon it sets the weight of a cgroup."""
        number = (self.fake.root / "cgroup" / path).stat().st_ino
        message = f"one: weight cgroup#{number} {weight}"
        self.soon(lambda: message in self.fake.sent)

    def reload(self, conf: str) -> None:
        """Have it read another configuration; it has looked at all when this returns."""
        (self.fake.root / "conf").write_text(conf)
        asked = self.fake.sent.count("one: groups")
        self.process.send_signal(signal.SIGHUP)
        self.soon(lambda: self.fake.sent.count("one: groups") > asked)

    def soon(self, holds: Callable[[], bool]) -> None:
        """Soon this holds."""
        end = time.monotonic() + 20
        while not holds():
            assert self.process.poll() is None, self.said
            assert time.monotonic() < end, f"{self.fake.sent[-9:]}\n{self.said}"
            time.sleep(0.01)
