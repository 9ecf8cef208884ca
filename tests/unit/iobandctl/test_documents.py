# SPDX-License-Identifier: GPL-2.0-only
"""What documents quote exists: messages in the sources, verbs and options in the program."""

import re
from functools import cache
from pathlib import Path

import pytest
from fakekernel import Fake
from harness.document import dead_links
from toolbuild import Built, sh

REPO = Path(__file__).resolve().parents[3]
PAGES = [REPO / "README.md", *sorted(REPO.glob("Documentation/*.rst"))]
FRONT = [REPO / name for name in ("CONTRIBUTING.md", "SECURITY.md")]
MESSAGES = REPO / "Documentation/troubleshooting.rst"
SPOKEN = ("tools/iobandctl/**/*.c", "drivers/md/dm-ioband/*.c")
SCRIPT = REPO / "udev/ioband-disk.in"
CONF_PAGES = (REPO / "Documentation/administration.rst", REPO / "tools/iobandctl/ioband.conf.5")

STRING = r'"(?:[^"\\\n]|\\.)*"'
CONVERSION = r"%(?!%)[-+ #0]*[\d*]*(?:\.[\d*]+)?[hlzjt]*[a-zA-Z]"
# What says where a message comes from, and is not a part of it.
PREFIX = r"^(?:iobandctl: |(?:ok|hint|wrong) +[^:]+: )"
LITERAL_LETTERS = 6  # fewer tell nothing
PHRASE_WORDS = 4  # so many come from a format of their own


def _format_pattern(text: str) -> str:
    """A regular expression for what a format of printf() prints."""
    parts = re.split(CONVERSION, text)
    return "(.*)".join(re.escape(part.replace("%%", "%")) for part in parts)


@cache
def spoken() -> list[re.Pattern[str]]:
    """All that the program, the module and the units can say."""
    formats = set()
    for pattern in SPOKEN:
        for file in REPO.glob(pattern):
            for found in re.findall(rf"{STRING}(?:\s*{STRING})*", file.read_text()):
                pieces = re.findall(STRING, found)
                formats.add("".join(piece[1:-1] for piece in pieces).replace("\\n", ""))
    patterns = [_format_pattern(text) for text in formats if _letters(text) >= LITERAL_LETTERS]
    for said in re.findall(rf"echo ({STRING}) >&2", SCRIPT.read_text()):
        patterns.append("(.*)".join(map(re.escape, re.split(r"\$\w+", said[1:-1]))))
    return [re.compile(pattern) for pattern in patterns]


def _letters(text: str) -> int:
    return len(re.sub(rf"{CONVERSION}|\W", "", text))


def is_spoken(text: str) -> bool:
    """Whether a message exists, and what stands in it for whole phrases does."""
    for pattern in spoken():
        found = pattern.fullmatch(text)
        if found and all(
            len(part.split()) < PHRASE_WORDS or is_spoken(part) for part in found.groups() if part
        ):
            return True
    return False


def quoted() -> list[str]:
    """The messages of ioband that are quoted in blocks, without what says where they are from."""
    blocks = re.findall(r"\.\. code-block:: text\n\n((?: +\S.*\n)+)", MESSAGES.read_text())
    lines = [line.strip() for block in blocks for line in block.splitlines()]
    return [re.sub(PREFIX, "", line) for line in lines]


def test_messages_are_those_of_the_sources() -> None:
    messages = quoted()
    assert len(messages) > 30
    unknown = [text for text in messages if not is_spoken(text)]
    assert not unknown, "\n".join(unknown)


def test_a_message_that_nobody_says_is_found() -> None:
    assert is_spoken("... is in use: it is mounted on ...; 'umount' it first")
    assert not is_spoken("... is in use: it is mounted on ...; 'umount' it now")
    assert not is_spoken("... is used: it is mounted on ...; 'umount' it first")
    assert is_spoken("sdb was unwrapped, and is left alone; "
                     "to wrap it again: systemctl start ioband-wrap@sdb")  # fmt: skip


def commands(text: str) -> set[tuple[str, str]]:
    """Each verb of iobandctl with each option that some command in a page gives it, and ""."""
    found = set()
    code = re.findall(r"``[^`]+``|^ +[#>].*|^ +iobandctl .*", text, re.MULTILINE)
    text = "\n".join(" ".join(part.split()) for part in code)
    for verb, rest in re.findall(r"\biobandctl ([a-z][a-z-]*)\b([^`|;&\n]*)", text):
        found.add((verb, ""))
        found.update((verb, option) for option in re.findall(r" (--[a-z][a-z-]*)", rest))
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_are_those_of_the_program(built: Built, page: Path) -> None:
    known = sh(built.iobandctl, "completion", "--words", "VERB").stdout.split()
    for verb, option in sorted(commands(page.read_text())):
        assert verb in known, f"iobandctl {verb}"
        assert option in sh(built.iobandctl, "help", verb).stdout, f"iobandctl {verb} {option}"


@pytest.mark.parametrize("page", [*PAGES, *FRONT], ids=lambda page: page.name)
def test_files_that_are_named_are_there(page: Path) -> None:
    assert dead_links(page) == []
    for name in re.findall(
        r"\b(?:tests|tools|udev|Documentation|drivers)/[\w./-]+\w", page.read_text()
    ):
        assert (REPO / name).exists(), name


def test_every_page_is_listed() -> None:
    """In the index, and in the README."""
    names = {page.name for page in PAGES[1:]}
    index = (REPO / "Documentation/index.rst").read_text()
    assert set(re.findall(r"<([\w-]+\.rst)>`_", index)) == names - {"index.rst"}
    assert set(re.findall(r"\(Documentation/([\w-]+\.rst)\)", PAGES[0].read_text())) == names


def test_the_readme_is_short() -> None:
    assert len(PAGES[0].read_text().split()) <= 1000


@pytest.mark.parametrize("page", PAGES[1:], ids=lambda page: page.name)
def test_a_page_begins_with_its_purpose(page: Path) -> None:
    """In the first paragraph below the title."""
    first = re.sub(r"\A\.\. .*\n\n=+\n.*\n=+\n\n", "", page.read_text())
    assert first.startswith("This page "), first[:80]


def configurations(page: Path) -> list[str]:
    """The configurations in a page, each of them a block that begins with a title."""
    text = page.read_text()
    indented = re.findall(r"(?:(?<=\n\n)|\A)((?: {4}\S.*\n|\n(?= {4}))+)", text)
    blocks = [re.sub("^ {4}", "", block, flags=re.MULTILINE) for block in indented]
    blocks += re.findall(r"^\.Bd -literal.*\n((?:.*\n)*?)\.Ed$", text, re.MULTILINE)
    return [block for block in blocks if re.match(r"\[[a-z]+( \S+)?\]\n", block)]


@pytest.mark.parametrize("page", CONF_PAGES, ids=lambda page: page.name)
def test_configurations_are_understood(fake: Fake, page: Path) -> None:
    examples = configurations(page)
    assert examples
    fake.device("one", "253:1", "sda")
    fake.answer("one", "groups", "1 groups\n1 0 root weight=100 set=0\nend\n")
    for text in examples:
        (fake.root / "conf").write_text(text)
        devices = re.search("^device = ", text, re.MULTILINE)
        said = fake.run(
            "apply", "--dry-run", "--config", str(fake.root / "conf"), rc=3 if devices else 0
        )
        assert not devices or "there is no" in said
