# SPDX-License-Identifier: GPL-2.0-only
"""ioband inserted below volumes in use, and extracted again."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from harness.devices import VolumeGroup, mounted, null_blk, two_disks
from harness.guest import Guest, Job
from harness.tool import OF_LVM, Tool
from harness.variants import variants
from harness.waiting import wait_until
from test_tool import dm_names
from test_wrap import mounted_as_is

pytestmark = [pytest.mark.guest(systemd=True), pytest.mark.usefixtures("udev_done")]

# Writes and verifies with data that differ in each round, at a limited speed: the guest's
# processors have other work too.
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
        """The targets in that table."""
        return [line.split()[2] for line in self.table(name).splitlines()]

    def create_thin(self) -> None:
        """A pool, vg0/pool, and a thin volume in it, vg0/data."""
        self.guest.run("lvcreate -qq -y --type thin-pool -n pool -L 128M --poolmetadataspare n vg0")
        self.guest.run("lvcreate -qq -y -n data -V 64M --thinpool vg0/pool")

    def assert_pool_in_step(self) -> None:
        """Assert that the kernel's pool has done all transactions of LVM."""
        status = self.guest.run("dmsetup status vg0-pool-tpool").out.split()
        known = self.guest.run("lvs --noheadings -o transaction_id vg0/pool").out.strip()
        assert status[3] == known, status


@pytest.fixture
def volumes(ioband: Guest) -> Iterator[Volumes]:
    """A volume group without volumes."""
    with two_disks(ioband) as disks, VolumeGroup(ioband, "vg0", disks) as group:
        yield Volumes(ioband, group, disks)


@contextmanager
def verified(guest: Guest, point: str, *options: str) -> Iterator[Job]:
    """fio verifies its writes to a file all the while; options replace those of VERIFY."""
    job = guest.start([*VERIFY, *options, f"--filename={point}/file"])
    wait_until(guest, lambda: guest.exists(f"{point}/file"), "fio has begun")
    yield job
    assert job.poll() is None, f"fio has ended: {job.poll()}"
    job.kill(2)
    done = job.wait(check=False)
    assert "err= 0" in done.out, done
    assert "verify:" not in done.err, done


def hints(tool: Tool, subject: str) -> list[dict]:
    """The findings of check about a device that works, but perhaps not as intended."""
    rows = tool.json("check")
    return [row for row in rows if (row["subject"], row["verdict"]) == (subject, "hint")]


def hidden_gone(guest: Guest) -> None:
    """Wait until the kernel has removed the hidden device, some time after its last user."""
    wait_until(
        guest, lambda: not [name for name in dm_names(guest) if name.endswith("-ioband")], "removal"
    )


def bytes_done(tool: Tool) -> int:
    """The bytes that all groups completed through ioband."""
    return sum(row["bytes"] for row in tool.json("stat") if row["op"] == "total")


KINDS = [("ext4", "linear"), ("xfs", "linear"), ("ext4", "striped"), ("xfs", "striped")]


@pytest.mark.parametrize(("fstype", "kind"), variants(KINDS, KINDS[0], KINDS[3]))
def test_under_a_mounted_file_system(tool: Tool, volumes: Volumes, fstype: str, kind: str) -> None:
    """Inserted and extracted while fio verifies its writes."""
    guest = tool.guest
    volumes.group.create("data", 320, "-i", "2" if kind == "striped" else "1")
    number = guest.run(["stat", "-L", "-c", "%Hr:%Lr", "/dev/vg0/data"]).out
    uuid = ["dmsetup", "info", "-c", "--noheadings", "-o", "uuid", "vg0-data"]
    before = volumes.table("data"), guest.run(uuid).out, dm_names(guest)
    with mounted(guest, "/dev/vg0/data", fstype) as point, verified(guest, point):
        done = guest.run([tool.program, "insert", "vg0/data"])
        assert OF_LVM.fullmatch(done.err), done
        assert "take ioband out; 'iobandctl insert vg0-data' after them" in done.err
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
        assert tool.json("extract", "vg0/data") == [row]
        hidden_gone(guest)
        assert (volumes.table("data"), guest.run(uuid).out, dm_names(guest)) == before
        assert tool.json("list") == []
        tool.refused(3, "extract", "vg0/data", says="ioband is not in vg0-data")
    with mounted_as_is(guest, "/dev/vg0/data"):
        pass


def test_a_volume_without_nodes(tool: Tool, volumes: Volumes) -> None:
    """They are, after LVM has changed the volume in a container, without udev."""
    guest = tool.guest
    volumes.group.create("data", 16)
    number = guest.run(["stat", "-L", "-c", "%Hr:%Lr", "/dev/vg0/data"]).out.strip()
    guest.run("rm /dev/vg0/data /dev/mapper/vg0-data")
    tool.run("insert", number)
    assert volumes.targets("data") == ["ioband"]
    wait_until(guest, lambda: guest.exists("/dev/vg0/data"), "the nodes are back")
    tool.run("extract", number)
    hidden_gone(guest)


