// SPDX-License-Identifier: GPL-2.0-only
/*
 * Text for people, on its way out.  Names of cgroups, processes, mount points and devices
 * are in it, which any user may have chosen: a terminal must not obey them, and a reader
 * must not take them for another line or another order of the letters.  All text output
 * and all messages pass here; JSON has escapes of its own.
 */
#include <langinfo.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/show.h"
#include "base/words.h"

/*
 * Make a line of text fit to be seen.
 * @stream: where it will go; a terminal without UTF-8 gets ASCII only, as it may take a
 *	byte of a letter for a control character
 * Return: the line, to be freed.
 */
char *show(const char *text, FILE *stream)
{
	bool ascii = isatty(fileno(stream)) && strcmp(nl_langinfo(CODESET), "UTF-8");

	return text_visible(text, ascii);
}

/* Whether show() would not change a text. */
bool show_is_needless(const char *text, FILE *stream)
{
	char *shown __free = show(text, stream);

	return !strcmp(shown, text);
}
