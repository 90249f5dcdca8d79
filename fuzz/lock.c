/* SPDX-License-Identifier: MIT */
/*
 * The core, fed with any sequence of events that its callers can make, under any rules that the library
 * accepts. tests/unit/ledger.c keeps its own books and says what must hold after each step: a deadline never
 * later than start + TTL - drift, grants by a quorum of this round's votes alone, releases wherever a key may
 * be, a loss that stays a loss, calls that end once, time that goes on.
 *
 * Input: the options of the lock (struct redlock_lock_options), then events: one byte that says which, and
 * what it needs.
 */
#include "fuzz.h"

#include "core/fence.h"
#include "core/kinds.h"
#include "ledger.h"
#include "options.h"

enum { MOST_EVENTS = 400 };

#define TIME_LIMIT_NS ((uint64_t)1 << 62) /* a clock that counts since boot does not get there */

static void report(const struct ledger *ledger, const char *what, int line, const char *trace)
{
	(void)ledger;
	fprintf(stderr, "ledger.c:%d: not true: %s\n%s\n", line, what, trace);
	abort();
}

/* ---- rules ---- */

/* A duration in milliseconds: small ones are as likely as any. */
static uint64_t any_ms(struct feed *f)
{
	unsigned kind = feed_below(f, 4);
	if (kind == 0)
		return 0;
	return kind == 1 ? feed_byte(f) : kind == 2 ? (uint64_t)feed_byte(f) * 100 : feed_number(f);
}

/* False: the library would refuse these. Whatever it accepts must be safe. */
static bool make_rules(struct feed *f, struct rl_rules *ret)
{
	struct redlock_lock_options o;
	redlock_lock_options_init(&o);
	unsigned nodes = 1 + feed_below(f, REDLOCK_MAX_NODES);
	unsigned quorum = rl_quorum_least(nodes) + feed_below(f, nodes - rl_quorum_least(nodes) + 1);
	unsigned given = feed_byte(f); /* which options are not the default */
	if (given & 1) {
		o.token = "own";
		o.token_len = 3;
	}
	o.ttl_ms = given & 2 ? REDLOCK_MIN_TTL_MS + any_ms(f) : 1000;
	o.wait_ms = any_ms(f);
	if (given & 4)
		o.noquorum_wait_ms = any_ms(f);
	if (given & 8)
		o.min_validity_ms = any_ms(f);
	if (given & 16) {
		o.retry_min_ms = any_ms(f);
		o.retry_max_ms = rl_time_add(o.retry_min_ms, any_ms(f));
	}
	o.renew_ms = any_ms(f);
	if (given & 32)
		o.danger_ms = any_ms(f);
	if (given & 64)
		o.max_hold_ms = any_ms(f);
	if (given & 128)
		o.max_extends = feed_byte(f);
	uint32_t timeout_ms = (uint32_t)rl_time_min(any_ms(f), UINT32_MAX);
	uint32_t drift_ppm = feed_bool(f) ? 10000 : (uint32_t)feed_number(f);
	unsigned last = feed_byte(f);
	uint32_t drift_ms = (last & 1) != 0 ? 2 : feed_byte(f);
	o.fence = (last & 2) != 0;
	const struct rl_wish wish = {.options = &o,
	                             .guard = REDLOCK_GUARD_AUTO,
	                             .node_count = nodes,
	                             .quorum = quorum,
	                             .node_timeout_ms = timeout_ms,
	                             .drift_ppm = drift_ppm,
	                             .drift_ms = drift_ms};
	char why[256];
	return rl_options_make_rules(ret, &wish, why, sizeof why) == 0;
}

/* ---- events ---- */

static void step(struct ledger *l, struct feed *f, struct rl_event event)
{
	event.around.entropy = l->fx.send.operation != REDLOCK_OP_NONE ? feed_number(f) : feed_byte(f);
	ledger_step(l, event);
}

