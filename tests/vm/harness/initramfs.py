# SPDX-License-Identifier: GPL-2.0-only
"""The initramfs: busybox, the modules that reach the root over 9p, and a script."""

import gzip
import lzma
from pathlib import Path

from .kernels import Kernel
from .machine import GUEST_INIT, GUEST_LV_ROOT

BUSYBOX = Path("/bin/busybox")
# In loading order; the dependencies of a module precede it.
MODULES = ("virtio_ring", "virtio_pci", "virtio_console", "9pnet_virtio", "9p", "overlay")

# The host's root is the lower layer; all writes of the guest stay in its memory.  With
# lab.root=VG/LV that volume is the root.
INIT = """#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
b=/bin/busybox
die() { echo "initramfs: $*"; $b poweroff -f; }
$b mkdir -p /proc /host /upper /root
$b mount -t proc proc /proc
for module in $($b cat /modules/order); do
	$b insmod "/modules/$module" || die "cannot load $module"
done
opts=trans=virtio,version=9p2000.L,msize=512000
$b mount -t 9p -o ro,cache=loose,$opts host /host || die "cannot mount the host's root"
$b mount -t tmpfs -o mode=755 tmpfs /upper
$b mkdir /upper/data /upper/work
$b mount -t overlay -o lowerdir=/host,upperdir=/upper/data,workdir=/upper/work overlay /root ||
	die "cannot mount the root"
root=/root
volume=$($b sed -n 's/.*lab[.]root=\\([^ ]*\\).*/\\1/p' /proc/cmdline)
if [ "$volume" ]; then
	$b chroot /root "@LV_ROOT@" "@MODULES@" "$volume" || die "no root on $volume"
	root=/root/mnt
fi
$b umount /proc
exec $b switch_root $root "@INIT@" "@MODULES@"
"""


def _load_order(kernel: Kernel) -> list[Path]:
    """Files of MODULES and their dependencies; a built-in module has none."""
    depends: dict[str, tuple[Path, list[str]]] = {}
    for line in (kernel.modules / "modules.dep").read_text().splitlines():
        path, _, needs = line.partition(":")
        depends[_module_name(path)] = (kernel.modules / path, needs.split())
    order: list[Path] = []
    for name in MODULES:
        if name not in depends:
            continue
        path, needs = depends[name]
        for file in [*(kernel.modules / need for need in reversed(needs)), path]:
            if file not in order:
                order.append(file)
    return order


def _module_name(path: str) -> str:
    return Path(path).name.split(".ko")[0]


def _module_bytes(path: Path) -> bytes:
    data = path.read_bytes()
    return lzma.decompress(data) if path.suffix == ".xz" else data


def _cpio_entry(name: str, data: bytes, mode: int) -> bytes:
    """One file or directory of a "newc" archive."""
    fields = [0, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0]
    entry = b"070701" + b"".join(b"%08x" % field for field in fields) + name.encode() + b"\0"
    entry += b"\0" * (-len(entry) % 4) + data
    return entry + b"\0" * (-len(data) % 4)


def make_initramfs(image: Path, kernel: Kernel) -> None:
    """Write an initramfs, which ends in GUEST_INIT."""
    order = _load_order(kernel)
    entries = [_cpio_entry(name, b"", 0o040755) for name in ("bin", "modules", "dev")]
    entries.append(_cpio_entry("bin/busybox", BUSYBOX.read_bytes(), 0o100755))
    script = INIT.replace("@INIT@", str(GUEST_INIT)).replace("@MODULES@", str(kernel.modules))
    script = script.replace("@LV_ROOT@", str(GUEST_LV_ROOT))
    entries.append(_cpio_entry("init", script.encode(), 0o100755))
    names = [_module_name(str(path)) + ".ko" for path in order]
    entries.append(_cpio_entry("modules/order", "\n".join(names).encode(), 0o100644))
    for name, path in zip(names, order, strict=True):
        entries.append(_cpio_entry(f"modules/{name}", _module_bytes(path), 0o100644))
    entries.append(_cpio_entry("TRAILER!!!", b"", 0))
    image.write_bytes(gzip.compress(b"".join(entries), 1))
