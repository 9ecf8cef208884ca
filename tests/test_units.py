# SPDX-License-Identifier: GPL-2.0-only
"""The services are sandboxed, as systemd itself rates them."""

import subprocess
from pathlib import Path

import pytest

UDEV = Path(__file__).resolve().parents[1] / "udev"
LIMIT = 30  # tenths, of the 100 of a service without any sandbox


@pytest.mark.parametrize("unit", sorted(path.stem for path in UDEV.glob("*.service.in")))
def test_a_unit_is_sandboxed(unit: str, tmp_path: Path) -> None:
    where = [f"DESTDIR={tmp_path}", "UNITDIR=/units"]
    subprocess.run(["make", "-s", "-C", UDEV, "install", *where], check=True)
    command = ["systemd-analyze", "security", "--no-pager", "--offline=true"]
    done = subprocess.run(
        [*command, f"--threshold={LIMIT}", tmp_path / "units" / unit],
        capture_output=True,
        text=True,
    )
    assert not done.returncode, done.stdout
    assert done.stderr == ""
