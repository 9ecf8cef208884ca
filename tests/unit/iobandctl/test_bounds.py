# SPDX-License-Identifier: GPL-2.0-only
"""Maxima and minima: their own verbs, and their place in others, on a fake kernel."""

import re

import pytest
from fakekernel import NO_BOUNDS, Fake, configure

# The groups that the kernel lists: root, device own, /a with a weight, /a/b without a weight.
BOUNDS = {
    "1 0 root weight=70 set=1": "max=max,max,5,max min=0,0,2,0",
    "weight=200 set=1": "max=max,1000,max,max min=0,500,0,0",
    "weight=300 set=1 path=/a": "max=104857600,max,max,500",
    "weight=100 set=0 path=/a/b": "min=1024,0,0,7",
}


@pytest.fixture
def bounded(host: Fake) -> Fake:
    """The host with maxima and minima."""
    for name in ("one", "own"):
        host.append(name, "groups", BOUNDS)
    return host


def cgroup(host: Fake, path: str) -> str:
    """The kernel's name of a cgroup."""
    return f"cgroup#{(host.root / 'cgroup' / path).stat().st_ino}"


def only(key: str) -> dict[str, None]:
    """The members in JSON of one kind of bound without a value."""
    return {name: None for name in NO_BOUNDS if name.startswith(key)}


# -- setting -------------------------------------------------------------------------------


def test_set_max(host: Fake) -> None:
    """The same devices get the message as for a weight; only named rates are sent."""
    a = host.cgroup("/a")
    host.run("set-max", "/a", "rbps=100MiB", "wiops=2K")
    told = [f"{name}: max cgroup#{a} rbps=104857600 wiops=2000" for name in ("one", "own")]
    assert host.told("max", "min") == told
    host.run("set-max", "--device", "two", "a", "wbps=max")
    assert host.sent == [f"two: max cgroup#{a} wbps=max"]
    host.run("set-max", "own", "default")
    assert host.told("max") == ["own: max device default"]
    host.run("set-max", "--pool", "sdb", "uid:root", "riops=1", "rbps=max")
    assert host.told("max", "min") == ["byuid: max uid:0 rbps=max riops=1"]


def test_set_min(host: Fake) -> None:
    a = host.cgroup("/a")
    host.run("set-min", "/a", "rbps=100MiB", "wiops=2K")
    told = [f"{name}: min cgroup#{a} rbps=104857600 wiops=2000" for name in ("one", "own")]
    assert host.told("max", "min") == told
    host.run("set-min", "--device", "two", "a", "wbps=0", "riops=none")
    assert host.sent == [f"two: min cgroup#{a} wbps=0 riops=0"]
    host.run("set-min", "own", "default")
    assert host.sent == ["own: min device default"]
    host.run("set-min", "--pool", "sdb", "uid:root", "riops=1", "rbps=0")
    assert host.told("max", "min") == ["byuid: min uid:0 rbps=0 riops=1"]


@pytest.mark.parametrize(
    ("args", "rc", "says"),
    [
        ([], 2, "set-max takes GROUP and its largest rates: rbps="),
        (["a"], 2, "set-max takes GROUP and its largest rates: rbps="),
        (["a", ""], 2, "no maximum is given"),
        (
            ["a", "100M"],
            2,
            "riops= and wiops=, separated by blanks, such as rbps=50MiB wiops=1K, or",
        ),
        (["a", "rbps=0"], 2, "rbps=0 would stop the group for good"),
        (["a", "rbps=2TiB"], 2, "rbps=2TiB is too large: at most 1TiB (1099511627776) a second"),
        (["a", "rbps=1", "wbps=2", "rbps=1"], 2, "rbps= is given twice"),
        (["a", "default", "rbps=1"], 2, "'default': a maximum is one or more"),
        (["nope", "rbps=1"], 3, "there is no cgroup /nope"),
        (["a", "rbps=1", "--pool", "sdb"], 3, "no ioband device of pool sdb sorts by cgroup"),
        (["one", "rbps=1"], 3, "device one has no group of its own, as its mode is cgroup"),
    ],
)
def test_set_max_refused(host: Fake, args: list[str], rc: int, says: str) -> None:
    assert says in host.run("set-max", *args, rc=rc)
    assert host.sent == []


