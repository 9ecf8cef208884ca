// SPDX-License-Identifier: GPL-2.0-only
/* Files that others read at any time: they find the old text or the new, whole. */
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
	return fail(exit_code_of(error), "cannot write %s: %s", outfile->path,
		    strerror(error));
}

/* As open() would have made it. */
static int set_mode(int fd)
{
	mode_t mask = umask(0);

	umask(mask);
	return fchmod(fd, 0666 & ~mask);
}

/**
 * outfile_begin() - begin to write a file
 * @outfile: the result, for outfile_end()
 * @path: the file; it must outlive @outfile
 *
 * Return: an exit code; the user has been told if it is not EXIT_OK.
 */
int outfile_begin(struct outfile *outfile, const char *path)
{
	int fd, error;

	*outfile = (struct outfile){ .path = path };
	/* Not *.prom, which node_exporter would read. */
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

/**
 * outfile_end() - put the file in the place of the one before
 * @outfile: what outfile_begin() made
 *
 * It is not forced to the disk: what is lost with the machine was of no use
 * after it.
 *
 * Return: an exit code; the user has been told if it is not EXIT_OK.
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

/**
 * outfile_drop() - leave the file as it was before
 * @outfile: what outfile_begin() made
 */
void outfile_drop(struct outfile *outfile)
{
	fclose(outfile->stream);
	unlink(outfile->beside);
	free(outfile->beside);
}
