// SPDX-License-Identifier: GPL-2.0-only
/* Devices that take no I/O for now, as sysfs and device-mapper tell, or as a read shows. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/defs.h"
#include "base/infile.h"
#include "base/words.h"
#include "host/blockage.h"
#include "host/reach.h"
#include "kernel/dm.h"

#define READ_SIZE 4096	/* a multiple of all sectors */

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
	char state[32] = "";

	device_attribute(device->major, device->minor, "device/state", state, sizeof(state));
	if (!text_is(state, "blocked", "created-block", "quiesce", "connecting", "resetting"))
		return false;
	problem_set(&found->why, "%s is in state '%s', and queues I/O until that ends", label,
		    state);
	problem_set(&found->remedy, "see the kernel log about its connection");
	return true;
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
	struct names below __cleanup(names_free) = { .n = 0 };
	bool is = blockage_at(device, found);
	struct device next;

	if (!is && device_whole_disk(device, &next))
		return blockage_below(&next, found);
	if (!is)
		device_related(device, "slaves", &below);
	for (size_t i = 0; i < below.n && !is; i++)
		is = device_of_kernel_name(below.v[i], &next) && blockage_below(&next, found);
	return is;
}

/*
 * See whether I/O to a device would wait.
 * @reason: as blockage_below(), in one sentence
 */
bool blockage_reason(const struct device *device, struct problem *reason)
{
	struct blockage found;
	bool is = blockage_below(device, &found);

	if (is)
		problem_set(reason, "%.250s; %.250s", found.why.text, found.remedy.text);
	return is;
}

/* Before a change that waits for I/O: see whether that goes on. */
int blockage_check(const struct device *device)
{
	struct problem reason;

	if (!blockage_reason(device, &reason))
		return EXIT_OK;
	return fail(EXIT_FAILED, "%s does not answer: %s", device->path, reason.text);
}

static int read_start(const void *path, void *answer)
{
	static char start[READ_SIZE] __aligned(READ_SIZE);
	int fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);

	(void)answer;
	return fd < 0 || pread(fd, start, sizeof(start), 0) < 0 ? -errno : 0;
}

/* The number of reads and writes that devices have completed. */
static uint64_t completed(const struct names *numbers)
{
	unsigned long long reads, writes;
	uint64_t sum = 0;

	for (size_t i = 0; i < numbers->n; i++) {
		char *path __free = xasprintf("/sys/dev/block/%s/stat", numbers->v[i]);
		char text[256];

		if (infile_line(path, text, sizeof(text)) &&
		    sscanf(text, "%llu %*s %*s %*s %llu", &reads, &writes) == 2)
			sum += reads + writes;
	}
	return sum;
}

/*
 * Before a device is made, which udev reads: see whether the device below completes a read
 * within a second.  If any other I/O to it completes, it is only slow.
 */
int blockage_try(const struct device *device)
{
	struct names stack __cleanup(names_free) = { .n = 0 };
	uint64_t before, after;
	int error;

	device_stack(device, &stack);
	before = completed(&stack);
	error = reach_run(read_start, device->path, NULL, 0);
	after = completed(&stack);
	if (error != -ETIMEDOUT || after != before)
		return EXIT_OK;
	return fail(EXIT_FAILED,
		    "%s did not answer within a second: a read of its start has not completed; try again, or see the kernel log",
		    device->path);
}
