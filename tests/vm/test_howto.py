# SPDX-License-Identifier: GPL-2.0-only
"""The commands of the how-to pages, on a machine with an ioband device and watch as a service.

The commands and their expected output are read from the pages.
"""

import contextlib
from collections.abc import Iterator

import pytest
from harness.devices import VolumeGroup, null_blk
from harness.docker import docker
from harness.document import follow, read_steps
from harness.guest import Guest
from harness.libvirt import BOOT_SECTOR, DISK, define_machine, libvirt
from harness.lxd import lxd
from harness.module import REPO
from harness.podman import prepare_podman
from harness.tool import WATCH_UNIT as UNIT
from harness.tool import install_watch

COMMAND_S = 300  # on a busy host
SLICES = "machine.slice containers.slice kubepods.slice"
FORGET = "rm -r /etc/ioband.conf.d /run/systemd/system.control; systemctl daemon-reload"
BOX = "mkdir -p /srv/box/usr && ln -sfn -t /srv/box usr/bin usr/sbin usr/lib usr/lib64"
TOLERANCE = {"howto-incus": 10}  # percentage points of a share
VOLUME = "/dev/vg0/web"  # the disk's name in the pages
# Leaves out programs of the host in /usr/local.
ENV = {"PATH": "/usr/sbin:/usr/bin"}
GOLD = """<blkiotune><weight>400</weight></blkiotune>
  <resource><partition>/machine/gold</partition></resource>"""


@contextlib.contextmanager
def machines(guest: Guest) -> Iterator[None]:
    """Two machines of libvirt, of which one has the disk."""
    with libvirt(guest):
        define_machine(guest, "web", DISK.format(path=VOLUME))
        define_machine(guest, "db", GOLD)
        yield


@contextlib.contextmanager
def containers(guest: Guest) -> Iterator[None]:
    """Podman and Docker."""
    prepare_podman(guest)
    guest.run(BOX)
    with docker(guest):
        yield


@contextlib.contextmanager
def proxmox(guest: Guest) -> Iterator[None]:
    """A thin pool with the disk of a virtual machine, as an installer of Proxmox VE makes it."""
    with (
        null_blk(guest, "nullb7", size_mib=192, memory_backed=1) as disk,
        VolumeGroup(guest, "pve", [disk]),
    ):
        guest.run("lvcreate -qq -y --type thin-pool -n data -L 96M --poolmetadataspare n pve")
        guest.run("lvcreate -qq -y -n vm-100-disk-0 -V 64M --thinpool pve/data")
        yield
        guest.run("systemctl stop 100.scope qemu.slice; rmdir /sys/fs/cgroup/lxc", check=False)
        guest.run("lvremove -qq -y pve")


PAGES = {
    "howto-libvirt": machines,
    "howto-containers": containers,
    "howto-proxmox": proxmox,
    # 128 I/Os of 64 KiB a second: less than two containers ask for in this guest.
    "howto-incus": lambda guest: lxd(guest, mbps=8),
    "howto-kubernetes": lambda guest: contextlib.nullcontext(),
}


@pytest.fixture
def machine(ioband: Guest) -> Iterator[Guest]:
    """A machine on which iobandctl is installed, with a wrapped disk."""
    install_watch(ioband)
    ioband.run("mkdir -p /etc/ioband.conf.d /dev/vg0")
    with null_blk(ioband, size_mib=64, memory_backed=1) as disk:
        ioband.write(disk, BOOT_SECTOR)
        ioband.run(f"iobandctl wrap --pool disks --name io-vg0-web {disk}")
        ioband.run(f"ln -s /dev/mapper/io-vg0-web {VOLUME}")
        ioband.run(f"systemctl start {UNIT}")
        yield ioband
        ioband.run(f"systemctl stop {UNIT} {SLICES}; rm -r /dev/vg0; iobandctl unwrap {disk}")
        ioband.run(FORGET)


@pytest.mark.long("Docker and libvirt are unpacked, and start in the guest")
@pytest.mark.guest(systemd=True)
@pytest.mark.parametrize("page", PAGES)
def test_howto(machine: Guest, page: str) -> None:
    def run(command: str) -> str:
        return machine.run(f"{{ {command}\n}} 2>&1", timeout=COMMAND_S, env=ENV).out

    with PAGES[page](machine):
        for step in read_steps(REPO / f"Documentation/{page}.rst"):
            follow(step, run, TOLERANCE.get(page, 0))
