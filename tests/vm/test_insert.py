# SPDX-License-Identifier: GPL-2.0-only
"""ioband put under volumes that are in use, and taken out again."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from harness.devices import VolumeGroup, mounted, null_blk
from harness.guest import Guest, Job
from harness.waiting import wait_until
from test_tool import Tool, assert_udev_is_done, dm_names
from test_wrap import mounted_as_is

# Writes and verifies, over and over, what no earlier round can have left there.
# Not as fast as it can: the guest's processors are for the others too.
VERIFY = [
    *("fio", "--name=verify", "--rw=randwrite", "--bsrange=4k-64k", "--size=4m", "--direct=1"),
    *("--ioengine=libaio", "--iodepth=8", "--thread", "--randrepeat=0", "--verify=crc32c"),
    *("--verify_fatal=1", "--do_verify=1", "--loops=1000", "--fsync=16", "--rate_iops=200,200"),
]


@dataclass(frozen=True)
class Volumes:
    """A volume group of two disks with room for volumes."""

    guest: Guest
    group: VolumeGroup
    disks: list[str]

    def table(self, name: str) -> str:
        """The table of a volume, as dmsetup prints it."""
        return self.guest.run(["dmsetup", "table", f"vg0-{name}"]).out.strip()

    def targets(self, name: str) -> list[str]:
        """The targets in it."""
        return [line.split()[2] for line in self.table(name).splitlines()]


@pytest.fixture
def tool(ioband: Guest, iobandctl: Path) -> Iterator[Tool]:
    """iobandctl in a guest with the module loaded; what udev is asked for must be done."""
    yield Tool(ioband, str(iobandctl))
    if ioband.alive:
        assert_udev_is_done(ioband)


@pytest.fixture
def volumes(ioband: Guest) -> Iterator[Volumes]:
    """Two disks of 512 MiB, of which only what is written takes memory."""
    with (
        null_blk(ioband, size_mib=512, memory_backed=1, discard=1) as one,
        null_blk(ioband, "nullb1", size_mib=512, memory_backed=1, discard=1) as two,
        VolumeGroup(ioband, "vg0", [one, two]) as group,
    ):
        yield Volumes(ioband, group, [one, two])


@contextmanager
def verified(guest: Guest, point: str) -> Iterator[Job]:
    """fio verifies what it writes to a file, all the while."""
    job = guest.start([*VERIFY, f"--filename={point}/file"])
    wait_until(guest, lambda: guest.exists(f"{point}/file"), "fio has begun")
    yield job
    assert job.poll() is None, f"fio has ended: {job.poll()}"
    job.kill(2)
    done = job.wait(check=False)
    assert "err= 0" in done.out, done
    assert "verify:" not in done.err, done


def hidden_gone(guest: Guest) -> None:
    """The kernel removes a hidden device when its last user is gone, a little later."""
    wait_until(
        guest, lambda: not [name for name in dm_names(guest) if name.endswith("-ioband")], "removal"
    )


def bytes_done(tool: Tool) -> int:
    """What all groups did through ioband."""
    return sum(row["bytes"] for row in tool.json("stat") if row["op"] == "total")


KINDS = [("ext4", "linear")]


@pytest.mark.parametrize(("fstype", "kind"), KINDS)
def test_under_a_mounted_file_system(tool: Tool, volumes: Volumes, fstype: str, kind: str) -> None:
    """In and out, while fio verifies what it writes."""
    guest = tool.guest
    volumes.group.create("data", 320, "-i", "2" if kind == "striped" else "1")
    number = guest.run(["stat", "-L", "-c", "%Hr:%Lr", "/dev/vg0/data"]).out
    uuid = ["dmsetup", "info", "-c", "--noheadings", "-o", "uuid", "vg0-data"]
    before = volumes.table("data"), guest.run(uuid).out, dm_names(guest)
    with mounted(guest, "/dev/vg0/data", fstype) as point, verified(guest, point):
        tool.run("insert", "vg0/data")
        assert volumes.targets("data") == ["ioband"]
        assert volumes.targets("data-ioband") == [kind]
        assert guest.run(["stat", "-L", "-c", "%Hr:%Lr", "/dev/vg0/data"]).out == number
        wait_until(guest, lambda: bytes_done(tool) > 1 << 20, "I/O through ioband")
        (row,) = tool.json("list")
        disks = "nullb0+nullb1" if kind == "striped" else "nullb0"
        assert (row["name"], row["inserted"], row["pool"]) == ("vg0-data", True, disks)
        tool.refused(4, "insert", "vg0/data", says="ioband is in vg0-data already")
        for verb in ("remove", "unwrap"):
            says = "'iobandctl extract vg0-data' takes it out"
            tool.refused(4, verb, "vg0-data", says=says)
        tool.run("extract", "vg0/data")
        hidden_gone(guest)
        assert (volumes.table("data"), guest.run(uuid).out, dm_names(guest)) == before
        assert tool.json("list") == []
        tool.refused(3, "extract", "vg0/data", says="ioband is not in vg0-data")
    with mounted_as_is(guest, "/dev/vg0/data"):
        pass


# The verb that is killed, after which step, and the verb that comes then.
KILLED = [
    ("insert", "created", "insert"),
    ("insert", "created", "extract"),
    ("insert", "deferred", "extract"),
    ("insert", "loaded", "insert"),
    ("insert", "loaded", "extract"),
    ("insert", "switched", "extract"),
    ("extract", "loaded", "insert"),
    ("extract", "loaded", "extract"),
    ("extract", "switched", "insert"),
]


def columns(guest: Guest, name: str) -> set[str]:
    """What a column of dmsetup info has for all devices."""
    return set(guest.run(["dmsetup", "info", "-c", "--noheadings", "-o", name]).out.split())


def test_killed_between_the_steps(tool: Tool, volumes: Volumes) -> None:
    """I/O goes on, and either verb brings the device where it was asked to be."""
    guest = tool.guest
    volumes.group.create("data", 32)
    own = volumes.table("data")
    with mounted(guest, "/dev/vg0/data") as point, verified(guest, point):
        for case in KILLED:
            verb, step, after = case
            if verb == "extract":
                tool.run("insert", "vg0/data")
            killed = guest.run(
                [tool.program, verb, "vg0/data"], env={"IOBANDCTL_DIES_AT": step}, check=False
            )
            assert killed.rc == -9, (case, killed)
            assert columns(guest, "suspended") == {"Active"}, case
            if (verb, step) in (("insert", "deferred"), ("extract", "switched")):
                hidden_gone(guest)
            done = guest.run([tool.program, after, "vg0/data"], check=False)
            assert done.rc == (3 if case == ("insert", "deferred", "extract") else 0), (case, done)
            assert ("left half done" in done.err) == (step in ("created", "loaded")), (case, done)
            if after == "insert":
                assert volumes.targets("data") == ["ioband"], case
                tool.run("extract", "vg0/data")
            hidden_gone(guest)
            assert volumes.table("data") == own, case
            assert columns(guest, "tables_loaded") == {"Live"}, case
        assert guest.run([tool.program, "check"], check=False).rc == 0


def assert_out(tool: Tool, volumes: Volumes) -> None:
    """ioband is out of the volume, nothing else is left, and check says so."""
    assert "ioband" not in volumes.targets("data")
    hidden_gone(tool.guest)
    done = tool.guest.run([tool.program, "check"], check=False)
    assert done.rc == 1, done
    assert "wrong vg0-data: ioband was inserted, and another program" in done.out
    tool.run("insert", "vg0/data")
    tool.run("check")


def test_what_lvm_does_to_it(tool: Tool, volumes: Volumes) -> None:
    """Each command works, and takes ioband out of the volume and the hidden device with it."""
    guest = tool.guest
    volumes.group.create("data", 32)
    with mounted(guest, "/dev/vg0/data") as point, verified(guest, point):
        tool.run("insert", "vg0/data")
        for command in (
            "lvextend -qq -L 64M vg0/data",
            "lvcreate -qq -y -s -n snap -L 16M vg0/data",
            "lvremove -qq -y vg0/snap",
            f"pvmove -qq -i 1 {volumes.disks[0]} {volumes.disks[1]}",
        ):
            guest.run(command)
            assert_out(tool, volumes)
        guest.run("lvchange -qq --refresh vg0/data")
        assert_out(tool, volumes)
    guest.run("lvreduce -qq -y -f -L 32M vg0/data")
    assert_out(tool, volumes)
    guest.run("vgchange -qq -an vg0")
    hidden_gone(guest)
    assert dm_names(guest) == []
    guest.run("vgchange -qq -ay vg0")
    assert_out(tool, volumes)
    tool.run("extract", "vg0/data")
    tool.run("check")


def test_others_at_work(tool: Tool, volumes: Volumes) -> None:
    """Who has locked the device is waited for, and keeps the table that it has loaded."""
    guest = tool.guest
    volumes.group.create("data", 32)
    own = volumes.table("data")
    lock = "/run/lock/lvm/V_vg0"
    locked = guest.run(f"flock {lock} lvs --config global/wait_for_locks=0 vg0", check=False)
    assert (locked.rc, "get lock for vg0" in locked.err) == (5, True), locked
    for verb, file, says in (
        ("insert", lock, f"vg0-data is being changed: LVM has locked {lock}"),
        ("extract", "/run/iobandctl/.lock-vg0-data", "changed: another iobandctl has locked"),
    ):
        done = guest.run(f"flock {file} {tool.program} {verb} vg0/data", check=False)
        assert (done.rc, says in done.err) == (4, True), done
    assert volumes.table("data") == own
    job = guest.start(["flock", lock, "sleep", "3"])
    wait_until(guest, lambda: guest.run(f"! flock -n {lock} true", check=False).rc == 0, "lock")
    tool.run("insert", "vg0/data")
    assert job.poll(), "it did not wait"
    theirs = own.replace("linear", "error").split(" error")[0] + " error\n"
    guest.run(["dmsetup", "load", "vg0-data"], input=theirs)
    for verb in ("insert", "extract"):
        tool.refused(4, verb, "vg0/data", says="'dmsetup clear vg0-data'")
    assert guest.run("dmsetup table --inactive vg0-data").out.strip() == theirs.strip()
    guest.run("dmsetup clear vg0-data")
    tool.run("extract", "vg0/data")
    hidden_gone(guest)
    assert volumes.table("data") == own


def test_thin_volumes_are_refused(tool: Tool, volumes: Volumes) -> None:
    """With ioband in one, or in what stands for the pool, LVM cannot change the pool."""
    guest = tool.guest
    guest.run("lvcreate -qq -y --type thin-pool -n pool -L 64M vg0")
    guest.run("lvcreate -qq -y -n data -V 64M --thinpool vg0/pool")
    for name in ("vg0/pool", "vg0-pool-tpool"):
        tool.refused(1, "insert", name, says="has a table of target thin-pool")
    tool.refused(1, "insert", "vg0/data", says="vg0-data is a thin volume")
    assert volumes.targets("data") == ["thin"]


def test_a_snapshot_gets_it_below(tool: Tool, volumes: Volumes) -> None:
    """So does its origin, whose data are there."""
    guest = tool.guest
    volumes.group.create("data", 32)
    with mounted(guest, "/dev/vg0/data") as origin, verified(guest, origin):
        guest.run("lvcreate -qq -y -s -n snap -L 16M vg0/data")
        with mounted_as_is(guest, "/dev/vg0/snap", "/run/snap") as point:
            rows = tool.json("insert", "vg0/snap")
            assert [row["name"] for row in rows] == ["vg0-data-real", "vg0-snap-cow"]
            says = "ioband device vg0-data-real, which is below, is in pool"
            tool.refused(1, "insert", "vg0/data", says=says)
            guest.run(f"dd if=/dev/zero of={point}/zeros bs=64k count=16 oflag=direct")
            assert bytes_done(tool) >= 1 << 20
            guest.run("lvcreate -qq -y -s -n other -L 16M vg0/data")
            tool.run("insert", "vg0/snap")
            guest.expect_dmesg("device-mapper: ")
            tool.refused(1, "insert", "--mode", "nope", "vg0/other", says="mode=nope")
            assert volumes.targets("data-real") == ["ioband"]
            rows = tool.json("insert", "vg0/other")
            assert [row["name"] for row in rows] == ["vg0-other-cow"]
            tool.refused(4, "insert", "vg0/other", says="ioband is in vg0/other already")
            tool.run("extract", "vg0/snap")
            assert volumes.targets("other-cow") == ["ioband"]
            tool.run("extract", "vg0/other")
            tool.refused(3, "extract", "vg0/other", says="ioband is not in vg0/other")
            hidden_gone(guest)
            for name in ("snap-cow", "other-cow", "data-real"):
                assert volumes.targets(name) == ["linear"]
    guest.run("lvremove -qq -y vg0/snap vg0/other")


QUICK = "--batch-mode --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000"


def test_under_luks(tool: Tool, volumes: Volumes) -> None:
    """Below, while the key is in the keyring; on top, once it is in the table."""
    guest = tool.guest
    volumes.group.create("low", 64)
    guest.run("modprobe dm-crypt")
    guest.run(f"cryptsetup luksFormat {QUICK} /dev/vg0/low -", input="secret")
    guest.run("cryptsetup open --key-file - /dev/vg0/low secret", input="secret")
    key = ["dmsetup", "table", "--showkeys", "secret"]
    with mounted(guest, "/dev/mapper/secret") as point, verified(guest, point):
        (row,) = tool.json("insert", "secret")
        assert row["name"] == "vg0-low"
        tool.run("extract", "secret")
        assert volumes.targets("low") == ["linear"]
        guest.run("cryptsetup refresh --disable-keyring --key-file - secret", input="secret")
        before = guest.run(key).out
        (row,) = tool.json("insert", "secret")
        assert row["name"] == "secret"
        wait_until(guest, lambda: bytes_done(tool) > 1 << 20, "I/O through ioband")
        tool.run("extract", "secret")
        assert guest.run(key).out == before
    hidden_gone(guest)
    guest.run("cryptsetup close secret")
    with null_blk(guest, "nullb2", size_mib=64, memory_backed=1) as disk:
        guest.run(f"cryptsetup luksFormat {QUICK} {disk} -", input="secret")
        guest.run(f"cryptsetup open --key-file - {disk} secret", input="secret")
        said = tool.refused(1, "insert", "secret", says="the key of secret is in the kernel's")
        assert "'cryptsetup refresh --disable-keyring secret'" in said
        guest.run("cryptsetup close secret")


def test_what_insert_refuses(tool: Tool, volumes: Volumes) -> None:
    """And leaves as it was."""
    guest = tool.guest
    volumes.group.create("data", 32)
    own = volumes.table("data")
    tool.refused(1, "insert", volumes.disks[1], says="is not a device of device-mapper")
    tool.refused(3, "insert", "vg0/nope", says="there is no block device 'vg0/nope'")
    tool.refused(2, "insert", "--weight", "0", "vg0/data", says="--weight '0'")
    guest.expect_dmesg("device-mapper: ")
    tool.refused(1, "insert", "--mode", "nope", "vg0/data", says="mode=nope")
    guest.run(["dmsetup", "load", "vg0-data"], input=own)
    tool.refused(4, "insert", "vg0/data", says="'dmsetup clear vg0-data'")
    guest.run("dmsetup clear vg0-data && dmsetup suspend vg0-data")
    tool.refused(4, "insert", "vg0/data", says="'dmsetup resume vg0-data'")
    guest.run("dmsetup resume vg0-data")
    tool.run("wrap", "vg0/data")
    says = "ioband device io-vg0-data, which is above, is in pool nullb0 already"
    tool.refused(1, "insert", "vg0/data", says=says)
    tool.run("unwrap", "vg0/data")
    assert volumes.table("data") == own
    hidden_gone(guest)
    assert dm_names(guest) == ["vg0-data"]
