// SPDX-License-Identifier: GPL-2.0-only
/* iobandctl check: whether this machine can share bandwidth, and does. */
#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cgroup/cgroup.h"
#include "config/conf.h"
#include "config/plan.h"
#include "host/blockage.h"
#include "host/device.h"
#include "host/layer.h"
#include "host/lvm.h"
#include "ioband/hand.h"
#include "ioband/query.h"
#include "ioband/under.h"
#include "print/print.h"
#include "verbs/verbs.h"

#define TARGET_MAJOR 1	/* the supported version of the kernel's texts */

enum verdict { FINE, HINT, WRONG };

static const char *const verdicts[] = {
	[FINE] = "ok",
	[HINT] = "hint",
	[WRONG] = "wrong",
};

static const char *const colours[] = {
	[FINE] = "\033[32m",	/* green */
	[HINT] = "\033[33m",	/* yellow */
	[WRONG] = "\033[31m",	/* red */
};

enum { VERDICT, SUBJECT, FINDING, REMEDY, COLUMNS };

static const struct column columns[COLUMNS] = {
	[VERDICT] = { NULL, "verdict", COLUMN_TEXT },
	[SUBJECT] = { NULL, "subject", COLUMN_TEXT },
	[FINDING] = { NULL, "finding", COLUMN_TEXT },
	[REMEDY] = { NULL, "remedy", COLUMN_TEXT },
};

/* The findings so far. */
struct findings {
	struct table *table;	/* their table for JSON, else NULL */
	struct row *row;	/* the last row of @table */
	int code;	/* the exit code */
};

__printf(4, 5)
static void found(struct findings *findings, enum verdict verdict,
		  const char *subject, const char *fmt, ...)
{
	char *text __free = NULL;
	va_list args;

	va_start(args, fmt);
	text = xvasprintf(fmt, args);
	va_end(args);
	if (verdict == WRONG && findings->code == EXIT_OK)
		findings->code = EXIT_FAILED;
	if (findings->table) {
		findings->row = print_row(findings->table);
		print_text(findings->row, VERDICT, verdicts[verdict]);
		print_text(findings->row, SUBJECT, subject);
		print_text(findings->row, FINDING, text);
	} else {
		print_marked(colours[verdict], verdicts[verdict], "%s: %s", subject, text);
	}
}

/* Add the remedy of the last finding. */
__printf(2, 3)
static void remedy(struct findings *findings, const char *fmt, ...)
{
	char *text __free = NULL;
	va_list args;

	va_start(args, fmt);
	text = xvasprintf(fmt, args);
	va_end(args);
	if (findings->table)
		print_text(findings->row, REMEDY, text);
	else
		print_line("      %s", text);
}

static bool check_mapper(struct findings *findings)
{
	char version[64];

	if (mapper_version(version, sizeof(version))) {
		found(findings, FINE, "device-mapper", "version %s", version);
		return true;
	}
	if (geteuid()) {
		found(findings, WRONG, "device-mapper", "it does not answer this user");
		remedy(findings, "run iobandctl as root");
		findings->code = EXIT_DENIED;
	} else {
		found(findings, WRONG, "device-mapper", "it does not answer");
		remedy(findings, "'modprobe dm-mod', or a kernel that has it");
		findings->code = EXIT_NO_KERNEL;
	}
	return false;
}

static bool is_installed(const char *release)
{
	char *path __free = xasprintf("/lib/modules/%s/modules.dep", release);
	FILE *file __cleanup(close_file) = fopen(path, "re");
	char *line __free = NULL;
	size_t size = 0;
	bool found = false;

	while (file && !found && getline(&line, &size, file) > 0) {
		line[strcspn(line, ":")] = 0;
		found = strstr(line, "/dm-ioband.ko");
	}
	return found;
}

static void check_version(struct findings *findings, const unsigned int version[3])
{
	bool known = version[0] == TARGET_MAJOR;

	found(findings, known ? FINE : WRONG, "module",
	      "dm-ioband is loaded, with target version %u.%u.%u; iobandctl is %s",
	      version[0], version[1], version[2], VERSION);
	if (known)
		return;
	remedy(findings,
	       "this iobandctl understands version %d: install the iobandctl of the module",
	       TARGET_MAJOR);
	findings->code = EXIT_FORMAT;
}

