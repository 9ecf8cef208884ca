# SPDX-License-Identifier: GPL-2.0-only
"""record and plot on a fake kernel: the file, its robustness, and the pictures."""

import json
import os
import re
import resource
import signal
import subprocess
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fakekernel import Fake
from PIL import Image
from toolbuild import SOURCE

PATIENCE_S = 30
HEAD = {"type": "ioband-recording", "version": 1, "begun_ns": 1_700_000_000 * 10**9}
HEAD |= {"interval_ns": 10**9}
SVG = "{http://www.w3.org/2000/svg}"


def lines_of(path: Path) -> list[dict]:
    """The lines of a recording, each an object."""
    text = path.read_text()
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]


def _heed_interrupts() -> None:
    """Restore the signals, which nohup or a shell's background job may ignore."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


class Run:
    """A running record."""

    def __init__(
        self, fake: Fake, path: Path, *args: str, interval: str = "0.1", **options: object
    ) -> None:
        env = {**os.environ, "FAKE_KERNEL": str(fake.root), "FAKE_VERSION": "2"}
        command = [fake.program, "record", "--interval", interval, "--output", path, *args]
        self.path = path
        options.setdefault("preexec_fn", _heed_interrupts)
        self.process = subprocess.Popen(command, env=env, stderr=subprocess.PIPE, **options)

    def soon(self, holds: Callable[[list[dict]], bool]) -> list[dict]:
        """Wait until the lines fulfil a condition."""
        end = time.monotonic() + PATIENCE_S
        while not (self.path.exists() and holds(lines_of(self.path))):
            assert time.monotonic() < end, self.path.read_text()
            assert self.process.poll() is None, self.process.stderr.read()
            time.sleep(0.05)
        return lines_of(self.path)

    def ends(self) -> tuple[int, str]:
        """Wait for its end; returns its code and its output."""
        _, said = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, said.decode()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "out").mkdir()
    return tmp_path / "out/recording"


@pytest.fixture
def record(host: Fake, file: Path) -> Iterator[Callable[..., Run]]:
    """Starts record, and makes sure of its end."""
    runs: list[Run] = []

    def start(*args: str, **options: object) -> Run:
        runs.append(Run(host, file, *args, **options))
        return runs[-1]

    yield start
    for run in runs:
        run.process.kill()
        run.process.wait()


# -- record ------------------------------------------------------------------------------


def test_file(host: Fake, file: Path) -> None:
    host.run("record", "--interval", "0.2", "--duration", "0.5", "--output", str(file))
    head, *rest, end = lines_of(file)
    assert head.pop("begun_ns") == pytest.approx(time.time_ns(), abs=60e9)
    assert head == {"type": "ioband-recording", "version": 1, "interval_ns": 200_000_000}
    assert (end["type"], end["because"]) == ("end", "duration")
    assert [line["pool"] for line in rest] == ["sdb", "sda"] * 4
    times = [line["at_ns"] for line in rest if line["pool"] == "sda"] + [end["at_ns"]]
    assert times == sorted(times)
    assert 5e8 <= end["at_ns"] < 10e9
    sda = rest[1]
    assert (sda["measure"], sda["state"]) == ("bytes", "open")
    assert sda["devices"][1] == {"name": "own", "number": "253:3"}
    root, a = sda["groups"]
    assert root == {
        "seq": 1, "parent": 0, "name": "root", "weight": 70, "held_ios": 0, "held_bytes": 0,
        "inflight_ios": 0,
    }  # fmt: skip
    assert a.pop("name").startswith("cgroup#")
    assert a == {
        "seq": 3, "parent": 1, "path": "/a", "weight": 300, "held_ios": 2, "held_bytes": 8192,
        "inflight_ios": 5,
        "read": {"ios": 10, "bytes": 40960, "held_ios": 4, "wait_ns": 8000, "service_ns": 30000,
                 "wait": [0, 0, 4], "service": [0, 0, 10]},
        "write": {"ios": 5, "bytes": 20480, "held_ios": 0, "wait_ns": 0, "service_ns": 5000,
                  "service": [5]},
    }  # fmt: skip


def test_format_is_documented(host: Fake, file: Path) -> None:
    """Each member of each line is in the manual page."""
    host.run("record", "--duration", "0.1", "-o", str(file))
    page = (SOURCE / "iobandctl.8").read_text()
    words = set(re.findall(r"\w+", page.split("\n.Sh RECORDINGS\n")[1].split("\n.Sh ")[0]))
    written = set(re.findall(r'"(\w+)":', file.read_text()))
    assert {"read", "write", "wait", "seq", "because"} <= written <= words


def test_standard_output(host: Fake) -> None:
    text = host.run("record", "--duration", "0.1", "sdb")
    assert [json.loads(line)["type"] for line in text.splitlines()] == [
        "ioband-recording", "pool", "pool", "end",
    ]  # fmt: skip


def test_groups_above_are_there(host: Fake, file: Path) -> None:
    """A parent of active groups is listed without figures; other idle groups are not listed."""
    nothing = "write=0,0,0,0,0 discard=0,0,0,0,0"
    host.answer("one", "stats", f"1 stats\n5 x held=0,0 inflight=0 read=1,2,0,0,3 {nothing}\nend\n")
    host.run("record", "--duration", "0.1", "--output", str(file), "sda")
    groups = lines_of(file)[1]["groups"]
    assert [(group["seq"], group.get("path")) for group in groups] == [(2, None), (5, "/o\\040dd")]
    assert "read" not in groups[0]


def test_names_are_valid_text(host: Fake, file: Path) -> None:
    """Any bytes in the name of a cgroup give valid text."""
    text = b"1 groups\n3 0 cgroup#3 weight=5 set=0 path=/\xc3\xa9\xff'\"\\012\xed\xa0\x80\nend\n"
    (host.root / "answers/one@groups").write_bytes(text)
    host.run("record", "--duration", "0.1", "--output", str(file), "sda")
    (group,) = lines_of(file)[1]["groups"]
    assert group["path"] == "/é\\377'\"\\012\\355\\240\\200"


@pytest.mark.parametrize(
    ("args", "pools"),
    [(["sda"], {"sda"}), (["own"], {"sda"}), (["byuid", "sda", "one"], {"sda", "sdb"})],
)
def test_which_pools(host: Fake, file: Path, args: list[str], pools: set[str]) -> None:
    host.run("record", "--duration", "0.1", "--output", str(file), *args)
    assert {line["pool"] for line in lines_of(file)[1:-1]} == pools


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupted(record: Callable[..., Run], number: int) -> None:
    run = record(interval="1000")
    run.soon(lambda lines: len(lines) == 3)
    run.process.send_signal(number)
    assert run.ends() == (0, "")
    assert lines_of(run.path)[-1]["because"] == "signal"


def test_nohup(record: Callable[..., Run]) -> None:
    """An ignored signal does not end it."""
    run = record(preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    run.soon(lambda lines: len(lines) > 2)
    run.process.send_signal(signal.SIGHUP)
    before = len(lines_of(run.path))
    lines = run.soon(lambda lines: len(lines) > before + 4)
    assert lines[-1]["type"] == "pool"


def test_pools_go_and_come(host: Fake, record: Callable[..., Run]) -> None:
    devices = host.root / "devices"
    text = devices.read_text()

    def become(some: str) -> None:
        (host.root / "new").write_text(some)
        (host.root / "new").rename(devices)

    become("".join(line for line in text.splitlines(True) if "sdb" in line))
    run = record()
    lines = run.soon(lambda lines: len(lines) > 2)
    assert {line["pool"] for line in lines[1:]} == {"sdb"}
    become(text)
    run.soon(lambda lines: lines[-1].get("pool") == "sda")
    become("")
    lines = run.soon(lambda lines: lines[-1]["type"] == "gone")
    assert sorted(line["pool"] for line in lines if line["type"] == "gone") == ["sda", "sdb"]
    become(text)
    run.soon(lambda lines: lines[-1]["type"] == "pool")
    run.process.send_signal(signal.SIGINT)
    assert run.ends() == (0, "")


def test_device_goes_meanwhile(host: Fake, record: Callable[..., Run]) -> None:
    """Between the list and the query: the next sample shows whether the pool is gone."""
    run = record("sda")
    run.soon(lambda lines: len(lines) > 2)
    answer = host.root / "answers/one@stats"
    answer.rename(host.root / "kept")
    time.sleep(0.5)
    before = len(lines_of(run.path))
    time.sleep(0.5)
    assert len(lines_of(run.path)) == before
    (host.root / "kept").rename(answer)
    lines = run.soon(lambda lines: len(lines) > before)
    assert {line["type"] for line in lines[1:]} == {"pool"}


def test_kernel_fails(host: Fake, file: Path) -> None:
    """The recording up to then stays, with a line that it ended early."""
    host.answer("one", "stats.then", "2 stats\nend\n")
    said = host.run("record", "--interval", "0.1", "--output", str(file), rc=7)
    assert "its format is '2'" in said
    assert [line["type"] for line in lines_of(file)] == (
        ["ioband-recording", "pool", "pool", "pool", "end"]
    )
    assert lines_of(file)[-1]["because"] == "failure"


def test_disk_is_full(record: Callable[..., Run]) -> None:
    """Only whole lines stay in the file."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))

    run = record(preexec_fn=limit)
    rc, said = run.ends()
    assert rc == 1
    assert f"cannot write {run.path}: File too large; it has the samples until then" in said
    assert len(said.splitlines()) == 1
    assert 3000 < run.path.stat().st_size < 5000
    assert lines_of(run.path)[-1]["type"] == "pool"


