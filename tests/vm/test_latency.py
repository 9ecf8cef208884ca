# SPDX-License-Identifier: GPL-2.0-only
"""The reads of a group meet its latency target, within the limits of its weight.

The I/O of each job is from fio's log.  Time is instructions executed, so the load of
the host does not matter.  A test in real time looks for lost bios.
"""

import pytest
from harness.cgroup import Cgroup
from harness.compete import DISK, competing
from harness.devices import mounted, null_blk
from harness.disturb import verified
from harness.guest import Guest
from harness.ioband import Ioband
from harness.load import Load, Stream, fio

pytestmark = pytest.mark.guest(icount=True)

# Eight at a time on a disk that does two in 2 ms: a read takes 8 ms beside others.
DEPTH = 8
# The log of a database, as etcd's documentation measures it.
LOG = {"rw": "write", "bs": 2300, "fdatasync": 1, "ioengine": "sync", "direct": 0, "size": "8m"}
LOG |= {"fallocate": "none", "time_based": True, "runtime": 3, "ramp_time": 3}


def test_set_and_taken_away_while_they_run(ioband: Guest) -> None:
    """Group a reads one at a time; the others are throttled for it, and recover afterwards."""
    guest = ioband
    with competing(guest, "a", "b", "c", depth=DEPTH) as (device, (a, b, c)):
        device.set_weight(a, 400)
        device.set_weight(b, 200)
        jobs = [
            Stream("a", device.path, a, bs="4k", iodepth=1),
            Stream("b", device.path, b, bs="4k"),
            Stream("c", device.path, c, bs="4k", rw="randwrite"),
        ]
        load = Load(guest, jobs).start()
        guest.sleep(1)
        moments, brakes = [], []
        for target in (None, 4500, 1, "default"):
            if target:
                device.set_latency(a, target)
            expected = target if isinstance(target, int) else 0
            assert device.tree()["/a"].latency_us == expected
            guest.sleep(1.5)
            moments.append(guest.now_ms())
            guest.sleep(2)
            brakes.append(device.info().brake)
        measured = load.stop()
        before, kept, hopeless, after = (measured.window(at, at + 2000) for at in moments)
    assert [bool(brake) for brake in brakes] == [False, True, True, False]
    assert before["a"].mean_ms > 6
    assert kept["a"].mean_ms == pytest.approx(4.5, rel=0.15)
    assert kept["b"].iops == pytest.approx(2 * kept["c"].iops, rel=0.1)
    assert kept["b"].iops + kept["c"].iops > 400
    # The others get the shares of their weights beside a target that cannot be met.
    assert hopeless["a"].mean_ms < 3.5
    assert hopeless["b"].iops == pytest.approx(hopeless["a"].iops / 2, rel=0.1)
    assert hopeless["c"].iops == pytest.approx(hopeless["a"].iops / 4, rel=0.1)
    assert after["a"].mean_ms == pytest.approx(before["a"].mean_ms, rel=0.1)


def test_of_a_pool_it_is_writes_that_wait(ioband: Guest) -> None:
    """The writes of the reader's own group are throttled, too."""
    guest = ioband
    with competing(guest, "a", "b", depth=DEPTH) as (device, (a, b)):
        jobs = [
            Stream("read", device.path, a, bs="4k", iodepth=1),
            Stream("own", device.path, a, bs="4k", rw="randwrite", iodepth=8),
            Stream("other", device.path, b, bs="4k", rw="randwrite"),
        ]
        load = Load(guest, jobs).start()
        device.set_latency("root", 4000)
        assert next(group for group in device.groups() if group.name == "root").latency_us == 4000
        guest.sleep(2)
        start_ms = guest.now_ms()
        guest.sleep(2)
        end_ms = guest.now_ms()
        assert device.info().brake
        got = load.stop().window(start_ms, end_ms)
    assert got["read"].mean_ms == pytest.approx(4, rel=0.15)
    assert got["own"].iops + got["other"].iops > 300
    assert got["own"].iops + got["read"].iops == pytest.approx(got["other"].iops, rel=0.1)


