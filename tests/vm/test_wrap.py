# SPDX-License-Identifier: GPL-2.0-only
"""ioband put over devices and removed again, by the usual verbs."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

import pytest
from harness.cgroup import Cgroup
from harness.devices import (
    VolumeGroup,
    linear,
    loop_device,
    mounted,
    null_blk,
    scsi_debug,
    two_disks,
)
from harness.guest import Guest
from harness.ioband import Ioband
from harness.tool import EVIL, EVIL_SHOWN, Tool, on_terminal
from harness.waiting import wait_until
from test_stacks import array, luks, partition
from test_tool import assert_nothing_of, assert_schema, dm_names

pytestmark = [pytest.mark.guest(systemd=True), pytest.mark.usefixtures("udev_done")]


@contextmanager
def volume(guest: Guest) -> Iterator[str]:
    """A logical volume."""
    with (
        null_blk(guest, size_mib=64, memory_backed=1) as disk,
        VolumeGroup(guest, "my-vg", [disk]) as group,
    ):
        yield group.create("data", 32)


WRAPPED: dict[str, tuple[Callable[[Guest], AbstractContextManager[str]], str]] = {
    "disk": (lambda guest: null_blk(guest, size_mib=64, memory_backed=1), "io-nullb0"),
    "partition": (partition, "io-nullb0p2"),
    "volume": (volume, "io-my--vg-data"),
    "luks": (luks, "io-secret"),
    "loop": (loop_device, "io-loop0"),
}


@pytest.mark.parametrize("kind", WRAPPED)
def test_wrap_and_unwrap(tool: Tool, kind: str) -> None:
    """Each kind of device gets a name and its disk's pool, and keeps its data."""
    guest = tool.guest
    make, name = WRAPPED[kind]
    with make(guest) as below:
        guest.run(["mkfs.ext4", "-q", below])
        said = tool.run("wrap", below)
        disk = "loop0" if kind == "loop" else "nullb0"
        assert said == f"/dev/mapper/{name}: pool {disk}, mode cgroup, measure bytes\n"
        with mounted_as_is(guest, f"/dev/mapper/{name}") as point:
            guest.run(f"echo kept >{point}/file")
        tool.refused(4, "wrap", below, says=f"{below} is wrapped already, as {name}")
        tool.refused(4, "wrap", name, says=f"{name} is an ioband device")
        tool.run("unwrap", below)
        assert_nothing_of(guest, name)
        with mounted_as_is(guest, below) as point:
            assert guest.read(f"{point}/file") == "kept\n"
        tool.refused(3, "unwrap", below, says="is not wrapped")


@contextmanager
def mounted_as_is(guest: Guest, device: str, point: str = "/run/mnt") -> Iterator[str]:
    """The file system of a device, mounted."""
    guest.run(["mkdir", "-p", point])
    guest.run(["mount", device, point])
    yield point
    if guest.alive:
        guest.run(["umount", point])


def test_names_last_where_udev_knows_one(tool: Tool) -> None:
    """Names of a disk with a serial number, and of an array, are not the kernel's."""
    guest = tool.guest
    with scsi_debug(guest) as disk:
        (row,) = tool.json("wrap", disk)
        links = guest.run(["udevadm", "info", "-q", "symlink", "-n", disk]).out.split()
        ids = [link.removeprefix("disk/by-id/") for link in links if "/by-id/scsi-" in link]
        assert row["name"] == f"io-{min(ids)}"
        assert row["device"] == disk.removeprefix("/dev/")
        tool.run("unwrap", row["name"])
    with array(guest) as below:
        guest.run(["udevadm", "settle"])
        (row,) = tool.json("wrap", below)
        assert row["name"].startswith("io-md-name-")
        assert row["pool"] == "nullb0+nullb1"
        tool.run("unwrap", below)


