# SPDX-License-Identifier: GPL-2.0-only
"""Deliberate mistakes in the scheduler and the parser, each of which a test must notice."""

from typing import NamedTuple


class Mutant(NamedTuple):
    """A mistake: its name, and the one place in a source file that it changes."""

    name: str
    old: str
    new: str


CORE = [
    Mutant(
        "passing-by-weight", "open, core_passes(core), ios, limit);", "open, false, ios, limit);"
    ),
    Mutant(
        "passed-over-saves",
        "while (leaf && ioband_ent_catch_up(&leaf->ent, ioband_pause_lag(core, leaf, now_ns)));",
        "while (false);",
    ),
    Mutant("late-is-in-time", "gap <= IOBAND_PAUSE_WAIT_NS && ", ""),
    Mutant("in-time-is-late", "gap <= IOBAND_PAUSE_WAIT_NS && ", "false && "),
    Mutant(
        "writers-wait-for-pauses",
        "		core_end_pauses(core, now_ns);\n}",
        "		;\n}",
    ),
    Mutant("urgent-makes-a-reader", "	if (in_turn)\n		leaf->async", "		leaf->async"),
    Mutant(
        "who-thinks-ends-with-pauses", "		if (!leaf->awaited)\n			continue;\n", ""
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
    Mutant("not-woken-for-a-maximum", "*wake_ns = min(*wake_ns, ioband_cap_wake_ns(core));", ";"),
    Mutant(
        "bounded-as-a-leaf",
        "ioband_cap_charge(core, ent->cap, bill, in_turn, now_ns);",
        "{ ioband_cap_charge(core, ent->cap, bill, in_turn, now_ns); break; }",
    ),
    Mutant("promised-uncounted", "core->promised_ios += ioband_leaf_is_promised(leaf);", ""),
    Mutant(
        "promised-for-ever",
        "core->promised_ios -= ioband_leaf_is_promised(leaf);",
        "core->promised_ios -= 0;",
    ),
    Mutant("always-weighed", "weighed &= ent != core->promised;", ""),
    Mutant("never-weighed", "			ent->parent->weighed_ns = now_ns;", "			;"),
    Mutant("past-the-pipe", "|| ioband_floor_has_room(core, leaf) ?", "|| leaf ?"),
    Mutant("limit-of-nothing", "max(ios, 1U)", "ios"),
    Mutant("time-to-think-of-last", "(leaf->think_ns * 4 + gap) / 5", "gap"),
    Mutant("pauses-count", "gap = min(gap, IOBAND_THINK_CAP * core_patience(core));", ""),
    Mutant("first-gap-counts", "leaf->done_ns > core->told_ns", "true"),
    Mutant("untold-gaps-count", "leaf->done_ns > core->told_ns", "leaf->done_ns"),
    Mutant("a-pause-costs-turns", "IOBAND_THINK_CAP	4", "IOBAND_THINK_CAP	10"),
    Mutant("waits-on-fast-devices", "return core->slice_ns ? IOB", "return true ? IOB"),
    Mutant("thinks-while-busy", "if (!leaf->inflight)", "if (true)"),
    Mutant("grace-past-its-end", "if (leaf->think_until_ns > now_ns)", "if (true)"),
    Mutant("grace-at-its-end", "leaf->think_until_ns > now_ns", "leaf->think_until_ns >= now_ns"),
    Mutant(
        "removed-thinker-stays",
        "	ioband_leaf_set_state(core, leaf, IOBAND_IDLE, 0);\n	if (core->writer",
        "	if (core->writer",
    ),
    Mutant(
        "no-catch-up-on-arrival",
        "leaf_arrive(core, leaf, now_ns);\n		if (core->slice_ns && way",
        "if (core->slice_ns && way",
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
        "*wake_ns = ioband_core_grace_ends(core);\n		return NULL",
        "return NULL",
    ),
    Mutant(
        "debts-forgiven",
        "core_launch(core, leaf, bill, false, now_ns)",
        "core_launch(core, leaf, bill, true, now_ns)",
    ),
    Mutant("bytes-charged", "leaf, bill->charge, false", "leaf, bill->bytes, false"),
    Mutant("flight-not-counted", "core->inflight_ios++;", ""),
    Mutant("flight-bytes-not-counted", "core->inflight_bytes += bill->bytes;", ""),
    Mutant("leaf-flight-not-counted", "	leaf->inflight++;\n", ""),
    Mutant(
        "still-waiting", "ways ? IOBAND_WAITING : IOBAND_INFLIGHT, ways", "IOBAND_INFLIGHT, ways"
    ),
    Mutant(
        "urgent-not-expired",
        "	core_expire(core, now_ns);\n	if (leaf->state != IOBAND_WAITING) {",
        "	if (leaf->state != IOBAND_WAITING) {",
    ),
    Mutant(
        "urgent-ends-waiting",
        "	if (leaf->state != IOBAND_WAITING) {\n		leaf_arrive",
        "	{\n		leaf_arrive",
    ),
    Mutant("withdrawn-idle", "leaf->inflight ? IOBAND_INFLIGHT : IOBAND_IDLE", "IOBAND_IDLE"),
    Mutant("completed-stays", "core->inflight_ios--;", ""),
    Mutant("completed-bytes-stay", "core->inflight_bytes -= bill->bytes;", ""),
    Mutant("completed-time-lost", "leaf->done_ns = now_ns;", ""),
    Mutant(
        "thinks-too-soon",
        "!leaf->inflight && leaf->state == IOBAND_INFLIGHT",
        "leaf->state == IOBAND_INFLIGHT",
    ),
    Mutant(
        "thinks-with-bios", "!leaf->inflight && leaf->state == IOBAND_INFLIGHT", "!leaf->inflight"
    ),
    Mutant("waits-for-the-slow", "leaf->think_ns > core_patience(core)", "false"),
    Mutant("no-grace", "2 * leaf->think_ns + IOBAND_GRACE_MIN_NS", "leaf->think_ns / 2"),
    Mutant("writer-not-forgotten", "if (core->writer == leaf)\n		core->writer = NULL;", ""),
]

TREE = [
    Mutant("by-weight-below", "below ? PASSING : turn", "turn"),
    Mutant(
        "by-weight-for-nothing", "(turn == WEIGHED && core->slice_ns && core->promising)", "false"
    ),
    Mutant(
        "any-passes",
        "vtime_before(ent_past(ent), ent_past(least)))\n			least",
        "true)\n			least",
    ),
    Mutant("passers-stay", "	node->past = ent_past(least);", "	;"),
    Mutant(
        "thinks-beside",
        "vtime_before(ent_past(ent), ent_past(least)))\n			*ios",
        "false)\n			*ios",
    ),
    Mutant(
        "past-without-weight", "ent->past = ent_past(ent) + advance;", "ent->past = ent_past(ent);"
    ),
    Mutant(
        "past-by-the-old-weight",
        "(ent_past(ent) - ent->parent->past) * ent->weight, weight);",
        "ent_past(ent) - ent->parent->past, 1);",
    ),
    Mutant("blocked-reads-seen", "waiting -= (s32)waiting;", ";"),
    Mutant("blocked-writes-seen", "waiting = (s32)waiting;", ";"),
    Mutant(
        "blocked-unseen-above",
        "ent_count(core, &ent->parent->ent, ent_shown(ent) - before, 0, 0);",
        "",
    ),
    Mutant(
        "blocked-stays-live",
        "	ent_update_live(ent);\n	if (ent->floor)\n",
        "	if (ent->floor)\n",
    ),
    Mutant(
        "pause-leaves-the-pipe", "		if (unlikely(ent->pausing))\n			break;\n", ""
    ),
    Mutant(
        "pausing-for-good", "	core->pausing += pausing;", "	core->pausing += pausing > 0;"
    ),
    Mutant("pausing-below-only", "		ent->pausing += pausing;", "		;"),
    Mutant("blocked-ways-may", "	return leaf->ways & (", "	return leaf->ways | 0 * ("),
    Mutant(
        "below-a-block", "		open &= ent_open(ent);\n	}\n	return", "	}\n	return"
    ),
    Mutant(
        "promised-leads-far",
        "max(IOBAND_LAG_MAX, (u64)charge)",
        "IOBAND_DEBT_MAX",
    ),
    Mutant("node-follows-the-promised", "core->slice_ns || turn != WEIGHED", "core->slice_ns"),
    Mutant(
        "promised-not-found",
        "			core->hooks->floor_changed(core, ent->floor);",
        "			;",
    ),
    Mutant("unpromised-ways-may", "		open &= core->promised_ways;", ""),
    Mutant("weights-ignored", "div_u64(1ULL << IOBAND_PACE_SHIFT, weight)", "1ULL << 25"),
    Mutant(
        "most-served-first",
        "return vtime_before(rb_to_ent(a)->vtime, rb_to_ent(b)->vtime)",
        "return vtime_before(rb_to_ent(b)->vtime, rb_to_ent(a)->vtime)",
    ),
    Mutant("out-of-order", "if (!next || !vtime_before(", "if (next || !vtime_before("),
    Mutant("served-from-zero", ".vtime = parent ? parent->vnow : 0", ".vtime = 0"),
    Mutant("lag-not-allowed", "ent->busy ? IOBAND_LAG_MAX : 0", "0ULL"),
    Mutant("idling-earns", "ent->busy ? IOBAND_LAG_MAX : 0", "1ULL << 40"),
    Mutant("no-catch-up", "if (lag <= lag_max || lag >=", "if (true || lag <= lag_max || lag >="),
    Mutant("leads-forgotten", "if (lag <= lag_max || lag >=", "if (lag <= lag_max && lag >="),
    Mutant("round-trip-starves", "lag >= -2 * ent_vtime_of(ent, U32_MAX)", "(s64)lag <= 0"),
    Mutant("weight-keeps-lead", "div_s64(lead * ent->weight, weight)", "lead"),
    Mutant("weight-keeps-turn", "div_u64(ent->turn * ent->weight, weight)", "0"),
    Mutant("weight-stays", "	ent_weigh(ent, weight);\n	if (live)", "	if (live)"),
    Mutant(
        "weight-loses-place",
        "	ent_weigh(ent, weight);\n	if (live)",
        "	ent_weigh(ent, weight);\n	if (!live)",
    ),
    Mutant("waiting-not-counted", "ent->waiting += waiting;", ""),
    Mutant("thinking-not-counted", "ent->thinking += thinking;", ""),
    Mutant("busy-not-counted", "ent->busy += busy;", ""),
    Mutant("counted-in-leaf-only", "if (!ent->parent)\n			break;", "break;"),
    Mutant(
        "thinkers-not-live",
        "live = ent_shown(ent) || ent->thinking;",
        "live = ent_shown(ent);",
    ),
    Mutant(
        "idle-ones-live",
        "else if (ent_is_live(ent) && !live)",
        "else if (false)",
    ),
    Mutant("graces-out-of-order", "think_until_ns <\n", "think_until_ns >\n"),
    Mutant(
        "thinkers-take-no-place",
        "!ent->floor)\n			*ios += ent->thinking;",
        "!ent->floor)\n			;",
    ),
    Mutant("endless-search", "if (*ios >= limit)\n			break;", ""),
    Mutant(
        "node-stays-behind",
        "	if (alone) {\n		node->vnow = vtime_max(node->vnow, ent->vtime);",
        "	if (alone) {",
    ),
    Mutant("node-stays-in-turn", "vtime_min(ent->vtime, node->vnow + ent->turn)", "node->vnow"),
    Mutant("debts-end-with-a-turn", "vtime_min(ent->vtime, node->vnow + ent->turn)", "ent->vtime"),
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
        "owes-as-a-leaf-only",
        "			return true;\n	}\n	return false;",
        "			return true;\n		break;\n	}\n	return false;",
    ),
    Mutant("owed-to-nobody", "node->ent.busy == ent->busy", "false"),
    Mutant("always-alone", "node->ent.busy == ent->busy", "true"),
    Mutant("turn-forgotten", "ent->turn = advance;", ""),
    Mutant("turn-alone-forgotten", "if (alone || (turn", "if ((turn"),
    Mutant("not-charged", "u64 vtime = ent->vtime + advance;", "u64 vtime = ent->vtime;"),
    Mutant(
        "charged-in-leaf-only",
        "ent_charge(core, ent, charge, below ? PASSING : turn);",
        "{ ent_charge(core, ent, charge, below ? PASSING : turn); break; }",
    ),
    Mutant("time-and-bytes", "if (node_shares_time(core, ent->parent) == by_time)\n", ""),
    Mutant(
        "node-follows-the-served",
        "if (core->slice_ns || turn != WEIGHED)\n			reach",
        "if (turn != WEIGHED)\n			reach",
    ),
    Mutant(
        "gone-in-service",
        "ent->parent->serving = NULL;\n		ent_update",
        ";\n		ent_update",
    ),
    Mutant(
        "gone-has-the-device",
        "		core->owner = NULL;\n	ent_count",
        "		;\n	ent_count",
    ),
    Mutant(
        "turns-below-are-cut",
        "if (ent_has_device(core, ent) &&",
        "if (false &&",
    ),
    Mutant("carried-on", " &&\n	    (!passing || node->by_past))", ")"),
    Mutant("passed-over-for-ever", " && !(ent->waiting & ~core->promised_ways)", ""),
    Mutant("turns-below-go-on", "	node->serving = NULL;\n}", "}"),
    Mutant(
        "promised-goes-on-below",
        "	ioband_ent_begin_below(core, ent, begin);\n	for",
        "	for",
    ),
]