static void check_module(struct findings *findings)
{
	unsigned int version[3];
	struct utsname system;

	uname(&system);
	if (mapper_target_version(version)) {
		check_version(findings, version);
	} else if (is_installed(system.release)) {
		found(findings, FINE, "module",
		      "dm-ioband is installed for kernel %s, and is loaded when it is needed; iobandctl is %s",
		      system.release, VERSION);
	} else {
		found(findings, WRONG, "module",
		      "dm-ioband is neither loaded nor installed for kernel %s", system.release);
		remedy(findings,
		       "'make install' in the sources, or DKMS, builds it for this kernel");
		findings->code = EXIT_NO_KERNEL;
	}
}

/* A cgroup with children that lack the io controller. */
struct above {
	char *path;	/* its path */
	int n;	/* number of children with processes and without io */
};

/* A walk over all cgroups. */
struct walk {
	const struct hierarchy *hierarchy;	/* their hierarchy */
	char *lacking;	/* the root of the last subtree without io; NULL if there was none */
	struct above *v;	/* the parents of populated cgroups without io */
	size_t n;	/* number of parents */
};

static bool is_below(const char *path, const char *above)
{
	size_t length = strlen(above);

	return !strncmp(path, above, length) && path[length] == '/';
}

/* The walk visits children after their parent, so the search begins at the last parent. */
static void count_below(struct walk *walk, const char *child)
{
	size_t length = strrchr(child, '/') - child;
	char *path = length ? xstrndup(child, length) : xstrdup("/");
	size_t i = walk->n;

	while (i && strcmp(walk->v[i - 1].path, path))
		i--;
	if (i) {
		free(path);
		walk->v[i - 1].n++;
		return;
	}
	*XPUSH(walk->v, walk->n) = (struct above){ .path = path, .n = 1 };
}

/* Skip descendants of a cgroup without io: they cannot have it. */
static int look_for_io(const char *path, uint64_t id, void *data)
{
	struct walk *walk = data;

	(void)id;
	if (!path[1] || (walk->lacking && is_below(path, walk->lacking)) ||
	    cgroup_has_io(walk->hierarchy, path))
		return EXIT_OK;
	free(walk->lacking);
	walk->lacking = xstrdup(path);
	if (cgroup_is_populated(walk->hierarchy, path))
		count_below(walk, path);
	return EXIT_OK;
}

static void check_controllers(struct findings *findings, const struct hierarchy *hierarchy)
{
	struct walk walk = { .hierarchy = hierarchy };

	cgroup_walk(hierarchy, "/", look_for_io, &walk);
	for (size_t i = 0; i < walk.n; i++) {
		char *path __free = walk.v[i].path;

		found(findings, HINT, path,
		      "%d of the cgroups in it have processes and no io controller; their I/O is that of %s",
		      walk.v[i].n, path);
		remedy(findings,
		       "'echo +io > %s%s/cgroup.subtree_control', or with systemd IOAccounting=yes for a unit",
		       hierarchy->root, path[1] ? path : "");
	}
	free(walk.v);
	free(walk.lacking);
}

static void check_cgroups(struct findings *findings)
{
	struct hierarchy hierarchy;

	if (!hierarchy_look(&hierarchy)) {
		found(findings, WRONG, "cgroups",
		      "no hierarchy is mounted, so that all I/O is one group's");
		remedy(findings, "'mount -t cgroup2 none /sys/fs/cgroup'");
	} else if (hierarchy.version == 1) {
		found(findings, FINE, "cgroups",
		      "blkio of version 1 in %s; buffered writes are not told apart there",
		      hierarchy.root);
	} else if (!cgroup_has_io(&hierarchy, "/")) {
		found(findings, WRONG, "cgroups",
		      "version 2 in %s has no io controller", hierarchy.root);
		remedy(findings,
		       "a kernel with CONFIG_BLK_CGROUP, started without cgroup_disable=io");
		findings->code = EXIT_NO_KERNEL;
	} else {
		found(findings, FINE, "cgroups", "version 2 in %s, with the io controller",
		      hierarchy.root);
		check_controllers(findings, &hierarchy);
	}
}

static void check_size(struct findings *findings,
		       const struct ioband_device *device, const char *below)
{
	uint64_t sectors = ioband_sectors_below(device);
	const char *name = device->dm->name;

	if (!sectors) {
		found(findings, WRONG, name,
		      "the device below, %s, is gone, or ends before where this begins: I/O to it fails",
		      below);
		remedy(findings,
		       "unmount its file systems, and 'iobandctl unwrap %s'; wrap the disk again when it is back",
		       name);
	} else if (sectors > device->dm->sectors) {
		found(findings, HINT, name, "%s below has grown since this was put over it", below);
		remedy(findings, "'iobandctl resize %s'", name);
	} else if (sectors < device->dm->sectors) {
		found(findings, WRONG, name,
		      "%s below has shrunk since this was put over it, to %llu sectors of %llu: I/O behind its end fails",
		      below, (unsigned long long)sectors, (unsigned long long)device->dm->sectors);
		remedy(findings,
		       "give %s its size back, with lvextend for instance; or, if its contents fit, 'iobandctl resize %s' when it is not in use",
		       below, name);
	} else {
		found(findings, FINE, name, "over %s, in pool %s", below, device->table.pool);
	}
}

