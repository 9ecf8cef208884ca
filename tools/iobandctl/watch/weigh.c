// SPDX-License-Identifier: GPL-2.0-only
/*
 * From the requests for a cgroup to its weight in ioband, its latency target
 * and its maximum.  Pure.
 *
 * io.weight and IOWeight= have the scale of ioband: 1 to 10000, default 100.  io.bfq.weight has 1
 * to 1000.  systemd derives it from IOWeight=: up to 100 unchanged, above 100 divided by 11, so
 * that 10000 becomes 1000.  Container tools write their own number, of which only the ratio to
 * another one matters.  io.prio.class has the class idle, which replaces a weight.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/words.h"
#include "kernel/parse.h"
#include "watch/weigh.h"

#define BFQ_MAX 1000

/* Add a weight on a device. */
void asked_add(struct asked *asked, unsigned int major, unsigned int minor, uint64_t weight)
{
	*XPUSH(asked->v, asked->n) = (struct device_weight){ major, minor, weight };
}

/*
 * Add a requested value on a device, if it is valid.
 * @value: a weight, microseconds or a rate; UINT64_MAX is no target and no maximum
 */
void asked_add_kind(struct asked *asked, enum asked_kind kind,
		    unsigned int major, unsigned int minor, uint64_t value)
{
	if (!value || value == UINT64_MAX)
		return;
	if (kind == ASKED_LATENCY && value > LATENCY_MAX_US)
		value = LATENCY_MAX_US;
	if (kind >= ASKED_MAX && value > RATE_MAX)
		return;
	if (kind != ASKED_WEIGHT || value <= IOBAND_WEIGHT_MAX)
		asked_add(asked, major, minor, value);
}

/* Add all values on single devices of another request. */
void asked_copy(struct asked *asked, const struct asked *other)
{
	for (size_t i = 0; i < other->n; i++)
		asked_add(asked, other->v[i].major, other->v[i].minor, other->v[i].weight);
}

void asked_free(struct asked *asked)
{
	free(asked->v);
	*asked = (struct asked){ .n = 0 };
}

/*
 * The IOWeight= from which systemd derives a weight of BFQ.
 * @bfq: the weight in io.bfq.weight
 *
 * Several IOWeight= give the same weight of BFQ; this is their middle.
 * Return: the weight, 1..10000.
 */
uint64_t weigh_bfq(uint64_t bfq)
{
	if (bfq <= IOBAND_WEIGHT_DEFAULT)
		return bfq;
	if (bfq >= BFQ_MAX)
		return IOBAND_WEIGHT_MAX;
	return IOBAND_WEIGHT_DEFAULT + (bfq - IOBAND_WEIGHT_DEFAULT) * 11 + 5;
}

static bool read_device(struct span word, struct device_weight *device)
{
	struct span major;
	uint64_t number[2];

	span_item(&word, ':', &major);
	if (!span_u64(major, UINT32_MAX, &number[0]) || !span_u64(word, UINT32_MAX, &number[1]))
		return false;
	device->major = number[0];
	device->minor = number[1];
	return true;
}

static void read_line(struct asked *asked, struct span line, bool is_bfq, bool is_unit)
{
	struct device_weight device;
	struct span word, value;
	uint64_t weight;

	if (!span_word(&line, &word))
		return;
	if (!span_word(&line, &value))
		value = word;
	if (!span_u64(value, is_bfq ? BFQ_MAX : IOBAND_WEIGHT_MAX, &weight) || !weight)
		return;
	if (is_bfq && is_unit)
		weight = weigh_bfq(weight);
	if (read_device(word, &device))
		asked_add(asked, device.major, device.minor, weight);
	else if (!asked->weight && weight != IOBAND_WEIGHT_DEFAULT)
		asked->weight = weight;
}

/*
 * Read io.weight or io.bfq.weight.
 * @asked: gets the values; older values take precedence
 * @is_bfq: the file is io.bfq.weight
 * @is_unit: systemd wrote the file
 *
 * The lines are "default <weight>" or "<weight>", and "<major>:<minor> <weight>".  Other
 * lines are skipped.
 */
void asked_read(struct asked *asked, const char *text, bool is_bfq, bool is_unit)
{
	struct span rest = span_of(text), line;

	while (span_line(&rest, &line))
		read_line(asked, line, is_bfq, is_unit);
}

/*
 * Read io.prio.class.
 * @asked: gets the class idle as its weight, which takes precedence over weights
 * @text: content of the file; other classes have no effect
 */
