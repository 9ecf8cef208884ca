# SPDX-License-Identifier: GPL-2.0-only
"""The check of the language finds its idioms, and its list of exceptions only shrinks."""

import importlib.util
import subprocess
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[1]
SPEC = importlib.util.spec_from_file_location("words", REPO / "scripts/words.py")
assert SPEC and SPEC.loader
words = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(words)

GOOD = "A group that is backlogged competes.\n"
BAD = "Nobody waits for the group whose bios are past.\n"
C = """/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Charge the leaf, not
 * who submits.
 */
int who(void);	// what is due
static const char *text = "/* nobody */";
static const char *other = "The group \\"a\\"\\nwhose " "share is past";
"""
PYTHON = '''"""What is measured.

By whom.
"""
who = "somebody"  # nobody else


def one_that() -> str:
    """One that fails."""
    return "whose"
'''
SHELL = "#!/bin/sh\n# The group that\n# nobody has.\necho who\n"
RST = """Page
====

The group, ``who``, and::

    whose

What is at the device.

.. code-block:: console

    # whom

The leaf one
that waits.
"""
MARKDOWN = "# Page\n\n```\nwho\n```\n\n    whose\n\n* An entry `nobody`,\n  somebody's\n"
MANUAL = ".Nm who\nThe group\nwhose share.\n.Bd -literal\nwhom\n.Ed\nNobody.\n"


@pytest.mark.parametrize(
    ("path", "text", "lines"),
    [
        ("a.c", C, [4, 6]),
        ("tools/iobandctl/a.c", C, [4, 6, 7, 8]),
        ("a.py", PYTHON, [1, 3, 5, 9]),
        ("scripts/setup", SHELL, [3]),
        ("a.rst", RST, [8, 14]),
        ("a.md", MARKDOWN, [10]),
        ("a.8", MANUAL, [3, 7]),
    ],
)
def test_idioms_are_found_in_prose_alone(path: str, text: str, lines: list[int]) -> None:
    report = words.examine(path, list(words.lines_of(path, text)))
    assert [line.number for line in report.idioms] == lines


def test_files_without_prose_are_passed_over() -> None:
    assert words.lines_of("a.svg", "who") is None


@pytest.mark.parametrize(
    "idiom",
    ["who", "Whom", "whose", "nobody", "somebody", "one that", "ones that", "what is", "what goes"],
)
def test_each_idiom_counts(idiom: str) -> None:
    report = words.examine("a.md", [words.Line(1, f"It is {idiom} waits")])
    assert len(report.idioms) == 1
    assert report.rate > words.LIMIT


def test_long_sentences_are_found() -> None:
    short, long = " ".join(["word"] * words.LONG), " ".join(["word"] * (words.LONG + 1))
    lines = [words.Line(1, f"{short}. {short}:"), words.Line(2, f"* {short}"), words.Line(3, long)]
    report = words.examine("a.md", [*lines[:2], words.Line(0, ""), lines[2]])
    assert [line.number for line in report.sentences] == [3]


def run(repo: Path, *command: str) -> None:
    """Run a command in a scratch repository."""
    subprocess.run(command, cwd=repo, check=True, capture_output=True)


def commit(repo: Path, subject: str, **files: str | None) -> None:
    """Write files, with "_" for "." in their names, and commit them."""
    for name, text in files.items():
        path = repo / name.replace("_", ".")
        if text is None:
            path.unlink()
        else:
            path.write_text(text)
    run(repo, "git", "add", "--all")
    run(repo, "git", "commit", "--quiet", "--message", subject)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository with a rewritten page and an old page; later subjects are checked."""
    run(tmp_path, "git", "init", "--quiet")
    run(tmp_path, "git", "config", "user.name", "A test")
    run(tmp_path, "git", "config", "user.email", "test@localhost")
    (tmp_path / "scripts").mkdir()
    (tmp_path / words.TODO).write_text("# The list.\nold.md\n")
    commit(tmp_path, "doc: add the pages", new_md=GOOD, old_md=BAD)
    return tmp_path


def wrong(repo: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The complaints of the check, after its table and its result were compared with them."""
    result = words.main([], repo)
    out, err = capsys.readouterr()
    assert "documentation" not in out and "front door and build" in out
    assert result == bool(err.strip())
    return err.strip()


def test_a_rewritten_file_cannot_regress(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert wrong(repo, capsys) == ""
    commit(repo, "doc: write as before", new_md=GOOD + BAD)
    line = f"new.md:2: {BAD.strip()}"
    assert wrong(repo, capsys) == f"{line}\n{line}"  # it has two of them


def test_the_list_of_exceptions_only_shrinks(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    commit(repo, "doc: rewrite the page", old_md=GOOD)
    assert wrong(repo, capsys).endswith("old.md: keeps the limit now, remove it from this list")
    (repo / words.TODO).write_text("# The list.\n")
    commit(repo, "doc: the page is rewritten")
    assert wrong(repo, capsys) == ""
    (repo / words.TODO).write_text("# The list.\nold.md\n")
    commit(repo, "doc: write as before", old_md=BAD)
    assert wrong(repo, capsys).endswith("old.md: has left this list already")
    commit(repo, "doc: remove the page", old_md=None)
    assert wrong(repo, capsys).endswith("old.md: there is no such file")


def test_subjects_of_commits_have_the_limit_too(
    repo: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(words, "SINCE", "2020-01-02")
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2020-01-01T00:00:00Z")
    commit(repo, "core: who hangs keeps no turn", new_md=GOOD * 2)
    monkeypatch.delenv("GIT_COMMITTER_DATE")
    commit(repo, "core: charge anticipation to the leaf", new_md=GOOD * 3)
    assert wrong(repo, capsys) == ""
    commit(repo, "core: who waits is served", new_md=GOOD * 4)
    assert wrong(repo, capsys) == "commit subjects:1: core: who waits is served"


def test_a_tarball_says_that_nothing_is_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert words.main([], tmp_path) == 0
    assert "neither files nor commit subjects" in capsys.readouterr().out


def test_an_area_has_a_limit_of_words_a_sentence(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    of_20_words = f"A group {'that waits ' * 9}.\n\n"
    commit(repo, "doc: write more", new_md=of_20_words * 18)
    assert "front door and build: 19.4 words a sentence, limit 18" in wrong(repo, capsys)
    commit(repo, "doc: write less", new_md=of_20_words)
    assert wrong(repo, capsys) == ""


def test_the_readme_has_a_limit_of_words(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    commit(repo, "doc: add the README", README_md=GOOD * 166)
    assert wrong(repo, capsys) == ""
    commit(repo, "doc: extend the README", README_md=GOOD * 167)
    assert wrong(repo, capsys) == "README.md: 1002 words, limit 1000"


def test_sizes_and_long_sentences_are_listed(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sentence = " ".join(["word"] * (words.LONG + 1))
    (repo / "drivers/md/sched").mkdir(parents=True)
    (repo / "drivers/md/a.c").write_text(f"/* {GOOD * 2} */\n/* {sentence} */\n")
    (repo / "drivers/md/a.h").write_text("int a;\n")
    (repo / "drivers/md/sched/b.h").write_text("int b;\n\n")
    commit(repo, "core: add the files", README_md=GOOD)
    assert words.main([], repo) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "README.md: 6 words" in lines
    assert "drivers/md/: 7 lines, largest header drivers/md/sched/b.h with 2" in lines
    assert "tools/iobandctl/: 0 lines" in lines
    assert lines[-1].startswith("drivers/md/a.c:4: a sentence of 31 words: word word")