# The verb that is killed, the step after which it is killed, and the next verb.
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
    """The values of a column of dmsetup info for all devices."""
    return set(guest.run(["dmsetup", "info", "-c", "--noheadings", "-o", name]).out.split())


@pytest.mark.parametrize("kind", ["linear", "thin"])
def test_killed_between_the_steps(tool: Tool, volumes: Volumes, kind: str) -> None:
    """I/O continues, and either verb brings the device to the requested state."""
    guest = tool.guest
    if kind == "thin":
        volumes.create_thin()
    else:
        volumes.group.create("data", 32)
    own = volumes.table("data")
    # LVM has to remove the hidden device of a thin volume.
    alone = [("insert", "deferred"), ("extract", "switched")] if kind == "linear" else []
    half = [("insert", "created"), ("insert", "loaded"), ("extract", "loaded")]
    if kind == "thin":
        half += [("insert", "deferred"), ("extract", "switched")]
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
            if (verb, step) in alone:
                hidden_gone(guest)
            done = guest.run([tool.program, after, "vg0/data"], check=False)
            nothing = (verb, step) in alone and after == "extract"
            assert done.rc == (3 if nothing else 0), (case, done)
            assert ("left half done" in done.err) == ((verb, step) in half), (case, done)
            if after == "insert":
                assert volumes.targets("data") == ["ioband"], case
                tool.run("extract", "vg0/data")
            hidden_gone(guest)
            assert volumes.table("data") == own, case
            assert columns(guest, "tables_loaded") == {"Live"}, case
        assert guest.run([tool.program, "check"], check=False).rc == 0


def assert_out(tool: Tool, volumes: Volumes) -> None:
    """ioband is out of the volume, nothing else is left, and check agrees."""
    assert "ioband" not in volumes.targets("data")
    hidden_gone(tool.guest)
    done = tool.guest.run([tool.program, "check"], check=False)
    assert done.rc == 1, done
    assert "wrong vg0-data: ioband was inserted, and another program" in done.out
    tool.run("insert", "vg0/data")
    tool.run("check")


def test_what_lvm_does_to_it(tool: Tool, volumes: Volumes) -> None:
    """Each command works, and removes ioband from the volume, and the hidden device."""
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
    """A lock on the device is waited for; a table that another process loaded is kept."""
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


def test_lock_directory_of_a_user(tool: Tool, volumes: Volumes) -> None:
    """In /run/lock a user may make it before LVM does, with links in it."""
    guest = tool.guest
    volumes.group.create("data", 32)
    own = volumes.table("data")
    guest.run("mv /run/lock/lvm /run/lock/lvm.roots && mkdir /run/lock/lvm")
    guest.run("ln -s /run/victim /run/lock/lvm/V_vg0")
    tool.refused(1, "insert", "vg0/data", says="cannot lock /run/lock/lvm/V_vg0: ")
    for change, back in (("chown nobody", "chown root"), ("chmod 1777", "chmod 755")):
        guest.run(f"{change} /run/lock/lvm")
        tool.refused(5, "insert", "vg0/data", says="only root can write to")
        guest.run(f"{back} /run/lock/lvm")
    guest.run("cd /run/lock && mv lvm other && ln -s other lvm")
    tool.refused(1, "insert", "vg0/data", says="only root can write to")
    guest.run("cd /run/lock && rm lvm && mv other lvm")
    assert guest.run("test -e /run/victim", check=False).rc == 1
    assert volumes.table("data") == own
    guest.run("rm -r /run/lock/lvm && mv /run/lock/lvm.roots /run/lock/lvm")
    tool.run("insert", "vg0/data")
    tool.run("extract", "vg0/data")
    hidden_gone(guest)


