/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_RECORDS_H
#define IOBANDCTL_RECORDS_H

const char *records_directory(void);

#endif
