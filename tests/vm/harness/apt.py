# SPDX-License-Identifier: GPL-2.0-only
"""Debian packages of any suite, fetched and unpacked without installing them.

An Archive is an apt configuration of its own (sources, lists, an empty dpkg
status) in the cache.  It takes the mirrors from the sources that the machine
already has, and trusts the keys of debian-archive-keyring only.
"""

import contextlib
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .cache import cache_dir, locked

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


class AptError(RuntimeError):
    """apt failed; the text has its answer."""


@dataclass(frozen=True)
class Package:
    """One binary package of an archive."""

    name: str
    version: str
    deb: str


def _apt(args: list[str], config: Path | None = None, cwd: Path | None = None) -> str:
    env = dict(os.environ, LC_ALL="C")
    if config:
        env["APT_CONFIG"] = str(config)
    done = subprocess.run(args, env=env, cwd=cwd, text=True, capture_output=True)
    if done.returncode:
        raise AptError(f"{' '.join(args)}: {done.stderr.strip()[-2000:]}")
    return done.stdout


def _machine_mirrors() -> dict[str, str]:
    """The machine's own Debian mirrors: {"Debian": uri, "Debian-Security": uri}."""
    fmt = "$(ORIGIN)|$(LABEL)|$(REPO_URI)"
    found: dict[str, str] = {}
    for line in _apt(["apt-get", "indextargets", "--format", fmt]).splitlines():
        origin, label, uri = line.split("|")
        if origin == "Debian":
            found.setdefault(label, uri)
    if "Debian" not in found:
        raise AptError("no Debian mirror in this machine's apt sources; run 'apt-get update' first")
    return found


class Archive:
    """The packages of one suite; with backports, those of its backports are preferred."""

    def __init__(self, suite: str, backports: bool = False):
        self.target = f"{suite}-backports" if backports else suite
        self._dir = cache_dir("apt", self.target)
        self._config = self._dir / "apt.conf"
        with self._locked():
            self._configure(suite, backports)

    @property
    def sources(self) -> Path:
        """The list of its sources."""
        return self._dir / "sources.list"

    def _locked(self) -> contextlib.AbstractContextManager[None]:
        """Hold a lock: apt does not wait while another process reads package lists."""
        return locked(f"apt-{self.target}")

    def _apt(self, *args: str, cwd: Path | None = None) -> str:
        with self._locked():
            return _apt(["apt-get", "-qq", *args], self._config, cwd)

    def _configure(self, suite: str, backports: bool) -> None:
        mirrors = _machine_mirrors()
        lines = [(mirrors["Debian"], suite), (mirrors["Debian"], f"{suite}-updates")]
        if backports:
            lines.append((mirrors["Debian"], self.target))
        if "Debian-Security" in mirrors:
            lines.append((mirrors["Debian-Security"], f"{suite}-security"))
        sources = [f"deb [signed-by={KEYRING}] {uri} {name} main" for uri, name in lines]
        for sub in ("lists/partial", "cache/archives/partial", "none"):
            (self._dir / sub).mkdir(parents=True, exist_ok=True)
        (self._dir / "status").touch()
        self.sources.write_text("\n".join(sources) + "\n")
        self._config.write_text(
            f'Dir::State "{self._dir}";\n'
            f'Dir::State::status "{self._dir}/status";\n'
            f'Dir::State::lists "{self._dir}/lists";\n'
            f'Dir::Cache "{self._dir}/cache";\n'
            f'Dir::Etc::sourcelist "{self.sources}";\n'
            f'Dir::Etc::sourceparts "{self._dir}/none";\n'
            f'Dir::Etc::preferencesparts "{self._dir}/none";\n'
            f'Dir::Etc::preferences "{self._dir}/none/preferences";\n'
            f'APT::Default-Release "{self.target if backports else ""}";\n'
            'APT::Install-Recommends "false";\n'
            'APT::Sandbox::User "root";\n'
        )

    def update(self) -> None:
        """Read the package lists anew."""
        self._apt("--error-on=any", "update")

    def resolve(self, *names: str) -> list[Package]:
        """The packages named and everything they depend on."""
        out = self._apt("-y", "--print-uris", "install", *names)
        debs = re.findall(r"^'\S+' (\S+)_(\S+)_(\S+)\.deb ", out, re.M)
        return [
            Package(name, ver.replace("%3a", ":"), f"{name}_{ver}_{arch}.deb")
            for name, ver, arch in debs
        ]

    def download(self, packages: list[Package]) -> list[Path]:
        """Fetch the packages that are missing in the cache, and return all files."""
        store = cache_dir("apt", self.target, "debs")
        missing = [p for p in packages if not (store / p.deb).exists()]
        if missing:
            wanted = [f"{p.name}={p.version}" for p in missing]
            self._apt("download", *wanted, cwd=store)
        return [store / p.deb for p in packages]


def merged_root(root: Path) -> None:
    """Make the directories of a tree in which /bin, /sbin and /lib are links into /usr."""
    for name in ("bin", "sbin", "lib", "lib64"):
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")


def unpack(deb: Path, root: Path, exclude: tuple[str, ...] = ()) -> None:
    """Unpack a package's files below root; no maintainer script runs."""
    tar = ["tar", "-x", "--keep-directory-symlink", "-C", str(root)]
    tar += [f"--exclude={pattern}" for pattern in exclude]
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(deb)], stdout=subprocess.PIPE) as src:
        subprocess.run(tar, stdin=src.stdout, check=True)
    if src.returncode:
        raise AptError(f"{deb}: cannot be unpacked (delete it and try again)")
