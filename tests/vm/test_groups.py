# SPDX-License-Identifier: GPL-2.0-only
"""The life of groups, from their first bio to the removal of their cgroup, task or device."""

import re
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from harness.cgroup import Cgroup
from harness.devices import mounted, null_blk
from harness.guest import CommandError, Guest, Job
from harness.ioband import SEND, Amount, GroupStats, Ioband, group_name
from harness.module import REPO, build_module
from harness.tracing import TRACING, calls_traced, most_calls, traced
from harness.waiting import wait_until

MIB = 1 << 20
NESTING = 128  # maximum of cgroups above a group, its own included
GONE_S = 3  # two seconds as documented, and the difference of guest's and host's clock


@pytest.fixture
def disk(ioband: Guest) -> Iterator[str]:
    with null_blk(ioband, memory_backed=1) as path:
        yield path


def read(cgroup: Cgroup, dev: Ioband, count: int = 4) -> None:
    """Read directly, from a cgroup."""
    cgroup.run(["dd", f"if={dev.path}", "of=/dev/null", f"count={count}", "iflag=direct"])


def wait_gone(dev: Ioband, label: str, timeout_s: float = GONE_S) -> None:
    """Wait until a group is no longer listed; fails if that takes too long."""
    took = wait_until(dev.guest, lambda: label not in dev.tree(), f"{label} goes")
    assert took < timeout_s


def test_group_comes_with_a_bio_and_goes_with_its_cgroup(ioband: Guest, disk: str) -> None:
    with Ioband(ioband, "d0", disk) as dev:
        with Cgroup(ioband, "a") as a:
            assert "/a" not in dev.tree()
            read(a, dev)
            group = dev.tree()["/a"]
            assert (group.weight, group.is_set, group.name) == (100, False, group_name(a))
            ioband.sleep(GONE_S)
            assert dev.tree()["/a"] == group, "goes only with its cgroup"
        wait_gone(dev, "/a")
        with Cgroup(ioband, "a") as a:
            read(a, dev)
            assert dev.tree()["/a"].seq != group.seq, "another cgroup, though of the same name"


# A sweep runs each second.  The first sweep after the end of a cgroup retires its group, and at
# the latest the next frees it.  The rest is for a grace period and the timers' ticks.
FREED_S = 2 + 0.1
LIFE = re.compile(r"([\d.]+): (?:cgroup_rmdir: .* path=(\S+)|ioband_group_free: .*?group=(\d+))")


@pytest.mark.guest(icount=True)
def test_groups_are_freed_within_two_seconds(ioband: Guest, disk: str) -> None:
    """At any time between two sweeps, and whatever the load of the host."""
    with (
        Ioband(ioband, "d0", disk) as dev,
        ExitStack() as stack,
        traced(ioband, "cgroup/cgroup_rmdir", "ioband/ioband_group_free"),
    ):
        cgroups = [stack.enter_context(Cgroup(ioband, f"c{number}")) for number in range(10)]
        for cgroup in cgroups:
            read(cgroup, dev)
        labels = {group.seq: label for label, group in dev.tree().items()}
        removal = " ".join(cgroup.directory for cgroup in cgroups)
        ioband.run(f"for d in {removal}; do rmdir $d; sleep 0.1; done; sleep {FREED_S}")
        trace = ioband.read(f"{TRACING}/trace")
    removed, freed = {}, {}
    for match in LIFE.finditer(trace):
        if match[2]:
            removed[match[2]] = float(match[1])
        else:
            freed[labels[int(match[3])]] = float(match[1])
    assert len(removed) == len(cgroups)
    assert removed.keys() <= freed.keys(), "some are there still"
    took = {label: freed[label] - at for label, at in removed.items()}
    assert max(took.values()) < FREED_S, took


def test_weight_before_the_first_bio(ioband: Guest, disk: str) -> None:
    with Ioband(ioband, "d0", disk) as dev, Cgroup(ioband, "a/b") as b:
        dev.set_weight("cgroup:/a/b", 300)
        before = dev.tree()
        assert (before["/a/b"].weight, before["/a/b"].is_set) == (300, True)
        assert (before["/a"].weight, before["/a"].is_set) == (100, False)
        read(b, dev)
        assert dev.tree() == before
        dev.set_weight(b, "default")
        after = dev.tree()["/a/b"]
        assert (after.weight, after.is_set, after.seq) == (100, False, before["/a/b"].seq)
        dev.set_weight("root", 50)
        assert dev.tree()["root"].weight == 50


