/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_MADE_H
#define IOBANDCTL_MADE_H

#include "ioband/make.h"

/* For struct settings, and --json. */
extern const struct option_spec made_options[];

int made_settings(const struct args *args, struct settings *settings);
int made_report(const struct names *made, const struct settings *settings,
		bool json);

#endif
