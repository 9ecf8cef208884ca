// SPDX-License-Identifier: GPL-2.0-only
/* The state that iobandctl keeps between its runs, until a reboot. */
#include "base/records.h"

/* The directory of that state.  Return: the directory, which may not exist. */
const char *records_directory(void)
{
	return "/run/iobandctl";
}
