# SPDX-License-Identifier: GPL-2.0-only
"""The kernel inside a compressed image, which QEMU starts at its entry for PVH.

An emulated processor takes seconds to decompress it, at each boot.
"""

import struct
import subprocess
from pathlib import Path

from .cache import locked
from .kernels import Kernel

# Offsets in the header of an image (Documentation/arch/x86/boot.rst).
SETUP_SECTORS = 0x1F1
PAYLOAD = 0x248
# By the first bytes of the payload.
PROGRAMS = {b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd"}


def vmlinux(kernel: Kernel) -> Path:
    """The kernel's file, made when missing."""
    path = kernel.root / "vmlinux"
    with locked(f"vmlinux-{kernel.name}"):
        if not path.exists():
            made = path.with_suffix(".new")
            made.write_bytes(_decompress(kernel.vmlinuz.read_bytes()))
            made.rename(path)
    return path


def _decompress(image: bytes) -> bytes:
    sectors = image[SETUP_SECTORS] or 4
    offset, length = struct.unpack_from("<II", image, PAYLOAD)
    start = (sectors + 1) * 512 + offset
    payload = image[start : start + length - 4]  # the size of the result follows
    program = next(name for magic, name in PROGRAMS.items() if payload.startswith(magic))
    return subprocess.run([program, "-dc"], input=payload, capture_output=True, check=True).stdout