def test_weight_where_there_is_no_io_controller(ioband: Guest, disk: str) -> None:
    ioband.expect_dmesg("device-mapper: ioband")
    with Ioband(ioband, "d0", disk) as dev, Cgroup(ioband, "a") as a:
        ioband.run(["mkdir", f"{a.directory}/plain"])
        for name in ("cgroup:/a/plain", group_name_of(ioband, f"{a.directory}/plain")):
            ioband.dmesg()
            with pytest.raises(CommandError, match="No such file"):
                dev.set_weight(name, 5)
            said = "\n".join(ioband.dmesg())
            assert f"group '{name}': the io controller is not enabled for it; write" in said
        assert list(dev.tree()) == ["root"]
        ioband.run(["rmdir", f"{a.directory}/plain"])


def group_name_of(guest: Guest, directory: str) -> str:
    """The name by id of a cgroup that the harness did not make."""
    return "cgroup#" + guest.run(["stat", "-c", "%i", directory]).out.strip()


# Random readers of 64 KiB, one process in each cgroup, as a user.
READERS = """
import mmap, os, random, sys
uid, path, base, count, each = int(sys.argv[1]), sys.argv[2], sys.argv[3], *map(int, sys.argv[4:])
device = os.open(path, os.O_RDONLY | os.O_DIRECT)
os.setuid(uid)

def put(where):
    with open(f"{where}/cgroup.procs", "w") as procs:
        procs.write("0")

if count > 1:
    os.mkdir(f"{base}/starter")
    put(f"{base}/starter")
    with open(f"{base}/cgroup.subtree_control", "w") as control:
        control.write("+io")
for number in range(count):
    where = base
    if count > 1:
        where = f"{base}/c{number}"
        os.mkdir(where)
    for _ in range(each):
        if os.fork() == 0:
            put(where)
            buf = mmap.mmap(-1, 1 << 16)
            while True:
                os.preadv(device, [buf], random.randrange(1000) << 16)
os.wait()
"""


def readers(cgroup: Cgroup, dev: Ioband, uid: int, children: int, each: int) -> list[str | int]:
    """The command that reads from so many children of a cgroup, or from the cgroup itself."""
    script = ["/usr/bin/python3", "-S", "-c", READERS]
    return [*script, uid, dev.path, cgroup.directory, children, each]


def bytes_below(stats: dict[str, GroupStats], path: str) -> int:
    """The bytes of the groups of a cgroup and its descendants."""
    return sum(
        io.bytes for label, io in stats.items() if label == path or label.startswith(f"{path}/")
    )


def test_many_children_win_no_share(ioband: Guest) -> None:
    """A user that may make cgroups gets the share of the parent, however many it makes."""
    user, children = 5000, 200
    with (
        null_blk(ioband, mbps=10) as slow,
        Ioband(ioband, "d0", slow, depth=4) as dev,
        Cgroup(ioband, "many") as many,
        Cgroup(ioband, "one") as one,
    ):
        files = ("", "/cgroup.procs", "/cgroup.subtree_control")
        ioband.run(["chown", str(user), *(many.directory + file for file in files)])
        jobs = [
            ioband.start(readers(many, dev, user, children, 1), cgroup=many.directory),
            ioband.start(readers(one, dev, 0, 1, 16), cgroup=one.directory),
        ]
        wait_until(ioband, lambda: dev.info().groups >= children + 3, "all do I/O", 60)
        ioband.sleep(1)
        before = dev.io()
        ioband.sleep(8)
        after = dev.io()
        got = {
            path: bytes_below(after, path) - bytes_below(before, path) for path in ("/many", "/one")
        }
        for job in jobs:
            job.kill()
            job.wait(check=False)
        many.remove_below()
        wait_until(ioband, lambda: "/many/c0" not in dev.tree(), "the children's groups go")
    assert min(got.values()) > 10 * MIB, "too little to tell"
    assert got["/many"] / got["/one"] == pytest.approx(1, rel=0.05)