@pytest.mark.parametrize(
    ("args", "rc", "says"),
    [
        (["nope"], 3, "there is no device 'nope'; 'iobandctl list' shows all"),
        (["--interval", "0"], 2, "--interval '0': it is 0.1 to 86400 seconds"),
        (["--duration", "x"], 2, "--duration 'x': it is 0.1 to 31536000 seconds"),
        (["--output", "/dev/full"], 1, "cannot write /dev/full: No space left on device\n"),
        (["--output", "/nope/x"], 3, "cannot write /nope/x: No such file or directory"),
        (["--json"], 2, "see 'iobandctl help record'"),
    ],
)
def test_refused(host: Fake, args: list[str], rc: int, says: str) -> None:
    assert says in host.run("record", *args, rc=rc)


def test_what_is_there_stays(host: Fake, file: Path) -> None:
    file.write_text("precious")
    said = host.run("record", "--duration", "0.1", "--output", str(file), rc=4)
    assert "is there already; name another file, or remove it" in said
    assert file.read_text() == "precious"
    file.write_text("")
    host.run("record", "--duration", "0.1", "--output", str(file))


def test_without_devices(fake: Fake, file: Path) -> None:
    (fake.root / "devices").write_text("")
    assert "there is no ioband device" in fake.run("record", "--output", str(file), rc=3)
    assert not file.exists()


