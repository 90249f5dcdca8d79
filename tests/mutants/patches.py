# SPDX-License-Identifier: MIT
"""
The hand-written mutants: mistakes that other lock libraries have made, planted in this one.

Each row: name, defect, file, old text, new text; further files and texts may follow. The old text must be there
exactly once. Defects 1 to 31 are those that a survey of fourteen lock libraries found; DEFECTS says what each is. Those above
are of what only this one has, in the other patches_*.py. 0 is for questions that came up here.
"""
from mutant import Mutant, replace_once
from patches_guard import GUARD_DEFECTS, GUARD_ROWS
from patches_handing import HANDING_DEFECTS, HANDING_ROWS
from patches_many import MANY_DEFECTS, MANY_ROWS
from patches_slots import SLOTS_DEFECTS, SLOTS_ROWS
from patches_own import OWN_DEFECTS, OWN_ROWS
from patches_setnx import SETNX_DEFECTS, SETNX_ROWS
from patches_sets import SETS_DEFECTS, SETS_ROWS
from patches_shared import SHARED_DEFECTS, SHARED_ROWS
from patches_waiting import WAITING_DEFECTS, WAITING_ROWS

DEFECTS = {
	0: "a question that came up here",
	1: "an even split of the votes is never decided",
	2: "no check of what validity is left after an acquire, or it is computed wrong",
	3: "keys of a failed attempt stay and block the next ones",
	4: "released only where SET said OK",
	5: "a release overtakes a late SET",
	6: "cleaning up ends with the operation that was cancelled",
	7: "a hung node blocks for ever",
	8: "one bad node fails the lot",
	9: "an extend succeeds on another's lock",
	10: "an extend makes a lost lock anew",
	11: "an option has no effect",
	12: "a failed extend throws away a valid lock, or is not tried again",
	13: "an extend does not compute the validity anew, or counts it from the reply",
	14: "the loss is told only when the renewal ends",
	15: "a late success counts for a later operation",
	16: "PEXPIRE without asking who the owner is",
	17: "renewal lives longer or shorter than the lock",
	18: "a counting semaphore over quorums admits too many",
	19: "a read-write lock checks, then acts",
	20: "a latch is reset, or read without a quorum",
	21: "a queue by the clients' clocks, or with waiters that have no lease",
	22: "the quorum is below a majority, or is one of the reachable nodes",
	23: "wall clock, overflow",
	24: "weak tokens, or one token for several attempts",
	25: "unsigned underflow; a path that fails without a release; 0 taken for a default",
	26: "a try that retries, a wait that overshoots",
	27: "the library prints or exits",
	28: "the release of an expired lock is skipped or is a failure",
	29: "the clock stops while the machine is suspended",
	30: "what Redis asks of its clients: extensions are limited, restarts are delayed",
	31: "a fencing counter goes back",
}
for more in (OWN_DEFECTS, WAITING_DEFECTS, HANDING_DEFECTS, GUARD_DEFECTS, MANY_DEFECTS, SLOTS_DEFECTS, SHARED_DEFECTS,
		SETNX_DEFECTS, SETS_DEFECTS):
	if DEFECTS.keys() & more.keys():
		raise ValueError(f"a number for two defects: {DEFECTS.keys() & more.keys()}")
	DEFECTS.update(more)

# Defects of what this library does not have, or has no part in.
NOT_HERE = {
	20: "there is no latch",
}

LOCK = "src/core/lock.c"
HOLD = "src/core/hold.c"
ACQUIRE = "src/core/acquire.c"
ROUND = "src/core/round.c"
KINDS = "src/core/kinds.c"
CONTEND = "src/core/contend.c"
QUORUM = "src/core/quorum.c"
TIME = "src/core/time.h"
VALIDITY = "src/core/validity.c"
NODE = "src/net/node.c"
SUBMIT = "src/net/submit.c"
BACKOFF = "src/net/backoff.c"
LINK = "src/net/link.c"
LEDGER = "src/net/ledger.c"
HANDSHAKE = "src/net/handshake.c"
EXTEND = "ops/extend.lua"
OWNER_CHECK = 'if redis.call("get", KEYS.name) ~= ARGV.token then return 0 end\n'