def test_under_a_thin_volume(tool: Tool, volumes: Volumes) -> None:
    """Inserted and extracted while fio verifies its writes; a snapshot is consistent."""
    guest = tool.guest
    volumes.create_thin()
    own = volumes.table("data")
    fio = "fio --name=base --filename=%s/base --rw=write --bs=64k --size=2m --verify=crc32c"
    snapshot = "sha256sum /dev/vg0/snap"
    with mounted(guest, "/dev/vg0/data") as point, verified(guest, point):
        guest.run(f"{fio % point} --do_verify=0 --end_fsync=1")
        tool.run("insert", "vg0/data")
        assert volumes.targets("data") == ["ioband"]
        assert volumes.targets("data-ioband") == ["thin"]
        guest.run("udevadm trigger --settle --action=change /dev/mapper/vg0-data-ioband")
        links = guest.run("readlink -f /dev/vg0/data /dev/mapper/vg0-data").out.split()
        assert links[0] == links[1]
        wait_until(guest, lambda: bytes_done(tool) > 1 << 20, "I/O through ioband")
        (row,) = tool.json("list")
        assert (row["name"], row["inserted"]) == ("vg0-data", True)
        tool.refused(4, "insert", "vg0/data", says="ioband is in vg0-data already")
        guest.run("dmsetup suspend vg0-data-ioband")
        tool.refused(4, "extract", "vg0/data", says="'dmsetup resume vg0-data-ioband'")
        guest.run("dmsetup resume vg0-data-ioband")
        tool.run("extract", "vg0/data")
        assert volumes.table("data") == own
        hidden_gone(guest)
        tool.run("insert", "vg0/data")
        done = guest.run("lvcreate -y -s -n snap vg0/data")
        assert "ioband" not in done.out + done.err
        guest.run("lvchange -ay -K vg0/snap")
        volumes.assert_pool_in_step()
        tool.run("insert", "vg0/data")
        guest.run("e2fsck -fn /dev/vg0/snap")
        was = guest.run(snapshot).out
        guest.run(f"dd if=/dev/zero of={point}/base bs=64k count=32 conv=notrunc,fsync")
        assert guest.run(snapshot).out == was
        with mounted_as_is(guest, "/dev/vg0/snap", "/run/snap") as copy:
            guest.run(f"{fio % copy} --verify_only=1")
        tool.run("extract", "vg0/data")
    guest.run("e2fsck -fn /dev/vg0/data")
    assert volumes.table("data") == own


# Commands while ioband is in vg0/data, and whether it stays there.
THIN_COMMANDS = [
    ("lvcreate -qq -y -n other -V 32M --thinpool vg0/pool", True),
    ("lvremove -qq -y vg0/other", True),
    ("lvcreate -qq -y -s -n snap vg0/data", False),
    ("lvcreate -qq -y -s -n other vg0/snap", True),
    ("lvremove -qq -y vg0/other vg0/snap", True),
    ("lvextend -qq -L 160M vg0/pool", True),
    ("lvextend -qq -L 72M vg0/data", False),
    ("pvmove -qq -i 1 /dev/nullb0", True),
    ("lvchange -qq --refresh vg0/data", False),
]


def test_what_lvm_does_to_a_thin_volume(tool: Tool, volumes: Volumes) -> None:
    """The pool and LVM agree on all changes, and a removal leaves nothing behind."""
    guest = tool.guest
    volumes.create_thin()
    with mounted(guest, "/dev/vg0/data") as point, verified(guest, point):
        tool.run("insert", "vg0/data")
        for command, stays in THIN_COMMANDS:
            guest.run(command)
            volumes.assert_pool_in_step()
            assert columns(guest, "suspended") == {"Active"}, command
            if stays:
                assert volumes.targets("data") == ["ioband"], command
            else:
                assert_out(tool, volumes)
    for command in ("vgchange -qq -an vg0", "lvchange -qq -an vg0/data vg0/pool"):
        guest.run(command)
        assert dm_names(guest) == []
        guest.run("vgchange -qq -ay vg0")
        assert_out(tool, volumes)
    tool.run("extract", "vg0/data")
    for command in ("lvcreate -qq -y -s -n snap vg0/data", "lvremove -qq -y vg0/data"):
        killed = guest.run(
            [tool.program, "insert", "vg0/data"], env={"IOBANDCTL_DIES_AT": "created"}, check=False
        )
        assert killed.rc == -9, killed
        guest.run(command)
        hidden_gone(guest)
    guest.run("lvcreate -qq -y -n data -V 32M --thinpool vg0/pool")
    volumes.assert_pool_in_step()
    tool.run("insert", "vg0/data")
    guest.run("lvremove -qq -y vg0/data")
    hidden_gone(guest)
    guest.run("lvcreate -qq -y -n data -V 32M --thinpool vg0/pool")
    volumes.assert_pool_in_step()
    tool.run("extract", "vg0/data")


def test_what_of_thin_volumes_is_refused(tool: Tool, volumes: Volumes) -> None:
    """When LVM would not find the pool or its own device; the message offers the pool's data."""
    guest = tool.guest
    volumes.create_thin()
    for name in ("vg0/pool", "vg0-pool-tpool"):
        tool.refused(1, "insert", name, says=f"{name.replace('/', '-')} is a thin pool")
    tool.run("insert", "vg0/data")
    guest.run("lvcreate -qq -y -s -n thick -L 40M vg0/data")
    assert volumes.targets("data-real") == ["thin"]
    for name in ("vg0/data", "vg0-data-real", "vg0/thick"):
        tool.refused(1, "insert", name, says="volume with the data of the pool")
    hidden_gone(guest)
    tool.run("insert", "vg0-pool_tdata")
    assert volumes.targets("pool_tdata") == ["ioband"]
    with mounted(guest, "/dev/vg0/data") as point, verified(guest, point):
        wait_until(guest, lambda: bytes_done(tool) > 1 << 20, "I/O through ioband")
        tool.run("extract", "vg0-pool_tdata")
    volumes.assert_pool_in_step()
    guest.run("lvremove -qq -y vg0/thick")
    tool.run("extract", "vg0/data")


