// SPDX-License-Identifier: GPL-2.0-only
/* Sizes and times for people: three digits and a unit.  Pure. */
#include <stdio.h>

#include "print/format.h"

static void three_digits(double value, const char *unit,
			 char buffer[FORMAT_SIZE])
{
	int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;

	snprintf(buffer, FORMAT_SIZE, "%.*f%s", decimals, value, unit);
}

/**
 * format_bytes() - write a size, K being 1024
 * @bytes: the size
 * @buffer: for the text
 *
 * Return: @buffer.
 */
const char *format_bytes(uint64_t bytes, char buffer[FORMAT_SIZE])
{
	static const char *const units[] = { "K", "M", "G", "T", "P", "E" };
	double value = bytes / 1024.0;
	int unit = 0;

	if (bytes < 1024) {
		snprintf(buffer, FORMAT_SIZE, "%uB", (unsigned int)bytes);
		return buffer;
	}
	for (; value >= 1023.5 && unit < 5; unit++)
		value /= 1024;
	three_digits(value, units[unit], buffer);
	return buffer;
}

/**
 * format_time() - write a duration
 * @ns: the duration in nanoseconds
 * @buffer: for the text
 *
 * Return: @buffer.
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
