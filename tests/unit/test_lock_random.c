/* SPDX-License-Identifier: MIT */
/*
 * Random events in random order, and what must hold after every step, whatever came before. The test keeps
 * its own books of tokens, votes and calls, and does its own arithmetic. `unit_lock_random SEED` runs one
 * seed.
 */
#include "core/trace.h"
#include "drive.h"
#include "wait.h"

#define NODES_MAX 7

struct world {
	uint64_t seed;
	struct rng rng;
	struct rl_lock lock;
	struct rl_lock before; /* the state before the last step */
	struct rl_event event;
	struct rl_effects fx;
	int error;
	uint64_t now_ns;

	enum redlock_operation waited; /* what somebody waits for */
	uint64_t call_ns;              /* when the acquire was called */
	uint64_t grant_ns;             /* start of the attempt that was granted */
	bool told_lost;                /* since the last acquire */
	uint32_t extends;              /* that were confirmed since the grant */

	enum redlock_operation asked; /* of the round with number `seq` */
	bool renewal;
	uint32_t seq;
	uint64_t t0_ns;
	uint64_t ttl_ns;
	enum redlock_vote_code votes[NODES_MAX];
	uint32_t answered[8]; /* bit per node, for each of the last rounds: a request is answered once */
	uint32_t claim_seq;   /* of the SET of this token */
	uint32_t may_exist;   /* bit per node: that SET may have been executed there */

	unsigned long counts[RL_RELEASING + 1]; /* steps by phase */
	unsigned long done[REDLOCK_OP_QUERY + 1][2];
	unsigned long lost;
};

