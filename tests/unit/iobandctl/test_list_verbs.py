# SPDX-License-Identifier: GPL-2.0-only
"""What list, status, groups and stat print, on a fake kernel."""

import json
import re

import pytest
from fakekernel import Fake, configure


def test_list(host: Fake) -> None:
    lines = host.run("list").splitlines()
    assert lines[0].split() == (
        [
            "NAME",
            "DEVICE",
            "SIZE",
            "POOL",
            "MODE",
            "MEASURE",
            "WEIGHT",
            "STATE",
            "RO",
        ]
    )
    assert lines[1].split() == [
        "byuid",
        "4000:4",
        "1.00M",
        "sdb",
        "uid",
        "bytes",
        "-",
        "active",
        "no",
    ]
    assert host.json("list")[2] == {
        "name": "own",
        "number": "253:3",
        "device": "4000:3",
        "device_number": "4000:3",
        "offset": 0,
        "size": 1 << 20,
        "pool": "sda",
        "mode": "device+cgroup",
        "measure": "bytes",
        "weight": 200,
        "depth": "auto",
        "slice_ms": 0,
        "writes_starved": 2,
        "state": "active",
        "read_only": False,
        "inserted": False,
    }


def test_list_of_nothing(fake: Fake) -> None:
    (fake.root / "devices").write_text("")
    assert fake.run("list") == ""
    assert fake.json("list") == []


def test_device_without_table(fake: Fake) -> None:
    (fake.root / "devices").write_text("left|253:9||\n")
    assert fake.json("list")[0]["state"] == "no table"
    assert "'iobandctl remove left'" in fake.run("status", "left", rc=3)
    assert fake.json("status") == []
    fake.run("remove", "left")
    assert fake.sent == ["left: remove"]
    (row,) = fake.json("remove", "left")
    assert (row["name"], row["state"], row["device"]) == ("left", "no table", None)


def test_status(host: Fake) -> None:
    assert [row["name"] for row in host.json("status")] == ["byuid", "one", "own", "two"]
    (row,) = host.json("status", "/dev/mapper/one")
    assert row == {
        "name": "one",
        "pool": "sda",
        "mode": "cgroup",
        "measure": "bytes",
        "state": "open",
        "devices": 2,
        "groups": 3,
        "active": 1,
        "depth": 32,
        "piece_bytes": 32768,
        "slice_ms": 0,
        "writes_starved": 2,
        "brake_bytes_per_s": 0,
        "inflight_ios": 4,
        "inflight_bytes": 16384,
        "held_ios": 2,
        "held_bytes": 8192,
    }
    (row,) = host.json("status", "byuid")
    assert (row["slice_ms"], row["writes_starved"]) == (80, 5)
    assert "there is no device 'nope'" in host.run("status", "nope", rc=3)


def test_module_without_slices(fake: Fake) -> None:
    """Texts of a module without slices."""
    status = "1 pool=p mode=uid measure=bytes state=open depth=32 groups=3 active=1 "
    status += "held=2,8192 inflight=4,16384 devices=2"
    table = "4000:1 0 p 4 mode=uid weight=100 measure=bytes depth=auto"
    (fake.root / "devices").write_text(f"old|253:1|{table}|{status}\n")
    assert fake.json("list")[0]["slice_ms"] == 0
    assert fake.json("status")[0]["slice_ms"] == 0


def test_module_without_writes_starved(fake: Fake) -> None:
    """Its value is the present default; no message is sent, because the module would refuse it."""
    status = "1 pool=p mode=uid measure=bytes state=open depth=32 groups=3 active=1 "
    status += "held=2,8192 inflight=4,16384 devices=2 slice=0 piece=0 brake=0"
    table = "4000:1 0 p 5 mode=uid weight=100 measure=bytes depth=auto slice=0"
    (fake.root / "devices").write_text(f"old|253:1|{table}|{status}\n")
    fake.answer("old", "groups", "1 groups\nend\n")
    (fake.root / "refuse").write_text("writes_starved unknown key")
    for verb in ("list", "status", "get"):
        assert fake.json(verb)[0]["writes_starved"] == 2
    fake.run(*configure(fake, "[pool p]\nwrites_starved = 2\ndepth = 9\n"))
    assert fake.told("set") == ["old: set depth=9"]
    fake.run(*configure(fake, "[pool q]\ndepth = 9\n"))
    assert fake.told("set") == []
    said = fake.run(*configure(fake, "[pool p]\nwrites_starved = 3\n"), rc=1)
    assert "refused 'set writes_starved=3': unknown key" in said
    assert "refused" in fake.run("set", "--pool", "p", "writes_starved=3", rc=1)


