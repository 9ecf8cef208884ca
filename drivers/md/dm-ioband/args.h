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
 * enum ioband_kind - the object for which a group stands
 * @IOBAND_NR_KEYED: number of kinds that are found by a number
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
 * enum ioband_key_word - keys of settings, as bits of &ioband_settings.given
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
 * struct ioband_settings - parsed key=value words
 * @given: bit mask of &enum ioband_key_word
 * @mode: mode of the device
 * @weight: weight of the device, or IOBAND_WEIGHT_IDLE
 * @measure: measure of the pool
 * @depth: in-flight limit of the pool; 0: auto
 * @split_bytes: with @depth, the size of splits of large bios; 0: no splits, or with slices the
 *	largest size
 * @slice_ms: length of the pool's slices; 0: none
 * @writes_starved: setting of the pool, if given; otherwise 0
 */
struct ioband_settings {
	unsigned int given;
	enum ioband_mode mode;
	u32 weight;
	enum ioband_measure measure;
	u32 depth;
	u32 split_bytes;
	u32 slice_ms;
	u32 writes_starved;
};

/**
 * struct ioband_table - a parsed table line
 * @device: the device below, as given
 * @start: first sector on it
 * @pool: name of the pool
 * @settings: the other words
 */
struct ioband_table {
	const char *device;
	u64 start;
	const char *pool;
	struct ioband_settings settings;
};

/**
 * struct ioband_spec - the group that a message names
 * @kind: see &enum ioband_kind
 * @id: cgroup id, uid, gid, pid, process group, or device number as major << 20 | minor; unused for
 *	the root, and if @path or @self is set
 * @path: path of a cgroup, or NULL
 * @self: the device that got the message
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
	IOBAND_MSG_WRITE_LATENCY_TARGET,
	IOBAND_MSG_SET,
	IOBAND_MSG_GROUPS,
	IOBAND_MSG_STATS,
	IOBAND_MSG_LATENCY,
	IOBAND_MSG_PRESETS,
};

/**
 * struct ioband_message - a parsed message
 * @verb: the action
 * @preset: the setting is a preset, for each future cgroup of the path
 * @spec: the group
 * @weight: weight to set, or IOBAND_WEIGHT_IDLE; 0: the default
 * @rates: rates of a maximum or a minimum
 * @rates_given: rates to set, a bit for each of rbps, wbps, riops, wiops
 * @latency_us: latency target; 0: none
 * @settings: settings to change
 * @cursor: the number after which the page starts
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
 * struct ioband_error - a message to the user
 * @text: a sentence with the mistake and a correct form
 */
struct ioband_error {
	char text[192];
};

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
