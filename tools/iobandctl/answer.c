// SPDX-License-Identifier: GPL-2.0-only
/* What is set for a group, in each pool and tree that has it: for the verbs get-*. */
#include "answer.h"
#include "group.h"
#include "query.h"

/**
 * struct answer - what is printed
 * @kind: what is asked
 * @args: the command line
 * @devices: all
 * @table: made for the first line
 */
struct answer {
	const struct answer_kind *kind;
	const struct args *args;
	const struct ioband_devices *devices;
	struct table *table;
};

static int print_answer(const struct ioband_device *device,
			const struct group_ref *ref, void *data)
{
	struct answer *answer = data;
	const struct ioband_group *group;
	struct groups groups;
	struct row *row;
	int code = query_groups(device, &groups);

	if (!answer->table)
		answer->table = print_table(answer->kind->name,
					    answer->kind->columns,
					    answer->kind->n,
					    answer->args->value[OPTION_JSON]);
	if (code == EXIT_OK) {
		group = group_listed(answer->devices, &groups, ref, device);
		row = print_row(answer->table);
		print_text(answer->table, row, ANSWER_POOL, device->table.pool);
		if (ref->mode && ioband_has_group(device))
			print_text(answer->table, row, ANSWER_DEVICE,
				   device->dm->name);
		print_text(answer->table, row, ANSWER_GROUP,
			   group && group->path ? group->path :
						  answer->args->operand[0]);
		answer->kind->fill(answer->table, row, group);
	}
	groups_free(&groups);
	return code;
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
	int code = ioband_load(&devices), printed = EXIT_OK;

	if (code != EXIT_OK)
		return code;
	code = group_visit(&devices, args, print_answer, &answer);
	if (answer.table)
		printed = print_end(answer.table);
	ioband_free(&devices);
	return code == EXIT_OK ? printed : code;
}
