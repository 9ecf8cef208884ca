// SPDX-License-Identifier: GPL-2.0-only
/*
 * Valid lines with random faults: each gives a result within its documented range or a whole
 * sentence.  The sentence names the wrong word if there is a single one.
 *
 *	args_fuzz lines		the same for lines from the standard input, each ended by a 0
 *
 * With LIBFUZZER defined, libFuzzer makes the lines ("make fuzz").
 */
#include <linux/kernel.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CASE_SETUP	NULL
#define CASE_TEARDOWN	say_last
#include "cases.h"
#include "args.h"
#include "sched/depth.h"
#include "random.h"
#include "scale.h"
#include "verbs.h"
#include "words.h"

#define TEXT_MAX	512
#define LINES		200000

static const char * const tables[] = {
	"8:16 0 pool",
	"/dev/mapper/vg-lv 2048 pool_A.b:c+d-e 0",
	"8:16 18014398509481983 p 5 mode=device+cgroup weight=10000 measure=ios depth=65535 slice=0",
	"8:16 0 p 4 depth=auto measure=bytes mode=device weight=1",
	"8:16 0 p 2 mode=device weight=idle",
	"8:16 0 p 1 mode=uid",
	"8:16 0 p 2 mode=pgrp depth=32/65536",
	"8:16 0 p 2 measure=time slice=80",
	"8:16 0 p 2 writes_starved=1 slice=0",
};

static const char * const messages[] = {
	"weight root 100",
	"weight device 10000",
	"weight device:253:1048575 default",
	"weight cgroup:/system.slice/a.service 1",
	"weight cgroup#18446744073709551615 5",
	"weight uid:4294967294 5",
	"weight uid:7 idle",
	"weight pgrp:2147483647 5",
	"max root rbps=1 wbps=max",
	"max uid:5 riops=1099511627776 wiops=5",
	"max cgroup:/a default",
	"min root rbps=1 wbps=0",
	"latency-target root 10000000",
	"latency-target uid:5 default",
	"write-latency-target cgroup#7 2000",
	"set mode=device+cgroup",
	"set depth=auto",
	"set measure=ios",
	"set writes_starved=100",
	"groups",
	"stats 4294967295",
	"latency 0",
	"preset weight cgroup:/a/b 100",
	"preset max cgroup:/a rbps=1 wiops=max",
	"preset latency-target cgroup:/a default",
	"presets 5",
};

/* Words with a meaning in some place, and numbers at the ends of ranges. */
static const char * const pieces[] = {
	"mode=", "weight=", "measure=", "depth=", "slice=", "writes_starved=", "time", "auto",
	"default", "device",
	"cgroup", "uid:", "cgroup:/", "cgroup#", "device:", "weight", "set", "groups", "root", "-1",
	"0", "1", "max", "rbps=", "wbps=", "riops=", "wiops=",
	"preset", "//", "/..", "\n", "latency-target", "10000000", "1099511627776",
	"10000", "10001", "65535", "65536", "4294967295", "4294967296", "18446744073709551615",
	"18446744073709551616", "+", "-", "=", ":", "#", "/", "%s%n", " ", "  ",
};

static void replace(char *text, size_t at, size_t gone, const char *piece)
{
	char copy[2 * TEXT_MAX];

	snprintf(copy, sizeof(copy), "%.*s%s%s", (int)at, text, piece, text + at + gone);
	snprintf(text, TEXT_MAX, "%.*s", TEXT_MAX - 1, copy);
}

static void spoil(struct sim_random *random, char *text)
{
	const size_t at = random_below(random, strlen(text) + 1);
	const size_t gone = random_below(random, strlen(text) - at + 1);
	char piece[TEXT_MAX];

	switch (random_below(random, 6)) {
	case 0:
		snprintf(piece, sizeof(piece), "%c", (char)(1 + random_below(random, 255)));
		replace(text, at, !!text[at], piece);
		break;
	case 1:
		replace(text, at, 0, pieces[random_below(random, ARRAY_SIZE(pieces))]);
		break;
	case 2:
		replace(text, at, gone, "");
		break;
	case 3:		/* duplicate a part */
		snprintf(piece, sizeof(piece), "%.*s", (int)gone, text + at);
		replace(text, at, 0, piece);
		break;
	case 4:
		replace(text, at, gone, pieces[random_below(random, ARRAY_SIZE(pieces))]);
		break;
	default:	/* change a digit */
		if (text[at] >= '0' && text[at] <= '9')
			text[at] = '0' + random_below(random, 10);
		break;
	}
}

