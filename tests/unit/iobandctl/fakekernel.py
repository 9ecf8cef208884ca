# SPDX-License-Identifier: GPL-2.0-only
"""iobandctl on a fake kernel, which is a directory of answers."""

import json
import os
import pty
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from toolbuild import sh

SLOTS = 26
OUTPUT, COMPLAINTS = "stdout", "stderr"
NO_BOUNDS = {f"{kind}_{rate}": None for kind in ("max", "min")
             for rate in ("rbps", "wbps", "riops", "wiops")}  # fmt: skip
NO_BOUNDS |= dict.fromkeys(("latency_us", "write_latency_us"))


def slots(**counts: int) -> str:
    """A histogram: slots(s3=5) has 5 in slot 3."""
    return ",".join(str(counts.get(f"s{i}", 0)) for i in range(SLOTS))


@dataclass
class Fake:
    """A fake kernel in a directory, see fake-kernel.c."""

    program: Path
    root: Path
    version: int = 2
    minor: int = 0  # of the target's version
    devices: list[str] = field(default_factory=list)
    complaints: str = ""  # of the last run
    printed: str = ""  # by the last run

    def __post_init__(self) -> None:
        (self.root / "answers").mkdir()
        (self.root / "devices").write_text("")
        self.cgroup("/")

    def device(self, name: str, number: str, pool: str, mode: str = "cgroup", **more: str) -> None:
        """An ioband device of 2048 sectors over 4000:<minor>, which is absent, or over below."""
        words = f"mode={mode} weight={more.get('weight', '100')} measure=bytes depth=auto"
        words += f" slice={more.get('slice_ms', '0')}"
        starved = f"writes_starved={more.get('writes_starved', '2')}"
        below = more.get("below", f"4000:{number.split(':')[1]}")
        table = f"{below} {more.get('offset', '0')} {pool} 6 {words} {starved}"
        status = more.get(
            "status",
            f"1 pool={pool} mode={mode} measure=bytes state=open depth=32 groups=3 active=1 "
            f"held=2,8192 inflight=4,16384 devices=2 slice={more.get('slice_ms', '0')} piece=32768 "
            f"{starved}",
        )
        self.devices.append(f"{name}|{number}|{table}|{status}\n")
        (self.root / "devices").write_text("".join(self.devices))

    def cgroup(self, path: str, controllers: str = "cpu io memory") -> int:
        """Make a cgroup; returns its id."""
        directory = self.root / "cgroup" / path.strip("/")
        directory.mkdir(parents=True, exist_ok=True)
        if self.version == 2:
            (directory / "cgroup.controllers").write_text(f"{controllers}\n")
        elif path == "/":
            (directory / "release_agent").write_text("\n")
        return directory.stat().st_ino

    def delegate(self, path: str) -> None:
        """Let others than root populate a cgroup, as root does for a user."""
        (self.root / "cgroup" / path).chmod(0o775)

    def answer(self, device: str, message: str, text: str) -> None:
        """Set a device's answer to a message."""
        (self.root / "answers" / f"{device}@{message.replace(' ', '_')}").write_text(text)

    def append(self, device: str, message: str, words: dict[str, str]) -> None:
        """Append words to lines of a device's answer, which are given by their ends."""
        path = self.root / "answers" / f"{device}@{message}"
        text = path.read_text()
        for line, more in words.items():
            assert text.count(f"{line}\n") == 1
            text = text.replace(f"{line}\n", f"{line} {more}\n")
        path.write_text(text)

    @property
    def environment(self) -> dict[str, str]:
        """The environment of the program on the fake kernel."""
        return {
            **os.environ,
            "FAKE_KERNEL": str(self.root),
            "FAKE_VERSION": str(self.version),
            "FAKE_MINOR": str(self.minor),
            "LC_ALL": "C.UTF-8",
        }

    def run(self, *args: str, rc: int = 0, stdin: str = "") -> str:
        """Run iobandctl; returns its output, or its error message if rc is not 0."""
        (self.root / "log").write_text("")
        done = sh(self.program, *args, env=self.environment, input=stdin)
        assert done.returncode == rc, done.stdout + done.stderr
        self.complaints, self.printed = done.stderr, done.stdout
        return done.stderr if rc else done.stdout

    def json(self, *args: str) -> list[dict]:
        """Run iobandctl --json; returns its list."""
        (rows,) = json.loads(self.run(*args, "--json")).values()
        return rows

    def told(self, *verbs: str) -> list[str]:
        """The messages of the last run that begin with one of these words."""
        return [message for message in self.sent if message.split()[1] in verbs]

    @property
    def marks(self) -> set[str]:
        """The record of manual settings: pool, device, group and setting."""
        files = (self.root / "run").glob(".hand *")
        return {file.name.removeprefix(".hand ") for file in files}

    @property
    def sent(self) -> list[str]:
        """The messages of the last run."""
        return (self.root / "log").read_text(errors="surrogateescape").splitlines()


def configure(fake: Fake, text: str) -> list[str]:
    """Write a configuration; returns the arguments that apply it."""
    (fake.root / "conf").write_text(text)
    return ["apply", "--config", str(fake.root / "conf")]


def shown(fake: Fake, terminals: str, *args: str, **environment: str) -> str:
    """The output on a terminal if these streams of iobandctl are connected to it."""
    main, side = pty.openpty()
    streams = dict.fromkeys((OUTPUT, COMPLAINTS), subprocess.DEVNULL)
    streams |= dict.fromkeys(terminals.split(), side)
    env = {**fake.environment, "TERM": "xterm", **environment}
    process = subprocess.Popen([fake.program, *args], env=env, **streams)
    os.close(side)
    text = b""
    try:
        while part := os.read(main, 65536):
            text += part
    except OSError:
        pass  # the other side is closed
    os.close(main)
    process.wait()
    return text.decode()
