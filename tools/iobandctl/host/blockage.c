// SPDX-License-Identifier: GPL-2.0-only
/* Devices that take no I/O for now, as sysfs and device-mapper tell. */
#include <string.h>

#include "base/words.h"
#include "host/blockage.h"
#include "kernel/dm.h"

static bool is_suspended(const struct device *device, const char *label, struct blockage *found)
{
	char text[8];

	if (!device_attribute(device->major, device->minor, "dm/suspended",
			      text, sizeof(text)) || strcmp(text, "1"))
		return false;
	problem_set(&found->why, "%s is suspended", label);
	problem_set(&found->remedy, "'dmsetup resume %s', if no program is changing it", label);
	return true;
}

static bool is_pathless(const struct device *device, const char *label, struct blockage *found)
{
	char uuid[MAPPER_UUID_SIZE];

	if (!device_attribute(device->major, device->minor, "dm/uuid", uuid, sizeof(uuid)) ||
	    !text_after(uuid, "mpath-") ||
	    !mapper_is_pathless(label))
		return false;
	problem_set(&found->why, "%s has no path, and queues I/O until one is back", label);
	problem_set(&found->remedy, "'multipath -ll %s' shows the paths", label);
	return true;
}

/* SCSI and NVMe devices in these states leave requests in the queue. */
static bool is_queueing(const struct device *device, const char *label, struct blockage *found)
{
	static const char *const states[] = {
		"blocked", "created-block", "quiesce", "connecting", "resetting",
	};
	char state[32] = "";

	device_attribute(device->major, device->minor, "device/state", state, sizeof(state));
	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		if (strcmp(state, states[i]))
			continue;
		problem_set(&found->why, "%s is in state '%s', and queues I/O until that ends",
			    label, state);
		problem_set(&found->remedy, "see the kernel log about its connection");
		return true;
	}
	return false;
}

/*
 * See whether a device itself takes no I/O for now.
 * @found: the reason, and what to do
 * Return: whether I/O to it would wait.
 */
bool blockage_at(const struct device *device, struct blockage *found)
{
	char label[DEVICE_NAME_SIZE];

	device_label(device->major, device->minor, label);
	return is_suspended(device, label, found) ||
	       is_pathless(device, label, found) ||
	       is_queueing(device, label, found);
}

/*
 * See whether I/O to a device would wait.
 * @found: which device is the reason, this one or one below, and what to do
 *
 * Only states that the kernel tells of count.
 */
bool blockage_below(const struct device *device, struct blockage *found)
{
	struct names below = { .n = 0 };
	bool is = blockage_at(device, found);
	struct device next;

	if (!is && device_whole_disk(device, &next))
		return blockage_below(&next, found);
	if (!is)
		device_related(device, "slaves", &below);
	for (size_t i = 0; i < below.n && !is; i++)
		is = device_of_kernel_name(below.v[i], &next) && blockage_below(&next, found);
	names_free(&below);
	return is;
}

/* Before a change that waits for I/O: see whether that goes on. */
int blockage_check(const struct device *device)
{
	struct blockage found;

	if (!blockage_below(device, &found))
		return EXIT_OK;
	return fail(EXIT_FAILED, "%s does not answer: %s; %s", device->path,
		    found.why.text, found.remedy.text);
}
