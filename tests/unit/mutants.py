# SPDX-License-Identifier: GPL-2.0-only
"""Deliberate mistakes in the scheduler and the parser, each of which a test must notice."""

from typing import NamedTuple


class Mutant(NamedTuple):
    """A mistake: its name, and the one place in a source file that it changes."""

    name: str
    old: str
    new: str


CORE = [
    Mutant("passed-over-saves", " &&\n	       --some);", " && false);"),
    Mutant(
        "all-graces-at-once",
        "some && (leaf = first_anticipated(core, pausing))",
        "(leaf = first_anticipated(core, pausing))",
    ),
    Mutant(
        "passing-by-weight", "open, core_bypasses(core), ios, limit);", "open, false, ios, limit);"
    ),
    Mutant("late-is-in-time", "gap <= IOBAND_PAUSE_WAIT_NS && ", ""),
    Mutant("in-time-is-late", "gap <= IOBAND_PAUSE_WAIT_NS && ", "false && "),
    Mutant(
        "urgent-makes-a-reader",
        "	if (in_turn) {\n		leaf->async",
        "	{\n		leaf->async",
    ),
    Mutant(
        "idle-without-slices",
        "		ioband_pause_begin_idle(core, now_ns);\n",
        "",
    ),
    Mutant(
        "readers-wait-for-pauses-behind-a-maximum",
        "	if (unlikely(core->pausing) && ent->waiting",
        "	if (false && ent->waiting",
    ),
    Mutant("not-woken-for-a-maximum", "*wake_ns = min(*wake_ns, ioband_max_wake_ns(core));", ";"),
    Mutant(
        "bounded-as-a-leaf",
        "ioband_max_charge(core, ent->max, bill, in_turn, now_ns);",
        "{ ioband_max_charge(core, ent->max, bill, in_turn, now_ns); break; }",
    ),
    Mutant("promised-uncounted", "flow_count_min(core, leaf, bill->dir, 1);", ";"),
    Mutant("promised-for-ever", "flow_count_min(core, leaf, bill->dir, -1);", ";"),
    Mutant("never-masked", "core->masked_ios = max(core->masked_ios, core->min_ios);", ";"),
    Mutant(
        "no-probe-beside-minima",
        "return ioband_below_probe(core);\n		open",
        "return NULL;\n		open",
    ),
    Mutant("always-weighed", "by_weight &= ent != core->min_ent;", ""),
    Mutant("never-weighed", "			ent->parent->by_weight_ns = now_ns;", "			;"),
    Mutant("limit-of-nothing", "max(ios, 1U)", "ios"),
    Mutant("time-to-think-of-last", "(leaf->think_ns * 4 + gap) / 5", "gap"),
    Mutant("pauses-count", "gap = min(gap, IOBAND_THINK_LIMIT * core_patience(core));", ""),
    Mutant("first-gap-counts", "leaf->done_ns > core->told_ns", "true"),
    Mutant("untold-gaps-count", "leaf->done_ns > core->told_ns", "leaf->done_ns"),
    Mutant("a-pause-costs-turns", "IOBAND_THINK_LIMIT	4", "IOBAND_THINK_LIMIT	10"),
    Mutant("waits-on-fast-devices", "return core->slice_ns ? IOB", "return true ? IOB"),
    Mutant("thinks-while-busy", "if (!leaf->inflight)", "if (true)"),
    Mutant("grace-past-its-end", "if (leaf->grace_until_ns > now_ns)", "if (true)"),
    Mutant("grace-at-its-end", "leaf->grace_until_ns > now_ns", "leaf->grace_until_ns >= now_ns"),
    Mutant(
        "removed-thinker-stays",
        "	ioband_tree_set_state(core, leaf, IOBAND_LEAF_IDLE, 0);\n	ioband_below_remove",
        "	ioband_below_remove",
    ),
    Mutant(
        "no-catch-up-on-arrival",
        "leaf_arrive(core, leaf, now_ns);\n		if (core->slice_ns && dir",
        "if (core->slice_ns && dir",
    ),
    Mutant(
        "one-too-many",
        "!ent->waiting || (ios >= limit &&",
        "!ent->waiting || (ios > limit &&",
    ),
    Mutant("no-limit", "!ent->waiting || (ios >= limit &&", "!ent->waiting || (false &&"),
    Mutant(
        "grace-not-ended",
        "	core_expire(core, now_ns);\n	if (unlikely(core->idle_ns))",
        "	if (unlikely(core->idle_ns))",
    ),
    Mutant(
        "never-woken",
        "*wake_ns = min(*wake_ns, ioband_tree_grace_ends(core));\n		return NULL",
        "return NULL",
    ),
    Mutant(
        "debts-forgiven",
        "core_launch(core, leaf, bill, false, now_ns)",
        "core_launch(core, leaf, bill, true, now_ns)",
    ),
    Mutant("bytes-charged", "leaf, bill->charge, false", "leaf, bill->bytes, false"),
    Mutant("flight-not-counted", "if (!core->inflight_ios++)", "if (!core->inflight_ios)"),
    Mutant("flight-bytes-not-counted", "core->inflight_bytes += bill->bytes;", ""),
    Mutant("leaf-flight-not-counted", "	leaf->inflight++;\n", ""),
    Mutant(
        "urgent-not-expired",
        "	core_expire(core, now_ns);\n	if (leaf->state != IOBAND_LEAF_BACKLOGGED) {",
        "	if (leaf->state != IOBAND_LEAF_BACKLOGGED) {",
    ),
    Mutant(
        "urgent-ends-waiting",
        "	if (leaf->state != IOBAND_LEAF_BACKLOGGED) {\n		leaf->only",
        "	{\n		leaf->only",
    ),
    Mutant("completed-stays", "core->inflight_ios--;", ""),
    Mutant("completed-bytes-stay", "core->inflight_bytes -= bill->bytes;", ""),
    Mutant("completed-time-lost", "leaf->done_ns = now_ns;", ""),
    Mutant(
        "thinks-too-soon",
        "!leaf->inflight && leaf->state == IOBAND_LEAF_INFLIGHT",
        "leaf->state == IOBAND_LEAF_INFLIGHT",
    ),
    Mutant(
        "thinks-with-bios",
        "!leaf->inflight && leaf->state == IOBAND_LEAF_INFLIGHT",
        "!leaf->inflight",
    ),
    Mutant("waits-for-the-slow", "leaf->think_ns > core_patience(core)", "false"),
    Mutant("waits-for-a-journal", "leaf->only_urgent || ", ""),
    Mutant("no-grace", "2 * leaf->think_ns + IOBAND_GRACE_MIN_NS", "leaf->think_ns / 2"),
    Mutant("writer-not-forgotten", "if (core->writer == leaf)\n		core->writer = NULL;", ""),
]

