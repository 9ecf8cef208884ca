# SPDX-License-Identifier: GPL-2.0-only
"""Disks that udev's rules wrap as they appear, on real udev, systemd and LVM."""

import json
import re
from collections.abc import Iterator

import pytest
from harness.cache import progress
from harness.debian_initramfs import make_debian_initramfs, make_root
from harness.guest import Guest
from harness.hotplug import (
    BY_LABEL,
    BY_UUID,
    FSTAB,
    GROUP,
    ID,
    LOADS,
    SETTING,
    UUID,
    WAIT_S,
    WRAPPED,
    Machine,
    ManyDisks,
    disk_id,
)
from harness.lent import MULTIPATH, lent
from harness.module import REPO, build_module
from harness.tracing import TRACING, traced
from harness.variants import variants
from harness.waiting import wait_until

pytestmark = pytest.mark.guest(systemd=True)

VOLUMES, PV, SYSTEM = map(disk_id, ("volumes", "pv", "system"))
PARTS = ["22222222-3333-4444-5555-666666666666", "33333333-4444-5555-6666-777777777777"]
LVM_LOCAL = "/etc/lvm/lvmlocal.conf"
ASK_UDEV = f"echo '{SETTING}' >>{LVM_LOCAL}"
BOTH = pytest.mark.parametrize(
    "machine", variants(["device_add", "scsi_debug"], "device_add"), indirect=True
)
# A service that must have its weight at its first read.
READER = """
[Unit]
RequiresMountsFor=/srv
[Service]
Type=oneshot
IOAccounting=yes
ExecStart=/bin/dd if=/srv/file of=/dev/null iflag=direct bs=4096
ExecStart=/bin/sh -c 'iobandctl get-weight --json /system.slice/reader.service >/run/weights'
"""


def left_alone(guest: Guest) -> str:
    """The files of devices that the units have given up."""
    return guest.run("ls /run/iobandctl/.left-* /run/iobandctl/.failed-* 2>&-", check=False).out


@pytest.fixture
def formatted(machine: Machine) -> Machine:
    """A machine with a disk that got a file system while no configuration named it."""
    machine.configure(None)
    machine.plug(machine.disk.link)
    assert "IOBAND" not in machine.guest.run(["udevadm", "info", machine.raw()]).out
    machine.guest.run(["mkfs.ext4", "-q", "-F", "-U", UUID, "-L", "data", machine.disk.link])
    machine.wait(BY_UUID)
    assert (
        machine.name_of(BY_UUID)
        == machine.name_of(machine.disk.link)
        == machine.raw().removeprefix("/dev/")
    )
    assert not machine.guest.exists(WRAPPED)
    machine.unplug()
    machine.configure(machine.conf)
    return machine


@BOTH
def test_a_disk_is_wrapped_hidden_and_mounted_by_its_uuid(formatted: Machine) -> None:
    machine = formatted
    machine.plug(WRAPPED)
    machine.wait_for_links(WRAPPED)
    raw = machine.raw()
    assert machine.property(raw, "SYSTEMD_READY") == "0"
    assert machine.property(raw, "ID_FS_TYPE") == ""
    machine.guest.run(["mount", "/srv"])
    assert machine.source("/srv") == WRAPPED
    assert json.loads(machine.guest.run(["iobandctl", "apply", "--json"]).out) == {"changes": []}
    machine.guest.run(["umount", "/srv"])
    machine.unplug()


@BOTH
def test_a_disk_that_is_pulled_out_under_load_is_cleaned_up(formatted: Machine) -> None:
    machine, guest = formatted, formatted.guest
    machine.plug(WRAPPED)
    machine.wait(BY_UUID)
    guest.run(["mount", "/srv"])
    guest.expect_dmesg("I/O error|EXT4-fs|JBD2")
    fio = "fio --name=load --directory=/srv --size=16m --rw=randrw --direct=1"
    job = guest.start(f"{fio} --time_based --runtime=600")
    machine.wait("/srv/load.0.0")
    machine.pull()
    assert job.wait(timeout=120, check=False).rc != 0
    guest.run("umount /srv || ! findmnt /srv", timeout=120)
    machine.wait_gone(WRAPPED)
    machine.plug(WRAPPED)
    machine.wait(BY_UUID)
    guest.run(["mount", "/srv"])
    guest.run(["umount", "/srv"])
    machine.unplug()


def test_what_cannot_be_wrapped_is_left_alone_and_said(formatted: Machine) -> None:
    machine, guest = formatted, formatted.guest
    hurry = "/run/systemd/system/ioband-wrap@.service.d"
    guest.run(["mkdir", "-p", hurry])
    guest.write(f"{hurry}/hurry.conf", "[Service]\nTimeoutStartSec=8\nTimeoutStopSec=12\n")
    machine.configure(machine.conf, loads="install dm-ioband /bin/sleep 60\n")
    guest.rmmod("dm_ioband")
    guest.expect_dmesg("error adding target to table")
    machine.plug(BY_UUID)
    raw = machine.raw()
    assert machine.name_of(BY_UUID) == raw.removeprefix("/dev/")
    assert "is left alone" in machine.journal("-u", "ioband-wrap@*")
    assert not guest.exists(WRAPPED)
    guest.run(["rm", "-r", hurry])
    guest.run(["dmsetup", "udevcomplete_all", "-y"])  # a killed process has left a cookie
    machine.configure(machine.conf)
    guest.run(["mount", "/srv"])
    assert not machine.wraps(raw)
    assert "is left alone: it is mounted" in machine.journal("-t", "iobandctl")
    guest.run(["umount", "/srv"])
    guest.run(["udevadm", "trigger", "--settle", raw])  # no program has asked for it
    assert not guest.exists(WRAPPED)
    machine.configure(machine.conf, fstab=f"{raw} /srv ext4 noauto 0 0\n")
    assert not machine.wraps(raw)
    assert f"fstab(5) calls it {raw}" in machine.journal("-t", "iobandctl")
    machine.configure(
        machine.conf, crypttab=f"# none\nother UUID={UUID}\nsecret\t{raw} none noauto\n"
    )
    assert not machine.wraps(raw)
    assert f"crypttab(5) calls it {raw}" in machine.journal("-t", "iobandctl")
    machine.configure(machine.conf)
    assert machine.wraps(raw)
    machine.wait_for_links(WRAPPED)
    machine.unplug()


