// SPDX-License-Identifier: GPL-2.0-only
/* iobandctl set-max: what a group may have at most. */
#include <stdlib.h>

#include "alloc.h"
#include "group.h"
#include "query.h"
#include "verbs.h"

/**
 * struct wish - what is to be set
 * @maximum: the bounds
 * @given: which of them
 */
struct wish {
	struct maximum maximum;
	unsigned int given;
};

static int set_max(const struct ioband_device *device,
		   const struct group_ref *group, void *data)
{
	const struct wish *wish = data;

	return query_max(device, group->message, &wish->maximum, wish->given);
}

static int read_wish(const struct args *args, struct wish *wish)
{
	char *text = xstrdup(args->operand[1]), *longer;
	struct problem problem;
	int result;

	for (int i = 2; i < args->n; i++) {
		longer = xasprintf("%s %s", text, args->operand[i]);
		free(text);
		text = longer;
	}
	result = maximum_read(text, &wish->maximum, &wish->given, &problem);
	free(text);
	return result ? fail(EXIT_USAGE, "%s", problem.text) : EXIT_OK;
}

static int run(const struct args *args)
{
	struct ioband_devices devices;
	struct wish wish;
	int code;

	if (args->n < 2)
		return fail(EXIT_USAGE,
			    "set-max takes GROUP and what it may have at most: rbps=, wbps=, riops=, wiops=, or default; see 'iobandctl help set-max'");
	code = read_wish(args, &wish);
	if (code == EXIT_OK)
		code = ioband_load(&devices);
	if (code != EXIT_OK)
		return code;
	code = group_visit(&devices, args, set_max, &wish);
	ioband_free(&devices);
	return code;
}

static const struct option_spec options[] = {
	SPEC_DEVICE, SPEC_POOL, { .name = NULL }
};

const struct verb verb_set_max = {
	.name = "set-max",
	.args = "GROUP RATE...",
	.summary = "Bound what a group may have: rbps=, wbps=, riops=, wiops=N, or 'default'",
	.max = ARGS_ANY,
	.options = options,
	.run = run,
};
