# SPDX-License-Identifier: GPL-2.0-only
"""Completion in real shells: the screen after the tabulator key."""

import os
import pty
import re
import select
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyte
import pytest
from fakekernel import Fake
from toolbuild import Built, sh

PATIENCE_S = 30
SHELLS = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
}
BEGIN = {
    "bash": "PS1='> '; . /usr/share/bash-completion/bash_completion; . {script}; "
    "bind 'set bell-style none'; bind 'set page-completions off'; clear\n",
    "zsh": "PS1='> '; fpath=({directory} $fpath); autoload -U compinit; compinit -u -D; "
    "unsetopt beep; clear\n",
}


def prepare(kind: str, fake: Fake, directory: Path) -> tuple[Path, dict[str, str]]:
    """Put iobandctl, on the fake kernel, and its completion into a directory."""
    directory.mkdir()
    (directory / "weights.txt").write_text("")
    (directory / "iobandctl").symlink_to(fake.program)
    script = directory / ("_iobandctl" if kind == "zsh" else f"iobandctl.{kind}")
    script.write_text(fake.run("completion", kind))
    env = {"PATH": f"{directory}:{os.environ['PATH']}", "FAKE_KERNEL": str(fake.root)}
    env |= {"FAKE_VERSION": "2", "TERM": "xterm", "LC_ALL": "C.UTF-8", "HOME": str(directory)}
    return script, env


class Shell:
    """An interactive shell at a terminal."""

    def __init__(self, kind: str, fake: Fake, directory: Path) -> None:
        script, env = prepare(kind, fake, directory)
        self.after_option = {"bash": " ", "zsh": "="}[kind]
        self.after_item = {"bash": " ", "zsh": ","}[kind]
        self.screen = pyte.Screen(100, 60)
        self.stream = pyte.ByteStream(self.screen)
        self.main, side = pty.openpty()
        self.process = subprocess.Popen(
            SHELLS[kind], stdin=side, stdout=side, stderr=side, env=env, cwd=directory,
            start_new_session=True,
        )  # fmt: skip
        os.close(side)
        self.type(BEGIN[kind].format(script=script, directory=directory))
        self.soon(lambda text: text == ">")

    def type(self, keys: str) -> None:
        os.write(self.main, keys.encode())

    @property
    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.screen.display).strip()

    def soon(self, holds: Callable[[str], bool]) -> str:
        end = time.monotonic() + PATIENCE_S
        while not holds(self.text):
            assert time.monotonic() < end, self.text
            if select.select([self.main], [], [], 0.1)[0]:
                self.stream.feed(os.read(self.main, 65536))
        return self.text

    def forget(self) -> None:
        """Discard the line and the screen."""
        self.type("\x15\x0c")
        self.soon(lambda text: text == ">")

    def completes(self, typed: str, line: str) -> None:
        """After this text and a tabulator the line is as given; a # marks its end."""
        self.type(f"{typed}\t#")
        self.soon(lambda text: f"> {line}#" in text)
        self.forget()

    def lists(self, typed: str, *words: str, without: str) -> None:
        """After this text and two tabulators these words are on the screen, without one."""
        self.type(f"{typed}\t\t")
        text = self.soon(lambda text: all(word in text for word in words))
        assert without not in text
        self.forget()

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.main)


@pytest.fixture(params=["bash", "zsh"])
def shell(request: pytest.FixtureRequest, host: Fake, tmp_path: Path) -> Iterator[Shell]:
    made = Shell(request.param, host, tmp_path / "home")
    yield made
    made.close()


def test_line(shell: Shell) -> None:
    """Verbs, options, their arguments, and operands."""
    shell.completes("iobandctl unw", "iobandctl unwrap ")
    shell.completes("iobandctl create --me", f"iobandctl create --measure{shell.after_option}")
    shell.completes("iobandctl create --measure ti", "iobandctl create --measure time ")
    shell.completes("iobandctl create --measure=ti", "iobandctl create --measure=time ")
    shell.completes("iobandctl stat --pool sdb /o", "iobandctl stat --pool sdb /o\\ dd ")
    shell.completes("iobandctl set-weight --from w", "iobandctl set-weight --from weights.txt ")
    shell.completes("iobandctl set-weight /a/b d", "iobandctl set-weight /a/b default ")
    shell.completes("iobandctl get-weight dev", "iobandctl get-weight device:own ")
    shell.completes("iobandctl get-weight device:o", "iobandctl get-weight device:own ")
    shell.completes("iobandctl remove by", "iobandctl remove byuid ")
    shell.completes("iobandctl completion zs", "iobandctl completion zsh ")
    shell.completes("iobandctl help expl", "iobandctl help explain ")
    shell.completes("iobandctl record sda by", "iobandctl record sda byuid ")
    shell.completes("iobandctl plot --what sh", "iobandctl plot --what share ")
    shell.completes("iobandctl plot w", "iobandctl plot weights.txt ")
    line = "iobandctl list -o NAME,INS"
    shell.completes(line, f"{line}ERTED{shell.after_item}")
    line = "iobandctl stat -o SHARE%,HELD-N"
    shell.completes(line, f"{line}OW{shell.after_item}")
    shell.completes("iobandctl plot -o w", "iobandctl plot -o weights.txt ")