def test_many_groups_are_looked_at_in_parts(ioband: Guest) -> None:
    """A hold of the pool's lock is short, whatever the number of groups in a tick or a removal."""
    children, parts = 100, 64
    slow = {"irqmode": 2, "completion_nsec": 100_000_000, "hw_queue_depth": 128}
    functions = ("ioband_state_next_active", "ioband_group_unindex")
    with (
        null_blk(ioband, **slow) as disk,
        Cgroup(ioband, "many") as many,
        calls_traced(ioband, *functions, "_raw_spin_lock_irq"),
    ):
        with Ioband(ioband, "d0", disk, mode="device+cgroup", depth=1) as dev:
            job = ioband.start(readers(many, dev, 0, children, 1), cgroup=many.directory)
            wait_until(ioband, lambda: dev.info().held.ios >= children - 1, "all groups hold", 60)
            ioband.sleep(1)
            looks, most_looks = most_calls(ioband, functions[0], "_raw_spin_lock_irq")
            ioband.write(f"{many.directory}/cgroup.kill", "1")
            job.wait(check=False)
            wait_until(ioband, lambda: dev.info().inflight.ios == 0, "all bios complete")
        hidden, most_hidden = most_calls(ioband, functions[1], "_raw_spin_lock_irq")
        many.remove_below()
    print(f"{looks} looks, {most_looks} in a hold; {hidden} hidden, {most_hidden} in a hold")
    assert looks > children
    assert most_looks <= parts
    assert hidden > children
    assert most_hidden <= 2


# Tasks that are killed with 60 MiB queued in all, and start again.
KILLED = """
import mmap, os, signal, sys, time
device = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
buf = mmap.mmap(-1, 1 << 20)
while True:
    children = []
    for number in range(60):
        pid = os.fork()
        if pid == 0:
            os.preadv(device, [buf], number << 20)
            os._exit(0)
        children.append(pid)
    time.sleep(0.2)
    for pid in children:
        os.kill(pid, signal.SIGKILL)
    for pid in children:
        os.waitpid(pid, 0)
"""


def test_killing_its_tasks_wins_no_share(ioband: Guest) -> None:
    """A killed task's bios are dispatched at once; their debt is paid in bounded time."""
    slots = {"irqmode": 2, "completion_nsec": 8_000_000, "hw_queue_depth": 2, "submit_queues": 1}
    with (
        null_blk(ioband, **slots) as slow,
        Ioband(ioband, "d0", slow, depth=4) as dev,
        Cgroup(ioband, "low") as low,
        Cgroup(ioband, "high") as high,
    ):
        dev.set_weight(low, 1)
        dev.set_weight(high, 10000)
        rival = high.start(readers(high, dev, 0, 1, 16))
        job = low.start(["/usr/bin/python3", "-S", "-c", KILLED, dev.path])
        wait_until(ioband, lambda: "/low" in dev.io() and dev.io()["/low"].bytes > 70 * MIB, "", 60)
        before = dev.io()
        ioband.sleep(15)
        after = dev.io()
        for victim in (job, rival):
            victim.kill()
            victim.wait(check=False)
    got = {path: after[path].bytes - before[path].bytes for path in ("/low", "/high")}
    assert got["/low"] > MIB, "nothing was killed"
    # 1 MB/s of 16 MB/s, more on a busy host; without a bound on debt it is most of the 16.
    assert got["/low"] / sum(got.values()) < 0.4


@contextmanager
def no_periodic_writeback(guest: Guest) -> Iterator[None]:
    """Dirty pages stay dirty until a sync; usually the kernel writes some after 5 s."""
    path = "/proc/sys/vm/dirty_writeback_centisecs"
    usual = guest.read(path)
    guest.write(path, "360000")
    try:
        yield
    finally:
        if guest.alive:
            guest.write(path, usual)


# Writes every other block of a file, so that no two of them share a bio.
DIRTY = """
import os, sys
file = os.open(sys.argv[1], os.O_WRONLY)
for number in range(int(sys.argv[2])):
    os.pwrite(file, os.urandom(4096), number * 8192)
"""


