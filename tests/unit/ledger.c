/* SPDX-License-Identifier: MIT */
#include "ledger.h"

#include "core/fence.h"
#include "core/kinds.h"
#include "core/pace.h"
#include "core/queue.h"
#include "core/trace.h"

#define must(l, condition)                                                                                   \
	do {                                                                                                     \
		if (!(condition))                                                                                    \
			report(l, #condition, __LINE__);                                                                 \
	} while (0)

static void report(const struct ledger *l, const char *what, int line)
{
	char text[RL_TRACE_MAX];
	rl_trace_line(text, sizeof text, l->before.phase, &l->event, &l->lock, &l->fx);
	l->fail(l, what, line, text);
}

static uint64_t validity_by_hand(const struct ledger *l)
{
	const struct rl_rules *r = l->lock.rules;
	uint64_t drift =
	    (uint64_t)(((unsigned __int128)l->ttl_ns * r->drift_ppm + 999999) / 1000000) + r->drift_base_ns;
	return drift >= l->ttl_ns ? l->t0_ns : l->t0_ns + l->ttl_ns - drift;
}

static unsigned votes_of(const struct ledger *l, enum redlock_vote_kind kind)
{
	unsigned count = 0;
	for (unsigned i = 0; i < l->lock.rules->node_count; i++)
		count += redlock_vote_kind(l->votes[i]) == kind;
	return count;
}

static bool saw(const struct ledger *l, unsigned bit)
{
	return (l->fx.observed & bit) != 0;
}

/* ---- the books ---- */

static bool executed(enum redlock_vote_code vote)
{
	return vote == REDLOCK_VOTE_YES || vote == REDLOCK_VOTE_CLOSED || vote == REDLOCK_VOTE_GARBAGE ||
	       vote == REDLOCK_VOTE_DUPLICATE;
}

/* One server has one vote in a round: that of the first of its names, but a yes goes before a no. */
static enum redlock_vote_code vote_of_server(struct ledger *l)
{
	enum redlock_vote_code code = l->event.reply.vote.code;
	bool yes = code == REDLOCK_VOTE_YES, definite = yes || code == REDLOCK_VOTE_NO;
	for (unsigned i = 0; definite && i < l->lock.rules->node_count; i++) {
		if ((l->event.reply.twins >> i & 1) == 0)
			continue;
		if (l->votes[i] == REDLOCK_VOTE_YES || (l->votes[i] == REDLOCK_VOTE_NO && !yes))
			return REDLOCK_VOTE_DUPLICATE;
		if (l->votes[i] == REDLOCK_VOTE_NO)
			l->votes[i] = REDLOCK_VOTE_DUPLICATE;
	}
	return code;
}

static void note_vote(struct ledger *l)
{
	const struct rl_event *e = &l->event;
	if (e->kind != RL_EV_REPLY)
		return;
	if (!ledger_may_answer(l, e->reply.seq, e->node))
		return; /* a node has one vote, in a round that there was */
	l->answered[e->reply.seq % LEDGER_ROUNDS] |= 1u << e->node;
	if (e->reply.seq == l->seq)
		l->votes[e->node] = vote_of_server(l);
	if (e->reply.seq == l->claim_seq && e->reply.vote.code == REDLOCK_VOTE_YES) {
		l->told[e->node] = e->reply.vote.number > 0 ? e->reply.vote.number : 0;
		if (l->rules.policy == &rl_kinds[RL_KIND_FENCED] && l->told[e->node] == 0 && e->reply.seq == l->seq &&
		    l->votes[e->node] == REDLOCK_VOTE_YES)
			l->votes[e->node] = REDLOCK_VOTE_GARBAGE;
	}
	if (e->reply.seq == l->claim_seq && !executed(e->reply.vote.code))
		l->may_exist &= ~(1u << e->node);
}

/* A waiter that takes the lock by ENTER leaves the queue. */
static void note_place(struct ledger *l)
{
	const struct rl_event *e = &l->event;
	bool told = e->kind == RL_EV_REPLY && rl_vote_tells(&e->reply.vote, RL_FIELD_PLACE);
	if (told && e->reply.vote.code == REDLOCK_VOTE_YES)
		l->places &= ~(1u << e->node);
	if (l->fx.queue.quits && l->fx.queue.call == l->lock.queue.call)
		l->places &= ~l->fx.send.nodes;
	uint32_t place = l->fx.queue.stands ? l->fx.send.enter & 1u << l->lock.queue.gate : 0;
	l->places |= place;
	if (l->fx.send.operation == RL_OP_ACQUIRE && !l->fx.send.again)
		l->entered = place;
}

static bool is_release(const struct ledger *l)
{
	return l->fx.send.operation == RL_OP_RELEASE ||
	       (l->fx.send.operation == RL_OP_LEAVE && !l->fx.queue.tidies);
}

static bool is_look(const struct ledger *l)
{
	return l->fx.send.operation == REDLOCK_OP_QUERY && l->lock.phase == RL_LOOKING;
}

/* The nodes that refused the token are asked for it once more, or those that it was not sent to yet. */
static void note_again(struct ledger *l)
{
	l->answered[l->seq % LEDGER_ROUNDS] &= ~l->fx.send.nodes;
	l->may_exist |= l->fx.send.nodes;
	l->sent |= l->fx.send.nodes;
	for (unsigned i = 0; i < l->lock.rules->node_count; i++)
		if ((l->fx.send.nodes >> i & 1) != 0)
			l->votes[i] = REDLOCK_VOTE_PENDING;
}

static void note_send(struct ledger *l)
{
	if (is_release(l)) {
		l->may_exist = 0; /* the release sees to it */
		l->claim_seq = 0;
	}
	l->tidied += l->fx.queue.tidies;
	if (l->fx.send.operation == REDLOCK_OP_NONE || l->fx.send.seq == 0)
		return;
	if (l->fx.send.again) {
		l->insisted += l->before.queue.stage == RL_STAGE_CLAIM && (l->fx.send.nodes & l->sent) != 0;
		note_again(l);
		return;
	}
	l->last_seq = l->fx.send.seq;
	l->answered[l->fx.send.seq % LEDGER_ROUNDS] =
	    ~l->fx.send.nodes; /* a node that is not asked does not answer */
	if (is_look(l))
		return;
	l->asked = l->fx.send.operation;
	l->seq = l->fx.send.seq;
	l->t0_ns = l->now_ns;
	l->ttl_ns = l->fx.send.ttl_ns;
	memset(l->votes, 0, sizeof l->votes);
	if (l->asked == REDLOCK_OP_ACQUIRE) {
		memset(l->told, 0, sizeof l->told);
		l->may_exist = l->sent = l->fx.send.nodes;
		l->claim_seq = l->seq;
		l->stages[l->lock.queue.stage]++;
	}
}

static void note_call(struct ledger *l)
{
	static const enum redlock_operation operations[] = {
	    [RL_EV_ACQUIRE] = REDLOCK_OP_ACQUIRE,
	    [RL_EV_EXTEND] = REDLOCK_OP_EXTEND,
	    [RL_EV_RELEASE] = REDLOCK_OP_RELEASE,
	    [RL_EV_QUERY] = REDLOCK_OP_QUERY,
	};
	if (l->event.kind > RL_EV_QUERY)
		return;
	if (l->waited != REDLOCK_OP_NONE) /* one at a time */
		must(l, l->error != 0);
	if (l->error != 0)
		return;
	l->waited = l->event.asked.probe ? REDLOCK_OP_PROBE : operations[l->event.kind];
	if (l->waited == REDLOCK_OP_ACQUIRE)
		l->call_ns = l->now_ns;
}

/* ---- what must hold ---- */

/* A number that so many nodes have told, and no lower one. */
static bool is_numbered(const struct ledger *l)
{
	const uint64_t number = l->numbers.head.fence;
	unsigned confirmed = 0;
	for (unsigned i = 0; i < l->lock.rules->node_count; i++)
		confirmed += l->votes[i] == REDLOCK_VOTE_YES && (uint64_t)l->told[i] == number;
	return number != 0 && confirmed >= l->lock.rules->quorum;
}

/* A call ends once, and with a result that its votes support. */
static void check_done(struct ledger *l)
{
	unsigned yes = votes_of(l, REDLOCK_KIND_YES);
	unsigned no = votes_of(l, REDLOCK_KIND_NO);
	unsigned quorum = l->lock.rules->quorum;
	bool was_there = yes + no >= quorum && l->lock.rules->node_count - yes < quorum;
	must(l, rl_state_is_busy(&l->lock) ==
	            (l->waited != REDLOCK_OP_NONE && l->fx.done.operation == REDLOCK_OP_NONE));
	if (l->fx.done.operation == REDLOCK_OP_NONE)
		return;
	must(l, l->fx.done.operation == l->waited);
	/* Votes of one moment decide with the last of them. Only the clock waits for none. */
	must(l, saw(l, RL_OBSERVE_LOST) || l->event.kind != RL_EV_REPLY || !l->event.reply.more);
	l->waited = REDLOCK_OP_NONE;
	l->done[l->fx.done.operation][l->fx.done.result == 0]++;
	if (l->fx.done.result == REDLOCK_E_CANCELLED) {
		must(l, l->event.kind == RL_EV_CANCEL && l->fx.done.operation != REDLOCK_OP_RELEASE);
		return;
	}
	switch (l->fx.done.operation) {
	case REDLOCK_OP_ACQUIRE:
		must(l, (l->fx.done.result == 0) == (l->lock.phase == RL_HELD));
		must(l, l->fx.done.result != 0 || yes >= quorum);
		must(l,
		     l->fx.done.result != 0 || l->lock.rules->policy != &rl_kinds[RL_KIND_FENCED] || is_numbered(l));
		break;
	case REDLOCK_OP_RELEASE:
		must(l, (l->fx.done.result == 0) == was_there);
		must(l, (l->fx.done.result == REDLOCK_E_GONE) == (no >= quorum));
		must(l, l->lock.phase == RL_IDLE);
		break;
	case REDLOCK_OP_PROBE:
		must(l, l->lock.phase == RL_IDLE);
		/* fall through */
	case REDLOCK_OP_QUERY:
		must(l, (l->fx.done.result == 0) == (yes >= quorum));
		must(l, (l->fx.done.result == REDLOCK_E_GONE) == (no > l->lock.rules->node_count - quorum));
		break;
	default:
		must(l, l->fx.done.result != 0 || yes >= quorum);
		must(l, l->fx.done.result != REDLOCK_E_GONE || l->lock.phase == RL_IDLE);
		must(l, l->fx.done.result != REDLOCK_E_LOST || l->lock.phase == RL_LOST);
	}
}

static uint64_t contention_end(const struct ledger *l)
{
	const struct rl_rules *r = l->lock.rules;
	return rl_time_add(l->call_ns, r->wait_ns == 0 ? 5 * r->node_timeout_ns : r->wait_ns);
}

/* A try is busy when a quorum names one holder, or no node says whose its key is; or time is over. */
static bool is_busy(const struct ledger *l)
{
	unsigned named = 0, known = 0;
	for (unsigned i = 0; i < l->lock.rules->node_count; i++) {
		unsigned same = 0, whose = l->lock.votes[i].whose;
		for (unsigned j = 0; j < l->lock.rules->node_count; j++)
			same += whose >= RL_KEY_OTHERS && l->lock.votes[j].whose == whose;
		named = same > named ? same : named;
		known += whose != RL_KEY_UNKNOWN;
	}
	return l->fx.done.result == REDLOCK_E_BUSY &&
	       (named >= l->lock.rules->quorum || known == 0 || l->lock.rules->wait_ns > 0 ||
	        l->now_ns >= contention_end(l));
}

/* The result of an acquire that was cut short by its deadline may be that of an attempt before; any other is
 * that of this attempt. */
static void check_refusal(const struct ledger *l)
{
	if (l->fx.done.operation != REDLOCK_OP_ACQUIRE || l->fx.done.result == 0 ||
	    l->fx.done.result == REDLOCK_E_CANCELLED)
		return;
	if (l->fx.done.result == REDLOCK_E_DUPLICATE) {
		unsigned duplicates = 0;
		for (unsigned i = 0; i < l->lock.rules->node_count; i++)
			duplicates += l->votes[i] == REDLOCK_VOTE_DUPLICATE;
		must(l, duplicates > l->lock.rules->node_count - l->lock.rules->quorum);
		return;
	}
	if (l->before.phase >= RL_LOOKING && l->before.phase != RL_RAISING) {
		must(l, is_busy(l));
		return;
	}
	/* no further attempt: that of the last one, without late votes; or a gate speaks for the others */
	bool numbers_differ = l->before.phase == RL_RAISING;
	if (l->before.phase == RL_PAUSED || l->before.queue.stage != RL_STAGE_ALL || numbers_differ) {
		must(l, l->fx.done.result == REDLOCK_E_BUSY || l->fx.done.result == REDLOCK_E_NOQUORUM);
		return;
	}
	unsigned definite = votes_of(l, REDLOCK_KIND_YES) + votes_of(l, REDLOCK_KIND_NO);
	uint64_t end = rl_time_add(l->call_ns, l->lock.rules->wait_ns);
	bool full = l->lock.rules->wait_ns == 0 || l->t0_ns + l->lock.rules->node_timeout_ns <= end;
	if (definite >= l->lock.rules->quorum)
		must(l, l->fx.done.result == REDLOCK_E_BUSY);
	else if (full)
		must(l, l->fx.done.result == REDLOCK_E_NOQUORUM);
}

/* Validity grows only by a quorum of this very round, and counts from its start. */
static void check_validity(struct ledger *l)
{
	uint64_t was = l->before.phase == RL_HELD ? l->before.valid_until_ns : 0;
	uint64_t is = l->lock.phase == RL_HELD ? l->lock.valid_until_ns : 0;
	must(l, l->lock.phase == RL_HELD || rl_lock_valid_until(&l->lock, l->now_ns) == 0);
	must(l, is == 0 || is > l->now_ns);
	if (is == 0 || is == was)
		return;
	must(l, is > was); /* an extend never shortens */
	must(l, l->event.kind == RL_EV_REPLY && l->event.reply.seq == l->seq);
	must(l, l->event.reply.vote.code == REDLOCK_VOTE_YES);
	must(l, votes_of(l, REDLOCK_KIND_YES) >= l->lock.rules->quorum);
	must(l, l->asked == REDLOCK_OP_ACQUIRE || l->asked == REDLOCK_OP_EXTEND);
	must(l, is == validity_by_hand(l) && is > l->now_ns);
	must(l, was == 0 || was > l->now_ns); /* what had ended does not come back */
	if (l->asked == REDLOCK_OP_ACQUIRE) {
		must(l, is > l->now_ns + l->lock.rules->min_validity_ns);
		l->grant_ns = l->t0_ns;
		l->extends = 0;
		return;
	}
	must(l,
	     was != 0 || (l->lock.rules->policy == &rl_kinds[RL_KIND_OWN_VALUE] && l->before.phase == RL_IDLE));
	if (was == 0) { /* an own token: no acquire, no cap on holding */
		l->grant_ns = UINT64_MAX;
		l->extends = 0;
		return;
	}
	must(l, l->lock.rules->max_hold_ns == 0 || is <= rl_time_add(l->grant_ns, l->lock.rules->max_hold_ns));
}

static void check_extends(struct ledger *l)
{
	bool confirmed = l->before.phase == RL_HELD && l->before.round.open && !l->lock.round.open &&
	                 l->asked == REDLOCK_OP_EXTEND && l->event.kind == RL_EV_REPLY &&
	                 votes_of(l, REDLOCK_KIND_YES) >= l->lock.rules->quorum;
	if (confirmed)
		l->extends++;
	must(l, l->lock.rules->max_extends == 0 || l->extends <= l->lock.rules->max_extends);
}

/* The loss is told once for each hold, and is final until the release. */
static void check_loss(struct ledger *l)
{
	bool held = l->before.phase == RL_HELD;
	bool went = held && l->lock.phase != RL_HELD;
	must(l, !saw(l, RL_OBSERVE_LOST) || held);
	must(l, !went || saw(l, RL_OBSERVE_LOST) || l->event.kind == RL_EV_RELEASE);
	must(l, !(held && l->now_ns >= l->before.valid_until_ns) || saw(l, RL_OBSERVE_LOST));
	if (saw(l, RL_OBSERVE_LOST)) {
		bool by_clock = l->now_ns >= l->before.valid_until_ns;
		must(l, by_clock || votes_of(l, REDLOCK_KIND_NO) >= l->lock.rules->quorum);
		must(l, l->lock.phase != RL_HELD);
		l->lost++;
	}
	if (l->before.phase == RL_LOST)
		must(l, l->lock.phase == RL_LOST || l->lock.phase == RL_RELEASING);
	if (!held)
		l->warned_ns = 0;            /* another hold may end at the same time */
	if (saw(l, RL_OBSERVE_DANGER)) { /* once for each end of validity */
		must(l, l->lock.phase == RL_HELD && l->lock.valid_until_ns != l->warned_ns);
		must(l, rl_time_sub(l->lock.valid_until_ns, l->lock.rules->danger_ns) <= l->now_ns);
		l->warned_ns = l->lock.valid_until_ns;
	}
}

/* With the caller's own value, what nobody waits for deletes keys only where they are known to be ours. */
static uint32_t proven(const struct ledger *l)
{
	uint32_t nodes = 0;
	for (unsigned i = 0; i < l->lock.rules->node_count; i++)
		nodes |= (uint32_t)(l->votes[i] == REDLOCK_VOTE_YES) << i;
	return nodes;
}

/* A token may be asked for a second time, but never after a release of it, nor where a SET of it may be on
 * its way. */
static void check_again(const struct ledger *l)
{
	bool enters = l->before.phase == RL_ACQUIRING && l->before.queue.stage != RL_STAGE_ALL;
	must(l, (l->before.phase == RL_LOOKING || enters) && l->claim_seq == l->fx.send.seq &&
	            l->lock.rules->policy != &rl_kinds[RL_KIND_OWN_VALUE]);
	must(l, validity_by_hand(l) > l->now_ns + l->lock.rules->min_validity_ns);
	for (unsigned i = 0; i < l->lock.rules->node_count; i++)
		if ((l->fx.send.nodes & l->sent) >> i & 1)
			must(l, redlock_vote_kind(l->votes[i]) == REDLOCK_KIND_NO);
}

/* Checks which requests are sent, when, and to which nodes. */
static void check_send(const struct ledger *l)
{
	uint32_t all = (1u << l->lock.rules->node_count) - 1;
	const struct rl_effects *fx = &l->fx;
	bool by_proof = l->lock.rules->policy == &rl_kinds[RL_KIND_OWN_VALUE] && fx->send.seq == 0;
	must(l, (fx->send.owed & ~all) == 0 && (fx->send.nodes & ~all) == 0);
	must(l, fx->send.operation != REDLOCK_OP_NONE ||
	            (fx->send.nodes == 0 && fx->send.seq == 0 && fx->send.owed == 0));
	switch (fx->send.operation) {
	case REDLOCK_OP_ACQUIRE:
		must(l, fx->send.seq == l->lock.round.seq && fx->send.seq != 0);
		must(l, l->now_ns == l->call_ns || l->now_ns < contention_end(l));
		if (fx->send.again) {
			check_again(l);
			break;
		}
		must(l, fx->send.nodes == all ||
		            (l->lock.queue.stage == RL_STAGE_GATE && fx->send.nodes == 1u << l->lock.queue.gate));
		must(l, l->before.queue.offered_ns != 0 ||
		            (fx->send.enter &
		             ~((l->lock.queue.polls ? all : l->event.around.hears) & 1u << l->lock.queue.gate)) == 0);
		must(l, l->lock.queue.polls == (fx->queue.offered_ns == RL_QUEUE_POLLS) || fx->send.enter == 0);
		must(l, !l->lock.queue.polls || fx->send.enter == 0 ||
		            ((l->event.around.hears >> l->lock.queue.gate & 1) == 0 && l->lock.rules->policy->polls &&
		             l->now_ns - l->call_ns >= RL_PACE_MOST_NS));
		must(l, l->before.phase == RL_IDLE || l->may_exist == 0);
		must(l, l->lock.rules->policy != &rl_kinds[RL_KIND_OWN_VALUE] ||
		            l->before.phase == RL_IDLE); /* one attempt */
		must(l, fx->send.ttl_ns == l->lock.rules->ttl_ns);
		break;
	case REDLOCK_OP_EXTEND:
		must(l, fx->send.nodes == all && fx->send.seq != 0 && fx->send.ttl_ns > 0 &&
		            fx->send.ttl_ns % RL_NS_PER_MS == 0);
		must(l, l->lock.phase == RL_HELD ||
		            (l->lock.phase == RL_IDLE && l->lock.rules->policy == &rl_kinds[RL_KIND_OWN_VALUE]));
		must(l, l->lock.phase != RL_HELD || l->now_ns < l->lock.valid_until_ns);
		break;
	case RL_OP_LEAVE:
		must(l, l->lock.rules->policy != &rl_kinds[RL_KIND_OWN_VALUE] || l->event.kind == RL_EV_RELEASE);
		must(l, fx->send.nodes != 0);
		if (fx->queue.tidies) {
			must(l, fx->send.seq == 0 && fx->send.owed == 0 && fx->queue.quits);
			break;
		}
		/* fall through */
	case REDLOCK_OP_RELEASE:
		must(l, (l->may_exist & ~fx->send.nodes) == 0);
		must(l, (l->may_exist & ~fx->send.owed & (by_proof ? proven(l) : all)) == 0);
		must(l, !by_proof || (fx->send.owed & ~proven(l)) == 0);
		must(l, (fx->send.owed & ~fx->send.nodes) == 0);
		must(l, fx->send.nodes == all || by_proof ||
		            (fx->send.seq == 0 && l->before.queue.stage != RL_STAGE_ALL));
		must(l, (fx->send.seq == 0) == (l->event.kind != RL_EV_RELEASE));
		break;
	case REDLOCK_OP_PROBE: /* with a token of its own, and nothing to give back */
		must(l, fx->send.nodes == all && fx->send.seq != 0 && fx->send.sign && fx->send.owed == 0);
		must(l, l->lock.phase == RL_IDLE && l->lock.rules->policy != &rl_kinds[RL_KIND_OWN_VALUE]);
		must(l, fx->send.ttl_ns == l->lock.rules->ttl_ns);
		break;
	default:
		break;
	}
}

/* Every failed or abandoned attempt is given back, in the step in which it ends. */
static void check_given_back(const struct ledger *l)
{
	bool ended = rl_state_acquires(&l->before) && l->before.phase != RL_PAUSED && l->claim_seq != 0 &&
	             (l->lock.phase == RL_IDLE || l->lock.phase == RL_PAUSED);
	if (ended &&
	    (l->may_exist != 0 || l->before.queue.stage == RL_STAGE_ALL)) /* a gate's no leaves nothing */
		must(l, is_release(l));
}

/* There is one at most, at the gate; and none is forgotten. */
static void check_places(const struct ledger *l)
{
	must(l, (l->places & ~(l->lock.queue.placed ? 1u << l->lock.queue.gate : 0)) == 0);
	must(l, l->lock.phase != RL_IDLE || l->places == 0);
}

static void check_time(const struct ledger *l)
{
	uint64_t deadline = rl_lock_deadline(&l->lock);
	bool waits = l->waited != REDLOCK_OP_NONE;
	must(l, !waits || deadline != UINT64_MAX); /* a call ends by itself */
	must(l, l->lock.phase != RL_HELD || deadline <= l->lock.valid_until_ns);
	if (l->lock.phase != l->before.phase && (l->lock.phase == RL_PAUSED || l->lock.phase == RL_WATCHING))
		must(l, deadline > l->now_ns);
}

void ledger_begin(struct ledger *l, const struct rl_rules *rules, uint64_t now_ns)
{
	l->rules = *rules;
	rl_lock_init(&l->lock, &l->rules, l->ballots);
	l->lock.findings = l->findings;
	memset(&l->numbers, 0, sizeof l->numbers);
	l->lock.numbers = &l->numbers.head;
	l->now_ns = now_ns;
	l->waited = REDLOCK_OP_NONE;
	l->asked = REDLOCK_OP_NONE;
	l->call_ns = l->grant_ns = l->warned_ns = l->t0_ns = l->ttl_ns = 0;
	l->seq = l->last_seq = l->claim_seq = l->extends = 0;
	l->may_exist = l->sent = l->entered = l->places = 0;
	memset(l->votes, 0, sizeof l->votes);
	memset(l->answered, 0, sizeof l->answered);
}

void ledger_step(struct ledger *l, struct rl_event event)
{
	event.now_ns = l->now_ns;
	event.reply.identified = true;
	bool placed = rl_vote_tells(&event.reply.vote, RL_FIELD_PLACE);
	if (placed)
		event.reply.operation = RL_OP_ENTER;
	if (placed && (event.reply.seq != l->seq || (l->entered >> event.node & 1) == 0))
		event.reply.vote = (struct rl_vote){.code = event.reply.vote.code, .number = event.reply.vote.number};
	l->event = event;
	l->before = l->lock;
	l->error = rl_lock_step(&l->lock, &event, &l->fx);
	l->counts[l->lock.phase]++;
	must(l, l->error <= 0 && (l->error == 0 || event.kind <= RL_EV_QUERY));
	note_call(l);
	note_vote(l);
	check_send(l);
	check_given_back(l);
	check_validity(l);
	check_loss(l);
	check_refusal(l);
	check_extends(l);
	check_done(l);
	note_send(l);
	note_place(l);
	check_places(l);
	check_time(l);
}

bool ledger_may_answer(const struct ledger *l, uint32_t seq, unsigned node)
{
	bool known = seq != 0 && seq <= l->last_seq && l->last_seq - seq < LEDGER_ROUNDS;
	return known && (l->answered[seq % LEDGER_ROUNDS] >> node & 1) == 0;
}

void ledger_stuck(const struct ledger *l)
{
	report(l, "the next TICK is due later", __LINE__);
}