def test_lists(shell: Shell) -> None:
    """All names of the right kind for an empty word, and no others."""
    shell.lists("iobandctl remove ", "byuid", "one", "own", "two", without="weights.txt")
    shell.lists("iobandctl groups --pool sd", "sda", "sdb", without="byuid")
    shell.lists("iobandctl set /a m", "max_rbps=", "min=", "measure=", without="weight=")
    options = ("--device", "--openmetrics", "--output", "--help")
    shell.lists("iobandctl metrics --", *options, without="--json")


@pytest.mark.parametrize("shell", ["bash"], indirect=True)
def test_columns_in_any_case(shell: Shell) -> None:
    shell.completes("iobandctl list -o +ins", "iobandctl list -o +INSERTED ")
    shell.completes("iobandctl stat -o share%,held-n", "iobandctl stat -o share%,HELD-NOW ")


def test_fish(host: Fake, tmp_path: Path) -> None:
    script, env = prepare("fish", host, tmp_path / "home")

    def offers(line: str) -> dict[str, str]:
        """Words with their descriptions."""
        command = f"source {script}; complete -C '{line}'"
        done = sh("fish", "--no-config", "-c", command, env=env, cwd=script.parent)
        assert (done.returncode, done.stderr) == (0, "")
        return dict([*offer.split("\t", 1), ""][:2] for offer in done.stdout.splitlines())

    unwrap = "Take ioband off devices again; their contents stay"
    assert offers("iobandctl unw") == {"unwrap": unwrap}
    assert set(offers("iobandctl create --me")) == {"--measure"}
    assert set(offers("iobandctl create --measure ")) == {"bytes", "ios", "time"}
    assert set(offers("iobandctl groups --pool ")) == {"sda", "sdb"}
    assert set(offers("iobandctl remove ")) == {"byuid", "one", "own", "two"}
    assert any("dd" in offer for offer in offers("iobandctl get-weight /o"))
    assert set(offers("iobandctl set-weight --from w")) == {"weights.txt"}
    assert "INSERTED" in offers("iobandctl list -o IN")
    assert "IOS/S" in offers("iobandctl stat --output ")
    assert "SHARE%,HELD-NOW" in offers("iobandctl stat -o SHARE%,HELD-N")
    assert "+INSERTED" in offers("iobandctl list -o +")
    assert set(offers("iobandctl plot -o w")) == {"weights.txt"}


def test_words(host: Fake) -> None:
    def words(kind: str) -> list[str]:
        return host.run("completion", "--words", kind).splitlines()

    assert words("POOL") == ["sda", "sdb"]
    assert words("PLACE") == ["byuid", "one", "own", "sda", "sdb", "two"]
    assert words("NAMES") == ["byuid", "one", "own", "two"]
    assert words("GROUP") == ["/a", "/a/b", "/o dd", "cgroup#999", "device:own", "root"]
    assert {"wrap", "completion", "help"} <= set(words("VERB"))


def test_columns_are_those_of_top(host: Fake) -> None:
    """The fixed words for --sort are all that top accepts."""
    script = host.run("completion", "fish")
    (line,) = (line for line in script.splitlines() if " -l sort " in line)
    words = line.rsplit("'", 2)[1].split()
    assert len(words) == 12
    for word in words:
        args = ("--batch", "--count", "1", "--interval", "0.1", "--pool", "sdb")
        host.run("top", "--sort", word, *args)


@pytest.mark.parametrize("kind", ["bash", "zsh", "fish"])
def test_every_option_is_there(built: Built, kind: str) -> None:
    """Every verb and option of the program is in the script."""
    script = sh(built.iobandctl, "completion", kind, check=True).stdout
    for verb in re.findall(r"^  (\S+)", sh(built.iobandctl, "help").stdout, re.MULTILINE):
        assert verb in script
        for option in sh(built.iobandctl, "help", verb, check=True).stdout.splitlines():
            if found := re.match(r"  (?:-(\w),|   ) --([\w-]+)", option):
                letter, name = found.groups()
                assert f"--{name}" in script or f" -l {name} " in script, (verb, name)
                short = (f" -{letter} ", f" -{letter}=", f"'-{letter}[", f"'-{letter}+[")
                short += (f" -s {letter} ",)
                assert not letter or any(form in script for form in short), (verb, letter)
    done = subprocess.run([kind, "-n"], input=script, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ([], "name the SHELL: bash, zsh or fish"),
        (["csh"], "there is nothing for 'csh'; SHELL is bash, zsh or fish"),
        (["--words", "FILE"], "--words 'FILE': it is DEVICE, NAMES, PLACE, POOL, GROUP or VERB"),
        (["--words", "POOL", "zsh"], "give no SHELL with it"),
    ],
)
def test_refused(host: Fake, args: list[str], says: str) -> None:
    assert says in host.run("completion", *args, rc=2)
