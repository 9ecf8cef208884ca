# SPDX-License-Identifier: GPL-2.0-only
"""iobandctl set and get: several settings at once, of groups and of pools."""

import contextlib
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from fakekernel import NO_BOUNDS, Fake, configure

CHANGES = ("weight", "max", "min", "latency-target", "set")


def changes(host: Fake) -> list[str]:
    """The messages of the last run that change something."""
    return host.told(*CHANGES)


def number(host: Fake, path: str) -> str:
    """The kernel's name of a cgroup."""
    return f"cgroup#{(host.root / 'cgroup' / path).stat().st_ino}"


def test_set_of_a_group(host: Fake) -> None:
    """In each pool and tree that has it, in the order in which it never has more."""
    words = ["max_rbps=50MiB", "weight=400", "min_rbps=10MiB", "latency=5ms", "max_wiops=1K"]
    assert host.run("set", "a", *words) == ""
    a = number(host, "a")
    assert changes(host) == [
        f"{device}: {words}"
        for device in ("one", "own")
        for words in (
            f"max {a} rbps=52428800 wiops=1000",
            f"weight {a} 400",
            f"min {a} rbps=10485760",
            f"latency-target {a} 5000",
        )
    ]


def test_set_keeps_what_is_not_named(host: Fake) -> None:
    a = number(host, "a")
    host.append("one", "groups", {"set=1 path=/a": "max=5,max,7,max min=1,0,0,0 latency=9"})
    host.run("set", "--device", "one", "a", "max_rbps=max", "max_riops=8", "min_riops=3")
    assert changes(host) == [
        f"one: min {a} riops=3",
        f"one: max {a} rbps=max riops=8",
    ]
    host.run("set", "--pool", "sda", "--device", "one", "a", "max=default", "latency=none")
    assert changes(host) == [f"one: latency-target {a} default", f"one: max {a} default"]


def test_set_checks_the_rates_that_are_named(host: Fake) -> None:
    """Another program may have set a minimum of another rate above its maximum."""
    a = number(host, "a")
    host.append("one", "groups", {"set=1 path=/a": "max=5,max,7,max min=6,0,0,0"})
    host.run("set-max", "--device", "one", "a", "riops=8")
    assert changes(host) == [f"one: max {a} riops=8"]
    host.run("set-min", "--device", "one", "a", "wiops=9")
    assert changes(host) == [f"one: min {a} wiops=9"]
    said = host.run("set-max", "--device", "one", "a", "riops=8", "rbps=4", rc=2)
    assert "a minimum of rbps=6 is more than the maximum of rbps=4, which would win" in said
    assert changes(host) == []


REFUSED = [
    ("a weight=x", "a weight is a number from 1 to 10000, 'idle' or 'default': 'x'"),
    ("a weight=5 weight=6", "weight= is given twice"),
    ("a latency=5ms latency=6ms", "latency= is given twice"),
    ("a latency=5", "'5'"),
    ("a max_rbps=1 max_rbps=2", "max: rbps= is given twice"),
    ("a max_rbps=1 max=default", "max: 'default': a maximum is one or more of"),
    ("a max=5", "'max=5': it is one or more of weight="),
    ("a min_bps=5", "min: 'bps=5': a minimum is one or more of"),
    ("a heavy=5", "'heavy=5': it is one or more of weight="),
    ("a 5", "'5': it is one or more of weight="),
    ("a", "set takes GROUP and one or more of weight="),
    ("", "set takes GROUP and one or more of weight="),
    ("weight=5", "or --pool POOL and one or more of measure="),
    ("a max_rbps=1 min_rbps=2", "a minimum of rbps=2 is more than the maximum of rbps=1, which"),
    ("a weight=5 measure=time", "'measure=time': it is one or more of weight="),
    ("measure=time", "say which pool, with --pool"),
    ("--pool sda measure=time weight=5", "'weight=5': it is one or more of measure="),
    ("--pool sda measure=big", "measure=big: it is one of bytes, ios and time"),
    ("--pool sda depth=0", "depth=0: it is auto, or"),
    ("--pool sda slice=1001", "slice=1001: it is a number from 0 to 1000"),
    ("--pool sda slice=auto", "give a number, 0 for none"),
    ("--pool sda slice=5 slice=6", "slice= is given twice"),
    ("--pool sda writes_starved=0", "writes_starved=0: it is a number from 1 to 100"),
    ("--pool sda writes_starved=101", "writes_starved=101: it is a number from 1 to 100"),
    ("--pool sda writes_starved=auto", "writes_starved=auto: it is a number from 1 to 100"),
    ("--pool sda writes_starved=1 writes_starved=2", "writes_starved= is given twice"),
    ("--pool sda mode=uid", "name it with --device"),
]