/* A blocked device below blocks the users of the ioband device too. */
static bool is_blocked(const struct ioband_device *device, struct blockage *blockage)
{
	const struct device below = { .major = device->table.device[0],
				      .minor = device->table.device[1] };

	return device->dm->table && blockage_below(&below, blockage);
}

static void check_table(struct findings *findings, const struct ioband_device *device)
{
	const char *name = device->dm->name;
	char below[DEVICE_NAME_SIZE];
	struct blockage blockage;

	device_label(device->table.device[0], device->table.device[1], below);
	if (device->dm->suspended) {
		found(findings, WRONG, name, "it is suspended, and lets no I/O pass");
		remedy(findings, "'dmsetup resume %s', if nothing is changing it", name);
	} else if (is_blocked(device, &blockage)) {
		found(findings, WRONG, name, "it takes no I/O, as %s below", blockage.why.text);
		remedy(findings, "%s", blockage.remedy.text);
	} else if (under_is_inserted(device)) {
		found(findings, FINE, name, "ioband is in it, in pool %s", device->table.pool);
	} else {
		check_size(findings, device, below);
	}
}

static void check_layers(struct findings *findings, const struct ioband_device *device)
{
	const struct device self = { .major = device->dm->major,
				     .minor = device->dm->minor };
	const char *name = device->dm->name;
	struct layer layer;

	if (!layer_above(&self, &layer))
		return;
	found(findings, HINT, name, "%s lies on it, and %s", layer.what.text, layer_cost);
	if (under_is_inserted(device))
		remedy(findings, "'iobandctl extract %s', and then %s, put ioband above it",
		       name, layer.remedy.text);
	else
		remedy(findings,
		       "'iobandctl unwrap %s' while it is not in use, and then %s, put ioband above it",
		       name, layer.remedy.text);
}

static void check_lvm(struct findings *findings, const struct ioband_device *device)
{
	char *text __free = NULL;
	enum lvm_sight sight;
	struct device below, member;
	char number[32];

	snprintf(number, sizeof(number), "%llu:%llu", (unsigned long long)device->table.device[0],
		 (unsigned long long)device->table.device[1]);
	if (!device_find(number, &below))
		return;
	sight = lvm_sight(&below, &member);
	if (sight == LVM_UNKNOWN) {
		found(findings, HINT, device->dm->name,
		      "%s did not answer within a second: whether a physical volume is on it is not known",
		      member.path);
		remedy(findings, "see the kernel log about %s", member.path);
	}
	if (sight == LVM_ONCE || sight == LVM_UNKNOWN)
		return;
	found(findings, WRONG, device->dm->name,
	      "a physical volume is on it, which LVM's commands find on %s too: they take it for a duplicate, and refuse to change its volume group",
	      member.path);
	text = lvm_remedy(sight, &member);
	remedy(findings, "%s", text);
}

/* Removal by 'iobandctl extract' is intended: a hint is enough. */
static void check_wish(struct findings *findings, const struct choice *choice)
{
	const struct hand_key out = { .device = choice->label, .key = HAND_EXTRACT };
	const char *path = choice->device.path;

	if (hand_has(&out)) {
		found(findings, HINT, choice->label,
		      "the configuration says 'insert = yes' of it, and 'iobandctl extract' has taken ioband out");
		remedy(findings, "'iobandctl apply %s' puts it back", path);
	} else {
		found(findings, WRONG, choice->label,
		      "the configuration says 'insert = yes' of it, and ioband is not in it");
		remedy(findings, "'iobandctl apply %s' inserts it, or says why not", path);
	}
}

static bool has_wish(const struct conf *conf)
{
	for (size_t i = 0; i < conf->n; i++) {
		if (conf_flag(&conf->v[i], KEY_INSERT))
			return true;
	}
	return false;
}

