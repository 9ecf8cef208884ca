# SPDX-License-Identifier: GPL-2.0-only
"""make release tags a version once everything agrees, in a scratch repository."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from harness.packages import VERSIONS, versions

REPO = Path(__file__).resolve().parents[1]
NEEDED = (*VERSIONS, "Makefile", "NEWS", "scripts/release.py", ".gitignore")


def run(repo: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command in the scratch repository."""
    return subprocess.run(command, cwd=repo, text=True, capture_output=True)


def change(repo: Path, name: str, old: str, new: str) -> None:
    """Replace a pattern in a file, and commit."""
    text, count = re.subn(old, new, (repo / name).read_text(), count=1)
    assert count == 1
    (repo / name).write_text(text)
    assert run(repo, "git", "commit", "--all", "--quiet", "-m", "build: try").returncode == 0


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository with the files that a release looks at, in which 1.0 has been released."""
    for name in (*NEEDED, "tests/vm/harness"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        if (REPO / name).is_dir():
            ignore = shutil.ignore_patterns("__pycache__")
            shutil.copytree(REPO / name, tmp_path / name, ignore=ignore)
        else:
            shutil.copy(REPO / name, tmp_path / name)
    for words in (
        "init --quiet",
        "config user.name Test",
        "config user.email test@localhost",
        "add --all",
        "commit --quiet -m start",
    ):
        assert run(tmp_path, "git", *words.split()).returncode == 0
    change(tmp_path, "NEWS", r"## .*", f"## {versions()['dkms.conf']} (2026-12-01)")
    return tmp_path


def release(repo: Path) -> str:
    """What make release prints; it fails exactly if it tags nothing new."""
    before = run(repo, "git", "tag").stdout
    done = run(repo, "make", "-s", "release")
    assert bool(done.returncode) == (run(repo, "git", "tag").stdout == before)
    return done.stdout + done.stderr


def test_a_version_is_tagged_once(repo: Path) -> None:
    version = versions()["dkms.conf"]
    assert f"Tagged v{version}." in release(repo)
    tag = run(repo, "git", "cat-file", "tag", f"v{version}").stdout
    assert f"\ndm-ioband {version}\n" in tag and "Kernel module" in tag
    assert f"there is a tag v{version} already" in release(repo)


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("NEWS", r"\(2026-12-01\)", "(unreleased)", "NEWS: the first entry is not '## "),
        ("NEWS", r"## \d", "## 99", "NEWS: the first entry is not '## "),
        ("debian/changelog", r"\) unstable", ") UNRELEASED", "is UNRELEASED"),
        ("debian/changelog", r"dm-ioband \(", "dm-ioband (9", "versions differ: dkms.conf has "),
        ("dkms.conf", r'VERSION="', 'VERSION="9', "versions differ: dkms.conf has 9"),
    ],
)
def test_nothing_is_tagged_if_something_disagrees(
    repo: Path, name: str, old: str, new: str, said: str
) -> None:
    change(repo, name, old, new)
    assert said in release(repo)


def test_nothing_is_tagged_with_uncommitted_changes(repo: Path) -> None:
    (repo / "NEWS").write_text((repo / "NEWS").read_text() + "\nMore.\n")
    assert "not committed" in release(repo)
    assert run(repo, "git", "checkout", "--quiet", "NEWS").returncode == 0
    (repo / "drivers/md/dm-ioband/new.c").write_text("\n")
    assert "not committed" in release(repo)
