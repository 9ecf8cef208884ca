# SPDX-License-Identifier: GPL-2.0-only
"""The source of the newest kernel, as far as our builds and checks read it."""

import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

from .apt import AptError, Archive, Package, unpack
from .cache import cache_dir, locked, progress, prune
from .kernels import LOOK_UP_AGAIN_S, SUITES

# What our builds read of the source, besides what describes it to Kbuild everywhere.
READ = (
    *(f"arch/{name}" for name in ("um", "x86")),
    *(
        f"drivers/{name}"
        for name in ("base", "block", "char", "input", "md", "net", "pci", "scsi", "tty")
    ),
    *"block certs crypto fs include init io_uring ipc kernel lib mm net scripts".split(),  # noqa: SIM905
    *("security", "tools/include", "usr", "virt"),
)
UNREAD = ("*/drivers/net/*/*.[ch]",)


def _look_up(archive: Archive) -> Package:
    """The package that holds the source."""
    archive.update()
    for package in archive.resolve("linux-source"):
        if re.fullmatch(r"linux-source-\d.*", package.name):
            return package
    raise AptError(f"{archive.target} has no linux-source package")


def _unpack_source(archive: Archive, package: Package, root: Path) -> None:
    progress(f"source: fetching {package.name} {package.version} (160 MB)")
    (deb,) = archive.download([package])
    unfinished = root.with_name(f"unfinished-{root.name}")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir()
    unpack(deb, unfinished)
    progress("source: unpacking")
    (tarball,) = unfinished.glob("usr/src/*.tar.xz")
    tar = ["tar", "-x", "-I", "xz -T0", "-f", tarball, "-C", unfinished, "--strip-components=1"]
    tar += [f"--exclude={pattern}" for pattern in UNREAD]
    tar += ["--wildcards", *(f"*/{name}*" for name in ("Kbuild", "Kconfig", "Makefile"))]
    subprocess.run([*tar, *(f"{package.name}/{name}" for name in READ)], check=True)
    tarball.unlink()
    deb.unlink()
    for old in root.parent.glob(f"{root.name}*"):  # incomplete, also with patches
        shutil.rmtree(old)
    unfinished.rename(root)


def get_source() -> tuple[str, Path]:
    """Version and tree of the newest source; fetched when missing or not looked up lately."""
    trees = cache_dir("lab", "source")
    state = cache_dir("lab") / "source.json"
    with locked("lab-source"):
        try:
            known = json.loads(state.read_text())
            root = trees / known["version"]
            complete = root.is_dir() and known.get("read") == list(READ)
            if complete and time.time() - known["checked"] < LOOK_UP_AGAIN_S:
                return known["version"], root
        except (FileNotFoundError, KeyError, ValueError):
            known, root, complete = None, None, False
        try:
            archive = Archive(*SUITES["newest"])
            package = _look_up(archive)
            version, root = package.version, trees / package.version
            if not complete or not root.is_dir():
                _unpack_source(archive, package, root)
        except AptError as err:
            if not known or not root.is_dir():
                raise
            version = known["version"]
            progress(f"source: keeping {version}, no look-up possible: {err}")
        else:
            known = {"version": version, "checked": time.time(), "read": READ}
            state.write_text(json.dumps(known))
            os.utime(root)
            prune(trees)
    return version, root
