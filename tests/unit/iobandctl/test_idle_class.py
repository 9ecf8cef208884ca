# SPDX-License-Identifier: GPL-2.0-only
"""The class idle, below all weights, wherever a weight may stand; on a fake kernel."""

import re
from collections.abc import Callable

import pytest
from fakekernel import Fake, configure
from test_explain import INTERVAL, begin
from watcher import Watcher


@pytest.fixture
def idle(host: Fake) -> Fake:
    """Cgroup /a is idle in the pool's tree, and presets exist for a later one."""
    a = host.cgroup("/a")
    for name in ("one", "own"):
        answer = host.root / "answers" / f"{name}@groups"
        text = answer.read_text()
        assert text.count(f"cgroup#{a} weight=300 ") == 1
        answer.write_text(text.replace(f"cgroup#{a} weight=300 ", f"cgroup#{a} weight=0 "))
        host.answer(name, "presets", "1 presets\n1 root weight=0 path=/later\nend\n")
    host.answer("byuid", "presets", "1 presets\nend\n")
    host.minor = 1
    return host


def test_set(host: Fake) -> None:
    a = host.cgroup("/a")
    told = [f"{name}: weight cgroup#{a} idle" for name in ("one", "own")]
    for args in (("set", "a", "weight=idle"), ("set-weight", "a", "idle")):
        host.run(*args)
        assert host.told("weight") == told
    said = host.run("set", "a", "weight=Idle", rc=2)
    assert "a weight is a number from 1 to 10000, 'idle' or 'default': 'Idle'" in said


def test_set_takes_idle_back(idle: Fake) -> None:
    """What a refusal undoes is the class, and not a weight."""
    a = idle.cgroup("/a")
    (idle.root / "refuse").write_text(f"own:~weight~cgroup#{a} no\n")
    idle.run("set", "a", "weight=7", "latency=2ms", rc=1)
    assert [word for word in idle.told("weight") if word.startswith("one")] == [
        f"one: weight cgroup#{a} 7",
        f"one: weight cgroup#{a} idle",
    ]


def test_shown(idle: Fake) -> None:
    """A word for people; 0 for programs, as in the kernel's cpu.weight."""
    assert idle.run("get-weight", "a").splitlines()[1].split()[-2:] == ["idle", "set"]
    assert idle.json("get-weight", "a")[0]["weight"] == 0
    assert idle.json("get", "a")[0]["weight"] == 0
    (line,) = [line for line in idle.run("groups").splitlines() if "a " in line and "idle" in line]
    assert line.split()[-2:] == ["idle", "set"]
    (sda,) = idle.json("groups", "--pool", "sda")
    assert [row["weight"] for row in sda["children"]] == [70, 200, 0, 9]


def test_device(fake: Fake) -> None:
    """The own group of a device has it in its table."""
    fake.device("t1", "253:1", "p", "device", weight="idle")
    fake.answer("t1", "groups", "1 groups\n1 0 root weight=100 set=0\nend\n")
    assert fake.json("list")[0]["weight"] == 0
    assert fake.run("list", "-n", "-o", "WEIGHT").split() == ["idle"]
    said = fake.run("create", "--weight", "idles", "t2", "/dev/null", rc=2)
    assert "--weight 'idles': it is a number from 1 to 10000, or idle" in said
    assert "mode = device\nweight = idle\n" in fake.run("dump")


def test_saved_and_restored(idle: Fake) -> None:
    text = idle.run("groups", "--weights")
    line = "pool=sda group=cgroup:/a weight=idle\n"
    assert line in text
    idle.run("set-weight", "--from", "-", stdin=f"1 weights\n{line}")
    assert idle.told("weight") == [f"one: weight cgroup#{idle.cgroup('/a')} idle"]
    said = idle.run(
        "set-weight", "--from", "-", stdin="1 weights\npool=sda group=root weight=0\n", rc=2
    )
    assert "there is neither a weight" in said


