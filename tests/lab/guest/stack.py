# SPDX-License-Identifier: GPL-2.0-only
"""The devices of an experiment: the modelled disk, volumes on it, file systems; and cgroups."""

import os
import subprocess
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

CGROUP_ROOT = Path("/sys/fs/cgroup")
LAB_DISK = Path("/sys/kernel/lab-disk")
NAME = "disk"
# Namespace of the UUIDs of file systems; UUIDs chosen by mkfs would differ each time.
NAMESPACE = UUID("6a0f6d0e-5d4c-4b3a-9281-706f5e4d3c2b")
# A writer takes no time here until it is throttled, so its data must exceed these limits.
DIRTY_BYTES = {"dirty_background_bytes": 32 << 20, "dirty_bytes": 64 << 20}
MOUNTS = Path("/run/mounts")


def run(*argv: str) -> str:
    """Run a command; an error has its messages."""
    done = subprocess.run(argv, text=True, capture_output=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(argv)}: exit code {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def write(path: Path, text: str) -> None:
    """Write to a file of the kernel, in one write."""
    try:
        path.write_text(text)
    except OSError as err:
        raise RuntimeError(f"{path}: {text!r} is refused: {err.strerror}") from err


def number(device: str) -> str:
    """major:minor of a block device."""
    status = os.stat(device)
    return f"{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}"


def sectors(device: str) -> int:
    """The length of a block device in sectors."""
    return int(Path(f"/sys/dev/block/{number(device)}/size").read_text())


def create_disk(disk: dict[str, Any]) -> str:
    """Create the modelled disk; returns its device."""
    words = [f"{key}={value}" for key, value in disk["parameters"].items()]
    write(LAB_DISK / "create", " ".join([NAME, disk["model"], *words]))
    return f"/dev/{NAME}"


def queue(name: str) -> Path:
    """A file of the disk's request queue."""
    return Path(f"/sys/block/{NAME}/queue/{name}")


def dm_create(name: str, table: str) -> str:
    """Create a device-mapper device; there is no udev to wait for."""
    run("dmsetup", "create", name, "--noudevsync", "--noudevrules", "--table", table)
    return f"/dev/mapper/{name}"


def create_volumes(volumes: list[dict[str, Any]], disk: str, on_lv: bool) -> dict[str, str]:
    """Adjacent linear volumes; without any, the disk itself or one volume of its full size."""
    if not volumes:
        whole = f"0 {sectors(disk)} linear {number(disk)} 0"
        return {"": dm_create("lv", whole) if on_lv else disk}
    devices, start = {}, 0
    for volume in volumes:
        length = volume["size_mib"] * 2048
        line = f"0 {length} linear {number(disk)} {start}"
        devices[volume["name"]] = dm_create(f"lv-{volume['name']}", line)
        start += length
    return devices


def make_file_systems(volumes: list[dict[str, Any]], devices: dict[str, str]) -> dict[str, str]:
    """Make and mount the file systems; returns the directory of each volume with one."""
    found = {}
    for name, limit in DIRTY_BYTES.items():
        write(Path("/proc/sys/vm", name), str(limit))
    for volume in volumes:
        if not volume["fs"]:
            continue
        device, directory = devices[volume["name"]], MOUNTS / volume["name"]
        directory.mkdir(parents=True)
        # Each has its own UUID, as xfs refuses a second file system with the same one.
        uuid = str(uuid5(NAMESPACE, volume["name"]))
        if volume["fs"] == "ext4":
            extended = f"lazy_itable_init=0,lazy_journal_init=0,nodiscard,hash_seed={uuid}"
            run("mkfs.ext4", "-q", "-F", "-U", uuid, "-E", extended, device)
        else:
            run("mkfs.xfs", "-q", "-f", "-K", "-m", f"uuid={uuid}", device)
        run("mount", "-t", volume["fs"], device, str(directory))
        found[volume["name"]] = str(directory)
    return found


def create_cgroups(groups: list[dict[str, Any]]) -> None:
    """Create the cgroups, with the controllers that sharing and writeback need."""
    for group in groups:
        directory = CGROUP_ROOT
        for part in group["path"].strip("/").split("/"):
            write(directory / "cgroup.subtree_control", "+io +memory")
            directory = directory / part
            directory.mkdir(exist_ok=True)


def cgroup(group: dict[str, Any]) -> Path:
    """A group's directory."""
    return CGROUP_ROOT / group["path"].strip("/")
