# SPDX-License-Identifier: GPL-2.0-only
"""iobandctl without a kernel: its pure parts, its verbs on a fake one, and fuzzing.

All is built with the address and undefined-behaviour sanitizers.
"""

import fcntl
import json
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from coverage_fuzz import unpack_corpus
from fakekernel import NO_BOUNDS, Fake, configure
from toolbuild import HERE, SOURCE, Built, compile_c, link_fuzz, link_swap, link_unit, sh

FUZZ_SEEDS = range(4)
FUZZ_TEXTS = {"kernel": 40_000, "cgroup": 40_000, "conf": 10_000}
FUZZ_TEXTS |= {"recording": 5_000, "shown": 5_000}
VERBS = [
    name.replace("_", "-")
    for name in re.findall(r"&verb_(\w+),", (SOURCE / "main.c").read_text())
    if name != "help"
]

OPTION = r"^  (?:-\w,|   ) (--[\w-]+)"  # in what help says of a verb

DISKS = Path("/sys/dev/block")

UNIT_TESTS = re.findall(r"TEST\((\w+)\)", (HERE / "test-main.c").read_text())[1:]
SWAP_TESTS = re.findall(r"TEST\((\w+)\)", (HERE / "test-swap.c").read_text())[1:]


# -- the pure parts --------------------------------------------------------------------


@pytest.mark.parametrize("name", UNIT_TESTS)
def test_unit(built: Built, name: str) -> None:
    done = sh(built.unit, name)
    assert not done.returncode, done.stderr


@pytest.mark.parametrize("name", SWAP_TESTS)
def test_swap(built: Built, name: str) -> None:
    done = sh(built.swap, name)
    assert not done.returncode, done.stderr


def test_all_unit_tests_are_known(built: Built) -> None:
    assert sh(built.unit).stdout.split() == UNIT_TESTS
    assert sh(built.unit, "none").returncode
    assert sh(built.swap).stdout.split() == SWAP_TESTS


def fuzz(program: Path, subject: str, seed: int) -> subprocess.CompletedProcess[str]:
    return sh(program, subject, str(seed), str(FUZZ_TEXTS[subject]))


@pytest.mark.parametrize("subject", FUZZ_TEXTS)
@pytest.mark.parametrize("seed", FUZZ_SEEDS)
def test_fuzz(built: Built, subject: str, seed: int) -> None:
    done = fuzz(built.fuzz, subject, seed)
    assert not done.returncode, done.stderr
    assert done.stdout == f"{FUZZ_TEXTS[subject]} texts\n"


@pytest.mark.parametrize("subject", FUZZ_TEXTS)
def test_corpus(built: Built, tmp_path: Path, subject: str) -> None:
    """Texts found by libFuzzer; each covers a different path in the parsers."""
    files = unpack_corpus(subject, tmp_path)
    assert len(files) > 10
    done = sh(built.fuzz, subject, "files", *files)
    assert not done.returncode, done.stderr
    assert done.stdout == f"{len(files)} texts\n"


