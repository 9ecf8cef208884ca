# SPDX-License-Identifier: GPL-2.0-only
"""iobandctl from end to end: the real module, LVM, udev and device-mapper.

The tool is built with sanitizers.  tests/unit/iobandctl has the tests without a kernel.
"""

import itertools
import json
import re
import signal
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import pytest
from harness.cgroup import V2_ROOT, Cgroup
from harness.devices import DmDevice, VolumeGroup, linear, mounted, null_blk
from harness.guest import SHARE, Guest
from harness.ioband import Ioband, group_name
from harness.load import Load, Stream, fio
from harness.tool import Tool, udev_is_done
from harness.waiting import wait_until
from PIL import Image

NOTHING = type(None)
SVG = "{http://www.w3.org/2000/svg}"
HALF = 65536  # sectors

# The members of the objects that --json prints, as in the manual page.
DEVICE = {
    "name": str,
    "number": str,
    "device": str,
    "device_number": str,
    "offset": int,
    "size": int,
    "pool": str,
    "mode": str,
    "measure": str,
    "weight": int | None,
    "depth": str,
    "slice_ms": int,
    "writes_starved": int,
    "state": str,
    "read_only": bool,
    "inserted": bool,
}
STATUS = {
    **dict.fromkeys(("name", "pool", "mode", "measure", "state"), str),
    **dict.fromkeys(("devices", "groups", "active", "depth", "piece_bytes", "slice_ms"), int),
    **dict.fromkeys(("writes_starved", "brake_bytes_per_s"), int),
    **dict.fromkeys(("inflight_ios", "inflight_bytes", "held_ios", "held_bytes"), int),
}
WEIGHT = {"pool": str, "device": str | None, "group": str, "id": str, "weight": int, "set": bool}
MAX_RATES = dict.fromkeys(("max_rbps", "max_wbps", "max_riops", "max_wiops"), int | None)
MIN_RATES = dict.fromkeys(("min_rbps", "min_wbps", "min_riops", "min_wiops"), int | None)
RATES = {**MAX_RATES, **MIN_RATES}
LATENCY = {"latency_us": int | None, "write_latency_us": int | None}
MAXIMUM = {"pool": str, "device": str | None, "group": str, "id": str, **MAX_RATES}
SETTINGS = {**WEIGHT, **RATES, **LATENCY}
POOL = {
    **dict.fromkeys(("pool", "measure", "depth"), str),
    **dict.fromkeys(("device", "mode"), str | None),
    "slice_ms": int,
    "writes_starved": int,
}
MINIMUM = {"pool": str, "device": str | None, "group": str, "id": str, **MIN_RATES}
SAVED = {
    "pool": str,
    "device": str | None,
    "group": str,
    "id": str,
    "weight": int | None,
    **RATES,
    **LATENCY,
}
GROUP = {
    "name": str,
    "type": str,
    "group": str | None,
    "id": str | None,
    "path": str | None,
    "weight": int | None,
    "set": bool | None,
    **RATES,
    **LATENCY,
}
TIMES = ("wait_avg", "wait_p50", "wait_p99", "service_avg", "service_p50", "service_p99")
STAT = {
    **dict.fromkeys(("pool", "group", "id", "op"), str),
    **dict.fromkeys(("device", "path"), str | None),
    **dict.fromkeys(("ios", "bytes", "held_ios"), int),
    **{f"{name}_ns": int | None for name in (*TIMES, "service_max")},
    **dict.fromkeys(("inflight_now", "held_now", "held_now_bytes"), int | None),
    "seconds": NOTHING,
    "ios_per_s": NOTHING,
    "bytes_per_s": NOTHING,
    "share_pct": NOTHING,
}
INTERVAL = STAT | {
    "seconds": float,
    "ios_per_s": float,
    "bytes_per_s": int,
    "share_pct": float | None,
}


def assert_schema(rows: list[dict], schema: dict[str, object]) -> None:
    """Each object has exactly these members, of these types."""
    assert rows
    for row in rows:
        assert set(row) == set(schema)
        for key, kind in schema.items():
            assert type(row[key]) in (get_args(kind) or (kind,)), (key, row)


def assert_tree(rows: list[dict]) -> None:
    """The objects, and those in their children, are groups."""
    for row in rows:
        assert_schema([{key: row[key] for key in row if key != "children"}], GROUP)
        assert_tree(row.get("children", []))


@dataclass(frozen=True)
class Volumes:
    """Two mapped devices on one disk."""

    disk: str
    one: str
    two: str


@pytest.fixture
def logical(ioband: Guest) -> Iterator[Volumes]:
    """vg0/one and vg0/two, of 32 MiB."""
    with (
        null_blk(ioband, size_mib=128, memory_backed=1) as disk,
        VolumeGroup(ioband, "vg0", [disk]) as group,
    ):
        yield Volumes(disk, group.create("one", 32), group.create("two", 32))


@pytest.fixture
def volumes(ioband: Guest) -> Iterator[Volumes]:
    """Mapped devices one and two, of 32 MiB: faster to make than logical volumes."""
    with (
        null_blk(ioband, size_mib=64, memory_backed=1) as disk,
        DmDevice(ioband, "one", f"0 {HALF} linear {disk} 0") as one,
        DmDevice(ioband, "two", f"0 {HALF} linear {disk} {HALF}") as two,
    ):
        yield Volumes(disk, one.path, two.path)


@contextmanager
def created(tool: Tool, name: str, below: str, *options: str) -> Iterator[str]:
    """An ioband device that iobandctl makes and removes; yields its path."""
    tool.run("create", *options, name, below)
    try:
        yield f"/dev/mapper/{name}"
    finally:
        tool.run("remove", name)


