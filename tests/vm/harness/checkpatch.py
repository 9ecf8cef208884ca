# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's own style checker, taken out of Debian's kernel source package."""

import argparse
import subprocess
import sys
from pathlib import Path

from .apt import Archive, unpack
from .cache import cache_dir, locked, progress
from .kernels import SUITES, get_kernel

NEEDED = ("checkpatch.pl", "spelling.txt", "const_structs.checkpatch")

# TRACE_EVENT() has a layout of its own, which checkpatch does not know.
TRACE_STYLE = "OPEN_ENDED_LINE,PARENTHESIS_ALIGNMENT,SPACING,TRAILING_SEMICOLON"


def get_checkpatch() -> Path:
    """checkpatch.pl of the newest kernel, from the cache once it was fetched."""
    kernel = get_kernel("newest")
    major, minor = kernel.version
    scripts = cache_dir("checkpatch") / f"linux-source-{major}.{minor}" / "scripts"
    with locked("checkpatch"):
        if not all((scripts / name).exists() for name in NEEDED):
            _fetch(scripts)
    return scripts / NEEDED[0]


def _fetch(scripts: Path) -> None:
    name = scripts.parent.name
    progress(f"checkpatch: fetching {name} (150 MB) to take three files out")
    archive = Archive(*SUITES["newest"])
    package = next(p for p in archive.resolve(name) if p.name == name)
    (deb,) = archive.download([package])
    scripts.mkdir(parents=True, exist_ok=True)
    unpack(deb, scripts.parent)
    tarball = scripts.parent / f"usr/src/{name}.tar.xz"
    wanted = [f"{name}/scripts/{file}" for file in NEEDED]
    subprocess.run(
        ["tar", "-xf", tarball, "-C", scripts.parent, "--strip-components=1", *wanted], check=True
    )
    tarball.unlink()
    deb.unlink()


def _run(files: list[str], *more: str) -> bool:
    """Check files; prints the complaints and returns whether there were none."""
    options = ["--no-tree", "--strict", "--show-types", "--terse", "--quiet", "--file"]
    command = ["perl", str(get_checkpatch()), *options, *more, *files]
    out = subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout
    for litter in Path().glob(".checkpatch-camelcase.*"):
        litter.unlink()
    complaints = [line for line in out.splitlines() if not line.startswith("total:")]
    print("".join(f"{line}\n" for line in complaints), end="")
    return not complaints


def main() -> None:
    """Check the C files named; settings come from .checkpatch.conf in the current directory."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("files", nargs="+", metavar="FILE")
    files = parser.parse_args().files
    traces = [file for file in files if file.endswith("-trace.h")]
    others = [file for file in files if file not in traces]
    clean = not traces or _run(traces, "--ignore", TRACE_STYLE)
    clean &= not others or _run(others)
    sys.exit(not clean)


if __name__ == "__main__":
    main()
