# SPDX-License-Identifier: GPL-2.0-only
"""Devices and file systems that do not answer: no verb hangs on them, and it is said which.

A suspended device holds all I/O, as a multipath device does that has no path.  A FUSE file system
without a server answers as little as NFS after the loss of its server, which is tried as well.
Users choose the source of such a file system.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from harness.cgroup import Cgroup
from harness.devices import DmDevice, linear, null_blk, sectors
from harness.guest import Guest, Result
from harness.lent import NFS, lent
from harness.tool import Tool
from harness.waiting import wait_until
from test_tool import created, number_of

# Seconds for a verb, of which a second is for what hangs.
VERB_S = 5
MULTIPATH = "0 {} multipath 3 queue_if_no_path queue_mode bio 0 1 1 round-robin 0 1 1 {} 1"
ZERO = "0 2048 zero"
# Each verb but watch, in an order in which all succeed: d is an ioband device, and a a cgroup.
COMMANDS = """
wrap --name w /dev/mapper/spare
resize w
unwrap /dev/mapper/spare
insert used
extract used
create e /dev/mapper/spare
remove e
table /dev/mapper/spare
list
set a weight=20 latency=5ms
get a
set-weight a 30
get-weight a
set-max a riops=1000
get-max a
set-min a riops=10
get-min a
set-latency a none
get-latency a
groups
status
stat
top --batch --count 1 --interval 0.1
explain a --interval 0.1
metrics --output /run/metrics
record --duration 0.2 --interval 0.1 --output /run/recording
plot --json /run/recording
check-config --config /run/conf
apply --config /run/conf
dump
check
udev --lost dm-0
completion bash
help
"""
HUNG = "/run/hung"
DISK = "/dev/nullb0"
HANG = """
import ctypes, os, time
libc = ctypes.CDLL(None, use_errno=True)
options = f"fd={{os.open('/dev/fuse', os.O_RDWR)}},rootmode=40000,user_id=0,group_id=0"
for source, point, kind, options in (
    ("{disk}", "{hung}", "fuse", options),
    ("{hung}/disk", "{hung}-too", "tmpfs", ""),
):
    os.makedirs(point, exist_ok=True)
    done = libc.mount(source.encode(), point.encode(), kind.encode(), 0, options.encode())
    assert not done, os.strerror(ctypes.get_errno())