def number_of(guest: Guest, path: str) -> str:
    """The number of a device, as 253:0."""
    return guest.run(["stat", "-L", "-c", "%Hr:%Lr", path]).out.strip()


def dm_names(guest: Guest) -> list[str]:
    """All mapped devices."""
    return sorted(guest.run("cat /sys/block/dm-*/dm/name 2>/dev/null", check=False).out.split())


def assert_nothing_of(guest: Guest, name: str) -> None:
    """No device, node or udev link of that name exists."""
    assert name not in dm_names(guest)
    assert not guest.exists(f"/dev/mapper/{name}")
    assert not guest.exists(f"/dev/disk/by-id/dm-name-{name}")


# -- all main verbs, on every kernel -------------------------------------------------------------


@pytest.mark.all_kernels
def test_smoke(tool: Tool, logical: Volumes) -> None:
    with Cgroup(tool.guest, "a") as a:
        said = tool.run("create", "d", "vg0/one")
        disk = logical.disk.removeprefix("/dev/")
        assert said == f"/dev/mapper/d: pool {disk}, mode cgroup, measure bytes\n"
        tool.run("set-weight", "a", "300")
        fio(tool.guest, a, filename="/dev/mapper/d", rw="write", bs="64k", size="4m")
        (pool,) = tool.json("groups")
        weights = {group["path"]: group["weight"] for group in pool["children"]}
        assert weights == {None: 100, "/a": 300}
        total = next(row for row in tool.json("stat", "/a") if row["op"] == "total")
        assert (total["path"], total["bytes"]) == ("/a", 4 << 20)
        tool.run("remove", "d")
    assert_nothing_of(tool.guest, "d")


@pytest.mark.guest(cgroup="v1")
def test_cgroups_of_version_1(tool: Tool, volumes: Volumes) -> None:
    guest = tool.guest
    with Cgroup(guest, "a/b") as b, created(tool, "d", volumes.one) as device:
        tool.run("set-weight", "a", "300")
        tool.run("set-weight", b.directory, "50")  # where blkio is mounted
        fio(guest, b, filename=device, rw="write", bs="64k", size="4m")
        (pool,) = tool.json("groups")
        (a,) = (group for group in pool["children"] if group["path"])
        assert (a["path"], a["weight"]) == ("/a", 300)
        assert [(row["path"], row["weight"]) for row in a["children"]] == [("/a/b", 50)]
        assert [row["weight"] for row in tool.json("get-weight", "/a/b")] == [50]
        total = next(row for row in tool.json("stat", "/a/b") if row["op"] == "total")
        assert (total["path"], total["bytes"]) == ("/a/b", 4 << 20)
        tool.refused(3, "set-weight", "a/c", "5", says="a/c")


# -- every verb, as text and as JSON -------------------------------------------------------------


def test_create_and_list(tool: Tool, volumes: Volumes) -> None:
    options = ["--mode", "device", "--weight", "200", "--measure", "ios", "--depth", "7"]
    options += ["--slice", "40", "--writes-starved", "3"]
    rows = tool.json("create", *options, "--pool", "p:1", "d", volumes.one)
    assert_schema(rows, DEVICE)
    guest = tool.guest
    assert rows == [
        {
            "name": "d",
            "number": number_of(guest, "/dev/mapper/d"),
            "device": "one",
            "device_number": number_of(guest, volumes.one),
            "offset": 0,
            "size": 32 << 20,
            "pool": "p:1",
            "mode": "device",
            "measure": "ios",
            "weight": 200,
            "depth": "7",
            "slice_ms": 40,
            "writes_starved": 3,
            "state": "active",
            "read_only": False,
            "inserted": False,
        }
    ]
    assert tool.json("list") == rows
    header, line = tool.run("list").splitlines()
    assert header.split() == [
        "NAME", "DEVICE", "SIZE", "POOL", "MODE", "MEASURE", "WEIGHT", "STATE", "RO",
    ]  # fmt: skip
    assert line.split() == (["d", "one", "32.0M", "p:1", "device", "ios", "200", "active", "no"])
    assert guest.run(["dmsetup", "info", "-c", "--noheadings", "-o", "uuid", "d"]).out.strip() == (
        "IOBAND-d"
    )
    assert tool.json("remove", "d") == rows
    assert (tool.run("list"), tool.json("list")) == ("", [])


def test_slices_where_the_disks_seek(tool: Tool, volumes: Volumes) -> None:
    def shares(name: str) -> tuple[int, str]:
        (row,) = (row for row in tool.json("list") if row["name"] == name)
        return row["slice_ms"], row["measure"]

    rotational = f"/sys/block/{volumes.disk.removeprefix('/dev/')}/queue/rotational"
    for says, expected in (("1", (124, "time")), ("0", (0, "bytes"))):
        tool.guest.write(rotational, says)
        with created(tool, "d1", volumes.one), created(tool, "d2", volumes.two):
            assert shares("d1") == shares("d2") == expected
        with created(tool, "d1", volumes.one, "--slice", "auto"):
            assert shares("d1") == expected
        with created(tool, "d1", volumes.one, "--slice", "20", "--measure", "bytes"):
            assert shares("d1") == (20, "bytes")
            with created(tool, "d2", volumes.two):
                assert shares("d2") == (20, "bytes")
    # A device that joins a pool gets the pool's settings, unless a number differs.
    with created(tool, "d1", volumes.one, "--slice", "20", "--measure", "time"):
        tool.guest.write(rotational, "1")
        with created(tool, "d2", volumes.two):
            assert shares("d2") == (20, "time")
        says = "slice=124: other devices are in pool"
        tool.guest.expect_dmesg("device-mapper: ")
        tool.refused(1, "create", "--slice", "auto", "d2", volumes.two, says=says)
        with created(tool, "d3", volumes.two, "--slice", "0", "--pool", "other"):
            assert shares("d3") == (0, "bytes")
        tool.guest.write(rotational, "0")
        with created(tool, "d3", volumes.two, "--slice", "20", "--pool", "other"):
            assert shares("d3") == (20, "bytes")


