# SPDX-License-Identifier: GPL-2.0-only
"""The columns of list, groups and stat: -o, -n and -b, as lsblk has them."""

import re

import pytest
from fakekernel import OUTPUT, Fake, shown

VERBS = ["list", "groups", "stat"]


def shaped(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def headings(text: str) -> list[str]:
    return text.splitlines()[0].split()


def test_chosen(host: Fake) -> None:
    """In this order, in capitals or not, by heading or by the key of JSON."""
    assert host.run("list", "-o", "POOL,name,Slice_MS").splitlines()[:2] == [
        "POOL NAME  SLICE",
        "sdb  byuid    80",
    ]
    assert headings(host.run("list", "--output=SIZE")) == ["SIZE"]
    shown_first = host.run("groups", "-o", "WEIGHT,NAME", "--pool", "sda").splitlines()
    assert [line.split() for line in shown_first[:3]] == [
        ["WEIGHT", "NAME"], ["-", "sda"], ["70", "├─root"],
    ]  # fmt: skip


@pytest.mark.parametrize("verb", VERBS)
def test_added(host: Fake, verb: str) -> None:
    """Behind the default columns, and no column twice."""
    more = {"list": "INSERTED", "groups": "PATH", "stat": "HELD"}[verb]
    usual = headings(host.run(verb))
    assert more not in usual
    assert headings(host.run(verb, "-o", f"+{more}"))[-1] == more
    assert headings(host.run(verb, "-o", f"+{usual[0]},{more},{more}"))[-2:] == [usual[-1], more]


@pytest.mark.parametrize("verb", VERBS)
def test_unknown(host: Fake, verb: str) -> None:
    """The error names all that help lists, and nothing is asked of the kernel."""
    said = host.run(verb, "-o", "NAME,nonsense" if verb != "stat" else "nonsense", rc=2)
    names = re.search(r"no column 'nonsense'; the columns are (.*); see", said)[1].split(", ")
    assert host.sent == []
    helped = re.split(r"^(?:Columns|More with -o):", host.run(verb, "-h"), flags=re.MULTILINE)
    assert len(helped) == 3
    assert sorted(names) == sorted(" ".join(helped[1:]).split())
    for name in names:
        assert headings(host.run(verb, "-o", name)) == [name]
    for nothing in ("", "+", "NAME,,POOL"):
        assert "there is no column ''" in host.run("list", "-o", nothing, rc=2)
    assert "comes twice" in host.run("list", "-o", "NAME", "--output", "POOL", rc=2)


def test_json(host: Fake) -> None:
    """Only the named columns; a column of text with a number beside it is not in JSON."""
    assert host.json("list", "-o", "SIZE,NAME")[0] == {"size": 1 << 20, "name": "byuid"}
    assert len(host.json("list", "-o", "+size")[0]) == len(host.json("list")[0])
    said = host.run("groups", "--json", "-o", "MAX", rc=2)
    assert "there is no column 'MAX' in JSON; the columns are name, type, " in said
    assert "max_rbps, " in said
    flat = host.json("groups", "-o", "PATH,WEIGHT", "--pool", "sda")
    assert {"path": "/a", "weight": 300} in flat
    assert host.json("stat", "a", "-o", "op,ios")[0] == {"op": "read", "ios": 10}


def test_no_headings_and_bytes(host: Fake) -> None:
    with_headings = host.run("list").splitlines()
    assert [line.split() for line in host.run("list", "-n").splitlines()] == [
        line.split() for line in with_headings[1:]
    ]
    assert host.run("list", "-nbo", "SIZE").split() == ["1048576"] * 4
    assert host.run("list", "--noheadings", "-o", "SIZE").split() == ["1.00M"] * 4
    assert host.run("stat", "a", "-nb", "-o", "BYTES").split() == ["40960", "20480", "61440"]


def test_bounds_that_are_asked_for(host: Fake) -> None:
    """They are there though no group has one."""
    assert "MAX" not in headings(host.run("groups"))
    assert headings(host.run("groups", "-o", "NAME,MAX")) == ["NAME", "MAX"]
    assert headings(host.run("groups", "-o", "+max"))[-1] == "MAX"
    assert "MIN" not in headings(host.run("groups", "-o", "+max"))


@pytest.mark.parametrize("option", ["--output=NAME", "--noheadings", "--bytes"])
def test_a_file_of_weights_has_no_columns(host: Fake, option: str) -> None:
    name = option.partition("=")[0]
    assert f"give no {name} with it" in host.run("groups", "--weights", option, rc=2)


def test_rates_as_numbers(host: Fake) -> None:
    words = "max=104857600,max,max,500 min=0,2048,0,0 latency=2000"
    for device in ("one", "own"):
        host.append(device, "groups", {"weight=300 set=1 path=/a": words})
    wanted = ("groups", "--pool", "sda", "-n", "-o", "MAX,MIN,LATENCY")
    assert ["rbps=100MiB", "wiops=500", "wbps=2KiB", "2ms"] in shaped(host.run(*wanted))
    numbers = ["rbps=104857600", "wiops=500", "wbps=2048", "2ms"]
    assert numbers in shaped(host.run(*wanted, "-b"))


@pytest.mark.parametrize("verb", ["list", "stat"])
def test_help_names_the_default_columns(host: Fake, verb: str) -> None:
    said = re.search(r"^Columns: (.*)$", host.run(verb, "-h"), re.MULTILINE)[1]
    assert said.split() == headings(host.run(verb))


def test_interval(host: Fake) -> None:
    """Rates and shares come in place of sums, which can still be had."""
    words = ("stat", "--interval", "0.1", "--count", "1", "a")
    rates = headings(host.run(*words))
    assert {"IOS/S", "BYTES/S", "SHARE%"} <= set(rates)
    assert not {"IOS", "BYTES"} & set(rates)
    assert headings(host.run(*words, "-o", "IOS,IOS/S")) == ["IOS", "IOS/S"]
    assert "SHARE%" not in headings(host.run("stat", "a"))


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("name", ["/system.slice/db.service", "/user.slice/" + "very-long" * 9])
def test_width(host: Fake, verb: str, name: str) -> None:
    """80 columns, whatever names there are; in a pipe all is in one line."""
    for device in ("one", "own"):
        for page in ("groups", "stats"):
            path = host.root / f"answers/{device}@{page}"
            path.write_text(path.read_text().replace("path=/a\n", f"path={name}\n"))
    text = shown(host, OUTPUT, verb, COLUMNS="80").replace("\r", "")
    assert max(map(len, text.splitlines())) <= 80, text
    last = name.rsplit("/")[-1]
    if verb != "list":
        assert last in host.run(verb)
        assert last[:6] in text
