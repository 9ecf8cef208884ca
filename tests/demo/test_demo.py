# SPDX-License-Identifier: GPL-2.0-only
"""The demonstration comes out as it promises, and says so."""

import subprocess
import sys
from pathlib import Path

DEMO = Path(__file__).with_name("demo.py")
STAGES = 3
GROUPS = 3


def test_demo() -> None:
    done = subprocess.run([sys.executable, DEMO], capture_output=True, text=True)
    print(done.stdout, done.stderr)
    assert done.returncode == 0
    assert "Shares within 2 % of the weights: yes." in done.stdout
    assert "Every byte accounted for: yes." in done.stdout
    table = done.stdout[done.stdout.rindex("asked") :].split("\n\n")[0].splitlines()[1:]
    assert len(table) == STAGES * GROUPS - 1  # one group stops