def test_groups(host: Fake) -> None:
    text = host.run("groups", "--pool", "sda")
    assert [line.split()[0] for line in text.splitlines()[1:]] == [
        "sda", "├─root", "├─own", "│", "├─a", "│", "└─cgroup#999",
    ]  # fmt: skip
    (sda,) = host.json("groups", "--pool", "sda")
    assert sda["type"] == "pool"
    root, own, a, _ = sda["children"]
    assert (root["name"], root["type"], root["weight"], root["set"]) == ("root", "root", 70, True)
    assert (own["name"], own["type"], own["group"], own["id"]) == (
        "own", "device", "device:own", "device:253:3",
    )  # fmt: skip
    assert (own["children"][0]["path"], own["children"][0]["weight"]) == ("/o dd", 50)
    assert (a["children"][0]["name"], a["children"][0]["set"]) == ("b", False)
    assert [child["name"] for child in host.json("groups", "--device", "own")[0]["children"]] == [
        "own"
    ]
    assert [child["name"] for child in host.json("groups", "--device", "one")[0]["children"]] == [
        "root", "a", "cgroup#999",
    ]  # fmt: skip


def test_stat(host: Fake) -> None:
    rows = {row["op"]: row for row in host.json("stat", "a")}
    assert list(rows) == ["read", "write", "discard", "total"]
    read, total = rows["read"], rows["total"]
    assert (read["ios"], read["bytes"], read["held_ios"]) == (10, 40960, 4)
    assert (read["wait_avg_ns"], read["wait_p50_ns"]) == (2000, 3072)
    assert (read["service_avg_ns"], read["service_max_ns"]) == (3000, 4096)
    assert (read["inflight_now"], read["held_now"], read["held_now_bytes"]) == (1, 2, 8192)
    assert (rows["write"]["inflight_now"], rows["write"]["held_now"]) == (4, 0)
    assert (rows["discard"]["inflight_now"], rows["discard"]["held_now"]) == (0, 0)
    assert (total["ios"], total["bytes"], total["service_avg_ns"]) == (15, 61440, 2333)
    assert (total["inflight_now"], total["held_now"], total["held_now_bytes"]) == (5, 2, 8192)
    assert total["share_pct"] is None
    assert rows["discard"]["service_p99_ns"] is None
    lines = host.run("stat", "a").splitlines()
    assert [line.split()[2] for line in lines] == ["OP", "read", "write", "total"]


def test_stat_of_what_has_only_begun(host: Fake) -> None:
    """A direction with only queued I/O has a line; older modules give no details."""
    line = f"3 cgroup#{host.cgroup('/a')} held=1,8192 inflight=1"
    line += " read={0} write={0} discard={0}".format("0,0,0,0,0")
    now = "read.held=0,0 read.inflight=0 write.held=0,0 write.inflight=1 discard.held=1,8192"
    host.answer("one", "stats", f"1 stats\n{line} {now} discard.inflight=0\nend\n")
    ops = [text.split()[2] for text in host.run("stat", "a").splitlines()]
    assert ops == ["OP", "write", "discard", "total"]
    host.answer("one", "stats", f"1 stats\n{line}\nend\n")
    rows = {row["op"]: row for row in host.json("stat", "a")}
    assert [rows[op]["inflight_now"] for op in rows] == [None, None, None, 1]
    assert [rows[op]["held_now_bytes"] for op in rows] == [None, None, None, 8192]
    assert len(host.run("stat", "a").splitlines()) == 2


