# SPDX-License-Identifier: GPL-2.0-only
"""The laboratory's cache of slow results, its locks and its progress messages."""

import contextlib
import fcntl
import hashlib
import os
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

KEEP_S = 24 * 3600
_started = time.monotonic()


def cache_dir(*parts: str) -> Path:
    """A directory of the cache, made when missing."""
    base = os.environ.get("IOBAND_CACHE")
    if not base:
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        base = Path(home) / "dm-ioband"
    path = Path(base, *parts).absolute()
    path.mkdir(parents=True, exist_ok=True)
    return path


def build_dir(name: str, source: Path) -> Path:
    """Where to build a source directory: one for each checkout, as make's notes differ."""
    return cache_dir("build", f"{name}-{hashlib.sha256(str(source).encode()).hexdigest()[:12]}")


def progress(text: str) -> None:
    """Print one line with the seconds since the start."""
    print(f"[{time.monotonic() - _started:6.1f}s] {text}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def locked(name: str) -> Iterator[None]:
    """Hold a lock between processes; print a line if another process has it."""
    with open(cache_dir("locks") / name, "w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress(f"waiting for another process ({name})")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def prune(directory: Path) -> None:
    """Remove entries of a directory of the cache that have not changed for a day."""
    for old in directory.iterdir():
        with contextlib.suppress(FileNotFoundError):  # another process removes its own
            if old.stat().st_mtime < time.time() - KEEP_S:
                shutil.rmtree(old) if old.is_dir() else old.unlink()
