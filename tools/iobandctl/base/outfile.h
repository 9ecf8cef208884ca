/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_OUTFILE_H
#define IOBANDCTL_OUTFILE_H

#include <stdio.h>

/* A file that is being written beside the one it is to replace. */
struct outfile {
	const char *path;	/* the one to replace */
	char *beside;	/* where it is written meanwhile */
	FILE *stream;	/* to write to */
};

int outfile_begin(struct outfile *outfile, const char *path);
int outfile_end(struct outfile *outfile);
void outfile_drop(struct outfile *outfile);

#endif
