/* SPDX-License-Identifier: MIT */
#include "core/lock.h"

#include <assert.h>
#include <string.h>

#include "core/contend.h"
#include "core/finding.h"

#define NEVER UINT64_MAX

/* A further attempt is not worth beginning with less time than this, and does not begin sooner: what is
 * retried at once, without time in between, would never end. */
#define MIN_ROUND_NS RL_NS_PER_MS

/* Parts of a whole: a renewal begins sooner by up to this part of its time, and at multiples of that part of
 * it; and it is waited for, where the node timeout is less, this part of the validity that is left. */
enum { EARLY_RENEWAL = 4, COMMON_TIMES = 256, RENEWAL_PATIENCE = 8 };

uint32_t rl_all_nodes(const struct rl_lock *l)
{
	return (uint32_t)((1ull << l->rules.node_count) - 1);
}

struct rl_count rl_count_votes(const struct rl_lock *l, unsigned *fatal)
{
	struct rl_count count = {.nodes = l->rules.node_count, .quorum = l->rules.quorum};
	unsigned by_kind[REDLOCK_KIND_FATAL + 1] = {0};
	for (unsigned i = 0; i < l->rules.node_count; i++)
		by_kind[redlock_vote_kind(l->votes[i].code)]++;
	count.yes = by_kind[REDLOCK_KIND_YES];
	count.no = by_kind[REDLOCK_KIND_NO];
	count.out = by_kind[REDLOCK_KIND_PENDING];
	*fatal = by_kind[REDLOCK_KIND_FATAL];
	return count;
}

uint64_t rl_round_validity_end(const struct rl_lock *l)
{
	uint64_t drift = rl_drift(l->round.ttl_ns, l->rules.drift_ppm, l->rules.drift_base_ns);
	return rl_validity_end(l->round.t0_ns, l->round.ttl_ns, drift);
}

/* A random delay, at most half of the time that is left. */
static uint64_t retry_at(const struct rl_lock *l, const struct rl_event *e, uint64_t left)
{
	uint64_t random = e->entropy % (l->rules.retry_max_ns - l->rules.retry_min_ns + 1);
	uint64_t delay = rl_time_min(l->rules.retry_min_ns + random, left / 2);
	return rl_time_add(e->now_ns, rl_time_max(delay, MIN_ROUND_NS));
}

/* ---- rounds ---- */

uint32_t rl_next_seq(struct rl_lock *l)
{
	l->last_seq += l->last_seq != UINT32_MAX ? 1 : 2; /* 0 is nobody's */
	return l->last_seq;
}

static void open_round(struct rl_lock *l, enum redlock_operation op, uint64_t now, uint64_t until,
                       uint64_t ttl, struct rl_effects *fx)
{
	assert(!l->round.open || l->round.background); /* one caller at a time */
	if (l->round.open)
		l->renew_at_ns = now; /* the caller's operation takes the renewal's place: renew behind it */
	l->round = (struct rl_round){
	    .operation = op,
	    .open = true,
	    .seq = rl_next_seq(l),
	    .t0_ns = now,
	    .deadline_ns = rl_time_min(rl_time_add(now, l->rules.node_timeout_ns), until),
	    .ttl_ns = ttl,
	};
	memset(l->votes, 0, sizeof l->votes);
	fx->send = op;
	fx->nodes = rl_all_nodes(l);
	fx->seq = l->round.seq;
	fx->ttl_ns = ttl;
}

static void finish(struct rl_lock *l, int result, struct rl_effects *fx)
{
	l->round.open = false;
	if (l->round.background)
		return;
	fx->done = l->round.operation;
	fx->result = result;
}

/* At the deadline of a round, silence is a vote. */
static void silence_votes(struct rl_lock *l)
{
	for (unsigned i = 0; i < l->rules.node_count; i++)
		if (l->votes[i].code == REDLOCK_VOTE_PENDING)
			l->votes[i].code = REDLOCK_VOTE_TIMEOUT;
}

/* ---- acquire ---- */

void rl_begin_attempt(struct rl_lock *l, uint64_t now, struct rl_effects *fx)
{
	uint64_t until = l->rules.wait_ns == 0 ? NEVER : l->wait_until_ns;
	l->phase = RL_ACQUIRING;
	l->claims = true;
	l->owed = rl_all_nodes(l);
	l->refused = 0;
	rl_finding_forget(l);
	open_round(l, REDLOCK_OP_ACQUIRE, now, until, l->rules.ttl_ns, fx);
	l->claim_seq = l->round.seq;
}