def test_udev_knows_it_when_create_returns(tool: Tool, volumes: Volumes) -> None:
    guest = tool.guest
    with created(tool, "d", volumes.one) as path:
        said = guest.run(["udevadm", "info", "-q", "property", "-n", path]).out
        assert "DM_NAME=d\n" in said
        assert "DM_UUID=IOBAND-d\n" in said
        assert guest.run(["readlink", "-f", path]).out.startswith("/dev/dm-")
    assert_nothing_of(guest, "d")
    assert udev_is_done(guest)


def test_status(tool: Tool, volumes: Volumes) -> None:
    with (
        created(tool, "d1", volumes.one, "--depth", "5"),
        created(tool, "d2", volumes.two),
    ):
        rows = tool.json("status")
        assert_schema(rows, STATUS)
        assert [row["name"] for row in rows] == ["d1", "d2"]
        assert rows[0] | {"name": "d2"} == rows[1]
        assert (rows[0]["state"], rows[0]["depth"], rows[0]["devices"]) == ("open", 5, 2)
        assert tool.json("status", "two") == rows[1:]
        header, line = tool.run("status", "d1").splitlines()
        assert header.split()[:9] == (
            ["NAME", "POOL", "MODE", "MEASURE", "STATE", "DEVICES", "GROUPS", "ACTIVE", "DEPTH"]
        )
        assert line.split()[0] == "d1"
        tool.guest.run(["dmsetup", "suspend", "d1"])
        assert [row["state"] for row in tool.json("status")] == ["suspended", "open"]
        assert [row["state"] for row in tool.json("list")] == ["suspended", "active"]
        tool.guest.run(["dmsetup", "resume", "d1"])


def test_groups_and_weights(tool: Tool, volumes: Volumes) -> None:
    guest = tool.guest
    with (
        created(tool, "plain", volumes.one),
        created(tool, "own", volumes.two, "--mode", "device+cgroup", "--weight", "70"),
        Cgroup(guest, "a"),
        Cgroup(guest, "a/b") as b,
    ):
        rows = tool.json("set-weight", "a/b", "250")
        assert rows == tool.json("get-weight", "a/b")
        assert_schema(rows, WEIGHT)
        assert [(row["device"], row["weight"], row["set"]) for row in rows] == [
            ("own", 250, True),
            (None, 250, True),
        ]
        tool.run("set-weight", "--device", "plain", "a/b", "9000")
        tool.run("set-weight", "root", "30")
        tool.run("set-weight", "own", "80")
        assert tool.json("list")[0]["weight"] == 80
        header, line = tool.run("get-weight", "own").splitlines()
        assert header.split() == ["POOL", "DEVICE", "GROUP", "WEIGHT", "SET"]
        assert line.split()[1:] == ["own", "device:own", "80", "set"]

        (pool,) = tool.json("groups")
        assert_tree([pool])
        assert pool["type"] == "pool"
        root, *others = pool["children"]
        children = {child["type"]: child for child in others}
        assert (root["type"], root["weight"], root["set"]) == ("root", 30, True)
        assert (children["device"]["name"], children["device"]["weight"]) == ("own", 80)
        assert children["cgroup"]["path"] == "/a"
        for top, weight in (("device", 250), ("cgroup", 9000)):
            (a,) = children[top]["children"] if top == "device" else [children[top]]
            (leaf,) = a["children"]
            assert (leaf["id"], leaf["weight"]) == (group_name(b), weight)
        names = [line.split()[0].lstrip("│├└─ ") for line in tool.run("groups").splitlines()]
        assert {"root", "own", "a"} <= set(names)

        saved = tool.json("groups", "--weights")
        assert_schema(saved, SAVED)
        assert sorted((row["device"] or "", row["group"], row["weight"]) for row in saved) == [
            ("", "/a/b", 9000),
            ("", "root", 30),
            ("own", "/a/b", 250),
            ("own", "device:own", 80),
        ]
        rows = tool.json("set-weight", "a/b", "default")
        assert rows == tool.json("get-weight", "a/b")
        assert [(row["weight"], row["set"]) for row in rows] == [(100, False)] * 2

        assert "MAX" not in tool.run("groups")
        tool.run("set-max", "a/b", "rbps=3MiB", "wiops=2K")
        (row,) = tool.json("set-max", "--device", "own", "a/b", "riops=7", "wiops=max")
        assert (row["device"], row["max_rbps"], row["max_wiops"]) == ("own", 3 << 20, None)
        tool.run("set-max", "own", "wbps=5")
        tool.run("set-max", "root", "rbps=1")
        tool.run("set-max", "root", "default")
        rows = tool.json("get-max", "a/b")
        assert_schema(rows, MAXIMUM)
        assert [(row["device"], *(row[key] for key in MAX_RATES)) for row in rows] == [
            ("own", 3 << 20, None, 7, None),
            (None, 3 << 20, None, None, 2000),
        ]
        assert tool.run("groups").splitlines()[0].split()[-1] == "MAX"

        rows = tool.json("set-min", "a/b", "rbps=2MiB", "riops=4", "wiops=1K")
        assert [row["min_wiops"] for row in rows] == [1000, 1000]
        tool.run("set-min", "--device", "own", "a/b", "riops=7", "wiops=none")
        tool.run("set-min", "own", "wbps=5")
        tool.run("set-min", "root", "rbps=1")
        tool.run("set-min", "root", "rbps=0")
        tool.refused(2, "set-min", "a/b", "rbps=4MiB", says="is more than the maximum of rbps=3MiB")
        tool.refused(2, "set-max", "own", "wbps=4", says="a minimum of wbps=5 is more than")
        rows = tool.json("get-min", "a/b")
        assert_schema(rows, MINIMUM)
        assert [(row["device"], *(row[key] for key in MIN_RATES)) for row in rows] == [
            ("own", 2 << 20, None, 7, None),
            (None, 2 << 20, None, 4, 1000),
        ]
        assert tool.json("get-min", "root")[0]["min_rbps"] is None
        assert tool.run("groups").splitlines()[0].split()[-2:] == ["MAX", "MIN"]
        saved = tool.json("groups", "--weights")
        assert_schema(saved, SAVED)
        keys = ("weight", "max_rbps", "min_rbps")
        assert sorted(
            (row["device"] or "", row["group"], *(row[key] or 0 for key in keys)) for row in saved
        ) == [
            ("", "/a/b", 0, 3 << 20, 2 << 20),
            ("", "root", 30, 0, 0),
            ("own", "/a/b", 0, 3 << 20, 2 << 20),
            ("own", "device:own", 80, 0, 0),
        ]


