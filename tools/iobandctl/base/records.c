// SPDX-License-Identifier: GPL-2.0-only
/* Where iobandctl writes down what it must know of the next time, until a reboot. */
#include "base/records.h"

/**
 * records_directory() - where they are
 *
 * Return: the directory, which need not be there yet.
 */
const char *records_directory(void)
{
	return "/run/iobandctl";
}
