// SPDX-License-Identifier: GPL-2.0-only
/* The kernel log.  The ioctls of device-mapper return only an errno; the log has the reason. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kernel/kmsg.h"
#include "kernel/parse.h"

#define RECORD_SIZE 8192	/* above the kernel's own limit */

static int log_fd = -1;

/*
 * Remember the end of the kernel log.  Call it before an operation, so that kmsg_reason()
 * can explain its failure.
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

	snprintf(reason + length, size - length, "%s%s", length ? "; " : "", sentence);
}

/*
 * The reason of a failure.
 * @error: the errno from the kernel, positive
 * Return: the text that ioband wrote to the kernel log since kmsg_mark(); without such a
 *	text, the meaning of @error.  Valid until the next call.
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
		snprintf(reason, sizeof(reason), "%s; the kernel log (dmesg) may say why",
			 strerror(error));
	return reason;
}
