# SPDX-License-Identifier: GPL-2.0-only
"""Which of several processes runs which tests.

Tests in one kind of guest share it, so one process has them all.  Guests are emulated, and
starve when the machine is busy, yet wait for their disks half of the time: so as many
processes as there are processors, up to four, run tests in guests, and one more, at a low
priority, the others.  When no more of those in guests are left, all run the others.
"""

import contextlib
import os
import re
from collections import Counter
from pathlib import Path

import pytest
from xdist.scheduler import LoadGroupScheduling
from xdist.workermanage import WorkerController

# More tests than that in one kind of guest, and there are two guests of it.
GROUP_MAX = 100
# More guests than that at once, and a test's time is not its own.
GUESTS_MAX = 4
GUEST = "guest "
NICE = 10
AUTOGROUP = Path("/proc/self/autogroup")


def _companions(item: pytest.Item) -> str:
    """What a test shares with the tests that one process runs.

    Those in one kind of guest share it; the others what their file builds or boots.
    """
    params = item.callspec.params if hasattr(item, "callspec") else {}
    if "kernel_name" not in getattr(item, "fixturenames", ()):
        return str(item.path)
    marker = item.get_closest_marker("guest")
    options = [f"{name}={value}" for name, value in marker.kwargs.items()] if marker else []
    # xdist takes what follows the last @ for the group, if no ] comes after it.
    words = re.sub(r"[^\w.= ]", "", " ".join(sorted(options)))
    return f"{GUEST}{params['kernel_name']} {words}".strip()


def _halve(items: list[pytest.Item]) -> list[pytest.Item]:
    """Take the tests of about every second file out of a list, and return them."""
    files = sorted(Counter(item.path for item in items).items(), key=lambda file: -file[1])
    halves: tuple[set[Path], set[Path]] = (set(), set())
    sizes = [0, 0]
    for path, size in files:
        smaller = sizes.index(min(sizes))
        halves[smaller].add(path)
        sizes[smaller] += size
    taken = [item for item in items if item.path in halves[1]]
    items[:] = [item for item in items if item.path in halves[0]]
    return taken


def put_in_groups(items: list[pytest.Item]) -> None:
    """Put together what one process runs, the most tests first."""
    groups: dict[str, list[pytest.Item]] = {}
    for item in items:
        groups.setdefault(_companions(item), []).append(item)
    for name, members in list(groups.items()):
        if name.startswith(GUEST) and len(members) > GROUP_MAX:
            groups[f"{name} more"] = _halve(members)
    for name, members in groups.items():
        for item in members:
            item.add_marker(pytest.mark.xdist_group(name))
    order = sorted(groups, key=lambda name: len(groups[name]), reverse=True)
    items[:] = [item for name in order for item in groups[name]]


def number() -> int:
    """How many processes there are, unless somebody says otherwise."""
    return min(len(os.sched_getaffinity(0)), GUESTS_MAX) + 1


def _is_aside(worker: str, count: int) -> bool:
    """Whether a process, of so many, is the one that has no guests."""
    return count > 1 and worker == f"gw{count - 1}"


def stand_aside(config: pytest.Config) -> None:
    """In the process without guests: leave the processors to those that have some.

    Where the kernel shares them among sessions first (sched(7), autogroup), a priority
    within one means nothing to the guests, which have their own.
    """
    worker = getattr(config, "workerinput", None)
    if not worker or not _is_aside(worker["workerid"], worker["workercount"]):
        return
    os.nice(NICE)
    if AUTOGROUP.exists():
        os.setsid()
        with contextlib.suppress(OSError):  # ten a second are let through
            AUTOGROUP.write_text(str(NICE))


class Scheduling(LoadGroupScheduling):
    """Gives each process a group of the kind that it is for, the largest first.

    One that replaces a process which has died is for guests.
    """

    def schedule(self) -> None:
        """Begin; of more processes than groups, the one without guests is the first to go."""
        for node in self.nodes:
            if _is_aside(node.gateway.id, self.numnodes):
                self.assigned_work.move_to_end(node)
        super().schedule()

    def _assign_work_unit(self, node: WorkerController) -> None:
        aside = _is_aside(node.gateway.id, self.numnodes)
        suits = [scope for scope in self.workqueue if scope.startswith(GUEST) != aside]
        if aside and not suits:
            node.shutdown()
            return
        if suits:
            self.workqueue.move_to_end(suits[0], last=False)
        super()._assign_work_unit(node)