def test_users_and_processes(tool: Tool, volumes: Volumes) -> None:
    """One pool for each mode: iobandctl looks up a user's name, the kernel has the number."""
    own = tool.guest.start(["sleep", "1000"])
    groups = {"uid": "nobody", "gid": "daemon", "pid": str(own.pid), "pgrp": str(own.pid)}
    numbers = {"uid": "65534", "gid": "1"}
    for mode, name in groups.items():
        with created(tool, "d", volumes.one, "--mode", mode, "--pool", mode):
            tool.run("set-weight", f"{mode}:{name}", "77")
            (row,) = tool.json("get-weight", f"{mode}:{name}")
            assert (row["weight"], row["set"]) == (77, True)
            (saved,) = tool.json("groups", "--weights")
            assert saved["group"] == f"{mode}:{numbers.get(mode, name)}"
    own.kill()
    own.wait(check=False)


def test_stat(tool: Tool, volumes: Volumes) -> None:
    with created(tool, "d", volumes.one) as path, Cgroup(tool.guest, "a") as a:
        job = {"filename": path, "bs": "16k", "size": "2m"}
        fio(tool.guest, a, rw="write", **job)
        fio(tool.guest, a, rw="read", io_size="1m", **job)
        rows = tool.json("stat", "a")
        assert_schema(rows, STAT)
        assert {row["op"]: (row["ios"], row["bytes"]) for row in rows} == {
            "read": (64, 1 << 20),
            "write": (128, 2 << 20),
            "discard": (0, 0),
            "total": (192, 3 << 20),
        }
        total = rows[3]
        assert (total["inflight_now"], total["held_now"], total["held_now_bytes"]) == (0, 0, 0)
        assert total["service_p50_ns"] <= total["service_p99_ns"] <= total["service_max_ns"]
        assert 0 < total["service_avg_ns"] <= total["service_max_ns"]
        header, *lines = tool.run("stat", "a").splitlines()
        assert header.split()[:5] == ["POOL", "GROUP", "OP", "IOS", "BYTES"]
        assert [line.split()[1:5] for line in lines] == [
            ["/a", "read", "64", "1.00M"],
            ["/a", "write", "128", "2.00M"],
            ["/a", "total", "192", "3.00M"],
        ]


def test_help(tool: Tool) -> None:
    assert "set-weight" in tool.run("help")
    assert tool.run("help", "create").startswith("Usage: iobandctl create")
    assert re.fullmatch(r"iobandctl \d+(\.\d+)+\n", tool.run("--version"))


# -- names ---------------------------------------------------------------------------------------


def test_names_of_devices(tool: Tool, logical: Volumes) -> None:
    guest = tool.guest
    number = number_of(guest, logical.one)
    kernel = guest.run(["readlink", "-f", logical.one]).out.strip().removeprefix("/dev/")
    names = ["/dev/vg0/one", "vg0/one", "vg0-one", "/dev/mapper/vg0-one", kernel, number]
    for name in names:
        (row,) = tool.json("create", "d", name)
        assert row["device_number"] == number, name
        above = row["number"]
        for own in (name, "d", "/dev/mapper/d", above):
            (status,) = tool.json("status", own)
            assert status["name"] == "d", own
        tool.refused(3, "remove", name, says="is not an ioband device; the one over it is d")
        tool.run("remove", "/dev/mapper/d")


@pytest.mark.parametrize("name", ["#+-.:=@_x", "x" * 120, "with:colon"])
def test_names_of_ioband_devices(tool: Tool, volumes: Volumes, name: str) -> None:
    with created(tool, name, volumes.one):
        assert [row["name"] for row in tool.json("list")] == [name]
        assert [row["name"] for row in tool.json("status", name)] == [name]
    assert_nothing_of(tool.guest, name)


def test_names_of_cgroups(tool: Tool, volumes: Volumes) -> None:
    guest = tool.guest
    odd = "o dd\\né:x"
    with (
        created(tool, "d", volumes.one),
        Cgroup(guest, "a"),
        Cgroup(guest, "a/b") as plain,
        Cgroup(guest, f"a/{odd}") as strange,
    ):
        weight = 100
        for cgroup in (plain, strange):
            path = f"/{cgroup.path}"
            for form in (V2_ROOT + path, path, path[1:], f"cgroup:{path}", group_name(cgroup)):
                weight += 1
                tool.run("set-weight", form, str(weight))
                for other in (path, group_name(cgroup)):
                    (row,) = tool.json("get-weight", other)
                    assert (row["group"], row["weight"]) == (path, weight), (form, other)
        saved = tool.run("groups", "--weights")
        assert f"group=cgroup:/a/o\\040dd\\134né:x weight={weight}\n" in saved


