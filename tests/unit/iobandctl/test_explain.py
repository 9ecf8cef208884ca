# SPDX-License-Identifier: GPL-2.0-only
"""The output of explain; test-explain.c has its reasoning."""

import re

import pytest
from fakekernel import Fake

IDLE = "read=0,0,0,0,0 write=0,0,0,0,0 discard=0,0,0,0,0"
INTERVAL = ("--interval", "0.1")


def begin(host: Fake, five: str = "weight=300", six: str = "weight=100", wait_ns: int = 0) -> None:
    """Users 5 and 6 compete for sdb, 7 is idle; all have weights, some have bounds."""
    settings = {5: five, 6: six, 7: "weight=50"}
    lines = [f"{n} 1 uid:{n} set=1 {words}\n" for n, words in settings.items()]
    host.answer(
        "byuid", "groups", "1 groups\n1 0 root weight=100 set=0\n" + "".join(lines) + "end\n"
    )

    def stats(first: str, second: str, write: str) -> str:
        rest = f"write={write} discard=0,0,0,0,0"
        five = f"5 uid:5 held=3,12288 inflight=2 read={first} {rest}\n"
        six = f"6 uid:6 held=0,0 inflight=1 read={second} {rest}\n"
        return f"1 stats\n{five}{six}end\n"

    done = f"90,368640,40,{80000000 + wait_ns},160000000"
    host.answer("byuid", "stats", stats("10,40960,0,0,0", "7,70,0,0,0", "0,0,0,0,0"))
    host.answer("byuid", "stats.then", stats(done, "27,82000,0,0,90", "1,0,0,0,0"))


@pytest.fixture
def busy(host: Fake) -> Fake:
    """User 5 has weight 300, 6 has 100."""
    begin(host)
    return host


def test_text(busy: Fake) -> None:
    lines = [line.strip() for line in busy.run("explain", "uid:5", *INTERVAL).splitlines()]
    assert lines[0] == "uid:5 in pool sdb:"
    assert lines[1].startswith("In 0.1 s it got 80.0 % of the bytes done in the pool: ")
    assert lines[2:4] == [
        "Its weights give it 75.0 %, and more while others need less:",
        "uid:5 has weight 300 of 400 that compete there: 75.0 %",
    ]
    assert lines[4] == (
        "Its weight bounds it: at 10 of 10 looks it had I/O held while others were served.  "
        "A greater weight would get it more."
    )
    assert lines[5:] == [
        "49 % of its I/Os were held, for 2.00ms on average; at the device they took 1.98ms.",
        "The others: uid:6 20.0 %.",
    ]


def test_json(busy: Fake) -> None:
    (row,) = busy.json("explain", "uid:5", *INTERVAL)
    level, other = row.pop("children")
    seconds = row.pop("seconds")
    assert 0.1 <= seconds < 10
    assert row.pop("inflight_avg") == pytest.approx(0.16 / seconds, abs=0.2)
    assert "Its weight bounds it" in row.pop("says")
    assert row == {
        "type": "group",
        "pool": "sdb",
        "device": None,
        "group": "uid:5",
        "id": "uid:5",
        "weight": 300,
        "competing_weight": None,
        "entitled_pct": 75,
        "share_pct": 80,
        "ios": 81,
        "bytes": 327680,
        "wait_avg_ns": 2000000,
        "service_avg_ns": 1975308,
        "looks": 10,
        "looks_held": 10,
        "looks_busy": 10,
        "busy_pct": 100,
        **dict.fromkeys(("rate", "max_per_s", "min_per_s", "per_s", "used_pct")),
        **dict.fromkeys(("latency_us", "read_avg_ns", "late")),
        "brake_bytes_per_s": 0,
        "verdict": "weight",
    }
    assert {key: value for key, value in level.items() if value is not None} == (
        {"type": "level", "group": "uid:5", "id": "uid:5", "weight": 300, "competing_weight": 400}
        | {"entitled_pct": 75}
    )
    assert {key: value for key, value in other.items() if value is not None} == (
        {"type": "other", "group": "uid:6", "id": "uid:6", "weight": 100, "share_pct": 20}
    )