def test_several_at_once(tool: Tool) -> None:
    """Each is tried; possible ones are completed, and the exit code is the first failure's."""
    guest = tool.guest
    with ExitStack() as stack:
        disks = [
            stack.enter_context(null_blk(guest, f"nullb{n}", size_mib=32, memory_backed=1))
            for n in range(3)
        ]
        with mounted(guest, disks[1]) as point:
            done = guest.run(
                [tool.program, "wrap", disks[0], disks[1], "nope", disks[2]], check=False
            )
            assert done.rc == 4
            assert f"{disks[1]} is in use: it is mounted on {point}; 'umount' it first" in done.err
            assert "there is no block device 'nope'" in done.err
            assert [line.split(":")[0] for line in done.out.splitlines()] == [
                "/dev/mapper/io-nullb0",
                "/dev/mapper/io-nullb2",
            ]
            assert dm_names(guest) == ["io-nullb0", "io-nullb2"]
        done = guest.run([tool.program, "unwrap", "nope", *disks], check=False)
        assert done.rc == 3
        assert f"{disks[1]} is not wrapped" in done.err
        assert dm_names(guest) == []
        rows = tool.json("wrap", *disks[:2])
        assert [row["name"] for row in rows] == ["io-nullb0", "io-nullb1"]
        assert tool.json("unwrap", *disks[:2]) == rows
        tool.refused(2, "wrap", "--name", "one", *disks, says="--name 'one': there are 3 devices")
        tool.run("wrap", "--name", "one", "--pool", "p", disks[0])
        tool.run("unwrap", "one")


def test_what_wrap_refuses(tool: Tool) -> None:
    guest = tool.guest
    with partition(guest) as part:
        disk = part.removesuffix("p2")
        guest.run(["mkswap", "-q", part])
        guest.run(["swapon", part])
        for below in (part, disk):
            tool.refused(4, "wrap", below, says=f"'swapoff {part}' first")
        guest.run(["swapoff", part])
        with linear(guest, "top", part):
            tool.refused(4, "wrap", part, says="device top lies on it")
        done = guest.run([tool.program, "wrap", disk])
        assert f"{disk} has partitions; 'kpartx -a /dev/mapper/io-nullb0' makes them" in done.err
        says = f"{part} is a partition of {disk}, which is wrapped already, as io-nullb0"
        tool.refused(4, "wrap", part, says=says)
        with mounted(guest, "/dev/mapper/io-nullb0"):
            said = tool.refused(4, "unwrap", disk, says="io-nullb0 is in use: it is mounted on ")
            assert "--deferred" in said
        tool.run("unwrap", disk)


def test_a_device_of_a_mounted_btrfs_is_refused(tool: Tool) -> None:
    """The mount shows the other device only."""
    guest = tool.guest
    with two_disks(guest) as disks:
        guest.run(["modprobe", "btrfs"])
        guest.run(["mkfs.btrfs", "-q", "-f", *disks])
        guest.run(["btrfs", "device", "scan", *disks])
        with mounted_as_is(guest, disks[0]):
            says = f"{disks[1]} is in use: a btrfs file system over several devices lies on it"
            tool.refused(4, "wrap", disks[1], says=says)
        tool.run("wrap", disks[1])
        tool.run("unwrap", disks[1])


# Has a device open under a name of its choice.
HOLDER = f"""
import ctypes, sys, time
ctypes.CDLL(None).prctl(15, {EVIL!r}.encode())
with open(sys.argv[1]):
    open("/run/held", "w").close()
    time.sleep(10000)
"""


def test_names_of_users_in_errors(tool: Tool) -> None:
    """Of a process, a mount point and a path: root's terminal does not obey them."""
    guest, over = tool.guest, "/dev/mapper/io-nullb0"
    link, point = f"/run/link{EVIL}", f"/run/point{EVIL}"
    with null_blk(guest, size_mib=64, memory_backed=1) as disk:
        tool.run("wrap", disk)
        holder = guest.start(["/usr/bin/python3", "-c", HOLDER, over])
        wait_until(guest, lambda: guest.exists("/run/held"), "not held")
        said = on_terminal(guest, f"{tool.program} remove io-nullb0")
        assert f"({EVIL_SHOWN}) has it open" in said
        holder.kill()
        holder.wait(check=False)
        guest.run(["mkfs.ext4", "-q", over])
        guest.run(["mkdir", point])
        guest.run(["mount", over, point])
        said = on_terminal(guest, f"{tool.program} unwrap io-nullb0")
        assert f"it is mounted on /run/point{EVIL_SHOWN};" in said
        guest.run(["umount", point])
        guest.run(["ln", "-s", disk, link])
        said = on_terminal(guest, f"{tool.program} wrap '{link}'")
        assert f"/run/link{EVIL_SHOWN}" in said
        guest.run(["rm", "-r", link, point, "/run/held"])
        tool.run("unwrap", disk)


