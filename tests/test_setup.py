# SPDX-License-Identifier: GPL-2.0-only
"""A bare machine can set itself up: it has make and Debian's essential packages."""

import re
import subprocess
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[1]
COMMANDS = ("/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/")
# Stubs of commands that change the machine log their arguments; no package is installed.
STUBS = {"apt-get": 'echo "$*" >>"$ASKED"', "dpkg-query": "exit 1", "id": "echo 0"}


def output(*command: str) -> list[str]:
    """The lines that a command prints."""
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout.split("\n")


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A directory with the commands of essential packages, and make."""
    directory = tmp_path / "bin"
    directory.mkdir()
    lines = output("dpkg-query", "-W", "-f", "${Essential} ${Package}\n")
    packages = [line.split()[1] for line in lines if line.startswith("yes ")]
    for path in output("dpkg", "-L", *packages, "make"):
        link = directory / Path(path).name
        if path.startswith(COMMANDS) and not link.is_symlink():
            link.symlink_to(path)
    for name, script in STUBS.items():
        (directory / name).unlink(missing_ok=True)
        (directory / name).write_text(f"#!/bin/sh\n{script}\n")
        (directory / name).chmod(0o755)
    return directory


@pytest.mark.parametrize(
    ("command", "package"),
    [
        ("scripts/setup build", "gcc"),
        ("scripts/setup deb", "dpkg-dev"),
        # The program to run is missing too.
        ("make --no-print-directory test-unit PYTHON=true", "python3-pytest"),
    ],
)
def test_nothing_is_needed_before_it_is_installed(bare: Path, command: str, package: str) -> None:
    asked = bare.parent / "asked"
    done = subprocess.run(
        [bare / "bash", "-c", command],
        cwd=REPO,
        env={"PATH": str(bare), "HOME": str(bare.parent), "ASKED": str(asked)},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert not re.search("not found|No such file", done.stdout), done.stdout
    assert done.returncode == 0, done.stdout
    installed = [line for line in asked.read_text().splitlines() if " install " in line]
    assert package in " ".join(installed).split(), installed
