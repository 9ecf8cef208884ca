// SPDX-License-Identifier: GPL-2.0-only
/* iobandctl set-weight: the weight of a group, or all that a file has of groups. */
#include "config/weights.h"
#include "ioband/hand.h"
#include "ioband/query.h"
#include "verbs/answer.h"
#include "verbs/verbs.h"

static int set_weight(const struct ioband_device *device,
		      const struct group_ref *group, void *weight)
{
	int code = query_weight(device, group->message, *(uint64_t *)weight);

	if (code == EXIT_OK)
		hand_mark_group(device, group->message, "weight");
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
	code = file ? weights_restore(&devices, file,
				      args->value[OPTION_JSON]) :
		      answer_set(&answer_weight, &devices, args, set_weight,
				 &weight);
	ioband_free(&devices);
	return code;
}

static const struct option_spec options[] = {
	SPEC_DEVICE,
	SPEC_POOL,
	{ OPTION_FROM, "from", "FILE",
	  "set what 'groups --weights' printed; - is standard input" },
	SPEC_JSON,
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
