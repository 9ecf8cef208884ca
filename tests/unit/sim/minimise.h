/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The simplest load that is as bad as another.
 */
#ifndef SIM_MINIMISE_H
#define SIM_MINIMISE_H

#include "load.h"

/* The more, the worse. */
typedef double (*load_badness)(const struct load *load);

/*
 * Take out groups, levels and settings, and make numbers simpler, one at a time, as long as
 * the load does not become less bad than it was at first.  At most @tries are looked at.
 */
void minimise(struct load *load, load_badness badness, u32 tries);

#endif /* SIM_MINIMISE_H */
