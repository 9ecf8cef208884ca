# SPDX-License-Identifier: GPL-2.0-only
"""The Debian packages, built from the tree: as it is, and as a later version of it."""

import hashlib
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .cache import cache_dir, locked, progress, prune
from .module import REPO

NEXT = "1.999"  # later than the tree's
# The files with the version, and the text before and behind it.
VERSIONS = {
    "dkms.conf": (r'PACKAGE_VERSION="', '"'),
    "debian/changelog": (r"\Adm-ioband \(", r"\)"),
    "packaging/dm-ioband.spec": (r"\nVersion: +", r"\n"),
    "packaging/PKGBUILD": (r"\npkgver=", r"\n"),
    "drivers/md/dm-ioband/main.c": (r'MODULE_VERSION\("', r'"\)'),
}
# Files that are packed, or control the build of the packages.
CONTENT = (
    *("debian", "drivers", "tools/iobandctl", "udev", "dkms.conf", "Makefile"),
    *("README.md", "CONTRIBUTING.md", "NEWS", "SECURITY.md", "Documentation"),
)
NOT_CONTENT = shutil.ignore_patterns("build", ".git", "__pycache__")


@dataclass(frozen=True)
class Packages:
    """Packages of one version, and the tree that they were built from."""

    version: str
    tree: Path

    @property
    def debs(self) -> list[Path]:
        """The packages to install."""
        return sorted((self.tree / "build").glob("*.deb"))

    def deb(self, name: str) -> Path:
        """The package of a name."""
        (path,) = (self.tree / "build").glob(f"{name}_*.deb")
        return path

    @property
    def driver(self) -> Path:
        """The module's sources, at a path that other builds have too."""
        if self.version != NEXT:
            return REPO / "drivers/md/dm-ioband"
        source = cache_dir("packages", f"driver-{self.version}")
        return shutil.copytree(self.tree / "drivers/md/dm-ioband", source, dirs_exist_ok=True)

    @property
    def changes(self) -> Path:
        """The file that describes all results of the build, the source package too."""
        (path,) = (self.tree / "build/deb").glob("*.changes")
        return path


def versions(tree: Path = REPO) -> dict[str, str]:
    """The version in each file that has it."""
    found = {}
    for name, (before, behind) in VERSIONS.items():
        found[name] = re.search(f"{before}(.*?){behind}", (tree / name).read_text())[1]
    return found


def _renumber(tree: Path) -> None:
    for name, (before, behind) in VERSIONS.items():
        text = (tree / name).read_text()
        (tree / name).write_text(re.sub(f"({before}).*?({behind})", rf"\g<1>{NEXT}\g<2>", text))


def _key() -> str:
    digest = hashlib.sha256()
    for top in CONTENT:
        for path in sorted([REPO / top, *(REPO / top).rglob("*")]):
            if path.is_file():
                digest.update(f"{path.relative_to(REPO)}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def build_packages(*, later: bool = False) -> Packages:
    """Build the packages with "make deb", or find them in the cache."""
    version = NEXT if later else versions()["dkms.conf"]
    store = cache_dir("packages")
    tree = store / f"{version}-{_key()}"
    with locked(f"packages-{version}"):
        if not tree.is_dir():
            prune(store)
            progress(f"building the packages of version {version}")
            unfinished = store / f"unfinished-{version}"
            shutil.rmtree(unfinished, ignore_errors=True)
            shutil.copytree(REPO, unfinished, symlinks=True, ignore=NOT_CONTENT)
            if later:
                _renumber(unfinished)
            done = subprocess.run(
                ["make", "-s", "-C", unfinished, "deb"],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            assert done.returncode == 0, done.stdout
            unfinished.rename(tree)
    return Packages(version, tree)