TREE = [
    Mutant("any-passes", "until = vtime_max(until, node->bypass_vtime);", "until = U64_MAX / 2;"),
    Mutant("thinks-beside", "ent && *ios < limit; ent", "false; ent"),
    Mutant(
        "past-without-weight",
        "ent_set_bypass_vtime(ent, ent_bypass_vtime(ent) + advance);",
        "ent_set_bypass_vtime(ent, ent_bypass_vtime(ent));",
    ),
    Mutant(
        "past-by-the-old-weight",
        "ent->parent->bypass_vtime + div_u64(bypass_lead, weight);",
        "ent->parent->bypass_vtime + bypass_lead / ent->weight;",
    ),
    Mutant("sums-are-old", "	ioband_live_update(ent);\n", ""),
    Mutant(
        "blocked-stays-live",
        "	ent_update_live(ent);\n	ent_update_min(core, ent);\n	if",
        "	ent_update_min(core, ent);\n	if",
    ),
    Mutant("blocked-ways-may", "return leaf->dirs & dirs_of(open)", "return leaf->dirs"),
    Mutant("weight-stays", "	ent_weigh(ent, weight);\n	ioband", "	ioband"),
    Mutant(
        "weight-loses-place",
        "ent_weigh(ent, weight);\n	ioband_live_set(ent, kinds);",
        "ent_weigh(ent, weight);",
    ),
    Mutant("thinkers-not-live", "if (ent->anticipated && !ent_yields(ent))", "if (false)"),
    Mutant("expected-by-all", "return ent && vtime_before(ent->vtime, position);", "return ent;"),
    Mutant("the-same-again", "if (ent && ent == except)", "if (false)"),
    Mutant(
        "below-a-maximum-as-before",
        "	else if (core->nr_minima)\n		core->hooks->min_gated(ent);\n",
        "",
    ),
    Mutant("by-weight-below", "below ? BYPASS : reason", "reason"),
    Mutant(
        "by-weight-for-nothing",
        "(reason == BY_WEIGHT && slices && core->nr_minima)",
        "false",
    ),
    Mutant("passers-stay", "	node->bypass_vtime = ent_bypass_vtime(least);", "	;"),
    Mutant("blocked-reads-seen", "waiting -= (s32)waiting;", ";"),
    Mutant("blocked-writes-seen", "waiting = (s32)waiting;", ";"),
    Mutant(
        "blocked-unseen-above",
        "	ent_count(core, &ent->parent->ent, change, 0, 0, 0);\n",
        "",
    ),
    Mutant(
        "pause-leaves-the-pipe", "		if (unlikely(ent->pausing))\n			break;\n", ""
    ),
    Mutant(
        "pausing-for-good", "	core->pausing += pausing;", "	core->pausing += pausing > 0;"
    ),
    Mutant("pausing-below-only", "		ent->pausing += pausing;", "		;"),
    Mutant("below-a-block", "			*open &= ent_open(ent);\n", ""),
    Mutant(
        "promised-leads-far",
        "max(IOBAND_LAG_MAX, (u64)charge)",
        "IOBAND_DEBT_MAX",
    ),
    Mutant("node-follows-the-promised", "slices || reason != BY_WEIGHT", "slices"),
    Mutant(
        "promised-not-found",
        "		if (unlikely(ent->min))\n			core->hooks->min_changed(core, ent->min);",
        "		;",
    ),
    Mutant("unpromised-ways-may", "		open &= core->min_ent_dirs;", ""),
    Mutant("weights-ignored", "div_u64(1ULL << IOBAND_PACE_SHIFT, weight)", "1ULL << 25"),
    Mutant("served-from-zero", ".vtime = parent ? parent->vnow : 0", ".vtime = 0"),
    Mutant("lag-not-allowed", "ent->busy ? IOBAND_LAG_MAX : 0", "0ULL"),
    Mutant("idling-earns", "ent->busy ? IOBAND_LAG_MAX : 0", "1ULL << 40"),
    Mutant("no-catch-up", "if (lag <= lag_max || lag >=", "if (true || lag <= lag_max || lag >="),
    Mutant("leads-forgotten", "if (lag <= lag_max || lag >=", "if (lag <= lag_max && lag >="),
    Mutant("round-trip-starves", "lag >= -2 * ent_vtime_of(ent, U32_MAX)", "(s64)lag <= 0"),
    Mutant("weight-keeps-lead", "div_s64(lead * ent->weight, weight)", "lead"),
    Mutant("weight-keeps-turn", "div_u64(ent->advance * ent->weight, weight)", "0"),
    Mutant("waiting-not-counted", "ent->waiting += waiting;", ""),
    Mutant("thinking-not-counted", "ent->anticipated += anticipated;", ""),
    Mutant("busy-not-counted", "ent->busy += busy;", ""),
    Mutant("counted-in-leaf-only", "if (!ent->parent)\n			break;", "break;"),
    Mutant("graces-out-of-order", "grace_until_ns <\n", "grace_until_ns >\n"),
    Mutant(
        "thinkers-take-no-place",
        "			break;\n		*ios += ent->anticipated;",
        "			break;",
    ),
    Mutant("endless-search", "if (*ios >= limit)\n			break;", ""),
    Mutant(
        "node-stays-behind",
        "	if (alone) {\n		node->vnow = vtime_max(node->vnow, ent->vtime);",
        "	if (alone) {",
    ),
    Mutant("node-stays-in-turn", "vtime_min(ent->vtime, node->vnow + ent->advance)", "node->vnow"),
    Mutant(
        "debts-end-with-a-turn", "vtime_min(ent->vtime, node->vnow + ent->advance)", "ent->vtime"
    ),
    Mutant(
        "debts-unbounded",
        "vtime = vtime_max(ent->vtime, vtime_min(vtime, node->vnow + lead));",
        "(void)lead;",
    ),
    Mutant(
        "debts-for-nothing",
        "vtime_max(ent->vtime, vtime_min(vtime, node->vnow + lead))",
        "ent->vtime + 0 * lead",
    ),
    Mutant(
        "much-is-all",
        "ent_vtime_of(ent, IOBAND_DEBT_MAX / 2)",
        "ent_vtime_of(ent, IOBAND_DEBT_MAX)",
    ),
    Mutant("follows-nobody", "vtime_max(leaf->ent.parent->vnow, other->ent.vtime)", "0"),
    Mutant("much-is-little", "IOBAND_DEBT_MAX / 2)", "IOBAND_DEBT_MAX / 4)"),
    Mutant(
        "idle-owes-nothing",
        "rivals ? ent->parent->ent.busy > ent->busy : ent->busy",
        "ent->busy",
    ),
    Mutant(
        "owes-as-a-leaf-only",
        "			return true;\n	}\n	return false;",
        "			return true;\n		break;\n	}\n	return false;",
    ),
    Mutant("owed-to-nobody", "node->ent.busy == ent->busy", "false"),
    Mutant("always-alone", "node->ent.busy == ent->busy", "true"),
    Mutant("turn-forgotten", "ent->advance = advance;", ""),
    Mutant("turn-alone-forgotten", "if (alone || (reason", "if ((reason"),
    Mutant("not-charged", "u64 vtime = ent->vtime + advance;", "u64 vtime = ent->vtime;"),
    Mutant(
        "charged-in-leaf-only",
        "ent_charge(core, ent, charge, BY_WEIGHT, false);",
        "{ ent_charge(core, ent, charge, BY_WEIGHT, false); break; }",
    ),
    Mutant("time-and-bytes", "if (node_shares_time(core, ent->parent) == by_time)\n", ""),
    Mutant(
        "node-follows-the-served",
        "if (slices || reason != BY_WEIGHT)\n			reach",
        "if (reason != BY_WEIGHT)\n			reach",
    ),
    Mutant(
        "gone-in-service",
        "ent->parent->serving = NULL;\n		ent_update",
        ";\n		ent_update",
    ),
    Mutant(
        "gone-has-the-device",
        "		core->holder = NULL;\n	ent_count",
        "		;\n	ent_count",
    ),
    Mutant(
        "turns-below-are-cut",
        "if (ent_is_holder(core, ent) &&",
        "if (false &&",
    ),
    Mutant("carried-on", " &&\n	    (!bypass || node->by_bypass))", ")"),
    Mutant("passed-over-for-ever", " && !(ent->waiting & ~core->min_ent_dirs)", ""),
    Mutant("turns-below-go-on", "	node->serving = NULL;\n}", "}"),
    Mutant(
        "promised-goes-on-below",
        "	ioband_tree_begin_below(core, ent, begin);\n	for",
        "	for",
    ),
]

