# SPDX-License-Identifier: GPL-2.0-only
"""Programs in Go, built static for the guests, which see the host's files."""

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

from .cache import build_dir, locked

GO = "/usr/local/go/bin/go"


@cache
def build_program(source: Path, package: str = ".") -> Path:
    """Build a program of a module in Go in the cache, and return it."""
    out = build_dir(source.name, source)
    command = [shutil.which("go") or GO, "build", "-trimpath", "-o", f"{out}/", package]
    environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly -buildvcs=false"}
    with locked(out.name):
        subprocess.run(command, cwd=source, env=environment, check=True)
    return out / Path(package if package != "." else source).name
