// SPDX-License-Identifier: GPL-2.0-only
/* iobandctl explain: the reasons for a group's present share. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "ioband/group.h"
#include "ioband/tree.h"
#include "observe/explanation.h"
#include "observe/interval.h"
#include "print/print.h"
#include "verbs/verbs.h"

#define INTERVAL_S 2

enum { TYPE, POOL, DEVICE, GROUP, ID, WEIGHT, COMPETING, ENTITLED, SHARE, SECONDS,
	IOS_COUNT, BYTES_COUNT, WAIT, SERVICE, LOOKS_ALL, LOOKS_HELD,
	LOOKS_BUSY, INFLIGHT, BUSY, RATE, BOUND_PER_S,
	PER_S = BOUND_PER_S + RATE_BOUNDS, USED, LATENCY_US, READ_AVG,
	LATE, BRAKE, VERDICT, SAYS, COLUMNS };

static const struct column columns[COLUMNS] = {
	[TYPE] = { NULL, "type", COLUMN_TREE },
	[POOL] = { NULL, "pool", COLUMN_TEXT },
	[DEVICE] = { NULL, "device", COLUMN_TEXT },
	[GROUP] = { NULL, "group", COLUMN_TEXT },
	[ID] = { NULL, "id", COLUMN_TEXT },
	[WEIGHT] = { NULL, "weight", COLUMN_NUMBER },
	[COMPETING] = { NULL, "competing_weight", COLUMN_NUMBER },
	[ENTITLED] = { NULL, "entitled_pct", COLUMN_REAL },
	[SHARE] = { NULL, "share_pct", COLUMN_REAL },
	[SECONDS] = { NULL, "seconds", COLUMN_REAL },
	[IOS_COUNT] = { NULL, "ios", COLUMN_NUMBER },
	[BYTES_COUNT] = { NULL, "bytes", COLUMN_NUMBER },
	[WAIT] = { NULL, "wait_avg_ns", COLUMN_TIME },
	[SERVICE] = { NULL, "service_avg_ns", COLUMN_TIME },
	[LOOKS_ALL] = { NULL, "looks", COLUMN_NUMBER },
	[LOOKS_HELD] = { NULL, "looks_held", COLUMN_NUMBER },
	[LOOKS_BUSY] = { NULL, "looks_busy", COLUMN_NUMBER },
	[INFLIGHT] = { NULL, "inflight_avg", COLUMN_REAL },
	[BUSY] = { NULL, "busy_pct", COLUMN_REAL },
	[RATE] = { NULL, "rate", COLUMN_TEXT },
	[BOUND_PER_S + MAXIMUM] = { NULL, "max_per_s", COLUMN_NUMBER },
	[BOUND_PER_S + MINIMUM] = { NULL, "min_per_s", COLUMN_NUMBER },
	[PER_S] = { NULL, "per_s", COLUMN_REAL },
	[USED] = { NULL, "used_pct", COLUMN_REAL },
	[LATENCY_US] = { NULL, "latency_us", COLUMN_NUMBER },
	[READ_AVG] = { NULL, "read_avg_ns", COLUMN_TIME },
	[LATE] = { NULL, "late", COLUMN_FLAG },
	[BRAKE] = { NULL, "brake_bytes_per_s", COLUMN_NUMBER },
	[VERDICT] = { NULL, "verdict", COLUMN_TEXT },
	[SAYS] = { NULL, "says", COLUMN_TEXT },
};

static const char *const verdicts[] = {
	[VERDICT_IDLE] = "idle",
	[VERDICT_DEMAND] = "demand",
	[VERDICT_DEVICE] = "device",
	[VERDICT_MAXIMUM] = "maximum",
	[VERDICT_UNMET] = "unmet",
	[VERDICT_BELOW] = "below",
	[VERDICT_BRAKE] = "brake",
	[VERDICT_MINIMUM] = "minimum",
	[VERDICT_WEIGHT] = "weight",
	[VERDICT_PROMISED] = "promised",
	[VERDICT_SHORT] = "short",
	[VERDICT_YIELDS] = "yields",
};

/* The group to explain. */
struct question {
	const struct ioband_devices *devices;	/* all ioband devices */
	struct scope scope;	/* the pools and devices to search */
	const char *spelled;	/* the group, as on the command line */
	struct group_ref ref;	/* the group */
	struct table *table;	/* for JSON, or NULL */
	const struct groups *groups;	/* of the pool that is being explained */
	size_t found;	/* number of matching groups */
};