AHEAD = [
    Mutant("always-in-turn", "if (!node->to_and_fro || ", "if (true || "),
    Mutant("always-to-and-fro", "if (!node->to_and_fro || ", "if ("),
    Mutant("to-and-fro-for-good", "		node->to_and_fro--;\n", ""),
    Mutant("one-pass-only", "		cold = node->cold_slices > 0;\n", "		cold = false;\n"),
    Mutant("always-of-use", "if (4 * node->cold_slices > 3 * runs)", "if (false)"),
    Mutant("never-of-use", "if (4 * node->cold_slices > 3 * runs)", "if (node->cold_slices)"),
    Mutant("of-no-use-for-good", "		node->in_turn--;\n", "		;\n"),
    Mutant("tried-again-at-once", "_ROUNDS	8", "_ROUNDS	0"),
    Mutant(
        "cold-adds-up",
        "		node->to_and_fro = runs;\n	node->cold_slices = 0;",
        "		node->to_and_fro = runs;",
    ),
    Mutant("all-is-cold", "now_ns - core->first_ns + IOBAND_COLD_NS", "0"),
    Mutant("slow-is-cold", "now_ns - core->first_ns + IOBAND_COLD_NS", "IOBAND_COLD_NS"),
    Mutant("nothing-is-cold", "(2 * NSEC_PER_MSEC)", "NSEC_PER_SEC"),
    Mutant("large-is-cold", "if (bytes >= core->first_bytes)", "if (true)"),
    Mutant("first-turns-are-cold", "leaf->is_run && !leaf->was_idle &&", "leaf->is_run &&"),
    Mutant("each-read-is-a-first", "	core->began_ns = 0;\n}", "	core->first_ns = 0;\n}"),
    Mutant("a-round-is-a-turn", "node->to_and_fro = runs;", "node->to_and_fro = 1;"),
    Mutant("others-are-runs", "!latest->is_run || latest->was_idle", "latest->was_idle"),
    Mutant("who-is-not-here", "!(ent_shown(ent) & open) ||", "!open ||"),
    Mutant("others-go-last", "			return ent;", "			continue;"),
    Mutant("the-latest-goes-on", "least->vtime) >= core->slice_ns / 2", "least->vtime) >= U64_MAX"),
    Mutant(
        "earliest-first",
        "->last_slice_ns > latest->last_slice_ns",
        "->last_slice_ns < latest->last_slice_ns",
    ),
    Mutant("who-was-idle-waits", "!latest->is_run || latest->was_idle", "!latest->is_run"),
]

PAUSE = [
    Mutant("pause-loses", "? IOBAND_PAUSE_LAG : 0;", "? 0 : 0;"),
    Mutant("half-a-pause", "(40ULL << 20)", "(20ULL << 20)"),
    Mutant("pause-for-ever", "now_ns <= leaf->done_ns + IOBAND_PAUSE_NS", "true"),
    Mutant("pause-costs-readers", "leaf->async && core_is_async(core) &&", "leaf->async &&"),
    Mutant("pause-below-a-maximum", " && !leaf_may_be_blocked(leaf);", ";"),
    Mutant(
        "pause-not-awaited",
        "return !core->charge_time && !core->nr_minima",
        "return false",
    ),
    Mutant("pause-paid-for", "!core->charge_time && !core->nr_minima", "!core->nr_minima"),
    Mutant("pause-beside-a-promise", " && !core->nr_minima && leaf_may", " && leaf_may"),
    Mutant("pause-of-who-needs-it-not", "!leaf_is_far_behind(leaf) &&", "true &&"),
    Mutant("pause-of-who-keeps-up", "IOBAND_PAUSE_LAG / 10 * 9", "IOBAND_PAUSE_LAG / 10 * 8"),
    Mutant(
        "idle-for-ever",
        "core->patience_ns <= now_ns + IOBAND_PATIENCE * IOBAND_PAUSE_NS",
        "true",
    ),
    Mutant(
        "idle-beside-what-hangs",
        "counted_ios(core) <= core->stuck_ios &&",
        "counted_ios(core) == 0 &&",
    ),
    Mutant("idle-once", "IOBAND_PATIENCE * IOBAND_PAUSE_NS", "0"),
    Mutant("idle-alone", "	core->idle_ns = 0;\n", ""),
    Mutant("idle-by-the-wait", "min_t(u64, ns, IOBAND_PAUSE_WAIT_NS)", "IOBAND_PAUSE_WAIT_NS"),
]

