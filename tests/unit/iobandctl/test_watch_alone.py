# SPDX-License-Identifier: GPL-2.0-only
"""iobandctl watch with directories in place of cgroups, and without systemd."""

import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from fakekernel import Fake
from watcher import Watcher


def test_watch_tries_to_enable_io_once(fake: Fake, watch: Callable[[str], Watcher]) -> None:
    """No write enables it here; in /user, which a user owns, the names are not trusted."""
    controls = []
    for path in ("", "user", "x.slice"):
        fake.cgroup(path)
        controls.append(fake.root / "cgroup" / path / "cgroup.subtree_control")
        controls[-1].write_text("")
    fake.cgroup("x.slice", "cpu")
    fake.cgroup("x.slice/x-y.slice", "cpu")
    fake.cgroup("user/y.slice", "cpu")
    watcher = watch("[watch]\nenable-controller = yes\n")
    watcher.soon(lambda: controls[2].read_text() == "+io")
    time.sleep(0.3)
    watcher.weigh("a", 260)
    watcher.sends("a", 260)
    assert [control.read_text() for control in controls] == ["+io", "", "+io"]
    # Each write to the root's file makes watch read, and send, again.
    assert sum(message.endswith(" 250") for message in fake.sent) < 9


@pytest.mark.idles
def test_watch_of_more_cgroups_than_may_be_watched(
    fake: Fake, watch: Callable[[str], Watcher]
) -> None:
    """It keeps its watches, says so once, polls the others, and adds them later."""
    watcher = watch("")
    (fake.root / "full").touch()
    for path in ("b", "c"):
        fake.cgroup(path)
    watcher.soon(lambda: watcher.said.count("max_user_watches") == 1)
    for path in ("b", "c"):
        watcher.weigh(path, 300)
        watcher.sends(path, 300)
    assert watcher.watches == 2
    (fake.root / "full").unlink()
    watcher.soon(lambda: watcher.watches == 4)
    watcher.weigh("b", 310)
    watcher.sends("b", 310)
    assert watcher.said.count("max_user_watches") == 1


def test_watch_reads_all_of_a_file(fake: Fake, watch: Callable[[str], Watcher]) -> None:
    """A number at the end of a page is not cut, as it could be with hundreds of disks."""
    watcher = watch("")
    disks = "".join(f"9:{minor} 100\n" for minor in range(390))
    start = "default 25"
    text = disks + "#" * (4095 - len(disks) - len(start) - 1) + f"\n{start}"
    assert len(text) == 4095
    (fake.root / "cgroup/a/io.weight").write_text(f"{text}00\n")
    watcher.sends("a", 2500)
    assert not any(message.endswith(" 25") for message in fake.sent)


def test_watch_quotes_names(fake: Fake, watch: Callable[[str], Watcher]) -> None:
    """A cgroup's name cannot imitate a line of the log."""
    fake.cgroup("x\n<0>y z")
    fake.cgroup("x\n<0>y z/below", "cpu")
    watcher = watch("[watch]\nenable-controller = yes\n[group /x*/below]\nweight = 7\n")
    watcher.soon(lambda: "cannot enable" in watcher.said)
    assert "/x\\012<0>y z" in watcher.said
    assert "\n<0>" not in watcher.said


def test_watch_sets_bounds(fake: Fake, watch: Callable[[str], Watcher]) -> None:
    """Of present and later cgroups, once; bounds of others are kept."""
    text = f"1 groups\n1 0 root weight=100 set=0\n2 1 cgroup#{fake.cgroup('a')} weight=100 set=0 "
    fake.answer("one", "groups", text + "path=/a max=9,max,max,max min=8,0,0,0\nend\n")
    watcher = watch(
        "[group /b*]\nmaximum = wbps=1KiB\n[group /*d]\nminimum = riops=5\n"
        "[group /bound]\nweight = 7\n"
    )
    number = fake.cgroup("bound")
    told = [
        f"one: max cgroup#{number} rbps=max wbps=1024 riops=max wiops=max",
        f"one: min cgroup#{number} rbps=0 wbps=0 riops=5 wiops=0",
    ]
    watcher.soon(lambda: told[1] in fake.sent)
    watcher.sends("bound", 7)
    watcher.weigh("bound", 8)
    watcher.weigh("a", 270)
    watcher.sends("a", 270)
    assert fake.told("max", "min") == told
    assert "is more than" not in watcher.said


def test_watch_of_a_promise_that_cannot_be_kept(
    fake: Fake, watch: Callable[[str], Watcher]
) -> None:
    """It is set, as the kernel obeys the maximum, and noted once."""
    fake.cgroup("a b")
    conf = "[group /a\\040b]\nminimum = wbps=2KiB\n[group all]\ngroup = /*b\nmaximum = wbps=1KiB\n"
    watcher = watch(conf)
    watcher.soon(lambda: len(fake.told("max", "min")) == 2)
    watcher.weigh("a b", 300)
    watcher.sends("a b", 300)
    assert watcher.said.count("more than") == 1
    assert (
        "cgroup /a b in pool sda: a minimum of wbps=2KiB is more than the maximum of wbps=1KiB, "
        "which wins\n" in watcher.said
    )


