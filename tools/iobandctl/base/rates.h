/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_RATES_H
#define IOBANDCTL_RATES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/words.h"

/* In the order of the kernel's lists: bytes per second, then I/Os per second. */
enum rate { RBPS, WBPS, RIOPS, WIOPS, RATES };

#define RATE_MAX (1024ULL << 30)	/* per second, for bytes (1 TiB) and I/Os */
/* The arguments are the length and the start of the word that rates_plain() found. */
#define RATES_PLAIN_SAYS						\
	"%.*s: K, M, G and T are powers of 1000, as in systemd's IOReadBandwidthMax=, no longer of 1024"
#define RATES_PLAIN_REMEDY						\
	"write MB or the like for powers of 1000, MiB or the like for powers of 1024"
#define RATES_ALL ((1U << RATES) - 1)

/* The kinds of bounds: maximum and minimum rates, latency targets of reads and of writes. */
enum bound { MAXIMUM, MINIMUM, RATE_BOUNDS, LATENCY = RATE_BOUNDS, WRITE_LATENCY, BOUNDS };

/* A maximum or a minimum of a group. */
struct rates {
	uint64_t rate[RATES];	/* per second; 0 without a bound */
};

/* The notation of a kind of bound. */
struct bound_kind {
	const char *key;
	const char *message;	/* the message that sets it */
	const char *nothing;	/* no bound, in lists and messages */
	const char *none;	/* no bound, on the command line */
	const char *noun;	/* its name, which is also its key in the configuration */
	const char *nouns;	/* the plural of @noun */
};

extern const struct bound_kind bound_kinds[BOUNDS];
extern const char *const rate_names[RATES];

bool rate_is_bytes(enum rate rate);
bool rates_are_set(const struct rates *rates);
bool rates_are(const struct rates *rates, const struct rates *other);
int rates_read(const char *text, enum bound bound, struct rates *rates,
	       unsigned int *given, struct problem *problem);
bool rates_plain(const char *text, struct span *word);
bool rate_plain(const char *text, enum rate rate, struct span *word);
char *rates_explicit(const char *text);
bool rates_read_list(struct span list, enum bound bound, struct rates *rates);
char *rate_text(const struct rates *rates, enum bound bound, enum rate rate);
char *rates_text(const struct rates *rates);
char *rates_numbers(const struct rates *rates);
char *rates_list(const struct rates *rates, enum bound bound);
char *rates_words(const struct rates *rates, enum bound bound, unsigned int given);

#endif
