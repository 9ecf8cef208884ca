#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# PID 1 of the guest, on an overlay over the host's root: mounts what a running
# Debian has, starts udevd, and hands over to the agent.  $1: the kernel's modules.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export HOME=/root LC_ALL=C.UTF-8
unset BASH_ENV

arg() { # value of lab.NAME= on the kernel's command line
	sed -n "s/.*\<lab\.$1=\([^ ]*\).*/\1/p" /proc/cmdline
}

mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs -o mode=755 tmpfs /run
[ -e /dev/fd ] || ln -s /proc/self/fd /dev/fd
ln -sf /proc/self/fd/0 /dev/stdin
ln -sf /proc/self/fd/1 /dev/stdout
ln -sf /proc/self/fd/2 /dev/stderr
mount -t debugfs debugfs /sys/kernel/debug
mount -t tracefs tracefs /sys/kernel/tracing
mkdir -p "/lib/modules/$(uname -r)"
mount --bind "$1" "/lib/modules/$(uname -r)"
modprobe -q configfs
mountpoint -q /sys/kernel/config || mount -t configfs configfs /sys/kernel/config

if [ "$(arg cgroup)" = v1 ]; then
	mount -t tmpfs -o mode=755 tmpfs /sys/fs/cgroup
	mkdir /sys/fs/cgroup/blkio
	mount -t cgroup -o blkio cgroup /sys/fs/cgroup/blkio
else
	mount -t cgroup2 cgroup2 /sys/fs/cgroup
	for controller in io memory pids; do
		echo "+$controller" >/sys/fs/cgroup/cgroup.subtree_control
	done
fi

# What the host's administrator configured must not decide what a test sees.
rm -rf /etc/lvm /etc/udev/rules.d /etc/mdadm /etc/modprobe.d
mkdir -p /etc/lvm /etc/udev/rules.d /etc/modprobe.d /run/udev /run/lock
cat >/etc/lvm/lvm.conf <<-EOF
	devices { types = [ "nullb", 16 ] }
	activation { monitoring = 0 }
EOF
: >/etc/fstab

mkdir -p /run/share
mount -t 9p -o trans=virtio,version=9p2000.L,cache=none,msize=512000 share /run/share
/usr/lib/systemd/systemd-udevd --daemon
ip link set lo up
# Coldplug of what tests and their tools meet; the rest of the machine is of no interest.
udevadm trigger --action=add --subsystem-match=block --subsystem-match=misc --subsystem-match=virtio-ports
udevadm settle
/usr/bin/python3 -S "$(dirname "$0")/guest_agent.py" </dev/null
echo "the agent has ended"
sync
echo o >/proc/sysrq-trigger
sleep 60
