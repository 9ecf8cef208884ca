# SPDX-License-Identifier: GPL-2.0-only
"""User-Mode-Linux kernels, built from Debian's newest source.

Variants, from the Kconfig fragments and the patches in ../kernel: "virtual-time" for
experiments, "smp" at the speed of the host, "debug" with the kernel's own detectors, "rt" with
PREEMPT_RT and some of them.
Source and builds lie in the cache, keyed by the version of the package, the
configuration, the patches and the compiler.  An interrupted build is resumed, and not
used before it is complete.
"""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.cache import cache_dir, locked, progress, prune
from harness.source import get_source

FRAGMENTS = Path(__file__).resolve().parents[1] / "kernel"
VARIANTS = ("virtual-time", "smp", "debug", "rt")
WITH_DETECTORS = ("debug", "rt")
# Further fragments of a variant besides common.config and its own, which overrides the others.
SHARED = {
    "virtual-time": ("expert",),
    "smp": ("machine",),
    "debug": ("machine", "detectors"),
    "rt": ("machine", "detectors", "expert"),
}
# Patches of a variant.
PATCHES = {"smp": ("interrupts",), "debug": ("tlb",), "rt": ("tlb", "rt")}
PROGRESS_S = 30


class KernelError(RuntimeError):
    """A kernel could not be built; the text says why."""


@dataclass(frozen=True)
class LabKernel:
    """A User-Mode-Linux kernel that can be run and built for."""

    variant: str
    release: str
    version: str  # of Debian's package
    source: Path
    build: Path  # the O= tree

    @property
    def name(self) -> str:
        """A name that is unique among all kernels of the laboratory."""
        return f"uml-{self.variant}"

    @property
    def image(self) -> Path:
        """The executable."""
        return self.build / "linux"

    @property
    def modules(self) -> Path:
        """Directory of the kernel's modules."""
        return self.build / "installed/lib/modules" / self.release

    @property
    def works(self) -> Path:
        """The directory where modules are built for this kernel."""
        return self.build / "external"

    def make(self, work: Path) -> list[str]:
        """The command that runs Kbuild on a directory."""
        return [*make_command(self.source, self.build), f"M={work}"]


def make_command(source: Path, build: Path) -> list[str]:
    """Kbuild in the kernel's tree."""
    make = ["make", "-s", "-C", str(source), f"O={build}", "ARCH=um", f"-j{os.cpu_count()}"]
    # The kernel's version string is a seed of its random numbers.
    identity = {"TIMESTAMP": "@0", "USER": "lab", "HOST": "lab", "VERSION": "1"}
    return make + [f"KBUILD_BUILD_{name}={value}" for name, value in identity.items()]


# -- patches -----------------------------------------------------------------


def patch_tree(tree: Path, patch: Path) -> None:
    """Apply a patch; patched files are no longer hard links into other trees."""
    command = ["patch", "-p1", "-s", "-d", tree, "-i", patch]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise KernelError(f"{patch.name} does not fit {tree.name}:\n{done.stdout}{done.stderr}")


def _patched(source: Path, patches: Sequence[Path]) -> Path:
    """The tree with patches applied: hard links to the original except for changed files."""
    key = hashlib.sha256(b"".join(patch.read_bytes() for patch in patches)).hexdigest()[:12]
    tree = source.with_name(f"{source.name}-{key}")
    with locked("lab-source"):
        if not tree.is_dir():
            unfinished = tree.with_name(f"unfinished-{tree.name}")
            shutil.rmtree(unfinished, ignore_errors=True)
            shutil.copytree(source, unfinished, symlinks=True, copy_function=os.link)
            for patch in patches:
                patch_tree(unfinished, patch)
            unfinished.rename(tree)
        os.utime(tree)
    return tree


# -- configuration -------------------------------------------------------------


def read_fragments(variant: str) -> dict[str, str]:
    """The settings of a variant: symbol -> line; later fragments override earlier ones."""
    settings: dict[str, str] = {}
    for name in ("common", *SHARED.get(variant, ()), variant):
        for line in (FRAGMENTS / f"{name}.config").read_text().splitlines():
            match = re.match(r"(?:# )?(CONFIG_\w+)(?:=| is not set$)", line)
            if match:
                settings[match[1]] = line
            elif line and not line.startswith("# "):
                raise KernelError(f"{name}.config: what is {line!r}?")
    return settings


def _missing(settings: dict[str, str], config: Path) -> list[str]:
    """The settings that are not in a .config."""
    lines = set(config.read_text().splitlines())
    set_there = {line.split("=")[0] for line in lines if line.startswith("CONFIG_")}
    return [
        line
        for symbol, line in settings.items()
        if (symbol in set_there if line.startswith("#") else line not in lines)
    ]