static enum redlock_vote_code any_vote(struct feed *f)
{
	unsigned code = 1 + feed_below(f, REDLOCK_VOTE_COUNT - 1);
	return code == REDLOCK_VOTE_TIMEOUT ? REDLOCK_VOTE_CLOSED : (enum redlock_vote_code)code;
}

/* With a number, if the lock has one: which one, the input says. */
static struct rl_vote vote_of(const struct ledger *l, enum redlock_vote_code code, unsigned which)
{
	struct rl_vote vote = {.code = code};
	if (l->rules.policy != &rl_kinds[RL_KIND_FENCED] || code != REDLOCK_VOTE_YES)
		return vote;
	bool raised = l->lock.phase == RL_RAISING && which % 4 != 0;
	vote.number = raised ? (int64_t)l->lock.numbers->fence : (int64_t)(which % 8);
	return vote;
}

/* One node answers the round that is out, or one of those before it. */
static void answer(struct ledger *l, struct feed *f, enum redlock_vote_code vote)
{
	unsigned where = feed_byte(f);
	uint32_t seq = l->seq - (where >> 5) % LEDGER_ROUNDS;
	unsigned node = where % 32 % l->lock.rules->node_count;
	if (ledger_may_answer(l, seq, node))
		step(l, f,
		     (struct rl_event){.kind = RL_EV_REPLY,
		                       .reply.seq = seq,
		                       .node = node,
		                       .reply.vote = vote_of(l, vote, where >> 5)});
}

/* All nodes of a mask answer the round that is out in one moment, or one after another. */
static void answer_all(struct ledger *l, struct feed *f, enum redlock_vote_code vote, bool at_once)
{
	uint32_t nodes = 0;
	uint32_t seq = l->seq;
	for (unsigned i = 0; i < l->lock.rules->node_count; i++)
		nodes |= (uint32_t)ledger_may_answer(l, seq, i) << i;
	nodes &= at_once ? (uint32_t)feed_u64(f) : UINT32_MAX;
	while (nodes != 0) {
		unsigned node = (unsigned)__builtin_ctz(nodes);
		nodes &= nodes - 1;
		ledger_step(l, (struct rl_event){.kind = RL_EV_REPLY,
		                                 .reply.seq = seq,
		                                 .node = node,
		                                 .reply.vote = vote_of(l, vote, at_once ? node : 1),
		                                 .reply.more = at_once && nodes != 0});
	}
}

struct state {
	struct rl_lock lock;
	struct rl_ballot votes[REDLOCK_MAX_NODES];
};

static struct state state_of(const struct ledger *l)
{
	struct state state = {.lock = l->lock};
	memcpy(state.votes, l->ballots, sizeof state.votes);
	return state;
}

static bool same(const struct state *before, const struct ledger *l)
{
	const struct rl_lock *a = &before->lock, *b = &l->lock;
	return memcmp(before->votes, l->ballots, sizeof before->votes) == 0 && a->phase == b->phase &&
	       a->round.seq == b->round.seq && a->round.open == b->round.open && a->claim.owed == b->claim.owed &&
	       a->valid_until_ns == b->valid_until_ns && a->renew_at_ns == b->renew_at_ns &&
	       a->warned == b->warned && a->wait.retry_at_ns == b->wait.retry_at_ns && a->extends == b->extends;
}

/* An answer to a round that there never was. It changes nothing. */
static void answer_nothing(struct ledger *l, struct feed *f)
{
	uint32_t seq = l->seq + 1 + feed_byte(f);
	struct state before = state_of(l);
	ledger_step(l, (struct rl_event){.kind = RL_EV_REPLY,
	                                 .reply.seq = seq,
	                                 .node = feed_below(f, l->lock.rules->node_count),
	                                 .reply.vote.code = any_vote(f)});
	must(l->before.phase == RL_HELD || same(&before, l));
}

