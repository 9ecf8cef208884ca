# SPDX-License-Identifier: GPL-2.0-only
"""Plots of a scenario, as SVG with reproducible bytes.

One image has the bandwidth of each group over time, another the distribution of
latencies; each has a panel for every peer.  A third one compares the peers: the latency
of one group, and the total throughput.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import numpy as np

matplotlib.use("svg")
import matplotlib.pyplot as plt

from .measure import MIB
from .scenario import Setting
from .traces import Observation, Trace

COLUMNS = 4
BUCKETS = 60
QUANTILES = 60
FAMILY = 5  # from so many on, groups of one kind are listed as one
SINGLE = 16  # up to so many have a line each; more have one line
STYLE = {
    "svg.hashsalt": "dm-ioband",
    "svg.fonttype": "none",
    "font.size": 8,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "path.simplify": False,
}


LATENCIES = {"mean": "o", "p99": "|", "max": "x"}


class Compared(NamedTuple):
    """One peer of a comparison: latencies of the group as in LATENCIES, and throughput."""

    peer: str
    latencies_ms: tuple[float, ...]
    part: float  # of the best throughput

    @property
    def labels(self) -> tuple[str, str]:
        """The figures as text beside the marks."""
        latencies = " / ".join(f"{ms:.2f}" if ms < 10 else f"{ms:.0f}" for ms in self.latencies_ms)
        return latencies, f"{self.part:.0%}"


class Panel(NamedTuple):
    """One experiment of an image."""

    title: str
    observation: Observation


def families(setting: Setting) -> dict[str, list[str]]:
    """The groups with I/O, by the name under which they are shown."""
    return kinds(group.name for group in setting.groups if setting.members(group.name))


def kinds(names: Iterable[str]) -> dict[str, list[str]]:
    """Merge names that differ in a number at their end, if there are many."""
    alike: dict[str, list[str]] = {}
    for name in names:
        match = re.fullmatch(r"(.*?)\d+", name)
        alike.setdefault(match[1] if match else name, []).append(name)
    found = {}
    for kind, members in alike.items():
        if len(members) >= FAMILY:
            found[f"{kind} ({len(members)})"] = members
        else:
            found |= {member: [member] for member in members}
    return found


def _picture(
    panels: Sequence[Panel],
    draw: Callable[[Any, Observation], None],
    labels: tuple[str, str],
    path: Path,
) -> None:
    """Panels side by side, COLUMNS in a row, with the same axes."""
    with plt.rc_context(STYLE):
        rows = -(-len(panels) // COLUMNS)
        columns = min(COLUMNS, len(panels))
        size = (2.6 * columns, 2.0 * rows + 0.3)
        figure, axes = plt.subplots(
            rows, columns, figsize=size, squeeze=False, sharex=True, sharey=True
        )
        for axis in axes.flat[len(panels) :]:
            axis.set_visible(False)
        for axis, panel in zip(axes.flat, panels, strict=False):
            draw(axis, panel.observation)
            axis.set_title(panel.title)
            axis.tick_params(labelbottom=True)
            axis.set_xlabel(labels[0])
        axes.flat[0].set_ylim(bottom=0)  # for all, once everything is drawn
        for row in axes:
            row[0].set_ylabel(labels[1])
        handles = axes.flat[0].get_legend_handles_labels()
        figure.legend(*handles, loc="lower center", ncol=6, frameon=False)
        figure.tight_layout(rect=(0, 0.09 / rows, 1, 1))
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
        plt.close(figure)


def _lines(setting: Setting) -> list[tuple[str, list[str], dict[str, Any]]]:
    """The label, the groups and the style of each line; of equal groups, one has the label."""
    found: list[tuple[str, list[str], dict[str, Any]]] = []
    for index, (label, members) in enumerate(families(setting).items()):
        style = {"color": f"C{index}", "linewidth": 1}
        if 1 < len(members) <= SINGLE:
            thin = style | {"linewidth": 0.4}
            found += [(f"_{label}" if i else label, [m], thin) for i, m in enumerate(members)]
        else:
            found.append((label, members, style))
    return found


def _rates(trace: Trace, seconds: float) -> tuple[Any, Any]:
    edges = np.linspace(0, seconds, BUCKETS + 1)
    width = seconds / BUCKETS
    moved = np.histogram(trace.at_s, edges, weights=trace.bytes)[0]
    return edges[:-1] + width / 2, np.round(moved / width / MIB, 3)


def _disk_rates(obs: Observation, names: Sequence[str]) -> tuple[Any, Any]:
    """The same from the samples at the disk, for writes through the page cache."""
    moments = np.array([sample.at_s for sample in obs.samples])
    moved = np.array(
        [
            sum(sample.read.get(name, 0) + sample.written.get(name, 0) for name in names)
            for sample in obs.samples
        ]
    )
    edges = np.linspace(0, float(moments[-1]), BUCKETS + 1)
    width = edges[1] - edges[0]
    values = np.diff(np.interp(edges, moments, moved)) / width / MIB
    return edges[:-1] + width / 2, np.round(values, 3)


def bandwidth(panels: Sequence[Panel], path: Path) -> None:
    """MiB/s of each group over time."""

    def draw(axis: Any, obs: Observation) -> None:
        for label, members, style in _lines(obs.setting):
            if obs.samples:
                times, rates = _disk_rates(obs, members)
            else:
                times, rates = _rates(obs.trace(*members), obs.seconds)
            axis.plot(times, rates, label=label, **style)

    _picture(panels, draw, ("seconds", "MiB/s"), path)


def latency(panels: Sequence[Panel], path: Path) -> None:
    """Cumulative distribution of the latencies of each group."""
    parts = np.linspace(0, 1, QUANTILES + 1)

    def draw(axis: Any, obs: Observation) -> None:
        start, end = obs.window({})
        for label, members, style in _lines(obs.setting):
            values = obs.trace(*members).between(start, end).latency_s
            if values.size:
                points = np.quantile(values, parts, method="inverted_cdf") * 1e3
                axis.plot(np.round(points, 6), parts, label=label, **style)
        axis.set_xscale("log")

    _picture(panels, draw, ("ms", "part of the I/Os"), path)


def comparison(peers: Sequence[Compared], group: str, path: Path) -> None:
    """The latency of one group, and the total throughput, a line for each peer."""
    with plt.rc_context(STYLE):
        figure, (left, right) = plt.subplots(
            1, 2, figsize=(8, 0.25 * len(peers) + 1), sharey=True, width_ratios=(3, 2)
        )
        places = range(len(peers))
        colors = ["C3" if each.peer == "ioband" else "C7" for each in peers]
        for index, (name, marker) in enumerate(LATENCIES.items()):
            values = [each.latencies_ms[index] for each in peers]
            left.scatter(values, places, marker=marker, c=colors, zorder=2, label=name)
        left.set_xscale("log")
        left.margins(x=0.1)
        right.barh(places, [each.part * 100 for each in peers], color=colors)
        right.set_xlim(0, 125)
        for place, each in enumerate(peers):
            latencies, part = each.labels
            left.text(1.02, place, latencies, va="center", transform=left.get_yaxis_transform())
            right.text(each.part * 100 + 2, place, part, va="center")
        left.set_yticks(places, [each.peer for each in peers])
        left.invert_yaxis()
        left.set_xlabel(f"ms: latency of {group}, {' / '.join(LATENCIES)}")
        right.set_xlabel("% of the best throughput, all groups")
        left.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncol=3, frameon=False)
        figure.tight_layout(w_pad=8)
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
        plt.close(figure)
