/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MUTANT_H
#define MUTANT_H

/*
 * The number of the active mutant, see schemata.py.  Each object defines it; the linker keeps
 * one definition.
 */
#include <linux/compiler.h>
#include <stdlib.h>

__weak int mutant;

static __attribute__((constructor)) void mutant_choose(void)
{
	const char *number = getenv("IOBAND_MUTANT");

	mutant = number ? atoi(number) : 0;
}

#endif /* MUTANT_H */