ROWS = [
	# ---- 1 ----
	("even split: refused only by a quorum of no", 1, QUORUM,
		"if (c.yes + c.no >= c.quorum)\n\t\treturn RL_REFUSED;", "if (c.no >= c.quorum)\n\t\treturn RL_REFUSED;"),
	("no quorum: undecided until all have answered yes or no", 1, QUORUM,
		"return c.yes + c.no + c.out >= c.quorum ? RL_UNDECIDED : RL_NOQUORUM;", "return RL_UNDECIDED;"),
	("release: an even split is undecided", 1, QUORUM,
		"if (c.yes > spare && c.yes + c.no >= c.quorum)", "if (c.yes >= c.quorum)"),
	("release: a silent node had the key", 1, QUORUM,
		"if (c.yes > spare && c.yes + c.no >= c.quorum)", "if (c.yes + c.no >= c.quorum && c.no + c.out < c.quorum)"),
	("acquire: decided only when all have answered", 1, QUORUM,
		"if (c.yes + c.out >= c.quorum)\n\t\treturn RL_UNDECIDED;\n\tif (c.yes + c.no >= c.quorum)",
		"if (c.out > 0)\n\t\treturn RL_UNDECIDED;\n\tif (c.yes + c.no >= c.quorum)"),
	# ---- 2 ----
	("acquire: no check of the validity", 2, ACQUIRE,
		" ||\n\t    valid_until <= rl_time_add(e->now_ns, l->rules->min_validity_ns))", ")"),
	("acquire: validity from the last reply", 2, ACQUIRE,
		"uint64_t valid_until = rl_round_validity_end(l);",
		"uint64_t valid_until = rl_round_validity_end(l) + (e->now_ns - l->round.t0_ns);"),
	("validity without drift", 2, VALIDITY,
		"return drift_ns >= ttl_ns ? t0_ns : rl_time_add(t0_ns, ttl_ns - drift_ns);",
		"(void)drift_ns;\n\treturn rl_time_add(t0_ns, ttl_ns);"),
	("drift without its constant part", 2, VALIDITY,
		"return rl_time_add(rl_time_add(whole, rest), base_ns);", "(void)base_ns;\n\treturn rl_time_add(whole, rest);"),
	("the minimum of validity is not asked for", 2, ACQUIRE,
		"valid_until <= rl_time_add(e->now_ns, l->rules->min_validity_ns))", "valid_until <= e->now_ns)"),
	# ---- 3 ----
	("failed attempt: nothing given back", 3, ACQUIRE,
		"\trl_acquire_give_back(l, fx);\n\tuint64_t left =", "\tuint64_t left ="),
	("failed attempt: given back only when it is the last", 3, ACQUIRE,
		"\trl_acquire_give_back(l, fx);\n\tuint64_t left =", "\tuint64_t left =",
		ACQUIRE, "left / 2 < least) {\n\t\trl_acquire_end(l, result, fx);",
		"left / 2 < least) {\n\t\trl_acquire_give_back(l, fx);\n\t\trl_acquire_end(l, result, fx);"),
	# ---- 4 ----
	("failed attempt: given back only where it was granted", 4, KINDS,
		"fx->send.nodes = l->claim.asked;", "fx->send.nodes = rl_round_voted(l, REDLOCK_VOTE_YES);"),
	("silent nodes owe nothing", 4, LOCK,
		"return vote == REDLOCK_VOTE_TIMEOUT || vote == REDLOCK_VOTE_CLOSED || vote == REDLOCK_VOTE_GARBAGE ||",
		"return"),
	("release: sent only where the key is owed", 4, LOCK,
		"fx->send.owed = attached ? rl_round_nodes(l) : l->claim.owed;",
		"fx->send.nodes = fx->send.owed = attached ? rl_round_nodes(l) : l->claim.owed;"),
	("an own token's refused key is deleted too", 4, KINDS,
		"fx->send.nodes = l->claim.owed;", "fx->send.nodes = l->claim.asked;"),
	# ---- 5 ----
	("broken connection: releases are forgotten", 5, "src/net/loss.c",
		"keep_release(n, entry, &n->link.outbox);", ";"),
	("node down: releases are forgotten", 5, SUBMIT,
		"if (form != NULL)\n\t\trl_ledger_keep(&n->ledger, entry, (struct rl_slice){form->bytes, form->size});\n\telse\n\t\tn->ledger.lingering++;\n\treturn vote;",
		"(void)form;\n\treturn vote;"),
	("the old connection is not killed", 5, NODE,
		"(same && !rl_handshake_kill(l, ghost->client_id))", "(same && ghost->client_id == 0)"),
	("operations do not wait for the kill", 5, HANDSHAKE,
		"l->gate = waits; /* INFO */", "l->gate = 0;\n\t(void)waits;",
		NODE, "if (waits_for_info(n))\n\t\trl_handshake_pass(l);", ""),
	("what was asked later overtakes a debt", 5, SUBMIT,
		"if (n->ledger.debts.count > 0)\n\t\treturn false; /* a debt was asked for earlier: nothing may overtake it */", ""),
	("a broken connection is closed in order", 5, LINK,
		"abort_stream(&l->stream);\n\trl_dial_end(&l->dial);",
		"close_stream(&l->stream);\n\trl_dial_end(&l->dial);"),
	("close: what is held back is delivered", 5, LINK,
		"else if (held_back)\n\t\tabort_stream(&l->stream);",
		"else if (held_back)\n\t\tclose_stream(&l->stream);"),
	("a refused release is taken for done", 5, LEDGER,
		"if (may_linger(l, entry, vote, now_ns))\n\t\tl->lingering++;",
		"(void)may_linger(l, entry, vote, now_ns);"),
	("a connection that cannot be killed is forgotten", 5, LEDGER,
		"\tl->ghost_stays = true;\n", ""),
	# ---- 6 ----
	("cancel: nothing given back", 6, LOCK,
		"rl_acquire_give_back(l, fx);\n\tif (l->phase == RL_KEPT)", "if (l->phase == RL_KEPT)"),
	("freeing a handle does not cancel", 6, "src/life.c",
		"rl_operate(c, lock, &(struct rl_event){.kind = RL_EV_CANCEL, .asked.result = REDLOCK_E_CANCELLED});\n\tif (release",
		"if (release"),
	("freeing a handle does not release", 6, "src/life.c",
		"rl_call_begin(c, lock, &(struct rl_event){.kind = RL_EV_RELEASE});", ";"),
	("close: what was asked last is not sent", 6, "src/client.c",
		"rl_nodes_end_login(&c->nodes);\n\t\trl_turn_settle(c);", ""),
	("split votes: the leader forgets that it gave back", 6, "src/core/contend.c",
		"if (vanished && !l->claim.open) {\n\t\task_anew(l, e->now_ns, fx);",
		"if (vanished && !l->claim.open) {\n\t\tl->claim.open = true;\n\t\tinsist(l, e->now_ns, fx);"),
	("split votes: validity is counted from the last SET", 6, ACQUIRE,
		"l->claim.owed |= nodes;\n", "l->claim.owed |= nodes;\n\tl->round.t0_ns = now;\n"),
	("split votes: a minority names a holder", 6, "src/core/contend.c",
		"++count[l->votes[i].whose] >= l->rules->quorum", "++count[l->votes[i].whose] >= 1"),
	# ---- 7 ----
	("a round has no deadline", 7, ROUND,
		".deadline_ns = rl_time_min(rl_time_add(now, l->rules->node_timeout_ns), until),",
		".deadline_ns = rl_time_max(until, RL_TIME_NEVER),"),
	("a silent connection is kept for ever", 7, LINK,
		"return l->outbox.count + l->setup.count > 0 ? rl_time_add(l->progress_ns, STALL_LIMIT_NS)\n"
		"\t\t                                            : UINT64_MAX;", "return UINT64_MAX;"),
	("connecting has no limit", 7, LINK, "return rl_time_min(connect_by(l), rl_dial_deadline(&l->dial));",
		"return rl_dial_deadline(&l->dial);"),
	("no reconnect", 7, LINK,
		"return rl_dial_may_begin(&l->dial) ? l->backoff.retry_at_ns : UINT64_MAX;", "return UINT64_MAX;"),
	("the loop waits for the slowest node: no fail-fast", 7, ACQUIRE,
		"	enum rl_tally tally = ask->weigh(l);\n",
		"	enum rl_tally tally = ask->weigh(l);\n\tif (tally != RL_WON && rl_round_count(l).out > 0)\n\t\treturn RL_UNDECIDED;\n"),
	# ---- 8 ----
	("one name too many ends the acquire", 8, ACQUIRE, "duplicates > l->rules->node_count - l->rules->quorum", "duplicates > 0"),
	("hopeless with one bad node", 8, ACQUIRE, "count.fatal > count.nodes - count.quorum", "count.fatal > 0"),
	("nodes after one that is down are not asked", 8, "src/nodes.c",
		"ns->refused_votes[i] = vote;", "ns->refused_votes[i] = vote;\n\t\tbreak;"),
	("an error of an earlier attempt is the result", 8, ACQUIRE,
		"if (!cut_off || !silent || l->verdict == 0)", "(void)cut_off, (void)silent;\n\tif (l->verdict == 0)"),
	# ---- 9 ----
	("script: another's lock is extended", 9, EXTEND, OWNER_CHECK,
		'if redis.call("exists", KEYS.name) == 0 then return 0 end\n'),
	("0 counts as a yes", 9, "ops/extend.lua", "-- no: 0", "-- yes: 0"),
	("release: the name in place of the token", 9, "ops/release.lua", "-- script: name | token", "-- script: name | name"),
	# ---- 10 ----
	("script: a lost key is made anew", 10, EXTEND, OWNER_CHECK,
		'if redis.call("exists", KEYS.name) == 0 then redis.call("set", KEYS.name, ARGV.token, "px", ARGV.ttl) return 1 end\n'
		+ OWNER_CHECK),
	("a quorum of no is not a loss", 10, HOLD,
		"else if (tally == RL_REFUSED && l->phase == RL_HELD)\n\t\trl_hold_lose(l, RL_COUNT_GONE, fx);\n\t", ""),
	("an answer after the end revives the lock", 10, LOCK,
		"if (l->phase == RL_HELD && e->now_ns >= l->valid_until_ns)\n\t\trl_hold_lose(l, RL_COUNT_EXPIRED, fx);",
		"if (l->phase == RL_HELD && e->now_ns >= l->valid_until_ns && !l->round.open)\n\t\trl_hold_lose(l, RL_COUNT_EXPIRED, fx);"),
	# ---- 11 ----
	("option: max_extends", 11, "src/options.c", "rules.sticky_ns = 0;\n\treturn rules;", "rules.sticky_ns = 0;\n\trules.max_extends = 0;\n\treturn rules;"),
	("option: max_hold_ms", 11, "src/options.c", "rules.sticky_ns = 0;\n\treturn rules;", "rules.sticky_ns = 0;\n\trules.max_hold_ns = 0;\n\treturn rules;"),
	("option: min_validity_ms", 11, "src/options.c", "rules.sticky_ns = 0;\n\treturn rules;", "rules.sticky_ns = 0;\n\trules.min_validity_ns = 0;\n\treturn rules;"),
	("option: quorum", 11, "src/client.c",
		"c->nodes.quorum = o->quorum != 0 ? o->quorum : rl_quorum_least(c->nodes.count);",
		"c->nodes.quorum = rl_quorum_least(c->nodes.count);"),
	("option: node_timeout_ms", 11, "src/client.c", "c->node_timeout_ms = o->node_timeout_ms;", ""),
	("option: drift", 11, "src/client.c", "c->drift_ppm = o->drift_ppm;\n\tc->drift_ms = o->drift_ms;", ""),
	("option: noquorum_wait_ms", 11, ACQUIRE, "return rl_time_min(l->wait_until_ns, l->wait.quorum_until_ns);",
		"return l->wait_until_ns;"),
	# ---- 12 ----
	("a failed extend loses the lock", 12, HOLD,
		"else if (tally == RL_REFUSED && l->phase == RL_HELD)", "else if (tally != RL_UNDECIDED && l->phase == RL_HELD)"),
	("a failed renewal is not tried again", 12, HOLD,
		"if (l->round.background)\n\t\tl->renew_at_ns = rl_round_retry_at(l, e, rl_time_sub(l->valid_until_ns, e->now_ns));",
		"(void)e;"),
	("an extend of a shorter TTL shortens", 12, HOLD,
		"uint64_t valid_until = rl_time_max(l->valid_until_ns, rl_round_validity_end(l));",
		"uint64_t valid_until = rl_round_validity_end(l);"),
	# ---- 13 ----
	("extend: validity from the reply, without drift", 13, HOLD,
		"rl_time_max(l->valid_until_ns, rl_round_validity_end(l))", "rl_time_add(e->now_ns, l->round.ttl_ns)"),
	("extend: validity from the reply", 13, HOLD,
		"rl_time_max(l->valid_until_ns, rl_round_validity_end(l))", "rl_round_validity_end(l) + (e->now_ns - l->round.t0_ns)"),
	("extend: the old validity stays", 13, HOLD, "rl_hold_until(l, e, valid_until);",
		"rl_hold_until(l, e, rl_time_max(l->valid_until_ns, l->phase == RL_HELD ? 0 : valid_until));"),
	# ---- 14 ----
	("no timer at the end of validity", 14, HOLD,
		"next = rl_time_min(next, danger_at(l));", "next = danger_at(l);"),
	("loss and danger wait for the open round", 14, LOCK,
		"return l->phase == RL_HELD ? rl_time_min", "return l->phase == RL_HELD && !l->round.open ? rl_time_min"),
	("expiry is not looked at", 14, LOCK,
		"if (l->phase == RL_HELD && e->now_ns >= l->valid_until_ns)\n\t\trl_hold_lose(l, RL_COUNT_EXPIRED, fx);", ""),
	("held by the phase, not by the clock", 14, LOCK,
		"return l->phase == RL_HELD && now_ns < l->valid_until_ns ? l->valid_until_ns : 0;",
		"return l->phase == RL_HELD && now_ns > 0 ? l->valid_until_ns : 0;"),
	("no danger notice", 14, HOLD, "fx->observed |= RL_OBSERVE_DANGER;", ";"),
	# ---- 15 ----
	("answers to earlier operations count", 15, LOCK, "bool current = e->reply.seq == l->round.seq;",
		"bool current = e->reply.seq <= l->round.seq;"),
	("answers to an earlier handle count", 15, "src/registry.h",
		"return slot->generation == tag.generation ? slot->lock : NULL;", "return slot->lock;"),
	("a node has several votes", 15, LOCK,
		"if (current && has_voted(l, e->node))\n\t\treturn 0;\n",
		"(void)has_voted;"),
	# ---- 16 ----
	("script: PEXPIRE without the owner", 16, EXTEND, OWNER_CHECK, ""),
	("script: PEXPIRE shortens", 16, EXTEND, "keys.lengthen(KEYS.name, ARGV.ttl)\n  return 1", 'redis.call("pexpire", KEYS.name, ARGV.ttl)\n  return 1'),
	("script: release without the owner", 16, "ops/release.lua",
		'if redis.call("get", KEYS.name) == ARGV.token then', 'if redis.call("exists", KEYS.name) == 1 then'),
	# ---- 17 ----
	("a release leaves the lock held", 17, LOCK, "l->phase = RL_RELEASING;\n\tl->valid_until_ns = 0;\n", ""),
	("the timer outlives the handle", 17, "src/life.c",
		"rl_schedule_set(&c->loop.schedule, &lock->timer, UINT64_MAX);\n", ""),
	("the keeper outlives the client", 17, "src/client.c", "rl_keeper_end(c);\n", ";\n"),
	("one renewal, then none", 17, HOLD,
		"bool renews = r->renew_ns > 0 && !rl_hold_is_capped(l);", "bool renews = r->renew_ns > 0 && l->extends == 0;"),
	("renewal too late", 17, HOLD, "rl_time_sub(valid_until, granted - r->renew_ns + sooner);",
		"rl_time_add(valid_until, r->renew_ns);"),
	("all locks are renewed together", 17, HOLD, "granted - r->renew_ns + sooner);", "granted - r->renew_ns + 0 * sooner);"),
	("renewals share no times", 17, HOLD, "return at - at % (r->renew_ns / COMMON_TIMES);", "return at;"),
	("a renewal is not waited for longer", 17, HOLD, "rl_time_max(l->round.deadline_ns, rl_time_add(now, patience));",
		"l->round.deadline_ns + 0 * patience;"),
	# ---- 22 ----
	("a quorum below the majority may be set", 22, "src/client.c",
		"(o->quorum < rl_quorum_least((unsigned)o->url_count) || o->quorum > o->url_count)",
		"o->quorum > o->url_count", LOCK,
		"assert(rules->quorum >= rl_quorum_least(rules->node_count) && rules->quorum <= rules->node_count);", ""),
	("quorum of the reachable nodes", 22, "src/core/round.c", ".quorum = l->rules->quorum,",
		".quorum = rl_quorum_least(l->round.votes[REDLOCK_KIND_YES] + l->round.votes[REDLOCK_KIND_NO]\n"
		"\t\t\t+ l->round.votes[REDLOCK_KIND_PENDING]),"),
	("half is a majority", 22, QUORUM, "return node_count / 2 + 1;", "return (node_count + 1) / 2;"),
	("two URLs of one server have two votes", 22, "src/nodes.c", "ns->shared |= is_shared(ns, n);", ";"),
	("the first answer is the vote of a server with two names", 22, "src/core/round.c",
		"(other == REDLOCK_KIND_NO && !yes)", "other == REDLOCK_KIND_NO"),
	("a vote of the server that a name has left since is forgotten", 22, "src/nodes.c",
		"voted_ns < n->left_ns ? n->link.facts.left : n->link.facts.run_id", "n->link.facts.run_id"),
	("two URLs of one server have two votes without INFO", 22, LOCK, "l->claim.refused |= 1u << e->node;", ";"),
	# ---- 23 ----
	("wall clock", 23, "src/os/clock.c", "CLOCK_BOOTTIME", "CLOCK_REALTIME"),
	("drift overflows", 23, VALIDITY,
		"uint64_t whole = ttl_ns / 1000000 * ppm;\n\tuint64_t rest = (ttl_ns % 1000000 * ppm + 999999) / 1000000;",
		"uint64_t whole = 0;\n\tuint64_t rest = (ttl_ns * ppm + 999999) / 1000000;"),
	("time overflows", 23, TIME, "return a > UINT64_MAX - b ? UINT64_MAX : a + b;", "return a + b;"),
	("milliseconds in 32 bits", 23, TIME,
		"return ms > UINT64_MAX / RL_NS_PER_MS ? UINT64_MAX : ms * RL_NS_PER_MS;",
		"return (uint32_t)ms * RL_NS_PER_MS;"),
	# ---- 24 ----
	("tokens of the generator for delays", 24, "src/operate.c",
		"if (rl_random_pool_take(&c->random, c->loop.now_ns, random, sizeof random) < 0)\n\t\treturn false;",
		"for (size_t i = 0; i < sizeof random; i++)\n\t\trandom[i] = (unsigned char)((c->entropy += 0x9E3779B97F4A7C15u) >> 32);"),
	("one token for all attempts of a handle", 24, "src/operate.c",
		"if (fx.send.sign && fx.send.operation != RL_OP_PROBE && !make_token(c, lock)) {", "if (fx.send.sign && lock->token_size == 0 && !make_token(c, lock)) {"),
	("tokens of 4 random bytes", 24, "src/operate.c",
		"if (rl_random_pool_take(&c->random, c->loop.now_ns, random, sizeof random) < 0)",
		"memset(random, 0, sizeof random);\n\tif (rl_random_pool_take(&c->random, c->loop.now_ns, random, 4) < 0)"),
	("a token although there were no random bytes", 24, "src/operate.c",
		"if (rl_random_pool_take(&c->random, c->loop.now_ns, random, sizeof random) < 0)\n\t\treturn false;",
		"(void)rl_random_pool_take(&c->random, c->loop.now_ns, random, sizeof random);"),
	# ---- 25 ----
	("time underflows", 25, TIME, "return a > b ? a - b : 0;", "return a - b;"),
	("validity underflows", 25, VALIDITY,
		"return drift_ns >= ttl_ns ? t0_ns : rl_time_add(t0_ns, ttl_ns - drift_ns);",
		"return rl_time_add(t0_ns, ttl_ns - drift_ns);"),
	("granted too late: no release", 25, ACQUIRE,
		"rl_acquire_fail(l, e, ask->refused, false, fx);", "rl_acquire_end(l, ask->refused, fx);"),
	("wait 0 means a default", 25, "src/options.c", "rules.sticky_ns = 0;\n\treturn rules;",
		"rules.sticky_ns = 0;\n\trules.wait_ns = rules.wait_ns != 0 ? rules.wait_ns : rl_time_ms(1000);\n\treturn rules;"),
	# ---- 26 ----
	("a last round may end beyond the wait", 26, ACQUIRE,
		"uint64_t until = l->rules->wait_ns == 0 ? RL_TIME_NEVER : l->wait_until_ns;", "uint64_t until = RL_TIME_NEVER;"),
	("a retry may begin at the end of the wait", 26, "src/core/round.c",
		"rl_time_min(l->rules->retry_min_ns + random, left / 2)", "l->rules->retry_min_ns + random"),
	("a try with wait 0 retries", 26, ACQUIRE, "!again || left / 2 < least)", "!again)"),
	("after a pause of the process one more attempt", 26, "src/core/enter.c",
		"if (e->now_ns >= rl_acquire_patience(l, l->verdict))",
		"if (e->now_ns > RL_TIME_NEVER - 1)"),
	# ---- 27 ----
	("a failure is printed", 27, LINK, "l->failure = vote;\n",
		"l->failure = vote;\n\tfprintf(stderr, \"redlock: %s\\n\", text);\n"),
	("out of memory exits", 27, "src/proto/buffer.c", "if (bytes == NULL)\n\t\treturn false;", "if (bytes == NULL)\n\t\texit(1);"),
	# ---- 28 ----
	("a lost lock is not released", 28, LOCK,
		"if (l->phase != RL_HELD && l->phase != RL_LOST && !attached)", "if (l->phase != RL_HELD && !attached)"),
	("already gone is an unreachable quorum", 28, "src/core/policy.h", "tally == RL_REFUSED ? ask->refused",
		"tally == RL_REFUSED && ask->refused != REDLOCK_E_GONE ? ask->refused"),
	("the release of an expired lock sends nothing", 28, LOCK,
		"l->phase = RL_RELEASING;\n\tl->valid_until_ns = 0;\n\trl_round_open(l, REDLOCK_OP_RELEASE, e->now_ns, RL_TIME_NEVER, 0, fx);",
		"bool lost = l->phase == RL_LOST;\n\tl->phase = RL_RELEASING;\n\tl->valid_until_ns = 0;\n"
		"\trl_round_open(l, REDLOCK_OP_RELEASE, e->now_ns, RL_TIME_NEVER, 0, fx);\n\tif (lost)\n\t\tfx->send.nodes = 0;"),
	# ---- 29 ----
	("CLOCK_MONOTONIC", 29, "src/os/clock.c", "CLOCK_BOOTTIME", "CLOCK_MONOTONIC"),
	("timer of CLOCK_MONOTONIC", 29, "src/os/poller.c", "timerfd_create(CLOCK_BOOTTIME,",
		"timerfd_create(CLOCK_MONOTONIC,"),
	("what the clock does not show is not noticed", 29, "src/loop.c", "if (!same)\n\t\tl->leap_ns", "if (false)\n\t\tl->leap_ns"),
	("a leap while votes are out does not count", 29, HOLD, "l->round.leapt_ns = rl_time_add", "(void)rl_time_add"),
	("a clock that is set back is a leap, too", 29, "src/loop.c", "return moved_ns > NOISE_NS ?", "return moved_ns != 0 ?"),
	("each interruption is a leap", 29, "src/loop.c", "READINGS = 4", "READINGS = 0"),
	("an offer from before a leap counts", 29, HOLD, "l->queue.offered_ns = e->now_ns + 1;", ";"),
	("nobody wakes up when the clock is set", 29, "src/os/poller.c", "(p->set_fd = open_set()) >= 0", "false"),
	# ---- 30 ----
	("extensions are not counted", 30, HOLD, "\t\tl->extends++;\n", "\t\t;\n"),
	("extensions are not limited in time", 30, HOLD, "uint64_t room = rl_time_sub(l->hold.hold_until_ns, now);",
		"uint64_t room = RL_TIME_NEVER;"),
	# ---- 0 ----
	("renewal at the cap goes on", 0, HOLD,
		"bool renews = r->renew_ns > 0 && !rl_hold_is_capped(l);", "bool renews = r->renew_ns > 0;"),
	("reconnects up to 60 s apart", 0, BACKOFF, "#define LAST_NS (3000 * RL_NS_PER_MS)",
		"#define LAST_NS (60000 * RL_NS_PER_MS)"),
	("a connect may take 60 s", 0, LINK, "#define CONNECT_TIMEOUT_NS (3000 * RL_NS_PER_MS)",
		"#define CONNECT_TIMEOUT_NS (60000 * RL_NS_PER_MS)"),
	("a stall may take 60 s", 0, LINK, "#define STALL_LIMIT_NS (5000 * RL_NS_PER_MS)",
		"#define STALL_LIMIT_NS (60000 * RL_NS_PER_MS)"),
	("a late SET is feared for no time", 0, LEDGER, "#define GHOST_LIFE_NS (60000 * RL_NS_PER_MS)",
		"#define GHOST_LIFE_NS (0 * RL_NS_PER_MS)"),
]


def hand_written():
	ret = []
	for name, defect, *rest in [*ROWS, *OWN_ROWS, *WAITING_ROWS, *HANDING_ROWS, *MANY_ROWS, *SLOTS_ROWS, *GUARD_ROWS, *SHARED_ROWS, *SETNX_ROWS, *SETS_ROWS]:
		edits = [(rest[i], replace_once(rest[i + 1], rest[i + 2])) for i in range(0, len(rest), 3)]
		ret.append(Mutant(name, "hand", str(defect), edits, rest[0]))
	return ret
