# SPDX-License-Identifier: GPL-2.0-only
"""The directory with locks: any user may have made it, where LVM has its own in /run/lock.

LVM's directory and iobandctl's own are opened by the same function; tests/vm has a test with LVM.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from fakekernel import Fake

STRANGER = 65534


def open_to_all(run: Path) -> None:
    run.mkdir()
    run.chmod(0o1777)


def of_another_user(run: Path) -> None:
    if os.geteuid():
        pytest.skip("only root can give a directory to another user")
    run.mkdir()
    os.chown(run, STRANGER, STRANGER)


def led_elsewhere(run: Path) -> None:
    (run.parent / "elsewhere").mkdir()
    run.symlink_to(run.parent / "elsewhere")


@pytest.mark.parametrize("make", [open_to_all, of_another_user, led_elsewhere])
def test_directory_of_a_user(host: Fake, make: Callable[[Path], None]) -> None:
    make(host.root / "run")
    host.run("set", "--pool", "sda", "depth=5", rc=1 if make is led_elsewhere else 5)
    assert f"{host.root}/run is not a directory that only root can write to" in host.complaints
    assert host.sent == []
    assert list((host.root / "run").iterdir()) == []


def test_link_in_place_of_a_lock(host: Fake) -> None:
    (host.root / "run").mkdir(mode=0o755)
    (host.root / "run/.lock").symlink_to(host.root / "victim")
    assert "cannot lock" in host.run("set", "--pool", "sda", "depth=5", rc=1)
    assert host.sent == []
    assert not (host.root / "victim").exists()
