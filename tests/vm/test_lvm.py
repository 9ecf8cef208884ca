# SPDX-License-Identifier: GPL-2.0-only
"""LVM's commands with ioband on logical volumes, and with ioband under physical ones.

(test_insert.py has their effect on ioband inserted into a volume.)
"""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from harness.devices import VolumeGroup, mounted, two_disks
from harness.guest import Guest
from harness.tool import Tool
from harness.waiting import wait_until
from test_insert import bytes_done, columns, verified
from test_tool import dm_names
from test_wrap import findings, mounted_as_is

pytestmark = [
    pytest.mark.guest(systemd=True),
    pytest.mark.usefixtures("udev_done"),
]

ABOVE = "/dev/mapper/io-vg0-data"
NAME = "io-vg0-data"
LVM_CONF = "/etc/lvm/lvm.conf"
LVM_S = 300
# Options of fio for a light load, which leaves LVM time.
LIGHT = "--rate_iops=50,50"
FILTER = 'global_filter = [ "r|^/dev/nullb|" ]'


@pytest.fixture
def disks(ioband: Guest) -> Iterator[list[str]]:
    """Two disks for volumes, or for ioband devices below them."""
    with two_disks(ioband) as disks:
        yield disks


@pytest.fixture
def volumes(ioband: Guest, disks: list[str]) -> Iterator[VolumeGroup]:
    """A volume group, vg0, on the disks, with vg0/data of 32 MiB on the first."""
    with VolumeGroup(ioband, "vg0", disks) as group:
        group.create("data", 32)
        yield group


def lvm(guest: Guest, command: str) -> None:
    """Run a command of LVM, which is slow beside a load on two emulated processors."""
    guest.run(command, timeout=LVM_S)


def assert_works(tool: Tool, point: str) -> None:
    """Assert that writes pass through ioband, and no device is suspended."""
    guest = tool.guest
    assert columns(guest, "suspended") == {"Active"}
    before = bytes_done(tool)
    guest.run(f"dd if=/dev/zero of={point}/more bs=64k count=16 oflag=direct status=none")
    assert bytes_done(tool) - before >= 1 << 20


def space(guest: Guest, point: str) -> int:
    """The size of a file system in KiB."""
    return int(guest.run(["df", "--output=size", point]).out.split()[1])


def test_commands_with_ioband_on_a_volume(tool: Tool, volumes: VolumeGroup) -> None:
    """Each works under load, and ioband stays; grown volumes are resized while mounted."""
    guest = tool.guest
    one, two = volumes.devices
    tool.run("wrap", "vg0/data")
    table = guest.run("dmsetup table io-vg0-data").out
    with mounted(guest, ABOVE) as point, verified(guest, point, LIGHT):
        assert findings(tool, 0)[NAME]["verdict"] == "ok"
        done = guest.run("lvextend -qq -r -L 64M vg0/data", check=False, timeout=LVM_S)
        assert done.rc == 5, done  # this LVM runs fsck first, which refuses a device in use
        assert findings(tool, 0)[NAME]["verdict"] == "ok"
        lvm(guest, "lvextend -qq -L 64M vg0/data")
        found = findings(tool, 0)[NAME]
        assert found["verdict"] == "hint"
        assert found["finding"] == "vg0-data below has grown since this was put over it"
        assert found["remedy"] == f"'iobandctl resize {NAME}'"
        assert guest.run("dmsetup table io-vg0-data").out == table
        assert tool.run("resize", "vg0/data") == f"{ABOVE}: 64.0M, was 32.0M\n"
        assert findings(tool, 0)[NAME]["verdict"] == "ok"
        before = space(guest, point)
        guest.run(["resize2fs", ABOVE])
        assert space(guest, point) > 1.8 * before
        for command in (
            f"pvmove -qq -i 1 {one} {two}",
            "lvchange -qq --refresh vg0/data",
            "lvcreate -qq -y -s -n snap -L 16M vg0/data",
        ):
            lvm(guest, command)
            assert_works(tool, point)
        done = guest.run("lvchange -an vg0/data", check=False)
        assert (done.rc, "used by another device" in done.err) == (5, True), done
        with mounted_as_is(guest, "/dev/vg0/snap", "/run/snap"):
            pass
        lvm(guest, "e2fsck -fn /dev/vg0/snap && lvremove -qq -y vg0/snap")
    guest.run(f"e2fsck -fp {ABOVE} && resize2fs {ABOVE} 32M && lvreduce -qq -y -f -L 32M vg0/data")
    assert tool.run("resize", ABOVE) == f"{ABOVE}: 32.0M, was 64.0M\n"
    guest.run(["e2fsck", "-fn", ABOVE])
    tool.run("unwrap", "vg0/data")
    guest.run("vgchange -qq -an vg0")
    assert dm_names(guest) == []
    guest.run("vgchange -qq -ay vg0")
    tool.run("wrap", "vg0/data")
    with mounted_as_is(guest, ABOVE) as point:
        assert_works(tool, point)
    tool.run("unwrap", "vg0/data")


