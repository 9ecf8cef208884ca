# SPDX-License-Identifier: GPL-2.0-only
"""Low memory: swap on ioband, and limits on the memory of many groups."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from harness.cgroup import Cgroup
from harness.devices import DmDevice, linear, null_blk
from harness.guest import Guest
from harness.ioband import SEND, Ioband
from harness.load import Load, Stream
from harness.tracing import charged, traced
from harness.variants import variants
from harness.waiting import wait_until

SWAP_MIB = 256
COUNTERS_BYTES = 2936  # of a group, with histograms, on two CPUs
pytestmark = pytest.mark.guest(memory_mib=384, disks_mib=(SWAP_MIB,))

# Stamps every page of some MiB, and checks the stamps of the first of them.
TOUCH = """
import mmap, sys
size, checked = (int(word) << 20 for word in sys.argv[1:])
memory = mmap.mmap(-1, size)
for at in range(0, size, 4096):
    memory[at:at + 8] = at.to_bytes(8, "little")
for at in range(0, checked, 4096):
    if memory[at:at + 8] != at.to_bytes(8, "little"):
        sys.exit(f"the page at {at} has another's content")
"""


@contextmanager
def swap(guest: Guest) -> Iterator[Ioband]:
    """A swap device on ioband, enabled."""
    guest.run("modprobe virtio_blk && udevadm settle")
    with Ioband(guest, "swap", "/dev/vda", depth=4) as device:
        guest.run(["mkswap", device.path])
        guest.run(["swapon", device.path])
        yield device
        guest.run(["swapoff", device.path], timeout=120)


def touch(group: Cgroup, mib: int, again_mib: int) -> None:
    """A process of the group uses mib of memory, and again_mib of it once more."""
    group.run(["/usr/bin/python3", "-S", "-c", TOUCH, str(mib), str(again_mib)], timeout=300)


def swapped_out_mib(guest: Guest) -> int:
    """MiB written to swap since the boot."""
    lines = dict(line.split() for line in guest.read("/proc/vmstat").splitlines())
    return int(lines["pswpout"]) * 4096 >> 20


def available_mib(guest: Guest) -> int:
    """Memory that can be allocated without swapping."""
    lines = dict(line.split(":") for line in guest.read("/proc/meminfo").splitlines())
    return int(lines["MemAvailable"].split()[0]) >> 10


@contextmanager
def competing(guest: Guest) -> Iterator[None]:
    """Another group reads all the time, from another device of the pool."""
    with (
        null_blk(guest, irqmode=2, completion_nsec=500_000) as disk,
        Ioband(guest, "rival", disk) as rival,
        Cgroup(guest, "other") as other,
    ):
        load = Load(guest, [Stream("other", rival.path, other)]).start()
        yield
        load.end()


def test_a_group_swaps_while_another_competes(ioband: Guest) -> None:
    """Its swap writes are never queued, its other bios are; it is charged for all."""
    guest = ioband
    with (
        swap(guest) as device,
        Cgroup(guest, "small", controllers="+io +memory") as small,
        competing(guest),
    ):
        small.set("memory.max", "24M")
        device.set_weight(small, 100)  # makes the group, with its number
        before = swapped_out_mib(guest)
        with traced(guest, "ioband/ioband_charge", only=f"seq == {device.tree()['/small'].seq}"):
            touch(small, 72, 72)
            out = swapped_out_mib(guest) - before
            charge = charged(guest)
        io = device.io()["/small"]
    assert out >= 48
    # Except for I/O while the rival is late and the group is alone.
    assert charge == pytest.approx(io.bytes, rel=0.1)
    assert io.read.held > 100
    assert (io.write.held, io.write.bytes >> 20) == (0, pytest.approx(out, abs=4))


def test_the_machine_swaps(ioband: Guest) -> None:
    """All memory is short, and kernel threads reclaim it while another group competes."""
    guest = ioband
    with swap(guest) as device, Cgroup(guest, "big") as big, competing(guest):
        before = swapped_out_mib(guest)
        touch(big, available_mib(guest) + 48, 64)
        out = swapped_out_mib(guest) - before
        io = device.io()
    assert out >= 32
    assert io["/big"].read.held > 100
    assert sum(group.write.held for group in io.values()) == 0
    assert sum(group.write.bytes for group in io.values()) >> 20 == pytest.approx(out, abs=4)


# Swaps out new memory again and again, some KiB for each call.
PAGE_OUT = """
import mmap, sys
MADV_PAGEOUT, size, step = 21, int(sys.argv[1]) << 20, int(sys.argv[2]) << 10
while True:
    memory = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for at in range(0, size, 4096):
        memory[at:at + 8] = (at + 1).to_bytes(8, "little")
    for at in range(0, size, step):
        memory.madvise(MADV_PAGEOUT, at, step)
    memory.close()
