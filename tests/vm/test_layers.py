# SPDX-License-Identifier: GPL-2.0-only
"""LUKS volumes and MD arrays, on disks that udev's rules wrap, and wrapped themselves.

The rules, units and generators of mdadm, cryptsetup and systemd are Debian's own.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness.hotplug import ID, WAIT_S, Machine, disk_id
from harness.waiting import wait_until

CRYPTSETUP = Path("/usr/lib/systemd/systemd-cryptsetup")  # a package of its own since Debian 13
pytestmark = [
    pytest.mark.guest(systemd=True),
    pytest.mark.skipif(not CRYPTSETUP.exists(), reason="systemd-cryptsetup is not installed"),
]

MEMBERS = [disk_id("one"), disk_id("two")]
KEY = "/etc/luks.key"
QUICK = "--pbkdf pbkdf2 --pbkdf-force-iterations 1000"
# LUKS and an array, each twice: on a wrapped disk, and wrapped itself.
CONF = f"""
[device io-below]
device = {ID}-part1
[device io-luks]
device = /dev/mapper/wrapped
[device io-one]
device = {MEMBERS[0]}-part1
[device io-two]
device = {MEMBERS[1]}-part1
[device io-array]
device = /dev/disk/by-id/md-name-lab:wrapped
"""
MDADM_CONF = "HOMEHOST lab\nMAILADDR root\n"
# By the label of the file system: its mount point, and the devices between it and the disks.
LAYERS = {
    "luks": ("/srv", {"on-wrapped", "io-below"}),
    "luks-wrapped": ("/mnt", {"io-luks", "wrapped"}),
    "array": ("/home", {"md", "io-one", "io-two"}),
    "array-wrapped": ("/media", {"io-array", "md"}),
}
OPEN = "systemctl start systemd-cryptsetup@on\\\\x2dwrapped systemd-cryptsetup@wrapped"


def make_luks(machine: Machine, part: str, name: str, label: str) -> str:
    """A LUKS volume with a file system in it; returns its line in crypttab."""
    guest = machine.guest
    guest.run(f"cryptsetup luksFormat -q {QUICK} {part} {KEY}")
    guest.run(f"cryptsetup open -d {KEY} {part} {name}")
    make_file_system(machine, f"/dev/mapper/{name}", label)
    guest.run(f"udevadm settle; cryptsetup close {name}")
    uuid = guest.run(["cryptsetup", "luksUUID", part]).out.strip()
    return f"{name} UUID={uuid} {KEY} luks\n"


def make_array(machine: Machine, part: int, name: str, label: str) -> str:
    """An array of parts of two disks with a file system on it; returns its line in mdadm.conf."""
    guest, path = machine.guest, f"/dev/md/{name}"
    members = [f"{member}-part{part}" for member in MEMBERS]
    create = f"mdadm --create {path} --run --quiet --homehost=lab --level=1 --raid-devices=2"
    guest.run(f"{create} --assume-clean {' '.join(members)}")
    machine.wait(path)
    make_file_system(machine, path, label)
    line = guest.run(["mdadm", "--detail", "--brief", path]).out
    guest.run(f"udevadm settle; mdadm --stop {path} && udevadm settle")
    return line


def make_file_system(machine: Machine, path: str, label: str) -> None:
    """A file system with a label, and a file with the label in it."""
    machine.guest.run(["mkfs.ext4", "-q", "-L", label, path])
    machine.guest.run(f"mount {path} /mnt && echo {label} >/mnt/file && umount /mnt")


def plug(machine: Machine) -> None:
    """Plug in all disks; sda, sdb and sdc, one after another."""
    machine.plug(ID)
    for name in ("one", "two"):
        machine.guest.plug(name, 24)
        machine.wait(disk_id(name))


@pytest.fixture
def layered(machine: Machine) -> Iterator[Machine]:
    """A machine that has booted with all LAYERS on its disks."""
    guest, etc = machine.guest, machine.root / "etc"
    machine.configure(None)
    guest.run(
        f"umask 077; echo -n secret >{KEY}; mkdir /etc/mdadm; cp -a {KEY} /run/share/root/etc"
    )
    guest.write("/etc/mdadm/mdadm.conf", MDADM_CONF)
    plug(machine)
    machine.partition(ID, "size=24M", "size=24M")
    for member in MEMBERS:
        machine.partition(member, "size=10M", "size=10M")
    crypttab = make_luks(machine, f"{ID}-part1", "on-wrapped", "luks")
    crypttab += make_luks(machine, f"{ID}-part2", "wrapped", "luks-wrapped")
    arrays = make_array(machine, 1, "on-wrapped", "array")
    arrays += make_array(machine, 2, "wrapped", "array-wrapped")
    (etc / "mdadm").mkdir()
    (etc / "mdadm/mdadm.conf").write_text(MDADM_CONF + arrays)
    mounts = {label: where for label, (where, _) in LAYERS.items()}
    fstab = "".join(f"LABEL={label} {where} ext4 defaults 0 0\n" for label, where in mounts.items())
    machine.configure(CONF, fstab=fstab, crypttab=crypttab)
    guest.reboot(cut=True)
    yield machine
    if guest.alive:
        guest.run(["rm", "-r", KEY, "/etc/mdadm"])


def below(machine: Machine, path: str) -> set[str]:
    """The devices between a device and the disks, by name; an array is md, whatever its number."""
    names = machine.guest.run(["lsblk", "-snlo", "NAME", path]).out.split()
    return {"md" if name.startswith("md") else name for name in names if name[:2] != "sd"}


def await_loss(machine: Machine) -> None:
    """Wait until both arrays have lost one of their disks."""
    layers = LAYERS["array"][1] - {"io-one"}

    def has_lost() -> bool:
        degraded = machine.guest.run("cat /sys/block/md*/md/degraded").out.split()
        return degraded == ["1", "1"] and below(machine, machine.source("/home")) == layers

    wait_until(machine.guest, has_lost, "the arrays still have their disk", WAIT_S)


@contextlib.contextmanager
def opened(machine: Machine, path: str) -> Iterator[None]:
    """A process has a device open."""
    job = machine.guest.start(f"exec sleep infinity <{path}")

    def is_open() -> bool:
        return bool(int(machine.guest.run(f"dmsetup info -c --noheadings -o open {path}").out))

    try:
        wait_until(machine.guest, is_open, f"nobody has {path} open", WAIT_S)
        yield
    finally:
        job.kill()
        job.wait(check=False)


def await_failure(machine: Machine, unit: str) -> None:
    """Wait until a unit has failed."""

    def has_failed() -> bool:
        return not machine.guest.run(["systemctl", "is-failed", unit], check=False).rc

    wait_until(machine.guest, has_failed, f"{unit} has not failed", WAIT_S)


def await_closed(machine: Machine) -> None:
    """Wait until both LUKS volumes are gone, with the devices below and above them."""
    for name in ("on-wrapped", "io-below", "io-luks", "wrapped"):
        machine.wait_gone(f"/dev/mapper/{name}")
    failed = machine.guest.run(["systemctl", "list-units", "--failed", "systemd-cryptsetup@*"]).out
    assert "0 loaded units" in failed


def assert_layers(machine: Machine) -> None:
    """Assert that all is mounted, and lies on the right devices."""
    for label, (where, layers) in LAYERS.items():
        assert machine.guest.read(f"{where}/file") == f"{label}\n"
        assert below(machine, machine.source(where)) == layers, label


def forget(machine: Machine) -> None:
    """Remove all traces of the test from the guest."""
    guest = machine.guest
    guest.run("systemctl stop mdmonitor; mdadm --stop --scan; udevadm settle")
    for name in ("one", "two"):
        guest.unplug(name)
        machine.wait_gone(disk_id(name))
        guest.blank(name)
    machine.pull()
    await_closed(machine)

    def is_left() -> bool:
        return "No devices" not in guest.run(["dmsetup", "ls"]).out

    wait_until(guest, lambda: not is_left(), "a device is left", WAIT_S)


def test_luks_and_arrays_at_boot_and_as_their_disks_come_and_go(layered: Machine) -> None:
    machine, guest = layered, layered.guest
    assert guest.boot_state == "running", machine.journal()
    assert_layers(machine)
    # Units and rules for an array apply to a wrapped array as well.
    assert guest.run(["systemctl", "is-active", "mdmonitor"]).out == "active\n"
    assert machine.name_of("/dev/md/wrapped").startswith("md")
    assert machine.name_of("/dev/disk/by-id/md-name-lab:wrapped") == "io-array"
    assert "active" in guest.run(["mdadm", "--detail", "/dev/md/wrapped"]).out

    # The arrays lose a disk.
    guest.expect_dmesg("I/O error|md/raid1:|super_written gets error")
    guest.unplug("one")
    await_loss(machine)
    for label in ("array", "array-wrapped"):
        where, _ = LAYERS[label]
        assert guest.run(f"echo 3 >/proc/sys/vm/drop_caches; cat {where}/file").out == f"{label}\n"
    machine.wait_gone("/dev/mapper/io-one")
    # systemd closes the LUKS volumes, too; over one of them ioband is in use.
    guest.run("umount /srv /mnt && udevadm settle")
    with opened(machine, "/dev/mapper/io-luks"):
        machine.pull()
        await_failure(machine, "systemd-cryptsetup@wrapped")
    await_closed(machine)

    # Plug the disks in again.
    guest.plug("one", 24)
    machine.wait("/dev/mapper/io-one")
    machine.plug("/dev/mapper/io-below")
    guest.run(OPEN)
    machine.wait("/dev/mapper/io-luks")
    guest.run(["udevadm", "settle"])
    guest.run("mount /srv; mount /mnt")
    add = "mdadm /dev/md/on-wrapped --add /dev/mapper/io-one"
    guest.run(f"{add} && mdadm /dev/md/wrapped --add {MEMBERS[0]}-part2; mdadm --wait --scan || :")
    assert_layers(machine)

    # An array with its own name in fstab is not wrapped: the name would not lead to ioband.
    guest.run("umount /srv /mnt /media /home && iobandctl unwrap io-array")
    called = "/dev/md/wrapped /media ext4 noauto 0 0\n"
    crypttab = (machine.root / "etc/crypttab").read_text()
    machine.configure(CONF, fstab=called, crypttab=crypttab)
    assert not machine.wraps(machine.name_of("/dev/md/wrapped"))
    assert "fstab(5) calls it /dev/md/wrapped" in machine.journal("-t", "iobandctl")

    # An array that is assembled by hand is not wrapped until iobandctl is asked to.
    machine.configure(CONF, fstab="", crypttab=crypttab)
    guest.run("mdadm --stop /dev/md/wrapped && udevadm settle")
    guest.run(f"mdadm --assemble /dev/md/wrapped {MEMBERS[0]}-part2 {MEMBERS[1]}-part2")
    guest.run(["udevadm", "settle"])
    array = machine.name_of("/dev/md/wrapped")
    assert machine.name_of("/dev/disk/by-id/md-name-lab:wrapped") == array
    assert machine.wraps(array)
    machine.wait("/dev/mapper/io-array")
    guest.run("udevadm settle; iobandctl unwrap io-array")
    forget(machine)