# -- plot --------------------------------------------------------------------------------

MIB = 1 << 20


def group(seq: int, name: str, mib: int, weight: int = 100, held: bool = True) -> dict:
    """A cgroup that has read so much, in I/Os of 1 MiB that took 2 ms, after 1 ms of queueing."""
    read = {"ios": mib, "bytes": mib * MIB, "held_ios": mib if held else 0}
    read |= {"wait_ns": mib * 10**6 if held else 0, "service_ns": mib * 2 * 10**6}
    read |= {"service": [0] * 12 + [mib]}
    if held:
        read["wait"] = [0] * 10 + [mib]
    made = {"seq": seq, "parent": 1, "name": f"cgroup#{seq}", "path": name, "weight": weight}
    return made | {"held_ios": 0, "held_bytes": 0, "inflight_ios": 1, "read": read}


def pool(at_s: float, *groups: dict, name: str = "sda") -> dict:
    """A sample."""
    line = {"type": "pool", "at_ns": int(at_s * 10**9), "pool": name, "measure": "bytes"}
    return line | {"state": "shared", "devices": [], "groups": list(groups)}


def recording(*lines: dict) -> str:
    return "".join(json.dumps(line) + "\n" for line in (HEAD, *lines))


def figures(fake: Fake, text: str, *args: str) -> list[dict]:
    path = fake.root / "recording"
    path.write_text(text)
    return fake.json("plot", str(path), *args)