# The shell has the disk open throughout.  "add" has the rules decide again.
FORMAT = """
exec 3<>{disk}
while [ ! -e /run/enough ]; do udevadm trigger --settle --action=add {disk}; done &
for i in $(seq 10); do
	udevadm trigger --action=change {disk}
	mkfs.ext4 -q -F {disk} || echo failed
done
touch /run/enough
wait
"""
EXCLUSIVE = 'comm == "iobandctl" && flags & 128'  # O_EXCL


def test_mkfs_does_not_fail_beside_events(machine: Machine) -> None:
    """mkfs opens its disk with O_EXCL; the rules look for its users without it."""
    guest = machine.guest
    machine.configure(None)
    machine.plug(machine.disk.link)
    machine.configure(machine.conf)
    raw = machine.raw()
    with traced(guest, "syscalls/sys_enter_openat", only=EXCLUSIVE):
        assert guest.run(["bash", "-c", FORMAT.format(disk=raw)], timeout=600).out == ""
        said = machine.journal("-t", "iobandctl")
        assert len(re.findall(r"left alone: process \d+ \(\S+\) has it open", said)) >= 3
        assert "sys_openat" not in guest.read(f"{TRACING}/trace")
        guest.run(["rm", "/run/enough"])
        assert machine.wraps(raw)
        assert "sys_openat" in guest.read(f"{TRACING}/trace")  # of the unit
    machine.wait(WRAPPED)
    machine.unplug()


def test_a_disk_is_shown_if_its_sandbox_cannot_be_set_up(formatted: Machine) -> None:
    machine, guest = formatted, formatted.guest
    broken = "/run/systemd/system/ioband-wrap@.service.d"
    guest.run(["mkdir", "-p", broken])
    guest.write(f"{broken}/broken.conf", "[Service]\nInaccessiblePaths=/nowhere\n")
    guest.run(["systemctl", "daemon-reload"])
    try:
        machine.plug(BY_UUID)
        raw = machine.raw()
        wait_until(guest, lambda: machine.property(raw, "IOBAND_WRAP") == "0", "hidden", WAIT_S)
        assert machine.name_of(BY_UUID) == raw.removeprefix("/dev/")
        assert "is left alone" in machine.journal("-u", "ioband-wrap@*")
    finally:
        guest.run(["rm", "-r", broken])
        guest.run(["systemctl", "daemon-reload"])
    assert machine.wraps(raw)
    machine.wait_for_links(WRAPPED)
    machine.unplug()


def took(machine: Machine, unit: str) -> float:
    """The time in seconds for which a unit's 'apply' waited for others."""
    said = machine.guest.run(["journalctl", "-b", "-o", "short-monotonic", "-u", unit]).out
    times = [float(time) for time in re.findall(r"^\[ *([0-9.]+)\].* iobandctl\[", said, re.M)]
    return times[-1] - times[0] if times else 0


@pytest.mark.parametrize("machine", ["many"], indirect=True)
def test_many_disks_at_once_are_all_wrapped(machine: Machine) -> None:
    """They are wrapped one after another; no lock is held while one of them loads the module."""
    guest, count = machine.guest, ManyDisks.count
    # Loading takes longer than one disk waits for another.
    slow = LOADS.replace("install dm-ioband", "install dm-ioband /bin/sleep 22;")
    machine.configure("[device disks]\nname = sd*\n", loads=slow)
    guest.rmmod("dm_ioband")

    def over() -> int:
        guest.sleep(1)  # looking slows the units down
        return guest.run("ls /dev/mapper").out.count("io-")

    machine.disk.plug()
    machine.plugged = True
    seconds = wait_until(guest, lambda: over() == count, "some are not wrapped", 2 * WAIT_S)
    progress(f"{count} disks are wrapped after {seconds:.0f} s")
    guest.run(["udevadm", "settle"], timeout=WAIT_S)
    assert guest.run("systemctl --failed --no-legend").out == ""
    assert not left_alone(guest)
    machine.pull()
    wait_until(guest, lambda: not over(), "some are still there", 2 * WAIT_S)


# Other processes hold the lock one after another, each by a file of its own, so that the lock
# is never free in between.
TURNS = """
mkdir -p /run/iobandctl
until [ -e /run/enough ]; do
	exec {lock}>/run/iobandctl/turn
	flock $lock
	mv /run/iobandctl/turn /run/iobandctl/.lock
	sleep 3
done
rm /run/enough /run/iobandctl/.lock
"""


