// SPDX-License-Identifier: GPL-2.0-only
/*
 * Flash disks: a controller, channels with dies, buffers, a link.
 *
 *	host == link == controller, buffers == channel == die, die, ...
 *	                                    == channel == die, die, ...
 *
 * Placement.  A row is one page of every plane of a die, which the die reads or programs
 * at once.  Consecutive rows lie on different channels, then on different dies of each.
 * Successive stripes are rotated, as on a log-structured disk.  So a large request keeps
 * many dies busy and takes one page time, while a small one takes a page time of its own.
 * Therefore drives are much faster at large requests.
 *
 * A read.  The controller spends command_ns on it, one command after the other, and
 * latency_us in parallel with others.  Then each die senses for read_us, the channel
 * moves the requested part, and the link moves it to the host, in FIFO order.  An example
 * with the numbers of the SATA disk, 4 KiB alone: 23 + 53 us in the controller, 72 us on
 * the die, 4 KiB at 200 MB/s = 20 us on the channel and at 515 MB/s = 8 us on the link:
 * 176 us, or 23 MB/s.  With many outstanding reads, the controller is the limit: one
 * command in 22.7 us is 44 000 IOPS, or 180 MB/s.
 *
 * Read-ahead.  A stream is a chain of reads, each beginning where the last one ended.
 * From the third read on, the rows up to readahead_kib ahead are read into the read
 * buffer.  Reads of the host that hit the buffer pay neither for die nor channel.  This
 * is the other advantage of sequential readers.
 *
 * A write.  It completes when its data is in the write buffer, and waits while the buffer
 * is full.  When the buffer has a full row, an idle die takes it (the disk is a log, so
 * any die will do): transfer over the channel, then program_us.  A die serves reads
 * before programs, but at most read_burst of them, and does not interrupt an operation.
 * So beside writers, a read waits for most of a program.
 *
 * Garbage collection.  It is modelled for a full disk after random writes.  There, each
 * programmed row of random writes moves write_amp_pct/100 - 1 rows (read and program
 * within the die, gc_rows at a time).  Each block_rows programmed rows cost an erase of
 * erase_us.  The die does this before it takes another row, so the cost appears as
 * stalls, of reads too, and limits random writes.  Sequential writes leave blocks that
 * are invalid as a whole, and move nothing.
 *
 * With write_cache=0 the write buffer survives a power loss, and flushes do nothing. With
 * write_cache=1, a flush completes when the whole buffer is programmed, including a row
 * that is not full.
 */
#include <linux/kernel.h>
#include <linux/string.h>

#include "events.h"
#include "model.h"

#define FLASH_WAYS	4	/* places in the read buffer where a row may be */
#define FLASH_STREAMS	64
#define FLASH_PAGE	4096U	/* unit of the translation layer */

enum flash_param {
	FLASH_CHANNELS = LAB_COMMON,
	FLASH_DIES,
	FLASH_PLANES,
	FLASH_PAGE_KIB,
	FLASH_READ,
	FLASH_PROGRAM,
	FLASH_ERASE,
	FLASH_BLOCK_ROWS,
	FLASH_CHANNEL_MBPS,
	FLASH_LINK_MBPS,
	FLASH_COMMAND,
	FLASH_LATENCY,
	FLASH_READAHEAD,
	FLASH_READ_BUFFER,
	FLASH_WRITE_BUFFER,
	FLASH_WRITE_AMP,
	FLASH_GC_ROWS,
	FLASH_READ_BURST,
	FLASH_PARAMS,
};

#define FLASH_TEXT_PARAMS(channels, dies, planes, page_kib)					\
	[FLASH_CHANNELS] = { "channels", channels, 1, 64, "channels" },				\
	[FLASH_DIES] = { "dies", dies, 1, 64, "dies on each channel" },				\
	[FLASH_PLANES] = { "planes", planes, 1, 8, "planes of a die" },				\
	[FLASH_PAGE_KIB] = { "page_kib", page_kib, 4, 64, "page of a plane" }

