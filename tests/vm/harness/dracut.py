# SPDX-License-Identifier: GPL-2.0-only
"""An initramfs made by dracut, with the module of ioband in it, and one for drivers.

dracut need not be installed on this machine: it is unpacked over it, in a mount namespace.
"""

from pathlib import Path

from .debian_initramfs import MODULES
from .installed import run_installed
from .kernels import Kernel
from .lent import lent_tree
from .module import REPO

DRACUT = ("dracut-core",)
# Without systemd in the initramfs, and with no other drivers: what takes long is left out.
MAKE = """
cp -an $TREE/usr/. /usr/ && cp -an $TREE/etc/. /etc/
rm -rf /etc/lvm /etc/udev/rules.d
mkdir -p /etc/lvm
cp -a $ROOT/. /
mkdir -p /lib/modules/$RELEASE/updates
cp $MODULE /lib/modules/$RELEASE/updates/
depmod $RELEASE
cp -a $REPO/packaging/dracut/90ioband /usr/lib/dracut/modules.d/
lab=/usr/lib/dracut/modules.d/99lab
mkdir $lab
echo 'install() { inst_hook pre-udev 10 "$moddir/load.sh"; }' >$lab/module-setup.sh
echo "modprobe -a $DRIVERS" >$lab/load.sh
chmod 755 $lab/*.sh
modules="base udev-rules dm lvm rootfs-block ioband lab"
dracut --force $MODE --no-compress --modules "$modules" \
	--add-drivers "$DRIVERS dm-mod" --kver $RELEASE $IMAGE
lsinitrd $IMAGE
"""


def make_dracut_initramfs(
    image: Path, kernel: Kernel, root: Path, module: Path, mode: str = "--no-hostonly"
) -> str:
    """Have dracut write an initramfs of a machine with some files; returns its list of files."""
    words = {"TREE": lent_tree(DRACUT), "ROOT": root, "MODULE": module, "REPO": REPO}
    words |= {"DRIVERS": " ".join(MODULES), "IMAGE": image, "MODE": mode}
    return run_installed(kernel, MAKE, **words)
