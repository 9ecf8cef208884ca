// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is set for a group, in each pool and tree that has it: for the verbs get-*,
 * and for those that set it, after that.
 */
#include "ioband/group.h"
#include "ioband/query.h"
#include "verbs/answer.h"

/**
 * struct answer - what is printed
 * @kind: what is asked
 * @args: the command line
 * @devices: all
 * @table: made for the first line
 * @set: sets it first; NULL if it is only asked
 * @data: for @set
 */
struct answer {
	const struct answer_kind *kind;
	const struct args *args;
	const struct ioband_devices *devices;
	struct table *table;
	group_visitor set;
	void *data;
};

static void add_row(struct answer *answer, const struct ioband_device *device,
		    const struct group_ref *ref, const struct groups *groups)
{
	const struct ioband_group *group =
		group_listed(answer->devices, groups, ref, device);
	struct row *row;

	if (!answer->table)
		answer->table = print_table(answer->kind->name,
					    answer->kind->columns,
					    answer->kind->n,
					    answer->args->value[OPTION_JSON]);
	row = print_row(answer->table);
	print_text(answer->table, row, ANSWER_POOL, device->table.pool);
	if (ref->mode && ioband_has_group(device))
		print_text(answer->table, row, ANSWER_DEVICE, device->dm->name);
	print_text(answer->table, row, ANSWER_GROUP,
		   group && group->path ? group->path :
					  answer->args->operand[0]);
	answer->kind->fill(answer->table, row, group);
}

static int print_answer(const struct ioband_device *device,
			const struct group_ref *ref, void *data)
{
	struct answer *answer = data;
	struct groups groups;
	int code = query_groups(device, &groups);

	if (code == EXIT_OK)
		add_row(answer, device, ref, &groups);
	groups_free(&groups);
	return code;
}

/* The verbs that set something print it as JSON only. */
static int set_and_print(const struct ioband_device *device,
			 const struct group_ref *ref, void *data)
{
	struct answer *answer = data;
	int code = answer->set(device, ref, answer->data);

	if (code != EXIT_OK || !answer->args->value[OPTION_JSON])
		return code;
	return print_answer(device, ref, answer);
}

static int visit(struct answer *answer)
{
	int code = group_visit(answer->devices, answer->args,
			       answer->set ? set_and_print : print_answer,
			       answer);
	int printed = answer->table ? print_end(answer->table) : EXIT_OK;

	return code == EXIT_OK ? printed : code;
}

/**
 * answer_run() - print what is set for the group that a command line names
 * @kind: what is asked
 * @args: the command line
 *
 * Return: an exit code; the user has been told if it is not EXIT_OK.
 */
int answer_run(const struct answer_kind *kind, const struct args *args)
{
	struct ioband_devices devices;
	struct answer answer = {
		.kind = kind, .args = args, .devices = &devices,
	};
	int code = ioband_load(&devices);

	if (code != EXIT_OK)
		return code;
	code = visit(&answer);
	ioband_free(&devices);
	return code;
}

/**
 * answer_set() - set something for the group that a command line names
 * @kind: what is set; with --json, what it is then is printed where it could be
 *	set
 * @devices: all
 * @args: the command line
 * @set: sets it, called for each device that messages about the group go to
 * @data: for @set
 *
 * Return: an exit code, that of the first failure; the user has been told.
 */
int answer_set(const struct answer_kind *kind,
	       const struct ioband_devices *devices, const struct args *args,
	       group_visitor set, void *data)
{
	struct answer answer = {
		.kind = kind, .args = args, .devices = devices,
		.set = set, .data = data,
	};

	return visit(&answer);
}
