# SPDX-License-Identifier: GPL-2.0-only
"""make lab: run scenarios, publish the results, and report goals with an unexpected state."""

import argparse
import filecmp
import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.module import REPO

from . import report, sources
from .goals import Verdict, judge_all
from .measure import METRIC_OPTIONS
from .runner import Environment, Outcome, Runner, expand, experiment, forget_old, make_environment
from .scenario import PEERS, Run, Scenario, ScenarioError, load_all, named, order
from .traces import Observation
from .uml import ExperimentError

RESULTS = REPO / "Documentation/results"
PARTS = REPO / "build/lab"
CHECKED = REPO / "build/lab-check"


class Gathered:
    """The outcomes of a scenario's run, each read once."""

    def __init__(self, scenario: Scenario, run: Run, outcomes: list[Outcome]):
        self._scenario, self._run = scenario, run
        self.outcomes = {
            (own.setting.variant, own.peer, own.on_lv, own.alone): one
            for one in outcomes
            if (own := one.experiment)
        }
        self._observations: dict[tuple[str, str, bool, str], Observation] = {}

    def look(self, variant: str, peer: str, on_lv: bool, alone: str) -> Observation:
        """The observation of one experiment."""
        wanted = experiment(self._scenario, self._run, variant, peer, on_lv, alone)
        key = (wanted.setting.variant, peer, on_lv, alone)
        if key not in self.outcomes:
            raise ExperimentError(f"{named(peer, on_lv)} was not run")
        if key not in self._observations:
            self._observations[key] = self.outcomes[key].observation()
        return self._observations[key]


def conclude(scenario: Scenario, run: Run, outcomes: list[Outcome], quick: bool) -> report.Results:
    """Compare a scenario's goals with the measured figures."""
    gathered = Gathered(scenario, run, outcomes)
    verdicts = judge_all(scenario, run, gathered.look, quick)
    return report.Results(scenario, run, outcomes, verdicts, gathered.look)


def run_scenarios(
    scenarios: list[Scenario], runner: Runner, peers: tuple[str, ...] = (), quick: bool = False
) -> list[report.Results]:
    """Run all experiments of scenarios."""
    runs = {
        each.name: replace(run, peers=tuple(p for p in run.peers if not peers or p in peers))
        for each in scenarios
        if (run := each.quick if quick else each.full)
    }
    experiments = [
        one
        for each in scenarios
        if each.name in runs
        for one in expand(each, runs[each.name], quick)
    ]
    outcomes: dict[str, list[Outcome]] = {name: [] for name in runs}
    for outcome in runner.run(experiments):
        if outcome.experiment.scenario in outcomes:
            outcomes[outcome.experiment.scenario].append(outcome)
    return [
        conclude(each, runs[each.name], outcomes[each.name], quick)
        for each in scenarios
        if each.name in runs
    ]


def say(results: report.Results) -> list[str]:
    """Print the goals of a scenario; returns the unexpected states."""
    surprises = [verdict.surprise for verdict in results.verdicts if verdict.surprise]
    surprises += [
        f"{one.experiment.label}: {one.problem}" for one in results.outcomes if one.problem
    ]
    print(f"{results.scenario.name}: {results.scenario.title}")
    for verdict in results.verdicts:
        print(f"  {_line(verdict)}")
    print(report.figures_text(report.document(results)))
    return [f"{results.scenario.name}: {text}" for text in surprises]


def _line(verdict: Verdict) -> str:
    values = ", ".join(
        f"{named(variant, verdict.on_lv)} {value:.4g}".strip()
        for variant, value in verdict.values.items()
    )
    goal = verdict.goal
    what = f"{goal.peer}: {goal.name}" + (f" ({goal.text})" if goal.text else "")
    return f"{verdict.state:8} {what}: {values or verdict.why}"


def _words(text: str, known: tuple[str, ...], what: str) -> tuple[str, ...]:
    words = tuple(word for word in text.replace(",", " ").split())
    for word in words:
        if word not in known:
            sys.exit(f"{what} {word!r} is unknown; there are {', '.join(known)}")
    return words


def environment_words(environment: Environment) -> dict[str, str]:
    """The environment as named in the results, without anything of the host."""
    return {"kernel": environment.kernel.release, "fio": environment.fio, **sources.words()}


def _figures(directory: Path) -> dict[str, Any]:
    """The contents of results.json, without the words for sources."""
    path = directory / report.NAME
    found = json.loads(path.read_text()) if path.exists() else {"scenarios": {}}
    for scenario in found["scenarios"].values():
        for part in sources.PARTS:
            scenario["environment"].pop(part, None)
    return found


def compare(anew: Path, published: Path) -> list[str]:
    """The files that differ, byte by byte, between two directories of results.

    Different sources may give the same results, so the words for sources do not count.
    """
    names = {path.name for directory in (anew, published) for path in directory.iterdir()}
    _, different, missing = filecmp.cmpfiles(anew, published, sorted(names), shallow=False)
    if report.NAME in different and _figures(anew) == _figures(published):
        different.remove(report.NAME)
    return sorted([*different, *missing])


def make_options(peers: tuple[str, ...], quick: bool) -> str:
    """The options of "make lab S=..." that repeat this run."""
    return f" PEERS={','.join(peers)}" * bool(peers) + " LAB_ARGS=--quick" * quick


def main() -> None:
    """Run scenarios of the laboratory."""
    parser = argparse.ArgumentParser(prog="lab", description=main.__doc__)
    parser.add_argument("--scenarios", default="", help="as S1,S5; all by default")
    parser.add_argument("--peers", default="", help=f"some of {','.join(PEERS)}; all by default")
    parser.add_argument("--quick", action="store_true", help="the short form that tests run")
    parser.add_argument("--anew", action="store_true", help="also what is in the cache")
    parser.add_argument("--results", type=Path, help=f"where pages are written ({RESULTS})")
    parser.add_argument(
        "--check", action="store_true", help="write nothing there, but say what would be different"
    )
    args = parser.parse_args()
    if args.check and (args.scenarios or args.peers or args.quick or args.results):
        parser.error("--check is of all that is published, so it goes with --anew only")
    try:
        scenarios = load_all(METRIC_OPTIONS)
    except ScenarioError as err:
        sys.exit(str(err))
    wanted = _words(args.scenarios, tuple(each.name for each in scenarios), "scenario")
    peers = _words(args.peers, PEERS, "peer")
    scenarios = [each for each in scenarios if not wanted or each.name in wanted]
    environment = make_environment()
    forget_old()
    every = run_scenarios(scenarios, Runner(environment, args.anew), peers, args.quick)
    surprises = [text for results in every for text in say(results)]
    # Published results have all peers.
    directory = args.results or (PARTS if args.quick or peers else RESULTS)
    if args.check:
        directory = CHECKED
        shutil.rmtree(directory, ignore_errors=True)
    options = make_options(peers, args.quick)
    report.publish(every, directory, environment_words(environment), order, options)
    print("Written to", *(f"{directory}/{results.scenario.name}.md" for results in every))
    different = compare(CHECKED, RESULTS) if args.check else []
    if surprises:
        print("Not as expected:", *surprises, sep="\n  ")
    if different:
        print("Not as published in Documentation/results:", *different, sep="\n  ")
        print(f"What came out is in {CHECKED.relative_to(REPO)}: compare with diff -r.")
    elif args.check:
        print("All as published in Documentation/results.")
    sys.exit(bool(surprises or different))


if __name__ == "__main__":
    main()
