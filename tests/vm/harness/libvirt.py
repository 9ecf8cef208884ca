# SPDX-License-Identifier: GPL-2.0-only
"""libvirt in a guest, with machines in the guest's own QEMU."""

import contextlib
from collections.abc import Iterator

from .guest import Guest
from .lent import LIBVIRT, lent

START_S = 300  # of a busy host
# As the packages' scripts do.
START = """
for group in kvm libvirt libvirt-qemu; do
	groupadd --force --system $group
done
id -u libvirt-qemu || useradd --system --gid kvm --home-dir /var/lib/libvirt libvirt-qemu
systemctl start libvirtd.service
"""
STOP = """
systemctl stop 'libvirtd*' 'virtlo*' machine.slice systemd-machined.service
rm -rf /etc/libvirt /var/lib/libvirt
"""
DOMAIN = """<domain type='qemu'>
  <name>{name}</name>
  <memory unit='MiB'>32</memory>
  <os><type>hvm</type></os>
  {more}
</domain>
"""
DISK = """<devices>
    <disk type='block'>
      <driver name='qemu' type='raw' cache='none'/>
      <source dev='{path}'/>
      <target dev='vda' bus='virtio'/>
    </disk>
  </devices>"""
# What the firmware starts from a disk: reads the next sector, waits for the clock to tick, again.
PROGRAM = (
    b"\xb8\x01\x02"  # mov ax, 0x0201: one sector is to be read
    b"\xbb\x00\x80"  # mov bx, 0x8000: to there
    b"\xb9\x02\x00"  # mov cx, 2: the second one
    b"\xba\x80\x00"  # mov dx, 0x80: of the first disk
    b"\xcd\x13"  # int 0x13
    b"\xf4"  # hlt
    b"\xeb\xef"  # jmp to the beginning
)
BOOT_SECTOR = PROGRAM.ljust(510, b"\0") + b"\x55\xaa"


@contextlib.contextmanager
def libvirt(guest: Guest) -> Iterator[None]:
    """Have libvirt's daemon run; its machines are to be destroyed before the end."""
    with lent(guest, LIBVIRT):
        guest.run(["bash", "-ec", START], timeout=START_S)
        yield
        guest.run(STOP)


def define_machine(guest: Guest, name: str, more: str) -> None:
    """A machine without a system, with more in its XML."""
    file = f"/run/{name}.xml"
    guest.write(file, DOMAIN.format(name=name, more=more))
    guest.run(["/usr/bin/virsh", "--quiet", "define", file])
