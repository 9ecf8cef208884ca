// SPDX-License-Identifier: GPL-2.0-only
/* iobandctl record: write samples of the groups' counters at intervals, to plot. */
#include "host/device.h"
#include "observe/interval.h"
#include "observe/recording.h"
#include "observe/sample.h"
#include "print/print.h"
#include "verbs/verbs.h"

#define INTERVAL_S 1

/* A run of the verb. */
struct record {
	double interval_s;	/* seconds between samples */
	double duration_s;	/* seconds in all; 0 without an end */
	struct names only;	/* the names of the recorded pools; empty for all */
	struct names seen;	/* the pools of the last sample */
	sigset_t signals;	/* the signals that end it */
	bool shows;	/* whether progress is shown on the terminal */
	struct recording file;
};

static bool is_pool(const struct ioband_devices *devices, const char *name)
{
	const struct scope scope = { .pool = name };

	for (size_t i = 0; i < devices->n; i++) {
		if (ioband_in_scope(&devices->v[i], &scope))
			return true;
	}
	return false;
}

/* An operand is a pool or a device.  Pools come first, because they have names of disks. */
static int find_pools(struct record *record, const struct args *args,
		      const struct ioband_devices *devices)
{
	const struct ioband_device *device;
	struct scope scope;
	int code;

	for (int i = 0; i < args->n; i++) {
		if (is_pool(devices, args->operand[i])) {
			names_add(&record->only, args->operand[i]);
			continue;
		}
		code = ioband_find(devices, args->operand[i], &device);
		if (code != EXIT_OK)
			return code;
		names_add(&record->only, device->table.pool);
	}
	return ioband_scope(devices, args, &scope);
}

/*
 * A device that was removed since it was listed is not an error.  The next sample
 * shows whether its pool still exists.
 */
static int look_at(struct record *record, const struct ioband_devices *devices,
		   const struct ioband_device *speaker)
{
	struct problem problem;
	struct sample sample __cleanup(sample_free);
	int code;

	fail_into(&problem);
	code = sample_take(speaker, &sample);
	fail_into(NULL);
	if (code == EXIT_OK)
		code = recording_pool(&record->file, devices, speaker, &sample);
	else if (code == EXIT_MISSING)
		code = EXIT_OK;
	else
		fail(code, "%s", problem.text);
	return code;
}

static int note_gone(struct record *record, const struct names *now)
{
	int code = EXIT_OK;

	for (size_t i = 0; i < record->seen.n && code == EXIT_OK; i++) {
		if (!names_has(now, record->seen.v[i]))
			code = recording_gone(&record->file, record->seen.v[i]);
	}
	return code;
}

static int look_at_all(struct record *record, const struct ioband_devices *devices)
{
	const struct scope all = { .device = NULL };
	struct names now = { .n = 0 };
	struct targets speakers __cleanup(targets_free) = { .n = 0 };
	int code = EXIT_OK;

	ioband_pools(devices, &all, &speakers);
	for (size_t i = 0; i < speakers.n && code == EXIT_OK; i++) {
		const char *pool = speakers.v[i]->table.pool;

		if (record->only.n && !names_has(&record->only, pool))
			continue;
		names_add(&now, pool);
		code = look_at(record, devices, speakers.v[i]);
	}
	code = code ?: note_gone(record, &now);
	names_free(&record->seen);
	record->seen = now;
	return code;
}

static int look(struct record *record)
{
	struct ioband_devices devices __cleanup(ioband_free);

	return ioband_load(&devices) ?: look_at_all(record, &devices);
}

static void show_progress(const struct record *record, uint64_t at_ns)
{
	unsigned long long seconds = (at_ns - record->file.begun_ns) / NS_PER_S;

	if (!record->shows)
		return;
	if (record->duration_s > 0)
		fprintf(stderr, "recorded: %llu s of %g, pools: %zu", seconds,
			record->duration_s, record->seen.n);
	else
		fprintf(stderr, "recorded: %llu s, pools: %zu; Ctrl-C ends it",
			seconds, record->seen.n);
}

static bool wait_until(const struct record *record, uint64_t next_ns)
{
	bool ends;

	show_progress(record, sample_clock());
	ends = interval_wait(next_ns, &record->signals);
	if (record->shows)
		fputs("\r\033[K", stderr);
	return ends;
}

/* Return: an exit code, with the reason of the end in @because. */
static int look_again_and_again(struct record *record, const char **because)
{
	const uint64_t begun_ns = record->file.begun_ns;
	const uint64_t end_ns = record->duration_s > 0 ?
		begun_ns + record->duration_s * NS_PER_S : UINT64_MAX;
	uint64_t next_ns = begun_ns;
	int code;

	*because = "failure";
	for (;;) {
		code = look(record);
		if (code != EXIT_OK)
			return code;
		if (next_ns >= end_ns)
			break;
		next_ns = interval_next(next_ns, record->interval_s);
		if (next_ns > end_ns)
			next_ns = end_ns;
		if (wait_until(record, next_ns)) {
			*because = "signal";
			return EXIT_OK;
		}
	}
	*because = "duration";
	return EXIT_OK;
}

static int write_all(struct record *record, const char *path)
{
	int code = recording_create(&record->file, path, record->interval_s);
	const char *because;

	if (code != EXIT_OK)
		return code;
	/* Progress must not mix with a recording on the same terminal. */
	record->shows = print_is_terminal(stderr) && (path || !print_is_terminal(stdout));
	interval_end_signals(&record->signals);
	code = look_again_and_again(record, &because);
	/* Do not write the reason of the end after a write error. */
	if (code == EXIT_OK || !record->file.failed)
		code = first_failure(code, recording_end(&record->file, because));
	return first_failure(code, recording_close(&record->file));
}

static int run(const struct args *args)
{
	struct record record = { .interval_s = INTERVAL_S };
	struct ioband_devices devices __cleanup(ioband_free) = { .n = 0 };
	int code = interval_of(args, &record.interval_s) ?:
		   interval_duration_of(args, &record.duration_s) ?:
		   ioband_load(&devices) ?:
		   find_pools(&record, args, &devices);

	code = code ?: write_all(&record, args->value[OPTION_OUTPUT]);
	names_free(&record.only);
	names_free(&record.seen);
	return code;
}

static const struct option_spec options[] = {
	{ OPTION_INTERVAL, "interval", "SECONDS", "how often to look (default: 1)" },
	{ OPTION_DURATION, "duration", "SECONDS", "for how long (default: until interrupted)" },
	SPEC_OUTPUT("write to this new file, not to the standard output"),
	{ .name = NULL }
};

const struct verb verb_record = {
	.name = "record",
	.args = "[POOL|DEVICE...]",
	.summary = "Record what the groups of all or some pools do, to plot it",
	.max = ARGS_ANY,
	.options = options,
	.run = run,
};
