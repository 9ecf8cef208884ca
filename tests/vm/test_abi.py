# SPDX-License-Identifier: GPL-2.0-only
"""The text interface, as Documentation/dm-ioband.rst describes it."""

import re
import shlex
from typing import NamedTuple

import pytest
from harness.cgroup import Cgroup
from harness.devices import DmDevice, null_blk
from harness.guest import CommandError, Guest
from harness.ioband import GroupLatency, Ioband, group_name, parse_page, table_line
from harness.variants import variants
from harness.waiting import wait_until

LONGEST_POOL = "p" * 63
MODES = ("cgroup", "device", "device+cgroup", "uid", "gid", "pid", "pgrp")
NOT_NUMBERS = ("-1", "+1", "0x10", "1.5", "1e3", "ten", "1k", "99999999999999999999")

COUNT_IS_WRONG = "must be <dev> <offset> <pool>"
OFFSET_IS_WRONG = "must be a number of 512-byte sectors"
POOL_IS_WRONG = "must be 1 to 63 of A-Z a-z 0-9 _ . : + -"
NR_IS_WRONG = "after the pool: must be the number of words that follow"
KEY_IS_WRONG = "unknown key; there are mode, weight, measure, depth, slice and writes_starved"
MODE_IS_WRONG = "must be cgroup, device, device+cgroup, uid, gid, pid or pgrp"
WEIGHT_IS_WRONG = "must be a whole number from 1 to 10000"
WEIGHT_NEEDS_MODE = "weight= is the device's: it wants mode=device or mode=device+cgroup"
MEASURE_IS_WRONG = "must be bytes, ios or time"
DEPTH_IS_WRONG = (
    "must be auto or a whole number from 1 to 65535, then at will / and the size of pieces, "
    "a power of two from 16384 to 1048576"
)
SLICE_IS_WRONG = "must be 0 for none, or milliseconds up to 1000"
STARVED_IS_WRONG = "must be a whole number from 1 to 100"
TIME_WANTS_SLICES = "measure=time: device time is known only with slices; give slice=<ms>"


class Wrong(NamedTuple):
    """Words that are refused, and the message that the kernel's log must then have."""

    words: str
    says: str


def _settings(mode: str, key: str, values: tuple[str, ...], says: str) -> list[Wrong]:
    """Wrong values of a key; the message begins with the word itself."""
    count = 2 if mode else 1
    return [
        Wrong(f"DISK 0 p {count} {mode} {key}={value}", f"{key}={value}: {says}")
        for value in values
    ]