MARKS_MAX = 4096  # the limit in hand.c
MUTANTS = [
    ("words.c", "span.length >= size ||", "span.length > size ||", "fuzz"),
    ("words.c", "xcalloc(4 * strlen(text) + 1, 1)", "xcalloc(strlen(text) + 1, 1)", "unit"),
    (
        "parse.c",
        "!span_u64(word, IOBAND_WEIGHT_MAX, weight)",
        "!span_u64(word, UINT64_MAX, weight)",
        "unit",
    ),
    ("parse.c", "if (!saved->weight && !bounds_are_set(", "if (0 && !bounds_are_set(", "fuzz"),
    ("parse.c", "if (!saved->weight && !bounds_are_set(", "if (!bounds_are_set(", "unit"),
    ("parse.c", "if (!rates_read_list(value, field->count, field->target))", "if (0)", "unit"),
    ("parse.c", "bound_field(&group->bounds, LATENCY),", "", "unit"),
    ("parse.c", "bound_field(&saved->bounds, LATENCY),", "", "unit"),
    (
        "parse.c",
        "if (saved->bounds.latency_us[bound - LATENCY] > LATENCY_MAX_US)",
        "if (0)",
        "unit",
    ),
    ("parse.c", "&status->brake_bytes_per_s, 1, OPTIONAL", "&status->devices, 1, OPTIONAL", "unit"),
    ("parse.c", "bound_field(&group->bounds, MINIMUM),", "", "unit"),
    ("parse.c", "bound_field(&saved->bounds, MINIMUM),", "", "unit"),
    ("parse.c", "&bounds->of[bound], bound,", "&bounds->of[MAXIMUM], bound,", "unit"),
    ("rates.c", 'rate_is_bytes(rate) && span_is(unit, "iB")', 'span_is(unit, "iB")', "unit"),
    ("rates.c", "*number > RATE_MAX / unit", "0", "unit"),
    ("rates.c", "if (*given & 1U << rate)", "if (0)", "unit"),
    ("rates.c", "for (int base = 1024; rate_is_bytes(rate) && ", "for (int base = 1024; ", "unit"),
    ("rates.c", "given == RATES_ALL && ", "", "unit"),
    ("rates.c", "RATE_MAX, number) || !*number", "RATE_MAX, number)", "unit"),
    ("rates.c", "if (!*number && bound == MAXIMUM)\n", "if (0)\n", "unit"),
    ("rates.c", "if (!*number && bound == MAXIMUM)\n", "if (!*number)\n", "unit"),
    ("rates.c", "xstrdup(bound_kinds[bound].nothing)", 'xstrdup("max")', "unit"),
    ("rates.c", "span_is(value, none)", 'span_is(value, "max")', "unit"),
    ("bounds.c", "min->rate[rate] <= max->rate[rate]", "min->rate[rate] < max->rate[rate]", "unit"),
    ("bounds.c", "(!max->rate[rate] || ", "(", "unit"),
    ("bounds.c", "rates_are_set(&bounds->of[bound])", "rates_are_set(&bounds->of[0])", "unit"),
    ("bounds.c", "if (digit && unit % 10)", "if (digit && unit < 1)", "unit"),
    ("bounds.c", "(has_point && !is_digits(rest))", "0", "unit"),
    ("bounds.c", "LATENCY_MAX_US / unit, us)", "UINT64_MAX, us)", "unit"),
    ("bounds.c", "if (*us > LATENCY_MAX_US)", "if (0)", "unit"),
    ("bounds.c", "if (!*us)", "if (0)", "unit"),
    ("bounds.c", "while (us % units[unit].us)", "while (us < units[unit].us)", "unit"),
    (
        "bounds.c",
        "bounds->latency_us[bound - LATENCY] ==\n",
        "bounds->latency_us[bound - LATENCY] -\n",
        "unit",
    ),
    ("conf-read.c", "check_settings, check_bounds }", "check_settings }", "unit"),
    ("conf-read.c", "check_own_group,\n\t\t\t  check_bounds }", "check_own_group }", "unit"),
    ("parse.c", 'if (is_path && span_is(word, "A"))', "if (is_path)", "unit"),
    ("parse.c", "(colon || *word.start != ':')", "*word.start != ':'", "unit"),
    ("reach.c", "!child || is_runnable(child)", "!child", "unit"),
    ("reach.c", "close_range(3, fd - 1, 0);", ";", "unit"),
    ("reach.c", "close_range(fd + 1, ~0U, 0);", ";", "unit"),
    ("conf-path.c", "if (conf_text(section, key))", "if (1)", "unit"),
    ("conf-path.c", "name = end;\n", "", "unit"),
    ("conf-path.c", "is = has_wildcard(name) &&", "is =", "unit"),
    ("conf-path.c", "head, path, FNM_PATHNAME)", "head, path, 0)", "unit"),
    ("parse.c", "free(weights->v[i].group);", ";", "fuzz"),
    ("parse.c", 'return wrong(problem, "a key comes twice", key);', "continue;", "unit"),
    ("words.c", "__builtin_mul_overflow(number, 10, &number)", "(number *= 10, false)", "unit"),
    ("histogram.c", "total * percent / 100", "total * percent / 90", "unit"),
    ("histogram.c", "if (now[slot] < before[slot])", "if (0)", "unit"),
    ("cgroup.c", "path[length] == '/'))", "path[length]))", "unit"),
    ("args.c", "problem, \"option '--%s' comes twice\"", 'problem, "%s"', "unit"),
    ("sample.c", "op_since(&group->op[op], &old->op[op]);", ";", "unit"),
    ("pool.c", "hash *= 0x100000001b3;", "hash *= 3;", "unit"),
    ("pool.c", '"vd", "xvd"', '"vd"', "unit"),
    ("pool.c", "strlen(name + length) <= 2", "1", "unit"),
    ("pool.c", "end && !name[end]", "end", "unit"),
    (
        "conf.c",
        "section->pool ? !strcmp(section->pool, pool) :",
        "section->pool ? true :",
        "unit",
    ),
    (
        "conf-path.c",
        "its_pool = conf_pool(group);",
        "its_pool = conf_text(group, KEY_POOL);",
        "unit",
    ),
    ("pool.c", '!strcmp(rotational, "1")', "*rotational", "unit"),
    ("make.c", "strcmp(other->table.pool, pool))\n\t\t\tcontinue;", "0)\n\t\t\tcontinue;", "unit"),
    ("make.c", "!other || !other->dm->table ||", "!other ||", "unit"),
    ("make.c", "pool_name_of(disks, pool);", "*pool = 0;", "unit"),
    ("parse.c", "&status->slice_ms, 1, OPTIONAL", "&status->slice_ms, 1, REQUIRED", "unit"),
    ("parse.c", "&status->piece_bytes, 1, OPTIONAL", "&status->devices, 1, OPTIONAL", "unit"),
    ("parse.c", "&table->slice_ms, 1, OPTIONAL", "&table->offset, 1, OPTIONAL", "unit"),
    ("parse.c", "&table->writes_starved, 1", "&table->slice_ms, 1", "unit"),
    ("parse.c", "&status->writes_starved, 1", "&status->slice_ms, 1", "unit"),
    ("parse.c", '"auto",\n\t\t.writes_starved', '"auto",\n\t\t.slice_ms', "unit"),
    ("parse.c", "status){\n\t\t.writes_starved", "status){\n\t\t.slice_ms", "unit"),
    ("conf-read.c", "1, IOBAND_WRITES_STARVED_MAX", "0, IOBAND_WRITES_STARVED_MAX", "unit"),
    ("conf-read.c", "INI_MS_ERROR", "INI_MS_MERGE", "unit"),
    ("conf-path.c", "score >= closest", "score > closest", "unit"),
    ("conf-path.c", "isascii(byte) : *group == '\\\\'", "isascii(byte) : 0", "unit"),
    ("conf-path.c", "if (levels > NESTING_MAX)", "if (levels >= NESTING_MAX)", "unit"),
    ("conf-path.c", "if (!is_pattern && length > NAME", "if (length > NAME", "unit"),
    ("conf-path.c", "length >= CGROUP_PATH_SIZE)", "length > CGROUP_PATH_SIZE)", "unit"),
    ("conf-path.c", "->path, path, FNM_PATHNAME)", "->path, path, 0)", "unit"),
    ("conf.c", "i = conf->n; i-- > 0;", "i = 0; i < conf->n; i++", "unit"),
    ("conf-read.c", "{ ERR_NOKEY,", "{ 99,", "unit"),
    ("conf.c", "free(conf->v[i].label);", ";", "fuzz"),
    ("weigh.c", "* 11 + 5", "* 10", "unit"),
    ("weigh.c", "is_bfq && is_unit", "is_bfq", "unit"),
    ("weigh.c", "if (!asked->weight && ", "if (", "unit"),
    ("weigh.c", "if (!asked_find(asked, old, 1))", "", "unit"),
    ("weigh.c", "if (asked->v[i].weight)", "", "unit"),
    ("weigh.c", "kind == ASKED_LATENCY && value > LATENCY_MAX_US", "0", "unit"),
    ("weigh.c", "if (!value || value == UINT64_MAX)", "if (!value)", "unit"),
    ("weigh.c", "kind >= ASKED_MAX && value > RATE_MAX", "0", "unit"),
    ("bus.c", '".slice"))\n', '".service"))\n', "unit"),
    ("use.c", 'strcmp(type, "fuse") && ', "", "unit"),
    ("use.c", "&& is_source_true(entry)", "", "unit"),
    ("use.c", "if (shared >= 0)", "if (0)", "unit"),
    ("use.c", "int error = fd < 0 ? -errno : 0;", "int error = 0;", "unit"),
    ("swap.c", "if (state.suspended)\n\t\treturn refuse(", "if (0)\n\t\treturn refuse(", "swap"),
    ("swap.c", "if (!uses(swap->name, swap->own))", "if (0)", "swap"),
    ("swap.c", "if (!awaits(swap->name, swap->loaded))", "if (0)", "swap"),
    ("swap.c", "error = awaits(swap->name, swap->loaded) ?", "error = 1 ?", "swap"),
    ("swap.c", "undo(swap, error, problem);", "mapper_clear(swap->name);", "swap"),
    ("swap.c", "error = mapper_load(swap->name, swap->own, swap->read_only);", ";", "swap"),
    ("swap.c", "return mapper_switch(swap->name) ?: error;", "return error;", "swap"),
    ("swap.c", "for (int i = 0; i < IOBAND_WORDS; i++)", "for (int i = 0; i < 9; i++)", "swap"),
    ("tree.c", 'strcmp(parent->name, "root")', "parent", "unit"),
    ("activity.c", "activity->weights[i] += IOBAND_WEIGHT_DEFAULT;", ";", "unit"),
    ("activity.c", "(counted ? 0 : weight_number(group->weight))", "0", "unit"),
    ("explain-judge.c", "(it->rivals || it->braked)", "1", "unit"),
    ("words.c", "(length == 3 && value < 0x800) ||", "", "unit"),
    ("words.c", "value > 0x10ffff)", "0)", "unit"),
    ("words.c", "ascii ? is_odd_in_ascii : is_invisible", "is_never_odd", "shown"),
    ("words.c", "if (length && *json != '\\n' && is_invisible(code))", "if (0)", "shown"),
    ("words.c", "0xd7c0 + (code >> 10)", "0xd800 + (code >> 10)", "shown"),
    ("words.c", "plain = length && !is_odd(code)", "plain = !length || !is_odd(code)", "shown"),
    ("words.c", "{ 0xe0000, 0xe0fff }", "{ 0xe0000, 0xe0000 }", "shown"),
    ("error.c", "show(text, stderr);\n\tfflush", "xstrdup(text);\n\tfflush", "shown"),
    ("print.c", "text_utf8(text) : show(text, stdout)", "text_utf8(text) : xstrdup(text)", "shown"),
    ("print.c", "table->json ? text_utf8(text) :", "", "shown"),
    ("print.c", "*shown = show(text, stdout)", "*shown = xstrdup(text)", "shown"),
    ("print.c", "shown = text_json(json)", "shown = xstrdup(json)", "shown"),
    ("words.c", "(text[i] & 0xc0) != 0x80", "0", "unit"),
    ("recording-parse.c", "json_tokener_get_parse_end(tokener) < length", "0", "unit"),
    ("recording-parse.c", "group->seq <= group[-1].seq", "0", "unit"),
    ("recording-parse.c", "length && length < size &&", "length &&", "unit"),
    ("recording-parse.c", "json_object_get_int64(value) >= 0 &&", "", "unit"),
    ("plot-series.c", "line->at_ns <= pool->before.at_ns", "0", "unit"),
    ("plot-series.c", "fill_up(plot, pool->name, from_s, to_s);", ";", "unit"),
    ("plot-series.c", "fill_up(plot, pool->name, at_s, at_s);", ";", "unit"),
    ("plot-series.c", "pool->before.at_ns < plot->step_ns)", "pool->before.at_ns < 0)", "unit"),
    ("plot-script.c", "*text == '\\'' ?", "*text == '\"' ?", "unit"),
    ("plot-script.c", "most >= unit[1].size", "most > 2 * unit[1].size", "unit"),
    ("explain-measure.c", "if (tree_is_below(groups, doer, group))", "if (doer == group)", "unit"),
    ("explain-bounds.c", "amount + one < bound", "amount < bound", "unit"),
    ("explain-bounds.c", "(amount - one) * BOUND_TOLERANCE", "0 * amount", "unit"),
    ("explain-bounds.c", "top->parent && tree_is_below(groups, doer, top)", "0", "unit"),
    ("explain-bounds.c", "discards.bytes = discards.ios", "discards.ios = discards.ios", "unit"),
    ("explain-bounds.c", "(explain_is_held(it) || own->held_ios * 2 > own->ios)", "1", "unit"),
    ("explain-bounds.c", "it->held_looks == it->looks &&", "", "unit"),
    ("explain-bounds.c", "done->wait_ns >= it->seconds", "0 * done->ios <= it->seconds", "unit"),
    ("explain-bounds.c", "is_outermost(groups, group, rate) &&", "", "unit"),
    ("explain-bounds.c", "&& was_held(pool, group))", ")", "unit"),
    ("explain-bounds.c", "tree_is_below(groups, group, other) ||", "", "unit"),
    ("explain-bounds.c", "tree_is_below(groups, other, group) ||", "group == other ||", "unit"),
    ("explain-bounds.c", "!needs_promise(pool, other, it->seconds)", "0", "unit"),
    ("explain-bounds.c", "least && done.ios &&", "least &&", "unit"),
    ("explain-bounds.c", "part.share_pct * BOUND_TOLERANCE > part.entitled_pct", "1", "unit"),
    (
        "explain-judge.c",
        "(it->bound[MAXIMUM].n && explain_is_held(it)",
        "(explain_is_held(it)",
        "unit",
    ),
    ("explain-judge.c", "explain_is_held(it) && !it->rivals)", "explain_is_held(it))", "unit"),
    ("explain-judge.c", "counts(it, MAXIMUM) ||", "", "unit"),
    ("explain-judge.c", "if (is_mostly_used(it))", "if (it->bound[MAXIMUM].n)", "unit"),
    ("explain-judge.c", "if (counts(it, MINIMUM))", "if (0)", "unit"),
    ("explain-judge.c", "it->share_pct * SHARE_TOLERANCE > it->entitled_pct", "1", "unit"),
    ("explain-judge.c", "return it->n_promised ?", "return 0 ?", "unit"),
    ("explain-judge.c", "if (it->braked)", "if (0)", "unit"),
    ("explain-latency.c", "!top->parent || tree_is_below", "tree_is_below", "unit"),
    ("explain-latency.c", "reads.wait_ns + reads.service_ns", "reads.service_ns", "unit"),
    ("explain-latency.c", "return top->parent || !explain_bounds_reads(top);", "return 1;", "unit"),
    ("explain-latency.c", "if (explain_bounds_reads(doer) ||", "if (", "unit"),
    ("explain-latency.c", "    explain_caps_reads(pool, top, seconds))", "    0)", "unit"),
    ("explain-latency.c", "if (!top->parent || !tree_is_sound(groups, top))", "if (0)", "unit"),
    ("explain-latency.c", "if (target->capped)\n\t\treturn;", "", "unit"),
    ("explain-latency.c", "!it->brake_per_s || !worst ||", "!worst ||", "unit"),
    ("explain-latency.c", "|| !worst->used_pct)", ")", "unit"),
    ("explain-latency.c", "worst->of_pool ? has_written(pool, group) :", "", "unit"),
    ("explain-latency.c", "!worst->own && is_ahead(", "is_ahead(", "unit"),
    ("explain-latency.c", "&& is_ahead(pool, group, worst->group)", "", "unit"),
    (
        "explain-latency.c",
        "weight_number(group->weight) *\n	       SHARE_TOLERANCE",
        "weight_number(group->weight)",
        "unit",
    ),
    ("explain-latency.c", "if (tree_is_below(groups, other, up))\n\t\t\tbreak;", "", "unit"),
    ("explain-latency.c", '!strcmp(pool->speaker->table.measure, "time") ||', "", "unit"),
    ("explain-bounds.c", "return most->rate[RBPS] || most->rate[RIOPS];", "return 1;", "unit"),
]


@pytest.mark.long("a compiler's and a linker's run for each of the mistakes")
@pytest.mark.parametrize(
    ("file", "old", "new", "finder"), MUTANTS, ids=[f"{m[0]}-{i}" for i, m in enumerate(MUTANTS)]
)
def test_mistakes_are_found(
    tmp_path: Path, built: Built, file: str, old: str, new: str, finder: str
) -> None:
    """Negative control: each of these faults fails the tests above."""
    (source,) = SOURCE.rglob(file)
    text = source.read_text()
    assert text.count(old) == 1, f"{file} has changed: choose another mistake"
    (tmp_path / file).write_text(text.replace(old, new))
    broken = tmp_path / "broken.o"
    compile_c(broken, [tmp_path / file], SOURCE, "-c", "-w")
    objects = {**built.objects, str(source.relative_to(SOURCE).with_suffix("")): broken}
    program = tmp_path / "program"
    if finder in ("fuzz", "shown"):
        link_fuzz(program, objects)
        subjects = {"conf.c": "conf", "recording-parse.c": "recording"}
        subject = subjects.get(file, "kernel")
        subject = "shown" if finder == "shown" else subject
        found = any(fuzz(program, subject, seed).returncode for seed in FUZZ_SEEDS)
    elif finder == "swap":
        link_swap(program, objects)
        found = any(sh(program, name).returncode for name in SWAP_TESTS)
    else:
        link_unit(program, objects)
        found = sh(program, *UNIT_TESTS).returncode
    assert found, f"nobody notices {new!r} instead of {old!r} in {file}"


# -- the verbs, on a fake kernel -----------------------------------------------------------


def test_list(host: Fake) -> None:
    lines = host.run("list").splitlines()
    assert lines[0].split() == (
        [
            "NAME",
            "DEVICE",
            "SIZE",
            "POOL",
            "MODE",
            "MEASURE",
            "WEIGHT",
            "STATE",
            "RO",
        ]
    )
    assert lines[1].split() == [
        "byuid",
        "4000:4",
        "1.00M",
        "sdb",
        "uid",
        "bytes",
        "-",
        "active",
        "no",
    ]
    assert host.json("list")[2] == {
        "name": "own",
        "number": "253:3",
        "device": "4000:3",
        "device_number": "4000:3",
        "offset": 0,
        "size": 1 << 20,
        "pool": "sda",
        "mode": "device+cgroup",
        "measure": "bytes",
        "weight": 200,
        "depth": "auto",
        "slice_ms": 0,
        "writes_starved": 2,
        "state": "active",
        "read_only": False,
        "inserted": False,
    }


def test_list_of_nothing(fake: Fake) -> None:
    (fake.root / "devices").write_text("")
    assert fake.run("list") == ""
    assert fake.json("list") == []


