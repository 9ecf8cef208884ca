# SPDX-License-Identifier: GPL-2.0-only
"""Podman in a guest: its root is an overlay, and no other can be laid over that."""

from .guest import Guest

STORAGE = """[storage]
driver = "vfs"
runroot = "/run/containers/storage"
graphroot = "/run/containers/graph"
"""


def prepare_podman(guest: Guest) -> None:
    """Have Podman keep its images as plain directories."""
    guest.run(["mkdir", "-p", "/etc/containers"])
    guest.write("/etc/containers/storage.conf", STORAGE)