/* The nodes that said that this attempt made their key. */
static uint32_t proven(const struct rl_lock *l)
{
	uint32_t nodes = 0;
	for (unsigned i = 0; i < l->rules.node_count; i++)
		nodes |= (uint32_t)(l->votes[i].code == REDLOCK_VOTE_YES) << i;
	return nodes;
}

/* What an attempt may have left goes from every node, also from those that said no or nothing. But a key with
 * a caller's own value may be that of another acquisition of the same caller, an earlier or a later one: it
 * is ours to delete only where it is known that this attempt made it. A node that has not said so yet finds
 * out by itself (net/ask.c). */
void rl_give_back(struct rl_lock *l, struct rl_effects *fx)
{
	bool own = l->rules.own_token;
	if (!l->claims)
		return;
	l->claims = false;
	fx->send = REDLOCK_OP_RELEASE;
	fx->nodes = own ? l->owed : rl_all_nodes(l);
	fx->seq = 0;
	fx->owed = own ? l->owed & proven(l) : l->owed;
	l->owed = 0;
}

static void end_acquire(struct rl_lock *l, int result, struct rl_effects *fx)
{
	l->phase = RL_IDLE;
	l->quorum_until_ns = 0;
	finish(l, result, fx);
}

static uint64_t patience(struct rl_lock *l, int result)
{
	if (result != REDLOCK_E_NOQUORUM) {
		l->quorum_until_ns = 0;
		return l->wait_until_ns;
	}
	if (l->quorum_until_ns == 0)
		l->quorum_until_ns = rl_time_add(l->round.t0_ns, l->rules.noquorum_wait_ns);
	return rl_time_min(l->wait_until_ns, l->quorum_until_ns);
}

/* What an attempt proves. One that the end of the wait cut off before its votes were in proves less than the
 * one before it: a lock that was busy all the time is not "no quorum" because of a last try that was too
 * short. */
static int verdict_of(struct rl_lock *l, const struct rl_event *e, int result)
{
	bool cut_off = l->round.deadline_ns < rl_time_add(l->round.t0_ns, l->rules.node_timeout_ns);
	bool silent = result == REDLOCK_E_NOQUORUM && e->now_ns >= l->round.deadline_ns;
	if (!cut_off || !silent || l->verdict == 0)
		l->verdict = result;
	return l->verdict;
}

/* The attempt was not granted: give back, then try again after a random delay if there is time for it. The
 * delay is at most half of what is left, so that a last try is made before the deadline and none beyond it;
 * the other half must be enough for a round as long as the last one. */
void rl_fail_attempt(struct rl_lock *l, const struct rl_event *e, int result, bool hopeless,
                     struct rl_effects *fx)
{
	result = verdict_of(l, e, result);
	rl_give_back(l, fx);
	uint64_t left = rl_time_sub(patience(l, result), e->now_ns);
	uint64_t round = rl_time_max(MIN_ROUND_NS, rl_time_sub(e->now_ns, l->round.t0_ns));
	if (hopeless || l->rules.own_token || left / 2 < round) {
		end_acquire(l, result, fx);
		return;
	}
	l->round.open = false;
	l->phase = RL_PAUSED;
	l->retry_at_ns = retry_at(l, e, left);
}

/* When to renew: as long before the end of validity as it is after a grant, so that an extend by hand, to a
 * shorter or a longer TTL, moves it along. Up to a quarter of its time sooner, by chance, so that locks that
 * were acquired together are not renewed together for ever; but at times that locks have in common, so that
 * what is due about now shares its system calls. */
static uint64_t renewal_at(const struct rl_rules *r, uint64_t valid_until, uint64_t entropy)
{
	uint64_t granted = r->ttl_ns - rl_drift(r->ttl_ns, r->drift_ppm, r->drift_base_ns);
	uint64_t sooner = entropy % (r->renew_ns / EARLY_RENEWAL + 1);
	uint64_t at = rl_time_sub(valid_until, granted - r->renew_ns + sooner);
	return at - at % (r->renew_ns / COMMON_TIMES);
}

