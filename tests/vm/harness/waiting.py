# SPDX-License-Identifier: GPL-2.0-only
"""Waiting for what the guest does in its own time."""

import time
from collections.abc import Callable

from .guest import Guest, GuestTimeout

POLL_S = 0.1


def wait_until(
    guest: Guest, condition: Callable[[], bool], what: str, timeout_s: float = 20
) -> float:
    """Ask until the condition holds; returns the guest's seconds that it took at most."""
    timeout_s *= guest.patience
    deadline = time.monotonic() + timeout_s
    start_ms = guest.now_ms()
    while not condition():
        if time.monotonic() > deadline:
            raise GuestTimeout(f"not within {timeout_s} s: {what}")
        guest.sleep(POLL_S)
    return (guest.now_ms() - start_ms) / 1000