def test_a_disk_whose_turn_comes_late_is_wrapped(machine: Machine) -> None:
    """A command of its unit may not take so long, but waits on while others make progress."""
    guest, limit_s = machine.guest, 10
    limit = machine.root / "etc/systemd/system/ioband-wrap@.service.d/busy.conf"
    limit.write_text(f"[Service]\nTimeoutStartSec={limit_s}\n")
    machine.configure(machine.conf)
    others = guest.start(TURNS)
    machine.wait("/run/iobandctl/.lock")
    machine.disk.plug()
    machine.plugged = True
    machine.wait(machine.disk.link)  # a hidden disk has it, too
    unit = f"ioband-wrap@{machine.raw().removeprefix('/dev/')}"

    def waits() -> bool:
        return "waiting until another" in machine.journal("-u", unit)

    wait_until(guest, waits, "nobody waits", WAIT_S)
    guest.sleep(limit_s + 5)
    guest.write("/run/enough", "")
    others.wait()
    machine.wait(WRAPPED)
    guest.run(["udevadm", "settle"])
    assert took(machine, unit) > limit_s
    assert not left_alone(guest)
    machine.unplug()


def test_what_is_unwrapped_by_hand_is_back_as_it_was(formatted: Machine) -> None:
    machine, guest = formatted, formatted.guest
    machine.plug(WRAPPED)
    machine.wait_for_links(WRAPPED)
    raw = machine.raw()
    guest.run(["iobandctl", "unwrap", raw])
    machine.wait_for_links(raw)
    assert machine.property(raw, "SYSTEMD_READY") != "0"
    guest.run(["mount", "/srv"])
    guest.run(["umount", "/srv"])
    assert not guest.exists(WRAPPED)
    assert machine.wraps(raw)
    machine.wait_for_links(WRAPPED)
    assert machine.property(raw, "SYSTEMD_READY") == "0"
    machine.unplug()


def test_links_lead_to_what_was_wrapped_by_hand(machine: Machine) -> None:
    """With the last event from either volume, until it is unwrapped."""
    guest, volume, name = machine.guest, "/dev/vg0/lv0", "io-vg0-lv0"
    machine.configure(None)
    machine.plug(machine.disk.link)
    machine.make_volumes("vg0", machine.raw(), "24M", "lv0")
    guest.run(["mkfs.ext4", "-q", "-U", UUID, "-L", "data", volume])
    machine.wait(BY_UUID)
    guest.run(["iobandctl", "wrap", "vg0/lv0"])
    for command in (
        f"udevadm trigger --settle --action=change {volume}",
        "vgchange --refresh vg0",
        f"udevadm trigger --settle --action=change /dev/mapper/{name}",
        f"udevadm trigger --settle --action=add {volume}",
    ):
        guest.run(f"{command}; udevadm settle")
        assert [machine.name_of(link) for link in (BY_UUID, BY_LABEL)] == [name, name], command
    guest.run("iobandctl unwrap vg0/lv0; udevadm settle")
    assert [machine.name_of(link) for link in (BY_UUID, BY_LABEL)] == ["vg0-lv0", "vg0-lv0"]
    machine.deactivate("vg0")
    machine.unplug()


# The rules of multipath-tools mark paths if multipathd is enabled, and need not wait for it.
MULTIPATH_CONF = "defaults {\n\tfind_multipaths greedy\n}\n"
ENABLED = "/run/systemd/system/sysinit.target.wants/multipathd.service"
ENABLE = f"""
mkdir -p {ENABLED.rpartition("/")[0]}
ln -s /usr/lib/systemd/system/multipathd.service {ENABLED}
modprobe dm-multipath
udevadm control --reload
"""


@pytest.mark.long("multipath-tools are unpacked")
@pytest.mark.parametrize("machine", ["paths"], indirect=True)
def test_a_path_of_a_multipath_device_is_left_alone(machine: Machine) -> None:
    """By the rules and by hand, before multipathd has made the device over it and after that."""
    guest, reason = machine.guest, "it is a path of a multipath device; wrap that device"
    machine.configure("[device disks]\nname = sd*\n")
    with lent(guest, MULTIPATH):
        guest.write("/etc/multipath.conf", MULTIPATH_CONF)
        guest.run(["bash", "-ec", ENABLE])
        machine.plug(machine.disk.link)
        paths = guest.run("ls -d /sys/bus/pseudo/drivers/scsi_debug/*/host*/*/*/block/*").out
        names = [path.rpartition("/")[2] for path in paths.split()]
        assert len(names) == 2
        for name in names:
            left = f"/dev/{name} is to be wrapped, and is left alone: {reason}"
            assert left in machine.journal("-t", "iobandctl")
            done = guest.run(["iobandctl", "wrap", f"/dev/{name}"], check=False)
            assert (done.rc, f"/dev/{name} is in use: {reason}" in done.err) == (4, True), done
        assert guest.run(["iobandctl", "apply"]).err.count(reason) == 2
        guest.run(["multipath"])
        (over,) = guest.run(["multipath", "-l", "-v1"]).out.split()
        for name in names:
            done = guest.run(["iobandctl", "wrap", f"/dev/{name}"], check=False)
            assert (done.rc, f"device {over} lies on it" in done.err) == (4, True), done
        guest.run(f"iobandctl wrap {over} && iobandctl unwrap {over}")
        guest.run("udevadm settle; multipath -F; udevadm settle")
        assert guest.run(["dmsetup", "ls"]).out == "No devices found\n"
        guest.run(f"rm {ENABLED}; rm -r /etc/multipath*")
        machine.unplug()
    guest.run("udevadm control --reload")


