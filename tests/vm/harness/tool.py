# SPDX-License-Identifier: GPL-2.0-only
"""iobandctl, built for the guests, which see the host's files, and run in them."""

import json
import re
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .cache import build_dir, locked
from .guest import Guest
from .module import REPO

WATCH_UNIT = "iobandctl-watch.service"
# The note of insert for each logical volume.
OF_LVM = re.compile(r"iobandctl: note: \S+ is LVM's: .*\n")

EVIL = "\x1b[2J\u202elive"  # a name that clears the screen, and shows "evil"
EVIL_SHOWN = "\\033[2J\\342\\200\\256live"
# A terminal obeys it, shows others in another order, or shows nothing.
UNSAFE = "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]"


def on_terminal(guest: Guest, command: str) -> str:
    """The output on a terminal, without colours; a terminal can show all of it."""
    environment = {"NO_COLOR": "1", "LANG": "C.UTF-8"}
    done = guest.run(["script", "-qec", command, "/dev/null"], env=environment, check=False)
    assert re.findall(UNSAFE, done.out) == [], command
    return done.out


def build_tool() -> Path:
    """Build iobandctl in the cache, with its fail points, and return the program."""
    source = REPO / "tools/iobandctl"
    out = build_dir("iobandctl", source)
    command = ["make", "-s", "-C", source, f"O={out}", "WERROR=1", "CPPFLAGS=-DFAILPOINTS"]
    with locked(out.name):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return out / "iobandctl"


def install_watch(guest: Guest) -> None:
    """Install iobandctl and the unit of its watch in a guest, until that ends."""
    with tempfile.TemporaryDirectory() as root:
        where = [f"DESTDIR={root}", "UNITDIR=/units", "SBINDIR=/usr/sbin"]
        subprocess.run(["make", "-s", "-C", REPO / "udev", "install", *where], check=True)
        unit = Path(root, "units", WATCH_UNIT).read_text()
    guest.write(f"/run/systemd/system/{WATCH_UNIT}", unit)
    guest.run(["cp", str(build_tool()), "/usr/sbin/"])


@dataclass(frozen=True)
class Tool:
    """iobandctl in the guest."""

    guest: Guest
    program: str

    def run(self, *args: str, **options: object) -> str:
        """Run it; returns its output."""
        done = self.guest.run([self.program, *args], **options)
        assert not OF_LVM.sub("", done.err), done.err
        return done.out

    def refused(self, rc: int, *args: str, says: str, **options: object) -> str:
        """Run it; it must fail with this code and only a message, which is returned."""
        done = self.guest.run([self.program, *args], check=False, **options)
        assert (done.rc, done.out) == (rc, ""), done
        assert done.err.startswith("iobandctl: ")
        assert says in done.err
        return done.err

    def json(self, *args: str) -> list[dict]:
        """The objects that it prints with --json."""
        (rows,) = json.loads(self.run(*args, "--json")).values()
        return rows

    def documents(self, *args: str) -> Iterator[list[dict]]:
        """The lists that it prints, one for each interval."""
        for line in self.run(*args, "--json").splitlines():
            (rows,) = json.loads(line).values()
            yield rows


def udev_is_done(guest: Guest) -> bool:
    """Whether no udev cookie is left, by a process that waits or forgot to wait."""
    return "0x" not in guest.run(["dmsetup", "udevcookies"]).out