@pytest.mark.parametrize(
    ("args", "rc", "says"),
    [
        (["a"], 2, "set-min takes GROUP and the rates it is to have at least: rbps="),
        (["a", ""], 2, "no minimum is given"),
        (["a", "rbps=max"], 2, "rbps=max: it is none, or a whole number that may end in K, M"),
        (["a", "rbps=2TiB"], 2, "rbps=2TiB is too large: at most 1TiB (1099511627776) a second"),
        (["a", "default", "rbps=1"], 2, "'default': a minimum is one or more"),
        (["nope", "rbps=1"], 3, "there is no cgroup /nope"),
        (["one", "rbps=1"], 3, "device one has no group of its own, as its mode is cgroup"),
    ],
)
def test_set_min_refused(host: Fake, args: list[str], rc: int, says: str) -> None:
    assert says in host.run("set-min", *args, rc=rc)
    assert host.sent == []


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (
            ["set-min", "/a", "wiops=501"],
            "/a in pool sda: a minimum of wiops=501 is more than the maximum of wiops=500, which "
            "would win; give both with one 'iobandctl set'\n",
        ),
        (
            ["set-max", "/a/b", "rbps=1000", "riops=9"],
            "/a/b in pool sda: a minimum of rbps=1KiB is more than the maximum of rbps=1KB, which "
            "would win; give both with one 'iobandctl set'\n",
        ),
        (["set-max", "own", "wbps=499"], "own in pool sda: a minimum of wbps=500 is more than"),
    ],
)
def test_no_more_is_promised_than_is_allowed(bounded: Fake, args: list[str], says: str) -> None:
    """An error in one pool or tree prevents the change in all."""
    assert says in bounded.run(*args, rc=2)
    assert bounded.told("max", "min") == []


@pytest.mark.parametrize(
    "args",
    [
        ["set-min", "/a", "wiops=500", "rbps=100MiB"],
        ["set-min", "/a", "riops=600"],
        ["set-max", "/a/b", "rbps=1KiB"],
        ["set-max", "/a/b", "rbps=max", "wbps=1"],
        ["set-min", "own", "wbps=none", "wiops=3"],
        ["set-max", "--pool", "sdb", "uid:7", "rbps=1"],
    ],
)
def test_as_much_is_promised_as_is_allowed(bounded: Fake, args: list[str]) -> None:
    bounded.run(*args)
    assert bounded.told("max", "min")


@pytest.mark.parametrize(
    ("verb", "nouns", "known"),
    [("max", "maxima", "weight"), ("min", "minima", "weight, max")],
)
def test_an_older_module(host: Fake, verb: str, nouns: str, known: str) -> None:
    refusal = host.root / "refuse"
    refusal.write_text(f"{verb} '{verb}': must be {known}, set, groups, stats or latency\n")
    said = host.run(f"set-{verb}", "root", "rbps=1", "--pool", "sda", rc=7)
    assert said == (
        f"iobandctl: the module that is loaded knows no {nouns}: it is older than this iobandctl; "
        "load the module of the same version\n"
    )
    refusal.write_text(f"{verb} no memory for a bound\n")
    said = host.run(f"set-{verb}", "root", "rbps=1", "--pool", "sda", rc=1)
    assert f"device one refused '{verb} root rbps=1': no memory for a bound" in said


@pytest.mark.parametrize(("kind", "rates"), [("max", "7,max,max,max"), ("min", "7,0,0,0")])
def test_set_json(bounded: Fake, kind: str, rates: str) -> None:
    """The same as the verb that shows it, for pools and trees that were changed."""
    before = bounded.json(f"get-{kind}", "root")
    for name in ("byuid", "one"):
        text = (bounded.root / f"answers/{name}@groups").read_text()
        text = re.sub(r"(1 0 root \S+ \S+).*", rf"\1 {kind}={rates}", text)
        bounded.answer(name, "groups.then", text)
    rows = bounded.json(f"set-{kind}", "root", "rbps=7")
    assert rows == bounded.json(f"get-{kind}", "root")
    assert [row[f"{kind}_rbps"] for row in rows] == [7, 7]
    assert [row[f"{kind}_rbps"] for row in before] == [None, None]
    assert bounded.run(f"set-{kind}", "root", "rbps=7") == ""
    (bounded.root / "refuse").write_text(f"{kind} no memory\n")
    bounded.run(f"set-{kind}", "--json", "root", "rbps=7", rc=1)
    assert bounded.printed == ""


