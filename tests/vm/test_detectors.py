# SPDX-License-Identifier: GPL-2.0-only
"""The debug kernel's detectors work: each of them speaks when it is given a reason.

What it says must be what fails any other test, see harness.kernel_log.
"""

import re
from pathlib import Path

import pytest
from harness.detectors import KMEMLEAK, leaks
from harness.guest import Guest
from harness.kernel_log import complaints
from harness.module import REPO, build_module

# The mistake that faults.c makes, and what has to be said of it.  KASAN's report ends
# lockdep's work, and so does lockdep's own: these come last.
FAULTS = {
    "sleep-in-atomic": r"BUG: sleeping function called from invalid context",
    "rcu-unprotected": r"suspicious RCU usage",
    "list-twice": r"list_add double add",
    "free-active-timer": r"ODEBUG: free active .* object type: timer_list",
    "shift-too-far": r"UBSAN: shift-out-of-bounds",
    "hang": r"INFO: task insmod:\d+ blocked for more than",
    "hog": r"BUG: soft lockup|rcu: INFO: .* stall",
    "lock-order": r"possible circular locking dependency",
    "use-after-free": r"KASAN: slab-use-after-free in use_after_free",
    "out-of-bounds": r"KASAN: slab-out-of-bounds in out_of_bounds",
}
# Hung tasks are looked for every so often, and found if they were the time before.
PATIENCE = """
echo 2 >/proc/sys/kernel/hung_task_timeout_secs
echo 1 >/proc/sys/kernel/watchdog_thresh
echo 3 >/sys/module/rcupdate/parameters/rcu_cpu_stall_timeout
"""


def make(guest: Guest, module: Path, fault: str) -> list[str]:
    """Let the module make a mistake; what the kernel complains of."""
    guest.dmesg()
    guest.insmod(module, fault=fault)
    guest.rmmod("faults")
    return complaints(guest.dmesg())


@pytest.mark.guest(memory_mib=512)  # a machine of its own, which then has no lockdep any more
def test_each_detector_speaks(guest: Guest) -> None:
    (module,) = build_module(guest.kernel, REPO / "tests/vm/faults")
    guest.expect_dmesg("")
    guest.run(PATIENCE)
    assert make(guest, module, "none") == []
    said = {fault: make(guest, module, fault) for fault in FAULTS}
    silent = [
        fault
        for fault, pattern in FAULTS.items()
        if not any(re.search(pattern, line) for line in said[fault])
    ]
    assert silent == [], said
    assert leaks(guest) == ""
    make(guest, module, "leak")
    found = leaks(guest)
    guest.run(f"echo clear >{KMEMLEAK}")
    assert 'comm "insmod"' in found