void asked_read_class(struct asked *asked, const char *text)
{
	struct span rest = span_of(text), word;

	if (span_line(&rest, &word) && span_is(word, "idle"))
		asked->weight = IOBAND_WEIGHT_IDLE;
}

/* A key in io.latency or io.max, and the kind of request. */
static const struct {
	const char *key;
	enum asked_kind kind;
} values[] = {
	{ "target", ASKED_LATENCY }, { "rbps", ASKED_MAX + RBPS }, { "wbps", ASKED_MAX + WBPS },
	{ "riops", ASKED_MAX + RIOPS }, { "wiops", ASKED_MAX + WIOPS },
};

static void read_value(struct asked asked[ASKED_KINDS], const struct device_weight *device,
		       struct span word)
{
	struct span key, text;
	uint64_t value;

	if (!span_key(word, &key, &text) || !span_u64(text, UINT64_MAX, &value))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		if (span_is(key, values[i].key))
			asked_add_kind(&asked[values[i].kind], values[i].kind, device->major,
				       device->minor, value);
	}
}

/*
 * Read io.latency or io.max.
 * @asked: by kind; the kinds of the file get the values
 *
 * The lines are "<major>:<minor> target=<us>" and "<major>:<minor> rbps=<n> ...", where "max" is
 * no maximum.  Other lines and words are skipped.
 */
void asked_read_values(struct asked asked[ASKED_KINDS], const char *text)
{
	struct span rest = span_of(text), line, word;
	struct device_weight device;

	while (span_line(&rest, &line)) {
		if (!span_word(&line, &word) || !read_device(word, &device))
			continue;
		while (span_word(&line, &word))
			read_value(asked, &device, word);
	}
}

/*
 * Keep the devices of ended requests.
 * @asked: the present requests; gets 0 for the other devices of @before
 * @before: the former requests
 */
void asked_end(struct asked *asked, const struct asked *before)
{
	for (size_t i = 0; i < before->n; i++) {
		const struct device_weight *old = &before->v[i];

		if (!asked_find(asked, old, 1))
			asked_add(asked, old->major, old->minor, 0);
	}
}

/*
 * Drop the devices of ended requests.
 * @asked: loses the elements added by asked_end()
 */
void asked_forget(struct asked *asked)
{
	size_t n = 0;

	for (size_t i = 0; i < asked->n; i++) {
		if (asked->v[i].weight)
			asked->v[n++] = asked->v[i];
	}
	asked->n = n;
}

/*
 * Find the request for one of some devices.
 * @devices: the devices that share one tree of groups
 * Return: the element of highest precedence, or NULL.
 */
const struct device_weight *asked_find(const struct asked *asked,
				       const struct device_weight *devices, size_t n)
{
	for (size_t i = 0; i < asked->n; i++) {
		for (size_t j = 0; j < n; j++) {
			if (asked->v[i].major == devices[j].major &&
			    asked->v[i].minor == devices[j].minor)
				return &asked->v[i];
		}
	}
	return NULL;
}

/*
 * The requested weight on one of some devices.
 * @devices: the devices that share one tree of groups
 * Return: the weight, or IOBAND_WEIGHT_IDLE; 0 for the default.
 */
uint64_t asked_on(const struct asked *asked, const struct device_weight *devices, size_t n)
{
	const struct device_weight *found = asked_find(asked, devices, n);

	return found && asked->weight != IOBAND_WEIGHT_IDLE ? found->weight : asked->weight;
}

static bool is_below_all(const struct device_weight *device, const struct device_weight *devices,
			 size_t n, size_t n_above)
{
	size_t found = 0;

	for (size_t i = 0; i < n; i++) {
		if (devices[i].major == device->major &&
		    devices[i].minor == device->minor &&
		    devices[i].weight == found + 1)
			found++;
	}
	return found == n_above;
}

/*
 * The least rate requested on devices below all ioband devices.
 * @asked: requests for a rate of a maximum
 * @devices: the devices below the ioband devices, sorted by their weight, which is the
 *	ordinal of the ioband device, from 1
 * @n_above: number of ioband devices
 * @rate: the result, 0 for none; unchanged without a request
 * Return: true if there is a request there, or was one.
 */
bool asked_below_all(const struct asked *asked, const struct device_weight *devices, size_t n,
		     size_t n_above, uint64_t *rate)
{
	uint64_t least = 0;
	bool found = false;

	for (size_t i = 0; i < asked->n; i++) {
		uint64_t here = asked->v[i].weight;

		if (!is_below_all(&asked->v[i], devices, n, n_above))
			continue;
		if (here && (!least || here < least))
			least = here;
		found = true;
	}
	if (found)
		*rate = least;
	return found;
}
