// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fuzzes all parsers of the kernel's texts, the file of weights, files of cgroups, the
 * configuration and recordings, events of udev, and the display of names.  Mutates the seeds
 * below by a fixed generator, so that a failure repeats.
 *
 *	fuzz kernel|cgroup|conf|recording|event|shown SEED COUNT
 *	fuzz kernel|cgroup|conf|recording|event|shown files FILE...
 *
 * With LIBFUZZER defined, libFuzzer makes the texts ("make fuzz"), and the environment
 * variable FUZZ_SUBJECT has the subject.
 */
#include <json-c/json.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>
#include <wctype.h>

#include "base/defs.h"
#include "base/show.h"
#include "config/conf.h"
#include "kernel/parse.h"
#include "observe/plot-series.h"
#include "observe/top.h"
#include "print/print.h"
#include "verbs/verbs.h"
#include "watch/weigh.h"

static void must(int condition, const char *what)
{
	if (condition)
		return;
	fprintf(stderr, "broken promise: %s\n", what);
	abort();
}

#define MUST(condition) must(!!(condition), #condition)

static void check_problem(int result, const struct problem *problem)
{
	MUST(result == 0 || result == -1);
	MUST(memchr(problem->text, 0, sizeof(problem->text)));
	MUST(!result || problem->text[0]);
}

static void check_end(int result, const struct page_end *end)
{
	MUST(memchr(end->cursor, 0, sizeof(end->cursor)));
	MUST(result || !end->more || end->cursor[0]);
}

static void fuzz_lists(const char *text)
{
	struct problem problem = { "" };
	struct latency latency = { .n = 0 };
	struct presets presets = { .n = 0 };
	struct groups groups = { .n = 0 };
	struct stats stats = { .n = 0 };
	struct page_end end;
	int result = parse_list("groups", text, &groups, &end, &problem);

	check_problem(result, &problem);
	check_end(result, &end);
	groups_free(&groups);
	result = parse_list("stats", text, &stats, &end, &problem);
	check_problem(result, &problem);
	check_end(result, &end);
	stats_free(&stats);
	result = parse_list("latency", text, &latency, &end, &problem);
	check_problem(result, &problem);
	check_end(result, &end);
	latency_free(&latency);
	result = parse_list("presets", text, &presets, &end, &problem);
	check_problem(result, &problem);
	check_end(result, &end);
	presets_free(&presets);
}

static void fuzz_lines(const char *text)
{
	struct problem problem = { "" };
	struct ioband_status status;
	struct ioband_table table;
	int result = parse_table(text, &table, &problem);

	check_problem(result, &problem);
	MUST(result || (table.pool[0] && table.mode[0] && table.depth[0]));
	result = parse_status(text, &status, &problem);
	check_problem(result, &problem);
	MUST(result || (status.pool[0] && status.state[0]));
	MUST(!parse_has_path(text) || strpbrk(text, "AF"));
}

static void fuzz_weights(const char *text)
{
	struct saved_weights weights = { .n = 0 };
	struct problem problem = { "" };
	int result = parse_saved_weights(text, &weights, &problem);

	check_problem(result, &problem);
	for (size_t i = 0; !result && i < weights.n; i++) {
		MUST(weights.v[i].weight <= 10000);
		MUST(weights.v[i].bounds.latency_us[0] <= LATENCY_MAX_US);
		MUST(weights.v[i].weight ||
		     bounds_are_set(&weights.v[i].bounds));
		MUST(weights.v[i].pool[0] && weights.v[i].group);
	}
	saved_weights_free(&weights);
}

/* The written text is read as the same rates. */
static void check_rates(struct rates rates, enum bound bound)
{
	char *text = rates_text(&rates), *list = rates_list(&rates, bound);
	struct problem problem;
	struct rates again;
	unsigned int given;

	for (int rate = 0; rate < RATES; rate++)
		MUST(rates.rate[rate] <= RATE_MAX);
	MUST(!rates_read(text, bound, &again, &given, &problem));
	MUST(rates_are(&rates, &again));
	if (rates_are_set(&rates))
		MUST(rates_read_list(span_of(list), bound, &again));
	MUST(rates_are(&rates, &again));
	free(list);
	free(text);
}

