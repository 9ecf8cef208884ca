# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's leak detector, in guests whose kernel has it."""

from .guest import Guest

KMEMLEAK = "/sys/kernel/debug/kmemleak"
# An object is suspicious when it is older than this and nothing points to it.
AGE_S = 6


def leaks(guest: Guest) -> str:
    """What kmemleak reports once the module and all test devices are gone."""
    if not guest.exists(KMEMLEAK):
        return ""
    guest.run(["rmmod", "dm_ioband"], check=False)
    for _ in range(2):  # what only looked like a leak is found to be none by the second scan
        guest.sleep(AGE_S)
        guest.run(f"echo scan >{KMEMLEAK}", timeout=300)
    return guest.read(KMEMLEAK)