def test_default_pool_is_the_disks(tool: Tool, logical: Volumes) -> None:
    guest = tool.guest
    with (
        null_blk(guest, "nullb1", size_mib=64, memory_backed=1) as other,
        VolumeGroup(guest, "vg1", [other]) as group,
    ):
        guest.run(["vgmerge", "vg0", "vg1"])
        both = guest.run(["lvcreate", "-y", "-n", "both", "-i", "2", "-L", "32M", "vg0"])
        assert both.rc == 0
        disks = [logical.disk.removeprefix("/dev/"), other.removeprefix("/dev/")]
        pools = {"vg0/one": disks[0], "vg0/both": "+".join(sorted(disks))}
        for below, pool in pools.items():
            (row,) = tool.json("create", "d", below)
            assert row["pool"] == pool
            tool.run("remove", "d")
        guest.run(["lvremove", "-y", "vg0/both"])
        guest.run(["vgsplit", "vg0", group.name, other])


# -- weights under load --------------------------------------------------------------------------


def done_by(tool: Tool, *groups: str) -> dict[str, int]:
    """Bytes completed by each group, from stat."""
    return {row["path"]: row["bytes"] for row in tool.json("stat", *groups) if row["op"] == "total"}


def assert_split(got: dict[str, float], wanted: dict[str, float]) -> None:
    """Each part is within 3 % of its share by weight."""
    for name, weight in wanted.items():
        part = got[name] / sum(got[name] for name in wanted)
        goal = weight / sum(wanted.values())
        assert part == pytest.approx(goal, rel=0.03), got


def test_set_and_get(tool: Tool, volumes: Volumes) -> None:
    """Several settings at once, or none of them, also in the kernel."""
    with Cgroup(tool.guest, "a"), created(tool, "d", volumes.one, "--slice", "40"):
        words = ["weight=300", "max_rbps=50MiB", "max_wiops=1K", "min_rbps=10MiB", "latency=5ms"]
        rows = tool.json("set", "a", *words)
        assert_schema(rows, SETTINGS)
        (row,) = tool.json("get", "a")
        assert [row] == rows
        assert (row["weight"], row["set"], row["latency_us"]) == (300, True, 5000)
        assert (row["max_rbps"], row["max_wiops"], row["min_rbps"]) == (50 << 20, 1000, 10 << 20)
        (pool,) = tool.json("groups")
        listed = next(group for group in pool["children"] if group["path"] == "/a")
        assert {key: listed[key] for key in RATES | LATENCY} == {
            key: row[key] for key in RATES | LATENCY
        }
        says = "a minimum of rbps=10MiB is more than"
        tool.refused(2, "set", "a", "weight=5", "max_rbps=9MiB", says=says)
        assert tool.json("get", "a") == rows
        tool.run("set", "a", "min=default", "max_rbps=9MiB")
        (row,) = tool.json("get", "a")
        assert (row["max_rbps"], row["max_wiops"], row["min_rbps"]) == (9 << 20, 1000, None)

        pools = tool.json("get")
        assert_schema(pools, POOL)
        name = pools[0]["pool"]
        tool.guest.expect_dmesg("device-mapper: ")
        says = "refused 'set measure=time'"
        tool.refused(1, "set", "--pool", name, "depth=9", "slice=0", "measure=time", says=says)
        assert tool.json("get") == pools
        now = tool.json("set", "--pool", name, "depth=9", "slice=80", "measure=time")
        assert now == [pools[0] | {"depth": "9", "slice_ms": 80, "measure": "time"}]
        assert pools[0]["writes_starved"] == 2
        (now,) = tool.json("set", "--pool", name, "writes_starved=100")
        assert now["writes_starved"] == tool.json("status")[0]["writes_starved"] == 100
        tool.run("set", "--device", "d", "mode=device+cgroup")
        assert tool.json("get", "--device", "d")[0]["mode"] == "device+cgroup"


@pytest.mark.guest(icount=True)
def test_set_weight_changes_the_split(tool: Tool) -> None:
    guest = tool.guest
    with (
        null_blk(guest, mbps=40) as disk,
        created(tool, "d", disk) as path,
        Cgroup(guest, "a") as a,
        Cgroup(guest, "b") as b,
    ):
        streams = [
            Stream(cgroup.path, path, cgroup, options={"write_lat_log": None}) for cgroup in (a, b)
        ]
        load = Load(guest, streams).start()
        for weight in (100, 300, 50):
            tool.run("set-weight", "a", str(weight))
            guest.sleep(0.2)
            before = done_by(tool, "a", "b")
            guest.sleep(4)
            after = done_by(tool, "a", "b")
            got = {name: after[name] - before[name] for name in after}
            assert_split(got, {"/a": weight, "/b": 100})
        first, second = tool.documents("stat", "--interval", "3", "--count", "2", "a", "b")
        for rows in (first, second):
            assert_schema(rows, INTERVAL)
            totals = {row["path"]: row for row in rows if row["op"] == "total"}
            for what in ("share_pct", "bytes"):
                got = {name: row[what] for name, row in totals.items()}
                assert_split(got, {"/a": 1, "/b": 2})
            for row in totals.values():
                assert row["bytes_per_s"] == pytest.approx(row["bytes"] / row["seconds"], rel=0.01)
                assert row["wait_p50_ns"] > 0
        (status,) = tool.json("status")
        assert (status["state"], status["active"]) == ("shared", 2)
        assert status["held_ios"] > 0
        load.end()