WRONG_TABLES = [
    Wrong("", f"0 words after 'ioband': {COUNT_IS_WRONG}"),
    Wrong("DISK", f"1 words after 'ioband': {COUNT_IS_WRONG}"),
    Wrong("DISK 0", f"2 words after 'ioband': {COUNT_IS_WRONG}"),
    *(
        Wrong(f"DISK {offset} p", f"offset '{offset[:32]}': {OFFSET_IS_WRONG}")
        for offset in (*NOT_NUMBERS, "18014398509481984", "9223372036854775808", "o", "0,0")
    ),
    Wrong("DISK 2097152 p", "too small for target"),
    *(
        Wrong(f"DISK 0 {pool}", f"pool '{pool[:70]}': {POOL_IS_WRONG}")
        for pool in ("-p", "a/b", "a@b", "a=b", "a,b", "a*b", "~", "(p)", LONGEST_POOL + "p")
    ),
    Wrong("DISK 0 pööl", POOL_IS_WRONG),
    *(Wrong(f"DISK 0 p {nr}", f"'{nr}' {NR_IS_WRONG}") for nr in (*NOT_NUMBERS, "4294967296")),
    Wrong("DISK 0 p mode=uid", f"'mode=uid' {NR_IS_WRONG}"),
    Wrong("DISK 0 p 1", "0 words follow the pool's '1': they must agree"),
    Wrong("DISK 0 p 0 mode=uid", "1 words follow the pool's '0': they must agree"),
    Wrong("DISK 0 p 2 mode=uid", "1 words follow the pool's '2': they must agree"),
    Wrong("DISK 0 p 1 mode=uid depth=1", "2 words follow the pool's '1': they must agree"),
    *(
        Wrong(f"DISK 0 p 1 {word}", f"'{word}': {KEY_IS_WRONG}")
        for word in ("=uid", "mod=uid", "modes=uid", "Mode=uid", "=", "limit=5")
    ),
    *(
        Wrong(f"DISK 0 p 1 {word}", f"'{word}': must be <key>=<value>")
        for word in ("mode", "cgroup", "weight:5", "100")
    ),
    *_settings(
        "", "mode", ("", "cgroups", "CGROUP", "device+", "device+uid", "none", "0"), MODE_IS_WRONG
    ),
    *_settings("mode=device", "weight", ("", "0", "10001", "100%", *NOT_NUMBERS), WEIGHT_IS_WRONG),
    *(
        Wrong(f"DISK 0 p 2 mode={mode} weight=100", WEIGHT_NEEDS_MODE)
        for mode in ("cgroup", "uid", "gid", "pid", "pgrp")
    ),
    Wrong("DISK 0 p 1 weight=100", WEIGHT_NEEDS_MODE),
    *_settings("", "measure", ("", "byte", "iops", "BYTES", "sectors"), MEASURE_IS_WRONG),
    *_settings("", "depth", ("", "0", "65536", "AUTO", "auto1", *NOT_NUMBERS), DEPTH_IS_WRONG),
    *_settings("", "depth", ("4/", "4/8192", "4/16385", "4/2097152", "auto/16384"), DEPTH_IS_WRONG),
    *_settings("", "slice", ("", "1001", "auto", "20ms", *NOT_NUMBERS), SLICE_IS_WRONG),
    *_settings("", "writes_starved", ("", "0", "101", "auto", *NOT_NUMBERS), STARVED_IS_WRONG),
    Wrong("DISK 0 p 1 measure=time", TIME_WANTS_SLICES),
    Wrong("DISK 0 p 2 slice=0 measure=time", TIME_WANTS_SLICES),
    *(
        Wrong(f"DISK 0 p 2 {word} {word}", f"{word.partition('=')[0]}= is given twice")
        for word in (
            "mode=uid",
            "weight=5",
            "measure=ios",
            "depth=4",
            "slice=5",
            "writes_starved=2",
        )
    ),
    *(
        Wrong(f"{device} 0 p", f"device '{device}': cannot be opened")
        for device in ("/dev/nosuch", "999:999", "/etc/passwd", "/", "nosuch")
    ),
]