WEIGHED = [
    pool(0, group(2, "/a", 0), group(3, "/b", 0)),
    pool(1, group(2, "/a", 50), group(3, "/b", 50)),
    pool(2, group(2, "/a", 125, 300), group(3, "/b", 75)),
    {"type": "end", "at_ns": 2 * 10**9, "because": "duration"},
]


def test_figures(fake: Fake) -> None:
    rows = figures(fake, recording(*WEIGHED))
    assert rows[1] == {
        "group": "/a", "pool": "sda", "weight": 300, "due_pct": 75, "share_pct": 75,
        "bytes_per_s": 75 * MIB, "ios_per_s": 75, "held_now": 0, "wait_avg_ns": 10**6,
        "wait_p99_ns": 1043333, "service_avg_ns": 2 * 10**6, "service_p99_ns": 4173332,
        "from_s": 1, "to_s": 2,
    } | {key: rows[1][key] for key in ("wait_p99_ns", "service_p99_ns")}  # fmt: skip
    assert 2**9 * 1024 < rows[1]["wait_p99_ns"] <= 2**10 * 1024
    assert [(row["group"], row["weight"], row["share_pct"]) for row in rows] == (
        [("/a", 100, 50), ("/a", 300, 75), ("/b", 100, 50), ("/b", 100, 25)]
    )


def test_groups_and_pools_go_and_come(fake: Fake) -> None:
    """No figures before and after, gaps without the pool, and no rate over a gap."""
    rows = figures(
        fake,
        recording(
            pool(0, group(2, "/a", 0)),
            pool(1, group(2, "/a", 10)),
            pool(2, group(2, "/a", 20), group(3, "/b", 7)),
            pool(3, group(3, "/b", 7)),
            {"type": "gone", "pool": "sda", "at_ns": 4 * 10**9},
            {"type": "of another kind", "what": 1},
            pool(5, group(2, "/b", 90)),
            pool(6, group(2, "/b", 96)),
        ),
    )
    got = {
        name: [(row["from_s"], row["bytes_per_s"] / MIB) for row in rows if row["group"] == name]
        for name in ("/a", "/b")
    }
    assert got == {"/a": [(0, 10), (1, 10), (2, 0), (5, 0)], "/b": [(1, 7), (2, 0), (5, 6)]}
    idle = next(row for row in rows if (row["group"], row["from_s"]) == ("/b", 2))
    assert (idle["wait_avg_ns"], idle["service_avg_ns"]) == (None, None)


def test_cgroup_made_anew(fake: Fake) -> None:
    """The old group still exists: both are one row."""
    rows = figures(
        fake,
        recording(
            pool(0, group(2, "/a", 0)), pool(1, group(2, "/a", 10), group(3, "/a", 5))
        ),
    )  # fmt: skip
    assert [row["bytes_per_s"] for row in rows] == [15 * MIB]


