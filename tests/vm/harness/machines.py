# SPDX-License-Identifier: GPL-2.0-only
"""Guests that are kept between tests, one of each kind."""

from typing import Any

from .cache import progress
from .guest import Guest
from .kernels import get_kernel


class Machines:
    """The session's guests by kernel and options."""

    def __init__(self) -> None:
        self._guests: dict[tuple[Any, ...], Guest] = {}

    def get(self, kernel_name: str, options: dict[str, Any]) -> Guest:
        """The guest of that kind, booted if there is none alive."""
        key = (kernel_name, *sorted(options.items()))
        guest = self._guests.get(key)
        if guest is None or not guest.alive:
            self.drop(guest)
            kernel = get_kernel(kernel_name)
            text = " ".join(f"{name}={value}" for name, value in options.items())
            progress(f"booting {kernel.release} {text}")
            self._guests[key] = guest = Guest(kernel, **options)
        return guest

    def drop(self, guest: Guest | None) -> None:
        """End a guest; the next test that needs such a one boots it anew."""
        for key, known in list(self._guests.items()):
            if known is guest:
                del self._guests[key]
                guest.close()

    def close(self) -> None:
        """End them all."""
        for guest in list(self._guests.values()):
            self.drop(guest)
