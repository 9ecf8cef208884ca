# SPDX-License-Identifier: GPL-2.0-only
"""The cgroup of a bio, compared to the byte with the kernel's own accounting.

The kernel accounts each bio to a cgroup when it is submitted to a device (io.stat).  On
the ioband device that is the original bio, which the target does not see.  On the disk
below it is the clone that the target has passed on.
"""

import contextlib
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from harness.cgroup import Cgroup
from harness.devices import linear, looped, mounted, null_blk
from harness.guest import CommandError, Guest
from harness.ioband import Ioband, group_name, parse_status
from harness.load import fio
from harness.tracing import TRACING, probed
from harness.variants import variants
from harness.waiting import wait_until

MIB = 1 << 20
BUFFERED = "+io +memory"  # a page belongs to a memory cgroup, and so to the blkcg beside it
FILE_SYSTEMS = ("ext4", "xfs", "btrfs")
WAITS = "ioband_throttle_wait_flusher"


class Bytes(NamedTuple):
    """Bytes read and written."""

    read: int
    write: int

    def __sub__(self, other: "Bytes") -> "Bytes":
        return Bytes(self.read - other.read, self.write - other.write)


NOTHING = Bytes(0, 0)


def device_number(guest: Guest, path: str) -> str:
    """The number of a device, as 253:0."""
    return guest.run(["stat", "-L", "-c", "%Hr:%Lr", path]).out.strip()


def charged_by_kernel(cgroup: Cgroup, number: str) -> Bytes:
    """The bytes of a cgroup and its descendants on a device, as 253:0, in io.stat."""
    for line in cgroup.get("io.stat").splitlines():
        name, *words = line.split()
        keys = dict(word.split("=") for word in words)
        if name == number and keys:
            return Bytes(int(keys["rbytes"]), int(keys["wbytes"]))
    return NOTHING


def charged(dev: Ioband) -> defaultdict[str, Bytes]:
    """The bytes of the groups by ioband's count."""
    got = {label: Bytes(io.read.bytes, io.write.bytes) for label, io in dev.io().items()}
    return defaultdict(lambda: NOTHING, got)


class Watch:
    """The I/O of cgroups since the watch began, by ioband's count and by the kernel's."""

    def __init__(self, dev: Ioband, disk: str, *cgroups: Cgroup):
        self._dev = dev
        self._cgroups = cgroups
        self._numbers = [device_number(dev.guest, path) for path in (dev.path, disk)]
        self._before = self._now()

    def _now(self) -> dict[str, list[Bytes]]:
        """By cgroup: ioband's count, the kernel's above it, the kernel's below it."""
        ours = charged(self._dev)
        return {
            cgroup.path: [
                ours[f"/{cgroup.path}"],
                *(charged_by_kernel(cgroup, number) for number in self._numbers),
            ]
            for cgroup in self._cgroups
        }

    def done(self) -> dict[str, Bytes]:
        """The I/O of each cgroup since the last call; fails if the counts differ."""
        before, self._before = self._before, self._now()
        got = {}
        for path, counts in self._before.items():
            ours, above, below = (
                now - then for now, then in zip(counts, before[path], strict=True)
            )
            assert ours == above, f"/{path}: ioband's count is not that of io.stat above it"
            assert below == above, f"/{path}: io.stat of the disk is not that of the ioband device"
            got[path] = ours
        return got


class Setup(NamedTuple):
    """Two cgroups, and an ioband device on a disk that keeps its data."""

    guest: Guest
    disk: str
    dev: Ioband
    a: Cgroup
    b: Cgroup

    def watch(self) -> Watch:
        """Watch both cgroups from now on."""
        return Watch(self.dev, self.disk, self.a, self.b)


@pytest.fixture
def setup(ioband: Guest) -> Iterator[Setup]:
    with (
        Cgroup(ioband, "a", controllers=BUFFERED) as a,
        Cgroup(ioband, "b", controllers=BUFFERED) as b,
        null_blk(ioband, size_mib=512, memory_backed=1) as disk,
        Ioband(ioband, "d0", disk) as dev,
    ):
        yield Setup(ioband, disk, dev, a, b)


def write_file(cgroup: Cgroup, path: str, mib: int, *options: str) -> None:
    """Write a file from a cgroup, through the page cache by default."""
    cgroup.run(["dd", "if=/dev/zero", f"of={path}", "bs=64k", f"count={mib * 16}", *options])