def write_apart(cgroup: Cgroup, file: str, bios: int) -> None:
    """Make a file with dirty blocks of a cgroup that writeback can only write in so many bios."""
    cgroup.run(f"head -c {bios * 8192} /dev/urandom >{file} && sync {file}")
    cgroup.run(["/usr/bin/python3", "-S", "-c", DIRTY, file, bios])


@pytest.mark.all_kernels
@pytest.mark.brisk
@pytest.mark.guest(parallel=True)
def test_cgroup_removed_while_its_bios_are_held(ioband: Guest) -> None:
    """Its task dies, the cgroup can be removed at once, and its writes reach the disk."""
    with (
        no_periodic_writeback(ioband),
        null_blk(ioband, memory_backed=1, irqmode=2, completion_nsec=1_000_000) as disk,
        Ioband(ioband, "d0", disk, depth=1) as dev,
        Cgroup(ioband, "other") as other,
    ):
        with (
            mounted(ioband, dev.path) as point,
            Cgroup(ioband, "a", controllers="+io +memory") as a,
        ):
            write_apart(a, f"{point}/file", 600)
            before = ioband.run(["sha1sum", f"{point}/file"]).out.split()[0]
            dev.set_weight(a, 1)  # almost no bio is dispatched beside the rival
            dev.set_weight(other, 10000)
            rival = ioband.start(readers(other, dev, 0, 1, 4), cgroup=other.directory)
            wait_until(ioband, lambda: "/other" in dev.io(), "the rival reads")
            flush = ioband.start(["sync", "-f", f"{point}/file"])
            wait_until(ioband, lambda: held(dev, "/a").ios > 200, "bios are held")
            seq = dev.tree()["/a"].seq
            a.remove()
            assert any(io.held.ios for io in dev.stats() if io.seq == seq), "nothing was held"
            rival.kill()
            rival.wait(check=False)
            flush.wait()
            wait_until(ioband, lambda: seq not in {g.seq for g in dev.groups()}, "the group goes")
            ioband.run("echo 3 >/proc/sys/vm/drop_caches")
            assert ioband.run(["sha1sum", f"{point}/file"]).out.split()[0] == before
        assert dev.info().held == (0, 0)


HELD_IOS_MAX = 1024


def test_writeback_does_not_wait_for_a_group_that_holds_too_much(ioband: Guest) -> None:
    """Flushers are not bound by the limit on a group's queued bios, for it and for others.

    A reader of that group does not wait until all of them are written.
    """
    with (
        no_periodic_writeback(ioband),
        null_blk(ioband, memory_backed=1, irqmode=2, completion_nsec=1_000_000) as disk,
        Ioband(ioband, "d0", disk, depth=1) as dev,
        mounted(ioband, dev.path) as point,
        Cgroup(ioband, "a", controllers="+io +memory") as a,
        Cgroup(ioband, "b", controllers="+io +memory") as b,
        Cgroup(ioband, "other") as other,
    ):
        blocks, files = {a: 2500, b: 20}, [f"{point}/a", f"{point}/b"]
        for (cgroup, count), file in zip(blocks.items(), files, strict=True):
            write_apart(cgroup, file, count)
            dev.set_weight(cgroup, 1)  # almost no bio is dispatched beside the rival
        before = ioband.run(["sha1sum", *files]).out
        dev.set_weight(other, 10000)
        rival = ioband.start(readers(other, dev, 0, 1, 4), cgroup=other.directory)
        wait_until(ioband, lambda: "/other" in dev.io(), "the rival reads")
        flush = ioband.start(["sync"])
        wait_until(ioband, lambda: held(dev, "/b").ios > 0, "the one's bios are held")
        wait_until(ioband, lambda: held(dev, "/a").ios > HELD_IOS_MAX, "more than a task may have")
        dev.set_weight(a, 100)
        a.run(["dd", f"if={dev.path}", "of=/dev/null", "bs=4k", "count=4", "iflag=direct"])
        assert held(dev, "/a").ios > HELD_IOS_MAX
        rival.kill()
        rival.wait(check=False)
        flush.wait()
        ioband.run("echo 3 >/proc/sys/vm/drop_caches")
        assert ioband.run(["sha1sum", *files]).out == before


