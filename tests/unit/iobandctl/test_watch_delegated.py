# SPDX-License-Identifier: GPL-2.0-only
"""iobandctl watch and users with cgroups of their own, which they write and make at will."""

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fakekernel import Fake
from watcher import Watcher

PAUSE_S = 0.05
STEPS = 16  # of all delegated cgroups, in that time
WATCHES = 256  # of a delegated subtree


def give_away(directory: Path) -> None:
    if os.geteuid():
        pytest.skip("only root can give a file away")
    os.chown(directory, 65534, 65534)


def mark(directory: Path) -> None:
    try:
        os.setxattr(directory, "user.delegate", b"1")
    except OSError as error:
        pytest.skip(f"no extended attributes here: {error}")


WAYS: dict[str, Callable[[Path], None]] = {
    "owner": give_away,
    "group": lambda directory: directory.chmod(0o775),
    "systemd": mark,
}


@pytest.mark.parametrize("way", WAYS)
def test_a_latency_target_of_a_user_is_ignored(
    fake: Fake, watch: Callable[[str], Watcher], way: str
) -> None:
    """It would throttle others.  That of the cgroup that is delegated is root's."""
    paths = ["user", "user/x", "user/x/y", "loose", "system"]
    ids = {path: fake.cgroup(path) for path in paths}
    for path in paths:
        (fake.root / f"cgroup/{path}/io.latency").write_text("253:1 target=2000\n")
    (fake.root / "cgroup/loose/io.latency").chmod(0o664)
    WAYS[way](fake.root / "cgroup/user")
    watcher = watch("")
    for path in paths:
        watcher.weigh(path, 300)
        watcher.sends(path, 300)
    assert sorted(fake.told("latency-target")) == sorted(
        f"one: latency-target cgroup#{ids[path]} 2000" for path in ("user", "system")
    )
    assert watcher.said.count("io.latency of cgroup /user/") == 1
    assert watcher.said.count("io.latency of cgroup /loose") == 1


def limit(fake: Fake, path: str, text: str) -> None:
    """Write io.max of a cgroup, for the device below."""
    (fake.root / f"cgroup/{path}/io.max").write_text(text and f"4000:1 {text}\n")


@pytest.mark.parametrize("way", ["owner", "group"])
def test_a_maximum_of_a_user_is_ignored(
    fake: Fake, watch: Callable[[str], Watcher], way: str
) -> None:
    """It would replace that of root.  That of the cgroup that is delegated is root's."""
    paths = ["user", "user/x", "user/x/y", "loose", "system"]
    ids = {path: fake.cgroup(path) for path in paths}
    for path in paths:
        limit(fake, path, "rbps=2000")
    (fake.root / "cgroup/loose/io.max").chmod(0o664)
    WAYS[way](fake.root / "cgroup/user")
    watcher = watch("")
    for path in paths:
        limit(fake, path, "rbps=3000")
        watcher.weigh(path, 300)
        watcher.sends(path, 300)
    assert {line.split()[2] for line in fake.told("max")} == {
        f"cgroup#{ids[path]}" for path in ("user", "system")
    }
    limit(fake, "user", "")
    watcher.soon(lambda: f"one: max cgroup#{ids['user']} default" in fake.sent)
    assert watcher.said.count("io.max of cgroup /user/") == 1
    assert watcher.said.count("io.max of cgroup /loose") == 1


@pytest.mark.parametrize("place", ["user", "user/x"])
def test_a_maximum_stays_when_its_file_is_given_away(
    fake: Fake, watch: Callable[[str], Watcher], place: str
) -> None:
    """From then on no write of the user replaces or removes it."""
    number = fake.cgroup(place)
    limit(fake, place, "rbps=2000")
    watcher = watch("")
    told = [f"one: max cgroup#{number} rbps=2000 wbps=max riops=max wiops=max"]
    watcher.soon(lambda: fake.told("max") == told)
    fake.delegate("user")
    if place == "user":
        (fake.root / "cgroup/user/io.max").chmod(0o664)
    for weight, text in ((300, "rbps=9000"), (310, "rbps=max"), (320, "")):
        limit(fake, place, text)
        watcher.weigh(place, weight)
        watcher.sends(place, weight)
    assert fake.told("max") == told
    assert watcher.said.count("io.max of cgroup /user") == 1


