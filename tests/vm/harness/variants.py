# SPDX-License-Identifier: GPL-2.0-only
"""Parameters of a test, of which `make test` runs a few, and `make test-all` the rest."""

from collections.abc import Iterable
from typing import Any

import pytest

REST = pytest.mark.long("another variant of a test that make test runs")


def variants(values: Iterable[Any], *usual: Any) -> list[Any]:
    """All values for parametrize(); tests with other values than the usual ones are long."""
    values = list(values)
    if unknown := [value for value in usual if value not in values]:
        raise ValueError(f"{unknown} is not among {values}")
    rest = [value for value in values if value not in usual]
    return [
        *usual,
        *(
            pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=REST)
            for value in rest
        ),
    ]
