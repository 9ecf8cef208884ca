# SPDX-License-Identifier: GPL-2.0-only
"""The detectors of the debug kernel, in guests that run it."""

import re

from .guest import Guest

KMEMLEAK = "/sys/kernel/debug/kmemleak"
LOCKDEP = "/proc/lockdep_stats"
# An object is suspicious when it is older than this and nothing points to it.
AGE_S = 6


def leaks(guest: Guest) -> str:
    """kmemleak's report after the removal of the module and all test devices."""
    if not guest.exists(KMEMLEAK):
        return ""
    guest.run(["rmmod", "dm_ioband"], check=False)
    for _ in range(2):  # a second scan discards false reports
        guest.sleep(AGE_S)
        guest.run(f"echo scan >{KMEMLEAK}", timeout=300)
    return guest.read(KMEMLEAK)


def lockdep_is_off(guest: Guest) -> bool:
    """After its first report, or any by KASAN, lockdep is silent until the next boot."""
    if not guest.exists(LOCKDEP):
        return False
    return not re.search(r"^ debug_locks: +1$", guest.read(LOCKDEP), re.M)
