# SPDX-License-Identifier: GPL-2.0-only
"""The output of metrics, read by the parser of Prometheus' own client library."""

import fcntl
import os
import re
import stat
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from fakekernel import Fake, slots
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.parser import text_string_to_metric_families as classic_families

LAST_SUCCESS = "ioband_last_success_timestamp_seconds"


@dataclass
class Metrics:
    """The samples of a text, by name and labels."""

    text: str

    def __post_init__(self) -> None:
        self.families = {
            family.name: family for family in text_string_to_metric_families(self.text)
        }

    def samples(self, name: str, **labels: str) -> list[float]:
        """The values of the samples of a name with these labels."""
        return [
            sample.value
            for family in self.families.values()
            for sample in family.samples
            if sample.name == name and labels.items() <= sample.labels.items()
        ]

    def value(self, name: str, **labels: str) -> float:
        """The value of the only such sample."""
        (value,) = self.samples(name, **labels)
        return value


def test_devices_and_pools(host: Fake) -> None:
    metrics = Metrics(host.run("metrics", "--openmetrics"))
    assert metrics.samples("ioband_device_suspended", pool="sda") == [0, 0, 0]
    assert metrics.value("ioband_device_suspended", device="own", mode="device+cgroup") == 0
    assert metrics.value("ioband_pool_slice_seconds", pool="sdb") == 0.08
    assert metrics.value("ioband_pool_writes_starved", pool="sdb") == 5
    assert metrics.value("ioband_pool_writes_starved", pool="sda") == 2
    assert metrics.value("ioband_pool_shared", pool="sda") == 0
    wanted = {"depth_ios": 32, "piece_bytes": 32768, "devices": 2, "groups": 3}
    wanted |= {"active_groups": 1, "inflight_ios": 4, "inflight_bytes": 16384}
    wanted |= {"held_ios": 2, "held_bytes": 8192}
    for name, value in wanted.items():
        assert metrics.value(f"ioband_pool_{name}", pool="sda") == value, name


def test_groups(host: Fake) -> None:
    metrics = Metrics(host.run("metrics", "--openmetrics"))
    a = {"pool": "sda", "device": "", "group": "/a"}
    assert metrics.value("ioband_group_weight", **a) == 300
    assert metrics.value("ioband_group_weight", device="own", group="/o dd") == 50
    assert metrics.value("ioband_group_weight", device="own", group="device") == 200
    assert metrics.value("ioband_group_weight", group="cgroup#999") == 9
    assert metrics.samples("ioband_group_weight", group="root") == [70, 100]
    assert metrics.value("ioband_group_held_ios", **a) == 2
    assert metrics.value("ioband_group_held_bytes", **a) == 8192
    assert metrics.value("ioband_group_inflight_ios", **a) == 5
    assert metrics.value("ioband_group_ios_total", **a, op="read") == 10
    assert metrics.value("ioband_group_bytes_total", **a, op="write") == 20480
    assert metrics.value("ioband_group_delayed_ios_total", **a, op="read") == 4
    assert metrics.value("ioband_group_wait_time_seconds_total", **a, op="read") == 8e-6
    assert metrics.value("ioband_group_service_time_seconds_total", **a, op="read") == 30e-6
    # A group without I/O has no counters.
    assert metrics.samples("ioband_group_ios_total", group="/a/b") == []


def test_bounds(host: Fake) -> None:
    """Existing bounds only, with the labels of the counters."""
    text = (host.root / "answers/one@groups").read_text()
    words = "weight=300 set=1 path=/a"
    text = text.replace(f"{words}\n", f"{words} max=5,max,6,7 min=0,3,0,2\n")
    host.answer("one", "groups", text)
    metrics = Metrics(host.run("metrics", "--openmetrics"))
    a = {"pool": "sda", "device": "", "group": "/a"}
    name = "ioband_group_max_bytes_per_second"
    assert metrics.families[name].unit == "bytes_per_second"
    assert metrics.value(name) == metrics.value(name, **a, op="read") == 5
    name = "ioband_group_max_ios_per_second"
    assert metrics.value(name, **a, op="read") == 6
    assert metrics.value(name, **a, op="write") == 7
    assert len(metrics.samples(name)) == 2
    name = "ioband_group_min_bytes_per_second"
    assert metrics.families[name].unit == "bytes_per_second"
    assert metrics.value(name) == metrics.value(name, **a, op="write") == 3
    name = "ioband_group_min_ios_per_second"
    assert metrics.value(name) == metrics.value(name, **a, op="write") == 2


