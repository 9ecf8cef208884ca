// SPDX-License-Identifier: GPL-2.0-only
/* Files and directories of root, which users cannot change. */
#include <unistd.h>

#include "base/roots.h"

/* See whether only root may write a file or a directory. */
bool roots_is(const struct stat *info)
{
	return info->st_uid == geteuid() && !(info->st_mode & 0022);
}