# -- showing -------------------------------------------------------------------------------


def test_get_max(bounded: Fake) -> None:
    none = only("max")
    assert bounded.json("get-max", "a") == [
        {"pool": "sda", "device": None, "group": "/a", "id": cgroup(bounded, "a")}
        | none
        | {"max_rbps": 104857600, "max_wiops": 500},
        {"pool": "sda", "device": "own", "group": "/a", "id": cgroup(bounded, "a")} | none,
    ]
    assert bounded.json("get-max", "root", "--pool", "sda")[0]["max_riops"] == 5
    header, line = bounded.run("get-max", "a", "--device", "one").splitlines()
    assert header.split() == ["POOL", "DEVICE", "GROUP", "RBPS", "WBPS", "RIOPS", "WIOPS"]
    assert line.split() == ["sda", "-", "/a", "100MiB", "max", "max", "500"]
    assert "there is no cgroup /nope" in bounded.run("get-max", "nope", rc=3)


def test_get_min(bounded: Fake) -> None:
    none = only("min")
    assert bounded.json("get-min", "a/b") == [
        {"pool": "sda", "device": None, "group": "/a/b", "id": cgroup(bounded, "a/b")}
        | none
        | {"min_rbps": 1024, "min_wiops": 7},
        {"pool": "sda", "device": "own", "group": "/a/b", "id": cgroup(bounded, "a/b")} | none,
    ]
    assert bounded.json("get-min", "own")[0]["min_wbps"] == 500
    header, line = bounded.run("get-min", "a/b", "--device", "one").splitlines()
    assert header.split() == ["POOL", "DEVICE", "GROUP", "RBPS", "WBPS", "RIOPS", "WIOPS"]
    assert line.split() == ["sda", "-", "/a/b", "1KiB", "none", "none", "7"]
    assert "there is no cgroup /nope" in bounded.run("get-min", "nope", rc=3)


def test_groups(bounded: Fake) -> None:
    """The table has a column only for a kind that exists."""
    text = bounded.run("groups", "--pool", "sda")
    assert text.splitlines()[0].split() == ["NAME", "WEIGHT", "SET", "MAX", "MIN"]
    text = bounded.run("groups", "--pool", "sda", "-o", "PATH,SET,MAX,MIN")
    shown = dict(re.findall(r"^(/\S+) .*(?:set|default) +(\S.*)", text, re.MULTILINE))
    shown = {path: re.sub(" +", " ", bounds) for path, bounds in shown.items()}
    assert shown == {"/a": "rbps=100MiB wiops=500 -", "/a/b": "- rbps=1KiB wiops=7", "/o": "- -"}
    header = bounded.run("groups", "--pool", "sdb").splitlines()[0].split()
    assert header[-1] == "SET"
    (sda,) = bounded.json("groups", "--pool", "sda")
    root, own, a, other = sda["children"]
    assert (root["max_riops"], root["max_rbps"], own["max_wbps"]) == (5, None, 1000)
    assert (a["max_rbps"], a["max_wiops"], other["max_rbps"]) == (104857600, 500, None)
    assert (own["min_wbps"], own["min_rbps"], a["min_rbps"]) == (500, None, None)
    assert (a["children"][0]["min_rbps"], a["children"][0]["min_wiops"]) == (1024, 7)
    (sdb,) = bounded.json("groups", "--pool", "sdb")
    assert {key: sdb["children"][0][key] for key in NO_BOUNDS} == NO_BOUNDS


@pytest.mark.parametrize(("words", "column"), [("max=1,2,3,4", "MAX"), ("min=1,2,3,4", "MIN")])
def test_groups_with_one_kind_of_bound(host: Fake, words: str, column: str) -> None:
    line = "1 0 root weight=100 set=0"
    host.answer("byuid", "groups", f"1 groups\n{line} {words}\nend\n")
    header, _, root = host.run("groups", "--pool", "sdb").splitlines()
    assert header.split() == ["NAME", "WEIGHT", "SET", column]
    assert root.endswith("rbps=1 wbps=2 riops=3 wiops=4")