def test_parts_of_other_devices_are_refused(tool: Tool) -> None:
    """A leg of an array, the volumes of a thin pool and of a cache; only insert works there."""
    guest = tool.guest
    with array(guest):
        for leg in ("nullb0", "nullb1"):
            tool.refused(4, "wrap", f"/dev/{leg}", says="device md0 lies on it")
    with null_blk(guest, size_mib=64, memory_backed=1) as disk, VolumeGroup(guest, "vg0", [disk]):
        guest.run("lvcreate -qq -y --type thin-pool -n pool -L 32M --poolmetadataspare n vg0")
        for part in ("tdata", "tmeta"):
            tool.refused(4, "wrap", f"vg0/pool_{part}", says="device vg0-pool lies on it")
        tool.refused(4, "wrap", disk, says="lies on it")
        tool.run("insert", "vg0/pool_tdata")
        tool.run("extract", "vg0/pool_tdata")
        # LVM can activate a part without the pool.
        guest.run("lvchange -qq -an vg0/pool && lvchange -qq -y -ay vg0/pool_tdata")
        tool.refused(4, "wrap", "vg0/pool_tdata", says="it is a hidden part of a logical volume")
        guest.run("lvremove -qq -y vg0/pool")
        guest.run("lvcreate -qq -y -n data -L 16M vg0")
        cache = "lvcreate -qq -y --type cache --cachemode writethrough -L 16M vg0/data"
        guest.run(f"modprobe dm-cache && {cache}")
        parts = guest.run("dmsetup ls | cut -f 1 | grep -vx vg0-data").out.split()
        assert len(parts) == 3, parts
        for part in parts:
            tool.refused(4, "wrap", f"/dev/mapper/{part}", says="device vg0-data lies on it")
        guest.run("lvremove -qq -y vg0/data")


def test_members_of_a_stopped_array(tool: Tool) -> None:
    """The array is assembled from the ioband devices over them, and not beside them."""
    guest = tool.guest
    with array(guest) as path:
        guest.run(["mdadm", "--stop", path])
        members = ["/dev/nullb0", "/dev/nullb1"]
        tool.run("wrap", *members)
        done = guest.run(["mdadm", "--assemble", path, *members], check=False)
        assert done.rc and "busy" in done.err, done
        guest.run(["mdadm", "--assemble", "--scan"], check=False)
        below = guest.run(["lsblk", "-snlo", "NAME", path]).out.split()
        assert {"io-nullb0", "io-nullb1"} <= set(below), below
        tool.refused(4, "unwrap", members[0], says="lies on it")
        guest.run(["mdadm", "--stop", path])
        tool.run("unwrap", *members)
        guest.run(["mdadm", "--assemble", path, *members])


def test_guests_volumes_stay_theirs(tool: Tool) -> None:
    """udev does not read a physical volume on a volume, nor does LVM with the filter."""
    guest = tool.guest
    name, pattern = "/dev/mapper/io-my--vg-data", '[ "r|^/dev/mapper/io-my--vg-|" ]'
    manual = (Path(__file__).parents[2] / "tools/iobandctl/iobandctl.8").read_text()
    assert f"global_filter = {pattern}".replace("my--vg", "vg0") in manual

    def seen(*options: str) -> list[str]:
        return guest.run(["pvs", "--noheadings", "-o", "name", *options]).out.split()

    with volume(guest) as below:
        done = guest.run([tool.program, "wrap", below])
        assert done.err == ""
        tool.run("unwrap", below)
        guest.run(f"vgcreate -qq --config devices/scan_lvs=1 guests {below}")
        assert seen() == ["/dev/nullb0"]
        done = guest.run([tool.program, "wrap", below])
        assert f"{below} is a physical volume" in done.err
        properties = guest.run(["udevadm", "info", "-q", "property", "-n", name]).out
        assert "DM_UDEV_DISABLE_OTHER_RULES_FLAG=1" in properties
        assert seen() == [name, "/dev/nullb0"]
        assert seen(f"--config=devices/global_filter={pattern}") == ["/dev/nullb0"]
        tool.run("unwrap", below)


