# SPDX-License-Identifier: GPL-2.0-only
"""fio without the libraries of its engines for networks and persistent memory.

Debian's fio loads 60 libraries for them, with 100 000 addresses to relocate, which takes an
emulated processor half a second at each start.  One library without functions is in their
place: an engine that needs them traps.
"""

import hashlib
import re
import shutil
import subprocess
from collections import defaultdict
from functools import cache
from pathlib import Path

from .cache import cache_dir, locked

FIO = Path("/usr/bin/fio")
ENGINES = re.compile(r"lib(gfapi|ibverbs|nbd|pmem|pmemblk|rados|rbd|rdmacm)\.so\.\d+")
FUNCTIONS = re.compile(r" UND ((?:glfs|ibv|nbd|pmem|pmemblk|rados|rbd|rdma)_\w+)(?:@(\w[\w.]*))?")


@cache
def fio_environment() -> dict[str, str]:
    """Environment variables with which fio finds that library."""
    place = cache_dir("thin-fio", hashlib.sha256(FIO.read_bytes()).hexdigest()[:12])
    environment = {"LD_LIBRARY_PATH": str(place)}
    with locked("thin-fio"):
        if not (place / "tried").exists():
            shutil.rmtree(place)
            place.mkdir()
            _make(place)
            subprocess.run([FIO, "--version"], env=environment, capture_output=True, check=True)
            (place / "tried").touch()
    return environment


def _make(place: Path) -> None:
    functions: dict[str, list[str]] = defaultdict(list)  # by version
    for name, version in FUNCTIONS.findall(_readelf("--dyn-syms")):
        functions[version].append(name)
    names = [name for group in functions.values() for name in group]
    source = "".join(f"void {name}(void) {{ __builtin_trap(); }}\n" for name in names)
    versions = "".join(
        f"{version} {{ global: {'; '.join(group)}; }};\n"
        for version, group in functions.items()
        if version
    )
    (place / "versions").write_text(versions or "{ global: *; };")
    flags = ["-shared", "-nostdlib", "-fno-builtin", f"-Wl,--version-script={place}/versions"]
    command = ["gcc", *flags, "-o", place / "thin.so", "-x", "c", "-"]
    subprocess.run(command, input=source, text=True, check=True)
    for library in ENGINES.finditer(_readelf("--dynamic")):
        (place / library[0]).symlink_to("thin.so")


def _readelf(what: str) -> str:
    command = ["readelf", "--wide", what, str(FIO)]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
