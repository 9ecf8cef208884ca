# SPDX-License-Identifier: GPL-2.0-only
"""Presets: settings for the groups of cgroups that do not exist yet."""

import re
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from harness.cgroup import V2_ROOT, Cgroup
from harness.compete import DISK, DISK_IOPS, running
from harness.devices import null_blk
from harness.guest import CommandError, Guest
from harness.ioband import SEND, Group, Ioband, Preset
from harness.load import Load, Stream, fio
from harness.tracing import TRACING, traced
from harness.waiting import wait_until

MIB = 1 << 20
PRESETS_MAX = 4096
NESTING = 128
IDLE_S = 60  # then a group without settings is freed


@pytest.fixture
def disk(ioband: Guest) -> Iterator[str]:
    with null_blk(ioband, memory_backed=1) as path:
        yield path


def read(cgroup: Cgroup, dev: Ioband) -> None:
    """Read one sector from a cgroup."""
    cgroup.run(["dd", f"if={dev.path}", "of=/dev/null", "count=1", "iflag=direct"])


def has(group: Group) -> tuple:
    """The settings of a group."""
    weight = group.weight if group.is_set else 0
    return weight, group.max, group.min, group.latency_us


NOTHING = (0, None, None, 0)


@pytest.mark.all_kernels
def test_a_group_begins_with_what_its_path_was_given(ioband: Guest, disk: str) -> None:
    """For each new cgroup of a path, also for the paths above and beside it."""
    with Ioband(ioband, "d0", disk) as dev:
        dev.preset("/a/b", "weight", "400")
        dev.preset("/a/b", "max", "rbps=5000000", "wiops=7")
        dev.preset("/a/b", "max", "wiops=max", "riops=8000")
        dev.preset("/a/b", "min", "rbps=1000")
        dev.preset("/a/b", "latency-target", "5000")
        dev.preset("/a", "weight", "50")
        dev.preset("/a/mute", "max", "wbps=1")
        everything = (400, {"rbps": 5000000, "riops": 8000}, {"rbps": 1000}, 5000)
        given = [
            Preset("root", "/a/b", *everything),
            Preset("root", "/a", 50),
            Preset("root", "/a/mute", 0, {"wbps": 1}),
        ]
        assert dev.presets() == given
        for _ in range(2):
            assert list(dev.tree()) == ["root"]
            with Cgroup(ioband, "a/b") as b, Cgroup(ioband, "a/bb") as bb, Cgroup(ioband, "b") as c:
                for cgroup in (b, bb, c):
                    read(cgroup, dev)
                tree = dev.tree()
            assert {label: has(group) for label, group in tree.items()} == {
                "root": NOTHING,
                "/a": (50, None, None, 0),
                "/a/b": everything,
                "/a/bb": NOTHING,
                "/b": NOTHING,
            }
            wait_until(ioband, lambda: list(dev.tree()) == ["root"], "the groups go")
        # A preset is gone when its last setting is taken back.
        for verb in ("max", "min", "latency-target"):
            dev.preset("/a/b", verb, "default")
        assert dev.presets() == [Preset("root", "/a/b", 400), *given[1:]]
        dev.preset("/a/b", "weight", "default")
        dev.preset("/a/b", "weight", "default")
        dev.preset("/a/mute", "max", "wbps=max")
        assert dev.presets() == given[1:2]
        with Cgroup(ioband, "a/b") as b:
            read(b, dev)
            assert has(dev.tree()["/a/b"]) == NOTHING
    ioband.rmmod("dm_ioband")


@pytest.mark.guest(cgroup="v1")
def test_cgroups_of_version_1(ioband: Guest, disk: str) -> None:
    with Ioband(ioband, "d0", disk) as dev:
        dev.preset("/a/b", "weight", "400")
        with Cgroup(ioband, "a/b") as b:
            read(b, dev)
            assert has(dev.tree()["/a/b"]) == (400, None, None, 0)


