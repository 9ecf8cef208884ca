// SPDX-License-Identifier: GPL-2.0-only
/* The present words of each kind, for shells. */
#include <string.h>

#include "base/alloc.h"
#include "base/show.h"
#include "host/device.h"
#include "ioband/query.h"
#include "ioband/tree.h"
#include "print/print.h"
#include "verbs/completion.h"

static void add_group(const struct ioband_devices *devices, const struct groups *groups,
		      const struct ioband_group *group, struct names *words)
{
	char *name __free = tree_name(devices, groups, group);

	/* Shells print words, and put them into the command, unescaped. */
	names_add(words, show_is_needless(name, stdout) ? name : group->name);
}

static int add_groups(const struct ioband_devices *devices,
		      const struct ioband_device *speaker, struct names *words)
{
	struct groups groups __cleanup(groups_free);
	int code = query_groups(speaker, &groups);

	for (size_t i = 0; code == EXIT_OK && i < groups.n; i++)
		add_group(devices, &groups, &groups.v[i], words);
	return code;
}

static int add_all_groups(const struct ioband_devices *devices, struct names *words)
{
	const struct scope all = { .device = NULL };
	struct targets speakers __cleanup(targets_free);
	int code = EXIT_OK;

	ioband_pools(devices, &all, &speakers);
	for (size_t i = 0; i < speakers.n && code == EXIT_OK; i++)
		code = add_groups(devices, speakers.v[i], words);
	return code;
}

static int add_words(const char *kind, struct names *words)
{
	struct ioband_devices devices __cleanup(ioband_free);
	int code = ioband_load(&devices);

	if (code == EXIT_OK && !strcmp(kind, "GROUP"))
		code = add_all_groups(&devices, words);
	for (size_t i = 0; i < devices.n && strcmp(kind, "GROUP"); i++) {
		const struct ioband_device *device = &devices.v[i];

		if (strcmp(kind, "POOL"))
			names_add(words, device->dm->name);
		if ((!strcmp(kind, "POOL") || !strcmp(kind, "PLACE")) && device->dm->table)
			names_add(words, device->table.pool);
	}
	return code;
}

/*
 * Print the words of a kind, a line each.
 * @kind: a kind for which completion_is_asked() is true
 */
int completion_words(const char *kind, const struct verb *const *verbs)
{
	struct names words __cleanup(names_free) = { .n = 0 };
	int code = EXIT_OK;

	if (strcmp(kind, "VERB"))
		code = add_words(kind, &words);
	for (; !strcmp(kind, "VERB") && *verbs; verbs++)
		names_add(&words, (*verbs)->name);
	for (size_t i = 0; code == EXIT_OK && i < words.n; i++)
		print_line("%s", words.v[i]);
	return code ?: print_flush();
}