GROUP_IS_WRONG = "must be root, device, device:<maj>:<min>, cgroup:</path>, cgroup#<id>, uid:<n>"
PAGED = ("groups", "stats", "latency", "presets")
WRONG_MESSAGES = [
    *(
        Wrong(word, f"'{word}': must be weight, max, min, latency-target, write-latency-target,")
        for word in ("nonsense", "Weight", "weights", "list", "0")
    ),
    Wrong("weight", "weight: 0 words follow; must be <group> <weight>"),
    Wrong("weight root", "weight: 1 words follow"),
    Wrong("weight root 1 2", "weight: 3 words follow"),
    *(
        Wrong(f"weight root {weight}", f"weight '{weight}': {WEIGHT_IS_WRONG}, idle or default")
        for weight in ("0", "10001", "Default", "none", *NOT_NUMBERS)
    ),
    *(
        Wrong(f"weight {group} 100", f"group '{group}': {GROUP_IS_WRONG}")
        for group in ("rooot", "Root", "devices", "dev:1:2", "uid", "user:1", "/a", "*")
    ),
    *(
        Wrong(f"weight {group} 100", "must be device:<major>:<minor>")
        for group in ("device:", "device:1", "device:1:", "device:a:b", "device:-1:0")
    ),
    Wrong("weight device:4096:0 100", "must be device:<major>:<minor>"),
    Wrong("weight device:0:1048576 100", "must be device:<major>:<minor>"),
    Wrong("weight device:253:77777 100", "device 253:77777 is not in pool 'pool'"),
    Wrong("weight device 100", "or has no group of its own: give it mode=device"),
    *(
        Wrong(f"weight {group} 100", f"group '{group}': must be cgroup:</path> or cgroup#<id>")
        for group in ("cgroup", "cgroup:", "cgroup:a", "cgroups:/a")
    ),
    *(
        Wrong(f"weight {group} 100", f"group '{group}': a cgroup's id is the inode number")
        for group in ("cgroup#", "cgroup#x", "cgroup#0", "cgroup#-1", "cgroup#1x")
    ),
    Wrong("weight cgroup:/nosuch 100", "group 'cgroup:/nosuch': there is no such cgroup"),
    Wrong("weight cgroup#99999999 100", "group 'cgroup#99999999': there is no such"),
    *(
        Wrong(f"weight {kind}:{value} 100", f"group '{kind}:{value}': must be {kind}:<number>")
        for kind in ("uid", "gid", "pid", "pgrp")
        for value in ("", "x", "-1", "1:2", "4294967295")
    ),
    Wrong("weight pid:2147483647 100", "there is no process 2147483647"),
    Wrong("weight pid:0 100", "there is no process 0"),
    Wrong("weight pgrp:2147483647 100", "there is no process group 2147483647"),
    Wrong("max root", "max: 1 words follow"),
    Wrong("max root 5", "'5': must be rbps=, wbps=, riops= or wiops="),
    Wrong("max root rbps=0", "rbps=0: must be max, or a whole number from 1 to 1099511627776"),
    Wrong("max root wiops=1 wiops=2", "wiops= is given twice"),
    Wrong("max cgroup:/nosuch rbps=1", "group 'cgroup:/nosuch': there is no such cgroup"),
    Wrong("max pid:2147483647 default", "there is no process 2147483647"),
    Wrong("min root", "min: 1 words follow"),
    Wrong("min root 5", "'5': must be rbps=, wbps=, riops= or wiops="),
    Wrong("min root riops=1 riops=2", "riops= is given twice"),
    Wrong("min cgroup:/nosuch rbps=1", "group 'cgroup:/nosuch': there is no such cgroup"),
    Wrong("max device rbps=1", "or has no group of its own: give it mode=device"),
    Wrong("latency-target root", "latency-target: 1 words follow; must be <group> <microsec"),
    Wrong("latency-target root 0", "must be a whole number of microseconds from 1 to 10000000"),
    Wrong("latency-target root 10000001", "latency-target '10000001': must be a whole number"),
    Wrong("latency-target cgroup:/nosuch 5", "group 'cgroup:/nosuch': there is no such"),
    Wrong("latency-target device 5", "or has no group of its own: give it mode=device"),
    Wrong("set", "set: 0 words follow; must be one <key>=<value>"),
    Wrong("set mode=uid depth=4", "set: 2 words follow"),
    Wrong("set mode", "'mode': must be <key>=<value>"),
    Wrong("set speed=1", f"'speed=1': {KEY_IS_WRONG}"),
    Wrong("set mode=user", f"mode=user: {MODE_IS_WRONG}"),
    Wrong("set measure=iops", f"measure=iops: {MEASURE_IS_WRONG}"),
    Wrong("set depth=0", f"depth=0: {DEPTH_IS_WRONG}"),
    Wrong("set slice=1001", f"slice=1001: {SLICE_IS_WRONG}"),
    Wrong("set writes_starved=0", f"writes_starved=0: {STARVED_IS_WRONG}"),
    Wrong("set measure=time", TIME_WANTS_SLICES),
    Wrong("set weight=5", "set weight=: use 'weight device <weight>', or name another group"),
    Wrong("preset", "preset: 0 words follow; must be weight, max, min, latency-target or"),
    Wrong("preset set depth=4", "preset 'set': must be weight, max, min, latency-target or"),
    Wrong("preset weight cgroup:/a", "weight: 1 words follow"),
    Wrong("preset weight cgroup:/a 0", f"weight '0': {WEIGHT_IS_WRONG}, idle or default"),
    Wrong("preset max cgroup:/a rbps=0", "rbps=0: must be max, or a whole number from 1"),
    *(
        Wrong(
            f"preset weight {group} 5", f"group '{group}': a preset is of cgroup:</path>: must be"
        )
        for group in (
            "root",
            "device",
            "cgroup#1",
            "uid:5",
            "cgroup:/",
            "cgroup:/a/",
            "cgroup:/a//b",
        )
    ),
    *(Wrong(f"{verb} 1 2", f"{verb}: 2 words follow; at most a cursor may") for verb in PAGED),
    *(
        Wrong(f"{verb} {cursor}", f"{verb}: cursor '{cursor}' must be what the last page said")
        for verb in PAGED
        for cursor in ("-1", "x", "4294967296")
    ),
]

