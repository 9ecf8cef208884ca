# SPDX-License-Identifier: GPL-2.0-only
"""Building kernel modules: for a stock kernel with that kernel's own compiler."""

import argparse
import hashlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

from .cache import cache_dir, locked, prune
from .kernels import SUITES, BuildTarget, get_kernel, own_kernel_name

REPO = Path(__file__).resolve().parents[3]
SOURCES = ("*.c", "*.h", "Kbuild", "Kconfig", "Makefile")

NOISE = re.compile(r"Skipping BTF generation|compiler differs|kernel was built by|You are using")


class BuildError(RuntimeError):
    """The compiler's messages, with paths as in the source directory."""


def build_module(
    kernel: BuildTarget,
    source: Path = REPO / "drivers/md/dm-ioband",
    flags: tuple[str, ...] = ("W=1",),
    strict: bool = False,
) -> list[Path]:
    """Build the modules of a source directory, and return the .ko files.

    flags are Kbuild's own: W=1 for more warnings, C=2 to run sparse over every
    file.  Errors are raised; warnings are printed, or raised too if strict.  A build
    with warnings is removed: the next one has to compile, and to warn, again.
    """
    source = source.resolve()
    key = hashlib.sha256(f"{source}".encode()).hexdigest()[:12]
    work = kernel.works / key
    with locked(f"build-{kernel.name}-{key}"):
        _sync(source, work)
        done = _make(kernel, work, flags)
        lines = [line for line in done.stdout.splitlines() if not NOISE.search(line)]
        text = re.sub(
            rf"^(\./|\S*/{key}/)?(?=\w[\w/-]*\.[ch]:)", f"{source}/", "\n".join(lines), flags=re.M
        )
        kept = [] if done.returncode else [_keep(path, kernel) for path in work.glob("*.ko")]
        if text:
            shutil.rmtree(work)
        if done.returncode or (strict and text):
            raise BuildError(f"{source} does not build cleanly for {kernel.release}:\n{text}")
        if text:
            print(text, file=sys.stderr)
        return sorted(kept)


def _sync(source: Path, work: Path) -> None:
    """Copy changed sources to work, and remove old modules there."""
    work.mkdir(parents=True, exist_ok=True)
    wanted = {path.relative_to(source) for pattern in SOURCES for path in source.rglob(pattern)}
    for name in wanted:
        path, copy = source / name, work / name
        copy.parent.mkdir(exist_ok=True)
        if not copy.exists() or copy.read_bytes() != path.read_bytes():
            shutil.copyfile(path, copy)
    for pattern in (*SOURCES, "*.ko"):
        for copy in work.rglob(pattern):
            if copy.relative_to(work) not in wanted and not copy.name.endswith(".mod.c"):
                copy.unlink()


def _make(
    kernel: BuildTarget, work: Path, flags: tuple[str, ...]
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*kernel.make(work), *flags, "modules"],
        env={"PATH": "/usr/bin:/usr/sbin", "LC_ALL": "C"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _keep(module: Path, kernel: BuildTarget) -> Path:
    """A copy that the next build does not touch, for guests that load it later."""
    store = cache_dir("modules", kernel.release)
    prune(store)
    copy = store / hashlib.sha256(module.read_bytes()).hexdigest()[:12] / module.name
    copy.parent.mkdir(exist_ok=True)
    shutil.copyfile(module, copy)
    return copy


def main() -> None:
    """Build the module for the kernels named (the machine's own Debian's by default)."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--source", type=Path, default=REPO / "drivers/md/dm-ioband")
    parser.add_argument("--flag", action="append", default=[], help="Kbuild flag, as C=2")
    parser.add_argument("--strict", action="store_true", help="a warning fails")
    parser.add_argument("names", nargs="*", metavar="KERNEL", help=f"{', '.join(SUITES)} or all")
    args = parser.parse_args()
    names = args.names or [own_kernel_name()]
    failed = False
    for name in list(SUITES) if names == ["all"] else names:
        try:
            flags = ("W=1", *args.flag)
            for path in build_module(get_kernel(name), args.source, flags, args.strict):
                print(f"{name}: {path}")
        except BuildError as err:
            print(err, file=sys.stderr)
            failed = True
    sys.exit(failed)


if __name__ == "__main__":
    main()
