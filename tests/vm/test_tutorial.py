# SPDX-License-Identifier: GPL-2.0-only
"""The tutorial, followed command by command in a fresh guest with systemd.

Commands and their expected output are read from the document.  The host runs the commands
that need the network or a compiler.  Packages are looked up and not installed, as the host
has them already.  The output of "make install" is laid over the guest's root.  The root is
in memory: after a reboot the guest gets all files again that were written to it.
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
COMMAND_S = 300  # on a busy host.
HOME = "/run/home"  # the first directory, also after a reboot, with a checkout
# Files that the commands write to the root, without the volumes and "make install".
WRITTEN = "find /etc /srv /usr/local -xdev -newer /run/began ! -type d"


class Reader:
    """A user that follows the tutorial."""

    def __init__(self, guest: Guest, directory: Path):
        self.guest = guest
        self.directory = directory
        self.log_in()
        guest.run(["touch", "/run/began"])

    def log_in(self) -> None:
        """Change to the home directory, which has a checkout."""
        self.where = HOME
        self.guest.run(f"mkdir -p {HOME} && ln -sfn {REPO} {HOME}/dm-ioband")

    def run(self, command: str) -> str:
        """Run a command on the right machine; returns its output."""
        if command == "apt-get update":
            return ""  # scripts/setup has done so
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
        """Run a command in the guest, in the present directory; returns its output."""
        return self.guest.run(
            f"{{ {command}\n}} 2>&1", timeout=COMMAND_S, cwd=self.where, env={"HOME": HOME}
        ).out

    def look_up(self, command: str) -> str:
        """Check that packages can be installed."""
        settings = self.directory / "apt.conf"
        settings.write_text('APT::Get::Simulate "true";\n')
        # The host's lists of packages may have another date than the guest's kernel.
        command = command.replace("$(uname -r)", "amd64")
        argv = ["env", f"APT_CONFIG={settings}", "sh", "-c", command]
        return subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True).stdout

    def install(self, command: str) -> str:
        """Install on a host with the guest's kernel, and copy the new files to the guest."""
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
        """Boot again, with the present root and disks."""
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
    """A machine with two disks: the second, /dev/sdb, is empty."""
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
    """A wrong share, a wrong weight, a line more or less; but no permitted difference."""
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
