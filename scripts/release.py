#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tag the version of this tree, after a check that everything agrees; "make release" runs it."""

import re
import subprocess
import sys
from pathlib import Path

from harness.packages import versions

REPO = Path(__file__).resolve().parents[1]


def git(*args: str) -> str:
    """The output of git."""
    done = subprocess.run(["git", *args], cwd=REPO, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout


def news(version: str) -> str | None:
    """The entry of a version in NEWS, if it is the newest one and has a date."""
    entries = re.split(r"^## ", (REPO / "NEWS").read_text(), flags=re.MULTILINE)
    found = re.fullmatch(
        rf"{re.escape(version)} \(\d{{4}}-\d\d-\d\d\)\n\s*(\S.*)", entries[1], re.DOTALL
    )
    return found[1].strip() if found else None


def problems(found: dict[str, str]) -> list[str]:
    """The reasons against a tag, of a tree with these versions."""
    if len(set(found.values())) > 1:
        return [f"versions differ: {', '.join(f'{file} has {v}' for file, v in found.items())}"]
    version = found["dkms.conf"]
    wrong = []
    if not re.fullmatch(r"\d+(\.\d+)+", version):
        wrong.append(f"{version} is no version to release")
    if not news(version):
        wrong.append(f"NEWS: the first entry is not '## {version} (YYYY-MM-DD)' with a text")
    first = (REPO / "debian/changelog").read_text().partition("\n")[0]
    if "UNRELEASED" in first:
        wrong.append(f"debian/changelog: the entry of {version} is UNRELEASED")
    if git("status", "--porcelain"):
        wrong.append("the tree has changes that are not committed")
    if git("tag", "--list", f"v{version}"):
        wrong.append(f"there is a tag v{version} already")
    return wrong


def main() -> None:
    """Tag, or say why not."""
    found = versions(REPO)
    if wrong := problems(found):
        sys.exit("\n".join(f"release: {text}" for text in wrong))
    version = found["dkms.conf"]
    git("tag", "--annotate", f"v{version}", "-m", f"dm-ioband {version}\n\n{news(version)}")
    print(f"Tagged v{version}.  To publish it: git push origin v{version}")


if __name__ == "__main__":
    main()
