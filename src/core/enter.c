/* SPDX-License-Identifier: MIT */
#include "core/enter.h"

#include "core/acquire.h"
#include "core/pace.h"
#include "core/policy.h"
#include "core/queue.h"
#include "core/round.h"
#include "core/slots.h"

/* A gate that is silent for this part of a node timeout is passed over; but it has twice as long as the last
 * attempt took: nodes may be far away. */
enum { GATE_PATIENCE = 2 };

/* A waiter that does not know the order of the nodes looks again after this part of the time since its call.
 */
enum { ORDER_PART = 8 };

/* A waiter that is not told any more asks within this; the first in line subscribes to the key after this. */
#define DEAF_NS (100 * RL_NS_PER_MS)
#define FOLLOWS_NS (100 * RL_NS_PER_MS)

/* A waiter that is told of the end of a key asks within this. */
#define GONE_NS (25 * RL_NS_PER_MS)

/* The messages of all nodes come within about one trip of each other. */
#define LEAST_PATIENCE_NS (5 * RL_NS_PER_MS)

/* Whether others want it, and we may wait for them: what does not contend is never contended. */
static bool waits(const struct rl_lock *l)
{
	return l->queue.contended && l->rules->wait_ns > 0;
}

bool rl_enter_waits(const struct rl_lock *l)
{
	return waits(l) && rl_state_acquires(l);
}

/* ---- asking ---- */

/* A waiter that never heard the gate gets no turn while others hand the lock over to one another. After a
 * second it takes a place, which it keeps by asking. A waiter that had a place and went deaf does not: its
 * client subscribes again. */
static bool polls_at_gate(const struct rl_lock *l, const struct rl_event *e)
{
	bool late = !l->queue.placed && rl_time_sub(e->now_ns, l->queue.changed_ns) >= RL_PACE_MOST_NS;
	return l->policy->polls && (e->around.hears & rl_queue_gate_bit(l)) == 0 && (l->queue.polls || late);
}

/* At the gate by its queue, where a place there is of use. */
static void register_place(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	l->queue.polls = polls_at_gate(l, e);
	fx->queue.stands |= l->queue.polls || (e->around.hears & rl_queue_gate_bit(l)) != 0;
	fx->queue.call = l->queue.call;
	if (fx->queue.stands)
		fx->send.enter |= rl_queue_gate_bit(l);
	l->queue.placed |= fx->queue.stands;
	if (l->queue.polls)
		fx->queue.offered_ns = RL_QUEUE_POLLS;
	else
		rl_queue_offer(l, e, fx);
	if (!fx->queue.stands)
		l->queue.place = 0; /* nothing is known of it any more */
}

static void ask_gate(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	uint64_t patience = rl_time_max(l->rules->node_timeout_ns / GATE_PATIENCE, 2 * l->wait.trip_ns);
	l->queue.stage = RL_STAGE_GATE;
	rl_acquire_ask(l, e->now_ns, rl_queue_gate_bit(l), fx);
	l->round.deadline_ns = rl_time_min(l->round.deadline_ns, rl_time_add(e->now_ns, patience));
	register_place(l, e, fx);
}

/* Called before the new gate is asked. A place that stays at the old gate would still get its turn there, and
 * hold up the waiters after it. */
static void leave_old_gate(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	l->queue.woken = false;
	rl_queue_leave(l, fx);
	rl_round_pause(l, rl_time_add(e->now_ns, 1));
}

/* A client has one place for each name, so this handle waits for the other handle of the client that has it,
 * and is notified when that one is done. If that one holds the lock, it passes it on, or the time for passing
 * on is over. */
static void stand_behind(struct rl_lock *l, const struct rl_event *e)
{
	uint64_t until = rl_time_min(rl_time_add(e->now_ns, RL_PACE_MOST_NS), l->wait_until_ns);
	l->queue.contended = true;
	l->verdict = REDLOCK_E_BUSY;
	rl_round_pause(l, rl_time_min(until, e->around.behind_ns));
}

