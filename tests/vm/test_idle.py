# SPDX-License-Identifier: GPL-2.0-only
"""Background work in the class idle yields by itself, and is not starved.

Time is instructions executed, so the load of the host does not matter.
"""

from contextlib import ExitStack

import pytest
from harness.cgroup import Cgroup
from harness.compete import DISK, competing
from harness.devices import null_blk
from harness.disturb import verified
from harness.guest import Guest
from harness.ioband import Ioband
from harness.load import Load, Stream

pytestmark = pytest.mark.guest(icount=True)

# Two I/Os at a time, 2 ms each: 1000 a second, or 500 of one job with one I/O at a time.
DEPTH = 8
ARRAY, SYNC = "/dev/md0", "/sys/block/md0/md/sync"


def test_it_yields_to_a_reader_and_gets_the_rest(ioband: Guest) -> None:
    """A scrub beside a reader with one I/O at a time; by weight, as idle, and alone."""
    guest = ioband
    with competing(guest, "reader", "scrub", depth=DEPTH) as (device, (reader, scrub)):
        stream = Stream("scrub", device.path, scrub)
        rival = Stream("reader", device.path, reader, bs="4k", iodepth=1)
        moments = []
        load = Load(guest, [stream, rival]).start()
        for weight in (1, "idle"):
            device.set_weight(scrub, weight)
            guest.sleep(0.5)
            moments.append(guest.now_ms())
            guest.sleep(2)
        assert device.tree()["/scrub"].weight == 0
        held = device.io()["/scrub"].held.ios
        measured = load.stop()
        by_weight, idle = (measured.window(at, at + 2000) for at in moments)
        alone = Load(guest, [stream]).run(1.5).window()
    # With a weight, however small, reads wait behind the I/Os in flight.
    assert by_weight["reader"].mean_ms > 4
    assert by_weight["scrub"].iops > 500
    assert idle["reader"].mean_ms < 2.2
    assert 2 <= idle["scrub"].iops < 10
    assert held > 0
    assert alone["scrub"].iops == pytest.approx(1000, rel=0.05)


def test_it_yields_with_slices(ioband: Guest) -> None:
    """The slice of an idle group ends when another one has I/O."""
    guest = ioband
    names = ("reader", "scrub")
    with competing(guest, *names, slice=100, measure="time") as (device, (reader, scrub)):
        device.set_weight(scrub, "idle")
        streams = [
            Stream("scrub", device.path, scrub, iodepth=1),
            Stream("reader", device.path, reader, bs="4k", iodepth=1, options={"thinktime": 50000}),
        ]
        got = Load(guest, streams).run(4).window()
    # Behind one I/O of the scrub at most, and not behind the rest of its slice.
    assert got["reader"].mean_ms < 6
    assert got["reader"].latency_ms(100) < 12
    # It has what the reader leaves.
    assert got["scrub"].iops > 350


def test_a_resync_yields(ioband: Guest) -> None:
    """An array resyncs in a thread of the kernel: its I/O is in the group root."""
    guest = ioband
    one_at_a_time = DISK | {"hw_queue_depth": 1, "size_mib": 8192}
    with (
        null_blk(guest, **one_at_a_time) as first,
        null_blk(guest, "nullb1", **one_at_a_time) as second,
        Ioband(guest, "d", first, depth=DEPTH) as device,
        Ioband(guest, "e", second) as other,
        Cgroup(guest, "reader") as reader,
    ):
        # Without metadata, which these disks would not keep.
        legs = f"--level=1 --raid-devices=2 {device.path} {other.path}"
        guest.run(f"mdadm --build {ARRAY} --run {legs}")
        # Not md's own throttling, which would slow it down for any other I/O.
        guest.write(f"{SYNC}_speed_max", "1000000")
        guest.write(f"{SYNC}_speed_min", "1000000")
        load = Load(guest, [Stream("reader", ARRAY, reader, bs="4k", iodepth=1)]).start()
        moments, resynced = [], []
        for weight in (100, "idle"):
            device.set_weight("root", weight)
            guest.sleep(0.5)
            moments.append(guest.now_ms())
            before = device.io()["root"].ios
            guest.sleep(2)
            resynced.append(device.io()["root"].ios - before)
        assert "resync =" in guest.read("/proc/mdstat")
        measured = load.stop()
        by_weight, idle = (measured.window(at, at + 2000)["reader"] for at in moments)
        guest.run(f"mdadm --stop {ARRAY} && udevadm settle")
    assert by_weight.mean_ms > 6
    assert idle.mean_ms < 2.2
    assert 2 <= resynced[1] < 0.05 * resynced[0]


def test_nested_with_presets_and_a_maximum(ioband: Guest) -> None:
    """Only siblings count; a preset makes a group idle from its first bio on."""
    guest = ioband
    with (
        null_blk(guest, **DISK) as below,
        Ioband(guest, "d", below, depth=DEPTH) as device,
        ExitStack() as on,
    ):
        device.preset("/a/scrub", "weight", "idle")
        assert [preset.weight for preset in device.presets()] == [0]
        for name in ("a", "b", "a/scrub", "a/job"):
            on.enter_context(Cgroup(guest, name))
        groups = {name: Cgroup(guest, name) for name in ("b", "a/scrub", "a/job")}
        streams = {
            name: Stream(name.replace("/", "-"), device.path, group, bs="4k")
            for name, group in groups.items()
        }
        load = Load(guest, list(streams.values())).start()
        guest.sleep(1)
        start_ms = guest.now_ms()
        guest.sleep(2)
        device.set_max(groups["a/job"], riops=100)
        guest.sleep(0.5)
        bounded_ms = guest.now_ms()
        guest.sleep(2)
        measured = load.stop()
        shared = measured.window(start_ms, start_ms + 2000)
        bounded = measured.window(bounded_ms, bounded_ms + 2000)
        assert device.tree()["/a/scrub"].weight == 0
    assert shared["a-job"].iops == pytest.approx(shared["b"].iops, rel=0.05)
    assert shared["a-scrub"].iops < 0.01 * shared["a-job"].iops
    # The maximum of its sibling leaves the scrub something, one I/O at a time: 8 ms beside b.
    assert bounded["a-job"].iops == pytest.approx(100, rel=0.1)
    assert bounded["a-scrub"].iops == pytest.approx(125, rel=0.2)
    assert sum(bounded[name].iops for name in ("a-job", "a-scrub", "b")) > 950


@pytest.mark.guest(parallel=True)
def test_nothing_is_lost(ioband: Guest) -> None:
    """Classes change and the device is suspended and reloaded under load; all data verify."""

    def change(device: Ioband, groups: tuple[Cgroup, Cgroup], turn: int) -> None:
        for place, group in enumerate(groups):
            device.set_weight(group, "idle" if turn >> place & 1 else 100)
        device.set_weight("root", "default" if turn % 3 else "idle")

    verified(ioband, "randrw", change)
