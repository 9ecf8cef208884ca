/* SPDX-License-Identifier: GPL-2.0-only */
/* dm-ioband: the text interface. */
#ifndef DM_IOBAND_MESSAGE_H
#define DM_IOBAND_MESSAGE_H

#include "io.h"

int ioband_message(struct ioband_target *target, unsigned int argc, char **argv,
		   char *result, unsigned int maxlen, struct ioband_error *error);

#endif /* DM_IOBAND_MESSAGE_H */
