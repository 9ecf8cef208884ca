# SPDX-License-Identifier: GPL-2.0-only
"""Guests that are kept between tests, one of each kind, and a few of them at once."""

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from .cache import progress
from .guest import Guest

# Number of guests that one process keeps: each takes more than a gigabyte, and the
# tests that share one run one after another.
KEPT = 2


class Machines:
    """The session's guests by kernel and options.

    boot makes a guest from the kernel's name and the options.  retire inspects a guest
    that is alive at its end, and returns a description of its faults.  A guest ends with
    the session, or when it is the least recently used and another one needs its place.
    """

    def __init__(
        self,
        boot: Callable[[str, dict[str, Any]], Guest],
        retire: Callable[[Guest], str] = lambda guest: "",
    ):
        self._boot = boot
        self._retire = retire
        self._guests: dict[tuple[Any, ...], Guest] = {}
        self._wrong: list[str] = []

    def get(self, kernel_name: str, options: dict[str, Any]) -> Guest:
        """The guest of that kind, booted if there is none alive."""
        key = (kernel_name, *sorted(options.items()))
        guest = self._guests.pop(key, None)
        if guest is None or not guest.alive:
            if guest:
                guest.close()
            while len(self._guests) >= KEPT:
                self._end(next(iter(self._guests.values())))
            text = " ".join(f"{name}={value}" for name, value in options.items())
            progress(f"booting {kernel_name} {text}")
            guest = self._boot(kernel_name, options)
        self._guests[key] = guest  # the most recently used
        return guest

    def drop(self, guest: Guest) -> None:
        """End a guest; the next test of that kind boots a new one."""
        for key, known in list(self._guests.items()):
            if known is guest:
                del self._guests[key]
                guest.close()

    def _end(self, guest: Guest) -> None:
        try:
            if guest.alive and (wrong := self._retire(guest)):
                self._wrong.append(wrong)
        finally:
            self.drop(guest)

    def close(self) -> list[str]:
        """End all guests; returns the faults of all guests that have ended."""
        with ExitStack() as stack:
            for guest in reversed(self._guests.values()):
                stack.callback(self._end, guest)
        return self._wrong