static const struct lab_param flash_sata_params[FLASH_PARAMS] = {
	LAB_COMMON_PARAMS(244198, 1, 32, 1024, 1),
	FLASH_TEXT_PARAMS(8, 4, 2, 8),
	[FLASH_READ] = { "read_us", 72, 1, 100000, "a die reads a row" },
	[FLASH_PROGRAM] = { "program_us", 1300, 1, 100000, "a die programs a row" },
	[FLASH_ERASE] = { "erase_us", 4000, 0, 100000, "a die erases a block" },
	[FLASH_BLOCK_ROWS] = { "block_rows", 256, 1, 65536, "rows of a block" },
	[FLASH_CHANNEL_MBPS] = { "channel_mbps", 200, 1, 100000, "a channel, MB/s" },
	[FLASH_LINK_MBPS] = { "link_mbps", 515, 1, 100000, "link to the host, MB/s" },
	[FLASH_COMMAND] = { "command_ns", 22700, 0, 100000000, "controller, one by one" },
	[FLASH_LATENCY] = { "latency_us", 53, 0, 100000, "controller and host, in parallel" },
	[FLASH_READAHEAD] = { "readahead_kib", 256, 0, 65536, "read ahead in each stream" },
	[FLASH_READ_BUFFER] = { "read_buffer_kib", 16384, 64, 1048576, "read buffer" },
	[FLASH_WRITE_BUFFER] = { "write_buffer_kib", 4096, 64, 1048576, "write buffer" },
	[FLASH_WRITE_AMP] = { "write_amp_pct", 300, 100, 10000,
		"rows programmed for 100 rows of random writes" },
	[FLASH_GC_ROWS] = { "gc_rows", 1, 1, 1024, "rows moved without interruption" },
	[FLASH_READ_BURST] = { "read_burst", 8, 1, 65536, "reads before a program, at most" },
};

static const struct lab_param flash_nvme_params[FLASH_PARAMS] = {
	LAB_COMMON_PARAMS(1525879, 4, 1024, 1024, 0),
	FLASH_TEXT_PARAMS(16, 8, 2, 16),
	[FLASH_READ] = { "read_us", 75, 1, 100000, "a die reads a row" },
	[FLASH_PROGRAM] = { "program_us", 1300, 1, 100000, "a die programs a row" },
	[FLASH_ERASE] = { "erase_us", 5000, 0, 100000, "a die erases a block" },
	[FLASH_BLOCK_ROWS] = { "block_rows", 256, 1, 65536, "rows of a block" },
	[FLASH_CHANNEL_MBPS] = { "channel_mbps", 333, 1, 100000, "a channel, MB/s" },
	[FLASH_LINK_MBPS] = { "link_mbps", 3200, 1, 100000, "link to the host, MB/s" },
	[FLASH_COMMAND] = { "command_ns", 1300, 0, 100000000, "controller, one by one" },
	[FLASH_LATENCY] = { "latency_us", 10, 0, 100000, "controller and host, in parallel" },
	[FLASH_READAHEAD] = { "readahead_kib", 512, 0, 65536, "read ahead in each stream" },
	[FLASH_READ_BUFFER] = { "read_buffer_kib", 65536, 64, 1048576, "read buffer" },
	[FLASH_WRITE_BUFFER] = { "write_buffer_kib", 8192, 64, 1048576, "write buffer" },
	[FLASH_WRITE_AMP] = { "write_amp_pct", 530, 100, 10000,
		"rows programmed for 100 rows of random writes" },
	[FLASH_GC_ROWS] = { "gc_rows", 2, 1, 1024, "rows moved without interruption" },
	[FLASH_READ_BURST] = { "read_burst", 8, 1, 65536, "reads before a program, at most" },
};

enum flash_stat {
	DIE_READS,
	BUFFER_HITS,
	READ_AHEAD,
	PROGRAMS,
	GC_MOVES,
	ERASES,
	BUFFER_FULL,
	FLASH_STATS,
};

