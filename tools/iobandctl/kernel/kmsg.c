// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel log, where device-mapper writes why it refused something: an
 * errno is all that its ioctls return.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kernel/kmsg.h"
#include "kernel/parse.h"

#define RECORD_SIZE 8192	/* the kernel's own limit is below */

static int log_fd = -1;

/**
 * kmsg_mark() - remember the end of the kernel log
 *
 * To be called before what may fail.
 */
void kmsg_mark(void)
{
	if (log_fd < 0)
		log_fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (log_fd >= 0)
		lseek(log_fd, 0, SEEK_END);
}

static void append(char *reason, size_t size, const char *sentence)
{
	size_t length = strlen(reason);

	snprintf(reason + length, size - length, "%s%s", length ? "; " : "",
		 sentence);
}

/**
 * kmsg_reason() - why the kernel refused something
 * @error: the errno that it returned, positive
 *
 * Return: what ioband wrote to the kernel log since kmsg_mark(), or if that is
 * nothing, what @error means; valid until the next call.
 */
const char *kmsg_reason(int error)
{
	static char reason[512];
	char record[RECORD_SIZE], sentence[256];
	ssize_t length;

	reason[0] = 0;
	while (log_fd >= 0) {
		length = read(log_fd, record, sizeof(record) - 1);
		if (length < 0 && (errno == EPIPE || errno == EINTR))
			continue;	/* records were lost */
		if (length <= 0)
			break;
		record[length] = 0;
		if (parse_kernel_log(record, sentence, sizeof(sentence)))
			append(reason, sizeof(reason), sentence);
	}
	if (!reason[0])
		snprintf(reason, sizeof(reason),
			 "%s; the kernel log (dmesg) may say why",
			 strerror(error));
	return reason;
}
