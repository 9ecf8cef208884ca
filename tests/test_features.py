# SPDX-License-Identifier: GPL-2.0-only
"""Check the table of features: the tests and goals named for a feature exist and show it."""

import json
import re
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[1]
PAGE = REPO / "Documentation/features.rst"
RESULTS = REPO / "Documentation/results/results.json"
TEST = r"``(tests/[\w/]+\.py)::(test_\w+)``"
GOAL = r"``([SV]\d+): ([^`]+)``"
MISSING = "Missing: "


def table(page: str) -> dict[str, str]:
    """The column of ioband in the table, by capability."""
    block = re.search(r"\.\. csv-table::\n(?:   :.*\n)+\n((?:   .*\n)+)", page)[1]
    head, *rows = [[cell.strip() for cell in line.split("|")] for line in block.splitlines()]
    assert head[:2] == ["capability", "ioband"]
    assert {len(row) for row in rows} == {len(head)}
    return {row[0]: row[1] for row in rows}


def shown(page: str) -> dict[str, str]:
    """The text below each capability, in the table or not."""
    found = re.findall(r"^(\w.*)\n((?: {4}\S.*\n)+)", page, re.MULTILINE)
    return {name: " ".join(text.split()) for name, text in found}


def states() -> dict[tuple[str, str], bool]:
    """Whether each goal is met, on the disk and on a volume, by scenario and name."""
    found: dict[tuple[str, str], bool] = {}
    for scenario, one in json.loads(RESULTS.read_text())["scenarios"].items():
        for goal in one["goals"]:
            if not goal["sanity"] and goal["state"] != "reported":
                key = (scenario, goal["name"])
                found[key] = found.get(key, True) and goal["state"] == "met"
    return found


def wrong_in(page: str) -> list[str]:
    """The errors of the page."""
    entries, texts, met = table(page), shown(page), states()
    wrong = [f"no text: {name}" for name in entries if name not in texts]
    admitted = set()
    for name, text in texts.items():
        shows, _, lacks = text.partition(MISSING)
        goals = re.findall(GOAL, shows)
        admitted |= set(re.findall(GOAL, lacks))
        if not goals and not re.search(TEST, shows):
            wrong.append(f"nothing shows it: {name}")
        if name in entries and (entries[name] == "yes") == bool(lacks):
            wrong.append(f"'{entries[name]}', and this is missing: '{lacks}': {name}")
        wrong += [f"not met: {goal}" for goal in goals if not met.get(goal)]
    wrong += [f"met: {goal}" for goal in sorted(admitted) if met.get(goal, True)]
    wrong += [
        f"not admitted: {goal}" for goal, state in met.items() if not (state or goal in admitted)
    ]
    for file, test in re.findall(TEST, page):
        path = REPO / file
        if not path.exists() or not re.search(rf"^def {test}\(", path.read_text(), re.MULTILINE):
            wrong.append(f"no test: {file}::{test}")
    return wrong


def test_features_are_shown() -> None:
    page = PAGE.read_text()
    assert len(table(page)) >= 25
    assert wrong_in(page) == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("::test_two_groups``", "::test_two_group``", "no test: "),
        ("``S4: shares``", "much", "not admitted: ('S4', 'shares')"),
        ("``S1: shares``", "``S4: shares``", "not met: ('S4', 'shares')"),
        ("``S4: shares``", "``S1: shares``", "met: ('S1', 'shares')"),
        ("``S1: shares``", "``S1: sharing``", "not met: ('S1', 'sharing')"),
        ("where CPUs, not the device, are the limit |", "yes |", "'yes', and this is missing"),
        ("Missing: zoned", "Zoned", "'all but zoned ones', and this is missing: ''"),
        ("``tests/unit/iobandctl/test_explain", "``test_explain", "nothing shows it: why a group"),
        ("hard maximum in", "A maximum in", "no text: hard maximum in"),
    ],
)
def test_what_is_not_true_is_found(old: str, new: str, said: str) -> None:
    """Replace one word of the page."""
    page = PAGE.read_text()
    at = page.rindex(old)
    wrong = wrong_in(page[:at] + new + page[at + len(old) :])
    assert [text for text in wrong if text.startswith(said)], wrong
