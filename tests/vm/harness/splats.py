# SPDX-License-Identifier: GPL-2.0-only
"""What no other try makes good: messages of a kernel that complained, and guests that died.

A test that fails may be tried again, and pass.  What is noted here travels with the
report of the try in which it was seen, from whichever process ran it.
"""

from collections.abc import Iterable

import pytest

_NAME = "splat"


def note_splat(item: pytest.Item, text: str) -> None:
    """Note, from a fixture's end, what a test has caused."""
    item.user_properties.append((_NAME, f"{item.nodeid}: {text}"))


def splats_of(report: pytest.TestReport) -> Iterable[str]:
    """What was noted of a test, in this try or one before."""
    return (str(text) for name, text in report.user_properties if name == _NAME)
