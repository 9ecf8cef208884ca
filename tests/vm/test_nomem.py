# SPDX-License-Identifier: GPL-2.0-only
"""Without memory a request fails and leaves nothing behind; bios are served.

Fault injection lets the first allocation of a system call fail, then the second,
and so on, until no allocation is left.  Only the debug kernel has it.  The detectors of
that kernel find leaks on the error paths.
"""

import json
from collections.abc import Iterator

import pytest
from harness.cgroup import V2_ROOT, Cgroup
from harness.devices import ramdisks, sectors
from harness.guest import Guest
from harness.ioband import Ioband, table_line

FAILSLAB = "/sys/kernel/debug/failslab"
ENOMEM = 12
# Repeats a system call; each time another of its allocations fails.  Prints the errors by call
# (0: it succeeded without the memory), until no allocation failed.
EACH_ALLOCATION = """
import errno, fcntl, json, mmap, os, struct, sys

CREATE, REMOVE, RESUME, LOAD, MESSAGE = 3, 4, 6, 9, 14
control = os.open("/dev/mapper/control", os.O_RDWR)
nth = os.open("/proc/thread-self/fail-nth", os.O_RDWR)

def dm(command, payload=b"", targets=0):
    head = (4, 0, 0, 16384, 312, targets, 0, 0, 0, 0, 0, b"nomem", b"")
    data = bytearray(struct.pack("=3IIIIiIIIQ128s129s7x", *head) + payload)
    data += bytes(16384 - len(data))
    fcntl.ioctl(control, 0xC138FD00 | command, data)
    return data

def load(line):
    start, length, target, arguments = line.split(" ", 3)
    words = arguments.encode() + bytes(8)
    words = words[:len(words) // 8 * 8]
    spec = struct.pack("=QQiI16s", int(start), int(length), 0, 40 + len(words), target.encode())
    dm(LOAD, spec + words, 1)

def each_allocation(call, before=lambda: None):
    errors = []
    while len(errors) < 500:
        before()
        os.pwrite(nth, b"%d" % (len(errors) + 1), 0)
        try:
            call()
            error = 0
        except OSError as err:
            error = err.errno
        left = int(os.pread(nth, 20, 0).strip(bytes(1)))
        os.pwrite(nth, b"0", 0)
        if left:
            if error:
                raise OSError(error, "failed with all the memory it asked for")
            return errors
        errors.append(error)
    raise RuntimeError("there is no end of allocations")

calls = 0

# What a message has to make is another thing each time.
def message(text):
    def call():
        global calls
        calls += 1
        dm(MESSAGE, struct.pack("=Q", 0) + text.format(calls).encode() + bytes(1))
    return call

def groups():
    cursor = ""
    while True:
        data = dm(MESSAGE, struct.pack("=Q", 0) + f"groups{cursor}".encode() + bytes(1))
        (start,) = struct.unpack_from("=I", data, 16)
        _, *lines, tail = data[start:data.index(0, start)].decode().splitlines()
        yield from lines
        if tail == "end":
            return
        cursor = " " + tail.split()[1]

class Reader:
    def __init__(self, path):
        self.device = os.open(path, os.O_RDONLY | os.O_DIRECT)
        self.page = mmap.mmap(-1, 4096)
        self.page[:] = bytes(4096)
        self.uid = 9000

    def next_user(self):
        os.seteuid(0)
        self.uid += 1
        os.seteuid(self.uid)

    def read(self):
        os.preadv(self.device, [self.page], 0)

# Each time another cgroup, which begins with a maximum.
class Newcomers:
    def __init__(self, root, name):
        self.root = root
        self.name = name
        self.number = 0

    def enter(self, where):
        with open(f"{where}/cgroup.procs", "w") as procs:
            procs.write("0")

    def come(self):
        self.number += 1
        path = f"/{self.name}/c{self.number}"
        os.mkdir(self.root + path)
        message(f"preset max cgroup:{path} riops=1000000")()
        self.enter(self.root + path)

    def leave(self):
        self.enter(self.root)

config = json.loads(sys.argv[1])
done = {}
dm(CREATE)
done["load"] = each_allocation(lambda: load(config["table"]))
done["resume"] = each_allocation(lambda: dm(RESUME), lambda: load(config["table"]))
for text in config["messages"]:
    done[text] = each_allocation(message(text))
message("set mode=uid")()
os.system("udevadm settle")
reader = Reader(config["node"])
done["read"] = each_allocation(reader.read, reader.next_user)
os.seteuid(0)
message("set mode=cgroup")()
newcomers = Newcomers(config["root"], config["newcomers"])
done["first read"] = each_allocation(reader.read, newcomers.come)
newcomers.leave()
begun = [line for line in groups() if f" path=/{newcomers.name}/" in line]
os.close(reader.device)
os.system("udevadm settle")
dm(REMOVE)
print(json.dumps({"done": done, "begun": begun}))
"""
MESSAGES = (
    "set mode=cgroup",
    "weight uid:{} 300",
    "weight gid:{} 300",
    "weight cgroup:/a 300",
    "groups",
    "stats",
    "latency",
    "preset max cgroup:/p{} rbps=5",
    "presets",
)


@pytest.fixture
def short_of_memory(ioband: Guest) -> Iterator[Guest]:
    """A guest in which each allocation can be made to fail."""
    for name, value in (("ignore-gfp-wait", "N"), ("verbose", "0")):
        ioband.write(f"{FAILSLAB}/{name}", value)
    yield ioband


def test_each_allocation_may_fail(short_of_memory: Guest) -> None:
    guest = short_of_memory
    guest.expect_dmesg("device-mapper: ")
    # Not null_blk, which has fault injection of its own.
    with ramdisks(guest) as (disk,), Cgroup(guest, "a"), Cgroup(guest, "newcomers") as newcomers:
        newcomers.set("cgroup.subtree_control", "+io")
        config = {
            "table": table_line(sectors(guest, disk), disk, "p", mode="device+cgroup"),
            "messages": MESSAGES,
            "node": "/dev/mapper/nomem",
            "root": V2_ROOT,
            "newcomers": newcomers.path,
        }
        argv = ["/usr/bin/python3", "-S", "-c", EACH_ALLOCATION, json.dumps(config)]
        said = json.loads(guest.run(argv, timeout=300).out)
        done, begun = said["done"], said["begun"]
        for call, errors in done.items():
            assert set(errors) <= {0, ENOMEM}, call
        assert done["load"].count(ENOMEM) >= 5
        assert done["weight uid:{} 300"].count(ENOMEM) >= 2
        assert set(done["read"]) <= {0}, "a bio waits for no memory"
        assert done["read"], "a new user's group wants memory"
        assert done["preset max cgroup:/p{} rbps=5"].count(ENOMEM) >= 2
        # A group exists only with its maximum: it needs memory for both, or is not made.
        assert set(done["first read"]) <= {0}
        assert len(done["first read"]) >= 2, "a group and its maximum want memory"
        assert len(begun) == len(done["first read"]) + 1, "each is there"
        assert all(" max=max,max,1000000,max" in line for line in begun), begun
        assert guest.read("/sys/module/dm_ioband/refcnt").strip() == "0"
        with Ioband(guest, "d0", disk, "p") as dev:  # the pool is new, so no old one was left
            assert dev.info().groups == 1
    guest.rmmod("dm_ioband")
