# SPDX-License-Identifier: GPL-2.0-only
"""Objects that a test left in the guest: found, named and removed."""

from .cgroup import REMOVE
from .guest import Guest

# Suspended devices hold bios; a task that waits for such a bio could not be killed.
RESUME_ALL = 'for d; do dmsetup resume "$d"; done'
# A device can go only after those on top of it.  One pass for each device suffices in any order.
REMOVE_ALL = """
for _; do for d; do dmsetup remove --retry "$d" 2>/dev/null; done; done
! dmsetup ls | grep -v '^No devices'
"""
# How to remove the objects of each kind; users come before the objects that they use.
CLEAN = {
    "cgroup": REMOVE,
    "mount": 'for d; do umount "$d" || exit; done',
    "dm device": REMOVE_ALL,
    "md array": 'for d; do mdadm --stop "/dev/$d" || exit; done',
    "loop device": 'for d; do losetup -d "/dev/$d" || exit; done',
    "null_blk device": 'cd /sys/kernel/config/nullb; for d; do echo 0 >$d/power; rmdir "$d"; done',
    "module": 'for d; do rmmod "$d" || exit; done',
}


def clean(guest: Guest) -> list[str]:
    """Remove all objects left behind; returns their names.

    Modules may stay loaded after a test: they are removed, and named only if
    they cannot be.
    """
    found = guest.request("leftovers")
    if not any(found.values()):
        return []
    if found["dm device"]:
        guest.run(["bash", "-c", RESUME_ALL, "-", *found["dm device"]])
    for job in found["process"]:
        guest.request("kill", job=int(job.split()[0]), signum=9)
    failed = []
    for kind, script in CLEAN.items():
        if found[kind]:
            done = guest.run(["bash", "-c", script, "-", *found[kind]], check=False)
            if done.rc:
                failed.append(f"{kind} {found[kind]} cannot be removed: {done.err.strip()}")
    del found["module"]
    return [f"{kind} {name}" for kind, names in found.items() for name in names] + failed