def test_what_resize_refuses(tool: Tool, volumes: VolumeGroup) -> None:
    """To cut off space in use, and to change devices that are not iobandctl's."""
    guest = tool.guest
    tool.run("wrap", "vg0/data")
    (row,) = tool.json("resize", "vg0/data")
    assert row == tool.json("list")[0]
    with mounted(guest, ABOVE, options="ro"):
        guest.run("lvreduce -qq -y -f -L 16M vg0/data")
        says = "io-vg0-data is in use, and would lose 16.0M at its end, which vg0-data below has"
        said = tool.refused(4, "resize", "vg0/data", says=says)
        assert "lost already: it is mounted on /run/mnt; 'umount' it first; or make" in said
        assert tool.json("list") == [row]
        guest.run("lvextend -qq -L 32M vg0/data")
        assert tool.json("resize", NAME) == [row]
    guest.run("lvreduce -qq -y -f -L 16M vg0/data")
    holder = guest.start(f"exec sleep 1000 <{ABOVE}")
    name = f"/proc/{holder.pid}/comm"
    wait_until(guest, lambda: guest.read(name) == "sleep\n", "the shell opens it first")
    tool.refused(4, "resize", NAME, says="(sleep) has it open")
    holder.kill()
    holder.wait(check=False)
    assert tool.json("resize", NAME)[0]["size"] == 16 << 20
    tool.run("unwrap", "vg0/data")
    tool.refused(3, "resize", "vg0/data", says="is not an ioband device, and none lies on it")
    tool.run("insert", "vg0/data")
    says = "vg0-data, which has its size from its owner: lvextend(8) takes ioband out"
    tool.refused(1, "resize", "vg0/data", says=says)
    tool.run("extract", "vg0/data")


@pytest.mark.parametrize("mode", ["device", "device+cgroup"])
def test_a_resized_device_keeps_its_settings(tool: Tool, volumes: VolumeGroup, mode: str) -> None:
    """Its mode, its weight, the weights of its groups, and the settings of its pool."""
    tool.run("wrap", "--mode", mode, "--weight", "300", "--depth", "7", "vg0/data")
    tool.run("set-weight", f"device:{NAME}", "400")
    before = tool.json("list"), tool.json("groups"), tool.json("groups", "--weights")
    before[0][0]["size"] *= 2
    tool.guest.run("lvextend -qq -L 64M vg0/data")
    tool.run("resize", "vg0/data")
    assert (tool.json("list"), tool.json("groups"), tool.json("groups", "--weights")) == before
    tool.run("unwrap", "vg0/data")


@contextmanager
def filtered(guest: Guest) -> Iterator[None]:
    """LVM uses the devices over the disks, and not the disks, as check advises."""
    conf = guest.read(LVM_CONF)
    guest.write(LVM_CONF, conf.replace("devices {", f"devices {{ {FILTER}\n"))
    yield
    if guest.alive:
        guest.write(LVM_CONF, conf)


def test_commands_with_ioband_under_volumes(tool: Tool, disks: list[str]) -> None:
    """Each works under load, and its I/O goes through ioband."""
    guest = tool.guest
    above = ["/dev/mapper/io-nullb0", "/dev/mapper/io-nullb1"]
    names = [path.removeprefix("/dev/mapper/") for path in above]
    tool.run("wrap", *disks)
    with filtered(guest):
        guest.run(["pvcreate", "-qq", "-y", *above])
        guest.run(["vgcreate", "-qq", "vg0", *above])
        guest.run(f"lvcreate -qq -y -n data -L 64M vg0 {above[0]}")
        assert all(findings(tool, 0)[name]["verdict"] == "ok" for name in names)
        with mounted(guest, "/dev/vg0/data") as point, verified(guest, point, LIGHT):
            before = space(guest, point)
            for command in (
                "lvextend -qq -r -L 96M vg0/data",
                f"pvmove -qq -i 1 {above[0]} {above[1]}",
                "lvcreate -qq -y -s -n snap -L 16M vg0/data",
                "lvremove -qq -y vg0/snap",
            ):
                lvm(guest, command)
                assert_works(tool, point)
            assert space(guest, point) > 1.3 * before
            assert guest.run("dmsetup deps -o devname vg0-data").out.count("io-nullb1") == 1
        # udev may read the end of the volume while lvreduce removes it.
        guest.expect_dmesg(r"Buffer I/O error on dev dm-\d+, logical block \d+, async page read")
        lvm(guest, "lvreduce -qq -y -r -L 64M vg0/data")
        guest.run("vgchange -qq -an vg0")
        assert dm_names(guest) == names
        guest.run("vgchange -qq -ay vg0")
        with mounted_as_is(guest, "/dev/vg0/data") as point:
            assert_works(tool, point)
        says = "io-nullb1 is in use: device vg0-data lies on it"
        tool.refused(4, "unwrap", "io-nullb1", says=says)
        guest.run("vgchange -qq -an vg0")
        tool.run("unwrap", *disks)
    guest.run("vgchange -qq -ay vg0")
    with mounted_as_is(guest, "/dev/vg0/data"):
        pass
    guest.run("e2fsck -fn /dev/vg0/data")
    guest.run("vgremove -qq -ff -y vg0")
    guest.run(["pvremove", "-qq", *disks])
