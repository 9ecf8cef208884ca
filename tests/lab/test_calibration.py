# SPDX-License-Identifier: GPL-2.0-only
"""The modelled disks do what the disks of the sources did."""

import dataclasses
from collections.abc import Callable

import pytest
from lab.calibration import Calibration, Comparison, calibrate, load, measure, text

TABLE = load()
HELD = [i for i, row in enumerate(TABLE.rows) if not row.why_not]

# The table changes with the models of the disks alone, and these have unit tests.
in_full = pytest.mark.long("the whole table takes three minutes")


@pytest.fixture(scope="module")
def comparisons() -> list[Comparison]:
    return calibrate(TABLE)


@in_full
def test_the_table_in_full(
    comparisons: list[Comparison], record_property: Callable[[str, object], None]
) -> None:
    record_property("summary", text(TABLE, comparisons))
    assert len(HELD) >= 30


@in_full
@pytest.mark.parametrize(
    "index", HELD, ids=lambda i: f"{TABLE.rows[i].source}: {TABLE.rows[i].what}"
)
def test_a_figure(comparisons: list[Comparison], index: int) -> None:
    own = comparisons[index]
    assert own.holds, f"{own.model:g} {own.row.unit}, the source has {own.row.figure:g}"


@in_full
def test_where_blocks_are_placed_decides(comparisons: list[Comparison]) -> None:
    """One writer at random offsets: what the source has is between both ways to place them."""
    one = "v10-random-writers-1-"
    holes, in_order = (
        next(own for own in comparisons if own.row.run == one + name)
        for name in ("holes", "in-order")
    )
    assert holes.model * 3 < holes.row.figure < in_order.model
    sequential = next(own for own in comparisons if own.row.run == "v10-sequential-writers-1")
    assert in_order.model > 0.95 * sequential.model


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
            "io_bytes": ios * 4096,
            "runtime": 1000 if ios > 100 else 500,
            "total_ios": ios,
            "iops": ios,
            "lat_ns": {"mean": 1e9 / ios},
        }
        return {"jobname": "jobs", "read": direction}

    result = {"jobs": [job(100), job(300), {"jobname": "others", "read": {}}]}
    assert measure(result, "jobs read kib_s") == 1600
    assert measure(result, "jobs read iops") == 200
    assert measure(result, "jobs read lat_ms") == pytest.approx(5)


def test_on_a_file_system_jobs_are_files() -> None:
    run = TABLE.runs["v10-random-writers-16-holes"]
    script = run.script()
    names = {name for jobs in run.jobs for name in jobs.files()}
    assert len(names) == 16
    assert all(f"--filename={name} --size=2g" in script for name in names)
    assert "keep_data=1" in script and "--filename=/dev/disk" not in script
    before, after = script.split("fio ")
    assert before.index("mkfs") < before.index("mount -t") < before.index("truncate")
    assert after.index("umount") < after.index("remove")


def test_without_one_they_are_regions_of_the_disk() -> None:
    script = TABLE.runs["v10-random-writers-16"].script()
    assert "mkfs" not in script and "keep_data" not in script
    assert script.count("--filename=/dev/disk") == script.count("--offset=") == 16


def test_every_source_is_there() -> None:
    assert isinstance(TABLE, Calibration)
    assert {row.source for row in TABLE.rows} == set(TABLE.sources) == {"v10", "valente", "study"}
