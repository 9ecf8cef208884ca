# SPDX-License-Identifier: GPL-2.0-only
"""top on a terminal, which is a pty with an emulated screen, and in pages."""

import json
import os
import pty
import signal
import time

import pytest
from fakekernel import Fake, slots
from terminal import Terminal
from test_record import HEAD, WEIGHED, group, pool, recording

PATIENCE_S = 30
GROUPS = {"/a": (5, 300, 60), "/long/path/of/a/service": (6, 100, 30), "/o dd\né": (7, 50, 10)}


def escaped(path: str) -> str:
    """A path with the kernel's escapes."""
    return path.replace(" ", "\\040").replace("\n", "\\012")


@pytest.fixture
def busy(host: Fake) -> Fake:
    """Three cgroups of pool sda compete; at the second look they have done 60, 30 and 10 MiB."""
    lines = ["1 0 root weight=100 set=0\n"]
    before, after, latency = "", "", ""
    nothing = f"write.wait={slots()} write.service={slots()} discard.wait={slots()} "
    nothing += f"discard.service={slots()}"
    for path, (seq, weight, mib) in GROUPS.items():
        lines.append(f"{seq} 1 cgroup#{seq} weight={weight} set=1 path={escaped(path)}\n")
        stats = "1 cgroup#1 held=4,16384 inflight=1 read={} write=0,0,0,0,0 discard=0,0,0,0,0\n"
        stats = stats.replace("1 cgroup#1", f"{seq} cgroup#{seq}")
        before += stats.format("0,0,0,0,0")
        after += stats.format(f"{mib},{mib << 20},{mib},{mib * 2000000},{mib * 3000000}")
        latency += f"{seq} cgroup#{seq} read.wait={slots(s11=mib)} read.service={slots(s12=mib)} "
        latency += f"{nothing}\n"
    for device in ("one", "own"):
        host.answer(device, "groups", f"1 groups\n{''.join(lines)}end\n")
        host.answer(device, "stats", f"1 stats\n{before}end\n")
        host.answer(device, "stats.then", f"1 stats\n{after}end\n")
        host.answer(device, "latency", "1 latency\nend\n")
        host.answer(device, "latency.then", f"1 latency\n{latency}end\n")
    return host


def first_group(lines: list[str]) -> str:
    return lines[2].split(" ")[0]


def test_screen(busy: Fake, terminal: Terminal) -> None:
    """Groups by share, with their shares by weight, and their times in the queue."""
    terminal.run(busy, "--pool", "sda", "--interval", "0.5", "--count", "1000")
    lines = terminal.soon(lambda lines: len(lines[4]) > 100)
    assert lines[0].startswith("3 of 4 groups busy, 1 pools, every 0.5 s, by SHARE%")
    assert lines[1].split() == [
        "GROUP", "POOL", "WEIGHT", "DUE%", "SHARE%", "BYTES/S", "IOS/S", "HELD", "WAIT",
        "WAIT99", "SERVICE", "SERV99",
    ]  # fmt: skip
    path, pool, weight, due, share, *_, held, wait, wait99, service, service99 = lines[2].split()
    assert (path, pool, weight, due, share, held) == ("/a", "sda", "300", "66.7", "60.0", "4")
    assert (wait, wait99, service, service99) == ("2.00ms", "2.09ms", "3.00ms", "4.17ms")
    assert [line.split()[4] for line in lines[2:5]] == ["60.0", "30.0", "10.0"]
    assert lines[4].startswith("/o\\040dd\\012é ")
    terminal.press("q")
    assert terminal.ends() == 0


def test_keys(busy: Fake, terminal: Terminal) -> None:
    """All I/O was done once: the display stays during a long interval."""
    terminal.run(busy, "--pool", "sda", "--interval", "100")
    terminal.soon(lambda lines: first_group(lines) == "/a")
    terminal.press("r")
    terminal.soon(lambda lines: first_group(lines).startswith("/o"))
    assert "by SHARE% reversed" in terminal.lines[0]
    terminal.press("r")
    terminal.soon(lambda lines: first_group(lines) == "/a")
    for key, heading in {"g": "WEIGHT", "n": "GROUP", "W": "WAIT99", "p": "POOL"}.items():
        terminal.press(key)
        terminal.soon(lambda lines, heading=heading: f"by {heading} " in lines[0])
    terminal.press(">")
    terminal.soon(lambda lines: "by WEIGHT " in lines[0])
    terminal.press("<<<")
    terminal.soon(lambda lines: "by SERV99 " in lines[0])
    terminal.press("?")
    terminal.soon(lambda lines: lines[0].startswith("q quit"))
    terminal.press("?")
    terminal.soon(lambda lines: "busy" in lines[0])
    terminal.press("q")
    assert terminal.ends() == 0


