/* SPDX-License-Identifier: GPL-2.0-only */
/* dm-ioband: the hidden disk. */
#ifndef DM_IOBAND_DETOUR_H
#define DM_IOBAND_DETOUR_H

#include "io.h"

int ioband_detour_init(void);
void ioband_detour_exit(void);
void ioband_detour_ask(struct bio *bio);

#endif /* DM_IOBAND_DETOUR_H */