static const char *const flash_stats[FLASH_STATS] = {
	[DIE_READS] = "rows_read",
	[BUFFER_HITS] = "rows_from_buffer",
	[READ_AHEAD] = "rows_read_ahead",
	[PROGRAMS] = "rows_programmed",
	[GC_MOVES] = "rows_moved",
	[ERASES] = "blocks_erased",
	[BUFFER_FULL] = "writes_that_waited",
};

enum flash_event { EVENT_DONE, EVENT_READY, EVENT_DIE };

enum flash_place_state { EMPTY, READING, READY };

/* A part of a read in one row, for a request or for a place in the read buffer. */
struct flash_job {
	struct flash_job *next;
	struct lab_request *rq;
	struct flash_place *place;
	u32 bytes;
};

struct flash_jobs {
	struct flash_job *first;
	struct flash_job **last;
};

/* A place in the read buffer. */
struct flash_place {
	u64 row;
	u64 used;
	enum flash_place_state state;
	struct flash_jobs waiting;
};

enum flash_die_op { DIE_IDLE, DIE_SENSE, DIE_TRANSFER, DIE_PROGRAM, DIE_GC };

struct flash_die {
	enum flash_die_op op;
	struct flash_job *job;
	struct flash_jobs reads;
	u32 burst;
	u32 pages;
	u64 mark;
	u64 gc_owed_pct;
	u32 rows_since_erase;
};

struct flash_stream {
	u64 next;
	u64 used;
	u32 chain;
};

struct flash {
	u64 value[FLASH_PARAMS];
	u64 counts[FLASH_STATS];
	u64 busy_ns[LAB_OWNERS];
	struct lab_link link;
	struct lab_link channel[64];
	struct lab_events events;
	u64 controller_ns;
	u64 uses;
	u32 row_bytes;
	u32 row_sectors;
	u32 row_pages;
	u64 rows;

	struct flash_die *die;
	u32 dies;
	u32 next_die;

	struct flash_place *place;
	u32 places;
	struct flash_job *free_jobs;
	struct flash_stream reads[FLASH_STREAMS];
	struct flash_stream writes[FLASH_STREAMS];

	/*
	 * Pages of 4 KiB in the write buffer: all; of these, not yet at a die; of these,
	 * random.
	 */
	u32 buffer_pages;
	u32 used_pages;
	u32 waiting_pages;
	u32 random_pages;
	/* Pages taken into the buffer and given to dies, since the start. */
	u64 pages_in;
	u64 pages_out;
	struct lab_request *blocked;
	struct lab_request **blocked_last;
	struct lab_request *flushes;
	struct lab_request **flushes_last;
};

static void flash_jobs_init(struct flash_jobs *jobs)
{
	jobs->first = NULL;
	jobs->last = &jobs->first;
}

static void flash_jobs_add(struct flash_jobs *jobs, struct flash_job *job)
{
	job->next = NULL;
	*jobs->last = job;
	jobs->last = &job->next;
}

static struct flash_job *flash_jobs_take(struct flash_jobs *jobs)
{
	struct flash_job *job = jobs->first;

	jobs->first = job->next;
	if (!jobs->first)
		jobs->last = &jobs->first;
	return job;
}

static struct flash_job *flash_job_new(struct flash *f, struct lab_request *rq, u32 bytes)
{
	struct flash_job *job = f->free_jobs;

	f->free_jobs = job->next;
	*job = (struct flash_job) { .rq = rq, .bytes = bytes };
	return job;
}

static void flash_job_free(struct flash *f, struct flash_job *job)
{
	job->next = f->free_jobs;
	f->free_jobs = job;
}

static void flash_done(struct flash *f, struct lab_request *rq, u64 at_ns)
{
	lab_events_add(&f->events, at_ns, EVENT_DONE, 0, rq);
}

static u64 flash_us(const struct flash *f, enum flash_param param)
{
	return f->value[param] * NSEC_PER_USEC;
}

/* A pseudo-random number, determined by @number. */
static u64 flash_scatter(u64 number)
{
	return lab_random(&number);
}

/* Consecutive dies are on different channels. */
static u32 flash_die_of(const struct flash *f, u64 row)
{
	return (row + flash_scatter(row / f->dies)) % f->dies;
}

