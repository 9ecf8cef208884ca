# SPDX-License-Identifier: GPL-2.0-only
"""A guest is kept for tests of its kind, within limits, and is checked at its end."""

from typing import Any

import pytest
from harness.machines import KEPT, Machines


class Stub:
    """The part of a guest that Machines uses."""

    def __init__(self, name: str):
        self.name = name
        self.alive = True
        self.closed = 0

    def close(self) -> None:
        self.alive = False
        self.closed += 1


class Lab:
    """Machines with a record of the guests that they booted and retired."""

    def __init__(self, leaky: str = ""):
        self.booted: list[Stub] = []
        self.retired: list[str] = []
        self.leaky = leaky
        self.machines = Machines(self._boot, self._retire)

    def _boot(self, name: str, options: dict[str, Any]) -> Stub:
        self.booted.append(Stub(name))
        return self.booted[-1]

    def _retire(self, guest: Stub) -> str:
        assert guest.alive
        self.retired.append(guest.name)
        if guest.name == "hung":
            raise RuntimeError("no answer")
        return "memory leaked" if guest.name == self.leaky else ""

    def get(self, *names: str) -> list[Stub]:
        return [self.machines.get(name, {"disks_mib": 1}) for name in names]


NAMES = [f"kernel{index}" for index in range(KEPT)]


def test_one_of_a_kind_is_booted_once() -> None:
    lab = Lab()
    first = lab.get(*NAMES)
    assert lab.get(*NAMES) == first
    assert lab.machines.get(NAMES[0], {}) not in first


def test_the_one_used_longest_ago_makes_place() -> None:
    lab = Lab()
    first, second, *_ = lab.get(*NAMES)
    lab.get(NAMES[0], "another")
    assert lab.retired == [second.name]
    assert second.closed == 1
    assert first.alive
    assert lab.get(second.name) != [second]


def test_a_dead_one_takes_no_place() -> None:
    lab = Lab()
    first = lab.get(*NAMES)
    first[0].alive = False
    (anew,) = lab.get(NAMES[0])
    assert anew is not first[0]
    assert first[0].closed == 1
    assert lab.retired == []


def test_all_end_though_one_has_leaked() -> None:
    lab = Lab(leaky=NAMES[0])
    first = lab.get(*NAMES)
    first[1].alive = False
    assert lab.machines.close() == ["memory leaked"]
    assert [guest.closed for guest in first] == [1] * KEPT
    assert lab.retired == [NAMES[0], *NAMES[2:]]


def test_what_has_leaked_is_told_at_the_end_and_hinders_nobody() -> None:
    lab = Lab(leaky=NAMES[0])
    lab.get(*NAMES)
    assert lab.get("another")[0].alive
    assert lab.retired == [NAMES[0]]
    assert lab.machines.close() == ["memory leaked"]


def test_all_end_though_one_does_not_answer() -> None:
    lab = Lab()
    first = lab.get("hung", *NAMES[1:])
    with pytest.raises(RuntimeError, match="no answer"):
        lab.machines.close()
    assert [guest.closed for guest in first] == [1] * KEPT
