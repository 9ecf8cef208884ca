# SPDX-License-Identifier: GPL-2.0-only
"""Runs and cached outcomes, with a substitute for the guest."""

import contextlib
import errno
import json
import threading
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from harness.cache import cache_dir
from lab.__main__ import run_scenarios
from lab.measure import METRIC_OPTIONS
from lab.runner import Environment, Runner, expand
from lab.scenario import Scenario, parse
from lab.uml import ExperimentError

TEXT = """
title = "One group"
[disk]
model = "cloud"
[run]
seconds = 2
settle = 0
peers = ["none", "bfq", "ioband"]
[[group]]
name = "a"
[[job]]
group = "a"
fio = { rw = "randread" }
[[goal]]
name = "throughput"
metric = "bandwidth_mbps"
relative_to = "none"
at_least = 0.9
expect = "met"
"""
ORIGIN_MS = 1_700_000_000_000


class Guest:
    """Leaves the files of a guest: an I/O of 4 KiB every 10 ms.  Fails for some peers."""

    def __init__(self) -> None:
        self.peers: list[str] = []
        self.broken: set[str] = set()

    def __call__(self, kernel: Any, work: Path, command: list[str], **more: Any) -> None:
        peer = json.loads((work / "experiment.json").read_text())["peer"]
        self.peers.append(peer)
        if peer in self.broken:
            raise ExperimentError(f"{work.name}: the kernel crashed")
        lines = (f"{ORIGIN_MS + at}, 1000000, 0, 4096, 0, 0x0\n" for at in range(10, 2000, 10))
        (work / "a.0_lat.1.log").write_text("".join(lines))
        result = {"origin_ms": ORIGIN_MS, "samples": [], "disk": {}, "notes": []}
        (work / "result.json").write_text(json.dumps(result))


@pytest.fixture
def scenario() -> Scenario:
    return parse(TEXT, "S1", METRIC_OPTIONS)


@pytest.fixture
def guest() -> Guest:
    return Guest()


@pytest.fixture
def runner(guest: Guest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runner:
    monkeypatch.setenv("IOBAND_CACHE", str(tmp_path / "cache"))
    for name in ("disk.ko", "ioband.ko"):
        (tmp_path / name).write_text(name)
    kernel: Any = SimpleNamespace(build=Path("7.0"))
    disk, ioband = tmp_path / "disk.ko", tmp_path / "ioband.ko"
    environment = Environment(kernel, disk, ioband, "fio-3", "guest")
    return Runner(environment, workers=2, execute=guest)


def test_an_experiment_runs_once(scenario: Scenario, runner: Runner, guest: Guest) -> None:
    (results,) = run_scenarios([scenario], runner)
    assert sorted(guest.peers) == ["bfq", "ioband", "none"]
    assert [verdict.state for verdict in results.verdicts] == ["met"]
    run_scenarios([scenario], runner)
    assert len(guest.peers) == 3
    # Run once more with anew, although several goals may use it.
    anew = Runner(runner.environment, anew=True, workers=2, execute=guest)
    run_scenarios([scenario, replace(scenario, name="S2")], anew)
    assert sorted(guest.peers[3:]) == ["bfq", "ioband", "none"]


def test_what_is_wanted_twice_at_once_runs_once(
    scenario: Scenario, runner: Runner, guest: Guest
) -> None:
    both = threading.Barrier(2)

    def meet(*args: Any, **more: Any) -> None:
        with contextlib.suppress(threading.BrokenBarrierError):
            both.wait(1)  # the second run must not start
        guest(*args, **more)

    one = expand(scenario, scenario.full)[0]
    anew = Runner(runner.environment, anew=True, workers=2, execute=meet)
    assert [outcome.problem for outcome in anew.run([one, one])] == ["", ""]
    assert len(guest.peers) == 1


def test_a_full_disk_is_told_and_stops_nothing(
    scenario: Scenario, runner: Runner, guest: Guest
) -> None:
    def fill(kernel: Any, work: Path, command: list[str], **more: Any) -> None:
        guest(kernel, work, command, **more)
        if json.loads((work / "experiment.json").read_text())["peer"] == "bfq":
            raise OSError(errno.ENOSPC, "No space left on device")

    runner.execute = fill
    outcomes = {one.experiment.peer: one for one in runner.run(expand(scenario, scenario.full))}
    assert "No space left" in outcomes["bfq"].problem
    assert not outcomes["ioband"].problem
    left = cache_dir("lab", "results").iterdir()
    assert not [path.name for path in left if path.name.startswith("unfinished")]


def test_a_mistake_stops_what_has_not_begun(
    scenario: Scenario, runner: Runner, guest: Guest
) -> None:
    def mistake(*args: Any, **more: Any) -> None:
        guest(*args, **more)
        time.sleep(0.1 * (len(guest.peers) > 1))
        raise KeyError("a mistake of the laboratory's")

    anew = Runner(runner.environment, workers=1, execute=mistake)
    with pytest.raises(KeyError):
        list(anew.run(expand(scenario, scenario.full) * 10))
    assert len(guest.peers) < 30


def test_what_decides_the_outcome_decides_whether_it_runs(
    scenario: Scenario, runner: Runner, guest: Guest
) -> None:
    run_scenarios([scenario], runner)
    runner.environment.ioband.write_text("another ioband.ko")
    run_scenarios([scenario], runner)
    assert guest.peers[3:] == ["ioband"]  # the others do not load it
    runner.environment.fio = "fio-4"
    run_scenarios([scenario], runner)
    assert sorted(guest.peers[4:]) == ["bfq", "ioband", "none"]


def test_some_peers_only(scenario: Scenario, runner: Runner, guest: Guest) -> None:
    (results,) = run_scenarios([scenario], runner, peers=("ioband",))
    assert sorted(guest.peers) == ["ioband", "none"]  # with the reference of the goal
    assert results.run.peers == ("ioband",)
    (results,) = run_scenarios([scenario], runner, peers=("bfq",))
    assert guest.peers[2:] == ["bfq"] and not results.verdicts


def test_a_failure_is_told_and_not_remembered(
    scenario: Scenario, runner: Runner, guest: Guest
) -> None:
    guest.broken = {"ioband"}
    (results,) = run_scenarios([scenario], runner)
    problems = {one.experiment.peer: one.problem for one in results.outcomes}
    assert problems == {"none": "", "bfq": "", "ioband": "S1 ioband: the kernel crashed"}
    assert [verdict.state for verdict in results.verdicts] == ["unknown"]
    guest.broken = set()
    (results,) = run_scenarios([scenario], runner)
    assert guest.peers[3:] == ["ioband"]
    assert [verdict.state for verdict in results.verdicts] == ["met"]
