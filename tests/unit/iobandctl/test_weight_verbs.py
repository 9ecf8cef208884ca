# SPDX-License-Identifier: GPL-2.0-only
"""Weights that are set, read, saved and restored, on a fake kernel."""

import json
import os
import signal
from pathlib import Path

import pytest
from fakekernel import NO_BOUNDS, Fake
from toolbuild import Built

MARKS_MAX = 4096  # the limit in hand.c


@pytest.mark.parametrize(
    "form", ["{root}/a/b", "/a/b", "a/b", "cgroup:a/b", "cgroup#{id}", "a//b/"]
)
def test_set_weight_of_a_cgroup(host: Fake, form: str) -> None:
    """One message for each pool, and one for each device with a tree of its own."""
    number = host.cgroup("/a/b")
    host.run("set-weight", form.format(root=host.root / "cgroup", id=number), "250")
    told = [f"{name}: weight cgroup#{number} 250" for name in ("one", "own")]
    assert host.told("weight") == told


def test_set_weight_of_some(host: Fake) -> None:
    a = host.cgroup("/a")
    host.run("set-weight", "--device", "two", "a", "default")
    assert host.sent == [f"two: weight cgroup#{a} default"]
    host.run("set-weight", "root", "5")
    assert host.told("weight") == ["byuid: weight root 5", "one: weight root 5"]
    host.run("set-weight", "--pool", "sdb", "/", "5")
    assert host.sent == ["byuid: weight root 5"]
    host.run("set-weight", "uid:root", "5")
    assert host.sent == ["byuid: weight uid:0 5"]
    for form in (["own"], ["device:own"], ["device", "--device", "own"], ["/dev/mapper/own"]):
        host.run("set-weight", *form, "5")
        assert host.sent == ["own: weight device 5"]


@pytest.mark.parametrize(
    ("args", "rc", "says"),
    [
        (["a", "0"], 2, "from 1 to 10000, 'idle' or 'default'"),
        (
            ["a"],
            2,
            "set-weight takes GROUP and its weight, from 1 to 10000, 'idle' or 'default'; or --fro",
        ),
        (["a", "1", "--from", "x"], 2, "give nothing else"),
        (["nope", "1"], 3, "directory; a unit has one while it runs ('systemctl show -P Con"),
        (["a/../b", "1"], 2, "'..'"),
        (["a", "1", "--pool", "sdb"], 3, "no ioband device of pool sdb sorts by cgroup"),
        (["a", "1", "--pool", "nope"], 3, "there is no pool 'nope'"),
        (["a", "1", "--device", "byuid"], 3, "sorts by uid, not by cgroup"),
        (["a", "1", "--device", "one", "--pool", "sdb"], 3, "is in pool sda, not sdb"),
        (["gid:0", "1"], 3, "no ioband device sorts by gid"),
        (["uid:no-such-user", "1"], 3, "uid:no-such-user names nothing"),
        (["pid:x", "1"], 3, "pid:x names nothing; give a number\n"),
        (["device", "1"], 2, "needs --device DEVICE"),
        (["one", "1"], 3, "device one has no group of its own, as its mode is cgroup"),
        (["device:own", "1", "--device", "one"], 2, "leave out --device"),
        (["own", "1", "--pool", "sdb"], 3, "is in pool sda, not sdb"),
    ],
)
def test_set_weight_refused(host: Fake, args: list[str], rc: int, says: str) -> None:
    assert says in host.run("set-weight", *args, rc=rc)
    assert host.sent == []


def test_set_weight_json(host: Fake) -> None:
    """The same as get-weight afterwards; "default" shows as no weight."""
    a = host.cgroup("/a")
    rows = host.json("set-weight", "a", "300")
    told = [f"{name}: weight cgroup#{a} 300" for name in ("one", "own")]
    assert host.told("weight") == told
    assert host.sent.index(told[1]) < host.sent.index("own: groups", 5)
    assert rows == host.json("get-weight", "a")
    assert [row["weight"] for row in rows] == [300, 100]
    assert host.json("set-weight", "a", "default", "--device", "own") == [
        {"pool": "sda", "device": "own", "group": "/a", "id": f"cgroup#{a}", "weight": 100,
         "set": False}
    ]  # fmt: skip
    assert host.run("set-weight", "a", "300") == ""