# $1: the mount point of a file system that becomes the root of the command $2...
AS_ROOT = """
cd "$1" && shift
mkdir -p dev proc sys run "${1%/*}"
for d in /dev /proc /sys /run /usr "${1%/*}"; do mkdir -p ".$d"; mount --rbind "$d" ".$d"; done
ln -s usr/bin usr/lib usr/lib64 usr/sbin .
exec chroot . "$@"
"""


def test_the_root_that_runs_is_refused(tool: Tool) -> None:
    """The root is a volume on a partition of the disk."""
    guest = tool.guest
    with partition(guest) as part, linear(guest, "top", part) as top:
        disk = part.removesuffix("p2")
        with mounted(guest, top.path) as point:
            argv = ["unshare", "--mount", "bash", "-c", AS_ROOT, "-", point, tool.program]
            for below in (disk, part, "top"):
                done = guest.run([*argv, "wrap", below], check=False)
                assert done.rc == 4, done
                assert "is in use: the root file system that runs lies on it" in done.err
        assert dm_names(guest) == ["top"]


def test_names_that_are_too_long(tool: Tool) -> None:
    """Long names of volumes in long names of groups, before the kernel is asked."""
    guest = tool.guest
    with (
        null_blk(guest, size_mib=32, memory_backed=1) as disk,
        linear(guest, "v" * 118, disk) as below,
    ):
        path = below.path
        said = tool.refused(2, "wrap", path, says="a device's name: that takes 1 to 120 of")
        assert f"ioband device over {path}; give another with --name" in said
        assert dm_names(guest) == ["v" * 118]
        tool.run("wrap", "--name", "short", path)
        tool.run("unwrap", path)


def test_read_only_below(tool: Tool) -> None:
    guest = tool.guest
    with null_blk(guest, size_mib=32, memory_backed=1) as disk:
        guest.run(["blockdev", "--setro", disk])
        done = guest.run([tool.program, "wrap", disk])
        assert f"{disk} is read-only, so io-nullb0 is" in done.err
        assert tool.json("list")[0]["read_only"] is True
        tool.run("unwrap", disk)


TABLE = {"name": str, "uuid": str, "device": str, "read_only": bool, "table": str}
FINDING = {"verdict": str, "subject": str, "finding": str, "remedy": str | None}


def test_table(tool: Tool) -> None:
    """Its output makes the same device as wrap."""
    guest = tool.guest
    with null_blk(guest, size_mib=32, memory_backed=1) as disk:
        options = ["--mode", "device", "--weight", "200"]
        rows = tool.json("table", *options, disk)
        assert_schema(rows, TABLE)
        (row,) = rows
        assert (row["name"], row["uuid"]) == ("io-nullb0", "IOBAND-io-nullb0")
        line = tool.run("table", *options, disk)
        assert row["table"] == line.strip()
        assert dm_names(guest) == []
        guest.run(["dmsetup", "create", row["name"], "-u", row["uuid"]], input=line)
        made = guest.run(["dmsetup", "table", row["name"]]).out
        tool.run("unwrap", disk)
        tool.run("wrap", *options, disk)
        assert guest.run(["dmsetup", "table", row["name"]]).out == made
        tool.run("unwrap", disk)


def test_table_has_what_is_not_the_default(tool: Tool) -> None:
    """A module older than an option accepts the default of a new pool, which is omitted."""
    guest = tool.guest
    with null_blk(guest) as disk, null_blk(guest, "nullb1") as other:
        plain = tool.run("table", "--pool", "p", disk)
        ask = ["table", "--pool", "p", "--writes-starved"]
        assert tool.run(*ask, "2", disk) == tool.run(*ask, "02", disk) == plain
        assert tool.run(*ask, "3", disk) == plain.replace(" p\n", " p 1 writes_starved=3\n")
        with Ioband(guest, "d", other, pool="p"):
            assert tool.run(*ask, "2", disk) == plain
        with Ioband(guest, "d", other, pool="p", writes_starved=3):
            assert " p 1 writes_starved=2\n" in tool.run(*ask, "2", disk)