@pytest.mark.parametrize(
    ("group", "verdict", "says"),
    [
        ("uid:6", "device", "It waits for the device: for 100 % of the time it had I/O there"),
        ("uid:7", "idle", "it asks for nothing"),
        ("uid:7", "idle", "Its weights give it 11.1 %"),
    ],
)
def test_verdicts(busy: Fake, group: str, verdict: str, says: str) -> None:
    (row,) = busy.json("explain", group, *INTERVAL)
    assert (row["verdict"], says in row["says"]) == (verdict, True), row["says"]


def test_delayed_below(busy: Fake) -> None:
    """A policy below delays user 5, which has I/O queued; its share by weight does not matter."""
    end = "read=90,368640,40,80000000,160000000 write=1,0,0,0,0 discard=0,0,0,0,0"
    busy.append("byuid", "stats.then", {end: "below=1"})
    (row,) = busy.json("explain", "uid:5", *INTERVAL)
    assert row["verdict"] == "below"
    assert "A policy below ioband delays it, at 10 of 10 looks" in row["says"]
    assert "A greater weight would get it nothing" in row["says"]
    (row,) = busy.json("explain", "uid:6", *INTERVAL)
    assert row["verdict"] == "device"


def test_held_by_a_maximum(busy: Fake) -> None:
    """80 reads of 4 KiB in slightly more than 0.1 s; the bound is as close as measurable."""
    begin(busy, five="weight=300 max=50000,max,max,max")
    (row,) = busy.json("explain", "uid:5", *INTERVAL)
    assert row["verdict"] == "maximum"
    level, limit, other = row["children"]
    assert (level["type"], other["type"]) == ("level", "other")
    assert limit["used_pct"] == pytest.approx(limit["per_s"] / 500, abs=0.02)
    assert limit["per_s"] == pytest.approx(327680 / row["seconds"], rel=0.1)
    assert {key: value for key, value in limit.items() if value is not None} == (
        {"type": "maximum", "group": "uid:5", "id": "uid:5", "rate": "rbps", "max_per_s": 50000}
        | {key: limit[key] for key in ("per_s", "used_pct")}
    )
    begin(busy, five="weight=300 max=50000,max,max,max")
    said = busy.run("explain", "uid:5", *INTERVAL)
    assert re.search(r"\n    uid:5 may read 50KB/s: it was [\d.]+[KM]B/s, \d+\.\d %\n", said)
    assert re.search(r" of the bytes done in the pool: [\d.]+[KM]iB/s, ", said)
    assert "Its own maximum holds it (rbps): at 10 of 10 looks it had I/O held." in said
    begin(busy, five="weight=300 max=max,max,1000000,max")
    (row,) = busy.json("explain", "uid:5", *INTERVAL)
    assert row["verdict"] == "weight"
    assert row["children"][1]["used_pct"] < 1


def test_held_by_a_maximum_above(host: Fake) -> None:
    a, b = host.cgroup("/a"), host.cgroup("/a/b")
    host.answer(
        "one",
        "groups",
        f"1 groups\n1 0 root weight=70 set=1\n3 1 cgroup#{a} weight=300 set=1 path=/a "
        f"max=max,max,max,7\n4 3 cgroup#{b} weight=100 set=0 path=/a/b\nend\n",
    )
    for name, done in (("stats", 0), ("stats.then", 50)):
        host.answer(
            "one",
            name,
            f"1 stats\n4 cgroup#{b} held=1,512 inflight=0 read=0,0,0,0,0 "
            f"write={done},{done * 512},{done},0,0 discard=0,0,0,0,0\nend\n",
        )
    said = host.run("explain", "/a/b", "--device", "one", *INTERVAL)
    assert "The maximum of /a, above it, holds it (wiops): " in said
    assert re.search(r"\n    /a may write 7 I/Os/s: it was \d+ I/Os/s, ", said)


