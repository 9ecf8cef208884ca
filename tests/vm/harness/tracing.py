# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's tracepoints."""

from collections.abc import Iterator
from contextlib import contextmanager

from .guest import Guest

TRACING = "/sys/kernel/tracing"


@contextmanager
def traced(guest: Guest, *events: str) -> Iterator[None]:
    """Tracepoints ("ioband/ioband_hold") are on; the buffer is to be read inside."""

    def switch(on: int) -> None:
        for event in events:
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
