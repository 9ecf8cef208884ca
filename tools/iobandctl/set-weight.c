// SPDX-License-Identifier: GPL-2.0-only
/* iobandctl set-weight: the weight of a group, or of all in a file. */
#include "group.h"
#include "query.h"
#include "verbs.h"
#include "weights.h"

static int set_weight(const struct ioband_devices *devices,
		      const struct args *args, uint64_t weight)
{
	struct finder finder = { .devices = devices };
	struct targets targets;
	struct group_ref group;
	struct scope scope;
	int code = ioband_scope(devices, args, &scope);

	if (code == EXIT_OK)
		code = group_find(&finder, args->operand[0], &scope, &group);
	if (code == EXIT_OK)
		code = group_targets(&finder, &group, &scope, &targets);
	if (code != EXIT_OK)
		return code;
	for (size_t i = 0; i < targets.n; i++) {
		int result = query_weight(targets.v[i], group.message, weight);

		code = code == EXIT_OK ? result : code;
	}
	targets_free(&targets);
	return code;
}

static int check_args(const struct args *args, uint64_t *weight)
{
	struct problem problem;

	if (args->value[OPTION_FROM]) {
		if (args->n || args->value[OPTION_DEVICE] ||
		    args->value[OPTION_POOL])
			return fail(EXIT_USAGE,
				    "with --from, groups, pools and devices are taken from the file; give nothing else");
		return EXIT_OK;
	}
	if (args->n != 2)
		return fail(EXIT_USAGE,
			    "set-weight takes GROUP WEIGHT, or --from FILE; see 'iobandctl help set-weight'");
	if (parse_weight(args->operand[1], weight, &problem))
		return fail(EXIT_USAGE, "%s", problem.text);
	return EXIT_OK;
}

static int run(const struct args *args)
{
	const char *file = args->value[OPTION_FROM];
	struct ioband_devices devices;
	uint64_t weight = 0;
	int code = check_args(args, &weight);

	if (code == EXIT_OK)
		code = ioband_load(&devices);
	if (code != EXIT_OK)
		return code;
	code = file ? weights_restore(&devices, file) :
		      set_weight(&devices, args, weight);
	ioband_free(&devices);
	return code;
}

static const struct option_spec options[] = {
	SPEC_DEVICE,
	SPEC_POOL,
	{ OPTION_FROM, "from", "FILE",
	  "set what 'groups --weights' printed; - is standard input" },
	{ .name = NULL }
};

const struct verb verb_set_weight = {
	.name = "set-weight",
	.args = "GROUP WEIGHT",
	.summary = "Set the weight of a group to 1..10000, or to 'default'",
	.max = 2,
	.options = options,
	.run = run,
};