def test_a_maximum_by_hand_stays_in_a_container(
    fake: Fake, watch: Callable[[str], Watcher]
) -> None:
    """Below a cgroup of Delegate= root's files count, as libvirt's, but not before "set-max"."""
    ids = {path: fake.cgroup(path) for path in ("box", "box/a", "box/b")}
    mark(fake.root / "cgroup/box")
    groups = "".join(
        f"{n} 1 cgroup#{ids[path]} weight=100 set=0 path=/{path}\n" for n, path in enumerate(ids, 2)
    )
    fake.answer("one", "groups", f"1 groups\n1 0 root weight=100 set=0\n{groups}end\n")
    fake.run("set-max", "/box/a", "rbps=1MiB")
    (fake.root / "log").write_text("")
    watcher = watch("")
    for weight, text in ((300, "rbps=9000"), (310, "")):
        for path in ids:
            limit(fake, path, text)
            watcher.weigh(path, weight)
            watcher.sends(path, weight)
    for path in ("box", "box/b"):
        watcher.soon(lambda path=path: f"one: max cgroup#{ids[path]} default" in fake.sent)
    assert not any(f"cgroup#{ids['box/a']}" in line for line in fake.told("max"))


def test_a_cgroup_that_is_delegated_after_it_was_found(
    fake: Fake, watch: Callable[[str], Watcher]
) -> None:
    """Its children belong to it, from whatever time."""
    fake.cgroup("user/before")
    watcher = watch("")
    fake.delegate("user")
    for path in ("user/x", "user/before/x"):
        fake.cgroup(path)
        (fake.root / f"cgroup/{path}/io.latency").write_text("253:1 target=2000\n")
        watcher.weigh(path, 300)
        watcher.sends(path, 300)
    assert fake.told("latency-target") == []
    assert watcher.said.count("is ignored") == 1


def test_a_weight_that_competes_with_others_is_roots(
    fake: Fake, watch: Callable[[str], Watcher]
) -> None:
    """Below the delegated cgroup a user divides that cgroup's part."""
    for path in ("user", "user/x"):
        fake.cgroup(path)
    fake.delegate("user")
    watcher = watch("")
    for path in ("user", "user/x"):
        (fake.root / f"cgroup/{path}/io.weight").write_text("400\n")
        (fake.root / f"cgroup/{path}/io.weight").chmod(0o666)
        watcher.weigh(path, 300)
    watcher.sends("user/x", 300)
    watcher.weigh("a", 260)
    watcher.sends("a", 260)
    assert not any(f"#{watcher.number('user')} 300" in line for line in fake.sent)
    (fake.root / "cgroup/user/io.weight").chmod(0o644)
    watcher.weigh("user", 500)
    watcher.sends("user", 500)


@contextmanager
def attack(act: Callable[[int], None]) -> Iterator[None]:
    """Do something over and over, with a number that grows."""
    end = threading.Event()

    def run() -> None:
        n = 0
        while not end.is_set():
            act(n)
            n += 1

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()


@pytest.mark.parametrize("path", ["system", "user/x"])
def test_many_writes_are_one_message(
    fake: Fake, watch: Callable[[str], Watcher], path: str
) -> None:
    """In each pause, and the last value arrives."""
    fake.cgroup(path)
    if path.startswith("user"):
        fake.delegate("user")
    watcher = watch("")
    before, start = len(fake.sent), time.monotonic()
    with attack(lambda n: watcher.weigh(path, 300 + n % 100)):
        time.sleep(3)
    watcher.weigh(path, 500)
    watcher.sends(path, 500)
    passed = time.monotonic() - start
    assert len(fake.sent) - before <= passed / PAUSE_S + 2


