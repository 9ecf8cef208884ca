# SPDX-License-Identifier: GPL-2.0-only
"""The scheduler, its charges and limits, and the counters: each case of each program."""

from pathlib import Path

import pytest
from cprograms import cases, run_case

PROGRAMS = (
    "core_test",
    "turn_test",
    "levels_test",
    "max_test",
    "core_fuzz",
    "sim_test",
    "slice_test",
    "stall_test",
    "below_test",
    "ahead_test",
    "min_test",
    "idle_test",
    "latency_test",
    "many_test",
    "cost_test",
    "lone_test",
    "overhead_test",
    "counters_test",
    "discard_test",
    "depth_test",
)


@pytest.mark.parametrize(
    ("program", "case"), [(program, case) for program in PROGRAMS for case in cases(program)]
)
def test_case(programs: Path, program: str, case: str) -> None:
    if wrong := run_case(programs / program, case):
        pytest.fail(wrong, pytrace=False)
