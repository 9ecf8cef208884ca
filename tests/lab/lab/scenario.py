# SPDX-License-Identifier: GPL-2.0-only
"""Scenarios: competing groups, disks, figures to measure, and goals.

A scenario is a TOML file (see S1.toml for a short one).  With variants,
"$name" stands for the variant's value.  A group with count = N stands for N
groups, and "{i}" for their numbers from 1; a list among fio's options has one
value for each group in turn.  Reading a file gives plain values, or a
ScenarioError that names the file, the key, and valid values.
"""

import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

DIRECTORY = Path(__file__).resolve().parents[1] / "scenarios"
PEERS = (
    "none",
    "mq-deadline",
    "kyber",
    "bfq",
    "bfq-2048",
    "bfq-low-latency",
    "io.cost",
    "io.cost-100",
    "io.cost-auto",
    "io.cost-latency",
    "io.latency",
    "io.max",
    "io.prio",
    "ioband",
)
FILE_SYSTEMS = ("", "ext4", "xfs")
MEASURES = ("bytes", "ios", "time")
IDLE_DEVICE = "alone"  # goals compare with a peer, or with the same jobs alone

Option = str | int | float


class ScenarioError(ValueError):
    """A scenario file is wrong; the text says where, and the valid values."""


@dataclass(frozen=True)
class Disk:
    """A modelled disk, with the parameters that differ from the defaults."""

    model: str
    parameters: dict[str, Option]


@dataclass(frozen=True)
class Volume:
    """A part of the disk: a linear logical volume, with or without a file system."""

    name: str
    size_mib: int
    fs: str


@dataclass(frozen=True)
class Pool:
    """The settings of ioband's pool."""

    measure: str
    target_ms: float


@dataclass(frozen=True)
class Group:
    """A cgroup and its settings."""

    name: str
    path: str
    weight: int
    min_mibps: float
    max_mibps: float
    latency_ms: float
    prio_class: str


@dataclass(frozen=True)
class Job:
    """A fio job of a group, on a volume, and its times (seconds from the start)."""

    name: str
    group: str
    volume: str
    active: tuple[tuple[float, float], ...]
    fio: dict[str, Option]


PLAIN_POOL = Pool("bytes", 0)


@dataclass(frozen=True)
class Setting:
    """One variant of a scenario, with all values substituted."""

    variant: str
    disk: Disk
    pool: Pool
    volumes: tuple[Volume, ...]
    groups: tuple[Group, ...]
    jobs: tuple[Job, ...]

    def group(self, name: str) -> Group:
        """The group of this name."""
        return next(group for group in self.groups if group.name == name)

    def members(self, subject: str) -> list[Job]:
        """The jobs that a goal selects by the name of a group, of a job, or by "*"."""
        return [job for job in self.jobs if subject in ("*", job.group, job.name)]


def named(variant: str, on_lv: bool) -> str:
    """The name of a variant in the tables, on the disk or on a volume."""
    return f"{variant} on a volume".strip() if on_lv else variant


@dataclass(frozen=True)
class Goal:
    """A figure and its bounds, for one peer."""

    name: str
    text: str
    metric: str
    of: tuple[str, ...]
    options: dict[str, Any]
    peer: str
    relative_to: str
    base: tuple[str, ...]  # subject there
    equals: float | None
    within_pct: float
    at_least: float | None
    at_most: float | None
    flat_pct: float | None
    variants: tuple[str, ...]
    expect: str
    missed_in: tuple[str, ...]  # by named(); empty is everywhere
    missed: str  # reason and earlier attempts, with expect = "missed"
    quick: bool
    sanity: bool

    @property
    def bounded(self) -> bool:
        """Whether the goal has bounds; a figure without bounds is only reported."""
        return any(
            bound is not None for bound in (self.equals, self.at_least, self.at_most, self.flat_pct)
        )

    def expected(self, variant: str, on_lv: bool) -> str:
        """The expected state."""
        if self.missed_in and named(variant, on_lv) not in self.missed_in:
            return "met"
        return self.expect


