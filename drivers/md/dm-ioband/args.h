/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-ioband: words of the table line and of messages.
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
 * Reads that go before a write of the same stream, which waits longer.  Somebody waits for
 * a read, and mostly nobody for a write: two for one.  The name is that of a parameter of
 * mq-deadline, which counts batches.  With more than a hundred writes would as good as starve
 * indeed.
 */
#define IOBAND_WRITES_STARVED_DEFAULT	2
#define IOBAND_WRITES_STARVED_MAX	100

/*
 * What people write as 1T, of bytes, and more than any device does; of bios no less.  A
 * clock divides less than 2^62 and a rest that is less than the rate (sched/bucket.c),
 * so there is room for it in 64 bits, and would be up to 2^63.
 */
#define IOBAND_RATE_MAX		(1024ULL << 30)

/* A latency target, microseconds: ten seconds is as good as none. */
#define IOBAND_LATENCY_MAX_US	10000000

/**
 * enum ioband_mode - how the bios of a device are sorted into groups
 */
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

/**
 * enum ioband_kind - what a group stands for
 * @IOBAND_NR_KEYED: kinds below it are found by a number
 */
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

/**
 * enum ioband_key_word - keys of a setting, as bits of @ioband_settings.given
 */
enum ioband_key_word {
	IOBAND_KEY_MODE,
	IOBAND_KEY_WEIGHT,
	IOBAND_KEY_MEASURE,
	IOBAND_KEY_DEPTH,
	IOBAND_KEY_SLICE,
	IOBAND_KEY_WRITES_STARVED,
	IOBAND_NR_KEYS,
};

/**
 * struct ioband_settings - what key=value words said
 * @given: bit mask of &enum ioband_key_word
 * @mode: of the device
 * @weight: of the device
 * @measure: of the pool
 * @depth: of the pool; 0: auto
 * @piece_bytes: with @depth, the size of pieces in which large bios go; 0: whole,
 *	or with slices the largest size
 * @slice_ms: of the pool; 0: none
 * @writes_starved: of the pool, if given; else 0
 */
struct ioband_settings {
	unsigned int given;
	enum ioband_mode mode;
	u32 weight;
	enum ioband_measure measure;
	u32 depth;
	u32 piece_bytes;
	u32 slice_ms;
	u32 writes_starved;
};

/**
 * struct ioband_table - a table line
 * @device: the device below, as given
 * @start: first sector on it
 * @pool: name
 * @settings: the rest
 */
struct ioband_table {
	const char *device;
	u64 start;
	const char *pool;
	struct ioband_settings settings;
};

/**
 * struct ioband_spec - which group is meant
 * @kind: what it stands for
 * @id: cgroup id, uid, gid, pid, process group, or device number as
 *	major << 20 | minor; unused for the root, and if @path or @self is set
 * @path: path of a cgroup, or NULL
 * @self: the device that the message was sent to
 */
struct ioband_spec {
	enum ioband_kind kind;
	u64 id;
	const char *path;
	bool self;
};

enum ioband_verb {
	IOBAND_MSG_WEIGHT,
	IOBAND_MSG_MAX,
	IOBAND_MSG_MIN,
	IOBAND_MSG_LATENCY_TARGET,
	IOBAND_MSG_SET,
	IOBAND_MSG_GROUPS,
	IOBAND_MSG_STATS,
	IOBAND_MSG_LATENCY,
	IOBAND_MSG_PRESETS,
};

/**
 * struct ioband_message - a message
 * @verb: what to do
 * @preset: not now, but whenever the cgroup of that path comes
 * @spec: whose weight
 * @weight: to set; 0: back to the default
 * @rates: of a maximum or a minimum
 * @rates_given: which of them to set, a bit for each of rbps, wbps, riops, wiops
 * @latency_us: target for the group's reads; 0: none
 * @settings: what to set
 * @cursor: where the page starts
 */
struct ioband_message {
	enum ioband_verb verb;
	bool preset;
	struct ioband_spec spec;
	u32 weight;
	struct ioband_rates rates;
	unsigned int rates_given;
	u32 latency_us;
	struct ioband_settings settings;
	u32 cursor;
};

/**
 * struct ioband_error - a sentence that says what is wrong and what is right
 */
struct ioband_error {
	char text[192];
};

int ioband_args_table(struct ioband_table *table, unsigned int argc, char **argv,
		      struct ioband_error *error);
int ioband_args_message(struct ioband_message *message, unsigned int argc, char **argv,
			struct ioband_error *error);

bool ioband_message_gives(const struct ioband_message *message);
void ioband_rates_merge(struct ioband_rates *rates, const struct ioband_message *message);
bool ioband_rates_any(const struct ioband_rates *rates);

extern const char * const ioband_mode_names[IOBAND_NR_MODES];
extern const char * const ioband_measure_names[];

#endif /* DM_IOBAND_ARGS_H */
