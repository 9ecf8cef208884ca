// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: the tree of entities: virtual time, charge, and the choice among children.
 * Pure, see core.h.  core.c and the policies call it, under the pool's lock.
 *
 * The algorithm is explained on top of core.c.  Minima, maxima and the idle class learn of changes
 * through &struct ioband_hooks.
 */
#include "tree.h"

/*
 * Largest lag of a busy entity behind its node, in units of charge at its own weight.  It is a
 * bio of the largest usual size, so that the bound never cuts the lag of normal competition.
 * After slow service, an entity keeps its siblings from a device of 100 MB/s for 10 ms at most.
 */
#define IOBAND_LAG_MAX		(1024ULL << 10)

/*
 * Largest debt of an entity, in the same units.  It covers the commit of a journal, or all
 * queued bios of a group, which are dispatched at once when a device is suspended.  An equal
 * sibling at 100 MB/s catches up in 0.7 s.
 */
#define IOBAND_DEBT_MAX		(64ULL << 20)

static void ent_weigh(struct ioband_ent *ent, u32 weight)
{
	ent->weight = weight;
	ent->pace = div_u64(1ULL << IOBAND_PACE_SHIFT, weight);
}

static void ent_init(struct ioband_ent *ent, struct ioband_node *parent, u32 weight, bool leaf)
{
	*ent = (struct ioband_ent) {
		.parent = parent,
		.vtime = parent ? parent->vnow : 0,
		.leaf = leaf,
	};
	ent_weigh(ent, weight);
	RB_CLEAR_NODE(&ent->rb);
	INIT_LIST_HEAD(&ent->idlers);
	for (enum ioband_dir dir = 0; dir < IOBAND_NR_DIRS; dir++)
		RB_CLEAR_NODE(&ent->claims[dir].rb);
}

/* An inner node; @parent is NULL for a root. */
void ioband_tree_init_node(struct ioband_node *node, struct ioband_node *parent, u32 weight)
{
	*node = (struct ioband_node) {
		.live = RB_ROOT_CACHED,
		.claims = { RB_ROOT_CACHED, RB_ROOT_CACHED },
	};
	INIT_LIST_HEAD(&node->idlers);
	INIT_LIST_HEAD(&node->idle_nodes);
	ent_init(&node->ent, parent, weight, false);
}

void ioband_tree_init_leaf(struct ioband_leaf *leaf, struct ioband_node *parent, u32 weight)
{
	*leaf = (struct ioband_leaf) {
		.state = IOBAND_LEAF_IDLE,
		.was_idle = true,
		.destage_ns = IOBAND_DESTAGE_FIRST_NS,
		.destage_bytes = IOBAND_DESTAGE_BYTES,
	};
	ent_init(&leaf->ent, parent, weight, true);
	RB_CLEAR_NODE(&leaf->grace);
	INIT_LIST_HEAD(&leaf->below);
}

/*
 * Bound the lag of an entity: neither idle time nor slow service earns more.  A pause
 * earns up to @pause_lag.  Return: true if the entity has moved.
 */
static bool ent_catch_up(struct ioband_ent *ent, u64 pause_lag)
{
	const u64 lag_max = ent_vtime_of(ent, max(pause_lag, ent->busy ? IOBAND_LAG_MAX : 0));
	const u64 lag = ent->parent->vnow - ent->vtime;

	/*
	 * A lead is a negative lag: at most a debt and the largest possible bio.  A larger one
	 * means that virtual time wrapped while the entity was idle (128 TiB at weight 1).
	 */
	if (lag <= lag_max || lag >= -2 * ent_vtime_of(ent, U32_MAX))
		return false;
	ioband_live_move(ent, ent->parent->vnow - lag_max);
	return true;
}

/*
 * Let a new leaf continue at the virtual time of another leaf of its node.  For bios that would
 * have been those of @other: a leaf of their own must not cancel its lead.
 */
void ioband_tree_follow(struct ioband_leaf *leaf, const struct ioband_leaf *other)
{
	leaf->ent.vtime = vtime_max(leaf->ent.parent->vnow, other->ent.vtime);
}

static bool grace_less(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct ioband_leaf, grace)->grace_until_ns <
	       rb_entry(b, struct ioband_leaf, grace)->grace_until_ns;
}

