# SPDX-License-Identifier: GPL-2.0-only
"""The module's pure parts in user space.

IOBAND_UNIT_SCALE=10 makes the random tests ten times longer.
"""

from pathlib import Path

import pytest
from cprograms import UNIT, build
from harness.cache import build_dir, locked


@pytest.fixture(scope="session")
def programs() -> Path:
    """The directory with the C programs, built with sanitizers."""
    output = build_dir("unit", UNIT)
    with locked(output.name):
        if wrong := build(output):
            pytest.fail(f"the unit tests do not build:\n{wrong}", pytrace=False)
    return output
