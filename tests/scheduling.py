# SPDX-License-Identifier: GPL-2.0-only
"""Which of several processes runs which part, when pytest runs with xdist.

A guest is emulated.  Three guests on two processors execute less in a second than two do, as
each evicts the others' translated code from the caches of a processor.
So there is one guest for each processor.  In the time that they leave, while they wait for
disks and timers, another process of low priority runs the tests that need no guest, and
then tests in a guest as well.
"""

import contextlib
import os
from collections import defaultdict
from pathlib import Path

import pytest
from parts import GUEST
from xdist.scheduler import LoadGroupScheduling
from xdist.workermanage import WorkerController

# Each takes more than a gigabyte of memory.
GUESTS_MAX = 8
# To boot a guest takes about as long.
BOOT_S = 20
NICE = 10
LAB = "lab"
# In such a guest time is instructions, however slow the host is.
ICOUNT = "icount"
AUTOGROUP = Path("/proc/self/autogroup")


def number() -> int:
    """How many processes there are."""
    return min(len(os.sched_getaffinity(0)), GUESTS_MAX) + 1


def _is_aside(worker: str, count: int) -> bool:
    """Whether a process, of so many, is the one of low priority."""
    return count > 1 and worker == f"gw{count - 1}"


def stand_aside(config: pytest.Config) -> None:
    """Lower the priority of the process that takes what the guests leave.

    Where the kernel shares the processors among sessions first (sched(7), autogroup), a
    priority within one session means nothing to the guests, which have their own.
    """
    worker = getattr(config, "workerinput", None)
    if not worker or not _is_aside(worker["workerid"], worker["workercount"]):
        return
    os.nice(NICE)
    if AUTOGROUP.exists():
        os.setsid()
        with contextlib.suppress(OSError):  # the kernel accepts ten changes a second
            AUTOGROUP.write_text(str(NICE))


def _kind(scope: str) -> str:
    return scope.split("/")[0]


def _seconds(scope: str) -> float:
    return float(scope.rpartition(":")[2])


class Scheduling(LoadGroupScheduling):
    """Gives a process the longest part of the kind of guest that it has booted.

    When there is none left, the process begins the kind with the most work left.
    """

    def __init__(self, *args: object):
        super().__init__(*args)
        self._booted: dict[str, str] = {}  # the kind of guest that a process had last

    def schedule(self) -> None:
        """Begin; of more processes than parts, the one of low priority is the first to go."""
        for node in self.nodes:
            if _is_aside(node.gateway.id, self.numnodes):
                self.assigned_work.move_to_end(node)
        super().schedule()

    def _assign_work_unit(self, node: WorkerController) -> None:
        scope = self._choose(node.gateway.id)
        if scope is None:
            node.shutdown()
            return
        self.workqueue.move_to_end(scope, last=False)
        super()._assign_work_unit(node)

    def _choose(self, worker: str) -> str | None:
        """The next part for a process, or None if no part is left that it may run."""
        others = [scope for scope in self.workqueue if not scope.startswith(GUEST)]
        # The kernel of the laboratory may not be built yet.
        lab = [scope for scope in others if _kind(scope) == LAB]
        others = [scope for scope in others if _kind(scope) != LAB]
        if others and _is_aside(worker, self.numnodes):
            return max(others, key=_seconds)
        return self._choose_guest(worker) or max(others or lab, key=_seconds, default=None)

    def _choose_guest(self, worker: str) -> str | None:
        """The next part in a guest for a process, or None if there is none left."""
        in_guests = [scope for scope in self.workqueue if scope.startswith(GUEST)]
        left: dict[str, float] = defaultdict(float)
        for scope in in_guests:
            left[_kind(scope)] += _seconds(scope)
        # A kind that another process has booted is begun last: to boot it again takes time.
        for worker_of_kind, kind in self._booted.items():
            if kind in left:
                left[kind] += BOOT_S if worker_of_kind == worker else -BOOT_S
        kind = self._booted.get(worker)
        if kind not in left:
            aside = _is_aside(worker, self.numnodes)
            kind = max(left, key=lambda each: (aside and ICOUNT in each, left[each]), default=None)
        if kind is None:
            return None
        self._booted[worker] = kind
        return max((scope for scope in in_guests if _kind(scope) == kind), key=_seconds)
