// SPDX-License-Identifier: GPL-2.0-only
/* Recordings: their parser, and gnuplot's script for them. */
#include <stdlib.h>

#include "base/defs.h"
#include "check.h"
#include "observe/plot-series.h"

#define TEXT_SIZE 1024

/* Buffers of texts that stay valid for a few more calls. */
static char *new_text(void)
{
	static char texts[8][TEXT_SIZE];
	static int last;

	return texts[++last % 8];
}

/* A cgroup with @n completed I/Os, of 1000 bytes and 1 us each. */
static const char *group(int seq, const char *path, unsigned long long n)
{
	char *text = new_text();

	snprintf(text, TEXT_SIZE,
		 "{\"seq\":%d,\"parent\":0,\"name\":\"cgroup#1\",\"path\":\"%s\",\"weight\":100,\"held_ios\":0,\"held_bytes\":0,\"inflight_ios\":1,\"read\":{\"ios\":%llu,\"bytes\":%llu000,\"held_ios\":0,\"wait_ns\":0,\"service_ns\":%llu000}}",
		 seq, path, n, n, n);
	return text;
}

static const char *sample(int at_s, const char *one, const char *two)
{
	char *text = new_text();

	snprintf(text, TEXT_SIZE,
		 "{\"type\":\"pool\",\"at_ns\":%d000000000,\"pool\":\"p\",\"measure\":\"bytes\",\"devices\":[],\"groups\":[%s%s%s]}",
		 at_s, one, *two ? "," : "", two);
	return text;
}

static struct problem problem;

static int parses(const char *text)
{
	struct recording_line line;
	bool known;
	int wrong = recording_parse(text, strlen(text), &line, &known,
				    &problem);

	recording_line_free(&line);
	return !wrong;
}

static int refuses(const char *text, const char *because)
{
	return !parses(text) && strstr(problem.text, because);
}

void test_recording(void)
{
	char text[2 * TEXT_SIZE];
	static const char after_nul[] = "{\"type\":\"new\"}\0x";
	struct recording_line line;
	const struct sample *got = &line.sample;
	bool known;

	snprintf(text, sizeof(text),
		 "{\"type\":\"pool\",\"at_ns\":7,\"pool\":\"p\",\"measure\":\"ios\",\"new\":{},\"devices\":[{\"name\":\"d\\\\040e\",\"number\":\"253:9\"}],\"groups\":[{\"seq\":2,\"parent\":1,\"name\":\"device:253:9\",\"weight\":30},%s]}",
		 group(3, "/\\\\303\\\\251", 18446744073709551));
	CHECK(!recording_parse(text, strlen(text), &line, &known, &problem));
	CHECK(known && line.kind == RECORDING_POOL && line.at_ns == 7);
	CHECK(same(line.speaker.table.pool, "p") && got->ns == 7);
	CHECK(same(line.speaker.table.measure, "ios"));
	CHECK(line.devices.n == 1 && same(line.devices.v[0].dm->name, "d e"));
	CHECK(line.devices.v[0].dm->minor == 9);
	CHECK(got->groups.n == 2 && got->groups.v[0].weight == 30);
	CHECK(got->stats.n == 1 && got->stats.v[0].seq == 3);
	CHECK(same(got->groups.v[1].path, "/\303\251"));
	CHECK(got->stats.v[0].op[READ].bytes == 18446744073709551000ULL);
	recording_line_free(&line);

	snprintf(text, sizeof(text),
		 "{\"type\":\"pool\",\"at_ns\":1,\"pool\":\"p\",\"measure\":\"%s\",\"devices\":[],\"groups\":[]}",
		 "123456789012345678901234");
	CHECK(refuses(text, "'measure'"));
	CHECK(parses(sample(1, "", "")));
	CHECK(recording_parse(after_nul, sizeof(after_nul) - 1, &line, &known,
			      &problem));
	CHECK(refuses(sample(-1, "", ""), "'at_ns'"));
	CHECK(refuses(sample(1, group(3, "/a", 1), group(3, "/b", 1)), "order"));
	CHECK(refuses(sample(1, group(3, "", 1), ""), "'path'"));
	CHECK(refuses(sample(1, group(3, "/\\u0000x", 1), ""), "'path'"));
	CHECK(refuses(sample(1, "{\"seq\":1,\"parent\":-1,\"name\":\"x\",\"weight\":1}", ""),
		      "'parent'"));
	CHECK(!recording_parse("{\"type\":\"new\"}", 14, &line, &known,
			       &problem) && !known);
}

