# SPDX-License-Identifier: GPL-2.0-only
"""The published results match the scenarios, and the pages are made from results.json."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lab import report, sources
from lab.__main__ import RESULTS
from lab.goals import chosen
from lab.measure import METRIC_OPTIONS
from lab.runner import expand
from lab.scenario import Scenario, load_all, order

SCENARIOS = load_all(METRIC_OPTIONS)
PUBLISHED = json.loads((RESULTS / report.NAME).read_text())
AGAIN = "the scenario has changed since: run make lab"


@pytest.fixture(params=SCENARIOS, ids=lambda each: each.name)
def scenario(request: pytest.FixtureRequest) -> Scenario:
    """Each scenario."""
    return request.param


@pytest.fixture
def found(scenario: Scenario) -> dict[str, Any]:
    """The published results of the scenario."""
    return PUBLISHED["scenarios"][scenario.name]


def test_every_scenario_is_published() -> None:
    assert list(PUBLISHED["scenarios"]) == [each.name for each in SCENARIOS], AGAIN
    assert (RESULTS / "README.md").read_text() == report.index(PUBLISHED)
    pages = {f"{each.name}.md" for each in SCENARIOS}
    plots = {f"{each.name}-{kind}.svg" for each in SCENARIOS for kind in ("bandwidth", "latency")}
    there = {path.name for path in RESULTS.iterdir()}
    assert there == pages | plots | {report.NAME, "README.md", report.SHOWN_PLOT, *report.SEARCH}


def test_the_plot_of_the_readme_is_made_of_the_results(tmp_path: Path) -> None:
    """Compare labels only, as versions of matplotlib draw differently."""
    shutil.copy(RESULTS / report.NAME, tmp_path)
    report.publish([], tmp_path, {}, order)
    anew, published = (
        re.findall(r">([^<>]+)</text>", (directory / report.SHOWN_PLOT).read_text())
        for directory in (tmp_path, RESULTS)
    )
    assert anew == published, AGAIN
    for each in report.compared(PUBLISHED):
        assert {each.peer, *each.labels} <= set(published)


def test_a_page_is_made_of_the_results(scenario: Scenario, found: dict[str, Any]) -> None:
    assert (RESULTS / f"{scenario.name}.md").read_text() == report.page(scenario.name, found)


def test_a_scenario_is_as_published(scenario: Scenario, found: dict[str, Any]) -> None:
    wanted = json.loads(json.dumps(report.about(scenario, scenario.full)))
    assert {key: found[key] for key in wanted} == wanted, AGAIN


def test_goals_are_as_published(scenario: Scenario, found: dict[str, Any]) -> None:
    goals = [report.described(goal, on_lv) for goal, on_lv in chosen(scenario, scenario.full)]
    wanted = json.loads(json.dumps(goals))
    keys = report.described(*chosen(scenario, scenario.full)[0])
    assert [{key: goal[key] for key in keys} for goal in found["goals"]] == wanted, AGAIN


def test_goals_stand_as_their_file_expects(scenario: Scenario, found: dict[str, Any]) -> None:
    stray = [
        f"{goal.name} {variant}: {state}"
        for (goal, on_lv), one in zip(chosen(scenario, scenario.full), found["goals"], strict=True)
        for variant, state in one["states"].items()
        if state != (goal.expected(variant, on_lv) or "reported")
    ]
    assert not stray
    assert all(one["states"] for one in found["goals"])


def test_it_is_known_what_it_was_made_of(
    record_property: Callable[[str, object], None],
) -> None:
    """Changed sources need not change the results: make lab-check compares them."""
    today = sources.words()
    others = []
    for name, found in PUBLISHED["scenarios"].items():
        made_of = found["environment"]
        assert made_of.keys() == {"kernel", "fio"} | today.keys(), f"{name}: of what? run make lab"
        others += [f"{name}'s {part}" for part, word in today.items() if made_of[part] != word]
    if others:
        record_property("summary", f"published are figures of other sources: {', '.join(others)}")


def test_every_experiment_is_published(scenario: Scenario, found: dict[str, Any]) -> None:
    wanted = {
        (one.setting.variant, one.peer, one.on_lv, one.alone)
        for one in expand(scenario, scenario.full)
    }
    rows = {(row["variant"], row["peer"], row["on_lv"], row["alone"]) for row in found["rows"]}
    assert rows == wanted, AGAIN
    assert not [row["problem"] for row in found["rows"] if "problem" in row]