/* A gate may have the key of somebody who does not hold: of a claim that was never given back, or a release
 * that did not reach it. So the first in line asks all nodes too when nothing has changed for a while, and
 * again after as long; that is noted. */
static bool looks_past(struct rl_lock *l, uint64_t now)
{
	uint32_t now_ms = rl_time_stamp_ms(now);
	bool soon = now_ms - l->queue.looked_ms < RL_PACE_MOST_NS / RL_NS_PER_MS;
	if (l->queue.place > 1 || l->queue.woken || soon ||
	    rl_time_sub(now, l->queue.changed_ns) < RL_PACE_MOST_NS)
		return false;
	l->queue.looked_ms = now_ms;
	return true;
}

/* The order of the nodes is unknown while one of them, slow to connect, has not said who it is. Waiters that
 * form a line at another gate meanwhile hand the lock over to one another, and those at the real gate starve.
 * So a waiter that was refused looks for its gate when it knows the order, or a node timeout after its call.
 */
static bool knows_gate(const struct rl_lock *l, const struct rl_event *e)
{
	bool refused = l->verdict != 0;
	return e->around.ordered || !refused ||
	       rl_time_sub(e->now_ns, l->queue.changed_ns) >= l->rules->node_timeout_ns;
}

/* Looks again at intervals that grow with the time that has passed. */
static void wait_for_order(struct rl_lock *l, uint64_t now)
{
	uint64_t since = rl_time_sub(now, l->queue.changed_ns);
	rl_round_pause(l, rl_time_add(now, rl_time_max(since / ORDER_PART, RL_ROUND_RETRY_MIN_NS)));
}

static void attempt(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	if (e->around.behind_ns > e->now_ns && l->rules->wait_ns > 0 && l->policy->contends) {
		stand_behind(l, e);
		return;
	}
	if (!waits(l) || l->verdict == REDLOCK_E_NOQUORUM || rl_pace_is_last(l, e->now_ns) ||
	    looks_past(l, e->now_ns)) {
		rl_acquire_ask_all(l, e->now_ns, fx);
		return;
	}
	if (!l->queue.placed && !knows_gate(l, e)) {
		wait_for_order(l, e->now_ns);
		return;
	}
	if (!rl_queue_choose_gate(l, e)) {
		leave_old_gate(l, e, fx);
		return;
	}
	if (!l->queue.woken) {
		ask_gate(l, e, fx);
		return;
	}
	l->queue.woken = false;
	l->look.pauses = 0;
	rl_acquire_ask_all(l, e->now_ns, fx);
	l->queue.stage = RL_STAGE_CLAIM;
	register_place(l, e, fx);
}

/* A handle that has just released a lock and knows that others wait does not overtake them. At a gate with a
 * queue its place is the last anyway; without a queue it pauses as the others do, and so does a waiter for
 * several names, whose names have queues of their own. */
void rl_enter_begin(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	(void)rl_queue_choose_gate(l, e); /* there is no place */
	bool last = (e->around.hears & rl_queue_gate_bit(l)) != 0 && !l->policy->several;
	if (!waits(l) || e->around.behind_ns > e->now_ns || last) {
		attempt(l, e, fx);
		return;
	}
	l->verdict = REDLOCK_E_BUSY;
	rl_round_pause(l, rl_time_add(e->now_ns, rl_pace_about(RL_PACE_BLIND_NS, e->around.entropy)));
}

/* A process that was stopped may come here long after its time. */
void rl_enter_tick(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	if (e->now_ns >= rl_acquire_patience(l, l->verdict))
		rl_acquire_end(l, l->verdict, fx);
	else
		attempt(l, e, fx);
}

/* The gate is won. */
static void claim_the_rest(struct rl_lock *l, uint64_t now, struct rl_effects *fx)
{
	uint32_t rest = rl_round_nodes(l) & ~rl_queue_gate_bit(l);
	l->queue.stage = RL_STAGE_CLAIM;
	l->claim.asked |= rest;
	l->look.pauses = 0;
	rl_acquire_again(l, rest, now, fx);
	l->round.deadline_ns = rl_time_min(l->round.deadline_ns, l->wait_until_ns);
}