static struct row *print_group(const struct question *question, const char *type,
			       const struct ioband_group *group)
{
	char *name __free = tree_name(question->devices, question->groups, group);
	struct row *row = print_row(question->table);

	print_text(row, TYPE, type);
	print_text(row, GROUP, name);
	print_text(row, ID, group->name);
	return row;
}

static void print_part(const struct question *question, struct row *above, const char *type,
		       const struct ioband_group *group,
		       const struct explain_level *level, double share_pct)
{
	struct row *row = print_group(question, type, group);

	print_weight(row, WEIGHT, group->weight);
	if (level) {
		print_number(row, COMPETING, level->competing);
		print_real(row, ENTITLED, explain_part_pct(level));
	} else {
		print_real(row, SHARE, share_pct);
	}
	print_below(row, above);
}

static void print_bound(const struct question *question, struct row *above,
			const struct explain_bound *it, enum bound bound)
{
	const struct ioband_group *group = it->group;
	struct row *row = print_group(question, bound_kinds[bound].noun, group);

	print_text(row, RATE, rate_names[it->rate]);
	print_number(row, BOUND_PER_S + bound, group->bounds.of[bound].rate[it->rate]);
	print_real(row, PER_S, it->per_s);
	print_real(row, USED, it->used_pct);
	print_below(row, above);
}

static void print_target(const struct question *question, struct row *above,
			 const struct explain_target *it)
{
	const struct ioband_group *group = it->group;
	struct row *row = print_group(question, bound_kinds[it->bound].noun, group);

	print_number(row, IOS_COUNT, it->reads);
	print_number(row, LATENCY_US, group->bounds.latency_us[it->bound - LATENCY]);
	if (it->reads)
		print_number(row, READ_AVG, it->avg_ns);
	if (!it->capped) {
		print_real(row, USED, it->used_pct);
		print_flag(row, LATE, it->late);
	}
	print_below(row, above);
}

static void print_figures(struct row *row, const struct explanation *it)
{
	print_real(row, ENTITLED, it->entitled_pct);
	print_real(row, SHARE, it->share_pct);
	print_real(row, SECONDS, it->seconds);
	print_number(row, IOS_COUNT, it->done.ios);
	print_number(row, BYTES_COUNT, it->done.bytes);
	if (it->done.held_ios)
		print_number(row, WAIT, it->done.wait_ns / it->done.held_ios);
	if (it->done.ios)
		print_number(row, SERVICE, it->done.service_ns / it->done.ios);
	print_number(row, LOOKS_ALL, it->looks);
	print_number(row, LOOKS_HELD, it->held_looks);
	print_number(row, LOOKS_BUSY, it->busy_looks);
	print_real(row, INFLIGHT, it->inflight_avg);
	print_real(row, BUSY, it->busy_pct);
	print_number(row, BRAKE, it->brake_per_s);
	print_text(row, VERDICT, verdicts[explain_judge(it)]);
}

