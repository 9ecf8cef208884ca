# SPDX-License-Identifier: GPL-2.0-only
"""The published results: a page and two plots a scenario, results.json, and an index of all goals.

For the README, one plot compares the peers in one scenario.
"""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import plots
from .goals import Lookup, Verdict, format_value, value_of, variants_of
from .measure import summary
from .runner import Outcome
from .scenario import PEERS, Goal, Run, Scenario, named
from .traces import MeasureError
from .uml import ExperimentError

NAME = "results.json"
# The scenario in the README, the group that the others starve, and the plot.
SHOWN = ("S5", "victim")
SHOWN_PLOT = "S5-peers.svg"
MARKS = {"met": "met", "missed": "**missed**", "reported": "", "unknown": "not measured"}


@dataclass(frozen=True)
class Results:
    """The results of one scenario: experiments, and states of its goals."""

    scenario: Scenario
    run: Run
    outcomes: list[Outcome]
    verdicts: list[Verdict]
    look: Lookup


def _number(value: float) -> float | str | None:
    """A figure in JSON, which has no infinity."""
    if math.isnan(value):
        return None
    return "never" if math.isinf(value) else float(f"{value:.6g}")


def row_of(outcome: Outcome) -> dict[str, Any]:
    """One experiment in results.json."""
    own = outcome.experiment
    row: dict[str, Any] = {
        "variant": own.setting.variant,
        "peer": own.peer,
        "on_lv": own.on_lv,
        "alone": own.alone,
    }
    try:
        return row | summary(outcome.observation())
    except (ExperimentError, MeasureError) as err:
        return row | {"problem": str(err).partition("\n")[0]}


def _peers_values(results: Results, verdict: Verdict) -> dict[str, dict[str, Any]]:
    """The figures of the other peers by the same measure."""
    found: dict[str, dict[str, Any]] = {}
    run, on_lv = results.run, verdict.on_lv
    for peer in run.peers:
        if on_lv and peer not in run.on_lv:
            continue
        for variant in variants_of(verdict.goal, run, on_lv):
            try:
                value = _number(value_of(verdict.goal, run, variant, peer, results.look, on_lv))
            except (ExperimentError, MeasureError):
                value = None
            found.setdefault(peer, {})[variant] = value
    return found


def described(goal: Goal, on_lv: bool) -> dict[str, Any]:
    """A goal in results.json, as in its file."""
    return {
        "name": goal.name,
        "text": goal.text,
        "peer": goal.peer,
        "on_lv": on_lv,
        "sanity": goal.sanity,
        "metric": goal.metric,
        "of": list(goal.of),
        "options": goal.options,
        "relative_to": goal.relative_to,
        "equals": goal.equals,
        "within_pct": goal.within_pct,
        "at_least": goal.at_least,
        "at_most": goal.at_most,
        "flat_pct": goal.flat_pct,
        "expect": goal.expect,
        "missed_in": list(goal.missed_in),
        "missed": goal.missed,
    }


def _judged(results: Results, verdict: Verdict) -> dict[str, Any]:
    """A goal in results.json, with its figures and its state."""
    return described(verdict.goal, verdict.on_lv) | {
        "state": verdict.state,
        "worst": verdict.worst,
        "why": verdict.why,
        "values": {key: _number(value) for key, value in verdict.values.items()},
        "states": {key: verdict.state_of(key) for key in verdict.values},
        "peers": _peers_values(results, verdict),
    }


def about(scenario: Scenario, run: Run) -> dict[str, Any]:
    """A scenario in results.json, without results."""
    return {
        "title": scenario.title,
        "text": " ".join(scenario.text.split()),
        "seconds": run.seconds,
        "seconds_of": run.seconds_of,
        "settle": run.settle,
        "settle_of": run.settle_of,
        "drawn": drawn(scenario, run),
    }


def document(results: Results) -> dict[str, Any]:
    """One scenario in results.json."""
    order = {peer: index for index, peer in enumerate(PEERS)}
    rows = sorted(
        (row_of(outcome) for outcome in results.outcomes),
        key=lambda row: (
            [*results.scenario.settings, ""].index(row["variant"]),
            row["alone"],
            order[row["peer"]],
            row["on_lv"],
        ),
    )
    return about(results.scenario, results.run) | {
        "goals": [_judged(results, verdict) for verdict in results.verdicts],
        "rows": rows,
    }


