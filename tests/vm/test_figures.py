# SPDX-License-Identifier: GPL-2.0-only
"""iobandctl's figures of competing groups: one load, seen by each verb."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from harness.cgroup import Cgroup
from harness.devices import null_blk
from harness.load import Load, Stream
from harness.tool import Tool
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from test_tool import created

pytestmark = pytest.mark.guest(icount=True)


@contextmanager
def disk_of(tool: Tool) -> Iterator[str]:
    """The path of an ioband device over a disk of 40 MB/s."""
    with null_blk(tool.guest, mbps=40) as disk, created(tool, "io-d", disk) as path:
        yield path


@contextmanager
def competition(tool: Tool, path: str) -> Iterator[None]:
    """Cgroups a (weight 300) and b (100) read from a device as fast as they can."""
    guest = tool.guest
    with Cgroup(guest, "a") as a, Cgroup(guest, "b") as b:
        tool.run("set-weight", "a", "300")
        options = {"write_lat_log": None}
        load = Load(guest, [Stream(each.path, path, each, options=options) for each in (a, b)])
        load.start()
        guest.sleep(1)
        yield
        load.end()


def samples(tool: Tool) -> dict[tuple[str, str], float]:
    """The metrics of groups, by name and group; all directions together."""
    sums: dict[tuple[str, str], float] = {}
    for family in text_string_to_metric_families(tool.run("metrics", "--openmetrics")):
        for sample in family.samples:
            if sample.labels.get("le", "+Inf") == "+Inf":
                key = sample.name, sample.labels.get("group", "")
                sums[key] = sums.get(key, 0) + sample.value
    return sums


def assert_metrics(tool: Tool) -> None:
    """Rates of counters match the weights, and the histograms have all completions."""
    before = samples(tool)
    tool.guest.sleep(2)
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
        # The two figures come from two messages, one after the other.
        made = after[done, group] - before[done, group]
        assert after[counted, group] - before[counted, group] == pytest.approx(made, rel=0.05)
        for time in ("wait", "service"):
            total, of_bins = (
                f"ioband_group_{time}_{what}" for what in ("time_seconds_total", "seconds_sum")
            )
            took = after[total, group] - before[total, group]
            assert after[of_bins, group] - before[of_bins, group] == pytest.approx(took, rel=0.05)


def assert_explanations(tool: Tool) -> None:
    """Both groups are bound by their weights; the idle root is not."""
    for name, entitled in (("a", 75), ("b", 25)):
        (row,) = tool.json("explain", name, "--interval", "1.5")
        assert row["verdict"] == "weight", row["says"]
        assert row["entitled_pct"] == entitled
        assert row["share_pct"] == pytest.approx(entitled, rel=0.05)
        others = {part["group"]: part["share_pct"] for part in row["children"][1:]}
        rest = others["/b" if name == "a" else "/a"]
        assert rest == pytest.approx(100 - row["share_pct"], abs=0.5)
    (row,) = tool.json("explain", "root", "--interval", "0.2")
    assert (row["verdict"], row["entitled_pct"]) == ("idle", 20)


def assert_top(tool: Tool) -> None:
    """In pages: unit tests cover the terminal."""
    (rows,) = tool.documents("top", "--batch", "--interval", "1.5", "--count", "1")
    assert [row["group"] for row in rows] == ["/a", "/b"]
    for row, due in zip(rows, (75, 25), strict=True):
        assert row["due_pct"] == due
        assert row["share_pct"] == pytest.approx(due, rel=0.05)
        assert row["bytes_per_s"] == pytest.approx(40e6 * due / 100, rel=0.1)
        assert row["held_now"] > 0
        assert 0 < row["wait_avg_ns"] < 2 * row["wait_p99_ns"]
        assert 0 < row["service_avg_ns"] < 2 * row["service_p99_ns"]


def assert_alone(tool: Tool, path: str) -> None:
    """One reader, one I/O at a time, without competition: it waits for the device."""
    with Cgroup(tool.guest, "c") as alone:
        options = {"write_lat_log": None}
        load = Load(tool.guest, [Stream("c", path, alone, iodepth=1, options=options)]).start()
        (row,) = tool.json("explain", "c", "--interval", "1")
        load.end()
    assert row["verdict"] == "device", row["says"]
    assert row["entitled_pct"] == row["share_pct"] == 100
    assert "No other group did I/O." in row["says"]


def test_figures(tool: Tool) -> None:
    with disk_of(tool) as path:
        with competition(tool, path):
            assert_metrics(tool)
            assert_explanations(tool)
            assert_top(tool)
            for kind, words in {"GROUP": {"/a", "/b", "root"}, "NAMES": {"io-d"}}.items():
                assert set(tool.run("completion", "--words", kind).split()) == words
        assert_alone(tool, path)


def assert_held_back(tool: Tool) -> None:
    """c misses its target, which no device can meet; b is throttled for it."""
    (row,) = tool.json("get-latency", "c")
    assert row["latency_us"] == 1
    (status,) = tool.json("status")
    assert status["brake_bytes_per_s"] > 0
    assert samples(tool)["ioband_group_latency_target_seconds", "/c"] == pytest.approx(1e-6)
    assert samples(tool)["ioband_pool_brake_bytes_per_second", ""] > 0
    assert "latency = 1us" in tool.run("dump")
    for name, verdict in (("c", "device"), ("b", "brake")):
        (row,) = tool.json("explain", name, "--interval", "2")
        assert row["verdict"] == verdict, row["says"]
        (target,) = (child for child in row["children"] if child["type"] == "latency")
        assert (target["group"], target["latency_us"], target["late"]) == ("/c", 1, True)


def test_latency_targets(tool: Tool) -> None:
    """One group reads one I/O at a time, beside another without such a limit."""
    guest = tool.guest
    with disk_of(tool) as path, Cgroup(guest, "b") as b, Cgroup(guest, "c") as c:
        options = {"write_lat_log": None}
        jobs = [
            Stream("b", path, b, options=options),
            Stream("c", path, c, bs="4k", iodepth=1, options=options),
        ]
        load = Load(guest, jobs).start()
        tool.run("set-latency", "c", "1us")
        guest.sleep(3)
        assert_held_back(tool)
        tool.run("set-latency", "c", "none")
        guest.sleep(0.1)
        (status,) = tool.json("status")
        assert status["brake_bytes_per_s"] == 0
        load.end()
