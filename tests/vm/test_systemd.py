# SPDX-License-Identifier: GPL-2.0-only
"""The laboratory's guest with systemd as its first process, real udevd, D-Bus and LVM."""

import shutil

import pytest
from harness.devices import VolumeGroup, mounted
from harness.guest import Guest
from harness.waiting import wait_until

pytestmark = pytest.mark.guest(systemd=True)

BUSES = {"scsi": "scsi-0QEMU_QEMU_HARDDISK_", "virtio": "virtio-"}


def test_services_have_what_systemd_gives_them(guest: Guest) -> None:
    assert guest.read("/proc/1/comm") == "systemd\n"
    assert guest.boot_state == "running"
    guest.run(["modprobe", "bfq"])
    unit = ["systemd-run", "--pipe", "--wait", "-q", "-p", "IOWeight=321", "sh", "-c"]
    show = "cat /sys/fs/cgroup/$(cut -d: -f3 /proc/self/cgroup)/io.weight"
    assert "default 321" in guest.run([*unit, show]).out
    owner = "busctl call org.freedesktop.DBus / org.freedesktop.DBus GetNameOwner s"
    assert ":1" in guest.run(f"{owner} org.freedesktop.systemd1").out


def test_disks_come_and_go(guest: Guest) -> None:
    for bus, prefix in BUSES.items():
        guest.plug("one", 64, bus)
        link = f"/dev/disk/by-id/{prefix}one"
        wait_until(guest, lambda link=link: guest.exists(link), f"no {link}")
        with VolumeGroup(guest, "vg0", [link]) as group:
            volume = group.create("lv0", 16)
            assert "DM_LV_NAME=lv0" in guest.run(["udevadm", "info", volume]).out
            with mounted(guest, volume):
                pass
        guest.run(["udevadm", "settle"])  # no process reads it
        guest.unplug("one")
        wait_until(guest, lambda link=link: not guest.exists(link), f"{link} is still there")


def test_a_disk_comes_back_at_once(guest: Guest) -> None:
    """The guest and QEMU may each have released it already, or not yet."""
    for bus in ("scsi", "virtio", "scsi"):
        guest.plug("back", 64, bus)
        link = f"/dev/disk/by-id/{BUSES[bus]}back"
        wait_until(guest, lambda link=link: guest.exists(link), f"no {link}")
        guest.run(["udevadm", "settle"])
        guest.unplug("back")
    wait_until(guest, lambda: not guest.exists(link), f"{link} is still there")


def test_disks_stay_when_it_reboots(guest: Guest) -> None:
    guest.plug("kept", 64)
    disk = f"/dev/disk/by-id/{BUSES['scsi']}kept"
    wait_until(guest, lambda: guest.exists(disk), f"no {disk}")
    with mounted(guest, disk, point="/srv"):
        guest.write("/srv/file", "content")
    etc = guest.share / "root/etc"
    etc.mkdir(parents=True)
    (etc / "fstab").write_text(f"{disk} /srv ext4 defaults 0 0\n")
    guest.reboot()
    assert guest.read("/srv/file") == "content"
    assert guest.boot_state == "running"
    guest.run("umount /srv && udevadm settle")
    guest.unplug("kept")
    shutil.rmtree(etc)
