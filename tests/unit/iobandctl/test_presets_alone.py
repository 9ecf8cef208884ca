# SPDX-License-Identifier: GPL-2.0-only
"""Settings of cgroups that do not exist yet, on a fake kernel."""

import re

import pytest
from fakekernel import Fake, configure

PRESETS = """1 presets
1 root weight=300 path=/a/b
2 root weight=5 path=/gone max=max,7,max,max latency=2000
3 device:253:3 weight=300 path=/a/b
4 device:253:3 weight=6 path=/two\\040words min=0,0,9,0
end
"""


def test_presets_are_what_the_configuration_has_by_path(host: Fake) -> None:
    """One message for each differing setting in each tree; other presets are removed."""
    host.minor = 1
    for device in ("one", "own"):
        host.answer(device, "presets", PRESETS)
    host.answer("byuid", "presets", "1 presets\nend\n")
    conf = "[group /a/*]\nmaximum = rbps=1KiB\n[group /a/b]\nweight = 300\n[group two]\n"
    conf += "group = /two\\040words\ndevice = own\nweight = 100\nlatency = 5ms\n"
    conf += "[group /]\nweight = 3\n[group root]\npool = sda\n"
    conf += "latency = 9ms\n[group strange]\ngroup = /dà:y-1_b.c\npool = sda\nweight = 8\n"
    args = configure(host, conf)
    rows = [row for row in host.json(*args, "--dry-run") if row["action"] == "preset"]
    assert host.told("preset") == []
    sda = [
        "one: preset max cgroup:/a/b rbps=1024 wbps=max riops=max wiops=max",
        "one: preset weight cgroup:/d\\\udcc3\\\udca0\\:y-1_b.c 8",
        "own: preset max cgroup:/a/b rbps=1024 wbps=max riops=max wiops=max",
        "own: preset weight cgroup:/d\\\udcc3\\\udca0\\:y-1_b.c 8",
        "own: preset min cgroup:/two\\ words default",
        "own: preset weight cgroup:/two\\ words 100",
        "own: preset latency-target cgroup:/two\\ words 5000",
        "one: preset latency-target cgroup:/gone default",
        "one: preset weight cgroup:/gone default",
        "one: preset max cgroup:/gone default",
    ]
    host.run(*args)
    told = host.told("preset")
    assert told == sda
    assert len(rows) == len(told)
    keys = ("device", "group", "setting", "from", "to")
    found = [tuple(row[key] for key in keys) for row in rows]
    assert (None, "/gone", "maximum", "wbps=7", "default") in found
    assert ("own", "/two words", "weight", "6", "100") in found
    assert ("own", "/two words", "latency", "none", "5ms") in found


def test_one_path_in_several_sections(fake: Fake) -> None:
    """The last section for a path wins, and a path wins over a pattern; one message each."""
    fake.minor = 1
    fake.device("one", "253:1", "sda")
    fake.answer("one", "groups", "1 groups\n1 0 root weight=100 set=0\nend\n")
    fake.answer("one", "presets", "1 presets\nend\n")
    spelled = ["/x/y", "x/y/", "cgroup:/x/y", "/x\\057y", "/\\170/y"]
    sections = [
        f"[group {number}]\ngroup = {path}\nweight = {number}\nmaximum = rbps={number}\n"
        for number, path in enumerate(spelled, 1)
    ]
    conf = "".join(sections) + "[group /x/*]\nweight = 77\nlatency = 1ms\n"
    conf += "[group /x/y]\npool = sda\nweight = 70\n[group near]\ngroup = /x/y\nweight = 71\n"
    fake.run(*configure(fake, conf))
    assert fake.told("preset") == [
        "one: preset max cgroup:/x/y rbps=5 wbps=max riops=max wiops=max",
        "one: preset weight cgroup:/x/y 70",
        "one: preset latency-target cgroup:/x/y 1000",
    ]


