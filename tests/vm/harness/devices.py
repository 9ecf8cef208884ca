# SPDX-License-Identifier: GPL-2.0-only
"""Block devices in the guest, as context managers that clean up at their end."""

import contextlib
from collections.abc import Iterator, Sequence

from .guest import Guest, Result
from .machine import UnsupportedError

NULLB = "/sys/kernel/config/nullb"


class DmDevice:
    """A device-mapper device: dmsetup's verbs as methods."""

    def __init__(self, guest: Guest, name: str, table: str, *options: str):
        self.guest = guest
        self.name = name
        self.path = f"/dev/mapper/{name}"
        self.dmsetup("create", *options, input=table)

    def dmsetup(
        self, verb: str, *args: str, check: bool = True, input: str | None = None
    ) -> Result:
        """dmsetup VERB NAME ARGS..."""
        return self.guest.run(["dmsetup", verb, self.name, *args], check=check, input=input)

    def suspend(self, *, noflush: bool = False, lockfs: bool = True) -> None:
        """Suspend; without noflush the device dispatches queued bios first."""
        options = ["--noflush"] * noflush + ["--nolockfs"] * (not lockfs)
        self.dmsetup("suspend", *options)

    def resume(self) -> None:
        """Resume, with the table loaded before if there is one."""
        self.dmsetup("resume")

    def load(self, table: str) -> None:
        """Load a table, to be used from the next resume on."""
        self.dmsetup("load", input=table)

    def reload(self, table: str, *, noflush: bool = False) -> None:
        """Load a table and switch to it."""
        self.load(table)
        self.suspend(noflush=noflush)
        self.resume()

    def message(self, *words: str, sector: int = 0) -> str:
        """Send a message to the target at sector; returns its answer."""
        return self.dmsetup("message", str(sector), *words).out.strip()

    def status(self, *options: str) -> str:
        """The status line(s)."""
        return self.dmsetup("status", *options).out.strip()

    def table(self, *options: str) -> str:
        """The table in use."""
        return self.dmsetup("table", *options).out.strip()

    def remove(self, *options: str) -> None:
        """Remove the device."""
        self.dmsetup("remove", *options)

    def __enter__(self) -> "DmDevice":
        return self

    def __exit__(self, exc_type: object, *_: object) -> None:
        if self.guest.alive and self.dmsetup("info", check=False).rc == 0:
            self.dmsetup("resume", check=exc_type is None)
            self.dmsetup("remove", "--retry", check=exc_type is None)


def sectors(guest: Guest, path: str) -> int:
    """Size of a device in sectors of 512 bytes."""
    return int(guest.run(["blockdev", "--getsz", path]).out)


def linear(guest: Guest, name: str, path: str) -> DmDevice:
    """A dm-linear device over the whole of another device."""
    return DmDevice(guest, name, f"0 {sectors(guest, path)} linear {path} 0")


@contextlib.contextmanager
def null_blk(
    guest: Guest, name: str = "nullb0", size_mib: int = 1024, **attributes: int
) -> Iterator[str]:
    """A null_blk device; attributes are its configfs ones.

    mbps=100 limits bandwidth (in windows of 20 ms), memory_backed=1 keeps data,
    irqmode=2 with completion_nsec=N completes each I/O after N ns, irqmode=0 at once.
    """
    guest.run(["modprobe", "null_blk", "nr_devices=0"])
    directory = f"{NULLB}/{name}"
    guest.run(["mkdir", directory])
    for key, value in {"size": size_mib, **attributes}.items():
        guest.write(f"{directory}/{key}", str(value))
    guest.write(f"{directory}/power", "1")
    index = guest.read(f"{directory}/index").strip()
    # Older kernels name the disk after its index, newer ones after the directory.
    disk = name if guest.exists(f"/sys/block/{name}") else f"nullb{index}"
    guest.run(["udevadm", "settle"])
    yield f"/dev/{disk}"
    if guest.alive:
        guest.write(f"{directory}/power", "0")
        guest.run(["rmdir", directory])


@contextlib.contextmanager
def two_disks(guest: Guest) -> Iterator[list[str]]:
    """Two disks of 512 MiB, which take memory only for written data."""
    with (
        null_blk(guest, size_mib=512, memory_backed=1, discard=1) as one,
        null_blk(guest, "nullb1", size_mib=512, memory_backed=1, discard=1) as two,
    ):
        yield [one, two]