def read_file(cgroup: Cgroup, path: str, mib: int, *options: str) -> None:
    """Read a file from a cgroup."""
    cgroup.run(["dd", f"if={path}", "of=/dev/null", "bs=64k", f"count={mib * 16}", *options])


@pytest.mark.all_kernels
def test_what_a_task_submits_is_its_own(setup: Setup) -> None:
    """Direct, through libaio, io_uring, its workers and its poller, with exact amounts."""
    engines: dict[str, dict[str, object]] = {
        "libaio": {"ioengine": "libaio"},
        "io_uring": {"ioengine": "io_uring"},
        "workers": {"ioengine": "io_uring", "force_async": 1},
        "poller": {"ioengine": "io_uring", "sqthread_poll": 1},
    }
    # fio takes the link of a device for a directory, but not its real path.
    device = setup.guest.run(["readlink", "-f", setup.dev.path]).out.strip()
    watch = setup.watch()
    for name, options in engines.items():
        job = {"filename": device, "rw": "readwrite", "bs": "16k", "size": "2m", "iodepth": 8}
        fio(setup.guest, setup.a, **job, **options)
        done = watch.done()
        assert sum(done["a"]) == 2 * MIB, name
        assert min(done["a"]) > 0, name
        assert done["b"] == NOTHING, name


@pytest.mark.all_kernels
@pytest.mark.parametrize("fstype", variants(FILE_SYSTEMS, "ext4"))
def test_buffered_writes_are_of_whom_dirtied_the_pages(setup: Setup, fstype: str) -> None:
    guest, _, dev, a, b = setup
    with mounted(guest, dev.path, fstype) as point:
        watch = setup.watch()
        write_file(a, f"{point}/own", 4, "conv=fsync")
        done = watch.done()
        assert done["a"].write >= 4 * MIB, "fsync by the owner"
        assert done["b"] == NOTHING

        write_file(a, f"{point}/flushed", 4)
        b.run(["sync"])
        done = watch.done()
        assert done["a"].write >= 4 * MIB, "written out by a flusher for another's sync"
        assert done["b"].write < MIB

        write_file(a, f"{point}/other", 4)
        b.run(["sync", f"{point}/other"])
        done = watch.done()
        assert done["a"].write >= 4 * MIB, "fsync by another"
        assert done["b"].write < MIB

        guest.run("echo 3 >/proc/sys/vm/drop_caches")
        watch.done()
        read_file(b, f"{point}/own", 4)
        done = watch.done()
        assert done["b"].read >= 4 * MIB, "read through the page cache"
        assert done["a"].read == 0


@pytest.mark.all_kernels
@pytest.mark.parametrize("fstype", variants(["ext4", "xfs"], "xfs"))
def test_a_flusher_waits_for_its_group(setup: Setup, fstype: str) -> None:
    """A probe sees the wait, suspends work during it, and the flusher's bios arrive.

    Few bytes outside transactions are queued although one bio may cover a whole file, because
    it is split.
    """
    guest, _, dev, a, b = setup
    guest.run("head -c 16M /dev/urandom >/run/data")
    files = range(8)  # one bio may cover a whole file
    # A split takes 0.25 s, and the flusher waits for one at most; all of them take 16 s.  Some
    # bios are queued when the guest itself reads the status, as soon as the probe has fired.
    look = f"until grep -q {WAITS} {TRACING}/trace; do sleep 0.1; done; dmsetup status {dev.name}"
    with mounted(guest, dev.path, fstype) as point, probed(guest, WAITS):
        dev.set_max(a, wbps=4 * MIB)
        for each in files:
            a.run(f"dd if=/run/data of={point}/{each} bs=1M skip={each} count=8")
        job = b.start(["sync", "-f", point])
        held = parse_status(guest.run(look).out).held
        if fstype == "xfs":  # most of ext4's bios belong to a transaction, and are whole
            assert 0 < held.bytes <= 4 * MIB  # the log's as well
        for noflush in (False, True):
            dev.suspend(noflush=noflush, lockfs=False)
            dev.resume()
        dev.set_max(a)
        job.wait(120)
        guest.run("echo 1 >/proc/sys/vm/drop_caches")
        for each in files:
            guest.run(f"cmp -n {8 * MIB} -i {each * MIB}:0 /run/data {point}/{each}")
    guest.run("rm /run/data")


