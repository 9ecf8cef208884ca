// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: messages, and the pages of their answers.
 *
 * The number of groups has no bound that would fit a buffer, so lists come in pages: whole lines,
 * as many as fit, and the start of the next page.
 */
#include "message.h"

#include "group.h"
#include "limits.h"
#include "pool.h"
#include "preset.h"
#include "state.h"
#include "stats.h"
#include "stream.h"

#include <linux/cgroup.h>
#include <linux/slab.h>
#include <linux/string_helpers.h>

/* Space that is kept for the last line of a page. */
#define PAGE_TAIL	sizeof("next 4294967295\n")

/* Longest line without the path: six histograms of 26 numbers of 64 bits, and their sums. */
#define LINE_MAX	4096

/* A path may need four characters for each of its own. */
#define PATH_ROOM	(4 * PATH_MAX)

/* A page that is being written. */
struct page_writer {
	char *result;			/* buffer of the answer */
	unsigned int maxlen;		/* its size */
	unsigned int len;		/* so far */
	char *line;			/* the current line */
	unsigned int line_len;		/* so far */
	char *path;			/* scratch for a path */
};

static __printf(2, 3) void line_add(struct page_writer *page, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	page->line_len += vscnprintf(page->line + page->line_len,
				     LINE_MAX + PATH_ROOM - page->line_len, format, args);
	va_end(args);
}

/* Return: false if the line does not fit any more. */
static bool line_end(struct page_writer *page)
{
	line_add(page, "\n");
	if (page->len + page->line_len + PAGE_TAIL >= page->maxlen)
		return false;
	memcpy(page->result + page->len, page->line, page->line_len + 1);
	page->len += page->line_len;
	page->line_len = 0;
	return true;
}

static const char * const kind_names[IOBAND_NR_KEYED] = {
	[IOBAND_KIND_UID]	= "uid",
	[IOBAND_KIND_GID]	= "gid",
	[IOBAND_KIND_PID]	= "pid",
	[IOBAND_KIND_PGRP]	= "pgrp",
};

static struct cgroup *group_cgroup(const struct ioband_group *group)
{
	return ((struct cgroup_subsys_state *)group->key.object)->cgroup;
}

static void line_add_name(struct page_writer *page, const struct ioband_group *group)
{
	switch (group->kind) {
	case IOBAND_KIND_ROOT:
		line_add(page, "root");
		break;
	case IOBAND_KIND_DEVICE:
		line_add(page, "device:%u:%u", MAJOR(group->devno), MINOR(group->devno));
		break;
	case IOBAND_KIND_CGROUP:
		line_add(page, "cgroup#%llu", (u64)cgroup_id(group_cgroup(group)));
		break;
	default:
		line_add(page, "%s:%u", kind_names[group->kind], group->key.id);
		break;
	}
}

static void line_add_path(struct page_writer *page, const char *path)
{
	static const char special[] =
		"\001\002\003\004\005\006\007\010\011\012\013\014\015\016\017\020\021\022\023"
		"\024\025\026\027\030\031\032\033\034\035\036\037\040\\\177";
	int len;

	line_add(page, " path=");
	len = string_escape_mem(path, strlen(path), page->line + page->line_len,
				LINE_MAX + PATH_ROOM - page->line_len - 1, ESCAPE_OCTAL, special);
	page->line_len += len;
	page->line[page->line_len] = '\0';
}

static void line_add_rate(struct page_writer *page, const char *before, u64 rate, const char *none)
{
	if (rate)
		line_add(page, "%s%llu", before, rate);
	else
		line_add(page, "%s%s", before, none);
}

static void line_add_rates(struct page_writer *page, const struct ioband_rates *rates,
			   const char *name, const char *none)
{
	if (!ioband_args_any_rate(rates))
		return;
	line_add_rate(page, name, rates->bytes[IOBAND_DIR_READ], none);
	line_add_rate(page, ",", rates->bytes[IOBAND_DIR_WRITE], none);
	line_add_rate(page, ",", rates->ios[IOBAND_DIR_READ], none);
	line_add_rate(page, ",", rates->ios[IOBAND_DIR_WRITE], none);
}

/* The idle class is 0, as in cpu.weight. */
static void line_add_weight(struct page_writer *page, u32 weight)
{
	line_add(page, " weight=%u", weight == IOBAND_WEIGHT_IDLE ? 0 : weight);
}

