# SPDX-License-Identifier: GPL-2.0-only
"""Docker in a guest, without a network: its services, and an image."""

import contextlib
from collections.abc import Iterator

from .guest import Guest
from .lent import DOCKER, lent

START_S = 300  # of a busy host
# The root is an overlay, and no other can be laid over that.
CONFIG = '{"storage-driver": "vfs", "bridge": "none", "iptables": false}'
START = "groupadd --force --system docker && systemctl start docker.service"
# An image "box", of busybox.
IMAGE = """
mkdir -p /srv/image/bin
cp /bin/busybox /srv/image/bin/
ln -sf busybox /srv/image/bin/sleep
tar -C /srv/image -c . | /usr/bin/docker import - box
"""
STOP = """
systemctl stop docker.socket docker.service containerd.service
umount --quiet /run/docker/netns/*
rm -rf /var/lib/docker /var/lib/containerd
"""


@contextlib.contextmanager
def docker(guest: Guest) -> Iterator[None]:
    """Have Docker run; its containers are to be removed before the end."""
    with lent(guest, DOCKER):
        guest.run(["mkdir", "-p", "/etc/docker"])
        guest.write("/etc/docker/daemon.json", CONFIG)
        guest.run(START, timeout=START_S)
        guest.run(["bash", "-ec", IMAGE], timeout=START_S)
        yield
        guest.run(STOP)