/* ---- decisions ---- */

static bool in_time(const struct rl_lock *l, uint64_t now)
{
	return rl_round_is_in_time(l, now) && now < l->wait_until_ns;
}

/* A refusal leaves no key, so there is nothing to release. */
static void leave_it(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	l->claim.open = false;
	l->claim.owed = 0;
	rl_acquire_fail(l, e, REDLOCK_E_BUSY, false, fx);
}

static void pass_over(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	rl_queue_pass_over(l, e->now_ns);
	rl_acquire_fail(l, e, l->queue.passed == 0 ? REDLOCK_E_NOQUORUM : REDLOCK_E_BUSY, false, fx);
	if (l->queue.placed)
		rl_queue_leave(l, fx); /* what is late of it takes no place */
}

static void decide_gate(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	enum redlock_vote_kind vote = rl_queue_gate_vote(l);
	if (vote == REDLOCK_KIND_YES && in_time(l, e->now_ns))
		claim_the_rest(l, e->now_ns, fx);
	else if (vote == REDLOCK_KIND_YES)
		rl_acquire_fail(l, e, REDLOCK_E_BUSY, false, fx);
	else if (vote == REDLOCK_KIND_NO) {
		rl_queue_forget_vain(l);
		leave_it(l, e, fx);
	} else
		pass_over(l, e, fx);
}

/* Keys that are on their way out are asked for again, for a node timeout. Not for several names: others, who
 * have some of them in common, may have won a gate as well. */
static bool insists(const struct rl_lock *l, uint64_t now)
{
	uint64_t until = rl_time_add(l->round.t0_ns, l->rules->node_timeout_ns >> l->queue.vain);
	struct rl_count c = rl_slots_count(l);
	bool possible = c.yes + c.no + c.out >= c.quorum;
	possible &= !l->queue.handed && !l->policy->several;
	return rl_queue_gate_vote(l) == REDLOCK_KIND_YES && now < until && in_time(l, now) && possible;
}

static void look_again(struct rl_lock *l, uint64_t now, uint64_t until)
{
	uint64_t next = rl_time_add(now, rl_round_retry_pause(l));
	l->round.deadline_ns = rl_time_min(next, rl_time_min(until, l->wait_until_ns));
}

/* The holder has the keys of a quorum without that of the gate, and will until it releases. A waiter that
 * came again would win the gate again, and have no place anywhere. */
static bool is_in_vain(const struct rl_lock *l)
{
	return rl_queue_gate_vote(l) == REDLOCK_KIND_YES && !l->policy->several && !l->policy->slots;
}

static void pass_over_in_vain(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	rl_queue_pass_over(l, e->now_ns);
	rl_queue_count_vain(l);
	rl_acquire_fail(l, e, REDLOCK_E_BUSY, false, fx);
}

static void decide_claim(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	enum rl_tally tally = l->policy->asks[l->round.ask].weigh(l);
	bool over = e->kind == RL_EV_TICK;
	if (!over && (l->queue.handed || rl_queue_gate_vote(l) == REDLOCK_KIND_PENDING || insists(l, e->now_ns)))
		return;
	if (over && tally == RL_REFUSED && is_in_vain(l))
		pass_over_in_vain(l, e, fx);
	else if (tally == RL_REFUSED || tally == RL_WON)
		rl_acquire_fail(l, e, REDLOCK_E_BUSY, false, fx);
	else if (tally == RL_NOQUORUM)
		rl_acquire_fail(l, e, REDLOCK_E_NOQUORUM, false, fx);
}

void rl_enter_decide(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	if (rl_acquire_grant(l, e, fx))
		return;
	if (l->queue.stage == RL_STAGE_GATE)
		decide_gate(l, e, fx);
	else
		decide_claim(l, e, fx);
	if (l->queue.stage == RL_STAGE_CLAIM && l->round.open && insists(l, e->now_ns))
		look_again(l, e->now_ns, l->round.deadline_ns);
}