@pytest.mark.parametrize(
    ("columns", "lines"),
    [(1, 1), (2, 2), (5, 3), (11, 4), (12, 1), (19, 5), (40, 2), (41, 6), (300, 100)],
)
def test_sizes(busy: Fake, terminal: Terminal, columns: int, lines: int) -> None:
    """From a terminal of this size and back; the sanitizers check every access."""
    terminal.resize(columns, lines)
    terminal.run(busy, "--pool", "sda", "--interval", "100")
    for _ in range(20):
        terminal.read(0.1)
    terminal.resize(120, 12)
    terminal.soon(lambda shown: first_group(shown) == "/a")
    terminal.resize(columns, lines)
    for key in ("\x1b[B", "\x1b[6~", "\x1b[A", "?", "?"):
        terminal.press(key)
        terminal.read(0.1)
    terminal.resize(120, 12)
    terminal.soon(lambda shown: first_group(shown) == "/a" and len(shown[1]) > 100)
    terminal.press("q")
    assert terminal.ends() == 0


def test_resized_and_back_at_once(busy: Fake, terminal: Terminal) -> None:
    """top sees the same size as before, but the terminal has lost lines and columns."""
    terminal.resize(120, 12)
    terminal.run(busy, "--pool", "sda", "--interval", "100")
    terminal.soon(lambda shown: first_group(shown) == "/a" and len(shown[1]) > 100)
    terminal.process.send_signal(signal.SIGSTOP)
    terminal.resize(40, 2)
    terminal.resize(120, 12)
    assert first_group(terminal.lines) != "/a"
    terminal.process.send_signal(signal.SIGCONT)
    terminal.soon(lambda shown: first_group(shown) == "/a" and len(shown[1]) > 100)
    terminal.press("q")
    assert terminal.ends() == 0


def test_resized_while_it_looks(busy: Fake, terminal: Terminal) -> None:
    """The new size takes effect at once, not at the next look after 100 s."""
    later = busy.root / "answers/one@stats.then"
    text = later.read_text()
    later.unlink()
    os.mkfifo(later)
    terminal.resize(40, 6)
    terminal.run(busy, "--pool", "sda", "--interval", "100")
    terminal.soon(lambda _: not later.exists())
    with (busy.root / "answers/one@stats").open("w") as answer:  # top waits for the rest now
        terminal.resize(120, 12)
        answer.write(text)
    terminal.soon(lambda shown: first_group(shown) == "/a" and len(shown[1]) > 100)
    terminal.press("q")
    assert terminal.ends() == 0


def test_narrow(busy: Fake, terminal: Terminal) -> None:
    """The share is the last column to go, and names keep their ends."""
    terminal.resize(32, 12)
    terminal.run(busy, "--pool", "sda", "--interval", "100")
    lines = terminal.soon(lambda lines: lines[4].endswith(" 10.0"))
    assert lines[1].split() == ["GROUP", "WEIGHT", "DUE%", "SHARE%"]
    assert lines[3].startswith("<f/a/service ")
    terminal.resize(20, 12)
    terminal.soon(lambda lines: lines[1].split() == ["GROUP", "SHARE%"])
    terminal.press("q")
    assert terminal.ends() == 0


def test_scrolling(busy: Fake, terminal: Terminal) -> None:
    terminal.resize(80, 3)
    terminal.run(busy, "--pool", "sda", "--interval", "100")
    terminal.soon(lambda lines: first_group(lines) == "/a")
    terminal.press("\x1bOB")
    terminal.soon(lambda lines: first_group(lines).endswith("service"))
    terminal.press("\x1bOB\x1bOB\x1bOB")
    terminal.soon(lambda lines: first_group(lines).startswith("/o"))
    terminal.press("\x1bOA")
    terminal.soon(lambda lines: first_group(lines).endswith("service"))
    terminal.press("q")
    assert terminal.ends() == 0


def test_device_goes_and_comes(busy: Fake, terminal: Terminal) -> None:
    """An error is on the screen until its cause is gone."""
    terminal.run(busy, "--interval", "0.2")
    terminal.soon(lambda lines: "busy" in lines[0])
    devices = busy.root / "devices"
    text = devices.read_text()
    (busy.root / "none").write_text("")
    (busy.root / "none").rename(devices)
    terminal.soon(lambda lines: "there is no ioband device" in lines[0])
    (busy.root / "back").write_text(text)
    (busy.root / "back").rename(devices)
    terminal.soon(lambda lines: "groups busy" in lines[0])
    terminal.press("q")
    assert terminal.ends() == 0
    assert terminal.said.read_text() == ""


