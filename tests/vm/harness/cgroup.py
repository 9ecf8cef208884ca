# SPDX-License-Identifier: GPL-2.0-only
"""Control groups in the guest."""

import posixpath
from typing import Any

from .guest import Guest, Job, Result

V2_ROOT = "/sys/fs/cgroup"
V1_ROOT = "/sys/fs/cgroup/blkio"
# Kill all tasks in the cgroups given and below them, and remove the cgroups, children first.  A
# cgroup lists no process while its last task exits, but cannot be removed yet.
REMOVE = """
while [ $# -gt 0 ]; do
	[ -d "$1" ] || { shift; continue; }
	pids=$(find "$@" -name cgroup.procs -exec cat {} + 2>/dev/null)
	[ -z "$pids" ] || kill -9 $pids
	find "$@" -depth -type d -exec rmdir {} + 2>/dev/null || sleep 0.05
done
"""


class Cgroup:
    """A cgroup, made with all its parents; on cgroup2 with the io controller enabled above it.

    path is relative to the root: "a/b".  The end of "with" kills all tasks in the cgroup,
    and removes it and those parents that it made.
    """

    def __init__(self, guest: Guest, path: str, *, controllers: str = "+io"):
        self.guest = guest
        self.path = path.strip("/")
        self.v1 = guest.options.cgroup == "v1"
        self._made: list[str] = []
        root = V1_ROOT if self.v1 else V2_ROOT
        self.directory = posixpath.join(root, self.path)
        at = root
        for name in self.path.split("/"):
            if not self.v1:
                guest.write(f"{at}/cgroup.subtree_control", controllers)
            at = posixpath.join(at, name)
            if guest.run(["mkdir", at], check=False).rc == 0:
                self._made.append(at)

    def start(self, cmd: str | list[str], **options: Any) -> Job:
        """Start a command in this cgroup (see Guest.start)."""
        return self.guest.start(cmd, cgroup=self.directory, **options)

    def run(self, cmd: str | list[str], **options: Any) -> Result:
        """Run a command in this cgroup to its end (see Guest.run)."""
        return self.guest.run(cmd, cgroup=self.directory, **options)

    def set(self, file: str, text: str) -> None:
        """Write one of the cgroup's files, as set("io.max", ...)."""
        self.guest.write(f"{self.directory}/{file}", text)

    def get(self, file: str) -> str:
        """Read one of the cgroup's files."""
        return self.guest.read(f"{self.directory}/{file}").strip()

    @property
    def pids(self) -> list[int]:
        """The processes in it."""
        return [int(pid) for pid in self.get("cgroup.procs").split()]

    def remove_below(self) -> None:
        """Kill all tasks in the cgroups below this one, and remove those."""
        self.guest.run(f"set -- {self.directory}/*/; {REMOVE}")

    def remove(self) -> None:
        """Remove the cgroup and those parents that it made; no process may be in them."""
        while self._made:
            self.guest.run(["rmdir", self._made[-1]])
            self._made.pop()

    def __enter__(self) -> "Cgroup":
        return self

    def __exit__(self, *_: object) -> None:
        if self.guest.alive:
            self.guest.run(["sh", "-c", REMOVE, "-", *reversed(self._made)])
