# SPDX-License-Identifier: GPL-2.0-only
"""Debian packages for a guest, which shares the root of a machine without them.

The packages and their dependencies are unpacked into the cache: installed on the machine,
they would start their services in every guest.  No maintainer script runs.
"""

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

from .guest import Guest
from .trees import own_archive, unpacked

DOCKER = ("docker.io", "apparmor")
RPM = ("rpm", "rpmlint", "cpio")
ARCH = ("makepkg", "pacman-package-manager", "libarchive-tools", "fakeroot")
MULTIPATH = ("multipath-tools",)
LXD = ("lxd",)
NFS = ("nfs-kernel-server",)
LIBVIRT = ("libvirt-daemon-system", "libvirt-clients")

ASK = ["dpkg-query", "-W", "-f", "${db:Status-Status} ${Package}\n"]
# The /usr of the packages is laid over the guest's, in which the kernel's modules are mounted.
# A mount does not notify D-Bus.
LEND = """
mount -t overlay -o lowerdir={tree}/usr:/usr overlay /usr
mount --bind {modules} /usr/lib/modules/{release}
[ ! -d {tree}/etc ] || cp -an {tree}/etc/. /etc/
[ ! -d /run/systemd/system ] || systemctl reload dbus
"""
RETURN = "umount --lazy --recursive /usr"


def lent_tree(names: tuple[str, ...]) -> Path:
    """The packages, and their dependencies that are not installed here."""
    archive = own_archive()
    listed = subprocess.run(ASK, check=True, stdout=subprocess.PIPE, text=True).stdout
    installed = set(listed.splitlines())
    packages = [
        each for each in archive.resolve(*names) if f"installed {each.name}" not in installed
    ]
    return unpacked(names[0], archive, packages)


@contextlib.contextmanager
def lent(guest: Guest, names: tuple[str, ...]) -> Iterator[None]:
    """Lay packages over a guest's root; their files in /etc stay there."""
    kernel = guest.kernel
    script = LEND.format(tree=lent_tree(names), modules=kernel.modules, release=kernel.release)
    guest.run(["bash", "-ec", script])
    yield
    guest.run(RETURN)


def main() -> None:
    """Unpack what the tests lend to guests."""
    for names in (ARCH, DOCKER, LIBVIRT, LXD, MULTIPATH, NFS, RPM):
        print(lent_tree(names))


if __name__ == "__main__":
    main()