def test_terminal_goes(busy: Fake, terminal: Terminal) -> None:
    """top ends when its window is closed."""
    terminal.run(busy, "--interval", "100")
    terminal.soon(lambda lines: "busy" in lines[0])
    os.close(terminal.side)
    os.close(terminal.main)
    assert terminal.process.wait(PATIENCE_S) == 0
    terminal.main, terminal.side = pty.openpty()


def test_unknown_terminal(busy: Fake, terminal: Terminal) -> None:
    terminal.run(busy, term="no-such-terminal")
    assert terminal.ends() == 1
    assert "the terminal 'no-such-terminal' is not known here" in terminal.said.read_text()


def test_batch(busy: Fake) -> None:
    text = busy.run("top", "--batch", "--pool", "sda", "--interval", "0.2", "--count", "2")
    first, second = text.split("\n\n")
    lines = first.splitlines()
    assert lines[0].split()[:6] == ["GROUP", "POOL", "WEIGHT", "DUE%", "SHARE%", "BYTES/S"]
    assert [line.split()[4] for line in lines[1:]] == ["60.00", "30.00", "10.00"]
    assert [line.split()[4] for line in second.splitlines()[1:]] == ["0.00"] * 3


def test_batch_json(busy: Fake) -> None:
    args = ("--pool", "sda", "--interval", "0.2", "--sort", "weight", "--count", "2")
    lines = busy.run("top", "--batch", "--json", *args).splitlines()
    rows, later = (json.loads(line)["top"] for line in lines)
    assert len(later) == 3
    assert [row["weight"] for row in rows] == [300, 100, 50]
    assert set(rows[0]) == {
        "group", "pool", "weight", "due_pct", "share_pct", "bytes_per_s", "ios_per_s",
        "held_now", "wait_avg_ns", "wait_p99_ns", "service_avg_ns", "service_p99_ns",
    }  # fmt: skip
    assert (rows[0]["due_pct"], rows[0]["share_pct"], rows[0]["held_now"]) == (66.67, 60, 4)
    assert (rows[1]["wait_avg_ns"], rows[1]["service_avg_ns"]) == (2000000, 3000000)
    assert 0 < rows[0]["bytes_per_s"] <= 60 * 20 << 20  # in at least a tenth of a second


def replayed(fake: Fake, text: str, *args: str, rc: int = 0) -> str:
    """The output of top for a recording."""
    path = fake.root / "recording"
    path.write_text(text)
    return fake.run("top", "--batch", "--input", str(path), *args, rc=rc)