def test_less_than_is_promised(busy: Fake) -> None:
    """Reads were queued all the time; user 6 has a minimum too, but no queued I/O."""
    settings = {"five": "weight=300 min=8589934592,0,0,0", "six": "weight=100 min=1,0,0,0"}
    begin(busy, **settings, wait_ns=10**12)
    (row,) = busy.json("explain", "uid:5", *INTERVAL)
    assert row["verdict"] == "unmet"
    _, limit, _ = row["children"]
    assert {key: value for key, value in limit.items() if value is not None} == (
        {"type": "minimum", "group": "uid:5", "id": "uid:5", "rate": "rbps", "min_per_s": 8 << 30}
        | {key: limit[key] for key in ("per_s", "used_pct")}
    )
    assert limit["per_s"] == pytest.approx(327680 / row["seconds"], rel=0.1)
    begin(busy, **settings, wait_ns=10**12)
    said = busy.run("explain", "uid:5", *INTERVAL)
    promised = r"\n    uid:5 is to read at least 8GiB/s: it was [\d.]+[KM]iB/s, 0\.\d %\n"
    assert re.search(promised, said)
    assert re.search(
        r"It gets less than its minimum \(rbps\), though such I/O was held all the time\.  "
        r"In the pool the minima of groups with I/O held come to at least 8\.\d*GiB/s, and all "
        r"groups had [\d.]+[KM]iB/s: the devices are too slow for the minima\.",
        said,
    )
    begin(busy, **settings)
    (row,) = busy.json("explain", "uid:5", *INTERVAL)
    assert row["verdict"] == "weight"


def test_just_what_is_promised(busy: Fake) -> None:
    """One write in less than two seconds, and a share above its weight."""
    begin(busy, five="weight=300 min=0,0,0,1")
    (row,) = busy.json("explain", "uid:5", *INTERVAL)
    assert row["verdict"] == "minimum"
    assert (
        "It gets its own minimum (wiops), more than weights give: at 10 of 10 looks it had "
        "I/O held.  A greater minimum would get it more" in row["says"]
    )
    begin(busy, five="weight=300 min=0,0,1,0")  # it gets much more than that
    (row,) = busy.json("explain", "uid:5", *INTERVAL)
    assert row["verdict"] == "weight"


def test_others_are_promised(busy: Fake) -> None:
    begin(busy, five="weight=3000", six="weight=100 min=0,0,0,1")
    (row,) = busy.json("explain", "uid:5", *INTERVAL)
    assert row["verdict"] == "promised"
    assert (
        "That is less than its weights give, though it had I/O held at 10 of 10 looks: the minima "
        "of other groups go first.  uid:6 got 20.0 % where its weights give it 3.2 %.\n"
        in row["says"]
    )
    begin(busy, five="weight=3000")
    assert busy.json("explain", "uid:5", *INTERVAL)[0]["verdict"] == "short"


@pytest.mark.parametrize(
    ("write", "verdict", "says"),
    [
        (1, "minimum", "/a, above it, gets its minimum (wiops), more than weights"),
        (
            0,
            "unmet",
            "/a, above it, gets less than its minimum (riops), though such I/O",
        ),
    ],
)
def test_promised_above(host: Fake, write: int, verdict: str, says: str) -> None:
    a, b = host.cgroup("/a"), host.cgroup("/a/b")
    least = "min=0,0,0,1" if write else "min=0,0,1000000,0"
    host.answer(
        "one",
        "groups",
        f"1 groups\n1 0 root weight=70 set=1\n3 1 cgroup#{a} weight=70 set=1 path=/a {least}\n"
        f"4 3 cgroup#{b} weight=100 set=0 path=/a/b\nend\n",
    )
    for name, done in (("stats", 0), ("stats.then", 1)):
        host.answer(
            "one",
            name,
            f"1 stats\n1 root held=1,1 inflight=0 read=0,0,0,0,0 write={done},{done},0,0,0 "
            f"discard=0,0,0,0,0\n4 cgroup#{b} held=1,512 inflight=0 "
            f"read={done},{done * 512},{done},{done * 10**12},0 "
            f"write={done * write},{done * 512},{done},0,0 discard=0,0,0,0,0\nend\n",
        )
    (row,) = host.json("explain", "/a/b", "--device", "one", *INTERVAL)
    assert row["verdict"] == verdict
    assert says in row["says"]


