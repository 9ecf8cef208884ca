// SPDX-License-Identifier: GPL-2.0-only
/* Sizes and times for people: three digits and a unit.  Pure. */
#include <stdio.h>

#include "print/format.h"

static void three_digits(double value, const char *unit, char buffer[FORMAT_SIZE])
{
	int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;

	snprintf(buffer, FORMAT_SIZE, "%.*f%s", decimals, value, unit);
}

static const char *format_size(uint64_t bytes, unsigned int base,
			       const char *end, char buffer[FORMAT_SIZE])
{
	static const char units[] = "KMGTPE";
	double value = bytes / (double)base;
	char unit[4];
	int i = 0;

	if (bytes < base) {
		snprintf(buffer, FORMAT_SIZE, "%uB", (unsigned int)bytes);
		return buffer;
	}
	for (; value >= base - 0.5 && units[i + 1]; i++)
		value /= base;
	snprintf(unit, sizeof(unit), "%c%s", units[i], end);
	three_digits(value, unit, buffer);
	return buffer;
}

/* Write a size, K being 1024. */
const char *format_bytes(uint64_t bytes, char buffer[FORMAT_SIZE])
{
	return format_size(bytes, 1024, "", buffer);
}

/*
 * Write a size with an explicit unit.
 * @decimal: KB or the like, powers of 1000; else KiB or the like
 */
const char *format_units(uint64_t bytes, bool decimal, char buffer[FORMAT_SIZE])
{
	return decimal ? format_size(bytes, 1000, "B", buffer) :
			 format_size(bytes, 1024, "iB", buffer);
}

/*
 * Write a duration.
 * @ns: the duration in nanoseconds
 */
const char *format_time(uint64_t ns, char buffer[FORMAT_SIZE])
{
	static const char *const units[] = { "us", "ms", "s" };
	double value = ns / 1000.0;
	int unit = 0;

	if (ns < 1000) {
		snprintf(buffer, FORMAT_SIZE, "%uns", (unsigned int)ns);
		return buffer;
	}
	for (; value >= 999.5 && unit < 2; unit++)
		value /= 1000;
	three_digits(value, units[unit], buffer);
	return buffer;
}
