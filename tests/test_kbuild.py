# SPDX-License-Identifier: GPL-2.0-only
"""The build finds the interfaces of a kernel, and the compiler of a kernel."""

import subprocess
from pathlib import Path

import pytest
from harness.kernels import SUITES, get_kernel

REPO = Path(__file__).resolve().parents[1]
STABLE = {"QUEUE_FEATURES", "DISK_LIMITS", "WQ_PERCPU"}
INTERFACES = {
    "6.1": set(),
    # Its stable releases have WQ_PERCPU of 6.17.
    "6.12": STABLE,
    "newest": STABLE | {"HRTIMER_SETUP", "IOCTL_FORWARD", "KEY_TYPES"},
}


def make(*args: str, directory: Path = REPO) -> list[str]:
    """The words that make prints."""
    command = ["make", "-s", "--no-print-directory", *args]
    return subprocess.run(
        command, cwd=directory, check=True, text=True, stdout=subprocess.PIPE
    ).stdout.split()


@pytest.mark.parametrize("name", SUITES)
def test_interfaces_of_a_kernel_are_found(name: str) -> None:
    (headers,) = get_kernel(name).root.glob("usr/src/linux-headers-*-common")
    kbuild = ("-f", f"{REPO}/drivers/md/dm-ioband/Kbuild", f"srctree={headers}", "objtree=.")
    words = make(*kbuild, "--eval", "flags:; @echo $(ccflags-y)", "flags")
    assert {word.removeprefix("-DIOBAND_HAS_") for word in words} == INTERFACES[name]


@pytest.mark.parametrize(
    ("config", "args", "llvm"),
    [
        ("CONFIG_CC_IS_GCC=y\n", [], []),
        ("CONFIG_CC_IS_CLANG=y\n", [], ["1"]),
        ("CONFIG_CC_IS_CLANG=y\n", ["LLVM=-17"], ["-17"]),
        ("CONFIG_CC_IS_CLANG=y\n", ["LLVM="], []),
    ],
)
def test_a_kernel_of_clang_gets_its_compiler(
    tmp_path: Path, config: str, args: list[str], llvm: list[str]
) -> None:
    (tmp_path / "include/config").mkdir(parents=True)
    (tmp_path / "include/config/auto.conf").write_text(config)
    (tmp_path / "Makefile").write_text("modules:\n\t@echo $(LLVM)\n")
    tree = tmp_path / "tree"
    (tree / "drivers/md/dm-ioband").mkdir(parents=True)
    (tree / "Makefile").write_bytes((REPO / "Makefile").read_bytes())
    assert make("modules", f"HEADERS={tmp_path}", *args, directory=tree) == llvm