static void check_latency(const struct bounds *bounds)
{
	char *text = bound_text(bounds, LATENCY);
	struct bounds again = { .latency_us = { 1 } };
	struct problem problem;
	unsigned int given;

	MUST(bounds->latency_us[0] <= LATENCY_MAX_US);
	MUST(!bound_read(text, LATENCY, &again, &given, &problem));
	MUST(bound_is(bounds, &again, LATENCY));
	free(text);
}

/* A section without errors sets something, and has no minimum above its maximum. */
static void check_section(const struct conf_section *section)
{
	struct bounds bounds = conf_bounds(section);
	struct problem problem;

	MUST(section->label && section->kind < CONF_KINDS);
	if (section->kind == CONF_GROUP)
		MUST(*conf_group(section) && conf_group_value(section));
	for (int bound = 0; bound < RATE_BOUNDS; bound++)
		check_rates(bounds.of[bound], bound);
	check_latency(&bounds);
	MUST(!bounds_check(&bounds, &problem));
}

static void fuzz_conf(const char *text)
{
	struct problem problem = { "" };
	struct conf conf = { .n = 0 };
	struct conf_place place;
	int result = conf_add(&conf, "f", text, &problem);

	check_problem(result, &problem);
	if (!result)
		result = conf_check(&conf, &problem);
	check_problem(result, &problem);
	for (size_t i = 0; !result && i < conf.n; i++)
		check_section(&conf.v[i]);
	if (!result) {
		conf_setting_of(&conf, KEY_WEIGHT, "/a", "p", NULL);
		conf_pool_setting(&conf, "p", KEY_DEPTH, &place);
	}
	conf_free(&conf);
}

static void fuzz_kernel(const char *text)
{
	char *small = malloc(9);

	fuzz_lists(text);
	fuzz_lines(text);
	fuzz_weights(text);
	if (parse_kernel_log(text, small, 9))
		MUST(memchr(small, 0, 9));
	free(small);
}

/* Texts that a user may write into the files of a cgroup. */
static void fuzz_cgroup(const char *text)
{
	static const unsigned long long most[ASKED_KINDS] = {
		IOBAND_WEIGHT_MAX, LATENCY_MAX_US, RATE_MAX, RATE_MAX, RATE_MAX, RATE_MAX,
	};
	struct asked asked[ASKED_KINDS] = { { .n = 0 } };

	asked_read(&asked[ASKED_WEIGHT], text, false, false);
	asked_read(&asked[ASKED_WEIGHT], text, true, true);
	asked_read_values(asked, text);
	for (int kind = 0; kind < ASKED_KINDS; kind++) {
		MUST(asked[kind].weight <= (kind ? 0 : IOBAND_WEIGHT_MAX));
		for (size_t i = 0; i < asked[kind].n; i++)
			MUST(asked[kind].v[i].weight &&
			     asked[kind].v[i].weight <= most[kind]);
		asked_free(&asked[kind]);
	}
}

/* A name may have the letters of an invalid number. */
static bool is_named(const struct plot *plot, const char *word)
{
	for (size_t i = 0; i < plot->n; i++) {
		if (strstr(plot->v[i]->group, word) || strstr(plot->v[i]->pool, word))
			return true;
	}
	return false;
}

static void check_script(const struct plot *plot)
{
	const bool what[PLOT_WHATS] = { true, true, true, true, true };
	char *script = NULL;
	size_t size;
	FILE *stream = open_memstream(&script, &size);

	if (plot->n)
		plot_script(plot, plot->v, plot->n, what, "svg", stream);
	fclose(stream);
	MUST(!strstr(script, "inf") || is_named(plot, "inf"));
	MUST(!strstr(script, "-nan") || is_named(plot, "-nan"));
	free(script);
}

static void fuzz_line(struct plot *plot, const char *text, size_t length)
{
	struct problem problem = { "" };
	struct recording_line line;
	char *copy = strndup(text, length);
	bool known = false;
	int result = recording_parse(copy, strlen(copy), &line, &known,
				     &problem);

	check_problem(result, &problem);
	if (!result && known)
		result = plot_add(plot, &line, &problem);
	check_problem(result, &problem);
	recording_line_free(&line);
	free(copy);
}

static void draw_recording(const char *text)
{
	struct recording_reader reader = { .line = 0 };
	struct problem problem = { "" };
	struct plot plot = { .n = 0 };

	check_problem(recording_parse_head(text, strlen(text), &reader,
					   &problem), &problem);
	while (*text) {
		size_t length = strcspn(text, "\n");

		fuzz_line(&plot, text, length);
		text += length + !!text[length];
	}
	plot_sort(&plot);
	for (size_t i = 0; i < plot.n; i++)
		MUST(plot.v[i]->n && plot.v[i]->group && plot.v[i]->pool[0]);
	check_script(&plot);
	plot_free(&plot);
}

