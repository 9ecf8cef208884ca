# SPDX-License-Identifier: GPL-2.0-only
"""The search: the judge is tested, the scheduler is no worse than it was, the page is true."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
import search
from cprograms import cases, run_case
from schemata import DRIVER

# So many are quickly judged; a change may not exceed these rates.
LOADS = 40
BOUNDS = {
    "device used less than 0.95 of none": 0.025,
    "a group below 0.8 of its share": 0.475,
    "a group below 0.5 of its share": 0.225,
    "a deep group below 0.5": 0.056,
}
# What a named load has to reach; and which ones do not, and why.
WANTED = {"used": 0.95, "synchronous": 0.8}
LARGE = "a whole large I/O goes down before a small one"
FAILING = {"small-and-heavy": LARGE}
# Mistakes: the source, the text, its replacement, and the figure of a load that shows it.
MISTAKES = {
    "weights": (
        "sched/tree.c",
        "div_u64(1ULL << IOBAND_PACE_SHIFT, weight)",
        "div_u64(1ULL << IOBAND_PACE_SHIFT, 100)",
        "deep",
        "line; 100 64K*16; 400 64K*16",
    ),
    "anticipation": (
        "sched/core.c",
        "min_t(u64, turnover_ns, IOBAND_GRACE_MAX_NS)",
        "max_t(u64, turnover_ns, IOBAND_GRACE_MAX_NS)",
        "used",
        "nvme; 100 64K*64; 8x 100 4K*1 think=800us",
    ),
    "bound on the cost of an I/O": (
        "sched/depth.c",
        "if (depth->try != IOBAND_TRY_FINER && trial_is_mixed(trial, wanted))",
        "if (false && trial_is_mixed(trial, wanted))",
        "used",
        search.NAMED["mixed-sizes"][1],
    ),
}


@pytest.fixture(scope="session")
def judge() -> Path:
    """The program, built for speed."""
    return search.program()


@pytest.fixture(scope="session")
def some(judge: Path) -> list[search.Result]:
    """A few plain loads, judged."""
    lines = search.lines_of(judge, "--plain", "--seed", "1", "--count", str(LOADS))
    return [search.parse(line) for line in lines]


@pytest.mark.parametrize("case", cases("search_test"))
def test_case(programs: Path, case: str) -> None:
    if wrong := run_case(programs / "search_test", case):
        pytest.fail(wrong, pytrace=False)


def test_with_sanitizers(programs: Path, judge: Path) -> None:
    """All that loads can have, and the same is found as without."""
    arguments = ("--seed", "3", "--count", "4")
    lines = search.lines_of(programs / "search", *arguments)
    assert len(lines) == 4
    assert lines == search.lines_of(judge, *arguments)


def test_a_load_is_judged_the_same_by_its_text(judge: Path, some: list[search.Result]) -> None:
    again = search.judge_load(judge, some[1].load)
    assert again._replace(nr=1) == some[1]


def test_nothing_is_idle_for_nothing(some: list[search.Result]) -> None:
    assert len(some) == LOADS
    assert not [each.load for each in some if each.idle_ns]


def test_no_more_in_flight_than_may_be(some: list[search.Result]) -> None:
    assert not [each.load for each in some if each.over > search.SPARE]


def test_occasional_io_waits_little(judge: Path) -> None:
    """Neither it nor the device suffers from a group with much in flight; disks seek."""
    lines = search.lines_of(judge, "--occasional", "--seed", "1", "--count", str(3 * LOADS))
    results = [search.parse(line) for line in lines]
    fast = [each for each in results if not each.load.startswith("disk")]
    assert len(fast) > LOADS
    found = search.rates(fast)
    assert found["device used less than 0.9 of none"] <= 0.03
    assert found["a synchronous group below 0.5"] <= 0.02


@pytest.mark.parametrize("name", BOUNDS)
def test_no_worse_than_it_was(
    name: str, some: list[search.Result], record_property: Callable[[str, object], None]
) -> None:
    rate = search.rates(some)[name]
    record_property("summary", f"{name}: {100 * rate:.1f} % of {LOADS} loads")
    assert 0 <= rate <= BOUNDS[name]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.xfail(reason=FAILING[name], strict=True))
        if name in FAILING
        else name
        for name in search.NAMED
    ],
)
def test_named_load(judge: Path, name: str) -> None:
    what, _ = search.NAMED[name]
    found = search.judge_named(judge, name)
    if what == "over":
        assert found.over <= search.SPARE
    else:
        assert getattr(found, what) >= WANTED[what]


def test_a_failure_is_made_simpler(judge: Path) -> None:
    """Parts that do not matter are left out."""
    load = "line; 740(100 4K*1 seq); 4x 10 1M*4"
    was = search.judge_load(judge, load)
    simple = search.minimise(judge, "synchronous", load)
    assert simple.synchronous <= was.synchronous < 0.5
    assert not any(part in simple.load for part in ("(", "seq", "740"))


@pytest.fixture(scope="session")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str, str], Path]:
    """Build the program with a mistake."""

    def build(source: str, old: str, new: str) -> Path:
        sources = shutil.copytree(DRIVER, tmp_path_factory.mktemp("broken") / "md")
        right = (sources / source).read_text()
        assert right.count(old) == 1
        (sources / source).write_text(right.replace(old, new))
        return search.build_program(sources.parent / "build", f"SRC={sources}")

    return build


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_seen(name: str, judge: Path, broken: Callable[[str, str, str], Path]) -> None:
    source, old, new, what, load = MISTAKES[name]
    assert getattr(search.judge_load(judge, load), what) >= 0.95
    assert getattr(search.judge_load(broken(source, old, new), load), what) < 0.8


@pytest.mark.long("the published loads are all judged again, and the worst minimised")
def test_the_page_is_of_this_tree(judge: Path) -> None:
    document = json.loads((search.RESULTS / f"{search.NAME}.json").read_text())
    assert search.find(judge, document["count"], document["seed"]) == document


def result(**known: float | str) -> search.Result:
    """A perfect result, but for the figures that are given."""
    perfect = search.Result(0, 1, 1, 1, 1, 1, 0, 0, 0, 0, "line; 100 4K*1")
    return perfect._replace(**known)


def test_rates_of_known_results() -> None:
    good = [result() for _ in range(3)]
    assert set(search.rates(good).values()) == {0, search.NOT_JUDGED}
    bad = [
        result(used=0.92, synchronous=0.7),
        result(used=0.5, deep=0.4),
        result(first=3.0, none_first=1.0, lag_ms=200.0),
        result(idle_ns=5),
        result(over=2),
        result(over=2, load="line stall=1s; 100 4K*1"),
        result(used=-1, deep=-1, synchronous=-1, first=-1, none_first=-1, lag_ms=-1),
    ]
    assert search.rates(bad) == {
        "device used less than 0.95 of none": round(2 / 6, 5),
        "device used less than 0.9 of none": round(1 / 6, 5),
        "a group below 0.8 of its share": round(2 / 6, 5),
        "a group below 0.5 of its share": round(1 / 6, 5),
        "a deep group below 0.8": round(1 / 6, 5),
        "a deep group below 0.5": round(1 / 6, 5),
        "a synchronous group below 0.8": round(1 / 6, 5),
        "a synchronous group below 0.5": 0,
        "a newcomer's first I/O takes twice its bound": round(1 / 6, 5),
        "without control: the same": 0,
        "a newcomer lags by more than 100 ms": round(1 / 6, 5),
        "idle for nothing": round(1 / 7, 5),
        "above the limit, the device stalls": 1,
        "above the limit, it does not": round(1 / 6, 5),
    }
    assert search.worst(bad, "used", 2) == [bad[1], bad[0]]


def test_the_best_fixed_limit() -> None:
    narrow = result(used=0.9, synchronous=0.9)
    filled = [result(used=0.96, synchronous=0.6), result(used=0.97, synchronous=0.7)]
    assert search.best_fixed([narrow, *filled]) == filled[1]
    assert search.best_fixed([narrow, result(used=0.5)]) == narrow
    ours = [result(synchronous=0.63), result(synchronous=0.62), result(deep=0.9)]
    found = search.compare(ours, [filled[1], filled[1], result(deep=1.4)])
    assert found["near"] == round(2 / 3, 5)
    assert found["ours"]["a group below 0.8 of its share"] == round(2 / 3, 5)


def test_goals_are_met_or_missed() -> None:
    good = search.rates([result()])
    rows = {
        row[0]: row[-2:]
        for row in search.rate_rows(
            {"all": {"rates": search.rates([result(used=0.92)])}, "plain": {"rates": good}}
        )
    }
    assert rows["device used less than 0.95 of none"] == ["none", "missed"]
    assert rows["a group below 0.8 of its share"] == ["1 %", "met"]
    assert rows["above the limit, the device stalls"] == ["none", "-"]
    assert rows["a deep group below 0.8"] == ["", ""]


def test_quantiles_keep_the_ends() -> None:
    found = search.quantiles([i / 1000 for i in range(1000, 0, -1)])
    assert found[0] == [0.001, 0.001]
    assert found[-1] == [1, 1]
    assert len(found) <= search.POINTS + 1
    assert search.quantiles([]) == []


def test_the_page_is_made_of_what_was_found() -> None:
    document = json.loads((search.RESULTS / f"{search.NAME}.json").read_text())
    assert search.page(document) == (search.RESULTS / f"{search.NAME}.md").read_text()
    assert list(document["named"]) == list(search.NAMED)
    worst = [each["is"] for each in document["worst"]["used"]]
    assert f"| {worst[0]:.3f} |" in search.page(document)


def test_the_picture_shows_what_was_found() -> None:
    document = json.loads((search.RESULTS / f"{search.NAME}.json").read_text())
    picture = search.plot(document)
    ElementTree.fromstring(picture)
    document["sets"]["plain"]["distribution"]["deep"] = [[0.5, 1.0]]
    assert search.plot(document) != picture


def test_all_is_published(tmp_path: Path, judge: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "NAMED", {"small-and-heavy": search.NAMED["small-and-heavy"]})
    monkeypatch.setattr(search, "WORST", 0)
    monkeypatch.setattr(search, "FIXED", [(2, 1024), (8, 32)])
    search.publish(search.find(judge, 4, 5), tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == search.FILES
    assert "| small-and-heavy |" in (tmp_path / "search.md").read_text()