def test_apply(idle: Fake) -> None:
    a, b = idle.cgroup("/a"), idle.cgroup("/a/b")
    args = configure(
        idle,
        "[group /a]\nweight = 40\n[group /a/b]\nweight = idle\n[group /later]\nweight = idle\n",
    )
    rows = idle.json(*args, "--dry-run")
    changes = {(row["device"], row["group"]): (row["from"], row["to"]) for row in rows
               if row["action"] == "weight"}  # fmt: skip
    assert changes == {
        (None, "/a"): ("idle", "40"),
        ("own", "/a"): ("default", "40"),
        (None, "/a/b"): ("default", "idle"),
        ("own", "/a/b"): ("default", "idle"),
    }
    presets = {row["group"]: row["to"] for row in rows if row["action"] == "preset"}
    assert presets == {"/a": "40", "/a/b": "idle", "/later": "idle"}
    idle.run(*args)
    assert set(idle.told("weight")) == {
        f"{name}: weight cgroup#{group} {weight}"
        for name in ("one", "own")
        for group, weight in ((a, "40"), (b, "idle"))
    }
    assert "own: preset weight cgroup:/later idle" in idle.told("preset")
    said = idle.run(*configure(idle, "[group /a]\nweight = 0\n"), rc=2)
    assert "it is a number from 1 to 10000, idle or default" in said


def test_the_order_of_changes(idle: Fake) -> None:
    """A class is less than any weight: a group gets more last."""
    a = idle.cgroup("/a")
    idle.run("set", "--device", "one", "a", "weight=1", "latency=2ms")
    assert idle.told("weight", "latency-target") == [
        f"one: weight cgroup#{a} 1",
        f"one: latency-target cgroup#{a} 2000",
    ]


def test_dump(idle: Fake) -> None:
    text = idle.run("dump")
    assert "group = /a\npool = sda\ndevice = -\nweight = idle\n" in text
    assert "group = /later\npool = sda\ndevice = -\nweight = idle\n" in text


def test_watch(fake: Fake, watch: Callable[[str], Watcher]) -> None:
    """The io.prio.class of a cgroup precedes its weight; the configuration precedes both."""
    watcher = watch("[group /b]\nweight = idle\n[group /c]\nweight = 7\n")
    for path in ("b", "c"):
        fake.cgroup(path)
    a = watcher.number("a")
    watcher.soon(lambda: f"one: weight cgroup#{watcher.number('b')} idle" in fake.sent)
    for path in "ac":
        (fake.root / "cgroup" / path / "io.prio.class").write_text("idle\n")
    watcher.soon(lambda: f"one: weight cgroup#{a} idle" in fake.sent)
    watcher.sends("c", 7)
    watcher.weigh("a", 251)
    (fake.root / "cgroup/a/io.prio.class").write_text("no-change\n")
    watcher.sends("a", 251)
    assert f"one: weight cgroup#{watcher.number('c')} idle" not in fake.sent


def test_top(host: Fake) -> None:
    """Idle groups are due nothing beside others, and compete as equals without these."""
    begin(host, six="weight=0")
    args = ("top", "--batch", *INTERVAL, "--count", "1")
    rows = {row["group"]: row for row in host.json(*args)}
    assert (rows["uid:5"]["due_pct"], rows["uid:6"]["due_pct"]) == (100, 0)
    assert rows["uid:6"]["weight"] == 0
    assert re.search(r"uid:6 +sdb +idle ", host.run(*args))
    begin(host, five="weight=0", six="weight=0")
    rows = {row["group"]: row for row in host.json(*args)}
    assert (rows["uid:5"]["due_pct"], rows["uid:6"]["due_pct"]) == (50, 50)


def test_explain(host: Fake) -> None:
    begin(host, five="weight=0")
    (row,) = host.json("explain", "uid:5", *INTERVAL)
    assert (row["verdict"], row["weight"], row["entitled_pct"]) == ("yields", 0, 0)
    assert "uid:5 is idle, below all weights: 0.0 %" in row["says"]
    assert (
        "It is idle, and yields to the others: at 10 of 10 looks it had I/O held while they were "
        "served.  A weight there would get it more." in row["says"]
    )
    (row,) = host.json("explain", "uid:6", *INTERVAL)
    assert (row["weight"], row["entitled_pct"]) == (100, 100)
    begin(host, five="weight=0", six="weight=0")
    (row,) = host.json("explain", "uid:5", *INTERVAL)
    assert (row["verdict"], row["entitled_pct"]) == ("weight", 50)


def test_explain_of_a_target(host: Fake) -> None:
    """The latency of an idle group is not judged."""
    begin(host, five="weight=0 latency=1")
    (row,) = host.json("explain", "uid:5", *INTERVAL)
    assert "not judged: a maximum or the class idle holds them" in row["says"]


def test_metrics(idle: Fake) -> None:
    text = idle.run("metrics")
    assert "# HELP ioband_group_weight Weight of the group, 0: idle.\n" in text
    (line,) = [line for line in text.splitlines()
               if line.startswith("ioband_group_weight{") and '"/a"' in line]  # fmt: skip
    assert line.split()[-1] == "0"