static void check_page(const struct top_view *view)
{
	char text[FORMAT_SIZE];

	for (size_t i = 0; i < view->n; i++) {
		for (int column = 0; column < TOP_COLUMNS; column++)
			MUST(*top_cell(&view->v[i], column, text));
		MUST(view->v[i].value[TOP_SHARE] < 101);
	}
}

/* The pages of top; the text has whole lines only. */
static void check_pages(const char *text, bool sum)
{
	struct recording_reader reader = { .path = "f", .line = 1 };
	const struct args args = { .n = 0 };
	struct top top = { .args = &args, .sort = TOP_SHARE, .input = &reader, .sum = sum };
	struct problem problem;
	struct top_view view;
	int code = EXIT_OK;

	reader.stream = fmemopen((char *)text, strlen(text), "r");
	fail_into(&problem);
	while (code == EXIT_OK && !top.at_end) {
		code = top_refresh(&top, &view);
		check_page(&view);
		top_view_free(&view);
	}
	fail_into(NULL);
	recording_line_free(&top.next);
	names_free(&top.pools);
	top_forget(&top);
	recording_reader_close(&reader);
}

static void fuzz_recording(const char *text)
{
	char *lines;

	if (asprintf(&lines, "%s\n", text) < 0)
		abort();
	check_pages(lines, false);
	check_pages(lines, true);
	free(lines);
	draw_recording(text);
}

/* libudev ends the program if a name is outside of /dev, which udev never gives. */
static bool is_variable(const char *line)
{
	return strchr(line, '=') && (strncmp(line, "DEVNAME=/", 9) ||
				     !strncmp(line, "DEVNAME=/dev/", 13));
}

/* The environment of "iobandctl udev": it prints properties, each in a line. */
static void fuzz_event(const char *text)
{
	const struct args args = { .n = 0 };
	char *variables[64] = { NULL }, *copy = strdup(text), *rest = copy, *line, *said;
	char **const kept = environ;
	FILE *const stream = stdout;
	struct problem problem;
	size_t size, n = 0;

	while ((line = strsep(&rest, "\n")) && n < ARRAY_SIZE(variables) - 1) {
		if (is_variable(line))
			variables[n++] = line;
	}
	stdout = open_memstream(&said, &size);
	fail_into(&problem);
	environ = variables;
	verb_udev.run(&args);
	environ = kept;
	fail_into(NULL);
	fclose(stdout);
	stdout = stream;
	for (rest = said; (line = strsep(&rest, "\n")) && rest;)
		MUST(!strncmp(line, "IOBAND_", 7) || !strcmp(line, ".IOBAND_LOST=1"));
	MUST(!*line);
	free(said);
	free(copy);
}

/* Control characters, characters that reorder others, and characters of no width. */
static bool is_hidden(wchar_t wide)
{
	return iswcntrl(wide) || wide == 0xad || wide == 0x61c ||
	       (wide >= 0x200b && wide <= 0x200f) ||
	       (wide >= 0x2028 && wide <= 0x202e) ||
	       (wide >= 0x2060 && wide <= 0x206f) || wide == 0xfeff ||
	       (wide >= 0xe0000 && wide <= 0xe0fff);
}

/* Valid UTF-8 without hidden characters, except for the ends of @lines lines. */
static void check_shown(const char *text, int lines)
{
	mbstate_t halfway = { 0 };
	wchar_t wide;
	size_t length;

	for (; *text; text += length) {
		length = mbrtowc(&wide, text, strlen(text), &halfway);
		MUST(length != (size_t)-1 && length != (size_t)-2);
		lines -= wide == '\n';
		MUST(wide == '\n' || !is_hidden(wide));
	}
	MUST(!lines);
}

static int print_cell(const char *text, bool json)
{
	static const struct column column = { "TEXT", "text", COLUMN_TEXT, false };
	struct table *table = print_table("fuzz", &column, 1, json);

	print_text(print_row(table), 0, text);
	return print_end(table);
}