@pytest.mark.parametrize(("words", "says"), REFUSED, ids=[words for words, _ in REFUSED])
def test_set_refuses(host: Fake, words: str, says: str) -> None:
    """An error is found before any change."""
    assert says in host.run("set", *words.split(), rc=2)
    assert changes(host) == []


def test_set_of_a_group_or_nothing(host: Fake) -> None:
    """Changes before a refusal are undone in reverse order, in all pools."""
    a = number(host, "a")
    (host.root / "refuse").write_text("latency-target no room")
    said = host.run("set", "a", "weight=5", "max_rbps=1MiB", "latency=5ms", rc=1)
    assert f"device one refused 'latency-target {a} 5000': no room" in said
    assert said.endswith("iobandctl: ... nothing was changed\n")
    assert changes(host) == [
        f"one: max {a} rbps=1048576",
        f"one: weight {a} 5",
        f"one: latency-target {a} 5000",
        f"one: weight {a} 300",
        f"one: max {a} rbps=max",
    ]
    host.append("one", "groups", {"root weight=70 set=1": "max=max,max,9,max"})
    (host.root / "refuse").write_text("one:~max no room")
    host.run("set", "root", "weight=5", "max_rbps=1KiB", rc=1)
    assert changes(host) == [
        "byuid: max root rbps=1024",
        "byuid: weight root 5",
        "one: max root rbps=1024",
        "byuid: weight root default",
        "byuid: max root rbps=max",
    ]


def test_set_of_a_cgroup_that_begins_with_a_preset(host: Fake) -> None:
    """The kernel has no group yet: the preset's settings are kept, and restored on errors."""
    host.minor = 1
    host.cgroup("/new")
    new = number(host, "new")
    listed = "9 root weight=70 path=/new max=5,max,7,max\n9 device:253:1 weight=6 path=/new\n"
    host.answer("one", "presets", f"1 presets\n{listed}end\n")
    host.run("set", "--device", "one", "new", "max_riops=8", "min_wbps=3")
    assert changes(host) == [
        f"one: min {new} wbps=3",
        f"one: max {new} riops=8",
    ]
    (host.root / "refuse").write_text("latency-target no room")
    host.run("set", "--device", "one", "new", "weight=5", "max_rbps=1", "latency=5ms", rc=1)
    assert changes(host) == [
        f"one: max {new} rbps=1",
        f"one: weight {new} 5",
        f"one: latency-target {new} 5000",
        f"one: weight {new} 70",
        f"one: max {new} rbps=5",
    ]


def test_set_interrupted(host: Fake) -> None:
    """Earlier steps are undone, or all steps are done and marked; then the signal takes effect."""
    a = number(host, "a")
    (host.root / "interrupt").touch()
    said = host.run("set", "a", "weight=5", rc=-signal.SIGTERM)
    assert "interrupted: Terminated" in said
    assert said.endswith("iobandctl: ... nothing was changed\n")
    assert changes(host) == [f"one: weight {a} 5", f"one: weight {a} 300"]
    assert not host.marks
    host.run("set", "--pool", "sda", "depth=5", rc=-signal.SIGTERM)
    assert changes(host) == ["one: set depth=5"]
    assert host.marks == {"sda - - depth"}


def test_set_that_cannot_be_undone(host: Fake) -> None:
    """Each setting that is left is named, with the command that sets it back."""
    (host.root / "refuse").write_text("70 no room")
    said = host.run("set", "--pool", "sda", "root", "weight=5", "latency=70us", rc=1)
    assert changes(host) == [
        "one: weight root 5", "one: latency-target root 70", "one: weight root 70",
    ]  # fmt: skip
    back = "iobandctl set --device one root weight=70"
    assert said.endswith(f"... weight=5 stays in pool sda; '{back}' sets it back\n")
    assert "nothing was changed" not in said
    (host.root / "refuse").unlink()
    host.run(*back.split()[1:])
    assert changes(host) == ["one: weight root 70"]


