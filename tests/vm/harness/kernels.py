# SPDX-License-Identifier: GPL-2.0-only
"""Stock Debian kernels, each in a small tree with its headers and its compiler.

A tree is unpacked packages and nothing else: vmlinuz and modules to boot from,
and what a chroot needs to build a module with the compiler of the kernel's own
Debian release.  It is keyed by the versions of all its packages and made again
only when one of them has changed.
"""

import argparse
import hashlib
import json
import os
import platform
import re
import shutil
import stat
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from .apt import AptError, Archive, Package, merged_root, unpack
from .cache import cache_dir, locked, progress

# name -> (Debian suite, whether the kernel comes from its backports)
SUITES = {
    "6.1": ("bookworm", False),
    "6.12": ("trixie", False),
    "newest": ("trixie", True),
}
# Kernels with PREEMPT_RT, fetched when a test needs one.
REALTIME = {"debian-rt": ("trixie", False)}
KERNELS = SUITES | REALTIME
LOOK_UP_AGAIN_S = 7 * 24 * 3600
TOOLCHAIN = "gcc make sparse bash dash coreutils grep sed gawk findutils".split()  # noqa: SIM905
# Hardware that no guest has; leaving it out halves the time to unpack.
USELESS = (
    *(f"*/kernel/drivers/{name}" for name in ("gpu", "media", "net", "iio", "staging", "usb")),
    "*/kernel/sound",
    *(f"*/usr/share/{name}/*" for name in ("doc", "man", "locale")),
)

# objtool reads /proc/self/limits.
IN_TREE = 'mount --rbind /proc "$0/proc" && exec chroot "$0" "$@"'


class BuildTarget(Protocol):
    """A kernel that modules can be built for."""

    name: str
    release: str

    @property
    def works(self) -> Path:
        """Where modules are built for it."""

    def make(self, work: Path) -> list[str]:
        """The command that runs Kbuild on a directory in works."""


@dataclass(frozen=True)
class Kernel:
    """A kernel that can be booted and built for."""

    name: str
    release: str
    root: Path

    @property
    def modules(self) -> Path:
        """Directory of the kernel's modules."""
        return self.root / "usr/lib/modules" / self.release

    @property
    def vmlinuz(self) -> Path:
        """The image to boot: in /boot, or among the modules where packages are split."""
        paths = (self.root / "boot" / f"vmlinuz-{self.release}", self.modules / "vmlinuz")
        return next(path for path in paths if path.exists())

    @property
    def version(self) -> tuple[int, int]:
        """(6, 12) for the release 6.12.107+deb13-amd64."""
        major, minor = re.match(r"(\d+)\.(\d+)", self.release).groups()
        return int(major), int(minor)

    @property
    def works(self) -> Path:
        """Where modules are built for it."""
        return self.root / "build"

    def make(self, work: Path) -> list[str]:
        """The command that runs Kbuild on a directory in works, with the kernel's own compiler."""
        headers = f"/usr/lib/modules/{self.release}/build"
        make = ["make", "-s", "-C", headers, f"M=/build/{work.name}"]
        return ["unshare", "--mount", "sh", "-c", IN_TREE, str(self.root), *make]


def own_kernel_name() -> str:
    """The name of the kernel of the Debian release that this machine runs."""
    codename = platform.freedesktop_os_release().get("VERSION_CODENAME", "")
    for name, (suite, backports) in SUITES.items():
        if suite == codename and not backports:
            return name
    return "newest"


def _state_file(name: str) -> Path:
    return cache_dir("kernels") / f"{name}.json"


def _load(name: str) -> tuple[Kernel, float] | None:
    """The kernel in the cache and the time when it was last looked up."""
    try:
        state = json.loads(_state_file(name).read_text())
        kernel = Kernel(name, state["release"], Path(state["root"]))
        return (kernel, state["checked"]) if kernel.root.is_dir() else None
    except (FileNotFoundError, KeyError, ValueError):
        return None


def _save(kernel: Kernel) -> None:
    state = {"release": kernel.release, "root": str(kernel.root), "checked": time.time()}
    _state_file(kernel.name).write_text(json.dumps(state))


def _look_up(archive: Archive, flavour: str) -> tuple[list[Package], list[Package], str]:
    """Packages of the kernel, packages of the tools, and the kernel's release."""
    image = [p for p in archive.resolve(f"linux-image-{flavour}") if p.name.startswith("linux-")]
    tools = archive.resolve(f"linux-headers-{flavour}", *TOOLCHAIN)
    release = next(
        match[1] for p in image if (match := re.fullmatch(r"linux-image-(\d.*-amd64)", p.name))
    )
    return image, tools, release


def _make_tree(root: Path, debs: list[Path], release: str) -> None:
    merged_root(root)
    for deb in debs:
        unpack(deb, root, USELESS)
    (root / "dev").mkdir(exist_ok=True)
    os.mknod(root / "dev/null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    os.chmod(root / "dev/null", 0o666)
    for name in ("proc", "tmp"):
        (root / name).mkdir(exist_ok=True)
    awk = root / "usr/bin/awk"
    if not awk.exists():
        awk.symlink_to("gawk")
    subprocess.run(["depmod", "-b", str(root), release], check=True)


def _fetch(name: str) -> Kernel:
    archive = Archive(*KERNELS[name])
    progress(f"kernel {name}: looking up packages in {archive.target}")
    archive.update()
    flavour = "rt-amd64" if name in REALTIME else "amd64"
    image, tools, release = _look_up(archive, flavour)
    packages = {p.deb: p for p in image + tools}
    key = hashlib.sha256(" ".join(sorted(packages)).encode()).hexdigest()[:12]
    kernel = Kernel(name, release, cache_dir("kernels") / f"{name}-{key}")
    if not kernel.root.is_dir():
        progress(f"kernel {name}: fetching {len(packages)} packages of {release}")
        debs = archive.download(list(packages.values()))
        progress(f"kernel {name}: unpacking")
        unfinished = cache_dir("kernels") / f"unfinished-{name}"
        shutil.rmtree(unfinished, ignore_errors=True)
        _make_tree(unfinished, debs, release)
        unfinished.rename(kernel.root)
        for deb in debs:
            deb.unlink(missing_ok=True)
    _save(kernel)
    for old in cache_dir("kernels").glob(f"{name}-*"):
        if old != kernel.root:
            shutil.rmtree(old)
    progress(f"kernel {name}: {release} is ready")
    return kernel


def get_kernel(name: str) -> Kernel:
    """The kernel of that name; fetched first when missing or not looked up lately."""
    if name not in KERNELS:
        raise ValueError(f"kernel {name!r} is unknown; there are {', '.join(KERNELS)}")
    with locked(f"kernel-{name}"):
        known = _load(name)
        if known and time.time() - known[1] < LOOK_UP_AGAIN_S:
            return known[0]
        try:
            return _fetch(name)
        except AptError as err:
            if not known:
                raise
            progress(f"kernel {name}: keeping {known[0].release}, no look-up possible: {err}")
            return known[0]


def main() -> None:
    """Fetch the kernels named (all by default; "own": this Debian's) and print where they are."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("names", nargs="*", metavar="KERNEL", default=list(SUITES))
    names = [own_kernel_name() if name == "own" else name for name in parser.parse_args().names]
    with ThreadPoolExecutor(2) as pool:
        for kernel in pool.map(get_kernel, names):
            print(f"{kernel.name:8} {kernel.release:24} {kernel.root}")


if __name__ == "__main__":
    main()