/* Until when the lock is held now. At the cap there is nothing to renew for. */
static void hold(struct rl_lock *l, const struct rl_event *e, uint64_t valid_until)
{
	const struct rl_rules *r = &l->rules;
	bool capped = l->round.ttl_ns < r->ttl_ns && l->round.background;
	bool renews = r->renew_ns > 0 && !capped;
	if (valid_until > l->valid_until_ns)
		l->danger_at_ns = r->danger_ns > 0 ? rl_time_sub(valid_until, r->danger_ns) : NEVER;
	l->renew_at_ns = renews ? renewal_at(r, valid_until, e->entropy) : NEVER;
	l->valid_until_ns = valid_until;
	l->phase = RL_HELD;
}

void rl_grant(struct rl_lock *l, const struct rl_event *e, uint64_t valid_until, struct rl_effects *fx)
{
	const struct rl_rules *r = &l->rules;
	l->claims = false;
	l->extends = 0;
	l->hold_until_ns = r->max_hold_ns > 0 ? rl_time_add(l->round.t0_ns, r->max_hold_ns) : NEVER;
	l->quorum_until_ns = 0;
	hold(l, e, valid_until);
	finish(l, 0, fx);
}

static void decide_acquire(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	unsigned fatal;
	struct rl_count count = rl_count_votes(l, &fatal);
	uint64_t valid_until = rl_round_validity_end(l);
	enum rl_tally tally = rl_tally_claim(count);
	if (l->phase != RL_ACQUIRING) {
		rl_contend_decide(l, e, fx);
		return;
	}
	switch (tally) {
	case RL_UNDECIDED:
		break;
	case RL_WON:
		if (valid_until > rl_time_add(e->now_ns, l->rules.min_validity_ns))
			rl_grant(l, e, valid_until, fx);
		else
			rl_fail_attempt(l, e, REDLOCK_E_BUSY, false, fx);
		break;
	case RL_REFUSED:
		rl_contend_begin(l, e, fx);
		break;
	case RL_NOQUORUM:
		rl_fail_attempt(l, e, REDLOCK_E_NOQUORUM, fatal > l->rules.node_count - l->rules.quorum, fx);
		break;
	}
}

/* ---- loss, extend ---- */

static void lose(struct rl_lock *l, struct rl_effects *fx)
{
	l->phase = RL_LOST;
	l->valid_until_ns = 0;
	fx->lost = true;
	if (l->round.open && l->round.operation == REDLOCK_OP_EXTEND)
		finish(l, REDLOCK_E_LOST, fx);
}

/* The TTL that an extend may ask for under the caps; 0: none. */
static uint64_t capped_ttl(const struct rl_lock *l, uint64_t ttl, uint64_t now)
{
	if (l->phase != RL_HELD)
		return ttl;
	if (l->rules.max_extends > 0 && l->extends >= l->rules.max_extends)
		return 0;
	uint64_t room = rl_time_sub(l->hold_until_ns, now);
	if (room >= ttl)
		return ttl;
	uint64_t drift = rl_drift(room, l->rules.drift_ppm, l->rules.drift_base_ns);
	room -= room % RL_NS_PER_MS; /* the wire counts milliseconds */
	return rl_validity_end(now, room, drift) > l->valid_until_ns ? room : 0;
}

static int begin_extend(struct rl_lock *l, uint64_t now, uint64_t asked, bool background,
                        struct rl_effects *fx)
{
	uint64_t ttl = capped_ttl(l, asked, now);
	if (ttl == 0)
		return REDLOCK_E_LIMIT;
	open_round(l, REDLOCK_OP_EXTEND, now, l->phase == RL_HELD ? l->valid_until_ns : NEVER, ttl, fx);
	l->round.background = background;
	return 0;
}

static void confirm_extend(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	uint64_t valid_until = rl_time_max(l->valid_until_ns, rl_round_validity_end(l));
	if (valid_until <= e->now_ns) { /* only without an acquire before: a held lock is lost by then */
		finish(l, REDLOCK_E_NOQUORUM, fx);
		return;
	}
	if (l->phase == RL_HELD) {
		l->extends++;
	} else {
		l->extends = 0;
		l->hold_until_ns = NEVER;
		l->owed = rl_all_nodes(l);
		l->claim_seq = 0;
	}
	hold(l, e, valid_until);
	finish(l, 0, fx);
}