def test_cgroups_that_are_nested_deep_share_a_group(ioband: Guest, disk: str) -> None:
    with Ioband(ioband, "d0", disk) as dev, Cgroup(ioband, "/".join("a" * (NESTING + 3))) as deep:
        read(deep, dev)
        below = [label for label in dev.tree() if label.startswith("/a")]
        assert max(label.count("a") for label in below) == NESTING
        # Some groups have no counters; their bios count in a group above.
        assert sum(stats.read.ios for label, stats in dev.io().items() if label in below) == 4
        least, next_one = "/a" * NESTING, "/a" * (NESTING + 1)
        dev.message("weight", f"cgroup:{least}", "77")
        assert dev.tree()[least].weight == 77
        too_deep = "it is more than 128 cgroups deep"
        ioband.expect_dmesg(too_deep)
        with pytest.raises(CommandError):
            dev.message("weight", f"cgroup:{next_one}", "77")
        assert too_deep in "".join(ioband.dmesg())
        assert next_one not in dev.tree()


def held(dev: Ioband, label: str) -> Amount:
    """The bios queued in a group now."""
    stats = dev.io().get(label)
    return stats.held if stats else Amount(0, 0)


@pytest.mark.smoke
@pytest.mark.guest(parallel=True)
def test_tasks_killed_while_their_bios_are_held(ioband: Guest) -> None:
    with (
        null_blk(ioband, mbps=8) as slow,
        Ioband(ioband, "d0", slow, depth=1) as dev,
        Cgroup(ioband, "other") as other,
    ):
        rival = ioband.start(readers(other, dev, 0, 1, 4), cgroup=other.directory)
        with Cgroup(ioband, "a") as a:
            victim = ioband.start(readers(a, dev, 0, 1, 16), cgroup=a.directory)
            wait_until(ioband, lambda: held(dev, "/a").ios > 10, "bios are held")
            victim.kill()
            victim.wait(check=False)
            wait_until(ioband, lambda: not a.pids, "all are dead", 10)
        wait_gone(dev, "/a")
        assert dev.info().active >= 1, "the other goes on"
        rival.kill()
        rival.wait(check=False)


# Makes cgroups, gives most of them settings, reads from each of them, and removes them
# all.
CHURN = (
    SEND
    + """
import ctypes, mmap, sys
path, base, count = *sys.argv[1:3], int(sys.argv[3])
device = os.open(path, os.O_RDONLY | os.O_DIRECT)
buf = mmap.mmap(-1, 4096)
WISHES = ["weight {} 300", "max {} rbps=100000000", "min {} riops=10 rbps=100000",
    "latency-target {} 100000"]
SYS_IOPRIO_SET, PROCESS, BEST_EFFORT, IDLE = 251, 1, 2 << 13, 3 << 13

def read():
    os.preadv(device, [buf], 0)

def read_at_levels():
    for prio in (BEST_EFFORT | 0, BEST_EFFORT | 7, IDLE, BEST_EFFORT | 4):
        if ctypes.CDLL(None).syscall(SYS_IOPRIO_SET, PROCESS, 0, prio):
            sys.exit("no I/O priority")
        read()

def put(where):
    with open(f"{where}/cgroup.procs", "w") as procs:
        procs.write("0")

dirs = [f"{base}/c{number}" for number in range(count)]
for number, where in enumerate(dirs):
    os.mkdir(where)
    kind = number % (len(WISHES) + 2)  # two kinds have none, and one of them reads at levels
    if kind < len(WISHES):
        send(path, WISHES[kind].format("cgroup:" + where.removeprefix("/sys/fs/cgroup")))
    put(where)
    if kind == len(WISHES):
        read_at_levels()
    else:
        read()
put("/sys/fs/cgroup/home")
if "peak" in sys.argv:
    print(open("/proc/meminfo").read())
for where in dirs:
    os.rmdir(where)
"""
)


PERCPU = r"^Percpu: +(\d+) kB"  # the memory of the counters


