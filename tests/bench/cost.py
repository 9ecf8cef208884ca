# SPDX-License-Identifier: GPL-2.0-only
"""Instructions per I/O of dm-ioband and of what else shares a disk among cgroups.

The guest's clock counts instructions (one a nanosecond) on one CPU that is
always busy, so instructions per I/O are nanoseconds per I/O, and repeat within
0.5 % (most within 0.1 %) whatever the host does meanwhile.  The load is 4-KiB random reads on a
null_blk disk that completes at once, by io_uring, 64 deep in batches of 32: one
process, and two processes in two cgroups.  fio's own instructions are in every
figure alike; what counts are the differences.
"""

import argparse
import contextlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from harness.cache import progress
from harness.cgroup import V2_ROOT, Cgroup
from harness.devices import linear, null_blk
from harness.guest import Guest
from harness.ioband import Ioband
from harness.kernels import get_kernel, own_kernel_name
from harness.load import Load, Stream
from harness.module import build_module

SETTLE_S = 0.3
WINDOW_S = 1.0
DISK = "nullb0"
LEAN = {
    "ioengine": "io_uring",
    "iodepth_batch": 32,
    "iodepth_batch_complete_min": 32,
    "fixedbufs": 1,
    "registerfiles": 1,
    "gtod_reduce": 1,
    "clocksource": "clock_gettime",
    "write_lat_log": None,
    "disable_slat": None,
    "disable_clat": None,
    "log_unix_epoch": None,
    "log_max_value": None,
}


class Device(NamedTuple):
    """What the load uses, and what there is to say of it while it runs."""

    path: str
    remark: Callable[[], str] = str


class Contestant(NamedTuple):
    """One way to share a disk: sets itself up on it and yields the device to use."""

    name: str
    set_up: Callable[[Guest, str, list[Cgroup]], contextlib.AbstractContextManager[Device]]


@contextlib.contextmanager
def scheduler(guest: Guest, disk: str, groups: list[Cgroup], name: str) -> Iterator[Device]:
    """One of the kernel's I/O schedulers."""
    if name in ("bfq", "kyber"):
        guest.run(["modprobe", "bfq" if name == "bfq" else "kyber-iosched"])
    guest.write(f"/sys/block/{DISK}/queue/scheduler", name)
    yield Device(disk)
    guest.write(f"/sys/block/{DISK}/queue/scheduler", "none")


def _number(guest: Guest) -> str:
    return guest.read(f"/sys/block/{DISK}/dev").strip()


@contextlib.contextmanager
def io_cost(guest: Guest, disk: str, groups: list[Cgroup]) -> Iterator[Device]:
    """io.cost with a model that the disk never reaches: accounting without throttling."""
    rates = " ".join(f"{way}{kind}=100000000" for way in "rw" for kind in ("seqiops", "randiops"))
    model = f"ctrl=user model=linear rbps=1000000000000 wbps=1000000000000 {rates}"
    guest.write(f"{V2_ROOT}/io.cost.model", f"{_number(guest)} {model}")
    guest.write(f"{V2_ROOT}/io.cost.qos", f"{_number(guest)} enable=1")
    yield Device(disk)
    guest.write(f"{V2_ROOT}/io.cost.qos", f"{_number(guest)} enable=0")


@contextlib.contextmanager
def io_max(guest: Guest, disk: str, groups: list[Cgroup]) -> Iterator[Device]:
    """io.max with limits that nobody reaches."""
    for group in groups:
        group.set("io.max", f"{_number(guest)} rbps=1000000000000 riops=1000000000")
    yield Device(disk)
    for group in groups:
        group.set("io.max", f"{_number(guest)} rbps=max riops=max")


@contextlib.contextmanager
def dm_linear(guest: Guest, disk: str, groups: list[Cgroup]) -> Iterator[Device]:
    """What any device-mapper target costs."""
    with linear(guest, "bench", disk) as device:
        yield Device(device.path)