def totals(text: str, group: str, *, weight: int) -> list[float]:
    """plot's rows of a group in intervals with one weight throughout."""
    rows = [row for row in json.loads(text)["plot"] if row["group"] == group]
    pairs = itertools.pairwise(rows)
    return [now["share_pct"] for old, now in pairs if old["weight"] == now["weight"] == weight]


def moves(picture: Path) -> bool:
    """Whether its lines go up or down in many places."""
    paths = [path.get("d", "") for path in ET.parse(picture).iter(f"{SVG}path")]
    heights = (set(re.findall(r",([\d.]+)", path)) for path in paths)
    return max(len(found) for found in heights) > 4


@pytest.mark.guest(icount=True)
def test_recorded_and_drawn(tool: Tool, tmp_path: Path) -> None:
    """Two groups compete, and the weight of one changes: file and pictures show it."""
    guest = tool.guest
    with (
        null_blk(guest, mbps=40) as disk,
        created(tool, "d", disk) as path,
        Cgroup(guest, "a") as a,
        Cgroup(guest, "over/b") as b,
    ):
        streams = [
            Stream(name, path, cgroup, options={"write_lat_log": None})
            for name, cgroup in (("a", a), ("b", b))
        ]
        load = Load(guest, streams).start()
        command = [tool.program, "record", "--interval", "0.5", "--output", f"{SHARE}/recording"]
        recorder = guest.start([*command, "d"])
        guest.sleep(4)
        tool.run("set-weight", "a", "300")
        guest.sleep(4)
        (live,) = tool.documents("top", "--batch", "--sum", "--count", "1")
        recorder.kill(signal.SIGINT)
        assert not recorder.wait().err
        load.end()
        *_, replayed = tool.documents("top", "--batch", "--input", f"{SHARE}/recording")
    for page, summed in ((live, {"/over": 25}), (replayed, {})):
        shares = {row["group"]: row["share_pct"] for row in page}
        assert shares == pytest.approx({"/a": 75, "/over/b": 25, **summed}, abs=5)

    # The host has gnuplot, and the same iobandctl.
    recording = guest.share / "recording"
    assert json.loads(recording.read_text().splitlines()[-1])["because"] == "signal"

    def plot(*args: str | Path) -> str:
        words = [tool.program, "plot", recording, *args]
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout

    text = plot("--json")
    for name, weight, share in (("/a", 100, 50), ("/a", 300, 75)):
        seen = totals(text, name, weight=weight)
        assert len(seen) >= 5
        assert sum(seen) / len(seen) == pytest.approx(share, abs=2), seen
    plot("--output", tmp_path / "p.svg", "--what=bandwidth,iops,wait,service,share")
    plot("--output", tmp_path / "p.png")
    drawn = ["".join(item.itertext()) for item in ET.parse(tmp_path / "p.svg").iter(f"{SVG}text")]
    assert {"/a", "/over/b"} <= set(drawn)
    assert moves(tmp_path / "p.svg")
    with Image.open(tmp_path / "p.png") as picture:
        assert (picture.format, picture.width) == ("PNG", 1000)


# -- weights kept over a removal -----------------------------------------------------------------

MANY = 300
MAKE_MANY = f"""
cd {V2_ROOT}/many && echo +io >cgroup.subtree_control && mkdir $(seq -f c%g {MANY})
"""


@contextmanager
def many_cgroups(guest: Guest) -> Iterator[None]:
    with Cgroup(guest, "many"):
        guest.run(MAKE_MANY)
        try:
            yield
        finally:
            guest.run(f"cd {V2_ROOT}/many && rmdir */")


def test_weights_come_back(tool: Tool, volumes: Volumes) -> None:
    guest = tool.guest
    shared, own = ["d1", "one"], ["--mode", "device+cgroup", "d2", "two"]
    pool = volumes.disk.removeprefix("/dev/")
    lines = [
        f"pool={pool} group=root weight=70 max=max,max,9,max min=5,0,9,0",
        f"pool={pool} device=d2 group=device weight=9 max=1099511627776,1,max,max min=0,1,0,0",
    ]
    for number in range(1, MANY + 1):
        tree = " device=d2" if number % 3 == 0 else ""
        what = f"weight={number * 33}"
        if number % 5 == 0:
            what = f"max={number * 33},max,max,7"
        elif number % 7 == 0:
            what = f"min={number * 33},0,0,7"
        lines.append(f"pool={pool}{tree} group=cgroup:/many/c{number} {what}")
    text = "\n".join(["1 weights", "# what was kept", "", *lines]) + "\n"
    with many_cgroups(guest):
        tool.run("create", *shared)
        tool.run("create", *own)
        tool.run("set-weight", "--from", "-", input=text, timeout=180)
        guest.run(f"{tool.program} groups --weights >/run/saved")
        saved = guest.read("/run/saved").splitlines()
        assert saved[0] == "1 weights"
        assert sorted(saved[1:]) == sorted(lines)
        assert len(tool.json("groups", "--weights")) == len(lines)

        tool.run("remove", "d1", "d2")
        tool.run("create", *shared)
        tool.run("create", *own)
        # The weight of a device's group is in its table, so it is always restored.
        assert tool.run("groups", "--weights").splitlines() == [
            "1 weights",
            f"pool={pool} device=d2 group=device weight=100",
        ]
        guest.run(["rmdir", f"{V2_ROOT}/many/c1"])
        gone = guest.run(
            [tool.program, "set-weight", "--from", "/run/saved"], check=False, timeout=180
        )
        assert (gone.rc, gone.out) == (3, "")
        where = saved.index(f"pool={pool} group=cgroup:/many/c1 weight=33") + 1
        assert "there is no cgroup /many/c1" in gone.err
        assert f"in line {where} of /run/saved" in gone.err
        assert f"1 of {len(lines)} lines were not restored" in gone.err
        again = tool.run("groups", "--weights").splitlines()
        assert sorted([*again, saved[where - 1]]) == sorted(saved)
        guest.run(["rm", "/run/saved"])
        tool.run("remove", "d1", "d2")


