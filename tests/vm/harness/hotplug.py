# SPDX-License-Identifier: GPL-2.0-only
"""A machine with disks that are plugged in and pulled out, which udev's rules wrap."""

import contextlib
import json
import shutil
import subprocess
from collections.abc import Iterator

from .guest import SHARE, Guest
from .module import REPO
from .tool import build_tool, udev_is_done
from .waiting import wait_until


def disk_id(name: str) -> str:
    """The persistent link of a disk that is plugged in under a name."""
    return f"/dev/disk/by-id/scsi-0QEMU_QEMU_HARDDISK_{name}"


ID = disk_id("data")
WRAPPED = "/dev/mapper/io-data"
WEIGHT = 300
GROUP = f"[group /system.slice/reader.service]\nweight = {WEIGHT}\n"
WAIT_S = 120  # on a busy host
UUID = "11111111-2222-3333-4444-555555555555"
BY_UUID = f"/dev/disk/by-uuid/{UUID}"
BY_LABEL = "/dev/disk/by-label/data"
FSTAB = f"UUID={UUID} /srv ext4 nofail 0 0\n"
LOADS = f"install dm-ioband /sbin/modprobe dm-mod && /sbin/insmod {SHARE}/dm-ioband.ko\n"
# The setting with which LVM's commands ignore wrapped disks.
SETTING = 'devices/external_device_info_source="udev"'


class Disk:
    """The disk of a test: QEMU plugs it in."""

    link = ID

    def __init__(self, guest: Guest):
        self.guest = guest

    def plug(self) -> None:
        """Plug it in, with the data it had before."""
        self.guest.plug("data", 64)

    def pull(self) -> None:
        """Pull it out."""
        self.guest.unplug("data")

    def end(self) -> None:
        """Discard it: the next disk is a new one, without volumes and partitions."""
        self.guest.blank("data")


class DebugDisk(Disk):
    """A disk of the module scsi_debug, which the kernel deletes and finds again by a scan."""

    link = "/dev/disk/by-id/scsi-333333330000007d0"
    adapter = "/sys/bus/pseudo/drivers/scsi_debug/adapter*/host*"
    kind = "dev_size_mb=64"

    def plug(self) -> None:
        """Load the module, or have the kernel scan again."""
        load = f"modprobe scsi_debug vpd_use_hostno=0 {self.kind}"
        scan = f"echo '- - -' >$(echo {self.adapter}/scsi_host/host*/scan)"
        self.guest.run(f"if [ -e /sys/module/scsi_debug ]; then {scan}; else {load}; fi")

    def pull(self) -> None:
        """Have the kernel delete it."""
        self.guest.run(f"for disk in {self.adapter}/target*/*/delete; do echo 1 >$disk; done")

    def end(self) -> None:
        """Unload the module."""
        self.guest.run("udevadm settle; [ ! -e /sys/module/scsi_debug ] || rmmod scsi_debug")


class ManyDisks(DebugDisk):
    """Several disks at once; the wrapping of each waits for the others."""

    count = 6
    kind = f"dev_size_mb=8 num_tgts={count} max_luns=1"


class TwoPaths(DebugDisk):
    """A disk that the kernel finds twice, by two adapters."""

    kind = "dev_size_mb=64 add_host=2"


DISKS = {"device_add": Disk, "scsi_debug": DebugDisk, "many": ManyDisks, "paths": TwoPaths}


