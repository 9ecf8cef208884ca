# SPDX-License-Identifier: GPL-2.0-only
"""The commands of the how-to pages, on a machine with an ioband device and watch as a service.

What is run, and what has to come out, is read from the pages.
"""

from collections.abc import Iterator

import pytest
from harness.devices import null_blk
from harness.document import follow, read_steps
from harness.guest import Guest
from harness.module import REPO
from harness.podman import prepare_podman
from harness.tool import build_tool

PAGES = ("howto-libvirt", "howto-containers", "howto-kubernetes")
COMMAND_S = 300  # of a busy host
UNIT = "iobandctl-watch.service"
SLICES = "machine.slice containers.slice kubepods.slice"
FORGET = "rm -r /etc/ioband.conf.d /run/systemd/system.control; systemctl daemon-reload"
BOX = "mkdir -p /srv/box/usr && ln -sfn -t /srv/box usr/bin usr/sbin usr/lib usr/lib64"


@pytest.fixture
def machine(ioband: Guest) -> Iterator[Guest]:
    """A machine on which iobandctl is installed, with a wrapped disk, and what containers see."""
    unit = (REPO / f"udev/{UNIT}.in").read_text().replace("@SBINDIR@", "/usr/sbin")
    ioband.write(f"/run/systemd/system/{UNIT}", unit)
    ioband.run(f"cp {build_tool()} /usr/sbin/ && mkdir -p /etc/ioband.conf.d && {BOX}")
    prepare_podman(ioband)
    with null_blk(ioband, size_mib=64, memory_backed=1) as disk:
        ioband.run(f"iobandctl wrap --pool disks {disk}")
        ioband.run(f"systemctl daemon-reload && systemctl start {UNIT}")
        yield ioband
        ioband.run(f"systemctl stop {UNIT} {SLICES}; iobandctl unwrap {disk}; {FORGET}")


@pytest.mark.guest(systemd=True)
@pytest.mark.parametrize("page", PAGES)
def test_howto(machine: Guest, page: str) -> None:
    def run(command: str) -> str:
        return machine.run(f"{{ {command}\n}} 2>&1", timeout=COMMAND_S).out

    for step in read_steps(REPO / f"Documentation/{page}.rst"):
        follow(step, run)