def dying(guest: Guest) -> int:
    """The number of removed cgroups that still have references."""
    return int(
        re.search(r"nr_dying_descendants (\d+)", guest.read("/sys/fs/cgroup/cgroup.stat"))[1]
    )


def test_a_subtree_leaves_groups_to_others(guest: Guest, tmp_path: Path) -> None:
    """Of 64 groups, a cgroup with a hundred children gets at most seven eighths."""
    source = tmp_path / "dm-ioband"
    shutil.copytree(REPO / "drivers/md/dm-ioband", source)
    text = (source / "group.c").read_text()
    few = text.replace("define IOBAND_GROUPS_MAX	BIT(17)", "define IOBAND_GROUPS_MAX	64UL")
    assert few != text
    (source / "group.c").write_text(few)
    (module,) = build_module(guest.kernel, source)
    guest.insmod(module)
    with (
        null_blk(guest) as disk,
        Ioband(guest, "d0", disk) as dev,
        Cgroup(guest, "greedy") as greedy,
        ExitStack() as on,
    ):
        greedy.set("cgroup.subtree_control", "+io")
        each = f"""
            for n in $(seq 100); do
                mkdir {greedy.directory}/$n
                (echo $BASHPID >{greedy.directory}/$n/cgroup.procs
                 exec dd if={dev.path} of=/dev/null count=1 iflag=direct status=none)
            done
        """
        guest.run(["bash", "-e", "-c", each])
        assert 40 < sum(name.startswith("/greedy/") for name in dev.tree()) < 56
        others = [on.enter_context(Cgroup(guest, name)) for name in ("a", "b", "c")]
        for cgroup in others:
            read(cgroup, dev)
        assert {"/a", "/b", "/c"} <= set(dev.tree())
        greedy.remove_below()


@pytest.mark.guest(parallel=True)
def test_many_cgroups_come_and_go(ioband: Guest, disk: str) -> None:
    """With weights, bounds, latency targets and streams; the module reports leaks itself."""

    def churn(*options: str) -> str:
        script = ["/usr/bin/python3", "-S", "-c", CHURN, dev.path, work.directory]
        return ioband.run([*script, "500", *options], timeout=120).out

    def percpu() -> int:
        return int(re.search(PERCPU, ioband.read("/proc/meminfo"), re.M)[1])

    def settled() -> bool:
        return dev.info().groups in idle_groups and dying(ioband) <= idle_dying

    with (
        Ioband(ioband, "d0", disk) as dev,
        Cgroup(ioband, "work") as work,
        Cgroup(ioband, "busy") as busy,
        Cgroup(ioband, "home"),
    ):
        work.set("cgroup.subtree_control", "+io")
        script = readers(busy, dev, 0, 1, 1)
        load = ioband.start(script, cgroup=busy.directory)
        wait_until(ioband, lambda: "/busy" in dev.tree(), "the load does I/O")
        groups = dev.info().groups
        idle_groups = (groups, groups + 1)  # the second is /work, freed after a minute
        idle_dying = dying(ioband)
        before = percpu()
        peak = int(re.search(PERCPU, churn("peak"), re.M)[1])
        assert peak > before + 1000, "the measure sees 500 groups"
        for _ in range(2):  # leaks of each round add up
            wait_until(ioband, settled, "all go", 30)
            churn()
        wait_until(ioband, settled, "all go", 30)
        # The allocator may keep the memory of one round, and frees pages late.
        most = peak + (peak - before) // 5
        wait_until(ioband, lambda: percpu() <= most, f"{peak} KiB, or little more", 90)
        load.kill()
        load.wait(check=False)
    ioband.rmmod("dm_ioband")


def test_process_groups_of_the_dead_go(ioband: Guest, disk: str) -> None:
    script = "import mmap, os, sys, time\n" + (
        "device = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)\n"
        "os.preadv(device, [mmap.mmap(-1, 4096)], 0)\n"
        "time.sleep(1000)\n"
    )
    for mode in ("pid", "pgrp"):
        with Ioband(ioband, "d0", disk, mode=mode) as dev:
            job = ioband.start(["/usr/bin/python3", "-S", "-c", script, dev.path])
            label = f"{mode}:{job.pid}"
            wait_until(ioband, lambda label=label, dev=dev: label in dev.tree(), "its bio")
            dev.set_weight(label, 700)
            ioband.sleep(GONE_S)
            assert dev.tree()[label].weight == 700
            job.kill()
            job.wait(check=False)
            wait_gone(dev, label)