@pytest.mark.parametrize(
    ("first", "second", "line"),
    [
        ("maximum = rbps=1MiB", "[group 2]\ngroup = /x\nminimum = rbps=2MiB", 5),
        ("minimum = rbps=2MiB", "[group /*]\nmaximum = rbps=1MiB", 2),
        ("minimum = rbps=2MiB", "[group 2]\ngroup = x\npool = sda\nmaximum = rbps=1MiB", 2),
        ("maximum = rbps=1MiB", "[group 2]\ngroup = /x\ndevice = own\nminimum = rbps=2MiB", 6),
    ],
)
def test_presets_of_a_promise_that_cannot_be_kept(
    host: Fake, first: str, second: str, line: int
) -> None:
    """The error is found also without a cgroup; nothing is changed."""
    conf = f"[group /x]\n{first}\n{second}\n"
    presets(host)
    said = host.run(*configure(host, conf), rc=2)
    assert "/x: a minimum of rbps=2MiB is more than the maximum of rbps=1MiB (" in said
    assert f"which is asked for at {host.root}/conf:{line}; nothing was changed" in said
    assert host.told("preset", "max", "min") == []
    host.run(
        *configure(
            host,
            f"{conf}[group last]\ngroup = /x\npool = sda\nminimum = default\n"
            "[group own]\ngroup = /x\ndevice = own\nminimum = default\n",
        )
    )


def test_more_presets_than_there_can_be(host: Fake) -> None:
    """Too many are refused before any change; old presets are removed before new ones are set."""
    most = 4096
    lost = [f"device:9:9 weight=7 path=/lost{n}" for n in range(most - 6)]
    old = [f"device:253:3 weight=7 path=/old{n}" for n in range(4)]
    presets(host, *lost, *old, "root weight=7 path=/x")

    def told(*names: str, rc: int = 0) -> list[str]:
        conf = "".join(f"[group /{name}]\nweight = 8\ndevice = -\n" for name in names)
        said = host.run(*configure(host, conf), rc=rc)
        return [said] if rc else host.told("preset")

    weights = [f"one: preset weight cgroup:/{name} 8" for name in "xabcdef"]
    dropped = [f"own: preset weight cgroup:/old{n} default" for n in range(4)]
    dropped_x = ["one: preset weight cgroup:/x default"]
    assert told("x", "a") == sorted(weights[:2]) + dropped
    assert told(*"abcdef") == dropped_x + dropped + weights[1:]
    (said,) = told(*"abcdefg", rc=2)
    assert f"pool sda: what cgroups begin with would be kept for {most + 1} paths, and" in said
    assert f"{most} are the most" in said
    assert host.told("preset", "weight") == []


UNTOLD = "what the configuration says of a path is not there with a cgroup's first I/O"


def test_presets_and_a_module_that_is_older(host: Fake) -> None:
    """The rest is applied; missing presets are reported if any was wanted."""
    args = configure(host, "[group /a]\nweight = 301\n")
    host.run(*args)
    assert f"{UNTOLD}, but is set when the cgroup is seen: the module that" in host.complaints
    assert host.complaints.count(UNTOLD) == 1
    assert len(host.told("weight")) == 2
    assert [message for message in host.sent if "preset" in message] == []
    host.run(*configure(host, "[group /*]\nweight = 301\n"))
    assert UNTOLD not in host.complaints


@pytest.mark.parametrize("version", [1, 2])
def test_presets_in_a_cgroup_namespace(host: Fake, version: int) -> None:
    """In a container, paths differ from the module's: apply sets and removes no presets."""
    presets(host, "root weight=7 path=/outside/a")
    host.version = version
    args = configure(host, "[group /a]\nweight = 301\n")
    (host.root / "cgroup/release_agent").touch()
    host.run(*args)
    assert UNTOLD not in host.complaints
    assert len(host.told("preset")) == 3
    assert "# Paths are from the root of all" not in host.run("dump")
    (host.root / "cgroup/cgroup.events").write_text("populated 1\n")
    (host.root / "cgroup/release_agent").unlink()
    host.run(*args)
    assert "as in a cgroup namespace" in host.complaints
    assert host.complaints.count(UNTOLD) == 1
    assert host.told("preset") == []
    assert len(host.told("weight")) == 2
    assert "# Paths are from the root of all" in host.run("dump")


