# SPDX-License-Identifier: GPL-2.0-only
"""The timer that writes the metrics for node_exporter, as systemd runs it in its confinement."""

import subprocess
from pathlib import Path

import pytest
from harness.devices import null_blk
from harness.guest import Guest
from harness.ioband import Ioband
from harness.module import REPO
from harness.waiting import wait_until
from prometheus_client.parser import text_string_to_metric_families

# Where the confinement lets the service look; the cache may lie in a home directory.
SBIN = "/run/sbin"
TEXTS = "/run/texts"
UNITS = ("iobandctl-metrics.service", "iobandctl-metrics.timer")


@pytest.fixture
def units(ioband: Guest, iobandctl: Path) -> Guest:
    """A guest with ioband and the units, which write into a directory of another user."""
    where = [f"DESTDIR={ioband.share}/root", f"SBINDIR={SBIN}", f"TEXTFILEDIR={TEXTS}"]
    make = ["make", "-s", "-C", REPO / "udev", *where, "UNITDIR=/units", "install"]
    subprocess.run(make, check=True)
    for unit in UNITS:
        text = (ioband.share / "root/units" / unit).read_text()
        ioband.write(f"/run/systemd/system/{unit}", text)
    ioband.run(f"mkdir -p {SBIN} {TEXTS} && chown nobody {TEXTS}")
    ioband.run(["cp", iobandctl, SBIN])
    ioband.run(["systemctl", "daemon-reload"])
    return ioband


def samples(text: str) -> dict[tuple[str, str], float]:
    """The samples, by name and device."""
    return {
        (sample.name, sample.labels.get("device", "")): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


@pytest.mark.guest(systemd=True)
def test_the_timer_writes_again_and_again(units: Guest) -> None:
    path = f"{TEXTS}/ioband.prom"
    with null_blk(units) as disk, Ioband(units, "d", disk):
        units.run(["systemctl", "start", "iobandctl-metrics.timer"])
        wait_until(units, lambda: units.exists(path), "no file")
        first = samples(units.read(path))
        assert first["ioband_device_suspended", "d"] == 0
        assert units.run(["ls", TEXTS]).out == "ioband.prom\n"
        assert units.run(["stat", "-c", "%a", path]).out == "644\n"
        time = "ioband_last_success_timestamp_seconds", ""
        wait_until(units, lambda: samples(units.read(path))[time] > first[time], "not again", 60)
        # Of what fails the journal has the reason.
        units.run(["systemctl", "stop", "iobandctl-metrics.timer"])
        units.run(["rm", "-r", TEXTS])
        assert units.run(["systemctl", "start", "iobandctl-metrics"], check=False).rc
        said = units.run(["journalctl", "-b", "-u", "iobandctl-metrics", "-o", "cat"]).out
        assert f"cannot write {path}: " in said
        assert "Finished" not in said
        units.run(["systemctl", "reset-failed", "iobandctl-metrics"])
