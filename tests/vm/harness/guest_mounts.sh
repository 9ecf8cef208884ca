# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# What every guest's first process does first (sourced): mounts what a running
# Debian has.  $1: the directory with the kernel's modules; /lib/modules is
# left alone when it is empty.
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
[ ! -d /sys/kernel/debug ] || mount -t debugfs debugfs /sys/kernel/debug
[ ! -d /sys/kernel/tracing ] || mount -t tracefs tracefs /sys/kernel/tracing
[ ! -d /sys/kernel/security ] || mount -t securityfs securityfs /sys/kernel/security
if [ -n "$1" ]; then
	mkdir -p "/lib/modules/$(uname -r)"
	mount --bind "$1" "/lib/modules/$(uname -r)"
fi
modprobe -q configfs
mountpoint -q /sys/kernel/config || mount -t configfs configfs /sys/kernel/config

if [ "$(arg cgroup)" = v1 ]; then
	mount -t tmpfs -o mode=755 tmpfs /sys/fs/cgroup
	mkdir /sys/fs/cgroup/blkio
	mount -t cgroup -o blkio cgroup /sys/fs/cgroup/blkio
elif [ "$(arg cgroup)" != systemd ]; then # which does that itself
	mount -t cgroup2 cgroup2 /sys/fs/cgroup
	for controller in io memory pids; do
		echo "+$controller" >/sys/fs/cgroup/cgroup.subtree_control
	done
fi