static struct lab_link *flash_channel(struct flash *f, u32 die)
{
	return &f->channel[die % f->value[FLASH_CHANNELS]];
}

/* Charge @die_ns of one die as a part of the disk's dies. */
static void flash_charge(struct flash *f, const struct lab_request *rq, u64 die_ns)
{
	f->busy_ns[rq->owner] += die_ns / f->dies;
}

/* Streams */

/* Number of consecutive requests up to this one. */
static u32 flash_chain(struct flash *f, struct flash_stream *streams, const struct lab_request *rq)
{
	struct flash_stream *stream, *oldest = streams;

	for (stream = streams; stream < streams + FLASH_STREAMS; stream++) {
		if (stream->chain && stream->next == rq->sector)
			break;
		if (stream->used < oldest->used)
			oldest = stream;
	}
	if (stream == streams + FLASH_STREAMS) {
		stream = oldest;
		stream->chain = 0;
	}
	stream->next = lab_end(rq);
	stream->used = ++f->uses;
	return ++stream->chain;
}

/* The read buffer */

static struct flash_place *flash_place_set(struct flash *f, u64 row)
{
	return &f->place[flash_scatter(row) % (f->places / FLASH_WAYS) * FLASH_WAYS];
}

static struct flash_place *flash_place_find(struct flash *f, u64 row)
{
	struct flash_place *place = flash_place_set(f, row), *end = place + FLASH_WAYS;

	for (; place < end; place++)
		if (place->state != EMPTY && place->row == row)
			return place;
	return NULL;
}

/* A place for @row; NULL while all places where it may be are being filled. */
static struct flash_place *flash_place_get(struct flash *f, u64 row)
{
	struct flash_place *place = flash_place_set(f, row), *end = place + FLASH_WAYS;
	struct flash_place *best = NULL;

	for (; place < end; place++)
		if (place->state != READING && (!best || place->used < best->used))
			best = place;
	if (best) {
		best->row = row;
		best->state = READING;
		best->used = ++f->uses;
	}
	return best;
}

/* Drop rows from the read buffer that a write overwrites. */
static void flash_places_forget(struct flash *f, const struct lab_request *rq)
{
	const u64 last = (lab_end(rq) - 1) / f->row_sectors;
	struct flash_place *place;
	u64 row;

	for (row = rq->sector / f->row_sectors; row <= last; row++) {
		place = flash_place_find(f, row);
		if (place && place->state == READY) {
			place->state = EMPTY;
			place->used = 0;
		}
	}
}

/* Reads */

static void flash_die_next(struct flash *f, u32 index, u64 now_ns);

static void flash_sent(struct flash *f, struct flash_job *job, u64 now_ns)
{
	struct lab_request *rq = job->rq;
	const u64 over_ns = lab_link_send(&f->link, job->bytes, now_ns, now_ns, job->bytes);

	flash_job_free(f, job);
	if (!--rq->left)
		flash_done(f, rq, over_ns);
}

static void flash_die_read(struct flash *f, u64 row, struct flash_job *job, u64 now_ns)
{
	const u32 die = flash_die_of(f, row);

	f->counts[DIE_READS]++;
	flash_jobs_add(&f->die[die].reads, job);
	flash_die_next(f, die, now_ns);
}

/* Read a row into the buffer; false if there is no place for it. */
static bool flash_fill(struct flash *f, u64 row, const struct lab_request *rq, u64 now_ns)
{
	struct flash_place *place = flash_place_get(f, row);
	struct flash_job *job;

	if (!place)
		return false;
	flash_charge(f, rq, flash_us(f, FLASH_READ));
	job = flash_job_new(f, NULL, f->row_bytes);
	job->place = place;
	flash_die_read(f, row, job, now_ns);
	return true;
}