static int feed(struct plot *plot, const char *text)
{
	struct recording_line line;
	bool known;
	int wrong = recording_parse(text, strlen(text), &line, &known,
				    &problem);

	CHECK(!wrong);
	wrong = plot_add(plot, &line, &problem);
	recording_line_free(&line);
	return wrong;
}

static int is_point(const struct plot_point *point, double from_s, double to_s,
		    double bytes)
{
	return point->from_s == from_s && point->to_s == to_s &&
	       point->value[TOP_BYTES] == bytes;
}

void test_plot_points(void)
{
	struct plot plot = { .n = 0 };
	const struct plot_series *a, *b;

	CHECK(!feed(&plot, sample(1, group(2, "/b", 5), "")));
	CHECK(!feed(&plot, sample(2, group(2, "/b", 6), "")));
	CHECK(!feed(&plot, sample(4, group(2, "/b", 6), group(3, "/a", 8))));
	CHECK(feed(&plot, sample(4, "", "")) == -1);
	CHECK(!feed(&plot, "{\"type\":\"gone\",\"at_ns\":5000000000,\"pool\":\"p\"}"));
	CHECK(!feed(&plot, sample(6, group(2, "/a", 90), "")));
	CHECK(!feed(&plot, sample(7, group(2, "/a", 93), "")));
	plot_sort(&plot);
	CHECK(plot.n == 2 && plot.pools == 1 && plot.end_s == 7);
	a = plot.v[0];
	b = plot.v[1];
	CHECK(same(a->group, "/a") && same(b->group, "/b"));
	CHECK(a->bytes == 11000 && b->bytes == 1000);
	CHECK(a->n == 3 && b->n == 4);
	CHECK(is_point(&a->v[0], 2, 4, 4000) && is_point(&a->v[1], 5, 5, -1));
	CHECK(is_point(&a->v[2], 6, 7, 3000));
	CHECK(is_point(&b->v[0], 1, 2, 1000) && is_point(&b->v[1], 2, 4, 0));
	CHECK(b->v[1].value[TOP_SERVICE] < 0 && b->v[0].value[TOP_SERVICE] == 1000);
	CHECK(is_point(&b->v[2], 5, 5, -1) && is_point(&b->v[3], 6, 7, 0));
	plot_free(&plot);

	/* The figures of skipped samples count in the next one. */
	plot = (struct plot){ .step_ns = 2 * NS_PER_S };
	CHECK(!feed(&plot, sample(1, group(2, "/a", 5), "")));
	CHECK(!feed(&plot, sample(2, group(2, "/a", 7), "")));
	CHECK(!feed(&plot, sample(3, group(2, "/a", 9), "")));
	CHECK(plot.n == 1 && plot.v[0]->n == 1);
	CHECK(plot.n && is_point(&plot.v[0]->v[0], 1, 3, 2000));
	plot_free(&plot);
}

void test_plot_script(void)
{
	const bool what[PLOT_WHATS] = { [PLOT_BANDWIDTH] = true,
					[PLOT_WAIT] = true };
	struct plot plot = { .n = 0 };
	char *script;
	size_t size;
	FILE *stream = open_memstream(&script, &size);

	CHECK(!feed(&plot, sample(1, group(2, "/it's`x`\\\"", 0), "")));
	CHECK(!feed(&plot, sample(2, group(2, "/it's`x`\\\"", 2048), "")));
	plot_script(&plot, plot.v, plot.n, what, "svg", stream);
	fclose(stream);
	CHECK(strstr(script, " title '/it''s`x`\""));
	CHECK(strstr(script, "set terminal svg "));
	CHECK(strstr(script, "\n1.5 100 "));	/* the weight, in the middle */
	CHECK(strstr(script, " 2048000 "));
	CHECK(strstr(script, "bandwidth, MiB/s"));
	CHECK(!strstr(script, "share"));
	free(script);
	plot_free(&plot);
}