@contextlib.contextmanager
def crypt_above(setup: Setup) -> Iterator[str]:
    """dm-crypt: its kernel threads submit."""
    setup.guest.run(["modprobe", "dm-crypt"])
    key = "00" * 32
    size = setup.dev.length
    table = f"0 {size} crypt aes-xts-plain64 {key} 0 {setup.dev.path} 0"
    setup.guest.run(["dmsetup", "create", "crypt0"], input=table)
    yield "/dev/mapper/crypt0"
    setup.guest.run(["dmsetup", "remove", "--retry", "crypt0"])


@contextlib.contextmanager
def linear_above(setup: Setup) -> Iterator[str]:
    """dm-linear: the task submits."""
    with linear(setup.guest, "linear0", setup.dev.path) as dev:
        yield dev.path


@contextlib.contextmanager
def raid_above(setup: Setup, level: int) -> Iterator[str]:
    """MD RAID with one disk here and one without ioband.

    All reads come from here: RAID 1 is told so, and RAID 10 prefers the first disk that is idle.
    """
    guest = setup.guest
    guest.run(["modprobe", "raid456" if level == 5 else f"raid{level}"])
    with null_blk(guest, "nullb1", size_mib=512, memory_backed=1) as other:
        guest.run(
            f"mdadm --create /dev/md0 --run --assume-clean --metadata=1.0 --level={level} -n 2 "
            f"{setup.dev.path} {'--write-mostly ' * (level == 1)}{other} && udevadm settle"
        )
        yield "/dev/md0"
        guest.run(["mdadm", "--stop", "/dev/md0"])
        guest.run(["mdadm", "--zero-superblock", setup.dev.path, other])


@contextlib.contextmanager
def loop_above(setup: Setup, direct: str) -> Iterator[str]:
    """A loop device on a file on ext4: workers submit direct I/O, a flusher buffered writes."""
    guest = setup.guest
    with mounted(guest, setup.dev.path) as point:
        # Writeback charges a file to one cgroup: the first that changes the file.
        setup.a.run(["truncate", "-s", "64M", f"{point}/file"])
        with looped(guest, f"{point}/file", f"--direct-io={direct}") as path:
            yield path


LAYERS = {
    "linear": linear_above,
    "crypt": crypt_above,
    "raid1": lambda setup: raid_above(setup, 1),
    "raid10": lambda setup: raid_above(setup, 10),
    "loop-direct": lambda setup: loop_above(setup, "on"),
    "loop-buffered": lambda setup: loop_above(setup, "off"),
}


@pytest.mark.all_kernels
@pytest.mark.parametrize("layer", variants(LAYERS, "crypt", "raid1", "raid10", "loop-buffered"))
def test_layers_above_keep_the_owner(setup: Setup, layer: str) -> None:
    with LAYERS[layer](setup) as path:
        setup.guest.run(["udevadm", "settle"])
        watch = setup.watch()
        write_file(setup.a, path, 4, "oflag=direct")
        setup.guest.run(["sync"])
        done = watch.done()
        assert done["a"].write >= 4 * MIB, "direct writes"
        assert done["b"].write < MIB

        setup.guest.run("echo 3 >/proc/sys/vm/drop_caches")
        watch.done()
        read_file(setup.b, path, 4, "iflag=direct")
        done = watch.done()
        assert done["b"].read >= 4 * MIB, "direct reads"
        assert done["a"].read == 0


def test_writes_of_raid5_above_are_roots(setup: Setup) -> None:
    """Its stripes do not record the cgroup."""
    with raid_above(setup, 5) as path:
        setup.guest.run(["udevadm", "settle"])
        watch = setup.watch()
        before = charged(setup.dev)["root"]
        write_file(setup.a, path, 4, "oflag=direct")
        assert (charged(setup.dev)["root"] - before).write >= 4 * MIB
        assert watch.done()["a"].write == 0


@pytest.mark.all_kernels
def test_the_hidden_disk_counts_no_bytes(setup: Setup) -> None:
    """The kernel counts a bio in io.stat for each disk; in /proc/diskstats the disk is idle."""
    write_file(setup.a, setup.dev.path, 4, "conv=fsync")
    (line,) = (
        words
        for words in map(str.split, setup.guest.read("/proc/diskstats").splitlines())
        if words[2] == "ioband-owner"
    )
    assert set(line[3:]) == {"0"}
    number = ":".join(line[:2])
    (counts,) = (text for text in setup.a.get("io.stat").splitlines() if f"{number} " in text)
    keys = dict(word.split("=") for word in counts.split()[1:])
    assert int(keys["wios"]) > 0
    assert (keys["rbytes"], keys["wbytes"]) == ("0", "0")


