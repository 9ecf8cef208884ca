# SPDX-License-Identifier: GPL-2.0-only
"""Debian packages that are unpacked into the cache, and not installed."""

import hashlib
import os
import shutil
from pathlib import Path

from .apt import Archive, Package, merged_root, unpack
from .cache import cache_dir, locked, progress, prune
from .kernels import SUITES, USELESS, own_kernel_name


def own_archive() -> Archive:
    """The packages of the Debian release that this machine runs."""
    return Archive(*SUITES[own_kernel_name()])


def unpacked(name: str, archive: Archive, packages: list[Package]) -> Path:
    """A tree with the files of packages, made when missing; no maintainer script has run."""
    debs = " ".join(sorted(each.deb for each in packages))
    store = cache_dir("trees")
    tree = store / f"{name}-{hashlib.sha256(debs.encode()).hexdigest()[:12]}"
    with locked("trees"):  # packages may be needed in several
        if not tree.is_dir():
            prune(store)
            progress(f"unpacking {len(packages)} packages: {name}")
            unfinished = store / f"unfinished-{name}"
            shutil.rmtree(unfinished, ignore_errors=True)
            merged_root(unfinished)
            for deb in archive.download(packages):
                unpack(deb, unfinished, USELESS)
                deb.unlink()
            unfinished.rename(tree)
        os.utime(tree)  # it is used
    return tree