/* The part of a change of queued bios that the entities above count. */
static s64 max_let_through(const struct ioband_max *maximum, s64 waiting)
{
	if (maximum->blocked & ioband_tree_dir_mask(IOBAND_DIR_READ))
		waiting -= (s32)waiting;
	if (maximum->blocked & ioband_tree_dir_mask(IOBAND_DIR_WRITE))
		waiting = (s32)waiting;
	return waiting;
}

/* Live: has bios queued that the entities above count, or an anticipated leaf. */
static void ent_update_live(struct ioband_ent *ent)
{
	u8 kinds = dirs_of(ent_shown(ent));

	if (ent->anticipated && !ent_yields(ent))
		kinds |= IOBAND_LIVE_ANTICIPATED;
	/* How far it is behind does not count, and may be too much for a comparison. */
	if (unlikely(ent->bypass_vtime != ent->parent->bypass_vtime) && !ent_is_live(ent))
		ent->bypass_vtime = ent_bypass_vtime(ent);
	if (kinds != ent->kinds)
		ioband_live_set(ent, kinds);
}

/* A lead over the node beyond the largest one would be taken for a lag later: it is none. */
static void ent_set_bypass_vtime(struct ioband_ent *ent, u64 bypass_vtime)
{
	ent->parent->bypasses = true;
	ent->bypass_vtime = bypass_vtime;
	ent->bypass_vtime = ent_bypass_vtime(ent);
	ioband_live_update(ent);
}

/* The only function that changes counters, in step with the membership in the trees. */
static void ent_count(struct ioband_core *core, struct ioband_ent *ent, s64 waiting, int ready,
		      int anticipated, int busy)
{
	for (; ; ent = &ent->parent->ent) {
		ent->waiting += waiting;
		ent->ready += ready;
		ent->anticipated += anticipated;
		ent->busy += busy;
		if (!ent->parent)
			break;
		if (!ent->busy && ent->parent->serving == ent)
			ent->parent->serving = NULL;
		ent_update_live(ent);
		if (unlikely(ent->min))
			core->hooks->min_changed(core, ent->min);
		if (unlikely(ent->max)) {
			core->hooks->max_changed(core, ent->max);
			waiting = max_let_through(ent->max, waiting);
		}
		if (unlikely(ent->idle_class)) {
			waiting = ent_yields(ent) ? 0 : waiting;
			ent->parent->idle_waiting += waiting;
			ent->parent->idle_ready += ready;
		}
	}
}

static void ent_count_pausing(struct ioband_core *core, struct ioband_ent *ent, int pausing)
{
	core->pausing += pausing;
	for (; ent->parent; ent = &ent->parent->ent)
		ent->pausing += pausing;
}

/* Bound the lag of an entity at every level, in a pause to @pause_lag.  Has one moved? */
bool ioband_tree_catch_up(struct ioband_ent *ent, u64 pause_lag)
{
	bool moved = false;

	for (; ent->parent; ent = &ent->parent->ent)
		moved |= ent_catch_up(ent, pause_lag);
	return moved;
}

/* Let a leaf, and entities above with no other busy leaf, restart at the vtime of their node. */
void ioband_tree_forget_lag(struct ioband_leaf *leaf)
{
	struct ioband_ent *ent;

	for (ent = &leaf->ent; ent->parent && ent->busy == leaf->ent.busy; ent = &ent->parent->ent)
		if (vtime_before(ent->vtime, ent->parent->vnow))
			ioband_live_move(ent, ent->parent->vnow);
}

/* Other directions of the bios queued at or below an entity count for minima. */
static void ent_update_min(struct ioband_core *core, struct ioband_ent *ent)
{
	if (ent->min)
		core->hooks->min_changed(core, ent->min);
	else if (core->nr_minima)
		core->hooks->min_gated(ent);
}

/* The entities above have counted the bios @before of an entity; from now on ent_shown(). */
static void ent_reshow(struct ioband_core *core, struct ioband_ent *ent, u64 before)
{
	const s64 change = ent_shown(ent) - before;

	if (!before)
		ioband_tree_catch_up(ent, 0);
	ent_update_live(ent);
	ent_update_min(core, ent);
	if (unlikely(ent->idle_class))
		ent->parent->idle_waiting += change;
	ent_count(core, &ent->parent->ent, change, 0, 0, 0);
	if (unlikely(core->nr_idlers))
		core->hooks->idle_changed(core, ent);
}

