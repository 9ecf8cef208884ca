// SPDX-License-Identifier: GPL-2.0-only
/*
 * Models of devices.
 *
 * flash and disk are tuned to published baselines: flash 25 MB/s for one
 * random 4-KiB reader, 150 for many, 500 sequential; disk 37 MB/s for one
 * sequential reader, 500 KB/s for one random 4-KiB reader.
 */
#include "device.h"

#include <linux/time64.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_BYTES	4096
#define LARGE_BYTES	32768
#define DISK_BYTES	(64ULL << 30)
#define DISK_NEAR	1048576ULL
#define DISK_OLD_NS	(300 * NSEC_PER_MSEC)

const struct sim_spec sim_specs[] = {
	{ "line", SIM_LINE, 1 << 20, .bps = 100000000, .latency_ns = 100000 },
	{ "wan", SIM_LINE, 1 << 20, .bps = 100000000, .latency_ns = 5000000 },
	{ "cloud", SIM_LINE, 1 << 20, .bps = 250000000, .per_io_ns = 62500, .latency_ns = 500000 },
	{ "flash", SIM_FLASH, 32, .bps = 520000000, .latency_ns = 150000, .write_ns = 60000,
	  .channels = 7, .favour = 4 },
	{ "nvme", SIM_FLASH, 1023, .bps = 3200000000, .latency_ns = 80000, .write_ns = 20000,
	  .channels = 64, .favour = 4 },
	{ "disk", SIM_DISK, 31, .bps = 45000000 },
	{ "diskwc", SIM_DISK, 31, .bps = 45000000, .cache = 8 << 20 },
	{ "volume", SIM_VOLUME, 4, .latency_ns = 5333333 },
	{ "volume2", SIM_VOLUME, 2, .latency_ns = 2000000 },
	{ "volume64", SIM_VOLUME, 64, .latency_ns = 1000000 },
	{ "window", SIM_WINDOW, 64, .bps = 50000000, .per_io_ns = 5000, .window_ns = 21000000 },
	{}
};

const struct sim_spec *sim_spec_find(const char *name)
{
	const struct sim_spec *spec;

	for (spec = sim_specs; spec->name; spec++)
		if (!strcmp(spec->name, name))
			return spec;
	return NULL;
}

void device_init(struct sim_device *device, struct sim_clock *clock, const struct sim_spec *spec,
		 void (*done)(void *owner, struct sim_io *io), void *owner)
{
	*device = (struct sim_device) {
		.clock = clock,
		.spec = *spec,
		.done = done,
		.owner = owner,
		.random.state = 1,
		.slow = 1,
	};
}

/* The jobs own their I/Os; what lies in the write cache is the device's. */
void device_free(struct sim_device *device)
{
	struct sim_io *io;

	while ((io = device->disk_dirty)) {
		device->disk_dirty = io->next;
		free(io);
	}
	if (device->disk_busy && device->disk_busy->cached)
		free(device->disk_busy);
}

static u64 transfer_ns(const struct sim_device *device, u32 bytes)
{
	return device->slow * bytes * 1e9 / device->spec.bps;
}

static void device_feed(struct sim_device *device);

static void complete(void *arg)
{
	struct sim_io *io = arg;
	struct sim_device *device = io->device;

	if (device->clock->now_ns < device->stalled_until_ns) {
		clock_at(device->clock, device->stalled_until_ns, complete, io);
		return;
	}
	device->queued--;
	device_feed(device);
	device->done(device->owner, io);
}

static void complete_at(struct sim_device *device, struct sim_io *io, u64 at_ns)
{
	clock_at(device->clock, at_ns, complete, io);
}

static u64 later(u64 a, u64 b)
{
	return a > b ? a : b;
}

static void line_start(struct sim_device *device, struct sim_io *io)
{
	device->pipe_free_ns = later(device->pipe_free_ns, device->clock->now_ns) +
			       transfer_ns(device, io->bytes) +
			       (u64)(device->slow * device->spec.per_io_ns);
	complete_at(device, io, device->pipe_free_ns + device->spec.latency_ns);
}

static void flash_start(struct sim_device *device, struct sim_io *io)
{
	const struct sim_spec *spec = &device->spec;
	const u64 now_ns = device->clock->now_ns;
	const u64 link_ns = transfer_ns(device, PAGE_BYTES);
	u64 page_ns = device->slow * (io->write ? spec->write_ns : spec->latency_ns);
	u64 end_ns = now_ns;
	u32 i;

	if (io->bytes >= LARGE_BYTES)
		page_ns /= spec->favour;
	for (i = 0; i < (io->bytes + PAGE_BYTES - 1) / PAGE_BYTES; i++) {
		const u64 page = io->pos / PAGE_BYTES + i;
		u64 *channel = &device->channel_free_ns[page % spec->channels];

		*channel = later(*channel, now_ns) + page_ns;
		device->pipe_free_ns = later(device->pipe_free_ns, *channel) + link_ns;
		end_ns = device->pipe_free_ns;
	}
	complete_at(device, io, end_ns);
}

static void volume_start(struct sim_device *device, struct sim_io *io)
{
	complete_at(device, io, device->clock->now_ns +
		    (u64)(device->slow * device->spec.latency_ns));
}

/* An I/O of more bytes than the window has left waits for the next one. */
static void window_start(struct sim_device *device, struct sim_io *io)
{
	const struct sim_spec *spec = &device->spec;
	const u32 window_bytes = spec->bps / device->slow * spec->window_ns / 1e9;
	const u64 start_ns = later(device->pipe_free_ns, device->clock->now_ns);
	u64 window = start_ns / spec->window_ns;

	if (window == device->window && io->bytes > device->window_bytes)
		window++;
	if (window != device->window)
		device->window_bytes = window_bytes;
	device->window = window;
	device->window_bytes -= io->bytes < device->window_bytes ? io->bytes : device->window_bytes;
	device->pipe_free_ns = later(start_ns, window * spec->window_ns) + spec->per_io_ns;
	complete_at(device, io, device->pipe_free_ns);
}