def test_wrapped_disks_and_volumes_are_mounted_at_boot(formatted: Machine) -> None:
    machine, guest = formatted, formatted.guest
    guest.plug("volumes", 64)
    machine.wait(VOLUMES)
    machine.make_volumes("vg0", VOLUMES, "16M", "wrapped", "named")
    for name in ("wrapped", "named"):
        guest.run(["mkfs.ext4", "-q", f"/dev/vg0/{name}"])
    guest.run("mount /dev/vg0/wrapped /mnt && mkdir /mnt/tmp /mnt/lib && ln -s /run /mnt/run")
    guest.run(["umount", "/mnt"])
    fstab = (
        "/dev/vg0/wrapped /var ext4 defaults 0 0\n/dev/mapper/vg0-named /mnt ext4 defaults 0 0\n"
    )
    fstab += "/dev/vg1/on-wrapped /home ext4 defaults 0 0\n"
    below = f"[device io-pv]\ndevice = {PV}\n"
    conf = f"{machine.conf}{below}[device volumes]\nvolume = vg0/*\n"
    machine.configure(conf, fstab=FSTAB + fstab)
    guest.plug("pv", 64)
    machine.wait("/dev/mapper/io-pv")
    machine.make_volumes("vg1", "/dev/mapper/io-pv", "16M", "on-wrapped")
    guest.run(["mkfs.ext4", "-q", "/dev/vg1/on-wrapped"])
    machine.plug(WRAPPED)
    machine.wait_for_links(WRAPPED)
    guest.run("mount /srv && echo content >/srv/file && sync")
    machine.at_boot(READER)
    guest.reboot(cut=True)
    machine.wait("/srv/file")
    assert machine.source("/srv") == WRAPPED
    assert guest.read("/srv/file") == "content\n"
    assert machine.source("/var") == "/dev/mapper/io-vg0-wrapped"
    assert machine.source("/home") == "/dev/mapper/vg1-on--wrapped"
    below = guest.run(["lsblk", "-snlo", "NAME", "/dev/vg1/on-wrapped"]).out.split()
    assert below[:2] == ["vg1-on--wrapped", "io-pv"]
    assert machine.source("/mnt") == "/dev/mapper/vg0-named"
    assert "fstab(5) calls it /dev/mapper/vg0-named" in machine.journal("-t", "iobandctl")
    machine.assert_weight_was_there()
    assert guest.boot_state == "running"
    guest.run(["umount", "/srv", "/var", "/mnt", "/home"])
    guest.run(["iobandctl", "unwrap", "vg0/wrapped"])
    machine.unplug()
    machine.deactivate("vg0", "vg1")
    for name, link in (("volumes", VOLUMES), ("pv", "/dev/mapper/io-pv")):
        guest.unplug(name)
        machine.wait_gone(link)
        guest.blank(name)


@pytest.mark.long("boots twice; another test mounts wrapped disks and volumes at boot")
def test_wrapped_partitions_are_mounted_at_boot_by_what_the_disk_calls_them(
    machine: Machine,
) -> None:
    """The partition table of the disk, which the ioband device does not show."""
    guest, names = machine.guest, ["part-uuid", "part label"]
    machine.configure(None)
    machine.plug(ID)
    parts = [
        f'size=8M, uuid={uuid}, name="{name}"' for uuid, name in zip(PARTS, names, strict=True)
    ]
    machine.partition(ID, *parts, "size=24M")
    for number in (1, 2):
        guest.run(["mkfs.ext4", "-q", f"{ID}-part{number}"])
    quick = "--pbkdf pbkdf2 --pbkdf-force-iterations 1000 --label secret"
    guest.run(f"cryptsetup luksFormat -q {quick} {ID}-part3 -", input="secret")
    guest.run(f"mount {ID}-part1 /mnt && echo content >/mnt/file && umount /mnt && sync")
    fstab = f"PARTUUID={PARTS[0]} /srv ext4 defaults 0 0\n"
    fstab += "PARTLABEL=part\\040label /mnt ext4 defaults 0 0\n"
    machine.configure(f"[device parts]\npath = {ID}-part*\n", fstab=fstab)
    guest.reboot(cut=True)
    assert guest.boot_state == "running", machine.journal()
    assert guest.read("/srv/file") == "content\n"
    wrapped = f"/dev/mapper/io-{ID.split('/')[-1]}-part"
    assert [machine.source(where) for where in ("/srv", "/mnt")] == [f"{wrapped}1", f"{wrapped}2"]
    # A crypttab(5) may use the label, too.
    machine.wait_until_wrapped("/dev/disk/by-label/secret")
    guest.run(["umount", "/srv", "/mnt"])
    # After unwrap they are as before.
    for number in (1, 2, 3):
        guest.run(["iobandctl", "unwrap", f"{wrapped}{number}"])
    by_uuid = f"/dev/disk/by-partuuid/{PARTS[0]}"
    raw = machine.raw().removeprefix("/dev/")
    back = f"{by_uuid} does not lead to {raw}1"
    wait_until(guest, lambda: machine.name_of(by_uuid) == f"{raw}1", back, WAIT_S)
    machine.unplug()


def forget_system(machine: Machine) -> None:
    """Remove the disk with the system's volumes and all its traces from the guest."""
    machine.deactivate("vg0")
    machine.guest.unplug("system")
    machine.wait_gone(SYSTEM)
    machine.guest.blank("system")