static void print_json(const struct question *question, const char *pool,
		       const struct ioband_device *owner, const struct ioband_group *group,
		       const struct explanation *it, char *said)
{
	struct row *row = print_group(question, "group", group);

	print_text(row, POOL, pool);
	if (owner)
		print_text(row, DEVICE, owner->dm->name);
	print_weight(row, WEIGHT, group->weight);
	print_figures(row, it);
	print_text(row, SAYS, said);
	for (size_t i = 0; i < it->levels; i++)
		print_part(question, row, "level", it->level[i].group, &it->level[i], 0);
	for (int bound = 0; bound < RATE_BOUNDS; bound++) {
		for (size_t i = 0; i < it->bound[bound].n; i++)
			print_bound(question, row, &it->bound[bound].v[i], bound);
	}
	for (size_t i = 0; i < it->n_targets; i++)
		print_target(question, row, &it->target[i]);
	for (size_t i = 0; i < it->others; i++)
		print_part(question, row, "other", it->other[i].group, NULL,
			   it->other[i].share_pct);
}

static void explain(struct question *question, const struct observation *pool,
		    const struct ioband_group *group)
{
	const struct ioband_table *table = &pool->speaker->table;
	const struct ioband_device *owner =
		tree_owner(question->devices, &pool->delta.groups, group);
	struct explanation explanation;
	char *said;

	explain_measure(pool, group, &explanation);
	said = explain_say(&explanation, table->measure);
	if (question->table) {
		print_json(question, table->pool, owner, group, &explanation, said);
	} else {
		if (question->found)
			print_line("%s", "");
		print_line("%s in pool %s%s%s:", question->spelled, table->pool,
			   owner ? ", on device " : "", owner ? owner->dm->name : "");
		print_lines("  ", said);
	}
	question->found++;
	free(said);
	explain_free(&explanation);
}

static void explain_in(struct question *question, const struct observation *pool)
{
	const struct groups *groups = &pool->delta.groups;

	question->groups = groups;
	for (size_t i = 0; i < groups->n; i++) {
		if (!strcmp(groups->v[i].name, question->ref.name) &&
		    tree_has(question->devices, groups, &groups->v[i],
			     question->scope.device))
			explain(question, pool, &groups->v[i]);
	}
}

static int explain_all(struct question *question, const struct targets *speakers, double seconds,
		       bool json)
{
	struct observation *pools __free = xcalloc(speakers->n, sizeof(*pools));
	int code = observe(speakers, seconds, pools), printed = EXIT_OK;

	if (json)
		question->table = print_table("explain", columns, COLUMNS, true);
	for (size_t i = 0; i < speakers->n; i++) {
		if (code == EXIT_OK)
			explain_in(question, &pools[i]);
	}
	if (json)
		printed = print_end(question->table);
	for (size_t i = 0; i < speakers->n; i++)
		observation_free(&pools[i]);
	if (code == EXIT_OK && !question->found)
		code = fail(EXIT_MISSING,
			    "%s did no I/O of late and has no weight of its own, so there is nothing to explain; 'iobandctl groups' shows the groups that there are",
			    question->spelled);
	return code ?: printed;
}

static int run(const struct args *args)
{
	struct ioband_devices devices __cleanup(ioband_free) = { .n = 0 };
	struct question question = { .devices = &devices, .spelled = args->operand[0] };
	struct targets speakers __cleanup(targets_free) = { .n = 0 };
	struct finder finder = { .devices = &devices };
	double seconds = INTERVAL_S;
	int code = interval_of(args, &seconds) ?:
		   ioband_load(&devices) ?:
		   ioband_scope(&devices, args, &question.scope) ?:
		   group_find(&finder, question.spelled, &question.scope, &question.ref);

	if (code == EXIT_OK) {
		ioband_pools(&devices, &question.scope, &speakers);
		code = explain_all(&question, &speakers, seconds, args->value[OPTION_JSON]);
	}
	return code;
}

static const struct option_spec options[] = {
	SPEC_DEVICE,
	SPEC_POOL,
	{ OPTION_INTERVAL, "interval", "SECONDS",
	  "for how long to watch (default: 2)" },
	SPEC_JSON,
	{ .name = NULL }
};

const struct verb verb_explain = {
	.name = "explain",
	.args = "GROUP",
	.summary = "Explain the share of a group, and the limits that keep it from more",
	.min = 1,
	.max = 1,
	.options = options,
	.run = run,
};
