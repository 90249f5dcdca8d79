/* SPDX-License-Identifier: MIT */
/*
 * Random events in random order; ledger.c says what must hold after every step. `unit_lock_random SEED` runs
 * one seed.
 */
#include "core/fence.h"
#include "core/queue.h"
#include "drive.h"
#include "ledger.h"
#include "wait.h"

#define NODES_MAX 7

struct world {
	struct ledger ledger;
	uint64_t seed;
	struct rng rng;
	const uint8_t *order; /* NULL, or the nodes backwards; it changes when a node says who it is */
	uint32_t hears;
	uint32_t twins; /* nodes that are one server */
	bool crowded;   /* other handles of the client wait too */
};

static const struct world *current;

static void report(const struct ledger *ledger, const char *what, int line, const char *trace)
{
	(void)ledger;
	fail_msg("seed %llu, ledger.c line %d: not true: %s\n%s", (unsigned long long)current->seed, line, what,
	         trace);
}

static uint64_t any_ms(struct world *w, unsigned below)
{
	return rl_time_ms(rng_below(&w->rng, below));
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
	r.policy = &rl_kinds[chance(w, 25)   ? RL_KIND_OWN_VALUE
	                     : chance(w, 25) ? RL_KIND_FENCED
	                                     : RL_KIND_EXCLUSIVE];
	r.ttl_ns = rl_time_ms(400) + any_ms(w, 3000);
	r.node_timeout_ns = rl_time_ms(1) + any_ms(w, 150);
	r.wait_ns = chance(w, 30) ? 0 : chance(w, 20) ? UINT64_MAX : any_ms(w, 2000);
	r.noquorum_wait_ns = chance(w, 50) ? r.wait_ns : any_ms(w, 500);
	r.retry_min_ns = any_ms(w, 50);
	r.retry_max_ns = r.retry_min_ns + any_ms(w, 100);
	r.min_validity_ns = chance(w, 20) ? any_ms(w, 300) : 0;
	r.renew_ns = chance(w, 60) ? rl_time_ms(1) + any_ms(w, 200) : 0;
	r.danger_ns = chance(w, 60) ? any_ms(w, 390) : 0;
	r.max_hold_ns = chance(w, 20) ? rl_time_ms(1) + any_ms(w, 5000) : 0;
	r.max_extends = chance(w, 20) ? 1 + rng_below(&w->rng, 4) : 0;
	return r;
}

static void step(struct world *w, struct rl_event event)
{
	event.around.entropy = rng_next(&w->rng);
	event.around.hears = w->hears;
	event.around.behind_ns = w->crowded && chance(w, 50) ? RL_TIME_NEVER : 0;
	event.around.order = w->order;
	ledger_step(&w->ledger, event);
}

/* ---- the dice ---- */

/* A random vote of a node. TIMEOUT is what the core makes of silence. */
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

static struct rl_slice slice_of(const char *text)
{
	return (struct rl_slice){text, strlen(text)};
}

static const char *const values[] = {"1", "3", "4"}; /* ours is "2" */

/* A random result of a look. */
static struct rl_vote random_key(struct world *w)
{
	bool known = chance(w, 90);
	bool none = chance(w, 20);
	const char *value = chance(w, 40) ? "2" : values[rng_below(&w->rng, COUNT(values))];
	if (!known)
		return (struct rl_vote){.code = random_vote(w)};
	return (struct rl_vote){.code = REDLOCK_VOTE_YES,
	                        .told = RL_TOLD(TYPE) | RL_TOLD(VALUE),
	                        .pttl_ms = -1,
	                        .size = 1,
	                        .type = slice_of(none ? "none" : "string"),
	                        .value = slice_of(none ? "" : value)};
}

