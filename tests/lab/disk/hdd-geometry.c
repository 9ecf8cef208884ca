// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where the sectors of a disk with one arm are, and how long it takes to get there.
 *
 * Geometry.  The sectors lie on tracks, the tracks in zones from the outer rim
 * (sector 0) inwards; a zone's tracks have as many sectors as its rate says, and
 * rates fall linearly from the first zone to the last.  All zones have the same
 * number of tracks.  A cylinder is as many tracks as there are heads.  Each track
 * starts a little later in angle than the one before (skew), so that after a
 * switch of head or cylinder the next sector is just about to come.
 *
 * Rotation.  The platter turns whether anyone reads or not: its angle is the time
 * modulo one revolution.  hdd_media_ns() maps every sector to the moment when it
 * would pass if the whole disk were read in one go; modulo one revolution that is
 * the sector's angle, and the difference of two is the time to read from one to
 * the other.  So sequential transfers lose nothing, and a request that comes just
 * too late waits for a whole revolution: 8.33 ms at 7200/min.
 *
 * Seeks (Ruemmler and Wilkes, "An introduction to disk drive modeling", 1994):
 * base + sqrt * (distance/stroke)^1/2 up to a crossover, for there the arm only
 * accelerates and brakes, then linear up to the full stroke, for there it coasts.
 * To the next head or cylinder it is the track switch; writes settle longer.
 *
 * Positioning, an example: from sector 0 to a sector 1 % of the stroke away that
 * is at half a turn: 2.4 + 15 * 0.1 = 3.9 ms of seek; it passes every 8.33 ms, at
 * 4.17 first, so it takes 4.17 ms; were it at a quarter of a turn (2.08 ms), it
 * would take 10.42 ms.
 */
#include "hdd.h"

static u64 square_root(u64 x)
{
	u64 root = 0, bit = 1ULL << 62;

	while (bit > x)
		bit >>= 2;
	for (; bit; bit >>= 2) {
		if (x >= root + bit) {
			x -= root + bit;
			root = (root >> 1) + bit;
		} else {
			root >>= 1;
		}
	}
	return root;
}

const struct hdd_zone *hdd_zone(const struct hdd *h, u64 sector)
{
	const struct hdd_zone *zone = &h->zone[h->value[HDD_ZONES] - 1];

	while (sector < zone->sector)
		zone--;
	return zone;
}

u64 hdd_track(const struct hdd *h, u64 sector)
{
	const struct hdd_zone *zone = hdd_zone(h, sector);

	return zone->track + (sector - zone->sector) / zone->track_sectors;
}

u64 hdd_track_end(const struct hdd *h, u64 sector)
{
	const struct hdd_zone *zone = hdd_zone(h, sector);
	const u64 on_track = (sector - zone->sector) % zone->track_sectors;

	return sector - on_track + zone->track_sectors;
}

/* When @sector would begin to pass if the disk were read from its start at time 0. */
static u64 hdd_media_ns(const struct hdd *h, u64 sector)
{
	const struct hdd_zone *zone = hdd_zone(h, sector);
	const u64 inside = sector - zone->sector;

	return (zone->track + inside / zone->track_sectors) * h->pitch_ns +
	       inside % zone->track_sectors * h->rev_ns / zone->track_sectors;
}

u64 hdd_transfer_ns(const struct hdd *h, u64 sector, u64 end)
{
	const u64 last = end - 1;

	return hdd_media_ns(h, last) - hdd_media_ns(h, sector) +
	       h->rev_ns / hdd_zone(h, last)->track_sectors;
}

static u64 hdd_seek_ns(const struct hdd *h, u64 track)
{
	const u64 from = h->track / h->value[HDD_HEADS], to = track / h->value[HDD_HEADS];
	const u64 distance = from < to ? to - from : from - to;
	const u64 permille = distance * 1000 / h->cylinders;
	const u64 cross = h->value[HDD_SEEK_CROSS];
	u64 part = distance, us, cross_us;

	if (track == h->track)
		return 0;
	if (distance <= 1)
		return h->value[HDD_TRACK_SWITCH] * NSEC_PER_USEC;
	if (permille >= cross)
		part = h->cylinders * cross / 1000;
	/* The root of a 32-bit fraction has 16 bits. */
	us = h->value[HDD_SEEK_BASE] +
	     (h->value[HDD_SEEK_SQRT] * square_root((part << 32) / h->cylinders) >> 16);
	if (permille >= cross && h->value[HDD_SEEK_FULL] > us) {
		cross_us = us;
		us += (h->value[HDD_SEEK_FULL] - cross_us) * (permille - cross) / (1000 - cross);
	}
	return us * NSEC_PER_USEC;
}

/* When @sector passes the head, if that leaves for it at @start_ns. */
u64 hdd_reach_ns(const struct hdd *h, u64 sector, bool write, u64 start_ns)
{
	const u64 track = hdd_track(h, sector);
	const u64 angle_ns = hdd_media_ns(h, sector) % h->rev_ns;
	u64 at_ns = start_ns + hdd_seek_ns(h, track), phase_ns;

	if (write && !(h->writing && track - h->track <= 1))
		at_ns += h->value[HDD_WRITE_SETTLE] * NSEC_PER_USEC;
	phase_ns = at_ns % h->rev_ns;
	if (phase_ns > angle_ns)
		at_ns += h->rev_ns;
	return at_ns + angle_ns - phase_ns;
}

const char *hdd_init_zones(struct hdd *h)
{
	const u64 *value = h->value;
	const u64 outer = value[HDD_RATE_OUTER], inner = value[HDD_RATE_INNER];
	const u64 zones = value[HDD_ZONES];
	u64 kbps, sum = 0, per_zone, i;

	h->rev_ns = 60 * NSEC_PER_SEC / value[HDD_RPM];
	/* A little more than the switch takes. */
	h->pitch_ns = h->rev_ns + (value[HDD_TRACK_SWITCH] + 20) * NSEC_PER_USEC;
	if (inner > outer)
		return "the inner rate is above the outer one";
	for (i = 0; i < zones; i++) {
		kbps = outer - (outer - inner) * i / max(zones - 1, (u64)1);
		h->zone[i].track_sectors = kbps * h->pitch_ns / NSEC_PER_MSEC / LAB_SECTOR;
		sum += h->zone[i].track_sectors;
	}
	per_zone = (h->sectors + sum - 1) / sum;
	for (i = 1; i < zones; i++) {
		h->zone[i].track = i * per_zone;
		h->zone[i].sector = h->zone[i - 1].sector + per_zone * h->zone[i - 1].track_sectors;
	}
	h->tracks = zones * per_zone;
	h->cylinders = max(h->tracks / value[HDD_HEADS], (u64)1);
	return NULL;
}
