// SPDX-License-Identifier: GPL-2.0-only
/*
 * Simulates a load, and judges what came out.
 */
#include "judge.h"

#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/time64.h>

#include <stdlib.h>
#include <string.h>

#include "oracle.h"

#define MSEC		((u64)NSEC_PER_MSEC)
#define SEC		((u64)NSEC_PER_SEC)
#define STEPS_MAX	2700

/* The window is as long as so many I/Os take, or so many times as long as the shortest. */
#define WINDOW_IOS	10000
#define WINDOW_TIMES	6

/* So many completions are enough for a rate; or so long. */
#define RATE_IOS	3000
#define RATE_SETTLE_IOS	500
#define RATE_NS		(60 * SEC)

#define MOST_DEPTH	256
#define MOST_SLOTS	4096

/* So that nothing is divided by 0. */
#define TINY		0.000000001

/* Four outstanding on average make a leaf deep. */
#define DEEP		4.0

/* Part of the due that a newcomer has to get. */
#define LAG_PART	0.8

struct timing {
	u64 settle_ns;
	u64 window_ns;
	u64 late_ns;
	u64 step_ns;	/* service is noted after each */
};

static struct timing timing_of(const struct load *load)
{
	static const struct timing fast = { 2 * SEC, SEC, SEC / 2, 10 * MSEC };
	static const struct timing slow = { 4 * SEC, 4 * SEC, 2 * SEC, 10 * MSEC };
	static const struct timing disk = { 20 * SEC, 40 * SEC, 10 * SEC, 100 * MSEC };

	if (load->spec->model == SIM_DISK)
		return disk;
	return load->spec->model == SIM_VOLUME && load->spec->queue < 16 ? slow : fast;
}

/* ---- a simulation ---------------------------------------------------------- */

struct run {
	const struct load *load;
	struct sim_clock clock;
	struct sim_pool pool;
	struct ioband_node nodes[LOAD_ENTS];
	struct sim_leaf leaves[LOAD_ENTS];
	struct sim_job jobs[LOAD_ENTS];
	bool started[LOAD_ENTS];
	struct ioband_max maxima[LOAD_ENTS];
	struct ioband_min minima[LOAD_ENTS];
	struct ioband_latency latencies[LOAD_ENTS];
};

static void run_bound(struct run *run, int i)
{
	const struct load_ent *ent = &run->load->ents[i];
	struct ioband_ent *of = &run->leaves[i].leaf.ent;
	const u64 now_ns = run->clock.now_ns;
	const struct ioband_rates most = { .bytes = { ent->max_bps, ent->max_bps } };
	const struct ioband_rates least = { .bytes = { ent->min_bps, ent->min_bps } };

	ioband_max_init(&run->maxima[i]);
	ioband_min_init(&run->minima[i]);
	ioband_latency_init(&run->latencies[i], IOBAND_DIR_READ);
	if (ent->max_bps)
		ioband_max_set(&run->pool.core, of, &run->maxima[i], &most, now_ns);
	if (ent->min_bps)
		ioband_min_set(&run->pool.core, of, &run->minima[i], &least, 0, now_ns);
	if (ent->target_ns)
		ioband_latency_set(&run->pool.core, of, &run->latencies[i], ent->target_ns, now_ns);
}

static void run_add(struct run *run, int i)
{
	const struct load_ent *ent = &run->load->ents[i];
	struct ioband_node *up = ent->up == LOAD_ROOT ? &run->pool.core.root :
							&run->nodes[ent->up];
	int other;

	if (!ent->leaf) {
		ioband_tree_init_node(&run->nodes[i], up, ent->weight);
		run->nodes[i].streams = ent->levels;
		return;
	}
	ioband_tree_init_leaf(&run->leaves[i].leaf, up, ent->weight);
	for (other = 0; ent->up != LOAD_ROOT && run->load->ents[ent->up].levels && other < i;
	     other++) {
		if (run->load->ents[other].up == ent->up) {
			run->leaves[i].group = &run->leaves[other].own;
			break;
		}
	}
	run_bound(run, i);
}