def test_each_pool_and_tree(host: Fake) -> None:
    """A cgroup has a group in the tree of the pool, and one in that of a device."""
    row = next(row for row in host.json("explain", "o dd", *INTERVAL))
    assert (row["pool"], row["device"], row["group"]) == ("sda", "own", "/o dd")
    assert [level["group"] for level in row["children"]] == ["device:own", "/o dd"]
    assert [level["id"] for level in row["children"]] == ["device:253:3", row["id"]]
    assert "on device own:" in host.run("explain", "o dd", *INTERVAL)
    (root,) = host.json("explain", "root", "--pool", "sdb", *INTERVAL)
    assert root["verdict"] == "idle"
    assert len(host.json("explain", "root", *INTERVAL)) == 2


def test_time_is_not_counted(busy: Fake) -> None:
    text = (busy.root / "devices").read_text()
    (busy.root / "devices").write_text(
        text.replace("mode=uid weight=100 measure=bytes", "mode=uid weight=100 measure=time")
    )
    said = busy.run("explain", "uid:5", *INTERVAL)
    assert "which is not measured by group" in said
    assert "Its weight bounds it" in said


@pytest.mark.parametrize(
    ("args", "rc", "says"),
    [
        ([], 2, "too few arguments; it takes: GROUP"),
        (["root", "--interval", "0"], 2, "--interval '0': it is 0.1 to 86400 seconds"),
        (["nope"], 3, "there is no cgroup /nope"),
        (["root", "--pool", "nope"], 3, "there is no pool 'nope'"),
        (["uid:9", *INTERVAL], 3, "uid:9 did no I/O of late and has no weight of its own"),
    ],
)
def test_refused(host: Fake, args: list[str], rc: int, says: str) -> None:
    assert says in host.run("explain", *args, rc=rc)


def test_kernel_fails_meanwhile(busy: Fake) -> None:
    busy.answer("byuid", "stats.then", "2 stats\nend\n")
    assert "its format is '2'" in busy.run("explain", "uid:5", *INTERVAL, rc=7)


def brake(host: Fake) -> None:
    """Set a throttle in the pool's status."""
    devices = (host.root / "devices").read_text()
    (host.root / "devices").write_text(devices.replace("piece=32768", "piece=32768 brake=1048576"))


def test_late(host: Fake) -> None:
    """Reads take 3 ms, 1 ms of it in the queue; with a throttle others are throttled."""
    begin(host, five="weight=300 latency=2000")
    said = host.run("explain", "uid:5", *INTERVAL)
    assert (
        "Latency targets of reads, its own among them, and their mean latency:\n"
        "    those of uid:5 are to take 2ms: they took 3.00ms, late\n" in said
    )
    brake(host)
    begin(host, five="weight=300 latency=2000")
    (row,) = host.json("explain", "uid:5", *INTERVAL)
    assert (
        "they took 3.00ms, late: for that others are held back, to 1.00MiB/s in all\n"
        in row["says"]
    )
    assert (row["verdict"], row["brake_bytes_per_s"]) == ("weight", 1048576)
    (target,) = (child for child in row["children"] if child["type"] == "latency")
    assert {key: value for key, value in target.items() if value is not None} == (
        {
            "type": "latency",
            "group": "uid:5",
            "id": "uid:5",
            "latency_us": 2000,
            "ios": 80,
            "late": True,
        }
        | {"read_avg_ns": 3000000, "used_pct": 150}
    )
    begin(host, five="weight=300 latency=3000")
    said = host.run("explain", "uid:5", *INTERVAL)
    assert "they took 3.00ms, in time: for that others are held back, to 1.00MiB/s in all\n" in said
    begin(host, five="weight=300 latency=3000", six="weight=1 latency=1")
    host.append("byuid", "groups", {"0 root weight=100 set=0": "latency=1"})
    said = host.run("explain", "uid:5", *INTERVAL)
    assert "those of uid:5 are to take 3ms: they took 3.00ms, in time\n" in said