def test_messages_say_what_holds_now(ioband: Guest, disk: str) -> None:
    """A message to a group overrides its preset; a later preset has no effect on it."""
    with Ioband(ioband, "d0", disk) as dev:
        dev.preset("/a", "weight", "400")
        dev.preset("/a", "max", "rbps=5000000")
        with Cgroup(ioband, "a") as a, Cgroup(ioband, "old") as old:
            read(old, dev)
            dev.set_weight("cgroup:/a", 300)  # before its first bio
            expected = (300, {"rbps": 5000000}, None, 0)
            assert has(dev.tree()["/a"]) == expected
            dev.preset("/a", "weight", "500")
            dev.preset("/old", "weight", "600")
            for cgroup in (a, old):
                read(cgroup, dev)
            assert has(dev.tree()["/a"]) == expected
            assert has(dev.tree()["/old"]) == NOTHING
            dev.set_weight(a, "default")
            dev.set_max(a)
            read(a, dev)
            assert has(dev.tree()["/a"]) == NOTHING
        wait_until(ioband, lambda: list(dev.tree()) == ["root"], "the groups go")
        with Cgroup(ioband, "a") as a, Cgroup(ioband, "b") as b:
            dev.set_weight(b, "default")  # no setting, so no group
            assert list(dev.tree()) == ["root"]
            dev.set_weight(a, "default")  # before its first bio
            assert has(dev.tree()["/a"]) == (0, {"rbps": 5000000}, None, 0)
            dev.set_max(a)
            read(a, dev)
            assert has(dev.tree()["/a"]) == NOTHING
        wait_until(ioband, lambda: list(dev.tree()) == ["root"], "the groups go")
        with Cgroup(ioband, "a") as a:
            read(a, dev)
            assert has(dev.tree()["/a"]) == (500, {"rbps": 5000000}, None, 0)


@pytest.mark.long("waits for a minute")
def test_idle_for_a_minute_and_back(ioband: Guest, disk: str) -> None:
    """A group from a preset is kept as one with settings; another returns with the preset.

    A setting that was reset does not return while the cgroup exists.
    """
    names = ("kept", "taken", "told", "back")
    with Ioband(ioband, "d0", disk) as dev, ExitStack() as on:
        groups = {name: on.enter_context(Cgroup(ioband, name)) for name in names}
        for name in ("told", "back"):
            read(groups[name], dev)
        for name in names:
            dev.preset(f"/{name}", "weight", "400")
            dev.preset(f"/{name}", "max", "rbps=5000000")
        for name in ("kept", "taken"):
            read(groups[name], dev)
        for name in ("taken", "told"):
            dev.set_max(groups[name])
            dev.set_weight(groups[name], "default")
        before = dev.tree()
        given = (400, {"rbps": 5000000}, None, 0)
        assert {name: has(before[f"/{name}"]) for name in names} == {
            "kept": given,
            "taken": NOTHING,
            "told": NOTHING,
            "back": NOTHING,
        }
        ioband.sleep(IDLE_S + 5)
        del before["/back"]
        assert dev.tree() == before
        for group in groups.values():
            read(group, dev)
        after = dev.tree()
        assert {name: has(after[f"/{name}"]) for name in names} == {
            "kept": given,
            "taken": NOTHING,
            "told": NOTHING,
            "back": given,
        }


def test_trees_are_apart(ioband: Guest, disk: str) -> None:
    """A device with its own tree has its own presets, which go when it leaves the pool."""
    half = MIB
    with Ioband(ioband, "d0", disk, length=half) as dev, Cgroup(ioband, "a") as a:
        dev.preset("/a", "weight", "300")
        own = {"length": half, "offset": half, "mode": "device+cgroup"}
        with Ioband(ioband, "d1", disk, **own) as second:
            number = ioband.run(["stat", "-Lc", "%Hr:%Lr", second.path]).out.strip()
            tree = f"device:{number}"
            second.preset("/a", "weight", "70")
            assert dev.presets() == [Preset("root", "/a", 300), Preset(tree, "/a", 70)]
            read(a, dev)
            read(a, second)
            weights = {label: group.weight for label, group in dev.tree().items()}
            assert (weights["/a"], weights[f"{tree}/a"]) == (300, 70)
            second.set(mode="cgroup")
            second.preset("/b", "weight", "7")
            assert Preset("root", "/b", 7) in dev.presets()
        left = [Preset("root", "/a", 300), Preset("root", "/b", 7)]
        wait_until(ioband, lambda: dev.presets() == left, "those of the device go")
    with Ioband(ioband, "d0", disk) as anew:
        assert anew.presets() == [], "the pool went with its last device"
    ioband.rmmod("dm_ioband")


