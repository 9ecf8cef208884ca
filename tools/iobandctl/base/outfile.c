// SPDX-License-Identifier: GPL-2.0-only
/* Files with concurrent readers: a reader sees the old text or the new, whole. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/outfile.h"

static int report(const struct outfile *outfile, int error)
{
	return fail(exit_code_of(error), "cannot write %s: %s", outfile->path, strerror(error));
}

/* Give the file the mode that open() would have given it. */
static int set_mode(int fd)
{
	mode_t mask = umask(0);

	umask(mask);
	return fchmod(fd, 0666 & ~mask);
}

/*
 * Begin to write a file.
 * @outfile: the result, for outfile_end()
 * @path: the file; it must outlive @outfile
 */
int outfile_begin(struct outfile *outfile, const char *path)
{
	int fd, error;

	*outfile = (struct outfile){ .path = path };
	/* The name must not end in .prom: node_exporter would read it. */
	outfile->beside = xasprintf("%s.XXXXXX", path);
	fd = mkstemp(outfile->beside);
	if (fd >= 0 && !set_mode(fd))
		outfile->stream = fdopen(fd, "w");
	if (outfile->stream)
		return EXIT_OK;
	error = errno;
	if (fd >= 0) {
		close(fd);
		unlink(outfile->beside);
	}
	free(outfile->beside);
	return report(outfile, error);
}

/*
 * Replace the previous file.
 *
 * The file is not synced to the disk: its contents are useless after a crash.
 */
int outfile_end(struct outfile *outfile)
{
	int error = 0;

	if (fflush(outfile->stream) || ferror(outfile->stream))
		error = errno;
	if (fclose(outfile->stream) && !error)
		error = errno;
	if (!error && rename(outfile->beside, outfile->path))
		error = errno;
	if (error)
		unlink(outfile->beside);
	free(outfile->beside);
	return error ? report(outfile, error) : EXIT_OK;
}

/* Discard the new text and leave the file unchanged. */
void outfile_drop(struct outfile *outfile)
{
	fclose(outfile->stream);
	unlink(outfile->beside);
	free(outfile->beside);
}
