# SPDX-License-Identifier: GPL-2.0-only
"""Latency targets: their own verbs, and their place in others, on a fake kernel."""

import re

import pytest
from fakekernel import Fake, configure

# The groups that the kernel lists: root, device own, /a with a weight, /a/b without a weight.
TARGETS = {
    "1 0 root weight=70 set=1": "latency=1500",
    "weight=200 set=1": "max=max,1000,max,max latency=1000000",
    "weight=300 set=1 path=/a": "latency=2000",
    "weight=100 set=0 path=/a/b": "min=1024,0,0,7 latency=10",
}
OLD = "'latency-target': must be weight, max, min, set, groups, stats or latency"
TELLS = (
    "the module that is loaded knows no latency targets: it is older than this iobandctl; load "
    "the module of the same version"
)


@pytest.fixture
def targeted(host: Fake) -> Fake:
    """The host with latency targets."""
    for name in ("one", "own"):
        host.append(name, "groups", TARGETS)
    return host


# -- setting and showing -------------------------------------------------------------------


def test_set_latency(host: Fake) -> None:
    """The same devices get the message as for a weight."""
    a = host.cgroup("/a")
    host.run("set-latency", "/a", "2ms")
    told = [f"{name}: latency-target cgroup#{a} 2000" for name in ("one", "own")]
    assert host.told("latency-target") == told
    host.run("set-latency", "--device", "two", "a", "0.5s")
    assert host.sent == [f"two: latency-target cgroup#{a} 500000"]
    host.run("set-latency", "own", "none")
    assert host.sent == ["own: latency-target device default"]
    host.run("set-latency", "root", "default", "--pool", "sdb")
    assert host.sent == ["byuid: latency-target root default"]
    host.run("set-latency", "--pool", "sdb", "uid:root", "1.5ms")
    assert host.sent == ["byuid: latency-target uid:0 1500"]


def test_set_latency_json(targeted: Fake) -> None:
    """The same output as get-latency."""
    rows = targeted.json("set-latency", "a", "2ms")
    assert [row["latency_us"] for row in rows] == [2000, None]
    assert rows == targeted.json("get-latency", "a")
    assert targeted.run("set-latency", "a", "2ms") == ""


@pytest.mark.parametrize(
    ("args", "rc", "says"),
    [
        ([], 2, "set-latency takes GROUP and how long its reads may take: a number with us, ms"),
        (["a"], 2, "set-latency takes GROUP and how long its reads may take"),
        (["a", "2"], 2, "'2': a latency is a number with us, ms or s behind it, such as 5ms"),
        (["a", "1.5us"], 2, "'1.5us': a latency comes to whole microseconds"),
        (["a", "0ms"], 2, "'0ms': that is no time: 1us is the least"),
        (["a", "1m"], 2, "'1m': a latency is a number"),
        (["a", "10001ms"], 2, "'10001ms': that is too long: 10s is the most"),
        (["a", "2", "ms"], 2, "set-latency: "),
        (["nope", "2ms"], 3, "there is no cgroup /nope"),
        (["a", "2ms", "--pool", "sdb"], 3, "no ioband device of pool sdb sorts by cgroup"),
        (["one", "2ms"], 3, "device one has no group of its own, as its mode is cgroup"),
    ],
)
def test_set_latency_refused(host: Fake, args: list[str], rc: int, says: str) -> None:
    assert says in host.run("set-latency", *args, rc=rc)
    assert host.sent == []


def test_an_older_module(host: Fake) -> None:
    (host.root / "refuse").write_text(f"latency-target {OLD}\n")
    said = host.run("set-latency", "root", "2ms", "--pool", "sda", rc=7)
    assert said == f"iobandctl: {TELLS}\n"
    (host.root / "refuse").write_text("latency-target no memory for a target\n")
    said = host.run("set-latency", "root", "2ms", "--pool", "sda", rc=1)
    assert "device one refused 'latency-target root 2000': no memory for a target" in said


def test_get_latency(targeted: Fake) -> None:
    a = {"pool": "sda", "group": "/a", "id": f"cgroup#{targeted.cgroup('/a')}"}
    assert targeted.json("get-latency", "a") == [
        {**a, "device": None, "latency_us": 2000},
        {**a, "device": "own", "latency_us": None},
    ]
    assert targeted.json("get-latency", "own")[0]["latency_us"] == 1000000
    header, one, own = targeted.run("get-latency", "a").splitlines()
    assert header.split() == ["POOL", "DEVICE", "GROUP", "LATENCY"]
    assert (one.split()[-1], own.split()[-1]) == ("2ms", "none")
    assert "there is no cgroup /nope" in targeted.run("get-latency", "nope", rc=3)


def test_groups(targeted: Fake) -> None:
    header = targeted.run("groups", "--pool", "sda").splitlines()[0].split()
    assert header[-3:] == ["MAX", "MIN", "LATENCY"]
    shown = re.findall(r"(?:set|default) .* (\S+) *\n", targeted.run("groups", "--pool", "sda"))
    assert shown == ["1500us", "1s", "-", "2ms", "10us", "-"]
    assert "LATENCY" not in targeted.run("groups", "--pool", "sdb")
    (sda,) = targeted.json("groups", "--pool", "sda")
    root, own, a, other = sda["children"]
    assert (root["latency_us"], own["latency_us"]) == (1500, 1000000)
    assert (a["latency_us"], other["latency_us"]) == (2000, None)


