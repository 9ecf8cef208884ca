// SPDX-License-Identifier: GPL-2.0-only
/* Small text files that are read at once. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/infile.h"

/*
 * Read a whole file.
 * @path: "-" for standard input
 * @text: to be freed, after a failure too
 * Return: 0 or an errno; EILSEQ if the file has a NUL byte.
 */
int infile_read(const char *path, char **text)
{
	FILE *file = strcmp(path, "-") ? fopen(path, "re") : stdin;
	size_t size = 0;
	ssize_t length;
	int error = 0;

	*text = NULL;
	if (!file)
		return errno;
	length = getdelim(text, &size, 0, file);
	if (ferror(file)) {
		error = errno;
	} else if (length < 0) {
		free(*text);
		*text = xstrdup("");
	} else if (length && !(*text)[length - 1]) {
		error = EILSEQ;
	}
	if (file != stdin)
		fclose(file);
	return error;
}

/*
 * Read the first line of a file, without its newline.
 * @line: unchanged after a failure; NULL checks only that the file can be opened
 */
bool infile_line(const char *path, char *line, size_t size)
{
	FILE *file __cleanup(close_file) = fopen(path, "re");
	bool read = file && (!line || fgets(line, size, file));

	if (read && line)
		line[strcspn(line, "\n")] = 0;
	return read;
}
