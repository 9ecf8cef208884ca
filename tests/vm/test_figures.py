# SPDX-License-Identifier: GPL-2.0-only
"""What iobandctl says of groups while they compete: one load, looked at by each verb."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from harness.cgroup import Cgroup
from harness.devices import null_blk
from harness.guest import Guest
from harness.load import Load, Stream
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from test_tool import Tool, created

pytestmark = pytest.mark.guest(icount=True)


@pytest.fixture
def tool(ioband: Guest, iobandctl: Path) -> Tool:
    """iobandctl in a guest with the module loaded, whose clock is the instructions executed."""
    return Tool(ioband, str(iobandctl))


@contextmanager
def competition(tool: Tool) -> Iterator[None]:
    """Cgroups a (weight 300) and b (100) read from io-d as fast as they can."""
    guest = tool.guest
    with (
        null_blk(guest, mbps=40) as disk,
        created(tool, "io-d", disk) as path,
        Cgroup(guest, "a") as a,
        Cgroup(guest, "b") as b,
    ):
        tool.run("set-weight", "a", "300")
        options = {"write_lat_log": None}
        load = Load(guest, [Stream(each.path, path, each, options=options) for each in (a, b)])
        load.start()
        guest.sleep(1)
        yield
        load.end()


def samples(tool: Tool) -> dict[tuple[str, str], float]:
    """What metrics prints of groups, by name and group; all directions together."""
    sums: dict[tuple[str, str], float] = {}
    for family in text_string_to_metric_families(tool.run("metrics")):
        for sample in family.samples:
            if sample.labels.get("le", "+Inf") == "+Inf":
                key = sample.name, sample.labels.get("group", "")
                sums[key] = sums.get(key, 0) + sample.value
    return sums


def assert_metrics(tool: Tool) -> None:
    """Rates of counters are as the weights are, and the histograms have what was counted."""
    before = samples(tool)
    tool.guest.sleep(3)
    after = samples(tool)
    names = ("bytes_total", "ios_total", "delayed_ios_total", "wait_seconds_bucket")
    for name in names:
        key = f"ioband_group_{name}"
        a, b = (after[key, group] - before[key, group] for group in ("/a", "/b"))
        assert a / b == pytest.approx(3, rel=0.05), name
    assert after["ioband_group_weight", "/a"] == 300
    assert after["ioband_group_held_ios", "/a"] > 0
    assert after["ioband_pool_shared", ""] == 1
    assert after["ioband_pool_active_groups", ""] == 2
    done, counted = "ioband_group_ios_total", "ioband_group_service_seconds_bucket"
    for group in ("/a", "/b"):
        # What is counted comes from two messages, one after the other.
        made = after[done, group] - before[done, group]
        assert after[counted, group] - before[counted, group] == pytest.approx(made, rel=0.05)


def test_figures(tool: Tool) -> None:
    with competition(tool):
        assert_metrics(tool)