REFUSED = "Invalid argument|No such file|Numerical result|No such device|Block device required"


def run_all(guest: Guest, commands: list[str]) -> list[tuple[int, str, list[str]]]:
    """Run commands; returns the exit code, output and kernel messages of each."""
    script = ["sysctl -q kernel.printk_devkmsg=on"]
    for number, command in enumerate(commands):
        script += [
            f"echo 'case {number} begins' >/dev/kmsg",
            f"{command} >/run/said 2>&1; echo {number} $?; cat /run/said",
            f"echo 'case {number} ends' >/dev/kmsg",
            f"echo {number} ends",
        ]
    guest.dmesg()
    out = guest.run("\n".join(script), timeout=300).out
    log = "\n".join(guest.dmesg())
    results = []
    for number in range(len(commands)):
        code, said = re.search(rf"^{number} (\d+)\n(.*?)^{number} ends$", out, re.M | re.S).groups()
        lines = re.search(rf"case {number} begins(.*?)case {number} ends", log, re.S)[1]
        results.append((int(code), said, lines.splitlines()[1:-1]))
    return results


def problems(wrong: list[Wrong], results: list[tuple[int, str, list[str]]]) -> list[str]:
    """The cases that were not refused with the right message."""
    found = []
    for (words, says), (code, said, log) in zip(wrong, results, strict=True):
        if code == 0:
            found.append(f"{words!r} was accepted")
        elif not re.search(REFUSED, said):
            found.append(f"{words!r}: failed with {said!r}")
        if len([line for line in log if "device-mapper" in line and says in line]) != 1:
            found.append(f"{words!r}: the log does not say {says!r} but {log}")
    return found


def test_there_are_enough_wrong_things() -> None:
    assert len({words for words, _ in WRONG_TABLES}) == len(WRONG_TABLES) >= 60
    assert len({words for words, _ in WRONG_MESSAGES}) == len(WRONG_MESSAGES) >= 60


@pytest.mark.long("a process for each of some 150 lines, all of which the unit tests parse too")
def test_wrong_tables_are_refused_and_leave_nothing_behind(ioband: Guest) -> None:
    ioband.expect_dmesg("device-mapper: ")
    with null_blk(ioband) as disk:
        tables = [
            f"0 2097152 ioband {words.replace('DISK', disk)}".rstrip() for words, _ in WRONG_TABLES
        ]
        commands = [f"dmsetup create bad --table {shlex.quote(table)}" for table in tables]
        assert problems(WRONG_TABLES, run_all(ioband, commands)) == []
        assert ioband.run(["dmsetup", "ls"]).out.strip() == "No devices found"
        assert ioband.run(["ls", f"/sys/block/{disk.removeprefix('/dev/')}/holders"]).out == ""
        assert ioband.read("/sys/module/dm_ioband/refcnt").strip() == "0"
        # A pool that was left behind would keep its own settings.
        with (
            Ioband(ioband, "d0", disk, "p", length=1024, measure="ios", depth=7) as dev,
            Ioband(ioband, "d1", disk, LONGEST_POOL, length=1024, offset=2096128) as other,
        ):
            assert dev.info().groups == other.info().groups == 1
    ioband.rmmod("dm_ioband")


@pytest.mark.long("a process for each of some 150 lines, all of which the unit tests parse too")
def test_wrong_messages_are_refused_and_change_nothing(ioband: Guest) -> None:
    ioband.expect_dmesg("device-mapper: ")
    with null_blk(ioband) as disk, Ioband(ioband, "d0", disk) as dev:
        before = dev.groups(), dev.table()
        commands = [f"dmsetup message -- d0 0 {words}" for words, _ in WRONG_MESSAGES]
        commands = [command.replace("*", "'*'") for command in commands]
        assert problems(WRONG_MESSAGES, run_all(ioband, commands)) == []
        assert (dev.groups(), dev.table()) == before