/*
 * Set the blocked directions of an entity with a maximum, as halves of &ioband_ent.waiting.  The
 * entities above do not count its queued bios in these.
 */
void ioband_tree_block(struct ioband_core *core, struct ioband_ent *ent, u64 blocked)
{
	const u64 before = ent_shown(ent);

	ent->max->blocked = blocked;
	ent_reshow(core, ent, before);
}

/*
 * Let the first child of the idle class that has queued bios restart at the virtual time of the
 * node.  The others keep their distance to it, up to the largest lag.
 */
static void node_restart_idlers(struct ioband_node *node)
{
	struct ioband_ent *ent;
	u64 first = 0;
	bool any = false;

	list_for_each_entry(ent, &node->idlers, idlers) {
		if (!ent->waiting)
			continue;
		first = any ? vtime_min(first, ent->vtime) : ent->vtime;
		any = true;
	}
	list_for_each_entry(ent, &node->idlers, idlers)
		if (ent->waiting)
			ent->vtime = node->vnow + min(ent->vtime - first,
						      ent_vtime_of(ent, IOBAND_LAG_MAX));
}

/* Let the idle class of a node yield, or serve it again.  While it yields, it is not live. */
void ioband_tree_yield(struct ioband_core *core, struct ioband_node *node, bool yields)
{
	const bool shown = ent_shown(&node->ent);
	struct ioband_ent *ent;
	s64 change = 0;

	if (!yields)
		node_restart_idlers(node);
	list_for_each_entry(ent, &node->idlers, idlers)
		change -= ent_shown(ent);
	node->yields = yields;
	list_for_each_entry(ent, &node->idlers, idlers) {
		change += ent_shown(ent);
		ent_update_live(ent);
		ent_update_min(core, ent);
	}
	if (!change)
		return;
	if (!shown)
		ioband_tree_catch_up(&node->ent, 0);
	node->idle_waiting += change;
	ent_count(core, &node->ent, change, 0, 0, 0);
}

/* Put an entity into the idle class, or take it out. */
static void ent_set_class(struct ioband_core *core, struct ioband_ent *ent, bool idle)
{
	struct ioband_node *node = ent->parent;
	const u64 shown = ent_shown(ent);

	ent->idle_class = idle;
	if (idle) {
		core->nr_idlers++;
		if (list_empty(&node->idlers)) {
			list_add_tail(&node->idle_nodes, &core->idle_nodes);
			core->nr_idle_nodes++;
		}
		list_add_tail(&ent->idlers, &node->idlers);
		node->idle_waiting += shown;
		node->idle_ready += ent->ready;
	} else {
		core->nr_idlers--;
		list_del_init(&ent->idlers);
		node->idle_waiting -= shown;
		node->idle_ready -= ent->ready;
		node->idle_inflight = 0;	/* at least */
	}
	ent_reshow(core, ent, shown);
	if (list_empty(&node->idlers)) {
		list_del_init(&node->idle_nodes);
		core->nr_idle_nodes--;
		core->idle_left = min(core->idle_left, core->nr_idle_nodes);
		node->yields = false;
		node->idle_due = false;
	}
}

/*
 * Change a weight (or IOBAND_WEIGHT_IDLE), not of the root.  The new one applies to the present
 * lead or lag, and to all service from now on.  An entity has to leave the idle class before it is
 * freed.
 */
void ioband_tree_set_weight(struct ioband_core *core, struct ioband_ent *ent, u32 weight)
{
	const bool idle = weight == IOBAND_WEIGHT_IDLE;
	u64 bypass_lead;
	s64 lead;
	u8 kinds;

	ent_catch_up(ent, 0);
	if (idle != ent->idle_class)
		ent_set_class(core, ent, idle);
	if (idle)
		weight = IOBAND_WEIGHT_DEFAULT;
	kinds = ent->kinds;
	ioband_live_set(ent, 0);
	lead = ent->vtime - ent->parent->vnow;
	ent->vtime = ent->parent->vnow + div_s64(lead * ent->weight, weight);
	ent->advance = div_u64(ent->advance * ent->weight, weight);
	bypass_lead = (ent_bypass_vtime(ent) - ent->parent->bypass_vtime) * ent->weight;
	ent->bypass_vtime = ent->parent->bypass_vtime + div_u64(bypass_lead, weight);
	ent_weigh(ent, weight);
	ioband_live_set(ent, kinds);
}

