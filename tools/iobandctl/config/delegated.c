// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cgroups that root has delegated, and the patterns that their names can fit.
 *
 * A minimum goes before all weights, and a latency target throttles other groups.  If a
 * pattern gives them, each cgroup that fits has them.  Below a delegated cgroup a user
 * makes cgroups of any name and number.  The name of a cgroup that is delegated itself may
 * be a user's choice too, as that of a virtual machine or a container.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/roots.h"
#include "cgroup/cgroup.h"
#include "config/conf.h"
#include "config/delegated.h"

static bool has_attribute(int directory, const char *name)
{
	char value;

	return fgetxattr(directory, name, &value, 1) == 1 && value == '1';
}

/*
 * See whether a cgroup is delegated.  Return: whether it is, by its owner, or with the mark
 * of systemd's Delegate=.
 */
bool delegated_is(int directory)
{
	struct stat info;

	return fstat(directory, &info) || !roots_is(&info) ||
	       has_attribute(directory, "user.delegate") ||
	       has_attribute(directory, "trusted.delegate");
}

/* A search for patterns that give too much. */
struct search {
	const struct conf *conf;	/* with these patterns */
	bool *told;	/* by pattern: it was found */
	struct hierarchy hierarchy;	/* where the cgroups are */
};

static bool is_harmful(const struct conf_section *section)
{
	struct bounds bounds = conf_bounds(section);

	return bound_is_set(&bounds, MINIMUM) || bound_is_set(&bounds, LATENCY) ||
	       bound_is_set(&bounds, WRITE_LATENCY);
}

static void warn(const struct conf *conf, const struct conf_section *section, const char *path)
{
	struct bounds bounds = conf_bounds(section);
	enum bound bound = MINIMUM;
	char where[256];

	while (!bound_is_set(&bounds, bound))
		bound++;
	conf_where(conf, &section->value[conf_group_keys[GROUP_BOUNDS + bound]].place, where,
		   sizeof(where));
	note("note: %s: users can choose names that fit %s, as cgroup %s is delegated, %s %s; %s",
	     where, conf_group(section), path, "and each such cgroup gets the",
	     bound_kinds[bound].noun, "name one cgroup, or a slice that only root populates");
}

static bool is_delegated(const struct hierarchy *hierarchy, const char *path)
{
	char *name __free = xasprintf("%s%s", hierarchy->root, path);
	int directory = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool is = directory >= 0 && delegated_is(directory);

	if (directory >= 0)
		close(directory);
	return is;
}

static int look(const char *path, uint64_t id, void *data)
{
	struct search *search = data;
	const struct conf *conf = search->conf;

	(void)id;
	if (!path[1] || !is_delegated(&search->hierarchy, path))
		return EXIT_OK;
	for (size_t i = 0; i < conf->n_patterns; i++) {
		const struct conf_section *section = conf->patterns[i];

		if (search->told[i] || !is_harmful(section) || !conf_is_open_at(section, path))
			continue;
		search->told[i] = true;
		warn(conf, section, path);
	}
	return EXIT_OK;
}

/*
 * Tell of patterns that give minima and latency targets to users' cgroups.  Each is told of once.
 */
void delegated_warn(const struct conf *conf)
{
	struct search search = {
		.conf = conf,
		.told = xcalloc(conf->n_patterns, sizeof(*search.told)),
	};

	if (conf->n_patterns && hierarchy_look(&search.hierarchy))
		cgroup_walk(&search.hierarchy, "/", look, &search);
	free(search.told);
}
