// SPDX-License-Identifier: GPL-2.0-only
/* iobandctl apply: create and change devices and groups according to the configuration. */
#include "config/delegated.h"
#include "config/plan.h"
#include "host/lock.h"
#include "kernel/dm.h"
#include "verbs/verbs.h"

static int make_so(struct plan *plan, bool all)
{
	return plan_begin(plan) ?: plan_run(plan) ?: plan_end(plan, all);
}

static int run_with(const struct conf *conf, const struct args *args)
{
	struct ioband_devices devices __cleanup(ioband_free) = { .n = 0 };
	struct plan plan __cleanup(plan_free) = { .n = 0 };
	int code = ioband_load(&devices);

	if (code != EXIT_OK)
		return code;
	conf_warn_of_units(conf);
	if (!args->n) {
		conf_warn_of_pools(conf);
		delegated_warn(conf);
	}
	code = plan_make(&plan, conf, &devices, args->operand, args->n);
	if (code == EXIT_OK && !args->value[OPTION_DRY_RUN])
		code = make_so(&plan, !args->n);
	code = code ?: plan_print(&plan, args->value[OPTION_JSON]);
	if (code == EXIT_OK && plan.n && args->value[OPTION_EXIT_CODE])
		code = EXIT_CHANGES;
	return code;
}

static int load_and_run(const struct args *args)
{
	struct conf conf __cleanup(conf_free) = { .n = 0 };
	int code = conf_load(args->value[OPTION_CONFIG], &conf);

	if (code != EXIT_OK)
		return code;
	if (conf.n_files)
		code = run_with(&conf, args);
	else
		code = fail(EXIT_MISSING,
			    "there is no configuration: neither /etc/ioband.conf nor /etc/ioband.conf.d/*.conf; ioband.conf(5) says how to write one, 'iobandctl dump' prints one");
	return code;
}

static int check_options(const struct args *args)
{
	if (!args->value[OPTION_EXIT_CODE] || args->value[OPTION_DRY_RUN])
		return EXIT_OK;
	return fail(EXIT_USAGE, "--exit-code needs --dry-run");
}

/* Load the module without the lock: it may take longer than the timeout of the lock. */
static int load_and_lock(struct lock *lock)
{
	int code = mapper_ready();

	if (code != EXIT_OK)
		return code;
	mapper_load_target();
	return lock_changes(lock);
}

/*
 * The configuration is read under the lock, so that a process that waited for the lock does not
 * apply an old one.  udev's processing of created devices is awaited after the lock is released;
 * an insertion waits for udev under the lock.
 */
static int run(const struct args *args)
{
	struct lock lock = { .name = NULL };
	int code = check_options(args);

	if (code == EXIT_OK && !args->value[OPTION_DRY_RUN])
		code = load_and_lock(&lock);
	mapper_wait_later();
	code = code ?: load_and_run(args);
	unlock(&lock);
	mapper_wait();
	return code;
}

static const struct option_spec options[] = {
	SPEC_CONFIG,
	{ OPTION_DRY_RUN, "dry-run", NULL, "only show the changes" },
	{ OPTION_EXIT_CODE, "exit-code", NULL,
	  "with --dry-run: exit with 8 if anything would be changed" },
	SPEC_JSON,
	{ .name = NULL }
};

const struct verb verb_apply = {
	.name = "apply",
	.args = "[DEVICE...]",
	.summary = "Make devices, settings, weights and bounds as the configuration says",
	.max = ARGS_ANY,
	.options = options,
	.run = run,
};
