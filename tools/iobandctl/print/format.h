/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_FORMAT_H
#define IOBANDCTL_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

#define FORMAT_SIZE 24

const char *format_bytes(uint64_t bytes, char buffer[FORMAT_SIZE]);
const char *format_units(uint64_t bytes, bool decimal, char buffer[FORMAT_SIZE]);
const char *format_time(uint64_t ns, char buffer[FORMAT_SIZE]);

#endif