def test_device_without_table(fake: Fake) -> None:
    (fake.root / "devices").write_text("left|253:9||\n")
    assert fake.json("list")[0]["state"] == "no table"
    assert "'iobandctl remove left'" in fake.run("status", "left", rc=3)
    assert fake.json("status") == []
    fake.run("remove", "left")
    assert fake.sent == ["left: remove"]
    (row,) = fake.json("remove", "left")
    assert (row["name"], row["state"], row["device"]) == ("left", "no table", None)


def test_status(host: Fake) -> None:
    assert [row["name"] for row in host.json("status")] == ["byuid", "one", "own", "two"]
    (row,) = host.json("status", "/dev/mapper/one")
    assert row == {
        "name": "one",
        "pool": "sda",
        "mode": "cgroup",
        "measure": "bytes",
        "state": "open",
        "devices": 2,
        "groups": 3,
        "active": 1,
        "depth": 32,
        "piece_bytes": 32768,
        "slice_ms": 0,
        "writes_starved": 2,
        "brake_bytes_per_s": 0,
        "inflight_ios": 4,
        "inflight_bytes": 16384,
        "held_ios": 2,
        "held_bytes": 8192,
    }
    (row,) = host.json("status", "byuid")
    assert (row["slice_ms"], row["writes_starved"]) == (80, 5)
    assert "there is no device 'nope'" in host.run("status", "nope", rc=3)


def test_module_without_slices(fake: Fake) -> None:
    """Texts of a module without slices."""
    status = "1 pool=p mode=uid measure=bytes state=open depth=32 groups=3 active=1 "
    status += "held=2,8192 inflight=4,16384 devices=2"
    table = "4000:1 0 p 4 mode=uid weight=100 measure=bytes depth=auto"
    (fake.root / "devices").write_text(f"old|253:1|{table}|{status}\n")
    assert fake.json("list")[0]["slice_ms"] == 0
    assert fake.json("status")[0]["slice_ms"] == 0


def test_module_without_writes_starved(fake: Fake) -> None:
    """Its value is the present default; no message is sent, because the module would refuse it."""
    status = "1 pool=p mode=uid measure=bytes state=open depth=32 groups=3 active=1 "
    status += "held=2,8192 inflight=4,16384 devices=2 slice=0 piece=0 brake=0"
    table = "4000:1 0 p 5 mode=uid weight=100 measure=bytes depth=auto slice=0"
    (fake.root / "devices").write_text(f"old|253:1|{table}|{status}\n")
    fake.answer("old", "groups", "1 groups\nend\n")
    (fake.root / "refuse").write_text("writes_starved unknown key")
    for verb in ("list", "status", "get"):
        assert fake.json(verb)[0]["writes_starved"] == 2
    fake.run(*configure(fake, "[pool p]\nwrites_starved = 2\ndepth = 9\n"))
    assert fake.told("set") == ["old: set depth=9"]
    fake.run(*configure(fake, "[pool q]\ndepth = 9\n"))
    assert fake.told("set") == []
    said = fake.run(*configure(fake, "[pool p]\nwrites_starved = 3\n"), rc=1)
    assert "refused 'set writes_starved=3': unknown key" in said
    assert "refused" in fake.run("set", "--pool", "p", "writes_starved=3", rc=1)


@pytest.mark.parametrize(
    "form", ["{root}/a/b", "/a/b", "a/b", "cgroup:a/b", "cgroup#{id}", "a//b/"]
)
def test_set_weight_of_a_cgroup(host: Fake, form: str) -> None:
    """One message for each pool, and one for each device with a tree of its own."""
    number = host.cgroup("/a/b")
    host.run("set-weight", form.format(root=host.root / "cgroup", id=number), "250")
    told = [f"{name}: weight cgroup#{number} 250" for name in ("one", "own")]
    assert host.told("weight") == told


def test_set_weight_of_some(host: Fake) -> None:
    a = host.cgroup("/a")
    host.run("set-weight", "--device", "two", "a", "default")
    assert host.sent == [f"two: weight cgroup#{a} default"]
    host.run("set-weight", "root", "5")
    assert host.told("weight") == ["byuid: weight root 5", "one: weight root 5"]
    host.run("set-weight", "--pool", "sdb", "/", "5")
    assert host.sent == ["byuid: weight root 5"]
    host.run("set-weight", "uid:root", "5")
    assert host.sent == ["byuid: weight uid:0 5"]
    for form in (["own"], ["device:own"], ["device", "--device", "own"], ["/dev/mapper/own"]):
        host.run("set-weight", *form, "5")
        assert host.sent == ["own: weight device 5"]


@pytest.mark.parametrize(
    ("args", "rc", "says"),
    [
        (["a", "0"], 2, "from 1 to 10000, 'idle' or 'default'"),
        (
            ["a"],
            2,
            "set-weight takes GROUP and its weight, from 1 to 10000, 'idle' or 'default'; or --fro",
        ),
        (["a", "1", "--from", "x"], 2, "give nothing else"),
        (["nope", "1"], 3, "directory; a unit has one while it runs ('systemctl show -P Con"),
        (["a/../b", "1"], 2, "'..'"),
        (["a", "1", "--pool", "sdb"], 3, "no ioband device of pool sdb sorts by cgroup"),
        (["a", "1", "--pool", "nope"], 3, "there is no pool 'nope'"),
        (["a", "1", "--device", "byuid"], 3, "sorts by uid, not by cgroup"),
        (["a", "1", "--device", "one", "--pool", "sdb"], 3, "is in pool sda, not sdb"),
        (["gid:0", "1"], 3, "no ioband device sorts by gid"),
        (["uid:no-such-user", "1"], 3, "uid:no-such-user names nothing"),
        (["pid:x", "1"], 3, "pid:x names nothing; give a number\n"),
        (["device", "1"], 2, "needs --device DEVICE"),
        (["one", "1"], 3, "device one has no group of its own, as its mode is cgroup"),
        (["device:own", "1", "--device", "one"], 2, "leave out --device"),
        (["own", "1", "--pool", "sdb"], 3, "is in pool sda, not sdb"),
    ],
)
def test_set_weight_refused(host: Fake, args: list[str], rc: int, says: str) -> None:
    assert says in host.run("set-weight", *args, rc=rc)
    assert host.sent == []


def test_set_weight_json(host: Fake) -> None:
    """The same as get-weight afterwards; "default" shows as no weight."""
    a = host.cgroup("/a")
    rows = host.json("set-weight", "a", "300")
    told = [f"{name}: weight cgroup#{a} 300" for name in ("one", "own")]
    assert host.told("weight") == told
    assert host.sent.index(told[1]) < host.sent.index("own: groups", 5)
    assert rows == host.json("get-weight", "a")
    assert [row["weight"] for row in rows] == [300, 100]
    assert host.json("set-weight", "a", "default", "--device", "own") == [
        {"pool": "sda", "device": "own", "group": "/a", "id": f"cgroup#{a}", "weight": 100,
         "set": False}
    ]  # fmt: skip
    assert host.run("set-weight", "a", "300") == ""


def test_set_weight_json_of_what_failed(host: Fake) -> None:
    """A failed command prints no settings, because none took effect."""
    (host.root / "refuse").write_text("own:~weight no memory\n")
    assert "device own refused" in host.run("set-weight", "--json", "a", "300", rc=1)
    assert host.printed == ""
    (host.root / "refuse").write_text("weight no memory\n")
    host.run("set-weight", "--json", "a", "300", rc=1)
    assert host.printed == ""
    (host.root / "refuse").write_text("groups no memory\n")
    host.run("get-weight", "--json", "a", rc=1)
    assert host.printed == ""
    host.run("set-weight", "--json", "a", "0", rc=2)
    assert host.printed == ""


def test_device_or_cgroup(host: Fake) -> None:
    host.cgroup("/own")
    assert "cgroup:own or device:own" in host.run("set-weight", "own", "5", rc=2)
    host.run("set-weight", "device:own", "5")
    host.run("set-weight", "cgroup:own", "5")


def test_io_not_enabled(host: Fake) -> None:
    host.cgroup("/x", "cpu memory")
    host.cgroup("/x/y/z", "")
    host.cgroup("/x/y", "")
    said = host.run("set-weight", "x/y/z", "5", rc=3)
    root = host.root / "cgroup"
    assert "so its I/O belongs to /;" in said
    assert (
        f"'echo +io > {root}/cgroup.subtree_control && echo +io > {root}/x/cgroup.subtree_control "
        f"&& echo +io > {root}/x/y/cgroup.subtree_control'" in said
    )
    assert host.sent == []


def test_version_1(built: Built, tmp_path: Path) -> None:
    """With a mounted blkio hierarchy, every cgroup has the controller."""
    fake = Fake(built.fake, tmp_path, version=1)
    fake.device("one", "253:1", "sda")
    number = fake.cgroup("/v1")
    fake.run("set-weight", "v1", "5")
    assert fake.sent == [f"one: weight cgroup#{number} 5"]


def test_get_weight(host: Fake) -> None:
    rows = host.json("get-weight", "a")
    a = {"pool": "sda", "group": "/a", "id": f"cgroup#{host.cgroup('/a')}"}
    assert rows == [
        {**a, "device": None, "weight": 300, "set": True},
        {**a, "device": "own", "weight": 100, "set": False},
    ]
    assert host.json("get-weight", "o dd")[1]["weight"] == 50
    assert host.json("get-weight", "root", "--pool", "sda")[0]["weight"] == 70
    assert host.json("get-weight", "own")[0]["weight"] == 200
    assert host.run("get-weight", "a", "--device", "one").splitlines()[1].split() == (
        ["sda", "-", "/a", "300", "set"]
    )


def test_groups(host: Fake) -> None:
    text = host.run("groups", "--pool", "sda")
    assert [line.split()[0] for line in text.splitlines()[1:]] == [
        "sda", "├─root", "├─own", "│", "├─a", "│", "└─cgroup#999",
    ]  # fmt: skip
    (sda,) = host.json("groups", "--pool", "sda")
    assert sda["type"] == "pool"
    root, own, a, _ = sda["children"]
    assert (root["name"], root["type"], root["weight"], root["set"]) == ("root", "root", 70, True)
    assert (own["name"], own["type"], own["group"], own["id"]) == (
        "own", "device", "device:own", "device:253:3",
    )  # fmt: skip
    assert (own["children"][0]["path"], own["children"][0]["weight"]) == ("/o dd", 50)
    assert (a["children"][0]["name"], a["children"][0]["set"]) == ("b", False)
    assert [child["name"] for child in host.json("groups", "--device", "own")[0]["children"]] == [
        "own"
    ]
    assert [child["name"] for child in host.json("groups", "--device", "one")[0]["children"]] == [
        "root", "a", "cgroup#999",
    ]  # fmt: skip


def test_weights_and_back(host: Fake) -> None:
    text = host.run("groups", "--weights")
    assert text == (
        "1 weights\n"
        "pool=sda group=root weight=70\n"
        "pool=sda device=own group=device weight=200\n"
        "pool=sda group=cgroup:/a weight=300\n"
        "pool=sda device=own group=cgroup:/o\\040dd weight=50\n"
    )
    assert host.json("groups", "--weights")[3] == {
        "pool": "sda", "device": "own", "group": "/o dd", "weight": 50,
        "id": f"cgroup#{host.cgroup('/o dd')}",
        **NO_BOUNDS,
    }  # fmt: skip
    host.run("set-weight", "--from", "-", stdin=text)
    assert host.sent == [
        "one: weight root 70",
        "own: weight device 200",
        f"one: weight cgroup#{host.cgroup('/a')} 300",
        f"own: weight cgroup#{host.cgroup('/o dd')} 50",
    ]
    (host.root / "saved").write_text(text)
    assert host.json("set-weight", "--from", str(host.root / "saved")) == (
        host.json("groups", "--weights")
    )
    (host.root / "saved").write_text("1 weights\n")
    assert host.json("set-weight", "--from", str(host.root / "saved")) == []