def test_a_user_who_writes_many_weights(fake: Fake, watch: Callable[[str], Watcher]) -> None:
    """Others have their turns, and all last values arrive."""
    paths = [f"user/{n}" for n in range(100)]
    for path in [*paths, "other/x"]:
        fake.cgroup(path)
    fake.delegate("user")
    fake.delegate("other")
    watcher = watch("")

    def write(n: int) -> None:
        for path in paths:
            watcher.weigh(path, 300 + n % 100)

    before, start = len(fake.sent), time.monotonic()
    cpu_s = watcher.cpu_s
    with attack(write):
        time.sleep(2)
        asked = len(fake.sent)
        watcher.weigh("other/x", 450)
        watcher.sends("other/x", 450)
        # The other user waits for its next turn, not for a hundred cgroups.
        other = next(n for n, line in enumerate(fake.sent) if line.endswith(" 450"))
        assert other - asked <= STEPS
        time.sleep(2)
        passed = time.monotonic() - start
        sent = len(fake.sent) - before
        share = (watcher.cpu_s - cpu_s) / passed
    assert sent <= STEPS * (passed / PAUSE_S + 1)
    assert share < 0.1, f"{share:.0%} of a core"
    for path in paths:
        watcher.weigh(path, 600)
    for path in paths:
        watcher.sends(path, 600)


@pytest.mark.idles
def test_a_user_who_makes_many_cgroups(fake: Fake, watch: Callable[[str], Watcher]) -> None:
    """Some of them are watched, the others looked at from time to time, and that is said once."""
    fake.cgroup("user")
    fake.delegate("user")
    watcher = watch("")
    own = watcher.watches - 1
    paths = [f"user/{n}" for n in range(WATCHES + 50)]
    for path in paths:
        fake.cgroup(path)
    watcher.soon(lambda: "is delegated and has more than" in watcher.said)
    for path in paths:
        watcher.weigh(path, 300)
    for path in paths:
        message = f"one: weight cgroup#{watcher.number(path)} 300"
        watcher.soon(lambda message=message: message in fake.sent, seconds=60)
    assert watcher.watches == own + WATCHES
    # The system's own are watched all the same.
    for path in ("system", "system/x"):
        fake.cgroup(path)
        watcher.weigh(path, 310)
        watcher.sends(path, 310)
    assert watcher.watches == own + WATCHES + 2
    # A watch that is free again is for a cgroup without.
    for path in paths[:100]:
        shutil.rmtree(fake.root / "cgroup" / path)
    watcher.soon(lambda: watcher.watches == own + 2 + 1 + len(paths) - 100, seconds=60)
    watcher.weigh(paths[-1], 320)
    watcher.sends(paths[-1], 320)
    assert watcher.said.count("is delegated and has more than") == 1
    shutil.rmtree(fake.root / "cgroup/user")
    watcher.soon(lambda: watcher.watches == own + 2, seconds=60)


def test_a_user_who_makes_and_removes_cgroups(fake: Fake, watch: Callable[[str], Watcher]) -> None:
    """It costs little, and no event of the system's own is lost."""
    fake.cgroup("user")
    fake.delegate("user")
    watcher = watch("")

    def churn(n: int) -> None:
        directory = fake.root / f"cgroup/user/{n % 500}"
        (directory / "below").mkdir(parents=True)
        shutil.rmtree(directory)

    start, cpu_s = time.monotonic(), watcher.cpu_s
    with attack(churn):
        time.sleep(2)
        watcher.weigh("a", 270)
        watcher.sends("a", 270)
        time.sleep(2)
        share = (watcher.cpu_s - cpu_s) / (time.monotonic() - start)
    assert share < 0.1, f"{share:.0%} of a core"
    fake.cgroup("user/last")
    watcher.weigh("user/last", 300)
    watcher.sends("user/last", 300)