# -- refusals ------------------------------------------------------------------------------------


@pytest.fixture
def untouched(tool: Tool, volumes: Volumes) -> Iterator[Volumes]:
    """Two volumes; the test must leave no other device, and no pool."""
    before = dm_names(tool.guest)
    yield volumes
    assert dm_names(tool.guest) == before
    assert_nothing_of(tool.guest, "new")
    assert tool.json("list") == []
    assert udev_is_done(tool.guest)


def test_mounted_is_refused(tool: Tool, untouched: Volumes) -> None:
    with mounted(tool.guest, untouched.one, point="/run/here"):
        tool.refused(
            4, "create", "new", "one", says="it is mounted on /run/here; 'umount' it first"
        )


def test_swap_is_refused(tool: Tool, untouched: Volumes) -> None:
    guest = tool.guest
    guest.run(["mkswap", "-q", untouched.one])
    guest.run(["swapon", untouched.one])
    said = tool.refused(4, "create", "new", "one", says="swap is on it; 'swapoff ")
    command = re.search(r"'(swapoff \S+)'", said)
    assert command
    guest.run(command[1])
    with created(tool, "new", "one"):
        pass


def test_what_lies_below_another_is_refused(tool: Tool, untouched: Volumes) -> None:
    says = f"{untouched.disk} is in use: device "
    tool.refused(4, "create", "new", untouched.disk, says=says)
    with linear(tool.guest, "top", untouched.one):
        tool.refused(4, "create", "new", "one", says="device top lies on it")
    with created(tool, "over", untouched.one):
        tool.refused(4, "create", "new", "one", says="device over lies on it")
        says = "there is a dm device over already"
        tool.refused(4, "create", "over", "two", says=says)
        tool.refused(4, "create", "one", "two", says="there is a dm device one already")


def test_exclusive_holder_is_refused(tool: Tool, untouched: Volumes) -> None:
    guest = tool.guest
    code = f"import os, time; os.open({untouched.one!r}, os.O_RDONLY | os.O_EXCL); time.sleep(1000)"
    holder = guest.start(["/usr/bin/python3", "-S", "-c", code])
    opened = f"ls -l /proc/{holder.pid}/fd | grep -q /dev/dm-"
    wait_until(guest, lambda: not guest.run(opened, check=False).rc, "the device is open")
    says = f"process {holder.pid} (python3) has it open"
    tool.refused(4, "create", "new", "one", says=says)
    holder.kill()
    holder.wait(check=False)


def test_stacked_in_one_pool_is_refused(tool: Tool, untouched: Volumes) -> None:
    with created(tool, "low", untouched.one) as low:
        says = "ioband device low, which is below, is in pool"
        assert "--pool" in tool.refused(1, "create", "new", low, says=says)
        with created(tool, "new", low, "--pool", "other"):
            pass


NOT_THERE = [
    ("/dev/nope", "there is no block device '/dev/nope'"),
    ("vg0/nope", "there is no block device 'vg0/nope'"),
    ("99:99", "there is no block device '99:99'"),
    ("/dev/null", "/dev/null is not a block device"),
    ("/etc/fstab", "give a file a loop device with losetup"),
]


def test_unknown_device_is_refused(tool: Tool, untouched: Volumes) -> None:
    for name, says in NOT_THERE:
        tool.refused(3, "create", "new", name, says=says)
    for verb in (["status"], ["remove"], ["groups", "--device"], ["stat", "--device"]):
        tool.refused(3, *verb, "nope", says="there is no device 'nope'")
    tool.refused(3, "remove", "one", says="one is not an ioband device")
    assert tool.guest.exists(untouched.one)


def test_what_the_kernel_refuses(tool: Tool, untouched: Volumes) -> None:
    """The message has the kernel's own sentence, and no part of the device is left."""
    tool.guest.expect_dmesg("device-mapper: ")
    says = "cannot make new over /dev/mapper/one: "
    said = tool.refused(1, "create", "--mode", "nope", "new", "one", says=says)
    assert "mode=nope" in said
    assert "device+cgroup" in said
    said = tool.refused(1, "create", "--weight", "5", "new", "one", says=says)
    assert "weight=" in said
    with created(tool, "first", "two", "--depth", "5"):
        said = tool.refused(1, "create", "--depth", "6", "new", "one", says=says)
        assert "other devices are in pool" in said
        assert "which has depth 5" in said


def test_bad_weight_is_refused(tool: Tool, untouched: Volumes) -> None:
    with created(tool, "d", untouched.one), Cgroup(tool.guest, "a"):
        for weight in ("0", "10001", "1.5", "", "x", "99999999999999999999"):
            tool.refused(2, "set-weight", "a", weight, says="from 1 to 10000, 'idle' or 'default'")
        assert tool.json("get-weight", "a")[0]["set"] is False
    tool.refused(2, "create", "--weight", "0", "new", "one", says="--weight '0'")


