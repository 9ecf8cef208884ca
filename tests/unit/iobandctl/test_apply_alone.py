# SPDX-License-Identifier: GPL-2.0-only
"""The configuration applied and dumped, on a fake kernel."""

import fcntl
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest
from fakekernel import Fake, configure


def test_apply_weights(host: Fake) -> None:
    """One message for each tree with another weight; a dry run sends none."""
    a, b = host.cgroup("/a"), host.cgroup("/a/b")
    conf = "[group /a]\nweight = 300\n[group /a/*]\nweight = 40\n[group x]\ngroup = uid:5\n"
    conf += "weight = 3\n[group root]\npool = sda\nweight = 70\n"
    (host.root / "conf").write_text(conf)
    args = ["apply", "--config", str(host.root / "conf")]
    rows = host.json(*args, "--dry-run")
    assert [row["because"].rsplit(":", 1)[1] for row in rows] == ["7", "2", "4", "4"]
    weights = [message for message in host.sent if " weight " in message]
    assert weights == []
    host.run(*args)
    weights = [message for message in host.sent if " weight " in message]
    assert weights == [
        "byuid: weight uid:5 3",
        f"own: weight cgroup#{a} 300",
        f"one: weight cgroup#{b} 40",
        f"own: weight cgroup#{b} 40",
    ]


def test_the_device_that_messages_of_a_pool_are_sent_to(fake: Fake) -> None:
    """Do not use a device with a tree of its own: the message would apply to that tree."""
    fake.device("a", "253:1", "sda", "device+cgroup")
    fake.device("b", "253:2", "sda")
    for device in ("a", "b"):
        listed = "1 groups\n1 0 root weight=100 set=0\n2 1 device:253:1 weight=100 set=0\nend\n"
        fake.answer(device, "groups", listed)
    number = fake.cgroup("/x")
    fake.run(*configure(fake, "[group /x]\nweight = 300\ndevice = -\n"))
    assert fake.told("weight") == [f"b: weight cgroup#{number} 300"]


def test_apply_settings(host: Fake) -> None:
    (host.root / "conf").write_text("[pool sd*]\nslice = 80\nmeasure = time\n")
    host.run("apply", "--config", str(host.root / "conf"))
    assert [message for message in host.sent if " set " in message] == [
        "byuid: set measure=time",
        "one: set slice=80",
        "one: set measure=time",
    ]
    (host.root / "conf").write_text("[pool sda]\n\nmeasure = time\n")
    said = host.run("apply", "--config", str(host.root / "conf"), rc=2)
    assert "set 'slice' in its section" in said
    assert f"{host.root}/conf:3; nothing was changed" in said


def test_apply_writes_starved(host: Fake) -> None:
    """The setting is sent to each pool with another value."""
    rows = host.json(*configure(host, "[pool sd*]\nwrites_starved = 4\n"), "--dry-run")
    assert [(row["pool"], row["setting"], row["from"], row["to"]) for row in rows] == [
        ("sdb", "writes_starved", "5", "4"),
        ("sda", "writes_starved", "2", "4"),
    ]
    assert host.told("set") == []
    host.run(*configure(host, "[pool sd*]\nwrites_starved = 5\n"))
    assert host.told("set") == ["one: set writes_starved=5"]


def test_apply_interrupted(host: Fake) -> None:
    """All changes are undone, and then the signal takes effect."""
    (host.root / "conf").write_text("[pool sd*]\nslice = 80\nmeasure = time\n")
    (host.root / "interrupt").touch()
    said = host.run("apply", "--config", str(host.root / "conf"), rc=-signal.SIGTERM)
    assert "interrupted: Terminated" in said
    assert "1 change was undone: all is as it was before" in said
    assert [message for message in host.sent if " set " in message] == [
        "byuid: set measure=time",
        "byuid: set measure=bytes",
    ]


