# SPDX-License-Identifier: GPL-2.0-only
"""What in a kernel's log no test should cause."""

import re
from collections.abc import Iterable, Sequence

BAD = re.compile(
    r"WARNING: |BUG: |BUG\b.*at |Oops|general protection|Call Trace|refcount_t|"
    r"INFO: .*(locking|blocked for more than|lock held|stall)|blocked for more than|"
    r"rcu.*(stall|starved)|soft lockup|hard LOCKUP|KASAN|KCSAN|UBSAN|ODEBUG|kmemleak|"
    r"list_(add|del) (corruption|double)|"
    r"device-mapper: .*([Ee]rror|fail|[Ii]nvalid)|I/O error|EXT4-fs (error|warning)|"
    r"XFS .*([Cc]orruption|[Ee]rror|[Ss]hutdown)|were overwritten before"
)
# What every boot says, seen by a test that reboots.
HARMLESS = re.compile(r"ommand line: |CPU stall warnings timeout")


def complaints(lines: Iterable[str], expected: Sequence[str] = ()) -> list[str]:
    """The lines that are bad, but for those that match what is expected."""
    return [
        line
        for line in lines
        if BAD.search(line)
        and not HARMLESS.search(line)
        and not any(re.search(pattern, line) for pattern in expected)
    ]
