# SPDX-License-Identifier: GPL-2.0-only
"""The laboratory's own disks, on the kernel with detectors."""

from harness.guest import Guest
from harness.load import fio
from harness.module import REPO, build_module

CONTROL = "/sys/kernel/lab-disk"


def test_modelled_disks(guest: Guest) -> None:
    """Parallel reads return the written data; the end of the module frees all memory."""
    (module,) = build_module(guest.kernel, REPO / "tests/lab/disk")
    guest.insmod(module)
    for model in ("hdd", "sata-ssd", "nvme", "cloud"):
        guest.write(f"{CONTROL}/create", f"disk {model} size_mib=256 keep_data=1 queues=2")
        options = {"rw": "randwrite", "bsrange": "512-64k", "size": "8m", "io_size": "8m"}
        options |= {"ioengine": "libaio", "iodepth": 16, "fsync": 20, "verify": "crc32c"}
        fio(guest, filename="/dev/disk", randrepeat=0, **options)
        guest.run("blkdiscard /dev/disk", check=model not in ("hdd", "cloud"))
        counted = guest.read("/sys/block/disk/lab-disk/statistics")
        assert any(int(line.split()[1]) for line in counted.splitlines())
        guest.write(f"{CONTROL}/remove", "disk")
    guest.rmmod("lab_disk")
