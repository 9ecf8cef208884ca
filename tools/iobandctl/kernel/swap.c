// SPDX-License-Identifier: GPL-2.0-only
/*
 * The switch of a device to its loaded table.  The switch happens only if the
 * device is still in the state for which the table was made.  After a failed
 * switch the device returns to its previous table.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "kernel/kmsg.h"
#include "kernel/swap.h"

/* The words that identify an ioband table: the device below, the offset, the pool. */
#define IOBAND_WORDS 3

/* To an ioband table the kernel appends the settings that it chose itself. */
static bool same_words(const char *type, const char *left, const char *right)
{
	size_t length = 0;

	if (strcmp(type, "ioband"))
		return !strcmp(left, right);
	for (int i = 0; i < IOBAND_WORDS; i++) {
		length += strspn(left + length, " ");
		length += strcspn(left + length, " ");
	}
	return !strncmp(left, right, length) && (!right[length] || right[length] == ' ');
}

/*
 * Check whether two tables are the same.
 * @left: the table as it was loaded, or as the kernel prints it
 *
 * Tables of ioband are the same if device below, offset and pool are; settings do not count.
 */
bool swap_same(const struct mapped_table *left, const struct mapped_table *right)
{
	bool same = left->n == right->n;

	for (size_t i = 0; same && i < left->n; i++) {
		const struct mapped_target *l = &left->v[i], *r = &right->v[i];

		same = l->start == r->start && l->sectors == r->sectors &&
		       !strcmp(l->type, r->type) &&
		       same_words(l->type, l->words, r->words);
	}
	return same;
}

static bool has(const char *name, const struct mapped_table *table,
		int (*read)(const char *name, struct mapped_table *table))
{
	struct mapped_table found __cleanup(mapper_table_free);

	return !read(name, &found) && swap_same(table, &found);
}

/* Clear the loaded table unless it is another program's. */
static int refuse(const struct swap *swap, const char *what, struct problem *problem)
{
	int error = has(swap->name, swap->loaded, mapper_waiting) ? mapper_clear(swap->name) : 0;

	if (error)
		problem_set(problem,
			    "another program has %s; a table waits for its next resume: 'dmsetup clear %s'",
			    what, swap->name);
	else
		problem_set(problem, "another program has %s meanwhile; nothing was changed", what);
	return -EBUSY;
}

static int check(const struct swap *swap, struct problem *problem)
{
	struct mapped_device state;

	if (!mapper_state(swap->name, &state)) {
		problem_set(problem, "it is gone");
		return -ENXIO;
	}
	if (state.suspended)
		return refuse(swap, "suspended it", problem);
	if (!has(swap->name, swap->own, mapper_table))
		return refuse(swap, "given it another table", problem);
	if (!has(swap->name, swap->loaded, mapper_waiting))
		return refuse(swap, "replaced the table that was loaded for it", problem);
	return 0;
}

/* The device may be suspended with either table.  Return it to its own table. */
static int recover(const struct swap *swap)
{
	struct mapped_device state;
	int error = 0;

	if (!mapper_state(swap->name, &state))
		return -ENXIO;
	if (!state.suspended)
		return state.loaded ? mapper_clear(swap->name) : 0;
	if (has(swap->name, swap->own, mapper_table))
		error = state.loaded ? mapper_clear(swap->name) : 0;
	else
		error = mapper_load(swap->name, swap->own, swap->read_only);
	return mapper_switch(swap->name) ?: error;
}

static void undo(const struct swap *swap, int error, struct problem *problem)
{
	const char *reason = kmsg_reason(-error);
	int left = recover(swap);
	struct mapped_device state;

	if (!mapper_state(swap->name, &state))
		problem_set(problem, "%s; it is gone", reason);
	else if (state.suspended)
		problem_set(problem, "%s; %s is suspended: 'dmsetup resume %s'", reason, swap->name,
			    swap->name);
	else if (state.loaded)
		problem_set(problem, "%s; a table waits for its next resume: 'dmsetup clear %s'",
			    reason, swap->name);
	else if (left || !has(swap->name, swap->own, mapper_table))
		problem_set(problem, "%s; it has not got its table back, see 'dmsetup table %s'",
			    reason, swap->name);
	else
		problem_set(problem, "%s; it is as it was", reason);
}

/*
 * Make a device use the table that was loaded for it.
 * @problem: the error, and the state of the device afterwards
 *
 * Signals stay blocked, because the kernel would stop the switch halfway on a signal.  The
 * program's memory is locked: the program may have to resume the device that its pages
 * would be read from.
 */
int swap_tables(const struct swap *swap, struct problem *problem)
{
	sigset_t all, before;
	int error;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	mlockall(MCL_CURRENT | MCL_FUTURE);
	error = check(swap, problem);
	if (!error) {
		error = mapper_switch(swap->name);
		if (error)
			undo(swap, error, problem);
	}
	munlockall();
	sigprocmask(SIG_SETMASK, &before, NULL);
	return error;
}
