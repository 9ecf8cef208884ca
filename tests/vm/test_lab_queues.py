# SPDX-License-Identifier: GPL-2.0-only
"""The laboratory's own disks with several hardware queues.

Virtual time has one processor, and the block layer no more queues than processors.  The
module is built for new kernels only.
"""

import pytest
from harness.guest import Guest
from harness.load import fio
from harness.module import REPO, build_module

CONTROL = "/sys/kernel/lab-disk"


@pytest.mark.long("no scenario has such a disk: virtual time has one processor")
@pytest.mark.newest
def test_each_processor_has_a_hardware_queue(guest: Guest) -> None:
    (module,) = build_module(guest.kernel, REPO / "tests/lab/disk")
    guest.insmod(module)
    guest.write(f"{CONTROL}/create", "disk nvme size_mib=64 keep_data=1 queues=2")
    used = sorted(guest.run("cat /sys/block/disk/mq/*/cpu_list").out.splitlines())
    assert used == ["0", "1"]
    load = {"rw": "randwrite", "bs": "4k", "size": "4m", "ioengine": "libaio", "iodepth": 16}
    for processor in used:
        load |= {"cpus_allowed": processor, "verify": "crc32c", "randrepeat": 0}
        done = fio(guest, filename="/dev/disk", **load)
        assert done["write"]["total_ios"] == 1024
    guest.write(f"{CONTROL}/remove", "disk")
    guest.rmmod("lab_disk")
