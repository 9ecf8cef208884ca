# SPDX-License-Identifier: GPL-2.0-only
"""The initramfs that Debian makes for a kernel, with the parts that its packages add.

initramfs-tools need not be installed on this machine: it is unpacked over the root in a
mount namespace that ends with the command.  udev, LVM and mdadm of this machine add their
parts to the initramfs by their own hooks.
"""

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from .apt import Archive
from .installed import run_installed
from .kernels import SUITES, Kernel, own_kernel_name
from .machine import HERE

if TYPE_CHECKING:
    from .guest import Guest

# The modules of the guest's root that Debian does not include for every machine.
MODULES = ("9p", "9pnet_virtio", "overlay", "virtio_pci", "virtio_scsi", "sd_mod", "ext4")
MAKE = """
for deb in $DEBS; do
	dpkg-deb --fsys-tarfile "$deb" | tar -x --keep-directory-symlink -C /
done
# What an administrator of this machine has configured is not for the guest.
rm -rf /etc/lvm /etc/mdadm /etc/udev/rules.d
mkdir -p /etc/lvm
printf '%s\\n' $MODULES >>/etc/initramfs-tools/modules
settings="MODULES=list COMPRESS=gzip COMPRESSLEVEL=1 RESUME=none"
printf '%s\\n' $settings >/etc/initramfs-tools/conf.d/lab
mount -t tmpfs tmpfs /boot
cp "$BOOT/config-$RELEASE" /boot/
mkinitramfs -o "$IMAGE" "$RELEASE"
"""
# The volume with the root has a busybox and this first process, which mounts the rest from the
# host as usual.
ROOT_INIT = "/lab/init"
INIT = """#!/lab/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
b=/lab/busybox
set -e
$b mount -o remount,rw /
$b mount -t 9p -o ro,trans=virtio,version=9p2000.L,msize=512000,cache=loose host /lab/host
$b mount -t tmpfs -o mode=755 tmpfs /lab/upper
$b mkdir /lab/upper/data /lab/upper/work
$b mount -t overlay -o lowerdir=/lab/host,upperdir=/lab/upper/data,workdir=/lab/upper/work \
	overlay /lab/root
$b mount --bind /lab/root/usr /usr
. "/lab/root@HERE@/guest_lay.sh"
lay /lab/root ""
exec "@HERE@/guest_init.sh" "@MODULES@"
"""


def _debs() -> list[Path]:
    """The packages that initramfs-tools needs and this machine lacks."""
    archive = Archive(*SUITES[own_kernel_name()])
    ask = ["dpkg-query", "-W", "-f", "${db:Status-Status} ${Package}\\n"]
    known = subprocess.run(ask, check=True, text=True, stdout=subprocess.PIPE).stdout.splitlines()
    needs = archive.resolve("initramfs-tools")
    return archive.download([each for each in needs if f"installed {each.name}" not in known])


def make_debian_initramfs(image: Path, kernel: Kernel) -> None:
    """Have mkinitramfs write an initramfs."""
    words = {"DEBS": " ".join(map(str, _debs())), "MODULES": " ".join(MODULES)}
    run_installed(kernel, MAKE, BOOT=kernel.root / "boot", IMAGE=image, **words)


def make_root(guest: "Guest", volume: str) -> None:
    """Write the files that a boot by such an initramfs needs to a volume with a file system."""
    init = INIT.replace("@HERE@", str(HERE)).replace("@MODULES@", str(guest.kernel.modules))
    (guest.share / "init").write_text(init)
    guest.run(f"mount /dev/{volume} /mnt && mkdir -p /mnt/lab/{{host,upper,root}}")
    guest.run("cd /mnt && mkdir dev proc run sys usr")
    guest.run("cp -a /bin /sbin /lib /lib64 /mnt/")  # links into /usr
    guest.run("install -m 755 -t /mnt/lab /bin/busybox /run/share/init && umount /mnt")
