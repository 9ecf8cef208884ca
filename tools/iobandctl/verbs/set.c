// SPDX-License-Identifier: GPL-2.0-only
/*
 * iobandctl set: several settings of a group, or of a pool, all or none.
 *
 * What is set is written as "get --json" calls it, but for the unit behind it.
 */
#include "verbs/set.h"
#include "verbs/verbs.h"

/* A group that is called so is cgroup:measure=... */
static bool is_about_pool(const struct args *args)
{
	struct span key, value;

	return span_key(span_of(args->operand[0]), &key, &value) &&
	       set_pool_knows(key);
}

static int run(const struct args *args)
{
	if (is_about_pool(args))
		return set_pool(args);
	if (args->n > 1)
		return set_group(args);
	return fail(EXIT_USAGE,
		    "set takes GROUP and " SET_GROUP_SAYS "; or --pool POOL and " SET_POOL_SAYS);
}

static const struct option_spec options[] = {
	SPEC_DEVICE, SPEC_POOL, SPEC_JSON, { .name = NULL }
};

const struct verb verb_set = {
	.name = "set",
	.args = "[GROUP] KEY=VALUE...",
	.summary = "Change settings of a group, or with --pool of a pool, all or none",
	.min = 1,
	.max = ARGS_ANY,
	.options = options,
	.run = run,
};