static u64 disk_distance(const struct sim_device *device, const struct sim_io *io)
{
	return io->pos > device->disk_head ? io->pos - device->disk_head :
					     device->disk_head - io->pos;
}

static u64 disk_position_ns(struct sim_device *device, const struct sim_io *io)
{
	const u64 distance = disk_distance(device, io);

	if (!distance)
		return 0;
	if (io->pos > device->disk_head && distance < DISK_NEAR)
		return transfer_ns(device, distance) + 200 * NSEC_PER_USEC;
	return device->slow * (2e6 + 18e6 * sqrt((double)distance / DISK_BYTES) +
			       random_unit(&device->random) * 8.333e6);
}

static struct sim_io **disk_nearest(struct sim_device *device)
{
	struct sim_io **from, **best = NULL;

	for (from = &device->disk_queue; *from; from = &(*from)->next)
		if (!best || disk_distance(device, *from) < disk_distance(device, *best))
			best = from;
	return best;
}

/* Of the write cache: the next one ahead of the head, or the first on the disk: an elevator. */
static struct sim_io **disk_next_dirty(struct sim_device *device)
{
	struct sim_io **from, **ahead = NULL, **first = NULL;

	for (from = &device->disk_dirty; *from; from = &(*from)->next) {
		const u64 pos = (*from)->pos;

		if (!first || pos < (*first)->pos)
			first = from;
		if (pos >= device->disk_head && (!ahead || pos < (*ahead)->pos))
			ahead = from;
	}
	return ahead ?: first;
}

/* The oldest if it has waited for long, else the nearest; reads first while the cache has room. */
static struct sim_io **disk_pick(struct sim_device *device)
{
	struct sim_io **link = &device->disk_queue, **dirty;

	if (*link && device->clock->now_ns - (*link)->sent_ns > DISK_OLD_NS)
		return link;
	link = disk_nearest(device);
	if (link && !device->flushed && device->disk_dirty_bytes <= device->spec.cache / 4 * 3)
		return link;
	dirty = disk_next_dirty(device);
	return link && (!dirty || disk_distance(device, *link) < disk_distance(device, *dirty)) ?
	       link : dirty;
}

static void disk_run(struct sim_device *device);

static void disk_end_flush(struct sim_device *device)
{
	void (*flushed)(void *owner) = device->flushed;

	if (!flushed || device->disk_dirty_bytes)
		return;
	device->flushed = NULL;
	flushed(device->owner);
}

static void disk_finish(void *arg)
{
	struct sim_device *device = arg;
	struct sim_io *io = device->disk_busy;

	device->disk_busy = NULL;
	if (io->cached) {
		device->disk_dirty_bytes -= io->bytes;
		free(io);
		device_feed(device);
		disk_end_flush(device);
		disk_run(device);
		return;
	}
	disk_run(device);
	complete(io);
}

static void disk_run(struct sim_device *device)
{
	struct sim_io **link, *io;

	if (device->disk_busy)
		return;
	link = disk_pick(device);
	if (!link)
		return;
	io = *link;
	*link = io->next;
	device->disk_busy = io;
	io->head_ns = disk_position_ns(device, io) + transfer_ns(device, io->bytes) +
		      15 * NSEC_PER_USEC;
	clock_at(device->clock, device->clock->now_ns + io->head_ns, disk_finish, device);
	device->disk_head = io->pos + io->bytes;
}

static void disk_start(struct sim_device *device, struct sim_io *io)
{
	struct sim_io **tail = &device->disk_queue;

	io->next = NULL;
	if (io->write && device->spec.cache) {
		struct sim_io *copy = malloc(sizeof(*copy));

		if (!copy)
			abort();
		*copy = *io;
		copy->cached = true;
		copy->next = device->disk_dirty;
		device->disk_dirty = copy;
		device->disk_dirty_bytes += io->bytes;
		complete_at(device, io, device->clock->now_ns + 100 * NSEC_PER_USEC);
	} else {
		while (*tail)
			tail = &(*tail)->next;
		*tail = io;
	}
	disk_run(device);
}

/* A write waits for room in the cache, in line. */
static bool device_is_full(const struct sim_device *device)
{
	const struct sim_io *io = device->fifo_head;

	return device->queued >= device->spec.queue ||
	       (device->spec.cache && io->write && device->disk_dirty_bytes &&
		device->disk_dirty_bytes + io->bytes > device->spec.cache);
}

static void device_feed(struct sim_device *device)
{
	static void (*const start[])(struct sim_device *device, struct sim_io *io) = {
		[SIM_LINE] = line_start,
		[SIM_FLASH] = flash_start,
		[SIM_DISK] = disk_start,
		[SIM_VOLUME] = volume_start,
		[SIM_WINDOW] = window_start,
	};

	while (device->fifo_head && !device_is_full(device)) {
		struct sim_io *io = device->fifo_head;

		device->fifo_head = io->next;
		device->queued++;
		start[device->spec.model](device, io);
	}
}

void device_submit(struct sim_device *device, struct sim_io *io)
{
	io->device = device;
	io->next = NULL;
	io->sent_ns = device->clock->now_ns;
	if (device->fifo_head)
		device->fifo_tail->next = io;
	else
		device->fifo_head = io;
	device->fifo_tail = io;
	device_feed(device);
}

void device_flush(struct sim_device *device, void (*flushed)(void *owner))
{
	device->flushed = flushed;
	disk_end_flush(device);
}