@contextlib.contextmanager
def ioband(guest: Guest, disk: str, groups: list[Cgroup]) -> Iterator[Device]:
    """dm-ioband, sorting by cgroup."""
    with Ioband(guest, "bench", disk) as device:

        def remark() -> str:
            reads = [entry.read for entry in device.stats()]
            ios, held = sum(read.ios for read in reads), sum(read.held for read in reads)
            return f" ({100 * held / ios:.0f} % of the I/Os were held)"

        yield Device(device.path, remark)


def _scheduler(name: str) -> Contestant:
    return Contestant(name, lambda guest, disk, groups: scheduler(guest, disk, groups, name))


CONTESTANTS = (
    _scheduler("none"),
    Contestant("io.cost", io_cost),
    Contestant("io.max", io_max),
    _scheduler("kyber"),
    _scheduler("mq-deadline"),
    _scheduler("bfq"),
    Contestant("dm-linear", dm_linear),
    Contestant("ioband", ioband),
)


def instructions_per_io(guest: Guest, device: Device, groups: list[Cgroup]) -> tuple[float, str]:
    """Run one process in each group, and count what the disk completes meanwhile."""
    streams = [
        Stream(group.path, device.path, group, bs="4k", iodepth=64, options=LEAN)
        for group in groups
    ]
    load = Load(guest, streams).start()
    guest.sleep(SETTLE_S)
    first, last = guest.sample([f"/sys/block/{DISK}/stat"], WINDOW_S)
    remark = device.remark()
    load.end()
    reads = [int(text.split()[0]) for sample in (first, last) for text in sample.texts.values()]
    return (last.at_ms - first.at_ms) * 1e6 / (reads[1] - reads[0]), remark


def measure(guest: Guest, contestants: list[Contestant]) -> dict[str, dict[str, float]]:
    """Instructions per I/O by contestant and number of processes."""
    figures: dict[str, dict[str, float]] = {}
    with Cgroup(guest, "a") as one, Cgroup(guest, "b") as two:
        for contestant in contestants:
            figures[contestant.name] = {}
            for groups in ([one], [one, two]):
                # A new disk: what a policy was once used on never gets quite rid of it.
                with (
                    null_blk(guest, DISK, irqmode=0, blocksize=512) as disk,
                    contestant.set_up(guest, disk, groups) as device,
                ):
                    cost, remark = instructions_per_io(guest, device, groups)
                progress(f"{contestant.name}, {len(groups)} cgroups: {cost:.0f}{remark}")
                figures[contestant.name][str(len(groups))] = round(cost, 1)
    return figures


def table(figures: dict[str, dict[str, float]], release: str) -> str:
    """The figures for people."""
    heads = (("one process", "1"), ("two cgroups", "2"))
    lines = [
        f"Instructions per I/O, 4-KiB random reads, {release}",
        f"{'':12}" + "".join(f"{head:>12}{'-none':>8}{'-linear':>8}" for head, _ in heads),
    ]
    for name, costs in figures.items():
        line = f"{name:12}"
        for _, key in heads:
            line += f"{costs[key]:12.0f}"
            for base in ("none", "dm-linear"):
                known = base in figures and base != name
                line += f"{costs[key] - figures[base][key]:+8.0f}" if known else f"{'':8}"
        lines.append(line.rstrip())
    return "\n".join(lines)


def main() -> None:
    """Measure, print a table, and write the figures as JSON."""
    names = [contestant.name for contestant in CONTESTANTS]
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--kernel", default=own_kernel_name())
    parser.add_argument("--json", type=Path, help="where the figures go, for machines")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(names))
    args = parser.parse_args()
    if unknown := set(args.names) - set(names):
        sys.exit(f"{', '.join(unknown)}: there are only {', '.join(names)}")
    chosen = [c for c in CONTESTANTS if not args.names or c.name in args.names]
    kernel = get_kernel(args.kernel)
    module = build_module(kernel)[0] if any(c.name == "ioband" for c in chosen) else None
    progress(f"booting {kernel.release}, with instructions for a clock")
    with Guest(kernel, icount=True) as guest:
        if module:
            guest.insmod(module)
        figures = measure(guest, chosen)
    print(table(figures, kernel.release))
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        document = {"kernel": kernel.release, "instructions_per_io": figures}
        args.json.write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    main()