SLICE = [
    Mutant("never-expected", "node->served_ns && ioband_tree_expects(node, to->bypass)", "false"),
    Mutant(
        "passes-over-who-is-owed",
        "node_hangs(core, node) ||\n	    vtime",
        "node_hangs(core, node) || next != least ||\n	    vtime",
    ),
    Mutant(
        "blocked-in-service",
        "(node->serving->waiting && !(ent_shown(node->serving) & to->open))",
        "false",
    ),
    Mutant("slice-never-ends", "if (node->served_ns < core_slice_ns(core))\n", "if (true)\n"),
    Mutant("turns-begin-in-a-rest", "return is_rest(core, left_ns) &&", "return false &&"),
    Mutant(
        "turns-begin-in-a-large-rest",
        "left_ns < core_slice_ns(core) / 2",
        "left_ns < core_slice_ns(core) / 7",
    ),
    Mutant("turns-below-never-end", "is_rest(core, left_ns) &&", "left_ns < U64_MAX &&"),
    Mutant(
        "turns-in-that-of-the-next",
        "min(to->left_ns, node_slice_left_ns",
        "min((u64)U64_MAX, node_slice_left_ns",
    ),
    Mutant("turns-of-who-hangs", "->pausing && !core->stuck_ios;", "->pausing;"),
    Mutant("rest-bounds-nothing", " || !is_rest(core, to->left_ns)", ""),
    Mutant("turns-of-who-pauses", "&& !node->serving->pausing &&", "&&"),
    Mutant("hangs-behind", "node_hangs(core, node) ||\n", "false ||\n"),
    Mutant("hangs-for-all", "return core->inflight_ios <= core->stuck_ios ||", "return true ||"),
    Mutant(
        "hangs-with-what-is-urgent",
        "core->now_ns >= core->holder->done_ns + core_slice_ns(core)",
        "false",
    ),
    Mutant("rest-of-a-promise", "to->left_ns = ioband_min_left_ns(core, now_ns);", "(void)now_ns;"),
    Mutant("by-weight-below", "to->bypass = core_bypasses(core);", "to->bypass = false;"),
    Mutant(
        "passers-stay",
        "	if (to->bypass)\n		node->bypass_vtime",
        "	if (false)\n		node->bypass_vtime",
    ),
    Mutant("turn-ends-with-the-slice", "node_lag_ns(core, node, next, to->bypass));", "(u64)0);"),
    Mutant(
        "bytes-end-with-the-slice",
        "return ioband_mul_div(min(lag, done), node->served_ns, done);",
        "return 0 * done;",
    ),
    Mutant("as-long-again", "min(lag, done), node->served_ns, done", "done, node->served_ns, done"),
    Mutant(
        "pace-of-all-time",
        "	node->served_from = ent_position(ent, bypass);\n	ioband_tree_begin_below",
        "	ioband_tree_begin_below",
    ),
    Mutant(
        "made-way-for-who-is-held-back",
        "node, to->open, to->bypass, node->serving)",
        "node, U64_MAX, to->bypass, node->serving)",
    ),
    Mutant("slice-not-counted", "ent->parent->served_ns += ns;", ";"),
    Mutant(
        "no-slices",
        "	if (!node_is_in_slice(node))\n		return false;",
        "	if (node)\n		return false;",
    ),
    Mutant(
        "another-after-a-slice",
        "node->serving, to->bypass)))\n",
        "node->serving, to->bypass)) || 1)\n",
    ),
    Mutant("not-waited-for", "!others_are_done(core, leaf) || ", ""),
    Mutant(
        "time-not-charged",
        "ioband_tree_charge(core, leaf, min_t(u64, ns, U32_MAX)",
        "ioband_tree_charge(core, leaf, 0 * min_t(u64, ns, U32_MAX)",
    ),
    Mutant(
        "turn-not-limited",
        "if (!next)\n		return U64_MAX;",
        "if (true)\n		return U64_MAX;",
    ),
    Mutant(
        "expected-for-ever",
        "ioband_pause_begin_idle(core, now_ns);\n		*wake_ns = ioband_tree_grace_ends(core);",
        "ioband_pause_begin_idle(core, now_ns);",
    ),
    Mutant("comes-last", "			ent->vtime--;", "			;"),
    Mutant("comes-late", "max(node->served_ns, core->slice_ns / 2)", "node->served_ns"),
    Mutant(
        "comes-too-early",
        "if (node_is_in_slice(node) && vtime_before(ent->vtime",
        "if (node->serving || (0",
    ),
    Mutant("given-for-good", "return node->serving && node->served_ns;", "return node->serving;"),
    Mutant("not-begun", "		leaf_use_slice(leaf, 1);", "		;"),
    Mutant("gathers-never", "return core->writer && !core->charge_time &&", "return false &&"),
    Mutant(
        "gathers-beside-who-waits",
        "!core->charge_time && core_is_async(core)",
        "!core->charge_time",
    ),
    Mutant("gathers-in-long-turns", "core_gathers(core) ? core->slice_ns / 8", "0 ? 0"),
    Mutant("alone-it-pays", "if (leaf_is_alone(core, leaf) || core_gathers(core))", "if (false)"),
    Mutant(
        "cache-has-no-end",
        "min(core_dirty_bytes(core) - owed, usual)",
        "core_dirty_bytes(core) - owed",
    ),
    Mutant(
        "flush-from-above-tells-nothing",
        "		leaf_learn_destage(leaf, ns, cached);",
        "		;",
    ),
    Mutant(
        "flush-from-above-tells-all", "estimate_ns >= IOBAND_GAP_FIRST_NS && ns <", "true || ns <"
    ),
    Mutant("flush-from-above-missed", "if (until > core->clean_until) {", "if (false) {"),
    Mutant(
        "flush-covers-in-flight",
        "core->cached_until - min(core->cached_until, core->inflight_cached)",
        "core->cached_until",
    ),
    Mutant("medium-is-quick", "!core->stuck_ios && leaf_knows_destage(leaf) &&", "false &&"),
    Mutant("flush-for-its-owner", "a->ent.parent == b->ent.parent &&", "false &&"),
    Mutant(
        "no-flush", ">= IOBAND_GAP_FIRST_NS)\n		core->flush", "== 0)\n		core->flush"
    ),
    Mutant(
        "flush-for-nothing",
        ">= IOBAND_GAP_FIRST_NS)\n		core->flush",
        ">= 0)\n		core->flush",
    ),
    Mutant("flush-for-its-own", "if (writer && !is_same_group(writer, leaf) &&", "if (writer &&"),
    Mutant(
        "goes-during-a-flush",
        "	if (core->flush == IOBAND_FLUSH_RUNNING)\n		return false;",
        "",
    ),
    Mutant("flush-not-in-the-slice", "leaf_use_slice(leaf, leaf_destage_ns(leaf, bytes));", ""),
    Mutant("flush-not-prepaid", "leaf_charge_ns(core, leaf, ns - leaf->prepaid_ns, in_turn);", ""),
    Mutant("flush-not-paid", "leaf_charge_ns(core, leaf, ns - leaf->prepaid_ns, false);", ";"),
    Mutant("flush-paid-twice", "if (!leaf || core->flush == IOBAND_FLUSH_RUNNING)", "if (!leaf)"),
    Mutant(
        "too-much-prepaid",
        "min(leaf->prepaid_ns, core->slice_ns / 4)",
        "leaf->prepaid_ns",
    ),
    Mutant(
        "anothers-flush-paid",
        "if (leaf->flushes != core->flushes)",
        "if (false)",
    ),
    Mutant("destage-not-learnt", "leaf_learn_destage(leaf, ns, core->flushed_bytes);", ""),
    Mutant("time-is-all-its", "core->charged_until_ns = now_ns;\n	leaf_use", "leaf_use"),
    Mutant(
        "change-takes-for-ever",
        "min_t(u64, leaf_ios_within(leaf, drain_ns), core->limit_ios)",
        "core->limit_ios + 0 * drain_ns",
    ),
    Mutant(
        "gaps-of-the-idle", "leaf->run_ns = leaf->inflight ? now_ns : 0", "leaf->run_ns = now_ns"
    ),
    Mutant("gaps-of-single-bios", "now_ns >= leaf->run_ns + IOBAND_STRETCH_NS", "true"),
    Mutant("gaps-of-bursts", "else if (!leaf->inflight && leaf->first_ns", "else if (false"),
    Mutant("last-slot-is-empty", "ns + gap_ns / 16", "ns"),
    Mutant(
        "turn-of-nobody",
        "			node->ent.parent->serving = NULL;\n",
        "			return NULL;\n",
    ),
    Mutant("thinker-not-woken-for", "*wake_ns = leaf_wait_ends(core, leaf, now_ns);", ";"),
    Mutant(
        "urgent-is-free",
        "div_u64(leaf_gap_ns(leaf), IOBAND_NS_PER_CHARGE)",
        "0",
    ),
]

STALL = [
    Mutant(
        "stall-is-a-hang",
        "stall->done_ns > max(stall_dev->moved_ns, stall->resumed_ns) + IOBAND_SILENT_NS",
        "stall && stall_dev",
    ),
    Mutant("hangs-at-once", "max(stall_dev->moved_ns, stall->resumed_ns)", "stall_dev->moved_ns"),
    Mutant("never-probes", "others && (slices ||", "false && (slices ||"),
    Mutant("probes-without-need", "stall->silent_extra >= limit_ios", "0 < limit_ios"),
    Mutant(
        "slices-without-probe",
        "(slices || stall->silent_ios",
        "((slices && false) || stall->silent_ios",
    ),
    Mutant(
        "probes-in-numbers",
        "ioband_core_set_limit(core, 1, stall",
        "ioband_core_set_limit(core, limit_ios, stall",
    ),
    Mutant("hang-is-forgotten", "stall_dev->hangs |= silent", "stall_dev->hangs = silent"),
    Mutant("hang-counts", "core, limit_ios, stall->stuck_ios);", "core, limit_ios, 0);"),
    Mutant("never-blocked", "stall_dev->blocked = blocked;", "stall_dev->blocked = false;"),
    Mutant(
        "probes-the-silent",
        "stall_dev->hangs || (left_alone &&",
        "stall_dev->hangs || (false &&",
    ),
    Mutant("blocked-for-good", "unblocked |= stall_dev->blocked && !blocked;", ";"),
]