def test_presets_are_dumped(host: Fake) -> None:
    """For paths without a cgroup that has settings; not with an older module."""
    before = host.run("dump")
    assert "/gone" not in before
    host.minor = 1
    host.answer("byuid", "presets", "1 presets\nend\n")
    for device in ("one", "own"):
        host.answer(device, "presets", PRESETS.replace("/a/b", "/a"))
    text = host.run("dump")
    gone = "group = /gone\npool = sda\ndevice = -\nweight = 5\nmaximum = wbps=7\nlatency = 2ms\n"
    words = "group = /two\\040words\npool = sda\ndevice = own\nweight = 6\nminimum = riops=9\n"
    assert gone in text
    assert words in text
    assert text.count("group = /a\npool = sda\ndevice = -\n") == 1
    assert text.count("group = /a\npool = sda\ndevice = own\n") == 1
    sections = re.findall(r"\[group (\d+)\]", text)
    assert sections == [str(1 + number) for number in range(len(sections))]


def presets(host: Fake, *lines: str) -> None:
    """Set the presets that all devices report."""
    host.minor = 1
    text = "".join(f"{number} {line}\n" for number, line in enumerate(lines, 1))
    for device in ("one", "own"):
        host.answer(device, "presets", f"1 presets\n{text}end\n")
    host.answer("byuid", "presets", "1 presets\nend\n")


def told_of_presets(host: Fake, dump: str) -> list[str]:
    """The messages on presets when a dump is applied without its devices, which do not exist."""
    host.run(*configure(host, re.sub(r"\[device.*?\n\n", "", dump, flags=re.DOTALL)))
    return host.told("preset")


def test_a_new_group_has_no_more_than_before_and_after(fake: Fake) -> None:
    """Reductions precede increases, with maxima around them, and removed paths are last."""
    fake.minor = 1
    fake.device("one", "253:1", "sda")
    number = fake.cgroup("/there")
    fake.answer("one", "groups", "1 groups\n1 0 root weight=100 set=0\nend\n")
    listed = [
        "/gone weight=5 max=7,max,max,max",
        "/less weight=500 max=9,max,max,max min=9,0,0,0",
        "/more weight=5 max=9,max,max,max min=3,0,0,0 latency=7",
        "/mixed max=5,9,max,max",
    ]
    lines = "".join(f"{n} root path={line}\n" for n, line in enumerate(listed, 1))
    fake.answer("one", "presets", f"1 presets\n{lines}end\n")
    conf = (
        "[group /there]\nweight = 700\nmaximum = riops=5\n"
        "[group /less]\nlatency = 1ms\nmaximum = rbps=4 wiops=1\n"
        "minimum = rbps=3\nweight = 50\n[group /more]\nmaximum = rbps=10\nminimum = rbps=4\n"
        "weight = 50\n[group /mixed]\nmaximum = rbps=6 wbps=8\nweight = 700\n"
    )
    fake.run(*configure(fake, conf))
    assert fake.told("preset", "weight", "max") == [
        "one: preset max cgroup:/less rbps=4 wbps=max riops=max wiops=1",
        "one: preset weight cgroup:/less 50",
        "one: preset min cgroup:/less rbps=3 wbps=0 riops=0 wiops=0",
        "one: preset latency-target cgroup:/less 1000",
        "one: preset max cgroup:/mixed rbps=6 wbps=8 riops=max wiops=max",
        "one: preset weight cgroup:/mixed 700",
        "one: preset latency-target cgroup:/more default",
        "one: preset weight cgroup:/more 50",
        "one: preset min cgroup:/more rbps=4 wbps=0 riops=0 wiops=0",
        "one: preset max cgroup:/there rbps=max wbps=max riops=5 wiops=max",
        "one: preset weight cgroup:/there 700",
        f"one: max cgroup#{number} rbps=max wbps=max riops=5 wiops=max",
        f"one: weight cgroup#{number} 700",
        "one: preset weight cgroup:/gone default",
        "one: preset max cgroup:/gone default",
        "one: preset max cgroup:/more rbps=10 wbps=max riops=max wiops=max",
    ]


