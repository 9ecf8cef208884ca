# SPDX-License-Identifier: GPL-2.0-only
"""The modelled disks do what the disks of the sources did."""

import dataclasses
from collections.abc import Callable

import pytest
from lab.calibration import Calibration, Comparison, calibrate, load, measure, text

TABLE = load()
HELD = [i for i, row in enumerate(TABLE.rows) if not row.why_not]


@pytest.fixture(scope="module")
def comparisons() -> list[Comparison]:
    return calibrate(TABLE)


def test_the_table_in_full(
    comparisons: list[Comparison], record_property: Callable[[str, object], None]
) -> None:
    record_property("summary", text(TABLE, comparisons))
    assert len(HELD) >= 20


@pytest.mark.parametrize(
    "index", HELD, ids=lambda i: f"{TABLE.rows[i].source}: {TABLE.rows[i].what}"
)
def test_a_figure(comparisons: list[Comparison], index: int) -> None:
    own = comparisons[index]
    assert own.holds, f"{own.model:g} {own.row.unit}, the source has {own.row.figure:g}"


def test_what_is_too_far_off_is_seen() -> None:
    row = TABLE.rows[HELD[0]]
    near, far = Comparison(row, row.figure * 1.14), Comparison(row, row.figure * 0.84)
    assert near.holds and not far.holds
    assert "TOO FAR" in text(TABLE, [far]) and "TOO FAR" not in text(TABLE, [near])


def test_rows_that_do_not_count_say_why() -> None:
    row = dataclasses.replace(TABLE.rows[HELD[0]], why_not="another disk")
    assert Comparison(row, 0).holds
    assert "another disk" in text(TABLE, [Comparison(row, 0)])


def test_figures_of_several_jobs() -> None:
    def job(ios: int) -> dict:
        direction = {
            "bw_bytes": ios * 4096,
            "total_ios": ios,
            "iops": ios,
            "lat_ns": {"mean": 1e9 / ios},
        }
        return {"jobname": "jobs", "read": direction}

    result = {"jobs": [job(100), job(300), {"jobname": "others", "read": {}}]}
    assert measure(result, "jobs read kib_s") == 1600
    assert measure(result, "jobs read iops") == 200
    assert measure(result, "jobs read lat_ms") == pytest.approx(5)


def test_every_source_is_there() -> None:
    assert isinstance(TABLE, Calibration)
    assert {row.source for row in TABLE.rows} == set(TABLE.sources) == {"v10", "valente", "study"}
