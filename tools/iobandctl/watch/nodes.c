// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cgroups that are followed, and to which subtree each belongs.
 *
 * A subtree that root has delegated begins with the topmost cgroup of a path that
 * another user may populate.  Its user makes, writes and removes cgroups at will.
 * Therefore its watches and its share of this program's time have bounds.
 */
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>

#include "base/alloc.h"
#include "watch/state.h"

#define EVENTS (IN_CREATE | IN_MODIFY | IN_ONLYDIR)

/*
 * Watches of one delegated subtree.  The kernel grants root at least 8192, which are enough for 31
 * users with as many.  A session with its services and containers has 50 to 150 cgroups.
 */
#define WATCHES_MAX 256

static int by_id(const void *left, const void *right)
{
	const struct node *a = left, *b = right;

	return (a->id > b->id) - (a->id < b->id);
}

static int by_wd(const void *left, const void *right)
{
	const struct node *a = left, *b = right;

	return (a->wd > b->wd) - (a->wd < b->wd);
}

static void index_node(struct node *node, void **index,
		       int (*compare)(const void *left, const void *right))
{
	if (!tsearch(node, index, compare))
		exit(fail(EXIT_FAILED, "out of memory"));
}

/* Find a cgroup by its id.  Return: the node, or NULL. */
struct node *watch_node_of_id(struct watch *watch, uint64_t id)
{
	struct node key = { .id = id }, **found;

	found = tfind(&key, &watch->by_id, by_id);
	return found ? *found : NULL;
}

/* Find a cgroup by its watch.  Return: the node, or NULL. */
struct node *watch_node_of_wd(struct part *part, int wd)
{
	struct node key = { .wd = wd }, **found;

	found = tfind(&key, &part->by_wd, by_wd);
	return found ? *found : NULL;
}

/* See whether a cgroup lies below another. */
bool watch_node_is_below(const struct node *node, const char *path)
{
	size_t length = path[1] ? strlen(path) : 0;

	return !strncmp(node->path, path, length) &&
	       node->path[length] == '/' && node->path[length + 1];
}

static bool is_top(const struct node *node)
{
	return node->subtree->top && !strcmp(node->path, node->subtree->top);
}

/*
 * See whether a cgroup lies below a delegated one.  Return: whether its files share out
 * only a part that others cannot lose.
 */
bool watch_node_is_lent(const struct node *node)
{
	return node->subtree->top && !is_top(node);
}

static void give_turn(struct subtree *subtree)
{
	struct part *part = subtree->part;

	if (subtree->has_turn)
		return;
	subtree->has_turn = true;
	TAILQ_INSERT_TAIL(&part->turns, subtree, turn);
	sd_event_source_set_time(part->round, part->next_us);
	sd_event_source_set_enabled(part->round, SD_EVENT_ONESHOT);
}

/*
 * Have a cgroup visited.
 * @due: the reasons, of enum due
 *
 * Reasons that come before the visit join.  Root's settings of a delegated cgroup go before
 * those of its user.
 */
void watch_mark(struct node *node, unsigned int due)
{
	struct subtree *subtree = node->subtree;
	bool first = is_top(node) && due & DUE_ASKED;

	if (!due)
		return;
	if (node->due && first)
		TAILQ_REMOVE(&subtree->waiting, node, waiting);
	if (first)
		TAILQ_INSERT_HEAD(&subtree->waiting, node, waiting);
	else if (!node->due)
		TAILQ_INSERT_TAIL(&subtree->waiting, node, waiting);
	node->due |= due;
	give_turn(subtree);
}

/*
 * Have all cgroups of a part visited.
 * @part: the part; NULL for all
 * @due: the reasons, of enum due
 */
void watch_mark_part(struct watch *watch, const struct part *part, unsigned int due)
{
	struct subtree *subtree;
	struct node *node;

	TAILQ_FOREACH(subtree, &watch->subtrees, all) {
		TAILQ_FOREACH(node, &subtree->nodes, all) {
			if (!part || subtree->part == part)
				watch_mark(node, due);
		}
	}
}

/*
 * Add a subtree.
 * @top: path of the cgroup that is delegated; NULL for the system's own
 * Return: the subtree, without nodes.
 */
struct subtree *watch_subtree_add(struct watch *watch, struct part *part, const char *top)
{
	struct subtree *subtree = xcalloc(1, sizeof(*subtree));

	subtree->part = part;
	subtree->top = top ? xstrdup(top) : NULL;
	TAILQ_INIT(&subtree->nodes);
	TAILQ_INIT(&subtree->waiting);
	TAILQ_INSERT_TAIL(&watch->subtrees, subtree, all);
	return subtree;
}