/* Devices with 'insert = yes' but without ioband, except those reported already in @told. */
static void check_wishes(struct findings *findings, const struct names *told)
{
	struct choices choices __cleanup(choices_free) = { .n = 0 };
	struct problem problem;
	struct under under;
	struct conf conf;
	int code;

	fail_into(&problem);
	code = conf_load(NULL, &conf) ?:
	       (has_wish(&conf) ? select_devices(&conf, NULL, 0, &choices) : EXIT_OK);
	fail_into(NULL);
	if (code != EXIT_OK) {
		found(findings, WRONG, "configuration", "%s", problem.text);
		remedy(findings,
		       "change it, until 'iobandctl apply --dry-run' finds nothing wrong");
	}
	for (size_t next = 0; conf_next_plain(&conf, &next, &problem);) {
		found(findings, HINT, "configuration", "%s", problem.text);
		remedy(findings, RATES_PLAIN_REMEDY);
	}
	for (size_t i = 0; i < choices.n; i++) {
		const struct choice *choice = &choices.v[i];

		if (conf_flag(choice->section, KEY_INSERT) &&
		    !names_has(told, choice->label) && plan_may_insert(choice) &&
		    !(under_look(choice->label, &under) == EXIT_OK &&
		      under.inserted))
			check_wish(findings, choice);
	}
	conf_free(&conf);
}

static void check_insertions(struct findings *findings)
{
	struct names half __cleanup(names_free) = { .n = 0 };
	struct names lost __cleanup(names_free) = { .n = 0 };

	under_trouble(&half, &lost);
	for (size_t i = 0; i < half.n; i++) {
		found(findings, WRONG, half.v[i],
		      "an insertion or an extraction was left half done, without effect so far");
		remedy(findings, "'iobandctl insert %s' or 'iobandctl extract %s'",
		       half.v[i], half.v[i]);
	}
	for (size_t i = 0; i < lost.n; i++) {
		found(findings, WRONG, lost.v[i],
		      "ioband was inserted, and another program, LVM perhaps, has taken it out");
		remedy(findings,
		       "'iobandctl insert %s', or 'iobandctl extract %s' if that is right",
		       lost.v[i], lost.v[i]);
	}
	check_wishes(findings, &lost);
}

/* A device without ioband: report only whether it is blocked. */
static void check_other(struct findings *findings,
			const struct ioband_devices *ioband, const char *name)
{
	char label[DEVICE_NAME_SIZE];
	struct blockage blockage;
	struct device device;

	if (!device_of_kernel_name(name, &device) || !blockage_at(&device, &blockage))
		return;
	device_label(device.major, device.minor, label);
	if (ioband_named(ioband, label))
		return;
	found(findings, HINT, label, "it takes no I/O: %s", blockage.why.text);
	remedy(findings, "%s", blockage.remedy.text);
}

static void check_others(struct findings *findings, const struct ioband_devices *ioband)
{
	DIR *entries = opendir("/sys/class/block");
	struct dirent *entry;

	while (entries && (entry = readdir(entries))) {
		if (entry->d_name[0] != '.')
			check_other(findings, ioband, entry->d_name);
	}
	if (entries)
		closedir(entries);
}

/* The io.max of cgroups on devices below ioband. */
struct limits {
	struct hierarchy hierarchy;	/* the hierarchy of the cgroups */
	struct names below;	/* the numbers of these devices */
	char *path;	/* the first cgroup with a limit; NULL if there is none */
	char on[32];	/* the number of the limited device */
	int n;	/* number of cgroups with a limit */
};

/* Find the first line of io.max, "<major>:<minor> <rates>", for one of the devices. */
static bool find_limit(const struct limits *limits, const char *path, char on[32])
{
	char *name __free = xasprintf("%s%s/io.max", limits->hierarchy.root, path);
	FILE *file __cleanup(close_file) = fopen(name, "re");
	char *line __free = NULL;
	size_t size = 0;
	bool is_found = false;

	while (file && !is_found && getline(&line, &size, file) > 0) {
		line[strcspn(line, "\n ")] = 0;
		is_found = names_has(&limits->below, line);
	}
	if (is_found)
		snprintf(on, 32, "%s", line);
	return is_found;
}

static int look_for_limit(const char *path, uint64_t id, void *data)
{
	struct limits *limits = data;
	char on[32];

	(void)id;
	if (!find_limit(limits, path, on))
		return EXIT_OK;
	if (!limits->n++) {
		limits->path = xstrdup(path);
		strcpy(limits->on, on);
	}
	return EXIT_OK;
}

