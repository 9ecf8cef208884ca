# SPDX-License-Identifier: GPL-2.0-only
"""Colours and progress: on terminals that understand them, and nowhere else."""

import subprocess
from pathlib import Path

import pytest
from fakekernel import COMPLAINTS, OUTPUT, Fake, shown

RECORD = ["record", "--interval", "0.1", "--duration", "0.3", "--output"]


def test_verdicts_are_coloured(host: Fake) -> None:
    """As on a terminal, so in a pipe, but for the colours."""
    with (host.root / "devices").open("a") as devices:
        devices.write("bare|253:9||\n")
    text = shown(host, OUTPUT, "check")
    assert "\x1b[32mok    \x1b[0mdevice-mapper: " in text
    assert "\x1b[31mwrong \x1b[0mbare: it has no table" in text
    plain = text.replace("\r\n", "\n")
    for colour in ("[31m", "[32m", "[33m", "[0m"):
        plain = plain.replace(f"\x1b{colour}", "")
    done = subprocess.run([host.program, "check"], env=host.environment, stdout=subprocess.PIPE)
    assert done.stdout.decode() == plain
    assert "\x1b" not in plain


@pytest.mark.parametrize(
    ("args", "environment"),
    [
        (["check"], {"NO_COLOR": "1"}),
        (["check"], {"TERM": "dumb"}),
        (["check"], {"TERM": ""}),
        (["check", "--json"], {}),
        (["list"], {}),
    ],
)
def test_no_colours(host: Fake, args: list[str], environment: dict[str, str]) -> None:
    text = shown(host, OUTPUT, *args, **environment)
    assert text
    assert "\x1b" not in text


def test_empty_no_color_is_none(host: Fake) -> None:
    assert "\x1b[32m" in shown(host, OUTPUT, "check", NO_COLOR="")


def test_progress_of_a_recording(host: Fake, tmp_path: Path) -> None:
    """It is there while it waits, and gone at the end."""
    text = shown(host, COMPLAINTS, *RECORD, str(tmp_path / "recording"))
    assert text.startswith("recorded: 0 s of 0.3, pools: 2\r\x1b[K")
    assert text.endswith("\r\x1b[K")
    assert (tmp_path / "recording").read_text().endswith('"because":"duration"}\n')


def test_no_progress_of_a_recording(host: Fake, tmp_path: Path) -> None:
    """In a pipe, on a terminal that cannot, and beside the recording itself."""
    host.run(*RECORD, str(tmp_path / "piped"))
    assert host.complaints == ""
    assert shown(host, COMPLAINTS, *RECORD, str(tmp_path / "dumb"), TERM="dumb") == ""
    assert "recorded" not in shown(host, f"{OUTPUT} {COMPLAINTS}", *RECORD[:-1])