/* Read @bytes of @row for @rq. */
static void flash_read_row(struct flash *f, struct lab_request *rq, u64 row, u32 bytes, u64 now_ns)
{
	struct flash_place *place = flash_place_find(f, row);
	struct flash_job *job = flash_job_new(f, rq, bytes);

	f->counts[BUFFER_HITS] += place ? 1 : 0;
	if (!place && bytes == f->row_bytes && flash_fill(f, row, rq, now_ns))
		place = flash_place_find(f, row);
	if (!place) {
		flash_charge(f, rq, flash_us(f, FLASH_READ));
		flash_die_read(f, row, job, now_ns);
	} else if (place->state == READING) {
		flash_jobs_add(&place->waiting, job);
	} else {
		/* A stream does not read a row again after its end. */
		place->used = bytes == f->row_bytes ? 0 : ++f->uses;
		flash_sent(f, job, now_ns);
	}
}

static void flash_read_ahead(struct flash *f, const struct lab_request *rq, u64 now_ns)
{
	const u64 end = lab_end(rq) + f->value[FLASH_READAHEAD] * 2;
	const u64 last = min(end / f->row_sectors, f->rows);
	u64 row;

	for (row = lab_end(rq) / f->row_sectors; row < last; row++)
		if (!flash_place_find(f, row) && flash_fill(f, row, rq, now_ns))
			f->counts[READ_AHEAD]++;
}

static void flash_read(struct flash *f, struct lab_request *rq, u64 now_ns)
{
	const u64 first = rq->sector / f->row_sectors, last = (lab_end(rq) - 1) / f->row_sectors;
	u64 row, start, end;

	rq->left = last - first + 1;
	for (row = first; row <= last; row++) {
		start = max(rq->sector, row * f->row_sectors);
		end = min(lab_end(rq), (row + 1) * f->row_sectors);
		flash_read_row(f, rq, row, (end - start) * LAB_SECTOR, now_ns);
	}
	if (flash_chain(f, f->reads, rq) >= 3)
		flash_read_ahead(f, rq, now_ns);
}

static void flash_filled(struct flash *f, struct flash_job *job, u64 now_ns)
{
	struct flash_place *place = job->place;

	place->state = READY;
	flash_job_free(f, job);
	while (place->waiting.first) {
		job = flash_jobs_take(&place->waiting);
		place->used = job->bytes == f->row_bytes ? 0 : place->used;
		flash_sent(f, job, now_ns);
	}
}

/* Writes */

static u32 flash_pages(const struct lab_request *rq)
{
	return (rq->sectors + FLASH_PAGE / LAB_SECTOR - 1) / (FLASH_PAGE / LAB_SECTOR);
}

static bool flash_has_room(const struct flash *f, const struct lab_request *rq)
{
	return f->used_pages + flash_pages(rq) <= f->buffer_pages;
}

/* Whether there is a row to program: a full one, or a part that a flush waits for. */
static bool flash_has_row(const struct flash *f)
{
	return f->waiting_pages >= f->row_pages ||
	       (f->waiting_pages && f->flushes && f->flushes->ready_ns > f->pages_out);
}

/* Start all dies that can take a row, in turn. */
static void flash_program(struct flash *f, u64 now_ns)
{
	u32 i;

	for (i = 0; i < f->dies && flash_has_row(f); i++) {
		f->next_die = (f->next_die + 1) % f->dies;
		flash_die_next(f, f->next_die, now_ns);
	}
}

static void flash_wait_flush(struct flash *f, struct lab_request *rq)
{
	/* From here on, for a flush: the pages that must be programmed. */
	rq->ready_ns = f->pages_in;
	rq->next = NULL;
	*f->flushes_last = rq;
	f->flushes_last = &rq->next;
}

static void flash_write_buffered(struct flash *f, struct lab_request *rq, u64 now_ns)
{
	const u64 bytes = (u64)rq->sectors * LAB_SECTOR;
	const u64 over_ns = lab_link_send(&f->link, bytes, now_ns, now_ns, bytes);
	const u32 pages = flash_pages(rq);
	u64 rows_pct = 100;

	f->used_pages += pages;
	f->waiting_pages += pages;
	f->pages_in += pages;
	if (flash_chain(f, f->writes, rq) < 3) {
		f->random_pages += pages;
		rows_pct = f->value[FLASH_WRITE_AMP];
	}
	flash_charge(f, rq, flash_us(f, FLASH_PROGRAM) * rows_pct * pages / f->row_pages / 100);
	if (rq->fua && f->value[LAB_WRITE_CACHE])
		flash_wait_flush(f, rq);
	else
		flash_done(f, rq, over_ns);
}

