# SPDX-License-Identifier: GPL-2.0-only
"""Verdicts on goals, and their pages, from constructed observations."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lab import plots, report
from lab.__main__ import compare, conclude, make_options
from lab.goals import Lookup, Verdict, excess, flatness_pct, format_value, judge, judge_all
from lab.measure import METRIC_OPTIONS
from lab.runner import READ_BY, Experiment, Outcome, expand, experiment
from lab.scenario import PEERS, Goal, Scenario, order, parse
from lab.traces import EMPTY, MeasureError, Observation
from lab.uml import ExperimentError
from test_lab_measure import steady

TEXT = """
title = "Two groups"
[disk]
model = "cloud"
[run]
seconds = 10
peers = ["none", "ioband"]
[variants]
"N=1" = { n = 1 }
"N=2" = { n = 2 }
[[group]]
name = "a"
weight = 200
[[group]]
name = "b"
[[job]]
group = "a"
fio = { numjobs = "$n" }
[[job]]
group = "b"
fio = { numjobs = "$n" }
[[goal]]
name = "shares"
text = "2.00"
metric = "ratio"
of = ["a", "b"]
equals = 2.0
within_pct = 2
expect = "met"
quick = true
[[goal]]
name = "throughput"
metric = "bandwidth_mbps"
relative_to = "none"
at_least = 0.9
expect = "missed"
missed = "It is too slow."
[[goal]]
name = "half of alone"
metric = "bandwidth_mbps"
of = "b"
relative_to = "alone"
at_least = 0.45
expect = "missed"
missed = "It is too slow."
[[goal]]
name = "just to know"
metric = "iops"
[[goal]]
name = "none shares nothing"
metric = "ratio"
of = ["a", "b"]
peer = "none"
equals = 1.0
within_pct = 2
expect = "met"
sanity = true
"""
RATES = {"none": (150, 150), "ioband": (200, 100)}
ON_LV = {"none": (140, 140), "ioband": (160, 80)}  # 0.86 of none's; 0.8 of none's on the disk


@pytest.fixture
def scenario() -> Scenario:
    return parse(TEXT, "S1", METRIC_OPTIONS)


def observed(own: Experiment) -> Observation:
    rates = dict(zip(("a", "b"), (ON_LV if own.on_lv else RATES)[own.peer], strict=True))
    if own.alone:
        rates[own.alone] = 250
    traces = {(job.name, 0): steady(rates[job.name], 0, 10) for job in own.setting.jobs}
    return Observation(
        own.setting, 10, 0.5, traces, notes=("of no feature",) * (own.peer == "ioband")
    )


class Made(Outcome):
    """An outcome that needs no guest."""

    def observation(self) -> Observation:
        return observed(self.experiment)


def lookup(scenario: Scenario) -> Lookup:
    def look(variant: str, peer: str, on_lv: bool, alone: str) -> Observation:
        return observed(experiment(scenario, scenario.full, variant, peer, on_lv, alone))

    return look


def goal(scenario: Scenario, name: str) -> Goal:
    return next(goal for goal in scenario.goals if goal.name == name)


def test_states(scenario: Scenario) -> None:
    verdicts = judge_all(scenario, scenario.full, lookup(scenario))
    states = {verdict.goal.name: verdict.state for verdict in verdicts}
    assert states == {
        "shares": "met",
        "throughput": "met",
        "half of alone": "missed",
        "just to know": "reported",
        "none shares nothing": "met",
    }
    surprises = [verdict.surprise for verdict in verdicts if verdict.surprise]
    assert len(surprises) == 1 and 'change "expect"' in surprises[0]
    quick = judge_all(scenario, scenario.full, lookup(scenario), quick=True)
    assert [verdict.goal.name for verdict in quick] == ["shares"]


def test_a_regression_is_a_surprise(scenario: Scenario) -> None:
    strict = replace(goal(scenario, "shares"), equals=3.0)
    verdict = judge(strict, scenario.full, lookup(scenario))
    assert verdict.state == "missed" and "shares: is missed (2" in verdict.surprise


def test_what_could_not_be_measured(scenario: Scenario) -> None:
    def fails(variant: str, peer: str, on_lv: bool, alone: str) -> Observation:
        raise ExperimentError("the kernel crashed\nand so on")

    def unseen(variant: str, peer: str, on_lv: bool, alone: str) -> Observation:
        raise MeasureError("the disk did not count")

    for look, why in ((fails, "the kernel crashed"), (unseen, "the disk did not count")):
        verdict = judge(goal(scenario, "shares"), scenario.full, look)
        assert (verdict.state, verdict.why) == ("unknown", why)
        assert verdict.surprise == f"shares: {why} at N=1"


@pytest.mark.parametrize("name", ["shares", "throughput", "just to know"])
def test_what_is_not_measured_is_a_surprise_whatever_is_expected(
    scenario: Scenario, name: str
) -> None:
    def crashed(variant: str, peer: str, on_lv: bool, alone: str) -> Observation:
        raise ExperimentError("the kernel crashed")

    def silent(variant: str, peer: str, on_lv: bool, alone: str) -> Observation:
        own = experiment(scenario, scenario.full, variant, peer, on_lv, alone)
        return Observation(own.setting, 10, 0.5, {("a", 0): EMPTY, ("b", 0): EMPTY})

    nothing: dict[str, Any] = {"metric": "first_latency_ms", "relative_to": ""}
    for look, one in ((crashed, {}), (silent, nothing)):
        verdict = judge(replace(goal(scenario, name), **one), scenario.full, look)
        assert verdict.state == "unknown" and verdict.surprise.startswith(f"{name}: ")


def test_nothing_to_compare_with_is_a_surprise(scenario: Scenario) -> None:
    def look(variant: str, peer: str, on_lv: bool, alone: str) -> Observation:
        own = experiment(scenario, scenario.full, variant, peer)
        own_trace = steady(100, 0, 10) if peer == "ioband" else EMPTY
        traces = {(job.name, 0): own_trace for job in own.setting.jobs}
        return Observation(own.setting, 10, 0.5, traces)

    whole = replace(goal(scenario, "throughput"), options={"window": [0, 10]})
    verdict = judge(whole, scenario.full, look)
    assert verdict.state == "unknown" and "to compare it with" in verdict.surprise


def test_excess(scenario: Scenario) -> None:
    shares = goal(scenario, "shares")
    assert excess(shares, 2.04) <= 1e-9 < excess(shares, 2.05)
    assert excess(shares, 1.96) <= 1e-9 < excess(shares, 1.95)
    assert excess(goal(scenario, "throughput"), 0.89) > 0 >= excess(goal(scenario, "throughput"), 1)


def test_each_variant_has_its_state(scenario: Scenario, tmp_path: Path) -> None:
    def look(variant: str, peer: str, on_lv: bool, alone: str) -> Observation:
        own = experiment(scenario, scenario.full, variant, peer, on_lv, alone)
        found = observed(own)
        if variant == "N=2":
            found.traces["a", 0] = steady(100, 0, 10)
        return found

    verdict = judge(goal(scenario, "shares"), scenario.full, look)
    assert verdict.state == "missed" and verdict.worst == "N=2"
    assert [verdict.state_of(name) for name in ("N=1", "N=2")] == ["met", "missed"]
    made = replace(results(scenario), verdicts=[verdict])
    page = report.page("S1", report.document(made))
    assert "| shares: 2.00 | N=1 | 2 | met |" in page
    assert "| shares: 2.00 | N=2 | 1 | **missed** |" in page


def test_flatness(scenario: Scenario) -> None:
    assert flatness_pct([10, 11]) == pytest.approx(10)
    assert flatness_pct([0, 11]) == math.inf
    assert math.isnan(flatness_pct([10, math.nan])) and math.isnan(flatness_pct([math.nan, 10]))
    flat = replace(goal(scenario, "throughput"), relative_to="", at_least=None, flat_pct=10)
    values = {"N=1": 100.0, "N=2": 80.0}

    def look(variant: str, peer: str, on_lv: bool, alone: str) -> Observation:
        own = experiment(scenario, scenario.full, variant, peer)
        traces = {(job.name, 0): steady(values[variant], 0, 10) for job in own.setting.jobs}
        return Observation(own.setting, 10, 0.5, traces)

    verdict = judge(flat, scenario.full, look)
    assert (verdict.state, verdict.worst) == ("missed", "all variants")
    assert verdict.values == {"all variants": pytest.approx(25, rel=0.01)}  # and no bandwidth
    assert verdict.surprise == ""  # it is expected
    values["N=2"] = 95.0
    assert judge(flat, scenario.full, look).state == "met"


def test_format_value() -> None:
    assert [format_value(value) for value in (2.00012, 12345.6, math.nan, math.inf)] == [
        "2",
        "12346",
        "-",
        "never",
    ]


def results(scenario: Scenario) -> report.Results:
    parts = [(v, p) for v in ("N=1", "N=2") for p in ("none", "ioband")]
    outcomes: list[Outcome] = [
        Made(experiment(scenario, scenario.full, *part), Path("made up")) for part in parts
    ]
    outcomes.append(Made(experiment(scenario, scenario.full, "N=1", "none", alone="b"), Path("x")))
    verdicts = judge_all(scenario, scenario.full, lookup(scenario))
    return report.Results(scenario, scenario.full, outcomes, verdicts, lookup(scenario))


def test_goals_are_judged_on_a_volume(scenario: Scenario) -> None:
    for on_lv, value in ((("ioband",), 0.8), (("none", "ioband"), 240 / 280)):
        run = replace(scenario.full, on_lv=on_lv)
        verdicts = judge_all(scenario, run, lookup(scenario))
        places = [each.on_lv for each in verdicts if each.goal.name == "throughput"]
        assert places == [False, True]
        verdict = next(v for v in verdicts if v.on_lv and v.goal.name == "throughput")
        assert verdict.state == "missed"
        assert verdict.values["N=1"] == pytest.approx(value, rel=0.01)


def test_outcomes_on_a_volume_are_found(scenario: Scenario) -> None:
    run = replace(scenario.full, on_lv=("none", "ioband"))
    short = replace(scenario, goals=(goal(scenario, "throughput"),))
    outcomes = [Made(one, Path("made up")) for one in expand(short, run)]
    made = conclude(short, run, [*outcomes], quick=False)
    assert [(each.on_lv, each.state) for each in made.verdicts] == [
        (False, "met"),
        (True, "missed"),
    ]
    assert made.verdicts[1].values["N=2"] == pytest.approx(240 / 280, rel=0.01)
    disk = [one for one in outcomes if not one.experiment.on_lv]
    lost = conclude(short, run, [*disk], quick=False).verdicts[1]
    assert lost.surprise == "throughput: ioband on a volume was not run at N=1 on a volume"


def test_what_is_expected_differs_from_place_to_place(scenario: Scenario) -> None:
    run = replace(scenario.full, on_lv=("none", "ioband"))
    wanted = replace(goal(scenario, "throughput"), expect="met", missed="")
    surprise = judge(wanted, run, lookup(scenario), on_lv=True).surprise
    places = "0.8571 at N=1 on a volume, 0.8571 at N=2 on a volume"
    assert surprise == f"throughput: is missed ({places})"
    some = replace(wanted, expect="missed", missed_in=("N=1 on a volume",))
    assert not judge(some, run, lookup(scenario)).surprise
    surprise = judge(some, run, lookup(scenario), on_lv=True).surprise
    assert surprise == "throughput: is missed (0.8571 at N=2 on a volume)"
    all_ = replace(some, missed_in=(*some.missed_in, "N=2 on a volume"))
    assert not judge(all_, run, lookup(scenario), on_lv=True).surprise
    surprise = judge(replace(all_, at_least=0.5), run, lookup(scenario), on_lv=True).surprise
    assert surprise == f'throughput: is met ({places}); change "expect" or "missed_in"'


ENVIRONMENT = {"kernel": "7.0", "fio": "fio-3"}


def test_pages(scenario: Scenario, tmp_path: Path) -> None:
    report.publish([results(scenario)], tmp_path, ENVIRONMENT, order)
    page = (tmp_path / "S1.md").read_text()
    assert "| shares: 2.00 | N=1 | 2 | met | 1 |\n" in page
    assert "**missed**" in page and "ioband: of no feature" in page and "only b" in page
    index = (tmp_path / "README.md").read_text()
    assert "| [S1](S1.md) | Two groups | 2 of 3 |" in index
    assert "half of alone" in index and "just to know" not in index
    found = json.loads((tmp_path / "results.json").read_text())
    rows = found["scenarios"]["S1"]["rows"]
    assert [(row["variant"], row["peer"]) for row in rows][:2] == [
        ("N=1", "none"),
        ("N=1", "ioband"),
    ]
    for name in ("S1-bandwidth.svg", "S1-latency.svg"):
        assert (tmp_path / name).read_text().startswith("<?xml")


def test_pages_show_goals_on_a_volume(scenario: Scenario, tmp_path: Path) -> None:
    run = replace(scenario.full, on_lv=("ioband",))
    made = replace(results(scenario), run=run)
    made = replace(made, verdicts=judge_all(scenario, run, lookup(scenario)))
    report.publish([made], tmp_path, ENVIRONMENT, order)
    page = (tmp_path / "S1.md").read_text()
    assert "| shares: 2.00 | N=1 on a volume | 2 | met | - |\n" in page
    assert "| throughput | N=2 on a volume | 0.8 | **missed** | - |\n" in page
    index = (tmp_path / "README.md").read_text()
    assert "| throughput | N=1 on a volume | 0.8 | **missed** |" in index
    # A goal that is missed on a volume is not met.
    assert "| [S1](S1.md) | Two groups | 1 of 3 |" in index


def test_pages_are_the_same_each_time(scenario: Scenario, tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for directory in (one, two):
        report.publish([results(scenario)], directory, ENVIRONMENT, order)
    names = sorted(path.name for path in one.iterdir())
    assert len(names) == 5
    for name in names:
        assert (one / name).read_bytes() == (two / name).read_bytes(), name


def test_it_is_said_of_each_peer_how_it_is_set_up() -> None:
    assert set(READ_BY) == set(PEERS)
    for peer in PEERS:
        assert f"`{peer}`" in report.SET_UP, peer


def test_pages_say_what_made_them(scenario: Scenario, tmp_path: Path) -> None:
    for peers, quick, command in (
        ((), False, "make lab S=S1"),
        (("bfq", "ioband"), False, "make lab S=S1 PEERS=bfq,ioband"),
        ((), True, "make lab S=S1 LAB_ARGS=--quick"),
        (("ioband",), True, "make lab S=S1 PEERS=ioband LAB_ARGS=--quick"),
    ):
        options = make_options(peers, quick)
        report.publish([results(scenario)], tmp_path, ENVIRONMENT, order, options)
        assert f"Made by `{command}`; 10 s" in (tmp_path / "S1.md").read_text()


def test_the_variant_that_is_drawn(scenario: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    def bandwidth(panels: list[plots.Panel], path: Path) -> None:
        shown.extend({panel.observation.setting.variant for panel in panels})

    monkeypatch.setattr(plots, "bandwidth", bandwidth)
    monkeypatch.setattr(plots, "latency", lambda panels, path: None)
    made = results(scenario)
    chosen = replace(made, scenario=parse(f'plot = "N=1"{TEXT}', "S1", METRIC_OPTIONS))
    short = replace(chosen, run=replace(scenario.full, variants=("N=2",)))
    for each, variant in ((made, "N=2"), (chosen, "N=1"), (short, "N=2")):
        report.draw(each, Path("nowhere"))
        assert shown == [variant]
        assert f'variant "{variant}"' in report.page("S1", report.document(each))
        shown.clear()


def test_other_scenarios_stay(scenario: Scenario, tmp_path: Path) -> None:
    report.publish([results(scenario)], tmp_path, ENVIRONMENT, order)
    other = replace(scenario, name="S10")
    again = replace(results(scenario), scenario=other)
    report.publish([again], tmp_path, ENVIRONMENT, order)
    assert list(json.loads((tmp_path / "results.json").read_text())["scenarios"]) == ["S1", "S10"]


def test_each_scenario_keeps_what_made_it(scenario: Scenario, tmp_path: Path) -> None:
    """A repeated scenario names its own kernel, the others keep theirs."""
    report.publish([results(scenario)], tmp_path, ENVIRONMENT, order)
    index = (tmp_path / "README.md").read_text()
    assert f"{ENVIRONMENT['fio']}, on Linux {ENVIRONMENT['kernel']}.\n" in index
    again = replace(results(scenario), scenario=replace(scenario, name="S10"))
    report.publish([again], tmp_path, ENVIRONMENT | {"kernel": "9.9"}, order)
    found = json.loads((tmp_path / "results.json").read_text())["scenarios"]
    assert found["S1"]["environment"] == ENVIRONMENT
    assert found["S10"]["environment"] == ENVIRONMENT | {"kernel": "9.9"}
    index = (tmp_path / "README.md").read_text()
    assert f"on Linux {ENVIRONMENT['kernel']} (S1); " in index and "on Linux 9.9 (S10).\n" in index


def test_a_failed_experiment_has_its_row(scenario: Scenario, tmp_path: Path) -> None:
    broken = results(scenario)
    own = broken.outcomes[1].experiment
    broken.outcomes[1] = Outcome(own, problem="the kernel crashed\nconsole")
    report.publish([broken], tmp_path, ENVIRONMENT, order)
    assert "| ioband | the kernel crashed |" in (tmp_path / "S1.md").read_text()


def test_figures_for_a_terminal(scenario: Scenario) -> None:
    text = report.figures_text(report.document(results(scenario)))
    heads = [line.split() for line in text.splitlines() if line.split()[0] == "peer"]
    assert len(heads) == 3 and "|" not in text
    ioband = next(line for line in text.splitlines() if line.split()[0] == "ioband")
    assert ioband.split()[:4] == ["ioband", "a", "66.7%", "66.7%"]


def test_many_groups_have_the_least_and_the_most_of_them() -> None:
    text = TEXT.replace('name = "b"\n', 'name = "b{i}"\ncount = 5\n', 1)
    text = text.replace('group = "b"', 'group = "b{i}"').replace('"b"', '"b1"')
    many = parse(text, "S1", METRIC_OPTIONS)
    own = experiment(many, many.full, "N=1", "ioband")
    rates = {"a": 200, "b1": 50, "b2": 150, "b3": 100, "b4": 100, "b5": 100}
    traces = {(name, 0): steady(rate, 0, 10) for name, rate in rates.items()}

    class One(Outcome):
        def observation(self) -> Observation:
            return Observation(own.setting, 10, 0.5, traces)

    made = report.Results(many, many.full, [One(own)], [], lookup(many))
    found = report.figures_text(report.document(made))
    line = next(line for line in found.splitlines() if "b (5)" in line)
    assert "71.4%  71.4%  0.50 to 1.50" in line
    assert "28.6%  28.6%          1.00" in next(
        line for line in found.splitlines() if "a  " in line
    )


def test_a_variant_of_another_length_is_told(scenario: Scenario) -> None:
    run = replace(scenario.full, seconds_of={"N=2": 30.0})
    page = report.page("S1", report.document(replace(results(scenario), run=run)))
    assert "10 s of virtual time for each experiment, 30 s with N=2." in page


def test_families() -> None:
    names = ["victim", *(f"client{i}" for i in range(1, 16)), "w1", "w2"]
    assert list(plots.kinds(names)) == ["victim", "client (15)", "w1", "w2"]


def test_up_to_sixteen_groups_have_a_line_each(scenario: Scenario) -> None:
    def drawn(count: int) -> list[str]:
        groups = f'name = "b{{i}}"\ncount = {count}\n'
        text = TEXT.replace('name = "b"\n', groups, 1).replace('group = "b"', 'group = "b{i}"')
        many = parse(text.replace('"b"', '"b1"'), "S1", METRIC_OPTIONS)
        return [label for label, _, _ in plots._lines(many.settings["N=1"])]

    assert drawn(2) == ["a", "b1", "b2"]
    assert drawn(16) == ["a", "b (16)", *["_b (16)"] * 15]  # the legend has one of them
    assert drawn(17) == ["a", "b (17)"]


def test_surprise_names_the_variant(scenario: Scenario) -> None:
    verdict = Verdict(goal(scenario, "shares"), {"N=2": 1.5}, "missed", "N=2", "")
    assert verdict.surprise == "shares: is missed (1.5 at N=2)"


def test_what_is_not_as_published_is_found(tmp_path: Path) -> None:
    def write(name: str, figure: float = 1.0, driver: str = "a", plot: str = "<svg/>") -> Path:
        directory = tmp_path / name
        directory.mkdir()
        environment = {"kernel": "6.1", "fio": "fio-3", "driver": driver, "disk": "", "guest": ""}
        found = {"rows": [figure], "environment": environment}
        (directory / report.NAME).write_text(json.dumps({"scenarios": {"S1": found}}))
        (directory / "S1.svg").write_text(plot)
        return directory

    published = write("published")
    assert compare(write("same"), published) == []
    assert compare(write("other-sources", driver="b"), published) == []
    assert compare(write("other-figures", figure=1.1), published) == [report.NAME]
    assert compare(write("other-plot", plot="<svg></svg>"), published) == ["S1.svg"]
    more = write("more")
    (more / "S2.md").touch()
    assert compare(more, published) == compare(published, more) == ["S2.md"]