def test_set_weight_json_of_what_failed(host: Fake) -> None:
    """A failed command prints no settings, because none took effect."""
    (host.root / "refuse").write_text("own:~weight no memory\n")
    assert "device own refused" in host.run("set-weight", "--json", "a", "300", rc=1)
    assert host.printed == ""
    (host.root / "refuse").write_text("weight no memory\n")
    host.run("set-weight", "--json", "a", "300", rc=1)
    assert host.printed == ""
    (host.root / "refuse").write_text("groups no memory\n")
    host.run("get-weight", "--json", "a", rc=1)
    assert host.printed == ""
    host.run("set-weight", "--json", "a", "0", rc=2)
    assert host.printed == ""


def test_device_or_cgroup(host: Fake) -> None:
    host.cgroup("/own")
    assert "cgroup:own or device:own" in host.run("set-weight", "own", "5", rc=2)
    host.run("set-weight", "device:own", "5")
    host.run("set-weight", "cgroup:own", "5")


def test_io_not_enabled(host: Fake) -> None:
    host.cgroup("/x", "cpu memory")
    host.cgroup("/x/y/z", "")
    host.cgroup("/x/y", "")
    said = host.run("set-weight", "x/y/z", "5", rc=3)
    root = host.root / "cgroup"
    assert "so its I/O belongs to /;" in said
    assert (
        f"'echo +io > {root}/cgroup.subtree_control && echo +io > {root}/x/cgroup.subtree_control "
        f"&& echo +io > {root}/x/y/cgroup.subtree_control'" in said
    )
    assert host.sent == []


def test_version_1(built: Built, tmp_path: Path) -> None:
    """With a mounted blkio hierarchy, every cgroup has the controller."""
    fake = Fake(built.fake, tmp_path, version=1)
    fake.device("one", "253:1", "sda")
    number = fake.cgroup("/v1")
    fake.run("set-weight", "v1", "5")
    assert fake.sent == [f"one: weight cgroup#{number} 5"]


def test_get_weight(host: Fake) -> None:
    rows = host.json("get-weight", "a")
    a = {"pool": "sda", "group": "/a", "id": f"cgroup#{host.cgroup('/a')}"}
    assert rows == [
        {**a, "device": None, "weight": 300, "set": True},
        {**a, "device": "own", "weight": 100, "set": False},
    ]
    assert host.json("get-weight", "o dd")[1]["weight"] == 50
    assert host.json("get-weight", "root", "--pool", "sda")[0]["weight"] == 70
    assert host.json("get-weight", "own")[0]["weight"] == 200
    assert host.run("get-weight", "a", "--device", "one").splitlines()[1].split() == (
        ["sda", "-", "/a", "300", "set"]
    )


def test_weights_and_back(host: Fake) -> None:
    text = host.run("groups", "--weights")
    assert text == (
        "1 weights\n"
        "pool=sda group=root weight=70\n"
        "pool=sda device=own group=device weight=200\n"
        "pool=sda group=cgroup:/a weight=300\n"
        "pool=sda device=own group=cgroup:/o\\040dd weight=50\n"
    )
    assert host.json("groups", "--weights")[3] == {
        "pool": "sda", "device": "own", "group": "/o dd", "weight": 50,
        "id": f"cgroup#{host.cgroup('/o dd')}",
        **NO_BOUNDS,
    }  # fmt: skip
    host.run("set-weight", "--from", "-", stdin=text)
    assert host.sent == [
        "one: weight root 70",
        "own: weight device 200",
        f"one: weight cgroup#{host.cgroup('/a')} 300",
        f"own: weight cgroup#{host.cgroup('/o dd')} 50",
    ]
    (host.root / "saved").write_text(text)
    assert host.json("set-weight", "--from", str(host.root / "saved")) == (
        host.json("groups", "--weights")
    )
    (host.root / "saved").write_text("1 weights\n")
    assert host.json("set-weight", "--from", str(host.root / "saved")) == []


