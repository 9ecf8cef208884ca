# SPDX-License-Identifier: GPL-2.0-only
"""Fixtures that the tests of iobandctl share."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fakekernel import Fake, slots
from terminal import Terminal
from toolbuild import Built, build
from watcher import Watcher


@pytest.fixture(scope="session")
def built() -> Built:
    """The programs, built once from the sources."""
    return build()


@pytest.fixture
def fake(built: Built, tmp_path: Path) -> Fake:
    """A fake kernel without devices; only root may write its files."""
    os.umask(0o022)
    return Fake(built.fake, tmp_path)


@pytest.fixture
def host(fake: Fake) -> Fake:
    """Two pools: sda with two devices by cgroup and one with its own tree, sdb by uid."""
    fake.device("one", "253:1", "sda")
    fake.device("two", "253:2", "sda")
    fake.device("own", "253:3", "sda", "device+cgroup", weight="200")
    fake.device("byuid", "253:4", "sdb", "uid", slice_ms="80", writes_starved="5")
    a, b, odd = fake.cgroup("/a"), fake.cgroup("/a/b"), fake.cgroup("/o dd")
    for name in ("one", "own"):
        fake.answer(
            name,
            "groups",
            "1 groups\n1 0 root weight=70 set=1\n2 1 device:253:3 weight=200 set=1\n"
            f"3 1 cgroup#{a} weight=300 set=1 path=/a\n"
            f"4 3 cgroup#{b} weight=100 set=0 path=/a/b\nnext 4\n",
        )
        fake.answer(
            name,
            "groups 4",
            f"1 groups\n5 2 cgroup#{odd} weight=50 set=1 path=/o\\040dd\n"
            "6 1 cgroup#999 weight=9 set=1\nend\n",
        )
        fake.answer(
            name,
            "stats",
            "1 stats\n1 root held=0,0 inflight=0 read=0,0,0,0,0 write=0,0,0,0,0 "
            f"discard=0,0,0,0,0\n3 cgroup#{a} held=2,8192 inflight=5 "
            "read=10,40960,4,8000,30000 write=5,20480,0,0,5000 discard=0,0,0,0,0 "
            "read.held=2,8192 read.inflight=1 write.held=0,0 write.inflight=4 "
            "discard.held=0,0 discard.inflight=0\nend\n",
        )
        fake.answer(
            name,
            "latency",
            f"1 latency\n3 cgroup#{a} read.wait={slots(s2=4)} read.service={slots(s2=10)} "
            f"write.wait={slots()} write.service={slots(s0=5)} discard.wait={slots()} "
            f"discard.service={slots()} read.wait_ns=13000 read.service_ns=30000 "
            "write.wait_ns=0 write.service_ns=4000 discard.wait_ns=0 discard.service_ns=0\nend\n",
        )
    fake.answer("byuid", "groups", "1 groups\n1 0 root weight=100 set=0\nend\n")
    fake.answer("byuid", "stats", "1 stats\nend\n")
    fake.answer("byuid", "latency", "1 latency\nend\n")
    return fake


@pytest.fixture
def watch(fake: Fake) -> Iterator[Callable[[str], Watcher]]:
    """Start watch with a configuration, on a device, "one", and a cgroup, a."""
    started = []
    fake.device("one", "253:1", "sda")
    fake.answer("one", "groups", "1 groups\n1 0 root weight=100 set=0\nend\n")
    fake.cgroup("a")
    (fake.root / "log").write_text("")

    def start(conf: str) -> Watcher:
        (fake.root / "conf").write_text(conf)
        env = {**os.environ, "FAKE_KERNEL": str(fake.root), "FAKE_VERSION": "2"}
        env["FAKE_MINOR"] = str(fake.minor)
        env["DBUS_SYSTEM_BUS_ADDRESS"] = f"unix:path={fake.root}/no-bus"
        command = [fake.program, "watch", "--config", fake.root / "conf"]
        with open(fake.root / "said", "w") as said:
            started.append(subprocess.Popen(command, env=env, stderr=said))
        watcher = Watcher(fake, started[-1])
        watcher.weigh("a", 250)
        watcher.sends("a", 250)
        return watcher

    yield start
    for process in started:
        process.terminate()
        assert process.wait() == 0


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    """A terminal of 120 columns and 12 lines, on which a test runs top."""
    made = Terminal(120, 12)
    yield made
    made.close()
