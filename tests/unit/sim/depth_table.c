// SPDX-License-Identifier: GPL-2.0-only
/*
 * How good the limit is that the estimator finds: a table of devices and loads.
 *
 *	depth_table [SEED [DEVICE]]	settled: throughput, ratio, in flight
 *	depth_table start SEED DEVICE	the limit over time; the device is four
 *					times slower from the 2nd to the 4th second
 *
 * Two groups, 200:100.  The devices are those of device.c, and others with
 * other parameters: the estimator was adjusted on the former, judged by the
 * latter (their names begin with x).
 */
#include <linux/time64.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pair.h"

#define STEP_NS		(100 * (u64)NSEC_PER_MSEC)

static const struct sim_spec judges[] = {
	{ "xline", SIM_LINE, 1 << 20, .bps = 37000000, .latency_ns = 300000 },
	{ "xwan", SIM_LINE, 1 << 20, .bps = 40000000, .latency_ns = 8000000 },
	{ "xcloud", SIM_LINE, 1 << 20, .bps = 400000000, .per_io_ns = 25000,
	  .latency_ns = 900000 },
	{ "xflash", SIM_FLASH, 64, .bps = 900000000, .latency_ns = 90000, .write_ns = 200000,
	  .channels = 16, .favour = 2 },
	{ "xnvme", SIM_FLASH, 1023, .bps = 2000000000, .latency_ns = 120000, .write_ns = 15000,
	  .channels = 32, .favour = 3 },
	{ "xdisk", SIM_DISK, 16, .bps = 120000000 },
	{ "xdiskwc", SIM_DISK, 31, .bps = 90000000, .cache = 32 << 20 },
	{ "xvolume", SIM_VOLUME, 12, .latency_ns = 2000000 },
	{ "xvolume1", SIM_VOLUME, 1, .latency_ns = 700000 },
	{ "xvolume48", SIM_VOLUME, 48, .latency_ns = 3000000 },
	{}
};

static const struct load {
	const char *name;
	struct sim_workload work;
} loads[] = {
	{ "4K", { .depth = 128, .bytes = 4096, .think_ns = 10000 } },
	{ "8K rw 50:50", { .depth = 96, .bytes = 8192, .write_pct = 50, .think_ns = 20000 } },
	{ "32K", { .depth = 80, .bytes = 32768, .think_ns = 5000 } },
	{ "256K seq", { .depth = 48, .bytes = 262144, .sequential = true, .think_ns = 20000 } },
	{ "16K+512K 4:1", { .depth = 96, .bytes = 16384, .large_bytes = 524288, .large_pct = 20,
			    .think_ns = 20000 } },
	{ "4K+1M 9:1", { .depth = 64, .bytes = 4096, .large_bytes = 1 << 20, .large_pct = 10,
			 .think_ns = 10000 } },
	{}
};

/* The smallest fixed limit with 97 % of the throughput; 0: none below the load's depth. */
static u32 find_knee(const struct sim_spec *spec, const struct load *load, double mbps, u64 seed)
{
	u32 limit;

	for (limit = 1; limit < PAIR_GROUPS * load->work.depth; limit += 1 + limit / 4)
		if (pair_measure(spec, &load->work, SIM_FIXED, limit, seed).mbps >= 0.97 * mbps)
			return limit;
	return 0;
}

static void print_row(const struct sim_spec *spec, const struct load *load, u64 seed)
{
	const struct pair_result none = pair_measure(spec, &load->work, SIM_NONE, 0, seed);
	const struct pair_result found = pair_measure(spec, &load->work, SIM_AUTO, 0, seed);

	printf("%-9s %-13s %9.1f %6.1f %6.2f %9.1f %5u %6u\n", spec->name, load->name, none.mbps,
	       100 * found.mbps / none.mbps, found.ratio, found.inflight,
	       find_knee(spec, load, none.mbps, seed), PAIR_GROUPS * load->work.depth);
}

static void print_start(const struct sim_spec *spec, const struct load *load, u64 seed)
{
	u64 now_ns, bytes = 0;
	struct pair pair;

	pair_start(&pair, spec, &load->work, SIM_AUTO, seed);
	for (now_ns = STEP_NS; now_ns <= 6 * (u64)NSEC_PER_SEC; now_ns += STEP_NS) {
		const u64 second = (now_ns - 1) / NSEC_PER_SEC;

		pair.pool.device.slow = second == 2 || second == 3 ? 4 : 1;
		clock_run(&pair.clock, now_ns);
		printf("%-9s %-13s %5.1f s limit %5u of %4u KiB %9.1f MB/s\n", spec->name,
		       load->name, now_ns / 1e9, pair.pool.depth.limit.ios,
		       pair.pool.depth.limit.split_bytes >> 10,
		       (pair.pool.bytes - bytes) * 1e3 / STEP_NS);
		bytes = pair.pool.bytes;
	}
	pair_free(&pair);
}

static void print_all(const struct sim_spec *spec, const char *device, u64 seed,
		      void (*print)(const struct sim_spec *, const struct load *, u64))
{
	const struct load *load;

	for (; spec->name; spec++)
		for (load = loads; load->name && (!device || !strcmp(device, spec->name)); load++)
			print(spec, load, seed);
}

int main(int argc, char **argv)
{
	const bool start = argc > 1 && !strcmp(argv[1], "start");
	const u64 seed = argc > 1 + start ? strtoull(argv[1 + start], NULL, 10) : 1;
	const char *device = argc > 2 + start ? argv[2 + start] : NULL;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!start)
		printf("%-9s %-13s %9s %6s %6s %9s %5s %6s\n", "device", "load", "none MB/s", "%",
		       "ratio", "in flight", "knee", "loaded");
	print_all(sim_specs, device, seed, start ? print_start : print_row);
	print_all(judges, device, seed, start ? print_start : print_row);
	return 0;
}