"""
SHARED_MIB, SHARED_MBPS = 128, 25  # a slow disk, half of it swap


@contextmanager
def shared_with_swap(guest: Guest, **settings: Any) -> Iterator[tuple[Ioband, Ioband]]:
    """The halves of a slow disk: swap, and a device for a reader, which has more weight."""
    with null_blk(guest, size_mib=SHARED_MIB, memory_backed=1, mbps=SHARED_MBPS) as disk:
        half = SHARED_MIB << 10
        with (
            Ioband(guest, "swap", disk, depth=4, length=half, **settings) as swap_part,
            Ioband(guest, "files", disk, depth=4, offset=half, **settings) as files,
        ):
            guest.run(["mkswap", swap_part.path])
            guest.run(["swapon", swap_part.path])
            yield swap_part, files
            guest.run(["swapoff", swap_part.path], timeout=120)


# Otherwise the clock is the host's, and the reader gets too little of its processors to be busy.
@pytest.mark.guest(icount=True, memory_mib=384, disks_mib=(SWAP_MIB,))
@pytest.mark.all_kernels
@pytest.mark.parametrize(
    ("mode", "kib"), variants([("cgroup", 4096), ("cgroup", 4), ("device", 4)], ("cgroup", 4096))
)
def test_a_group_that_only_swaps_pays_for_it(ioband: Guest, mode: str, kib: int) -> None:
    """It has no other bios to pay with.  A task that owes sleeps, and can be killed."""
    guest = ioband
    with (
        shared_with_swap(guest, mode=mode) as (swap_part, files),
        Cgroup(guest, "hog", controllers="+io +memory") as hog,
        Cgroup(guest, "reader") as reader,
    ):
        swap_part.set_weight(hog if mode == "cgroup" else "device", 1)
        files.set_weight(reader if mode == "cgroup" else "device", 1000)
        load = Load(guest, [Stream("r", files.path, reader, bs="64k", iodepth=32)]).start()
        alone_ms = guest.now_ms()
        guest.sleep(4)
        begun_ms = guest.now_ms()
        job = hog.start(["/usr/bin/python3", "-S", "-c", PAGE_OUT, "4", str(kib)])
        begun = swapped_out_mib(guest)
        wait_until(guest, lambda: swapped_out_mib(guest) - begun >= 36, "a large debt", 120)
        start_ms, before = guest.now_ms(), swapped_out_mib(guest)
        guest.sleep(12)
        end_ms, out = guest.now_ms(), swapped_out_mib(guest) - before
        stack = f"/proc/{job.pid}/stack"
        wait_until(guest, lambda: "sleep_for_debt" in guest.read(stack), "the task sleeps")
        job.kill()
        job.wait(5, check=False)
        measured = load.stop()
        alone = measured.window(alone_ms, begun_ms)["r"].bandwidth
        beside = measured.window(start_ms, end_ms)["r"].bandwidth
    part = beside / alone
    print(f"{out} MiB swapped out in 12 s; reads: {alone / 1e6:.1f} MB/s, {part:.2f} of it beside")
    assert part >= 0.9 * 1000 / 1001
    assert out >= 4, "the delay is bounded"
    guest.rmmod("dm_ioband")  # no task has work of the module left


# Serves requests at a rate: each reads four random blocks, one after the other, and prints the
# second in which it was due and the microseconds from then on.
SERVE = """
import mmap, os, random, sys, time
device = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
rate, seconds = map(int, sys.argv[2:])
page = mmap.mmap(-1, 4096)
blocks = os.lseek(device, 0, os.SEEK_END) // 4096
random.seed(1)
start = time.monotonic()
for number in range(rate * seconds):
    due = start + number / rate
    time.sleep(max(0, due - time.monotonic()))
    for _ in range(4):
        os.preadv(device, [page], random.randrange(blocks) * 4096)
    print(number // rate, int((time.monotonic() - due) * 1e6))
"""
REQUESTS_S, SERVE_S = 40, 20


def serve(group: Cgroup, device: Ioband) -> tuple[list[int], list[int]]:
    """Requests served in time, by the second in which they were due; all latencies, in us."""
    script = ["/usr/bin/python3", "-S", "-c", SERVE, device.path, str(REQUESTS_S), str(SERVE_S)]
    lines = group.run(script, timeout=300).out.splitlines()
    pairs = [tuple(map(int, line.split())) for line in lines]
    rates = [0] * SERVE_S
    for second, us in pairs:
        rates[second] += us < 1e6 / REQUESTS_S
    return rates, sorted(us for _, us in pairs)


@pytest.mark.guest(icount=True, memory_mib=384, disks_mib=(SWAP_MIB,))
def test_a_server_beside_a_group_that_swaps(ioband: Guest) -> None:
    """Its rate is 98 % of the rate alone, and 90 % in the worst second; swap is not starved."""
    guest = ioband
    with (
        shared_with_swap(guest) as (swap_part, files),
        Cgroup(guest, "hog", controllers="+io +memory") as hog,
        Cgroup(guest, "server") as server,
    ):
        files.set_weight(server, 500)
        swap_part.set_weight(hog, 50)
        alone, _ = serve(server, files)
        job = hog.start(["/usr/bin/python3", "-S", "-c", PAGE_OUT, "16", "4096"])
        begun = swapped_out_mib(guest)
        wait_until(guest, lambda: swapped_out_mib(guest) - begun >= 8, "it swaps", 120)
        before = swapped_out_mib(guest)
        beside, us = serve(server, files)
        out = swapped_out_mib(guest) - before
        job.kill()
        job.wait(5, check=False)
    print(
        f"{out} MiB swapped out in {SERVE_S} s; {sum(beside)} of {sum(alone)} requests in time,"
        f" {min(beside)} in the worst second; the longest {us[-1]} us"
    )
    assert sum(alone) == REQUESTS_S * SERVE_S
    assert sum(beside) >= 0.98 * sum(alone)
    assert min(beside) >= 0.9 * min(alone)
    assert out >= 0.5 * (SHARED_MBPS * 1e6 / (1 << 20)) * SERVE_S


# Swaps out stamped memory, tells it by a file, and checks the stamps when that is gone.
PAGE_OUT_ONCE = """
import mmap, os, sys, time
MADV_PAGEOUT, size = 21, 4 << 20
memory = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for at in range(0, size, 4096):
    memory[at:at + 8] = (at + 1).to_bytes(8, "little")
memory.madvise(MADV_PAGEOUT)
open(sys.argv[1], "w").close()
while os.path.exists(sys.argv[1]):
    time.sleep(0.01)
memory.madvise(MADV_PAGEOUT)
for at in range(0, size, 4096):
    if memory[at:at + 8] != (at + 1).to_bytes(8, "little"):
        sys.exit(f"the page at {at} has another's content")
"""


@contextmanager
def swap_on_a_hung_disk(guest: Guest) -> Iterator[tuple[Ioband, DmDevice]]:
    """Swap on ioband on a device that does not answer until it is resumed."""
    guest.run("modprobe virtio_blk && udevadm settle")
    with (
        linear(guest, "below", "/dev/vda") as below,
        Ioband(guest, "swap", below.path, depth=4) as device,
    ):
        guest.run(["mkswap", device.path])
        guest.run(["swapon", device.path])
        below.suspend()
        yield device, below
        guest.run(["swapoff", device.path], timeout=120)


# Runs a command, and prints for how many ms it then takes until a file exists.
TELL = """
begun=$(date +%s%N)
{command} >/dev/null 2>&1 &
while [ ! -e {told} ]; do sleep 0.01; done
echo $((($(date +%s%N) - begun) / 1000000))
"""


@pytest.mark.guest(icount=True, memory_mib=384, disks_mib=(SWAP_MIB,))
@pytest.mark.all_kernels
@pytest.mark.parametrize("end", ["suspend", "noflush", "kill", "time"])
def test_a_wait_for_swap_ends(ioband: Guest, end: str) -> None:
    """A task that sleeps before a write to swap goes on, and all its pages are written."""
    guest = ioband
    told = "/run/swapped"
    with (
        swap_on_a_hung_disk(guest) as (device, below),
        Cgroup(guest, "hog", controllers="+io +memory") as hog,
        competing(guest),
    ):
        job = hog.start(["/usr/bin/python3", "-S", "-c", PAGE_OUT_ONCE, told])
        stack = f"/proc/{job.pid}/stack"
        sleeps = "ioband_throttle_wait_swap"
        wait_until(guest, lambda: sleeps in guest.read(stack), "it sleeps before a write")
        assert device.io()["/hog"].write.bytes == 0, "nothing is completed"
        if end == "kill":
            job.kill()
            assert job.wait(20, check=False).rc == -9
            below.resume()
        else:
            option = "--noflush" if end == "noflush" else ""
            suspend = f"dmsetup suspend --nolockfs {option} {device.name}"
            script = TELL.format(command="true" if end == "time" else suspend, told=told)
            ms = int(guest.run(script).out)
            print(f"it has submitted all writes {ms} ms later")
            # After a second it would go on in any case, and then with all others.
            assert 300 < ms < 1500 if end == "time" else ms < 200
            below.resume()
        if end in ("suspend", "noflush"):
            suspended = "SUSPENDED"
            wait_until(guest, lambda: suspended in device.dmsetup("info").out, "the suspend ends")
            device.resume()
        if end != "kill":
            guest.run(["rm", told])
            job.wait()
        wait_until(guest, lambda: device.info().inflight.ios == 0, "all are completed")
        out = device.io()["/hog"].write.bytes
    print(f"{out >> 10} KiB swapped out")
    assert out >= 4 << 20 if end != "kill" else out > 0


# Reads a page as each of many users, after giving each a weight if there is one.
AS_USERS = (
    SEND
    + """
import mmap, sys
path = sys.argv[1]
device = os.open(path, os.O_RDONLY | os.O_DIRECT)
page = mmap.mmap(-1, 4096)
first, count, weight = map(int, sys.argv[2:])
for uid in range(first, first + count):
    if weight:
        send(path, f"weight uid:{uid} {weight}")
    os.seteuid(uid)
    os.preadv(device, [page], 0)
    os.seteuid(0)
"""
)


def as_users(group: Cgroup, device: Ioband, first: int, count: int, weight: int = 0) -> None:
    """A process of the group reads as count users, one after the other."""
    numbers = map(str, (first, count, weight))
    script = ["/usr/bin/python3", "-S", "-c", AS_USERS, device.path, *numbers]
    group.run(script, timeout=300)


def memory_bytes(guest: Guest) -> int:
    """The size of the memory."""
    return int(re.search(r"^MemTotal: +(\d+) kB", guest.read("/proc/meminfo"), re.M)[1]) << 10


def slab_of(group: Cgroup) -> int:
    """Bytes of the kernel's objects that are charged to a cgroup."""
    lines = dict(line.split() for line in group.get("memory.stat").splitlines())
    return int(lines["slab"])


def test_groups_take_a_bounded_part_of_the_memory(ioband: Guest) -> None:
    """The cgroup that makes many groups is charged; groups without counters use their parent's."""
    guest = ioband
    count = memory_bytes(guest) // 64 // 1000  # more than have counters
    with (
        null_blk(guest) as disk,
        Ioband(guest, "d", disk, mode="uid") as device,
        Cgroup(guest, "many", controllers="+io +memory") as many,
    ):
        before = slab_of(many)
        as_users(many, device, 10000, count)
        charged = slab_of(many) - before
        groups = device.info().groups
        # A later group has no counters of its own, unless it has settings.
        device.set_weight("uid:5000", 500)
        as_users(many, device, 5000, 2)
        io = device.io()
    counted = [stats.ios for label, stats in io.items() if label.startswith("uid:1")]
    print(f"{count} users: {groups} groups, {len(counted)} with counters, {charged} bytes charged")
    assert groups > count
    assert count * 768 < charged < count * 1600  # kmalloc() would take 2048
    assert count / 5 < len(counted) < count * 0.9
    assert set(counted) == {1}
    assert "uid:5000" in io
    assert "uid:5001" not in io
    assert sum(stats.ios for stats in io.values()) >= count


def test_those_that_were_given_something_leave_counters_to_the_rest(ioband: Guest) -> None:
    """Groups with settings may use more counters, and leave as many to others as before."""
    guest = ioband
    count = memory_bytes(guest) // 64 // COUNTERS_BYTES * 5 // 4
    with (
        null_blk(guest) as disk,
        Ioband(guest, "d", disk, mode="uid") as device,
        Cgroup(guest, "many") as many,
    ):
        as_users(many, device, 10000, count, weight=200)
        as_users(many, device, 5000, 200)
        io = device.io()
    assert sum(label.startswith("uid:1") for label in io) == count
    assert sum(label.startswith("uid:5") for label in io) == 200


# Reads all pages of statistics a number of times; prints the times of begin and end, and the
# number of lines.
LOOK = (
    SEND
    + """
import sys, time
path, times = sys.argv[1], int(sys.argv[2])
began, lines = time.time(), 0
for _ in range(times):
    cursor = ""
    while cursor != "end":
        *page, last = send(path, f"stats {cursor}".strip()).splitlines()
        cursor = last.removeprefix("next ")
        lines += len(page) - 1
print(began * 1000, time.time() * 1000, lines)
"""
)


@pytest.mark.guest(icount=True)
def test_looking_at_many_groups_stops_nobody(ioband: Guest) -> None:
    """A reader waits for the disk all the same, and almost never for the processor."""
    guest = ioband
    count, times = 1500, 54  # all have counters
    with (
        null_blk(guest, irqmode=2, completion_nsec=200_000) as disk,
        Ioband(guest, "d", disk, mode="uid") as device,
        Cgroup(guest, "many") as many,
    ):
        as_users(many, device, 10000, count)
        load = Load(guest, [Stream("r", device.path, bs="4k", iodepth=1)]).start()
        guest.sleep(0.5)
        start_ms = guest.now_ms()
        guest.sleep(1)
        end_ms = guest.now_ms()
        script = ["/usr/bin/python3", "-S", "-c", LOOK, device.path, str(times)]
        began_ms, ended_ms, lines = map(float, guest.run(script, timeout=300).out.split())
        measured = load.stop()
    alone = measured.window(start_ms, end_ms)["r"].iops
    beside = measured.window(began_ms, ended_ms)["r"].iops
    print(f"{alone:.0f} IOPS, {beside:.0f} in {ended_ms - began_ms:.0f} ms of looking")
    assert lines >= times * count
    assert ended_ms - began_ms > 400
    assert beside > 0.9 * alone


# Makes cgroups and reads a page in each of them.
IN_CGROUPS = """
import mmap, os, sys
device = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
page = mmap.mmap(-1, 4096)
for number in range(int(sys.argv[3])):
    where = f"{sys.argv[2]}/c{number}"
    os.mkdir(where)
    with open(f"{where}/cgroup.procs", "w") as procs:
        procs.write("0")
    os.preadv(device, [page], 0)
"""


def test_who_makes_many_cgroups_leaves_counters_to_others(ioband: Guest) -> None:
    """The last cgroups of many children use the parent's counters; a new one elsewhere has some."""
    guest = ioband
    room = memory_bytes(guest) // 64 // COUNTERS_BYTES
    room = room * 7 // 8 * 7 // 8  # parts are reserved for other pools and other cgroups
    count = room * 11 // 10
    # Otherwise each move of a task waits for a grace period.
    guest.run("mount -o remount,favordynmods /sys/fs/cgroup")
    with (
        null_blk(guest) as disk,
        Ioband(guest, "d", disk) as device,
        Cgroup(guest, "many") as many,
        Cgroup(guest, "others/new") as new,
    ):
        many.set("cgroup.subtree_control", "+io")
        script = ["/usr/bin/python3", "-S", "-c", IN_CGROUPS]
        guest.run([*script, device.path, many.directory, str(count)], timeout=300)
        before = device.io()
        late, wished = (Cgroup(guest, f"many/c{count - back}") for back in (2, 1))
        device.set_weight(wished, 500)
        below = Cgroup(guest, "many/deep/bound/below")
        device.set_max(Cgroup(guest, "many/deep/bound"), riops=1000)
        for group in (new, late, wished, below):
            group.run(["dd", f"if={device.path}", "of=/dev/null", "count=1", "iflag=direct"])
        io = device.io()
        many.remove_below()
    counted = [label for label in before if label.startswith("/many/")]
    print(f"{count} cgroups, {len(counted)} with counters")
    assert len(counted) == pytest.approx(room, rel=0.05)
    assert "/others/new" in io
    assert f"/{late.path}" not in io, "there is no room left for it"
    assert before["/many"].ios == count - len(counted), "the last of them are not as itself"
    assert (io["/many"].ios, io["root"].ios) == (before["/many"].ios + 1, before["root"].ios)
    assert f"/{wished.path}" in io, "it was given a weight"
    assert io["/many/deep/bound"].ios == 1, "its maximum does not hold for what is below it"