@pytest.fixture
def on_volumes(machine: Machine) -> Iterator[Machine]:
    """A machine that Debian's initramfs has booted on vg0/root; its configuration wraps all."""
    guest, everything = machine.guest, "[device volumes]\nvolume = *\n[device disks]\nname = sd*\n"
    everything += f"[device io-own]\ndevice = {SYSTEM}-part3\n"
    machine.configure(None)
    machine.plug(ID)
    guest.plug("system", 128)
    machine.wait(SYSTEM)
    machine.partition(SYSTEM, "size=104M", f"size=8M, uuid={PARTS[0]}", f"uuid={PARTS[1]}")
    machine.make_volumes("vg0", f"{SYSTEM}-part1", "48M", "root", "data")
    for name in ("vg0/root", "vg0/data", *(f"disk/by-partuuid/{part}" for part in PARTS)):
        guest.run(["mkfs.ext4", "-q", f"/dev/{name}"])
    guest.run("mount /dev/vg0/data /mnt && echo content >/mnt/file && umount /mnt && sync")
    make_root(guest, "vg0/root")
    guest.plug("volumes", 64)
    machine.wait(VOLUMES)
    machine.make_volumes("vg1", VOLUMES, "16M", "other")
    fstab = "/dev/vg0/root / ext4 defaults 0 0\n/dev/vg0/data /srv ext4 defaults 0 0\n"
    fstab += f"PARTUUID={PARTS[0]} /mnt/beside ext4 defaults 0 0\n"
    fstab += f"PARTUUID={PARTS[1]} /mnt/own ext4 defaults 0 0\n"
    machine.configure(f"{everything}{GROUP}", fstab=fstab)
    machine.at_boot(READER)
    initramfs = guest.share / "initramfs"
    make_debian_initramfs(initramfs, guest.kernel)
    guest.reboot(cut=True, root="vg0/root", initramfs=initramfs)
    yield machine
    if not guest.alive or machine.source("/") == "/dev/mapper/vg0-root":
        return  # the test has failed, and the guest is not used again
    guest.run(["umount", "/srv"])
    machine.deactivate("vg1")
    guest.unplug("volumes")
    machine.wait_gone(VOLUMES)
    guest.blank("volumes")
    forget_system(machine)


@pytest.mark.long("boots three times, once from the volume")
def test_a_root_on_a_volume_is_left_alone_at_boot(on_volumes: Machine) -> None:
    machine, guest = on_volumes, on_volumes.guest
    assert guest.boot_state == "running", machine.journal()
    assert machine.source("/") == "/dev/mapper/vg0-root"
    below = guest.run(["lsblk", "-snlo", "NAME", "/dev/vg0/root"]).out.split()
    disk = machine.name_of(SYSTEM)
    assert below == ["vg0-root", f"{disk}1", disk]
    said = machine.journal("-t", "iobandctl")
    for left in ("/dev/mapper/vg0-root", f"/dev/{disk}1", f"/dev/{disk}"):
        why = "the root file system that runs lies on it; 'iobandctl insert' can put ioband under"
        assert f"{left} is to be wrapped, and is left alone: {why}" in said
        assert machine.property(left, "IOBAND_WRAP") == "0"
    # LVM in the initramfs activates every volume group, so disks of other groups are in use.
    other = machine.name_of(VOLUMES)
    assert f"/dev/{other} is to be wrapped, and is left alone: device vg1-other lies on it" in said
    machine.wait_until_wrapped("/dev/vg1/other")
    # The rest of the root's disk is not wrapped either, unless named: it may be an ESP.
    why = f"it is a partition of /dev/{disk}, on which the root file system that runs lies"
    assert f"/dev/{disk}2 is to be wrapped, and is left alone: {why}" in said
    assert machine.source("/mnt/beside") == f"/dev/{disk}2"
    assert machine.source("/mnt/own") == "/dev/mapper/io-own"
    guest.run(["umount", "/mnt/beside"])
    applied = guest.run(["iobandctl", "apply", "--dry-run", "--json"])
    assert f"/dev/{disk}2 is left alone: {why}" in applied.err
    assert json.loads(applied.out) == {"changes": []}
    # All other devices are wrapped, and have their weights.
    assert machine.source("/srv") == "/dev/mapper/io-vg0-data"
    assert guest.read("/srv/file") == "content\n"
    machine.wait_until_wrapped(ID)
    machine.assert_weight_was_there()
    # ioband is inserted below the running root, and extracted again.
    table = guest.run(["dmsetup", "table", "vg0-root"]).out
    refused = guest.run(["iobandctl", "wrap", "vg0/root"], check=False)
    assert refused.rc == 4
    assert "the root file system that runs lies on it" in refused.err
    guest.run(["iobandctl", "insert", "vg0/root"])
    assert " ioband " in guest.run(["dmsetup", "table", "vg0-root"]).out
    before = machine.written()
    guest.run("head -c 1M /dev/urandom >/run/data")
    guest.run("dd if=/run/data of=/etc/written bs=64k conv=fsync")
    assert machine.written() - before >= 1 << 20
    guest.run(["iobandctl", "extract", "vg0/root"])
    assert guest.run(["dmsetup", "table", "vg0-root"]).out == table
    guest.run("echo 1 >/proc/sys/vm/drop_caches; cmp /run/data /etc/written")

    # Without the volume as its root, and with an error in the configuration.
    fstab = "/dev/vg0/data /srv ext4 defaults 0 0\n"
    machine.configure("[device disks]\nnmae = sd*\n", fstab=fstab)
    machine.not_at_boot()
    guest.reboot(cut=True)
    assert guest.boot_state == "running", machine.journal()
    assert machine.source("/srv") == "/dev/mapper/vg0-data"
    said = machine.journal("-t", "iobandctl")
    assert "no device is wrapped: the configuration cannot be used" in said
    assert "IOBAND" not in guest.run(["udevadm", "info", "--export-db"]).out
    assert "io-" not in guest.run(["dmsetup", "ls", "--target", "ioband"]).out


