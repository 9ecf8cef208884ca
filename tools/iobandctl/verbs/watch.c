// SPDX-License-Identifier: GPL-2.0-only
/* iobandctl watch: follow the weights that other programs set in cgroups. */
#include "verbs/verbs.h"
#include "watch/serve.h"

static int run(const struct args *args)
{
	return watch_serve(args->value[OPTION_CONFIG], args->value[OPTION_ENABLE_CONTROLLER]);
}

static const struct option_spec options[] = {
	SPEC_CONFIG,
	{ OPTION_ENABLE_CONTROLLER, "enable-controller", NULL,
	  "enable io for slices, and for cgroups in the configuration" },
	{ .name = NULL }
};

const struct verb verb_watch = {
	.name = "watch",
	.args = "",
	.summary = "Keep weights and bounds as the configuration, systemd and containers ask",
	.options = options,
	.run = run,
};
