// SPDX-License-Identifier: GPL-2.0-only
/*
 * systemd over D-Bus, for what cgroup files cannot hold: IODeviceWeight= on a device without an I/O
 * scheduler is refused by the kernel, and it may have no io.latency for IODeviceLatencyTargetSec=,
 * but systemd keeps them.  It writes io.weight at each change of them, which tells when to ask.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "host/device.h"
#include "watch/state.h"

#define SYSTEMD "org.freedesktop.systemd1"
#define ANSWER_US 2000000	/* systemd is busy now and then, at boot above all */
#define RETRY_US 2000000

static const struct {
	const char *suffix;
	const char *interface;
} kinds[] = {
	{ ".service", SYSTEMD ".Service" }, { ".slice", SYSTEMD ".Slice" },
	{ ".scope", SYSTEMD ".Scope" }, { ".mount", SYSTEMD ".Mount" },
	{ ".socket", SYSTEMD ".Socket" }, { ".swap", SYSTEMD ".Swap" },
};

static bool ends(const char *text, size_t length, const char *suffix)
{
	size_t its = strlen(suffix);

	return length > its && !strncmp(text + length - its, suffix, its);
}

static const char *interface_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (ends(name, strlen(name), kinds[i].suffix))
			return kinds[i].interface;
	}
	return NULL;
}

/*
 * See whether a cgroup is a unit's of the system's systemd.  Its units lie in slices only,
 * and never in a delegated cgroup.
 */
bool watch_is_unit(const struct node *node)
{
	const char *path = node->path, *slash;

	if (watch_node_is_lent(node))
		return false;
	for (path++; (slash = strchr(path, '/')); path = slash + 1) {
		if (!ends(path, slash - path, ".slice"))
			return false;
	}
	return interface_of(path);
}

static void lose_bus(struct watch *watch)
{
	uint64_t now;

	watch->answers = false;
	watch->bus = sd_bus_close_unref(watch->bus);
	if (sd_event_now(watch->event, CLOCK_MONOTONIC, &now) < 0)
		return;
	sd_event_source_set_time(watch->retry, now + RETRY_US);
	sd_event_source_set_enabled(watch->retry, SD_EVENT_ONESHOT);
}

static int on_disconnected(sd_bus_message *message, void *data, sd_bus_error *error)
{
	(void)message;
	(void)error;
	lose_bus(data);
	return 0;
}

/*
 * Whether it is not systemd that said no: it is not there, busy, or is starting itself anew.  Then
 * it is not asked again before a while has passed: each question may take as long as the last.
 */
static bool is_lost(struct watch *watch, int result)
{
	switch (result) {
	case -ECONNRESET:
	case -EHOSTUNREACH:
	case -ENOBUFS:
	case -ENOTCONN:
	case -ENXIO:
	case -EPIPE:
	case -ESTALE:
	case -ETIMEDOUT:
		lose_bus(watch);
		return true;
	}
	return false;
}

static int on_answer(sd_bus_message *answer, void *data, sd_bus_error *error)
{
	struct watch *watch = data;

	(void)error;
	if (is_lost(watch, -sd_bus_message_get_errno(answer)))
		return 0;
	watch->answers = true;
	watch_mark_part(watch, NULL, DUE_ASKED);
	return 0;
}

/*
 * Units are asked for after a first answer.  A question on a connection that is not complete would
 * wait for that, and so up to 90 s for a bus that hangs.  So would a flush at the end.
 */
static void reach_bus(struct watch *watch)
{
	if (sd_bus_open_system(&watch->bus) < 0 ||
	    sd_bus_set_method_call_timeout(watch->bus, ANSWER_US) < 0 ||
	    sd_bus_attach_event(watch->bus, watch->event, 0) < 0 ||
	    sd_bus_set_close_on_exit(watch->bus, false) < 0 ||
	    sd_bus_match_signal(watch->bus, NULL, NULL, "/org/freedesktop/DBus/Local",
				"org.freedesktop.DBus.Local", "Disconnected", on_disconnected,
				watch) < 0 ||
	    sd_bus_call_method_async(watch->bus, NULL, SYSTEMD,
				     "/org/freedesktop/systemd1",
				     "org.freedesktop.DBus.Peer", "Ping",
				     on_answer, watch, NULL) < 0)
		lose_bus(watch);
}

static int on_retry(sd_event_source *source, uint64_t now, void *data)
{
	(void)source;
	(void)now;
	reach_bus(data);
	return 0;
}

/*
 * Reach systemd, now or later.
 *
 * Waits for a first answer for as long as for any other.
 */
