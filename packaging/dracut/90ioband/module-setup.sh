#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A dracut module: ioband goes under the volume of the root file system before it is mounted, if
# the configuration says "insert = yes" of it.  Without this module it goes there after the boot.

# dracut sets dracutsysrootdir and moddir.
# shellcheck disable=SC2154

# Return: 255 without a configuration: then the module is included only by name.
check() {
	require_binaries iobandctl || return 1
	[[ -e $dracutsysrootdir/etc/ioband.conf || -d $dracutsysrootdir/etc/ioband.conf.d ]] ||
		return 255
}

depends() {
	echo dm
}

# With "hostonly", instmods takes only modules that are loaded.  dm-ioband is not, before its first
# device, or where an initramfs is made in a chroot or by an installer.
installkernel() {
	hostonly='' instmods dm-ioband
}

install() {
	inst_multiple iobandctl grep udevadm
	inst_multiple -o /etc/ioband.conf /etc/ioband.conf.d/*.conf
	inst_hook pre-mount 50 "$moddir/ioband-insert.sh"
}