# -- files of weights --------------------------------------------------------------------------


def test_saved_and_restored(bounded: Fake) -> None:
    """The file of weights has them, and restores them; a group may have each alone."""
    text = bounded.run("groups", "--weights")
    assert text == (
        "1 weights\n"
        "pool=sda group=root weight=70 max=max,max,5,max min=0,0,2,0\n"
        "pool=sda device=own group=device weight=200 max=max,1000,max,max min=0,500,0,0\n"
        "pool=sda group=cgroup:/a weight=300 max=104857600,max,max,500\n"
        "pool=sda group=cgroup:/a/b min=1024,0,0,7\n"
        "pool=sda device=own group=cgroup:/o\\040dd weight=50\n"
    )
    saved = bounded.json("groups", "--weights")[3]
    assert (saved["group"], saved["weight"], saved["min_rbps"]) == ("/a/b", None, 1024)
    assert saved["max_rbps"] is None
    bounded.run("set-weight", "--from", "-", stdin=text)
    a, b = bounded.cgroup("/a"), bounded.cgroup("/a/b")
    assert bounded.sent == [
        "one: weight root 70",
        "one: max root rbps=max wbps=max riops=5 wiops=max",
        "one: min root rbps=0 wbps=0 riops=2 wiops=0",
        "own: weight device 200",
        "own: max device rbps=max wbps=1000 riops=max wiops=max",
        "own: min device rbps=0 wbps=500 riops=0 wiops=0",
        f"one: weight cgroup#{a} 300",
        f"one: max cgroup#{a} rbps=104857600 wbps=max riops=max wiops=500",
        f"one: min cgroup#{b} rbps=1024 wbps=0 riops=0 wiops=7",
        f"own: weight cgroup#{bounded.cgroup('/o dd')} 50",
    ]


def test_restored_to_an_older_module(bounded: Fake) -> None:
    """Settings that the module does not know are reported and skipped."""
    known = "'min': must be weight, max, set, groups, stats or latency"
    (bounded.root / "refuse").write_text(f"min {known}\n")
    saved = bounded.root / "saved"
    saved.write_text(bounded.run("groups", "--weights"))
    said = bounded.run("set-weight", "--from", str(saved), rc=7)
    assert "knows no minima" in said
    assert "3 of 5 lines were not restored" in said
    assert len(bounded.told("max")) == 3


def test_restored_as_it_was(host: Fake) -> None:
    """A minimum above the maximum is restored, as the kernel accepts it, with a note."""
    saved = host.root / "saved"
    saved.write_text("1 weights\n\npool=sda group=root max=5,max,max,max min=6,0,0,0\n")
    host.run("set-weight", "--from", str(saved))
    assert host.complaints == (
        f"iobandctl: note: line 3 of {saved}: a minimum of rbps=6 is more than the maximum of "
        "rbps=5, which wins\n"
    )
    assert len(host.told("max", "min")) == 2


# -- the configuration ---------------------------------------------------------------------------

CONF = """
[group /a]
maximum = rbps=100MiB wiops=500
[group /a/*]
weight = 40
minimum = default
[group root]
pool = sda
maximum = wbps=1MiB riops=5
minimum = wbps=512KiB
"""