/* A program reads the same text if it is UTF-8; an empty cell is null. */
static void check_json(const char *printed, const char *text)
{
	struct json_object *all = json_tokener_parse(printed), *list, *cell;
	char *valid = text_utf8(text);

	MUST(json_object_object_get_ex(all, "fuzz", &list));
	MUST(json_object_object_get_ex(json_object_array_get_idx(list, 0),
				       "text", &cell));
	MUST(cell ? !strcmp(json_object_get_string(cell), valid) : !*text);
	json_object_put(all);
	free(valid);
}

static void check_cell(const char *text)
{
	wchar_t *cell = top_widen(text);

	MUST(!*cell == !*text);
	for (const wchar_t *at = cell; *at; at++)
		MUST(!is_hidden(*at));
	free(cell);
}

/* A text as an error, and as the path of a group that is alone in its pool. */
static void check_top(const char *text)
{
	static const struct ioband_device speaker = { .table = { .pool = "p", .measure = "ios" } };
	static const struct ioband_devices none;
	struct ioband_group group = { .seq = 1, .name = "root", .path = (char *)text };
	struct group_stats stats = { .seq = 1, .op = { { .ios = 1 } } };
	struct group_latency latency = { .seq = 1 };
	const struct sample delta = {
		.ns = 1,
		.groups = { &group, 1 }, .stats = { &stats, 1 }, .latency = { &latency, 1 },
	};
	struct top_view view = { .n = 0 };

	check_cell(text);
	top_view_add(&view, &none, &speaker, &delta, false);
	MUST(view.n == 1);
	check_shown(view.v[0].group, 0);
	check_cell(view.v[0].group);
	top_view_free(&view);
}

static int count_lines(const char *text)
{
	int count = 0;

	while ((text = strchr(text, '\n')))
		count++, text++;
	return count;
}

/* The C library has the standard streams as variables. */
static void fuzz_shown(const char *text)
{
	FILE *const streams[] = { stdout, stderr };
	char *said, *lines = strdup(text);
	struct problem problem;
	size_t size;

	stdout = open_memstream(&said, &size);
	stderr = stdout;
	print_lines("> ", lines);
	free(lines);
	note("%s", text);
	fail(EXIT_FAILED, "%.5s", text);
	print_line("%s", text);
	print_marked("", "mark", "%s", text);
	print_cell(text, false);
	fclose(stdout);
	stdout = streams[0];
	stderr = streams[1];
	check_shown(said, 6 + count_lines(text));
	free(said);
	check_top(text);
	if (show_is_needless(text, stdout))
		check_shown(text, 0);

	stdout = open_memstream(&said, &size);
	print_cell(text, true);
	fclose(stdout);
	stdout = streams[0];
	check_shown(said, 7);
	check_json(said, text);
	free(said);

	fail_into(&problem);
	MUST(fail(EXIT_USAGE, "%s", text) == EXIT_USAGE);
	fail_into(NULL);
	MUST(!strncmp(problem.text, text, sizeof(problem.text) - 1));
}

#define ONES "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1"
#define TEXT_MAX 4096

static const char *const kernel_seeds[] = {
	"253:0 0 sda 6 mode=cgroup weight=100 measure=bytes depth=auto slice=80 writes_starved=3",
	"1 pool=sda mode=uid measure=ios state=shared depth=32 groups=3 active=2 held=5,6 inflight=7,8 devices=9 slice=80 piece=16384 brake=5 writes_starved=3",
	"1 groups\n1 0 root weight=100 set=0\n7 1 cgroup#42 weight=300 set=1 path=/a\\040b max=5,max,6,7 min=0,3,0,7 latency=2000\nnext 7\n",
	"1 stats\n3 uid:0 held=1,2 inflight=3 read=4,5,6,7,8 write=9,10,11,12,13 discard=0,0,0,0,14 read.held=1,2 read.inflight=3\nend\n",
	"1 latency\n3 root read.wait=" ONES " read.service=" ONES " discard.wait=" ONES "\nend\n",
	"1 weights\npool=sda group=cgroup:/a\\040b weight=300\npool=p device=d group=device weight=1 max=max,8,max,9 min=1,0,0,5 latency=9\n",
	"3,1,2,-;device-mapper: table: 253:0: ioband: no (-EINVAL)\n SUBSYSTEM=x\n",
};

