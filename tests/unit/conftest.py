# SPDX-License-Identifier: GPL-2.0-only
"""The module's pure parts in user space.

IOBAND_UNIT_SCALE=10 makes the random tests ten times longer.
"""

from pathlib import Path

import pytest
from cprograms import build
from harness.cache import cache_dir, locked


@pytest.fixture(scope="session")
def programs() -> Path:
    """The directory with the C programs, built with sanitizers."""
    output = cache_dir("unit")
    with locked("unit"):
        if wrong := build(output):
            pytest.fail(f"the unit tests do not build:\n{wrong}", pytrace=False)
    return output
