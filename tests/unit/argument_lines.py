# SPDX-License-Identifier: GPL-2.0-only
"""Table lines and messages, and what the module must say to them."""

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from cprograms import ENV, UNIT


class Line(NamedTuple):
    """Words after "ioband" or after the sector of a message, and the answer."""

    kind: str
    words: str
    answer: str


def _either(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"


USAGE = "must be <dev> <offset> <pool> [<#args> <key>=<value>...]"
OFFSET = "must be a number of 512-byte sectors, at most 18014398509481983"
POOL = "must be 1 to 63 of A-Z a-z 0-9 _ . : + -, not starting with -"
COUNT = "after the pool: must be the number of words that follow"
KEY_VALUE = "must be <key>=<value>"
UNKNOWN = "unknown key; there are mode, weight, measure, depth, slice and writes_starved"
MODE = "must be cgroup, device, device+cgroup, uid, gid, pid or pgrp"
WEIGHT = "must be a whole number from 1 to 10000, or idle"
WEIGHT_MESSAGE = "must be a whole number from 1 to 10000, idle or default"
MEASURE = "must be bytes, ios or time"
DEPTH = (
    "must be auto or a whole number from 1 to 65535, then at will / and the size of pieces, "
    "a power of two from 16384 to 1048576"
)
SLICE = "must be 0 for none, or milliseconds up to 1000"
STARVED = "must be a whole number from 1 to 100"
NO_GROUP = "weight= is the device's: it wants mode=device or mode=device+cgroup"
VERBS = re.findall(r"\[IOBAND_MSG_\w+\] = \"(.*)\"", (UNIT / "verbs.h").read_text())
TARGETS = ["latency-target", "write-latency-target"]
PAGED = VERBS[VERBS.index("groups") :]
VERB = f"must be {_either([*VERBS[:-1], 'preset', VERBS[-1]])}"
PRESET = f"must be {_either(VERBS[: VERBS.index('set')])}"
PRESET_PATH = (
    "a preset is of cgroup:</path>: must be without // and . and .. and newlines, "
    "and not end with /"
)
MAX = "must be <group> and rbps=, wbps=, riops= or wiops=, or <group> default"
RATE = "must be rbps=, wbps=, riops= or wiops=, or default alone"
RATE_VALUE = "or a whole number from 1 to 1099511627776 a second"
GROUP = (
    "must be root, device, device:<maj>:<min>, cgroup:</path>, cgroup#<id>, "
    "uid:<n>, gid:<n>, pid:<n> or pgrp:<n>"
)
DEVICE = "must be device:<major>:<minor>, at most 4095:1048575"
CGROUP = "must be cgroup:</path> or cgroup#<id>"
CGROUP_ID = "a cgroup's id is the inode number of its directory"
CURSOR = "must be what the last page said after 'next'"
# Not whole numbers, whatever the range.
NO_NUMBERS = ["-1", "+1", "x", "1x", "0x10", "1.5", "1k", "1e3", "1\n", "18446744073709551617"]

# Nor the class below all weights.
NOT_IDLE = ["Idle", "idle5", "idl", *NO_NUMBERS]


def _table(words: str, answer: str) -> Line:
    return Line("table", words, answer)


def _key(word: str, answer: str) -> Line:
    return _table(f"8:16 0 p 1 {word}", answer)


def _message(words: str, answer: str) -> Line:
    return Line("message", words, answer)


def _weigh(group: str, answer: str) -> Line:
    return _message(f"weight {group} 5", f"group '{group}': {answer}")


WRONG_TABLES = [
    _table("", f"0 words after 'ioband': {USAGE}"),
    _table("8:16", f"1 words after 'ioband': {USAGE}"),
    _table("8:16 0", f"2 words after 'ioband': {USAGE}"),
    *(
        _table(f"8:16 {offset} p", f"offset '{offset}': {OFFSET}")
        for offset in ("", "8:16", "18014398509481984", "9" * 32, *NO_NUMBERS)
    ),
    _table(f"8:16 {'9' * 99} p", f"offset '{'9' * 32}': {OFFSET}"),
    *(
        _table(f"8:16 0 {pool}", f"pool '{pool}': {POOL}")
        for pool in ("", "-p", "p/q", "p,q", "p%q", "p=q", "\xe4", "p'", "p\tq", "*", "a" * 64)
    ),
    _table(f"8:16 0 {'a' * 100}", f"pool '{'a' * 70}': {POOL}"),
    *(
        _table(f"8:16 0 p {count}", f"'{count}' {COUNT}")
        for count in ("", "mode=uid", "4294967296", *NO_NUMBERS)
    ),
    _table("8:16 0 p mode=uid depth=4", f"'mode=uid' {COUNT}"),
    _table("8:16 0 p 1", "0 words follow the pool's '1': they must agree"),
    _table("8:16 0 p 0 mode=uid", "1 words follow the pool's '0': they must agree"),
    _table("8:16 0 p 2 mode=uid", "1 words follow the pool's '2': they must agree"),
    _table("8:16 0 p 1 mode=uid depth=4", "2 words follow the pool's '1': they must agree"),
    _table("8:16 0 p 99 depth=4", "1 words follow the pool's '99': they must agree"),
    _table("8:16 0 p 010", "0 words follow the pool's '010': they must agree"),
    *(
        _key(word, f"'{word}': {KEY_VALUE}")
        for word in ("", "mode", "uid", "weight", "100", "auto", "mode:uid")
    ),
    *(
        _key(word, f"'{word}': {UNKNOWN}")
        for word in ("=", "=uid", "mod=uid", "modes=uid", "Mode=uid", "weigth=5", "weights=5")
    ),
    *(
        _key(word, f"'{word}': {UNKNOWN}")
        for word in ("measures=ios", "dept=4", "depth+=4", "latency=5ms", "mode\t=uid", "slices=5")
    ),
    _key("k" * 40 + "=1", f"'{'k' * 32}': {UNKNOWN}"),
    *(
        _key(f"mode={mode}", f"mode={mode}: {MODE}")
        for mode in ("", "user", "Uid", "uidx", "cgroups", "device,cgroup", "cgroup+device")
    ),
    *(
        _key(f"mode={mode}", f"mode={mode}: {MODE}")
        for mode in ("+", "device+", "0", "tgid", "uid=uid", "uid\n")
    ),
    *(
        _table(f"8:16 0 p 2 mode=device weight={weight}", f"weight={weight}: {WEIGHT}")
        for weight in ("", "0", "10001", "4294967297", "100%", "auto", "default", *NOT_IDLE)
    ),
    *(
        _key(f"measure={measure}", f"measure={measure}: {MEASURE}")
        for measure in ("", "byte", "Bytes", "iops", "io", "Time", "times", "sectors", "bytes,ios")
    ),
    *(
        _key(f"depth={depth}", f"depth={depth}: {DEPTH}")
        for depth in ("", "0", "65536", "4294967297", "Auto", "automatic", "max", *NO_NUMBERS)
    ),
    *(
        _key(f"depth={depth}", f"depth={depth}: {DEPTH}")
        for depth in ("4/", "/16384", "0/16384", "4/8192", "4/16385", "4/2097152", "4/1e5", "4/4/4")
    ),
    *(
        _key(f"slice={slice_ms}", f"slice={slice_ms}: {SLICE}")
        for slice_ms in ("", "1001", "4294967296", "auto", "none", "80ms", *NO_NUMBERS)
    ),
    *(
        _key(f"{word}=2", f"'{word}=2': {UNKNOWN}")
        for word in ("writes-starved", "writes_starve", "writes_starved2", "starved")
    ),
    *(
        _key(f"writes_starved={reads}", f"writes_starved={reads}: {STARVED}")
        for reads in ("", "0", "101", "4294967297", "auto", "default", *NO_NUMBERS)
    ),
    *(
        _table(f"8:16 0 p 2 {key}={first} {key}={second}", f"{key}= is given twice")
        for key, first, second in (
            ("mode", "uid", "gid"),
            ("mode", "uid", "uid"),
            ("weight", "5", "5"),
            ("measure", "ios", "bytes"),
            ("depth", "auto", "4"),
            ("slice", "0", "80"),
            ("writes_starved", "2", "2"),
        )
    ),
    _table("8:16 0 p 4 mode=device weight=5 depth=4 mode=device", "mode= is given twice"),
    _key("weight=5", NO_GROUP),
    *(
        _table(f"8:16 0 p 2 mode={mode} weight=5", NO_GROUP)
        for mode in ("cgroup", "uid", "gid", "pid", "pgrp")
    ),
    _table("8:16 0 p 2 weight=5 mode=uid", NO_GROUP),
    _table("8:16 0 p 2 mode=uid weight=0", f"weight=0: {WEIGHT}"),
]

WRONG_MESSAGES = [
    _message("", f"empty message: {VERB}"),
    *(
        _message(verb, f"'{verb}': {VERB}")
        for verb in ("weights", "Weight", "status", "list", "group", "stat", "latencies", "help")
    ),
    _message("set=", f"'set=': {VERB}"),
    _message(" weight", f"'': {VERB}"),
    _message("w" * 40, f"'{'w' * 32}': {VERB}"),
    _message("weight", "weight: 0 words follow; must be <group> <weight>"),
    _message("weight root", "weight: 1 words follow; must be <group> <weight>"),
    _message("weight root 1 2", "weight: 3 words follow; must be <group> <weight>"),
    *(
        _message(f"weight root {weight}", f"weight '{weight}': {WEIGHT_MESSAGE}")
        for weight in ("", "0", "10001", "4294967297", "Default", "none", "weight=5", *NOT_IDLE)
    ),
    *(
        _weigh(group, GROUP)
        for group in ("", "roo", "roots", "Root", "devices", "Device", "dev:8:0", "user:5", "*")
    ),
    *(_weigh(group, GROUP) for group in ("uid", "gid", "pid", "pgrp", "uids:1", "/a", "uid=5")),
    _message(f"weight {'g' * 80} 5", f"group '{'g' * 64}': {GROUP}"),
    *(
        _weigh(f"device:{device}", DEVICE)
        for device in ("", "8", ":", "8:", ":8", "8:0:", "-1:0", "8:-1", "+8:0", "a:b", "8:0x0")
    ),
    *(
        _weigh(f"device:{device}", DEVICE)
        for device in ("4096:0", "0:1048576", "/dev/sda", "99999999999:0", "8:99999999999")
    ),
    *(
        _weigh(group, CGROUP)
        for group in ("cgroup", "cgroup:", "cgroup:a", "cgroups", "cgroup/a", "cgroup=1")
    ),
    *(_weigh(f"cgroup#{number}", CGROUP_ID) for number in ("", "0", "/a", *NO_NUMBERS)),
    *(
        _weigh(f"{kind}:{number}", f"must be {kind}:<number>, at most {most}")
        for kind, most in (
            ("uid", 4294967294),
            ("gid", 4294967294),
            ("pid", 2147483647),
            ("pgrp", 2147483647),
        )
        for number in ("", "root", "1:2", str(most + 1), *NO_NUMBERS)
    ),
    _message("max", f"max: 0 words follow; {MAX}"),
    _message("max root", f"max: 1 words follow; {MAX}"),
    _message("max roots default", f"group 'roots': {GROUP}"),
    *(
        _message(f"max root {word}", f"'{word}': {RATE}")
        for word in ("", "rbps", "bps=5", "rbp=5", "rbpss=5", "=5", "5", "max", "Default", "wiop=1")
    ),
    _message("max root default rbps=5", f"'default': {RATE}"),
    _message("max root rbps=5 default", f"'default': {RATE}"),
    _message("max root rbps=5 wbps=5 rbps=max", "rbps= is given twice"),
    *(
        _message(f"max root {name}={value}", f"{name}={value}: must be max, {RATE_VALUE}")
        for name in ("rbps", "wiops")
        for value in ("", "0", "1099511627777", "auto", "default", *NO_NUMBERS)
    ),
    _message("min", f"min: 0 words follow; {MAX}"),
    _message("min root rbps", f"'rbps': {RATE}"),
    _message("min root rbps=5 rbps=0", "rbps= is given twice"),
    *(
        _message(f"min root riops={value}", f"riops={value}: must be 0, {RATE_VALUE}")
        for value in ("", "max", "00", "1099511627777", *NO_NUMBERS)
    ),
    *(
        _message(
            f"{verb}{words}",
            f"{verb}: {count} words follow; must be <group> <microseconds>",
        )
        for verb in TARGETS
        for words, count in (("", 0), (" root", 1), (" root 5 5", 3))
    ),
    _message("latency-target roots 5", f"group 'roots': {GROUP}"),
    *(
        _message(
            f"{verb} root {value}",
            f"{verb} '{value}': must be a whole number of microseconds "
            "from 1 to 10000000, or default",
        )
        for verb in TARGETS
        for value in ("", "0", "10000001", "5us", "none", "Default", *NO_NUMBERS)
    ),
    _message("set", f"set: 0 words follow; must be one {KEY_VALUE[8:]}"),
    _message("set mode=uid depth=4", f"set: 2 words follow; must be one {KEY_VALUE[8:]}"),
    _message("set 1 mode=uid", f"set: 2 words follow; must be one {KEY_VALUE[8:]}"),
    _message("set mode", f"'mode': {KEY_VALUE}"),
    _message("set ", f"'': {KEY_VALUE}"),
    _message("set speed=1", f"'speed=1': {UNKNOWN}"),
    _message("set mode=user", f"mode=user: {MODE}"),
    _message("set measure=disk", f"measure=disk: {MEASURE}"),
    _message("set slice=1001", f"slice=1001: {SLICE}"),
    _message("set writes_starved=0", f"writes_starved=0: {STARVED}"),
    _message("set depth=0", f"depth=0: {DEPTH}"),
    *(
        _message(
            f"set weight={weight}",
            "set weight=: use 'weight device <weight>', or name another group",
        )
        for weight in ("", "5", "x")
    ),
    _message("preset", f"preset: 0 words follow; {PRESET}, and what follows that"),
    *(
        _message(f"preset {verb} root 5", f"preset '{verb}': {PRESET}")
        for verb in ("", "set", "groups", "preset", "presets", "Weight", "cgroup:/a", "default")
    ),
    _message("preset weight", "weight: 0 words follow; must be <group> <weight>"),
    _message("preset weight cgroup:/a", "weight: 1 words follow; must be <group> <weight>"),
    _message("preset weight cgroup:/a 0", f"weight '0': {WEIGHT_MESSAGE}"),
    _message("preset weight cgroup:a 5", f"group 'cgroup:a': {CGROUP}"),
    _message("preset max cgroup:/a rbps=0", f"rbps=0: must be max, {RATE_VALUE}"),
    _message("preset min cgroup:/a rbps=max", f"rbps=max: must be 0, {RATE_VALUE}"),
    *(
        _message(f"preset weight {group} 5", f"group '{group[:64]}': {PRESET_PATH}")
        for group in (
            *("root", "device", "device:8:0", "cgroup#5", "uid:5", "pgrp:5", "cgroup:/"),
            *("cgroup://a", "cgroup:/a/", "cgroup:/a//b", "cgroup:/.", "cgroup:/a/./b"),
            *("cgroup:/..", "cgroup:/a/../b", "cgroup:/a/.."),
            *("cgroup:/\n", "cgroup:/a\nb", "cgroup:/a/b\n"),
            *("cgroup:/" + "a" * 256, "cgroup:" + "/a" * 2048),
        )
    ),
    *(_message(f"{verb} 1 2", f"{verb}: 2 words follow; at most a cursor may") for verb in PAGED),
    *(
        _message(f"{verb} {cursor}", f"{verb}: cursor '{cursor}' {CURSOR}")
        for verb in PAGED
        for cursor in ("", "4294967296", "next", *NO_NUMBERS)
    ),
]

DEFAULTS = "given=0 mode=cgroup weight=100 measure=bytes depth=0 slice=0"

RIGHT = [
    _table("8:16 0 p", f"device=8:16 start=0 pool=p {DEFAULTS}"),
    _table("/dev/sdb 2048 p 0", f"device=/dev/sdb start=2048 pool=p {DEFAULTS}"),
    _table(
        "8:16 18014398509481983 A.z_0:+-",
        f"device=8:16 start=18014398509481983 pool=A.z_0:+- {DEFAULTS}",
    ),
    _table(f"8:16 007 {'a' * 63}", f"device=8:16 start=7 pool={'a' * 63} {DEFAULTS}"),
    *(
        _key(
            f"mode={mode}",
            f"device=8:16 start=0 pool=p given=1 mode={mode} weight=100 measure=bytes depth=0 "
            "slice=0",
        )
        for mode in ("cgroup", "device", "device+cgroup", "uid", "gid", "pid", "pgrp")
    ),
    _table(
        "8:16 0 p 6 weight=10000 slice=1000 depth=65535 writes_starved=100 measure=ios "
        "mode=device+cgroup",
        "device=8:16 start=0 pool=p given=3f mode=device+cgroup weight=10000 measure=ios "
        "depth=65535 slice=1000 starved=100",
    ),
    _table(
        "8:16 0 p 4 mode=device weight=1 measure=bytes depth=1",
        "device=8:16 start=0 pool=p given=f mode=device weight=1 measure=bytes depth=1 slice=0",
    ),
    _key(
        "depth=auto",
        "device=8:16 start=0 pool=p given=8 mode=cgroup weight=100 measure=bytes depth=0 slice=0",
    ),
    _table(
        "8:16 0 p 2 slice=80 measure=time",
        "device=8:16 start=0 pool=p given=14 mode=cgroup weight=100 measure=time depth=0 slice=80",
    ),
    # Whether the pool has slices is not known here.
    _key(
        "measure=time",
        "device=8:16 start=0 pool=p given=4 mode=cgroup weight=100 measure=time depth=0 slice=0",
    ),
    _key(
        "slice=0",
        "device=8:16 start=0 pool=p given=10 mode=cgroup weight=100 measure=bytes depth=0 slice=0",
    ),
    *(
        _message(f"weight {group} 5", f"verb=weight {spec} weight=5")
        for group, spec in (
            ("root", "kind=root id=0 path=none self=0"),
            ("device", "kind=device id=0 path=none self=1"),
            ("device:8:16", "kind=device id=8388624 path=none self=0"),
            ("device:4095:1048575", "kind=device id=4294967295 path=none self=0"),
            ("device:0:0", "kind=device id=0 path=none self=0"),
            ("cgroup:/", "kind=cgroup id=0 path=/ self=0"),
            ("cgroup:/a/b:c", "kind=cgroup id=0 path=/a/b:c self=0"),
            ("cgroup#1", "kind=cgroup id=1 path=none self=0"),
            ("cgroup#18446744073709551615", "kind=cgroup id=18446744073709551615 path=none self=0"),
            ("uid:0", "kind=uid id=0 path=none self=0"),
            ("uid:4294967294", "kind=uid id=4294967294 path=none self=0"),
            ("gid:4294967294", "kind=gid id=4294967294 path=none self=0"),
            ("pid:2147483647", "kind=pid id=2147483647 path=none self=0"),
            ("pgrp:2147483647", "kind=pgrp id=2147483647 path=none self=0"),
        )
    ),
    *(
        _message(
            f"preset weight cgroup:{path} 5",
            f"verb=weight preset kind=cgroup id=0 path={path} self=0 weight=5",
        )
        for path in ("/a", "/a/b.c", "/.a/..b/...", "/" + "a" * 255, "/a" * 2047)
    ),
    _message(
        "preset weight cgroup:/a default",
        "verb=weight preset kind=cgroup id=0 path=/a self=0 weight=0",
    ),
    _message(
        "preset max cgroup:/a wbps=5 riops=max",
        "verb=max preset kind=cgroup id=0 path=/a self=0 given=6 rates=0,5,0,0",
    ),
    _message(
        "preset min cgroup:/a default",
        "verb=min preset kind=cgroup id=0 path=/a self=0 given=f rates=0,0,0,0",
    ),
    *(
        _message(
            f"preset {verb} cgroup:/a 7",
            f"verb={verb} preset kind=cgroup id=0 path=/a self=0 latency=7",
        )
        for verb in TARGETS
    ),
    _message("weight root 1", "verb=weight kind=root id=0 path=none self=0 weight=1"),
    _message("weight root 10000", "verb=weight kind=root id=0 path=none self=0 weight=10000"),
    _message("weight root idle", "verb=weight kind=root id=0 path=none self=0 weight=10001"),
    _message(
        "preset weight cgroup:/a idle",
        "verb=weight preset kind=cgroup id=0 path=/a self=0 weight=10001",
    ),
    _table(
        "8:16 0 p 2 mode=device weight=idle",
        "device=8:16 start=0 pool=p given=3 mode=device weight=10001 measure=bytes depth=0 slice=0",
    ),
    _message("weight root default", "verb=weight kind=root id=0 path=none self=0 weight=0"),
    _message(
        "max cgroup:/a default",
        "verb=max kind=cgroup id=0 path=/a self=0 given=f rates=0,0,0,0",
    ),
    *(
        _message(f"max root {words}", f"verb=max kind=root id=0 path=none self=0 {rates}")
        for words, rates in (
            ("rbps=1", "given=1 rates=1,0,0,0"),
            ("wbps=1099511627776", "given=2 rates=0,1099511627776,0,0"),
            ("riops=7", "given=4 rates=0,0,7,0"),
            ("wiops=max", "given=8 rates=0,0,0,0"),
            ("wiops=4 riops=3 wbps=2 rbps=1", "given=f rates=1,2,3,4"),
        )
    ),
    _message(
        "min cgroup:/a default",
        "verb=min kind=cgroup id=0 path=/a self=0 given=f rates=0,0,0,0",
    ),
    _message(
        "min uid:5 wiops=0 rbps=7", "verb=min kind=uid id=5 path=none self=0 given=9 rates=7,0,0,0"
    ),
    *(
        _message(
            f"{verb} cgroup#7 {value}",
            f"verb={verb} kind=cgroup id=7 path=none self=0 latency={latency}",
        )
        for verb in TARGETS
        for value, latency in (("1", 1), ("10000000", 10_000_000), ("default", 0))
    ),
    _message("set mode=pgrp", "verb=set given=1 mode=pgrp weight=0 measure=bytes depth=0 slice=0"),
    _message(
        "set measure=ios", "verb=set given=4 mode=cgroup weight=0 measure=ios depth=0 slice=0"
    ),
    _message(
        "set measure=time", "verb=set given=4 mode=cgroup weight=0 measure=time depth=0 slice=0"
    ),
    _message(
        "set depth=7/65536",
        "verb=set given=8 mode=cgroup weight=0 measure=bytes depth=7/65536 slice=0",
    ),
    _message("set depth=7", "verb=set given=8 mode=cgroup weight=0 measure=bytes depth=7 slice=0"),
    *(
        _message(
            f"set slice={slice_ms}",
            f"verb=set given=10 mode=cgroup weight=0 measure=bytes depth=0 slice={slice_ms}",
        )
        for slice_ms in (0, 1, 1000)
    ),
    *(
        _message(
            f"set writes_starved={reads}",
            f"verb=set given=20 mode=cgroup weight=0 measure=bytes depth=0 slice=0 starved={reads}",
        )
        for reads in (1, 2, 100)
    ),
    *(_message(verb, f"verb={verb} cursor=0") for verb in PAGED),
    *(_message(f"{verb} 4294967295", f"verb={verb} cursor=4294967295") for verb in PAGED),
]


def answers(args_say: Path, lines: list[Line], env: dict[str, str]) -> list[str]:
    """What the program says to each line."""
    given = "".join(f"{line.kind} {line.words}\0" for line in lines)
    done = subprocess.run(
        [args_say], input=given.encode("latin-1"), env=env, capture_output=True, timeout=60
    )
    said = done.stdout.decode("latin-1").split("\0")
    said[-1] += done.stderr.decode()
    return said


def mistakes(args_say: Path, lines: list[Line], env: dict[str, str] = ENV) -> list[str]:
    """Where the program says something else than it must."""
    said = answers(args_say, lines, env)
    if len(said) != len(lines) + 1 or said[-1]:
        return [f"{len(said) - 1} answers to {len(lines)} lines; {said[-1]}"]
    return [
        f"{line.kind} {line.words!r}: {answer!r} is not {line.answer!r}"
        for line, answer in zip(lines, said, strict=False)
        if answer != line.answer
    ]
