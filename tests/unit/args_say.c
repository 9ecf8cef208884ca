// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads "table <words>" and "message <words>", each ended by a NUL.  Prints the parsed
 * settings, or the sentence of the error, ended in the same way.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "verbs.h"
#include "words.h"

static void say_settings(const struct ioband_settings *settings)
{
	char piece[16] = "";

	if (settings->split_bytes)
		snprintf(piece, sizeof(piece), "/%u", settings->split_bytes);
	printf(" given=%x mode=%s weight=%u measure=%s depth=%u%s slice=%u", settings->given,
	       ioband_args_mode_names[settings->mode], settings->weight,
	       ioband_args_measure_names[settings->measure], settings->depth, piece,
	       settings->slice_ms);
	if (settings->writes_starved)
		printf(" starved=%u", settings->writes_starved);
}

static int say_table(struct words *words, struct ioband_error *error)
{
	struct ioband_table table;
	int ret = ioband_args_table(&table, words->nr, words->word, error);

	if (ret)
		return ret;
	printf("device=%s start=%llu pool=%s", table.device, table.start, table.pool);
	say_settings(&table.settings);
	return 0;
}

static void say_spec(const struct ioband_spec *spec)
{
	static const char * const kinds[] = {
		[IOBAND_KIND_CGROUP] = "cgroup",
		[IOBAND_KIND_UID] = "uid",
		[IOBAND_KIND_GID] = "gid",
		[IOBAND_KIND_PID] = "pid",
		[IOBAND_KIND_PGRP] = "pgrp",
		[IOBAND_KIND_DEVICE] = "device",
		[IOBAND_KIND_ROOT] = "root",
	};

	printf(" kind=%s id=%llu path=%s self=%d", kinds[spec->kind], spec->id,
	       spec->path ? spec->path : "none", spec->self);
}

static int say_message(struct words *words, struct ioband_error *error)
{
	struct ioband_message message;
	int ret = ioband_args_message(&message, words->nr, words->word, error);

	if (ret)
		return ret;
	printf("verb=%s%s", message_verbs[message.verb], message.preset ? " preset" : "");
	if (message.verb == IOBAND_MSG_WEIGHT) {
		say_spec(&message.spec);
		printf(" weight=%u", message.weight);
	} else if (message.verb == IOBAND_MSG_MAX || message.verb == IOBAND_MSG_MIN) {
		say_spec(&message.spec);
		printf(" given=%x rates=%llu,%llu,%llu,%llu", message.rates_given,
		       message.rates.bytes[IOBAND_DIR_READ], message.rates.bytes[IOBAND_DIR_WRITE],
		       message.rates.ios[IOBAND_DIR_READ], message.rates.ios[IOBAND_DIR_WRITE]);
	} else if (message.verb == IOBAND_MSG_LATENCY_TARGET ||
		   message.verb == IOBAND_MSG_WRITE_LATENCY_TARGET) {
		say_spec(&message.spec);
		printf(" latency=%u", message.latency_us);
	} else if (message.verb == IOBAND_MSG_SET) {
		say_settings(&message.settings);
	} else {
		printf(" cursor=%u", message.cursor);
	}
	return 0;
}

static void say(const char *line)
{
	const bool is_table = !strncmp(line, "table ", 6);
	const char *rest = strchr(line, ' ') + 1;
	struct ioband_error error = {};
	struct words words;
	int ret;

	words_split(&words, rest);
	ret = is_table ? say_table(&words, &error) : say_message(&words, &error);
	if (ret)
		fputs(error.text, stdout);
	if (ret && ret != -EINVAL)
		printf(" (%d)", ret);
	if (!words_are(&words, rest))
		fputs(" (words were changed)", stdout);
	putchar('\0');
	words_free(&words);
}

int main(void)
{
	char *line = NULL;
	size_t room = 0;

	while (getdelim(&line, &room, '\0', stdin) > 0)
		say(line);
	free(line);
	return 0;
}