def test_suspend_and_reload_keep_them(ioband: Guest, disk: str) -> None:
    with Ioband(ioband, "d0", disk, mode="device+cgroup") as dev:
        dev.preset("/a", "weight", "300")
        dev.preset("/a", "latency-target", "7000")
        given = dev.presets()
        dev.suspend()
        dev.resume()
        dev.reload(dev.table())
        dev.reload(dev.line(mode="cgroup"))
        dev.reload(dev.line(mode="device+cgroup"))
        assert dev.presets() == given
        with Cgroup(ioband, "a") as a:
            read(a, dev)
            (group,) = (group for label, group in dev.tree().items() if label.endswith("/a"))
            assert has(group) == (300, None, None, 7000)


# Gives each of many paths a weight.
MANY = (
    SEND
    + """
import sys
for number in range(int(sys.argv[2]), int(sys.argv[3])):
    send(sys.argv[1], f"preset weight cgroup:/many/c{number} {1 + number}")
"""
)


def test_how_many_and_how_deep(ioband: Guest, disk: str) -> None:
    """Long lists have several pages without repetitions; presets over a limit are refused."""
    ioband.expect_dmesg("device-mapper: ")

    def refused(path: str, why: str) -> None:
        ioband.dmesg()
        with pytest.raises(CommandError, match=r"No such file|Cannot allocate memory"):
            dev.preset(path, "weight", "7")
        assert f"preset of 'cgroup:{path[:64]}': {why}" in "\n".join(ioband.dmesg())

    script = ["/usr/bin/python3", "-S", "-c", MANY]
    with Ioband(ioband, "d0", disk) as dev:
        dev.preset("/x" * NESTING, "weight", "7")
        refused("/x" * (NESTING + 1), f"it is more than {NESTING} cgroups deep")
        longest = "/" + "/".join([*["d" * 254] * 16, "e" * 14])
        assert len(longest) == 4095
        dev.preset(longest, "weight", "8")
        ioband.run([*script, dev.path, "0", str(PRESETS_MAX - 2)], timeout=120)
        refused("/more", f"the pool has {PRESETS_MAX} already; take others back, with default")
        dev.preset("/nothing", "weight", "default")
        dev.preset("/many/c7", "weight", "9999")
        pages = list(dev.pages("presets"))
        assert len(pages) > 5
        found = dev.presets()
        assert [(preset.path, preset.weight) for preset in found] == [
            ("/x" * NESTING, 7),
            (longest, 8),
            *((f"/many/c{n}", 9999 if n == 7 else n + 1) for n in range(PRESETS_MAX - 2)),
        ]
        with Cgroup(ioband, "many/c4000") as last:
            read(last, dev)
            assert dev.tree()["/many/c4000"].weight == 4001
        dev.preset("/many/c0", "weight", "default")
        dev.preset("/more", "weight", "7")
    ioband.rmmod("dm_ioband")


STRANGE_NAMES = ("two words", "back\\slash", "tab\there", "grüße", "voilà", "%s%n", "quo\"te's")


def test_any_name_of_a_cgroup(ioband: Guest, disk: str) -> None:
    # "top" stays: the old group is listed until it is freed, beside a new one of its path.
    with Ioband(ioband, "d0", disk) as dev, Cgroup(ioband, "top"):
        for number, name in enumerate(STRANGE_NAMES):
            dev.preset(f"/top/{name}", "weight", str(500 + number))
        paths = [f"/top/{name}" for name in STRANGE_NAMES]
        assert [preset.path for preset in dev.presets()] == paths
        for number, name in enumerate(STRANGE_NAMES):
            with Cgroup(ioband, f"top/{name}") as cgroup:
                read(cgroup, dev)
                assert has(dev.tree()[f"/top/{name}"])[0] == 500 + number


