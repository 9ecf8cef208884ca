# SPDX-License-Identifier: GPL-2.0-only
"""A group gets its maximum and no more; the others get the rest.

The I/O of each job is from fio's log.  Time is instructions executed, so the load of
the host does not matter.  A test in real time looks for lost bios.
"""

import pytest
from harness.cgroup import Cgroup
from harness.compete import DISK_IOPS, competing, running
from harness.devices import null_blk
from harness.guest import Guest
from harness.ioband import Ioband
from harness.load import Load, Stream, Window, fio

pytestmark = pytest.mark.guest(icount=True)

MIB = 1 << 20


def compete(device: Ioband, state: str, **jobs: tuple[Cgroup, dict[str, object]]) -> Window:
    """The I/O of jobs, given by name as cgroup and fio's options, and the pool's state."""
    streams = [
        Stream(name, device.path, group, **options) for name, (group, options) in jobs.items()
    ]
    return running(device, *streams, state=state, window_s=1.5)


def test_alone_and_each_way(ioband: Guest) -> None:
    """Throttled without competition; other direction free; all free without a maximum."""
    guest = ioband
    with competing(guest, "a") as (device, [group]):
        jobs = {"r": (group, {}), "w": (group, {"rw": "randwrite", "bs": "4k"})}
        device.set_max(group, rbps=8 * MIB, wiops=250)
        assert device.tree()["/a"].max == {"rbps": 8 * MIB, "wiops": 250}
        both = compete(device, "open", **jobs)
        device.set_max(group, rbps="max")
        assert device.tree()["/a"].max == {"wiops": 250}
        one = compete(device, "open", **jobs)
        device.set_max(group)
        assert device.tree()["/a"].max is None
        none = compete(device, "open", **jobs)
    assert both["r"].bandwidth / MIB == pytest.approx(8, rel=0.02)
    assert both["w"].iops == pytest.approx(250, rel=0.02)
    assert one["r"].iops + one["w"].iops > 0.9 * DISK_IOPS
    assert one["w"].iops == pytest.approx(250, rel=0.02)
    assert none["r"].iops + none["w"].iops > 0.9 * DISK_IOPS


def test_one_that_is_far_away_costs_no_depth(ioband: Guest) -> None:
    """A group alone with a high maximum may have any number of bios in flight."""
    guest = ioband
    with (
        null_blk(guest, irqmode=2, completion_nsec=20_000_000) as below,
        Ioband(guest, "d", below) as device,
        Cgroup(guest, "a") as group,
    ):
        device.set_max(group, rbps=10_000 * MIB)
        got = compete(device, "open", r=(group, {"bs": "4k"}))
    assert got["r"].iops > 0.8 * 32 / 0.020


def test_weights_below_and_the_rest_beside(ioband: Guest) -> None:
    guest = ioband
    paths = ("up", "up/two", "up/one", "other")
    with competing(guest, *paths) as (device, groups):
        group = dict(zip(paths, groups, strict=True))
        device.set_weight(group["up"], 1000)
        device.set_weight(group["up/two"], 200)
        device.set_max(group["up"], rbps=12 * MIB)
        jobs = {path.removeprefix("up/"): (group[path], {}) for path in paths[1:]}
        got = compete(device, "shared", **jobs)
    assert got["two"].bandwidth / MIB == pytest.approx(8, rel=0.03)
    assert got["one"].bandwidth / MIB == pytest.approx(4, rel=0.03)
    assert got["other"].iops > 0.85 * (DISK_IOPS - 12 * MIB / 65536)


def test_large_bios_count_once(ioband: Guest) -> None:
    """Whether they are split or not."""
    guest = ioband
    with competing(guest, "a", "b", depth="4/65536") as (device, (a, b)):
        device.set_weight(a, 10000)
        device.set_max(a, riops=20)
        got = compete(
            device, "shared", large=(a, {"bs": "512k", "iodepth": 4}), small=(b, {"bs": "4k"})
        )
    assert got["large"].iops == pytest.approx(20, rel=0.05)


def test_a_lower_one_holds_at_once(ioband: Guest) -> None:
    guest = ioband
    with competing(guest, "a") as (device, [group]):
        device.set_max(group, rbps=20 * MIB)
        load = Load(guest, [Stream("r", device.path, group)]).start()
        guest.sleep(0.5)
        device.set_max(group, rbps=4 * MIB)
        changed_ms = guest.now_ms()
        guest.sleep(1.5)
        measured = load.stop()
        device.set_max(group, riops=1)
        done = fio(guest, group, filename=device.path, rw="read", bs="4k", size="8k")
    got = measured.window(changed_ms + 10, changed_ms + 1010)["r"]
    assert got.bandwidth / MIB == pytest.approx(4, rel=0.03)
    assert 900 < done["read"]["runtime"] < 1500


@pytest.mark.guest(parallel=True)
def test_nothing_is_lost_past_a_maximum(ioband: Guest) -> None:
    """Suspends, reload and changes of the maximum with queued bios; all data verify."""
    guest = ioband
    with (
        null_blk(guest, size_mib=64, memory_backed=1) as below,
        Ioband(guest, "d", below) as device,
        Cgroup(guest, "a") as group,
    ):
        device.set_max(group, wbps=MIB)
        job = group.start(
            [
                "fio", "--name=v", f"--filename={device.path}", "--rw=randwrite", "--bs=16k",
                "--size=16m", "--direct=1", "--ioengine=libaio", "--iodepth=64", "--thread=1",
                "--verify=crc32c", "--verify_fatal=1",
            ]
        )  # fmt: skip
        while not device.info().held.ios:
            guest.sleep(0.1)
            assert not job.poll()
        for noflush in (True, False):
            assert device.info().held.ios > 0
            device.suspend(noflush=noflush)
            assert device.info().held.ios == 0
            device.resume()
            guest.sleep(0.3)
        device.reload(device.line())
        guest.sleep(0.3)
        assert not job.poll()
        device.set_max(group, wbps=1000 * MIB)
        job.wait(120)
        status = device.info()
    assert (status.held, status.inflight) == ((0, 0), (0, 0))
