# SPDX-License-Identifier: GPL-2.0-only
"""The tutorial, followed command by command in a fresh guest with systemd.

What is run, and what has to come out, is read from the document.  What needs the network
or a compiler is done on this machine: packages are looked up and not installed, as they
are here already, and what "make install" installs is laid over the guest's root.  That
is in memory: what was written to it is laid over it anew when the guest reboots.
"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from harness.document import Step, disagreement, follow, read_steps
from harness.guest import SHARE, Guest
from harness.installed import run_installed
from harness.module import REPO
from harness.podman import prepare_podman
from harness.waiting import wait_until

DOCUMENT = REPO / "Documentation/tutorial.rst"
COMMAND_S = 300  # of a busy host
HOME = "/run/home"  # where the reader is at first, and after a reboot, with a checkout in it
# What the commands write to the root but for the volumes, and "make install" apart.
WRITTEN = "find /etc /srv /usr/local -xdev -newer /run/began ! -type d"


class Reader:
    """Somebody who does what the tutorial says."""

    def __init__(self, guest: Guest, directory: Path):
        self.guest = guest
        self.directory = directory
        self.log_in()
        guest.run(["touch", "/run/began"])

    def log_in(self) -> None:
        """Be at home, where there is a checkout."""
        self.where = HOME
        self.guest.run(f"mkdir -p {HOME} && ln -sfn {REPO} {HOME}/dm-ioband")

    def run(self, command: str) -> str:
        """Run a command where it can be; what it printed."""
        if command == "apt-get update":
            return ""  # scripts/setup has, when it was time
        if command.startswith("apt-get install "):
            return self.look_up(command)
        if command == "make install":
            return self.install(command)
        if command == "reboot":
            return self.reboot()
        if command.startswith("cd "):
            self.where = self.in_guest(f"{command} && pwd").rstrip("\n")
            return ""
        return self.in_guest(command)

    def in_guest(self, command: str) -> str:
        """Run a command in the guest, where the reader is; what it printed."""
        return self.guest.run(
            f"{{ {command}\n}} 2>&1", timeout=COMMAND_S, cwd=self.where, env={"HOME": HOME}
        ).out

    def look_up(self, command: str) -> str:
        """See that packages are there to be installed."""
        settings = self.directory / "apt.conf"
        settings.write_text('APT::Get::Simulate "true";\n')
        # The host's lists of packages may be of another day than the guest's kernel.
        command = command.replace("$(uname -r)", "amd64")
        argv = ["env", f"APT_CONFIG={settings}", "sh", "-c", command]
        return subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True).stdout

    def install(self, command: str) -> str:
        """Install on a machine that is like the guest, and bring the guest what is new there."""
        checkout = self.directory / "checkout"
        leave = shutil.ignore_patterns("build", ".git", "__pycache__")
        here = self.in_guest("pwd -P").rstrip("\n")
        shutil.copytree(here, checkout, symlinks=True, ignore=leave)
        kernel = self.guest.kernel
        new = self.guest.share / "new.tar"
        said = run_installed(
            kernel,
            f"cd {checkout}\n{command}\ntar -C /mnt/upper -cf {new} usr",
            HOME=self.directory,
            MAKEFLAGS=f"-j2 -- RELEASE={kernel.release}",
        )
        self.guest.run(f"tar -C / --keep-directory-symlink -xf {SHARE}/new.tar", timeout=COMMAND_S)
        return said

    def reboot(self) -> str:
        """Boot again, with what the root and the disks have now."""
        root = self.guest.share / "root"
        root.mkdir()
        subprocess.run(["tar", "-C", root, "-xf", self.guest.share / "new.tar"], check=True)
        self.guest.run(
            f"{WRITTEN} -print0 | tar --null -T - -cf - | tar -C {SHARE}/root -xf -",
            timeout=COMMAND_S,
        )
        self.guest.reboot()
        shutil.rmtree(root)
        self.log_in()
        return ""


def plug_disks(guest: Guest) -> None:
    """A machine with two disks: the second, /dev/sdb, has nothing on it."""
    guest.plug("system")
    wait_until(guest, lambda: guest.exists("/dev/sda"), "no /dev/sda")
    guest.plug("spare", 1024, mbps=40)
    wait_until(guest, lambda: guest.exists("/dev/sdb"), "no /dev/sdb")


@pytest.mark.long("as the how-to: it takes four minutes of a processor")
@pytest.mark.guest(systemd=True, memory_mib=1536)
def test_tutorial(guest: Guest, tmp_path: Path) -> None:
    reader = Reader(guest, tmp_path)
    plug_disks(guest)
    prepare_podman(guest)
    (points,) = re.findall(r"within\s+(\d+) percentage points", DOCUMENT.read_text())
    for step in read_steps(DOCUMENT):
        follow(step, reader.run, float(points))
    for disk in ("spare", "system"):
        guest.unplug(disk)


def test_what_comes_out_otherwise_is_seen() -> None:
    """A share that is off, another weight, a line more or less; but not what may differ."""
    tables = [step for step in read_steps(DOCUMENT) if "/machine.slice" in " ".join(step.prints)]
    step = tables[0]
    head, *rows = (line.replace("...", "1.0M 12.5ms") for line in step.prints)
    printed = "\n".join([head, *rows])
    assert disagreement(step, printed, 3) is None
    assert disagreement(step, printed.replace("75.00 1", "77.9 1"), 3) is None
    assert disagreement(step, printed.replace("75.00 1", "78.1 1"), 3)
    assert disagreement(step, printed.replace(" 300 ", " 301 "), 3)
    assert disagreement(step, "\n".join([head, *rows, rows[0]]), 3)
    assert disagreement(step, "\n".join([head, *rows[1:]]), 3)
    some = Step("command", ("...", "last ... line"), "")
    assert disagreement(some, "first\nsecond\nlast of all line\n", 0) is None
    assert disagreement(some, "last line\n", 0)
