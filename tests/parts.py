# SPDX-License-Identifier: GPL-2.0-only
"""The parts of a run: tests that one process runs together, and the seconds that they take.

Tests in one kind of guest share it, so a part has tests of one kind and one file.  How long
a test takes is read from seconds.json, which `python3 tests/parts.py keep build/test.xml`
writes from the measurements of a run.
"""

import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from xml.etree import ElementTree

import pytest

SECONDS = Path(__file__).with_name("seconds.json")
# Shorter tests are left out of seconds.json.
SHORT_S = 0.5
# A longer part is divided, unless a fixture of its file serves several of its tests.
LONG_S = 120
GUEST = "guest "


def kind_of(item: pytest.Item) -> str:
    """The kind of guest that a test runs in, or the directory of a test that needs none."""
    if "kernel_name" not in getattr(item, "fixturenames", ()):
        return item.path.parent.name
    marker = item.get_closest_marker("guest")
    options = [f"{name}={value}" for name, value in marker.kwargs.items()] if marker else []
    # xdist takes what follows the last @ for the group, if no ] comes after it.
    words = re.sub(r"[^\w.= ]", "", " ".join(sorted(options)))
    return f"{GUEST}{item.callspec.params['kernel_name']} {words}".strip()


def _measured() -> dict[str, float]:
    """Seconds by test; short tests are left out."""
    return json.loads(SECONDS.read_text()) if SECONDS.exists() else {}


def _is_shared(item: pytest.Item) -> bool:
    """Whether a fixture that serves several tests of a file serves this one."""
    fixtures = item._fixtureinfo.name2fixturedefs.values()
    return any(each.scope == "module" for defined in fixtures for each in defined)


def put_in_parts(items: list[pytest.Item]) -> None:
    """Mark each test with its part for xdist, and put the longest part first.

    The name of a part is KIND/FILE/NUMBER:SECONDS.
    """
    known = _measured()
    parts: dict[str, list[pytest.Item]] = {}
    totals: dict[str, float] = {}
    for item in items:
        name = f"{kind_of(item)}/{item.path.stem}"
        seconds = known.get(item.nodeid, SHORT_S / 5)
        divided = f"{name}/{totals.get(name, 0) // LONG_S:.0f}"
        totals[name] = totals.get(name, 0) + seconds
        parts.setdefault(f"{name}/0" if _is_shared(item) else divided, []).append(item)
    sums = {
        name: sum(known.get(item.nodeid, SHORT_S / 5) for item in members)
        for name, members in parts.items()
    }
    for name, members in parts.items():
        for item in members:
            item.add_marker(pytest.mark.xdist_group(f"{name}:{sums[name]:.0f}"))
    items[:] = [item for name in sorted(sums, key=sums.get, reverse=True) for item in parts[name]]


def table(times: Mapping[str, float]) -> list[str]:
    """Lines with the seconds of each kind, the longest first, and their sum."""
    rows = [*sorted(times.items(), key=lambda each: -each[1]), ("in all", sum(times.values()))]
    return [f"{seconds:8.0f}  {kind}" for kind, seconds in rows]


def _cases(files: Iterable[str]) -> Iterator[tuple[str, str, float]]:
    """The tests in junit.xml files that were not skipped: name, kind and seconds."""
    for file in files:
        for case in ElementTree.parse(file).iter("testcase"):
            kind = case.find("properties/property[@name='kind']")
            # What fails in its teardown is there twice, and has its properties once.
            if case.find("skipped") is None and kind is not None:
                path = case.get("classname").replace(".", "/")
                test = case.get("name").rsplit("@", 1)[0]
                yield f"{path}.py::{test}", kind.get("value"), float(case.get("time"))


def _keep_seconds(files: Iterable[str]) -> None:
    """Write the seconds of each test of some runs to seconds.json; later files win."""
    found = _measured() | {test: round(seconds, 1) for test, _, seconds in _cases(files)}
    kept = {test: seconds for test, seconds in sorted(found.items()) if seconds >= SHORT_S}
    SECONDS.write_text(json.dumps(kept, indent=0) + "\n")


def _print_table(files: Iterable[str]) -> None:
    """Print the table of all tests of some runs."""
    times: dict[str, float] = defaultdict(float)
    for _, kind, seconds in _cases(files):
        times[kind] += seconds
    print("\n".join(table(times)))


if __name__ == "__main__":
    verbs = {"keep": _keep_seconds, "table": _print_table}
    if len(sys.argv) < 3 or sys.argv[1] not in verbs:
        sys.exit(f"usage: {sys.argv[0]} {'|'.join(verbs)} JUNIT.XML...")
    verbs[sys.argv[1]](sys.argv[2:])
