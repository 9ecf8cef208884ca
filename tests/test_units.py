# SPDX-License-Identifier: GPL-2.0-only
"""The services are sandboxed, as systemd itself rates them."""

import subprocess
from pathlib import Path

import pytest

UDEV = Path(__file__).resolve().parents[1] / "udev"
LIMIT = 30  # tenths, of the 100 of a service without any sandbox


def install(directory: Path) -> Path:
    """Install the units below a directory; returns where they are."""
    where = [f"DESTDIR={directory}", "UNITDIR=/units"]
    subprocess.run(["make", "-s", "-C", UDEV, "install", *where], check=True)
    return directory / "units"


@pytest.mark.parametrize("unit", sorted(path.stem for path in UDEV.glob("*.service.in")))
def test_a_unit_is_sandboxed(unit: str, tmp_path: Path) -> None:
    command = ["systemd-analyze", "security", "--no-pager", "--offline=true"]
    done = subprocess.run(
        [*command, f"--threshold={LIMIT}", install(tmp_path) / unit],
        capture_output=True,
        text=True,
    )
    assert not done.returncode, done.stdout
    assert done.stderr == ""


def test_watch_finds_directories_in_home(tmp_path: Path) -> None:
    """IODeviceWeight= of a unit may name one.  The last assignment in a unit counts."""
    unit = (install(tmp_path) / "iobandctl-watch.service").read_text()
    settings = [line.partition("=") for line in unit.splitlines()]
    assert [value for key, _, value in settings if key == "ProtectHome"][-1] == "read-only"