@BOTH
def test_partitions_and_volumes_come_back_on_the_wrapped_disk(machine: Machine) -> None:
    guest = machine.guest
    machine.plug(WRAPPED)
    guest.run(["sfdisk", "-q", "--wipe", "always", WRAPPED], input=",24M\n,\n")
    machine.wait(f"{WRAPPED}-part2")
    guest.run(["udevadm", "settle"])  # kpartx may read them once more
    guest.run(["mkfs.ext4", "-q", "-U", UUID, "-L", "data", f"{WRAPPED}-part2"])
    machine.make_volumes("vg0", f"{WRAPPED}-part1", "12M", "lv0")
    machine.deactivate("vg0")
    machine.unplug()
    machine.plug("/dev/vg0/lv0")
    machine.wait(BY_UUID)
    assert machine.name_of(BY_UUID) == "io-data-part2"
    (partuuid,) = re.findall('PARTUUID="(\\S+)"', guest.run(["blkid", f"{WRAPPED}-part2"]).out)
    for link in (f"{machine.disk.link}-part2", BY_LABEL, f"/dev/disk/by-partuuid/{partuuid}"):
        machine.wait(link)
        assert machine.name_of(link) == "io-data-part2", link
    below = guest.run(["lsblk", "-snlo", "NAME", "/dev/vg0/lv0"]).out.split()
    assert below == ["vg0-lv0", "io-data-part1", "io-data", machine.raw().removeprefix("/dev/")]
    # LVM's commands scan disks themselves, until the setting in the message is made.
    raw = machine.raw()
    says = f"LVM's commands see the physical volume on {raw}1 twice, and refuse work: "
    assert re.search(f"{says}.*: {re.escape(ASK_UDEV)}\n", machine.journal("-t", "iobandctl"))
    lvcreate = ["lvcreate", "-y", "-n", "lv1", "-L", "4M", "vg0"]
    assert "duplicate PV" in guest.run(lvcreate, check=False).err
    found = guest.run(["iobandctl", "check"], check=False)
    assert (found.rc, f"find on {raw}1 too" in found.out) == (1, True), found
    assert f": {ASK_UDEV}\n" in found.out
    guest.run(ASK_UDEV)
    try:
        guest.run(lvcreate)
        assert guest.run(["iobandctl", "check"]).rc == 0
        machine.deactivate("vg0")
    finally:
        guest.run(["rm", LVM_LOCAL])
    machine.unplug()
    # Without the program that maps partitions, these must not be hidden.
    guest.run("mv /sbin/kpartx /sbin/kpartx.away")
    machine.plug(BY_UUID)
    raw = machine.raw()
    assert machine.name_of(BY_UUID) == f"{raw.removeprefix('/dev/')}2"
    why = "it has partitions, which only kpartx(8) maps on an ioband device"
    assert f"{raw} is to be wrapped, and is left alone: {why}" in machine.journal("-t", "iobandctl")
    guest.run("mv /sbin/kpartx.away /sbin/kpartx")
    machine.wait("/dev/vg0/lv0")
    machine.deactivate("vg0")
    assert machine.wraps(raw)
    machine.wait(f"{WRAPPED}-part2")
    machine.wait("/dev/vg0/lv0")
    machine.deactivate("vg0")
    machine.unplug()


def test_what_lies_on_ioband_is_not_wrapped_again(machine: Machine) -> None:
    """Even if the configuration matches all devices."""
    guest = machine.guest
    machine.configure(f"[device all]\nname = *\n{machine.conf}")
    machine.plug(WRAPPED)
    guest.run(["sfdisk", "-q", "--wipe", "always", WRAPPED], input=",24M\n,\n")
    machine.wait(f"{WRAPPED}-part2")
    guest.run(["udevadm", "settle"])
    machine.make_volumes("vg0", f"{WRAPPED}-part1", "12M", "lv0")
    machine.deactivate("vg0")
    machine.unplug()
    machine.plug("/dev/vg0/lv0")
    guest.run(["udevadm", "trigger", "--action=add", "-s", "block"])
    guest.run(["udevadm", "settle"])
    assert machine.name_of("/dev/vg0/lv0") == "vg0-lv0"
    (only,) = guest.run(["dmsetup", "ls", "--target", "ioband"]).out.splitlines()
    assert only.split()[0] == "io-data"
    why = "is left alone: ioband device io-data, which is below, is in pool"
    assert f"/dev/mapper/vg0-lv0 is to be wrapped, and {why}" in machine.journal("-t", "iobandctl")
    done = guest.run(["iobandctl", "apply", "--json"])
    assert json.loads(done.out) == {"changes": []}
    for above in ("vg0-lv0", "io-data-part2"):
        assert f"/dev/mapper/{above} {why}" in done.err
    machine.deactivate("vg0")
    machine.unplug()