static struct run *run_new(const struct load *load, enum sim_control control)
{
	struct run *run = calloc(1, sizeof(*run));
	int i;

	if (!run)
		abort();
	run->load = load;
	clock_init(&run->clock);
	pool_init(&run->pool, &run->clock, load->spec, control, load->measure);
	run->pool.device.random.state = load->seed;
	run->pool.slice_ns = load->slice_ns;
	for (i = 0; i < load->nr; i++)
		run_add(run, i);
	return run;
}

/* Its dice, and the place of its data, are its own. */
static void run_start(struct run *run, int i, const struct sim_workload *work)
{
	job_start(&run->jobs[i], &run->pool, &run->leaves[i], work, 60 * run->load->seed + i + 1);
	run->started[i] = true;
}

static void run_free(struct run *run)
{
	int i;

	pool_free(&run->pool);
	for (i = 0; i < LOAD_ENTS; i++)
		if (run->started[i])
			job_free(&run->jobs[i]);
	clock_free(&run->clock);
	free(run);
}

/* The service of a leaf, in the unit that is shared. */
static double run_got(const struct run *run, int i)
{
	switch (run->load->measure) {
	case IOBAND_MEASURE_IOS:
		return run->leaves[i].parts;
	case IOBAND_MEASURE_TIME:
		return run->leaves[i].head_ns;
	default:
		return run->leaves[i].bytes;
	}
}

/* ---- one leaf by itself ---------------------------------------------------- */

/* A second. */
struct rate {
	double ios;
	double got;		/* in the unit that is shared */
	double first_ns;	/* what its first I/O takes */
};

static double mean_bytes(const struct sim_workload *work)
{
	return (work->bytes * (100.0 - work->large_pct) +
		(double)work->large_bytes * work->large_pct) / 100;
}

/* Of a mixture of sizes, what so many I/Os are on average. */
static double usual(const struct load *load, int i, double ios, double got)
{
	const struct sim_workload *work = &load->ents[i].work;

	return load->measure == IOBAND_MEASURE_BYTES && work->large_pct ?
	       ios * mean_bytes(work) : got;
}

static struct rate find_rate(const struct load *load, int i, const struct sim_workload *work)
{
	struct run *run = run_new(load, SIM_NONE);
	struct sim_leaf *leaf = &run->leaves[i];
	struct rate rate = {};
	double ios, got;
	u64 from_ns;

	run_start(run, i, work);
	while (leaf->parts < RATE_SETTLE_IOS && run->clock.now_ns < RATE_NS / 4)
		clock_run(&run->clock, run->clock.now_ns + 10 * MSEC);
	ios = leaf->parts;
	got = run_got(run, i);
	from_ns = run->clock.now_ns;
	while (leaf->parts < ios + RATE_IOS && run->clock.now_ns < RATE_NS)
		clock_run(&run->clock, run->clock.now_ns + 10 * MSEC);
	rate.ios = (leaf->parts - ios) * 1e9 / (run->clock.now_ns - from_ns);
	rate.got = (run_got(run, i) - got) * 1e9 / (run->clock.now_ns - from_ns);
	rate.got = usual(load, i, rate.ios, rate.got);
	rate.first_ns = leaf->first_ns;
	run_free(run);
	return rate;
}

/* While it does not rest. */
static struct rate rate_alone(const struct load *load, int i)
{
	struct sim_workload work = load->ents[i].work;

	work.off_ns = 0;
	return find_rate(load, i, &work);
}

/* Kinds of I/O with a known rate at saturation. */
static struct kind {
	const struct sim_spec *spec;
	struct sim_workload work;
	double ios;
} kinds[MOST_SLOTS];

