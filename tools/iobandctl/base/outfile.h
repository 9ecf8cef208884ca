/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_OUTFILE_H
#define IOBANDCTL_OUTFILE_H

#include <stdio.h>

/**
 * struct outfile - a file that is being written beside the one it is to replace
 * @path: the one to replace
 * @beside: where it is written meanwhile
 * @stream: to write to
 */
struct outfile {
	const char *path;
	char *beside;
	FILE *stream;
};

int outfile_begin(struct outfile *outfile, const char *path);
int outfile_end(struct outfile *outfile);
void outfile_drop(struct outfile *outfile);

#endif