def table(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table in Markdown; columns of numbers are aligned to the right."""
    columns = [[line[index] for line in lines] for index in range(len(heads))]
    rule = ["---:" if all(map(_is_number, column)) else "---" for column in columns]
    return "\n".join(f"| {' | '.join(line)} |" for line in (heads, rule, *lines))


def _is_number(cell: str) -> bool:
    return cell in ("", "-", "never") or cell[0].isdigit()


def _cell(value: float | str | None, percent: bool = False) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, str):
        return value
    return f"{value:.1%}" if percent else format_value(value)


def _merged(groups: dict[str, dict[str, Any]], members: Sequence[str]) -> dict[str, Any]:
    """Several groups as one line: sums where values add up, the worst of latencies."""
    each = [groups[name] for name in members]
    merged = {key: sum(one[key] for one in each) for key in ("mbps", "iops", "share")}
    merged["asked"] = (
        sum(one["asked"] for one in each) if all(one["asked"] is not None for one in each) else None
    )
    weight = merged["iops"] or 1
    merged["mean_ms"] = sum(one["mean_ms"] * one["iops"] for one in each if one["iops"]) / weight
    for key in ("p99_ms", "max_ms"):
        merged[key] = max((one[key] for one in each if one["iops"]), default=math.nan)
    merged["parts"] = [one["share"] / one["asked"] for one in each if one["asked"]]
    return merged


def _range(values: Sequence[float]) -> str:
    """One value, or the least and the largest of several."""
    ends = dict.fromkeys(f"{value:.2f}" for value in (min(values), max(values))) if values else "-"
    return " to ".join(ends)


def _peer_lines(
    row: dict[str, Any], best: float, families: dict[str, list[str]]
) -> list[list[str]]:
    """The lines of one experiment in its table: one for each group, and one for all."""
    name = row["peer"] + (" on a volume" if row["on_lv"] else "")
    if "problem" in row:
        return [[name, row["problem"], *["-"] * (len(HEADS) - 2)]]
    lines = []
    for label, members in families.items():
        found = _merged(row["groups"], members)
        figures = [_cell(found[key]) for key in ("mbps", "iops", "mean_ms", "p99_ms", "max_ms")]
        shares = [_cell(found[key], percent=True) for key in ("share", "asked")]
        lines.append([name, label, *shares, _range(found["parts"]), *figures, "", ""])
        name = ""
    part = row["total_mbps"] / best if best else math.nan
    equal = f"{row['jain']:.4f}" if row["jain"] is not None else ""
    start, end = row["window_s"]
    lines.append(
        [
            "",
            f"all, {start:.1f} to {end:.1f} s",
            "",
            "",
            "",
            _cell(row["total_mbps"]),
            *[""] * 4,
            equal,
            f"{part:.1%}",
        ]
    )
    return lines


ABOUT_FIGURES = """\
The last line of a peer gives the measured part of the run.  It begins when all jobs have settled,
and ends with the first job; if jobs take turns, it is nearly the whole run.  "Share" is the part of
a group in all I/O.  "Asked" is the part that the weights give the group for its active time.  "Got"
is "share" divided by "asked"; a reader that waits for each I/O may be unable to reach 1.  For many
groups of a kind, "got" is a range from the least to the most.  Jain's index is that of "got".  All
four count bytes; where weights share time, they count the time of the modelled disk.  "Asked" is
"-" where a maximum or a minimum decides as well."""
HEADS = (
    "peer",
    "group",
    "share",
    "asked",
    "got",
    "MB/s",
    "IOPS",
    "mean ms",
    "p99 ms",
    "max ms",
    "Jain",
    "of best",
)


def _goal_lines(found: dict[str, Any], sanity: bool) -> list[list[str]]:
    """The goals of a scenario in its table, one line for each variant."""
    lines = []
    for goal in found["goals"]:
        if goal["sanity"] != sanity:
            continue
        for variant in goal["values"] or [goal["worst"]]:
            value = goal["values"].get(variant)
            others = [
                _cell(goal["peers"].get(peer, {}).get(variant))
                for peer in PEERS
                if peer != "ioband"
            ]
            what = f"{goal['name']}{': ' if goal['text'] else ''}{goal['text']}"
            state = MARKS[goal["states"].get(variant, goal["state"])]
            if goal["state"] == "unknown":
                state += f": {goal['why']}"
            own = [goal["peer"]] if sanity else []
            where = named(variant, goal["on_lv"])
            lines.append([what, where, *own, _cell(value), state, *([] if sanity else others)])
    return lines


SET_UP = """\
* `none`, `mq-deadline`, `kyber`: the scheduler with the kernel's default settings.
* `bfq`: weights in `io.bfq.weight`; `low_latency` is 0, because its heuristics raise weights.
* `bfq-2048`: the same with 2048 requests (`nr_requests`), the maximum, instead of 256; in scenarios
  with more than 256 waiting I/Os.
* `bfq-low-latency`: BFQ with `low_latency` at its default of 1; in scenarios with published
  measurements of this setting.
* `io.cost`: weights in `io.weight`; qos `ctrl=user min=50 max=90`.  The linear model is measured on
  the same disk with the six loads of the kernel's `tools/cgroup/iocost_coef_gen.py`.  io.cost
  shares only while it throttles.  At 90 % of the model it loses a tenth of the bandwidth.  It loses
  more where the capacity of the disk depends on the mix of loads, which a model of six coefficients
  does not describe.
* `io.cost-100`: the same at the full rate of the model, `max=100`; in S1, S2 and S5.  In S1 the
  model is exact and the disk is saturated: io.cost-100 shares and loses nothing.  In S2 it
  throttles no group, so it does not share.  In S5 the model is not exact.
* `io.cost-auto`: the same with the kernel's defaults, qos `ctrl=auto`, which throttle once requests
  wait for tags.  Where they wait, it shares without losing a tenth: in S1, and less exactly in S3
  with many groups.  Where they do not, as in S2, S4 and S5, it has no effect.
* `io.cost-latency`: the same with a latency, qos `ctrl=user rpct=95 rlat=LATENCY min=25 max=100`.
  It slows down while one read in twenty takes longer, to no less than a quarter of the model.
  LATENCY is four times the least target of io.latency.  With the target itself, S5 runs at the
  quarter, and the victim gets less.  In S9 it gives up two thirds of the bandwidth, and reads are
  no faster.  In S14 the application does not end within the run.
* `io.latency`: the target of a group is the mean latency of its I/O alone and 15 %, as the
  documentation of io.latency recommends.  Groups that need no target have a large one, because
  io.latency throttles only groups with a target.
* `io.max`: the maximum of the scenario.
* `io.prio`: `io.prio.class` with mq-deadline.
* `ioband`: one pool with groups by cgroup, over the disk or over each volume.  The rotating disk
  has `slice=124`, the default of `iobandctl create`, and `measure=time` where the scenario shares
  time.  Minima, maxima and the pool's latency target are those of the scenario.  S9 has a target of
  0.76 ms in one variant, and of 0.77 ms in another.

Under io.cost, io.latency and io.max, a rotating disk has mq-deadline, the kernel's default, and
other disks have none.  Under ioband every disk has none.  "On a volume" is a linear device-mapper
device over the disk.  S10, S14 and S15 need several volumes, and always run on them.
`tests/lab/guest/peers.py` sets up the peers, `tests/lab/scenarios` has the groups and their jobs,
and `results.json` has all figures in machine-readable form."""
ABOUT_GOALS = """\
A goal is a bound that the project has set itself; no peer reaches some of them.  The figure is from
the variant that is farthest from its bound.  The figures of the peers are from the same measure and
the same variant.  "-" stands for a peer without a run, and "never" for a peer with I/Os that were
incomplete when the run ended.  Runs on a volume have a line of their own; a goal counts as met if
it is met there too."""
GOAL_HEADS = ("goal", "variant", "ioband", "state", *(peer for peer in PEERS if peer != "ioband"))
SEARCH = ("search.json", "search.md", "search.svg")
ABOUT_SEARCH = """\
[Random loads](search.md) are no scenarios and have no peers: `make search` judges the scheduler
alone by them, in a simulator."""
SANITY_HEADS = ("property", "variant", "peer", "figure", "state")


def goals_table(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table of goals, without the columns of peers that have no figure in it."""
    kept = [
        index
        for index, head in enumerate(heads)
        if head not in PEERS or any(line[index] != "-" for line in lines)
    ]
    return table(
        [heads[index] for index in kept], [[line[index] for index in kept] for line in lines]
    )


def _times(found: dict[str, Any]) -> str:
    """The lengths of experiments."""
    others = "".join(f", {length:g} s with {name}" for name, length in found["seconds_of"].items())
    return f"{found['seconds']:g} s of virtual time for each experiment{others}."


def page(name: str, found: dict[str, Any], options: str = "") -> str:
    """The page of one scenario, in Markdown; the options are those of make lab."""
    parts = [f"# {name}: {found['title']}", found["text"]]
    parts.append(f"Made by `make lab S={name}{options}`; {_times(found)}")
    if goals := _goal_lines(found, sanity=False):
        parts += ["## Goals", goals_table(GOAL_HEADS, goals)]
    why = {
        f"* **{each['name']}**: {each['missed']}": 0 for each in found["goals"] if each["missed"]
    }
    if why:
        parts += ["## Why goals are missed", "\n".join(why)]
    if sane := _goal_lines(found, sanity=True):
        parts += ["## Known properties of the peers", table(SANITY_HEADS, sane)]
    if found["drawn"]:
        parts.append(f'The plots show the variant "{found["drawn"]}".')
    parts += [f"![bandwidth]({name}-bandwidth.svg)", f"![latency]({name}-latency.svg)"]
    parts += ["## Figures", ABOUT_FIGURES]
    if any(row.get("at_disk") for row in found["rows"]):
        parts.append("Bytes are counted at the disk, IOPS and latencies by fio.")
    parts += _figure_tables(found)
    notes = sorted({f"{row['peer']}: {n}" for row in found["rows"] for n in row.get("notes", [])})
    if notes:
        parts += ["## Notes", "\n".join(f"* {note}" for note in notes)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _figure_tables(found: dict[str, Any]) -> list[str]:
    """One table for each variant, and one for the jobs that run alone."""
    parts = []
    for variant in dict.fromkeys(row["variant"] for row in found["rows"] if not row["alone"]):
        rows = [row for row in found["rows"] if row["variant"] == variant and not row["alone"]]
        best = max((row.get("total_mbps", 0) for row in rows), default=0)
        known = next((row["groups"] for row in rows if "groups" in row), {})
        kinds = plots.kinds(known)
        lines = [line for row in rows for line in _peer_lines(row, best, kinds)]
        parts += [f"### {variant}" if variant else "", table(HEADS, lines)]
    alone = [row for row in found["rows"] if row["alone"]]
    if alone:
        lines = []
        for row in alone:
            kinds = plots.kinds(row.get("groups", {}))
            shown = _peer_lines(row, row.get("total_mbps", 0), kinds)
            lines += [
                [f"only {row['alone']} {row['variant']}".strip(), *line[1:]] for line in shown[:-1]
            ]
        parts += ["### Alone", table(HEADS, lines)]
    return parts


def figures_text(found: dict[str, Any]) -> str:
    """The same tables for a terminal: columns aligned, without Markdown."""
    lines = []
    for part in _figure_tables(found):
        if not part.startswith("|"):
            lines.append(part.strip("# "))
            continue
        rows = [[cell.strip() for cell in line[1:-1].split("|")] for line in part.splitlines()]
        del rows[1]
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        for row in rows:
            cells = zip(row, widths, strict=True)
            text = [c.ljust(w) if i < 2 else c.rjust(w) for i, (c, w) in enumerate(cells)]
            lines.append("  " + "  ".join(text).rstrip())
    return "\n".join(line for line in lines if line)


def index(everything: dict[str, Any]) -> str:
    """The page of all scenarios with their goals."""
    lines, rows = [], []
    for name, found in everything["scenarios"].items():
        met = _met(found)
        met_of = f"{sum(met.values())} of {len(met)}"
        rows.append([f"[{name}]({name}.md)", found["title"], met_of])
        for goal in found["goals"]:
            if not goal["sanity"] and goal["state"] != "reported":
                lines.append(_index_line(name, goal))
    head = (
        "All figures are measured in virtual time, on modelled disks, with the real module,\n"
        f"the kernel's own policies and {_made_with(everything['scenarios'])}.\n"
        "`make lab` reproduces them to the byte on any processor, with the same Debian packages.\n"
        "Writeback is reproduced approximately only, because it depends on all users of memory."
    )
    return (
        "\n\n".join(
            (
                "# Results",
                head,
                table(("scenario", "load", "goals met"), rows),
                ABOUT_SEARCH,
                "## How the peers are set up\n\n" + SET_UP,
                "## Goals\n\n" + ABOUT_GOALS,
                goals_table(("scenario", *GOAL_HEADS), lines),
            )
        )
        + "\n"
    )


def _made_with(scenarios: dict[str, Any]) -> str:
    """fio and the kernel; each with its own, if scenarios were run at different times."""
    users: dict[str, list[str]] = {}
    for name, found in scenarios.items():
        own = found["environment"]
        users.setdefault(f"{own['fio']}, on Linux {own['kernel']}", []).append(name)
    if len(users) == 1:
        return next(iter(users))
    return "; ".join(f"{what} ({', '.join(names)})" for what, names in users.items())


def _met(found: dict[str, Any]) -> dict[str, bool]:
    """The goals with bounds, and whether they are met on the disk and on a volume."""
    met: dict[str, bool] = {}
    for goal in found["goals"]:
        if not goal["sanity"] and goal["state"] != "reported":
            met[goal["name"]] = met.get(goal["name"], True) and goal["state"] == "met"
    return met


def _index_line(name: str, goal: dict[str, Any]) -> list[str]:
    worst = goal["worst"]
    others = [_cell(goal["peers"].get(p, {}).get(worst)) for p in PEERS if p != "ioband"]
    what = f"{goal['name']}{': ' if goal['text'] else ''}{goal['text']}"
    value = _cell(goal["values"].get(worst))
    where = named(worst, goal["on_lv"])
    return [f"[{name}]({name}.md)", what, where, value, MARKS[goal["state"]], *others]


def drawn(scenario: Scenario, run: Run) -> str:
    """The variant in the plots: the scenario's choice, else the last one of the run."""
    wanted, variants = scenario.plot, run.variants
    return wanted if wanted in variants else variants[-1]


def draw(results: Results, directory: Path) -> None:
    """The plots of one variant of a scenario."""
    variant = drawn(results.scenario, results.run)
    panels = []
    for outcome in sorted(results.outcomes, key=lambda one: PEERS.index(one.experiment.peer)):
        own = outcome.experiment
        if own.setting.variant == variant and not own.on_lv and not own.alone and outcome.directory:
            panels.append(plots.Panel(own.peer, outcome.observation()))
    if panels:
        plots.bandwidth(panels, directory / f"{results.scenario.name}-bandwidth.svg")
        plots.latency(panels, directory / f"{results.scenario.name}-latency.svg")


def compared(everything: dict[str, Any]) -> list[plots.Compared]:
    """The peers in the scenario of the README, on the disk itself."""
    name, group = SHOWN
    rows = [
        row
        for row in everything["scenarios"].get(name, {"rows": []})["rows"]
        if not row["on_lv"] and not row["alone"] and "problem" not in row
    ]
    best = max((row["total_mbps"] for row in rows), default=0)
    return [
        plots.Compared(
            row["peer"],
            tuple(row["groups"][group][f"{kind}_ms"] for kind in plots.LATENCIES),
            row["total_mbps"] / best,
        )
        for row in rows
    ]


def publish(
    every: Sequence[Results],
    directory: Path,
    environment: dict[str, str],
    order: Callable[[str], Any],
    options: str = "",
) -> None:
    """Write all pages; scenarios that were not run keep their part of results.json.

    The options are those of make lab.
    """
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / NAME
    known = json.loads(path.read_text()) if path.exists() else {"scenarios": {}}
    for results in every:
        name = results.scenario.name
        known["scenarios"][name] = found = document(results) | {"environment": environment}
        (directory / f"{name}.md").write_text(page(name, found, options))
        draw(results, directory)
    known = {
        "scenarios": {
            name: known["scenarios"][name] for name in sorted(known["scenarios"], key=order)
        }
    }
    path.write_text(json.dumps(known, indent=1) + "\n")
    (directory / "README.md").write_text(index(known))
    if peers := compared(known):
        plots.comparison(peers, f"the {SHOWN[1]}", directory / SHOWN_PLOT)
