# SPDX-License-Identifier: GPL-2.0-only
"""The ways to share a disk, each set up as its documentation recommends.

If the policy includes no scheduler, rotating disks have mq-deadline, as the kernel
itself chooses, and all other disks none.  ioband leaves the order of dispatched
I/O to the drive's own queue, so it has none always.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import stack

BFQ_MAX_WEIGHT = 1000
MIB = 1 << 20
PLAIN = {"hdd": "mq-deadline"}  # else none
SLICES_MS = {"hdd": 124}  # chosen by iobandctl for rotational disks


class Peer:
    """The context of a policy: the experiment, its disk, its volumes."""

    def __init__(self, experiment: dict[str, Any], disk: str, devices: dict[str, str]):
        self.experiment = experiment
        self.groups = experiment["groups"]
        self.disk = disk
        self.devices = devices
        self.notes: list[str] = []

    def scheduler(self, name: str) -> None:
        """Set the disk's scheduler."""
        stack.write(stack.queue("scheduler"), name)

    def plain_scheduler(self) -> None:
        """Set the scheduler under a policy that is not a scheduler itself."""
        self.scheduler(PLAIN.get(self.experiment["disk"]["model"], "none"))

    def set(self, group: dict[str, Any], name: str, value: object) -> None:
        """Write to a file of a group."""
        stack.write(stack.cgroup(group) / name, str(value))


def _scheduler(name: str) -> Callable[[Peer], None]:
    return lambda peer: peer.scheduler(name)


def bfq(peer: Peer, requests: int = 0, low_latency: int = 0) -> None:
    """BFQ, by default without its low-latency heuristics: they raise weights, so none would hold.

    It chooses among the requests with one of the scheduler's tags; requests is their number, if
    not the default.
    """
    peer.scheduler("bfq")
    stack.write(stack.queue("iosched/low_latency"), str(low_latency))
    if requests:
        stack.write(stack.queue("nr_requests"), str(requests))
    scale = max(1, max(group["weight"] for group in peer.groups) / BFQ_MAX_WEIGHT)
    if scale > 1:
        peer.notes.append(f"BFQ's weights end at {BFQ_MAX_WEIGHT}: all divided by {scale:g}")
    for group in peer.groups:
        peer.set(group, "io.bfq.weight", max(1, round(group["weight"] / scale)))


def io_cost(peer: Peer, qos: str = "ctrl=user min=50.00 max=90.00") -> None:
    """io.cost with a linear model that was measured on this disk, held to 90 % of it.

    It shares only while it throttles.  With ctrl=auto and no latencies, it throttles once
    requests wait for tags.
    """
    peer.plain_scheduler()
    device = stack.number(peer.disk)
    model = " ".join(f"{key}={value}" for key, value in peer.experiment["io_cost_model"].items())
    root = stack.CGROUP_ROOT
    stack.write(root / "io.cost.model", f"{device} ctrl=user model=linear {model}")
    stack.write(root / "io.cost.qos", f"{device} enable=1 {qos}")
    for group in peer.groups:
        peer.set(group, "io.weight", group["weight"])


def io_cost_latency(peer: Peer) -> None:
    """io.cost with a latency as qos: it slows down while one read in twenty takes longer.

    The latency is four times the least target; at the target itself, io.cost slows down to its
    limit.
    """
    least = min(group["latency_ms"] for group in peer.groups if group["latency_ms"])
    io_cost(peer, f"ctrl=user rpct=95.00 rlat={round(least * 4000)} min=25.00 max=100.00")


def io_latency(peer: Peer) -> None:
    """io.latency with the targets of the scenario.

    A group that misses its target throttles groups with a larger target, but no groups without
    one; so in a scenario all groups have one.
    """
    peer.plain_scheduler()
    for group in peer.groups:
        if group["latency_ms"]:
            target = round(group["latency_ms"] * 1000)
            peer.set(group, "io.latency", f"{stack.number(peer.disk)} target={target}")


def io_max(peer: Peer) -> None:
    """io.max with the limits of the scenario."""
    peer.plain_scheduler()
    for group in peer.groups:
        if group["max_mibps"]:
            rate = round(group["max_mibps"] * MIB)
            peer.set(group, "io.max", f"{stack.number(peer.disk)} rbps={rate} wbps={rate}")


def io_prio(peer: Peer) -> None:
    """io.prio.class with mq-deadline, which obeys it."""
    peer.scheduler("mq-deadline")
    for group in peer.groups:
        if group["prio_class"]:
            peer.set(group, "io.prio.class", group["prio_class"])


def ioband(peer: Peer) -> None:
    """A device of one pool over each volume, groups by cgroup, slices where a disk seeks."""
    peer.scheduler("none")
    experiment = peer.experiment
    slice_ms = SLICES_MS.get(experiment["disk"]["model"], 0)
    settings = ["mode=cgroup", f"measure={experiment['measure']}", f"slice={slice_ms}"]
    for name, below in peer.devices.items():
        words = [stack.number(below), "0", "lab", str(len(settings)), *settings]
        table = f"0 {stack.sectors(below)} ioband {' '.join(words)}"
        peer.devices[name] = stack.dm_create(f"ioband-{name}".rstrip("-"), table)
    first = next(iter(peer.devices.values()))
    for group in peer.groups:
        name = f"cgroup:{group['path']}"
        stack.run("dmsetup", "message", first, "0", "weight", name, str(group["weight"]))
        for bound in ("min", "max"):
            if group[f"{bound}_mibps"]:
                rate = round(group[f"{bound}_mibps"] * MIB)
                words = (bound, name, f"rbps={rate}", f"wbps={rate}")
                stack.run("dmsetup", "message", first, "0", *words)
    if experiment["target_ms"]:
        target = str(round(experiment["target_ms"] * 1000))
        stack.run("dmsetup", "message", first, "0", "latency-target", "root", target)


PEERS: dict[str, Callable[[Peer], None]] = {
    "none": _scheduler("none"),
    "mq-deadline": _scheduler("mq-deadline"),
    "kyber": _scheduler("kyber"),
    "bfq": bfq,
    "bfq-2048": partial(bfq, requests=2048),
    "bfq-low-latency": partial(bfq, low_latency=1),
    "io.cost": io_cost,
    "io.cost-100": partial(io_cost, qos="ctrl=user min=50.00 max=100.00"),
    "io.cost-auto": partial(io_cost, qos="ctrl=auto"),
    "io.cost-latency": io_cost_latency,
    "io.latency": io_latency,
    "io.max": io_max,
    "io.prio": io_prio,
    "ioband": ioband,
}