def test_many_weights_and_back(fake: Fake) -> None:
    count, page = 5000, 250
    fake.device("one", "253:1", "sda")
    expected = []
    for start in range(0, count, page):
        lines = ["1 groups"] if start else ["1 groups", "1 0 root weight=100 set=0"]
        for i in range(start, start + page):
            number, weight = fake.cgroup(f"/many/{i}"), i % 10000 + 1
            lines.append(f"{i + 2} 1 cgroup#{number} weight={weight} set=1 path=/many/{i}")
            expected.append(f"one: weight cgroup#{number} {weight}")
        lines.append(f"next {start + page}" if start + page < count else "end")
        message = f"groups {start}" if start else "groups"
        fake.answer("one", message, "\n".join(lines) + "\n")
    saved = fake.root / "saved"
    saved.write_text(fake.run("groups", "--weights"))
    assert len(fake.sent) == count // page
    fake.run("set-weight", "--from", str(saved))
    assert fake.sent == expected
    marks = fake.root / "run/.by-hand"
    first = marks.read_text().splitlines()
    assert len(set(first)) == len(first) == count
    # A repeated restore keeps the marks; a new mark is appended, and the oldest are dropped.
    fake.run("set-weight", "--from", str(saved))
    assert marks.read_text().splitlines() == first
    fake.run("set-weight", "root", "5")
    assert marks.read_text().splitlines() == [*first[1 - MARKS_MAX :], "sda - root weight"]


def test_restore_interrupted(host: Fake) -> None:
    """Changes before the signal are marked as made by hand; then the signal takes effect."""
    saved = host.run("groups", "--weights")
    (host.root / "interrupt").touch()
    said = host.run("set-weight", "--from", "-", rc=-signal.SIGTERM, stdin=saved)
    assert "interrupted: Terminated" in said
    assert host.told("weight") == ["one: weight root 70"]
    assert (host.root / "run/.by-hand").read_text() == "sda - root weight\n"


def test_restore_of_what_is_gone(host: Fake) -> None:
    text = (
        "1 weights\npool=sda group=cgroup:/gone weight=5\npool=nope group=root weight=5\n"
        "pool=sda group=cgroup:/a weight=7\npool=sdb device=own group=device weight=5\n"
    )
    said = host.run("set-weight", "--from", "-", rc=3, stdin=text)
    assert "3 of 4 lines were not restored" in said
    assert "line 2 of -" in said
    assert "line 3 of -" in said
    assert "line 5 of -" in said
    assert host.sent == [f"one: weight cgroup#{host.cgroup('/a')} 7"]
    assert host.run("set-weight", "--from", "-", "--json", rc=3, stdin=text) == said
    (row,) = json.loads(host.printed)["weights"]
    assert row == {"pool": "sda", "device": None, "group": "/a", "weight": 7, **NO_BOUNDS,
                   "id": f"cgroup#{host.cgroup('/a')}"}  # fmt: skip
    text = "1 weights\npool=nope group=root weight=5\n"
    host.run("set-weight", "--from", "-", "--json", rc=3, stdin=text)
    assert host.printed == ""


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is empty"),
        ("2 weights\n", "line 1: its format is '2'"),
        ("1 groups\n", "line 1: the first line is not '1 weights'"),
        ("1 weights\npool=sda group=root weight=70\npool=sda weight=3\n", "line 3: 'group='"),
        ("1 weights\npool=sda group=root weight=70000\n", "line 2: a weight is malformed"),
        ("1 weights\npool=sda group=\\1 weight=7\n", "line 2: an escape is malformed"),
        ("1 weights\npool=sda group=root\n", "line 2: there is neither a weight"),
        ("1 weights\npool=sda group=root max=1\n", "line 2: a maximum is malformed: 'max=1'"),
        ("1 weights\npool=sda group=root min=max,1,1,1\n", "line 2: a minimum is malformed"),
        ("1 weights\n\0", "NUL"),
    ],
)
def test_restore_refuses_what_is_malformed(host: Fake, text: str, says: str) -> None:
    saved = host.root / "saved"
    saved.write_text(text)
    assert says in host.run("set-weight", "--from", str(saved), rc=2)
    assert host.sent == []
    assert "cannot read" in host.run("set-weight", "--from", "/nonexistent/file", rc=3)


def test_stat(host: Fake) -> None:
    rows = {row["op"]: row for row in host.json("stat", "a")}
    assert list(rows) == ["read", "write", "discard", "total"]
    read, total = rows["read"], rows["total"]
    assert (read["ios"], read["bytes"], read["held_ios"]) == (10, 40960, 4)
    assert (read["wait_avg_ns"], read["wait_p50_ns"]) == (2000, 3072)
    assert (read["service_avg_ns"], read["service_max_ns"]) == (3000, 4096)
    assert (read["inflight_now"], read["held_now"], read["held_now_bytes"]) == (1, 2, 8192)
    assert (rows["write"]["inflight_now"], rows["write"]["held_now"]) == (4, 0)
    assert (rows["discard"]["inflight_now"], rows["discard"]["held_now"]) == (0, 0)
    assert (total["ios"], total["bytes"], total["service_avg_ns"]) == (15, 61440, 2333)
    assert (total["inflight_now"], total["held_now"], total["held_now_bytes"]) == (5, 2, 8192)
    assert total["share_pct"] is None
    assert rows["discard"]["service_p99_ns"] is None
    lines = host.run("stat", "a").splitlines()
    assert [line.split()[2] for line in lines] == ["OP", "read", "write", "total"]


def test_stat_of_what_has_only_begun(host: Fake) -> None:
    """A direction with only queued I/O has a line; older modules give no details."""
    line = f"3 cgroup#{host.cgroup('/a')} held=1,8192 inflight=1"
    line += " read={0} write={0} discard={0}".format("0,0,0,0,0")
    now = "read.held=0,0 read.inflight=0 write.held=0,0 write.inflight=1 discard.held=1,8192"
    host.answer("one", "stats", f"1 stats\n{line} {now} discard.inflight=0\nend\n")
    ops = [text.split()[2] for text in host.run("stat", "a").splitlines()]
    assert ops == ["OP", "write", "discard", "total"]
    host.answer("one", "stats", f"1 stats\n{line}\nend\n")
    rows = {row["op"]: row for row in host.json("stat", "a")}
    assert [rows[op]["inflight_now"] for op in rows] == [None, None, None, 1]
    assert [rows[op]["held_now_bytes"] for op in rows] == [None, None, None, 8192]
    assert len(host.run("stat", "a").splitlines()) == 2


def test_stat_interval(host: Fake) -> None:
    text = host.run("stat", "--interval", "0.1", "--count", "2", "--json", "a")
    second = json.loads(text[text.index("\n{") :])["stat"]
    assert len(second) == 4
    assert (second[0]["ios"], second[0]["ios_per_s"]) == (0, 0)
    assert 0 < second[3]["seconds"] < 30
    assert second[3]["held_now"] == 2
    assert [m for m in host.sent if m == "one: stats"] == ["one: stats"] * 3


@pytest.mark.parametrize("interval", ["0", "0.05", "x", "nan", "1s", "-1", "1e9", ""])
def test_stat_interval_refused(host: Fake, interval: str) -> None:
    assert "0.1 to 86400" in host.run("stat", "--interval", interval, rc=2)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("2 groups\nend\n", "its format is '2' and this iobandctl knows 1"),
        ("", "the text is empty"),
        ("1 groups\n1 0 root\nend\n", "'weight=' is missing"),
        ("1 groups\n1 0 root weight=1 set=0\n", "breaks off"),
    ],
)
def test_kernel_text_not_understood(host: Fake, text: str, says: str) -> None:
    host.answer("byuid", "groups", text)
    assert says in host.run("groups", rc=7)
    assert says in host.run("groups", "--weights", rc=7)


def test_kernel_repeats_itself(host: Fake) -> None:
    for message in ("groups", "groups 1"):
        host.answer("byuid", message, "1 groups\n1 0 root weight=1 set=0\nnext 1\n")
    assert "over and over" in host.run("groups", rc=7)


def test_status_not_understood(fake: Fake) -> None:
    fake.device("one", "253:1", "sda", status="2 pool=sda")
    assert "device one: its format is '2'" in fake.run("list", rc=7)


def test_no_devices(fake: Fake) -> None:
    (fake.root / "devices").write_text("")
    for args in (["groups"], ["stat"], ["set-weight", "a", "5"], ["get-weight", "a"]):
        assert "'iobandctl create' makes one" in fake.run(*args, rc=3)


def test_remove_only_ioband(host: Fake) -> None:
    assert "there is no device 'nope'" in host.run("remove", "nope", rc=3)
    host.run("remove", "one", "/dev/mapper/two", "--deferred")
    assert host.sent == ["one: remove deferred", "two: remove deferred"]
    assert host.printed == ""


@pytest.mark.parametrize("verb", ["remove", "unwrap"])
def test_remove_json(host: Fake, verb: str) -> None:
    """The removed devices, as they were listed; nothing if none was removed."""
    byuid, one, *_, two = host.json("list")
    assert host.json(verb, "two", "/dev/mapper/one") == [two, one]
    assert host.json(verb, "byuid", "--deferred") == [byuid]
    assert "nope" in host.run(verb, "--json", "nope", "one", rc=3)
    assert json.loads(host.printed) == {"devices": [one]}
    (host.root / "refuse").write_text("one: no reason\n")
    assert "cannot remove one: no reason" in host.run(verb, "--json", "one", "two", rc=1)
    assert json.loads(host.printed) == {"devices": [two]}
    host.run(verb, "--json", "one", rc=1)
    assert host.printed == ""


def test_resize(fake: Fake) -> None:
    """To the size of the device below, or to its rest after an offset, with the same settings."""
    disks = {path.name: int((path / "size").read_text()) for path in DISKS.iterdir()}
    below, sectors = max(disks.items(), key=lambda disk: disk[1])
    if sectors <= 2056:
        pytest.skip("this machine has no block device of that size")
    fake.device("one", "253:1", "sda", "device", weight="300", below=below)
    fake.device("two", "253:2", "sda", below=below, offset="8")
    fake.device("same", "253:3", "sda", below=below, offset=str(sectors - 2048))
    fake.device("less", "253:4", "sda", below=below, offset=str(sectors - 8))
    fake.device("none", "253:5", "sda", below=below, offset=str(sectors))
    fake.device("gone", "253:6", "sda")
    names = ["none", "one", "/dev/mapper/two", "same", "less", "gone"]
    said = fake.run("resize", *names, rc=3)
    for name in ("none", "gone"):
        assert f"what was below {name} is gone, or has no size" in said
    assert "less" not in said
    assert fake.sent == [
        f"one: reload {sectors} {below} 0 sda 2 mode=device weight=300",
        f"two: reload {sectors - 8} {below} 8 sda 1 mode=cgroup",
        f"less: reload 8 {below} {sectors - 8} sda 1 mode=cgroup",
    ]
    assert "/dev/mapper/same: 1.00M, as before\n/dev/mapper/less: 4.00K, was 1.00M" in fake.printed
    assert "there is no device 'nope'" in fake.run("resize", "nope", rc=3)


