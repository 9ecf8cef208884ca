# SPDX-License-Identifier: GPL-2.0-only
"""The latency target of writes, beside that of reads; on a fake kernel."""

import pytest
from fakekernel import Fake, configure
from test_explain import INTERVAL, begin


@pytest.fixture
def targeted(host: Fake) -> Fake:
    """Cgroup /a has both targets in the pool's tree."""
    for name in ("one", "own"):
        host.append(name, "groups", {"weight=300 set=1 path=/a": "latency=2000 write_latency=5000"})
    return host


def test_set_and_get(targeted: Fake) -> None:
    a = targeted.cgroup("/a")
    targeted.run("set", "a", "write_latency=10ms")
    assert targeted.told("write-latency-target") == [
        f"{name}: write-latency-target cgroup#{a} 10000" for name in ("one", "own")
    ]
    assert not targeted.told("latency-target")
    targeted.run("set", "--device", "one", "a", "write_latency=none", "latency=1ms")
    assert targeted.told("write-latency-target") == [
        f"one: write-latency-target cgroup#{a} default"
    ]
    row = targeted.json("get", "a")[0]
    assert (row["latency_us"], row["write_latency_us"]) == (2000, 5000)
    assert targeted.run("get", "a").splitlines()[1].split()[-2:] == ["2ms", "5ms"]
    said = targeted.run("set", "a", "write_latency=5", rc=2)
    assert "'5': a latency is a number with us, ms or s behind it" in said


def test_groups_and_files(targeted: Fake) -> None:
    header = targeted.run("groups", "--pool", "sda").splitlines()[0].split()
    assert header[-2:] == ["LATENCY", "WRITE-LATENCY"]
    line = "pool=sda group=cgroup:/a weight=300 latency=2000 write_latency=5000\n"
    assert line in targeted.run("groups", "--weights")
    targeted.run("set", "--from", "-", stdin=f"1 weights\n{line}")
    assert targeted.told("write-latency-target") == [
        f"one: write-latency-target cgroup#{targeted.cgroup('/a')} 5000"
    ]
    assert "latency = 2ms\nwrite_latency = 5ms\n" in targeted.run("dump")


def test_apply(targeted: Fake) -> None:
    a = targeted.cgroup("/a")
    args = configure(targeted, "[group /a]\nwrite_latency = 7ms\n")
    rows = [row for row in targeted.json(*args, "--dry-run") if row["action"] != "preset"]
    assert [(row["action"], row["device"], row["from"], row["to"]) for row in rows] == [
        ("write_latency", None, "5ms", "7ms"),
        ("write_latency", "own", "none", "7ms"),
    ]
    targeted.run(*args)
    assert targeted.told("write-latency-target") == [
        f"{name}: write-latency-target cgroup#{a} 7000" for name in ("one", "own")
    ]


def test_metrics(targeted: Fake) -> None:
    lines = targeted.run("metrics").splitlines()
    (line,) = [
        line
        for line in lines
        if line.startswith("ioband_group_write_latency_target_seconds{") and '"/a"' in line
    ]
    assert float(line.split()[-1]) == 0.005


def test_explain(host: Fake) -> None:
    begin(host, six="weight=100 write_latency=1")
    (row,) = host.json("explain", "uid:6", *INTERVAL)
    assert "synchronous writes, here with writeback, of uid:6 are to take 1us" in row["says"]
    (target,) = [child for child in row["children"] if child["type"] == "write_latency"]
    assert (target["latency_us"], target["ios"]) == (1, 1)