static const char *const kernel_words[] = {
	"=", " ", "\n", ",", ":", "\\", "\\040", "\\777", "1 groups\n",
	"next ", "end\n", "path=", "weight=", "18446744073709551616", "0",
	"-1", "1 ", "pool=", "group=", "max=", "max", "min=", "latency=", "read=",
	"read.wait=" ONES, "ioband: ",
	"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
};

static const char *const cgroup_seeds[] = {
	"default 100\n8:0 300\n", "500\n", "8:0 target=5000\n253:1 target=max\n",
	"8:0 rbps=1048576 wbps=max riops=max wiops=120\n",
};

static const char *const cgroup_words[] = {
	"default ", " ", "\n", ":", "=", "8:0 ", "target=", "rbps=", "wbps=", "riops=", "wiops=",
	"max", "0", "10000", "10001", "1099511627776", "18446744073709551615", "4294967296:0 ",
	"-1",
};

static const char *const conf_seeds[] = {
	"[device a]\nname = sd*\nas = %n\nmode = device\nweight = 3\nmaximum = rbps=100MiB wiops=500\nminimum = rbps=90MiB riops=7\nlatency = 2.5ms\n[pool *]\nslice = 80\nwrites_starved = 3\n",
	"# x\n[group /a\\040*]\nweight = 7\npool = p\n[group uid:1]\nweight=default\n",
	"[device b]\ndevice = vg0/b\noptional = yes\n[watch]\nenable-controller = no\n",
};

static const char *const conf_words[] = {
	"[", "]", "[group ", "[device ", "\n", "\n\n", "#", "%n", "default",
	"weight = 5\n", "maximum = ", "minimum = ", "riops=", "none", "1T",
	"latency = ", "0.5", "ms", "us", "s",
	"group = /x\n", "=", " ",
	"\\", "\\040", "\\777", "*",
	"[b]", "/a", "\r", "\t", "\377\376", "\303",
	"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
};

#define NONE "{\"ios\":0,\"bytes\":0,\"held_ios\":0,\"wait_ns\":0,\"service_ns\":0}"
#define SOME "{\"ios\":7,\"bytes\":5,\"held_ios\":3,\"wait_ns\":9,\"service_ns\":8,\"wait\":[3]}"
#define MORE "{\"ios\":9,\"bytes\":8,\"held_ios\":7,\"wait_ns\":9,\"service_ns\":9,\"wait\":[4,3]}"
#define ALL "{\"ios\":18446744073709551615,\"bytes\":18446744073709551615,\"held_ios\":7,\"wait_ns\":1}"
#define DEVICE "{\"seq\":2,\"parent\":1,\"name\":\"device:253:1\",\"weight\":9}"
#define CGROUP "{\"seq\":3,\"parent\":2,\"name\":\"x\",\"path\":\"/\\\\040\",\"weight\":1,"
#define NOW "\"held_ios\":1,\"held_bytes\":1,\"inflight_ios\":1,"
#define BEFORE_AT "{\"type\":\"pool\",\"pool\":\"p\",\"measure\":\"ios\",\"at_ns\":"
#define DEVICES ",\"devices\":[{\"name\":\"d\",\"number\":\"253:1\"}],\"groups\":["
#define BEFORE_READ DEVICES DEVICE "," CGROUP NOW "\"read\":"
#define LINE(at, read, more) BEFORE_AT at BEFORE_READ read "}" more "]}\n"
#define LOOP ",{\"seq\":4,\"parent\":4,\"name\":\"y\",\"weight\":5}"

static const char *const recording_seeds[] = {
	LINE("1", NONE, "") LINE("5", SOME, ""),
	LINE("1", SOME, "") LINE("3", SOME, LOOP),
	LINE("1", SOME, "") "{\"type\":\"gone\",\"pool\":\"p\",\"at_ns\":2}\n"
	LINE("3", NONE, "") LINE("4", MORE, "") "{\"type\":\"end\",\"at_ns\":9}\n",
	"{\"type\":\"ioband-recording\",\"version\":1,\"begun_ns\":1,\"interval_ns\":1}\n",
};

static const char *const recording_words[] = {
	"{", "}", "[", "]", ",", ":", "\"", "0", "-1", "1e9", "null", "\n", "\\u0000",
	"\\\\012", "'", "18446744073709551615", "\"at_ns\":7", "\"seq\":5,",
	"\"inflight_ios\":1,", LINE("8", ALL, ""), LINE("9", MORE, ""),
};