/* The old validity stands. A renewal is tried again soon, while there is time. */
static void fail_extend(struct rl_lock *l, const struct rl_event *e, int result, struct rl_effects *fx)
{
	if (l->round.background)
		l->renew_at_ns = retry_at(l, e, rl_time_sub(l->valid_until_ns, e->now_ns));
	finish(l, result, fx);
}

/* A quorum that says "not ours" has let somebody else in, or will: the clock no longer matters. */
static void decide_extend(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	unsigned fatal;
	struct rl_count count = rl_count_votes(l, &fatal);
	bool held = l->phase == RL_HELD;
	enum rl_tally tally = held ? rl_tally_claim(count) : rl_tally_check(count);
	if (tally == RL_WON)
		confirm_extend(l, e, fx);
	else if (held && count.no >= count.quorum)
		lose(l, fx);
	else if (tally != RL_UNDECIDED)
		fail_extend(l, e, !held && tally == RL_REFUSED ? REDLOCK_E_GONE : REDLOCK_E_NOQUORUM, fx);
}

/* ---- release, query ---- */

static const int results[] = {
    [RL_WON] = 0, [RL_REFUSED] = REDLOCK_E_GONE, [RL_NOQUORUM] = REDLOCK_E_NOQUORUM};

static void decide_release(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	(void)e;
	unsigned fatal;
	enum rl_tally tally = rl_tally_release(rl_count_votes(l, &fatal));
	if (tally == RL_UNDECIDED)
		return;
	l->phase = RL_IDLE;
	finish(l, results[tally], fx);
}

/* Who asks with a token wants to know whether it holds; who asks without wants to see every node. */
static void decide_query(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	(void)e;
	unsigned fatal;
	struct rl_count count = rl_count_votes(l, &fatal);
	enum rl_tally tally = rl_tally_check(count);
	if (tally == RL_UNDECIDED || (count.out > 0 && !l->rules.own_token))
		return;
	finish(l, results[tally], fx);
}

/* An open round is one of these four. */
static void decide(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	static void (*const decisions[])(struct rl_lock *, const struct rl_event *, struct rl_effects *) = {
	    [REDLOCK_OP_ACQUIRE] = decide_acquire,
	    [REDLOCK_OP_EXTEND] = decide_extend,
	    [REDLOCK_OP_RELEASE] = decide_release,
	    [REDLOCK_OP_QUERY] = decide_query,
	};
	decisions[l->round.operation](l, e, fx);
}

/* ---- events ---- */

static bool renewal_due(const struct rl_lock *l, uint64_t now)
{
	assert(!l->round.open || l->round.background);
	return l->phase == RL_HELD && (now >= l->renew_at_ns || l->round.open);
}

/* At the cap there is no further renewal: the clock runs out. Nobody waits for a renewal, and a connection
 * answers in order: one that is asked again soon is answered no sooner, and servers that are slow would have
 * more and more to do. */
static void begin_renewal(struct rl_lock *l, uint64_t now, struct rl_effects *fx)
{
	uint64_t patience = rl_time_sub(l->valid_until_ns, now) / RENEWAL_PATIENCE;
	l->renew_at_ns = NEVER;
	if (begin_extend(l, now, l->rules.ttl_ns, true, fx) == 0)
		l->round.deadline_ns = rl_time_max(l->round.deadline_ns, rl_time_add(now, patience));
}

static int on_acquire(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	if (l->phase != RL_IDLE)
		return REDLOCK_E_STATE;
	l->wait_until_ns = rl_time_add(e->now_ns, l->rules.wait_ns);
	l->quorum_until_ns = 0;
	l->verdict = 0;
	l->look.pause_ns = 0;
	rl_begin_attempt(l, e->now_ns, fx);
	return 0;
}

static int on_extend(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	if (l->phase == RL_LOST)
		return REDLOCK_E_LOST;
	bool attached = l->phase == RL_IDLE && l->rules.own_token;
	if (l->phase != RL_HELD && !attached)
		return REDLOCK_E_STATE;
	/* One that takes the place of a renewal asks for no less than the renewal would. */
	uint64_t ttl = renewal_due(l, e->now_ns) ? rl_time_max(e->ttl_ns, l->rules.ttl_ns) : e->ttl_ns;
	return begin_extend(l, e->now_ns, ttl, false, fx);
}

