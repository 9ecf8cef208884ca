# SPDX-License-Identifier: GPL-2.0-only
"""Devices and file systems that do not answer: no verb hangs on them, and it is said which.

A suspended device holds all I/O, as a multipath device does that has no path.  A FUSE file system
without a server answers as little as NFS after the loss of its server.  Users choose the source of
such a file system.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from harness.devices import DmDevice, linear, null_blk, sectors
from harness.guest import Guest, Result
from harness.tool import Tool
from harness.waiting import wait_until
from test_tool import created, number_of

# Seconds for a verb, of which a second is for what hangs.
VERB_S = 5
MULTIPATH = "0 {} multipath 3 queue_if_no_path queue_mode bio 0 1 1 round-robin 0 1 1 {} 1"
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


@pytest.fixture
def hung(guest: Guest) -> Iterator[str]:
    """The mount point of a file system that does not answer; another mount names a file there.

    Its source is the name of a disk.
    """
    guest.run(["modprobe", "fuse"])
    server = guest.start(["python3", "-c", HANG.format(hung=HUNG, disk=DISK)])
    wait_until(guest, lambda: guest.exists("/run/mounted"), "no mount")
    yield HUNG
    server.kill()
    server.wait(check=False)
    guest.run(f"umount -l {HUNG} {HUNG}-too; rm /run/mounted")


def test_a_file_system_that_does_not_answer(tool: Tool, hung: str) -> None:
    guest = tool.guest
    assert guest.run(["timeout", "-s", "KILL", "1", "stat", hung], check=False).rc == -9
    with null_blk(guest) as disk:
        assert disk == DISK
        refused(tool, "wrap", f"{hung}/disk", says="its file system does not answer")
        refused(tool, "get-weight", f"{hung}/group", says="")
        # No use of the disk: the source of one mount is a user's, the other's does not answer.
        with created(tool, "d", disk):
            assert findings(tool)["d"]["verdict"] == "ok"
