# SPDX-License-Identifier: GPL-2.0-only
"""Settings that left the configuration are taken back, and no others."""

import fcntl
from collections.abc import Callable

import pytest
from fakekernel import Fake, configure
from watcher import Watcher

MAX = "max=1048576,max,max,max"
MIN = "min=0,0,0,5"


def listing(*groups: str) -> str:
    """A pool's answer with its groups, after the root."""
    lines = [f"{n} 1 {group}" for n, group in enumerate(groups, 2)]
    return "\n".join(["1 groups", "1 0 root weight=100 set=0", *lines, "end\n"])


@pytest.fixture
def given(fake: Fake) -> Fake:
    """A device, one, with a cgroup, /a, and a user that have the settings of GIVEN."""
    a = fake.cgroup("/a")
    fake.device("one", "253:1", "sda")
    fake.device("byuid", "253:4", "sda", "uid")
    groups = listing(
        f"cgroup#{a} weight=300 set=1 path=/a {MAX} {MIN} latency=5000",
        "uid:0 weight=70 set=1",
        f"cgroup#99 weight=300 set=1 {MAX}",  # its cgroup is gone
    )
    for name in ("one", "byuid"):
        fake.answer(name, "groups", groups)
    return fake


SETTINGS = "weight = 300\nmaximum = rbps=1MiB\nminimum = wiops=5\nlatency = 5ms\n"
GIVEN = f"[group /a]\n{SETTINGS}[group u]\ngroup = uid:root\nweight = 70\n"
OTHER = "[group /other]\nweight = 5\n"
BACK = {
    "weight": ("300", "default"),
    "maximum": ("rbps=1MiB", "default"),
    "minimum": ("wiops=5", "default"),
    "latency": ("5ms", "none"),
}


def apply(fake: Fake, text: str) -> list[str]:
    """Apply a configuration after a --dry-run; returns the messages."""
    args = configure(fake, text)
    planned = fake.json(*args, "--dry-run")
    assert fake.told("weight", "max", "min", "latency-target", "set") == []
    assert fake.json(*args) == planned
    return fake.told("weight", "max", "min", "latency-target", "set")


@pytest.mark.parametrize("where", ["/a", "/*"])
def test_what_is_no_longer_asked_for(given: Fake, where: str) -> None:
    """All settings, with their place; of a group without any setting left, and one with some."""
    a = given.cgroup("/a")
    assert apply(given, OTHER) == [], "nobody has asked for what is there"
    assert apply(given, GIVEN.replace("/a", where)) == []
    args = configure(given, OTHER)
    rows = given.json(*args, "--dry-run")
    assert {row["because"] for row in rows} == {f"{given.root}/conf"}
    assert {(row["group"], row["action"]): (row["from"], row["to"]) for row in rows} == {
        ("/a", action): change for action, change in BACK.items()
    } | {("uid:0", "weight"): ("70", "default")}
    assert all((row["pool"], row["device"]) == ("sda", None) for row in rows)
    kept = GIVEN.replace("maximum = rbps=1MiB\n", "").replace("weight = 70", "weight = 80")
    assert apply(given, kept.replace("/a", where)) == [
        "one: weight uid:0 80",
        f"one: max cgroup#{a} default",
    ]
    # The maximum was taken back.  The fake kernel still lists one, so another program set it.
    assert set(apply(given, OTHER)) == {
        f"one: weight cgroup#{a} default",
        f"one: min cgroup#{a} default",
        f"one: latency-target cgroup#{a} default",
    }
    assert apply(given, OTHER) == []


def test_only_what_is_still_as_it_was_given(given: Fake) -> None:
    """A setting that was changed in between is kept."""
    a = given.cgroup("/a")
    text = GIVEN.replace("rbps=1MiB", "rbps=2MiB").replace("5ms", "6ms").replace("= 300", "= 301")
    assert len(apply(given, text)) == 3
    assert apply(given, OTHER) == [f"one: min cgroup#{a} default", "one: weight uid:0 default"]


