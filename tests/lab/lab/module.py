# SPDX-License-Identifier: GPL-2.0-only
"""Building modules for the kernels of the laboratory."""

import argparse
import sys
from pathlib import Path

from harness.module import REPO, BuildError, build_module

from .kernel import VARIANTS, KernelError, LabKernel, get_lab_kernel


def build_lab_module(kernel: LabKernel, source_dir: Path) -> list[Path]:
    """Build the modules of a directory (warnings are printed), and return the .ko files."""
    return build_module(kernel, source_dir)


def main() -> None:
    """Build the modules of a directory (the driver by default) for a kernel of the laboratory."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--source", type=Path, default=REPO / "drivers/md/dm-ioband")
    parser.add_argument("variant", choices=VARIANTS, nargs="?", default="virtual-time")
    args = parser.parse_args()
    try:
        for path in build_lab_module(get_lab_kernel(args.variant), args.source):
            print(path)
    except (KernelError, BuildError) as err:
        sys.exit(str(err))


if __name__ == "__main__":
    main()
