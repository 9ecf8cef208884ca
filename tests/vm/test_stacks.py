# SPDX-License-Identifier: GPL-2.0-only
"""ioband over what an administrator has: a LUKS volume, an array, a partition.

(Logical volumes are below it in most other tests.)
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from harness.cgroup import Cgroup
from harness.devices import mounted, null_blk
from harness.guest import Guest
from harness.ioband import parse_status
from harness.load import fio

MIB = 1 << 20
VERIFY = {
    "rw": "randwrite",
    "bs": "16k",
    "size": "8m",
    "iodepth": 16,
    "ioengine": "libaio",
    "randrepeat": 0,
    "verify": "crc32c",
    "verify_fatal": 1,
}


@contextmanager
def luks(guest: Guest) -> Iterator[str]:
    """A LUKS volume, opened; its key is quick to derive."""
    quick = ["--batch-mode", "--type", "luks2", "--pbkdf", "pbkdf2", "--pbkdf-force-iterations"]
    with null_blk(guest, size_mib=64, memory_backed=1) as disk:
        guest.run(["modprobe", "dm-crypt"])
        guest.run(["cryptsetup", "luksFormat", *quick, "1000", disk, "-"], input="secret")
        guest.run(["cryptsetup", "open", "--key-file", "-", disk, "secret"], input="secret")
        yield "/dev/mapper/secret"
        if guest.alive:
            guest.run(["cryptsetup", "close", "secret"])


@contextmanager
def array(guest: Guest) -> Iterator[str]:
    """Two disks, each the other's mirror."""
    with (
        null_blk(guest, size_mib=48, memory_backed=1) as one,
        null_blk(guest, "nullb1", size_mib=48, memory_backed=1) as two,
    ):
        guest.run(["modprobe", "-a", "md-mod", "raid1"])
        make = ["--create", "/dev/md0", "--run", "--assume-clean", "--metadata=1.0"]
        guest.run(["mdadm", *make, "--level=1", "--raid-devices=2", one, two])
        yield "/dev/md0"
        if guest.alive:
            guest.run(["mdadm", "--stop", "/dev/md0"])


@contextmanager
def partition(guest: Guest) -> Iterator[str]:
    """The second of two partitions."""
    with null_blk(guest, size_mib=64, memory_backed=1) as disk:
        guest.run(["sfdisk", "--quiet", disk], input="label: gpt\nsize=16MiB\nsize=40MiB\n")
        guest.run(["udevadm", "settle"])
        yield f"{disk}p2"


BELOW: dict[str, tuple[Callable[[Guest], AbstractContextManager[str]], int]] = {
    "luks": (luks, 1),
    "array": (array, 2),
    "partition": (partition, 1),
}


@pytest.mark.parametrize("kind", BELOW)
def test_over(ioband: Guest, iobandctl: Path, kind: str) -> None:
    """iobandctl finds the disks below, data comes back, and all of it is the cgroup's."""
    make, disks = BELOW[kind]
    guest = ioband
    with make(guest) as below, Cgroup(guest, "a", controllers="+io +memory") as a:
        guest.run([iobandctl, "create", "over", below])
        pool = parse_status(guest.run(["dmsetup", "status", "over"]).out).pool
        assert len(pool.split("+")) == disks, f"one pool for the {disks} disks below: {pool}"
        with mounted(guest, "/dev/mapper/over") as point:
            fio(guest, a, filename=f"{point}/direct", **VERIFY)
            a.run(["dd", "if=/dev/zero", f"of={point}/buffered", "bs=1M", "count=8", "conv=fsync"])
        stats = guest.run(["dmsetup", "message", "over", "0", "stats"]).out
        groups = guest.run(["dmsetup", "message", "over", "0", "groups"]).out
        guest.run([iobandctl, "remove", "over"])
    seq = next(line.split()[0] for line in groups.splitlines() if line.endswith("path=/a"))
    (line,) = (line for line in stats.splitlines() if line.split()[0] == seq)
    words = dict(word.split("=") for word in line.split()[2:])
    read, written = (int(words[name].split(",")[1]) for name in ("read", "write"))
    assert read >= 8 * MIB and written >= 16 * MIB, line