def test_presets_are_put_back(host: Fake) -> None:
    """All kinds in both trees, after an error at a later preset or group."""
    presets(
        host,
        "root weight=9 path=/a max=max,7,max,max min=0,1,0,0 latency=2500",
        "root weight=100 path=/gone latency=8",
        "device:253:3 weight=9 path=/a",
    )
    conf = "[group /a]\nweight = 400\nmaximum = default\nminimum = rbps=3KiB\nlatency = none\n"
    args = configure(host, conf)
    host.run(*args)
    done = host.told("preset", "weight", "min", "max")
    before = {
        "one: preset weight cgroup:/a": "9",
        "one: preset max cgroup:/a": "rbps=max wbps=7 riops=max wiops=max",
        "one: preset min cgroup:/a": "rbps=0 wbps=1 riops=0 wiops=0",
        "one: preset latency-target cgroup:/a": "2500",
        "one: preset weight cgroup:/gone": "100",
        "one: preset latency-target cgroup:/gone": "8",
        "own: preset weight cgroup:/a": "9",
        "own: preset min cgroup:/a": "default",
    }
    for failing in ("max", f"cgroup#{host.cgroup('/a')}"):
        (host.root / "refuse").write_text(f"{failing} not now\n")
        said = host.run(*args, rc=1)
        assert "changes were undone: all is as it was before" in said
        told = host.told("preset", "weight", "min", "max")
        n = next(i for i, line in enumerate(told) if failing in line)
        assert told[: n + 1] == done[: n + 1]
        assert len(told) == 2 * n + 1
        for line, undone in zip(told[:n], reversed(told[n + 1 :]), strict=True):
            what = " ".join(line.split()[:4])
            if " preset " in line:
                assert undone == f"{what} {before[what]}"


def test_what_is_dumped_of_presets_is_applied(host: Fake) -> None:
    """All kinds of settings, in the pool's tree and in a device's: no change is left."""
    odd = "max=max,1048577,max,3 min=7,0,1000,0 latency=1234567"
    lines = [
        "root weight=7 path=/w",
        "root path=/most max=1,2,3,1099511627776",
        "root path=/least min=1024,0,0,1000000",
        "root path=/soon latency=1",
        f"root weight=10000 path=/all/x\\134y\\052 {odd}",
        f"device:253:3 weight=1 path=/all {odd}",
        "device:253:3 weight=50 path=/o\\040dd",
        "root weight=300 path=/a latency=5000",
    ]
    presets(host, *lines)
    dump = host.run("dump")
    # The dump has settings of only the group and settings of only its path.
    assert "group = /a\npool = sda\ndevice = -\nweight = 300\nlatency = 5ms\n" in dump
    presets(host, *lines)
    assert told_of_presets(host, dump) == []
    presets(host)
    assert told_of_presets(host, dump) == [
        "one: preset weight cgroup:/a 300",
        "one: preset latency-target cgroup:/a 5000",
        "one: preset max cgroup:/all/x\\\\y\\* rbps=max wbps=1048577 riops=max wiops=3",
        "one: preset weight cgroup:/all/x\\\\y\\* 10000",
        "one: preset min cgroup:/all/x\\\\y\\* rbps=7 wbps=0 riops=1000 wiops=0",
        "one: preset latency-target cgroup:/all/x\\\\y\\* 1234567",
        "one: preset min cgroup:/least rbps=1024 wbps=0 riops=0 wiops=1000000",
        "one: preset max cgroup:/most rbps=1 wbps=2 riops=3 wiops=1099511627776",
        "one: preset latency-target cgroup:/soon 1",
        "one: preset weight cgroup:/w 7",
        "own: preset max cgroup:/all rbps=max wbps=1048577 riops=max wiops=3",
        "own: preset weight cgroup:/all 1",
        "own: preset min cgroup:/all rbps=7 wbps=0 riops=1000 wiops=0",
        "own: preset latency-target cgroup:/all 1234567",
        "own: preset weight cgroup:/o\\ dd 50",
    ]


def test_weights_that_are_the_default(host: Fake) -> None:
    """An explicit weight of 100 is kept: dump is the same after apply."""
    presets(host, "root weight=100 path=/x", "device:253:3 weight=100 path=/x")
    dump = host.run("dump")
    for device in ("-", "own"):
        assert f"group = /x\npool = sda\ndevice = {device}\nweight = 100\n" in dump
    assert [line for line in told_of_presets(host, dump) if "/x" in line] == []
    presets(host)
    assert [line for line in told_of_presets(host, dump) if "/x" in line] == [
        f"{device}: preset weight cgroup:/x 100" for device in ("one", "own")
    ]
