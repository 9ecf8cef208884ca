# SPDX-License-Identifier: GPL-2.0-only
"""The command line of each verb, its help and its manual page."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from toolbuild import SOURCE, VERBS, Built, man_page, sh

OPTION = r"^  (?:-\w,|   ) (--[\w-]+)"  # in what help says of a verb


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ([], "Usage: iobandctl VERB"),
        (["nope"], "there is no verb 'nope'"),
        (["help", "nope"], "there is no verb 'nope'"),
        (["create", "x"], "too few arguments; it takes: NAME DEVICE"),
        (["list", "x"], "'x' is too much"),
        (["list", "--nope"], "there is no option '--nope'"),
        (["lsit"], "there is no verb 'lsit'; did you mean 'list'? 'iobandctl help' lists them"),
        (["set-wieght", "a", "5"], "did you mean 'set-weight'?"),
        (["help", "tsat"], "did you mean 'stat'?"),
        (["get_max", "a"], "did you mean 'get-max'?"),
        (["expalni"], "did you mean 'explain'?"),
        (["zz"], "there is no verb 'zz'; 'iobandctl help' lists them"),
        (["nothing"], "there is no verb 'nothing'; 'iobandctl help' lists them"),
        (["create", "a/b", "/dev/null"], "cannot be a device's name"),
        (["create", "control", "/dev/null"], "cannot be a device's name"),
        (["create", "UNDER-x", "/dev/null"], "'UNDER-x' cannot be a device's name: with UNDER-"),
        (["wrap", "--name", "UNDER-x", "/dev/null"], "with UNDER- begin the UUIDs"),
        (["create", "x" * 121, "/dev/null"], "cannot be a device's name"),
        (["create", "x", "/dev/null", "--pool", "a b"], "--pool 'a b'"),
        (["create", "x", "/dev/null", "--weight", "10001"], "--weight '10001'"),
        (["create", "x", "/dev/null", "--depth", "0"], "--depth '0'"),
        (["create", "x", "/dev/null", "--depth", "4/5"], "--depth '4/5': it is auto, or a number"),
        (["create", "x", "/dev/null", "--slice", "1001"], "from 0 to 1000, or auto"),
        (["create", "x", "/dev/null", "--slice", "80ms"], "--slice '80ms'"),
        (["wrap", "/dev/null", "--writes-starved", "0"], "it is a number from 1 to 100\n"),
        (["table", "/dev/null", "--writes-starved", "101"], "--writes-starved '101'"),
        (["create", "x", "/dev/null", "--mode", "a b"], "--mode 'a b'"),
        (["create", "x", "/dev/null", "--measure", ""], "--measure ''"),
        (["stat", "--count", "3"], "--count needs --interval"),
    ],
)
def test_usage_errors(built: Built, args: list[str], says: str) -> None:
    done = sh(built.iobandctl, *args)
    assert done.returncode == 2
    assert says in done.stderr
    assert done.stdout == ""


def test_no_device_mapper(built: Built) -> None:
    if "device-mapper" in Path("/proc/misc").read_text():
        pytest.skip("this machine has a device-mapper")
    done = sh(built.iobandctl, "list")
    assert done.returncode == 6
    assert "device-mapper does not answer" in done.stderr


def test_full_disk(built: Built) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run([built.iobandctl, "help"], stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 1
    assert b"cannot write the output" in done.stderr


@pytest.mark.parametrize("verb", VERBS)
def test_help_and_man_page_agree(built: Built, verb: str) -> None:
    text = sh(built.iobandctl, "help", verb, check=True).stdout
    assert text == sh(built.iobandctl, verb, "--help", check=True).stdout
    assert f"Cm {verb}" in man_page()
    options = re.findall(OPTION, text, re.MULTILINE)
    assert {"--help", "--version"} <= set(options)
    for option in options:
        assert option in man_page(), option
    assert verb in sh(built.iobandctl, "help", check=True).stdout


@pytest.mark.parametrize("verb", [*VERBS, "help"])
def test_help_and_version_after_a_verb(built: Built, verb: str) -> None:
    """Also on a command line that is otherwise incomplete."""
    usage = sh(built.iobandctl, "help", verb, check=True).stdout
    assert sh(built.iobandctl, verb, "-h", check=True).stdout == usage
    version = sh(built.iobandctl, "--version", check=True).stdout
    for words in (["-V"], [verb, "-V"], [verb, "--version"]):
        assert sh(built.iobandctl, *words, check=True).stdout == version


def test_help_has_sections(built: Built) -> None:
    """Each verb is in one section."""
    usage = sh(built.iobandctl, "help", check=True).stdout
    _, *sections = re.split(r"^(\w+):\n", usage, flags=re.MULTILINE)
    assert sections[::2] == ["Devices", "Groups", "Observe", "Configure", "Service"]
    verbs = {
        title: re.findall(r"^  ([\w-]+)", text, re.MULTILINE)
        for title, text in zip(sections[::2], sections[1::2], strict=True)
    }
    assert verbs["Devices"][0] == "wrap"
    assert verbs["Groups"][:2] == ["set", "get"]
    assert sorted(verb for some in verbs.values() for verb in some) == sorted([*VERBS, "help"])
    assert max(map(len, usage.splitlines())) <= 100


def assert_well_formed(page: Path) -> None:
    """Assert that the markup of a manual page is valid."""
    if not shutil.which("mandoc"):
        pytest.skip("mandoc is not installed")
    done = sh("mandoc", "-T", "lint", "-W", "style", page)
    complaints = [
        line
        for line in done.stdout.splitlines()
        if not re.search("mandoc.db|referenced manual not found", line)
    ]
    assert complaints == []


@pytest.mark.parametrize("page", ["iobandctl.8", "ioband.conf.5"])
def test_man_page_is_well_formed(page: str) -> None:
    assert_well_formed(SOURCE / page)


@pytest.mark.parametrize("verb", [*VERBS, "help"])
def test_each_verb_has_a_man_page(built: Built, verb: str) -> None:
    """With all its options, or a reference to them, and its output in JSON."""
    page = built.output / f"iobandctl-{verb}.8"
    assert_well_formed(page)
    text = page.read_text().replace("\\-", "-").replace("Fl -", "--")
    name, synopsis = re.search(r"\.Nd (.*)\n\.Sh SYNOPSIS\n((?:[^.]|\.(?!Sh))*)", text).groups()
    usage = sh(built.iobandctl, "help", verb).stdout
    assert name[1:] in usage
    options = set(re.findall(OPTION, usage, re.MULTILINE)) - {"--help", "--version"}
    assert options == set(re.findall(r"--[a-z][\w-]*", synopsis))
    assert (".Sh JSON OUTPUT" in text) == ("--json" in options)
    assert (".Ss Columns\n" in text) == ("--noheadings" in options)
    assert (".It Cm set --from Ar FILE" in text) == ("--from" in options)
    assert not re.search(r"^\.(?:Sx|Nm$)", text, re.MULTILINE)


def test_a_verb_without_a_man_page_is_found(built: Built) -> None:
    words = ["-v", "verb=fly", "-v", "verbs=fly", "-f", SOURCE / "man-verb.awk"]
    done = sh("awk", *words, SOURCE / "iobandctl.8")
    assert (done.returncode, done.stderr) == (1, "iobandctl.8 says nothing of fly\n")