def test_latency_targets(host: Fake) -> None:
    """In seconds, of groups with a target; and the rate of the throttle."""
    status = "1 pool=p mode=cgroup measure=bytes state=shared depth=32 groups=3 active=1 "
    status += "held=2,8192 inflight=4,16384 devices=1 slice=0 piece=0 brake=1048576"
    host.device("late", "253:5", "p", status=status)
    host.append("one", "groups", {"weight=300 set=1 path=/a": "latency=1500"})
    for kind in ("groups", "stats", "latency"):
        host.answer("late", kind, f"1 {kind}\nend\n")
    metrics = Metrics(host.run("metrics", "--openmetrics"))
    name = "ioband_group_latency_target_seconds"
    assert metrics.families[name].unit == "seconds"
    assert metrics.value(name) == metrics.value(name, pool="sda", group="/a") == 0.0015
    assert metrics.value("ioband_pool_brake_bytes_per_second", pool="p") == 1048576
    assert metrics.value("ioband_pool_brake_bytes_per_second", pool="sda") == 0


def test_histograms(host: Fake) -> None:
    """Cumulative, in seconds; unused directions have none."""
    metrics = Metrics(host.run("metrics", "--openmetrics"))
    a = {"pool": "sda", "device": "", "group": "/a"}
    family = metrics.families["ioband_group_wait_seconds"]
    assert (family.type, family.unit) == ("histogram", "seconds")
    name = "ioband_group_wait_seconds_bucket"
    assert metrics.samples(name, **a, op="read") == [0, 0, *[4] * 24]
    assert metrics.samples(name, **a, op="write") == []
    name = "ioband_group_service_seconds_bucket"
    assert metrics.value(name, **a, op="read", le="2.048e-06") == 0
    assert metrics.value(name, **a, op="read", le="4.096e-06") == 10
    assert metrics.value(name, **a, op="write", le="1.024e-06") == 5
    assert metrics.value(name, **a, op="write", le="+Inf") == 5
    last = [sample.labels["le"] for sample in family.samples if "le" in sample.labels][24]
    assert float(last) == 2**24 * 1024 / 1e9


def test_sums_of_histograms(host: Fake) -> None:
    """Each set of buckets has a sum and a count of its values."""
    metrics = Metrics(host.run("metrics", "--openmetrics"))
    a = {"pool": "sda", "device": "", "group": "/a"}
    sums = {("wait", "read"): (4, 13e-6), ("service", "read"): (10, 30e-6)}
    sums |= {("service", "write"): (5, 4e-6)}
    for (name, op), (count, total) in sums.items():
        name = f"ioband_group_{name}_seconds"
        assert metrics.value(f"{name}_count", **a, op=op) == count
        assert metrics.value(f"{name}_bucket", **a, op=op, le="+Inf") == count
        assert metrics.value(f"{name}_sum", **a, op=op) == total
    for name in ("count", "sum"):
        assert len(metrics.samples(f"ioband_group_wait_seconds_{name}")) == 1
        assert len(metrics.samples(f"ioband_group_service_seconds_{name}")) == 2


def test_module_without_sums(host: Fake) -> None:
    """The format requires both or neither."""
    path = host.root / "answers/one@latency"
    text = path.read_text()
    path.write_text(text[: text.index(" read.wait_ns")] + "\nend\n")
    metrics = Metrics(host.run("metrics", "--openmetrics"))
    assert metrics.value("ioband_group_wait_seconds_bucket", op="read", le="+Inf") == 4
    for name in ("wait", "service"):
        for what in ("count", "sum"):
            assert metrics.samples(f"ioband_group_{name}_seconds_{what}") == []


def test_units_and_types(host: Fake) -> None:
    """Each family has a type, a unit if any, and a description."""
    metrics = Metrics(host.run("metrics", "--openmetrics"))
    for family in metrics.families.values():
        assert family.type in ("counter", "gauge", "histogram", "info")
        assert family.documentation.endswith(".")
        for unit in ("seconds", "bytes", "ios"):
            assert (family.unit == unit) == family.name.endswith(f"_{unit}")


def without_time(text: str) -> list[str]:
    """The lines of a text without the time of its writing."""
    return [line for line in text.splitlines() if not line.startswith(LAST_SUCCESS)]


def test_the_default_is_the_format_of_prometheus(host: Fake) -> None:
    """The same samples as in OpenMetrics; each family has the name of its samples and a type."""
    text = host.run("metrics")
    families = list(classic_families(text))
    assert {family.type for family in families} == {"counter", "gauge", "histogram"}
    assert not re.findall("^# (?!TYPE|HELP).*", text, re.MULTILINE)
    counters = re.findall(r"^# TYPE (\w+) counter$", text, re.MULTILINE)
    assert len(counters) == 5
    for name in counters:
        assert name.endswith("_total")
        assert f"\n# HELP {name} " in text
        assert f"\n{name}{{" in text
    samples = [line for line in without_time(text) if line[0] != "#"]
    strict = without_time(host.run("metrics", "--openmetrics"))
    assert samples == [line for line in strict if line[0] != "#"]


