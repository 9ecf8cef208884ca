// SPDX-License-Identifier: GPL-2.0-only
/* iobandctl set-max, set-min, set-latency: what bounds a group. */
#include <stdlib.h>

#include "base/alloc.h"
#include "ioband/hand.h"
#include "ioband/query.h"
#include "verbs/answer.h"
#include "verbs/verbs.h"

/**
 * struct wish - what is to be set
 * @devices: all
 * @args: the command line
 * @bound: a maximum, a minimum or a latency target
 * @bounds: has it
 * @given: which of its rates
 */
struct wish {
	const struct ioband_devices *devices;
	const struct args *args;
	enum bound bound;
	struct bounds bounds;
	unsigned int given;
};

static int set_bound(const struct ioband_device *device,
		     const struct group_ref *group, void *data)
{
	const struct wish *wish = data;
	int code = query_bound(device, group->message, wish->bound,
			       &wish->bounds, wish->given);

	if (code == EXIT_OK)
		hand_mark_group(device, group->message,
				bound_kinds[wish->bound].noun);
	return code;
}

/* The kernel takes a minimum above the maximum, and keeps to the maximum. */
static int check_bound(const struct ioband_device *device,
		       const struct group_ref *ref, void *data)
{
	const struct wish *wish = data;
	enum bound other = wish->bound == MAXIMUM ? MINIMUM : MAXIMUM;
	const struct ioband_group *group;
	struct bounds bounds = bounds_none;
	struct problem problem;
	struct groups groups;
	int code = query_groups(device, &groups);

	group = group_listed(wish->devices, &groups, ref, device);
	if (group)
		bounds.of[other] = group->bounds.of[other];
	bounds.of[wish->bound] = wish->bounds.of[wish->bound];
	groups_free(&groups);
	if (code == EXIT_OK && bounds_check(&bounds, &problem))
		code = fail(EXIT_USAGE,
			    "%s in pool %s: %s, which would win; %s",
			    wish->args->operand[0], device->table.pool,
			    problem.text,
			    other == MAXIMUM ?
			    "raise it first with 'iobandctl set-max'" :
			    "lower the minimum first with 'iobandctl set-min'");
	return code;
}

static int read_wish(struct wish *wish)
{
	const struct args *args = wish->args;
	char *text = xstrdup(args->operand[1]), *longer;
	struct problem problem;
	int result;

	for (int i = 2; i < args->n; i++) {
		longer = xasprintf("%s %s", text, args->operand[i]);
		free(text);
		text = longer;
	}
	result = bound_read(text, wish->bound, &wish->bounds, &wish->given,
			    &problem);
	free(text);
	return result ? fail(EXIT_USAGE, "%s", problem.text) : EXIT_OK;
}

static int run(const struct args *args, enum bound bound, const char *takes)
{
	struct ioband_devices devices;
	struct wish wish = {
		.devices = &devices, .args = args, .bound = bound,
	};
	const char *key = bound_kinds[bound].key;
	int code;

	if (args->n < 2)
		return fail(EXIT_USAGE,
			    "set-%s takes GROUP and %s; see 'iobandctl help set-%s'",
			    key, takes, key);
	code = read_wish(&wish);
	if (code == EXIT_OK)
		code = ioband_load(&devices);
	if (code != EXIT_OK)
		return code;
	if (bound != LATENCY && bound_is_set(&wish.bounds, bound))
		code = group_visit(&devices, args, check_bound, &wish);
	if (code == EXIT_OK)
		code = answer_set(&answer_bounds[bound], &devices, args,
				  set_bound, &wish);
	ioband_free(&devices);
	return code;
}

static int run_max(const struct args *args)
{
	return run(args, MAXIMUM,
		   "what it may have at most: rbps=, wbps=, riops=, wiops=, such as rbps=50M wiops=1K, or default");
}

static int run_min(const struct args *args)
{
	return run(args, MINIMUM,
		   "what it is promised: rbps=, wbps=, riops=, wiops=, such as rbps=50M wiops=1K, or default");
}

static int run_latency(const struct args *args)
{
	return run(args, LATENCY,
		   "how long its reads may take: a number with us, ms or s behind it, such as 5ms, or none");
}

static const struct option_spec options[] = {
	SPEC_DEVICE, SPEC_POOL, SPEC_JSON, { .name = NULL }
};

const struct verb verb_set_max = {
	.name = "set-max",
	.args = "GROUP RATE...",
	.summary = "Bound what a group may have: rbps=, wbps=, riops=, wiops=N, or 'default'",
	.max = ARGS_ANY,
	.options = options,
	.run = run_max,
};

const struct verb verb_set_min = {
	.name = "set-min",
	.args = "GROUP RATE...",
	.summary = "Promise a group: rbps=, wbps=, riops=, wiops=N, or 'default'",
	.max = ARGS_ANY,
	.options = options,
	.run = run_min,
};

const struct verb verb_set_latency = {
	.name = "set-latency",
	.args = "GROUP TIME",
	.summary = "Hold others back while a group's reads take longer than 1us..10s, or 'none'",
	.max = 2,
	.options = options,
	.run = run_latency,
};