def test_of_synchronous_writes(ioband: Guest) -> None:
    """Group a writes one at a time; the target of its reads does nothing for it."""
    guest = ioband
    with competing(guest, "a", "b", "c", depth=DEPTH) as (device, (a, b, c)):
        device.set_weight(a, 400)
        jobs = [
            Stream("a", device.path, a, bs="4k", iodepth=1, rw="randwrite"),
            Stream("b", device.path, b, bs="4k"),
            Stream("c", device.path, c, bs="4k", rw="randwrite"),
        ]
        load = Load(guest, jobs).start()
        device.set_latency(a, 4500)
        guest.sleep(1.5)
        moments, brakes = [guest.now_ms()], [device.info().brake]
        guest.sleep(2)
        device.set_latency(a, 4500, writes=True)
        assert device.tree()["/a"].write_latency_us == 4500
        guest.sleep(1.5)
        moments.append(guest.now_ms())
        guest.sleep(2)
        brakes.append(device.info().brake)
        measured = load.stop()
        before, kept = (measured.window(at, at + 2000) for at in moments)
    assert [bool(brake) for brake in brakes] == [False, True]
    assert before["a"].mean_ms > 6
    assert kept["a"].mean_ms == pytest.approx(4.5, rel=0.15)
    assert kept["b"].iops + kept["c"].iops > 400


def test_of_flushes(ioband: Guest) -> None:
    """A task that only flushes; a preset gives its group the target."""
    guest = ioband
    with competing(
        guest, "a", "b", depth=DEPTH, disk={"memory_backed": 1, "size_mib": 64, "cache_size": 8}
    ) as (device, (a, b)):
        device.preset("/a", "write-latency-target", "1")
        load = Load(guest, [Stream("b", device.path, b, bs="4k", rw="randwrite")]).start()
        a.run(f"dd if=/dev/zero of={device.path} bs=4k count=1 oflag=direct")
        assert device.tree()["/a"].write_latency_us == 1
        guest.sleep(2)
        assert device.info().brake == 0
        loop = "import os, sys\nfd = os.open(sys.argv[1], os.O_WRONLY)\nwhile True: os.fsync(fd)"
        job = a.start(["python3", "-c", loop, device.path])
        guest.sleep(2)
        assert device.info().brake > 0
        device.set_latency(a, writes=True)
        guest.sleep(0.5)
        assert device.info().brake == 0
        job.kill()
        load.stop()


@pytest.mark.long("test_of_synchronous_writes has the target of single writes")
def test_of_a_log_that_grows(ioband: Guest) -> None:
    """fdatasync waits for three writes one after another, two of them of ext4's journal."""
    guest, half = ioband, 64 * 2048  # sectors
    with (
        null_blk(guest, **DISK | {"memory_backed": 1, "size_mib": 128}) as below,
        Ioband(guest, "d", below, length=half, depth=DEPTH) as device,
        Ioband(guest, "e", below, offset=half, length=half) as other,
        Cgroup(guest, "a") as a,
        Cgroup(guest, "b") as b,
        Cgroup(guest, "c") as c,
        mounted(guest, device.path) as point,
    ):

        def fdatasync_ms(log: str) -> float:
            done = fio(guest, a, filename=f"{point}/{log}", **LOG)
            return done["sync"]["lat_ns"]["mean"] / 1e6

        alone = fdatasync_ms("alone")
        bulk = [Stream(x.path, other.path, x, bs="4k", rw="randwrite") for x in (b, c)]
        load = Load(guest, bulk).start()
        device.set_weight(a, 400)
        before = fdatasync_ms("before")
        device.set_latency(a, 2500, writes=True)
        kept = fdatasync_ms("kept")
        assert device.info().brake > 0
        load.stop()
    assert alone < 6.5
    assert before > 11.5
    assert kept == pytest.approx(3 * 2.5, rel=0.15)


def test_who_is_alone_is_not_held_back(ioband: Guest) -> None:
    """The target of an idle group throttles no other group."""
    guest = ioband
    with competing(guest, "a", "b", depth=DEPTH) as (device, (a, b)):
        device.set_latency(a, 1)
        got = Load(guest, [Stream("b", device.path, b, bs="4k")]).run(2).window()
        assert device.info().brake == 0
    assert got["b"].iops == pytest.approx(1000, rel=0.05)


@pytest.mark.long("test_wishes.py has minima, maxima and latency targets at once")
@pytest.mark.guest(parallel=True)
def test_nothing_is_lost_with_a_target(ioband: Guest) -> None:
    """Targets change and the device is suspended and reloaded under load; all data verify."""

    def wish(device: Ioband, groups: tuple[Cgroup, Cgroup], turn: int) -> None:
        a, b = groups
        device.set_latency(a, 1 << turn)
        device.set_latency(b, 1 if turn % 2 else "default")
        device.set_latency("root", 1 if turn % 3 else "default")

    verified(ioband, "randrw", wish)