#define must(w, condition)                                                                                   \
	do {                                                                                                     \
		if (!(condition))                                                                                    \
			report(w, #condition, __LINE__);                                                                 \
	} while (0)

static void report(const struct world *w, const char *what, int line)
{
	char text[RL_TRACE_MAX];
	rl_trace_line(text, sizeof text, w->before.phase, &w->event, &w->lock, &w->fx);
	fail_msg("seed %llu, line %d: not true: %s\n%s", (unsigned long long)w->seed, line, what, text);
}

static uint64_t any_ms(struct world *w, unsigned below)
{
	return rl_ms(rng_below(&w->rng, below));
}

static bool chance(struct world *w, unsigned percent)
{
	return rng_below(&w->rng, 100) < percent;
}

static struct rl_rules random_rules(struct world *w)
{
	unsigned nodes = 1 + rng_below(&w->rng, NODES_MAX);
	struct rl_rules r = drive_rules(nodes);
	r.quorum += chance(w, 20) ? rng_below(&w->rng, nodes - r.quorum + 1) : 0;
	r.own_token = chance(w, 25);
	r.ttl_ns = rl_ms(400) + any_ms(w, 3000);
	r.node_timeout_ns = rl_ms(1) + any_ms(w, 150);
	r.wait_ns = chance(w, 30) ? 0 : chance(w, 20) ? UINT64_MAX : any_ms(w, 2000);
	r.noquorum_wait_ns = chance(w, 50) ? r.wait_ns : any_ms(w, 500);
	r.retry_min_ns = any_ms(w, 50);
	r.retry_max_ns = r.retry_min_ns + any_ms(w, 100);
	r.min_validity_ns = chance(w, 20) ? any_ms(w, 300) : 0;
	r.renew_ns = chance(w, 60) ? rl_ms(1) + any_ms(w, 200) : 0;
	r.danger_ns = chance(w, 60) ? any_ms(w, 390) : 0;
	r.max_hold_ns = chance(w, 20) ? rl_ms(1) + any_ms(w, 5000) : 0;
	r.max_extends = chance(w, 20) ? 1 + rng_below(&w->rng, 4) : 0;
	return r;
}

static uint64_t validity_by_hand(const struct world *w)
{
	const struct rl_rules *r = &w->lock.rules;
	uint64_t drift =
	    (uint64_t)(((unsigned __int128)w->ttl_ns * r->drift_ppm + 999999) / 1000000) + r->drift_base_ns;
	return drift >= w->ttl_ns ? w->t0_ns : w->t0_ns + w->ttl_ns - drift;
}

static unsigned votes_of(const struct world *w, enum redlock_vote_kind kind)
{
	unsigned count = 0;
	for (unsigned i = 0; i < w->lock.rules.node_count; i++)
		count += redlock_vote_kind(w->votes[i]) == kind;
	return count;
}

/* ---- the books ---- */

static bool executed(enum redlock_vote_code vote)
{
	return vote == REDLOCK_VOTE_YES || vote == REDLOCK_VOTE_CLOSED || vote == REDLOCK_VOTE_GARBAGE ||
	       vote == REDLOCK_VOTE_DUPLICATE;
}

static void note_vote(struct world *w)
{
	const struct rl_event *e = &w->event;
	if (e->kind != RL_EV_REPLY)
		return;
	w->answered[e->seq % COUNT(w->answered)] |= 1u << e->node;
	if (e->seq == w->seq)
		w->votes[e->node] = e->vote;
	if (e->seq == w->claim_seq && !executed(e->vote))
		w->may_exist &= ~(1u << e->node);
}

static void note_send(struct world *w)
{
	if (w->fx.send == REDLOCK_OP_RELEASE) {
		w->may_exist = 0; /* the release sees to it */
		w->claim_seq = 0;
	}
	if (w->fx.send == REDLOCK_OP_NONE || w->fx.seq == 0)
		return;
	w->asked = w->fx.send;
	w->renewal = w->lock.round.background;
	w->seq = w->fx.seq;
	w->t0_ns = w->now_ns;
	w->ttl_ns = w->fx.ttl_ns;
	memset(w->votes, 0, sizeof w->votes);
	w->answered[w->seq % COUNT(w->answered)] = 0;
	if (w->asked == REDLOCK_OP_ACQUIRE) {
		w->may_exist = w->fx.nodes;
		w->claim_seq = w->seq;
	}
}

static void note_call(struct world *w)
{
	static const enum redlock_operation operations[] = {
	    [RL_EV_ACQUIRE] = REDLOCK_OP_ACQUIRE,
	    [RL_EV_EXTEND] = REDLOCK_OP_EXTEND,
	    [RL_EV_RELEASE] = REDLOCK_OP_RELEASE,
	    [RL_EV_QUERY] = REDLOCK_OP_QUERY,
	};
	if (w->event.kind > RL_EV_QUERY)
		return;
	if (w->waited != REDLOCK_OP_NONE) /* one at a time */
		must(w, w->error != 0);
	if (w->error != 0)
		return;
	w->waited = operations[w->event.kind];
	if (w->waited == REDLOCK_OP_ACQUIRE) {
		w->call_ns = w->now_ns;
		w->told_lost = false;
	}
}

/* ---- what must hold ---- */

/* A call ends once, and with a result that its votes support. */
static void check_done(struct world *w)
{
	unsigned yes = votes_of(w, REDLOCK_KIND_YES);
	unsigned no = votes_of(w, REDLOCK_KIND_NO);
	unsigned quorum = w->lock.rules.quorum;
	must(w, rl_lock_busy(&w->lock) == (w->waited != REDLOCK_OP_NONE && w->fx.done == REDLOCK_OP_NONE));
	if (w->fx.done == REDLOCK_OP_NONE)
		return;
	must(w, w->fx.done == w->waited);
	must(w, !(w->event.kind == RL_EV_REPLY && w->event.more)); /* not before the last of them */
	w->waited = REDLOCK_OP_NONE;
	w->done[w->fx.done][w->fx.result == 0]++;
	if (w->fx.result == REDLOCK_E_CANCELLED) {
		must(w, w->event.kind == RL_EV_CANCEL && w->fx.done != REDLOCK_OP_RELEASE);
		return;
	}
	switch (w->fx.done) {
	case REDLOCK_OP_ACQUIRE:
		must(w, (w->fx.result == 0) == (w->lock.phase == RL_HELD));
		must(w, w->fx.result != 0 || yes >= quorum);
		break;
	case REDLOCK_OP_RELEASE:
		must(w, w->fx.result != 0 || (yes > 0 && yes + no >= quorum));
		must(w, w->fx.result != REDLOCK_E_GONE || no >= quorum);
		must(w, w->fx.result != REDLOCK_E_NOQUORUM || yes + no < quorum);
		must(w, w->lock.phase == RL_IDLE);
		break;
	case REDLOCK_OP_QUERY:
		must(w, (w->fx.result == 0) == (yes >= quorum));
		must(w, (w->fx.result == REDLOCK_E_GONE) == (no > w->lock.rules.node_count - quorum));
		break;
	default:
		must(w, w->fx.result != 0 || yes >= quorum);
		must(w, w->fx.result != REDLOCK_E_GONE || w->lock.phase == RL_IDLE);
		must(w, w->fx.result != REDLOCK_E_LOST || w->lock.phase == RL_LOST);
	}
}

/* The result of an acquire that was cut short by its deadline may be that of an attempt before; any other is
 * that of this attempt. */
static void check_refusal(const struct world *w)
{
	if (w->fx.done != REDLOCK_OP_ACQUIRE || w->fx.result == 0 || w->fx.result == REDLOCK_E_CANCELLED)
		return;
	if (w->before.phase == RL_PAUSED) { /* no further attempt: that of the last one, without late votes */
		must(w, w->fx.result == REDLOCK_E_BUSY || w->fx.result == REDLOCK_E_NOQUORUM);
		return;
	}
	unsigned definite = votes_of(w, REDLOCK_KIND_YES) + votes_of(w, REDLOCK_KIND_NO);
	uint64_t end = rl_time_add(w->call_ns, w->lock.rules.wait_ns);
	bool full = w->lock.rules.wait_ns == 0 || w->t0_ns + w->lock.rules.node_timeout_ns <= end;
	if (w->fx.result == REDLOCK_E_DUPLICATE)
		must(w, w->event.vote == REDLOCK_VOTE_DUPLICATE);
	else if (definite >= w->lock.rules.quorum)
		must(w, w->fx.result == REDLOCK_E_BUSY);
	else if (full)
		must(w, w->fx.result == REDLOCK_E_NOQUORUM);
}

/* Validity grows only by a quorum of this very round, and counts from its start. */
static void check_validity(struct world *w)
{
	uint64_t was = w->before.phase == RL_HELD ? w->before.valid_until_ns : 0;
	uint64_t is = w->lock.phase == RL_HELD ? w->lock.valid_until_ns : 0;
	must(w, w->lock.phase == RL_HELD || rl_lock_valid_until(&w->lock, w->now_ns) == 0);
	must(w, is == 0 || is > w->now_ns || w->event.kind == RL_EV_TICK || w->event.kind == RL_EV_CANCEL);
	if (is == 0 || is == was)
		return;
	must(w, is > was); /* an extend never shortens */
	must(w, w->event.kind == RL_EV_REPLY && w->event.seq == w->seq);
	must(w, w->event.vote == REDLOCK_VOTE_YES);
	must(w, votes_of(w, REDLOCK_KIND_YES) >= w->lock.rules.quorum);
	must(w, w->asked == REDLOCK_OP_ACQUIRE || w->asked == REDLOCK_OP_EXTEND);
	must(w, is == validity_by_hand(w) && is > w->now_ns);
	must(w, was == 0 || was > w->now_ns); /* what had ended does not come back */
	if (w->asked == REDLOCK_OP_ACQUIRE) {
		must(w, is > w->now_ns + w->lock.rules.min_validity_ns);
		w->grant_ns = w->t0_ns;
		w->extends = 0;
		return;
	}
	must(w, was != 0 || (w->lock.rules.own_token && w->before.phase == RL_IDLE));
	if (was == 0) { /* an own token: no acquire, no cap on holding */
		w->grant_ns = UINT64_MAX;
		w->extends = 0;
		return;
	}
	must(w, w->lock.rules.max_hold_ns == 0 || is <= rl_time_add(w->grant_ns, w->lock.rules.max_hold_ns));
}

static void check_extends(struct world *w)
{
	bool confirmed = w->before.phase == RL_HELD && w->before.round.open && !w->lock.round.open &&
	                 w->asked == REDLOCK_OP_EXTEND && w->event.kind == RL_EV_REPLY &&
	                 votes_of(w, REDLOCK_KIND_YES) >= w->lock.rules.quorum;
	if (confirmed)
		w->extends++;
	must(w, w->lock.rules.max_extends == 0 || w->extends <= w->lock.rules.max_extends);
}

/* The loss is told once for each hold, and is final until the release. */
static void check_loss(struct world *w)
{
	bool held = w->before.phase == RL_HELD;
	bool went = held && w->lock.phase != RL_HELD;
	must(w, !w->fx.lost || held);
	must(w, !went || w->fx.lost || w->event.kind == RL_EV_RELEASE);
	must(w, !(held && w->now_ns >= w->before.valid_until_ns) || w->fx.lost);
	if (w->fx.lost) {
		bool by_clock = w->now_ns >= w->before.valid_until_ns;
		must(w, by_clock || votes_of(w, REDLOCK_KIND_NO) >= w->lock.rules.quorum);
		must(w, w->lock.phase != RL_HELD);
		w->lost++;
		w->told_lost = true;
	}
	if (w->before.phase == RL_LOST)
		must(w, w->lock.phase == RL_LOST || w->lock.phase == RL_RELEASING);
	if (w->fx.danger)
		must(w, w->lock.phase == RL_HELD &&
		            rl_time_sub(w->lock.valid_until_ns, w->lock.rules.danger_ns) <= w->now_ns);
}

/* What is sent, when, and to whom. */
static void check_send(const struct world *w)
{
	uint32_t all = (1u << w->lock.rules.node_count) - 1;
	const struct rl_effects *fx = &w->fx;
	must(w, (fx->owed & ~all) == 0 && (fx->nodes & ~all) == 0);
	must(w, fx->send != REDLOCK_OP_NONE || (fx->nodes == 0 && fx->seq == 0 && fx->owed == 0));
	switch (fx->send) {
	case REDLOCK_OP_ACQUIRE:
		must(w, fx->nodes == all && fx->seq == w->lock.round.seq && fx->seq != 0);
		must(w, w->before.phase == RL_IDLE || w->before.phase == RL_PAUSED);
		must(w, w->now_ns == w->call_ns || w->now_ns < rl_time_add(w->call_ns, w->lock.rules.wait_ns));
		must(w, !w->lock.rules.own_token || w->before.phase == RL_IDLE); /* one attempt */
		must(w, fx->ttl_ns == w->lock.rules.ttl_ns);
		break;
	case REDLOCK_OP_EXTEND:
		must(w, fx->nodes == all && fx->seq != 0 && fx->ttl_ns > 0 && fx->ttl_ns % RL_NS_PER_MS == 0);
		must(w, w->lock.phase == RL_HELD || (w->lock.phase == RL_IDLE && w->lock.rules.own_token));
		must(w, w->lock.phase != RL_HELD || w->now_ns < w->lock.valid_until_ns);
		break;
	case REDLOCK_OP_RELEASE:
		must(w, (w->may_exist & ~fx->owed) == 0);
		must(w, (fx->owed & ~fx->nodes) == 0);
		must(w, fx->nodes == all || (w->lock.rules.own_token && fx->seq == 0));
		must(w, (fx->seq == 0) == (w->event.kind != RL_EV_RELEASE));
		break;
	default:
		break;
	}
}

/* Every failed or abandoned attempt is given back, in the step in which it ends. */
static void check_given_back(const struct world *w)
{
	bool ended = w->before.phase == RL_ACQUIRING && w->lock.phase != RL_ACQUIRING;
	if (ended && w->lock.phase != RL_HELD)
		must(w, w->fx.send == REDLOCK_OP_RELEASE);
}

static void check_time(const struct world *w)
{
	uint64_t deadline = rl_lock_deadline(&w->lock);
	bool waits = w->waited != REDLOCK_OP_NONE;
	must(w, !waits || deadline != UINT64_MAX); /* a call ends by itself */
	must(w, w->lock.phase != RL_HELD || deadline <= w->lock.valid_until_ns);
	if (w->lock.phase == RL_PAUSED && w->before.phase != RL_PAUSED)
		must(w, deadline > w->now_ns);
}

static void step(struct world *w, struct rl_event event)
{
	event.now_ns = w->now_ns;
	event.entropy = rng_next(&w->rng);
	w->event = event;
	w->before = w->lock;
	w->error = rl_lock_step(&w->lock, &event, &w->fx);
	w->counts[w->lock.phase]++;
	must(w, w->error <= 0 && (w->error == 0 || event.kind <= RL_EV_QUERY));
	note_call(w);
	note_vote(w);
	check_send(w);
	check_given_back(w);
	check_validity(w);
	check_loss(w);
	check_refusal(w);
	check_extends(w);
	check_done(w);
	note_send(w);
	check_time(w);
}

/* ---- the dice ---- */

/* What a node may say. TIMEOUT is what the core says of silence. */
static enum redlock_vote_code random_vote(struct world *w)
{
	if (chance(w, 60))
		return REDLOCK_VOTE_YES;
	if (chance(w, 60))
		return REDLOCK_VOTE_NO;
	enum redlock_vote_code code = (enum redlock_vote_code)(1 + rng_below(&w->rng, REDLOCK_VOTE_COUNT - 1));
	bool rare = code == REDLOCK_VOTE_DUPLICATE && chance(w, 90);
	return rare || code == REDLOCK_VOTE_TIMEOUT ? REDLOCK_VOTE_CLOSED : code;
}

/* The answer of a node that has not answered yet: to this round, or late, to one of the last. */
static void reply(struct world *w)
{
	uint32_t seq = chance(w, 90) ? w->seq : w->seq - rng_below(&w->rng, 3);
	unsigned node = rng_below(&w->rng, w->lock.rules.node_count);
	if (seq == 0 || seq > w->seq || (w->answered[seq % COUNT(w->answered)] >> node & 1) != 0)
		return;
	step(w, (struct rl_event){.kind = RL_EV_REPLY, .seq = seq, .node = node, .vote = random_vote(w)});
}

/* Nodes that do not take a request have voted at once, all in one moment. */
static void refuse_some(struct world *w)
{
	uint32_t seq = w->fx.seq;
	uint32_t nodes = (uint32_t)rng_next(&w->rng) & w->fx.nodes;
	if (seq == 0 || !chance(w, 15))
		return;
	while (nodes != 0) {
		unsigned node = (unsigned)__builtin_ctz(nodes);
		nodes &= nodes - 1;
		step(w, (struct rl_event){.kind = RL_EV_REPLY,
		                          .seq = seq,
		                          .node = node,
		                          .vote = chance(w, 80) ? REDLOCK_VOTE_DOWN : REDLOCK_VOTE_AUTH,
		                          .more = nodes != 0});
	}
}

/* After a few TICKs at one time, the next one is due later: the loop that drives it goes on. */
static void tick(struct world *w)
{
	for (unsigned i = 0; i < 5; i++) {
		step(w, (struct rl_event){.kind = RL_EV_TICK});
		refuse_some(w);
		if (rl_lock_deadline(&w->lock) > w->now_ns)
			return;
	}
	report(w, "the next TICK is due later", __LINE__);
}

static void pass_time(struct world *w)
{
	uint64_t deadline = rl_lock_deadline(&w->lock);
	if (chance(w, 60)) {
		w->now_ns += rng_below(&w->rng, 5000000);
	} else if (deadline != UINT64_MAX) {
		w->now_ns = rl_time_max(w->now_ns, deadline);
		if (chance(w, 10))
			w->now_ns += any_ms(w, 700); /* the process was stopped for a while */
	}
	if (chance(w, 90) && rl_lock_deadline(&w->lock) <= w->now_ns)
		tick(w);
}

static void call(struct world *w)
{
	static const enum rl_event_kind kinds[] = {RL_EV_ACQUIRE, RL_EV_ACQUIRE, RL_EV_EXTEND, RL_EV_EXTEND,
	                                           RL_EV_RELEASE, RL_EV_QUERY,   RL_EV_CANCEL};
	step(w, (struct rl_event){.kind = kinds[rng_below(&w->rng, COUNT(kinds))],
	                          .ttl_ns = rl_ms(10) + any_ms(w, 3000),
	                          .result = REDLOCK_E_CANCELLED});
	refuse_some(w);
}

static void play(struct world *w, uint64_t seed, unsigned steps)
{
	w->seed = seed;
	w->rng.state = seed * 0x9E3779B97F4A7C15u + 1;
	struct rl_rules rules = random_rules(w);
	rl_lock_init(&w->lock, &rules);
	w->now_ns = 1 + any_ms(w, 1000);
	w->waited = REDLOCK_OP_NONE;
	w->asked = REDLOCK_OP_NONE;
	w->seq = w->claim_seq = w->may_exist = w->extends = 0;
	memset(w->answered, 0, sizeof w->answered);
	for (unsigned i = 0; i < steps; i++) {
		unsigned dice = rng_below(&w->rng, 100);
		if (dice < 55)
			reply(w);
		else if (dice < 88)
			pass_time(w);
		else
			call(w);
	}
}

static uint64_t only_seed; /* 0: all */

static void random_events(void **state)
{
	(void)state;
	unsigned seeds = wait_is_slow() ? 300 : 5000;
	struct world w = {0};
	if (only_seed != 0) {
		play(&w, only_seed, 300);
		return;
	}
	for (uint64_t seed = 1; seed <= seeds; seed++)
		play(&w, seed, 300);
	/* The dice reach everything: a test that visits nothing proves nothing. */
	for (unsigned phase = RL_IDLE; phase <= RL_RELEASING; phase++)
		assert_true(w.counts[phase] > 100);
	for (unsigned operation = REDLOCK_OP_ACQUIRE; operation <= REDLOCK_OP_QUERY; operation++)
		assert_true(w.done[operation][0] > 20 && w.done[operation][1] > 20);
	assert_true(w.lost > 20);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		only_seed = strtoull(argv[1], NULL, 10);
	const struct CMUnitTest tests[] = {cmocka_unit_test(random_events)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