static void flash_write(struct flash *f, struct lab_request *rq, u64 now_ns)
{
	flash_places_forget(f, rq);
	if (f->blocked || !flash_has_room(f, rq)) {
		f->counts[BUFFER_FULL]++;
		rq->next = NULL;
		*f->blocked_last = rq;
		f->blocked_last = &rq->next;
		return;
	}
	flash_write_buffered(f, rq, now_ns);
	flash_program(f, now_ns);
}

static bool flash_is_flushed(const struct flash *f, u64 mark)
{
	u32 i;

	if (f->pages_out < mark)
		return false;
	for (i = 0; i < f->dies; i++)
		if (f->die[i].op == DIE_PROGRAM && f->die[i].mark < mark)
			return false;
	return true;
}

static void flash_flushed(struct flash *f, u64 now_ns)
{
	struct lab_request *rq;

	while (f->flushes && flash_is_flushed(f, f->flushes->ready_ns)) {
		rq = f->flushes;
		f->flushes = rq->next;
		if (!f->flushes)
			f->flushes_last = &f->flushes;
		flash_done(f, rq, max(now_ns, f->link.free_ns));
	}
}

static void flash_programmed(struct flash *f, u32 pages, u64 now_ns)
{
	struct lab_request *rq;

	f->used_pages -= pages;
	while (f->blocked && flash_has_room(f, f->blocked)) {
		rq = f->blocked;
		f->blocked = rq->next;
		if (!f->blocked)
			f->blocked_last = &f->blocked;
		flash_write_buffered(f, rq, now_ns);
	}
	flash_flushed(f, now_ns);
	flash_program(f, now_ns);
}

/* Dies */

static void flash_die_busy(struct flash *f, u32 index, enum flash_die_op op, u64 until_ns)
{
	f->die[index].op = op;
	lab_events_add(&f->events, until_ns, EVENT_DIE, index, NULL);
}

static u64 flash_erase_ns(struct flash *f, struct flash_die *die, u32 rows)
{
	die->rows_since_erase += rows;
	if (die->rows_since_erase < f->value[FLASH_BLOCK_ROWS])
		return 0;
	die->rows_since_erase -= f->value[FLASH_BLOCK_ROWS];
	f->counts[ERASES]++;
	return flash_us(f, FLASH_ERASE);
}

static void flash_die_program(struct flash *f, u32 index, u64 now_ns)
{
	struct flash_die *die = &f->die[index];
	const u32 pages = min(f->waiting_pages, f->row_pages);
	const u32 random = (u64)f->random_pages * pages / f->waiting_pages;
	const u64 bytes = pages * FLASH_PAGE;
	const u64 over_ns = lab_link_send(flash_channel(f, index), bytes, now_ns, now_ns, bytes);

	die->pages = pages;
	die->mark = f->pages_out;
	die->burst = 0;
	die->gc_owed_pct += (f->value[FLASH_WRITE_AMP] - 100) * random / pages;
	f->pages_out += pages;
	f->waiting_pages -= pages;
	f->random_pages -= random;
	f->counts[PROGRAMS]++;
	flash_die_busy(f, index, DIE_PROGRAM,
		       over_ns + flash_us(f, FLASH_PROGRAM) + flash_erase_ns(f, die, 1));
}

static void flash_die_gc(struct flash *f, u32 index, u64 now_ns)
{
	struct flash_die *die = &f->die[index];
	const u32 rows = min(die->gc_owed_pct / 100, f->value[FLASH_GC_ROWS]);
	const u64 row_ns = flash_us(f, FLASH_READ) + flash_us(f, FLASH_PROGRAM);

	die->gc_owed_pct -= rows * 100;
	die->burst = 0;
	f->counts[GC_MOVES] += rows;
	flash_die_busy(f, index, DIE_GC, now_ns + rows * row_ns + flash_erase_ns(f, die, rows));
}