static struct kind *kind_of(const struct sim_spec *spec, const struct sim_workload *work)
{
	const u64 words[] = { (u64)(unsigned long)spec, work->bytes, work->large_bytes,
			      work->large_pct, work->write_pct, work->sequential };
	struct sim_random hash = { .state = 0 };
	struct kind *kind;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(words); i++) {
		hash.state ^= words[i];
		hash.state = random_u64(&hash);
	}
	kind = &kinds[hash.state % MOST_SLOTS];
	if (kind->spec != spec || memcmp(&kind->work, work, sizeof(*work)))
		*kind = (struct kind) {};
	return kind;
}

/* I/Os a second; whatever the rest of the load. */
static double rate_most(const struct load *load, int i)
{
	const struct sim_workload *own = &load->ents[i].work;
	struct load lone = { .spec = load->spec, .seed = 1, .nr = 1 };
	struct sim_workload work;
	struct kind *kind;

	memset(&work, 0, sizeof(work));	/* compared by its bytes */
	work.depth = MOST_DEPTH;
	work.bytes = own->bytes;
	work.large_bytes = own->large_pct ? own->large_bytes : 0;
	work.large_pct = own->large_pct;
	work.write_pct = own->write_pct;
	work.sequential = own->sequential;
	work.decks = true;
	kind = kind_of(load->spec, &work);
	if (!kind->spec) {
		lone.ents[0] = (struct load_ent) {
			.up = LOAD_ROOT, .weight = 100, .leaf = true, .work = work,
		};
		kind->ios = find_rate(&lone, 0, &work).ios;
		memcpy(&kind->work, &work, sizeof(work));
		kind->spec = load->spec;
	}
	return kind->ios;
}

/* ---- all of them together -------------------------------------------------- */

/* The observations of a run. */
struct seen {
	double ios[LOAD_ENTS];		/* in the window */
	double outstanding[LOAD_ENTS];
	double got[STEPS_MAX][LOAD_ENTS];	/* after so many steps of the window, or beyond */
	double first_ns;		/* of the newcomer; less than 0: none, or not yet */
	double idle_ns;
	u64 idle_for_nothing_ns;
	u32 over_ios;
	struct ioband_depth_limit limit;
};

static void note_steps(struct run *run, struct seen *seen, u32 from, u32 nr, u64 step_ns)
{
	u32 step;
	int i;

	for (step = from; step <= from + nr; step++) {
		for (i = 0; i < run->load->nr; i++)
			seen->got[step][i] = run_got(run, i);
		if (step < from + nr)
			clock_run(&run->clock, run->clock.now_ns + step_ns);
	}
}

static double area_of(const struct run *run, int i)
{
	const struct sim_leaf *leaf = &run->leaves[i];

	return leaf->outstanding_area +
	       (double)leaf->outstanding * (run->clock.now_ns - leaf->outstanding_since_ns);
}

/* Without control: how long the window is to be. */
static void note_window_by_ios(struct run *run, struct seen *seen, struct timing *timing)
{
	const u32 nr = timing->window_ns / timing->step_ns;
	const u64 ios = run->pool.ios;
	u32 times = 0;

	do
		note_steps(run, seen, times * nr, nr, timing->step_ns);
	while (++times < WINDOW_TIMES && run->pool.ios - ios < WINDOW_IOS);
	timing->window_ns *= times;
}

static void note_window(struct run *run, struct seen *seen, struct timing *timing)
{
	const u64 idle_ns = run->pool.idle_thinking_ns + run->pool.idle_ns;
	double areas[LOAD_ENTS];
	int i;

	for (i = 0; i < run->load->nr; i++) {
		seen->ios[i] = run->leaves[i].parts;
		areas[i] = area_of(run, i);
	}
	if (run->load->stall_ns)
		run->pool.device.stalled_until_ns = run->clock.now_ns + run->load->stall_ns;
	if (run->pool.control == SIM_NONE)
		note_window_by_ios(run, seen, timing);
	else
		note_steps(run, seen, 0, timing->window_ns / timing->step_ns, timing->step_ns);
	for (i = 0; i < run->load->nr; i++) {
		seen->ios[i] = run->leaves[i].parts - seen->ios[i];
		seen->outstanding[i] = (area_of(run, i) - areas[i]) / timing->window_ns;
	}
	seen->idle_ns = run->pool.idle_thinking_ns + run->pool.idle_ns - idle_ns;
	seen->limit = run->pool.depth.limit;
}

