# SPDX-License-Identifier: GPL-2.0-only
"""LXD in a guest, without a network: its daemon, a storage pool on LVM-thin, and an image."""

import contextlib
from collections.abc import Iterator

from .devices import null_blk
from .guest import Guest
from .lent import LXD, lent

START_S = 300  # of a busy host
DIRECTORIES = "/var/lib/lxd /var/log/lxd"
# Its state ends with these mounts.  Users of containers are mapped.
START = f"""
groupadd --force --system lxd
echo root:1000000:65536 | tee /etc/subuid >/etc/subgid
for each in {DIRECTORIES}; do mkdir -p $each; mount -t tmpfs tmpfs $each; done
systemd-run -q --unit=lxd-daemon -p Delegate=yes -p KillMode=process -p TasksMax=infinity \\
	lxd --group lxd --logfile=/var/log/lxd/lxd.log
lxd waitready --timeout={START_S}
modprobe dm-thin-pool
lxc storage create default lvm source=$1 volume.size=64MiB lvm.thinpool_metadata_size=4MiB
lxc profile device add default root disk path=/ pool=default
"""
# An image "box", of busybox.
IMAGE = """
root=/run/image/rootfs
mkdir -p $root/bin $root/sbin $root/dev $root/proc $root/sys $root/etc $root/run
cp /bin/busybox $root/bin/
for each in $(busybox --list); do [ -e $root/bin/$each ] || ln -s busybox $root/bin/$each; done
ln -s /bin/busybox $root/sbin/init
echo ::respawn:/bin/sleep 100000 >$root/etc/inittab
printf 'architecture: x86_64\\ncreation_date: 1\\n' >/run/image/metadata.yaml
tar -C /run/image -cf /run/box.tar metadata.yaml rootfs
lxc image import --quiet /run/box.tar --alias box
rm -r /run/image /run/box.tar
"""
STOP = f"""
# LXD waits 30 s for the end of a container, and a busy disk takes longer.
for each in web db; do
	echo 1 >/sys/fs/cgroup/lxc.payload.$each/cgroup.kill
	for try in 1 2 3; do lxc delete --force $each && break; done
done
lxc image delete box
lxc profile device remove default root
lxc storage delete default
systemctl stop lxd-daemon
# LXD may leave these.
vgremove -qq -ff -y default
rmdir /sys/fs/cgroup/lxc.pivot
for each in {DIRECTORIES}; do umount --recursive $each; done
"""


@contextlib.contextmanager
def lxd(guest: Guest, **disk: int) -> Iterator[None]:
    """Have LXD run, with a storage pool on a disk with these attributes."""
    disk |= {"size_mib": 512, "memory_backed": 1}
    with null_blk(guest, "nullb5", **disk) as path, lent(guest, LXD):
        guest.run(["bash", "-ec", START, "-", path], timeout=START_S)
        guest.run(["bash", "-ec", IMAGE], timeout=START_S)
        yield
        guest.run(["bash", "-c", STOP], timeout=START_S)