# Reads a sector as some users.
AS_USERS = """
import mmap, os, sys
device = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
for uid in map(int, sys.argv[2:]):
    os.seteuid(uid)
    os.preadv(device, [mmap.mmap(-1, 4096)], 0)
    os.seteuid(0)
"""
IDLE_S = 60


@pytest.mark.idles
@pytest.mark.guest(icount=True)  # its clock jumps over idle time
def test_a_weight_survives_idleness(ioband: Guest, disk: str) -> None:
    """A minute without I/O frees groups without a weight, and keeps the others."""
    with (
        Ioband(ioband, "d0", disk, mode="uid") as dev,
        Ioband(ioband, "d1", disk) as by_cgroup,
        Cgroup(ioband, "a") as a,
        Cgroup(ioband, "b") as b,
    ):
        ioband.run(["/usr/bin/python3", "-S", "-c", AS_USERS, dev.path, "7001", "7002"])
        dev.set_weight("uid:7001", 300)
        read(a, by_cgroup)
        read(b, by_cgroup)
        by_cgroup.set_weight(a, 200)
        kept, forgotten = {"uid:7001", "/a"}, {"uid:7002", "/b"}
        before, did = dev.tree(), dev.io()
        assert before.keys() >= kept | forgotten
        ioband.sleep(IDLE_S + GONE_S + 2)
        after, still = dev.tree(), dev.io()
        assert not after.keys() & forgotten
        assert {label: after[label] for label in kept} == {label: before[label] for label in kept}
        assert [still[label] for label in kept] == [did[label] for label in kept]
        read(a, by_cgroup)
        read(b, by_cgroup)
        assert dev.io()["/a"].read.ios == did["/a"].read.ios + 4
        assert dev.tree()["/b"].weight == 100


def test_reload_keeps_groups_and_weights(ioband: Guest, disk: str) -> None:
    with (
        Ioband(ioband, "d0", disk, mode="device+cgroup", weight=400) as dev,
        Cgroup(ioband, "a") as a,
        Cgroup(ioband, "b") as b,
    ):
        read(a, dev)
        dev.set_weight(b, 250)
        dev.set_weight("device", 444)
        dev.set_weight("cgroup:/", 445)  # the same group
        assert next(g.weight for g in dev.groups() if g.name.startswith("device:")) == 445
        before, did = dev.tree(), dev.io()
        dev.reload(dev.table())
        assert dev.tree() == before
        for label, io in did.items():
            assert dev.io()[label].ios >= io.ios
        dev.reload(dev.line(mode="device+cgroup", weight=500))
        labels = [label for label in before if label.endswith("/b")]
        assert [dev.tree()[label] for label in labels] == [before[label] for label in labels]
        assert next(g.weight for g in dev.groups() if g.name.startswith("device:")) == 500
        # Change to another mode and back.
        dev.reload(dev.line(mode="cgroup"))
        read(a, dev)
        assert dev.tree()["/a"].parent == dev.tree()["root"].seq
        dev.reload(dev.line(mode="device+cgroup", weight=500))
        assert [dev.tree()[label].weight for label in labels] == [250]


def test_devices_join_and_leave_a_pool(ioband: Guest, disk: str) -> None:
    half = 1024 * 1024
    with Ioband(ioband, "d0", disk, length=half) as dev, Cgroup(ioband, "a") as a:
        dev.set_weight(a, 300)
        with Ioband(ioband, "d1", disk, length=half, offset=half, mode="device+cgroup") as second:
            read(a, dev)
            read(a, second)
            own = next(label for label in dev.tree() if label.startswith("device:"))
            assert dev.tree() == second.tree()
            assert dev.tree()[f"{own}/a"].weight == 100
            second.set(mode="cgroup")
            read(a, second)
            assert dev.io()["/a"].read.ios == 8, "one group on both devices"
            assert dev.info().devices == 2
        wait_gone(dev, f"{own}/a")
        wait_gone(dev, own)
        assert dev.info().devices == 1
        assert dev.tree()["/a"].weight == 300
    with Ioband(ioband, "d0", disk) as anew:
        assert list(anew.tree()) == ["root"], "the pool went with its last device"
        assert anew.tree()["root"].seq == 1
    ioband.rmmod("dm_ioband")