static void line_add_limits(struct page_writer *page, const struct ioband_config *limits)
{
	line_add_rates(page, &limits->max, " max=", "max");
	line_add_rates(page, &limits->min, " min=", "0");
	if (limits->latency_us[IOBAND_DIR_READ])
		line_add(page, " latency=%u", limits->latency_us[IOBAND_DIR_READ]);
	if (limits->latency_us[IOBAND_DIR_WRITE])
		line_add(page, " write_latency=%u", limits->latency_us[IOBAND_DIR_WRITE]);
}

static bool write_group(struct page_writer *page, void *entry)
{
	struct ioband_group *group = entry;
	struct ioband_config limits;

	line_add(page, "%u %u ", group->seq, group->parent ? group->parent->seq : 0);
	line_add_name(page, group);
	line_add_weight(page, ioband_group_weight(group));
	line_add(page, " set=%u", group->weight_set);
	if (group->kind == IOBAND_KIND_CGROUP) {
		cgroup_path(group_cgroup(group), page->path, PATH_MAX);
		line_add_path(page, page->path);
	}
	ioband_limits_get(group, &limits);
	line_add_limits(page, &limits);
	return line_end(page);
}

static bool write_preset(struct page_writer *page, void *entry)
{
	const struct ioband_preset *preset = entry;

	line_add(page, "%u ", preset->seq);
	line_add_name(page, preset->scope->group);
	if (preset->config.weight)
		line_add_weight(page, preset->config.weight);
	line_add_path(page, preset->path);
	line_add_limits(page, &preset->config);
	return line_end(page);
}

static const char * const op_names[IOBAND_NR_OPS] = {
	[IOBAND_OP_READ]	= "read",
	[IOBAND_OP_WRITE]	= "write",
	[IOBAND_OP_DISCARD]	= "discard",
};

/* Queued bios and bios in flight of a group, of one operation or of all. */
struct work {
	struct ioband_held held;
	u32 inflight;
};

static struct work work_of(const struct ioband_group *group, const struct ioband_sum *sum, int op)
{
	struct work work = {
		.held.ios = READ_ONCE(group->held[op].ios),
		.held.bytes = READ_ONCE(group->held[op].bytes),
	};

	work.inflight = max(sum->inflight[op] - (int)work.held.ios, 0);
	return work;
}

static void line_add_work(struct page_writer *page, const char *op, const struct work *work)
{
	const char *dot = *op ? "." : "";

	line_add(page, " %s%sheld=%u,%llu %s%sinflight=%u", op, dot, work->held.ios,
		 work->held.bytes, op, dot, work->inflight);
}

/* Does a policy below delay bios of a group? */
static bool is_delayed_below(struct ioband_group *group)
{
	struct ioband_stream *stream;
	bool delayed = false;

	spin_lock_irq(&group->pool->lock);
	if (group->pool->core.below.apart)
		for (stream = &group->own; stream; stream = ioband_stream_next(stream))
			delayed |= stream->leaf.apart_dirs;
	spin_unlock_irq(&group->pool->lock);
	return delayed;
}

static bool write_stats(struct page_writer *page, void *entry)
{
	struct ioband_group *group = entry;
	struct work work[IOBAND_NR_OPS], all = {};
	struct ioband_sum sum;
	u64 ios = 0;

	ioband_stats_sum(group, &sum);
	for (int op = 0; op < IOBAND_NR_OPS; op++) {
		work[op] = work_of(group, &sum, op);
		all.held.ios += work[op].held.ios;
		all.held.bytes += work[op].held.bytes;
		all.inflight += work[op].inflight;
		ios += sum.op[op].ios;
	}
	if (!all.inflight && !all.held.ios && !ios)
		return true;
	line_add(page, "%u ", group->seq);
	line_add_name(page, group);
	line_add_work(page, "", &all);
	for (int op = 0; op < IOBAND_NR_OPS; op++)
		line_add(page, " %s=%llu,%llu,%llu,%llu,%llu", op_names[op], sum.op[op].ios,
			 sum.op[op].bytes, sum.op[op].held, sum.op[op].wait_ns,
			 sum.op[op].service_ns);
	for (int op = 0; op < IOBAND_NR_OPS; op++)
		line_add_work(page, op_names[op], &work[op]);
	if (is_delayed_below(group))
		line_add(page, " below=1");
	return line_end(page);
}

static void line_add_hist(struct page_writer *page, const char *op, const char *what,
			  const u64 *buckets)
{
	line_add(page, " %s.%s=", op, what);
	for (int i = 0; i < IOBAND_NR_BUCKETS; i++)
		line_add(page, i ? ",%llu" : "%llu", buckets[i]);
}

