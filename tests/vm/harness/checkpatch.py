# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's own style checker."""

import argparse
import hashlib
import subprocess
import sys
from pathlib import Path

from .cache import cache_dir
from .source import get_source

CONF = ".checkpatch.conf"
# TRACE_EVENT() has a layout of its own, which checkpatch does not know.
TRACE_STYLE = "OPEN_ENDED_LINE,PARENTHESIS_ALIGNMENT,SPACING,TRAILING_SEMICOLON"


def _run(files: list[str], *more: str) -> bool:
    """Check files; prints the complaints and returns whether there were none.

    Files that were clean stay so with the same checkpatch and the same settings.
    """
    _, source = get_source()
    checker = [path.read_bytes() for path in (source / "scripts/checkpatch.pl", Path(CONF))]
    clean = cache_dir("checkpatch")
    marks = {
        file: clean / _digest(file.encode(), Path(file).read_bytes(), *checker) for file in files
    }
    left = [file for file, mark in marks.items() if not mark.exists()]
    if not left:
        return True
    options = ["--no-tree", "--strict", "--show-types", "--terse", "--quiet", "--file"]
    command = ["perl", str(source / "scripts/checkpatch.pl"), *options, *more, *left]
    out = subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout
    for litter in Path().glob(".checkpatch-camelcase.*"):
        litter.unlink()
    complaints = [line for line in out.splitlines() if not line.startswith("total:")]
    print("".join(f"{line}\n" for line in complaints), end="")
    for file in left:
        if not any(line.startswith(f"{file}:") for line in complaints):
            marks[file].touch()
    return not complaints


def _digest(*parts: bytes) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:24]


def main() -> None:
    """Check the C files named; settings come from .checkpatch.conf in the current directory."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("files", nargs="+", metavar="FILE")
    files = parser.parse_args().files
    traces = [file for file in files if file.endswith("/trace.h")]
    others = [file for file in files if file not in traces]
    clean = not traces or _run(traces, "--ignore", TRACE_STYLE)
    clean &= not others or _run(others)
    sys.exit(not clean)


if __name__ == "__main__":
    main()
