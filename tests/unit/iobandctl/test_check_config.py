# SPDX-License-Identifier: GPL-2.0-only
"""All mistakes in the configuration at once, and the exit code of a dry run."""

import json
import subprocess
from pathlib import Path

import pytest
from fakekernel import Fake, configure
from toolbuild import Built, sh

WRONG = """[device disks]
as = data
type = disk
insert = maybe
no key
[group /a]
weight = 0
weigth = 100
maximum = rbps=1MiB
minimum = rbps=2MiB
pool = a b
[group /b]
[pool]
slice = 5000
[disk sda]
mode = cgroup
[device none]
optional = yes
weight = 5
[group /c]
weight = x
[device wrong]
typ = disk
mode = devic
weight = 5
"""
# Line and part of the message; syntax comes first, the sections as wholes last.  A key that was a
# mistake is not missed.
MISTAKES = [
    (5, "this is no 'key = value'"),
    (4, "insert = maybe: it is yes or no"),
    (7, "weight = 0: it is a number from 1 to 10000"),
    (8, "[group] has no key 'weigth'"),
    (11, "pool = a b: it is 1 to 63"),
    (14, "slice = 5000: it is a number from 0 to 1000"),
    (15, "there is no section 'disk sda'"),
    (21, "weight = x: it is a number"),
    (23, "[device] has no key 'typ'"),
    (24, "mode = devic: it is"),
    (2, "as = data: there may be several devices"),
    (10, "a minimum of rbps=2MiB is more than the maximum"),
    (12, "[group /b] sets nothing"),
    (13, "[pool] has no name"),
    (17, "[device none] does not say which devices"),
    (19, "weight: a device has a group of its own only with"),
]


def complaints(fake: Fake, text: str, rc: int = 1) -> list[str]:
    """What check-config says of a configuration, line by line; it prints nothing."""
    conf = fake.root / "conf"
    conf.write_text(text)
    fake.run("check-config", "--config", str(conf), rc=rc)
    assert fake.printed == ""
    prefix = f"iobandctl: {conf}:"
    lines = fake.complaints.splitlines()
    assert all(line.startswith(prefix) for line in lines), lines
    return [line.removeprefix(prefix) for line in lines]


def test_all_mistakes_at_once(fake: Fake) -> None:
    said = complaints(fake, WRONG)
    assert len(said) == len(MISTAKES), said
    for line, (number, text) in zip(said, MISTAKES, strict=True):
        assert line.startswith(f"{number}: "), line
        assert text in line
    # Other verbs end with the first.
    first = fake.complaints.splitlines()[0]
    assert fake.run("apply", "--config", str(fake.root / "conf"), rc=2) == f"{first}\n"


def test_nothing_wrong(fake: Fake) -> None:
    assert complaints(fake, "[group /a]\nweight = 5\n", rc=0) == []
    assert complaints(fake, "", rc=0) == []


def test_keys_of_a_lost_title_are_not_blamed(fake: Fake) -> None:
    """They would be those of the section before."""
    said = complaints(fake, "[watch]\n[device a\npath = /x\n[watch]\ntype = disk\n[]\nx\n")
    assert [line.split(":")[0] for line in said] == ["2", "4", "6", "7"]
    assert "a title ends with" in said[0]
    assert "this title came before" in said[1]


def test_line_that_begins_with_a_long_character(fake: Fake) -> None:
    """The lines after it are read, as those after any other line."""
    said = complaints(fake, "[group /a]\n\u00e9\nweight = 0\n\u65e5 \U0001f98a\n")
    assert [line.split(":")[0] for line in said] == ["2", "4", "3"]


def test_files_that_cannot_be_read(fake: Fake) -> None:
    said = fake.run("check-config", "--config", "/nope/x", rc=1)
    assert said == "iobandctl: cannot read /nope/x: No such file or directory\n"
    (fake.root / "conf").write_bytes(b"\xff\xfe[\n")
    assert "conf" in fake.run("check-config", "--config", str(fake.root / "conf"), rc=1)


def test_standard_input(fake: Fake) -> None:
    said = fake.run("check-config", "--config", "-", rc=1, stdin="[group /a]\nweight = x\n")
    assert said.startswith("iobandctl: -:2: weight = x")


def installed(built: Built, files: str) -> subprocess.CompletedProcess[str]:
    """Run the real program where /etc has the files that a script makes there."""
    script = f"mount -t tmpfs none /etc && cd /etc && {files} exec {built.iobandctl} check-config"
    return sh("unshare", "--mount", "sh", "-c", script)