static int load_late(const struct load *load)
{
	int i;

	for (i = 0; i < load->nr; i++)
		if (load->ents[i].leaf && load->ents[i].late)
			return i;
	return -1;
}

static void note_late(struct run *run, struct seen *seen, const struct timing *timing, int late)
{
	const u64 from_ns = run->clock.now_ns;

	run_start(run, late, &run->load->ents[late].work);
	note_steps(run, seen, timing->window_ns / timing->step_ns,
		   timing->late_ns / timing->step_ns, timing->step_ns);
	if (run->leaves[late].first_ns)
		seen->first_ns = run->leaves[late].first_ns - from_ns;
	else
		seen->first_ns = run->clock.now_ns - from_ns;
}

static struct seen *look(const struct load *load, enum sim_control control,
			 const struct ioband_depth_limit *fixed, struct timing *timing)
{
	struct run *run = run_new(load, control);
	struct seen *seen = calloc(1, sizeof(*seen));
	const int late = load_late(load);
	int i;

	if (!seen)
		abort();
	seen->first_ns = -1;
	if (fixed) {
		ioband_core_set_limit(&run->pool.core, fixed->ios, 0);
		run->pool.depth.limit = *fixed;
	}
	for (i = 0; i < load->nr; i++)
		if (load->ents[i].leaf && i != late)
			run_start(run, i, &load->ents[i].work);
	clock_run(&run->clock, timing->settle_ns);
	note_window(run, seen, timing);
	if (late >= 0)
		note_late(run, seen, timing, late);
	seen->idle_for_nothing_ns = run->pool.idle_ns;
	seen->over_ios = run->pool.core.nr_minima ? 0 : run->pool.over_ios;
	run_free(run);
	return seen;
}

/* ---- dues --------------------------------------------------------------- */

struct case_of {
	const struct load *load;
	struct timing timing;
	struct rate alone[LOAD_ENTS];
	double most_ios[LOAD_ENTS];
};

static bool is_on(const struct load *load, int i, u64 at_ns)
{
	const struct sim_workload *work = &load->ents[i].work;

	return !work->off_ns || at_ns % (work->on_ns + work->off_ns) < work->on_ns;
}

/* A bound in bytes a second, converted to the unit that is shared. */
static double in_shared(const struct case_of *of, int i, u64 bps)
{
	const double ios = bps / mean_bytes(&of->load->ents[i].work);

	if (of->load->measure == IOBAND_MEASURE_BYTES)
		return bps;
	return ios * of->alone[i].got / max(of->alone[i].ios, TINY);
}

/* What a leaf gets alone in the time of some steps of the window, its maximum included. */
static double high_of(const struct case_of *of, int i, u32 from, u32 to)
{
	const struct load_ent *ent = &of->load->ents[i];
	const double seconds = (to - from) * of->timing.step_ns / 1e9;
	double rate = of->alone[i].got;
	u32 step, on = 0;

	if (ent->max_bps)
		rate = min(rate, in_shared(of, i, ent->max_bps));
	for (step = from; step < to; step++)
		on += is_on(of->load, i, of->timing.settle_ns + step * of->timing.step_ns);
	return rate * seconds * on / (to - from);
}