def test_a_right_word_among_the_wrong_ones_is_noticed(ioband: Guest) -> None:
    """The two tests above can fail."""
    ioband.expect_dmesg("device-mapper: ")
    cases = [
        Wrong("weight root 5", "weight"),
        Wrong("weight root 0", "something else"),
        Wrong("set depth=0", DEPTH_IS_WRONG),
    ]
    with null_blk(ioband) as disk, Ioband(ioband, "d0", disk):
        commands = [f"dmsetup message d0 0 {words}" for words, _ in cases]
        found = problems(cases, run_all(ioband, commands))
    assert [text.split(":")[0] for text in found] == [
        "'weight root 5' was accepted",
        "'weight root 5'",
        "'weight root 0'",
    ]


@pytest.mark.parametrize("mode", MODES)
def test_a_table_that_is_read_back_makes_the_same_device(ioband: Guest, mode: str) -> None:
    own = {"weight": 77} if mode.startswith("device") else {}
    with null_blk(ioband) as disk:
        number = ioband.run(["stat", "-c", "%Hr:%Lr", disk]).out.strip()
        pool: dict[str, object] = {"depth": 9, "slice": 20, "writes_starved": 7}
        with Ioband(ioband, "d0", disk, "p", offset=8, length=800, mode=mode, **own, **pool) as dev:
            table = dev.table()
            expected = {"mode": mode, **own, "measure": "bytes", **pool}
            assert table == table_line(800, number, "p", 8, **expected)
        with DmDevice(ioband, "d0", table) as again:
            assert again.table() == table
            # Messages change every setting to another value.
            other = "device" if mode != "device" else "device+cgroup"
            for words in (
                ["set", f"mode={other}"],
                ["weight", "device", "55"],
                ["set", "measure=ios"],
                ["set", "depth=auto"],
                ["set", "slice=1000"],
                ["set", "writes_starved=100"],
                ["set", "measure=time"],
            ):
                again.message(*words)
            changed = again.table()
            expected = {"mode": other, "weight": 55, "measure": "time", "depth": "auto"}
            expected |= {"slice": 1000, "writes_starved": 100}
            assert changed == table_line(800, number, "p", 8, **expected)
        with DmDevice(ioband, "d0", changed) as again:
            assert again.table() == changed


def test_defaults(ioband: Guest) -> None:
    with null_blk(ioband) as disk, Ioband(ioband, "d0", disk) as dev:
        pool = "measure=bytes depth=auto slice=0 writes_starved=2"
        assert dev.table().endswith(f" 0 pool 5 mode=cgroup {pool}")
        dev.reload(dev.line(mode="device"))
        assert dev.table().endswith(f" 0 pool 6 mode=device weight=100 {pool}")
        status = dev.info()
        assert (status.pool, status.state, status.devices) == ("pool", "open", 1)
        assert status.held == status.inflight == (0, 0)
        assert status.slice_ms == 0 < status.depth
        assert status.writes_starved == 2


def test_time_is_measured_in_slices_only(ioband: Guest) -> None:
    with null_blk(ioband) as disk, Ioband(ioband, "d0", disk, slice=20, measure="time") as dev:
        status = dev.info()
        assert (status.measure, status.slice_ms, status.depth) == ("time", 20, 0)
        ioband.expect_dmesg("device-mapper: ")
        ioband.dmesg()
        with pytest.raises(CommandError, match="Invalid argument"):
            dev.set(slice=0)
        says = "slice=0: pool 'pool' has measure=time, which wants slices"
        assert says in "\n".join(ioband.dmesg())
        # The table omits settings of the pool; the reload must not remove the slices.
        dev.reload(dev.line(measure="time"))
        assert dev.info() == status
        dev.load(dev.line(measure="time"))
        dev.set(measure="ios")
        dev.set(slice=0)
        dev.suspend()
        dev.resume()
        assert dev.table().endswith("measure=ios depth=auto slice=0 writes_starved=2")