static const char *const shown_seeds[] = {
	"/machine.slice/qemu-web.scope", "gr\303\274\303\237e \346\227\245\346\234\254",
	"\033[2J\033]0;title\007", "a\nok    devices: fine", "\342\200\256gpj.exe",
	"\302\2332J", "\360\237\246\212\360\237\217\273", "e\314\201", "", "a\tb\\x1b\\033\"'",
};

static const char *const shown_words[] = {
	"\033", "\n", "\r", "\b", "\177", "\302\200", "\302\233", "\302\255", "\330\234",
	"\342\200\213", "\342\200\217", "\342\200\250", "\342\200\252", "\342\200\256",
	"\342\201\240", "\342\201\246", "\342\201\251", "\357\273\277", "\363\240\200\201",
	"\363\240\277\277", "\200", "\377", "\342\200", "\300\200", "\355\240\200",
	"\355\277\277", "\364\220\200\200", "\360\237", "\357\277\276", "\\", "\"", "\303\251",
};

#define EVENT "ACTION=change\nDEVPATH=/devices/x\nSUBSYSTEM=block\nSEQNUM=1\nMAJOR=4000\nMINOR=1\nDEVNAME=/dev/x\n"

static const char *const event_seeds[] = {
	EVENT, EVENT "DM_UUID=IOBAND-x\n", EVENT "DM_UUID=part1-IOBAND-x\nIOBAND_WRAP=1\n",
	EVENT "DEVLINKS=/dev/disk/by-id/a /dev/disk/by-uuid/b\nSYNTH_UUID=0\n",
};

static const char *const event_words[] = {
	"\n", "=", "MAJOR=7\n", "MINOR=0\n", "SEQNUM=18446744073709551616\n", "DEVPATH=/\n", "-1",
	"DEVNAME=\n", "DM_UUID=part4294967296-IOBAND-\n", "part1-part2-IOBAND-", "IOBAND-UNDER-",
	"DEVLINKS= /dev/disk/by-path/", "IOBAND_WRAP=0\n", "ACTION=add\n", "SUBSYSTEM=net\n",
	"IFINDEX=1\n", "USEC_INITIALIZED=x\n", "TAGS=:a:\n", "/../", "DEVMODE=0999\n",
};

/**
 * struct subject - a subject of the fuzzer
 * @name: on the command line
 * @fuzz: reads a text
 * @seeds: texts to begin with
 * @n_seeds: number of seeds
 * @words: words to insert into them
 * @n_words: number of words
 */
static const struct subject {
	const char *name;
	void (*fuzz)(const char *text);
	const char *const *seeds;
	size_t n_seeds;
	const char *const *words;
	size_t n_words;
} subjects[] = {
	{ "kernel", fuzz_kernel, kernel_seeds, ARRAY_SIZE(kernel_seeds),
	  kernel_words, ARRAY_SIZE(kernel_words) },
	{ "cgroup", fuzz_cgroup, cgroup_seeds, ARRAY_SIZE(cgroup_seeds),
	  cgroup_words, ARRAY_SIZE(cgroup_words) },
	{ "conf", fuzz_conf, conf_seeds, ARRAY_SIZE(conf_seeds), conf_words,
	  ARRAY_SIZE(conf_words) },
	{ "recording", fuzz_recording, recording_seeds,
	  ARRAY_SIZE(recording_seeds), recording_words,
	  ARRAY_SIZE(recording_words) },
	{ "event", fuzz_event, event_seeds, ARRAY_SIZE(event_seeds), event_words,
	  ARRAY_SIZE(event_words) },
	{ "shown", fuzz_shown, shown_seeds, ARRAY_SIZE(shown_seeds),
	  shown_words, ARRAY_SIZE(shown_words) },
};

static const struct subject *find_subject(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(subjects); i++) {
		if (name && !strcmp(subjects[i].name, name))
			return &subjects[i];
	}
	return NULL;
}

/* Copy exactly the text, so that the sanitizer sees reads beyond its end. */
static void fuzz_text(const struct subject *subject, const void *text, size_t size)
{
	char *copy = malloc(size + 1);

	memcpy(copy, text, size);
	copy[size] = 0;
	subject->fuzz(copy);
	free(copy);
}

static unsigned long long state;

static unsigned int random_below(unsigned int limit)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return limit ? state % limit : 0;
}