class Machine:
    """A guest on which ioband is installed, and one disk that a test plugs in."""

    def __init__(self, guest: Guest, disk: Disk):
        self.guest = guest
        self.disk = disk
        self.conf = f"[device io-data]\ndevice = {disk.link}\n{GROUP}"
        self.root = guest.share / "root"
        self.plugged = False

    def install(self) -> None:
        """Install rules, units and iobandctl, for the running system and for the next boot."""
        shutil.rmtree(self.root, ignore_errors=True)  # left if the end of a test failed
        where = [f"DESTDIR={self.root}", "PREFIX=/usr"]
        subprocess.run(["make", "-s", "-C", REPO / "udev", "install", *where], check=True)
        (self.root / "usr/sbin").mkdir(parents=True, exist_ok=True)
        shutil.copy(build_tool(), self.root / "usr/sbin/iobandctl")
        # A busy host must not make the unit give up.
        patient = self.root / "etc/systemd/system/ioband-wrap@.service.d"
        patient.mkdir(parents=True)
        (patient / "busy.conf").write_text("[Service]\nTimeoutStartSec=60\n")
        self.configure(self.conf)

    def uninstall(self) -> None:
        """Remove all files, so that rules do not act on the configurations of other tests."""
        files = (each for each in self.root.rglob("*") if each.is_symlink() or each.is_file())
        self.guest.run(["rm", "-f", *(f"/{each.relative_to(self.root)}" for each in files)])
        self.guest.run("rm -f /run/iobandctl/.left-* /run/iobandctl/.failed-*")
        self.guest.run("udevadm control --reload && systemctl daemon-reload")
        shutil.rmtree(self.root)

    def configure(
        self, conf: str | None, *, loads: str = LOADS, fstab: str = FSTAB, crypttab: str = ""
    ) -> None:
        """Write the configuration, if any, and the way in which the kernel gets the module."""
        etc = self.root / "etc"
        (etc / "modprobe.d").mkdir(parents=True, exist_ok=True)
        (etc / "modprobe.d/ioband.conf").write_text(loads)
        (etc / "ioband.conf").write_text(conf or "")
        (etc / "fstab").write_text(fstab)
        (etc / "crypttab").write_text(crypttab)
        if conf is None:
            (etc / "ioband.conf").unlink()
            self.guest.run(["rm", "-f", "/etc/ioband.conf"])
        self.guest.run(
            f"cp -a {SHARE}/root/. / && udevadm control --reload && systemctl daemon-reload"
        )

    def plug(self, link: str) -> None:
        """Plug the disk in, and wait for a link."""
        self.disk.plug()
        self.plugged = True
        self.wait(link)
        self.guest.run(["udevadm", "settle"])

    def at_boot(self, unit: str) -> None:
        """Have a service, reader.service, started at the next boot."""
        units = self.root / "etc/systemd/system"
        (units / "multi-user.target.wants").mkdir(parents=True)
        (units / "reader.service").write_text(unit)
        (units / "multi-user.target.wants/reader.service").symlink_to("../reader.service")

    def not_at_boot(self) -> None:
        """Disable reader.service."""
        (self.root / "etc/systemd/system/multi-user.target.wants/reader.service").unlink()

    def pull(self) -> None:
        """Pull the disk out; a process, as udev's, may be about to read it."""
        self.guest.expect_dmesg("Buffer I/O error")
        self.disk.pull()
        self.plugged = False

    def unplug(self) -> None:
        """Pull the disk out, and wait until all its devices are gone."""
        self.guest.run(["udevadm", "settle"])  # no process reads it
        self.pull()
        self.wait_gone(self.disk.link)
        self.wait_gone(WRAPPED)

    def make_volumes(self, group: str, on: str, size: str, *names: str) -> None:
        """Volumes of a size in a new volume group."""
        self.guest.run(["vgcreate", "-y", group, on])
        # With ioband below, LVM must take the device of the group from udev.
        create = ["lvcreate", "-y", "-L", size, "--config", SETTING, group]
        for name in names:
            self.guest.run([*create, "-n", name])

    def partition(self, disk: str, *parts: str) -> None:
        """Write a partition table in sfdisk's words to a disk; wait for the partitions."""
        table = "".join(f"{line}\n" for line in ("label: gpt", *parts))
        self.guest.run(["sfdisk", "-q", "--wipe", "always", disk], input=table)
        for number in range(1, len(parts) + 1):
            self.wait(f"{disk}-part{number}")
        self.guest.run(["udevadm", "settle"])

    def deactivate(self, *groups: str) -> None:
        """Deactivate volume groups, so that other tests can use their names.

        LVM remembers a disk that was pulled out as present, and then does not activate a
        group of the same name on another disk.
        """
        self.guest.run(["vgchange", "-an", *groups])
        self.guest.run("udevadm settle; rm -f /run/lvm/[pv][vg]s_online/*")

    def wait(self, path: str) -> None:
        """Wait for a file."""
        wait_until(self.guest, lambda: self.guest.exists(path), f"no {path}", WAIT_S)

    def wait_gone(self, path: str) -> None:
        """Wait until there is no such file."""
        what = f"{path} is still there"
        wait_until(self.guest, lambda: not self.guest.exists(path), what, WAIT_S)

    def name_of(self, path: str) -> str:
        """Name of a path's device in device-mapper, or the kernel's name."""
        return self.guest.run(["lsblk", "-dno", "NAME", path]).out.strip()

    def property(self, device: str, name: str) -> str:
        """A property of a device in udev's database."""
        return self.guest.run(
            ["udevadm", "info", "-q", "property", "--value", f"--property={name}", device]
        ).out.strip()

    def journal(self, *which: str) -> str:
        """The messages of units or programs since the boot."""
        return self.guest.run(["journalctl", "-b", *which]).out

    def source(self, directory: str) -> str:
        """The device that is mounted on a directory."""
        return self.guest.run(["findmnt", "-no", "SOURCE", directory]).out.strip()

    def wraps(self, raw: str) -> bool:
        """Whether a request to wrap the disk succeeds."""
        unit = f"ioband-wrap@{raw.removeprefix('/dev/')}"
        return not self.guest.run(["systemctl", "start", unit], check=False).rc

    def wait_for_links(self, device: str) -> None:
        """Wait until the links by id, UUID and label lead to a device."""

        def lead() -> bool:
            links = [self.disk.link, BY_UUID, BY_LABEL, device]
            real = self.guest.run(["readlink", "-f", *links], check=False).out.split()
            return len(real) == len(links) and len(set(real)) == 1

        wait_until(self.guest, lead, f"the links do not lead to {device}", WAIT_S)

    def written(self) -> int:
        """The bytes that all groups wrote through ioband."""
        (rows,) = json.loads(self.guest.run(["iobandctl", "stat", "--json"]).out).values()
        return sum(row["bytes"] for row in rows if row["op"] == "write")

    def assert_weight_was_there(self) -> None:
        """Assert that the reader had the weight of GROUP at its first read, in its only pool."""
        weights = json.loads(self.guest.read("/run/weights"))["weights"]
        assert any(row["weight"] == WEIGHT and row["set"] for row in weights), weights

    def wait_until_wrapped(self, path: str) -> None:
        """Wait until a path leads to an ioband device."""

        def is_wrapped() -> bool:
            return self.name_of(path).startswith("io-")

        wait_until(self.guest, is_wrapped, f"{path} is not wrapped", WAIT_S)

    def end_units(self) -> None:
        """Wait for the units of removed disks: the next test replaces their programs."""
        going = "systemctl list-units --no-legend --state=activating 'ioband-*'"
        self.guest.run(["udevadm", "settle"])
        wait_until(self.guest, lambda: not self.guest.run(going).out, "a unit runs", WAIT_S)
        failed = self.guest.run("systemctl list-units --failed --no-legend 'ioband-gone@*'").out
        self.guest.run(["systemctl", "reset-failed", "ioband-*"], check=False)
        assert not failed, f"{failed}{self.journal('-u', 'ioband-gone@*')}"

    def raw(self) -> str:
        """The disk itself, wrapped or not."""
        (path,) = self.guest.run("echo /sys/bus/scsi/drivers/sd/*/block/*").out.split()
        return f"/dev/{path.split('/')[-1]}"


@contextlib.contextmanager
def installed(ioband: Guest, kind: str = "device_add") -> Iterator[Machine]:
    """A machine that wraps the disk, which is not plugged in yet."""
    disk = DISKS[kind](ioband)
    machine = Machine(ioband, disk)
    machine.install()
    yield machine
    if ioband.alive:
        if machine.plugged:
            ioband.run(["udevadm", "settle"], check=False)  # no process reads it
            machine.pull()
        disk.end()
        machine.end_units()
        machine.uninstall()
        wait_until(ioband, lambda: udev_is_done(ioband), "a cookie of udev is left", WAIT_S)
