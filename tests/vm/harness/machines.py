# SPDX-License-Identifier: GPL-2.0-only
"""Guests that are kept between tests, one of each kind."""

from collections.abc import Callable
from typing import Any

from .cache import progress
from .guest import Guest


class Machines:
    """The session's guests by kernel and options.

    boot makes one, from the kernel's name and the options; retire sees those that
    are alive at the end of the session.
    """

    def __init__(
        self,
        boot: Callable[[str, dict[str, Any]], Guest],
        retire: Callable[[Guest], None] = lambda guest: None,
    ):
        self._boot = boot
        self._retire = retire
        self._guests: dict[tuple[Any, ...], Guest] = {}

    def get(self, kernel_name: str, options: dict[str, Any]) -> Guest:
        """The guest of that kind, booted if there is none alive."""
        key = (kernel_name, *sorted(options.items()))
        guest = self._guests.get(key)
        if guest is None or not guest.alive:
            self.drop(guest)
            text = " ".join(f"{name}={value}" for name, value in options.items())
            progress(f"booting {kernel_name} {text}")
            self._guests[key] = guest = self._boot(kernel_name, options)
        return guest

    def drop(self, guest: Guest | None) -> None:
        """End a guest; the next test that needs such a one boots it anew."""
        for key, known in list(self._guests.items()):
            if known is guest:
                del self._guests[key]
                guest.close()

    def close(self) -> None:
        """End them all."""
        guests = list(self._guests.values())
        try:
            for guest in guests:
                if guest.alive:
                    self._retire(guest)
        finally:
            for guest in guests:
                self.drop(guest)