static int on_release(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	bool attached = l->phase == RL_IDLE && l->rules.own_token;
	if (l->phase != RL_HELD && l->phase != RL_LOST && !attached)
		return REDLOCK_E_STATE;
	l->phase = RL_RELEASING;
	l->valid_until_ns = 0;
	open_round(l, REDLOCK_OP_RELEASE, e->now_ns, NEVER, 0, fx);
	fx->owed = attached ? rl_all_nodes(l) : l->owed;
	l->owed = 0;
	return 0;
}

/* A query begins at the end of a step in which nothing else is out: queries in a loop must not starve
 * renewal. From now on somebody waits for the renewal. */
static int on_query(struct rl_lock *l, uint64_t now)
{
	l->query_waits = true;
	rl_finding_forget(l);
	if (l->round.open)
		l->round.deadline_ns = rl_time_min(l->round.deadline_ns, rl_time_add(now, l->rules.node_timeout_ns));
	return 0;
}

static void end_waiting_query(struct rl_lock *l, int result, struct rl_effects *fx)
{
	l->query_waits = false;
	fx->done = REDLOCK_OP_QUERY;
	fx->result = result;
}

static int on_cancel(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	rl_give_back(l, fx);
	if (rl_lock_acquires(l))
		end_acquire(l, e->result, fx);
	else if (l->query_waits)
		end_waiting_query(l, e->result, fx);
	else if (rl_lock_busy(l) && l->phase != RL_RELEASING)
		finish(l, e->result, fx);
	return 0;
}

/* Whether a node that voted so may have the key. An error reply means that the SET was not executed. */
static bool key_may_exist(enum redlock_vote_code vote)
{
	return vote == REDLOCK_VOTE_YES || vote == REDLOCK_VOTE_TIMEOUT || vote == REDLOCK_VOTE_CLOSED ||
	       vote == REDLOCK_VOTE_GARBAGE || vote == REDLOCK_VOTE_DUPLICATE;
}

/* Where INFO is forbidden, one server under two names is found by what it has: a fresh token is not there
 * where it was refused, unless the server took it under another name, or was asked for it again. Not so with
 * a caller's own value. */
static bool has_what_it_refused(struct rl_lock *l, const struct rl_event *e, enum redlock_vote_code code)
{
	uint32_t bit = 1u << e->node;
	bool later = (int32_t)(e->seq - l->claim_seq) > 0; /* not of the token before */
	if (code == REDLOCK_VOTE_NO && e->seq == l->claim_seq && e->seq != 0 && !l->rules.own_token)
		l->refused |= bit;
	return code == REDLOCK_VOTE_YES && (l->refused & bit) != 0 && later && !e->identified;
}

static int on_reply(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	enum redlock_vote_code code = rl_finding_vote(e);
	struct redlock_vote *vote = &l->votes[e->node];
	bool current = e->seq == l->round.seq;
	assert(e->node < l->rules.node_count && code != REDLOCK_VOTE_PENDING);
	fx->twin = has_what_it_refused(l, e, code);
	if (e->seq == l->look.seq) {
		rl_contend_found(l, e, fx);
		return 0;
	}
	if (fx->twin && l->round.operation == REDLOCK_OP_EXTEND)
		code = REDLOCK_VOTE_DUPLICATE;
	if (current && vote->code != REDLOCK_VOTE_PENDING && vote->code != REDLOCK_VOTE_TIMEOUT)
		return 0; /* a node has one vote */
	if (e->seq == l->claim_seq && !key_may_exist(code))
		l->owed &= ~(1u << e->node); /* also long after the grant */
	if (!current)
		return 0; /* a late answer to an operation that was decided long ago */
	*vote = (struct redlock_vote){code, rl_time_sub(e->now_ns, l->round.t0_ns)};
	if (l->round.operation == REDLOCK_OP_QUERY)
		rl_finding_keep(l, e);
	bool acquire = l->round.operation == REDLOCK_OP_ACQUIRE;
	if (!l->round.open || e->more)
		return 0;
	if (acquire && code == REDLOCK_VOTE_DUPLICATE)
		rl_fail_attempt(l, e, REDLOCK_E_DUPLICATE, true, fx);
	else
		decide(l, e, fx);
	return 0;
}