/* Readers that will be refused at the gate have the other nodes for a round trip each, and there may always
 * be one more. So it stands in line at those nodes, too: who comes later is kept out there. */
static void stand_beside(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	uint32_t nodes = fx->send.nodes & e->around.hears;
	if (!l->queue.behind_readers || nodes == 0)
		return;
	fx->send.enter |= nodes;
	fx->queue.stands = fx->queue.beside = l->queue.beside = true;
	fx->queue.call = l->queue.call;
}

void rl_enter_wait_for_others(struct rl_lock *l, uint64_t now, uint64_t more)
{
	uint64_t patience = rl_time_max(2 * l->wait.trip_ns, LEAST_PATIENCE_NS) + more;
	l->round.deadline_ns = rl_time_min(rl_time_add(now, patience), l->wait_until_ns);
}

/* A node that has not answered yet is not asked again: its second answer may be no, because the key is
 * already there, although its first one was yes and counts. */
static bool go_on_handed(struct rl_lock *l, uint64_t now, struct rl_effects *fx)
{
	uint32_t missing = rl_round_nodes(l) & ~rl_round_voted(l, REDLOCK_VOTE_YES) & ~l->claim.unanswered;
	uint64_t until =
	    rl_time_min(rl_time_add(l->queue.changed_ns, l->rules->node_timeout_ns), l->wait_until_ns);
	if (now >= until || !rl_round_is_in_time(l, now))
		return false;
	if (missing != 0)
		rl_acquire_again(l, missing, now, fx);
	rl_enter_wait_for_others(l, now, rl_round_retry_pause(l));
	rl_round_retry_grow(l);
	return true;
}

bool rl_enter_go_on(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	if (l->queue.stage != RL_STAGE_CLAIM || l->phase != RL_ACQUIRING)
		return false;
	if (l->queue.handed)
		return go_on_handed(l, e->now_ns, fx);
	if (!insists(l, e->now_ns))
		return false;
	if (rl_acquire_insist(l, e->now_ns, fx))
		stand_beside(l, e, fx);
	rl_round_retry_grow(l);
	look_again(l, e->now_ns, RL_TIME_NEVER);
	return true;
}

/* ---- messages, and places that are given up ---- */

/* Waiters that have lost messages do not all ask at the same moment. And one without a place must not be
 * first because the holder was of this client. */
static uint64_t some_time(const struct rl_lock *l, const struct rl_event *e)
{
	if (e->message.deaf)
		return e->around.entropy % DEAF_NS;
	return (e->around.hears & rl_queue_gate_bit(l)) != 0 ? 0
	                                                     : rl_pace_about(RL_PACE_BLIND_NS, e->around.entropy);
}

/* A message may have been lost, and its turn. Or it is time to take a place. */
static void ask_soon(struct rl_lock *l, const struct rl_event *e)
{
	if (!e->message.front && (!l->queue.placed || e->node != l->queue.gate))
		return;
	if (e->message.deaf)
		l->queue.place = 0; /* it is there, but nothing is known of it any more */
	uint64_t soon = rl_time_add(e->now_ns, 1 + some_time(l, e));
	if (l->phase == RL_PAUSED)
		l->wait.retry_at_ns = rl_time_min(l->wait.retry_at_ns, rl_time_max(soon, e->around.behind_ns));
}

bool rl_enter_follows(const struct rl_lock *l, uint64_t now)
{
	return l->queue.placed && l->queue.place == 1 && rl_time_sub(now, l->queue.changed_ns) >= FOLLOWS_NS;
}

/* After all else that has come in this moment: a release says more. Only for a key that we waited for, not
 * for one that we have given back; and not oftener than a waiter without this message would ask. The key may
 * have been given back by a claim that was divided with one of another gate, which asks again within the
 * longest pause of a retry: a waiter that asks at once here divides the votes anew. */
