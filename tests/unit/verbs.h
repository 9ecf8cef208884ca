/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The messages that there are: what the tests know of them, and the module must.
 * argument_lines.py reads the names here, too.
 */
#ifndef UNIT_VERBS_H
#define UNIT_VERBS_H

#include "args.h"

static const char * const message_verbs[] = {
	[IOBAND_MSG_WEIGHT] = "weight",
	[IOBAND_MSG_MAX] = "max",
	[IOBAND_MSG_MIN] = "min",
	[IOBAND_MSG_LATENCY_TARGET] = "latency-target",
	[IOBAND_MSG_WRITE_LATENCY_TARGET] = "write-latency-target",
	[IOBAND_MSG_SET] = "set",
	[IOBAND_MSG_GROUPS] = "groups",
	[IOBAND_MSG_STATS] = "stats",
	[IOBAND_MSG_LATENCY] = "latency",
	[IOBAND_MSG_PRESETS] = "presets",
};

#endif /* UNIT_VERBS_H */