def test_apply_weights(host: Fake) -> None:
    """One message for each tree with another weight; a dry run sends none."""
    a, b = host.cgroup("/a"), host.cgroup("/a/b")
    conf = "[group /a]\nweight = 300\n[group /a/*]\nweight = 40\n[group x]\ngroup = uid:5\n"
    conf += "weight = 3\n[group root]\npool = sda\nweight = 70\n"
    (host.root / "conf").write_text(conf)
    args = ["apply", "--config", str(host.root / "conf")]
    rows = host.json(*args, "--dry-run")
    assert [row["because"].rsplit(":", 1)[1] for row in rows] == ["7", "2", "4", "4"]
    weights = [message for message in host.sent if " weight " in message]
    assert weights == []
    host.run(*args)
    weights = [message for message in host.sent if " weight " in message]
    assert weights == [
        "byuid: weight uid:5 3",
        f"own: weight cgroup#{a} 300",
        f"one: weight cgroup#{b} 40",
        f"own: weight cgroup#{b} 40",
    ]


def test_who_speaks_for_the_tree_of_a_pool(fake: Fake) -> None:
    """Do not use a device with a tree of its own: the message would apply to that tree."""
    fake.device("a", "253:1", "sda", "device+cgroup")
    fake.device("b", "253:2", "sda")
    for device in ("a", "b"):
        listed = "1 groups\n1 0 root weight=100 set=0\n2 1 device:253:1 weight=100 set=0\nend\n"
        fake.answer(device, "groups", listed)
    number = fake.cgroup("/x")
    fake.run(*configure(fake, "[group /x]\nweight = 300\ndevice = -\n"))
    assert fake.told("weight") == [f"b: weight cgroup#{number} 300"]


def test_check_of_a_device_whose_disk_is_gone(fake: Fake) -> None:
    fake.device("gone", "253:6", "sda")
    fake.run("check", "--json", rc=1)
    (rows,) = json.loads(fake.printed).values()
    (row,) = (row for row in rows if row["subject"] == "gone")
    assert row["verdict"] == "wrong"
    assert row["finding"].startswith("what was below, 4000:6, is gone")
    assert "'iobandctl unwrap gone'" in row["remedy"]


def test_check_of_cgroups_without_io(fake: Fake) -> None:
    """At any depth: populated children of cgroups that could enable the controller."""

    def make(path: str, controllers: str, populated: int) -> None:
        fake.cgroup(path, controllers)
        events = fake.root / f"cgroup{path}/cgroup.events"
        events.write_text(f"populated {populated}\nfrozen 0\n")

    (fake.root / "devices").write_text("")
    for path in ("/a", "/a/b", "/a/b/c", "/fine", "/fine/too"):
        make(path, "cpu io", 1)
    for path in ("/top", "/a/b/c/1", "/a/b/c/2", "/a/b/c/2/below", "/a/b/d", "/a/b/d/below"):
        make(path, "cpu", 1)
    make("/a/b/c/3", "cpu", 0)
    hints = {row["subject"]: row for row in fake.json("check") if "processes" in row["finding"]}
    assert {path: int(row["finding"].split()[0]) for path, row in hints.items()} == {
        "/": 1,
        "/a/b": 1,
        "/a/b/c": 2,
    }
    for path, root in (("/", ""), ("/a/b/c", "/a/b/c")):
        assert hints[path]["finding"].endswith(f"; their I/O is that of {path}")
        control = f"{fake.root}/cgroup{root}/cgroup.subtree_control"
        assert hints[path]["remedy"].startswith(f"'echo +io > {control}', or")


def test_check_names_an_io_max_below(host: Fake) -> None:
    """A maximum on the ioband device or on an unrelated device is not reported."""
    for path, text in (
        ("a", "9:9 rbps=7\n4000:2 rbps=5 wbps=max riops=max wiops=max\n"),
        ("a/b", "4000:1 rbps=max wbps=max riops=3 wiops=max\n"),
        ("o dd", "253:1 rbps=5 wbps=max riops=max wiops=max\n9:9 rbps=7\n"),
    ):
        (host.root / f"cgroup/{path}/io.max").write_text(text)
    host.run("check", "--json", rc=1)
    found = [row for row in json.loads(host.printed)["findings"] if "io.max" in row["finding"]]
    assert [(row["verdict"], row["subject"]) for row in found] == [("hint", "/a")]
    assert "its io.max on 4000:2 (of 2 such cgroups) throttles below" in found[0]["finding"]


def test_check_names_a_group_that_a_policy_below_delays(host: Fake) -> None:
    line = "held=3,9 inflight=1 read=1,1,0,0,0 write=0,0,0,0,0 discard=0,0,0,0,0"
    host.answer(
        "byuid",
        "groups",
        "1 groups\n1 0 root weight=100 set=0\n5 1 uid:5 weight=1 set=0\n"
        "6 1 uid:6 weight=1 set=0\nend\n",
    )
    host.answer("byuid", "stats", f"1 stats\n5 uid:5 {line} below=1\n6 uid:6 {line}\nend\n")
    host.run("check", "--json", rc=1)
    found = [row for row in json.loads(host.printed)["findings"] if "policy" in row["finding"]]
    assert [(row["verdict"], row["subject"]) for row in found] == [("hint", "uid:5")]
    assert "a policy below ioband delays its I/O in pool sdb" in found[0]["finding"]


def test_apply_settings(host: Fake) -> None:
    (host.root / "conf").write_text("[pool sd*]\nslice = 80\nmeasure = time\n")
    host.run("apply", "--config", str(host.root / "conf"))
    assert [message for message in host.sent if " set " in message] == [
        "byuid: set measure=time",
        "one: set slice=80",
        "one: set measure=time",
    ]
    (host.root / "conf").write_text("[pool sda]\n\nmeasure = time\n")
    said = host.run("apply", "--config", str(host.root / "conf"), rc=2)
    assert "set 'slice' in its section" in said
    assert f"{host.root}/conf:3; nothing was changed" in said


def test_apply_writes_starved(host: Fake) -> None:
    """The setting is sent to each pool with another value."""
    rows = host.json(*configure(host, "[pool sd*]\nwrites_starved = 4\n"), "--dry-run")
    assert [(row["pool"], row["setting"], row["from"], row["to"]) for row in rows] == [
        ("sdb", "writes_starved", "5", "4"),
        ("sda", "writes_starved", "2", "4"),
    ]
    assert host.told("set") == []
    host.run(*configure(host, "[pool sd*]\nwrites_starved = 5\n"))
    assert host.told("set") == ["one: set writes_starved=5"]


def test_apply_interrupted(host: Fake) -> None:
    """All changes are undone, and then the signal takes effect."""
    (host.root / "conf").write_text("[pool sd*]\nslice = 80\nmeasure = time\n")
    (host.root / "interrupt").touch()
    said = host.run("apply", "--config", str(host.root / "conf"), rc=-signal.SIGTERM)
    assert "interrupted: Terminated" in said
    assert "1 change was undone: all is as it was before" in said
    assert [message for message in host.sent if " set " in message] == [
        "byuid: set measure=time",
        "byuid: set measure=bytes",
    ]