def test_groups_with_nothing_else(host: Fake) -> None:
    host.answer("byuid", "groups", "1 groups\n1 0 root weight=100 set=0 latency=5\nend\n")
    header, _, root = host.run("groups", "--pool", "sdb").splitlines()
    assert header.split() == ["NAME", "WEIGHT", "SET", "LATENCY"]
    assert root.endswith(" 5us")


# -- the throttle -------------------------------------------------------------------------------


def test_status(fake: Fake) -> None:
    """The rate of the throttle; an older module does not report it."""
    line = (
        "1 pool=p mode=cgroup measure=bytes state=shared depth=32 groups=3 active=2 "
        "held=2,8192 inflight=4,16384 devices=1 slice=0 piece=0"
    )
    fake.device("new", "253:1", "p", status=f"{line} brake=1572864")
    fake.device("old", "253:2", "p", status=line)
    new, old = fake.json("status")
    assert (new["brake_bytes_per_s"], old["brake_bytes_per_s"]) == (1572864, 0)
    header, new, old = fake.run("status").splitlines()
    place = header.split().index("BRAKE/S")
    assert (new.split()[place], old.split()[place]) == ("1.50M", "0B")


# -- files of weights and the configuration -------------------------------------------------


def test_saved_and_restored(targeted: Fake) -> None:
    text = targeted.run("groups", "--weights")
    assert text == (
        "1 weights\n"
        "pool=sda group=root weight=70 latency=1500\n"
        "pool=sda device=own group=device weight=200 max=max,1000,max,max latency=1000000\n"
        "pool=sda group=cgroup:/a weight=300 latency=2000\n"
        "pool=sda group=cgroup:/a/b min=1024,0,0,7 latency=10\n"
        "pool=sda device=own group=cgroup:/o\\040dd weight=50\n"
    )
    assert [row["latency_us"] for row in targeted.json("groups", "--weights")] == [
        1500, 1000000, 2000, 10, None,
    ]  # fmt: skip
    targeted.run("set-weight", "--from", "-", stdin=text)
    a, b = targeted.cgroup("/a"), targeted.cgroup("/a/b")
    assert targeted.told("latency-target") == [
        "one: latency-target root 1500",
        "own: latency-target device 1000000",
        f"one: latency-target cgroup#{a} 2000",
        f"one: latency-target cgroup#{b} 10",
    ]
    said = targeted.run("set-weight", "--from", "-", stdin=f"{text}pool=sda group=root latency=0\n",
                        rc=2)  # fmt: skip
    assert "line 7: there is neither a weight from 1 to 10000 nor a maximum" in said
    assert targeted.sent == []


CONF = """
[group /a]
latency = 2.5ms
[group /a/*]
weight = 40
latency = none
[group root]
pool = sda
latency = 1500us
maximum = riops=9
"""


def test_apply(targeted: Fake) -> None:
    """One message for each tree with another target; an error undoes them."""
    a, b = targeted.cgroup("/a"), targeted.cgroup("/a/b")
    args = configure(targeted, CONF)
    rows = [row for row in targeted.json(*args, "--dry-run") if row["action"] == "latency"]
    assert not targeted.told("latency-target")
    keys = ("pool", "device", "group", "from", "to", "because")
    conf = f"{targeted.root}/conf"
    assert [tuple(row[key] for key in keys) for row in rows] == [
        ("sda", None, "/a", "2ms", "2500us", f"{conf}:3"),
        ("sda", "own", "/a", "none", "2500us", f"{conf}:3"),
        ("sda", None, "/a/b", "10us", "none", f"{conf}:6"),
    ]
    targeted.run(*args)
    told = [
        f"one: latency-target cgroup#{a} 2500",
        f"own: latency-target cgroup#{a} 2500",
        f"one: latency-target cgroup#{b} default",
    ]
    assert targeted.told("latency-target") == told
    # A later change fails: the old targets are set again.
    (targeted.root / "refuse").write_text(f"cgroup#{b} it is not to be\n")
    said = targeted.run(*args, rc=1)
    assert "were undone: all is as it was before" in said
    assert targeted.told("latency-target") == [
        *told[:2],
        f"own: latency-target cgroup#{a} default",
        f"one: latency-target cgroup#{a} 2000",
    ]


def test_apply_changes_nothing(targeted: Fake) -> None:
    args = configure(targeted, "[group root]\npool = sda\nlatency = 1.5ms\n")
    assert targeted.json(*args) == []


def test_apply_on_an_older_module(host: Fake) -> None:
    (host.root / "refuse").write_text(f"latency-target {OLD}\n")
    said = host.run(*configure(host, "[group /a]\nweight = 7\nlatency = 2ms\n"), rc=7)
    assert TELLS in said
    assert f"... which is asked for at {host.root}/conf:3" in said
    assert "all is as it was before" in said


def test_dump(targeted: Fake) -> None:
    text = targeted.run("dump")
    assert "weight = 200\nmaximum = wbps=1KB\nlatency = 1s\n" in text
    tree = "\npool = sda\ndevice = -\n"
    assert f"group = /a{tree}weight = 300\nlatency = 2ms\n" in text
    assert f"group = /a/b{tree}minimum = rbps=1KiB wiops=7\nlatency = 10us\n" in text
    assert text.count("latency = ") == 4
    text = re.sub(r"\[device.*?\n\n", "", text, flags=re.DOTALL)
    assert targeted.json(*configure(targeted, text)) == []