print("hung", file=open("/run/mounted", "w"))
time.sleep(10000)
"""

# Only version 4, which needs no other daemon than the one for the exports.
SERVE = """
modprobe nfsd
modprobe nfs
ip link set lo up
mount -t nfsd nfsd /proc/fs/nfsd
mkdir -p /run/export {hung} /var/lib/nfs/v4recovery
mount -t tmpfs export /run/export
touch /etc/exports /var/lib/nfs/etab /var/lib/nfs/rmtab
exportfs -o rw,fsid=0,no_root_squash,insecure 127.0.0.1:/run/export
rpc.mountd -N 3
rpc.nfsd -N 3 1
mount -t nfs4 -o hard,proto=tcp,noac 127.0.0.1:/ {hung}
"""
END_SERVING = """
rpc.nfsd -N 3 1
umount {hung}
rpc.nfsd 0
pkill rpc.mountd
exportfs -ua
umount /run/export
umount /proc/fs/nfsd
"""


def bounded(tool: Tool, *words: str) -> Result:
    """How a verb ends, which must be in time."""
    limit = VERB_S * tool.guest.patience
    command = ["timeout", f"{limit}", tool.program, *words]
    done = tool.guest.run(command, check=False, timeout=limit + 60)
    assert done.rc != 124, f"{words}: no answer within {limit} s"
    return done


def refused(tool: Tool, *words: str, says: str) -> None:
    """A verb fails in time, and says this."""
    done = bounded(tool, *words)
    assert done.rc and says in done.err, done


def findings(tool: Tool) -> dict[str, dict[str, str]]:
    """What check finds, by subject."""
    rows = json.loads(bounded(tool, "check", "--json").out)["findings"]
    return {row["subject"]: row for row in rows}


def verbs(tool: Tool) -> set[str]:
    """All verbs that iobandctl knows."""
    return set(re.findall("^  ([a-z-]+) ", tool.run("help"), re.M))


@contextmanager
def suspended(device: DmDevice) -> Iterator[None]:
    """A device that holds all I/O."""
    device.suspend(noflush=True, lockfs=False)
    yield
    device.resume()


@pytest.fixture
def under(tool: Tool) -> Iterator[DmDevice]:
    """A linear device."""
    with null_blk(tool.guest) as disk, linear(tool.guest, "under", disk) as device:
        yield device


def test_check_names_devices_that_take_no_io(tool: Tool, under: DmDevice) -> None:
    """Under an ioband device, or beside all of them."""
    guest = tool.guest
    with null_blk(guest, "nullb1") as disk, linear(guest, "beside", disk) as beside:
        with created(tool, "d", under.path), suspended(under), suspended(beside):
            found = findings(tool)
            assert found["d"]["verdict"] == "wrong"
            assert "it takes no I/O, as under is suspended below" in found["d"]["finding"]
            assert found["beside"]["verdict"] == "hint"
            assert "it takes no I/O: beside is suspended" in found["beside"]["finding"]
            for verb in ("list", "status", "groups", "stat", "metrics", "dump"):
                assert bounded(tool, verb).rc == 0, verb
            assert bounded(tool, "table", beside.path).rc == 0
        found = findings(tool)
        assert "beside" not in found


def test_changes_are_refused(tool: Tool, under: DmDevice) -> None:
    """They would wait for I/O that does not end."""
    guest = tool.guest
    why = "does not answer: under is suspended"
    size = sectors(guest, under.path)
    with linear(guest, "over", under.path) as over:
        with suspended(under):
            refused(tool, "wrap", under.path, says=why)
            refused(tool, "wrap", over.path, says=why)
            refused(tool, "insert", over.path, says=why)
        tool.run("insert", over.path)
        with suspended(under):
            refused(tool, "extract", over.path, says=why)
            found = findings(tool)
            assert "it takes no I/O, as under is suspended below" in found["over"]["finding"]
        tool.run("extract", over.path)
        over.reload(f"0 {size // 2} linear {under.path} 0")
        with created(tool, "d", over.path):
            over.load(f"0 {size} linear {under.path} 0")
            over.suspend()
            over.resume()
            with suspended(under):
                refused(tool, "resize", "d", says="under is suspended")
            tool.run("resize", "d")


def test_a_multipath_device_without_a_path(tool: Tool) -> None:
    guest = tool.guest
    guest.run(["modprobe", "-a", "dm-multipath", "dm-round-robin"])
    with null_blk(guest) as disk:
        table = MULTIPATH.format(sectors(guest, disk), disk)
        number = number_of(guest, disk)
        with DmDevice(guest, "mp", table, "--uuid", "mpath-mp") as mp:
            refused(tool, "wrap", disk, says="device mp lies on it")
            with created(tool, "d", mp.path):
                assert findings(tool)["d"]["verdict"] == "ok"
                mp.message("fail_path", number)
                found = findings(tool)
                assert "as mp has no path, and queues I/O" in found["d"]["finding"]
                assert "mp has no path" in found["mp"]["finding"]
                mp.message("reinstate_path", number)
            mp.message("fail_path", number)
            refused(tool, "wrap", mp.path, says="mp has no path")
            # Without the queue I/O fails at once, as that of udev.
            guest.expect_dmesg(r"Buffer I/O error on dev dm-\d+, ")
            mp.message("fail_if_no_path")
            assert "mp" not in findings(tool)


# How "under" or the device over it stops to take I/O, how it goes on, and the reason in messages.
SUSPEND = "dmsetup suspend --noflush --nolockfs"
BLOCKED = {
    "upper suspended": (f"{SUSPEND} d", "dmsetup resume d", "d is suspended"),
    "lower suspended": (f"{SUSPEND} under", "dmsetup resume under", "under is suspended"),
    "no path": (
        "dmsetup message under 0 fail_path $disk",
        "dmsetup message under 0 reinstate_path $disk",
        "under has no path, and queues I/O",
    ),
}
# Verbs that need no I/O: d is the ioband device, and a a cgroup.
WITHOUT_IO = """
list
status d
table d
set --device d mode=device+cgroup
set --device d mode=cgroup
get --device d
set --pool p depth=4
get --pool p
set a weight=20 latency=5ms max_riops=1000
get a
set-weight a 30
get-weight a
set-latency a none
groups
stat
stat a
explain a --interval 0.1
top --batch --count 1 --interval 0.1
record d --duration 0.2 --interval 0.1 --output /run/recording
metrics --output /run/metrics
dump
apply --config /run/conf
"""
OVER = "[device d]\ndevice = /dev/mapper/under\npool = {}\n[pool p]\ndepth = 4\n"
OVER += "[group /a]\nweight = {}\nmaximum = riops=1000\n"


WRITE = ["fio", "--name=j", "--direct=1", "--rw=randwrite", "--ioengine=libaio", "--iodepth=4"]
WRITE += ["--thread", "--time_based", "--runtime=600"]


def opened(guest: Guest, name: str) -> int:
    """The number of times that a dm device is open."""
    return int(guest.run(["dmsetup", "info", "-c", "--noheadings", "-o", "open", name]).out)


def writers(tool: Tool) -> set[str]:
    """The cgroups that have written."""
    return {row["path"] for row in tool.json("stat") if row["op"] == "write" and row["ios"]} - {"/"}


@contextmanager
def under_ioband(tool: Tool, how: str) -> Iterator[str]:
    """Ioband device d over under, which can lose its path; yields the number of its disk."""
    guest = tool.guest
    with null_blk(guest) as disk:
        number, table, options = number_of(guest, disk), "0 {} linear {} 0", []
        if how == "no path":
            guest.run(["modprobe", "-a", "dm-multipath", "dm-round-robin"])
            table, options = MULTIPATH, ["--uuid", "mpath-under"]
        with DmDevice(guest, "under", table.format(sectors(guest, disk), disk), *options):
            tool.run("create", "--pool", "p", "d", "/dev/mapper/under")
            yield number
            guest.run(["dmsetup", "remove", "--retry", "d"], check=False)
    guest.run("rm -f /run/conf /run/recording /run/metrics")


LONG = pytest.mark.long("the same verbs at a device below that is suspended are not")


@pytest.mark.parametrize(
    "how",
    [
        "lower suspended",
        pytest.param("upper suspended", marks=LONG),
        pytest.param("no path", marks=LONG),
    ],
)
def test_verbs_at_a_device_that_takes_no_io(tool: Tool, how: str) -> None:
    """They do their work, or end at once with the reason, and settings remain."""
    guest = tool.guest
    stop, go_on, why = BLOCKED[how]
    with Cgroup(guest, "a"), under_ioband(tool, how) as disk:

        def run(command: str) -> None:
            guest.run(command, env={"disk": disk})

        run(stop)
        guest.write("/run/conf", OVER.format("p", 40))
        for line in WITHOUT_IO.strip().splitlines():
            done = bounded(tool, *line.split())
            assert not done.rc, done
        assert findings(tool)["d"]["verdict"] == "wrong"
        settings = [tool.run("groups", "--weights"), tool.run("list")]
        assert " weight=40 max=max,max,1000,max" in settings[0]
        refused(tool, "create", "--pool", "q", "e", "/dev/mapper/d", says=why)
        guest.write("/run/conf", OVER.format("q", 50))
        refused(tool, "apply", "--config", "/run/conf", says=why)
        assert [tool.run("groups", "--weights"), tool.run("list")] == settings
        # A process waits for I/O, and has the device open.
        reader = guest.start("dd if=/dev/mapper/d of=/dev/null bs=4k count=1 iflag=direct")
        wait_until(guest, lambda: opened(guest, "d"), "no reader")
        start_ms = guest.now_ms()
        refused(tool, "unwrap", "d", says="(dd) has it open; and it takes no I/O: " + why)
        assert guest.now_ms() - start_ms < 3000 * guest.patience  # no retries
        run(go_on)
        reader.wait()
        guest.run(["udevadm", "settle"])
        run(stop)
        done = bounded(tool, "unwrap", "d")
        assert not done.rc, done
        assert tool.json("list") == []
        assert guest.exists("/dev/mapper/under") and not guest.exists("/dev/mapper/d")
        if how != "upper suspended":
            run(go_on)


def test_apply_at_a_device_that_takes_no_io(tool: Tool, under: DmDevice) -> None:
    """That is an error if a section names the device; with a pattern, the rest is applied."""
    guest = tool.guest
    apply = ("apply", "--config", "/run/conf")
    group = "[group /a]\nweight = 40\n"
    with (
        DmDevice(guest, "spare", ZERO) as spare,
        created(tool, "d", spare.path),
        Cgroup(guest, "a"),
    ):
        before = tool.run("dump")
        with suspended(under):
            for key in ("", "insert = yes\n"):
                guest.write("/run/conf", f"[device e]\ndevice = {under.path}\n{key}{group}")
                for more in ([], ["--dry-run"]):
                    refused(tool, *apply, *more, says="does not answer: under is suspended")
                assert tool.run("dump") == before
            guest.write("/run/conf", f"[device e]\nname = und*\n{group}")
            done = bounded(tool, *apply)
            assert not done.rc, done
            assert "under is left alone, as it does not answer: under is suspended" in done.err
            assert "/a weight=40" in tool.run("groups", "--weights")
            assert [row["name"] for row in tool.json("list")] == ["d"]
        done = bounded(tool, *apply)
        assert not done.rc, done
        assert len(tool.json("list")) == 2
        tool.run("unwrap", under.path)
    guest.run("rm /run/conf")


def test_a_disk_that_completes_no_read(tool: Tool) -> None:
    """The kernel knows no reason; if other I/O to its disk completes, it is only slow."""
    guest = tool.guest
    guest.run(["modprobe", "dm-delay"])
    with null_blk(guest) as disk:
        size = sectors(guest, disk)
        table = f"0 8 delay {disk} 0 {{}}\n8 {size - 8} linear {disk} 8"
        with DmDevice(guest, "slow", table.format(0)) as slow:
            guest.run(["udevadm", "settle"])
            slow.reload(table.format(1500))
            guest.run(["udevadm", "settle"])
            for verb in (["wrap"], ["create", "d"]):
                refused(tool, *verb, slow.path, says="slow did not answer within a second")
                guest.sleep(2)  # for the end of the read
            assert tool.json("list") == []
            read = f"dd if={disk} of=/dev/null bs=4k count=1 iflag=direct"
            reader = guest.start(f"while sleep 0.1; do {read}; done")
            with created(tool, "d", slow.path):
                pass
            reader.kill()
            reader.wait(check=False)


def test_a_removal_that_waits(tool: Tool) -> None:
    """ioband flushes the disk at the end of a slice; base, which gets the flush, is suspended."""
    guest = tool.guest
    guest.run(["modprobe", "dm-delay"])
    with (
        null_blk(guest, size_mib=64, memory_backed=1, cache_size=4) as disk,
        linear(guest, "base", disk) as base,
        Cgroup(guest, "a") as a,
        Cgroup(guest, "b") as b,
    ):
        # Reads, writes and flushes.
        table = f"0 {sectors(guest, disk)} delay {disk} 0 0 {disk} 0 0 {base.path} 0 0"
        with DmDevice(guest, "under", table) as under:
            tool.run("create", "--slice", "20", "d", under.path)
            with suspended(base):
                jobs = [cgroup.start([*WRITE, "--filename=/dev/mapper/d"]) for cgroup in (a, b)]
                wait_until(guest, lambda: writers(tool) == {"/a", "/b"}, "no slices")
                for job in jobs:
                    job.kill()
                    job.wait(check=False)
                wait_until(guest, lambda: opened(guest, "d") == 0, "a writer is left")
                says = "d goes on in the kernel, and waits for a flush: base is suspended"
                refused(tool, "unwrap", "d", says=says)
                assert tool.json("list") == []
                assert opened(guest, "under") == 1
            wait_until(guest, lambda: opened(guest, "under") == 0, "not removed")


def test_a_volume_that_is_slow_to_read(tool: Tool) -> None:
    """It may be a disk of a virtual machine, with a physical volume on it."""
    guest = tool.guest
    guest.run(["modprobe", "dm-delay"])
    with null_blk(guest) as disk:
        table = f"0 {sectors(guest, disk)} delay {disk} 0 {{}}"
        with DmDevice(guest, "slow", table.format(0), "--uuid", f"LVM-{'x' * 64}") as slow:
            guest.run(["udevadm", "settle"])
            slow.reload(table.format(3000))
            refused(tool, "wrap", slow.path, says="slow did not answer within a second")
            slow.reload(table.format(0))
            with created(tool, "d", slow.path):
                pass


@contextmanager
def hung(guest: Guest) -> Iterator[None]:
    """A file system that does not answer; another mount names a file there.

    Its source is the name of a disk.
    """
    guest.run(["modprobe", "fuse"])
    server = guest.start(["python3", "-c", HANG.format(hung=HUNG, disk=DISK)])
    wait_until(guest, lambda: guest.exists("/run/mounted"), "no mount")
    yield
    server.kill()
    server.wait(check=False)
    guest.run(f"umount -l {HUNG} {HUNG}-too; rm /run/mounted")


def check_silence(guest: Guest) -> None:
    """The file system really does not answer."""
    assert guest.run(["timeout", "-s", "KILL", "1", "stat", HUNG], check=False).rc == -9


@contextmanager
def without_server(guest: Guest) -> Iterator[None]:
    """A mount by NFS, of a server on the same machine that has stopped."""
    with lent(guest, NFS):
        guest.run(["bash", "-ec", SERVE.format(hung=HUNG)])
        guest.run(["stat", "-f", HUNG])
        guest.run(["rpc.nfsd", "0"])
        yield
        guest.run(["bash", "-ec", END_SERVING.format(hung=HUNG)])


@contextmanager
def silent(guest: Guest, what: str, under: DmDevice) -> Iterator[None]:
    """Devices, of which one is under ioband, or a file system."""
    if what == "device":
        with DmDevice(guest, "beside", ZERO) as beside, suspended(beside), suspended(under):
            yield
    else:
        with {"file system": hung, "NFS server": without_server}[what](guest):
            check_silence(guest)
            yield


def test_a_file_system_that_does_not_answer(tool: Tool) -> None:
    guest = tool.guest
    with hung(guest), null_blk(guest) as disk:
        check_silence(guest)
        assert disk == DISK
        refused(tool, "wrap", f"{HUNG}/disk", says="its file system does not answer")
        refused(tool, "get-weight", f"{HUNG}/group", says="")
        # No use of the disk: the source of one mount is a user's, the other's does not answer.
        with created(tool, "d", disk):
            assert findings(tool)["d"]["verdict"] == "ok"


@pytest.mark.parametrize(
    "what",
    [
        "device",
        "file system",
        pytest.param("NFS server", marks=pytest.mark.long("the server is unpacked")),
    ],
)
def test_no_verb_hangs(tool: Tool, under: DmDevice, what: str) -> None:
    """All verbs of the help, beside something that does not answer."""
    guest = tool.guest
    commands = [line.split() for line in COMMANDS.strip().splitlines()]
    assert {words[0] for words in commands} | {"watch"} == verbs(tool)
    guest.write("/run/conf", "[group /a]\nweight = 40\n")
    with (
        Cgroup(guest, "a") as a,
        DmDevice(guest, "spare", ZERO),
        DmDevice(guest, "used", ZERO),
        created(tool, "d", under.path),
        silent(guest, what, under),
    ):
        for words in commands:
            done = bounded(tool, *words)
            # check has found it, and something is left below a lost device.
            assert not done.rc or words[0] in ("check", "udev"), done
        a.set("io.weight", "50")
        watch = guest.start([tool.program, "watch"])
        follows = "group=cgroup:/a weight=50"
        wait_until(
            guest, lambda: follows in tool.run("groups", "--weights"), follows, timeout_s=VERB_S
        )
        watch.kill()
        watch.wait(check=False)
    guest.run("rm /run/conf /run/recording /run/metrics")


def test_files_on_it(tool: Tool) -> None:
    """Each option of a verb that takes a file, and the operand of plot."""
    says, tried = f"{HUNG}/x: its file system does not answer", set()
    with hung(tool.guest):
        for verb in sorted(verbs(tool)):
            for option in re.findall(r"--\S+(?= FILE)", tool.run("help", verb)):
                operand = ["-"] * (verb == "plot")
                refused(tool, verb, option, f"{HUNG}/x", *operand, says=says)
                tried.add(option)
        refused(tool, "plot", f"{HUNG}/x", says=says)
    assert tried == {"--config", "--from", "--input", "--output"}
