// SPDX-License-Identifier: GPL-2.0-only
/*
 * iobandctl completion: scripts with which shells complete iobandctl's command
 * line, from the table of verbs and their options.
 */
#include <string.h>

#include "print/print.h"
#include "verbs/completion.h"
#include "verbs/verbs.h"

static const struct {
	const char *name;
	void (*print)(const struct verb *const *verbs);
} shells[] = {
	{ "bash", completion_bash },
	{ "zsh", completion_zsh },
	{ "fish", completion_fish },
};

static int print_script(const char *shell, const struct verb *const *verbs)
{
	for (size_t i = 0; i < ARRAY_SIZE(shells); i++) {
		if (!strcmp(shells[i].name, shell)) {
			shells[i].print(verbs);
			return print_flush();
		}
	}
	return fail(EXIT_USAGE, "there is nothing for '%s'; SHELL is bash, zsh or fish", shell);
}

static int run(const struct args *args)
{
	const char *kind = args->value[OPTION_WORDS];

	if (kind && args->n)
		return fail(EXIT_USAGE, "--words '%s': give no SHELL with it", kind);
	if (kind && !completion_is_asked(kind))
		return fail(EXIT_USAGE,
			    "--words '%s': it is DEVICE, NAMES, PLACE, POOL, GROUP or VERB", kind);
	if (kind)
		return completion_words(kind, args->verbs);
	if (!args->n)
		return fail(EXIT_USAGE, "name the SHELL: bash, zsh or fish");
	return print_script(args->operand[0], args->verbs);
}

static const struct option_spec options[] = {
	{ OPTION_WORDS, "words", "KIND",
	  "print what there is of DEVICE, NAMES, PLACE, POOL, GROUP or VERB, a line each" },
	{ .name = NULL }
};

const struct verb verb_completion = {
	.name = "completion",
	.args = "SHELL",
	.summary = "Print what bash, zsh or fish needs to complete command lines",
	.max = 1,
	.options = options,
	.run = run,
};