# Reads a sector as each of many users.
MANY_USERS = """
import mmap, os, sys
device = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
buf = mmap.mmap(-1, 4096)
for uid in range(int(sys.argv[2]), int(sys.argv[3])):
    os.seteuid(uid)
    os.preadv(device, [buf], 0)
    os.seteuid(0)
"""
FIRST_UID = 10_000
ANSWER_ROOM = 16 << 10  # libdevmapper's first buffer for an answer


def read_as_many(dev: Ioband, count: int) -> set[str]:
    """One read as each of count users; returns the names of their groups."""
    last = FIRST_UID + count
    script = ["/usr/bin/python3", "-S", "-c", MANY_USERS, dev.path, str(FIRST_UID), str(last)]
    dev.guest.run(script)
    return {f"uid:{uid}" for uid in range(FIRST_UID, last)}


@pytest.mark.parametrize(
    ("title", "count"),
    variants([("groups", 3000), ("stats", 3000), ("latency", 500)], ("latency", 500)),
)
def test_lists_come_in_pages_with_every_group_once(ioband: Guest, title: str, count: int) -> None:
    with null_blk(ioband) as disk, Ioband(ioband, "d0", disk, mode="uid") as dev:
        for _ in range(4):  # not every group gets counters at its first bio
            names = read_as_many(dev, count)
            ioband.sleep(0.3)
        pages = list(dev.pages(title))
        lines = [line for page in pages for line in page]
        assert len(pages) > 5
        assert max(sum(len(line) + 1 for line in page) for page in pages) < ANSWER_ROOM
        seqs = [int(line.split()[0]) for line in lines]
        assert seqs == sorted(set(seqs))
        found = [line.split()[2 if title == "groups" else 1] for line in lines]
        assert sorted(found) == sorted(set(found))
        assert names - set(found) == set()
        assert parse_page(dev.message(title, str(seqs[-1])), title) == ([], None)


def assert_sums(group: GroupLatency) -> None:
    """Assert that the sum of the times fits the buckets of the histogram."""
    for name, bios in group.histograms.items():
        starts_ns = [0, *(1024 << slot for slot in range(25))]
        least = sum(count * start for count, start in zip(bios, starts_ns, strict=True))
        if bios[25]:
            continue
        most = sum(count * end for count, end in zip(bios[:25], starts_ns[1:], strict=True))
        assert least <= group.sums_ns[name] < max(most, 1), (name, group)


def test_what_is_counted(ioband: Guest) -> None:
    with null_blk(ioband) as disk, Ioband(ioband, "d0", disk, mode="uid") as dev:
        for _ in range(3):
            names = read_as_many(dev, 5)
            ioband.sleep(0.5)
        stats = [stats for stats in dev.stats() if stats.name in names]
        assert len(stats) == len(names)
        for group in stats:
            assert (group.read.ios, group.read.bytes, group.read.held) == (3, 3 * 4096, 0)
            assert group.write.ios == group.discard.ios == 0
            assert group.read.wait_ns == 0 < group.read.service_ns
            assert (group.held, group.inflight) == ((0, 0), 0)
        latency = [latency for latency in dev.latency() if latency.name in names]
        assert len(latency) == len(names)
        for group in latency:
            assert_sums(group)
            # The histogram counts from soon after the first bio on.
            assert sum(group.histograms["read.service"]) in (2, 3)
            assert sum(group.histograms["read.wait"]) == 0
            assert sum(group.histograms["write.service"]) == 0


STRANGE_NAMES = (
    "two words",
    "back\\slash",
    "\\040",
    "tab\there",
    "grüße-日本",
    "bell\x07\x1b[1m\x7f",
    "path=x weight=1",
    "%s%n",
    "quo\"te's",
    " ",
)