static void tell_limits(struct findings *findings, const struct limits *limits)
{
	struct device device;
	char label[DEVICE_NAME_SIZE];

	if (!device_find(limits->on, &device))
		snprintf(label, sizeof(label), "%s", limits->on);
	else
		device_label(device.major, device.minor, label);
	found(findings, HINT, limits->path,
	      "its io.max on %s (of %d such cgroups) throttles below ioband: the bios that it delays are in flight for ioband, and may delay other groups for seconds",
	      label, limits->n);
	remedy(findings,
	       "'maximum =' in ioband.conf(5) or 'iobandctl set-max' in place of io.max, or of IOReadBandwidthMax= and the like of a unit");
}

static void check_limits(struct findings *findings, const struct ioband_devices *devices)
{
	struct limits limits = { .n = 0 };

	for (size_t i = 0; i < devices->n; i++) {
		const struct ioband_table *table = &devices->v[i].table;
		const struct device below = { .major = table->device[0],
					      .minor = table->device[1] };

		if (devices->v[i].dm->table)
			device_stack(&below, &limits.below);
	}
	if (limits.below.n && hierarchy_look(&limits.hierarchy) && limits.hierarchy.version == 2)
		cgroup_walk(&limits.hierarchy, "/", look_for_limit, &limits);
	if (limits.n)
		tell_limits(findings, &limits);
	names_free(&limits.below);
	free(limits.path);
}

/* Name the groups of a pool with I/O that a policy below delays. */
static void check_below(struct findings *findings, const struct ioband_device *speaker)
{
	struct groups groups __cleanup(groups_free) = { .n = 0 };
	struct stats stats = { .n = 0 };
	int code = query_groups(speaker, &groups) ?: query_stats(speaker, &stats);

	for (size_t i = 0; i < stats.n && code == EXIT_OK; i++) {
		const struct ioband_group *group = groups_find(&groups, stats.v[i].seq);

		if (!group || !stats.v[i].below)
			continue;
		found(findings, HINT, group->path ? group->path : group->name,
		      "a policy below ioband delays its I/O in pool %s: there it gets less than ioband would give it",
		      speaker->table.pool);
		remedy(findings,
		       "remove io.max, io.cost or io.latency from the devices below, and use 'iobandctl set-max' or 'maximum =' in ioband.conf(5); if a device below is slower than the others, give it a pool of its own");
	}
	stats_free(&stats);
}

static void check_pools(struct findings *findings, const struct ioband_devices *devices)
{
	const struct scope all = { .device = NULL };
	struct targets speakers __cleanup(targets_free);

	ioband_pools(devices, &all, &speakers);
	for (size_t i = 0; i < speakers.n; i++)
		check_below(findings, speakers.v[i]);
}

static void check_devices(struct findings *findings)
{
	struct ioband_devices devices __cleanup(ioband_free) = { .n = 0 };
	struct blockage blockage;
	int code = ioband_load(&devices);

	if (code != EXIT_OK) {
		findings->code = code;
		return;
	}
	if (!devices.n) {
		found(findings, HINT, "devices", "there is no ioband device");
		remedy(findings,
		       "'iobandctl wrap DEVICE' makes one, 'iobandctl insert DEVICE' under a mounted device");
	}
	for (size_t i = 0; i < devices.n; i++) {
		if (devices.v[i].dm->table) {
			check_table(findings, &devices.v[i]);
			check_layers(findings, &devices.v[i]);
			if (!under_is_inserted(&devices.v[i]) &&
			    !is_blocked(&devices.v[i], &blockage))
				check_lvm(findings, &devices.v[i]);
			continue;
		}
		found(findings, WRONG, devices.v[i].dm->name, "it has no table");
		remedy(findings, "'iobandctl remove %s'", devices.v[i].dm->name);
	}
	check_others(findings, &devices);
	check_limits(findings, &devices);
	check_pools(findings, &devices);
	check_insertions(findings);
}

static int run(const struct args *args)
{
	struct findings findings = { .code = EXIT_OK };
	int printed;

	if (args->value[OPTION_JSON])
		findings.table = print_table("findings", columns, COLUMNS, true);
	if (check_mapper(&findings)) {
		check_module(&findings);
		check_cgroups(&findings);
		check_devices(&findings);
	} else {
		check_cgroups(&findings);
	}
	printed = findings.table ? print_end(findings.table) : print_flush();
	return findings.code == EXIT_OK ? printed : findings.code;
}

static const struct option_spec options[] = { SPEC_JSON, { .name = NULL } };

const struct verb verb_check = {
	.name = "check",
	.args = "",
	.summary = "See whether this machine can share bandwidth, and list the faults",
	.options = options,
	.run = run,
};
