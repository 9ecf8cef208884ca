/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What every modelled disk is to its user: requests go in, and come out when
 * the model says.
 *
 * A model is pure: no bio, lock, clock, allocator or printk.  Its user serialises
 * the calls, gives it its memory, and passes the time, which never goes back.  It
 * is driver.c in the kernel, and the tests in user space.  All
 * arithmetic is on integers and all ties are broken by order of arrival, so the
 * same calls give the same answers everywhere.
 */
#ifndef LAB_DISK_MODEL_H
#define LAB_DISK_MODEL_H

#include <linux/minmax.h>
#include <linux/time64.h>
#include <linux/types.h>

#define LAB_NEVER	U64_MAX
#define LAB_SECTOR	512
#define LAB_OWNERS	512	/* whose requests are told apart */

enum lab_op {
	LAB_READ,
	LAB_WRITE,
	LAB_FLUSH,
	LAB_DISCARD,
};

/**
 * struct lab_request - what the host asks of a disk
 * @sector: first sector of 512 bytes
 * @sectors: how many
 * @op: what to do
 * @fua: a write that has to be on the medium before it completes
 * @owner: whose it is, below LAB_OWNERS
 *
 * The model's, from submit() until advance() returns the request:
 * @arrived_ns: when it was submitted
 * @ready_ns: when the disk has understood it, or all its data is there
 * @left: parts of it that are not done yet
 * @epoch: for a flush: what was written before it
 * @next: neighbour in a list of the model's
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
 * struct lab_param - one whole number that describes a disk
 * @name: with its unit as its last word
 * @value: what it is by default
 * @min: smallest value
 * @max: largest value
 * @what: what it is, in some words
 */
struct lab_param {
	const char *name;
	u64 value;
	u64 min;
	u64 max;
	const char *what;
};

/* Every model's table begins with these, in this order. */
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
 * @name: what it is called
 * @rotational: whether distance matters
 * @discard: whether it takes LAB_DISCARD
 * @params: its parameters, those of enum lab_common first
 * @nr_params: how many
 * @stats: names of what it counts
 * @nr_stats: how many
 * @bytes: memory that a disk with these values needs
 * @init: make a disk of zeroed memory; returns NULL, or what is wrong
 * @submit: a request arrives
 * @next_ns: when something happens by itself; LAB_NEVER if nothing does
 * @advance: let time pass up to now_ns, or to the next request that is done,
 *	which is returned; NULL when there is none left.  To be called until it
 *	returns NULL, and before a submit() at the same time.
 * @counts: what it counted so far
 * @busy_ns: of each owner, how long his requests kept the device from others: of
 *	an arm the time to get there and to transfer, of flash the dies' time
 *	divided by their number, of a volume the time that its caps allot
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
 * @bytes: how many
 * @first_ns: when the first of them is there to be moved
 * @last_ns: when the last one is
 * @tail: bytes that are there only then
 *
 * Return: when the last one is over.
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
