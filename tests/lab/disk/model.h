/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The interface of a modelled disk: requests go in, and come out at times set by the
 * model.
 *
 * A model is pure: no bio, lock, clock, allocator or printk.  Its user is driver.c in the
 * kernel, and the tests in user space.  The user serialises the calls, provides the
 * memory, and passes the time, which never decreases.  All arithmetic is on integers, and
 * ties are broken by order of arrival, so the same calls give the same results
 * everywhere.
 */
#ifndef LAB_DISK_MODEL_H
#define LAB_DISK_MODEL_H

#include <linux/minmax.h>
#include <linux/time64.h>
#include <linux/types.h>

#define LAB_NEVER	U64_MAX
#define LAB_SECTOR	512
#define LAB_OWNERS	512	/* owners with separate counters */

enum lab_op {
	LAB_READ,
	LAB_WRITE,
	LAB_FLUSH,
	LAB_DISCARD,
};

/**
 * struct lab_request - a request of the host
 * @sector: first sector of 512 bytes
 * @sectors: length in sectors
 * @op: the operation
 * @fua: a write that must be on the medium before it completes
 * @owner: its owner, below LAB_OWNERS
 *
 * Fields of the model, from submit() until advance() returns the request:
 * @arrived_ns: time of submission
 * @ready_ns: when the disk has decoded it, or has all its data
 * @left: number of its unfinished parts
 * @epoch: for a flush: the epoch of the writes before it
 * @next: neighbour in a list of the model
 */
struct lab_request {
	u64 sector;
	u32 sectors;
	enum lab_op op;
	bool fua;
	u32 owner;

	u64 arrived_ns;
	u64 ready_ns;
	u32 left;
	u32 epoch;
	struct lab_request *next;
};

static inline u64 lab_end(const struct lab_request *rq)
{
	return rq->sector + rq->sectors;
}

/**
 * struct lab_param - a parameter of a disk, a whole number
 * @name: its name; the last word is the unit
 * @value: default
 * @min: smallest value
 * @max: largest value
 * @what: short description
 */
struct lab_param {
	const char *name;
	u64 value;
	u64 min;
	u64 max;
	const char *what;
};

/* The table of every model begins with these parameters, in this order. */
enum lab_common {
	LAB_SIZE_MIB,
	LAB_QUEUES,
	LAB_QUEUE_DEPTH,
	LAB_HOST_QUEUE,
	LAB_BLOCK_BYTES,
	LAB_MAX_KIB,
	LAB_WRITE_CACHE,
	LAB_KEEP_DATA,
	LAB_SEED,
	LAB_COMMON,
};

#define LAB_COMMON_PARAMS(size_mib, queues, depth, max_kib, write_cache)			\
	[LAB_SIZE_MIB] = { "size_mib", size_mib, 1, 1ULL << 30, "capacity" },			\
	[LAB_QUEUES] = { "queues", queues, 1, 64, "hardware queues" },				\
	[LAB_QUEUE_DEPTH] = { "queue_depth", depth, 1, 4096,					\
		"commands that each hardware queue takes at once" },				\
	[LAB_HOST_QUEUE] = { "host_queue", 0, 0, 4096,						\
		"commands of each that wait in order before the device, not for a tag" },	\
	[LAB_BLOCK_BYTES] = { "block_bytes", 512, 512, 4096, "logical block: 512 or 4096" },	\
	[LAB_MAX_KIB] = { "max_kib", max_kib, 4, 4096, "largest request" },			\
	[LAB_WRITE_CACHE] = { "write_cache", write_cache, 0, 1,					\
		"1: a volatile write cache, which the host has to flush" },			\
	[LAB_KEEP_DATA] = { "keep_data", 0, 0, 1,						\
		"1: what is written can be read; 0: reads give zeroes" },			\
	[LAB_SEED] = { "seed", 1, 0, U64_MAX, "of the disk's own random numbers" }

#define LAB_MAX_PARAMS	40
#define LAB_MAX_STATS	12

/**
 * struct lab_model - a kind of disk
 * @name: its name
 * @rotational: whether distance matters
 * @discard: whether it supports LAB_DISCARD
 * @params: its parameters, those of enum lab_common first
 * @nr_params: length of @params
 * @stats: names of its counters
 * @nr_stats: length of @stats
 * @bytes: memory of a disk with these values
 * @init: initialise a disk in zeroed memory; returns NULL, or an error message
 * @submit: a request arrives
 * @next_ns: time of the next event; LAB_NEVER without one
 * @advance: let time pass up to now_ns, or to the next completed request, which is
 *	returned; NULL when there is none left.  To be called until it returns NULL, and
 *	before a submit() at the same time.
 * @counts: values of its counters
 * @busy_ns: for each owner, the device time of its requests.  For an arm, positioning and
 *	transfer; for flash, the dies' time divided by their number; for a volume, the
 *	time at its maximum rates.
 */
struct lab_model {
	const char *name;
	bool rotational;
	bool discard;
	const struct lab_param *params;
	unsigned int nr_params;
	const char *const *stats;
	unsigned int nr_stats;
	size_t (*bytes)(const u64 *values);
	const char *(*init)(void *disk, const u64 *values);
	void (*submit)(void *disk, struct lab_request *rq, u64 now_ns);
	u64 (*next_ns)(const void *disk);
	struct lab_request *(*advance)(void *disk, u64 now_ns);
	const u64 *(*counts)(const void *disk);
	const u64 *(*busy_ns)(const void *disk);
};

extern const struct lab_model lab_hdd;
extern const struct lab_model lab_sata_ssd;
extern const struct lab_model lab_nvme;
extern const struct lab_model lab_cloud;

/* params.c */
extern const struct lab_model *const lab_models[4];
const struct lab_model *lab_model_find(const char *name);
void lab_params_default(const struct lab_model *model, u64 *values);
const char *lab_params_set(const struct lab_model *model, u64 *values, const char *name,
			   const char *value);

/* A serial resource that moves bytes, as a link or a bus does. */
struct lab_link {
	u64 free_ns;
	u64 bytes_per_ms;
};

static inline u64 lab_link_ns(const struct lab_link *link, u64 bytes)
{
	return bytes * NSEC_PER_MSEC / link->bytes_per_ms;
}

/**
 * lab_link_send() - move bytes over a link
 * @link: the link
 * @bytes: number of bytes
 * @first_ns: when the first byte is available
 * @last_ns: when the last byte is available
 * @tail: number of bytes that are available only then
 *
 * Return: when the last byte has been moved.
 */
static inline u64 lab_link_send(struct lab_link *link, u64 bytes, u64 first_ns, u64 last_ns,
				u64 tail)
{
	const u64 streamed_ns = max(link->free_ns, first_ns) + lab_link_ns(link, bytes);

	link->free_ns = max(streamed_ns, last_ns + lab_link_ns(link, min(tail, bytes)));
	return link->free_ns;
}

/* Random numbers from a seed: splitmix64 (Steele, Lea and Flood, 2014). */
static inline u64 lab_random(u64 *seed)
{
	u64 z = *seed += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

#endif /* LAB_DISK_MODEL_H */
