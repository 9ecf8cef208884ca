// SPDX-License-Identifier: GPL-2.0-only
/*
 * What uses a device.  The linker has the calls below come here first (toolbuild.py), so that
 * there can be mounts and devices that this machine lacks.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/alloc.h"
#include "check.h"
#include "host/use.h"
#include "wrapped.h"

#define FAKE "/dev/ioband-fake"
#define FAKE_FILE "/memfd:ioband-fake"
#define FAKE_MAJOR 4000
#define CALLS_SIZE 16

static const struct device fake = { .path = FAKE, .major = FAKE_MAJOR, .minor = 1 };
static const char *mounts;	/* mountinfo instead of the kernel's, if any */
/*
 * S and X: the device opened shared and exclusively; s, x: closed.  Shared with the child in
 * which use_exclusive() does so.
 */
static char *calls;
static int shared_fd = -1, exclusive_fd = -1, exclusive_error;

int __wrap_open(const char *path, int flags, ...)
{
	bool exclusive = flags & O_EXCL;
	mode_t mode;
	va_list args;
	int fd;

	va_start(args, flags);
	mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
	va_end(args);
	if (strcmp(path, FAKE))
		return __real_open(path, flags, mode);
	strcat(calls, exclusive ? "X" : "S");
	fd = __real_open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (!exclusive)
		return shared_fd = fd;
	if (!exclusive_error)
		return exclusive_fd = fd;
	__real_close(fd);
	errno = exclusive_error;
	return -1;
}

int __wrap_close(int fd)
{
	if (fd >= 0 && (fd == shared_fd || fd == exclusive_fd))
		strcat(calls, fd == shared_fd ? "s" : "x");
	errno = 0;	/* as it may be after a call that succeeds */
	return __real_close(fd);
}

int __wrap_stat(const char *path, struct stat *info)
{
	if (strcmp(path, FAKE))
		return __real_stat(path, info);
	*info = (struct stat){
		.st_mode = S_IFBLK, .st_rdev = makedev(FAKE_MAJOR, 1),
	};
	return 0;
}

/* A file named FAKE_FILE stands for the device where it is open. */
int __wrap_statx(int directory, const char *name, int flags, unsigned int mask,
		 struct statx *info)
{
	char target[64] = "";

	if (readlinkat(directory, name, target, sizeof(target) - 1) < 0 ||
	    strncmp(target, FAKE_FILE, strlen(FAKE_FILE)))
		return __real_statx(directory, name, flags, mask, info);
	*info = (struct statx){
		.stx_mode = S_IFBLK, .stx_rdev_major = FAKE_MAJOR, .stx_rdev_minor = 1,
	};
	return 0;
}

int __wrap_mnt_table_parse_mtab(struct libmnt_table *table, const char *name)
{
	FILE *stream;
	int error;

	if (!mounts)
		return __real_mnt_table_parse_mtab(table, name);
	stream = fmemopen((char *)mounts, strlen(mounts), "r");
	error = mnt_table_parse_stream(table, stream, "mountinfo");
	fclose(stream);
	return error;
}

static void share_calls(void)
{
	calls = mmap(NULL, CALLS_SIZE, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(calls != MAP_FAILED);
}

static bool asked_exclusively(int error)
{
	struct problem use;

	*calls = 0;
	exclusive_error = error;
	return use_exclusive(&fake, &use);
}

/* No other program waits for a driver, or for the page cache, while O_EXCL is refused to it. */
void test_use_exclusive(void)
{
	share_calls();
	CHECK(!asked_exclusively(0));
	CHECK(same(calls, "SXxs"));
	CHECK(asked_exclusively(EBUSY));
	CHECK(same(calls, "SXs"));
	CHECK(!asked_exclusively(ENOMEDIUM));
	munmap(calls, CALLS_SIZE);
}

/* An mkfs that runs is found without an open, which could fail its own. */
void test_use_in_event(void)
{
	int fd = memfd_create("ioband-fake", MFD_CLOEXEC);
	char *path = xasprintf("/proc/self/fd/%d", fd);
	int reader = open(path, O_RDONLY | O_CLOEXEC);
	struct problem use;

	share_calls();
	exclusive_error = EBUSY;
	CHECK(use_in_event(&fake, true, true, &use));
	CHECK(same(calls, "SXs"));
	*calls = 0;
	CHECK(use_in_event(&fake, false, true, &use));
	CHECK(strstr(use.text, "(unit) has it open"));
	CHECK(!use_in_event(&fake, false, false, &use));
	close(fd);
	CHECK(!use_in_event(&fake, false, true, &use));
	CHECK(use_by_process(&fake, false, &use));
	close(reader);
	CHECK(!use_by_process(&fake, false, &use));
	CHECK(same(calls, ""));
	munmap(calls, CALLS_SIZE);
	free(path);
}

/* Users mount FUSE file systems themselves, with a source of their choice. */
void test_use_by_fuse(void)
{
	static const struct {
		const char *mounts;
		bool used;
	} all[] = {
		{ "30 1 0:40 / /mnt rw - btrfs " FAKE " rw\n", true },
		{ "30 1 0:40 / /mnt rw - fuse " FAKE " rw\n", false },
		{ "30 1 0:40 / /mnt rw - fuse.evil " FAKE " rw\n", false },
		{ "30 1 4000:1 / /mnt rw - fuseblk " FAKE " rw\n", true },
		{ "30 1 0:40 / /mnt rw - fuse " FAKE " rw\n"
		  "31 1 4000:1 / /home rw - ext4 " FAKE " rw\n", true },
		{ "30 1 0:40 / /mnt rw - btrfs /dev/null rw\n", false },
	};
	struct problem use;

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		mounts = all[i].mounts;
		CHECK(use_of_device(&fake, &use) == all[i].used);
	}
	mounts = NULL;
}
