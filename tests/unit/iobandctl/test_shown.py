# SPDX-License-Identifier: GPL-2.0-only
"""Names that users choose, on the terminal of root: no verb lets them control it.

The fuzzer shows the same of the functions that all output passes (fuzz.c).
"""

import os
import sys
import unicodedata

import pytest
from fakekernel import COMPLAINTS, OUTPUT, Fake, shown, slots
from terminal import Terminal

UNSEEN_CATEGORIES = {"Cc", "Cf", "Zl", "Zp"}
UNSEEN = [chr(c) for c in range(1, sys.maxunicode + 1)
          if unicodedata.category(chr(c)) in UNSEEN_CATEGORIES]  # fmt: skip
INVALID = [b"\x80", b"\xff", b"\xc0\x80", b"\xe2\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"]
LETTERS = "grüße 日本 🦊 e\u0301"
HOSTILE = "/ev\x1b[2J\x1b]0;x\x07\u009b1m\u202elave\u2066\u200b\ufeff\x7f\U000e0041\nok    é"
ESCAPED = (
    "/ev\\033[2J\\033]0;x\\007\\302\\2331m\\342\\200\\256lave\\342\\201\\246\\342\\200\\213"
    "\\357\\273\\277\\177\\363\\240\\201\\201\\012ok    é"
)


def octal(text: bytes) -> str:
    return "".join(f"\\{byte:03o}" for byte in text)


def is_safe(text: str) -> bool:
    """Whether a terminal that understands UTF-8 shows all of it, in its order."""
    return not any(unicodedata.category(c) in UNSEEN_CATEGORIES for c in text if c not in "\r\n")


@pytest.fixture
def evil(host: Fake) -> Fake:
    """A cgroup of pool sda has a hostile path, and does I/O."""
    path = octal(HOSTILE.encode())
    host.cgroup("/evil")
    number = host.cgroup(HOSTILE)
    stats = f"5 cgroup#{number} held=4,16384 inflight=1 read={{}} write=0,0,0,0,0 discard=0,0,0,0,0"
    times = " ".join(f"{op}.{kind}={slots()}" for op in ("read", "write", "discard")
                     for kind in ("wait", "service"))  # fmt: skip
    for device in ("one", "own"):
        groups = f"5 1 cgroup#{number} weight=100 set=1 path={path}\n"
        host.answer(device, "groups", f"1 groups\n1 0 root weight=100 set=0\n{groups}end\n")
        host.answer(device, "stats", f"1 stats\n{stats.format('0,0,0,0,0')}\nend\n")
        host.answer(device, "stats.then", f"1 stats\n{stats.format('9,9999,9,9,9')}\nend\n")
        host.answer(device, "latency", f"1 latency\n5 cgroup#{number} {times}\nend\n")
    return host


@pytest.mark.parametrize("first", range(0, len(UNSEEN), 100))
def test_all_of_unicode(host: Fake, first: int) -> None:
    """All control and format characters that Python's Unicode has are escaped."""
    said = host.run(LETTERS + "".join(UNSEEN[first : first + 100]), rc=2)
    codes = "".join(octal(c.encode()) for c in UNSEEN[first : first + 100])
    assert said == f"iobandctl: there is no verb '{LETTERS}{codes}'; 'iobandctl help' lists them\n"


@pytest.mark.parametrize("invalid", INVALID)
def test_what_is_no_utf8(host: Fake, invalid: bytes) -> None:
    assert f"'a{octal(invalid)}z'" in host.run(os.fsdecode(b"a" + invalid + b"z"), rc=2)


VERBS = [
    ("groups",),
    ("stat", "--pool", "sda"),
    ("explain", HOSTILE, "--pool", "sda", "--interval", "0.1"),
    ("get-weight", HOSTILE),
    ("metrics",),
]


@pytest.mark.parametrize("verb", VERBS, ids=[verb[0] for verb in VERBS])
def test_terminal(evil: Fake, verb: tuple[str, ...]) -> None:
    text = shown(evil, f"{OUTPUT} {COMPLAINTS}", *verb, COLUMNS="300")
    name = ESCAPED.replace("\\012", "\\n") if verb == ("metrics",) else ESCAPED
    assert name in text or name.removeprefix("/") in text
    assert is_safe(text)


def test_pages_of_top(evil: Fake) -> None:
    text = evil.run("top", "--batch", "--count", "1", "--interval", "0.1", "--pool", "sda")
    assert ESCAPED.replace(" ", "\\040") in text
    assert is_safe(text)


def test_screen_of_top(evil: Fake, terminal: Terminal) -> None:
    """Also where the name is cut at its beginning, and by --sum."""
    name = ESCAPED.replace(" ", "\\040")
    terminal.run(evil, "--pool", "sda", "--interval", "100", "--sum")
    lines = terminal.soon(lambda lines: lines[2].startswith("<"))
    assert name.endswith(lines[2].split()[0][1:])
    assert is_safe("".join(lines))
    terminal.resize(300, 5)
    terminal.soon(lambda lines: lines[2].startswith(f"{name} "))
    terminal.press("q")
    assert terminal.ends() == 0


def test_check(fake: Fake) -> None:
    """Of cgroups it says where the io controller is missing."""
    fake.cgroup(HOSTILE)
    fake.cgroup(f"{HOSTILE}/below", "cpu")
    (fake.root / f"cgroup{HOSTILE}/below/cgroup.events").write_text("populated 1\n")
    text = shown(fake, OUTPUT, "check", NO_COLOR="1")
    assert f"hint  {ESCAPED}: 1 of the cgroups in it" in text
    assert is_safe(text)


def test_json(evil: Fake) -> None:
    """It has the very name, and is as safe on a terminal."""
    paths = {child["path"] for pool in evil.json("groups") for child in pool.get("children", [])}
    assert HOSTILE in paths
    assert is_safe(evil.printed)


def test_metrics_in_a_pipe(evil: Fake) -> None:
    """Prometheus gets the very name too; bytes that are not UTF-8 would cost it all figures."""
    assert f'group="{HOSTILE}"'.replace("\n", "\\n") in evil.run("metrics")
    evil.answer("byuid", "groups", "1 groups\n1 0 cgroup#9 weight=1 set=0 path=/\\377\nend\n")
    assert 'group="/\\\\377"' in evil.run("metrics")


def test_completion(evil: Fake) -> None:
    """A shell is offered another name of the same group, which the tool takes."""
    words = evil.run("completion", "--words", "GROUP")
    number = (evil.root / f"cgroup{HOSTILE}").stat().st_ino
    assert f"cgroup#{number}\n" in words
    assert "lave" not in words
    assert is_safe(words)


@pytest.mark.parametrize(("locale", "name"), [("C.UTF-8", "é"), ("C", "\\303\\251")])
def test_terminal_without_utf8(host: Fake, locale: str, name: str) -> None:
    """On such a terminal a byte of a letter may be a control character."""
    assert f"'{name}'" in shown(host, COMPLAINTS, "é", LC_ALL=locale)