def _configure(settings: dict[str, str], source: Path, build: Path) -> None:
    fragment = build / "lab.config"
    fragment.write_text("".join(f"{line}\n" for line in settings.values()))
    command = [*make_command(source, build), f"KCONFIG_ALLCONFIG={fragment}", "allnoconfig"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise KernelError(f"the kernel cannot be configured: {done.stdout}{done.stderr}")
    missing = _missing(settings, build / ".config")
    if missing:
        raise KernelError("Kconfig dropped these settings:\n" + "\n".join(missing))


# -- build -----------------------------------------------------------------------


def _run(what: str, command: list[str], log: Path) -> None:
    """Run a long command, with a progress message now and then."""
    said = time.monotonic()
    steps = 0
    errors: list[str] = []
    with (
        open(log, "a", buffering=1) as out,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        ) as proc,
    ):
        for line in proc.stdout:
            out.write(line)
            steps += 1
            if re.search(r"error|\*\*\*", line):
                errors.append(line)
            if time.monotonic() - said > PROGRESS_S:
                said = time.monotonic()
                progress(f"{what}: {steps} steps done")
    if proc.returncode:
        raise KernelError(f"{what} failed, see {log}:\n{''.join(errors[:20])}")


def _build(what: str, source: Path, build: Path) -> None:
    make = [word for word in make_command(source, build) if word != "-s"]
    log = build / "make.log"
    log.unlink(missing_ok=True)
    _run(what, [*make, "all"], log)
    modules = ["INSTALL_MOD_PATH=installed", "INSTALL_MOD_STRIP=1", "modules_install"]
    _run(what, [*make, *modules], log)
    if not (build / "Module.symvers").exists():  # absent in a build without modules
        shutil.copyfile(build / "vmlinux.symvers", build / "Module.symvers")


def _compiler() -> str:
    return subprocess.run(["gcc", "--version"], check=True, capture_output=True, text=True).stdout


def _check_place(cache: Path) -> None:
    """Refuse a cache below directories that a guest mounts over."""
    for hidden in ("/tmp", "/run", "/dev/shm"):
        if cache.resolve().is_relative_to(hidden):
            raise KernelError(
                f"the cache is in {cache}, and what is below {hidden} no guest of the laboratory "
                "sees; set IOBAND_CACHE to another directory"
            )


@dataclass(frozen=True)
class _Recipe:
    """The ingredients of a build."""

    version: str  # of Debian's package
    source: Path
    settings: dict[str, str]

    @property
    def key(self) -> str:
        """The key of the build."""
        parts = [self.version, *sorted(self.settings.values()), _compiler()]
        if self.source.name != self.version:
            parts.append(self.source.name)
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


def _recipe(variant: str) -> _Recipe:
    if variant not in VARIANTS:
        raise ValueError(f"variant {variant!r} is unknown; there are {', '.join(VARIANTS)}")
    version, source = get_source()
    if patches := [FRAGMENTS / f"{name}.patch" for name in PATCHES.get(variant, ())]:
        source = _patched(source, patches)
    return _Recipe(version, source, read_fragments(variant))


def configure_only(variant: str, build: Path) -> None:
    """Patch and configure the kernel, as a quick check whether it could be built."""
    recipe = _recipe(variant)
    _configure(recipe.settings, recipe.source, build)


def get_lab_kernel(variant: str) -> LabKernel:
    """The kernel of that variant; built first if there is none of the newest source."""
    _check_place(cache_dir())
    recipe = _recipe(variant)
    builds = cache_dir("lab", "builds", variant)
    build = builds / recipe.key
    complete = build / "complete"
    with locked(f"lab-{variant}"):
        if not complete.exists():
            what = f"lab: building the {variant} kernel"
            progress(f"{what} from {recipe.version}: minutes")
            build.mkdir(exist_ok=True)
            _configure(recipe.settings, recipe.source, build)
            _build(what, recipe.source, build)
            complete.touch()
            progress(f"lab: the {variant} kernel is ready")
        os.utime(build)
        prune(builds)
    release = (build / "include/config/kernel.release").read_text().strip()
    return LabKernel(variant, release, recipe.version, recipe.source, build)


def main() -> None:
    """Build the kernels named (the virtual-time one by default) and print where they are."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("variants", nargs="*", metavar="VARIANT", default=["virtual-time"])
    try:
        for variant in parser.parse_args().variants:
            kernel = get_lab_kernel(variant)
            print(f"{kernel.variant:14} {kernel.release:20} {kernel.image}")
    except (KernelError, ValueError) as err:
        sys.exit(str(err))


if __name__ == "__main__":
    main()