@pytest.mark.parametrize(
    ("command", "settings"),
    [
        ("set-weight /a 300", {"weight"}),
        ("set-max /a rbps=1MiB", {"maximum"}),
        ("set-min --pool sda /a wiops=5", {"minimum"}),
        ("set-latency /a 5ms", {"latency"}),
        ("set /a max_rbps=1MiB latency=5ms", {"maximum", "latency"}),
        ("set-weight --from -", {"weight", "maximum", "minimum", "latency"}),
        ("set-max root rbps=1MiB", set()),
        ("set-weight uid:0 70", {"uid"}),
    ],
)
def test_what_was_set_by_hand_stays(given: Fake, command: str, settings: set[str]) -> None:
    """Even if it equals the configuration, until the configuration sets it anew."""
    saved = given.run("groups", "--weights")
    apply(given, GIVEN)
    given.run(*command.split(), stdin=saved.replace("uid:0 ", "uid:1 "))
    apply(given, GIVEN)

    def taken() -> set[str]:
        rows = given.json(*configure(given, OTHER), "--dry-run")
        return {"uid" if row["group"] == "uid:0" else row["action"] for row in rows}

    assert taken() == {*BACK, "uid"} - settings
    apply(given, GIVEN.replace("1M", "2M").replace("= 300", "= 301"))  # sets these two
    apply(given, GIVEN)
    assert taken() == {*BACK, "uid"} - (settings - {"maximum", "weight"})


def test_a_promise_that_goes_is_in_nobodys_way(given: Fake) -> None:
    """A minimum that is taken back does not prevent a lower maximum."""
    a = given.cgroup("/a")
    apply(given, "[group /a]\nminimum = wiops=5\n")
    assert apply(given, "[group /a]\nmaximum = wiops=4\n") == [
        f"one: max cgroup#{a} rbps=max wbps=max riops=max wiops=4",
        f"one: min cgroup#{a} default",
    ]


def test_what_failed_is_undone(given: Fake) -> None:
    """It is taken back by a later apply."""
    a = given.cgroup("/a")
    apply(given, GIVEN)
    (given.root / "refuse").write_text("latency-target not now\n")
    said = given.run(*configure(given, OTHER), rc=1)
    assert "not now" in said
    assert "all is as it was before" in said
    assert given.sent[-2:] == [
        f"one: min cgroup#{a} rbps=0 wbps=0 riops=0 wiops=5",
        f"one: weight cgroup#{a} 300",
    ]
    (given.root / "refuse").unlink()
    assert len(apply(given, OTHER)) == 5


def test_pools(given: Fake) -> None:
    """Their settings return to the default of a new pool, except settings made by hand."""
    given.device("two", "253:2", "sdb", slice_ms="80", writes_starved="5")
    given.answer("two", "groups", listing())
    apply(given, "[pool sd?]\nslice = 80\ndepth = auto\nmeasure = bytes\n")
    assert apply(given, OTHER) == ["two: set slice=0"]
    apply(given, "[pool sd?]\nslice = 80\n")
    given.run("set", "--pool", "sdb", "slice=80")
    assert apply(given, OTHER) == []
    apply(given, "[pool sd?]\nwrites_starved = 5\n")
    assert apply(given, OTHER) == ["two: set writes_starved=2"]
    apply(given, "[pool sd?]\nwrites_starved = 5\n")
    given.run("set", "--pool", "sdb", "writes_starved=5")
    assert apply(given, OTHER) == []


def test_while_watch_runs(given: Fake) -> None:
    """apply leaves weights and targets of cgroups to watch, which knows those of others."""
    a = given.cgroup("/a")
    apply(given, GIVEN)
    with open(given.root / "run/.watch", "w") as running:
        fcntl.flock(running, fcntl.LOCK_EX)
        assert set(apply(given, OTHER)) == {
            f"one: max cgroup#{a} default",
            f"one: min cgroup#{a} default",
            "one: weight uid:0 default",
        }