BELOW = [
    Mutant("never-apart", "IOBAND_BELOW_TRIPS	16U", "IOBAND_BELOW_TRIPS	65536U"),
    Mutant("like-others-with-any", "trips < IOBAND_BELOW_FEW", "trips < 1000"),
    Mutant("without-the-limit", "slow_looks >= IOBAND_BELOW_LOOKS", "slow_looks > 1000000"),
    Mutant(
        "no-hole",
        "	*wake_ns = core->below.hole_until_ns;\n	return true;",
        "	*wake_ns = core->below.hole_until_ns;\n	return false;",
    ),
    Mutant("reads-alone", "/ IOBAND_BELOW_ACROSS", "/ 65536"),
    Mutant("trip-of-one", "flow->left = flow->inflight + 1;", "flow->left = 1;"),
    Mutant("limit-for-each", " / max(core->below.apart, 1U), 1U)", ", 1U)"),
    Mutant("never-withheld", "leaf->full_dirs |= 1 << dir;", "(void)0;"),
    Mutant("counts-on", "core->below.apart_ios += apart ? inflight : -inflight;", ""),
    Mutant(
        "apart-for-good",
        "		if (apart)\n			set_apart(core, leaf, dir, false);",
        "		(void)0;",
    ),
    Mutant(
        "late-by-a-policy",
        "ioband_min_count(core, ent->min, apart ? -inflight : inflight);",
        ";",
    ),
    Mutant("counts-for-minima", "core->min_ios -= apart ?", "core->min_ios -= 0 * apart ?"),
    Mutant("minima-hide-it", "- core->extra_ios - core->min_ios;", "- core->extra_ios;"),
    Mutant("no-probe", "return leaf && may_probe(core, leaf) ? leaf : NULL;", "return NULL;"),
    Mutant("removed-stays", "	end_apart(core, leaf);\n	leave(", "	leave("),
    Mutant("open-counts", "core->told_ns + IOBAND_BELOW_OPEN_NS && trips", "U64_MAX - 1 && trips"),
]

CORE_H = [
    Mutant(
        "writers-wait-for-pauses",
        "		ioband_core_end_pauses(core, now_ns);\n",
        "		;\n",
    ),
]

STALL_H = [Mutant("hangs-for-good", "	stall_dev->hangs = false;\n", "")]

BELOW_H = [Mutant("always-beyond", "ioband_tree_counted_ios(core) > core->limit_ios", "true")]

LIVE = [
    Mutant(
        "most-served-first", "if (vtime_before(ent->vtime, rb", "if (!vtime_before(ent->vtime, rb"
    ),
    Mutant("out-of-order", "if (!next || !vtime_before(", "if (next || !vtime_before("),
    Mutant("idle-ones-live", "if (live && !kinds) {", "if (false) {"),
    Mutant(
        "kinds-for-ever",
        "if (live && kinds)\n		ioband_live_update(ent);",
        "if (live && kinds)\n		;",
    ),
    Mutant("most-is-least", "vtime_before(bypass_vtime, span", "vtime_before(-bypass_vtime, -span"),
    Mutant("right-is-left-out", "	span_add_subtree(&span, ent->rb.rb_right);\n", ""),
    Mutant("sums-of-one", "	live_sums_propagate(above, NULL);\n", ""),
    Mutant("beside-itself", "if (!except || !ent_is_live(except)) {", "if (true) {"),
    Mutant("all-are-wanted", "ent->kinds & kinds && (!until", "ent->kinds && (!until"),
]

MATH_H = [
    Mutant("no-wrap", "return (s64)(a - b) < 0", "return a < b"),
]

TREE_H = [
    Mutant(
        "still-waiting", "dirs ? IOBAND_LEAF_BACKLOGGED :\n", "false ? IOBAND_LEAF_BACKLOGGED :\n"
    ),
    Mutant(
        "withdrawn-idle",
        "leaf->inflight ? IOBAND_LEAF_INFLIGHT : IOBAND_LEAF_IDLE",
        "IOBAND_LEAF_IDLE",
    ),
    Mutant("streams-share-bytes", "(core->charge_time || node->streams)", "core->charge_time"),
]

BUCKET = [
    Mutant("half-a-second", "/* all of it is now */", "\n	used_ns *= 2;"),
    Mutant("two-seconds", "at_ns + NSEC_PER_SEC : 0", "at_ns + 2 * NSEC_PER_SEC : 0"),
    Mutant("parts-lost", "	trail->used_ns = used_ns;\n", ""),
    Mutant(
        "one-part-at-a-time",
        "	for (; used_ns >= IOBAND_TRAIL_NS; ",
        "	for (int i = 0; i < 1 && used_ns >= IOBAND_TRAIL_NS; i++, ",
    ),
    Mutant("no-bound", "	bucket->next_ns = max(", "	(void)max("),
    Mutant(
        "saves-up",
        "clamp_t(u64, bucket->next_ns, leeway->late_ns",
        "clamp_t(u64, bucket->next_ns, 0",
    ),
    Mutant("rests-lost", "leeway->second_ns + bucket->rest,", "leeway->second_ns,"),
    Mutant("far-ahead", "leeway->late_ns, leeway->early_ns)", "leeway->late_ns, U64_MAX)"),
    Mutant("no-most", "min(next_ns, leeway->most_ns)", "next_ns"),
    Mutant("pieces-count", "bill->ios, leeway", "1, leeway"),
    Mutant("waits-on", "	if (rate != bucket->rate)\n", "	if (!bucket->rate)\n"),
    Mutant("begins-anew", "	if (rate != bucket->rate)\n", ""),
]