def test_apply(bounded: Fake) -> None:
    """One message with all rates for each tree with another bound."""
    a, b = bounded.cgroup("/a"), bounded.cgroup("/a/b")
    args = configure(bounded, CONF)
    rows = [row for row in bounded.json(*args, "--dry-run") if row["action"] != "weight"]
    assert not bounded.told("max", "min")
    keys = ("action", "pool", "device", "group", "from", "to", "because")
    conf = f"{bounded.root}/conf"
    assert [tuple(row[key] for key in keys) for row in rows] == [
        ("maximum", "sda", None, "root", "riops=5", "wbps=1MiB riops=5", f"{conf}:9"),
        ("minimum", "sda", None, "root", "riops=2", "wbps=512KiB", f"{conf}:10"),
        ("maximum", "sda", "own", "/a", "default", "rbps=100MiB wiops=500", f"{conf}:3"),
        ("minimum", "sda", None, "/a/b", "rbps=1KiB wiops=7", "default", f"{conf}:6"),
    ]
    bounded.run(*args)
    told = [
        "one: max root rbps=max wbps=1048576 riops=5 wiops=max",
        "one: min root rbps=0 wbps=524288 riops=0 wiops=0",
        f"own: max cgroup#{a} rbps=104857600 wbps=max riops=max wiops=500",
        f"one: min cgroup#{b} default",
    ]
    assert bounded.told("max", "min") == told
    # A later change fails: the old bounds are set again.
    (bounded.root / "refuse").write_text(f"cgroup#{b} it is not to be\n")
    said = bounded.run(*args, rc=1)
    assert "it is not to be" in said
    assert "were undone: all is as it was before" in said
    assert bounded.told("max", "min") == [
        *told[:3],
        f"own: max cgroup#{a} default",
        "one: min root rbps=0 wbps=0 riops=2 wiops=0",
        "one: max root rbps=max wbps=max riops=5 wiops=max",
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (  # in one section
            "[group /a]\nminimum = rbps=2MiB\nmaximum = rbps=1MiB\n",
            [
                "conf:2: a minimum of rbps=2MiB is more than the maximum of rbps=1MiB, which would "
                "win"
            ],
        ),
        (  # in two that are about the same
            "[group /a]\nmaximum = rbps=1MiB\n[group all]\ngroup = /?\nminimum = rbps=2MiB\n",
            [
                "/a: a minimum of rbps=2MiB is more than the maximum of rbps=1MiB (",
                "conf:2), which would win",
                "conf:5; nothing was changed",
            ],
        ),
        (  # with the present bound
            "[group /a]\nminimum = wiops=501\n",
            [
                "/a: a minimum of wiops=501 is more than the maximum of wiops=500 (it has it now)",
                "conf:2; nothing was changed",
            ],
        ),
        (
            "[group /a]\nweight = 7\n[group /a/b]\nmaximum = wiops=6\n",
            ["/a/b: a minimum of wiops=7 is more than", "conf:4; nothing was changed"],
        ),
        (
            "[group root]\npool = sda\nminimum = riops=6\n",
            ["root: a minimum of riops=6 is more than", "conf:3; nothing was changed"],
        ),
    ],
)
def test_apply_of_a_promise_that_cannot_be_kept(bounded: Fake, text: str, says: list[str]) -> None:
    said = bounded.run(*configure(bounded, text), rc=2)
    assert all(part in said for part in says), said
    assert bounded.told("weight", "max", "min") == []


def test_apply_of_what_is_allowed_there(bounded: Fake) -> None:
    """If a configuration changes both, the present bounds do not matter."""
    args = configure(bounded, "[group /a/b]\nminimum = rbps=1\nmaximum = rbps=2\n")
    bounded.run(*args)
    assert len(bounded.told("max", "min")) == 4


def test_apply_on_an_older_module(host: Fake) -> None:
    known = "'min': must be weight, max, set, groups, stats or latency"
    (host.root / "refuse").write_text(f"min {known}\n")
    args = configure(host, "[group /a]\nweight = 7\nminimum = rbps=1\n")
    said = host.run(*args, rc=7)
    assert "knows no minima" in said
    assert f"... which is asked for at {host.root}/conf:3" in said
    assert "all is as it was before" in said


def test_dump(bounded: Fake) -> None:
    text = bounded.run("dump")
    own = "[device own]\ndevice = /dev/block/4000:3\npool = sda\nmode = device+cgroup\n"
    assert own + "weight = 200\nmaximum = wbps=1KB\nminimum = wbps=500\n" in text
    tree = "\npool = sda\ndevice = -\n"
    assert f"group = /a{tree}weight = 300\nmaximum = rbps=100MiB wiops=500\n" in text
    assert f"group = /a/b{tree}minimum = rbps=1KiB wiops=7\n" in text
    assert (text.count("maximum = "), text.count("minimum = ")) == (3, 3)
    text = re.sub(r"\[device.*?\n\n", "", text, flags=re.DOTALL)
    assert bounded.json(*configure(bounded, text)) == []