def test_versions_time_and_watch(host: Fake) -> None:
    metrics = Metrics(host.run("metrics", "--openmetrics"))
    assert metrics.families["ioband_build"].type == "info"
    (sample,) = metrics.families["ioband_build"].samples
    version = host.run("--version").split()[1]
    assert sample.labels == {"version": version, "target_version": "1.0.0"}
    assert abs(metrics.value(LAST_SUCCESS) - time.time()) < 60
    assert metrics.value("ioband_watch_running") == 0
    (host.root / "run").mkdir()
    with open(host.root / "run/.watch", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # as watch does
        assert "\nioband_watch_running 1\n" in host.run("metrics")
    assert "\n# TYPE ioband_build_info gauge\n" in host.run("metrics")


def test_names_are_escaped(host: Fake) -> None:
    """A quotation mark, a backslash and a newline, and texts that only look like these."""
    host.answer(
        "byuid",
        "groups",
        "1 groups\n1 0 root weight=100 set=0\n"
        '2 1 cgroup#5 weight=7 set=1 path=/q"\\134n\\012{},=x\nend\n',
    )
    metrics = Metrics(host.run("metrics", "--openmetrics"))
    assert metrics.value("ioband_group_weight", group='/q"\\n\n{},=x') == 7


def test_cgroup_made_again(host: Fake) -> None:
    """The old group still exists: there is one series, of the new group."""
    host.answer(
        "byuid",
        "groups",
        "1 groups\n1 0 root weight=100 set=0\n8 1 cgroup#8 weight=8 set=1 path=/x\n"
        "9 1 cgroup#9 weight=9 set=1 path=/x\n7 1 cgroup#7 weight=7 set=1 path=/x\nend\n",
    )
    metrics = Metrics(host.run("metrics", "--openmetrics"))
    assert metrics.samples("ioband_group_weight", group="/x") == [9]


def test_some(host: Fake) -> None:
    metrics = Metrics(host.run("metrics", "--openmetrics", "--pool", "sdb"))
    assert metrics.samples("ioband_pool_devices") == [2]
    assert metrics.samples("ioband_device_suspended") == [0]
    metrics = Metrics(host.run("metrics", "--openmetrics", "--device", "own"))
    assert metrics.samples("ioband_group_weight") == [50, 200]
    assert "there is no pool 'nope'" in host.run("metrics", "--openmetrics", "--pool", "nope", rc=3)


def test_no_devices(fake: Fake) -> None:
    (fake.root / "devices").write_text("")
    assert Metrics(fake.run("metrics", "--openmetrics")).samples("ioband_device_suspended") == []
    assert "there is no device 'x'" in fake.run("metrics", "--device", "x", rc=3)


def test_output(host: Fake, tmp_path: Path) -> None:
    """The file is replaced, is readable by all, and no other file is left."""
    directory = tmp_path / "metrics"
    directory.mkdir()
    path = directory / "ioband.prom"
    path.write_text("old")
    before = path.stat().st_ino
    umask = os.umask(0o022)
    assert host.run("metrics", "--output", str(path)) == ""
    os.umask(umask)
    assert without_time(path.read_text()) == without_time(host.run("metrics"))
    assert path.stat().st_ino != before
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert os.listdir(directory) == ["ioband.prom"]


def test_failed_output(host: Fake, tmp_path: Path) -> None:
    """The old file stays."""
    directory = tmp_path / "metrics"
    (directory / "taken").mkdir(parents=True)
    said = host.run("metrics", "--output", str(directory / "taken"), rc=1)
    assert f"cannot write {directory}/taken: Is a directory" in said
    said = host.run("metrics", "--output", f"{tmp_path}/nope/x", rc=3)
    assert "nope/x: No such file or directory" in said
    path = directory / "ioband.prom"
    path.write_text("old")
    host.answer("one", "latency", "2 latency\nend\n")
    assert "its format is '2'" in host.run("metrics", "--output", str(path), rc=7)
    assert path.read_text() == "old"
    assert sorted(os.listdir(directory)) == ["ioband.prom", "taken"]


def test_many_groups(host: Fake) -> None:
    """More groups than one page has."""
    lines = [f"{n} 1 cgroup#{n} weight=5 set=1 path=/g{n}\n" for n in range(2, 2002)]
    host.answer("byuid", "groups", "1 groups\n1 0 root weight=1 set=0\nnext 1\n")
    host.answer("byuid", "groups 1", f"1 groups\n{''.join(lines[:1000])}next 1001\n")
    host.answer("byuid", "groups 1001", f"1 groups\n{''.join(lines[1000:])}end\n")
    waits = f"read.wait={slots(s2=4)} read.service={slots()} "
    waits += f"write.wait={slots()} write.service={slots()} "
    waits += f"discard.wait={slots()} discard.service={slots()}\n"
    text = "".join(f"{n} cgroup#{n} {waits}" for n in range(2, 2002))
    host.answer("byuid", "latency", f"1 latency\n{text}end\n")
    metrics = Metrics(host.run("metrics", "--openmetrics", "--pool", "sdb"))
    assert len(metrics.samples("ioband_group_weight")) == 2001
    assert len(metrics.samples("ioband_group_wait_seconds_bucket", le="+Inf")) == 2000


@pytest.mark.parametrize("words", [["x"], ["--json"], ["--output"]])
def test_usage(host: Fake, words: list[str]) -> None:
    assert "see 'iobandctl help metrics'" in host.run("metrics", "--openmetrics", *words, rc=2)