STUCK = [
    (
        ["a", "weight=5", "max_rbps=1MiB", "max_wiops=2K", "latency=70us"],
        "=max no room",
        "max_rbps=1MiB max_wiops=2000 stays in pool sda; "
        "'iobandctl set --device one a max_rbps=max max_wiops=max'",
    ),
    (
        ["--pool", "sda", "depth=5", "writes_starved=2"],
        "depth=auto no room",
        "depth=5 stays in pool sda; 'iobandctl set --pool sda depth=auto'",
    ),
]


@pytest.mark.parametrize(("words", "refuse", "says"), STUCK, ids=["group", "pool"])
def test_set_that_is_left(host: Fake, words: list[str], refuse: str, says: str) -> None:
    (host.root / "refuse").write_text(refuse)
    (host.root / "interrupt").touch()
    said = host.run("set", *words, rc=-signal.SIGTERM)
    assert said.endswith(f"iobandctl: ... {says} sets it back\n")


def test_set_of_several_that_refuses_the_first(host: Fake) -> None:
    """Nothing was to be undone, which is said too; not of one message."""
    (host.root / "refuse").write_text("weight no room")
    said = host.run("set", "a", "weight=5", rc=1)
    assert len(changes(host)) == 1
    assert said.endswith("iobandctl: ... nothing was changed\n")
    assert "nothing" not in host.run("set", "--device", "one", "a", "weight=5", rc=1)


def test_set_of_a_pool(host: Fake) -> None:
    """Slices are set before the measure by time, and removed after it."""
    assert host.run("set", "--pool", "sda", "measure=time", "depth=32/65536", "slice=80") == ""
    assert changes(host) == [
        "one: set slice=80", "one: set measure=time", "one: set depth=32/65536",
    ]  # fmt: skip
    host.run("set", "--pool", "sda", "slice=0", "measure=bytes")
    assert changes(host) == ["one: set measure=bytes", "one: set slice=0"]
    host.run("set", "--pool", "sda", "writes_starved=1", "depth=9")
    assert changes(host) == ["one: set depth=9", "one: set writes_starved=1"]
    host.run("set", "--device", "own", "mode=device", "depth=auto")
    assert changes(host) == ["own: set depth=auto", "own: set mode=device"]
    assert "there is no pool 'no'" in host.run("set", "--pool", "no", "depth=5", rc=3)


def test_set_of_a_pool_or_nothing(host: Fake) -> None:
    (host.root / "refuse").write_text("depth no room")
    said = host.run("set", "--pool", "sda", "measure=time", "depth=5", "slice=80", rc=1)
    assert "device one refused 'set depth=5': no room" in said
    assert said.endswith("iobandctl: ... nothing was changed\n")
    assert changes(host) == [
        "one: set slice=80",
        "one: set measure=time",
        "one: set depth=5",
        "one: set measure=bytes",
        "one: set slice=0",
    ]
    (host.root / "refuse").write_text("set no room")
    assert "refused 'set slice=80'" in host.run("set", "--pool", "sda", "slice=80", rc=1)
    assert changes(host) == ["one: set slice=80"]
    (host.root / "refuse").write_text("mode no room")
    words = ("mode=gid", "writes_starved=7", "depth=5")
    host.run("set", "--device", "byuid", *words, rc=1)
    assert changes(host) == [
        "byuid: set depth=5",
        "byuid: set writes_starved=7",
        "byuid: set mode=gid",
        "byuid: set writes_starved=5",
        "byuid: set depth=auto",
    ]


def test_groups_that_are_called_as_keys(host: Fake) -> None:
    host.cgroup("/weight=5")
    host.cgroup("/depth=5")
    host.run("set", "--device", "one", "weight=5", "weight=6")
    assert changes(host) == [f"one: weight {number(host, 'weight=5')} 6"]
    host.run("set", "--device", "one", "cgroup:depth=5", "weight=6")
    assert changes(host) == [f"one: weight {number(host, 'depth=5')} 6"]


def test_get_of_a_group(host: Fake) -> None:
    host.append("one", "groups", {"set=1 path=/a": "max=1048576,max,7,max latency=5000"})
    rows = host.json("get", "a")
    assert rows[0] == {
        "pool": "sda", "device": None, "group": "/a", "id": number(host, "a"),
        "weight": 300, "set": True,
        **NO_BOUNDS, "max_rbps": 1048576, "max_riops": 7, "latency_us": 5000,
    }  # fmt: skip
    assert (rows[1]["device"], rows[1]["weight"]) == ("own", 100)
    lines = host.run("get", "--device", "one", "a").splitlines()
    assert lines[0].split() == ["POOL", "DEVICE", "GROUP", "WEIGHT", "SET", "MAX", "MIN", "LATENCY"]
    assert " ".join(lines[1].split()) == "sda - /a 300 set rbps=1MiB riops=7 - 5ms"
    assert host.json("set", "--device", "one", "a", "weight=9") == rows[:1]