static void drop_subtree(struct watch *watch, struct subtree *subtree)
{
	if (subtree->has_turn)
		TAILQ_REMOVE(&subtree->part->turns, subtree, turn);
	TAILQ_REMOVE(&watch->subtrees, subtree, all);
	free(subtree->top);
	free(subtree);
}

/*
 * Add a cgroup, which is due.
 * @id: as the kernel knows it
 */
struct node *watch_node_add(struct watch *watch, struct subtree *subtree,
			    const char *path, uint64_t id)
{
	struct node *node = xcalloc(1, sizeof(*node));

	*node = (struct node){
		.subtree = subtree, .wd = -1, .path = xstrdup(path), .id = id,
		.sent = xcalloc(watch->n_trees, sizeof(*node->sent)),
	};
	TAILQ_INSERT_TAIL(&subtree->nodes, node, all);
	index_node(node, &watch->by_id, by_id);
	watch_mark(node, DUE_ASKED | DUE_CHILDREN);
	return node;
}

static void unfollow(struct node *node)
{
	struct part *part = node->subtree->part;

	if (node->wd < 0)
		return;
	tdelete(node, &part->by_wd, by_wd);
	inotify_rm_watch(part->inotify, node->wd);	/* may be gone */
	node->wd = -1;
	node->subtree->n_watched--;
}

/* The subtree may be gone afterwards. */
static void leave_subtree(struct watch *watch, struct node *node)
{
	struct subtree *subtree = node->subtree;

	unfollow(node);
	TAILQ_REMOVE(&subtree->nodes, node, all);
	if (node->due)
		TAILQ_REMOVE(&subtree->waiting, node, waiting);
	if (TAILQ_EMPTY(&subtree->nodes))
		drop_subtree(watch, subtree);
}

/*
 * Forget a cgroup.
 * @node: the cgroup; its subtree is gone with the last
 */
void watch_node_drop(struct watch *watch, struct node *node)
{
	leave_subtree(watch, node);
	tdelete(node, &watch->by_id, by_id);
	free(node->path);
	free(node->control);
	free(node->sent);
	for (int kind = 0; kind < ASKED_KINDS; kind++)
		asked_free(&node->asked[kind]);
	free(node);
}

static void note_polls(struct subtree *subtree)
{
	if (!subtree->polls_noted)
		note("cgroup %s is delegated and has more than %d cgroups: %s %d s", subtree->top,
		     WATCHES_MAX, "the others are read every", WATCH_POLL_S);
	subtree->polls_noted = true;
}

static void note_full(struct watch *watch)
{
	if (!watch->full_noted)
		note("some cgroups are read every %d s only, as %s", WATCH_POLL_S,
		     "the kernel watches no more; raise sysctl fs.inotify.max_user_watches");
	watch->full_noted = true;
}

/* Watch a cgroup, unless it is watched, if there is room. */
void watch_node_follow(struct watch *watch, struct node *node, int directory)
{
	char *name __free = NULL;
	struct subtree *subtree = node->subtree;

	if (node->wd >= 0)
		return;
	if (subtree->top && subtree->n_watched >= WATCHES_MAX) {
		note_polls(subtree);
		return;
	}
	/* By path another cgroup of the same name could get it. */
	name = xasprintf("/proc/self/fd/%d", directory);
	node->wd = inotify_add_watch(subtree->part->inotify, name, EVENTS);
	if (node->wd < 0 && errno == ENOSPC)
		note_full(watch);
	if (node->wd < 0)
		return;
	index_node(node, &subtree->part->by_wd, by_wd);
	subtree->n_watched++;
}

/*
 * Move the nodes of a new subtree from another one, to which they were added before root
 * delegated the cgroup above them.  Events in between may be lost.
 */
static void join(struct watch *watch, struct subtree *from, struct subtree *subtree)
{
	struct node *node, *next;

	for (node = TAILQ_FIRST(&from->nodes); node; node = next) {
		unsigned int due = node->due;

		next = TAILQ_NEXT(node, all);
		if (strcmp(node->path, subtree->top) && !watch_node_is_below(node, subtree->top))
			continue;
		leave_subtree(watch, node);
		node->subtree = subtree;
		node->due = 0;
		TAILQ_INSERT_TAIL(&subtree->nodes, node, all);
		watch_mark(node, due | DUE_ASKED | DUE_CHILDREN);
	}
}

/*
 * Make a subtree of a cgroup and all below it.
 * @top: a cgroup of the system's own that is delegated
 */
void watch_delegate(struct watch *watch, struct node *top)
{
	struct part *part = &watch->parts[PART_DELEGATED];
	struct subtree *subtree = watch_subtree_add(watch, part, top->path);
	struct subtree *from, *next;

	for (from = TAILQ_FIRST(&watch->subtrees); from != subtree; from = next) {
		next = TAILQ_NEXT(from, all);
		join(watch, from, subtree);
	}
}