MIN = [
    Mutant(
        "own-in-another-way",
        " &&\n		    leaf->ent.waiting & min_due_dirs(claim->min, U64_MAX - 1))",
        ")",
    ),
    Mutant(
        "past-a-maximum", " & ent_open_above(core, claim->min->ent);\n	return", ";\n	return"
    ),
    Mutant("own-is-another", "if (ent->min == claim->min &&", "if (false &&"),
    Mutant(
        "taken-away-and-due",
        "	ent->min = NULL;\n	ioband_min_gate(ent);\n",
        "	ent->min = NULL;\n",
    ),
    Mutant(
        "blocked-and-claimed", "if (!(ent_open(ent) & ioband_tree_dir_mask(dir)))", "if (false)"
    ),
    Mutant("own-comes-first", "(!claim.min || claim_before(below, &claim))", "!claim.min"),
    Mutant(
        "claims-of-one-level", "changed |= ent_update_claim", "changed = false & ent_update_claim"
    ),
    Mutant(
        "latest-claim-first",
        "return a->due_ns < b->due_ns ||",
        "return a->due_ns > b->due_ns ||",
    ),
    Mutant(
        "wanted-by-nobody",
        "dirs & (ent_shown(minimum->ent) ?: ioband_tree_dir_mask(minimum->dir))",
        "dirs",
    ),
    Mutant(
        "alone-in-another-way",
        "(core->min_ent->waiting & core->min_ent_dirs))",
        "core->min_ent->waiting)",
    ),
    Mutant(
        "alone-until-it-is-had",
        "core->root.ent.waiting == (core->min_ent->waiting & core->min_ent_dirs))",
        "false)",
    ),
    Mutant(
        "rest-goes-by-weight-never", "left_ns = min_slice_until_ns(core);", "left_ns = U64_MAX;"
    ),
    Mutant(
        "rest-is-never-had",
        "return min(left_ns, ioband_mul_div(due_ns, took_ns, moved_ns - took_ns));",
        "return left_ns;",
    ),
    Mutant("no-margin", "NSEC_PER_SEC - NSEC_PER_SEC / IOBAND_MIN_MARGIN", "NSEC_PER_SEC"),
    Mutant("latest-first", "rb_to_min(a)->due_ns < rb_to_min", "rb_to_min(a)->due_ns > rb_to_min"),
    Mutant("ios-alone", "bytes->rate ? bytes->next_ns : U64_MAX", "U64_MAX"),
    Mutant("bytes-alone", "ios->rate ? ios->next_ns : U64_MAX", "U64_MAX"),
    Mutant("ways-mixed", "		if (dir_due_ns(minimum, dir) <= now_ns)\n", ""),
    Mutant("gone-and-due", "(minimum->inflight || minimum->ent->anticipated)", "true"),
    Mutant("held-back-and-due", "(!minimum->ent->waiting && ", "("),
    Mutant(
        "in-flight-and-due",
        "const bool queued = ent_shown(minimum->ent);",
        "const bool queued = true;",
    ),
    Mutant(
        "away-is-late",
        "		bucket_forgive(&minimum->buckets.bytes[dir]",
        "		if (false)\n			bucket_forgive(&minimum->buckets.bytes[dir]",
    ),
    Mutant("never-back", "	minimum->inflight += ios;\n", ""),
    Mutant("way-forgotten", "	minimum->dir = bill->dir;\n", ""),
    Mutant(
        "never-late",
        ".late_ns = now_ns - min_t(u64, now_ns, IOBAND_MIN_WINDOW_NS)",
        ".late_ns = U64_MAX",
    ),
    Mutant("one-starves", "			top = &ent->parent->ent;", "			;"),
    Mutant(
        "searches-on",
        "	core->late |= tries;\n	core->min_tries += tries - minimum->tries;\n",
        "",
    ),
    Mutant("not-later", "late_part(core, late_ns, IOBAND_MIN_WIDER)", "0"),
    Mutant("no-room", "	*limit -= min(late_part(", "	*limit -= 0 * min(late_part("),
    Mutant(
        "on-one-pipe",
        "	if (likely(!core->stuck_ios))\n		*ios -= min(*ios, core->min_ios);\n",
        "",
    ),
    Mutant("stuck-is-late", "core->stuck_ios || core->limit_ios == U32_MAX", "false"),
    Mutant("stall-is-late", "core->stalled || core->stuck_ios", "core->stuck_ios"),
    Mutant("turn-for-ever", " >= now_ns + core->slice_ns / 2 ||", " == 0 ||"),
    Mutant(
        "turn-goes-on", "		ioband_tree_set_holder(core, core->min_ent, false);", "		;"
    ),
    Mutant("idle-in-service", "ent->parent->serving != ent || (", "("),
    Mutant("taken-away-and-kept", "core->min_ent && core->min == minimum", "false"),
]

IDLE = [
    Mutant(
        "never-yields",
        "(node_has_usual(core, node) || full)",
        "(node_has_usual(core, node) && false)",
    ),
    Mutant("yields-to-the-queued-only", "(node->ent.ready != node->idle_ready", "(false"),
    Mutant("as-much-as-fits", "(node_has_usual(core, node) || full)", "node_has_usual(core, node)"),
    Mutant("starved-by-many", "!core->slice_ns && node->usual_ios", "false && node->usual_ios"),
    Mutant("starved-by-slow-ones", ">= node->idle_ns + ", ">= node->idle_ns + 60 * "),
    Mutant("due-for-ever", "			node->idle_due = false;\n", ""),
    Mutant("in-flight-for-ever", "node->idle_inflight -= !!node->idle_inflight;", ";"),
]

LATENCY = [
    Mutant("ahead-of-all", "return vtime_before(other->vtime, ent->vtime);", "return true;"),
    Mutant("never-ahead", "return vtime_before(other->vtime, ent->vtime);", "return false;"),
    Mutant(
        "stale-looks", "			round->looked = known;", "			round->looked = true;"
    ),
    Mutant(
        "one-look-a-round",
        "for (u32 some = IOBAND_LOOK_TARGETS; some && round->left; some--)",
        "for (; round->left;)",
    ),
    Mutant("held-for-itself", "&& ent_is_below(&leaf->ent, worst->ent)", "&& false"),
    Mutant("late-and-charged", "	if (throttle_is_for(core, leaf) ||\n", "	if (\n"),
    Mutant(
        "reads-charged",
        "(throttle_is_for_pool(core) && bill->dir == IOBAND_DIR_READ)",
        "false",
    ),
    Mutant("no-debts", "	ioband_bucket_charge(&throttle->bucket, bytes, &leeway);\n", ""),
    Mutant("always-on", " || throttle->bucket.next_ns <= now_ns ||\n	    ", " || "),
    Mutant(
        "pool-holds-all",
        "		return ioband_tree_dir_mask(IOBAND_DIR_WRITE);",
        "		return U64_MAX;",
    ),
    Mutant("maximum-is-late", "	if (latency_is_own(latency))\n", "	if (false)\n"),
    Mutant("above-a-maximum-too", " || ioband_max_is_for(ent->max, dir))", ")"),
    Mutant(
        "reads-wait",
        "leaf = ioband_tree_leaf_below(&core->root.ent, reads, true, ios, limit);",
        "leaf = NULL;",
    ),
    Mutant(
        "reads-are-owed", "\n	core->bypass_leaf = leaf;\n	return leaf;", "\n	return leaf;"
    ),
    Mutant("no-turn-for-the-late", "leaf = core->slice_ns ?\n", "leaf = false ?\n"),
    Mutant(
        "writes-go-by",
        "&core->root.ent, reads, true",
        "&core->root.ent, U64_MAX, true",
    ),
    Mutant("own-only", "		ent = &ent->parent->ent;\n	}\n}", "		break;\n	}\n}"),
    Mutant("promised-and-held", "core->min_ent ? 0 : throttle_dirs", "throttle_dirs"),
    Mutant(
        "never-woken",
        "min(core->throttle.bucket.next_ns, ioband_tree_grace_ends(core));",
        "ioband_tree_grace_ends(core);",
    ),
    Mutant(
        "owed-with-slices",
        "if (goes_on || (core->slice_ns && core->throttle_dirs))",
        "if (goes_on && !core->slice_ns)",
    ),
    Mutant(
        "minimum-is-late",
        "wake_ns = min(wake_ns, ioband_min_wake_ns(core, now_ns));",
        "wake_ns = min(wake_ns, ioband_min_wake_ns(core, IOBAND_NO_WAKEUP));",
    ),
    Mutant(
        "on-its-way-and-gone",
        "if (latency->inflight ||",
        "if (false ||",
    ),
    Mutant(
        "never-back",
        "			ent->latency[bill->dir]->inflight--;\n",
        "			continue;\n",
    ),
    Mutant("no-time-to-see", " || ns < 2 * mean_ns)", ")"),
    Mutant("few-reads-for-ever", " && ns < IOBAND_LOOK_NS)", ")"),
    Mutant(
        "gone-and-late",
        "	if (!worst) {\n		if (throttle->worst)",
        "	if (!worst) {\n		if (false)",
    ),
    Mutant("summed-for-ever", "	latency->sum_ns = 0;\n	latency->ios = 0;\n", ""),
    Mutant("best-is-worst", " >\n	       other->mean_ns;", " < other->mean_ns;"),
    Mutant(
        "for-the-first",
        "	throttle->worst = worst;\n",
        "	throttle->worst = throttle->worst ?: worst;\n",
    ),
    Mutant(
        "begins-with-all", "if (throttle->bucket.rate || worst == throttle->worst)", "if (true)"
    ),
    Mutant("idle-and-held", "mean_ns <= target_ns || rate < least)", "mean_ns <= target_ns)"),
    Mutant("hung-for-ever", "2 * latency->target_ns + IOBAND_MEAN_MAX_NS", "U64_MAX"),
    Mutant("no-part", "max(late_rate, core->throttle.first_rate)", "late_rate"),
    Mutant(
        "depth-is-found",
        "	core->late = true;\n	leaf = core->slice_ns",
        "	leaf = core->slice_ns",
    ),
    Mutant(
        "depth-is-found-by-reads",
        "	core->late = true;\n	leaf = ioband_tree_leaf_below(&core->root.ent, reads",
        "	leaf = ioband_tree_leaf_below(&core->root.ent, reads",
    ),
    Mutant("slower-for-ever", "		bucket->rate += ioband_mul", "		(void)ioband_mul"),
    Mutant("never-slower", "		bucket->rate -= ioband_mul", "		(void)ioband_mul"),
    Mutant("writes-starve", "max(bucket->rate, max(rate / 2, least))", "bucket->rate"),
    Mutant("never-ends", "	    rate < throttle->bucket.rate / 2) {", "	    false) {"),
    Mutant("taken-away-and-late", "	if (core->throttle.worst == latency)\n", "	if (false)\n"),
]