@contextlib.contextmanager
def scsi_debug(guest: Guest, size_mib: int = 64, **parameters: int) -> Iterator[str]:
    """A scsi_debug disk that keeps its data; parameters are the module's.

    ndelay=4000000 max_queue=4 is a saturated device of about 750 IOPS.
    """
    args = [f"{key}={value}" for key, value in parameters.items()]
    guest.run(["modprobe", "scsi_debug", f"dev_size_mb={size_mib}", *args])
    guest.run(["udevadm", "settle"])
    adapters = "/sys/bus/pseudo/drivers/scsi_debug"
    disk = guest.run(f"basename {adapters}/adapter*/host*/target*/*/block/*").out.strip()
    yield f"/dev/{disk}"
    if guest.alive:
        guest.run(["udevadm", "settle"])
        guest.run(["rmmod", "scsi_debug"])


@contextlib.contextmanager
def ramdisks(guest: Guest, count: int = 1, size_mib: int = 64) -> Iterator[list[str]]:
    """brd disks: memory, bio-based, no queue."""
    guest.run(["modprobe", "brd", f"rd_nr={count}", f"rd_size={size_mib * 1024}"])
    guest.run(["udevadm", "settle"])
    yield [f"/dev/ram{number}" for number in range(count)]
    if guest.alive:
        guest.run(["rmmod", "brd"])


@contextlib.contextmanager
def loop_device(guest: Guest, size_mib: int = 64, directory: str = "/run") -> Iterator[str]:
    """A loop device over a sparse file."""
    file = guest.run(["mktemp", "-p", directory, "loop.XXXXXX"]).out.strip()
    guest.run(["truncate", "-s", f"{size_mib}M", file])
    with looped(guest, file) as path:
        yield path
    if guest.alive:
        guest.run(["rm", file])


@contextlib.contextmanager
def looped(guest: Guest, file: str, *options: str) -> Iterator[str]:
    """A loop device over an existing file, or over a block device."""
    guest.run(["modprobe", "loop"])
    path = guest.run(["losetup", "--find", "--show", *options, file]).out.strip()
    guest.run(["udevadm", "settle"])
    yield path
    if guest.alive:
        guest.run(["losetup", "--detach", path])
        guest.run(["udevadm", "settle"])


class VolumeGroup:
    """An LVM volume group on whole devices."""

    def __init__(self, guest: Guest, name: str, devices: Sequence[str]):
        self.guest = guest
        self.name = name
        self.devices = devices
        guest.run(["vgcreate", "-y", name, *devices])

    def create(self, name: str, size_mib: int, *options: str) -> str:
        """Create a logical volume; returns its path."""
        self.guest.run(
            [
                "lvcreate",
                "-y",
                "-W",
                "n",
                "-Z",
                "n",
                "-n",
                name,
                "-L",
                f"{size_mib}M",
                *options,
                self.name,
            ]
        )
        return f"/dev/{self.name}/{name}"

    def __enter__(self) -> "VolumeGroup":
        return self

    def __exit__(self, exc_type: object, *_: object) -> None:
        if self.guest.alive:
            self.guest.run(["vgremove", "-ff", "-y", self.name], check=exc_type is None)
            self.guest.run(["pvremove", "-ff", "-y", *self.devices], check=exc_type is None)


@contextlib.contextmanager
def mounted(
    guest: Guest,
    device: str,
    fstype: str = "ext4",
    point: str = "/run/mnt",
    options: str = "defaults",
) -> Iterator[str]:
    """A new file system, mounted; yields the mount point."""
    guest.run(["modprobe", "-q", fstype], check=False)
    if fstype not in guest.read("/proc/filesystems").split():
        raise UnsupportedError(f"{fstype} is not in this kernel, to build it sooner")
    guest.run([f"mkfs.{fstype}", "-q", device])
    guest.run(["mkdir", "-p", point])
    guest.run(["mount", "-t", fstype, "-o", options, device, point])
    try:
        yield point
    finally:
        if guest.alive:
            guest.run(["umount", point])
