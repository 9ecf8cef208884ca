// SPDX-License-Identifier: GPL-2.0-only
/* The life of a watch: its loop, its signals, and its configuration. */
#include <signal.h>
#include <string.h>
#include <systemd/sd-daemon.h>

#include "base/alloc.h"
#include "config/delegated.h"
#include "watch/serve.h"
#include "watch/state.h"

static int on_end(sd_event_source *source, const struct signalfd_siginfo *info, void *data)
{
	(void)info;
	(void)data;
	return sd_event_exit(sd_event_source_get_event(source), EXIT_OK);
}

static bool is_enabled(const struct conf *conf)
{
	for (size_t i = 0; i < conf->n; i++) {
		if (conf->v[i].kind == CONF_WATCH && conf_flag(&conf->v[i], KEY_ENABLE_CONTROLLER))
			return true;
	}
	return false;
}

/*
 * Before any of it is made so; the user has been told if it cannot be.  In a cgroup
 * namespace paths are others.
 */
static void keep_configuration(struct watch *watch)
{
	char *file __free = NULL;

	if (!hierarchy_is_whole(&watch->hierarchy))
		return;
	if (past_keep(&watch->conf, &file) == EXIT_OK)
		past_watch(file);
}

/* Visit all devices and cgroups; take back once settings that are no longer asked for. */
static void look_at_all(struct watch *watch)
{
	watch_trees_load(watch);
	watch_cgroups_finish(watch);
	past_free(&watch->past);
}

/* A configuration with a mistake in it changes nothing. */
static int on_reload(sd_event_source *source, const struct signalfd_siginfo *info, void *data)
{
	struct watch *watch = data;
	struct conf conf;

	(void)source;
	(void)info;
	sd_notify(0, "RELOADING=1");
	if (conf_load(watch->config, &conf) == EXIT_OK) {
		struct conf before = watch->conf;

		conf_warn_of_units(&conf);
		delegated_warn(&conf);
		watch->conf = conf;
		keep_configuration(watch);
		past_add(&watch->past, &before);
		watch->enable = watch->enable || is_enabled(&conf);
		watch_cgroups_retry(watch);
		look_at_all(watch);
	}
	sd_notify(0, "READY=1");
	return 0;
}

static int add_signals(struct watch *watch)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &signals, NULL) < 0 ||
	    sd_event_add_signal(watch->event, NULL, SIGTERM, on_end, NULL) < 0 ||
	    sd_event_add_signal(watch->event, NULL, SIGINT, on_end, NULL) < 0 ||
	    sd_event_add_signal(watch->event, NULL, SIGHUP, on_reload, watch) < 0)
		return fail(EXIT_FAILED, "cannot receive signals");
	return EXIT_OK;
}

static int start(struct watch *watch)
{
	int code = hierarchy_find(&watch->hierarchy);

	if (code != EXIT_OK)
		return code;
	if (watch->hierarchy.version != 2)
		return fail(EXIT_MISSING,
			    "blkio is mounted as a cgroup hierarchy of version 1, which cannot be watched; boot with systemd.unified_cgroup_hierarchy=1");
	if (sd_event_new(&watch->event) < 0)
		return fail(EXIT_FAILED, "out of memory");
	code = add_signals(watch) ?: watch_trees_start(watch);
	if (code == EXIT_OK) {
		watch_bus_start(watch);
		code = watch_cgroups_start(watch);
	}
	if (code == EXIT_OK) {
		if (hierarchy_is_whole(&watch->hierarchy))
			past_load(&watch->past);
		keep_configuration(watch);
		look_at_all(watch);
	}
	return code;
}

static int serve(struct watch *watch)
{
	int code = start(watch);

	if (code == EXIT_OK) {
		sd_notify(0, "READY=1");
		code = sd_event_loop(watch->event);
		sd_notify(0, "STOPPING=1");
	}
	watch_cgroups_free(watch);
	watch_trees_stop(watch);
	watch_bus_free(watch);
	sd_event_unref(watch->event);
	return code < 0 ? fail(EXIT_FAILED, "cannot wait for events: %s", strerror(-code)) : code;
}

/*
 * Follow the cgroups until a signal ends it.
 * @config: the configuration, NULL for the installed files
 * @enable: enable the io controller, whether the configuration says so or not
 */
int watch_serve(const char *config, bool enable)
{
	struct watch watch = { .config = config };
	int code = mapper_ready() ?: conf_load(config, &watch.conf);

	if (code != EXIT_OK)
		return code;
	conf_warn_of_units(&watch.conf);
	delegated_warn(&watch.conf);
	watch.enable = enable || is_enabled(&watch.conf);
	code = serve(&watch);
	conf_free(&watch.conf);
	return code;
}