@pytest.mark.parametrize("lent", [False, True])
def test_watch_after_events_were_lost(
    fake: Fake, watch: Callable[[str], Watcher], lent: bool
) -> None:
    """It reads everything again, as the changes are unknown."""
    if lent:
        fake.delegate("a")
    watcher = watch("")
    watcher.process.send_signal(signal.SIGSTOP)
    room = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    with (
        open(fake.root / "cgroup/a/x", "wb", buffering=0) as x,
        open(fake.root / "cgroup/a/y", "wb", buffering=0) as y,
    ):
        for _ in range(room // 2 + 1):
            x.write(b"x")
            y.write(b"y")
    watcher.weigh("a", 260)
    watcher.process.send_signal(signal.SIGCONT)
    watcher.sends("a", 260)
    watcher.weigh("a", 270)
    watcher.sends("a", 270)


def test_watch_takes_over_latency(fake: Fake, watch: Callable[[str], Watcher]) -> None:
    """From io.latency of a device of the tree or the one below; its removal removes the target."""
    a = fake.cgroup("a")
    file = fake.root / "cgroup/a/io.latency"
    file.write_text("9:9 target=7\n253:1 target=2000\n")
    watcher = watch("")
    told = [f"one: latency-target cgroup#{a} {us}" for us in (2000, 500, 10000000, "default")]
    watcher.soon(lambda: told[0] in fake.sent)
    for text, message in (
        ("4000:1 target=500\n", told[1]),
        ("253:1 target=20000000\n", told[2]),
        ("9:9 target=7\n", told[3]),
    ):
        file.write_text(text)
        watcher.soon(lambda message=message: message in fake.sent)
    watcher.weigh("a", 260)
    watcher.sends("a", 260)
    assert fake.told("latency-target") == told
    # A target that is set by hand from then on stays.
    text = f"1 groups\n1 0 root weight=100 set=0\n2 1 cgroup#{a} weight=7 set=1 "
    fake.answer("one", "groups", text + "path=/a latency=9\nend\n")
    watcher.reload("")
    watcher.weigh("a", 270)
    watcher.sends("a", 270)
    assert fake.told("latency-target") == told


def test_watch_takes_over_io_max(fake: Fake, watch: Callable[[str], Watcher]) -> None:
    """From io.max of the device below, not of the ioband device; its removal removes it."""
    a = fake.cgroup("a")
    file = fake.root / "cgroup/a/io.max"
    file.write_text("253:1 rbps=5 wbps=max riops=max wiops=max\n9:9 rbps=7\n")
    watcher = watch("")
    watcher.weigh("a", 260)
    watcher.sends("a", 260)
    assert fake.told("max") == []
    told = []
    for text, words in (
        ("rbps=max wbps=5000 riops=max wiops=40\n", "rbps=max wbps=5000 riops=max wiops=40"),
        ("rbps=9 wbps=5000 riops=7 wiops=max\n", "rbps=9 wbps=5000 riops=7 wiops=max"),
        ("rbps=9 wbps=2000000000000\n", "rbps=9 wbps=max riops=max wiops=max"),
        ("", "default"),
    ):
        file.write_text(text and f"4000:1 {text}")
        told.append(f"one: max cgroup#{a} {words}")
        watcher.soon(lambda: fake.told("max") == told)
    watcher.weigh("a", 270)
    watcher.sends("a", 270)
    assert fake.told("max") == told


def test_watch_of_an_io_max_of_one_disk_of_two(fake: Fake, watch: Callable[[str], Watcher]) -> None:
    """It is no maximum for the whole pool; a configured one stays."""
    fake.device("two", "253:2", "sda")
    for name in "ab":
        fake.cgroup(name)
        (fake.root / f"cgroup/{name}/io.max").write_text("4000:1 rbps=9\n")
    watcher = watch("[group /b]\nmaximum = rbps=5\n")
    watcher.weigh("a", 260)
    watcher.sends("a", 260)
    watcher.soon(lambda: len(fake.told("max")) == 1)
    assert f"cgroup#{fake.cgroup('b')}" in fake.told("max")[0]


def test_watch_of_a_target_that_stays_for_now(fake: Fake, watch: Callable[[str], Watcher]) -> None:
    """A target that cannot be removed at once is removed later."""
    a = fake.cgroup("a")
    file = fake.root / "cgroup/a/io.latency"
    file.write_text("253:1 target=2000\n")
    watcher = watch("")
    watcher.soon(lambda: f"one: latency-target cgroup#{a} 2000" in fake.sent)
    (fake.root / "refuse").write_text("latency-target not now\n")
    file.write_text("")
    watcher.soon(lambda: "not now" in watcher.said)
    (fake.root / "refuse").unlink()
    watcher.weigh("a", 260)
    watcher.sends("a", 260)
    watcher.soon(lambda: f"one: latency-target cgroup#{a} default" in fake.sent)


def test_watch_of_latency_that_is_configured(fake: Fake, watch: Callable[[str], Watcher]) -> None:
    """The configuration has priority; other targets are kept."""
    number = fake.cgroup("b")
    text = f"1 groups\n1 0 root weight=100 set=0\n2 1 cgroup#{fake.cgroup('a')} weight=100 set=0 "
    fake.answer("one", "groups", text + "path=/a latency=9\nend\n")
    (fake.root / "cgroup/b/io.latency").write_text("253:1 target=2000\n")
    watcher = watch("[group /b]\nlatency = 3ms\n")
    watcher.weigh("b", 300)
    watcher.sends("b", 300)
    assert fake.told("latency-target") == [f"one: latency-target cgroup#{number} 3000"]


def test_watch_leaves_presets_of_others_alone(fake: Fake, watch: Callable[[str], Watcher]) -> None:
    """It sets presets of its configuration, and removes only presets of the previous one."""
    fake.minor = 1
    others = "2 root weight=9 path=/others\n3 root path=/both max=9,max,max,max"
    fake.answer("one", "presets", f"1 presets\n1 root weight=4 path=/b\n{others}\nend\n")
    watcher = watch("[group /b]\nweight = 5\n[group /both]\nweight = 6\nlatency = 1ms\n")
    told = [
        "one: preset weight cgroup:/b 5",
        "one: preset weight cgroup:/both 6",
        "one: preset latency-target cgroup:/both 1000",
    ]
    assert fake.told("preset") == told
    both = f"{others} weight=6 latency=1000"
    fake.answer("one", "presets", f"1 presets\n1 root weight=7 path=/b\n{both}\nend\n")
    watcher.reload("[group /both]\nweight = 6\n[group /b*]\nlatency = 2ms\n")
    told += ["one: preset latency-target cgroup:/both 2000"]
    assert fake.told("preset") == told, "somebody else has changed /b"
    both = f"{others} weight=6 latency=2000"
    fake.answer("one", "presets", f"1 presets\n{both}\nend\n")
    watcher.reload("")
    told += [
        "one: preset weight cgroup:/both default",
        "one: preset latency-target cgroup:/both default",
    ]
    assert sorted(fake.told("preset")) == sorted(told)
    watcher.reload("")
    assert sorted(fake.told("preset")) == sorted(told)


def test_watch_in_a_cgroup_namespace(fake: Fake, watch: Callable[[str], Watcher]) -> None:
    """It sets no presets, says so once, and goes on with existing cgroups."""
    fake.minor = 1
    fake.answer("one", "presets", "1 presets\n1 root weight=9 path=/others\nend\n")
    (fake.root / "cgroup/cgroup.events").write_text("populated 1\n")
    fake.cgroup("b")
    watcher = watch("[group /b]\nweight = 5\n")
    watcher.sends("b", 5)
    watcher.reload("[group /b]\nweight = 6\n")
    watcher.sends("b", 6)
    assert fake.told("preset") == []
    assert watcher.said.count("as in a cgroup namespace") == 1


def test_watch_with_a_module_that_is_older(fake: Fake, watch: Callable[[str], Watcher]) -> None:
    """It says once that the module has no presets."""
    watcher = watch("[group /b]\nweight = 5\n")
    watcher.reload("[group /b]\nweight = 6\n")
    assert fake.told("preset") == []
    assert watcher.said.count("is older than this iobandctl") == 1


def test_watch_with_a_bus_that_hangs(fake: Fake, watch: Callable[[str], Watcher]) -> None:
    """It accepts connections, and does not answer.  watch follows cgroups meanwhile."""
    fake.cgroup("x.slice")
    with socket.socket(socket.AF_UNIX) as bus:
        bus.bind(str(fake.root / "no-bus"))
        bus.listen()
        watcher = watch("")
        for weight in (300, 310):
            watcher.weigh("x.slice", weight)
            watcher.sends("x.slice", weight)
        watcher.process.terminate()
        assert watcher.process.wait(20) == 0


def test_watch_notes_units_that_have_changed(fake: Fake, watch: Callable[[str], Watcher]) -> None:
    """At the start, and at each reload."""
    watcher = watch("[group /a]\nmaximum = rbps=5M\n")
    note = f"iobandctl: note: {fake.root}/conf:2: "
    assert f"{note}rbps=5M: K, M, G and T are powers of 1000" in watcher.said
    watcher.reload("[group /a]\nmaximum = wbps=7K\n")
    assert f"{note}wbps=7K: K, M, G and T are powers of 1000" in watcher.said
    watcher.reload("[group /a]\nmaximum = wbps=7KB\n")
    assert watcher.said.count(note) == 2