static void tick_held(struct rl_lock *l, uint64_t now, struct rl_effects *fx)
{
	if (now >= l->danger_at_ns) {
		l->danger_at_ns = NEVER;
		fx->danger = true;
	}
	if (now >= l->renew_at_ns && !l->round.open)
		begin_renewal(l, now, fx);
}

/* A process that was stopped may come here long after its time. */
static void tick_paused(struct rl_lock *l, uint64_t now, struct rl_effects *fx)
{
	if (now >= patience(l, l->verdict))
		end_acquire(l, l->verdict, fx);
	else
		rl_begin_attempt(l, now, fx);
}

static int on_tick(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	if (l->round.open && e->now_ns >= l->round.deadline_ns) {
		silence_votes(l);
		decide(l, e, fx);
	}
	if (l->phase == RL_PAUSED && e->now_ns >= l->retry_at_ns) {
		assert(fx->send == REDLOCK_OP_NONE); /* a pause that begins in this step does not end in it */
		tick_paused(l, e->now_ns, fx);
	}
	if (l->phase == RL_HELD)
		tick_held(l, e->now_ns, fx);
	return 0;
}

void rl_lock_init(struct rl_lock *l, const struct rl_rules *rules)
{
	assert(rules->node_count >= 1 && rules->node_count <= REDLOCK_MAX_NODES);
	assert(rules->quorum >= rl_majority(rules->node_count) && rules->quorum <= rules->node_count);
	assert(rules->retry_min_ns <= rules->retry_max_ns);
	memset(l, 0, sizeof *l);
	l->rules = *rules;
	l->danger_at_ns = l->renew_at_ns = l->hold_until_ns = NEVER;
}

static int dispatch(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	switch (e->kind) {
	case RL_EV_ACQUIRE:
		return on_acquire(l, e, fx);
	case RL_EV_EXTEND:
		return on_extend(l, e, fx);
	case RL_EV_RELEASE:
		return on_release(l, e, fx);
	case RL_EV_QUERY:
		return on_query(l, e->now_ns);
	case RL_EV_CANCEL:
		return on_cancel(l, e, fx);
	case RL_EV_REPLY:
		return on_reply(l, e, fx);
	case RL_EV_TICK:
		return on_tick(l, e, fx);
	}
	return 0;
}

int rl_lock_step(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	memset(fx, 0, sizeof *fx);
	bool asks = e->kind != RL_EV_CANCEL && e->kind != RL_EV_REPLY && e->kind != RL_EV_TICK;
	bool busy = rl_lock_busy(l);
	/* Validity ends by the clock, whatever the event is: an answer that comes later cannot bring it back. */
	if (l->phase == RL_HELD && e->now_ns >= l->valid_until_ns)
		lose(l, fx);
	uint32_t extends = l->extends;
	int error = asks && busy ? REDLOCK_E_STATE : dispatch(l, e, fx);
	/* Renewals go before a waiting query, but not two in a row: neither starves the other. */
	bool renewed = l->extends != extends;
	if (l->query_waits && !l->round.open && renewal_due(l, e->now_ns) && !renewed)
		begin_renewal(l, e->now_ns, fx);
	if (l->query_waits && !l->round.open) {
		l->query_waits = false;
		open_round(l, REDLOCK_OP_QUERY, e->now_ns, NEVER, 0, fx);
	}
	return error;
}

uint64_t rl_lock_deadline(const struct rl_lock *l)
{
	uint64_t next = l->round.open ? l->round.deadline_ns : NEVER;
	if (l->phase == RL_PAUSED)
		next = rl_time_min(next, l->retry_at_ns);
	if (l->phase == RL_HELD) {
		next = rl_time_min(next, rl_time_min(l->valid_until_ns, l->danger_at_ns));
		if (!l->round.open)
			next = rl_time_min(next, l->renew_at_ns);
	}
	return next;
}

uint64_t rl_lock_valid_until(const struct rl_lock *l, uint64_t now_ns)
{
	return l->phase == RL_HELD && now_ns < l->valid_until_ns ? l->valid_until_ns : 0;
}

bool rl_lock_acquires(const struct rl_lock *l)
{
	return l->phase == RL_ACQUIRING || l->phase == RL_PAUSED || l->phase >= RL_LOOKING;
}

bool rl_lock_busy(const struct rl_lock *l)
{
	return rl_lock_acquires(l) || l->query_waits || (l->round.open && !l->round.background);
}