/* A random answer of a queue: of any row of answers. */
static struct rl_vote random_place(struct world *w, struct rl_vote vote)
{
	if (chance(w, 50) && (vote.code == REDLOCK_VOTE_YES || vote.code == REDLOCK_VOTE_NO)) {
		vote.told = RL_TOLD(WAITING) | RL_TOLD(PTTL) | RL_TOLD(PLACE);
		vote.waiting = (int32_t)rng_below(&w->rng, 3);
		vote.pttl_ms = vote.number = (int64_t)rng_below(&w->rng, 1000) - 2;
		vote.place = (int32_t)rng_below(&w->rng, 9);
	}
	return vote;
}

/* A number with a yes: what a RAISE has made of it, or its own. */
static struct rl_vote random_number(struct world *w, struct rl_vote vote)
{
	const struct rl_numbers *numbers = w->ledger.lock.numbers;
	if (w->ledger.rules.policy != &rl_kinds[RL_KIND_FENCED] || vote.code != REDLOCK_VOTE_YES || chance(w, 2))
		return vote;
	bool raised = w->ledger.lock.phase == RL_RAISING && chance(w, 80);
	vote.number = raised ? (int64_t)numbers->fence : 1 + (int64_t)rng_below(&w->rng, 3);
	return vote;
}

/* The answer of a node that has not answered yet: to this round, or late, to one of the last. */
static void reply(struct world *w)
{
	bool looks = w->ledger.lock.phase == RL_LOOKING && chance(w, 80);
	uint32_t seq = looks           ? w->ledger.lock.look.seq
	               : chance(w, 90) ? w->ledger.seq
	                               : w->ledger.last_seq - rng_below(&w->rng, 4);
	unsigned node = rng_below(&w->rng, w->ledger.lock.rules->node_count);
	if (!ledger_may_answer(&w->ledger, seq, node))
		return;
	step(w, (struct rl_event){
	            .kind = RL_EV_REPLY,
	            .reply.seq = seq,
	            .node = node,
	            .reply.twins = (w->twins >> node & 1) != 0 ? w->twins & ~(1u << node) : 0,
	            .reply.operation = looks ? RL_OP_QUERY : RL_OP_NONE,
	            .reply.vote =
	                looks ? random_key(w)
	                      : random_place(w, random_number(w, (struct rl_vote){.code = random_vote(w)})),
	            .around.token = slice_of("2")});
}

/* Nodes that do not take a request have voted at once, all in one moment. */
static void refuse_some(struct world *w)
{
	uint32_t seq = w->ledger.fx.send.seq;
	uint32_t nodes = (uint32_t)rng_next(&w->rng) & w->ledger.fx.send.nodes;
	if (seq == 0 || !chance(w, 15))
		return;
	while (nodes != 0) {
		unsigned node = (unsigned)__builtin_ctz(nodes);
		nodes &= nodes - 1;
		step(w, (struct rl_event){.kind = RL_EV_REPLY,
		                          .reply.seq = seq,
		                          .node = node,
		                          .reply.vote.code = chance(w, 80) ? REDLOCK_VOTE_DOWN : REDLOCK_VOTE_AUTH,
		                          .reply.more = nodes != 0});
	}
}

/* After a few TICKs at one time, the next one is due later: the loop that drives it goes on. */
static void tick(struct world *w)
{
	for (unsigned i = 0; i < 5; i++) {
		step(w, (struct rl_event){.kind = RL_EV_TICK});
		refuse_some(w);
		if (rl_lock_deadline(&w->ledger.lock) > w->ledger.now_ns)
			return;
	}
	ledger_stuck(&w->ledger);
}

static void pass_time(struct world *w)
{
	uint64_t deadline = rl_lock_deadline(&w->ledger.lock);
	if (chance(w, 60)) {
		w->ledger.now_ns += rng_below(&w->rng, 5000000);
	} else if (deadline != UINT64_MAX) {
		w->ledger.now_ns = rl_time_max(w->ledger.now_ns, deadline);
		if (chance(w, 10))
			w->ledger.now_ns += any_ms(w, 700); /* the process was stopped for a while */
	}
	if (chance(w, 90) && rl_lock_deadline(&w->ledger.lock) <= w->ledger.now_ns)
		tick(w);
}