/* Next operation of an idle die: reads, then pending garbage collection, then a row. */
static void flash_die_next(struct flash *f, u32 index, u64 now_ns)
{
	struct flash_die *die = &f->die[index];
	const bool owes = die->gc_owed_pct >= 100 && f->waiting_pages;
	const bool programs = owes || flash_has_row(f);

	if (die->op != DIE_IDLE)
		return;
	if (die->reads.first && (!programs || die->burst < f->value[FLASH_READ_BURST])) {
		die->job = flash_jobs_take(&die->reads);
		die->burst++;
		flash_die_busy(f, index, DIE_SENSE, now_ns + flash_us(f, FLASH_READ));
	} else if (owes) {
		flash_die_gc(f, index, now_ns);
	} else if (programs) {
		flash_die_program(f, index, now_ns);
	}
}

static void flash_die_done(struct flash *f, u32 index, u64 now_ns)
{
	struct flash_die *die = &f->die[index];
	const enum flash_die_op op = die->op;

	if (op == DIE_SENSE) {
		flash_die_busy(f, index, DIE_TRANSFER,
			       lab_link_send(flash_channel(f, index), die->job->bytes, now_ns,
					     now_ns, die->job->bytes));
		return;
	}
	die->op = DIE_IDLE;
	if (op == DIE_TRANSFER && die->job->place)
		flash_filled(f, die->job, now_ns);
	else if (op == DIE_TRANSFER)
		flash_sent(f, die->job, now_ns);
	else if (op == DIE_PROGRAM)
		flash_programmed(f, die->pages, now_ns);
	flash_die_next(f, index, now_ns);
}

/* The disk */

static void flash_ready(struct flash *f, struct lab_request *rq, u64 now_ns)
{
	if (rq->op == LAB_READ) {
		flash_read(f, rq, now_ns);
	} else if (rq->op == LAB_WRITE) {
		flash_write(f, rq, now_ns);
	} else if (rq->op == LAB_FLUSH && f->value[LAB_WRITE_CACHE]) {
		flash_wait_flush(f, rq);
		flash_program(f, now_ns);
		flash_flushed(f, now_ns);
	} else {
		flash_done(f, rq, now_ns);
	}
}

static void flash_submit(void *disk, struct lab_request *rq, u64 now_ns)
{
	struct flash *f = disk;

	rq->arrived_ns = now_ns;
	f->controller_ns = max(f->controller_ns, now_ns) + f->value[FLASH_COMMAND];
	rq->ready_ns = f->controller_ns + flash_us(f, FLASH_LATENCY);
	lab_events_add(&f->events, rq->ready_ns, EVENT_READY, 0, rq);
}

static u64 flash_next_ns(const void *disk)
{
	const struct flash *f = disk;

	return lab_events_next_ns(&f->events);
}

static struct lab_request *flash_advance(void *disk, u64 now_ns)
{
	struct flash *f = disk;
	struct lab_event event;

	while (lab_events_take(&f->events, now_ns, &event)) {
		if (event.kind == EVENT_DONE)
			return event.rq;
		if (event.kind == EVENT_READY)
			flash_ready(f, event.rq, event.at_ns);
		else
			flash_die_done(f, event.index, event.at_ns);
	}
	return NULL;
}

static u32 flash_commands(const u64 *value)
{
	return value[LAB_QUEUES] * value[LAB_QUEUE_DEPTH];
}

static u32 flash_dies(const u64 *value)
{
	return value[FLASH_CHANNELS] * value[FLASH_DIES];
}

static u64 flash_row_kib(const u64 *value)
{
	return value[FLASH_PLANES] * value[FLASH_PAGE_KIB];
}

static u32 flash_places(const u64 *value)
{
	return max(value[FLASH_READ_BUFFER] / flash_row_kib(value) / FLASH_WAYS, (u64)1) *
	       FLASH_WAYS;
}

