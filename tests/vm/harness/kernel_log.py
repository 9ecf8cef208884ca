# SPDX-License-Identifier: GPL-2.0-only
"""Messages of a kernel's log that no test should cause."""

import re
from collections.abc import Iterable, Sequence

from .guest import Guest

BAD = re.compile(
    r"WARNING: |BUG: |BUG\b.*at |BUG \S+ \(|Oops|general protection|Call Trace|refcount_t|"
    r"INFO: .*(locking|blocked for more than|lock held|stall|non-static key)|"
    r"blocked for more than|rcu.*(stall|starved)|soft lockup|hard LOCKUP|"
    r"KASAN|KCSAN|UBSAN|ODEBUG|kmemleak|list_(add|del) (corruption|double)|"
    r"device-mapper: .*([Ee]rror|fail|[Ii]nvalid)|"
    r"device-mapper: ioband: .*(: message: |kept the pool's own)|"
    r"I/O error|EXT4-fs (error|warning)|BTRFS:? (error|critical)|"
    r"XFS .*([Cc]orruption|[Ee]rror|[Ss]hutdown)|were overwritten before"
)
# Messages of every boot, which a test that reboots sees.
HARMLESS = re.compile(r"ommand line: |CPU stall warnings timeout")


def complaints(lines: Iterable[str], expected: Sequence[str] = ()) -> list[str]:
    """The bad lines that match no expected pattern."""
    return [
        line
        for line in lines
        if BAD.search(line)
        and not HARMLESS.search(line)
        and not any(re.search(pattern, line) for pattern in expected)
    ]


def new_complaints(guest: Guest) -> list[str]:
    """A guest's complaints in all messages since the last check."""
    guest.dmesg()
    return complaints(guest.said, guest.expected)