static s64 dirs_to_waiting(u8 dirs)
{
	return (dirs & 1 ? ioband_tree_dir_one(IOBAND_DIR_READ) : 0) +
	       (dirs & 2 ? ioband_tree_dir_one(IOBAND_DIR_WRITE) : 0);
}

static bool leaf_is_ready(enum ioband_leaf_state state)
{
	return state == IOBAND_LEAF_INFLIGHT || state == IOBAND_LEAF_ANTICIPATED;
}

/* The only function that changes the state of a leaf, or the directions of its queued bios. */
void ioband_tree_change_state(struct ioband_core *core, struct ioband_leaf *leaf,
			      enum ioband_leaf_state state, u8 dirs)
{
	const enum ioband_leaf_state old = leaf->state;
	const s64 waiting = dirs_to_waiting(dirs) - dirs_to_waiting(leaf->dirs);
	const int ready = leaf_is_ready(state) - leaf_is_ready(old);
	const int anticipated = (state == IOBAND_LEAF_ANTICIPATED) -
				(old == IOBAND_LEAF_ANTICIPATED);
	const int busy = (state != IOBAND_LEAF_IDLE) - (old != IOBAND_LEAF_IDLE);

	leaf->state = state;
	leaf->dirs = dirs;
	leaf->was_idle |= state == IOBAND_LEAF_IDLE;
	if (state == IOBAND_LEAF_IDLE && core->holder == leaf)
		core->holder = NULL;
	ent_count(core, &leaf->ent, waiting, ready, anticipated, busy);
	if (unlikely(leaf->pause_anticipated) && anticipated)
		ent_count_pausing(core, &leaf->ent, anticipated);

	if (anticipated > 0)
		rb_add_cached(&leaf->grace, &core->anticipated[leaf->pause_anticipated],
			      grace_less);
	else if (anticipated < 0)
		tree_dequeue(&leaf->grace, &core->anticipated[leaf->pause_anticipated]);
	if (unlikely(core->nr_idlers))
		core->hooks->idle_changed(core, &leaf->ent);
}

/* The reason for a dispatch, at one level of the tree. */
enum reason {
	BY_WEIGHT,	/* the entity is the least served */
	BY_MIN,		/* a minimum of it, or of an entity below, is due */
	BYPASS,		/* a minimum above is, or the throttle holds others */
	AS_DEBT,	/* a task depends on it: out of turn */
};

/*
 * Charge one entity.  In turn, the virtual time of the node follows that of the entity, by the
 * advance of the last pick at most.  A lead beyond that is a debt, and remains: an entity that
 * is served while its siblings have no bios queued is still in debt to them.
 *
 * Service for a minimum, or by bypass, is not a debt: it leads by no more than the largest lag,
 * and only by that is the entity not the next by weight.  The virtual time of the node does not
 * pass that of a sibling with bios queued.  Weights apply among bypassing entities too, by the
 * bypass vtime.  With slices, service by weight counts there as well, because it may continue as
 * service for a minimum.
 */
static __always_inline void ent_charge(const struct ioband_core *core, struct ioband_ent *ent,
				       u32 charge, enum reason reason, bool slices)
{
	struct ioband_node *node = ent->parent;
	const u64 advance = ent_vtime_of(ent, charge);
	const bool alone = node->ent.busy == ent->busy;
	u64 vtime = ent->vtime + advance;

	if (unlikely(reason == BYPASS ||
		     (reason == BY_WEIGHT && slices && core->nr_minima)))
		ent_set_bypass_vtime(ent, ent_bypass_vtime(ent) + advance);
	if (alone) {
		node->vnow = vtime_max(node->vnow, ent->vtime);
	} else if (reason != AS_DEBT) {
		u64 reach = vtime_min(ent->vtime, node->vnow + ent->advance);

		if (slices || reason != BY_WEIGHT)
			reach = vtime_min(reach, node_least(node, ent)->vtime);
		node->vnow = vtime_max(node->vnow, reach);
	}
	if (!alone && reason != BY_WEIGHT) {
		const u64 lead = ent_vtime_of(ent, reason == AS_DEBT ? IOBAND_DEBT_MAX :
							 max(IOBAND_LAG_MAX, (u64)charge));

		vtime = vtime_max(ent->vtime, vtime_min(vtime, node->vnow + lead));
	}
	if (alone || (reason != AS_DEBT && vtime != ent->vtime))
		ent->advance = advance;
	ioband_live_move(ent, vtime);
}

