# SPDX-License-Identifier: GPL-2.0-only
"""A Go that builds tools/ioband-node: this machine's, or Debian's of a newer suite.

Programs in Go are built static for the guests, which see the host's files.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

from .apt import Archive, unpack
from .cache import build_dir, cache_dir, locked, progress

REPO = Path(__file__).resolve().parents[3]
MODULE = REPO / "tools" / "ioband-node"
# The first stable suite with a Go that is new enough, and its package.
SUITE, PACKAGE, DIRECTORY = "trixie", "golang-1.24-go", "lib/go-1.24"
PLACES = ("/usr/local/go/bin/go", "/usr/lib/go/bin/go")


def needed() -> tuple[int, ...]:
    """The version of Go that the module asks for."""
    found = re.search(r"^go (\d+)\.(\d+)", (MODULE / "go.mod").read_text(), re.M)
    assert found
    return tuple(map(int, found.groups()))


def version(program: str | Path) -> tuple[int, ...]:
    """The version of a Go; (0, 0) if it does not run."""
    env = dict(os.environ, GOTOOLCHAIN="local")
    try:
        done = subprocess.run([program, "version"], env=env, text=True, capture_output=True)
    except OSError:
        return 0, 0
    found = re.search(r"\bgo(\d+)\.(\d+)", done.stdout)
    return tuple(map(int, found.groups())) if found else (0, 0)


def fetch() -> Path:
    """Debian's Go of a newer suite, unpacked into the cache."""
    with locked("golang"):
        root = cache_dir("golang", PACKAGE)
        program = root / "usr" / DIRECTORY / "bin" / "go"
        if not program.exists():
            progress(f"fetching {PACKAGE} of {SUITE}")
            archive = Archive(SUITE)
            archive.update()
            for deb in archive.download(
                [p for p in archive.resolve(PACKAGE) if p.name.startswith("golang-1.")]
            ):
                unpack(deb, root)
    return program


def go() -> str:
    """The program go, which is new enough."""
    for place in filter(None, (shutil.which("go"), *PLACES)):
        if version(place) >= needed():
            return place
    return str(fetch())


def environment() -> dict[str, str]:
    """For every use of Go, so that what one has compiled is in the cache for the others."""
    flags = "-trimpath -buildvcs=false -mod=readonly"
    return {**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": flags}


def build_program(source: Path, package: str = ".") -> Path:
    """Build a program of a module in the cache, and return it."""
    out = build_dir(source.name, source)
    program = out / (source if package == "." else Path(package)).name
    command = [go(), "build", "-o", program, package]
    with locked(out.name):
        subprocess.run(command, cwd=source, env=environment(), check=True)
    return program


if __name__ == "__main__":
    print(go())