def findings(tool: Tool, rc: int) -> dict[str, dict[str, str]]:
    """check's findings by subject; it ends with that code."""
    done = tool.guest.run([tool.program, "check", "--json"], check=False)
    assert (done.rc, done.err) == (rc, ""), done
    (rows,) = json.loads(done.out).values()
    assert_schema(rows, FINDING)
    return {row["subject"]: row for row in rows}


def test_check(tool: Tool) -> None:
    """check finds each fault, and its remedy works."""
    guest = tool.guest

    def remedy(rc: int, subject: str, verdict: str, says: str) -> str:
        found = findings(tool, rc)[subject]
        assert (found["verdict"], says in found["finding"]) == (verdict, True), found
        command = re.search(r"'([^']+)'", found["remedy"])
        assert command, found
        return command[1].replace("iobandctl", tool.program)

    assert {row["verdict"] for row in findings(tool, 0).values()} <= {"ok", "hint"}
    with null_blk(guest, size_mib=32, memory_backed=1) as disk:
        tool.run("wrap", disk)
        assert findings(tool, 0)["io-nullb0"]["finding"] == "over nullb0, in pool nullb0"
        guest.run("dmsetup suspend io-nullb0")
        guest.run(remedy(1, "io-nullb0", "wrong", "it is suspended"))
        assert findings(tool, 0)["io-nullb0"]["verdict"] == "ok"
        tool.run("unwrap", disk)
        with linear(guest, "below", disk) as below:
            tool.run("wrap", below.path)
            whole = below.dmsetup("table").out
            below.reload(whole.replace("0 65536 ", "0 32768 "))
            found = findings(tool, 1)["io-below"]
            assert found["verdict"] == "wrong", found
            assert "has shrunk since" in found["finding"]
            assert "to 32768 sectors of 65536" in found["finding"]
            assert "'iobandctl resize io-below'" in found["remedy"]
            below.reload(whole)
            assert findings(tool, 0)["io-below"]["verdict"] == "ok"
            tool.run("unwrap", below.path)
    guest.run("dmsetup create -u IOBAND-e --notable e")
    guest.run(remedy(1, "e", "wrong", "it has no table"))
    assert dm_names(guest) == []
    for path in ("a", "a/b/c"):
        above = f"/{path}"
        with Cgroup(guest, path), Cgroup(guest, f"{path}/inner", controllers="") as inner:
            job = guest.start(["sleep", "1000"], cgroup=inner.directory)
            guest.run(remedy(0, above, "hint", "1 of the cgroups in it have processes and no io"))
            assert above not in findings(tool, 0)
            job.kill()
            job.wait(check=False)
    guest.rmmod("dm_ioband")
    found = findings(tool, 6)["module"]
    assert (found["verdict"], guest.kernel.release in found["finding"]) == ("wrong", True)
    lines = guest.run([tool.program, "check"], check=False).out.splitlines()
    assert f"wrong module: {found['finding']}" in lines
    assert f"      {found['remedy']}" in lines


def test_what_lvm_takes_for_a_duplicate(tool: Tool) -> None:
    """A message has the help for each command, as the disk is wrapped until the next boot."""
    guest = tool.guest
    with null_blk(guest, size_mib=32, memory_backed=1) as disk:
        guest.run(["vgcreate", "-y", "vg9", disk])
        said = guest.run([tool.program, "wrap", disk]).err
        assert f"LVM's commands see the physical volume on {disk} twice" in said
        lvcreate = ["lvcreate", "-y", "-n", "lv0", "-L", "4M", "vg9"]
        assert "duplicate PV" in guest.run(lvcreate, check=False).err
        found = findings(tool, 1)["io-nullb0"]
        assert (found["verdict"], "duplicate" in found["finding"]) == ("wrong", True), found
        assert found["remedy"] in said
        (setting,) = re.findall("--config '(.*)'$", found["remedy"])
        guest.run([*lvcreate, "--config", setting])
        guest.run(["vgchange", "-an", "vg9", "--config", setting])
        tool.run("unwrap", disk)
        guest.run(["vgremove", "-y", "vg9"])
        said = guest.run([tool.program, "wrap", disk]).err  # a physical volume without a group
        assert "twice, and refuse work: " in said
        tool.run("unwrap", disk)
        guest.run(["pvremove", "-y", disk])
        assert guest.run([tool.program, "wrap", disk]).err == ""
        findings(tool, 0)
        tool.run("unwrap", disk)
