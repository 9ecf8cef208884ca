# SPDX-License-Identifier: GPL-2.0-only
"""iobandctl at a terminal in the guest: top over real load, and completion of real names.

tests/unit/iobandctl has the display of made-up numbers.
"""

import re
import shlex
from collections.abc import Callable, Iterator

import pyte
import pytest
from harness.cgroup import Cgroup
from harness.devices import null_blk
from harness.guest import SHARE, Guest, GuestTimeout
from harness.load import Load, Stream
from harness.tool import Tool
from harness.waiting import wait_until
from test_tool import created

pytestmark = pytest.mark.guest(systemd=True)

KEYS, TTY = "/run/keys", "/run/tty"
COLUMNS, LINES = 120, 12
# script(1) is the terminal: keys come from a pipe that stays open, the screen goes to the host.
TERMINAL = """
mkfifo {keys}
exec 3<>{keys}
exec script -qec {command} /dev/null <&3 >{share}/screen
"""
INSIDE = "tty >{tty}; stty cols {columns} rows {lines}; exec {command}"
WAIT_S = 60


class Terminal:
    """A terminal in the guest on which a program runs."""

    def __init__(self, guest: Guest, command: str):
        self.guest = guest
        self.screen = pyte.Screen(COLUMNS, LINES)
        self._stream = pyte.ByteStream(self.screen)
        self._seen = 0
        inside = INSIDE.format(tty=TTY, columns=COLUMNS, lines=LINES, command=command)
        script = TERMINAL.format(keys=KEYS, share=SHARE, command=shlex.quote(inside))
        self._shown = guest.share / "screen"
        self._shown.touch()
        environment = {"TERM": "xterm", "LC_ALL": "C.UTF-8", "SHELL": "/bin/sh"}
        self.job = guest.start(["bash", "-c", script], env=environment)

    def press(self, keys: str) -> None:
        """Press keys."""
        self.guest.run(f"printf %s {shlex.quote(keys)} >{KEYS}")

    def resize(self, columns: int, lines: int) -> None:
        """Change the size of the terminal, with a signal to the program."""
        self.guest.run(f"stty -F $(cat {TTY}) cols {columns} rows {lines}")
        self.screen.resize(lines, columns)

    def lines(self) -> list[str]:
        """The lines on the screen now."""
        shown = self._shown.read_bytes()
        self._stream.feed(shown[self._seen :])
        self._seen = len(shown)
        return [line.rstrip() for line in self.screen.display]

    def soon(self, holds: Callable[[list[str]], bool], what: str) -> None:
        """Wait until the lines fulfil a condition."""
        try:
            wait_until(self.guest, lambda: holds(self.lines()), what, WAIT_S)
        except GuestTimeout as error:
            raise AssertionError("\n".join([what, *self.lines()])) from error

    def close(self) -> None:
        """End the program, and remove its files."""
        if not self.job.poll():
            self.job.kill()
            self.job.wait(check=False)
        self.guest.run(["rm", "-f", KEYS, TTY])
        self._shown.unlink()


@pytest.fixture
def busy(tool: Tool) -> Iterator[Tool]:
    """Cgroups heavy and light, of weights 300 and 100, keep an ioband device fully busy."""
    guest = tool.guest
    with (
        null_blk(guest, mbps=20) as disk,
        created(tool, "io-d", disk) as path,
        Cgroup(guest, "heavy") as heavy,
        Cgroup(guest, "light") as light,
    ):
        streams = [
            Stream(cgroup.path, path, cgroup, options={"write_lat_log": None})
            for cgroup in (heavy, light)
        ]
        load = Load(guest, streams).start()
        tool.run("set-weight", "heavy", "300")
        yield tool
        if guest.alive:
            load.end()


def shown(lines: list[str]) -> list[list[str]]:
    """The words of the lines of groups."""
    return [line.split() for line in lines[2:] if line.startswith("/")]


def as_weights_say(lines: list[str], *names: str) -> bool:
    """Whether these groups are shown in this order, heavy with about three quarters."""
    rows = shown(lines)
    if len(rows) != 2 or [row[0] for row in rows] != list(names):
        return False
    shares = {row[0]: float(row[4]) for row in rows if len(row) > 4}
    return len(shares) == 2 and abs(shares["/heavy"] - 75) < 8 and abs(shares["/light"] - 25) < 8


def test_top_over_real_load(busy: Tool) -> None:
    """Shares by weight, in order; in reverse order by a key; on a small terminal too."""
    terminal = Terminal(busy.guest, f"{busy.program} top --interval 2")
    try:
        terminal.soon(lambda lines: as_weights_say(lines, "/heavy", "/light"), "shares")
        # Idle cgroups of udev, which has read the disk's labels, may be counted too.
        heading = r"2 of \d+ groups busy, 1 pools, every 2 s, by SHARE%"
        assert re.search(heading, terminal.lines()[0])
        rows = shown(terminal.lines())
        assert [row[1:4] for row in rows] == [["nullb0", "300", "75.0"], ["nullb0", "100", "25.0"]]
        terminal.press("r")
        terminal.soon(lambda lines: as_weights_say(lines, "/light", "/heavy"), "reversed")
        terminal.press("r")
        terminal.resize(32, 5)
        narrow = ["GROUP", "WEIGHT", "DUE%", "SHARE%"]
        terminal.soon(
            lambda lines: len(lines) == 5 and lines[1].split() == narrow and len(shown(lines)) == 2,
            "columns that fit",
        )
        assert [row[0] for row in shown(terminal.lines())] == ["/heavy", "/light"]
        terminal.press("q")
        assert terminal.job.wait(check=False).rc == 0
    finally:
        terminal.close()


def test_completion_of_what_there_is(busy: Tool) -> None:
    """Verbs, and the kernel's present devices, pools and groups."""
    guest, home = busy.guest, "/run/home"
    guest.run(f"mkdir {home} && ln -s {busy.program} {home}/iobandctl")
    guest.run(f"{busy.program} completion bash >{home}/completion")
    shell = "env PS1='> ' bash --norc --noprofile -i"
    terminal = Terminal(guest, shell)
    try:
        terminal.soon(lambda lines: lines[0].endswith(">"), "a prompt")
        for line in (
            f"cd /; PATH={home}:$PATH; . /usr/share/bash-completion/bash_completion",
            f". {home}/completion; bind 'set bell-style none'; clear",
        ):
            terminal.press(f"{line}\n")
        terminal.soon(lambda lines: lines[0] == ">" and not any(lines[1:]), "an empty screen")
        for typed, line in {
            "iobandctl unw": "iobandctl unwrap ",
            "iobandctl unwrap io": "iobandctl unwrap io-d ",
            "iobandctl groups --pool nu": "iobandctl groups --pool nullb0 ",
            "iobandctl explain /he": "iobandctl explain /heavy ",
        }.items():
            terminal.press(f"{typed}\t#")
            terminal.soon(lambda lines, line=line: lines[0] == f"> {line}#", line)
            terminal.press("\x15\x0c")
            terminal.soon(lambda lines: lines[0] == ">" and not any(lines[1:]), "an empty screen")
        terminal.press("exit\n")
        assert terminal.job.wait(check=False).rc == 0
    finally:
        terminal.close()
        guest.run(["rm", "-rf", home])