/* Add the due of each leaf in the service of some steps; @late: the newcomer is there. */
static void add_dues(const struct case_of *of, const struct seen *seen, u32 from, u32 to,
		     bool late, double dues[LOAD_ENTS])
{
	struct oracle_ent ents[LOAD_ENTS];
	const struct load *load = of->load;
	double total = 0;
	int i;

	for (i = 0; i < load->nr; i++) {
		const struct load_ent *ent = &load->ents[i];
		const double seconds = (to - from) * of->timing.step_ns / 1e9;

		ents[i] = (struct oracle_ent) {
			.up = ent->up, .leaf = ent->leaf, .weight = ent->weight,
		};
		if (!ent->leaf || (ent->late && !late))
			continue;
		ents[i].high = high_of(of, i, from, to);
		ents[i].low = ent->min_bps ? in_shared(of, i, ent->min_bps) * seconds : 0;
		total += seen->got[to][i] - seen->got[from][i];
	}
	oracle_share(ents, load->nr, total);
	for (i = 0; i < load->nr; i++)
		dues[i] += ents[i].due;
}

static bool same_leaves_on(const struct case_of *of, u32 a, u32 b)
{
	int i;

	for (i = 0; i < of->load->nr; i++)
		if (is_on(of->load, i, of->timing.settle_ns + a * of->timing.step_ns) !=
		    is_on(of->load, i, of->timing.settle_ns + b * of->timing.step_ns))
			return false;
	return true;
}

/* Of the window, cut where a leaf begins or ends to rest. */
static void find_dues(const struct case_of *of, const struct seen *seen, double dues[LOAD_ENTS])
{
	const u32 nr = of->timing.window_ns / of->timing.step_ns;
	u32 from = 0, to;

	while (from < nr) {
		for (to = from + 1; to < nr && same_leaves_on(of, from, to); to++)
			;
		add_dues(of, seen, from, to, false, dues);
		from = to;
	}
}

static double largest_bytes(const struct sim_workload *work)
{
	return work->large_pct ? max(work->bytes, work->large_bytes) : work->bytes;
}

/* By how much a leaf may be short, in the unit that is shared. */
static double grain_of(const struct case_of *of, int i)
{
	const struct sim_workload *work = &of->load->ents[i].work;
	double grain = 1;

	if (of->load->measure == IOBAND_MEASURE_BYTES)
		grain = largest_bytes(work);
	if (of->load->measure == IOBAND_MEASURE_TIME)
		grain = of->alone[i].got / max(of->alone[i].ios, TINY);
	return max(grain, of->alone[i].got * of->load->slice_ns / 1e9);
}

/* ---- the verdict ----------------------------------------------------------- */

static bool has_target(const struct load *load)
{
	int i;

	for (i = 0; i < load->nr; i++)
		if (load->ents[i].target_ns)
			return true;
	return false;
}

static void judge_use(const struct case_of *of, struct verdict *verdict)
{
	double ours = 0, none = 0;
	int i;

	for (i = 0; i < of->load->nr; i++) {
		const struct load_ent *ent = &of->load->ents[i];
		const struct judge_leaf *leaf = &verdict->leaves[i];
		const double most = max(leaf->most_ios, TINY);
		double wanted = leaf->none_ios;

		if (!ent->leaf || ent->late)
			continue;
		if (ent->max_bps)
			wanted = min(wanted, ent->max_bps / mean_bytes(&ent->work) *
				     of->timing.window_ns / 1e9);
		ours += leaf->ours_ios / most;
		none += wanted / most;
	}
	if (none > 0 && !has_target(of->load))
		verdict->used = ours / none;
}

static void worse(double *worst, double share)
{
	if (*worst == JUDGE_NONE || share < *worst)
		*worst = share;
}

static void judge_shares(const struct case_of *of, struct verdict *verdict)
{
	int i;

	for (i = 0; i < of->load->nr; i++) {
		struct judge_leaf *leaf = &verdict->leaves[i];
		const double got = max(leaf->got, usual(of->load, i, leaf->ours_ios, leaf->got));

		if (!of->load->ents[i].leaf || leaf->due <= 0)
			continue;
		leaf->share = (got + grain_of(of, i)) / leaf->due;
		worse(leaf->outstanding >= DEEP ? &verdict->deep : &verdict->synchronous,
		      leaf->share);
	}
}

