# SPDX-License-Identifier: GPL-2.0-only
"""Scenarios in their quick form, in the guest: goals have the states that their files expect.

A goal that is met although its file says "missed" fails as well, so that a file
always describes the present state.  `make lab` runs the full form.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lab import report
from lab.__main__ import RESULTS, environment_words, run_scenarios
from lab.measure import METRIC_OPTIONS
from lab.runner import Runner, clip, expand, experiment, make_environment
from lab.scenario import load_all

AGAIN = "not as published: run make lab"
LONG_BYTES = pytest.mark.long("one experiment of the quick forms is compared to the byte")
LONG_ROWS = pytest.mark.long("a fast disk and a rotating one are compared with what is published")
# A processor with more registers takes more memory for a task, which affects writeback.
WRITEBACK = 0.01
SCENARIOS = {each.name: each for each in load_all(METRIC_OPTIONS) if each.quick}


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    """The runner; outcomes in the cache are not made again."""
    yield Runner(make_environment())


@pytest.mark.parametrize("name", SCENARIOS)
def test_goals(runner: Runner, name: str) -> None:
    (results,) = run_scenarios([SCENARIOS[name]], runner, quick=True)
    assert results.verdicts, f"{name}.toml has a quick form, but no quick goal"
    problems = [one.problem for one in results.outcomes if one.problem]
    surprises = [verdict.surprise for verdict in results.verdicts if verdict.surprise]
    assert not problems + surprises, "\n".join(problems + surprises)


def contents(directory: Path) -> dict[str, bytes]:
    """Every file of an experiment."""
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir())}


@pytest.mark.parametrize(
    ("name", "peer", "on_lv"),
    [
        ("S5", "ioband", True),
        *(
            pytest.param(*own, marks=LONG_BYTES)
            for own in (
                ("S1", "ioband", False),
                ("S7", "bfq", False),
                ("S9", "kyber", False),
                ("S10", "none", False),
                ("S10", "io.max", False),
                ("S12", "io.latency", True),
                ("S15", "ioband", False),
            )
        ),
    ],
)
def test_an_experiment_repeats_to_the_byte(
    runner: Runner, tmp_path: Path, name: str, peer: str, on_lv: bool
) -> None:
    """On any host; writeback of a file system depends on all users of memory."""
    scenario = SCENARIOS[name]
    assert scenario.quick
    own = experiment(scenario, scenario.quick, scenario.quick.variants[0], peer, on_lv)
    own = replace(own, setting=clip(own.setting, 2), seconds=2)
    found = []
    for place in ("one", "somewhere/else/and/deeper/two"):
        runner.make(own.document(), tmp_path / place)
        found.append(contents(tmp_path / place))
    one, two = found
    assert one.keys() == two.keys()
    assert any("_lat." in file for file in one) and "result.json" in one
    assert not [file for file in one if one[file] != two[file]]


def rates(row: dict[str, Any]) -> dict[str, float]:
    """The rate of all groups together, and of each."""
    return {
        "in all": row["total_mbps"],
        **{name: group["mbps"] for name, group in row["groups"].items()},
    }


@pytest.mark.parametrize(
    ("name", "variant", "peer", "tolerance"),
    [
        ("S5", "", "ioband", 0),
        ("S7", "N=4", "ioband", 0),
        *(
            pytest.param(*own, marks=LONG_ROWS)
            for own in (
                ("S1", "", "none", 0),
                ("S1", "", "bfq", 0),
                ("S1", "", "io.cost", 0),
                ("S5", "", "kyber", 0),
                ("S1", "", "ioband", 0),
                ("S2", "", "ioband", 0),
                ("S4", "", "ioband", 0),
                ("S15", "two file systems", "ioband", WRITEBACK),
            )
        ),
    ],
)
def test_what_is_published_comes_out_again(
    runner: Runner,
    record_property: Callable[[str, object], None],
    name: str,
    variant: str,
    peer: str,
    tolerance: float,
) -> None:
    """Compare in full, to the last digit or nearly; another way of sharing needs make lab."""
    published = json.loads((RESULTS / report.NAME).read_text())["scenarios"][name]
    made_with, today = published["environment"], environment_words(runner.environment)
    if any(made_with[tool] != today[tool] for tool in ("kernel", "fio")):
        why = f"{name} is published of {made_with['fio']} on Linux {made_with['kernel']}"
        record_property("summary", f"NOT COMPARED with what is published: {why}: run make lab")
        pytest.skip(why)
    own = experiment(SCENARIOS[name], SCENARIOS[name].full, variant, peer)
    *_, outcome = runner.run([own])  # after the calibration for io.cost
    found = json.loads(json.dumps(report.row_of(outcome)))
    (wanted,) = (
        row
        for row in published["rows"]
        if (row["variant"], row["peer"], row["on_lv"], row["alone"]) == (variant, peer, False, "")
    )
    if tolerance:
        assert rates(found) == pytest.approx(rates(wanted), rel=tolerance), AGAIN
    else:
        assert found == wanted, AGAIN


@pytest.mark.long("of the comparison of bytes alone, which changes rarely")
def test_another_load_leaves_other_bytes(runner: Runner, tmp_path: Path) -> None:
    """Or the comparison above would prove nothing."""
    scenario = SCENARIOS["S1"]
    assert scenario.quick
    run = replace(scenario.quick, peers=("none",), seconds=1)
    found = []
    for name, variant in (("one", scenario), ("two", replace(scenario))):
        (own, *_) = expand(variant, run)
        document = own.document()
        if name == "two":
            document["jobs"][0] = document["jobs"][0] | {"fio": {"rw": "randread", "bs": "32k"}}
        runner.make(document, tmp_path / name)
        found.append(contents(tmp_path / name))
    assert found[0]["two.0_lat.1.log.gz"] != found[1]["two.0_lat.1.log.gz"]
