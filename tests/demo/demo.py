# SPDX-License-Identifier: GPL-2.0-only
"""A demonstration of proportional sharing on a stock kernel.

Boots the kernel of this Debian in a virtual machine, and creates two logical volumes
on one disk of 50 MB/s.  Puts ioband on both, and runs fio in three competing
cgroups.  A weight changes, a group stops, devices are suspended and reloaded;
the shares follow, and no I/O is lost.
"""

import contextlib
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.cache import progress
from harness.cgroup import Cgroup
from harness.devices import VolumeGroup, null_blk
from harness.guest import Guest
from harness.kernel_log import complaints
from harness.kernels import get_kernel, own_kernel_name
from harness.load import Got, Load, Measurement, Stream
from harness.module import build_module
from harness.tool import build_tool

DISK_MBPS = 50
STAGE_S = 6
REACTION_MS = 100
MISPLACED_PCT = 10.0  # 42 with the old weights; one I/O is 3 in so short a time
BAR = 40
TOLERANCE_PCT = 2.0


@dataclass(frozen=True)
class Job:
    """One cgroup with a fio process in it."""

    cgroup: str
    volume: str
    rw: str
    bs: str


JOBS = (
    Job("tenant/web", "data", "randread", "64k"),
    Job("tenant/db", "data", "randwrite", "32k"),
    Job("backup", "archive", "read", "128k"),
)


@dataclass(frozen=True)
class Stage:
    """A stretch of time with the same weights and the same jobs."""

    title: str
    start_ms: float
    end_ms: float
    asked: dict[str, float]


def log_name(cgroup: str) -> str:
    """A cgroup's path as the name of a fio job."""
    return cgroup.replace("/", "-")


def say(text: str = "") -> None:
    """Print at once, also into a pipe."""
    print(text, flush=True)


class Demo:
    """The demonstration, in a running guest with the module."""

    def __init__(self, guest: Guest, iobandctl: Path):
        self.guest = guest
        self.iobandctl = iobandctl
        self.loads: dict[str, Load] = {}
        self.done: dict[str, Measurement] = {}
        self.stages: list[Stage] = []

    def ctl(self, *words: str) -> str:
        """Run iobandctl in the guest, and print the command."""
        say(f"\n# iobandctl {' '.join(words)}")
        out = self.guest.run([str(self.iobandctl), *words]).out
        if out:
            say(out.rstrip())
        return out

    def start(self, cgroups: dict[str, Cgroup]) -> None:
        """Start a fio process in each cgroup."""
        for job in JOBS:
            stream = Stream(
                log_name(job.cgroup),
                f"/dev/mapper/io-{job.volume}",
                cgroups[job.cgroup],
                rw=job.rw,
                bs=job.bs,
                iodepth=64,
            )
            self.loads[job.cgroup] = Load(self.guest, [stream]).start()
            say(f"  {job.cgroup:12} fio {job.rw} of {job.bs} on io-{job.volume}, 64 deep")

    def stop(self, name: str) -> None:
        """Stop the fio process of a cgroup, and keep its log."""
        self.done[name] = self.loads.pop(name).stop()

    def bytes_now(self) -> dict[str, int]:
        """Bytes read and written so far by each cgroup, from the kernel's counters."""
        out = self.guest.run([str(self.iobandctl), "stat", "--json"]).out
        return stat_bytes(out)

    def stage(self, title: str, asked: dict[str, float]) -> None:
        """Let time pass, and print the shares of each second."""
        say(f"\n{title}")
        start = self.guest.now_ms()
        before = self.bytes_now()
        for _ in range(STAGE_S):
            self.guest.sleep(1)
            after = self.bytes_now()
            moved = {name: after[name] - before.get(name, 0) for name in asked}
            say("  " + "   ".join(gauge(name, moved, asked) for name in asked))
            before = after
        self.stages.append(Stage(title, start, self.guest.now_ms(), asked))

    def check_devices(self, volumes: Sequence[str]) -> None:
        """Suspend, resume and reload under load."""
        say("\nSuspend, reload and resume both devices, under load")
        for volume in volumes:
            for options in ("", "--noflush"):
                self.guest.run(f"dmsetup suspend {options} io-{volume}")
                self.guest.run(f"dmsetup table io-{volume} | dmsetup reload io-{volume}")
                self.guest.run(f"dmsetup resume io-{volume}")
                say(f"  io-{volume}: suspend {options or '--flush':9}, reload, resume: done")


def stat_bytes(text: str) -> dict[str, int]:
    """Bytes by cgroup in the output of iobandctl stat --json."""
    return {
        entry["group"].lstrip("/"): entry["bytes"]
        for entry in json.loads(text)["stat"]
        if entry["op"] == "total"
    }