def test_groups_are_nested_like_their_cgroups(setup: Setup) -> None:
    guest, disk, dev, *_ = setup
    with Cgroup(guest, "top/mid/low") as low, Cgroup(guest, "top/leaf") as leaf:
        for cgroup in (low, leaf):
            read_file(cgroup, disk, 1, "iflag=direct")  # bypasses ioband, so makes no group
            assert f"/{cgroup.path}" not in dev.tree()
            read_file(cgroup, dev.path, 1, "iflag=direct")
        tree = dev.tree()
        for path, above in (("/top/mid/low", "/top/mid"), ("/top/mid", "/top"), ("/top", "root")):
            assert tree[path].parent == tree[above].seq
            assert tree[path].weight == 100
            assert not tree[path].is_set
        assert tree["/top/leaf"].parent == tree["/top"].seq
        assert tree["/top/mid/low"].name == group_name(low)
        assert charged(dev)["/top/mid/low"] == Bytes(MIB, 0)
        assert charged(dev)["/top"] == NOTHING, "a group's count is of its own bios"


def test_without_the_io_controller_an_ancestor_owns(ioband: Guest) -> None:
    with (
        null_blk(ioband) as disk,
        Ioband(ioband, "d0", disk) as dev,
        Cgroup(ioband, "slice") as above,
    ):
        for name in ("one", "one/two"):
            ioband.run(["mkdir", f"{above.directory}/{name}"])
        ioband.run(
            ["dd", f"if={dev.path}", "of=/dev/null", "bs=64k", "count=16", "iflag=direct"],
            cgroup=f"{above.directory}/one/two",
        )
        assert charged(dev)["/slice"] == Bytes(MIB, 0)
        assert [label for label in dev.tree() if label.startswith("/")] == ["/slice"]
        ioband.run(["rmdir", f"{above.directory}/one/two", f"{above.directory}/one"])


@pytest.mark.guest(cgroup="v1")
def test_v1_hierarchy(ioband: Guest) -> None:
    with (
        null_blk(ioband, memory_backed=1) as disk,
        Ioband(ioband, "d0", disk) as dev,
        Cgroup(ioband, "a/b") as cgroup,
    ):
        read_file(cgroup, dev.path, 1, "iflag=direct")
        write_file(cgroup, dev.path, 2, "oflag=direct")
        tree = dev.tree()
        assert tree["/a/b"].parent == tree["/a"].seq
        assert tree["/a/b"].name == group_name(cgroup)
        assert charged(dev)["/a/b"] == Bytes(MIB, 2 * MIB)
        dev.set_weight("cgroup:/a/b", 250)
        assert dev.tree()["/a/b"].weight == 250
        with mounted(ioband, dev.path) as point:
            before = charged(dev)
            write_file(cgroup, f"{point}/file", 4)
            ioband.run(["sync"])
            after = charged(dev)
        written = {label: after[label].write - before[label].write for label in ("root", "/a/b")}
        assert written["root"] >= 4 * MIB, "v1 does not tell who dirtied a page"
        assert written["/a/b"] < MIB


# Reads a MiB in one call.
READ = """
device = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
os.preadv(device, [mmap.mmap(-1, 1 << 20)], 0)
"""
WRITE = """
with open(sys.argv[1], "wb") as file:
    file.write(bytes(4 << 20))
"""
FSYNC = """
os.fsync(os.open(sys.argv[1], os.O_RDWR))
"""
MSYNC = """
mmap.mmap(os.open(sys.argv[1], os.O_RDWR), 0).flush()
"""
# Does one of these, prints its process and process group, and stays.
STAYS = """
import mmap, os, sys, time
{}
print(os.getpid(), os.getpgrp(), flush=True)
time.sleep(1000)
"""
# The command that gives a task an identity in each mode, and the name that its group gets.
SORTED = {
    "uid": ("setpriv --reuid 4001 --keep-groups", "uid:4001"),
    "gid": ("setpriv --egid 4002 --keep-groups", "gid:4002"),
    "pid": ("setpriv", "pid:{pid}"),
    "pgrp": ("bash -mc '\"$@\" & wait' -", "pgrp:{pgrp}"),
}