GIVEN = ("weight {} 77", "max {} rbps=100000000", "min {} riops=10", "latency-target {} 100000")
# For some seconds one process makes cgroups, reads from each and removes it.  Others set and reset
# presets of their paths, and list the groups.  A group with a constant preset must have all of it
# at any time.
CHANGES = (
    SEND
    + """
import mmap, sys, time, traceback
path, root, base, seconds, *given = sys.argv[1:]
end = time.monotonic() + float(seconds)
device = os.open(path, os.O_RDONLY | os.O_DIRECT)
page = mmap.mmap(-1, 4096)
FEWEST, CHANGING = 20, 6

def enter(where):
    with open(f"{where}/cgroup.procs", "w") as procs:
        procs.write("0")

def make(names):
    def step(turn):
        where = f"{root}/{base}/{names[turn % len(names)]}"
        os.mkdir(where)
        enter(where)
        os.preadv(device, [page], 0)
        enter(root)
        os.rmdir(where)
    return step

def change(turn):
    group = f"cgroup:/{base}/c{turn % CHANGING}"
    for words in given:
        send(path, "preset " + words.format(group))
    for words in given[turn % 3:]:
        send(path, f"preset {words.split()[0]} {group} default")

def tell(turn):
    send(path, f"max cgroup:/{base} " + ("default", "wbps=5000000")[turn % 2])

def groups():
    cursor = ""
    while True:
        _, *lines, tail = send(path, "groups" + cursor).splitlines()
        yield from lines
        if tail == "end":
            return
        cursor = " " + tail.split()[1]

def look(turn):
    for line in groups():
        if f" path=/{base}/fixed" in line:
            for word in (" weight=77 set=1 ", " max=100000000,", " min=0,0,10,", " latency=100000"):
                assert word in line, line

def fork(step):
    pid = os.fork()
    if pid:
        return pid
    try:
        turn = 0
        while time.monotonic() < end or turn < FEWEST:
            step(turn)
            turn += 1
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)

steps = [make(["c0", "fixed0", "c1", "c2"]), make(["c3", "c4", "fixed1", "c5"])]
pids = [fork(step) for step in (*steps, change, tell, look)]
failed = [pid for pid in pids if os.waitpid(pid, 0)[1]]
for number in range(CHANGING):
    for words in given:
        send(path, f"preset {words.split()[0]} cgroup:/{base}/c{number} default")
sys.exit(1 if failed else 0)
"""
)
CHANGES_S = 5


@pytest.mark.guest(parallel=True)
def test_presets_change_while_groups_are_made(ioband: Guest, disk: str) -> None:
    """Presets are removed, too; no preset is half set, and the module reports no leak."""
    with Ioband(ioband, "d0", disk) as dev, Cgroup(ioband, "many") as many:
        many.set("cgroup.subtree_control", "+io")
        paths = ["/many", "/many/fixed0", "/many/fixed1"]
        for path in paths:
            for words in GIVEN:
                verb, _, value = words.split()
                dev.preset(path, verb, value)
        script = ["/usr/bin/python3", "-S", "-c", CHANGES, dev.path, V2_ROOT, "many"]
        ioband.run([*script, str(CHANGES_S), *GIVEN], timeout=120)
        given = (77, {"rbps": 100000000}, {"riops": 10}, 100000)
        assert dev.presets() == [Preset("root", path, *given) for path in paths]
        left = ["", "/many"]
        wait_until(
            ioband, lambda: [group.path for group in dev.groups()] == left, "the groups go", 30
        )
        with Cgroup(ioband, "many/c0") as changed, Cgroup(ioband, "many/fixed0") as fixed:
            read(changed, dev)
            read(fixed, dev)
            tree = dev.tree()
        assert (has(tree["/many/c0"]), has(tree["/many/fixed0"])) == (NOTHING, given)
    ioband.rmmod("dm_ioband")


# Reads a page as a member of a cgroup without any memory left: the task allocates and uses all
# that it needs beforehand.
READ_WITHOUT_MEMORY = """
import mmap, os, sys
path, *places = sys.argv[1:]
device = os.open(path, os.O_RDONLY | os.O_DIRECT)
inside, outside = (os.open(f"{place}/cgroup.procs", os.O_WRONLY) for place in places)
page = [mmap.mmap(-1, 4096)]
page[0][:] = bytes(4096)
for at in (outside, inside):
    os.write(at, b"0")
    os.preadv(device, page, 0)
    os.write(outside, b"0")
"""