def test_a_maximum_makes_nobody_late(host: Fake) -> None:
    brake(host)
    begin(host, five="weight=300 max=50000,max,max,max latency=2000")
    (row,) = host.json("explain", "uid:5", *INTERVAL)
    said = "those of uid:5 are to take 2ms: they took 3.00ms, not judged: a maximum "
    assert f"{said}or the class idle holds them\n" in row["says"]
    (target,) = (child for child in row["children"] if child["type"] == "latency")
    assert (target["read_avg_ns"], target["used_pct"], target["late"]) == (3000000, None, None)


def test_brake_meanwhile(host: Fake) -> None:
    """The throttle during the measurement counts, not the one before."""
    devices = host.root / "devices"
    then = host.root / "devices.then"
    begin(host, six="weight=100 latency=1000")
    then.write_text(devices.read_text().replace("piece=32768", "piece=32768 brake=2097152"))
    (row,) = host.json("explain", "uid:5", *INTERVAL)
    assert (row["verdict"], row["brake_bytes_per_s"]) == ("brake", 2 << 20)
    then.write_text(devices.read_text())
    brake(host)
    begin(host, six="weight=100 latency=1000")
    (row,) = host.json("explain", "uid:5", *INTERVAL)
    assert (row["verdict"], row["brake_bytes_per_s"]) == ("weight", 0)
    then.write_text("")
    begin(host)
    assert "byuid has no status any more" in host.run("explain", "uid:5", *INTERVAL, rc=1)


def test_held_by_the_brake(host: Fake) -> None:
    brake(host)
    begin(host, six="weight=100 latency=1000")
    (row,) = host.json("explain", "uid:5", *INTERVAL)
    assert row["verdict"] == "brake"
    assert (
        "A latency target throttles it: the throttled groups get 1.00MiB/s in all for now, for "
        "uid:6, where reads took 4ns and are to take 1ms.  At 10 of 10 looks it had I/O held.  "
        "It keeps as much as its weights give it beside what that group gets; a longer target "
        "there would get it more.\n" in row["says"]
    )
    assert "Latency targets" not in row["says"]
    begin(host, six="weight=100")
    assert host.json("explain", "uid:5", *INTERVAL)[0]["verdict"] == "weight"


def test_target_of_the_pool(host: Fake) -> None:
    """All writes are throttled for it; a group that only reads is not."""
    brake(host)
    begin(host)
    host.append("byuid", "groups", {"0 root weight=100 set=0": "latency=1500"})
    (row,) = host.json("explain", "uid:5", *INTERVAL)
    assert row["verdict"] == "brake"
    assert "for the pool, where reads took 2.40ms and are to take 1500us" in row["says"]
    said = "those of the pool are to take 1500us: they took 2.40ms, late: for that writes are held "
    assert f"{said}back, to 1.00MiB/s in all" in row["says"]
    assert (
        "A latency target throttles it: writes in the pool get 1.00MiB/s in all for now, "
        in row["says"]
    )
    assert "Its reads go on; a longer target for root would let more be written.\n" in row["says"]
