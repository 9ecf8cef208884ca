# SPDX-License-Identifier: GPL-2.0-only
"""Hashes of the driver, of the modelled disks and of the files in the guest.

The hashes are of sources, as built modules differ between machines; in C, comments do
not count.  The rest that decides an outcome is in results.json itself (the scenario),
or named there (the kernel's release, fio).
"""

import hashlib
import subprocess
from pathlib import Path

from harness.module import REPO

from .uml import for_guests

DIRECTORIES = {"driver": REPO / "drivers/md/dm-ioband", "disk": REPO / "tests/lab/disk"}
PARTS = (*DIRECTORIES, "guest")
UNCOMMENTED = ["gcc", "-fpreprocessed", "-dD", "-E", "-P", "-x", "c"]


def _bare(path: Path) -> bytes:
    """A C file without its comments; any other file unchanged."""
    if path.suffix not in (".c", ".h"):
        return path.read_bytes()
    return subprocess.run([*UNCOMMENTED, path], check=True, capture_output=True).stdout


def _word(paths: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        text = _bare(path)
        digest.update(f"{path.name} {len(text)}\n".encode() + text)
    return digest.hexdigest()[:16]


def built(directory: Path) -> list[Path]:
    """The sources of a module: its C files and its Kbuild."""
    return [*sorted(directory.rglob("*.[ch]")), directory / "Kbuild"]


def words() -> dict[str, str]:
    """The hashes of the driver, the modelled disks, and the files in the guest."""
    found = {name: _word(built(directory)) for name, directory in DIRECTORIES.items()}
    return found | {"guest": _word(for_guests())}