def test_stat_interval(host: Fake) -> None:
    text = host.run("stat", "--interval", "0.1", "--count", "2", "--json", "a")
    _, second = (json.loads(line)["stat"] for line in text.splitlines())
    assert len(second) == 4
    assert (second[0]["ios"], second[0]["ios_per_s"]) == (0, 0)
    assert 0 < second[3]["seconds"] < 30
    assert second[3]["held_now"] == 2
    assert [m for m in host.sent if m == "one: stats"] == ["one: stats"] * 3


@pytest.mark.parametrize("interval", ["0", "0.05", "x", "nan", "1s", "-1", "1e9", ""])
def test_stat_interval_refused(host: Fake, interval: str) -> None:
    assert "0.1 to 86400" in host.run("stat", "--interval", interval, rc=2)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("2 groups\nend\n", "its format is '2' and this iobandctl knows 1"),
        ("", "the text is empty"),
        ("1 groups\n1 0 root\nend\n", "'weight=' is missing"),
        ("1 groups\n1 0 root weight=1 set=0\n", "breaks off"),
    ],
)
def test_kernel_text_not_understood(host: Fake, text: str, says: str) -> None:
    host.answer("byuid", "groups", text)
    assert says in host.run("groups", rc=7)
    assert says in host.run("groups", "--weights", rc=7)


def test_kernel_repeats_itself(host: Fake) -> None:
    for message in ("groups", "groups 1"):
        host.answer("byuid", message, "1 groups\n1 0 root weight=1 set=0\nnext 1\n")
    assert "over and over" in host.run("groups", rc=7)


def test_status_not_understood(fake: Fake) -> None:
    fake.device("one", "253:1", "sda", status="2 pool=sda")
    assert "device one: its format is '2'" in fake.run("list", rc=7)


def test_no_devices(fake: Fake) -> None:
    (fake.root / "devices").write_text("")
    for args in (["groups"], ["stat"], ["set-weight", "a", "5"], ["get-weight", "a"]):
        assert "'iobandctl create' makes one" in fake.run(*args, rc=3)


def test_names_that_are_not_utf8(host: Fake) -> None:
    """Their dump can be applied, and JSON stays valid UTF-8."""
    host.minor = 1
    host.answer("byuid", "presets", "1 presets\nend\n")
    odd, long = "/gr\udcfcn\udcff", "/\udcfc" * 100 + "/" + "\udcfc" * 250
    number = host.cgroup(odd)
    for device in ("one", "own"):
        listed = host.root / f"answers/{device}@groups"
        more = f"7 1 cgroup#{number} weight=7 set=1 path={odd}\n"
        text = listed.read_text().replace("next 4", f"{more}next 4")
        listed.write_text(text, errors="surrogateescape")
        text = f"1 presets\n1 root weight=7 path={odd}\n2 root weight=8 path={long}\nend\n"
        path = host.root / f"answers/{device}@presets"
        path.write_text(text, errors="surrogateescape")
    text = host.run("dump")
    assert "group = /gr\\374n\\377\n" in text
    assert "\\374" * 250 in text
    args = configure(host, re.sub(r"\[device.*?\n\n", "", text, flags=re.DOTALL))
    assert {row["group"] for row in host.json(*args, "--dry-run")} == {"/a", "/o dd"}
    assert "there is no cgroup /\\374/" in host.complaints
    conf = "[group 1]\ngroup = /gr\\374n\\377\npool = sda\ndevice = -\nweight = 9\n"
    rows = host.json(*configure(host, conf), "--dry-run")
    assert [row["group"] for row in rows if row["to"] == "9"] == ["/gr\\374n\\377"] * 2
    rows = host.json(*configure(host, "[group /g*?]\nweight = 11\n"), "--dry-run")
    assert {row["group"] for row in rows if row["to"] == "11"} == {"/gr\\374n\\377"}
    host.json("groups")
    assert r'"/gr\\374n\\377"' in host.printed