@contextlib.contextmanager
def task_that(does: str, guest: Guest, mode: str, path: str) -> Iterator[str]:
    """A task that has done such I/O and is still there; yields its group in a mode."""
    become, name = SORTED[mode]
    out = "/run/task"
    guest.run(["dd", "if=/dev/null", f"of={out}"])
    line = f"exec {become} /usr/bin/python3 -S -c '{STAYS.format(does)}' {path} >{out}"
    job = guest.start(["bash", "-c", line])
    wait_until(guest, lambda: guest.read(out).endswith("\n"), "task")
    pid, pgrp = (int(text) for text in guest.read(out).split())
    yield name.format(pid=pid, pgrp=pgrp)
    job.kill()
    job.wait(check=False)


@pytest.mark.parametrize("mode", variants(SORTED, "uid", "pid"))
def test_modes_that_sort_by_the_submitting_task(ioband: Guest, mode: str) -> None:
    with null_blk(ioband) as disk, Ioband(ioband, "d0", disk, mode=mode) as dev:
        ioband.run(f"chmod 666 $(readlink -f {dev.path})")
        with task_that(READ, ioband, mode, dev.path) as label:
            stats = dev.io()
            assert label in stats, f"{label} is not among {sorted(stats)}"
            assert charged(dev)[label] == Bytes(MIB, 0)
            assert dev.tree()[label].parent == dev.tree()["root"].seq
            assert dev.info().mode == mode


# Reads a MiB in a user namespace that user and group `maker` have made, as user and group 5 there,
# which are first + 5 outside.  newuidmap(1) maps ids of /etc/subuid in the same way.
READ_IN_NAMESPACE = f"""
import ctypes, mmap, os, sys
CLONE_NEWUSER = 0x10000000
path, maker, first = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
made, mapped = os.pipe(), os.pipe()
if child := os.fork():
    os.read(made[0], 1)
    for name in ("uid_map", "gid_map"):
        with open(f"/proc/{{child}}/{{name}}", "w") as ids:
            ids.write(f"0 {{first}} 1000")
    os.write(mapped[1], b"1")
    sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
os.setresgid(maker, maker, maker)
os.setresuid(maker, maker, maker)
assert not ctypes.CDLL(None).unshare(CLONE_NEWUSER)
ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE, for the files in /proc
os.write(made[1], b"1")
os.read(mapped[0], 1)
os.setresgid(5, 5, 5)
os.setresuid(5, 5, 5)
page = mmap.mmap(-1, {MIB})
os.preadv(os.open(path, os.O_RDONLY | os.O_DIRECT), [page], 0)
"""


@pytest.mark.parametrize("mode", variants(["uid", "gid"], "uid"))
def test_a_user_namespace_is_one_group(ioband: Guest, mode: str) -> None:
    """It counts as the user that made it; if that is root, as the user that is root in it.

    If that is root as well, it counts for nothing.
    """
    with null_blk(ioband) as disk, Ioband(ioband, "d0", disk, mode=mode) as dev:
        ioband.run(f"chmod 666 $(readlink -f {dev.path})")
        for maker, first, charged_to in ((3000, 100000, 3000), (0, 200000, 200000), (0, 0, 5)):
            numbers = (str(maker), str(first))
            ioband.run(["/usr/bin/python3", "-S", "-c", READ_IN_NAMESPACE, dev.path, *numbers])
            assert charged(dev)[f"{mode}:{charged_to}"] == Bytes(MIB, 0)
        assert f"{mode}:100005" not in dev.tree()
        assert f"{mode}:200005" not in dev.tree()


# Reads 32 blocks in one go, alternately as one of two users, again and again: io_uring with
# registered credentials.  The numbers are those of <linux/io_uring.h>.
READS_AS_TWO = """
import ctypes, mmap, os, struct, sys
ROUNDS, READS = int(sys.argv[2]), 32
call = ctypes.CDLL(None, use_errno=True).syscall
def syscall(*arguments):
    if (done := call(*(ctypes.c_long(number) for number in arguments))) < 0:
        raise OSError(ctypes.get_errno(), "io_uring")
    return done
params = ctypes.create_string_buffer(120)
ring = syscall(425, READS, ctypes.addressof(params))
tail, array = (struct.unpack_from("10I", params, 40)[n] for n in (1, 6))
submitted = mmap.mmap(ring, 1 << 16, offset=0)
entries = mmap.mmap(ring, 64 * READS, offset=0x10000000)
(head_of_done,) = struct.unpack_from("I", params, 80)
(tail_of_done,) = struct.unpack_from("I", params, 84)
as_user = []
for user in 4001, 4002:
    os.seteuid(user)
    as_user.append(syscall(427, ring, 9, 0, 0))
    os.seteuid(0)
page = mmap.mmap(-1, 4096)
where = ctypes.addressof(ctypes.c_char.from_buffer(page))
device = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
for n in range(READS):
    entry = 22, 0, 0, device, 4096 * n, where, 4096, 0, n, 0, as_user[n % 2]
    struct.pack_into("BBHiQQIIQHH", entries, 64 * n, *entry)
    struct.pack_into("I", submitted, array + 4 * n, n)
for turn in range(1, ROUNDS + 1):
    struct.pack_into("I", submitted, tail, turn * READS)
    assert syscall(426, ring, READS, READS, 1, 0, 0) == READS
    (done,) = struct.unpack_from("I", submitted, tail_of_done)
    assert done == turn * READS
    struct.pack_into("I", submitted, head_of_done, done)
"""