def test_missing_cgroup_is_refused(tool: Tool, untouched: Volumes) -> None:
    guest = tool.guest
    guest.expect_dmesg("device-mapper: ioband")
    with created(tool, "d", untouched.one), Cgroup(guest, "a"):
        for name in ("a/gone", "/a/gone", f"{V2_ROOT}/a/gone", "cgroup:a/gone"):
            says = f"there is no cgroup /a/gone in {V2_ROOT}: "
            tool.refused(3, "set-weight", name, "5", says=says)
        tool.refused(3, "set-weight", "cgroup#999999", "5", says="there is no such cgroup")
        tool.refused(3, "set-weight", "d", "5", says="device d has no group of its own")
        tool.refused(3, "set-weight", "uid:0", "5", says="no ioband device sorts by uid")
        tool.refused(3, "set-weight", "--pool", "nope", "a", "5", says="there is no pool 'nope'")


def test_cgroup_without_io_controller_is_refused(tool: Tool, untouched: Volumes) -> None:
    """The message has the command that helps; the kernel refuses a cgroup given by number."""
    guest = tool.guest
    guest.expect_dmesg("device-mapper: ioband")
    with (
        created(tool, "d", untouched.one),
        Cgroup(guest, "a"),
        Cgroup(guest, "a/b", controllers=""),
        Cgroup(guest, "a/b/c", controllers="") as inner,
    ):
        says = "the io controller is not enabled for it; write +io"
        tool.refused(3, "set-weight", group_name(inner), "5", says=says)
        says = "the io controller is not enabled for cgroup /a/b/c, so its I/O belongs to /a;"
        said = tool.refused(3, "set-weight", "a/b/c", "5", says=says)
        command = re.search(r"enable it with '([^']+)'", said)
        assert command
        guest.run(command[1])
        tool.run("set-weight", "a/b/c", "5")


def test_remove_of_what_is_open(tool: Tool, untouched: Volumes) -> None:
    guest = tool.guest
    guest.expect_dmesg("device-mapper: ioctl: unable to remove open device")
    tool.run("create", "d", "one")
    with mounted(guest, "/dev/mapper/d", point="/run/here"):
        said = tool.refused(4, "remove", "d", says="d is in use: it is mounted on /run/here")
        assert "--deferred" in said
        tool.run("remove", "--deferred", "d")
        assert "d" in dm_names(guest)
    wait_until(guest, lambda: "d" not in dm_names(guest), "the deferred removal")
    tool.run("create", "d", "one")
    holder = guest.start("exec sleep 1000 </dev/mapper/d")
    wait_until(
        guest,
        lambda: guest.run(["cat", f"/proc/{holder.pid}/comm"]).out == "sleep\n",
        "the device is open",
    )
    tool.refused(4, "remove", "d", says=f"process {holder.pid} (sleep) has it open")
    holder.kill()
    holder.wait(check=False)
    tool.run("remove", "d")


def test_read_only_device(tool: Tool, untouched: Volumes) -> None:
    tool.guest.run(["blockdev", "--setro", untouched.one])
    (row,) = tool.json("create", "new", "one")
    assert row["read_only"] is True
    assert tool.guest.run(["blockdev", "--getro", "/dev/mapper/new"]).out.strip() == "1"
    tool.run("remove", "new")


def test_without_privileges(tool: Tool, untouched: Volumes) -> None:
    guest = tool.guest
    copy = "/run/iobandctl-of-nobody"
    guest.run(["install", "-m", "755", tool.program, copy])
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", copy]
    for verb in (["list"], ["create", "new", untouched.one], ["set-weight", "a", "5"]):
        done = guest.run([*nobody, *verb], check=False)
        assert (done.rc, done.out) == (5, ""), done
        assert "run iobandctl as root" in done.err
    guest.run(["rm", copy])


# -- the module ----------------------------------------------------------------------------------

LOADER = f"""#!/bin/sh
for module; do :; done
case $module in
dm-ioband) exec insmod {SHARE}/dm-ioband.ko ;;
esac
exec /sbin/modprobe "$@"
"""


def test_without_the_module(tool: Tool, untouched: Volumes) -> None:
    """A module that is not installed cannot be loaded: an error says so, and nothing is left."""
    guest = tool.guest
    guest.expect_dmesg("device-mapper: table: .*unknown target type|device-mapper: ioctl: error")
    guest.rmmod("dm_ioband")
    said = tool.refused(6, "create", "new", "one", says="this kernel has no ioband target")
    assert "'modprobe dm-ioband' says why" in said
    assert guest.kernel.release in said
    tool.refused(3, "set-weight", "root", "5", says="'iobandctl create' makes one")
    assert tool.run("list") == ""


def test_the_module_is_loaded_on_demand(tool: Tool, untouched: Volumes) -> None:
    """The kernel asks modprobe for dm-ioband, which finds the test's copy."""
    guest = tool.guest
    guest.rmmod("dm_ioband")
    guest.write("/run/loader", LOADER)
    guest.run(["chmod", "755", "/run/loader"])
    guest.write("/proc/sys/kernel/modprobe", "/run/loader")
    with created(tool, "new", "one"):
        assert "dm_ioband" in guest.read("/proc/modules")
    guest.write("/proc/sys/kernel/modprobe", "/sbin/modprobe")
    guest.run(["rm", "/run/loader"])


def test_tool_and_dmsetup_agree(tool: Tool, untouched: Volumes) -> None:
    """A device of dmsetup is like any other; its table is the same when read back."""
    with Ioband(tool.guest, "d", untouched.one, "p", mode="uid", depth=9) as device:
        (row,) = tool.json("list")
        assert (row["name"], row["pool"], row["mode"], row["depth"]) == ("d", "p", "uid", "9")
        tool.run("set-weight", "uid:0", "44")
        assert device.tree()["uid:0"].weight == 44
        (status,) = tool.json("status")
        assert status["depth"] == device.info().depth == 9
