/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_PARSE_H
#define IOBANDCTL_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bounds.h"
#include "base/error.h"
#include "base/weight.h"

#define IOBAND_DEPTH_MAX 65535
#define IOBAND_PIECE_MIN 16384
#define IOBAND_PIECE_MAX 1048576
#define DEPTH_SAYS \
	"auto, or a number from 1 to 65535, then at will / and the size of " \
	"pieces, a power of two from 16384 to 1048576"
#define IOBAND_SLICE_MAX_MS 1000
#define IOBAND_WRITES_STARVED_MAX 100
/* The value in modules that do not report it, where it is not a setting. */
#define IOBAND_WRITES_STARVED_DEFAULT 2
#define IOBAND_POOL_SIZE 64	/* with the NUL */
#define IOBAND_WORD_SIZE 24
#define IOBAND_GROUP_SIZE 64
#define IOBAND_CURSOR_SIZE 64
#define IOBAND_PRESETS_MAX 4096	/* paths in a pool */

/* A table line, as the kernel prints it. */
struct ioband_table {
	uint64_t device[2];	/* major and minor of the device below */
	uint64_t offset;	/* first sector used on it */
	char pool[IOBAND_POOL_SIZE];
	char mode[IOBAND_WORD_SIZE];	/* how bios are sorted into groups */
	uint64_t weight;	/* of the device's own group */
	char measure[IOBAND_WORD_SIZE];	/* the resource that the groups of the pool share */
	char depth[IOBAND_WORD_SIZE];	/* bios in flight, or "auto" */
	uint64_t slice_ms;	/* length of a slice, 0 for no slices */
	uint64_t writes_starved;	/* reads of a group that may overtake its queued write */
};

/* The members of a pair <ios>,<bytes>. */
enum { IOS, BYTES, AMOUNTS };

/*
 * A status line.  Members have the names of the keys; three of them also name their units.  All
 * describe the pool, except @mode.
 */
struct ioband_status {
	char pool[IOBAND_POOL_SIZE];
	char mode[IOBAND_WORD_SIZE];
	char measure[IOBAND_WORD_SIZE];
	char state[IOBAND_WORD_SIZE];
	uint64_t depth;
	uint64_t groups;
	uint64_t active;
	uint64_t held[AMOUNTS];
	uint64_t inflight[AMOUNTS];
	uint64_t devices;
	uint64_t slice_ms;
	uint64_t piece_bytes;
	uint64_t brake_bytes_per_s;
	uint64_t writes_starved;
};

/* The end of a page of a list. */
struct page_end {
	bool more;	/* another page follows */
	char cursor[IOBAND_CURSOR_SIZE];	/* the argument that requests it */
};

/* One group of a pool. */
struct ioband_group {
	uint64_t seq;	/* its number, unique in the life of the pool */
	uint64_t parent;	/* seq of its parent; 0, which no group has, for root */
	/* As in messages: root, cgroup#<id>, device:<major>:<minor>, uid:<n>... */
	char name[IOBAND_GROUP_SIZE];
	uint64_t weight;	/* 1..10000, or IOBAND_WEIGHT_IDLE */
	uint64_t set;	/* whether the weight was set (1) or is the default (0) */
	char *path;	/* path of a cgroup, from the root of its hierarchy; else NULL */
	struct bounds bounds;	/* its maximum, minimum and latency target */
};

struct groups {
	struct ioband_group *v;
	size_t n;
};

/* Initial settings of the group of a path. */
struct ioband_preset {
	/* root, or device:<major>:<minor> for that device's own tree. */
	char tree[IOBAND_GROUP_SIZE];
	char *path;	/* of the cgroup, from the root of its hierarchy */
	uint64_t weight;	/* 1..10000, or IOBAND_WEIGHT_IDLE; 0 for the default */
	struct bounds bounds;	/* its maximum, minimum and latency target */
};

struct presets {
	struct ioband_preset *v;
	size_t n;
};

enum { READ, WRITE, DISCARD, OPS };

extern const char *const op_names[OPS];

/* I/O of a group in one direction since the group was made. */
struct op_stats {
	uint64_t ios;	/* completed */
	uint64_t bytes;	/* completed */
	uint64_t held_ios;	/* I/Os of @ios that were queued */
	uint64_t wait_ns;	/* total time in the queue */
	uint64_t service_ns;	/* total time below ioband */
};

#define OP_STATS_NUMBERS (sizeof(struct op_stats) / sizeof(uint64_t))

/* Outstanding I/O of a group in one direction. */
struct op_now {
	uint64_t held[AMOUNTS];	/* I/Os and bytes queued */
	/* I/Os in flight; NOT_TOLD from a module that does not count by direction. */
	uint64_t inflight;
};

#define NOT_TOLD UINT64_MAX

/* The I/O of a group. */
struct group_stats {
	uint64_t seq;
	char name[IOBAND_GROUP_SIZE];
	uint64_t held[AMOUNTS];	/* I/Os and bytes queued now */
	uint64_t inflight;	/* I/Os in flight now */
	struct op_stats op[OPS];	/* completed I/O by direction */
	struct op_now now[OPS];	/* outstanding I/O by direction */
	uint64_t below;		/* 1: a policy below ioband delays it, 0: none does */
};

struct stats {
	struct group_stats *v;
	size_t n;
};

#define HISTOGRAM_SLOTS 26
#define NO_SUM UINT64_MAX	/* from a module that reports no sums */

/* The histograms of a group. */
struct group_latency {
	uint64_t seq;
	char name[IOBAND_GROUP_SIZE];
	/* Time in the queue, by direction, see histogram.c. */
	uint64_t wait[OPS][HISTOGRAM_SLOTS];
	uint64_t service[OPS][HISTOGRAM_SLOTS];	/* time below ioband, by direction */
	uint64_t wait_ns[OPS];	/* the sums of the times in @wait, or NO_SUM */
	uint64_t service_ns[OPS];	/* the sums of the times in @service, or NO_SUM */
};

struct latency {
	struct group_latency *v;
	size_t n;
};

/* One line of a file of weights. */
struct saved_weight {
	size_t line;	/* its number in the file, from 1 */
	char pool[IOBAND_POOL_SIZE];
	/* Mapper name of the device with the group in its own tree; NULL for the pool's tree. */
	char *device;
	char *group;	/* as on the command line */
	uint64_t weight;	/* 1..10000, or IOBAND_WEIGHT_IDLE; 0 if the line has none */
	struct bounds bounds;
};

struct saved_weights {
	struct saved_weight *v;
	size_t n;
};

int parse_table(const char *text, struct ioband_table *table, struct problem *problem);
int parse_status(const char *text, struct ioband_status *status, struct problem *problem);
int parse_list(const char *kind, const char *text, void *list, struct page_end *end,
	       struct problem *problem);
int parse_saved_weights(const char *text, struct saved_weights *weights, struct problem *problem);
bool parse_pool_name(const char *text);
bool parse_has_path(const char *status);
bool parse_depth(const char *text);
bool parse_is_unknown(const char *reason, const char *message);
bool parse_kernel_log(const char *record, char *sentence, size_t size);

void groups_free(struct groups *groups);
void presets_free(struct presets *presets);
void stats_free(struct stats *stats);
void latency_free(struct latency *latency);
void saved_weights_free(struct saved_weights *weights);

#endif