def test_any_name_of_a_cgroup_comes_through(ioband: Guest) -> None:
    with (
        null_blk(ioband) as disk,
        Ioband(ioband, "d0", disk) as dev,
        Cgroup(ioband, "top"),  # so that no second /top exists beside a dying one
    ):
        for number, name in enumerate(STRANGE_NAMES):
            with Cgroup(ioband, f"top/{name}") as cgroup:
                dev.set_weight(cgroup, 500 + number)
                mine = [group for group in dev.groups() if group.name == group_name(cgroup)]
                assert [group.path for group in mine] == [f"/top/{name}"]
                assert [group.weight for group in mine] == [500 + number]
                if not re.search(r"[\s\\]", name):
                    dev.set_weight(f"cgroup:/top/{name}", 900)
                    assert dev.tree()[f"/top/{name}"].weight == 900
        with Cgroup(ioband, "top/" + "/".join(["d" * 200] * 15)) as deep:
            dev.set_weight(deep, 42)
            assert dev.tree()[f"/{deep.path}"].weight == 42


def refusal(guest: Guest, name: str, table: str) -> str:
    """The kernel's message about a device that cannot be made."""
    guest.expect_dmesg("device-mapper: ")
    guest.dmesg()
    with pytest.raises(CommandError, match="Invalid argument"):
        DmDevice(guest, name, table)
    return "\n".join(guest.dmesg())


def test_what_belongs_to_the_pool_cannot_differ_between_its_devices(ioband: Guest) -> None:
    with (
        null_blk(ioband) as disk,
        Ioband(ioband, "d0", disk, length=1024, measure="bytes", depth=5) as dev,
    ):
        at = {"length": 1024, "below": disk, "offset": 1024}
        says = refusal(ioband, "d1", table_line(**at, pool="pool", measure="ios"))
        assert "measure=ios: other devices are in pool 'pool', which has measure=bytes" in says
        says = refusal(ioband, "d1", table_line(**at, pool="pool", depth=6))
        assert "depth=: other devices are in pool 'pool', which has depth 5/0 (0: auto)" in says
        says = refusal(ioband, "d1", table_line(**at, pool="pool", slice=6))
        assert "slice=6: other devices are in pool 'pool', which has slice=0" in says
        says = refusal(ioband, "d1", table_line(**at, pool="pool", writes_starved=6))
        assert "writes_starved=6: other devices are in pool 'pool', which has 2; send one" in says
        assert "of them the message 'set writes_starved=6'" in says
        assert dev.info().devices == 1
        with Ioband(ioband, "d1", disk, length=1024, offset=1024) as second:
            assert second.table().endswith("measure=bytes depth=5 slice=0 writes_starved=2")
            assert dev.info().devices == 2
            second.set(depth=6)
            second.set(slice=7)
            second.set(writes_starved=9)
            assert dev.table().endswith("depth=6 slice=7 writes_starved=9")
            assert dev.info().writes_starved == 9
            second.set(slice=0)
        same: dict[str, object] = {"depth": 6, "measure": "bytes", "writes_starved": 9}
        with Ioband(ioband, "d1", disk, length=1024, offset=1024, **same):
            pass
        # The only device of a pool may change its settings.
        wait_until(ioband, lambda: dev.info().devices == 1, "the second device leaves")
        dev.reload(dev.line(measure="ios", depth="auto"))
        assert dev.table().endswith("measure=ios depth=auto slice=0 writes_starved=9")
        dev.reload(dev.line(writes_starved=1))
        assert dev.table().endswith("measure=ios depth=auto slice=0 writes_starved=1")


@pytest.mark.parametrize("other", ["ioband {disk} 64 p", "linear {disk} 64"])
def test_a_table_has_one_line(ioband: Guest, other: str) -> None:
    with null_blk(ioband) as disk:
        table = f"0 64 ioband {disk} 0 p\n64 64 {other.format(disk=disk)}"
        assert "ioband" in refusal(ioband, "d0", table)
        with Ioband(ioband, "d0", disk, "p", measure="ios") as dev:
            assert dev.info().devices == 1


def test_a_device_on_another_of_its_pool_is_refused(ioband: Guest) -> None:
    """Otherwise bios would wait for each other in one queue."""
    with null_blk(ioband) as disk, Ioband(ioband, "d0", disk) as dev:
        table = table_line(dev.length, dev.path, "pool")
        assert "pool 'pool'" in refusal(ioband, "d1", table)
        assert dev.info().devices == 1
        with Ioband(ioband, "d1", dev.path, "another"):
            ioband.run(["dd", "if=/dev/mapper/d1", "of=/dev/null", "count=8", "iflag=direct"])
