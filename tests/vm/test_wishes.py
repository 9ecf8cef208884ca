# SPDX-License-Identifier: GPL-2.0-only
"""Maxima, minima and latency targets together, in real time: nothing is lost, or hangs.

How well each is kept the tests of each show, with a clock of instructions; these run
where there is none, too.
"""

import pytest
from harness.cgroup import Cgroup
from harness.disturb import verified
from harness.guest import Guest
from harness.ioband import Ioband
from harness.variants import variants


@pytest.mark.guest(parallel=True)
@pytest.mark.parametrize("slice_ms", variants([0, 20], 0))
def test_nothing_is_lost_with_all_wishes_at_once(ioband: Guest, slice_ms: int) -> None:
    """Given, changed and taken away in all mixtures, with slices and without."""

    def wish(device: Ioband, groups: tuple[Cgroup, Cgroup], turn: int) -> None:
        a, b = groups
        if not turn:
            device.set(slice=slice_ms)
        device.set_weight(a, 1 + 999 * (turn % 3))
        device.set_max(a, **({"wbps": 8 << 20, "riops": 4000} if turn % 2 else {}))
        device.set_min(b, **({"riops": 100 << turn, "wbps": 1 << 20} if turn % 4 else {}))
        device.set_latency(a, 1000 if turn % 3 else "default")
        device.set_latency("root", 500 if turn % 4 > 1 else "default")
        if turn in (3, 6):
            other = "time" if slice_ms else "ios"
            device.set(measure=other if turn == 3 else "bytes")

    verified(ioband, "randrw", wish)