def test_a_disk_with_a_slash_in_its_name_is_left_alone(machine: Machine) -> None:
    guest = machine.guest
    (module,) = build_module(guest.kernel, REPO / "tests/vm/raredisk")
    machine.configure("[device io-rare]\ndevice = rare/disk\n")
    guest.insmod(module, name="rare!disk")
    machine.wait("/dev/rare/disk")
    guest.run(["udevadm", "settle"])
    why = "a unit wraps it, and the name of a unit cannot have the / of this name"
    said = machine.journal("-t", "iobandctl")
    assert f"/dev/rare/disk is to be wrapped, and is left alone: {why}" in said
    assert machine.property("/dev/rare/disk", "IOBAND_WRAP") == "0"
    guest.run(["iobandctl", "apply", "/dev/rare/disk"])
    assert guest.exists("/dev/mapper/io-rare")
    for path, action in (("/dev/rare/disk", "add"), ("/dev/mapper/io-rare", "change")):
        guest.run(["udevadm", "trigger", "--settle", f"--action={action}", path])
        assert machine.property(path, "SYSTEMD_READY") != "0"
    assert machine.property("/dev/rare/disk", "IOBAND_WRAP") == "0"
    guest.run(["iobandctl", "unwrap", "/dev/rare/disk"])
    guest.rmmod("raredisk")


# The disk below root would be wrapped if any program of the initramfs asked for it.
INSERT = "[device root]\nvolume = vg0/root vg0/data\ninsert = yes\npool = p\n"
INSERT += f"[device system]\npath = {SYSTEM}\n"


def inserted(machine: Machine, name: str) -> bool:
    """Whether ioband is in a volume."""
    return " ioband " in machine.guest.run(["dmsetup", "table", name]).out


def wait_until_inserted(machine: Machine, *names: str) -> None:
    """Wait until ioband is in volumes, and no unit works on it."""

    def is_done() -> bool:
        guest = machine.guest
        units = guest.run(["systemctl", "list-units", "ioband-insert@*", "--state=activating"]).out
        return "ioband-insert@" not in units and all(inserted(machine, name) for name in names)

    wait_until(machine.guest, is_done, f"ioband is not in {names}", WAIT_S)


@pytest.fixture
def with_inserted_root(machine: Machine) -> Iterator[Machine]:
    """A machine that has booted on vg0/root, with ioband configured to be inserted there."""
    guest = machine.guest
    machine.configure(None)
    guest.plug("system", 192)
    machine.wait(SYSTEM)
    machine.make_volumes("vg0", SYSTEM, "48M", "root", "data")
    for name in ("root", "data"):
        guest.run(["mkfs.ext4", "-q", f"/dev/vg0/{name}"])
    fstab = "/dev/vg0/root / ext4 defaults 0 0\n/dev/mapper/vg0-data /srv ext4 defaults 0 0\n"
    machine.configure(f"{INSERT}{GROUP}", fstab=fstab)
    guest.reboot(cut=True, root="vg0/root")
    yield machine
    if not guest.alive:
        return
    # Boot without the volume as root again.
    machine.configure(None, fstab="")
    guest.reboot(cut=True)
    machine.wait("/dev/vg0/root")  # LVM activates it in time
    forget_system(machine)


@pytest.mark.long("boots three times, and follows LVM through all that it does")
def test_what_is_to_be_inserted_is_back(with_inserted_root: Machine) -> None:
    """After a boot, also below root; after LVM's changes; but not after an extract by hand."""
    machine, guest = with_inserted_root, with_inserted_root.guest
    assert guest.boot_state == "running", machine.journal()
    assert machine.source("/") == "/dev/mapper/vg0-root"
    assert machine.source("/srv") == "/dev/mapper/vg0-data"
    wait_until_inserted(machine, "vg0-root", "vg0-data")
    assert machine.property("/dev/vg0/root", "IOBAND_WRAP") == "0"
    assert "/dev/mapper/vg0-root is to be wrapped" not in machine.journal("-t", "iobandctl")
    # The rules in an initramfs, with and without systemd, leave it to the system.
    for initramfs in ("without-systemd", "with-systemd"):
        known = guest.read(f"/run/initramfs/{initramfs}")
        assert "DM_NAME=vg0-root\n" in known, initramfs
        assert "IOBAND" not in known
    before = machine.written()
    guest.run("head -c 1M /dev/urandom >/run/data")
    guest.run("dd if=/run/data of=/etc/written bs=64k conv=fsync")
    assert machine.written() - before >= 1 << 20
    assert json.loads(guest.run(["iobandctl", "apply", "--json"]).out) == {"changes": []}
    # LVM loads other tables, and its later commands work.
    for command in (
        "lvextend -qq -r -L 60M vg0/data",
        "lvcreate -qq -y -s -n snap -L 12M vg0/data",
        "lvremove -qq -y vg0/snap",
        "lvextend -qq -r -L 60M vg0/root",
        "lvchange --refresh vg0/data && lvchange --refresh vg0/data",
    ):
        guest.run(command)
        wait_until_inserted(machine, "vg0-root", "vg0-data")
    guest.run("echo 1 >/proc/sys/vm/drop_caches; cmp /run/data /etc/written")
    # pvmove works as well.
    guest.plug("pv", 96)
    machine.wait(PV)
    guest.run(["vgextend", "-qq", "-y", "vg0", PV])
    guest.run("head -c 1M /dev/urandom >/run/data && cp /run/data /srv/moved && sync")
    for source in (SYSTEM, PV):
        guest.run(["pvmove", "-qq", "-i", "1", "-n", "vg0/data", source], timeout=120)
        wait_until_inserted(machine, "vg0-root", "vg0-data")
        guest.run("echo 1 >/proc/sys/vm/drop_caches; cmp /run/data /srv/moved")
    guest.run(["vgreduce", "-qq", "vg0", PV])
    guest.expect_dmesg("Buffer I/O error")  # of a reader of the removed disk, as udev
    guest.unplug("pv")
    machine.wait_gone(PV)
    guest.blank("pv")
    # After an extract by hand ioband stays out at events of udev, until apply inserts it.
    node = guest.run(["readlink", "-f", "/dev/vg0/data"]).out.strip().removeprefix("/dev/")
    starts = machine.journal("-u", f"ioband-insert@{node}").count(": Starting ")
    assert "insert = yes" not in guest.run(["iobandctl", "check"], check=False).out
    guest.run(["iobandctl", "extract", "vg0/data"])
    guest.run(["udevadm", "trigger", "--settle", "--action=change", "/dev/vg0/data"])
    assert machine.property("/dev/vg0/data", "IOBAND_INSERT") == "0"
    wait_until_inserted(machine)  # no unit runs
    assert not inserted(machine, "vg0-data")
    assert machine.journal("-u", f"ioband-insert@{node}").count(": Starting ") == starts > 0
    said = guest.run(["iobandctl", "check"], check=False).out
    assert "vg0-data: the configuration says 'insert = yes' of it, and 'iobandctl ex" in said
    guest.run(["iobandctl", "apply"])
    assert inserted(machine, "vg0-data")
    # A volume that cannot have ioband inserted is left alone, with a single message.
    guest.run("umount /srv && lvremove -qq -y vg0/data")
    guest.run("lvcreate -qq -y --type thin-pool -n pool -L 8M --poolmetadataspare n vg0")
    machine.configure(
        "[device pool]\ndevice = /dev/mapper/vg0-pool\ninsert = yes\noptional = yes\n"
    )
    guest.run("lvcreate -qq -y -n thin -V 8M --thinpool vg0/pool")
    (unit,) = guest.run(
        "echo ioband-insert@$(basename $(readlink -f /dev/mapper/vg0-pool))"
    ).out.split()
    guest.run("udevadm trigger --settle --action=change /dev/mapper/vg0-pool")
    said = ["journalctl", "-b", "-u", unit]
    left = "which is left alone; to try again: iobandctl apply"
    wait_until(guest, lambda: left in guest.run(said).out, "it has failed", WAIT_S)
    assert "vg0-pool is a thin pool" in guest.run(said).out
    guest.run("udevadm trigger --settle --action=change /dev/mapper/vg0-pool")
    guest.run(["systemctl", "start", unit])
    assert guest.run(said).out.count(left) == 1
    guest.run("lvremove -qq -y vg0/pool")


