# SPDX-License-Identifier: GPL-2.0-only
"""Building iobandctl for the guests, which see the host's files."""

import hashlib
import subprocess
from pathlib import Path

from .cache import cache_dir, locked
from .module import REPO


def build_tool(*, sanitize: bool = False) -> Path:
    """Build iobandctl in the cache, and return the program.

    sanitize makes it end with a report at a memory error or undefined behaviour.
    """
    source = REPO / "tools/iobandctl"
    key = hashlib.sha256(f"{source} {sanitize}".encode()).hexdigest()[:12]
    out = cache_dir("build", f"iobandctl-{key}")
    command = ["make", "-s", "-C", source, f"O={out}", f"SANITIZE={sanitize:d}"]
    with locked(f"build-iobandctl-{key}"):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return out / "iobandctl"