static void settings_are_good(const struct ioband_settings *settings)
{
	assert_in_range(settings->given, 0, (1 << IOBAND_NR_KEYS) - 1);
	assert_in_range(settings->mode, 0, IOBAND_NR_MODES - 1);
	assert_in_range(settings->measure, 0, IOBAND_NR_MEASURES - 1);
	assert_in_range(settings->depth, 0, IOBAND_DEPTH_MAX);
	assert_int_equal(settings->split_bytes & (settings->split_bytes - 1), 0);
	assert_true(!settings->split_bytes || settings->depth);
	assert_true(!settings->split_bytes || settings->split_bytes >= IOBAND_SPLIT_MIN);
	assert_in_range(settings->split_bytes, 0, IOBAND_SPLIT_MAX);
	assert_in_range(settings->slice_ms, 0, 1000);
	if (settings->given & (1 << IOBAND_KEY_WRITES_STARVED))
		assert_in_range(settings->writes_starved, 1, 100);
	else
		assert_int_equal(settings->writes_starved, 0);
}

static void table_is_good(const struct ioband_table *table, const struct words *words)
{
	const struct ioband_settings *settings = &table->settings;
	const char *name = table->pool;

	assert_ptr_equal(table->device, words->word[0]);
	assert_ptr_equal(table->pool, words->word[2]);
	assert_in_range(table->start, 0, INT64_MAX / 512);
	assert_in_range(strlen(name), 1, 63);
	assert_int_not_equal(name[0], '-');
	for (; *name; name++)
		assert_true(isalnum((unsigned char)*name) || strchr("_.:+-", *name));
	settings_are_good(settings);
	assert_in_range(settings->weight, 1, IOBAND_WEIGHT_IDLE);
	assert_int_equal(__builtin_popcount(settings->given), words->nr > 4 ? words->nr - 4 : 0);
	if (settings->given & (1 << IOBAND_KEY_WEIGHT))
		assert_true(settings->mode == IOBAND_MODE_DEVICE ||
			    settings->mode == IOBAND_MODE_DEVICE_CGROUP);
}

static void rates_are_good(const struct ioband_message *message)
{
	struct ioband_rates rates = { .bytes = { 1, 2 }, .ios = { 3, 4 } };
	const struct ioband_rates before = rates;

	assert_in_range(message->rates_given, 1, 15);
	ioband_args_merge_rates(&rates, message);
	assert_in_range(rates.bytes[0], 0, IOBAND_RATE_MAX);
	assert_in_range(rates.bytes[1], 0, IOBAND_RATE_MAX);
	assert_in_range(rates.ios[0], 0, IOBAND_RATE_MAX);
	assert_in_range(rates.ios[1], 0, IOBAND_RATE_MAX);
	if (!(message->rates_given & 1))
		assert_int_equal(rates.bytes[0], before.bytes[0]);
	if (!(message->rates_given & 8))
		assert_int_equal(rates.ios[1], before.ios[1]);
}

static bool sets_rates(const struct ioband_message *message)
{
	return message->verb == IOBAND_MSG_MAX || message->verb == IOBAND_MSG_MIN;
}

static void message_is_good(const struct ioband_message *message, const struct words *words)
{
	const struct ioband_spec *spec = &message->spec;

	assert_in_range(words->nr, 1, (sets_rates(message) ? 6 : 3) + message->preset);
	assert_in_range(message->verb, IOBAND_MSG_WEIGHT, IOBAND_MSG_PRESETS);
	if (message->preset) {
		assert_in_range(message->verb, IOBAND_MSG_WEIGHT, IOBAND_MSG_WRITE_LATENCY_TARGET);
		assert_true(spec->path && spec->path[1] && !strpbrk(spec->path, "\n") &&
			    !strstr(spec->path, "//"));
	}
	if (message->verb == IOBAND_MSG_SET) {
		assert_int_equal(__builtin_popcount(message->settings.given), 1);
		assert_false(message->settings.given & (1 << IOBAND_KEY_WEIGHT));
		settings_are_good(&message->settings);
	}
	if (sets_rates(message))
		rates_are_good(message);
	else if (message->verb == IOBAND_MSG_WEIGHT)
		assert_in_range(message->weight, 0, IOBAND_WEIGHT_IDLE);
	else if (message->verb == IOBAND_MSG_LATENCY_TARGET ||
		 message->verb == IOBAND_MSG_WRITE_LATENCY_TARGET)
		assert_in_range(message->latency_us, 0, 10000000);
	else
		return;
	assert_in_range(spec->kind, 0, IOBAND_KIND_ROOT);
	if (spec->kind == IOBAND_KIND_CGROUP)
		assert_true(spec->path ? spec->path[0] == '/' : spec->id > 0);
	else
		assert_true(!spec->path && spec->id <= UINT32_MAX);
}