def test_what_cannot_have_ioband_inserted_is_passed_over_by_patterns(machine: Machine) -> None:
    """No unit tries or fails: for snapshots, hidden devices and disks."""
    guest = machine.guest
    hides = 'ENV{DM_NAME}=="other-hidden", ENV{DM_UDEV_DISABLE_OTHER_RULES_FLAG}="1"\n'
    hides = f'SUBSYSTEM=="block", {hides}'
    machine.configure(None)
    guest.run(["mkdir", "-p", "/run/udev/rules.d"])
    guest.write("/run/udev/rules.d/57-hides.rules", hides)
    machine.plug(ID)
    machine.make_volumes("vg0", ID, "12M", "lv")
    machine.configure("[device all]\nname = *\ninsert = yes\npool = p\n")
    guest.run("lvcreate -qq -y -s -n snap -L 4M vg0/lv")
    behind = f"0 8 linear {machine.raw()} 130000"  # after the volume group
    for name in ("plain", "hidden"):
        guest.run(["dmsetup", "create", f"other-{name}", "--table", behind])
    wait_until_inserted(machine, "vg0-lv", "other-plain")
    left = ("vg0-snap", "other-hidden")
    nodes = [machine.raw(), *(f"/dev/mapper/{name}" for name in left)]
    guest.run(["udevadm", "trigger", "--settle", "--action=add", *nodes], timeout=WAIT_S)
    wait_until_inserted(machine, "vg0-lv", "other-plain")
    for name in left:
        assert machine.property(f"/dev/mapper/{name}", "IOBAND_INSERT") == "0", name
        assert not inserted(machine, name)
    assert guest.run("systemctl list-units --failed --no-legend 'ioband-*'").out == ""
    assert "is left alone" not in machine.journal("-u", "ioband-insert@*")
    assert not left_alone(guest)
    # The disk could be wrapped, but its configuration has "insert".
    why = "/etc/ioband.conf:3 says 'insert = yes' of it, which is for devices of device-mapper"
    assert f"{machine.raw()} is not wrapped, and left alone: {why}" in machine.journal(
        "-t", "iobandctl"
    )
    # check reports a device without its ioband, also after an extract.
    guest.run(["iobandctl", "check"])
    guest.run(["systemctl", "mask", "--runtime", "ioband-insert@.service"])
    guest.run(["dmsetup", "create", "other-late", "--table", behind])
    guest.run(["udevadm", "settle"])
    assert guest.run(["iobandctl", "extract", "other-late"], check=False).rc == 3
    found = guest.run(["iobandctl", "check"], check=False)
    assert found.rc == 1
    assert "wrong other-late: the configuration says 'insert = yes' of it" in found.out
    assert "vg0-snap: the configuration" not in found.out
    guest.run(["systemctl", "unmask", "--runtime", "ioband-insert@.service"])
    machine.configure(None)
    guest.run(["iobandctl", "extract", "other-plain"])
    guest.run(["dmsetup", "remove", "other-hidden", "other-plain", "other-late"])
    guest.run(["rm", "/run/udev/rules.d/57-hides.rules"])
    guest.run("lvremove -qq -y vg0/snap && lvremove -qq -y vg0/lv")
    machine.deactivate("vg0")
    machine.unplug()