@dataclass(frozen=True)
class Run:
    """Duration and participants of a run; the quick form is a run of its own."""

    seconds: float
    seconds_of: dict[str, float]  # variants of another length
    settle: float
    settle_of: dict[str, float]  # likewise
    sample_ms: int
    peers: tuple[str, ...]
    on_lv: tuple[str, ...]  # peers that run on a volume as well
    on_lv_variants: tuple[str, ...]
    variants: tuple[str, ...]

    def length(self, variant: str) -> float:
        """The length of a variant in seconds."""
        return self.seconds_of.get(variant, self.seconds)

    def settled(self, variant: str) -> float:
        """The seconds at the start of a variant that do not count."""
        return self.settle_of.get(variant, self.settle)

    def variants_on(self, on_lv: bool) -> tuple[str, ...]:
        """The variants that run on the disk, or on a volume."""
        return self.on_lv_variants if on_lv else self.variants


@dataclass(frozen=True)
class Scenario:
    """A scenario file."""

    name: str
    title: str
    text: str
    plot: str  # the variant in the plots
    full: Run
    quick: Run | None
    settings: dict[str, Setting]
    goals: tuple[Goal, ...]
    options: dict[str, Any] = field(default_factory=dict)


class _Table:
    """A table of the file from which keys are taken; keys left at the end are errors."""

    def __init__(self, where: str, values: object):
        if not isinstance(values, dict):
            raise ScenarioError(f"{where}: {values!r} is not a table")
        self.where = where
        self.values = dict(values)

    def fail(self, key: str, wrong: str) -> ScenarioError:
        return ScenarioError(f"{self.where}{key}: {wrong}")

    def take(self, key: str, default: Any = ...) -> Any:
        if key not in self.values and default is ...:
            raise self.fail(key, "is missing")
        return self.values.pop(key, default)

    def text(self, key: str, default: Any = ...) -> str:
        value = self.take(key, default)
        if not isinstance(value, str):
            raise self.fail(key, f"{value!r} is not a text")
        return value

    def choice(self, key: str, choices: tuple[str, ...], default: Any = ...) -> str:
        value = self.text(key, default)
        if value not in choices:
            raise self.fail(key, f"{value!r} is none of {', '.join(filter(None, choices))}")
        return value

    def choices(self, key: str, choices: tuple[str, ...], default: Any = ...) -> tuple[str, ...]:
        values = self.take(key, default)
        if not isinstance(values, list | tuple):
            raise self.fail(key, f"{values!r} is not a list")
        for value in values:
            if value not in choices:
                raise self.fail(key, f"{value!r} is none of {', '.join(choices)}")
        return tuple(values)

    def number(self, key: str, least: float, most: float, default: Any = ...) -> float:
        value = self.take(key, default)
        if isinstance(value, str) and re.fullmatch(r"\d+(\.\d+)?", value):
            value = float(value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.fail(key, f"{value!r} is not a number")
        if not least <= value <= most:
            raise self.fail(key, f"{value:g} is not in the range of {least:g} to {most:g}")
        return value

    def optional_number(self, key: str) -> float | None:
        return self.number(key, -1e12, 1e12) if key in self.values else None

    def whole(self, key: str, least: int, most: int, default: Any = ...) -> int:
        value = self.number(key, least, most, default)
        if value != int(value):
            raise self.fail(key, f"{value:g} is not a whole number")
        return int(value)

    def flag(self, key: str, default: bool) -> bool:
        value = self.take(key, default)
        if not isinstance(value, bool):
            raise self.fail(key, f"{value!r} is neither true nor false")
        return value

    def table(self, key: str, default: Any = ...) -> "_Table":
        return _Table(f"{self.where}{key}.", self.take(key, default))

    def tables(self, key: str, default: Any = ...) -> list["_Table"]:
        values = self.take(key, default)
        if not isinstance(values, list):
            raise self.fail(key, "is not a list of tables: write [[" + key + "]]")
        return [_Table(f"{self.where}{key}[{i}].", value) for i, value in enumerate(values, 1)]

    def end(self, known: str) -> None:
        for key in self.values:
            raise self.fail(key, f"there is no such key; there are {known}")


def _substitute(value: Any, values: dict[str, Any], where: str) -> Any:
    """Substitute a variant's values for "$name"."""
    if isinstance(value, dict):
        return {k: _substitute(v, values, f"{where}{k}.") for k, v in value.items()}
    if isinstance(value, list):
        return [_substitute(v, values, where) for v in value]
    if not isinstance(value, str):
        return value
    for name in re.findall(r"\$(\w+)", value):
        if name not in values:
            known = ", ".join(f"${key}" for key in values) or "no variants"
            raise ScenarioError(f"{where[:-1]}: ${name} is not known; there are {known}")
    if match := re.fullmatch(r"\$(\w+)", value):
        return values[match[1]]
    return re.sub(r"\$(\w+)", lambda match: str(values[match[1]]), value)


def _numbered(value: Any, index: int) -> Any:
    """Substitute a number for "{i}"."""
    return value.replace("{i}", str(index)) if isinstance(value, str) else value


def _read_disk(table: _Table) -> Disk:
    disk = Disk(table.text("model"), dict(table.take("parameters", {})))
    table.end("model and parameters")
    return disk


def _read_pool(table: _Table) -> Pool:
    pool = Pool(
        table.choice("measure", MEASURES, PLAIN_POOL.measure),
        table.number("target_ms", 0, 1e4, PLAIN_POOL.target_ms),
    )
    table.end("measure and target_ms")
    return pool


def _read_volume(table: _Table) -> Volume:
    volume = Volume(
        table.text("name"),
        table.whole("size_mib", 1, 1 << 24),
        table.choice("fs", FILE_SYSTEMS, ""),
    )
    table.end("name, size_mib and fs")
    return volume


def _read_groups(table: _Table) -> list[Group]:
    count = table.whole("count", 1, 100_000, 1)
    groups = []
    for index in range(1, count + 1):
        values = {key: _numbered(value, index) for key, value in table.values.items()}
        groups.append(_read_group(_Table(table.where, values)))
    if count > 1 and len({group.name for group in groups}) == 1:
        raise table.fail("name", 'of several groups needs "{i}"')
    return groups


def _read_group(table: _Table) -> Group:
    name = table.text("name")
    group = Group(
        name=name,
        path=table.text("path", f"/{name}"),
        weight=table.whole("weight", 1, 10_000, 100),
        min_mibps=table.number("min_mibps", 0, 1e6, 0),
        max_mibps=table.number("max_mibps", 0, 1e6, 0),
        latency_ms=table.number("latency_ms", 0, 1e5, 0),
        prio_class=table.text("prio_class", ""),
    )
    table.end("name, path, weight, count, min_mibps, max_mibps, latency_ms and prio_class")
    if not re.fullmatch(r"(/[\w.-]+)+", group.path):
        raise table.fail("path", f"{group.path!r} is not a path such as /tenant/web")
    return group


def _read_active(table: _Table, seconds: float) -> tuple[tuple[float, float], ...]:
    spans = table.take("active", [[0, seconds]])
    good = isinstance(spans, list) and all(
        isinstance(span, list)
        and len(span) == 2
        and all(isinstance(edge, int | float) for edge in span)
        for span in spans
    )
    if not good:
        raise table.fail("active", f"{spans!r} is not a list of spans in seconds, as [[0, 2.5]]")
    edges = [edge for span in spans for edge in span]
    if edges != sorted(edges) or min(edges, default=0) < 0:
        raise table.fail("active", f"{spans!r} is not in the order of time")
    return tuple((start, end) for start, end in spans)


def _read_jobs(
    table: _Table, groups: list[Group], volumes: list[Volume], seconds: float
) -> list[Job]:
    pattern = table.text("group")
    wanted = re.compile(re.escape(pattern).replace(re.escape("{i}"), r"(\d+)"))
    matches = [(g, match) for g in groups if (match := wanted.fullmatch(g.name))]
    if not matches:
        names = ", ".join(group.name for group in groups[:8])
        raise table.fail("group", f"there is no group {pattern!r}; there are {names}")
    name = table.text("name", pattern)
    known = tuple(volume.name for volume in volumes) if volumes else ("",)
    volume = table.choice("volume", known, known[0])
    active = _read_active(table, seconds)  # empty: no such job in this variant
    fio = table.take("fio")
    if not isinstance(fio, dict):
        raise table.fail("fio", f"{fio!r} is not a table of fio's options")
    table.end("name, group, volume, active and fio")
    jobs: list[Job] = []
    for index, (group, match) in enumerate(matches if active else ()):
        number = int(match[1]) if match.groups() else 1
        options = {
            key: _numbered(value[index % len(value)] if isinstance(value, list) else value, number)
            for key, value in fio.items()
        }
        jobs.append(Job(_numbered(name, number), group.name, volume, active, options))
    return jobs


def _unique(where: str, kind: str, names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ScenarioError(f"{where}{kind}: there are several of the name {name!r}")


def _read_setting(variant: str, table: _Table, seconds: float) -> Setting:
    disk = _read_disk(table.table("disk"))
    pool = _read_pool(_Table(f"{table.where}pool.", table.take("pool", {})))
    volumes = [_read_volume(each) for each in table.tables("volume", [])]
    groups = [group for each in table.tables("group") for group in _read_groups(each)]
    _unique(table.where, "volume", [volume.name for volume in volumes])
    _unique(table.where, "group", [group.name for group in groups])
    jobs = [
        job for each in table.tables("job") for job in _read_jobs(each, groups, volumes, seconds)
    ]
    _unique(table.where, "job", [job.name for job in jobs])
    return Setting(variant, disk, pool, tuple(volumes), tuple(groups), tuple(jobs))


RUN_KEYS = (
    "seconds, seconds_of, settle, settle_of, sample_ms, peers, on_lv, on_lv_variants and variants"
)


def _read_times(table: _Table, key: str, variants: tuple[str, ...]) -> dict[str, float]:
    times = table.table(key, {})
    for name in times.values:
        if name not in variants:
            raise times.fail(name, f"there is no such variant; there are {', '.join(variants)}")
    return {name: times.number(name, 0, 3600) for name in dict(times.values)}


def _read_run(table: _Table, variants: tuple[str, ...], default: Run | None) -> Run:
    base = default or Run(0, {}, 0.5, {}, 0, (), (), variants, variants)
    run = Run(
        seconds=table.number("seconds", 0.01, 3600, base.seconds if default else ...),
        seconds_of=_read_times(table, "seconds_of", variants),
        settle=table.number("settle", 0, 3600, base.settle),
        settle_of=_read_times(table, "settle_of", variants),
        sample_ms=table.whole("sample_ms", 0, 10_000, base.sample_ms),
        peers=table.choices("peers", PEERS, base.peers if default else ...),
        on_lv=table.choices("on_lv", PEERS, () if default else base.on_lv),
        variants=(chosen := table.choices("variants", variants, base.variants)),
        on_lv_variants=table.choices("on_lv_variants", chosen, chosen),
    )
    table.end(RUN_KEYS)
    for name in run.variants:
        if run.settled(name) >= run.length(name):
            wrong = f"{run.settled(name):g} leaves nothing of {run.length(name):g} seconds"
            raise table.fail("settle", wrong)
    return run


GOAL_KEYS = (
    "name, text, metric, of, peer, relative_to, base, equals, within_pct, at_least, at_most, "
    "flat_pct, variants, expect, missed_in, missed, quick, sanity and the metric's options"
)


def _read_subjects(table: _Table, key: str, default: list[str], known: set[str]) -> tuple[str, ...]:
    names = table.take(key, default)
    for name in (names := [names] if isinstance(names, str) else names):
        if name not in known | {"*"}:
            raise table.fail(key, f"there is no group or job {name!r}")
    return tuple(names)


def _read_goal(
    table: _Table,
    run: Run,
    subjects: set[str],
    metrics: dict[str, tuple[str, ...]],
) -> Goal:
    variants = run.variants
    metric = table.choice("metric", tuple(metrics))
    of = _read_subjects(table, "of", ["*"], subjects)
    goal = Goal(
        name=table.text("name"),
        text=table.text("text", ""),
        metric=metric,
        of=of,
        options={key: table.take(key) for key in metrics[metric] if key in table.values},
        peer=table.choice("peer", PEERS, "ioband"),
        relative_to=table.choice("relative_to", ("", IDLE_DEVICE, *PEERS), ""),
        base=_read_subjects(table, "base", list(of), subjects),
        equals=table.optional_number("equals"),
        within_pct=table.number("within_pct", 0, 100, 0),
        at_least=table.optional_number("at_least"),
        at_most=table.optional_number("at_most"),
        flat_pct=table.optional_number("flat_pct"),
        variants=table.choices("variants", variants, variants),
        expect=table.choice("expect", ("met", "missed", ""), ""),
        missed_in=tuple(table.take("missed_in", ())),
        missed=table.text("missed", ""),
        quick=table.flag("quick", False),
        sanity=table.flag("sanity", False),
    )
    table.end(GOAL_KEYS)
    others = (goal.equals, goal.at_least, goal.at_most)
    if goal.flat_pct is not None and others != (None, None, None):
        raise table.fail("flat_pct", "bounds another figure than equals, at_least and at_most do")
    if goal.relative_to == IDLE_DEVICE and len(goal.base) != 1:
        raise table.fail("base", "is one group or job when compared with what it does alone")
    if goal.bounded != bool(goal.expect):
        raise table.fail("expect", 'is "met" or "missed" for a goal with bounds, else left out')
    if goal.missed_in and (goal.expect != "missed" or goal.flat_pct is not None):
        raise table.fail("missed_in", 'says in which variants, if "expect" is "missed"')
    places = [named(each, False) for each in run.variants if each in goal.variants]
    places += [named(each, True) for each in run.on_lv_variants if each in goal.variants]
    for place in goal.missed_in:
        if place not in places:
            raise table.fail("missed_in", f"{place!r} is none of {', '.join(places)}")
    if (goal.expect == "missed") != bool(goal.missed):
        raise table.fail("missed", 'says why a goal is missed, where "expect" says that it is')
    return goal


def parse(text: str, name: str, metrics: dict[str, tuple[str, ...]], where: str = "") -> Scenario:
    """Read a scenario; metrics are the names allowed in goals, with their options."""
    where = where or f"{name}.toml"
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as err:
        raise ScenarioError(f"{where}: {err}") from None
    top = _Table(f"{where}: ", raw)
    title, about = top.text("title"), top.text("text", "")
    values = top.take("variants", {"": {}})
    if not isinstance(values, dict) or not all(isinstance(v, dict) for v in values.values()):
        raise top.fail("variants", 'is not a table of tables, as "N=4" = { n = 4 }')
    variants = tuple(values)
    plot = top.choice("plot", variants, variants[-1])
    full = _read_run(top.table("run"), variants, None)
    quick = _read_run(top.table("quick"), variants, full) if "quick" in top.values else None
    goals_table = top.tables("goal")
    keys = ("disk", "pool", "volume", "group", "job")
    parts = {key: top.take(key) for key in keys if key in top.values}
    top.end("title, text, plot, disk, pool, volume, group, job, variants, run, quick and goal")
    settings = {
        variant: _read_setting(
            variant,
            _Table(f"{where}: ", _substitute(parts, own, f"{where}: ")),
            full.length(variant),
        )
        for variant, own in values.items()
    }
    for variant, setting in settings.items():
        if any(group.latency_ms for group in setting.groups):
            continue
        for key, run in (("run", full), ("quick", quick)):
            if run and "io.cost-latency" in (*run.peers, *run.on_lv):
                wrong = f"io.cost-latency needs a group with latency_ms; {variant!r} has none"
                raise ScenarioError(f"{where}: {key}: {wrong}")
    subjects = {each for setting in settings.values() for each in _subjects(setting)}
    goals = tuple(_read_goal(each, full, subjects, metrics) for each in goals_table)
    _unique(f"{where}: ", "goal", [goal.name for goal in goals])
    return Scenario(name, title, about, plot, full, quick, settings, goals)


def _subjects(setting: Setting) -> Iterator[str]:
    for group in setting.groups:
        yield group.name
    for job in setting.jobs:
        yield job.name


def order(name: str) -> tuple[int, str]:
    """The order of scenarios: S1 first, names without a number last."""
    number = re.match(r"S(\d+)$", name)
    return (int(number[1]) if number else 1000, name)


def load_all(
    metrics: dict[str, tuple[str, ...]],
    directory: Path = DIRECTORY,
    wanted: Callable[[str], bool] = lambda name: True,
) -> list[Scenario]:
    """The scenarios of a directory, S1 first."""
    paths = sorted(directory.glob("*.toml"), key=lambda path: order(path.stem))
    return [
        parse(path.read_text(), path.stem, metrics, path.name)
        for path in paths
        if wanted(path.stem)
    ]