static bool write_latency(struct page_writer *page, void *entry)
{
	struct ioband_group *group = entry;
	struct ioband_cpu_hist hist;

	if (!ioband_stats_sum_hist(group, &hist))
		return true;
	line_add(page, "%u ", group->seq);
	line_add_name(page, group);
	for (int op = 0; op < IOBAND_NR_OPS; op++) {
		line_add_hist(page, op_names[op], "wait", hist.wait[op].bios);
		line_add_hist(page, op_names[op], "service", hist.service[op].bios);
	}
	for (int op = 0; op < IOBAND_NR_OPS; op++)
		line_add(page, " %s.wait_ns=%llu %s.service_ns=%llu", op_names[op],
			 hist.wait[op].sum_ns, op_names[op], hist.service[op].sum_ns);
	return line_end(page);
}

static const struct {
	const char *title;
	bool (*write)(struct page_writer *page, void *entry);
} lists[] = {
	[IOBAND_MSG_GROUPS]	= { "groups", write_group },
	[IOBAND_MSG_STATS]	= { "stats", write_stats },
	[IOBAND_MSG_LATENCY]	= { "latency", write_latency },
	[IOBAND_MSG_PRESETS]	= { "presets", write_preset },
};

/*
 * Fill a page, from the group or preset after @cursor.
 *
 * Return: false if not even one line fits.
 */
static bool write_page(struct page_writer *page, struct ioband_pool *pool,
		       enum ioband_verb verb, u32 cursor)
{
	struct xarray *entries = verb == IOBAND_MSG_PRESETS ? &pool->presets : &pool->groups;
	const u32 start = cursor;
	unsigned long seq;
	void *entry;
	bool fits;

	line_add(page, "1 %s", lists[verb].title);
	fits = line_end(page);

	mutex_lock(&pool->reap);
	xa_for_each_start(entries, seq, entry, (unsigned long)start + 1) {
		if (fits)
			fits = lists[verb].write(page, entry);
		if (!fits)
			break;
		cursor = seq;
		cond_resched();
	}
	mutex_unlock(&pool->reap);

	page->line_len = 0;
	if (fits)
		line_add(page, "end\n");
	else
		line_add(page, "next %u\n", cursor);
	if (!fits && cursor == start)
		return false;
	memcpy(page->result + page->len, page->line, page->line_len + 1);
	return true;
}

/* Write a page of a list into @result.  May sleep.  Return: 1, or -ENOMEM. */
static int answer(struct ioband_pool *pool, const struct ioband_message *message,
		  char *result, unsigned int maxlen)
{
	struct page_writer page = { .result = result, .maxlen = maxlen };
	int ret = -ENOMEM;

	page.line = kvmalloc(LINE_MAX + PATH_ROOM, GFP_KERNEL);
	page.path = kmalloc(PATH_MAX, GFP_KERNEL);
	if (page.line && page.path) {
		/* A full buffer makes the caller come back with a larger one. */
		if (!write_page(&page, pool, message->verb, message->cursor)) {
			memset(result, ' ', maxlen - 1);
			result[maxlen - 1] = '\0';
		}
		ret = 1;
	}
	kfree(page.path);
	kvfree(page.line);
	return ret;
}

/*
 * Execute a message; the words may be modified.  May sleep.  Return: 0, or 1 if there is an
 * answer in @result, or -EINVAL, -ENOENT or -ENOMEM with a sentence in @error.
 */
int ioband_message(struct ioband_target *target, unsigned int argc, char **argv,
		   char *result, unsigned int maxlen, struct ioband_error *error)
{
	struct ioband_message message;
	int ret;

	ret = ioband_args_message(&message, argc, argv, error);
	if (ret)
		return ret;
	if (message.preset)
		return ioband_preset_set(target, &message, error);
	switch (message.verb) {
	case IOBAND_MSG_WEIGHT:
	case IOBAND_MSG_MAX:
	case IOBAND_MSG_MIN:
	case IOBAND_MSG_LATENCY_TARGET:
	case IOBAND_MSG_WRITE_LATENCY_TARGET:
		ret = ioband_group_set(target, &message, error);
		ioband_state_update(target->pool);
		return ret;
	case IOBAND_MSG_SET:
		return ioband_pool_set(target, &message.settings, error);
	case IOBAND_MSG_GROUPS:
	case IOBAND_MSG_STATS:
	case IOBAND_MSG_LATENCY:
	case IOBAND_MSG_PRESETS:
		return answer(target->pool, &message, result, maxlen);
	}
	return -EINVAL;
}