def test_choose_groups(fake: Fake) -> None:
    names = ("/a", "/b.slice/x", "/b.slice/y", "/c,d")
    text = recording(*(pool(t, *(group(i + 2, n, t) for i, n in enumerate(names))) for t in (0, 1)))

    def chosen(groups: str) -> set[str]:
        return {row["group"] for row in figures(fake, text, f"--groups={groups}")}

    assert chosen("a") == chosen("/a") == {"/a"}
    assert chosen("/b.slice/*,/a") == {"/b.slice/x", "/b.slice/y", "/a"}
    assert chosen("/c?d") == {"/c,d"}
    path = str(fake.root / "recording")
    said = fake.run("plot", "--json", "--groups", "/a,/z", path, rc=3)
    assert f"no group '/z' did anything in {path}; 'iobandctl plot --json {path}' lists" in said


def test_recorded_is_read(host: Fake, file: Path) -> None:
    """plot reads a recording of record, with the names of devices."""
    nothing = "write=0,0,0,0,0 discard=0,0,0,0,0"
    stats = "1 stats\n2 device:253:3 held=0,0 inflight=1 read={0},{0},0,0,3 {1}\n"
    stats += "5 x held=0,0 inflight=1 read={0},{0},0,0,3 {1}\nend\n"
    host.answer("one", "stats", stats.format(100, nothing))
    host.answer("one", "stats.then", stats.format(900, nothing))
    host.run("record", "--interval", "0.1", "--duration", "0.3", "--output", str(file))
    rows = host.json("plot", str(file))
    assert {row["group"] for row in rows} == {"own", "own:/o\\040dd"}
    first = rows[0]
    assert first["ios_per_s"] == pytest.approx(800 / (first["to_s"] - first["from_s"]), rel=0.3)
    text = file.read_text()
    assert json.loads(host.run("plot", "--json", "-", stdin=text))["plot"] == rows


# -- pictures ----------------------------------------------------------------------------


def texts(path: Path) -> str:
    """All texts of a picture."""
    return "\n".join("".join(text.itertext()) for text in ET.parse(path).iter(f"{SVG}text"))


def draw(fake: Fake, text: str, *args: str, suffix: str = "svg") -> Path:
    source, picture = fake.root / "recording", fake.root / f"picture.{suffix}"
    source.write_text(text)
    fake.run("plot", str(source), "--output", str(picture), *args)
    return picture


def test_svg(fake: Fake) -> None:
    drawn = texts(draw(fake, recording(*WEIGHED), "--what=share,bandwidth"))
    for words in ("/a", "/b", "share, %", "bandwidth, MiB/s", "ioband, pool sda, from 2023-11-1"):
        assert words in drawn
    assert "held for" not in drawn


def test_png(fake: Fake) -> None:
    with Image.open(draw(fake, recording(*WEIGHED), suffix="png")) as picture:
        assert (picture.format, picture.width) == ("PNG", 1000)
        assert len(picture.convert("RGB").getcolors(1 << 20)) > 10


def test_names_are_no_commands(fake: Fake, tmp_path: Path) -> None:
    """Any name of a cgroup is displayed, and none is executed."""
    made = tmp_path / "made"
    names = [
        "/'", "/'; system('touch MADE'); '", '/"`touch MADE`"', "/`touch MADE`", "/$(touch MADE)",
        "/<b>&amp;", "/a_b^c{d}@e~f%g", "/END\nsystem 'touch MADE'\n", "/\\", "/é\\377",
    ]  # fmt: skip
    names = [name.replace("MADE", str(made)) for name in names]
    escaped = [name.replace("\\", "\\134").replace(" ", "\\040") for name in names]
    escaped = [name.replace("\n", "\\012").replace("\\134377", "\\377") for name in escaped]
    for some in (slice(0, 5), slice(5, 10)):
        lines = (pool(t, *(group(i, n, t) for i, n in enumerate(escaped[some], 2))) for t in (0, 1))
        drawn = texts(draw(fake, recording(*lines), "--what=iops"))
        for name in escaped[some]:
            assert name in drawn
    assert not made.exists()