static void ask_for_it(struct rl_lock *l, const struct rl_event *e)
{
	bool first = l->phase == RL_PAUSED && l->queue.placed && l->queue.place == 1 && e->node == l->queue.gate;
	if (!first || rl_queue_gate_vote(l) != REDLOCK_KIND_NO)
		return;
	l->queue.woken = true;
	uint64_t least = rl_time_add(l->round.t0_ns, RL_PACE_LEAST_NS);
	uint64_t longest = rl_time_min(rl_round_retry_longest(l), GONE_NS);
	uint64_t about = rl_time_add(e->now_ns, e->around.entropy % (longest + 1));
	l->wait.retry_at_ns = rl_time_min(l->wait.retry_at_ns, rl_time_max(least, about));
}

/* If this handle no longer waits, the wake-up goes on to the next waiter. So does an old wake-up: it may
 * arrive after the acquire that it was meant for, and would let this handle overtake others. */
void rl_enter_wake(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	if (!l->policy->contends)
		return; /* it never has a place */
	if (e->message.gone) {
		ask_for_it(l, e);
		return;
	}
	if (e->message.deaf || e->message.front) {
		ask_soon(l, e);
		return;
	}
	if (l->queue.beside && e->node != l->queue.gate && e->message.call == l->queue.call) {
		(void)rl_enter_go_on(l, e, fx); /* the key that it waited for there is gone */
		return;
	}
	if (!rl_state_acquires(l) || !l->queue.placed || e->node != l->queue.gate ||
	    e->message.call != l->queue.call) {
		rl_queue_give_up(l, UINT32_C(1) << e->node, e->message.call, fx);
		return;
	}
	l->queue.woken = true;
	l->queue.changed_ns = e->now_ns;
	l->queue.place = 1;
	if (l->phase == RL_PAUSED)
		rl_enter_tick(l, e, fx);
}

/* ---- a lock that is handed over ---- */

static bool is_ours(const struct rl_lock *l, const struct rl_event *e)
{
	return l->queue.offered_ns != 0 && rl_slice_same(e->reply.vote.token, e->around.token);
}

/* Nothing is sent: the votes come by themselves. */
static void begin_handed(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	rl_acquire_ask(l, e->now_ns, rl_round_nodes(l), fx);
	*fx = (struct rl_effects){.send.operation = RL_OP_NONE, .observed = fx->observed};
	l->claim.owed = l->claim.unanswered = 0; /* yet */
	l->round.t0_ns = e->message.offered_ns;
}

static void go_on(struct rl_lock *l, const struct rl_event *e)
{
	l->claim.asked = rl_round_nodes(l);
	l->round.t0_ns = rl_time_min(l->round.t0_ns, e->message.offered_ns);
}

/* The gate has taken our place out of its queue, and says how many are left. */
static void vote(struct rl_lock *l, const struct rl_event *e)
{
	if (e->node == l->queue.gate) {
		l->queue.placed = false;
		l->queue.contended = e->reply.vote.waiting > 0;
	}
	if (l->round.operation == REDLOCK_OP_ACQUIRE)
		rl_round_cast(l, e->node, rl_round_cast_once(l, e->reply.twins, REDLOCK_VOTE_YES),
		              rl_time_sub(e->now_ns, l->round.t0_ns));
	l->claim.owed |= 1u << e->node;
	l->claim.unanswered &= ~(1u << e->node);
}

static void take(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	if (l->claim.open)
		go_on(l, e);
	else
		begin_handed(l, e, fx);
	if (!l->queue.handed)
		l->look.pauses = 0;
	l->queue.stage = RL_STAGE_CLAIM;
	l->queue.handed = true;
	l->queue.woken = false;
	l->queue.changed_ns = e->now_ns;
	rl_enter_wait_for_others(l, e->now_ns, 0);
	vote(l, e);
	rl_enter_decide(l, e, fx);
}

/* A lock that is handed over and not wanted is released; but never the token that this handle claims or
 * holds. */
void rl_enter_take(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	bool in_time = l->queue.offered_ns <= e->message.offered_ns && e->message.offered_ns <= e->now_ns;
	if (!is_ours(l, e))
		fx->declines = true;
	else if (rl_state_holds(l))
		vote(l, e); /* the others were a quorum */
	else if (rl_state_acquires(l) && in_time)
		take(l, e, fx);
}