def test_one_task_as_several_users(ioband: Guest) -> None:
    """Each bio belongs to the user at its submission, also in a batch with others."""
    guest = ioband
    with (
        null_blk(guest, irqmode=2, completion_nsec=500_000) as disk,
        Ioband(guest, "d0", disk, mode="uid", depth=2) as dev,
    ):
        guest.run(["/usr/bin/python3", "-S", "-c", READS_AS_TWO, dev.path, "50"])
        stats = dev.io()
        for user in ("uid:4001", "uid:4002"):
            assert stats[user].read.ios == 16 * 50
            assert stats[user].read.held > 16 * 30


def is_writeback(guest: Guest, label: str) -> bool:
    """Whether a group is that of the kernel's flushers in the modes that sort by task."""
    kind, number = label.split(":")
    if kind == "pid":
        return guest.run(f"cat /proc/{number}/comm", check=False).out.startswith("kworker/")
    return number == "0"


@pytest.mark.parametrize("mode", variants(SORTED, "uid"))
def test_buffered_writes_in_modes_that_sort_by_task(ioband: Guest, mode: str) -> None:
    """They belong to their submitter: a kernel thread, or a task that syncs the file."""
    guest = ioband
    with (
        null_blk(guest, size_mib=512, memory_backed=1) as disk,
        Ioband(guest, "d0", disk, mode=mode) as dev,
        mounted(guest, dev.path) as point,
    ):
        guest.run(["chmod", "777", point])
        with task_that(WRITE, guest, mode, f"{point}/flushed") as label:
            before = charged(dev)
            guest.run("setpriv --reuid 4003 --regid 4003 --clear-groups sync")
            written = {
                name: done.write - before[name].write
                for name, done in charged(dev).items()
                if done != before[name] and is_writeback(guest, name)
            }
            assert sum(written.values()) >= 4 * MIB, "written out by flushers for a sync"
            assert charged(dev)[label].write < MIB
        for name, sync in (("fsync", FSYNC), ("msync", MSYNC)):
            file = f"{point}/{name}"
            guest.run(f"dd if=/dev/zero of={file} bs=64k count=64 && chmod 666 {file}")
            with task_that(sync, guest, mode, file) as label:
                assert charged(dev)[label].write >= 4 * MIB, f"{name} of what another wrote"
        if mode == "pgrp":
            said = "there is no process group 0"
            guest.expect_dmesg(said)
            with pytest.raises(CommandError):
                dev.set_weight("pgrp:0", 50)
            assert said in "\n".join(guest.dmesg())


def test_one_group_for_each_device(setup: Setup) -> None:
    guest, _, cgroup_dev, a, _ = setup
    with (
        null_blk(guest, "nullb1") as disk1,
        null_blk(guest, "nullb2") as disk2,
        Ioband(guest, "d1", disk1, mode="device", weight=300) as dev1,
        Ioband(guest, "d2", disk2, mode="device+cgroup", weight=50) as dev2,
    ):
        names = {dev: "device:" + device_number(guest, dev.path) for dev in (dev1, dev2)}
        for dev in (dev1, dev2, cgroup_dev):
            read_file(a, dev.path, 1, "iflag=direct")
        tree = dev1.tree()
        one, two = tree[names[dev1]], tree[names[dev2]]
        assert (one.weight, two.weight) == (300, 50)
        assert one.parent == two.parent == tree["root"].seq
        below = tree[f"{names[dev2]}/a"]
        assert below.parent == two.seq
        assert tree["/a"].parent == tree["root"].seq
        assert tree["/a"].seq != below.seq
        for label in (names[dev1], f"{names[dev2]}/a", "/a"):
            assert charged(dev1)[label].read >= MIB, label
        assert dev1.info().devices == 3
