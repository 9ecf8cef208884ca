# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# How a volume becomes a root (sourced): all that a root has is laid over it.

# lay SOURCE TARGET: of two roots; /etc is copied, what a boot mounts is left empty, and all
# else is that of SOURCE.
lay() {
	for path in "$1"/*; do
		name=${path##*/}
		if [ -L "$path" ]; then
			[ -L "$2/$name" ] || cp -a "$path" "$2/"
		elif [ -d "$path" ]; then
			mkdir -p "$2/$name"
			case $name in
			dev | lab | mnt | proc | run | srv | sys) ;;
			etc) cp -a "$path" "$2/" ;;
			*) mountpoint -q "$2/$name" || mount --bind "$path" "$2/$name" ;;
			esac
		fi
	done
}
