# SPDX-License-Identifier: GPL-2.0-only
"""An ioband device and its status, tables and answers: the one parser of the tests.

    with Ioband(guest, "d0", disk, pool="p", mode="cgroup") as dev:
        dev.set_weight(group_name(cgroup), 300)
        print(dev.io()["/a"].read.ios, dev.status().state)

The texts are described in Documentation/dm-ioband.rst.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from .cgroup import Cgroup
from .devices import DmDevice, sectors
from .guest import Guest

VERSION = "1"
DIRECTIONS = ("read", "write", "discard")
RATES = ("rbps", "wbps", "riops", "wiops")
# For scripts in a guest that send many messages; a process of dmsetup for each would be slow.
# send() returns the answer.
SEND = """
import fcntl, os, struct
CONTROL, DM_TARGET_MSG, HEAD = os.open("/dev/mapper/control", os.O_RDWR), 0xc138fd0e, 312

def send(path, text):
    data = bytearray(16384)
    name = os.path.basename(path).encode()
    struct.pack_into("=10IQ128s", data, 0, 4, 0, 0, len(data), HEAD, 0, 0, 0, 0, 0, 0, name)
    data[HEAD + 8 : HEAD + 8 + len(text)] = text.encode()
    fcntl.ioctl(CONTROL, DM_TARGET_MSG, data)
    (start,) = struct.unpack_from("=I", data, 16)
    return data[start : data.index(0, start)].decode()
"""


class FormatError(ValueError):
    """A text differs from the documentation."""


class Amount(NamedTuple):
    """A number of bios and of their bytes."""

    ios: int
    bytes: int


class Counters(NamedTuple):
    """The bios and bytes that a group completed in one direction."""

    ios: int
    bytes: int
    held: int
    wait_ns: int
    service_ns: int


@dataclass(frozen=True)
class Group:
    """A line of "groups"; path is unescaped, and "" for a group that is not a cgroup's."""

    seq: int
    parent: int
    name: str
    weight: int
    is_set: bool
    path: str
    max: dict[str, int] | None  # rates by name as in set_max(); None: no maximum
    min: dict[str, int] | None  # in the same way
    latency_us: int  # latency target of its reads; 0: none
    write_latency_us: int  # the same of its writes


@dataclass(frozen=True)
class GroupStats:
    """A line of "stats"; bios queued and in flight also by direction, as in DIRECTIONS."""

    seq: int
    name: str
    held: Amount
    inflight: int
    read: Counters
    write: Counters
    discard: Counters
    held_by: dict[str, Amount]
    inflight_by: dict[str, int]

    @property
    def bytes(self) -> int:
        """Bytes completed, in all directions."""
        return self.read.bytes + self.write.bytes + self.discard.bytes

    @property
    def ios(self) -> int:
        """Bios completed, in all directions."""
        return self.read.ios + self.write.ios + self.discard.ios


@dataclass(frozen=True)
class GroupLatency:
    """A line of "latency": histograms by "read.wait", "read.service", "write.wait"...

    sums_ns has the sum of the times in each histogram.
    """

    seq: int
    name: str
    histograms: dict[str, tuple[int, ...]]
    sums_ns: dict[str, int]


@dataclass(frozen=True)
class Status:
    """The status line."""

    pool: str
    mode: str
    measure: str
    state: str
    depth: int
    groups: int
    active: int
    held: Amount
    inflight: Amount
    devices: int
    slice_ms: int
    piece_bytes: int
    brake: int  # bytes a second of the throttled groups; 0: none
    writes_starved: int


def _numbers(text: str, count: int) -> list[int]:
    numbers = [int(number) for number in text.split(",")]
    if len(numbers) != count:
        raise FormatError(f"{text!r}: {len(numbers)} numbers instead of {count}")
    return numbers


def _keys(words: list[str]) -> dict[str, str]:
    return {key: value for key, _, value in (word.partition("=") for word in words)}


def unescape(path: str) -> str:
    r"""A cgroup's path without escapes: \ooo becomes its byte."""
    octal = re.sub(rb"\\([0-7]{3})", lambda match: bytes([int(match[1], 8)]), path.encode())
    return octal.decode()


def parse_status(line: str) -> Status:
    """Parse the output of `dmsetup status` for one target."""
    start, length, target, version, *words = line.split()
    if (target, version) != ("ioband", VERSION) or start != "0" or not length.isdigit():
        raise FormatError(f"not the status of an ioband target: {line!r}")
    keys = _keys(words)
    return Status(
        pool=keys["pool"],
        mode=keys["mode"],
        measure=keys["measure"],
        state=keys["state"],
        depth=int(keys["depth"]),
        groups=int(keys["groups"]),
        active=int(keys["active"]),
        held=Amount(*_numbers(keys["held"], 2)),
        inflight=Amount(*_numbers(keys["inflight"], 2)),
        devices=int(keys["devices"]),
        slice_ms=int(keys["slice"]),
        piece_bytes=int(keys["piece"]),
        brake=int(keys["brake"]),
        writes_starved=int(keys["writes_starved"]),
    )


