# SPDX-License-Identifier: GPL-2.0-only
"""Devices and file systems that do not answer: no verb hangs on them, and it is said which.

A suspended device holds all I/O, as a multipath device does that has no path.  A FUSE file system
without a server answers as little as NFS after the loss of its server.  Users choose the source of
such a file system.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from harness.cgroup import Cgroup
from harness.devices import DmDevice, linear, null_blk, sectors
from harness.guest import Guest, Result
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


@contextmanager
def silent(guest: Guest, what: str, under: DmDevice) -> Iterator[None]:
    """Devices, of which one is under ioband, or a file system."""
    if what == "device":
        with DmDevice(guest, "beside", ZERO) as beside, suspended(beside), suspended(under):
            yield
    else:
        with hung(guest):
            yield


def test_a_file_system_that_does_not_answer(tool: Tool) -> None:
    guest = tool.guest
    with hung(guest), null_blk(guest) as disk:
        assert guest.run(["timeout", "-s", "KILL", "1", "stat", HUNG], check=False).rc == -9
        assert disk == DISK
        refused(tool, "wrap", f"{HUNG}/disk", says="its file system does not answer")
        refused(tool, "get-weight", f"{HUNG}/group", says="")
        # No use of the disk: the source of one mount is a user's, the other's does not answer.
        with created(tool, "d", disk):
            assert findings(tool)["d"]["verdict"] == "ok"


@pytest.mark.parametrize("what", ["device", "file system"])
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