def test_a_maximum_holds_without_memory(ioband: Guest, disk: str) -> None:
    """A charged cgroup without memory left still gets a group for a preset with a maximum."""

    def read_without_memory(cgroup: Cgroup) -> None:
        script = ["/usr/bin/python3", "-S", "-c", READ_WITHOUT_MEMORY]
        ioband.run([*script, dev.path, cgroup.directory, V2_ROOT])

    controllers = "+io +memory"
    with (
        Ioband(ioband, "d0", disk) as dev,
        Cgroup(ioband, "full/plain", controllers=controllers) as plain,
        Cgroup(ioband, "full/capped", controllers=controllers) as capped,
    ):
        dev.preset("/full/plain", "weight", "300")
        dev.preset("/full/capped", "weight", "300")
        dev.preset("/full/capped", "max", "rbps=5000000")
        for cgroup in (plain, capped):
            cgroup.set("memory.max", "0")
        read_without_memory(plain)
        assert list(dev.tree()) == ["root"], "there is no room for a group"
        read_without_memory(capped)
        tree = dev.tree()
        assert {label: has(group) for label, group in tree.items()} == {
            "root": NOTHING,
            "/full": NOTHING,
            "/full/capped": (300, {"rbps": 5000000}, None, 0),
        }
        assert dev.io()["/full/capped"].read.ios == 1
    ioband.rmmod("dm_ioband")


CHARGE = re.compile(r"ioband_charge: .*? group=(\d+) ")


@pytest.mark.guest(icount=True)
def test_a_weight_holds_from_the_first_bio(ioband: Guest) -> None:
    """From its first bio on, the new group is charged nine in ten bios."""
    load = {"rw": "randread", "bs": "4k", "ioengine": "libaio", "iodepth": 32}
    with (
        null_blk(ioband, **DISK) as slow,
        Ioband(ioband, "d0", slow, depth=2) as dev,
        Cgroup(ioband, "a") as a,
        Cgroup(ioband, "b") as b,
    ):
        dev.preset("/new", "weight", "1800")
        rivals = [Stream(group.path, dev.path, group, bs="4k") for group in (a, b)]
        load_of_rivals = Load(ioband, rivals).start()
        wait_until(ioband, lambda: dev.info().state == "shared", "the rivals compete")
        with Cgroup(ioband, "new") as new, traced(ioband, "ioband/ioband_charge"):
            fio(ioband, new, filename=dev.path, number_ios=300, size="1g", **load)
            trace = ioband.read(f"{TRACING}/trace")
            seq = str(dev.tree()["/new"].seq)
        load_of_rivals.stop()
    charged = CHARGE.findall(trace)
    first = charged.index(seq)
    assert first > 0, "the rivals were there before"
    shares = [charged[at : at + 50].count(seq) / 50 for at in range(first, first + 250, 50)]
    assert min(shares) > 0.8, shares


@pytest.mark.guest(icount=True)
def test_a_minimum_holds_from_the_first_bio(ioband: Guest) -> None:
    """With any weights; also for a group that starts while others' bios are in flight."""
    minima = {"a": 300, "b": 200}
    with null_blk(ioband, **DISK) as slow, Ioband(ioband, "d0", slow) as dev, ExitStack() as on:
        groups = {name: on.enter_context(Cgroup(ioband, name)) for name in ("c", *minima)}
        dev.preset("/c", "weight", "1000")
        for name, riops in minima.items():
            dev.preset(f"/{name}", "weight", "1")
            dev.preset(f"/{name}", "min", f"riops={riops}")
        jobs = [Stream(name, dev.path, group, bs="4k") for name, group in groups.items()]
        got = running(dev, *jobs)
        assert {name: has(dev.tree()[f"/{name}"])[:3] for name in minima} == {
            name: (1, None, {"riops": riops}) for name, riops in minima.items()
        }
    assert {name: got[name].iops for name in minima} == pytest.approx(minima, rel=0.03)
    assert sum(got[name].iops for name in groups) > 0.9 * DISK_IOPS


@pytest.mark.guest(icount=True)
def test_a_maximum_holds_from_the_first_bio(ioband: Guest, disk: str) -> None:
    """A group alone: only the maximum throttles it."""
    with Ioband(ioband, "d0", disk) as dev, Cgroup(ioband, "a") as a:
        dev.preset("/a", "max", "riops=50")
        before_ms = ioband.now_ms()
        a.run(["dd", f"if={dev.path}", "of=/dev/null", "count=31", "bs=4k", "iflag=direct"])
        assert ioband.now_ms() - before_ms >= 30 * 20 - 20