static size_t insert(char *text, size_t size, const char *word, size_t length)
{
	size_t place = random_below(size + 1);

	if (size + length > TEXT_MAX)
		return size;
	memmove(text + place + length, text + place, size - place);
	memcpy(text + place, word, length);
	return size + length;
}

static size_t cut(char *text, size_t size)
{
	size_t place = random_below(size);
	size_t length = random_below(size - place) % 80;

	memmove(text + place, text + place + length, size - place - length);
	return size - length;
}

static size_t mutate(const struct subject *subject, char *text, size_t size)
{
	const char *word = subject->words[random_below(subject->n_words)];
	const char *seed = subject->seeds[random_below(subject->n_seeds)];
	size_t place = random_below(strlen(seed));

	switch (random_below(6)) {
	case 0:
		if (size)
			text[random_below(size)] = random_below(256);
		return size;
	case 1:
		return size ? cut(text, size) : 0;
	case 2:
		return random_below(8) ? size : random_below(size);
	case 3:
		return insert(text, size, seed + place,
			      random_below(strlen(seed) - place));
	default:
		return insert(text, size, word, strlen(word));
	}
}

#ifdef LIBFUZZER
/* Functions with names that libFuzzer calls. */
int fuzz_begin(int *argc, char ***argv) __asm__("LLVMFuzzerInitialize");
int fuzz_one(const unsigned char *data, size_t size) __asm__("LLVMFuzzerTestOneInput");

size_t fuzz_mutate(unsigned char *data, size_t size, size_t max, unsigned int seed)
	__asm__("LLVMFuzzerCustomMutator");
size_t fuzz_mutate_bytes(unsigned char *data, size_t size, size_t max)
	__asm__("LLVMFuzzerMutate");

static const struct subject *chosen;

int fuzz_begin(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	chosen = find_subject(getenv("FUZZ_SUBJECT"));
	return chosen && setlocale(LC_CTYPE, "C.UTF-8") ? 0 : -1;
}

/* Return: -1 keeps the text out of the corpus. */
int fuzz_one(const unsigned char *data, size_t size)
{
	if (!chosen)
		exit(2);
	if (memchr(data, 0, size))
		return -1;
	fuzz_text(chosen, data, size);
	return 0;
}

/* Half of the texts are libFuzzer's mutations, the others use the seeds and words above. */
size_t fuzz_mutate(unsigned char *data, size_t size, size_t max, unsigned int seed)
{
	char text[TEXT_MAX];
	const char *begin;

	state = (seed + 1ULL) * 0x9e3779b97f4a7c15;
	if (random_below(2))
		return fuzz_mutate_bytes(data, size, max);
	memcpy(text, data, size);
	if (!random_below(16)) {
		begin = chosen->seeds[random_below(chosen->n_seeds)];
		size = strlen(begin);
		memcpy(text, begin, size);
	}
	size = mutate(chosen, text, size);
	size = size < max ? size : max;
	memcpy(data, text, size);
	return size;
}
#else
static void fuzz(const struct subject *subject, unsigned long count)
{
	char text[TEXT_MAX];

	for (unsigned long i = 0; i < count; i++) {
		const char *seed = subject->seeds[i % subject->n_seeds];
		size_t size = strlen(seed);

		memcpy(text, seed, size);
		for (unsigned int j = random_below(12); j; j--)
			size = mutate(subject, text, size);
		fuzz_text(subject, text, size);
	}
	printf("%lu texts\n", count);
}

static int fuzz_file(const struct subject *subject, const char *name)
{
	FILE *file = fopen(name, "re");
	char *text = NULL;
	size_t room = 0;
	ssize_t size = file ? getdelim(&text, &room, 0, file) : -1;

	if (file)
		fclose(file);
	if (size >= 0)
		fuzz_text(subject, text, size);
	free(text);
	return size < 0;
}

int main(int argc, char **argv)
{
	const struct subject *subject = argc > 3 ? find_subject(argv[1]) : NULL;
	int failed = 0;

	if (!subject || !setlocale(LC_CTYPE, "C.UTF-8"))
		return 2;
	if (!strcmp(argv[2], "files")) {
		for (int i = 3; i < argc; i++)
			failed |= fuzz_file(subject, argv[i]);
		printf("%d texts\n", argc - 3);
		return failed;
	}
	state = strtoull(argv[2], NULL, 10) * 2 + 1;
	fuzz(subject, strtoul(argv[3], NULL, 10));
	return 0;
}
#endif
