/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-ioband: parser of the table line and of messages.
 *
 * Pure: strings in, numbers or a sentence out.  The grammar is documented in
 * Documentation/dm-ioband.rst.
 */
#ifndef DM_IOBAND_ARGS_H
#define DM_IOBAND_ARGS_H

#include <linux/types.h>

#include "sched/cost.h"

#define IOBAND_POOL_NAME_MAX	63
#define IOBAND_SLICE_MAX_MS	1000

/*
 * Reads that go before a write of the same stream that waits longer.  A task mostly waits for a
 * read, and seldom for a write: two reads for one write.  The name is that of a parameter of
 * mq-deadline, which counts batches.  With more than a hundred, writes would in effect starve.
 */
#define IOBAND_WRITES_STARVED_DEFAULT	2
#define IOBAND_WRITES_STARVED_MAX	100

/*
 * 1T, of bytes: more than any device does; the same for bios.  A token bucket divides less than
 * 2^62 and a rest below the rate (sched/bucket.c), so the sum fits into 64 bits.  It would do so up
 * to a rate of 2^63.
 */
#define IOBAND_RATE_MAX		(1024ULL << 30)

/* A latency target, in microseconds: ten seconds have no effect in practice. */
#define IOBAND_LATENCY_MAX_US	10000000

/* How the bios of a device are sorted into groups. */
enum ioband_mode {
	IOBAND_MODE_CGROUP,
	IOBAND_MODE_DEVICE,
	IOBAND_MODE_DEVICE_CGROUP,
	IOBAND_MODE_UID,
	IOBAND_MODE_GID,
	IOBAND_MODE_PID,
	IOBAND_MODE_PGRP,
	IOBAND_NR_MODES,
};

/* The object for which a group stands. */
enum ioband_kind {
	IOBAND_KIND_CGROUP,
	IOBAND_KIND_UID,
	IOBAND_KIND_GID,
	IOBAND_KIND_PID,
	IOBAND_KIND_PGRP,
	IOBAND_NR_KEYED,
	IOBAND_KIND_DEVICE = IOBAND_NR_KEYED,
	IOBAND_KIND_ROOT,
};

/* Keys of settings, as bits of &ioband_settings.given. */
enum ioband_key_word {
	IOBAND_KEY_MODE,
	IOBAND_KEY_WEIGHT,
	IOBAND_KEY_MEASURE,
	IOBAND_KEY_DEPTH,
	IOBAND_KEY_SLICE,
	IOBAND_KEY_WRITES_STARVED,
	IOBAND_NR_KEYS,
};

/* Parsed key=value words. */
struct ioband_settings {
	unsigned int given;		/* bits of &enum ioband_key_word */
	enum ioband_mode mode;
	u32 weight;			/* of the device, or IOBAND_WEIGHT_IDLE */
	enum ioband_measure measure;
	u32 depth;			/* 0: auto */
	u32 split_bytes;		/* with @depth; 0: no splits, or with slices the largest */
	u32 slice_ms;			/* 0: none */
	u32 writes_starved;		/* 0: not given */
};

/* A parsed table line. */
struct ioband_table {
	const char *device;		/* as given */
	u64 start;			/* first sector on it */
	const char *pool;
	struct ioband_settings settings;
};

/* The group that a message names. */
struct ioband_spec {
	enum ioband_kind kind;
	u64 id;	/* of a cgroup, user, group or process, or dev_t; if not @path or @self */
	const char *path;		/* path of a cgroup, or NULL */
	bool self;			/* the device that got the message */
};

enum ioband_verb {
	IOBAND_MSG_WEIGHT,
	IOBAND_MSG_MAX,
	IOBAND_MSG_MIN,
	IOBAND_MSG_LATENCY_TARGET,
	IOBAND_MSG_WRITE_LATENCY_TARGET,
	IOBAND_MSG_SET,
	IOBAND_MSG_GROUPS,
	IOBAND_MSG_STATS,
	IOBAND_MSG_LATENCY,
	IOBAND_MSG_PRESETS,
};

/* A parsed message. */
struct ioband_message {
	enum ioband_verb verb;
	bool preset;			/* for each future cgroup of the path */
	struct ioband_spec spec;
	u32 weight;			/* or IOBAND_WEIGHT_IDLE; 0: the default */
	struct ioband_rates rates;	/* of a maximum or a minimum */
	unsigned int rates_given;	/* bits: rbps, wbps, riops, wiops */
	u32 latency_us;			/* 0: none */
	struct ioband_settings settings;
	u32 cursor;			/* the number after which the page starts */
};

/* A sentence for the user, with the mistake and a correct form. */
struct ioband_error {
	char text[192];
};

/* Write the sentence, and return the error @ret. */
#define ioband_args_fail(error, ret, ...) \
	(snprintf((error)->text, sizeof((error)->text), __VA_ARGS__), (ret))

int ioband_args_table(struct ioband_table *table, unsigned int argc, char **argv,
		      struct ioband_error *error);
int ioband_args_message(struct ioband_message *message, unsigned int argc, char **argv,
			struct ioband_error *error);

bool ioband_args_gives(const struct ioband_message *message);
void ioband_args_merge_rates(struct ioband_rates *rates, const struct ioband_message *message);
bool ioband_args_any_rate(const struct ioband_rates *rates);

extern const char * const ioband_args_mode_names[IOBAND_NR_MODES];
extern const char * const ioband_args_measure_names[];

#endif /* DM_IOBAND_ARGS_H */