def test_most_active_groups_are_drawn(fake: Fake) -> None:
    lines = [pool(t, *(group(i, f"/g{i:02}", t * i) for i in range(2, 14))) for t in (0, 1)]
    drawn = texts(draw(fake, recording(*lines)))
    assert "/g13" in drawn and "/g06" in drawn and "/g05" not in drawn
    drawn = texts(draw(fake, recording(*lines), "--groups", "/g*"))
    assert "/g02" in drawn and "/g13" in drawn


def test_long_recording(fake: Fake) -> None:
    """A thousand points are drawn, and all figures are printed, with all I/O counted."""
    lines = [pool(t, group(2, "/a", t)) for t in range(5001)]
    picture = draw(fake, recording(*lines), "--what=bandwidth")
    drawn = [path.get("d") for path in ET.parse(picture).iter(f"{SVG}path")]
    assert 900 < max(len(re.findall(r"[ML, ][\d.]+,[\d.]+", path or "")) for path in drawn) < 1100
    assert len(figures(fake, recording(*lines))) == 5000


def test_standard_output_is_svg(fake: Fake) -> None:
    text = fake.run("plot", "-", stdin=recording(*WEIGHED))
    assert ET.fromstring(text).tag == f"{SVG}svg"


def test_nothing_waited(fake: Fake) -> None:
    """Without queued I/O the panel has no line."""
    lines = [pool(t, group(2, "/a", t, held=False)) for t in (0, 1)]
    assert "held for" in texts(draw(fake, recording(*lines), "--what=wait"))


WRONG = [
    ("", "line 1: this is no recording of 'iobandctl record'"),
    ("#!/bin/sh\n", "line 1: this is no recording"),
    ('{"type":"ioband-rec', "line 1: this is no recording"),
    ('{"type":"other"}\n', "line 1: this is no recording"),
    (json.dumps(HEAD | {"version": 2}) + "\n", "line 1: its format is of version 2, and this "),
    (json.dumps(HEAD | {"version": "x"}) + "\n", "line 1: 'version' is missing, or no number"),
    (recording(*WEIGHED[:2]) + "{}}\n", "line 4: it is not JSON: unexpected character, at "),
    (
        recording(*WEIGHED[:2]) + '{"type"\n',
        "line 4: it is not JSON: unexpected end of data, at byte 8",
    ),
    (recording(*WEIGHED[:2]) + "\0\n", "line 4: it is not JSON: "),
    (recording(*WEIGHED[:2]) + '{"type":"\\ud800' + "\n", "line 4: it is not JSON: "),
    (recording(*WEIGHED[:2]) + "[]\n", "line 4: it is no object of JSON"),
    (recording(*WEIGHED[:2]) + "[" * 100 + "\n", "line 4: it is not JSON: nesting too deep"),
    (recording({"at_ns": 1}), "line 2: 'type' is missing, or no text"),
    (recording({"type": "gone", "at_ns": -1}), "line 2: 'at_ns' is missing, or no number"),
    (recording({"type": "gone", "at_ns": 1, "pool": "/"}), "line 2: 'pool' is no name of a"),
    (recording(WEIGHED[1], WEIGHED[0]), "line 3: 'at_ns' is not after that of the sample"),
    (recording(pool(1, group(2, "/a", 1, 10001))), "line 2: 'weight' is missing, or no number "),
    (recording(pool(1, group(2, "/\\9", 1))), "line 2: 'path' is no name: /\\9"),
    (recording(pool(1, group(3, "a", 1), group(3, "b", 1))), "line 2: its groups are not in"),
    (recording(WEIGHED[0] | {"groups": 5}), "line 2: 'groups' is missing, or no list"),
    (recording(WEIGHED[0] | {"devices": [5]}), "line 2: a device is no object"),
    (recording(WEIGHED[0] | {"groups": [{}]}), "line 2: 'name' is missing"),
    (
        recording(pool(1, group(2, "/a", 1) | {"read": {"ios": 1}})),
        "line 2: 'bytes' is missing, or no number",
    ),
    (
        recording(pool(1, group(2, "a", 1) | {"write": group(2, "a", 1)["read"] | {"wait": 5}})),
        "line 2: 'wait' is missing, or no list of at most 26",
    ),
]


