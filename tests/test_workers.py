# SPDX-License-Identifier: GPL-2.0-only
"""Each test is run by a process that is for its kind, and by one only."""

import argparse
from types import SimpleNamespace

import pytest
import workers


class Process:
    """What xdist's scheduler sees of a process: it runs what it is sent at once, or later."""

    def __init__(self, name: str):
        self.gateway = SimpleNamespace(id=name)
        self.shutting_down = False
        self.sent: list[int] = []
        self.ran: list[str] = []

    def send_runtest_some(self, indices: list[int]) -> None:
        assert not self.shutting_down
        self.sent += indices

    def shutdown(self) -> None:
        self.shutting_down = True


def run(tests: list[str], count: int) -> list[Process]:
    """The processes, after they have run the tests of groups, which follow an @, in turn."""
    config = argparse.Namespace(option=argparse.Namespace(tx=["popen"] * count))
    config.getvalue = lambda name: getattr(config.option, name)
    scheduling = workers.Scheduling(config, None)
    processes = [Process(f"gw{index}") for index in range(count)]
    for process in reversed(processes):  # as they are ready
        scheduling.add_node(process)
    for process in processes:
        scheduling.add_node_collection(process, tests)
    scheduling.schedule()
    while any(process.sent for process in processes):
        for process in processes:
            if process.sent:
                index = process.sent.pop(0)
                process.ran.append(tests[index])
                scheduling.mark_test_complete(process, index)
    assert scheduling.tests_finished
    return processes


def names(group: str, count: int) -> list[str]:
    return [f"{group}{index}@{group}" for index in range(count)]


GUESTS = [*names("guest 6.1", 9), *names("guest 6.12", 5), *names("guest newest", 3)]
OTHERS = [*names("mutants", 40), *names("unit", 20), *names("style", 4), *names("lab", 4)]


@pytest.mark.parametrize("tests", [GUESTS + OTHERS, GUESTS, OTHERS, GUESTS[:3], OTHERS[:3]])
@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_each_is_run_once_by_who_is_for_it(tests: list[str], count: int) -> None:
    processes = run(tests, count)
    ran = [test for process in processes for test in process.ran]
    assert sorted(ran) == sorted(tests)
    for group in {test.split("@")[1] for test in tests}:
        of_group = [p for p in processes if any(t.endswith(f"@{group}") for t in p.ran)]
        assert len(of_group) == 1, group
    if count > 1:
        assert not any("guest" in test for test in processes[-1].ran)


def test_guests_come_first() -> None:
    *with_guests, aside = run(GUESTS + OTHERS, 3)
    for process in with_guests:
        kinds = ["guest" in test for test in process.ran]
        assert kinds == sorted(kinds, reverse=True)
        assert kinds[0]
    assert aside.ran[:40] == OTHERS[:40]