def gauge(name: str, moved: dict[str, int], asked: dict[str, float]) -> str:
    """The share of a group in this second, as a bar and in numbers."""
    total = sum(moved.values()) or 1
    share = moved[name] / total
    filled = round(share * BAR / 2)
    bar = "#" * filled + "." * (BAR // 2 - filled)
    return f"{name:10} {bar} {share:5.1%} of {asked[name]:5.1%}"


def window_share(
    demo: Demo, names: Sequence[str], start_ms: float, end_ms: float
) -> dict[str, Got]:
    """I/O of the fio process of each cgroup between two times, from its own log."""
    return {name: demo.done[name].window(start_ms, end_ms)[log_name(name)] for name in names}


def distance(got: dict[str, Got], asked: dict[str, float]) -> float:
    """Distance of shares from the wanted ones: the part of the I/O that is misplaced."""
    total = sum(each.bytes for each in got.values()) or 1
    return sum(abs(got[name].bytes / total - asked[name]) for name in asked) / 2


def misplaced_pct(demo: Demo, stage: Stage) -> float:
    """Part of the I/O that is misplaced in the first REACTION_MS of a stage."""
    end_ms = stage.start_ms + REACTION_MS
    return 100 * distance(
        window_share(demo, list(stage.asked), stage.start_ms, end_ms), stage.asked
    )


def report(demo: Demo) -> bool:
    """Print wanted and measured shares, from fio's logs; true if all are within the tolerance."""
    say(f"\n{'':42}{'cgroup':12}{'asked':>8}{'got':>8}{'error':>8}{'MB/s':>8}")
    good = True
    for stage in demo.stages:
        title = stage.title
        got = window_share(demo, list(stage.asked), stage.start_ms, stage.end_ms)
        total = sum(each.bandwidth for each in got.values())
        for name, asked in stage.asked.items():
            share = got[name].bandwidth / total
            error = (share / asked - 1) * 100
            good &= abs(error) <= TOLERANCE_PCT
            rate = got[name].bandwidth / 1e6
            say(f"{title:42}{name:12}{asked:8.1%}{share:8.1%}{error:+7.1f}%{rate:8.1f}")
            title = ""
    return good


def all_counted(demo: Demo, before: dict[str, int], after: dict[str, int]) -> bool:
    """Whether fio and ioband counted the same bytes."""
    good = True
    say()
    for name, measurement in demo.done.items():
        fio = sum(io.bytes for io in measurement.jobs[log_name(name)])
        ioband = after[name] - before.get(name, 0)
        good &= fio == ioband
        say(f"  {name:12} fio {fio:12} bytes, ioband {ioband:12}")
    return good


def compete(demo: Demo, cgroups: dict[str, Cgroup], volumes: Sequence[str]) -> None:
    """The stages: the weights as set, other weights, one group less, device operations."""
    say("\nThree cgroups compete")
    demo.start(cgroups)
    demo.stage("tenant 300 (web 200, db 100), backup 100", shares(300, 100, web=200, db=100))
    demo.ctl("set-weight", "/backup", "600")
    demo.stage("backup 600", shares(300, 600, web=200, db=100))
    say("\nweb stops: its share is its sibling's")
    demo.stop("tenant/web")
    demo.stage("web stopped", shares(300, 600, db=100))
    demo.check_devices(volumes)
    for name in list(demo.loads):
        demo.stop(name)


def shares(tenant: int, backup: int, **inside: int) -> dict[str, float]:
    """The shares of the leaves of the tree of weights."""
    found = {
        f"tenant/{name}": tenant / (tenant + backup) * weight / sum(inside.values())
        for name, weight in inside.items()
    }
    return found | {"backup": backup / (tenant + backup)}


def run(guest: Guest, iobandctl: Path) -> bool:
    """Set up, compete, take down; true if all checks passed."""
    demo = Demo(guest, iobandctl)
    with contextlib.ExitStack() as stack:
        disk = stack.enter_context(null_blk(guest, size_mib=512, memory_backed=1, mbps=DISK_MBPS))
        group = stack.enter_context(VolumeGroup(guest, "vg0", [disk]))
        volumes = {name: group.create(name, 200) for name in ("data", "archive")}
        say(f"\nTwo logical volumes on one disk of {DISK_MBPS} MB/s: {', '.join(volumes.values())}")
        cgroups = {
            path: stack.enter_context(Cgroup(guest, path))
            for path in ("tenant", "tenant/web", "tenant/db", "backup")
        }
        for name, volume in volumes.items():
            demo.ctl("create", f"io-{name}", volume)
            stack.callback(demo.ctl, "remove", f"io-{name}")
        for path, weight in {"tenant": 300, "tenant/web": 200}.items():
            demo.ctl("set-weight", f"/{path}", str(weight))
        before = demo.bytes_now()
        compete(demo, cgroups, list(volumes))
        demo.ctl("groups")
        complete = all_counted(demo, before, demo.bytes_now())
    shared = report(demo)
    misplaced = misplaced_pct(demo, demo.stages[1])
    say(
        f"\nIn the {REACTION_MS} ms after iobandctl had set the new weight, "
        f"{misplaced:.1f} % of the I/O was not where it asks for."
    )
    say(f"Shares within {TOLERANCE_PCT:.0f} % of the weights: {verdict(shared)}.")
    say(f"Every byte accounted for: {verdict(complete)}.")
    return shared and complete and misplaced <= MISPLACED_PCT


def verdict(good: bool) -> str:
    """The result as text."""
    return "yes" if good else "NO"


def main() -> None:
    """Boot, demonstrate, and exit with 0 if all checks passed."""
    kernel = get_kernel(own_kernel_name())
    module = build_module(kernel)[0]
    iobandctl = build_tool()
    progress(f"booting {kernel.release}, in a virtual machine without hardware help")
    with Guest(kernel) as guest:
        guest.dmesg()
        guest.insmod(module)
        good = run(guest, iobandctl)
        guest.rmmod("dm_ioband")
        bad = complaints(guest.dmesg())
    for line in bad:
        say(f"kernel: {line}")
    sys.exit(0 if good and not bad else 1)


if __name__ == "__main__":
    main()