def test_records_that_nobody_can_read(given: Fake) -> None:
    """Unreadable records ask for nothing, and hinder nothing."""
    apply(given, GIVEN)
    for record in (given.root / "run").glob(".conf-*"):
        record.write_text("[nonsense\n")
    assert apply(given, OTHER) == []
    assert len(list((given.root / "run").glob(".conf-*"))) == 1


def test_records_of_a_former_version(given: Fake) -> None:
    """Their plain units are powers of 1024; new records have explicit units."""
    a = given.cgroup("/a")
    assert apply(given, OTHER) == []
    (given.root / "run/.conf-0123").write_text("[group /a]\nmaximum = rbps=1M\n")
    own = "[device 0]\nas = own\ndevice = -\nmode = device\nminimum = "
    devices = given.root / "run/.devices"
    devices.write_text(f"{own}wbps=1K riops=1K\n")
    (given.root / "refuse").write_text("max not now\n")
    given.run(*configure(given, OTHER), rc=1)
    assert devices.read_text() == f"{own}wbps=1KiB riops=1000\n"
    (given.root / "refuse").unlink()
    assert apply(given, OTHER) == [f"one: max cgroup#{a} default"]
    apply(given, GIVEN.replace("rbps=1MiB", "rbps=2M riops=3K"))
    (record,) = (given.root / "run").glob(".conf-*")
    bounds = "latency = 5ms\nmaximum = rbps=2MB riops=3000\nminimum = wiops=5\n"
    assert record.read_text().startswith(f"[group /a]\n{bounds}weight = 300\n")


def test_what_cannot_be_written_down_is_not_done(given: Fake) -> None:
    apply(given, OTHER)
    (given.root / "run/.devices").unlink()
    (given.root / "run/.devices").mkdir()
    said = given.run(*configure(given, GIVEN.replace("1M", "2M")), rc=1)
    assert "cannot write" in said
    assert given.told("max") == []


def test_watch_takes_back(fake: Fake, watch: Callable[[str], Watcher]) -> None:
    """Also settings from before a restart of watch; not settings made by hand."""
    a, b = fake.cgroup("a"), fake.cgroup("b")
    groups = listing(
        f"cgroup#{a} weight=100 set=0 path=/a {MAX} latency=5000",
        f"cgroup#{b} weight=100 set=0 path=/b {MAX} {MIN}",
    )
    fake.answer("one", "groups", groups)
    text = "[group /a]\nmaximum = rbps=1MiB\nlatency = 5ms\n[group /b*]\nmaximum = rbps=1MiB\n"
    first = watch(text)
    first.process.terminate()
    assert first.process.wait() == 0
    assert fake.told("max", "min", "latency-target") == []
    second = watch("[group /b*]\nmaximum = rbps=1MiB\n")
    told = [f"one: max cgroup#{a} default", f"one: latency-target cgroup#{a} default"]
    second.soon(lambda: told[1] in fake.sent)
    fake.answer("one", "groups", groups)
    second.weigh("a", 260)
    second.sends("a", 260)
    assert fake.told("max", "min", "latency-target") == told, "once"
    second.reload("")
    told.append(f"one: max cgroup#{b} default")
    second.soon(lambda: told[2] in fake.sent)
    assert f"one: min cgroup#{b} default" not in fake.sent, "nobody has asked for it"


def test_watch_leaves_what_was_set_by_hand(fake: Fake, watch: Callable[[str], Watcher]) -> None:
    a, b = fake.cgroup("a"), fake.cgroup("b")
    groups = listing(
        f"cgroup#{a} weight=100 set=0 path=/a {MAX}", f"cgroup#{b} weight=100 set=0 path=/b {MAX}"
    )
    fake.answer("one", "groups", groups)
    watcher = watch("[group /*]\nmaximum = rbps=1MiB\n")
    log = (fake.root / "log").read_text()
    fake.run("set-max", "/b", "rbps=1MiB")
    (fake.root / "log").write_text(log)
    watcher.reload("")
    watcher.soon(lambda: f"one: max cgroup#{a} default" in fake.sent)
    assert f"one: max cgroup#{b} default" not in fake.sent