def test_a_recording(fake: Fake) -> None:
    """A page for each sample but the first, with its time; without a kernel."""
    pages = replayed(fake, recording(*WEIGHED)).split("\n\n")
    times = [time.localtime(HEAD["begun_ns"] // 10**9 + seconds) for seconds in (1, 2)]
    assert [page.splitlines()[0] for page in pages] == [
        time.strftime("%Y-%m-%d %H:%M:%S", each) for each in times
    ]
    rows = [[line.split() for line in page.splitlines()[2:]] for page in pages]
    assert [[(row[0], row[4]) for row in page] for page in rows] == [
        [("/a", "50.00"), ("/b", "50.00")],
        [("/a", "75.00"), ("/b", "25.00")],
    ]
    assert replayed(fake, recording(*WEIGHED[:-1])).split("\n\n") == pages  # without an end
    assert replayed(fake, recording(*WEIGHED), "--count", "1").rstrip("\n") == pages[0]
    assert replayed(fake, recording(*WEIGHED), "--pool", "sda").split("\n\n") == pages
    assert replayed(fake, recording()) == ""
    assert fake.sent == []


def test_a_pool_that_a_recording_lacks(fake: Fake, terminal: Terminal) -> None:
    """The error lists the pools of the recording, also before the screen is set up."""
    pools = [pool(0, group(2, "/a", 0), name=name) for name in ("sdb", "sda")]
    says = f"there is no pool 'x' in {fake.root}/recording; it has: "
    assert f"{says}sda, sdb\n" in replayed(fake, recording(*pools), "--pool", "x", rc=3)
    assert f"{says}no pool\n" in replayed(fake, recording(), "--pool", "x", "--json", rc=3)
    text = recording(*pools, *WEIGHED)
    assert f"{says}sda, sdb\n" in replayed(fake, text, "--pool", "x", "--count", "1", rc=3)
    terminal.run(fake, "--input", str(fake.root / "recording"), "--pool", "x")
    assert terminal.ends() == 3
    assert f"{says}sda, sdb\n" in terminal.said.read_text()


def test_pools_of_a_recording(fake: Fake) -> None:
    """Samples of all pools are one page; after a gap a pool has no rate."""
    lines = []
    for second, mib in ((0, 0), (1, 10), (2, 20), (4, 90), (5, 91)):
        lines += [pool(second, group(2, "/a", mib)), pool(second, group(2, "/b", mib), name="sdb")]
    lines.insert(6, {"type": "gone", "pool": "sdb", "at_ns": 3 * 10**9})
    text = replayed(fake, recording(*lines), "--sort", "pool")
    rows = [[line.split() for line in page.splitlines()[2:]] for page in text.split("\n\n")]
    assert [[(row[1], row[5]) for row in page] for page in rows] == [
        [("sda", "10.0M"), ("sdb", "10.0M")],
        [("sda", "10.0M"), ("sdb", "10.0M")],
        [("sda", "35.0M")],
        [("sda", "1.00M"), ("sdb", "1.00M")],
    ]


def test_a_recording_on_the_terminal(fake: Fake, terminal: Terminal) -> None:
    """The last page stays.  Each page has its time."""
    path = fake.root / "recording"
    path.write_text(recording(*WEIGHED))
    terminal.run(fake, "--input", str(path), "--interval", "0.1")
    terminal.soon(lambda lines: any(line.startswith("/a ") and " 75.0M " in line for line in lines))
    at = time.localtime(HEAD["begun_ns"] // 10**9 + 2)
    assert terminal.lines[0].startswith(time.strftime("%Y-%m-%d %H:%M:%S  2 of ", at))
    for _ in range(5):
        terminal.read(0.1)
    assert any(line.startswith("/a ") for line in terminal.lines)
    terminal.press("q")
    assert terminal.ends() == 0


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), [("/a", 10, 10, 25), ("/a/b", 30, 30, 25), ("/c", 60, 60, 50)]),
        (("--sum",), [("/a", 40, 40, 50), ("/a/b", 30, 30, 25), ("/c", 60, 60, 50)]),
    ],
)
def test_sum(fake: Fake, options: tuple[str], expected: list[tuple]) -> None:
    """With the option, the I/O below a group is added to it."""

    def sample(second: int, *mib: int) -> dict:
        below = group(3, "/a/b", mib[1]) | {"parent": 2}
        return pool(second, group(2, "/a", mib[0]), below, group(4, "/c", mib[2]))

    text = recording(sample(0, 0, 0, 0), sample(1, 10, 30, 60))
    rows = json.loads(replayed(fake, text, "--json", "--sort", "group", *options))["top"]
    names = ("group", "share_pct", "ios_per_s", "due_pct")
    assert [tuple(row[name] for name in names) for row in rows] == expected
    assert {row["service_avg_ns"] for row in rows} == {2 * 10**6}


def test_sum_of_a_group_that_is_idle_itself(fake: Fake) -> None:
    def sample(second: int, mib: int) -> dict:
        below = group(3, "/a/b", mib) | {"parent": 2}
        return pool(second, group(2, "/a", 0) | {"inflight_ios": 0}, below)

    text = recording(sample(0, 0), sample(1, 10))
    groups = {}
    for options in ((), ("--sum",)):
        rows = json.loads(replayed(fake, text, "--json", *options))["top"]
        groups[options] = {row["group"]: row["ios_per_s"] for row in rows}
    assert groups == {(): {"/a/b": 10}, ("--sum",): {"/a": 10, "/a/b": 10}}


def test_idle_groups_are_left_out(host: Fake) -> None:
    host.answer("byuid", "stats", "1 stats\nend\n")
    args = ("--pool", "sdb", "--interval", "0.1", "--count", "1")
    assert host.run("top", "--batch", *args) == ""
    assert json.loads(host.run("top", "--batch", "--json", *args)) == {"top": []}


@pytest.mark.parametrize(
    ("args", "rc", "says"),
    [
        ([], 2, "this is not a terminal; --batch prints page after page"),
        (["--json"], 2, "--json needs --batch"),
        (["--input", "x", "--device", "y"], 2, "of a recording --pool chooses a part"),
        (["--batch", "--input", "/dev/null"], 2, "this is no recording of 'iobandctl record'"),
        (["--sort", "x"], 2, "--sort 'x': it is the heading of a column: group, pool"),
        (["--count", "0"], 2, "--count '0': it is a number from 1 on"),
        (["--batch", "--interval", "0"], 2, "it is 0.1 to 86400 seconds"),
        (["--batch", "--pool", "x"], 3, "there is no pool 'x'"),
        (["x"], 2, "'x' is too much; it takes: no arguments"),
    ],
)
def test_refused(host: Fake, args: list[str], rc: int, says: str) -> None:
    assert says in host.run("top", *args, rc=rc)