def test_many_weights_and_back(fake: Fake) -> None:
    count, page = 5000, 250
    fake.device("one", "253:1", "sda")
    expected = []
    for start in range(0, count, page):
        lines = ["1 groups"] if start else ["1 groups", "1 0 root weight=100 set=0"]
        for i in range(start, start + page):
            number, weight = fake.cgroup(f"/many/{i}"), i % 10000 + 1
            lines.append(f"{i + 2} 1 cgroup#{number} weight={weight} set=1 path=/many/{i}")
            expected.append(f"one: weight cgroup#{number} {weight}")
        lines.append(f"next {start + page}" if start + page < count else "end")
        message = f"groups {start}" if start else "groups"
        fake.answer("one", message, "\n".join(lines) + "\n")
    saved = fake.root / "saved"
    saved.write_text(fake.run("groups", "--weights"))
    assert len(fake.sent) == count // page
    fake.run("set-weight", "--from", str(saved))
    assert fake.sent == expected
    first = fake.marks
    assert len(first) == count
    # A repeated restore keeps the marks; a new mark is added, and the oldest are dropped.
    fake.run("set-weight", "--from", str(saved))
    assert fake.marks == first
    repeated, *oldest = sorted(first)[: count + 2 - MARKS_MAX]
    for mark in (repeated, *oldest):
        os.utime(fake.root / "run" / f".hand {mark}", (1, 1))
    fake.run("set-weight", repeated.split()[2], "7")  # its mark is the newest then
    assert fake.marks == first
    fake.run("set-weight", "root", "5")
    assert fake.marks == first - set(oldest) | {"sda - root weight"}


def test_restore_interrupted(host: Fake) -> None:
    """Changes before the signal are marked as made by hand; then the signal takes effect."""
    saved = host.run("groups", "--weights")
    (host.root / "interrupt").touch()
    said = host.run("set-weight", "--from", "-", rc=-signal.SIGTERM, stdin=saved)
    assert "interrupted: Terminated" in said
    assert host.told("weight") == ["one: weight root 70"]
    assert host.marks == {"sda - root weight"}


def test_restore_of_what_is_gone(host: Fake) -> None:
    text = (
        "1 weights\npool=sda group=cgroup:/gone weight=5\npool=nope group=root weight=5\n"
        "pool=sda group=cgroup:/a weight=7\npool=sdb device=own group=device weight=5\n"
    )
    said = host.run("set-weight", "--from", "-", rc=3, stdin=text)
    assert "3 of 4 lines were not restored" in said
    assert "line 2 of -" in said
    assert "line 3 of -" in said
    assert "line 5 of -" in said
    assert host.sent == [f"one: weight cgroup#{host.cgroup('/a')} 7"]
    assert host.run("set-weight", "--from", "-", "--json", rc=3, stdin=text) == said
    (row,) = json.loads(host.printed)["weights"]
    assert row == {"pool": "sda", "device": None, "group": "/a", "weight": 7, **NO_BOUNDS,
                   "id": f"cgroup#{host.cgroup('/a')}"}  # fmt: skip
    text = "1 weights\npool=nope group=root weight=5\n"
    host.run("set-weight", "--from", "-", "--json", rc=3, stdin=text)
    assert host.printed == ""


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is empty"),
        ("2 weights\n", "line 1: its format is '2'"),
        ("1 groups\n", "line 1: the first line is not '1 weights'"),
        ("1 weights\npool=sda group=root weight=70\npool=sda weight=3\n", "line 3: 'group='"),
        ("1 weights\npool=sda group=root weight=70000\n", "line 2: a weight is malformed"),
        ("1 weights\npool=sda group=\\1 weight=7\n", "line 2: an escape is malformed"),
        ("1 weights\npool=sda group=root\n", "line 2: there is neither a weight"),
        ("1 weights\npool=sda group=root max=1\n", "line 2: a maximum is malformed: 'max=1'"),
        ("1 weights\npool=sda group=root min=max,1,1,1\n", "line 2: a minimum is malformed"),
        ("1 weights\n\0", "NUL"),
    ],
)
def test_restore_refuses_what_is_malformed(host: Fake, text: str, says: str) -> None:
    saved = host.root / "saved"
    saved.write_text(text)
    assert says in host.run("set-weight", "--from", str(saved), rc=2)
    assert host.sent == []
    assert "cannot read" in host.run("set-weight", "--from", "/nonexistent/file", rc=3)
