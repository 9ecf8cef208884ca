// SPDX-License-Identifier: GPL-2.0-only
/* iobandctl check-config: validate the configuration.  Needs no device-mapper. */
#include "config/conf.h"
#include "verbs/verbs.h"

static int run(const struct args *args)
{
	return conf_check_files(args->value[OPTION_CONFIG]);
}

static const struct option_spec options[] = { SPEC_CONFIG, { .name = NULL } };

const struct verb verb_check_config = {
	.name = "check-config",
	.args = "",
	.summary = "Report all mistakes in the configuration",
	.options = options,
	.run = run,
};