/* The reason why a leaf is served. */
static enum reason leaf_reason(const struct ioband_core *core, const struct ioband_leaf *leaf)
{
	if (leaf == core->bypass_leaf)
		return BYPASS;
	return core->min_ent && ent_is_below(&leaf->ent, core->min_ent) ? BY_MIN : BY_WEIGHT;
}

/*
 * Charge a leaf and the nodes above it: device time (@by_time) at the levels that share it, other
 * units at the others.  Not @in_turn, they are a debt.
 */
void ioband_tree_charge(const struct ioband_core *core, struct ioband_leaf *leaf, u32 charge,
			bool by_time, bool in_turn)
{
	const enum reason reason = in_turn ? leaf_reason(core, leaf) : AS_DEBT;
	bool below = reason == BY_MIN && core_bypasses(core);
	struct ioband_ent *ent;

	/* The usual case, compiled apart. */
	if (likely(reason == BY_WEIGHT && !core->slice_ns && !by_time)) {
		for (ent = &leaf->ent; ent->parent; ent = &ent->parent->ent)
			ent_charge(core, ent, charge, BY_WEIGHT, false);
		return;
	}
	for (ent = &leaf->ent; ent->parent; ent = &ent->parent->ent) {
		below &= ent != core->min_ent;
		if (node_shares_time(core, ent->parent) == by_time)
			ent_charge(core, ent, charge, below ? BYPASS : reason, core->slice_ns);
	}
}

/* End of the first grace period, or IOBAND_NO_WAKEUP. */
u64 ioband_tree_grace_ends(const struct ioband_core *core)
{
	u64 ends_ns = IOBAND_NO_WAKEUP;

	for (int pausing = 0; pausing < 2; pausing++) {
		const struct rb_node *first = rb_first_cached(&core->anticipated[pausing]);

		if (first)
			ends_ns = min(ends_ns,
				      rb_entry(first, struct ioband_leaf, grace)->grace_until_ns);
	}
	return ends_ns;
}

/*
 * The least served child with a bio queued in a direction of @open, which it narrows.  Adds the
 * anticipated leaves before it to @ios.  NULL if these reach the limit, as one in writeback idle
 * always does.
 */
static __always_inline struct ioband_ent *node_pick(const struct ioband_node *node, u64 *open,
						    u32 *ios, u32 limit)
{
	const u8 dirs = dirs_of(*open), kinds = dirs | IOBAND_LIVE_ANTICIPATED;

	for (struct ioband_ent *ent = ioband_live_first(node, kinds, NULL); ent;
	     ent = ioband_live_next(ent, kinds, NULL)) {
		if (likely(ent->kinds & dirs)) {
			*open &= ent_open(ent);
			return ent;
		}
		if (unlikely(ent->pausing))
			break;
		*ios += ent->anticipated;
		if (*ios >= limit)
			break;
	}
	return NULL;
}

/*
 * The least served child, other than @except, with a queued bio in a direction of @open.  By bypass
 * vtime, children behind that of the node are equals, and virtual time decides.
 */
struct ioband_ent *ioband_tree_least(const struct ioband_node *node, u64 open, bool bypass,
				     const struct ioband_ent *except)
{
	const u8 dirs = dirs_of(open);
	struct ioband_ent *ent;
	u64 until;

	if (bypass && !ioband_live_least_bypass(node, dirs, except, &until))
		return NULL;
	if (bypass)
		until = vtime_max(until, node->bypass_vtime);
	ent = ioband_live_first(node, dirs, bypass ? &until : NULL);
	if (ent && ent == except)
		ent = ioband_live_next(ent, dirs, bypass ? &until : NULL);
	return ent;
}

/* A child with an anticipated leaf has less service than the child in service. */
bool ioband_tree_expects(const struct ioband_node *node, bool bypass)
{
	const u64 position = ent_position(node->serving, bypass), until = position - 1;
	const struct ioband_ent *ent;

	if (bypass)
		return position != node->bypass_vtime &&
		       ioband_live_first(node, IOBAND_LIVE_ANTICIPATED, &until);
	ent = ioband_live_first(node, IOBAND_LIVE_ANTICIPATED, NULL);
	return ent && vtime_before(ent->vtime, position);
}