AHEAD = [
    Mutant("always-in-turn", "if (!node->to_and_fro || ", "if (true || "),
    Mutant("always-to-and-fro", "if (!node->to_and_fro || ", "if ("),
    Mutant("to-and-fro-for-good", "		node->to_and_fro--;\n", ""),
    Mutant("one-pass-only", "		cold = node->cold_turns > 0;\n", "		cold = false;\n"),
    Mutant("always-of-use", "if (4 * node->cold_turns > 3 * runs)", "if (false)"),
    Mutant("never-of-use", "if (4 * node->cold_turns > 3 * runs)", "if (node->cold_turns)"),
    Mutant("of-no-use-for-good", "		node->in_turn--;\n", "		;\n"),
    Mutant("tried-again-at-once", "_ROUNDS	8", "_ROUNDS	0"),
    Mutant(
        "cold-adds-up",
        "		node->to_and_fro = runs;\n	node->cold_turns = 0;",
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
    Mutant("earliest-first", "->turn_ns > latest->turn_ns", "->turn_ns < latest->turn_ns"),
    Mutant("who-was-idle-waits", "!latest->is_run || latest->was_idle", "!latest->is_run"),
]

PAUSE = [
    Mutant("pause-loses", "? IOBAND_PAUSE_LAG : 0;", "? 0 : 0;"),
    Mutant("half-a-pause", "(40ULL << 20)", "(20ULL << 20)"),
    Mutant("pause-for-ever", "now_ns <= leaf->done_ns + IOBAND_PAUSE_NS", "true"),
    Mutant("pause-costs-readers", "leaf->async && core_is_async(core) &&", "leaf->async &&"),
    Mutant("pause-below-a-maximum", " && !leaf_is_capped(leaf);", ";"),
    Mutant(
        "pause-not-awaited",
        "return !core->charge_time && !core->promising",
        "return false",
    ),
    Mutant("pause-paid-for", "!core->charge_time && !core->promising", "!core->promising"),
    Mutant("pause-beside-a-promise", " && !core->promising && leaf_may", " && leaf_may"),
    Mutant("pause-of-who-needs-it-not", "!leaf_is_far_behind(leaf) &&", "true &&"),
    Mutant("pause-of-who-keeps-up", "IOBAND_PAUSE_LAG / 10 * 9", "IOBAND_PAUSE_LAG / 10 * 8"),
    Mutant(
        "idle-for-ever",
        "core->patience_ns <= now_ns + IOBAND_PATIENCE * IOBAND_PAUSE_NS",
        "true",
    ),
    Mutant("idle-beside-what-hangs", "inflight_ios <= core->stuck_ios &&", "inflight_ios == 0 &&"),
    Mutant("idle-once", "IOBAND_PATIENCE * IOBAND_PAUSE_NS", "0"),
    Mutant("idle-alone", "	core->idle_ns = 0;\n", ""),
    Mutant("idle-by-the-wait", "min_t(u64, ns, IOBAND_PAUSE_WAIT_NS)", "IOBAND_PAUSE_WAIT_NS"),
]

SLICE = [
    Mutant(
        "passes-over-who-is-owed",
        "node_hangs(core, node) ||\n	    vtime",
        "node_hangs(core, node) || next != least ||\n	    vtime",
    ),
    Mutant(
        "blocked-in-service", "if (node->serving && node->serving->waiting && !", "if (false && !"
    ),
    Mutant("slice-never-ends", "if (node->served_ns < core_turn_ns(core))\n", "if (true)\n"),
    Mutant("turns-begin-in-a-rest", "return is_rest(core, left_ns) &&", "return false &&"),
    Mutant(
        "turns-begin-in-a-large-rest",
        "left_ns < core_turn_ns(core) / 2",
        "left_ns < core_turn_ns(core) / 7",
    ),
    Mutant("turns-below-never-end", "is_rest(core, left_ns) &&", "left_ns < U64_MAX &&"),
    Mutant("turns-in-that-of-the-next", "min(to->left_ns, node_", "min((u64)U64_MAX, node_"),
    Mutant("turns-of-who-hangs", "->pausing && !core->stuck_ios;", "->pausing;"),
    Mutant("rest-bounds-nothing", " || !is_rest(core, to->left_ns)", ""),
    Mutant("turns-of-who-pauses", "&& !node->serving->pausing &&", "&&"),
    Mutant("hangs-behind", "node_hangs(core, node) ||\n", "false ||\n"),
    Mutant("hangs-for-all", "return core->inflight_ios <= core->stuck_ios ||", "return true ||"),
    Mutant(
        "hangs-with-what-is-urgent",
        "core->now_ns >= core->owner->done_ns + core_turn_ns(core)",
        "false",
    ),
    Mutant(
        "rest-of-a-promise", "to->left_ns = ioband_floor_left_ns(core, now_ns);", "(void)now_ns;"
    ),
    Mutant("by-weight-below", "to->passing = core_passes(core);", "to->passing = false;"),
    Mutant(
        "passers-stay",
        "	if (to->passing)\n		node->past",
        "	if (false)\n		node->past",
    ),
    Mutant("turn-ends-with-the-slice", "node_lag_ns(core, node, next, to->passing));", "(u64)0);"),
    Mutant(
        "bytes-end-with-the-slice",
        "return ioband_mul_div(min(lag, done), node->served_ns, done);",
        "return 0 * done;",
    ),
    Mutant("as-long-again", "min(lag, done), node->served_ns, done", "done, node->served_ns, done"),
    Mutant(
        "pace-of-all-time",
        "	node->served_from = ent_stands(ent, passing);\n	ioband_ent_begin_below",
        "	ioband_ent_begin_below",
    ),
    Mutant(
        "made-way-for-who-is-held-back",
        "node, to->open, to->passing, node->serving)",
        "node, U64_MAX, to->passing, node->serving)",
    ),
    Mutant("slice-not-counted", "ent->parent->served_ns += ns;", ";"),
    Mutant(
        "no-slices",
        "	if (!node_is_in_turn(node))\n		return false;",
        "	if (node)\n		return false;",
    ),
    Mutant(
        "another-after-a-slice",
        "node->serving, to->passing)))\n",
        "node->serving, to->passing)) || 1)\n",
    ),
    Mutant("not-waited-for", "core->inflight_ios - leaf->inflight > core->stuck_ios", "false"),
    Mutant(
        "time-not-charged",
        "ioband_leaf_charge(core, leaf, min_t(u64, ns, U32_MAX)",
        "ioband_leaf_charge(core, leaf, 0 * min_t(u64, ns, U32_MAX)",
    ),
    Mutant(
        "turn-not-limited",
        "if (!next)\n		return U64_MAX;",
        "if (true)\n		return U64_MAX;",
    ),
    Mutant("never-expected", "node->served_ns && node_expects(node, to->passing)", "false"),
    Mutant(
        "expected-for-ever",
        "ioband_pause_begin_idle(core, now_ns);\n		*wake_ns = ioband_core_grace_ends(core);",
        "ioband_pause_begin_idle(core, now_ns);",
    ),
    Mutant("comes-last", "			ent->vtime--;", "			;"),
    Mutant("comes-late", "max(node->served_ns, core->slice_ns / 2)", "node->served_ns"),
    Mutant(
        "comes-too-early",
        "if (node_is_in_turn(node) && vtime_before(ent->vtime",
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
    Mutant("cache-has-no-end", "min(core->free_bytes, usual)", "core->free_bytes"),
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
    Mutant("flush-for-its-own", "if (writer && !is_same_owner(writer, leaf) &&", "if (writer &&"),
    Mutant(
        "goes-during-a-flush",
        "core->flush == IOBAND_FLUSH_RUNNING)\n		return false;",
        "false)\n		;",
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
    Mutant("time-is-all-its", "core->owned_ns = now_ns;\n	leaf_use", "leaf_use"),
    Mutant(
        "change-takes-for-ever",
        "min_t(u64, div64_u64(drain_ns, leaf_gap_ns(leaf)), core->limit_ios)",
        "core->limit_ios + 0 * drain_ns",
    ),
    Mutant(
        "gaps-of-the-idle", "leaf->run_ns = leaf->inflight ? now_ns : 0", "leaf->run_ns = now_ns"
    ),
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
        "stall->done_ns > max(pulse->moved_ns, stall->resumed_ns) + IOBAND_SILENT_NS",
        "stall && pulse",
    ),
    Mutant("hangs-at-once", "max(pulse->moved_ns, stall->resumed_ns)", "pulse->moved_ns"),
    Mutant("never-probes", "stall->probing = others &&", "stall->probing = false && others &&"),
    Mutant("probes-without-need", "stall->silent_ios >= limit_ios", "limit_ios"),
    Mutant(
        "slices-without-probe",
        "(turns || stall->silent_ios",
        "((turns && false) || stall->silent_ios",
    ),
    Mutant(
        "probes-in-numbers",
        "ioband_core_set_limit(core, 1, stall",
        "ioband_core_set_limit(core, limit_ios, stall",
    ),
    Mutant("hang-is-forgotten", "pulse->hangs |= silent", "pulse->hangs = silent"),
    Mutant("hangs-for-good", "	pulse->hangs = false;\n", ""),
    Mutant("hang-counts", "core, limit_ios, stall->stuck_ios);", "core, limit_ios, 0);"),
    Mutant("never-blocked", "pulse->blocked = blocked;", "pulse->blocked = false;"),
    Mutant("probes-the-silent", "pulse->hangs || (stall->probing &&", "pulse->hangs || (false &&"),
    Mutant("blocked-for-good", "unblocked |= pulse->blocked && !blocked;", ";"),
]

TREE_H = [
    Mutant("no-wrap", "return (s64)(a - b) < 0", "return a < b"),
    Mutant("streams-share-bytes", "(core->charge_time || node->streams)", "core->charge_time"),
]

METER = [
    Mutant("half-a-second", "/* all of it is now */", "\n	used_ns *= 2;"),
    Mutant("two-seconds", "at_ns + NSEC_PER_SEC : 0", "at_ns + 2 * NSEC_PER_SEC : 0"),
    Mutant("parts-lost", "	trail->used_ns = used_ns;\n", ""),
    Mutant(
        "one-part-at-a-time",
        "	for (; used_ns >= IOBAND_TRAIL_NS; ",
        "	for (int i = 0; i < 1 && used_ns >= IOBAND_TRAIL_NS; i++, ",
    ),
    Mutant("no-bound", "	clock->next_ns = max(", "	(void)max("),
    Mutant(
        "saves-up", "clamp_t(u64, clock->next_ns, leeway->late_ns", "clamp_t(u64, clock->next_ns, 0"
    ),
    Mutant("rests-lost", "leeway->second_ns + clock->rest,", "leeway->second_ns,"),
    Mutant("far-ahead", "leeway->late_ns, leeway->early_ns)", "leeway->late_ns, U64_MAX)"),
    Mutant("no-most", "min(next_ns, leeway->most_ns)", "next_ns"),
    Mutant("pieces-count", "bill->ios, leeway", "1, leeway"),
    Mutant("waits-on", "	if (rate != clock->rate)\n", "	if (!clock->rate)\n"),
    Mutant("begins-anew", "	if (rate != clock->rate)\n", ""),
]

FLOOR = [
    Mutant(
        "wanted-by-nobody", "ways & (ent_shown(floor->ent) ?: ioband_way_mask(floor->way))", "ways"
    ),
    Mutant("own-in-another-way", " && leaf->ent.waiting & floor_ways(floor))", ")"),
    Mutant(
        "alone-in-another-way",
        "core->promised->waiting & core->promised_ways);",
        "core->promised->waiting);",
    ),
    Mutant("alone-until-it-is-had", " || promised_is_alone(core)", ""),
    Mutant("rest-goes-by-weight-never", "left_ns = promised_until_ns(core);", "left_ns = U64_MAX;"),
    Mutant(
        "rest-is-never-had",
        "return min(left_ns, ioband_mul_div(due_ns, took_ns, moved_ns - took_ns));",
        "return left_ns;",
    ),
    Mutant("no-margin", "NSEC_PER_SEC - NSEC_PER_SEC / IOBAND_FLOOR_MARGIN", "NSEC_PER_SEC"),
    Mutant("latest-first", "rb_to_floor(a)->due_ns < rb", "rb_to_floor(a)->due_ns > rb"),
    Mutant("ios-alone", "bytes->rate ? bytes->next_ns : U64_MAX", "U64_MAX"),
    Mutant("bytes-alone", "ios->rate ? ios->next_ns : U64_MAX", "U64_MAX"),
    Mutant("ways-mixed", "		if (way_due_ns(floor, way) <= now_ns)\n", ""),
    Mutant("gone-and-due", "if (floor->here || floor->ent->thinking)", "if (true)"),
    Mutant(
        "away-is-late",
        "		clock_forgive(&floor->meter.bytes[way]",
        "		if (false)\n			clock_forgive(&floor->meter.bytes[way]",
    ),
    Mutant("never-back", "	floor->inflight--;\n", ""),
    Mutant("way-forgotten", "	floor->way = bill->way;\n", ""),
    Mutant(
        "never-late",
        ".late_ns = now_ns - min_t(u64, now_ns, IOBAND_FLOOR_WINDOW_NS)",
        ".late_ns = U64_MAX",
    ),
    Mutant("one-starves", "			top = &ent->parent->ent;", "			;"),
    Mutant("held-back-is-late", "if (!ent_is_held_back(core, floor->ent))", "if (true)"),
    Mutant("past-a-maximum", " & ent_open_above(core, floor->ent);\n		if", ";\n		if"),
    Mutant("not-later", "late_part(core, late_ns, IOBAND_FLOOR_WIDER)", "0"),
    Mutant("no-room", "	*limit -= min(late_part(", "	*limit -= 0 * min(late_part("),
    Mutant(
        "on-one-pipe",
        "core->inflight_ios - (core->apart ? core->promised_ios : 0)",
        "core->inflight_ios",
    ),
    Mutant("stuck-is-late", "core->stuck_ios || core->limit_ios == U32_MAX", "false"),
    Mutant("stall-is-late", "core->stalled || core->stuck_ios", "core->stuck_ios"),
    Mutant("turn-for-ever", " >= now_ns + core->slice_ns / 2 ||", " == 0 ||"),
    Mutant(
        "turn-goes-on", "		ioband_ent_set_turn(core, core->promised, false);", "		;"
    ),
    Mutant("idle-in-service", "ent->parent->serving != ent || (", "("),
    Mutant("own-is-another", "ent->floor == floor && leaf", "false && leaf"),
    Mutant(
        "taken-away-and-due",
        "		rb_erase_cached(&floor->rb, &core->floors);\n	RB",
        "		;\n	RB",
    ),
    Mutant("taken-away-and-kept", "core->promised && core->promise == floor", "false"),
    Mutant(
        "one-above",
        "		if (ent->floor)\n			return true;",
        "		return ent->floor;",
    ),
]

AIM = [
    Mutant("ahead-of-all", "return vtime_before(b->vtime, a->vtime);", "return true;"),
    Mutant("never-ahead", "return vtime_before(b->vtime, a->vtime);", "return false;"),
    Mutant("held-for-itself", "&& ent_is_below(&leaf->ent, worst->ent)", "&& false"),
    Mutant("late-and-charged", "	if (brake_is_for(core, leaf) ||\n", "	if (\n"),
    Mutant(
        "reads-charged",
        "(brake_is_for_pool(core) && bill->way == IOBAND_WAY_READ)",
        "false",
    ),
    Mutant("no-debts", "	ioband_clock_move(&brake->clock, bytes, &leeway);\n", ""),
    Mutant("always-on", " || brake->clock.next_ns <= now_ns || ", " || "),
    Mutant(
        "pool-holds-all",
        "		return ioband_way_mask(IOBAND_WAY_WRITE);",
        "		return U64_MAX;",
    ),
    Mutant("maximum-is-late", "	if (aim_was_capped(aim))\n", "	if (false)\n"),
    Mutant("above-a-maximum-too", " || ioband_cap_is_for(ent->cap, IOBAND_WAY_READ))", ")"),
    Mutant(
        "reads-wait",
        "leaf = ioband_leaf_below(core, &core->root.ent, ioband_way_mask(IOBAND_WAY_READ), true,\n"
        "				 ios, limit);",
        "leaf = NULL;",
    ),
    Mutant(
        "reads-are-owed", "\n	core->diverted = leaf;\n	return leaf;", "\n	return leaf;"
    ),
    Mutant("no-turn-for-the-late", "leaf = core->slice_ns ?\n", "leaf = false ?\n"),
    Mutant(
        "writes-go-by",
        "&core->root.ent, ioband_way_mask(IOBAND_WAY_READ), true",
        "&core->root.ent, U64_MAX, true",
    ),
    Mutant("own-only", "		ent = &ent->parent->ent;\n	}\n}", "		break;\n	}\n}"),
    Mutant("promised-and-held", "core->promised ? 0 : brake_ways", "brake_ways"),
    Mutant("never-woken", "wake_ns = core->brake.clock.next_ns;", "wake_ns = IOBAND_NO_WAKEUP;"),
    Mutant(
        "owed-with-slices",
        "if (goes_on || (core->slice_ns && core->brake_ways))",
        "if (goes_on && !core->slice_ns)",
    ),
    Mutant(
        "minimum-is-late",
        "wake_ns = min(wake_ns, ioband_floor_wake_ns(core, now_ns));",
        "wake_ns = min(wake_ns, ioband_floor_wake_ns(core, IOBAND_NO_WAKEUP));",
    ),
    Mutant(
        "on-its-way-and-gone", "if (aim->inflight || aim->ent->waiting", "if (aim->ent->waiting"
    ),
    Mutant("never-back", "			ent->aim->inflight--;\n", "			continue;\n"),
    Mutant("no-time-to-see", " || ns < 2 * mean_ns)", ")"),
    Mutant("few-reads-for-ever", " && ns < IOBAND_LOOK_NS)", ")"),
    Mutant(
        "gone-and-late",
        "	if (!worst) {\n		if (brake->worst)",
        "	if (!worst) {\n		if (false)",
    ),
    Mutant("summed-for-ever", "	aim->sum_ns = 0;\n	aim->reads = 0;\n", ""),
    Mutant("best-is-worst", " > other->mean_ns;", " < other->mean_ns;"),
    Mutant(
        "for-the-first",
        "	brake->worst = worst;\n",
        "	brake->worst = brake->worst ?: worst;\n",
    ),
    Mutant("begins-with-all", "if (brake->clock.rate || worst == brake->worst)", "if (true)"),
    Mutant("stale-looks", "			*looked = known;", "			*looked = true;"),
    Mutant("idle-and-held", "mean_ns <= target_ns || rate < least)", "mean_ns <= target_ns)"),
    Mutant("hung-for-ever", "2 * aim->target_ns + IOBAND_MEAN_MAX_NS", "U64_MAX"),
    Mutant("no-part", "max(late_rate, core->brake.first_rate)", "late_rate"),
    Mutant(
        "depth-is-found",
        "	core->late = true;\n	leaf = core->slice_ns",
        "	leaf = core->slice_ns",
    ),
    Mutant(
        "depth-is-found-by-reads",
        "	core->late = true;\n	leaf = ioband_leaf_below(core, &core->root.ent, ioband_way",
        "	leaf = ioband_leaf_below(core, &core->root.ent, ioband_way",
    ),
    Mutant("slower-for-ever", "		clock->rate += ioband_mul", "		(void)ioband_mul"),
    Mutant("never-slower", "		clock->rate -= ioband_mul", "		(void)ioband_mul"),
    Mutant("writes-starve", "max(clock->rate, max(rate / 2, least))", "clock->rate"),
    Mutant("never-ends", "	    rate < brake->clock.rate / 2) {", "	    false) {"),
    Mutant("taken-away-and-late", "	if (core->brake.worst == aim)\n", "	if (false)\n"),
]

CAP = [
    Mutant("debts-free", "	ioband_meter_move(", "	if (in_turn)\n		ioband_meter_move("),
    Mutant("debts-unbounded", "in_turn ? U64_MAX : now_ns + IOBAND_CAP_DEBT_NS", "U64_MAX"),
    Mutant("no-slack", "u64 late_ns = core->slack_ns;", "u64 late_ns = 0;"),
    Mutant("bytes-only", "max(bytes_ns, ios_ns)", "bytes_ns"),
    Mutant("ios-only", "max(bytes_ns, ios_ns)", "ios_ns"),
    Mutant(
        "no-turn-is-made-good",
        "	if (core->slice_ns && cap->waits_ns",
        "	if (false && cap->waits_ns",
    ),
    Mutant("stutters", "	cap_unblock(cap, cap->blocked & ~blocked, now_ns);\n", ""),
    Mutant("pauses-are-made-good", "		if (!cap->ent->busy)\n", "		if (false)\n"),
    Mutant("no-trail-of-bytes", "ioband_trail_until_ns(&cap->bytes[way])", "0ULL"),
    Mutant("no-trail-of-ios", "ioband_trail_until_ns(&cap->ios[way])", "0ULL"),
    Mutant(
        "another-rate-and-trail",
        "		cap->bytes[way] = (struct ioband_trail) {};\n",
        "",
    ),
    Mutant("far-is-near", "now_ns + IOBAND_CAP_DEBT_NS / 2)", "now_ns + IOBAND_CAP_DEBT_NS / 4)"),
    Mutant("near-is-far", "now_ns + IOBAND_CAP_DEBT_NS / 2)", "now_ns + IOBAND_CAP_DEBT_NS)"),
    Mutant("pieces-held-up", "cap->begun[bill->way] = bill->more;", ""),
    Mutant(
        "begun-for-ever", "cap->begun[bill->way] = bill->more;", "cap->begun[bill->way] = true;"
    ),
    Mutant("all-ways", "blocked |= ioband_way_mask(way);", "blocked = U64_MAX;"),
    Mutant("last-way-first", "until_ns = min(until_ns, way_until_ns);", "until_ns = way_until_ns;"),
    Mutant(
        "not-shown-again", "	if (blocked != cap->blocked)\n", "	if (blocked > cap->blocked)\n"
    ),
    Mutant("blocks-at-its-end", "if (way_until_ns <= now_ns)", "if (way_until_ns < now_ns)"),
    Mutant(
        "one-is-let-go",
        "while ((first = rb_first_cached(&core->blocked)) &&",
        "if ((first = rb_first_cached(&core->blocked)) &&",
    ),
    Mutant("never-let-go", "rb_to_cap(first)->until_ns <= now_ns)", "false)"),
    Mutant(
        "gone-and-blocked", "	if (cap->blocked)\n		ioband_ent_block(core, ent, 0);", ""
    ),
    Mutant(
        "gone-and-queued",
        "	cap_dequeue(core, cap);\n	if (cap->blocked)",
        "	if (cap->blocked)",
    ),
]

DEPTH = [
    Mutant("wants-too-much", "(1024 * 2 / 100)", "(1024 * 60 / 100)"),
    Mutant("wants-nothing", "s64 wanted = gain_wanted(try)", "s64 wanted = -100"),
    Mutant(
        "winner-swapped",
        "gain->sum > trial->pairs * wanted",
        "gain->sum < trial->pairs * wanted",
    ),
    Mutant("never-rests", "depth->phase_ns >= depth->pause_ns", "true"),
    Mutant("never-looks-again", "depth->phase_ns >= depth->pause_ns", "!depth->found"),
    Mutant("never-grows", "ios + (ios + 1) / 2", "ios"),
    Mutant("never-shrinks", "(try_is_up(depth->try) ? HI_WINS : LO_WINS)", "HI_WINS + 0 * verdict"),
    Mutant("grows-without-bound", "min_t(u32, ios + (ios + 1) / 2, IOBAND_DEPTH_MAX)", "ios * 2"),
    Mutant("never-cuts", "smaller = piece_below(", "smaller = 0 * piece_below("),
    Mutant("cuts-for-ever", "pipe.piece_bytes *= 2;", ";"),
    Mutant("cuts-to-nothing", "piece >= bytes && piece > IOBAND_PIECE_MIN", "piece >= bytes"),
    Mutant("never-pressed", "round->held_ios >= round->ios / IOBAND_PRESSED_PART", "false"),
    Mutant(
        "one-yard",
        "gain = best + 1; gain < trial->gains + IOBAND_NR_YARDS",
        "gain = best + 1; false",
    ),
    Mutant("bytes-for-all", "return round->work - round->bytes;", "return round->bytes;"),
    Mutant("never-contested", "if (gain->sum < -won &&", "if (false &&"),
    Mutant("contested-by-little", "if (gain->sum < -won &&", "if (gain->sum < 0 &&"),
    Mutant("worst-yard", "< gain_spread(best,", "> gain_spread(best,"),
    Mutant("always-full", "depth->full = round->held_ios", "depth->full = round->ios"),
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
    Mutant("weight-of-zero", "parse_u32(value, IOBAND_WEIGHT_MIN,", "parse_u32(value, 0,"),
    Mutant("measure-lost", "settings->measure = measure;", ""),
    Mutant(
        "depth-of-zero",
        "parse_u32(digits, 1, IOBAND_DEPTH_MAX",
        "parse_u32(digits, 0, IOBAND_DEPTH_MAX",
    ),
    Mutant("pieces-of-any-size", "*piece_bytes & (*piece_bytes - 1)", "false"),
    Mutant("pieces-lost", "IOBAND_PIECE_MAX, piece_bytes)", "IOBAND_PIECE_MAX, ios)"),
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
    Mutant("no-auto", 'strcmp(value, "auto") && parse_depth', "parse_depth"),
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
    Mutant("first-word-only", "for (i = 4; i < argc; i++)", "for (i = 4; i < argc && i < 5; i++)"),
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
        "preset-of-any-verb", "IOBAND_MSG_LATENCY_TARGET + 1, argv", "ARRAY_SIZE(verb_names), argv"
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
        "&rates->bytes[i] : &rates->ios[i - IOBAND_NR_WAYS]",
        "&rates->ios[i] : &rates->bytes[i - IOBAND_NR_WAYS]",
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
    Mutant("page-verbs-mixed", '= "groups"', '= "stats"'),
    Mutant(
        "sentence-cut",
        "snprintf((error)->text, sizeof((error)->text),",
        "snprintf((error)->text, 100,",
    ),
]
