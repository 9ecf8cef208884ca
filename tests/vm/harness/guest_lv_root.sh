#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What an initramfs does for a root on a logical volume: its own udevd finds the disks,
# LVM activates the volume, and /run goes along to the root, udev's database in it.  It
# runs on the overlay.  The root, at /mnt, is the volume, with /etc on it; all else is the
# overlay's.  $1: the kernel's modules, $2: the volume, as VG/LV.
set -eu
here=$(dirname "$0")
# shellcheck source=/dev/null
. "$here/guest_mounts.sh"
# shellcheck source=/dev/null
. "$here/guest_lay.sh"

coldplug() {
	udevadm trigger --action=add -s block -s virtio -s scsi
	udevadm settle
}

mkdir -p /run/share /run/initramfs /run/udev /run/lock
mount -t 9p -o trans=virtio,version=9p2000.L,cache=none,msize=512000 share /run/share
# An initramfs may have the rules, and all that they need.
[ ! -d /run/share/root ] || cp -a /run/share/root/. /
modprobe -a virtio_scsi sd_mod dm_mod ext4
/usr/lib/systemd/systemd-udevd --daemon
for _ in {1..600}; do
	coldplug
	! lvm lvs "$2" >/dev/null 2>&1 || break
	sleep 0.1
done
lvm lvchange -ay --sysinit "$2"
coldplug
udevadm info --export-db >/run/initramfs/without-systemd
# Some have systemd, and say so.
mkdir -p /run/systemd/system
touch /etc/initrd-release
coldplug
udevadm info --export-db >/run/initramfs/with-systemd
rm -r /run/systemd /etc/initrd-release

mount -t ext4 "/dev/$2" /mnt
lay "" /mnt
udevadm control --exit
mount --move /run /mnt/run