/*
 * The same as node_pick() by bypass vtime.  Children that precede the least one have no bio queued
 * in a direction of @open.  None precedes children behind the node.
 */
static struct ioband_ent *node_pick_bypass(struct ioband_node *node, u64 *open, u32 *ios,
					   u32 limit)
{
	struct ioband_ent *least = ioband_tree_least(node, *open, true, NULL), *ent = NULL;
	u64 until;

	if (!least)
		return NULL;
	until = ent_bypass_vtime(least) - 1;
	if (vtime_before(node->bypass_vtime, ent_bypass_vtime(least)))
		ent = ioband_live_first(node, IOBAND_LIVE_ANTICIPATED, &until);
	for (; ent && *ios < limit; ent = ioband_live_next(ent, IOBAND_LIVE_ANTICIPATED, &until))
		*ios += ent->anticipated;
	if (*ios >= limit)
		return NULL;
	/* Not when charged: with slices, service goes on when it is not the least. */
	node->bypass_vtime = ent_bypass_vtime(least);
	*open &= ent_open(least);
	return least;
}

/*
 * The least served leaf at or below an entity with a queued bio in a direction of @open; NULL if
 * there is none, or anticipated leaves with less service reach the limit.
 */
struct ioband_leaf *ioband_tree_leaf_below(struct ioband_ent *ent, u64 open, bool bypass, u32 ios,
					   u32 limit)
{
	while (!ent->leaf) {
		struct ioband_node *node = container_of(ent, struct ioband_node, ent);

		ent = unlikely(bypass) ? node_pick_bypass(node, &open, &ios, limit) :
					 node_pick(node, &open, &ios, limit);
		if (!ent)
			return NULL;
	}
	return ent_to_leaf(ent);
}

/*
 * Directions, as bits, in which a picked leaf has bios that neither a maximum nor the throttle
 * blocks; for service of a minimum, only directions of the minimum.
 */
u8 ioband_tree_dirs(const struct ioband_core *core, const struct ioband_leaf *leaf)
{
	u64 open;

	if (likely(!core->has_max && !core->nr_idlers && !core->min_ent && !core->throttle_dirs))
		return leaf->dirs;
	open = ent_open_above(core, &leaf->ent) & ~core->throttle_dirs;
	if (core->min_ent)
		open &= core->min_ent_dirs;
	return leaf->dirs & dirs_of(open);
}

/*
 * Has a leaf, or a node above it, more than half of the largest debt, or does it yield?  Further
 * service out of turn might never be repaid.  With @rivals, only a debt to busy siblings counts,
 * and that also while the leaf is idle.
 */
bool ioband_tree_is_in_debt(const struct ioband_leaf *leaf, bool rivals)
{
	for (const struct ioband_ent *ent = &leaf->ent; ent->parent; ent = &ent->parent->ent) {
		const s64 lead = ent->vtime - ent->parent->vnow;
		const bool busy = rivals ? ent->parent->ent.busy > ent->busy : ent->busy;

		if (ent_yields(ent) || (busy && lead > (s64)ent_vtime_of(ent, IOBAND_DEBT_MAX / 2)))
			return true;
	}
	return false;
}

/*
 * Begin new slices below an entity that gets the device.  An entity that has it already keeps its
 * slices, with two exceptions.  Bios are queued below that the service of a minimum skips: these
 * must not wait longer.  Or the service becomes a bypass, which the slice below is not.
 */
void ioband_tree_begin_below(const struct ioband_core *core, struct ioband_ent *ent, bool bypass)
{
	struct ioband_node *node;

	if (ent->leaf)
		return;
	node = container_of(ent, struct ioband_node, ent);
	if (ent_is_holder(core, ent) && !(ent->waiting & ~core->min_ent_dirs) &&
	    (!bypass || node->by_bypass))
		return;
	node->serving = NULL;
}

/* Give the device to an entity that is not the next by weight, or take it back. */
void ioband_tree_set_holder(const struct ioband_core *core, struct ioband_ent *ent, bool begin)
{
	ioband_tree_begin_below(core, ent, begin);
	for (; ent->parent; ent = &ent->parent->ent) {
		ent->parent->serving = begin ? ent : NULL;
		ent->parent->served_ns = 0;
		ent->parent->served_from = ent->vtime;
	}
}