/* A second answer to the round that is out. The first one stands. */
static void answer_again(struct ledger *l, struct feed *f)
{
	unsigned node = feed_below(f, l->lock.rules->node_count);
	bool answered = l->seq != 0 && !ledger_may_answer(l, l->seq, node);
	struct state before = state_of(l);
	if (!answered || l->votes[node] == REDLOCK_VOTE_PENDING)
		return;
	ledger_step(l,
	            (struct rl_event){
	                .kind = RL_EV_REPLY, .reply.seq = l->seq, .node = node, .reply.vote.code = any_vote(f)});
	must(l->before.phase == RL_HELD || same(&before, l));
}

/* After a few TICKs at one time, the next one is due later: the loop that drives it goes on. */
static void tick(struct ledger *l, struct feed *f)
{
	for (unsigned i = 0; i < 5; i++) {
		step(l, f, (struct rl_event){.kind = RL_EV_TICK});
		if (rl_lock_deadline(&l->lock) > l->now_ns)
			return;
	}
	ledger_stuck(l);
}

static void pass(struct ledger *l, uint64_t ns)
{
	l->now_ns = rl_time_min(rl_time_add(l->now_ns, ns), TIME_LIMIT_NS);
}

static void pass_until_deadline(struct ledger *l, uint64_t late_ns)
{
	uint64_t deadline = rl_lock_deadline(&l->lock);
	if (deadline < TIME_LIMIT_NS)
		l->now_ns = rl_time_max(l->now_ns, deadline);
	pass(l, late_ns);
}

static void call(struct ledger *l, struct feed *f, enum rl_event_kind kind)
{
	uint64_t ttl_ms = kind == RL_EV_EXTEND ? any_ms(f) : 0;
	if (!rl_options_may_extend(l->lock.rules, ttl_ms))
		return; /* the library refuses it */
	bool probe = kind == RL_EV_QUERY && feed_bool(f);
	step(l, f,
	     (struct rl_event){.kind = kind,
	                       .asked.probe = probe,
	                       .asked.ttl_ns = rl_time_ms(ttl_ms),
	                       .asked.result = REDLOCK_E_CANCELLED});
}

static void event(struct ledger *l, struct feed *f)
{
	static const enum rl_event_kind calls[] = {RL_EV_ACQUIRE, RL_EV_EXTEND, RL_EV_RELEASE, RL_EV_QUERY,
	                                           RL_EV_CANCEL};
	unsigned which = feed_below(f, 19);
	enum redlock_vote_code vote = which == 5 || which == 8    ? REDLOCK_VOTE_YES
	                              : which == 6 || which == 9  ? REDLOCK_VOTE_NO
	                              : which == 7 || which == 10 ? any_vote(f)
	                                                          : REDLOCK_VOTE_PENDING;
	if (which < COUNT(calls))
		call(l, f, calls[which]);
	else if (which <= 7)
		answer(l, f, vote);
	else if (which <= 10)
		answer_all(l, f, vote, which == 10);
	else if (which == 11)
		answer_nothing(l, f);
	else if (which == 13) /* the deadline is met */
		pass_until_deadline(l, 0);
	else if (which == 14) /* the process was stopped */
		pass_until_deadline(l, rl_time_ms(any_ms(f)));
	else if (which == 15) /* time passes, and nobody looks at the clock */
		pass(l, rl_time_ms(feed_byte(f)));
	else if (which == 16)
		pass(l, feed_number(f));
	else if (which == 18)
		answer_again(l, f);
	if (which >= 12 && which <= 14)
		tick(l, f);
	if (which != 17)
		return;
	pass_until_deadline(l, 0); /* to the nanosecond before the deadline */
	l->now_ns = l->now_ns > l->event.now_ns ? l->now_ns - 1 : l->now_ns;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct feed feed = {bytes, size};
	struct rl_rules rules;
	struct ledger ledger = {.fail = report};
	if (!make_rules(&feed, &rules))
		return 0;
	ledger_begin(&ledger, &rules, 1 + feed_byte(&feed));
	for (unsigned i = 0; i < MOST_EVENTS && feed.left > 0; i++)
		event(&ledger, &feed);
	return 0;
}