def parse_page(text: str, title: str) -> tuple[list[str], int | None]:
    """The lines of a page without its frame, and the next page's cursor if there is one."""
    head, *lines, tail = text.splitlines()
    if head != f"{VERSION} {title}":
        raise FormatError(f"a page of {title!r} begins with {head!r}")
    if tail == "end":
        return lines, None
    if not re.fullmatch(r"next \d+", tail):
        raise FormatError(f"a page of {title!r} ends with {tail!r}")
    return lines, int(tail.split()[1])


@dataclass(frozen=True)
class Preset:
    """A line of "presets": the first settings of the group of a path; as in a Group."""

    tree: str  # "root", or "device:<major>:<minor>"
    path: str
    weight: int  # 0: none
    max: dict[str, int] | None = None
    min: dict[str, int] | None = None
    latency_us: int = 0


def parse_preset(line: str) -> Preset:
    """Parse a line of "presets"."""
    _, tree, *words = line.split(" ")
    keys = _keys(words)
    return Preset(
        tree=tree,
        path=unescape(keys["path"]),
        weight=int(keys.get("weight", "0")),
        max=_parse_rates(keys.get("max"), "max"),
        min=_parse_rates(keys.get("min"), "0"),
        latency_us=int(keys.get("latency", "0")),
    )


def _parse_rates(text: str | None, nothing: str) -> dict[str, int] | None:
    if text is None:
        return None
    rates = dict(zip(RATES, text.split(","), strict=True))
    return {name: int(rate) for name, rate in rates.items() if rate != nothing}


def parse_group(line: str) -> Group:
    """Parse a line of "groups"."""
    seq, parent, name, *words = line.split(" ")
    keys = _keys(words)
    return Group(
        seq=int(seq),
        parent=int(parent),
        name=name,
        weight=int(keys["weight"]),
        is_set=bool(_numbers(keys["set"], 1)[0]),
        path=unescape(keys.get("path", "")),
        max=_parse_rates(keys.get("max"), "max"),
        min=_parse_rates(keys.get("min"), "0"),
        latency_us=int(keys.get("latency", "0")),
        write_latency_us=int(keys.get("write_latency", "0")),
    )


def parse_stats(line: str) -> GroupStats:
    """Parse a line of "stats"."""
    seq, name, *words = line.split(" ")
    keys = _keys(words)
    read, write, discard = (Counters(*_numbers(keys[key], 5)) for key in DIRECTIONS)
    held_by = {key: Amount(*_numbers(keys[f"{key}.held"], 2)) for key in DIRECTIONS}
    inflight_by = {key: int(keys[f"{key}.inflight"]) for key in DIRECTIONS}
    group = GroupStats(
        seq=int(seq),
        name=name,
        held=Amount(*_numbers(keys["held"], 2)),
        inflight=int(keys["inflight"]),
        read=read,
        write=write,
        discard=discard,
        held_by=held_by,
        inflight_by=inflight_by,
    )
    parts = list(held_by.values())
    if group.held != (sum(part.ios for part in parts), sum(part.bytes for part in parts)):
        raise FormatError(f"{line!r}: what is held by direction does not add up")
    if group.inflight != sum(inflight_by.values()):
        raise FormatError(f"{line!r}: what is in flight by direction does not add up")
    return group


def parse_latency(line: str) -> GroupLatency:
    """Parse a line of "latency"."""
    seq, name, *words = line.split(" ")
    keys = _keys(words)
    sums_ns = {key.removesuffix("_ns"): int(keys.pop(key)) for key in list(keys) if "_ns" in key}
    histograms = {key: tuple(_numbers(value, 26)) for key, value in keys.items()}
    if set(sums_ns) != set(histograms):
        raise FormatError(f"{line!r}: not a sum for each histogram")
    return GroupLatency(seq=int(seq), name=name, histograms=histograms, sums_ns=sums_ns)


def group_name(cgroup: Cgroup) -> str:
    """The name of a cgroup in messages and answers: cgroup#<id>."""
    return "cgroup#" + cgroup.guest.run(["stat", "-c", "%i", cgroup.directory]).out.strip()


def table_line(length: int, below: str, pool: str, offset: int = 0, **settings: object) -> str:
    """A table of one ioband target; settings are its keys, as mode="cgroup"."""
    words = [f"{key}={value}" for key, value in settings.items()]
    count = [str(len(words))] if words else []
    return " ".join(["0", str(length), "ioband", below, str(offset), pool, *count, *words])