def test_all_files_that_are_installed(built: Built) -> None:
    """And of each all mistakes, without a device-mapper."""
    files = "mkdir ioband.conf.d; printf '[group /a]\\nweight = 0\\nx = 1\\n' >ioband.conf;"
    files += "printf 'a\\0b' >ioband.conf.d/1.conf; printf '[watch x]\\n' >ioband.conf.d/2.conf;"
    done = installed(built, files)
    assert (done.returncode, done.stdout) == (1, "")
    first, second, third, fourth = done.stderr.splitlines()
    assert first.startswith("iobandctl: /etc/ioband.conf:2: weight = 0")
    assert second.startswith("iobandctl: /etc/ioband.conf:3: [group] has no key 'x'")
    assert third.startswith("iobandctl: /etc/ioband.conf.d/1.conf has a NUL byte in it")
    assert fourth.startswith("iobandctl: /etc/ioband.conf.d/2.conf:1: ")


def test_no_configuration(built: Built) -> None:
    done = installed(built, "")
    assert (done.returncode, done.stdout) == (0, "")
    assert "note: there is no configuration" in done.stderr


def test_exit_code_of_a_dry_run(host: Fake) -> None:
    """8 if there is something to do, 0 if not; without the option 0 in either case."""
    apply = configure(host, "[pool sdb]\nslice = 90\n")
    dry = [*apply, "--dry-run", "--exit-code"]
    host.run(*apply, "--dry-run")
    host.run(*dry, rc=8)
    assert "slice" in host.printed
    assert host.told("set") == []
    unchanged = configure(host, "[pool sdb]\nslice = 80\n")
    host.run(*unchanged, "--dry-run", "--exit-code", rc=0)


@pytest.mark.parametrize("words", [["--exit-code"], ["--exit-code", "--json"]])
def test_exit_code_needs_a_dry_run(host: Fake, words: list[str]) -> None:
    said = host.run(*configure(host, "[group /a]\nweight = 250\n"), *words, rc=2)
    assert "--exit-code needs --dry-run" in said
    assert host.sent == []


def test_a_wrong_configuration_is_no_change(host: Fake) -> None:
    host.run(*configure(host, "[group /a]\nweight = x\n"), "--dry-run", "--exit-code", rc=2)


def test_without_device_mapper(built: Built, tmp_path: Path) -> None:
    (tmp_path / "conf").write_text("[group /a]\nweight = 5\n")
    done = sh(built.iobandctl, "check-config", "--config", tmp_path / "conf")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("least", "most", "word"),
    [
        ("rbps=50MiB", "wbps=1M rbps=50M", "rbps=50M"),
        ("wbps=1049K", "rbps=1K wbps=1MiB", "wbps=1049K"),
        ("rbps=2MiB", "rbps=1MB wbps=1M", None),
        ("riops=2K", "riops=1K wbps=1M", None),
    ],
)
def test_a_minimum_that_exceeds_its_maximum_by_its_unit(
    fake: Fake, least: str, most: str, word: str | None
) -> None:
    """Only if the unit of one of the two rates has changed."""
    (said,) = complaints(fake, f"[group /a]\nminimum = {least}\nmaximum = {most}\n")
    cause = f"{word}: K, M, G and T are powers of 1000, as in systemd's IOReadBandwidthMax=, no "
    end = f"which would win; {cause}longer of 1024" if word else "which would win"
    assert said.startswith("2: a minimum of ")
    assert said.endswith(end)


def test_check_names_the_rates_in_units_that_have_changed(host: Fake) -> None:
    """With file and line, of all files that are installed; those in explicit units are fine."""
    files = "printf '[group /a]\\nmaximum = rbps=50MiB\\nminimum = wbps=7K\\n' >ioband.conf;"
    files += "mkdir ioband.conf.d;"
    files += "printf '[group /b]\\nmaximum = rbps=5M\\n' >ioband.conf.d/1.conf;"
    script = f"mount -t tmpfs none /etc && cd /etc && {files} exec {host.program} check --json"
    done = sh("unshare", "--mount", "sh", "-c", script, env=host.environment)
    found = [row for row in json.loads(done.stdout)["findings"] if "1024" in row["finding"]]
    assert [(row["verdict"], row["subject"], row["finding"].split(": ")[0]) for row in found] == [
        ("hint", "configuration", "/etc/ioband.conf:3"),
        ("hint", "configuration", "/etc/ioband.conf.d/1.conf:2"),
    ]
    assert "wbps=7K: K, M, G and T are powers of 1000" in found[0]["finding"]
    assert found[0]["remedy"].startswith("write MB or the like for powers of 1000")