@pytest.mark.parametrize(("text", "says"), WRONG, ids=[says for _, says in WRONG])
def test_wrong_files(fake: Fake, text: str, says: str) -> None:
    path = fake.root / "recording"
    path.write_text(text)
    picture = fake.root / "picture.svg"
    said = fake.run("plot", str(path), "--output", str(picture), rc=2)
    assert f"iobandctl: {path}, {says}" in said
    assert len(said.splitlines()) == 1
    assert not picture.exists()


def test_cut_off(fake: Fake) -> None:
    """A recording that was cut off is read up to its end."""
    whole = recording(*WEIGHED[:3])
    before = json.loads(fake.run("plot", "--json", "-", stdin=whole))
    path = fake.root / "recording"
    path.write_text(whole + json.dumps(WEIGHED[2])[:60])
    env = {**os.environ, "FAKE_KERNEL": str(fake.root)}
    done = subprocess.run(
        [fake.program, "plot", "--json", path], env=env, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == before
    assert f"{path}, line 5 is cut off and left out: the recording was killed" in done.stderr


def test_without_gnuplot(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nope")
    said = fake.run("plot", "-", stdin=recording(*WEIGHED), rc=3)
    assert "gnuplot, which draws, is not installed; install the package gnuplot-nox" in said


def test_gnuplot_fails(fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The old picture stays, and no other file is left."""
    (tmp_path / "bin").mkdir()
    gnuplot = tmp_path / "bin/gnuplot"
    gnuplot.write_text("#!/bin/sh\necho half\necho one >&2\necho 'line 7: no ink' >&2\nexit 5\n")
    gnuplot.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    picture = tmp_path / "bin/old.svg"
    picture.write_text("old")
    words = ("plot", "-", "--output", str(picture))
    said = fake.run(*words, stdin=recording(*WEIGHED), rc=1)
    assert said == "iobandctl: gnuplot failed: line 7: no ink\n"
    gnuplot.write_text("#!/bin/sh\nkill -9 $$\n")
    assert "killed by signal 9" in fake.run(*words, stdin=recording(*WEIGHED), rc=1)
    assert picture.read_text() == "old"
    assert sorted(os.listdir(tmp_path / "bin")) == ["gnuplot", "old.svg"]


@pytest.mark.parametrize(
    ("args", "rc", "says"),
    [
        ([], 2, "too few arguments; it takes: FILE"),
        (["x", "y"], 2, "'y' is too much"),
        (["--output", "x.pdf", "x"], 2, "--output 'x.pdf': its name has to end in .svg or .png"),
        (["--what", "colour", "x"], 2, "--what 'colour': it is bandwidth, iops, wait"),
        (["--what", ",iops", "x"], 2, "--what '': it is"),
        (["--json", "--what", "iops", "x"], 2, "--json prints all figures; leave out --what"),
        (["--json", "--output", "x.svg", "x"], 2, "leave out --output"),
        (["/nope/x"], 3, "cannot read /nope/x: No such file or directory"),
        (["/"], 1, "cannot read /: Is a directory"),
    ],
)
def test_plot_refused(fake: Fake, args: list[str], rc: int, says: str) -> None:
    assert says in fake.run("plot", *args, rc=rc)


def test_nothing_to_draw(fake: Fake) -> None:
    said = fake.run("plot", "-", stdin=recording(WEIGHED[0]), rc=1)
    assert "there is nothing to draw" in said
    assert figures(fake, recording(WEIGHED[0])) == []