class Ioband(DmDevice):
    """A mapped device of one ioband target; it covers the whole device below by default."""

    def __init__(
        self,
        guest: Guest,
        name: str,
        below: str,
        pool: str = "pool",
        *,
        offset: int = 0,
        length: int | None = None,
        **settings: object,
    ):
        self.below = below
        self.pool = pool
        self.offset = offset
        self.length = sectors(guest, below) - offset if length is None else length
        super().__init__(guest, name, self.line(**settings))

    def line(self, pool: str | None = None, **settings: object) -> str:
        """A table for this device with other settings, to load()."""
        return table_line(self.length, self.below, pool or self.pool, self.offset, **settings)

    def set_weight(self, group: str | Cgroup, weight: int | str) -> None:
        """Set a group's weight: "uid:7", "device", a Cgroup...; a number or "default"."""
        name = group_name(group) if isinstance(group, Cgroup) else group
        self.message("weight", name, str(weight))

    def set_max(self, group: str | Cgroup, **rates: int | str) -> None:
        """Set a group's maximum, as set_max(cgroup, rbps=1 << 20, wiops="max"); none: default."""
        self._set_bound("max", group, rates)

    def set_min(self, group: str | Cgroup, **rates: int) -> None:
        """Set a group's minimum, as set_min(cgroup, rbps=1 << 20, wiops=0); none: default."""
        self._set_bound("min", group, rates)

    def set_latency(
        self, group: str | Cgroup, target_us: int | str = "default", *, writes: bool = False
    ) -> None:
        """Set a group's latency target, of reads or of writes."""
        name = group_name(group) if isinstance(group, Cgroup) else group
        self.message("write-latency-target" if writes else "latency-target", name, str(target_us))

    def _set_bound(self, verb: str, group: str | Cgroup, rates: Mapping[str, int | str]) -> None:
        name = group_name(group) if isinstance(group, Cgroup) else group
        words = [f"{key}={rate}" for key, rate in rates.items()]
        self.message(verb, name, *(words or ["default"]))

    def set(self, **settings: object) -> None:
        """Change settings at run time, as set(mode="uid")."""
        for key, value in settings.items():
            self.message("set", f"{key}={value}")

    def info(self) -> Status:
        """The status line, parsed."""
        return parse_status(self.status())

    def preset(self, path: str, *words: str) -> None:
        """Give a setting to a path, as preset("/a", "weight", "300"); the path may be any name."""
        verb, *values = words
        quoted = re.sub(rb"([^A-Za-z0-9/._-])", rb"\\\1", path.encode())
        self.message("preset", verb, "cgroup:" + quoted.decode(errors="surrogateescape"), *values)

    def pages(self, title: str) -> Iterator[list[str]]:
        """The lines of each page of "groups", "stats", "latency" or "presets"."""
        cursor: int | None = None
        while True:
            words = [title] if cursor is None else [title, str(cursor)]
            lines, cursor = parse_page(self.message(*words), title)
            yield lines
            if cursor is None:
                return

    def _lines(self, title: str) -> Iterator[str]:
        for page in self.pages(title):
            yield from page

    def groups(self) -> list[Group]:
        """All groups of the pool."""
        return [parse_group(line) for line in self._lines("groups")]

    def stats(self) -> list[GroupStats]:
        """The statistics of the groups of the pool."""
        return [parse_stats(line) for line in self._lines("stats")]

    def latency(self) -> list[GroupLatency]:
        """The histograms of the groups of the pool."""
        return [parse_latency(line) for line in self._lines("latency")]

    def presets(self) -> list[Preset]:
        """The settings that were given to paths, in the whole pool."""
        return [parse_preset(line) for line in self._lines("presets")]

    def tree(self) -> dict[str, Group]:
        """All groups by label: a cgroup's path, after its device's name if it has one."""
        return _labels(self.groups())

    def io(self) -> dict[str, GroupStats]:
        """Statistics by label, as in tree(): "/a/b", "root", "device:253:0/a", "uid:7"."""
        stats = self.stats()
        labels = {group.seq: label for label, group in self.tree().items()}
        return {labels.get(entry.seq, entry.name): entry for entry in stats}


def _labels(groups: list[Group]) -> dict[str, Group]:
    by_seq = {group.seq: group for group in groups}

    def device_of(group: Group | None) -> str:
        while group and not group.name.startswith("device:"):
            group = by_seq.get(group.parent)
        return group.name if group else ""

    labels = {
        (device_of(group) + group.path if group.path else group.name): group for group in groups
    }
    if len(labels) != len(groups):
        raise FormatError(f"some groups are listed twice: {groups}")
    return labels
