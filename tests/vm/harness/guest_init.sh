#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# PID 1 of the guest, on an overlay over the host's root: mounts what a running
# Debian has, starts udevd, and hands over to the agent; or becomes systemd.  $1: the
# kernel's modules, $2: the directory shared with the host, where that is a path on it.
here=$(dirname "$0")
# shellcheck source=/dev/null
. "$here/guest_mounts.sh"
# What an initramfs has left there is below.
[ -z "$(arg root)" ] || umount /run

# What the host's administrator configured must not decide what a test sees.
rm -rf /etc/lvm /etc/udev/rules.d /etc/mdadm /etc/modprobe.d
mkdir -p /etc/lvm /etc/udev/rules.d /etc/modprobe.d /run/udev /run/lock
cat >/etc/lvm/lvm.conf <<-EOF
	devices { types = [ "nullb", 16 ] }
	activation { monitoring = 0 }
EOF
: >/etc/fstab

mkdir -p /run/share
if mountpoint -q /run/share; then
	: # an initramfs has needed it
elif [ -n "$2" ]; then
	mount -t hostfs -o "$2" share /run/share
else
	mount -t 9p -o trans=virtio,version=9p2000.L,cache=none,msize=512000 share /run/share
fi
# shellcheck source=/dev/null
[ "$(arg cgroup)" != systemd ] || . "$here/guest_systemd.sh"
/usr/lib/systemd/systemd-udevd --daemon
ip link set lo up
# Coldplug of what tests and their tools meet; the rest of the machine is of no interest.
udevadm trigger --action=add --subsystem-match=block --subsystem-match=misc --subsystem-match=virtio-ports
udevadm settle
/usr/bin/python3 -S "$here/guest_agent.py" "$(arg agent)" </dev/null
echo "the agent has ended"
sync
echo o >/proc/sysrq-trigger
sleep 60
