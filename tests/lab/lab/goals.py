# SPDX-License-Identifier: GPL-2.0-only
"""Comparison of goals with measured figures: met, missed or unknown, and why."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from .measure import METRICS
from .scenario import IDLE_DEVICE, Goal, Run, Scenario
from .traces import MeasureError, Observation
from .uml import ExperimentError

EVERY = "all variants"  # in place of a variant: a figure of all variants together
NOTHING = "there was nothing to measure, or to compare it with"

# The observation of (variant, peer, on a volume, only this subject or ""); raises the error that
# prevented it.
Lookup = Callable[[str, str, bool, str], Observation]


@dataclass(frozen=True)
class Verdict:
    """A goal on the disk or on a volume: its figure in each variant, and its state."""

    goal: Goal
    values: dict[str, float]
    state: str  # met, missed, reported or unknown
    worst: str  # the variant that decided
    why: str  # reason of "unknown"
    on_lv: bool = False

    def state_of(self, variant: str) -> str:
        """The state of the figure of one variant."""
        if self.state in ("reported", "unknown"):
            return self.state
        return held(self.goal, self.values[variant])

    @property
    def surprise(self) -> str:
        """The unexpected states, with a hint what to change; else empty."""
        if self.state == "reported":
            return ""
        if self.state == "unknown":
            # Unexpected always: a figure that is no longer measured would hide every change.
            return f"{self.goal.name}: {self.why}{self._at(self.worst)}"
        found: dict[str, list[str]] = {}
        for variant, value in self.values.items():
            if (state := self.state_of(variant)) != self.goal.expected(variant, self.on_lv):
                found.setdefault(state, []).append(format_value(value) + self._at(variant))
        texts = [f"is {state} ({', '.join(each)})" for state, each in found.items()]
        if "met" in found:
            texts.append('change "expect" or "missed_in"')
        return f"{self.goal.name}: {'; '.join(texts)}" if texts else ""

    def _at(self, variant: str) -> str:
        return (f" at {variant}" if variant else "") + " on a volume" * self.on_lv


def format_value(value: float) -> str:
    """Four significant digits."""
    if math.isnan(value):
        return "-"
    if math.isinf(value):
        return "never"
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _parts_of(goal: Goal, run: Run, on_lv: bool) -> list[str]:
    return [variant for variant in run.variants_on(on_lv) if variant in goal.variants]


def variants_of(goal: Goal, run: Run, on_lv: bool = False) -> list[str]:
    """The variants of a run, on the disk or on a volume, with a figure for a goal."""
    found = _parts_of(goal, run, on_lv)
    if goal.flat_pct is None:
        return found
    return [EVERY] if len(found) > 1 else []


def value_of(
    goal: Goal, run: Run, variant: str, peer: str, look: Lookup, on_lv: bool = False
) -> float:
    """The figure that decides a goal, for any peer; on a volume, relative to others there."""
    if variant == EVERY:
        parts = _parts_of(goal, run, on_lv)
        return flatness_pct([_part(goal, run, each, peer, look, on_lv) for each in parts])
    return _part(goal, run, variant, peer, look, on_lv)


def _part(goal: Goal, run: Run, variant: str, peer: str, look: Lookup, on_lv: bool) -> float:
    metric = METRICS[goal.metric].value
    value = metric(look(variant, peer, on_lv, ""), goal.of, goal.options)
    if goal.relative_to == IDLE_DEVICE:
        base = metric(look(variant, "none", False, goal.base[0]), goal.base, goal.options)
    elif goal.relative_to:
        on_lv = on_lv and goal.relative_to in run.on_lv
        base = metric(look(variant, goal.relative_to, on_lv, ""), goal.base, goal.options)
    else:
        return value
    return value / base if base else math.nan


def excess(goal: Goal, value: float) -> float:
    """Distance of a value beyond its bounds, as a part of the bound; met if not positive."""
    found = []
    if goal.equals is not None:
        tolerance = abs(goal.equals) * goal.within_pct / 100
        found.append((abs(value - goal.equals) - tolerance) / (abs(goal.equals) or 1))
    if goal.at_least is not None:
        found.append((goal.at_least - value) / (abs(goal.at_least) or 1))
    if goal.at_most is not None:
        found.append((value - goal.at_most) / (abs(goal.at_most) or 1))
    if goal.flat_pct is not None:
        found.append((value - goal.flat_pct) / (goal.flat_pct or 1))
    return max(found, default=-math.inf)


def held(goal: Goal, value: float) -> str:
    """Whether a value is within the bounds of a goal: met or missed."""
    return "met" if excess(goal, value) <= 1e-9 else "missed"


def flatness_pct(values: list[float]) -> float:
    """The excess of the largest value over the smallest, in percent."""
    if any(math.isnan(value) for value in values):
        return math.nan
    least = min(values)
    return (max(values) / least - 1) * 100 if least > 0 else math.inf


def judge(goal: Goal, run: Run, look: Lookup, on_lv: bool = False) -> Verdict:
    """Compare a goal with the observations of a run, on the disk or on a volume."""
    values: dict[str, float] = {}

    def verdict(state: str, worst: str, why: str = "") -> Verdict:
        return Verdict(goal, values, state, worst, why, on_lv)

    for variant in variants_of(goal, run, on_lv):
        try:
            values[variant] = value_of(goal, run, variant, goal.peer, look, on_lv)
        except (MeasureError, ExperimentError) as err:
            return verdict("unknown", variant, str(err).partition("\n")[0])
        if math.isnan(values[variant]):
            return verdict("unknown", variant, NOTHING)
    if not values:
        return verdict("unknown", "", "none of its variants is in this run")
    worst = max(values, key=lambda variant: excess(goal, values[variant]))
    if not goal.bounded:
        return verdict("reported", worst)
    return verdict(held(goal, values[worst]), worst)


def chosen(scenario: Scenario, run: Run, quick: bool = False) -> list[tuple[Goal, bool]]:
    """All goals of a run (in the quick form, those marked quick) with peers that take part.

    A goal for a peer that also runs on a volume applies twice: on the disk, and on the volume.
    """
    return [
        (goal, on_lv)
        for goal in scenario.goals
        if goal.peer in run.peers and (goal.quick or not quick)
        for on_lv in (False, True)
        if not on_lv or (goal.peer in run.on_lv and variants_of(goal, run, on_lv))
    ]


def judge_all(scenario: Scenario, run: Run, look: Lookup, quick: bool = False) -> list[Verdict]:
    """Compare all goals of a run with its observations."""
    return [judge(goal, run, look, on_lv) for goal, on_lv in chosen(scenario, run, quick)]