MAX = [
    Mutant(
        "one-is-let-go",
        "for (u32 some = IOBAND_CHUNK; some && (first",
        "for (u32 some = 1; some && (first",
    ),
    Mutant("never-let-go", "if (rb_to_max(first)->until_ns > now_ns)", "if (true)"),
    Mutant(
        "all-blocks-at-once",
        "some && (first = rb_first_cached(&core->blocked))",
        "(first = rb_first_cached(&core->blocked))",
    ),
    Mutant(
        "debts-free",
        "	ioband_bucket_charge_bill(",
        "	if (in_turn)\n		ioband_bucket_charge_bill(",
    ),
    Mutant("debts-unbounded", "in_turn ? U64_MAX : now_ns + IOBAND_MAX_DEBT_NS", "U64_MAX"),
    Mutant("no-slack", "u64 late_ns = core->slack_ns;", "u64 late_ns = 0;"),
    Mutant("bytes-only", "max(bytes_ns, ios_ns)", "bytes_ns"),
    Mutant("ios-only", "max(bytes_ns, ios_ns)", "ios_ns"),
    Mutant(
        "no-turn-is-made-good",
        "	if (core->slice_ns && maximum->waits_ns",
        "	if (false && maximum->waits_ns",
    ),
    Mutant("stutters", "	max_unblock(maximum, maximum->blocked & ~blocked, now_ns);\n", ""),
    Mutant("pauses-are-made-good", "		if (!maximum->ent->busy)\n", "		if (false)\n"),
    Mutant("no-trail-of-bytes", "ioband_bucket_trail_until_ns(&maximum->bytes[dir])", "0ULL"),
    Mutant("no-trail-of-ios", "ioband_bucket_trail_until_ns(&maximum->ios[dir])", "0ULL"),
    Mutant(
        "another-rate-and-trail",
        "		maximum->bytes[dir] = (struct ioband_trail) {};\n",
        "",
    ),
    Mutant("far-is-near", "now_ns + IOBAND_MAX_DEBT_NS / 2)", "now_ns + IOBAND_MAX_DEBT_NS / 4)"),
    Mutant("near-is-far", "now_ns + IOBAND_MAX_DEBT_NS / 2)", "now_ns + IOBAND_MAX_DEBT_NS)"),
    Mutant("pieces-held-up", "maximum->begun[bill->dir] = bill->more;", ""),
    Mutant(
        "begun-for-ever",
        "maximum->begun[bill->dir] = bill->more;",
        "maximum->begun[bill->dir] = true;",
    ),
    Mutant("all-ways", "blocked |= ioband_tree_dir_mask(dir);", "blocked = U64_MAX;"),
    Mutant("last-way-first", "until_ns = min(until_ns, dir_until_ns);", "until_ns = dir_until_ns;"),
    Mutant(
        "not-shown-again",
        "	if (blocked != maximum->blocked) {\n",
        "	if (blocked > maximum->blocked) {\n",
    ),
    Mutant("blocks-at-its-end", "if (dir_until_ns <= now_ns)", "if (dir_until_ns < now_ns)"),
    Mutant(
        "gone-and-blocked",
        "	if (maximum->blocked)\n		ioband_tree_block(core, ent, 0);",
        "",
    ),
    Mutant(
        "gone-and-queued",
        "	tree_dequeue(&maximum->rb, &core->blocked);\n	if (maximum->blocked)",
        "	if (maximum->blocked)",
    ),
]

DEPTH = [
    Mutant("wants-too-much", "(1024 * 2 / 100)", "(1024 * 60 / 100)"),
    Mutant("narrows-without-effect", "if (depth->round.no_effect && ", "if (false && "),
    Mutant("wants-nothing", "s64 wanted = gain_wanted(depth->try, trial)", "s64 wanted = -100"),
    Mutant(
        "winner-swapped",
        "gain->sum > trial->pairs * wanted",
        "gain->sum < trial->pairs * wanted",
    ),
    Mutant(
        "light-load-waits", "if (depth->stopped && depth->light_ns", "if (false && depth->light_ns"
    ),
    Mutant(
        "pause-is-over", "	depth->stopped = true;\n", "	depth_move(depth, depth->chosen);\n"
    ),
    Mutant("never-rests", "depth->phase_ns >= depth->pause_ns", "true"),
    Mutant("never-looks-again", "depth->phase_ns >= depth->pause_ns", "!depth->found"),
    Mutant("never-grows", "ios + (ios + 1) / 2", "ios"),
    Mutant("never-shrinks", "(try_is_up(depth->try) ? HI_WINS : LO_WINS)", "HI_WINS + 0 * verdict"),
    Mutant("grows-without-bound", "min_t(u32, ios + (ios + 1) / 2, IOBAND_DEPTH_MAX)", "ios * 2"),
    Mutant("never-cuts", "smaller = split_below(", "smaller = 0 * split_below("),
    Mutant("cuts-for-ever", "limit.split_bytes *= 2;", ";"),
    Mutant("cuts-to-nothing", "split >= bytes && split > IOBAND_SPLIT_MIN", "split >= bytes"),
    Mutant("never-pressed", "round->held_ns >= round->ns / IOBAND_PRESSED_PART", "false"),
    Mutant(
        "one-yard",
        "gain = best + 1; gain < trial->gains + IOBAND_NR_UNITS",
        "gain = best + 1; false",
    ),
    Mutant(
        "bytes-for-all",
        "(unit == IOBAND_UNIT_BYTES ? 0 : ios);",
        "(unit == IOBAND_UNIT_BYTES ? 0 : unit == IOBAND_UNIT_IOS ? round->bytes : ios);",
    ),
    Mutant("never-contested", "return won && lost;", "return false;"),
    Mutant("worst-yard", "< gain_spread(best,", "> gain_spread(best,"),
    Mutant("to-and-fro", " || (depth->io_raised && cost < old)", ""),
    Mutant("always-full", "depth->full = round->held_ns", "depth->full = round->ns"),
]