static void call(struct world *w)
{
	static const enum rl_event_kind kinds[] = {RL_EV_ACQUIRE, RL_EV_ACQUIRE, RL_EV_EXTEND, RL_EV_EXTEND,
	                                           RL_EV_RELEASE, RL_EV_QUERY,   RL_EV_CANCEL};
	enum rl_event_kind kind = kinds[rng_below(&w->rng, COUNT(kinds))];
	step(w, (struct rl_event){.kind = kind,
	                          .asked.probe = kind == RL_EV_QUERY && chance(w, 50),
	                          .asked.ttl_ns = rl_time_ms(10) + any_ms(w, 3000),
	                          .asked.result = REDLOCK_E_CANCELLED});
	refuse_some(w);
}

static void wake(struct world *w)
{
	unsigned node =
	    chance(w, 70) ? w->ledger.lock.queue.gate : rng_below(&w->rng, w->ledger.rules.node_count);
	uint16_t call = (uint16_t)(w->ledger.lock.queue.call - chance(w, 20));
	step(w, (struct rl_event){.kind = RL_EV_WAKE,
	                          .node = node,
	                          .message.call = call,
	                          .message.deaf = chance(w, 20),
	                          .message.front = chance(w, 20),
	                          .message.gone = chance(w, 20)});
}

static void play(struct world *w, uint64_t seed, unsigned steps)
{
	current = w;
	w->seed = seed;
	w->rng.state = seed * 0x9E3779B97F4A7C15u + 1;
	struct rl_rules rules = random_rules(w);
	uint8_t backwards[NODES_MAX];
	for (unsigned i = 0; i < rules.node_count; i++)
		backwards[i] = (uint8_t)(rules.node_count - 1 - i);
	w->order = chance(w, 50) ? backwards : NULL;
	w->crowded = chance(w, 10);
	w->twins = chance(w, 20) ? (uint32_t)rng_next(&w->rng) & ((1u << rules.node_count) - 1) : 0;
	w->hears = chance(w, 30) ? 0 : (uint32_t)rng_next(&w->rng);
	ledger_begin(&w->ledger, &rules, 1 + any_ms(w, 1000));
	w->ledger.lock.queue.turn = (uint8_t)rng_below(&w->rng, rules.node_count);
	for (unsigned i = 0; i < steps; i++) {
		unsigned dice = rng_below(&w->rng, 100);
		if (chance(w, 1))
			w->order = w->order == NULL ? backwards : NULL;
		if (dice < 55)
			reply(w);
		else if (dice < 82)
			pass_time(w);
		else if (dice < 90)
			wake(w);
		else
			call(w);
	}
}

static uint64_t only_seed; /* 0: all */

TEST(random_events)
{
	unsigned seeds = wait_is_slow() ? 2000 : 5000;
	struct world w = {.ledger.fail = report};
	if (only_seed != 0) {
		play(&w, only_seed, 300);
		return;
	}
	for (uint64_t seed = 1; seed <= seeds; seed++)
		play(&w, seed, 300);
	/* The dice reach everything: a test that visits nothing proves nothing. */
	for (unsigned phase = RL_IDLE; phase <= RL_RAISING; phase++)
		assert_true(w.ledger.counts[phase] > 100 || phase == RL_KEPT); /* test_lock_keep.c */
	for (unsigned operation = REDLOCK_OP_ACQUIRE; operation < COUNT(w.ledger.done); operation++)
		assert_true(w.ledger.done[operation][0] > 20 && w.ledger.done[operation][1] > 20);
	for (unsigned stage = RL_STAGE_ALL; stage <= RL_STAGE_CLAIM; stage++)
		assert_true(w.ledger.stages[stage] > seeds / 250);
	assert_true(w.ledger.lost > 20 && w.ledger.insisted > 20 && w.ledger.tidied > 20);
}

static void start(void)
{
	if (group.argument != NULL)
		only_seed = strtoull(group.argument, NULL, 10);
}

TESTS(.start = start)