static void sentence_is_good(const struct ioband_error *error)
{
	static const char * const says[] = {
		"must ", "unknown key; there are", "is given twice", "it wants mode=",
		"at most a cursor may", "use 'weight device", "is the inode number",
	};
	const size_t len = strnlen(error->text, sizeof(error->text));
	size_t i;

	/* A sentence that fills the buffer may have been cut off. */
	assert_in_range(len, 20, sizeof(error->text) - 2);
	for (i = 0; i < ARRAY_SIZE(says); i++)
		if (strstr(error->text, says[i]))
			return;
	fail_msg("'%s' does not say what is right", error->text);
}

static struct ioband_error error;

static bool try_table(const char *text)
{
	struct ioband_table table;
	struct words words;
	int ret;

	error = (struct ioband_error) {};
	words_split(&words, text);
	ret = ioband_args_table(&table, words.nr, words.word, &error);
	assert_true(words_are(&words, text));
	assert_true(!ret || ret == -EINVAL);
	if (ret)
		sentence_is_good(&error);
	else
		table_is_good(&table, &words);
	words_free(&words);
	return !ret;
}

static bool try_message(const char *text)
{
	struct ioband_message message;
	struct words words;
	int ret;

	error = (struct ioband_error) {};
	words_split(&words, text);
	ret = ioband_args_message(&message, words.nr, words.word, &error);
	assert_true(words_are(&words, text));
	assert_true(!ret || ret == -EINVAL);
	if (ret)
		sentence_is_good(&error);
	else
		message_is_good(&message, &words);
	words_free(&words);
	return !ret;
}

static char line[TEXT_MAX];

static int say_last(void **state)
{
	(void)state;
	print_message("the last line was '%s'\n", line);
	return 0;
}

static void spoil_and_try(const char * const right[], size_t nr, bool (*try)(const char *text))
{
	struct sim_random random = { .state = 1 };
	u64 i, taken = 0;

	for (i = 0; i < scaled(LINES); i++) {
		u64 rounds = 1 + random_below(&random, 4);

		snprintf(line, sizeof(line), "%s", right[i % nr]);
		while (rounds--)
			spoil(&random, line);
		taken += try(line);
	}
	/* Neither all lines nor none are valid. */
	assert_in_range(taken, scaled(LINES) / 100, scaled(LINES) / 2);
}

/* The sentence's name of a word, or NULL if the wrong word may be another one. */
typedef const char *(*title_fn)(const struct words *right, unsigned int at, const char *spoilt);

static const char *table_title(const struct words *right, unsigned int at, const char *spoilt)
{
	static const char * const titles[] = { "device ", "offset ", "pool " };

	(void)right;
	(void)spoilt;
	return at < ARRAY_SIZE(titles) ? titles[at] : "";
}

static bool is_verb(const char *word)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(message_verbs); i++)
		if (!strcmp(word, message_verbs[i]))
			return true;
	return !strcmp(word, "preset");
}

static const char *message_title(const struct words *right, unsigned int at, const char *spoilt)
{
	const char *verb = right->word[0];

	if (!at)
		return is_verb(spoilt) ? NULL : "";
	if (!strcmp(verb, "preset"))
		return at == 1 && is_verb(spoilt) ? NULL : at == 2 ? "group " : "";
	if (!strcmp(verb, "stats") || !strcmp(verb, "latency") || !strcmp(verb, "presets"))
		return "cursor ";
	if (!strcmp(verb, "set"))
		return "";
	if (at == 1)
		return "group ";
	return strcmp(verb, "weight") ? "" : "weight ";
}