@contextmanager
def another_apply(host: Fake) -> Iterator[None]:
    """Hold the lock, as a running apply does."""
    (host.root / "run").mkdir(mode=0o755, exist_ok=True)
    with (host.root / "run/.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def test_apply_waits_for_another(host: Fake) -> None:
    """apply waits without changes, then applies the configuration of that time."""
    command = configure(host, "[pool sda*]\nslice = 70\n")
    with another_apply(host):
        assert host.run(*command, "--dry-run")
        waiting = subprocess.Popen(
            [host.program, *command], env=host.environment, stderr=subprocess.PIPE, text=True
        )
        said = waiting.stderr.readline()
        assert said == "iobandctl: note: waiting until another iobandctl is done\n"
        configure(host, "[pool sda*]\nslice = 80\n")
        assert host.told("set") == []
    assert waiting.communicate()[1] == ""
    assert (waiting.returncode, host.told("set")) == (0, ["one: set slice=80"])
    assert not (host.root / "run/.lock").exists()


@pytest.mark.parametrize(
    "words",
    ["set a weight=5", "set --pool sda depth=5", "set-weight --from saved", "resize one"],
)
def test_others_wait_for_an_apply(host: Fake, words: str) -> None:
    """Otherwise a failed apply could restore old settings, or a resize could use an old size."""
    verb = words.split()[0]
    (host.root / "log").write_text("")
    (host.root / "saved").write_text("1 weights\npool=sda group=root weight=5\n")
    with another_apply(host):
        command = [host.program, *words.split()]
        waiting = subprocess.Popen(
            command, env=host.environment, stderr=subprocess.PIPE, text=True, cwd=host.root
        )
        said = waiting.stderr.readline()
        assert said == "iobandctl: note: waiting until another iobandctl is done\n"
        assert host.sent == []
    said = waiting.communicate()[1]
    if verb == "resize":
        assert "what was below one is gone" in said
    else:
        assert (said, waiting.returncode) == ("", 0)
        assert host.told("weight", "set") != []


@pytest.mark.idles
def test_apply_does_not_wait_for_ever(host: Fake) -> None:
    command = configure(host, "[pool sda]\nslice = 70\n")
    with another_apply(host):
        said = host.run(*command, rc=4)
    assert "another iobandctl has locked" in said
    assert "try again when it is done" in said
    assert host.told("set") == []


@pytest.mark.idles
def test_apply_waits_while_others_get_done(host: Fake) -> None:
    """In total longer than the timeout for a single holder of the lock."""
    command = configure(host, "[pool sda*]\nslice = 70\n")
    lock, turns = host.root / "run/.lock", 4
    with another_apply(host), ExitStack() as others:
        waiting = subprocess.Popen(
            [host.program, *command], env=host.environment, stderr=subprocess.PIPE, text=True
        )
        for turn in range(turns):
            time.sleep(24 / turns)
            next_one = host.root / f"run/turn{turn}"
            fcntl.flock(others.enter_context(next_one.open("w")), fcntl.LOCK_EX)
            next_one.rename(lock)
    assert waiting.wait(timeout=60) == 0, waiting.stderr.read()
    assert host.told("set") == ["one: set slice=70"]


def test_apply_of_nothing(host: Fake) -> None:
    (host.root / "conf").write_text("")
    assert host.json("apply", "--config", str(host.root / "conf")) == []


PRESETS = """1 presets
1 root weight=300 path=/a/b
2 root weight=5 path=/gone max=max,7,max,max latency=2000
3 device:253:3 weight=300 path=/a/b
4 device:253:3 weight=6 path=/two\\040words min=0,0,9,0
end
"""


def test_presets_are_what_the_configuration_has_by_path(host: Fake) -> None:
    """One message for each differing setting in each tree; other presets are removed."""
    host.minor = 1
    for device in ("one", "own"):
        host.answer(device, "presets", PRESETS)
    host.answer("byuid", "presets", "1 presets\nend\n")
    conf = "[group /a/*]\nmaximum = rbps=1KiB\n[group /a/b]\nweight = 300\n[group two]\n"
    conf += "group = /two\\040words\ndevice = own\nweight = 100\nlatency = 5ms\n"
    conf += "[group /]\nweight = 3\n[group root]\npool = sda\n"
    conf += "latency = 9ms\n[group strange]\ngroup = /dà:y-1_b.c\npool = sda\nweight = 8\n"
    args = configure(host, conf)
    rows = [row for row in host.json(*args, "--dry-run") if row["action"] == "preset"]
    assert host.told("preset") == []
    sda = [
        "one: preset max cgroup:/a/b rbps=1024 wbps=max riops=max wiops=max",
        "one: preset weight cgroup:/d\\\udcc3\\\udca0\\:y-1_b.c 8",
        "own: preset max cgroup:/a/b rbps=1024 wbps=max riops=max wiops=max",
        "own: preset weight cgroup:/d\\\udcc3\\\udca0\\:y-1_b.c 8",
        "own: preset min cgroup:/two\\ words default",
        "own: preset weight cgroup:/two\\ words 100",
        "own: preset latency-target cgroup:/two\\ words 5000",
        "one: preset latency-target cgroup:/gone default",
        "one: preset weight cgroup:/gone default",
        "one: preset max cgroup:/gone default",
    ]
    host.run(*args)
    told = host.told("preset")
    assert told == sda
    assert len(rows) == len(told)
    keys = ("device", "group", "setting", "from", "to")
    found = [tuple(row[key] for key in keys) for row in rows]
    assert (None, "/gone", "maximum", "wbps=7", "default") in found
    assert ("own", "/two words", "weight", "6", "100") in found
    assert ("own", "/two words", "latency", "none", "5ms") in found


def test_one_path_in_several_sections(fake: Fake) -> None:
    """The last section for a path wins, and a path wins over a pattern; one message each."""
    fake.minor = 1
    fake.device("one", "253:1", "sda")
    fake.answer("one", "groups", "1 groups\n1 0 root weight=100 set=0\nend\n")
    fake.answer("one", "presets", "1 presets\nend\n")
    spelled = ["/x/y", "x/y/", "cgroup:/x/y", "/x\\057y", "/\\170/y"]
    sections = [
        f"[group {number}]\ngroup = {path}\nweight = {number}\nmaximum = rbps={number}\n"
        for number, path in enumerate(spelled, 1)
    ]
    conf = "".join(sections) + "[group /x/*]\nweight = 77\nlatency = 1ms\n"
    conf += "[group /x/y]\npool = sda\nweight = 70\n[group near]\ngroup = /x/y\nweight = 71\n"
    fake.run(*configure(fake, conf))
    assert fake.told("preset") == [
        "one: preset max cgroup:/x/y rbps=5 wbps=max riops=max wiops=max",
        "one: preset weight cgroup:/x/y 70",
        "one: preset latency-target cgroup:/x/y 1000",
    ]


@pytest.mark.parametrize(
    ("first", "second", "line"),
    [
        ("maximum = rbps=1MiB", "[group 2]\ngroup = /x\nminimum = rbps=2MiB", 5),
        ("minimum = rbps=2MiB", "[group /*]\nmaximum = rbps=1MiB", 2),
        ("minimum = rbps=2MiB", "[group 2]\ngroup = x\npool = sda\nmaximum = rbps=1MiB", 2),
        ("maximum = rbps=1MiB", "[group 2]\ngroup = /x\ndevice = own\nminimum = rbps=2MiB", 6),
    ],
)
def test_presets_of_a_promise_that_cannot_be_kept(
    host: Fake, first: str, second: str, line: int
) -> None:
    """The error is found also without a cgroup; nothing is changed."""
    conf = f"[group /x]\n{first}\n{second}\n"
    presets(host)
    said = host.run(*configure(host, conf), rc=2)
    assert "/x: a minimum of rbps=2MiB is more than the maximum of rbps=1MiB (" in said
    assert f"which is asked for at {host.root}/conf:{line}; nothing was changed" in said
    assert host.told("preset", "max", "min") == []
    host.run(
        *configure(
            host,
            f"{conf}[group last]\ngroup = /x\npool = sda\nminimum = default\n"
            "[group own]\ngroup = /x\ndevice = own\nminimum = default\n",
        )
    )


def test_more_presets_than_there_can_be(host: Fake) -> None:
    """Too many are refused before any change; old presets are removed before new ones are set."""
    most = 4096
    lost = [f"device:9:9 weight=7 path=/lost{n}" for n in range(most - 6)]
    old = [f"device:253:3 weight=7 path=/old{n}" for n in range(4)]
    presets(host, *lost, *old, "root weight=7 path=/x")

    def told(*names: str, rc: int = 0) -> list[str]:
        conf = "".join(f"[group /{name}]\nweight = 8\ndevice = -\n" for name in names)
        said = host.run(*configure(host, conf), rc=rc)
        return [said] if rc else host.told("preset")

    weights = [f"one: preset weight cgroup:/{name} 8" for name in "xabcdef"]
    dropped = [f"own: preset weight cgroup:/old{n} default" for n in range(4)]
    dropped_x = ["one: preset weight cgroup:/x default"]
    assert told("x", "a") == sorted(weights[:2]) + dropped
    assert told(*"abcdef") == dropped_x + dropped + weights[1:]
    (said,) = told(*"abcdefg", rc=2)
    assert f"pool sda: what cgroups begin with would be kept for {most + 1} paths, and" in said
    assert f"{most} are the most" in said
    assert host.told("preset", "weight") == []


UNTOLD = "what the configuration says of a path is not there with a cgroup's first I/O"


def test_presets_and_a_module_that_is_older(host: Fake) -> None:
    """The rest is applied; missing presets are reported if any was wanted."""
    args = configure(host, "[group /a]\nweight = 301\n")
    host.run(*args)
    assert f"{UNTOLD}, but is set when the cgroup is seen: the module that" in host.complaints
    assert host.complaints.count(UNTOLD) == 1
    assert len(host.told("weight")) == 2
    assert [message for message in host.sent if "preset" in message] == []
    host.run(*configure(host, "[group /*]\nweight = 301\n"))
    assert UNTOLD not in host.complaints


@pytest.mark.parametrize("version", [1, 2])
def test_presets_in_a_cgroup_namespace(host: Fake, version: int) -> None:
    """In a container, paths differ from the module's: apply sets and removes no presets."""
    presets(host, "root weight=7 path=/outside/a")
    host.version = version
    args = configure(host, "[group /a]\nweight = 301\n")
    (host.root / "cgroup/release_agent").touch()
    host.run(*args)
    assert UNTOLD not in host.complaints
    assert len(host.told("preset")) == 3
    assert "# Paths are from the root of all" not in host.run("dump")
    (host.root / "cgroup/cgroup.events").write_text("populated 1\n")
    (host.root / "cgroup/release_agent").unlink()
    host.run(*args)
    assert "as in a cgroup namespace" in host.complaints
    assert host.complaints.count(UNTOLD) == 1
    assert host.told("preset") == []
    assert len(host.told("weight")) == 2
    assert "# Paths are from the root of all" in host.run("dump")


def test_presets_are_dumped(host: Fake) -> None:
    """For paths without a cgroup that has settings; not with an older module."""
    before = host.run("dump")
    assert "/gone" not in before
    host.minor = 1
    host.answer("byuid", "presets", "1 presets\nend\n")
    for device in ("one", "own"):
        host.answer(device, "presets", PRESETS.replace("/a/b", "/a"))
    text = host.run("dump")
    gone = "group = /gone\npool = sda\ndevice = -\nweight = 5\nmaximum = wbps=7\nlatency = 2ms\n"
    words = "group = /two\\040words\npool = sda\ndevice = own\nweight = 6\nminimum = riops=9\n"
    assert gone in text
    assert words in text
    assert text.count("group = /a\npool = sda\ndevice = -\n") == 1
    assert text.count("group = /a\npool = sda\ndevice = own\n") == 1
    sections = re.findall(r"\[group (\d+)\]", text)
    assert sections == [str(1 + number) for number in range(len(sections))]


def presets(host: Fake, *lines: str) -> None:
    """Set the presets that all devices report."""
    host.minor = 1
    text = "".join(f"{number} {line}\n" for number, line in enumerate(lines, 1))
    for device in ("one", "own"):
        host.answer(device, "presets", f"1 presets\n{text}end\n")
    host.answer("byuid", "presets", "1 presets\nend\n")


def told_of_presets(host: Fake, dump: str) -> list[str]:
    """The messages on presets when a dump is applied without its devices, which do not exist."""
    host.run(*configure(host, re.sub(r"\[device.*?\n\n", "", dump, flags=re.DOTALL)))
    return host.told("preset")


def test_who_comes_meanwhile_has_no_more_than_before_and_after(fake: Fake) -> None:
    """Reductions precede increases, with maxima around them, and removed paths are last."""
    fake.minor = 1
    fake.device("one", "253:1", "sda")
    number = fake.cgroup("/there")
    fake.answer("one", "groups", "1 groups\n1 0 root weight=100 set=0\nend\n")
    listed = [
        "/gone weight=5 max=7,max,max,max",
        "/less weight=500 max=9,max,max,max min=9,0,0,0",
        "/more weight=5 max=9,max,max,max min=3,0,0,0 latency=7",
        "/mixed max=5,9,max,max",
    ]
    lines = "".join(f"{n} root path={line}\n" for n, line in enumerate(listed, 1))
    fake.answer("one", "presets", f"1 presets\n{lines}end\n")
    conf = (
        "[group /there]\nweight = 700\nmaximum = riops=5\n"
        "[group /less]\nlatency = 1ms\nmaximum = rbps=4 wiops=1\n"
        "minimum = rbps=3\nweight = 50\n[group /more]\nmaximum = rbps=10\nminimum = rbps=4\n"
        "weight = 50\n[group /mixed]\nmaximum = rbps=6 wbps=8\nweight = 700\n"
    )
    fake.run(*configure(fake, conf))
    assert fake.told("preset", "weight", "max") == [
        "one: preset max cgroup:/less rbps=4 wbps=max riops=max wiops=1",
        "one: preset weight cgroup:/less 50",
        "one: preset min cgroup:/less rbps=3 wbps=0 riops=0 wiops=0",
        "one: preset latency-target cgroup:/less 1000",
        "one: preset max cgroup:/mixed rbps=6 wbps=8 riops=max wiops=max",
        "one: preset weight cgroup:/mixed 700",
        "one: preset latency-target cgroup:/more default",
        "one: preset weight cgroup:/more 50",
        "one: preset min cgroup:/more rbps=4 wbps=0 riops=0 wiops=0",
        "one: preset max cgroup:/there rbps=max wbps=max riops=5 wiops=max",
        "one: preset weight cgroup:/there 700",
        f"one: max cgroup#{number} rbps=max wbps=max riops=5 wiops=max",
        f"one: weight cgroup#{number} 700",
        "one: preset weight cgroup:/gone default",
        "one: preset max cgroup:/gone default",
        "one: preset max cgroup:/more rbps=10 wbps=max riops=max wiops=max",
    ]


def test_presets_are_put_back(host: Fake) -> None:
    """All kinds in both trees, after an error at a later preset or group."""
    presets(
        host,
        "root weight=9 path=/a max=max,7,max,max min=0,1,0,0 latency=2500",
        "root weight=100 path=/gone latency=8",
        "device:253:3 weight=9 path=/a",
    )
    conf = "[group /a]\nweight = 400\nmaximum = default\nminimum = rbps=3KiB\nlatency = none\n"
    args = configure(host, conf)
    host.run(*args)
    done = host.told("preset", "weight", "min", "max")
    before = {
        "one: preset weight cgroup:/a": "9",
        "one: preset max cgroup:/a": "rbps=max wbps=7 riops=max wiops=max",
        "one: preset min cgroup:/a": "rbps=0 wbps=1 riops=0 wiops=0",
        "one: preset latency-target cgroup:/a": "2500",
        "one: preset weight cgroup:/gone": "100",
        "one: preset latency-target cgroup:/gone": "8",
        "own: preset weight cgroup:/a": "9",
        "own: preset min cgroup:/a": "default",
    }
    for failing in ("max", f"cgroup#{host.cgroup('/a')}"):
        (host.root / "refuse").write_text(f"{failing} not now\n")
        said = host.run(*args, rc=1)
        assert "changes were undone: all is as it was before" in said
        told = host.told("preset", "weight", "min", "max")
        n = next(i for i, line in enumerate(told) if failing in line)
        assert told[: n + 1] == done[: n + 1]
        assert len(told) == 2 * n + 1
        for line, undone in zip(told[:n], reversed(told[n + 1 :]), strict=True):
            what = " ".join(line.split()[:4])
            if " preset " in line:
                assert undone == f"{what} {before[what]}"


def test_weights_that_are_the_default(host: Fake) -> None:
    """An explicit weight of 100 is kept: dump is the same after apply."""
    presets(host, "root weight=100 path=/x", "device:253:3 weight=100 path=/x")
    dump = host.run("dump")
    for device in ("-", "own"):
        assert f"group = /x\npool = sda\ndevice = {device}\nweight = 100\n" in dump
    assert [line for line in told_of_presets(host, dump) if "/x" in line] == []
    presets(host)
    assert [line for line in told_of_presets(host, dump) if "/x" in line] == [
        f"{device}: preset weight cgroup:/x 100" for device in ("one", "own")
    ]


def test_what_is_dumped_of_presets_is_applied(host: Fake) -> None:
    """All kinds of settings, in the pool's tree and in a device's: no change is left."""
    odd = "max=max,1048577,max,3 min=7,0,1000,0 latency=1234567"
    lines = [
        "root weight=7 path=/w",
        "root path=/most max=1,2,3,1099511627776",
        "root path=/least min=1024,0,0,1000000",
        "root path=/soon latency=1",
        f"root weight=10000 path=/all/x\\134y\\052 {odd}",
        f"device:253:3 weight=1 path=/all {odd}",
        "device:253:3 weight=50 path=/o\\040dd",
        "root weight=300 path=/a latency=5000",
    ]
    presets(host, *lines)
    dump = host.run("dump")
    # The dump has settings of only the group and settings of only its path.
    assert "group = /a\npool = sda\ndevice = -\nweight = 300\nlatency = 5ms\n" in dump
    presets(host, *lines)
    assert told_of_presets(host, dump) == []
    presets(host)
    assert told_of_presets(host, dump) == [
        "one: preset weight cgroup:/a 300",
        "one: preset latency-target cgroup:/a 5000",
        "one: preset max cgroup:/all/x\\\\y\\* rbps=max wbps=1048577 riops=max wiops=3",
        "one: preset weight cgroup:/all/x\\\\y\\* 10000",
        "one: preset min cgroup:/all/x\\\\y\\* rbps=7 wbps=0 riops=1000 wiops=0",
        "one: preset latency-target cgroup:/all/x\\\\y\\* 1234567",
        "one: preset min cgroup:/least rbps=1024 wbps=0 riops=0 wiops=1000000",
        "one: preset max cgroup:/most rbps=1 wbps=2 riops=3 wiops=1099511627776",
        "one: preset latency-target cgroup:/soon 1",
        "one: preset weight cgroup:/w 7",
        "own: preset max cgroup:/all rbps=max wbps=1048577 riops=max wiops=3",
        "own: preset weight cgroup:/all 1",
        "own: preset min cgroup:/all rbps=7 wbps=0 riops=1000 wiops=0",
        "own: preset latency-target cgroup:/all 1234567",
        "own: preset weight cgroup:/o\\ dd 50",
    ]


def test_names_that_are_not_utf8(host: Fake) -> None:
    """Their dump can be applied, and JSON stays valid UTF-8."""
    host.minor = 1
    host.answer("byuid", "presets", "1 presets\nend\n")
    odd, long = "/gr\udcfcn\udcff", "/\udcfc" * 100 + "/" + "\udcfc" * 250
    number = host.cgroup(odd)
    for device in ("one", "own"):
        listed = host.root / f"answers/{device}@groups"
        more = f"7 1 cgroup#{number} weight=7 set=1 path={odd}\n"
        text = listed.read_text().replace("next 4", f"{more}next 4")
        listed.write_text(text, errors="surrogateescape")
        text = f"1 presets\n1 root weight=7 path={odd}\n2 root weight=8 path={long}\nend\n"
        path = host.root / f"answers/{device}@presets"
        path.write_text(text, errors="surrogateescape")
    text = host.run("dump")
    assert "group = /gr\\374n\\377\n" in text
    assert "\\374" * 250 in text
    args = configure(host, re.sub(r"\[device.*?\n\n", "", text, flags=re.DOTALL))
    assert {row["group"] for row in host.json(*args, "--dry-run")} == {"/a", "/o dd"}
    assert "there is no cgroup /\\374/" in host.complaints
    conf = "[group 1]\ngroup = /gr\\374n\\377\npool = sda\ndevice = -\nweight = 9\n"
    rows = host.json(*configure(host, conf), "--dry-run")
    assert [row["group"] for row in rows if row["to"] == "9"] == ["/gr\\374n\\377"] * 2
    rows = host.json(*configure(host, "[group /g*?]\nweight = 11\n"), "--dry-run")
    assert {row["group"] for row in rows if row["to"] == "11"} == {"/gr\\374n\\377"}
    host.json("groups")
    assert r'"/gr\\374n\\377"' in host.printed


def test_dump(host: Fake) -> None:
    text = host.run("dump")
    assert "[device own]\ndevice = /dev/block/4000:3\npool = sda\nmode = device+cgroup\n" in text
    assert "[pool sdb]\nmeasure = bytes\ndepth = auto\nslice = 80\nwrites_starved = 5\n" in text
    assert "group = /o\\040dd\npool = sda\ndevice = own\nweight = 50\n" in text
    assert "group = /a\npool = sda\ndevice = -\nweight = 300\n" in text
    assert "999" not in text
    (host.root / "conf").write_text(re.sub(r"\[device.*?\n\n", "", text, flags=re.DOTALL))
    assert host.json("apply", "--config", str(host.root / "conf")) == []


# -- the real program ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ([], "Usage: iobandctl VERB"),
        (["nope"], "there is no verb 'nope'"),
        (["help", "nope"], "there is no verb 'nope'"),
        (["create", "x"], "too few arguments; it takes: NAME DEVICE"),
        (["list", "x"], "'x' is too much"),
        (["list", "--nope"], "there is no option '--nope'"),
        (["lsit"], "there is no verb 'lsit'; did you mean 'list'? 'iobandctl help' lists them"),
        (["set-wieght", "a", "5"], "did you mean 'set-weight'?"),
        (["help", "tsat"], "did you mean 'stat'?"),
        (["get_max", "a"], "did you mean 'get-max'?"),
        (["expalni"], "did you mean 'explain'?"),
        (["zz"], "there is no verb 'zz'; 'iobandctl help' lists them"),
        (["nothing"], "there is no verb 'nothing'; 'iobandctl help' lists them"),
        (["create", "a/b", "/dev/null"], "cannot be a device's name"),
        (["create", "control", "/dev/null"], "cannot be a device's name"),
        (["create", "UNDER-x", "/dev/null"], "'UNDER-x' cannot be a device's name: with UNDER-"),
        (["wrap", "--name", "UNDER-x", "/dev/null"], "with UNDER- begin the UUIDs"),
        (["create", "x" * 121, "/dev/null"], "cannot be a device's name"),
        (["create", "x", "/dev/null", "--pool", "a b"], "--pool 'a b'"),
        (["create", "x", "/dev/null", "--weight", "10001"], "--weight '10001'"),
        (["create", "x", "/dev/null", "--depth", "0"], "--depth '0'"),
        (["create", "x", "/dev/null", "--depth", "4/5"], "--depth '4/5': it is auto, or a number"),
        (["create", "x", "/dev/null", "--slice", "1001"], "from 0 to 1000, or auto"),
        (["create", "x", "/dev/null", "--slice", "80ms"], "--slice '80ms'"),
        (["wrap", "/dev/null", "--writes-starved", "0"], "it is a number from 1 to 100\n"),
        (["table", "/dev/null", "--writes-starved", "101"], "--writes-starved '101'"),
        (["create", "x", "/dev/null", "--mode", "a b"], "--mode 'a b'"),
        (["create", "x", "/dev/null", "--measure", ""], "--measure ''"),
        (["stat", "--count", "3"], "--count needs --interval"),
    ],
)
def test_usage_errors(built: Built, args: list[str], says: str) -> None:
    done = sh(built.iobandctl, *args)
    assert done.returncode == 2
    assert says in done.stderr
    assert done.stdout == ""


