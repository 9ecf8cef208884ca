# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's tracepoints."""

from collections.abc import Iterator
from contextlib import contextmanager

from .guest import Guest

TRACING = "/sys/kernel/tracing"


@contextmanager
def traced(guest: Guest, *events: str, only: str = "0") -> Iterator[None]:
    """Tracepoints ("ioband/ioband_hold") are on; the buffer is to be read inside.

    only is a filter, as "seq == 1"; "0" is none.
    """

    def switch(on: int) -> None:
        for event in events:
            guest.write(f"{TRACING}/events/{event}/filter", only if on else "0")
            guest.write(f"{TRACING}/events/{event}/enable", str(on))

    guest.write(f"{TRACING}/trace_clock", "mono")
    guest.write(f"{TRACING}/buffer_size_kb", "8192")
    guest.write(f"{TRACING}/trace", "")
    switch(1)
    try:
        yield
    finally:
        if guest.alive:
            switch(0)
            guest.write(f"{TRACING}/trace", "")


def charged(guest: Guest) -> int:
    """What the bios in the trace were charged, added up in the guest."""
    add = "awk -F= '{ sum += $2 } END { print sum + 0 }'"
    return int(guest.run(f"grep -o ' charge=[0-9]*' {TRACING}/trace | {add}").out)
