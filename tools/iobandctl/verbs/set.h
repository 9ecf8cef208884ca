/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_SET_H
#define IOBANDCTL_SET_H

#include "base/words.h"
#include "ioband/ioband.h"
#include "print/args.h"

#define SET_GROUP_SAYS							\
	"one or more of weight=, max_rbps=, max_wbps=, max_riops=, max_wiops=, min_rbps=, min_wbps=, min_riops=, min_wiops= and latency=, or max=default, min=default"
#define SET_POOL_SAYS							\
	"one or more of measure=, depth=, slice= and writes_starved=, or --device DEVICE and mode= as well"

bool set_pool_knows(struct span key);
int set_pool(const struct args *args);
int set_group(const struct args *args);
int set_twice(const char *word);
void set_say_undone(bool complete);
int get_pools(const struct args *args);

#endif