static double may_take_ns(const struct case_of *of, int late)
{
	double ns = of->alone[late].first_ns;
	int i;

	for (i = 0; i < of->load->nr; i++) {
		const struct sim_workload *work = &of->load->ents[i].work;

		if (!of->load->ents[i].leaf || i == late)
			continue;
		ns += largest_bytes(work) / mean_bytes(work) * 1e9 / max(of->most_ios[i], TINY);
		ns += of->load->slice_ns;
	}
	return ns;
}

static double find_lag_ns(const struct case_of *of, const struct seen *seen, int late)
{
	const u32 from = of->timing.window_ns / of->timing.step_ns;
	const u32 nr = of->timing.late_ns / of->timing.step_ns;
	double dues[LOAD_ENTS] = {}, rate, lag = 0;
	u32 step;

	add_dues(of, seen, from + nr / 2, from + nr, true, dues);
	rate = LAG_PART * dues[late] / ((nr - nr / 2) * of->timing.step_ns);
	for (step = 0; step <= nr && rate > 0; step++) {
		const double got = seen->got[from + step][late] + grain_of(of, late);

		lag = max(lag, step * of->timing.step_ns - got / rate);
	}
	return lag;
}

static struct case_of *case_new(const struct load *load)
{
	struct case_of *of = calloc(1, sizeof(*of));
	int i;

	if (!of)
		abort();
	of->load = load;
	of->timing = timing_of(load);
	for (i = 0; i < load->nr; i++) {
		if (!load->ents[i].leaf)
			continue;
		of->alone[i] = rate_alone(load, i);
		of->most_ios[i] = rate_most(load, i);
	}
	return of;
}

static void fill_leaves(const struct case_of *of, const struct seen *ours,
			const struct seen *none, struct verdict *verdict)
{
	const u32 nr = of->timing.window_ns / of->timing.step_ns;
	const double seconds = of->timing.window_ns / 1e9;
	double dues[LOAD_ENTS] = {};
	int i;

	find_dues(of, ours, dues);
	for (i = 0; i < of->load->nr; i++) {
		verdict->leaves[i] = (struct judge_leaf) {
			.got = ours->got[nr][i] - ours->got[0][i],
			.due = dues[i],
			.alone = high_of(of, i, 0, nr),
			.share = JUDGE_NONE,
			.outstanding = ours->outstanding[i],
			.ours_ios = ours->ios[i],
			.none_ios = none->ios[i],
			.most_ios = of->most_ios[i] * seconds,
		};
	}
}

void judge(const struct load *load, enum sim_control control,
	   const struct ioband_depth_limit *fixed, struct verdict *verdict)
{
	struct case_of *of = case_new(load);
	struct seen *none = look(load, SIM_NONE, NULL, &of->timing);
	struct seen *ours = control == SIM_NONE ? none : look(load, control, fixed, &of->timing);
	const int late = load_late(load);

	*verdict = (struct verdict) {
		.used = JUDGE_NONE,
		.deep = JUDGE_NONE,
		.synchronous = JUDGE_NONE,
		.first = JUDGE_NONE,
		.none_first = JUDGE_NONE,
		.lag_ns = JUDGE_NONE,
		.idle = ours->idle_ns / of->timing.window_ns,
		.idle_ns = ours->idle_for_nothing_ns,
		.over_ios = ours->over_ios,
		.window_ns = of->timing.window_ns,
		.limit = ours->limit,
	};
	fill_leaves(of, ours, none, verdict);
	judge_use(of, verdict);
	if (!has_target(load) && !load->stall_ns) {
		judge_shares(of, verdict);
		if (late >= 0) {
			verdict->first = ours->first_ns / may_take_ns(of, late);
			verdict->none_first = none->first_ns / may_take_ns(of, late);
			verdict->lag_ns = find_lag_ns(of, ours, late);
		}
	}
	if (ours != none)
		free(ours);
	free(none);
	free(of);
}
