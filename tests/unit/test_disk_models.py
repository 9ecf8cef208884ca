# SPDX-License-Identifier: GPL-2.0-only
"""The laboratory's modelled disks in user space: each case of their program."""

from pathlib import Path

import pytest
from cprograms import UNIT, build, cases, run_case
from harness.cache import build_dir, locked

TEST = "../lab/disk/test"


@pytest.fixture(scope="session")
def model_test() -> Path:
    output = build_dir("unit-disk", UNIT)
    with locked(output.name):
        if wrong := build(output, "-C", str(UNIT / TEST)):
            pytest.fail(f"the models do not build:\n{wrong}", pytrace=False)
    return output / "model_test"


@pytest.mark.parametrize("case", cases(f"{TEST}/model_test"))
def test_case(model_test: Path, case: str) -> None:
    if wrong := run_case(model_test, case):
        pytest.fail(wrong, pytrace=False)