/* At most: the parts of a request, times all requests, plus one for each place being filled. */
static u32 flash_nr_jobs(const u64 *value)
{
	return flash_commands(value) * (value[LAB_MAX_KIB] / flash_row_kib(value) + 2) +
	       flash_places(value);
}

static size_t flash_bytes(const u64 *value)
{
	return sizeof(struct flash) +
	       flash_dies(value) * (sizeof(struct flash_die) + sizeof(struct lab_event)) +
	       flash_commands(value) * sizeof(struct lab_event) +
	       flash_places(value) * sizeof(struct flash_place) +
	       flash_nr_jobs(value) * sizeof(struct flash_job);
}

static void flash_init_arrays(struct flash *f)
{
	const u32 jobs = flash_nr_jobs(f->value);
	struct flash_job *job;
	u32 i;

	f->die = (struct flash_die *)(f + 1);
	f->place = (struct flash_place *)(f->die + f->dies);
	job = (struct flash_job *)(f->place + f->places);
	f->events.heap = (struct lab_event *)(job + jobs);
	for (i = 0; i < f->dies; i++)
		flash_jobs_init(&f->die[i].reads);
	for (i = 0; i < f->places; i++)
		flash_jobs_init(&f->place[i].waiting);
	for (i = 0; i < jobs; i++)
		flash_job_free(f, job + i);
	/* Spread the erases of the dies. */
	for (i = 0; i < f->dies; i++)
		f->die[i].rows_since_erase = flash_scatter(f->value[LAB_SEED] + i) %
					     f->value[FLASH_BLOCK_ROWS];
}

static const char *flash_init(void *disk, const u64 *value)
{
	struct flash *f = disk;
	u32 i;

	memcpy(f->value, value, sizeof(f->value));
	if (value[FLASH_WRITE_BUFFER] < value[LAB_MAX_KIB] + flash_row_kib(value))
		return "write_buffer_kib must hold a request of max_kib, and a row";
	f->row_bytes = flash_row_kib(value) * 1024;
	f->row_sectors = f->row_bytes / LAB_SECTOR;
	f->row_pages = f->row_bytes / FLASH_PAGE;
	f->rows = value[LAB_SIZE_MIB] * 1024 / flash_row_kib(value);
	f->dies = flash_dies(value);
	f->places = flash_places(value);
	f->buffer_pages = value[FLASH_WRITE_BUFFER] * 1024 / FLASH_PAGE;
	f->link.bytes_per_ms = value[FLASH_LINK_MBPS] * 1000;
	for (i = 0; i < value[FLASH_CHANNELS]; i++)
		f->channel[i].bytes_per_ms = value[FLASH_CHANNEL_MBPS] * 1000;
	f->blocked_last = &f->blocked;
	f->flushes_last = &f->flushes;
	flash_init_arrays(f);
	return NULL;
}

static const u64 *flash_counts(const void *disk)
{
	const struct flash *f = disk;

	return f->counts;
}

static const u64 *flash_busy_ns(const void *disk)
{
	const struct flash *f = disk;

	return f->busy_ns;
}

const struct lab_model lab_sata_ssd = {
	.name = "sata-ssd",
	.discard = true,
	.params = flash_sata_params,
	.nr_params = FLASH_PARAMS,
	.stats = flash_stats,
	.nr_stats = FLASH_STATS,
	.bytes = flash_bytes,
	.init = flash_init,
	.submit = flash_submit,
	.next_ns = flash_next_ns,
	.advance = flash_advance,
	.counts = flash_counts,
	.busy_ns = flash_busy_ns,
};

const struct lab_model lab_nvme = {
	.name = "nvme",
	.discard = true,
	.params = flash_nvme_params,
	.nr_params = FLASH_PARAMS,
	.stats = flash_stats,
	.nr_stats = FLASH_STATS,
	.bytes = flash_bytes,
	.init = flash_init,
	.submit = flash_submit,
	.next_ns = flash_next_ns,
	.advance = flash_advance,
	.counts = flash_counts,
	.busy_ns = flash_busy_ns,
};