def test_get_of_pools(host: Fake) -> None:
    sda = {"pool": "sda", "device": None, "mode": None, "measure": "bytes"}
    sda |= {"depth": "auto", "slice_ms": 0, "writes_starved": 2}
    sdb = sda | {"pool": "sdb", "slice_ms": 80, "writes_starved": 5}
    assert host.json("get") == [sdb, sda]
    assert host.json("get", "--pool", "sda") == [sda]
    assert host.json("get", "--device", "own") == [sda | {"device": "own", "mode": "device+cgroup"}]
    shown = host.run("get", "--pool", "sdb").split()
    assert " ".join(shown) == "POOL MEASURE DEPTH SLICE STARVED sdb bytes auto 80 5"
    assert host.json("set", "--pool", "sda", "depth=5") == [sda]


def test_settings_are_printed_under_the_lock(host: Fake) -> None:
    """Otherwise they could be those of another change."""
    out, full = os.pipe()
    os.set_blocking(full, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(full, b" " * 4096)
    os.set_blocking(full, True)
    (host.root / "log").write_text("")
    command = [host.program, "set", "--pool", "sda", "depth=5", "--json"]
    process = subprocess.Popen(command, env=host.environment, stdout=full)
    os.close(full)
    while "one: set depth=5" not in host.sent:
        assert process.poll() is None
        time.sleep(0.01)
    time.sleep(0.3)
    assert (host.root / "run/.lock").exists()
    with open(out) as stream:
        assert json.loads(stream.read())["pools"]
    assert process.wait() == 0
    assert not (host.root / "run/.lock").exists()


NOTE = (
    "note: {}: K, M, G and T are powers of 1000, as in systemd's IOReadBandwidthMax=, no longer of "
    "1024; write MB or the like for powers of 1000, MiB or the like for powers of 1024\n"
)


def test_units(host: Fake) -> None:
    """Plain M is as systemd has it, which is new: a note says so, and not of any other."""
    for word, number in (("50M", 50_000_000), ("50MB", 50_000_000), ("50MiB", 50 << 20)):
        plain = word == "50M"
        host.run("set", "--device", "one", "a", f"max_rbps={word}", "max_riops=2K")
        (sent,) = changes(host)
        assert sent.endswith(f" rbps={number} riops=2000")
        assert host.complaints == ("iobandctl: " + NOTE.format("rbps=50M") if plain else "")
        host.run("set-min", "--device", "one", "a", f"wbps={word}")
        assert host.complaints == ("iobandctl: " + NOTE.format("wbps=50M") if plain else "")
    said = host.run("set", "a", "max_riops=5KiB", rc=2)
    assert "riops=5KiB: it is max, or a whole number that may end in K, M, G or T" in said


def test_units_in_the_configuration(fake: Fake) -> None:
    fake.device("one", "253:1", "sda")
    fake.answer("one", "groups", "1 groups\n1 0 root weight=100 set=0\nend\n")
    text = "[group root]\nmaximum = rbps=5MiB\nminimum = wbps=7K riops=1K\n"
    args = configure(fake, text)
    fake.run(*args)
    note = f"iobandctl: {NOTE.format('wbps=7K')}".replace("note: ", f"note: {fake.root}/conf:3: ")
    assert fake.complaints == note
    assert fake.told("min") == ["one: min root rbps=0 wbps=7000 riops=1000 wiops=0"]
    assert fake.told("max") == ["one: max root rbps=5242880 wbps=max riops=max wiops=max"]
    fake.run("check-config", *args[1:])
    assert fake.complaints == note
    assert fake.run(*args, "gone", rc=3).startswith(note)  # as at boot, disk by disk
    fake.run(*configure(fake, text.replace("7K ", "7KB ")))
    assert fake.complaints == ""


# -- short forms --------------------------------------------------------------------------------

SHORT = [
    (["set-weight", "a", "5"], ["set", "a", "weight=5"], "weights"),
    (["set-max", "a", "rbps=5MiB", "wiops=7"],
     ["set", "a", "max_rbps=5MiB", "max_wiops=7"], "maxima"),
    (["set-max", "a", "rbps=5MiB wiops=7"], ["set", "a", "max_rbps=5MiB", "max_wiops=7"], "maxima"),
    (["set-max", "a", "default"], ["set", "a", "max=default"], "maxima"),
    (["set-min", "--device", "one", "a", "riops=7"],
     ["set", "--device", "one", "a", "min_riops=7"], "minima"),
    (["set-latency", "a", "5ms"], ["set", "a", "latency=5ms"], "latencies"),
]  # fmt: skip


@pytest.mark.parametrize(("short", "full", "name"), SHORT, ids=[" ".join(s) for s, _, _ in SHORT])
def test_short_forms_are_set(host: Fake, short: list[str], full: list[str], name: str) -> None:
    """They send what set sends, all or none, and print what their get- prints."""
    host.run(*full)
    sent = changes(host)
    assert sent
    printed = json.loads(host.run(*short, "--json"))
    assert changes(host) == sent
    assert list(printed) == [name]
    shown = [short[0].replace("set-", "get-"), *short[1 : short.index("a") + 1]]
    assert printed[name] == host.json(*shown)
    (host.root / "refuse").write_text(f"{' '.join(sent[-1].split()[:2]).replace(' ', '~')} no room")
    said = host.run(*short, rc=1)
    assert said.endswith("iobandctl: ... nothing was changed\n") == (len(sent) == 2)
    assert len(changes(host)) == 2 * len(sent) - 1


def test_one_message_is_sent_without_questions(host: Fake) -> None:
    """Scripts set the weights of many groups one after another."""
    host.run("set-weight", "--device", "one", "a", "5")
    assert host.sent == [f"one: weight {number(host, 'a')} 5"]


def test_set_from_a_file(host: Fake) -> None:
    saved = host.run("groups", "--weights")
    host.run("set", "--from", "-", stdin=saved)
    sent = changes(host)
    assert len(sent) > 3
    host.run("set-weight", "--from", "-", stdin=saved)
    assert changes(host) == sent
    for words in (["a", "weight=5"], ["--pool", "sda"], ["--device", "one"]):
        assert "give nothing else" in host.run("set", "--from", "-", *words, rc=2)


# -- pools in the configuration -----------------------------------------------------------------

ASSIGNED = "[device x]\ndevice = none\noptional = yes\npool = sdq\n"


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("[pool sdq]\ndepth = 7\n", 1, "pool sdq has the kernel's name of a disk"),
        ("[pool *]\n[pool sdq+nvme3n1]\ndepth = 7\n", 2, "pool sdq+nvme3n1 has the kernel's"),
        ("[group root]\nweight = 7\npool = sdq\n", 3, "pool sdq has the kernel's name"),
        ("[pool /dev/disk/by-id/x]\ndepth = 7\n", 1, "there is no device /dev/disk/by-id/x"),
        ("[group root]\npool = /dev/x\nweight = 7\n", 2, "there is no device /dev/x, so that"),
    ],
)
def test_pools_that_may_be_others(fake: Fake, text: str, line: int, says: str) -> None:
    args = configure(fake, text)
    assert fake.json(*args) == []
    assert f"note: {fake.root}/conf:{line}: {says}" in fake.complaints
    assert fake.complaints.count("note: ") == 1


@pytest.mark.parametrize("text", ["[pool {}]\n", "[device x]\nname = none\npool = {}\n"])
def test_pools_by_the_kernels_nodes_of_disks(fake: Fake, text: str) -> None:
    """A path of this machine's device nodes works like the name."""
    names = [path.name for path in Path("/sys/class/block").iterdir()]
    nodes = [f"/dev/{name}" for name in names if Path("/dev", name).is_block_device()]
    if not nodes:
        pytest.skip("no block device has a node here")
    fake.json(*configure(fake, text.format(nodes[0])))
    assert f": pool {nodes[0]} has the kernel's name of a disk" in fake.complaints


@pytest.mark.parametrize(
    "text",
    [
        f"{ASSIGNED}[pool sdq]\ndepth = 7\n[group root]\nweight = 7\npool = sdq\n",
        "[pool s*]\ndepth = 7\n",
        "[pool disks]\ndepth = 7\n",
        "[device x]\ndevice = none\noptional = yes\npool = /dev/x\n",
    ],
)
def test_pools_that_are_what_they_are(fake: Fake, text: str) -> None:
    assert fake.json(*configure(fake, text)) == []
    assert fake.complaints == ""
