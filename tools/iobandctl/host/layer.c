// SPDX-License-Identifier: GPL-2.0-only
/*
 * Layers above a device that have one queue for the bios of all their users.
 *
 * dm-crypt encrypts in a few workers, and writes from one thread with a bounded number of
 * pages.  RAID 4, 5 and 6 have one cache of stripes.  If ioband below holds the bios of one
 * group, these pages or stripes are all taken by it, and the layer serves no other group.
 */
#include <string.h>

#include "base/words.h"
#include "host/layer.h"
#include "kernel/dm.h"

/* The effect on groups below such a layer, after its name. */
const char layer_cost[] =
	"has one queue for all its users: a slow group below it delays all others, for seconds";

/* raid4, raid5, raid6, and the layouts of the target raid, as raid5_ls. */
static bool is_parity(const char *level)
{
	const char *number = text_after(level, "raid");

	return number && *number >= '4' && *number <= '6';
}

/*
 * Check whether the key of a crypt target is in the kernel's keyring.
 * @words: its line in the table, from the cipher on
 */
bool layer_hides_key(const char *words)
{
	const char *key = strchr(words, ' ');

	return key && key[1] == ':';
}

static bool is_array(const struct device *device, const char *label, struct layer *found)
{
	char level[16];

	if (!device_attribute(device->major, device->minor, "md/level", level, sizeof(level)) ||
	    !is_parity(level))
		return false;
	problem_set(&found->what, "%s (%s)", label, level);
	problem_set(&found->remedy, "'iobandctl wrap %s' while it is not in use", label);
	return true;
}

static bool is_target(const struct mapped_target *target, const char *label, struct layer *found)
{
	const char *type = target->type;

	if (!strcmp(type, "crypt") && layer_hides_key(target->words))
		problem_set(&found->remedy,
			    "'cryptsetup refresh --disable-keyring %s' and 'iobandctl insert %s'",
			    label, label);
	else if (!strcmp(type, "crypt"))
		problem_set(&found->remedy, "'iobandctl insert %s'", label);
	else if (!strcmp(type, "integrity") || !strcmp(type, "vdo") ||
		 (!strcmp(type, "raid") && is_parity(target->words)))
		problem_set(&found->remedy, "'iobandctl wrap %s' while it is not in use", label);
	else
		return false;
	problem_set(&found->what, "%s (%s)", label, type);
	return true;
}

static bool is_mapped(const struct device *device, const char *label, struct layer *found)
{
	struct mapped_table table __cleanup(mapper_table_free) = { .n = 0 };
	bool is = false;

	if (!device_attribute(device->major, device->minor, "dm/name", NULL, 0) ||
	    mapper_table(label, &table))
		return false;
	for (size_t i = 0; i < table.n && !is; i++)
		is = is_target(&table.v[i], label, found);
	return is;
}

/*
 * Find a layer with one queue above a device.
 * @found: the lowest such layer of the first stack that has one
 */
bool layer_above(const struct device *device, struct layer *found)
{
	struct names above __cleanup(names_free) = { .n = 0 };
	char label[DEVICE_NAME_SIZE];
	struct device next;
	bool is = false;

	device_related(device, "holders", &above);
	for (size_t i = 0; i < above.n && !is; i++) {
		if (!device_of_kernel_name(above.v[i], &next))
			continue;
		device_label(next.major, next.minor, label);
		is = is_array(&next, label, found) || is_mapped(&next, label, found) ||
		     layer_above(&next, found);
	}
	return is;
}
