# SPDX-License-Identifier: GPL-2.0-only
"""Patterns in the configuration that names of users' cgroups can fit."""

from collections.abc import Callable

import pytest
from fakekernel import Fake, configure
from watcher import Watcher

SCOPE = "/machine.slice/machine-qemu\\x2d1\\x2dweb.scope"
SLICE = "/user.slice/user@1000.service"
WARNED = [
    ("/machine.slice/machine-qemu*web.scope", "minimum = rbps=1MiB", "minimum", SCOPE),
    ("/machine.slice/machine-*", "latency = 2ms", "latency", SCOPE),
    ("/m*/*", "weight = 7\nminimum = riops=5", "minimum", SCOPE),
    ("/user.slice/user@1000.service/app-*.scope", "minimum = riops=5", "minimum", SLICE),
    ("/user.slice/user@1000.service/db/*", "minimum = riops=5", "minimum", SLICE),
    ("/user.slice/user@1000.service/[d]b/x", "minimum = riops=5", "minimum", SLICE),
    ("/user.slice/user@*.service/db", "latency = 2ms", "latency", SLICE),
]
SILENT = [
    (SCOPE, "minimum = rbps=1MiB"),
    ("/machine.slice/machine-qemu*web.scope", "weight = 400"),
    ("/machine.slice/machine-qemu*web.scope", "maximum = rbps=1MiB"),
    ("/machine.slice/machine-qemu*web.scope", "minimum = default\nlatency = none"),
    ("/machine.slice/machine-qemu*db.scope", "minimum = rbps=1MiB"),
    ("/user.slice/user-*.slice", "minimum = rbps=1MiB"),
    ("/user.*/user@1000.service", "minimum = rbps=1MiB"),
    ("/user.slice/*/x/y", "weight = 9"),
    ("/system.slice/db@*.service", "minimum = rbps=1MiB"),
    ("/machine.*", "minimum = rbps=1MiB"),
]


@pytest.fixture
def lent(fake: Fake) -> Fake:
    """A machine and a user have delegated cgroups, services and slices have others."""
    for path in ("/system.slice/db@1.service", "/user.slice/user-1.slice", SCOPE, SLICE):
        fake.cgroup(path)
    for path in (SCOPE, SLICE):
        fake.delegate(path.removeprefix("/"))
    fake.device("one", "253:1", "sda")
    fake.answer("one", "groups", "1 groups\n1 0 root weight=100 set=0\nend\n")
    return fake


@pytest.mark.parametrize(("pattern", "settings", "noun", "where"), WARNED)
def test_warned(lent: Fake, pattern: str, settings: str, noun: str, where: str) -> None:
    command = configure(lent, f"[group x]\ngroup = {pattern}\n{settings}\n")
    lent.run(*command, "--dry-run")
    line = 2 + settings.count("\n") + 1
    assert lent.complaints.count("users can choose names that fit") == 1
    says = f"users can choose names that fit {pattern}, as cgroup {where} is delegated, and each "
    assert f"conf:{line}: {says}such cgroup gets the {noun}; name one" in lent.complaints


@pytest.mark.parametrize(("pattern", "settings"), SILENT)
def test_silent(lent: Fake, pattern: str, settings: str) -> None:
    command = configure(lent, f"[group x]\ngroup = {pattern}\n{settings}\n")
    lent.run(*command, "--dry-run")
    assert "users can choose" not in lent.complaints


def test_watch(fake: Fake, watch: Callable[[str], Watcher]) -> None:
    """When it reads a configuration."""
    fake.cgroup("user/x")
    fake.delegate("user")
    bad = "[group /user/*]\nminimum = riops=5\n"
    watcher = watch(bad)
    assert watcher.said.count("users can choose names that fit /user/*") == 1
    watcher.reload("")
    watcher.reload(bad)
    assert watcher.said.count("users can choose names that fit /user/*") == 2
