// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fuzzes all that reads the kernel's texts and the file of weights: mutates the
 * seeds below by a fixed generator, so that a failure repeats.
 *
 *	fuzz SEED COUNT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "defs.h"
#include "parse.h"

static void must(int condition, const char *what)
{
	if (condition)
		return;
	fprintf(stderr, "broken promise: %s\n", what);
	abort();
}

#define MUST(condition) must(!!(condition), #condition)

static void check_problem(int result, const struct problem *problem)
{
	MUST(result == 0 || result == -1);
	MUST(memchr(problem->text, 0, sizeof(problem->text)));
	MUST(!result || problem->text[0]);
}

static void check_end(int result, const struct page_end *end)
{
	MUST(memchr(end->cursor, 0, sizeof(end->cursor)));
	MUST(result || !end->more || end->cursor[0]);
}

static void fuzz_lists(const char *text)
{
	struct problem problem = { "" };
	struct latency latency = { .n = 0 };
	struct groups groups = { .n = 0 };
	struct stats stats = { .n = 0 };
	struct page_end end;
	int result = parse_groups(text, &groups, &end, &problem);

	check_problem(result, &problem);
	check_end(result, &end);
	groups_free(&groups);
	result = parse_stats(text, &stats, &end, &problem);
	check_problem(result, &problem);
	check_end(result, &end);
	stats_free(&stats);
	result = parse_latency(text, &latency, &end, &problem);
	check_problem(result, &problem);
	check_end(result, &end);
	latency_free(&latency);
}

static void fuzz_lines(const char *text)
{
	struct problem problem = { "" };
	struct ioband_status status;
	struct ioband_table table;
	int result = parse_table(text, &table, &problem);

	check_problem(result, &problem);
	MUST(result || (table.pool[0] && table.mode[0] && table.depth[0]));
	result = parse_status(text, &status, &problem);
	check_problem(result, &problem);
	MUST(result || (status.pool[0] && status.state[0]));
}

static void fuzz_weights(const char *text)
{
	struct saved_weights weights = { .n = 0 };
	struct problem problem = { "" };
	int result = parse_saved_weights(text, &weights, &problem);

	check_problem(result, &problem);
	for (size_t i = 0; !result && i < weights.n; i++) {
		MUST(weights.v[i].weight >= 1 && weights.v[i].weight <= 10000);
		MUST(weights.v[i].pool[0] && weights.v[i].group);
	}
	saved_weights_free(&weights);
}

static void fuzz_all(const char *data, size_t size)
{
	/* No byte more, so that the sanitizer sees what reads past the end. */
	char *text = malloc(size + 1), *small = malloc(9);

	memcpy(text, data, size);
	text[size] = 0;
	fuzz_lists(text);
	fuzz_lines(text);
	fuzz_weights(text);
	if (parse_kernel_log(text, small, 9))
		MUST(memchr(small, 0, 9));
	free(small);
	free(text);
}

#define ONES "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1"
#define TEXT_MAX 4096

static const char *const seeds[] = {
	"253:0 0 sda 5 mode=cgroup weight=100 measure=bytes depth=auto slice=80",
	"1 pool=sda mode=uid measure=ios state=shared depth=32 groups=3 active=2 held=5,6 inflight=7,8 devices=9 slice=80",
	"1 groups\n1 0 root weight=100 set=0\n7 1 cgroup#42 weight=300 set=1 path=/a\\040b\nnext 7\n",
	"1 stats\n3 uid:0 held=1,2 inflight=3 read=4,5,6,7,8 write=9,10,11,12,13 discard=0,0,0,0,14\nend\n",
	"1 latency\n3 root read.wait=" ONES " read.service=" ONES " discard.wait=" ONES "\nend\n",
	"1 weights\npool=sda group=cgroup:/a\\040b weight=300\npool=p device=d group=device weight=1\n",
	"3,1,2,-;device-mapper: table: 253:0: ioband: no (-EINVAL)\n SUBSYSTEM=x\n",
};

static const char *const words[] = {
	"=", " ", "\n", ",", ":", "\\", "\\040", "\\777", "1 groups\n",
	"next ", "end\n", "path=", "weight=", "18446744073709551616", "0",
	"-1", "1 ", "pool=", "group=", "read=", "read.wait=" ONES, "ioband: ",
	"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
};

static unsigned long long state;

static unsigned int random_below(unsigned int limit)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return limit ? state % limit : 0;
}

static size_t insert(char *text, size_t size, const char *word, size_t length)
{
	size_t place = random_below(size + 1);

	if (size + length > TEXT_MAX)
		return size;
	memmove(text + place + length, text + place, size - place);
	memcpy(text + place, word, length);
	return size + length;
}

static size_t cut(char *text, size_t size)
{
	size_t place = random_below(size);
	size_t length = random_below(size - place) % 80;

	memmove(text + place, text + place + length, size - place - length);
	return size - length;
}

static size_t mutate(char *text, size_t size)
{
	const char *word = words[random_below(ARRAY_SIZE(words))];
	const char *seed = seeds[random_below(ARRAY_SIZE(seeds))];
	size_t place = random_below(strlen(seed));

	switch (random_below(6)) {
	case 0:
		if (size)
			text[random_below(size)] = random_below(256);
		return size;
	case 1:
		return size ? cut(text, size) : 0;
	case 2:
		return random_below(8) ? size : random_below(size);
	case 3:
		return insert(text, size, seed + place,
			      random_below(strlen(seed) - place));
	default:
		return insert(text, size, word, strlen(word));
	}
}

int main(int argc, char **argv)
{
	char text[TEXT_MAX];
	unsigned long count;

	if (argc != 3)
		return 2;
	state = strtoull(argv[1], NULL, 10) * 2 + 1;
	count = strtoul(argv[2], NULL, 10);
	for (unsigned long i = 0; i < count; i++) {
		const char *seed = seeds[i % ARRAY_SIZE(seeds)];
		size_t size = strlen(seed);

		memcpy(text, seed, size);
		for (unsigned int j = random_below(12); j; j--)
			size = mutate(text, size);
		fuzz_all(text, size);
	}
	printf("%lu texts\n", count);
	return 0;
}
