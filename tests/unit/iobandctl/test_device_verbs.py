# SPDX-License-Identifier: GPL-2.0-only
"""Removal, sizes and checks of devices, on a fake kernel."""

import json
from pathlib import Path

import pytest
from fakekernel import Fake

DISKS = Path("/sys/dev/block")


def test_remove_only_ioband(host: Fake) -> None:
    assert "there is no device 'nope'" in host.run("remove", "nope", rc=3)
    host.run("remove", "one", "/dev/mapper/two", "--deferred")
    assert host.sent == ["one: remove deferred", "two: remove deferred"]
    assert host.printed == ""


@pytest.mark.parametrize("verb", ["remove", "unwrap"])
def test_remove_json(host: Fake, verb: str) -> None:
    """The removed devices, as they were listed; nothing if none was removed."""
    byuid, one, *_, two = host.json("list")
    assert host.json(verb, "two", "/dev/mapper/one") == [two, one]
    assert host.json(verb, "byuid", "--deferred") == [byuid]
    assert "nope" in host.run(verb, "--json", "nope", "one", rc=3)
    assert json.loads(host.printed) == {"devices": [one]}
    (host.root / "refuse").write_text("one: no reason\n")
    assert "cannot remove one: no reason" in host.run(verb, "--json", "one", "two", rc=1)
    assert json.loads(host.printed) == {"devices": [two]}
    host.run(verb, "--json", "one", rc=1)
    assert host.printed == ""


def test_resize(fake: Fake) -> None:
    """To the size of the device below, or to its rest after an offset, with the same settings."""
    disks = {path.name: int((path / "size").read_text()) for path in DISKS.iterdir()}
    below, sectors = max(disks.items(), key=lambda disk: disk[1])
    if sectors <= 2056:
        pytest.skip("this machine has no block device of that size")
    fake.device("one", "253:1", "sda", "device", weight="300", below=below)
    fake.device("two", "253:2", "sda", below=below, offset="8")
    fake.device("same", "253:3", "sda", below=below, offset=str(sectors - 2048))
    fake.device("less", "253:4", "sda", below=below, offset=str(sectors - 8))
    fake.device("none", "253:5", "sda", below=below, offset=str(sectors))
    fake.device("gone", "253:6", "sda")
    names = ["none", "one", "/dev/mapper/two", "same", "less", "gone"]
    said = fake.run("resize", *names, rc=3)
    for name in ("none", "gone"):
        assert f"the device below {name} is gone, or has no size" in said
    assert "less" not in said
    assert fake.sent == [
        f"one: reload {sectors} {below} 0 sda 2 mode=device weight=300",
        f"two: reload {sectors - 8} {below} 8 sda 1 mode=cgroup",
        f"less: reload 8 {below} {sectors - 8} sda 1 mode=cgroup",
    ]
    assert "/dev/mapper/same: 1.00M, as before\n/dev/mapper/less: 4.00K, was 1.00M" in fake.printed
    assert "there is no device 'nope'" in fake.run("resize", "nope", rc=3)


def test_check_of_a_device_without_its_disk(fake: Fake) -> None:
    fake.device("gone", "253:6", "sda")
    fake.run("check", "--json", rc=1)
    (rows,) = json.loads(fake.printed).values()
    (row,) = (row for row in rows if row["subject"] == "gone")
    assert row["verdict"] == "wrong"
    assert row["finding"].startswith("the device below, 4000:6, is gone")
    assert "'iobandctl unwrap gone'" in row["remedy"]


def test_check_of_cgroups_without_io(fake: Fake) -> None:
    """At any depth: populated children of cgroups that could enable the controller."""

    def make(path: str, controllers: str, populated: int) -> None:
        fake.cgroup(path, controllers)
        events = fake.root / f"cgroup{path}/cgroup.events"
        events.write_text(f"populated {populated}\nfrozen 0\n")

    (fake.root / "devices").write_text("")
    for path in ("/a", "/a/b", "/a/b/c", "/fine", "/fine/too"):
        make(path, "cpu io", 1)
    for path in ("/top", "/a/b/c/1", "/a/b/c/2", "/a/b/c/2/below", "/a/b/d", "/a/b/d/below"):
        make(path, "cpu", 1)
    make("/a/b/c/3", "cpu", 0)
    hints = {row["subject"]: row for row in fake.json("check") if "processes" in row["finding"]}
    assert {path: int(row["finding"].split()[0]) for path, row in hints.items()} == {
        "/": 1,
        "/a/b": 1,
        "/a/b/c": 2,
    }
    for path, root in (("/", ""), ("/a/b/c", "/a/b/c")):
        assert hints[path]["finding"].endswith(f"; their I/O is that of {path}")
        control = f"{fake.root}/cgroup{root}/cgroup.subtree_control"
        assert hints[path]["remedy"].startswith(f"'echo +io > {control}', or")


def test_check_names_an_io_max_below(host: Fake) -> None:
    """A maximum on the ioband device or on an unrelated device is not reported."""
    for path, text in (
        ("a", "9:9 rbps=7\n4000:2 rbps=5 wbps=max riops=max wiops=max\n"),
        ("a/b", "4000:1 rbps=max wbps=max riops=3 wiops=max\n"),
        ("o dd", "253:1 rbps=5 wbps=max riops=max wiops=max\n9:9 rbps=7\n"),
    ):
        (host.root / f"cgroup/{path}/io.max").write_text(text)
    host.run("check", "--json", rc=1)
    found = [row for row in json.loads(host.printed)["findings"] if "io.max" in row["finding"]]
    assert [(row["verdict"], row["subject"]) for row in found] == [("hint", "/a")]
    assert "its io.max on 4000:2 (of 2 such cgroups) throttles below" in found[0]["finding"]


def test_check_names_a_group_that_a_policy_below_delays(host: Fake) -> None:
    line = "held=3,9 inflight=1 read=1,1,0,0,0 write=0,0,0,0,0 discard=0,0,0,0,0"
    host.answer(
        "byuid",
        "groups",
        "1 groups\n1 0 root weight=100 set=0\n5 1 uid:5 weight=1 set=0\n"
        "6 1 uid:6 weight=1 set=0\nend\n",
    )
    host.answer("byuid", "stats", f"1 stats\n5 uid:5 {line} below=1\n6 uid:6 {line}\nend\n")
    host.run("check", "--json", rc=1)
    found = [row for row in json.loads(host.printed)["findings"] if "policy" in row["finding"]]
    assert [(row["verdict"], row["subject"]) for row in found] == [("hint", "uid:5")]
    assert "a policy below ioband delays its I/O in pool sdb" in found[0]["finding"]