ARGS = [
    Mutant("any-characters", 'word[strspn(word, "0123456789")] || ', ""),
    Mutant("no-minimum", "parsed < min || ", ""),
    Mutant("no-maximum", " || parsed > max", ""),
    Mutant("below-maximum", "parsed > max", "parsed >= max"),
    Mutant("sectors-without-end", "((u64)S64_MAX >> 9)", "((u64)S64_MAX >> 8)"),
    Mutant("large-majors", "((1U << 12) - 1)", "(1U << 12)"),
    Mutant("large-minors", "((1U << 20) - 1)", "(1U << 20)"),
    Mutant("mode-lost", "settings->mode = mode;", ""),
    Mutant("weight-of-zero", "parse_u32(word, IOBAND_WEIGHT_MIN,", "parse_u32(word, 0,"),
    Mutant("idle-of-no-weight", "*weight = IOBAND_WEIGHT_IDLE;", ""),
    Mutant("measure-lost", "settings->measure = measure;", ""),
    Mutant(
        "depth-of-zero",
        "parse_u32(digits, 1, IOBAND_DEPTH_MAX",
        "parse_u32(digits, 0, IOBAND_DEPTH_MAX",
    ),
    Mutant("pieces-of-any-size", "*split_bytes & (*split_bytes - 1)", "false"),
    Mutant("pieces-lost", "IOBAND_SPLIT_MAX, split_bytes)", "IOBAND_SPLIT_MAX, ios)"),
    Mutant(
        "slice-lost",
        "value, 0, IOBAND_SLICE_MAX_MS, &settings->slice_ms",
        "value, 0, IOBAND_SLICE_MAX_MS, &(u32){ 0 }",
    ),
    Mutant("slice-of-one", "value, 0, IOBAND_SLICE_MAX_MS", "value, 1, IOBAND_SLICE_MAX_MS"),
    Mutant("long-slice", "value, 0, IOBAND_SLICE_MAX_MS", "value, 0, 10 * IOBAND_SLICE_MAX_MS"),
    Mutant(
        "starved-lost",
        "IOBAND_WRITES_STARVED_MAX, &settings->writes_starved",
        "IOBAND_WRITES_STARVED_MAX, &(u32){ 0 }",
    ),
    Mutant(
        "starved-by-none",
        "value, 1, IOBAND_WRITES_STARVED_MAX",
        "value, 0, IOBAND_WRITES_STARVED_MAX",
    ),
    Mutant(
        "starved-for-ever",
        "value, 1, IOBAND_WRITES_STARVED_MAX",
        "value, 1, 10 * IOBAND_WRITES_STARVED_MAX",
    ),
    Mutant("no-auto", 'strcmp(value, "auto") ?', "true ?"),
    Mutant("keys-begun", "equals == word + len && ", ""),
    Mutant("twice", "if (settings->given & (1U << key))", "if (false)"),
    Mutant("not-noted", "settings->given |= 1U << key;", ""),
    Mutant(
        "no-device-cgroup",
        "mode == IOBAND_MODE_DEVICE || mode == IOBAND_MODE_DEVICE_CGROUP",
        "mode == IOBAND_MODE_DEVICE",
    ),
    Mutant("fewer-names", '"_.:+-"', '"_.:-"'),
    Mutant("any-name", "if (!word && !strchr(others, c))", "if (false)"),
    Mutant("no-name", "i >= 1 && ", ""),
    Mutant("long-name", "i <= IOBAND_POOL_NAME_MAX &&", "i <= IOBAND_POOL_NAME_MAX + 1 &&"),
    Mutant("option-as-name", " && name[0] != '-'", ""),
    Mutant("count-unread", "if (argc > 3 && nr != argc - 4)", "if (false)"),
    Mutant("first-word-only", "i = 4; i < argc; i++", "i = 4; i < argc && i < 5; i++"),
    Mutant(
        "weight-for-all", "	    !mode_has_device_group(table->settings.mode))", "	    false)"
    ),
    Mutant("no-default-weight", "table->settings.weight = IOBAND_WEIGHT_DEFAULT;", ";"),
    Mutant("colon-lost", "	*colon = ':';\n", ""),
    Mutant("device-number-mixed", "(u64)maj << 20 | min", "(u64)min << 20 | maj"),
    Mutant("cgroup-0", "parse_u64(rest + 1, 1, U64_MAX,", "parse_u64(rest + 1, 0, U64_MAX,"),
    Mutant("relative-path", " || rest[1] != '/'", ""),
    Mutant("preset-as-sent", "message->preset = true;", ""),
    Mutant(
        "preset-of-any-verb",
        "IOBAND_MSG_WRITE_LATENCY_TARGET + 1, argc",
        "ARRAY_SIZE(verbs), argc",
    ),
    Mutant("preset-of-the-gone", "!message->spec.path || !path_is", "!path_is"),
    Mutant("preset-path-of-any-length", "strlen(path) >= PATH_MAX", "strlen(path) > PATH_MAX"),
    Mutant("preset-in-two-lines", " || strchr(path, '\\n')", ""),
    Mutant("preset-names-of-any-length", " || len > NAME_MAX", ""),
    Mutant("preset-above", ' || (len <= 2 && !strncmp(path, "..", len))', ""),
    Mutant("path-with-colon", "spec->path = rest + 1;", "spec->path = rest;"),
    Mutant(
        "nobody", '{ "uid:", IOBAND_KIND_UID, U32_MAX - 1 }', '{ "uid:", IOBAND_KIND_UID, U32_MAX }'
    ),
    Mutant("uid-for-gid", '{ "gid:", IOBAND_KIND_GID,', '{ "gid:", IOBAND_KIND_UID,'),
    Mutant(
        "large-pids", '{ "pid:", IOBAND_KIND_PID, S32_MAX }', '{ "pid:", IOBAND_KIND_PID, U32_MAX }'
    ),
    Mutant("not-itself", "spec->self = true;", ""),
    Mutant("roots", 'if (!strcmp(word, "root"))', 'if (!strncmp(word, "root", 4))'),
    Mutant("no-default", 'if (!strcmp(argv[2], "default"))', "if (false)"),
    Mutant(
        "weight-count",
        'if (argc != 3)\n		return fail(error, "weight:',
        'if (argc < 3)\n		return fail(error, "weight:',
    ),
    Mutant(
        "max-count",
        '	if (argc < 3)\n		return fail(error,\n			    "%s: %u words',
        '	if (argc < 2)\n		return fail(error,\n			    "%s: %u words',
    ),
    Mutant(
        "max-of-zero",
        "parse_u64(equals + 1, 1, IOBAND_RATE_MAX",
        "parse_u64(equals + 1, 0, IOBAND_RATE_MAX",
    ),
    Mutant(
        "max-twice",
        "if (message->rates_given & (1U << i))\n		return",
        "if (false)\n		return",
    ),
    Mutant(
        "rates-mixed",
        "&rates->bytes[i] : &rates->ios[i - IOBAND_NR_DIRS]",
        "&rates->ios[i] : &rates->bytes[i - IOBAND_NR_DIRS]",
    ),
    Mutant(
        "all-rates-given",
        "		if (message->rates_given & (1U << i))\n			*rate_of",
        "			*rate_of",
    ),
    Mutant("rate-keys-begun", "if (equals == word + strlen(rate_names[i]) &&", "if ("),
    Mutant(
        "default-is-nothing",
        "message->rates_given = (1U << IOBAND_NR_RATES) - 1",
        "message->rates_given = 0",
    ),
    Mutant("set-count", "if (argc != 2)", "if (argc < 2)"),
    Mutant("set-weight", 'if (!strncmp(argv[1], "weight=", 7))', "if (false)"),
    Mutant("page-count", "if (argc > 2)", "if (argc > 3)"),
    Mutant(
        "cursor-unread", "if (argc == 2 && parse_u32(argv[1],", "if (false && parse_u32(argv[1],"
    ),
    Mutant("verb-lost", "message->verb = verb;", ""),
    Mutant("page-verbs-mixed", '{ "groups"', '{ "stats"'),
    Mutant(
        "sentence-cut",
        "ioband_args_fail(error, -EINVAL, __VA_ARGS__)",
        "(snprintf((error)->text, 100, __VA_ARGS__), -EINVAL)",
    ),
]
