# SPDX-License-Identifier: GPL-2.0-only
"""Each detector of the kernels "debug" and "rt" reports the fault that it is for.

The report must match a pattern that fails any other test, see harness.kernel_log.
"""

import re
from pathlib import Path

import pytest
from harness.detectors import KMEMLEAK, leaks
from harness.guest import Guest
from harness.kernel_log import complaints
from harness.module import REPO, build_module

SLEEPS = r"BUG: sleeping function called from invalid context"
# The fault that faults.c makes, and the expected report.  A report of KASAN or of lockdep ends
# lockdep's work: these come last.
FAULTS = {
    "sleep-in-atomic": SLEEPS,
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
# The kernel "rt" has no detectors for these, and a spinlock is not atomic there.
NOT_IN_RT = ("sleep-in-atomic", "shift-too-far", "use-after-free", "out-of-bounds")
# The kernel looks for hung tasks periodically, and reports a task that it finds twice.
PATIENCE = """
echo 2 >/proc/sys/kernel/hung_task_timeout_secs
echo 1 >/proc/sys/kernel/watchdog_thresh
echo 3 >/sys/module/rcupdate/parameters/rcu_cpu_stall_timeout
"""


def make(guest: Guest, module: Path, fault: str) -> list[str]:
    """Let the module make a fault; returns the kernel's complaints."""
    guest.dmesg()
    guest.insmod(module, fault=fault)
    guest.rmmod("faults")
    return complaints(guest.dmesg())


@pytest.mark.guest(memory_mib=512)  # a machine of its own, as lockdep is off afterwards
def test_each_detector_speaks(guest: Guest, kernel_name: str) -> None:
    faults = FAULTS
    if kernel_name == "rt":
        rest = {fault: report for fault, report in FAULTS.items() if fault not in NOT_IN_RT}
        faults = {"lock-in-atomic": SLEEPS} | rest
    (module,) = build_module(guest.kernel, REPO / "tests/vm/faults")
    guest.expect_dmesg("")
    guest.run(PATIENCE)
    assert make(guest, module, "none") == []
    said = {fault: make(guest, module, fault) for fault in faults}
    silent = [
        fault
        for fault, pattern in faults.items()
        if not any(re.search(pattern, line) for line in said[fault])
    ]
    assert silent == [], said
    if not guest.exists(KMEMLEAK):
        return
    assert leaks(guest) == ""
    make(guest, module, "leak")
    found = leaks(guest)
    guest.run(f"echo clear >{KMEMLEAK}")
    assert 'comm "insmod"' in found
