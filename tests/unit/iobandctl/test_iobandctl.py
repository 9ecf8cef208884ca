# SPDX-License-Identifier: GPL-2.0-only
"""The pure parts of iobandctl: unit tests, fuzzing, and mistakes that these find.

All is built with the address and undefined-behaviour sanitizers.
"""

import re
import subprocess
from pathlib import Path

import coverage_fuzz
import pytest
from coverage_fuzz import unpack_corpus
from toolbuild import HERE, SOURCE, Built, compile_c, link_fuzz, link_swap, link_unit, sh

FUZZ_SEEDS = range(4)
FUZZ_TEXTS = {"kernel": 40_000, "cgroup": 40_000, "conf": 10_000}
FUZZ_TEXTS |= {"recording": 5_000, "event": 5_000, "shown": 5_000}
UNIT_TESTS = re.findall(r"TEST\((\w+)\)", (HERE / "test-main.c").read_text())[1:]
SWAP_TESTS = re.findall(r"TEST\((\w+)\)", (HERE / "test-swap.c").read_text())[1:]


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


@pytest.mark.long("compiles all of iobandctl with clang")
def test_fuzz_by_coverage(tmp_path: Path) -> None:
    """The fuzzers of "make fuzz" are built, and mutate the texts of each corpus."""
    programs = dict.fromkeys(FUZZ_TEXTS, coverage_fuzz.build())
    programs[coverage_fuzz.MODULE_LINES] = coverage_fuzz.build_module()
    for subject, program in programs.items():
        files = unpack_corpus(subject, tmp_path / subject)
        log = coverage_fuzz.run(program, subject, f"-runs={2 * len(files)}", tmp_path / subject)
        assert re.search(r"DONE +cov: \d+", log), log


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
    ("conf-read.c", "check_own_group, check_bounds }", "check_own_group }", "unit"),
    ("parse.c", 'if (is_path && span_is(word, "A"))', "if (is_path)", "unit"),
    ("parse.c", "(colon || *word.start != ':')", "*word.start != ':'", "unit"),
    ("reach.c", "!child || is_runnable(child)", "!child", "unit"),
    ("reach.c", "#define PATIENCE_MS 900", "#define PATIENCE_MS 1900", "unit"),
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
        "section->pool ? strcmp(section->pool, pool) :",
        "section->pool ? false :",
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
    ("parse.c", "status){ .writes_starved", "status){ .slice_ms", "unit"),
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
    ("swap.c", "if (!has(swap->name, swap->own, mapper_table))", "if (0)", "swap"),
    ("swap.c", "if (!has(swap->name, swap->loaded, mapper_waiting))", "if (0)", "swap"),
    ("swap.c", "error = has(swap->name, swap->loaded, mapper_waiting) ?", "error = 1 ?", "swap"),
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
    ("print.c", "table_of(row)->json ? text_utf8(text) :", "", "shown"),
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
    ("explain-latency.c", " || explain_caps_reads(pool, top, seconds))", " || 0)", "unit"),
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
    ("top-view.c", "free(done);\n\tview->groups", "view->groups", "recording"),
    ("udev.c", "udev_device_unref(found);\n\treturn code;", "return code;", "event"),
    ("udev.c", 'print_line(WRAP "=%d", wrap);', 'puts("\\n");', "event"),
    ("top-screen.c", "*shown = show(text, stdout)", "*shown = xstrdup(text)", "shown"),
    ("top-view.c", "escaped = text_escape(name);", "escaped = xstrdup(name);", "shown"),
    ("print.c", 'print_line("%s%s", indent, line);', 'printf("%s%s\\n", indent, line);', "shown"),
    ("show.c", "bool is = !strcmp(shown, text);", "bool is = *text;", "shown"),
    ("use.c", "if (first)\n", "if (first || synthetic)\n", "unit"),
    ("use.c", "return synthetic && use_by_process(", "return use_by_process(", "unit"),
    ("use.c", "(!writes || ", "(1 || ", "unit"),
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
    if finder == "fuzz" or finder in FUZZ_TEXTS:
        link_fuzz(program, objects)
        subjects = {"conf.c": "conf", "recording-parse.c": "recording"}
        subject = finder if finder in FUZZ_TEXTS else subjects.get(file, "kernel")
        found = any(fuzz(program, subject, seed).returncode for seed in FUZZ_SEEDS)
    elif finder == "swap":
        link_swap(program, objects)
        found = any(sh(program, name).returncode for name in SWAP_TESTS)
    else:
        link_unit(program, objects)
        found = sh(program, *UNIT_TESTS).returncode
    assert found, f"nobody notices {new!r} instead of {old!r} in {file}"
