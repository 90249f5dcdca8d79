# SPDX-License-Identifier: MIT
"""
Hand-written mutants of guarded node sets (docs/decisions/guard.md), quarantine, fencing numbers and clocks of nodes:
rows as in patches.py. Each leaves out one rule without which two hold a lock, a number falls, or nobody gets in.
"""

GUARD_DEFECTS = {
	46: "guard: who must not vote does",
	47: "guard: a node is admitted too soon, or by somebody who knows too little",
	48: "fencing: a number falls, or belongs to two",
	49: "quarantine: waited for too long, or not at all",
	50: "clocks of nodes: one that goes wrong is believed",
}

DRAW_ALL = "ops/lib/numbers.lua"
SET = "src/net/set.c"
PERMIT = "src/net/permit.c"
RECORD = "src/net/record.c"
GUARD = "src/admit.c"
FENCE = "src/core/fence.c"
QUARANTINE = "src/core/quarantine.c"
OFFSET = "src/core/offset.c"
GUARD_ROWS = [
	# ---- 46 ----
	("a guarded claim that lost its script is asked plainly", 46, "src/net/submit.c",
		"\tif (guarded && n->methods.guarded == 0)\n\t\treturn false;", "\tif (false)\n\t\treturn false;",
		"src/net/submit.c", "if (op->plainly != RL_OP_NONE && !guarded)", "if (op->plainly != RL_OP_NONE && (!guarded || n->methods.guarded == 0))"),
	("a node in quarantine votes", 46, SET, "} else if (r->verdict != RL_SET_ADMITTED) {", "} else if (false) {"),
	("a TTL longer than the set's is claimed", 46, PERMIT,
		"return r->ttl_ms > a->set->ttl_ms ? REDLOCK_VOTE_LONG_TTL : REDLOCK_VOTE_PENDING;",
		"return REDLOCK_VOTE_PENDING;"),
	("the claim's script does not compare the pass", 46, "ops/acquire.lua", "if not set then", "if false then"),
	("the fenced claim's script does not compare the pass", 46, "ops/acquire.lua",
		"guard.read(KEYS.record, ARGV.pass)", "guard.read(KEYS.record, redis.call(\"hget\", KEYS.record, \"pass\"))"),
	("the extend's script does not compare the pass", 46, "ops/extend.lua", "if not admitted then", "if false then"),
	("the script that raises does not compare the pass", 46, "ops/raise.lua",
		"if ARGV.pass ~= set[1] and ARGV.pass ~= set[2] then", "if false then"),
	("several: a guarded set's scripts do not compare the pass", 46, "ops/claim_all.lua",
		"if not set then", "if false then"),
	("shared: a guarded set's scripts do not compare the pass", 46, "ops/share.lua",
		"if not set then", "if false then"),
	("the waiter's script does not compare the pass", 46, "ops/enter.lua",
		"if not set then", "if false then"),
	# ---- 47 ----
	("a quarantine is over at once", 47, "ops/meet.lua",
		"local whole = ttl + math.max(math.ceil(ttl / 4), 1000) + math.ceil(ttl / 100) + 2", "local whole = 1"),
	("a connection is as good as new for ever", 46, RECORD,
		"return ttl_ms > 0 && now_ns >= rl_time_add(since_ns, age_ns);", "return false;"),
	("one Sentinel confirms the address of a guarded master", 46, "src/net/sentinels.c",
		"if (count > s->count / 2)", "if (count > 0)"),
	("ADMIT does not compare the id of the quarantine", 47, "ops/admit.lua",
		"local over = r[3] == ARGV.record_id and r[1] == id and", "local over = r[1] == id and"),
	("counters are read from too few", 47, GUARD,
		"return count_counting(ns, g->read) >= ns->quorum;", "return true;"),
	("a client with an old list repairs", 47, GUARD,
		"return set->config[0] != '\\0' && set->step == set->latest;", "return set->config[0] != '\\0';"),
	# ---- 48 ----
	("not the highest number is chosen", 48, FENCE,
		"highest = rl_time_max(highest, l->numbers->of[i]);", "highest = l->numbers->of[i];"),
	("a node with a higher number confirms", 48, FENCE, "c.yes = confirmed;", "c.yes = confirmed + ahead;"),
	("a yes without a number counts", 48, FENCE,
		"\telse\n\t\trl_round_cast(l, e->node, REDLOCK_VOTE_GARBAGE, l->votes[e->node].rtt_ns);", ""),
	("a counter is raised for a token that is gone", 31, "ops/raise.lua",
		'if redis.call("get", KEYS[i]) ~= ARGV.token then', "if false then"),
	("several: the first counter alone is raised", 31, "ops/raise.lua", "for i = names + 1, 2 * names do", "for i = names + 1, names + 1 do"),
	("several: the last counter alone is looked at", 31, DRAW_ALL, "last = math.max(last, count", "last = math.max(0, count"),
	("several: the first counter alone is kept", 31, DRAW_ALL, "for i = first, #KEYS - 1 do", "for i = first, first do"),
	("several: a lost counter begins at the floor", 31, DRAW_ALL, "and count or most)", "and count or floor)"),
	("several: a counter goes on below the floor", 31, DRAW_ALL, "count > floor and count", "count > 0 and count"),
	("several: what was told is not kept", 31, DRAW_ALL, "if last >= most then", "if false then"),
	("several: names that have no number are kept", 31, "ops/claim_all.lua", 'redis.pcall("del", KEYS[i])', ""),
	("several: names that have no number are kept at the turn", 31, "ops/enter_all.lua",
		'for i = first, last do redis.pcall("del", KEYS[i]) end', ""),
	("upgrade: the number is not confirmed", 48, "src/core/share.c",
		"if (ask->draws && !rl", "if (false && !rl"),
	("upgrade: an earlier number is kept", 48, "src/core/share.c", "if (l->policy == l->rules->policy)\n\t\trl_acquire_forget_numbers(l);", ""),
	("upgrade: who shares has the number", 48, "src/core/lock.c", "l->numbers == NULL || l->policy->shares;", "l->numbers == NULL;"),
	("upgrade: late votes are not raised", 48, FENCE, "if (tally == RL_UNDECIDED && !raising)", "if (tally == RL_UNDECIDED)"),
	("several: a claim has no number at its turn", 48, "ops/enter_all.lua", "{1, waiting, number,", "{1, waiting, 0,"),
	("a lost counter begins at the floor", 31, "ops/lib/numbers.lua",
		"number = most + 1", "number = floor + 1"),
	("a counter goes on below the floor", 31, "ops/lib/numbers.lua", "and number > 1 and number > floor", "and number > 1"),
	("a counter that was never told is counted on from", 31, "ops/lib/numbers.lua", "and number <= most + 1", ""),
	("several: a counter that was never told is counted on from", 31, DRAW_ALL, "and count <= most and count", "and count"),
	("a yes with too high a number is raised", 48, FENCE, "if (number > 0 && number < RL_FENCE_END)", "if (number > 0)"),
	# ---- 49 ----
	("a repair that fails is waited for all the time", 49, QUARANTINE,
		"return now >= rl_time_add(l->numbers->quarantine_ns, REPAIR * l->rules->node_timeout_ns);", "return false;"),
	("the first quarantine that ends is enough", 49, QUARANTINE,
		"c.yes + c.out + rank(l, nodes, i) + 1 == c.quorum", "rank(l, nodes, i) == 0"),
	# ---- 50 ----
	("one odd reading puts a node out", 50, OFFSET,
		"if (o->odd_ns == 0 || !has_been_read(o, o->odd_ns))", "if (o->odd_ns == 0)"),
	("our own clock is no judge", 50, OFFSET, "unsigned alike = 0, judges = 1;", "unsigned alike = 0, judges = 0;"),
	("the bounds of an offset do not widen", 50, OFFSET, "\to->least_ns -= by_ns;\n\to->most_ns += by_ns;", "\t(void)by_ns;"),
	("a node that is out is not seen to be so", 50, SET,
		"} else if (set->offsets[index].out_until_ns != 0) {", "} else if (false) {"),
	("who is out is back at once", 50, OFFSET,
		"o->out_until_ns = rl_time_add(now_ns, rules->out_ns);", "o->out_until_ns = now_ns;"),
]
