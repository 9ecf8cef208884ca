// SPDX-License-Identifier: GPL-2.0-only
/* iobandctl insert: put ioband under device-mapper devices that are in use. */
#include "host/lvm.h"
#include "ioband/hand.h"
#include "ioband/under.h"
#include "verbs/verbs.h"

#define LVM_SAYS							\
	"commands that change it (lvextend, pvmove) or deactivate it take ioband out; 'iobandctl insert %s' after them"

/* LVM removes ioband without a question. */
static void warn(const char *name)
{
	struct mapped_device state;

	if (mapper_state(name, &state) && lvm_owns(state.uuid))
		note("note: %s is LVM's: " LVM_SAYS, name, name);
}

/*
 * Insert into all places, or undo all insertions after an error.  A place may have ioband
 * already, because two snapshots share it.
 */
static int insert(const struct settings *settings, const char *spelled, bool force,
		  struct names *made)
{
	struct names places __cleanup(names_free) = { .n = 0 };
	struct names fresh __cleanup(names_free) = { .n = 0 };
	int code = under_places(spelled, &places);
	bool had_it;

	for (size_t i = 0; code == EXIT_OK && i < places.n; i++) {
		had_it = false;
		code = insert_into(settings, places.v[i], force, &had_it);
		if (code == EXIT_OK && !had_it)
			names_add(&fresh, places.v[i]);
	}
	if (code == EXIT_OK && !fresh.n)
		code = fail(EXIT_IN_USE, "ioband is in %s already",
			    places.n == 1 ? places.v[0] : spelled);
	for (size_t i = 0; i < fresh.n; i++) {
		if (code == EXIT_OK) {
			hand_clear(&(struct hand_key){ .device = fresh.v[i], .key = HAND_EXTRACT });
			names_add(made, fresh.v[i]);
			warn(fresh.v[i]);
		} else {
			extract_from(fresh.v[i], &had_it);
		}
	}
	return code;
}

static int run(const struct args *args)
{
	struct names made __cleanup(names_free) = { .n = 0 };
	struct settings settings;
	int code = made_settings(args, &settings) ?: mapper_ready();

	if (code != EXIT_OK)
		return code;
	for (int i = 0; i < args->n; i++)
		code = first_failure(code, insert(&settings, args->operand[i],
						  args->value[OPTION_FORCE], &made));
	if (made.n)
		code = first_failure(code, made_report(&made, &settings, args->value[OPTION_JSON]));
	return code;
}

static const struct option_spec options[] = {
	{ OPTION_FORCE, "force", NULL, "even below a layer with one queue, as dm-crypt" },
	{ .name = NULL }
};

const struct verb verb_insert = {
	.name = "insert",
	.args = "DEVICE...",
	.summary = "Put ioband under device-mapper devices that are in use",
	.min = 1,
	.max = ARGS_ANY,
	.options = options,
	.shared = made_options,
	.run = run,
};