def test_what_is_in_flight_is_told(ioband: Guest) -> None:
    with (
        null_blk(ioband, irqmode=2, completion_nsec=200_000_000) as slow,
        Ioband(ioband, "d0", slow, depth=4) as dev,
        Cgroup(ioband, "a") as a,
        Cgroup(ioband, "b") as b,
    ):

        def in_flight() -> int:
            return sum(stats.inflight for stats in dev.io().values())

        def reader(group: Cgroup) -> Job:
            load = "--name=r --direct=1 --thread --rw=randread --ioengine=libaio --iodepth=5"
            argv = ["fio", *load.split(), "--time_based=1", "--runtime=600"]
            return group.start([*argv, f"--filename={dev.path}"])

        jobs = [reader(a)]
        wait_until(ioband, lambda: in_flight() == 5, "a reader alone has all of its depth")
        assert dev.io()["/a"].inflight == 5
        jobs.append(reader(b))
        wait_until(ioband, lambda: dev.info().inflight.ios == in_flight() == 4, "two share four")
        assert dev.info().inflight.bytes == 4 * 4096
        for job in jobs:
            job.kill()
        for job in jobs:
            job.wait(check=False)
        wait_until(ioband, lambda: in_flight() == 0, "all have come back")


def test_what_waits_and_is_in_flight_is_told_by_direction(ioband: Guest) -> None:
    """One group for each direction: its bios count in that direction only, and all complete."""
    slow = {"irqmode": 2, "completion_nsec": 50_000_000, "memory_backed": 1, "discard": 1}
    loads = {"read": "randread", "write": "randwrite", "discard": "randtrim"}
    with ExitStack() as stack:
        disk = stack.enter_context(null_blk(ioband, size_mib=64, **slow))
        dev = stack.enter_context(Ioband(ioband, "d0", disk, depth=2))
        groups = {way: stack.enter_context(Cgroup(ioband, way)) for way in loads}
        missing = {(way, what) for way in loads for what in ("held", "in flight")}

        def all_were_seen() -> bool:
            for label, group in dev.io().items():
                way = label[1:]
                if way not in loads:
                    continue
                assert group.inflight == group.inflight_by[way]
                assert group.held == group.held_by[way]
                assert group.held.bytes == 4096 * group.held.ios
                if group.held.ios:
                    missing.discard((way, "held"))
                if group.inflight:
                    missing.discard((way, "in flight"))
            return not missing

        jobs = []
        for way, load in loads.items():
            argv = f"fio --name=j --direct=1 --thread --rw={load} --bs=4k --time_based=1".split()
            argv += ["--ioengine=libaio", "--iodepth=4", "--numjobs=4", "--runtime=600"]
            jobs.append(groups[way].start([*argv, f"--filename={dev.path}"]))
        wait_until(ioband, all_were_seen, "reads, writes and discards wait and are in flight")
        for job in jobs:
            job.kill()
        for job in jobs:
            job.wait(check=False)

        def all_have_gone() -> bool:
            done = [dev.io()[f"/{way}"] for way in loads]
            return not any(group.inflight or group.held != (0, 0) for group in done)

        wait_until(ioband, all_have_gone, "all have come back")


@pytest.mark.guest(cgroup="v1")
def test_groups_go_with_cgroups_of_version_1(ioband: Guest, disk: str) -> None:
    with Ioband(ioband, "d0", disk) as dev:
        with Cgroup(ioband, "a/b") as b:
            read(b, dev)
            first = dev.tree()["/a/b"].seq
        wait_gone(dev, "/a/b")
        wait_gone(dev, "/a")
        with Cgroup(ioband, "a/b") as b:
            read(b, dev)
            assert dev.tree()["/a/b"].seq != first