@contextmanager
def another_apply(host: Fake) -> Iterator[None]:
    """Hold the lock, as a running apply does."""
    (host.root / "run").mkdir(mode=0o755, exist_ok=True)
    with (host.root / "run/.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def test_apply_waits_for_another(host: Fake) -> None:
    """apply waits without changes, then applies the configuration of that time."""
    command = configure(host, "[pool sda*]\nslice = 70\n")
    with another_apply(host):
        assert host.run(*command, "--dry-run")
        waiting = subprocess.Popen(
            [host.program, *command], env=host.environment, stderr=subprocess.PIPE, text=True
        )
        said = waiting.stderr.readline()
        assert said == "iobandctl: note: waiting until another iobandctl is done\n"
        configure(host, "[pool sda*]\nslice = 80\n")
        assert host.told("set") == []
    assert waiting.communicate()[1] == ""
    assert (waiting.returncode, host.told("set")) == (0, ["one: set slice=80"])
    assert not (host.root / "run/.lock").exists()


@pytest.mark.parametrize(
    "words",
    ["set a weight=5", "set --pool sda depth=5", "set-weight --from saved", "resize one"],
)
def test_others_wait_for_an_apply(host: Fake, words: str) -> None:
    """Otherwise a failed apply could restore old settings, or a resize could use an old size."""
    verb = words.split()[0]
    (host.root / "log").write_text("")
    (host.root / "saved").write_text("1 weights\npool=sda group=root weight=5\n")
    with another_apply(host):
        command = [host.program, *words.split()]
        waiting = subprocess.Popen(
            command, env=host.environment, stderr=subprocess.PIPE, text=True, cwd=host.root
        )
        said = waiting.stderr.readline()
        assert said == "iobandctl: note: waiting until another iobandctl is done\n"
        assert host.sent == []
    said = waiting.communicate()[1]
    if verb == "resize":
        assert "the device below one is gone" in said
    else:
        assert (said, waiting.returncode) == ("", 0)
        assert host.told("weight", "set") != []


@pytest.mark.idles
def test_apply_does_not_wait_for_ever(host: Fake) -> None:
    command = configure(host, "[pool sda]\nslice = 70\n")
    with another_apply(host):
        said = host.run(*command, rc=4)
    assert "another iobandctl has locked" in said
    assert "try again when it is done" in said
    assert host.told("set") == []


@pytest.mark.idles
def test_apply_waits_while_others_get_done(host: Fake) -> None:
    """In total longer than the timeout for a single holder of the lock."""
    command = configure(host, "[pool sda*]\nslice = 70\n")
    lock, turns = host.root / "run/.lock", 4
    with another_apply(host), ExitStack() as others:
        waiting = subprocess.Popen(
            [host.program, *command], env=host.environment, stderr=subprocess.PIPE, text=True
        )
        for turn in range(turns):
            time.sleep(24 / turns)
            next_one = host.root / f"run/turn{turn}"
            fcntl.flock(others.enter_context(next_one.open("w")), fcntl.LOCK_EX)
            next_one.rename(lock)
    assert waiting.wait(timeout=60) == 0, waiting.stderr.read()
    assert host.told("set") == ["one: set slice=70"]


def test_apply_of_nothing(host: Fake) -> None:
    (host.root / "conf").write_text("")
    assert host.json("apply", "--config", str(host.root / "conf")) == []


def test_dump(host: Fake) -> None:
    text = host.run("dump")
    assert "[device own]\ndevice = /dev/block/4000:3\npool = sda\nmode = device+cgroup\n" in text
    assert "[pool sdb]\nmeasure = bytes\ndepth = auto\nslice = 80\nwrites_starved = 5\n" in text
    assert "group = /o\\040dd\npool = sda\ndevice = own\nweight = 50\n" in text
    assert "group = /a\npool = sda\ndevice = -\nweight = 300\n" in text
    assert "999" not in text
    (host.root / "conf").write_text(re.sub(r"\[device.*?\n\n", "", text, flags=re.DOTALL))
    assert host.json("apply", "--config", str(host.root / "conf")) == []
