# SPDX-License-Identifier: MIT
"""
Hand-written mutants of the hand-over: the loss of one rule of docs/decisions/handing-over.md or passing-on.md each. Rows as in patches.py.
"""

HANDING_DEFECTS = {
	42: "what is handed over is relied on for too long, or is not ours",
	43: "the lock is handed to who does not come",
	44: "a hand-over takes or ends what somebody still needs",
	45: "a lock is passed on within a client that the servers should have back",
}

ACQUIRE = "src/core/acquire.c"
HAND = "src/core/queue.c"
TAKE = "src/core/enter.c"
ENTER = "src/core/enter.c"
LOCK = "src/core/lock.c"
OPERATE = "src/operate.c"
HEAR = "src/hear.c"
COHORT = "src/places.c"
PASS = "src/core/hold.c"
ENTER_LUA = "ops/enter.lua"
HAND_LUA = "ops/hand.lua"
LEAVE_LUA = "ops/leave.lua"
YOUNG = "if age >= 0 and age <= 2000 and least <= tonumber(life) then"

HANDING_ROWS = [
	# ---- 42 ----
	("a lease counts from the message", 42, TAKE, "l->round.t0_ns = e->message.offered_ns;", "l->round.t0_ns = e->now_ns;",
		TAKE, "rl_time_min(l->round.t0_ns, e->message.offered_ns);", "l->round.t0_ns;"),
	("the latest number counts", 42, TAKE, "rl_time_min(l->round.t0_ns, e->message.offered_ns);",
		"rl_time_max(l->round.t0_ns, e->message.offered_ns);"),
	("any token in a message is ours", 42, TAKE, "l->queue.offered_ns != 0 && rl_slice_same(e->reply.vote.token, e->around.token);",
		"l->queue.offered_ns != 0 && e->reply.vote.token.size > 0;"),
	("what is not on offer can be handed over", 42, TAKE, "l->queue.offered_ns != 0 && rl_slice_same(", "rl_slice_same("),
	("a message of a second name is a vote", 42, HEAR, "return n->duplicate || rl_submit", "return rl_submit"),
	("what was offered long ago is not renewed", 42, HAND, "if (!counted && is_old", "if (counted && is_old"),
	# ---- 43 ----
	("who hears no quorum offers", 43, HAND, "count(e->around.hears) < l->rules->quorum", "count(e->around.hears) < 1"),
	("an offer that has ended is not revoked", 43, HAND, "if (l->queue.offered_ns == 0)\n\t\treturn;",
		"l->queue.offered_ns = 0;\n\tif (fx != NULL)\n\t\treturn;"),
	("a holder uses what it was told long ago", 43, HAND, "rl_time_sub(e->now_ns, e->around.heir_ns) <= FRESH_NS",
		"rl_time_sub(e->now_ns, e->around.heir_ns) <= 60 * FRESH_NS"),
	("an old offer is told", 43, "ops/lib/offers.lua", YOUNG, "if true then"),
	("nothing is barred", 43, LEAVE_LUA, 'if not ours and ARGV.bars ~= "" then', "if false then"),
	("a bar is ignored", 43, HAND_LUA, 'if redis.pcall("hdel", KEYS.offers, token) == 1 then', "if false then"),
	("who does not hear keeps the key", 43, HAND_LUA, 'type(heard) == "number" and heard > 0 then', 'type(heard) == "number" then'),
	# ---- 44 ----
	("a revocation wakes", 44, HAND, "\tfx->queue.bars = fx->queue.quiet = true;", "\tfx->queue.bars = true;"),
	("a token that is on offer is replaced", 44, ACQUIRE, "signs && l->queue.offered_ns == 0;", "signs;"),
	("what is missing is asked for by a SET", 44, ACQUIRE, "fx->send.enter = fx->send.nodes & l->queue.heard;", "fx->send.enter = 0;"),
	("a key is shortened", 44, "ops/lib/keys.lua", 'if left >= 0 and left < tonumber(ttl) then redis', "if left >= 0 then redis"),
	("what is declined need not be ours", 44, OPERATE, "if (!ours || is_in_use(c, token))", "if ((!ours && c == NULL) || is_in_use(c, token))"),
	("what is declined may be held", 44, OPERATE, "if (!ours || is_in_use(c, token))", "if (!ours || (is_in_use(c, token) && c == NULL))"),
	("a refusal of ENTER costs a vote", 44, "ops/enter.lua", "-- without rights: acquire\n", ""),
	("a claim is made again after its release", 44, "src/net/submit.c",
		"if (r->place.size > 0 || late ||", "if (r->place.size > 0 || (late && n == NULL) ||"),
	("what has not answered is asked for again", 42, ENTER, " & ~l->claim.unanswered;", ";"),
	# ---- 45 ----
	("a claim is passed on for as long as it is held", 45, PASS, "now < rl_hold_pass_until(from) &&", "from->phase == RL_HELD &&"),
	("a claim of another TTL is passed on", 45, PASS, "a->ttl_ns == b->ttl_ns && ", ""),
	("less than the least validity is passed on", 45, PASS, "rl_time_add(now, to->rules->min_validity_ns);", "now;"),
	("a token that the caller knows is passed on", 45, COHORT, "next != NULL && !lock->told && rl_hold_may_pass", "next != NULL && rl_hold_may_pass"),
	("late answers do not follow a claim", 45, COHORT, "\trl_registry_exchange(handles, lock, next);\n", ""),
	("who was passed the lock does not withdraw its offer", 45, LOCK, "\trl_acquire_give_back(l, fx);\n\trl_acquire_end(l, 0, fx);\n",
		"\tl->phase = RL_IDLE;\n\t(void)rl_acquire_end;\n"),
	("the handles that wait for a holder ask", 45, "src/places.c", "RL_HELD ? rl_hold_pass_until(&l->core) :", "RL_HELD ? 0 :"),
]