/* The sentence quotes it, as far as it fits, or names its key. */
static bool is_named(const char *title, const char *word)
{
	const int key_len = strcspn(word, "=");
	char wanted[TEXT_MAX];

	snprintf(wanted, sizeof(wanted), "%s'%.32s", title, word);
	if (strstr(error.text, wanted))
		return true;
	snprintf(wanted, sizeof(wanted), "%.*s=", key_len, word);
	return word[key_len] && strstr(error.text, wanted);
}

/* A sentence cannot name the old mode after its replacement. */
static bool is_at_fault(const char *title)
{
	return title && !strstr(error.text, "it wants mode=");
}

static void join(char *text, const struct words *words, unsigned int at, const char *word)
{
	unsigned int i;
	int len = 0;

	for (i = 0; i < words->nr; i++)
		len += snprintf(text + len, TEXT_MAX - len, "%s%s", i ? " " : "",
				i == at ? word : words->word[i]);
	assert_in_range(len, 1, TEXT_MAX - 1);
}

/* Return: whether the line was refused. */
static bool spoil_one(struct sim_random *random, const char *right, bool (*try)(const char *text),
		      title_fn title_of)
{
	char word[TEXT_MAX];
	struct words words;
	bool refused = false;
	unsigned int at;

	words_split(&words, right);
	at = random_below(random, words.nr);
	snprintf(word, sizeof(word), "%s", words.word[at]);
	do
		spoil(random, word);
	while (random_below(random, 2));
	if (*word && !strchr(word, ' ')) {
		join(line, &words, at, word);
		refused = !try(line);
	}
	if (refused) {
		const char *title = title_of(&words, at, word);

		if (is_at_fault(title) && !is_named(title, word))
			fail_msg("'%s' does not name '%s'", error.text, word);
	}
	words_free(&words);
	return refused;
}

static void spoil_ones_and_try(const char * const right[], size_t nr,
			       bool (*try)(const char *text), title_fn title)
{
	struct sim_random random = { .state = 2 };
	u64 i, refused = 0;

	for (i = 0; i < scaled(LINES); i++)
		refused += spoil_one(&random, right[i % nr], try, title);
	assert_in_range(refused, scaled(LINES) / 3, scaled(LINES) - 1);
}

static void spoilt_words_of_tables(void **state)
{
	(void)state;
	spoil_ones_and_try(tables, ARRAY_SIZE(tables), try_table, table_title);
}

static void spoilt_words_of_messages(void **state)
{
	(void)state;
	spoil_ones_and_try(messages, ARRAY_SIZE(messages), try_message, message_title);
}

static void spoilt_tables(void **state)
{
	(void)state;
	spoil_and_try(tables, ARRAY_SIZE(tables), try_table);
}

static void spoilt_messages(void **state)
{
	(void)state;
	spoil_and_try(messages, ARRAY_SIZE(messages), try_message);
}

static void unspoilt_lines(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(tables); i++)
		assert_true(try_table(tables[i]));
	for (i = 0; i < ARRAY_SIZE(messages); i++)
		assert_true(try_message(messages[i]));
}

static void try_text(const void *text, size_t size)
{
	snprintf(line, sizeof(line), "%.*s", (int)size, (const char *)text);
	try_table(line);
	try_message(line);
}

#ifdef LIBFUZZER
int fuzz_one(const void *text, size_t size) __asm__("LLVMFuzzerTestOneInput");

int fuzz_one(const void *text, size_t size)
{
	try_text(text, size);
	return 0;
}
#else
static int try_lines(void)
{
	size_t size = 0, count = 0;
	char *text = NULL;

	for (; getdelim(&text, &size, 0, stdin) > 0; count++)
		try_text(text, strlen(text));
	free(text);
	printf("%zu lines\n", count);
	return 0;
}

int main(int argc, char **argv)
{
	const test_case cases[] = {
		TEST(unspoilt_lines),
		TEST(spoilt_tables),
		TEST(spoilt_messages),
		TEST(spoilt_words_of_tables),
		TEST(spoilt_words_of_messages),
	};

	if (argc == 2 && !strcmp(argv[1], "lines"))
		return try_lines();
	return run_cases(cases, argc, argv);
}
#endif