def test_no_device_mapper(built: Built) -> None:
    if "device-mapper" in Path("/proc/misc").read_text():
        pytest.skip("this machine has a device-mapper")
    done = sh(built.iobandctl, "list")
    assert done.returncode == 6
    assert "device-mapper does not answer" in done.stderr


def test_full_disk(built: Built) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run([built.iobandctl, "help"], stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 1
    assert b"cannot write the output" in done.stderr


def man_page() -> str:
    """The manual page, without its markup."""
    return (SOURCE / "iobandctl.8").read_text().replace("\\-", "-").replace("Fl -", "--")


@pytest.mark.parametrize("verb", VERBS)
def test_help_and_man_page_agree(built: Built, verb: str) -> None:
    text = sh(built.iobandctl, "help", verb, check=True).stdout
    assert text == sh(built.iobandctl, verb, "--help", check=True).stdout
    assert f"Cm {verb}" in man_page()
    options = re.findall(OPTION, text, re.MULTILINE)
    assert {"--help", "--version"} <= set(options)
    for option in options:
        assert option in man_page(), option
    assert verb in sh(built.iobandctl, "help", check=True).stdout


@pytest.mark.parametrize("verb", [*VERBS, "help"])
def test_help_and_version_after_a_verb(built: Built, verb: str) -> None:
    """Also on a command line that is otherwise incomplete."""
    usage = sh(built.iobandctl, "help", verb, check=True).stdout
    assert sh(built.iobandctl, verb, "-h", check=True).stdout == usage
    version = sh(built.iobandctl, "--version", check=True).stdout
    for words in (["-V"], [verb, "-V"], [verb, "--version"]):
        assert sh(built.iobandctl, *words, check=True).stdout == version


def test_help_has_sections(built: Built) -> None:
    """Each verb is in one section."""
    usage = sh(built.iobandctl, "help", check=True).stdout
    _, *sections = re.split(r"^(\w+):\n", usage, flags=re.MULTILINE)
    assert sections[::2] == ["Devices", "Groups", "Observe", "Configure", "Service"]
    verbs = {
        title: re.findall(r"^  ([\w-]+)", text, re.MULTILINE)
        for title, text in zip(sections[::2], sections[1::2], strict=True)
    }
    assert verbs["Devices"][0] == "wrap"
    assert verbs["Groups"][:2] == ["set", "get"]
    assert sorted(verb for some in verbs.values() for verb in some) == sorted([*VERBS, "help"])
    assert max(map(len, usage.splitlines())) <= 100


def documented(label: str) -> str:
    """The manual's text on the JSON of a verb, with an option if the label has one."""
    section = man_page().split(".Sh JSON OUTPUT")[1].split("\n.Sh ")[0]
    items = re.findall(r"^\.It Cm (.*)\n((?:(?!\.It ).*\n)*)", section, re.MULTILINE)
    verb, _, option = label.partition(" ")
    for head, text in items:
        if verb in head.split() and option in head:
            return text
    raise AssertionError(f"nothing is said of {label}")


def members(value: object) -> list[tuple[str, object]]:
    """All members of objects, with their values."""
    if isinstance(value, list):
        return [member for part in value for member in members(part)]
    if isinstance(value, dict):
        return [*value.items(), *(member for part in value.values() for member in members(part))]
    return []


SCHEMA = json.loads((HERE.parents[2] / "Documentation/iobandctl.schema.json").read_text())


def strict(schema: object) -> object:
    """The schema of this version, without additional members."""
    if isinstance(schema, list):
        return [strict(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    more = {"additionalProperties": False} if "required" in schema else {}
    return {key: strict(value) for key, value in schema.items()} | more


def assert_valid(printed: str) -> None:
    """Assert that the output matches the JSON Schema."""
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator(strict(SCHEMA)).validate(json.loads(printed))


def test_schema_is_one() -> None:
    """The schema is valid, and rejects wrong members and values."""
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    row = {"pool": "p", "device": None, "group": "/a", "id": "cgroup#5", "latency_us": 5}
    assert_valid(json.dumps({"latencies": [row]}))
    for wrong in (row | {"latency_us": "5ms"}, row | {"id": None}, row | {"more": 5}):
        with pytest.raises(jsonschema.ValidationError):
            assert_valid(json.dumps({"latencies": [wrong]}))
    with pytest.raises(jsonschema.ValidationError):
        assert_valid(json.dumps({"latency": [row]}))


# Members with a fixed set of words, and the arrays of these words in the sources.
ENUMERATED = {"verdict", "action", "type", "op", "state"}
WORDS = {"check": ("verbs/check", "verdicts"), "apply": ("config/plan-print", "actions")}
WORDS["explain"] = ("verbs/explain", "verdicts")
# Verbs that need a kernel; except for table, they print the same as list.
IN_GUESTS = {"wrap", "insert", "extract", "create", "resize", "table"}


def test_json_is_documented(built: Built, host: Fake) -> None:
    """The manual has each member and word of a verb's output in the section of the verb."""
    recording, conf = host.root / "recording", host.root / "conf"
    commands: dict[str, list[str]] = {
        "groups": [],
        "groups --weights": ["--weights"],
        "stat": ["--interval", "0.1", "--count", "1"],
        "top": ["--batch", "--interval", "0.1", "--count", "1"],
        "explain": ["a", "--interval", "0.1"],
        "apply": ["--dry-run", "--config", str(conf)],
        "plot": [str(recording)],
        "get": ["a"],
        "get --pool": ["--pool", "sda"],
        "set": ["a", "weight=7"],
        "set --pool": ["--pool", "sda", "depth=7"],
        "set-weight": ["a", "7"],
        "set --from": ["--from", str(host.root / "weights")],
        "set-weight --from": ["--from", str(host.root / "weights")],
        "set-latency": ["a", "7ms"],
        **{f"set-{what}": ["a", "rbps=7"] for what in ("max", "min")},
        **{f"get-{what}": ["a"] for what in ("weight", "max", "min", "latency")},
        **{verb: ["one"] for verb in ("remove", "unwrap")},
        **{verb: [] for verb in ("list", "status", "check")},
    }
    for answers in ("stats", "stats.then"):
        host.answer("one", answers, (host.root / "answers/own@stats").read_text())
    host.run("record", "--duration", "0.1", "--output", str(recording))
    conf.write_text("[group /a]\nweight = 7\n")
    (host.root / "weights").write_text(host.run("groups", "--weights"))
    names = set()
    for label, words in commands.items():
        text = documented(label)
        # check reports that the devices below these do not exist.
        host.run(label.split()[0], *words, "--json", rc=int(label == "check"))
        assert_valid(host.printed)
        (rows,) = json.loads(host.printed).items()
        assert f".Dq {rows[0]}" in text, label
        for key, value in members(rows[1]):
            assert re.search(rf"^\.Cm (?:.*[ ])?{key}(?: |$)", text, re.MULTILINE), (label, key)
            if key in ENUMERATED and value is not None:
                assert f".Dq {value}" in text, (label, key, value)
        names.add(rows[0])
    assert names | {"tables"} == set(SCHEMA["properties"])
    tried = {label.split()[0] for label in commands} | IN_GUESTS
    assert tried == {verb for verb in VERBS if "--json" in sh(built.iobandctl, "help", verb).stdout}
    for verb in IN_GUESTS:
        assert documented(verb)


@pytest.mark.parametrize("verb", WORDS)
def test_words_in_json_are_documented(verb: str) -> None:
    """Including words that no test produces."""
    file, array = WORDS[verb]
    source = (SOURCE / f"{file}.c").read_text()
    (listed,) = re.findall(rf"const {array}\[\] = \{{\n((?:\t.*\n)*)\}};", source)
    words = re.findall(r'= "(.*)",', listed)
    assert len(words) > 2
    for word in words:
        assert f".Dq {word}" in documented(verb), word


def assert_well_formed(page: Path) -> None:
    """Assert that the markup of a manual page is valid."""
    if not shutil.which("mandoc"):
        pytest.skip("mandoc is not installed")
    done = sh("mandoc", "-T", "lint", "-W", "style", page)
    complaints = [
        line
        for line in done.stdout.splitlines()
        if not re.search("mandoc.db|referenced manual not found", line)
    ]
    assert complaints == []


@pytest.mark.parametrize("page", ["iobandctl.8", "ioband.conf.5"])
def test_man_page_is_well_formed(page: str) -> None:
    assert_well_formed(SOURCE / page)


@pytest.mark.parametrize("verb", [*VERBS, "help"])
def test_each_verb_has_a_man_page(built: Built, verb: str) -> None:
    """With all its options, or a reference to them, and its output in JSON."""
    page = built.output / f"iobandctl-{verb}.8"
    assert_well_formed(page)
    text = page.read_text().replace("\\-", "-").replace("Fl -", "--")
    name, synopsis = re.search(r"\.Nd (.*)\n\.Sh SYNOPSIS\n((?:[^.]|\.(?!Sh))*)", text).groups()
    usage = sh(built.iobandctl, "help", verb).stdout
    assert name[1:] in usage
    options = set(re.findall(OPTION, usage, re.MULTILINE)) - {"--help", "--version"}
    assert options == set(re.findall(r"--[a-z][\w-]*", synopsis))
    assert (".Sh JSON OUTPUT" in text) == ("--json" in options)
    assert (".Ss Columns\n" in text) == ("--noheadings" in options)
    assert (".It Cm set --from Ar FILE" in text) == ("--from" in options)
    assert not re.search(r"^\.(?:Sx|Nm$)", text, re.MULTILINE)


def test_a_verb_without_a_man_page_is_found(built: Built) -> None:
    words = ["-v", "verb=fly", "-v", "verbs=fly", "-f", SOURCE / "man-verb.awk"]
    done = sh("awk", *words, SOURCE / "iobandctl.8")
    assert (done.returncode, done.stderr) == (1, "iobandctl.8 says nothing of fly\n")


def test_install(built: Built, tmp_path: Path) -> None:
    where = [f"O={built.output}", f"DESTDIR={tmp_path}/root", "PREFIX=/usr"]
    done = sh("make", "-C", SOURCE, *where, "SANITIZE=1", "install")
    assert not done.returncode, done.stderr
    version = sh(tmp_path / "root/usr/sbin/iobandctl", "--version")
    assert re.fullmatch(r"iobandctl \d+(\.\d+)+\n", version.stdout)
    pages = {f"man8/iobandctl{verb}.8" for verb in ["", "-help", *(f"-{verb}" for verb in VERBS)]}
    man = tmp_path / "root/usr/share/man"
    installed = {str(page.relative_to(man)) for page in man.rglob("*") if page.is_file()}
    assert installed == pages | {"man5/ioband.conf.5"}
    for file in (
        "bash-completion/completions/iobandctl",
        "zsh/site-functions/_iobandctl",
        "fish/vendor_completions.d/iobandctl.fish",
        "dm-ioband/iobandctl.schema.json",
    ):
        assert (tmp_path / "root/usr/share" / file).read_text()
    sh("make", "-C", SOURCE, *where, "uninstall", check=True)
    assert not [path for path in (tmp_path / "root").rglob("*") if path.is_file()]


def test_install_of_rules_and_units(tmp_path: Path) -> None:
    where = ["-C", SOURCE / "../../udev", f"DESTDIR={tmp_path}/root", "PREFIX=/usr"]
    sh("make", *where, "install", check=True)
    usr = tmp_path / "root/usr"
    lib, share = usr / "lib", usr / "share/dm-ioband"
    files = {str(f.relative_to(lib)): f.read_text() for f in lib.rglob("*") if f.is_file()}
    monitoring = SOURCE / "../../monitoring"
    assert {f.name: f.read_text() for f in share.iterdir()} == {
        f.name: f.read_text() for f in monitoring.iterdir()
    }
    assert not re.findall(r"@[A-Z]+@", "".join(files.values()))
    unit = files["systemd/system/iobandctl-watch.service"]
    assert "ExecStart=/usr/sbin/iobandctl watch\n" in unit
    rules = "".join(text for name, text in files.items() if name.endswith(".rules"))
    started = set(re.findall(r"start (\S+@)\S+\.service", rules))
    assert started == {f[15:-8] for f in files if f.endswith("@.service")}
    sh("make", *where, "uninstall", check=True)
    assert not [f for f in usr.rglob("*") if f.is_file()]


def test_rules_run_the_programs_of_the_distribution(tmp_path: Path) -> None:
    """The build sets each path; no Debian path remains."""
    programs = {"SYSTEMCTL": "/usr/bin/systemctl", "LOGGER": "/opt/logger"}
    programs |= {"KPARTX": "/opt/kpartx", "MDADM": "/opt/mdadm"}
    where = ["-C", SOURCE / "../../udev", f"DESTDIR={tmp_path}", "PREFIX=/usr"]
    where += [f"{name}={path}" for name, path in programs.items()]
    sh("make", *where, "install", check=True)
    rules = "".join(f.read_text() for f in tmp_path.rglob("*.rules"))
    run = re.findall(r'(?:RUN\+|TEST!?=)="(/\S*?)[ "]', rules)
    paths = {path for path in run if re.search("bin/|opt/", path)}
    assert paths == {*programs.values(), "/bin/rm"}


def test_a_build_for_users_is_hardened(tmp_path: Path) -> None:
    """The whole relocation table is read-only, and warnings are not errors."""
    done = sh("make", "-n", "-C", SOURCE, f"O={tmp_path}", check=True).stdout
    assert "-Werror" not in done
    link = next(line for line in done.splitlines() if f"-o {tmp_path}/iobandctl" in line)
    options = [word for word in link.split() if re.match("-pie|-fPIE|-Wl|-f(?!s)|-O", word)]
    source, program = tmp_path / "main.c", tmp_path / "program"
    source.write_text("int main(void) { return 0; }\n")
    sh("cc", *options, "-o", program, source, check=True)
    assert "GNU_RELRO" in sh("readelf", "-lW", program, check=True).stdout
    assert re.search("FLAGS.*BIND_NOW", sh("readelf", "-dW", program, check=True).stdout)
    assert re.search("Type: +DYN", sh("readelf", "-h", program, check=True).stdout)