void watch_bus_start(struct watch *watch)
{
	int result = 1;

	if (sd_event_add_time(watch->event, &watch->retry, CLOCK_MONOTONIC, 0,
			      100000, on_retry, watch) >= 0)
		sd_event_source_set_enabled(watch->retry, SD_EVENT_OFF);
	reach_bus(watch);
	while (result > 0 && watch->bus && !watch->answers) {
		result = sd_bus_process(watch->bus, NULL);
		if (!result)
			result = sd_bus_wait(watch->bus, ANSWER_US);
	}
}

void watch_bus_free(struct watch *watch)
{
	watch->bus = sd_bus_close_unref(watch->bus);
	watch->retry = sd_event_source_unref(watch->retry);
}

static char *object_of(const char *unit)
{
	char *object = NULL;

	if (sd_bus_path_encode("/org/freedesktop/systemd1/unit", unit, &object) < 0)
		exit(fail(EXIT_FAILED, "out of memory"));
	return object;
}

/* To ask for a unit that is not there would make systemd look for its file. */
static int is_its_cgroup(struct watch *watch, const char *object,
			 const char *interface, const char *path)
{
	char *its __free = NULL;
	sd_bus_error error = SD_BUS_ERROR_NULL;
	int result = sd_bus_get_property_string(watch->bus, SYSTEMD, object, interface,
						"ControlGroup", &error, &its);

	if (result >= 0)
		result = !strcmp(its, path);
	sd_bus_error_free(&error);
	return result;
}

/* Maxima are in io.max: the kernel takes them for any device. */
static const char *const properties[] = {
	[ASKED_WEIGHT] = "IODeviceWeight",
	[ASKED_LATENCY] = "IODeviceLatencyTargetUSec",
};

static void read_devices(sd_bus_message *answer, enum asked_kind kind, struct asked *asked)
{
	struct device device;
	const char *path;
	uint64_t value;

	if (sd_bus_message_enter_container(answer, 'a', "(st)") < 0)
		return;
	while (sd_bus_message_read(answer, "(st)", &path, &value) > 0) {
		if (device_find(path, &device) || device_of_file(path, &device))
			asked_add_kind(asked, kind, device.major, device.minor, value);
		else if (errno == ETIMEDOUT)
			note("%s= for %s is ignored, as its file system does not answer",
			     properties[kind], path);
	}
}

static int ask_for(struct watch *watch, const char *object, const char *interface,
		   enum asked_kind kind, struct asked *asked)
{
	sd_bus_error error = SD_BUS_ERROR_NULL;
	sd_bus_message *answer = NULL;
	int result = sd_bus_get_property(watch->bus, SYSTEMD, object, interface, properties[kind],
					 &error, &answer, "a(st)");

	if (answer)
		read_devices(answer, kind, asked);
	sd_bus_message_unref(answer);
	sd_bus_error_free(&error);
	return result;
}

/*
 * Ask systemd for a unit's weights and latency targets on devices.
 * @asked: by kind, added to
 * Return: whether it answered, if only that it has no such unit.
 */
bool watch_bus_ask(struct watch *watch, const char *path, struct asked asked[ASKED_KINDS])
{
	char *object __free = NULL;
	const char *unit = strrchr(path, '/') + 1;
	const char *interface = interface_of(unit);
	int result;

	if (!watch->answers || !watch->n_trees)
		return false;
	object = object_of(unit);
	result = is_its_cgroup(watch, object, interface, path);
	for (size_t kind = 0; kind < ARRAY_SIZE(properties) && result > 0; kind++) {
		result = ask_for(watch, object, interface, kind, &asked[kind]);
		result = result < 0 ? result : 1;
	}
	return !is_lost(watch, result);
}

/*
 * Have systemd enable the io controller for a unit.  What systemd does not know it takes
 * away again.
 * Return: whether systemd did.
 */
bool watch_bus_enable_io(struct watch *watch, const char *path)
{
	sd_bus_error error = SD_BUS_ERROR_NULL;
	int result = -1;

	if (watch->answers)
		result = sd_bus_call_method(watch->bus, SYSTEMD, "/org/freedesktop/systemd1",
					    SYSTEMD ".Manager", "SetUnitProperties", &error, NULL,
					    "sba(sv)", strrchr(path, '/') + 1, 1, 1, "IOAccounting",
					    "b", 1);
	if (result < 0 && watch->answers)
		note("systemd does not set IOAccounting=yes for cgroup %s: %s", path,
		     error.message ? error.message : strerror(-result));
	sd_bus_error_free(&error);
	is_lost(watch, result);
	return result >= 0;
}