def test_a_snapshot_gets_it_below(tool: Tool, volumes: Volumes) -> None:
    """The origin gets ioband too, as it has the data."""
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


ONE_QUEUE = "has one queue for all its users"


def note_of_layer(tool: Tool, *command: str, **options: object) -> str:
    """The note of a command that succeeds, about the layer above its device."""
    said = OF_LVM.sub("", tool.guest.run([tool.program, *command], **options).err)
    assert said.startswith("iobandctl: note: ")
    assert ONE_QUEUE in said
    return said


def test_under_luks(tool: Tool, volumes: Volumes) -> None:
    """Below by force while the key is in the keyring; on top when the table has the key."""
    guest = tool.guest
    volumes.group.create("low", 64)
    guest.run("modprobe dm-crypt")
    guest.run(f"cryptsetup luksFormat {QUICK} /dev/vg0/low -", input="secret")
    guest.run("cryptsetup open --key-file - /dev/vg0/low secret", input="secret")
    key = ["dmsetup", "table", "--showkeys", "secret"]
    refresh = "cryptsetup refresh --disable-keyring"
    remedy = f"'{refresh} secret' and 'iobandctl insert secret'"
    with mounted(guest, "/dev/mapper/secret") as point, verified(guest, point):
        for name in ("secret", "vg0/low"):
            said = tool.refused(4, "insert", name, says=remedy)
            assert f"secret (crypt) lies on vg0-low, and {ONE_QUEUE}" in said
            assert volumes.targets("low") == ["linear"]
        assert remedy in note_of_layer(tool, "insert", "--force", "secret")
        assert volumes.targets("low") == ["ioband"]
        (hint,) = hints(tool, "vg0-low")
        assert f"secret (crypt) lies on it, and {ONE_QUEUE}" in hint["finding"]
        assert hint["remedy"].startswith(f"'iobandctl extract vg0-low', and then {remedy}")
        tool.run("extract", "secret")
        assert volumes.targets("low") == ["linear"]
        guest.run(f"{refresh} --key-file - secret", input="secret")
        says = "'iobandctl insert secret' puts ioband above it"
        tool.refused(4, "insert", "vg0/low", says=says)
        before = guest.run(key).out
        (row,) = tool.json("insert", "secret")
        assert row["name"] == "secret"
        assert hints(tool, "secret") == []
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


def test_under_an_array_with_parity(tool: Tool, volumes: Volumes) -> None:
    """By force only; the configuration inserts with a note, as the array may come later."""
    guest = tool.guest
    parts = [volumes.group.create(f"part{number}", 24) for number in range(3)]
    guest.run(["modprobe", "-a", "md-mod", "raid456"])
    create = "mdadm --create /dev/md0 --run --assume-clean --metadata=1.0 --level=5"
    guest.run([*create.split(), "--raid-devices=3", *parts])
    says = f"md0 (raid5) lies on vg0-part0, and {ONE_QUEUE}"
    assert "'iobandctl wrap md0'" in tool.refused(4, "insert", parts[0], says=says)
    assert volumes.targets("part0") == ["linear"]
    assert says in note_of_layer(tool, "insert", "--force", parts[0])
    conf = "[device part]\ndevice = vg0/part1\ninsert = yes\n"
    said = note_of_layer(tool, "apply", "--config", "-", input=conf)
    assert "md0 (raid5) lies on vg0-part1" in said
    assert [volumes.targets(f"part{number}")[0] for number in range(3)] == [
        *("ioband", "ioband", "linear")
    ]
    assert [len(hints(tool, f"vg0-part{number}")) for number in range(3)] == [1, 1, 0]
    guest.run("dd if=/dev/zero of=/dev/md0 bs=1M count=8 oflag=direct")
    tool.run("extract", *parts[:2])
    # udev may have assembled it once more.
    forget = f"udevadm settle; mdadm --stop --scan; mdadm --zero-superblock {' '.join(parts)}"
    guest.run(forget)
    # A mirror has a queue for each disk.
    guest.run([*create.replace("=5", "=1").split(), "--raid-devices=2", *parts[:2]])
    tool.run("insert", parts[0])
    assert hints(tool, "vg0-part0") == []
    tool.run("extract", parts[0])
    guest.run(f"{forget}; udevadm settle")
    hidden_gone(guest)


def test_what_insert_refuses(tool: Tool, volumes: Volumes) -> None:
    """A refused insert changes nothing."""
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
