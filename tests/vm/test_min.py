# SPDX-License-Identifier: GPL-2.0-only
"""A group gets its minimum whatever the weights; the rest is shared by weight.

The I/O of each job is from fio's log.  Time is instructions executed, so the load of
the host does not matter.  A test in real time looks for lost bios.
"""

import pytest
from harness.cgroup import Cgroup
from harness.compete import DISK_IOPS, competing, running
from harness.disturb import verified
from harness.guest import Guest
from harness.ioband import Ioband
from harness.load import Load, Stream

pytestmark = pytest.mark.guest(icount=True)

MIB = 1 << 20


def test_kept_and_the_rest_by_weight(ioband: Guest) -> None:
    """With any weights and sizes; set and removed under load."""
    guest = ioband
    with competing(guest, "a", "b", "c") as (device, (a, b, c)):
        device.set_weight(a, 1)
        device.set_weight(b, 1000)
        device.set_weight(c, 3000)
        jobs = [
            Stream("a", device.path, a, bs="4k"),
            Stream("b", device.path, b, bs="32k"),
            Stream("c", device.path, c, bs="32k"),
        ]
        load = Load(guest, jobs).start()
        guest.sleep(1)
        moments = [guest.now_ms()]
        for riops in (400, 0):
            device.set_min(a, riops=riops)
            expected = {"riops": riops} if riops else None
            assert device.tree()["/a"].min == expected
            guest.sleep(2)
            moments.append(guest.now_ms())
        measured = load.stop()
        kept = measured.window(moments[0] + 100, moments[1])
        gone = measured.window(moments[1] + 200, moments[2])
    assert kept["a"].iops == pytest.approx(400 * 64 / 63, rel=0.02)  # see sched/min.c
    assert kept["c"].iops == pytest.approx(3 * kept["b"].iops, rel=0.05)
    assert kept["a"].iops + kept["b"].iops + kept["c"].iops > 0.9 * DISK_IOPS
    assert gone["a"].iops < 30


def test_the_larger_one_of_share_and_minimum(ioband: Guest) -> None:
    """Share and minimum do not add up."""
    guest = ioband
    with competing(guest, "a", "b") as (device, (a, b)):
        jobs = [Stream("a", device.path, a, bs="4k"), Stream("b", device.path, b, bs="4k")]
        device.set_weight(a, 200)
        device.set_min(a, riops=300)
        got = running(device, *jobs)
    assert got["a"].iops == pytest.approx(2 * got["b"].iops, rel=0.03)


def test_below_others_and_one_way_only(ioband: Guest) -> None:
    """A minimum of reads below a parent of small weight; writes follow the weights."""
    guest = ioband
    paths = ("up", "up/one", "up/two", "other")
    with competing(guest, *paths) as (device, (up, one, two, other)):
        device.set_weight(up, 1)
        device.set_weight(other, 1000)
        device.set_min(one, rbps=4 * MIB, wiops=1)
        got = running(
            device,
            Stream("read", device.path, one, bs="16k"),
            Stream("written", device.path, one, bs="16k", rw="randwrite"),
            Stream("two", device.path, two, bs="16k"),
            Stream("other", device.path, other, bs="16k"),
        )
    assert got["read"].bandwidth / MIB == pytest.approx(4, rel=0.03)
    assert got["written"].iops < 40
    assert 5 < got["two"].iops < 40  # no group starves
    assert got["other"].iops > 0.9 * DISK_IOPS - 4 * MIB / 16384 - 60


@pytest.mark.long("test_wishes.py has minima, maxima and latency targets at once")
@pytest.mark.guest(parallel=True)
def test_nothing_is_lost_with_a_minimum(ioband: Guest) -> None:
    """Minima change and the device is suspended and reloaded under load; all data verify."""

    def wish(device: Ioband, groups: tuple[Cgroup, Cgroup], turn: int) -> None:
        a, b = groups
        device.set_min(a, wiops=1 + 300 * turn, rbps=turn << 20)
        device.set_min(b, **({"wbps": MIB << turn} if turn % 2 else {}))

    verified(ioband, "randwrite", wish)
