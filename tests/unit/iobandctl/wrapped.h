/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef WRAPPED_H
#define WRAPPED_H

#include <libmount.h>
#include <sys/stat.h>

/* Calls that the linker has come to test-use.c, and the real ones. */
int __real_open(const char *path, int flags, ...);
int __real_close(int fd);
int __real_stat(const char *path, struct stat *info);
int __real_statx(int directory, const char *name, int flags, unsigned int mask,
		 struct statx *info);
int __real_mnt_table_parse_mtab(struct libmnt_table *table, const char *name);
int __wrap_open(const char *path, int flags, ...);
int __wrap_close(int fd);
int __wrap_stat(const char *path, struct stat *info);
int __wrap_statx(int directory, const char *name, int flags, unsigned int mask,
		 struct statx *info);
int __wrap_mnt_table_parse_mtab(struct libmnt_table *table, const char *name);

#endif
