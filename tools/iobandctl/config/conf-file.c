// SPDX-License-Identifier: GPL-2.0-only
/* The files of the configuration. */
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/infile.h"
#include "config/conf.h"

#define CONF_FILE "/etc/ioband.conf"
#define CONF_DROP_INS "/etc/ioband.conf.d/*.conf"

static int add_file(struct conf *conf, const char *name)
{
	char *text __free = NULL;
	struct problem problem;
	int code = EXIT_OK, error = infile_read(name, &text);

	if (error == EILSEQ)
		code = fail(EXIT_USAGE, "%s has a NUL byte in it: it is no configuration", name);
	else if (error)
		code = fail(exit_code_of(error), "cannot read %s: %s", name, strerror(error));
	else if (conf_add(conf, name, text, &problem))
		code = fail(EXIT_USAGE, "%s", problem.text);
	return code;
}

/* After a file that cannot be read, if all mistakes are asked for. */
static bool goes_on(const struct conf *conf, int code)
{
	return code == EXIT_OK || conf->wrong;
}

static int add_drop_ins(struct conf *conf)
{
	int code = EXIT_OK;
	glob_t found;

	if (glob(CONF_DROP_INS, 0, NULL, &found))
		return EXIT_OK;
	for (size_t i = 0; i < found.gl_pathc && goes_on(conf, code); i++)
		code = first_failure(code, add_file(conf, found.gl_pathv[i]));
	globfree(&found);
	return code;
}

static int add_installed(struct conf *conf)
{
	FILE *file __cleanup(close_file) = fopen(CONF_FILE, "re");
	int code = EXIT_OK;

	if (file || errno != ENOENT)
		code = add_file(conf, CONF_FILE);
	if (goes_on(conf, code))
		code = first_failure(code, add_drop_ins(conf));
	return code;
}

/*
 * Read the configuration.
 * @file: only this one, "-" for standard input; NULL for those installed
 * @conf: the result; without files if none is installed
 */
int conf_load(const char *file, struct conf *conf)
{
	struct problem problem;
	int code;

	*conf = (struct conf){ .n = 0 };
	code = file ? add_file(conf, file) : add_installed(conf);
	if (code == EXIT_OK && conf_check(conf, &problem))
		code = fail(EXIT_USAGE, "%s", problem.text);
	if (code == EXIT_OK)
		conf_find_pools(conf);
	else
		conf_free(conf);
	return code;
}

static void say(const struct problem *problem)
{
	note("%s", problem->text);
}

/*
 * Find the next rate in a unit that has changed its meaning.
 * @next: where to go on; 0 for the first
 * @problem: its place, and what the unit means now
 */
bool conf_next_plain(const struct conf *conf, size_t *next, struct problem *problem)
{
	static const enum conf_key keys[] = { KEY_MAXIMUM, KEY_MINIMUM };
	char where[256];
	struct span word;

	while (*next < conf->n * ARRAY_SIZE(keys)) {
		size_t i = (*next)++;
		const struct conf_value *value =
			&conf->v[i / ARRAY_SIZE(keys)].value[keys[i % ARRAY_SIZE(keys)]];

		if (!value->text || !rates_plain(value->text, &word))
			continue;
		conf_where(conf, &value->place, where, sizeof(where));
		problem_set(problem, "%s: " RATES_PLAIN_SAYS, where, (int)word.length, word.start);
		return true;
	}
	return false;
}

/* Note rates in units that have changed their meaning. */
void conf_warn_of_units(const struct conf *conf)
{
	struct problem problem;

	for (size_t next = 0; conf_next_plain(conf, &next, &problem);)
		note("note: %s; " RATES_PLAIN_REMEDY, problem.text);
}

/*
 * Report all mistakes in the configuration.
 * @file: as for conf_load()
 * Return: EXIT_OK, or EXIT_FAILED if there are any.
 */
int conf_check_files(const char *file)
{
	struct conf conf __cleanup(conf_free) = { .wrong = say };
	struct problem problem;
	int code = file ? add_file(&conf, file) : add_installed(&conf);

	conf_check(&conf, &problem);
	if (code == EXIT_OK && !conf.n_files)
		note("note: there is no configuration: neither " CONF_FILE " nor " CONF_DROP_INS);
	if (code == EXIT_OK && !conf.n_wrong) {
		conf_find_pools(&conf);
		conf_warn_of_pools(&conf);
		conf_warn_of_units(&conf);
	} else {
		code = EXIT_FAILED;
	}
	return code;
}
