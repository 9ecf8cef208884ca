# SPDX-License-Identifier: GPL-2.0-only
"""Building iobandctl for the guests, which see the host's files."""

import subprocess
from pathlib import Path

from .cache import build_dir, locked
from .module import REPO


def build_tool(*, sanitize: bool = False) -> Path:
    """Build iobandctl in the cache, and return the program.

    sanitize makes it end with a report at a memory error or undefined behaviour.
    """
    source = REPO / "tools/iobandctl"
    out = build_dir("iobandctl-sanitized" if sanitize else "iobandctl", source)
    command = ["make", "-s", "-C", source, f"O={out}", f"SANITIZE={sanitize:d}"]
    with locked(out.name):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return out / "iobandctl"
