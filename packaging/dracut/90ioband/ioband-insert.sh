#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# A hook of dracut, before root is mounted.  Only a root volume with "insert = yes" gets ioband, as
# udev's rules decide in the running system.  A failure is logged, and the boot goes on.

ioband_is_wished() {
	udevadm info --query=property "$1" | (
		while IFS= read -r property; do
			case $property in
			DEV*=* | DM_*=* | SUBSYSTEM=* | MAJOR=* | MINOR=*) export "${property?}" ;;
			esac
		done
		ACTION=change SEQNUM=1 iobandctl udev --insert
	) | grep -q '^IOBAND_INSERT=1'
}

# dracut has the variable "root".
# shellcheck disable=SC2154
ioband_device=${root#block:}
if [ -b "$ioband_device" ] && ioband_is_wished "$ioband_device"; then
	ioband_says=$(iobandctl apply "$ioband_device" 2>&1) ||
		ioband_says="not inserted into $ioband_device: $ioband_says"
	echo "<6>iobandctl: in the initramfs: $ioband_says" >/dev/kmsg
fi
