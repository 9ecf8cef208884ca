# SPDX-License-Identifier: GPL-2.0-only
"""iobandctl top on a pty with an emulated screen."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable

import pyte
from fakekernel import Fake

PATIENCE_S = 30


class Terminal:
    """A terminal with a program on it."""

    def __init__(self, columns: int, lines: int) -> None:
        self.main, self.side = pty.openpty()
        self.screen = pyte.Screen(columns, lines)
        self.stream = pyte.ByteStream(self.screen)
        self.resize(columns, lines)

    def resize(self, columns: int, lines: int) -> None:
        """Change its size, of which the program gets a signal."""
        size = struct.pack("HHHH", lines, columns, 0, 0)
        fcntl.ioctl(self.main, termios.TIOCSWINSZ, size)
        self.screen.resize(lines, columns)

    def run(self, fake: Fake, *args: str, term: str = "xterm") -> None:
        """Start the program on a fake kernel."""
        env = {**os.environ, "FAKE_KERNEL": str(fake.root), "FAKE_VERSION": "2"}
        env |= {"LC_ALL": "C.UTF-8", "TERM": term}
        env.pop("LINES", None)
        env.pop("COLUMNS", None)
        self.said = fake.root / "said"
        with open(self.said, "w") as said:
            self.process = subprocess.Popen(
                [fake.program, "top", *args],
                stdin=self.side, stdout=self.side, stderr=said, env=env, preexec_fn=self.control,
            )  # fmt: skip

    def control(self) -> None:
        """Become the controlling terminal of the program, which gets signals of its size.

        The program must notice the loss of its terminal by itself, as under nohup.
        """
        os.setsid()
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        fcntl.ioctl(self.side, termios.TIOCSCTTY, 0)

    def press(self, keys: str) -> None:
        """Send keys."""
        os.write(self.main, keys.encode())

    @property
    def lines(self) -> list[str]:
        """The content, without blanks at the ends of lines."""
        return [line.rstrip() for line in self.screen.display]

    def read(self, seconds: float) -> None:
        """Wait so long for output, and show it."""
        if select.select([self.main], [], [], seconds)[0]:
            self.stream.feed(os.read(self.main, 65536))

    def soon(self, holds: Callable[[list[str]], bool]) -> list[str]:
        """Wait until the lines fulfil a condition."""
        end = time.monotonic() + PATIENCE_S
        while not holds(self.lines):
            assert time.monotonic() < end, "\n".join(self.lines)
            assert self.process.poll() is None, "\n".join(self.lines)
            self.read(0.1)
        return self.lines

    def ends(self) -> int:
        """Wait for the end of the program, and read the rest of its output."""
        end = time.monotonic() + PATIENCE_S
        while self.process.poll() is None:
            assert time.monotonic() < end, "\n".join(self.lines)
            self.read(0.1)
        self.read(0)
        return self.process.returncode

    def close(self) -> None:
        """End the program."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.main)
        os.close(self.side)
