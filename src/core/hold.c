/* SPDX-License-Identifier: MIT */
#include "core/hold.h"

#include <assert.h>

#include "core/policy.h"
#include "core/round.h"
#include "core/validity.h"

/* Parts of a whole: a renewal begins sooner by up to this part of its time, and at multiples of that part of
 * it; and it is waited for, where the node timeout is less, this part of the validity that is left. */
enum { EARLY_RENEWAL = 4, COMMON_TIMES = 256, RENEWAL_PATIENCE = 8 };

/* When to renew: as long before the end of validity as it is after a grant, so that an extend by hand, to a
 * shorter or a longer TTL, moves it along. Up to a quarter of its time sooner, by chance, so that locks that
 * were acquired together are not renewed together for ever; but at times that locks have in common, so that
 * what is due about now shares its system calls. */
static uint64_t renewal_at(const struct rl_rules *r, uint64_t valid_until, uint64_t entropy)
{
	uint64_t granted = r->ttl_ns - rl_validity_drift(r->ttl_ns, r->drift_ppm, r->drift_base_ns);
	uint64_t sooner = entropy % (r->renew_ns / EARLY_RENEWAL + 1);
	uint64_t at = rl_time_sub(valid_until, granted - r->renew_ns + sooner);
	return at - at % (r->renew_ns / COMMON_TIMES);
}

/* When notice is to be given that its validity ends soon, if notices are wanted; UINT64_MAX: it was given. */
static uint64_t danger_at(const struct rl_lock *l)
{
	return l->warned ? RL_TIME_NEVER : rl_time_sub(l->valid_until_ns, l->rules->danger_ns);
}

uint64_t rl_hold_deadline(const struct rl_lock *l)
{
	uint64_t next = l->valid_until_ns;
	if (l->rules->danger_ns > 0)
		next = rl_time_min(next, danger_at(l));
	return l->round.open ? next : rl_time_min(next, l->renew_at_ns);
}

bool rl_hold_is_capped(const struct rl_lock *l)
{
	return l->round.ttl_ns < l->rules->ttl_ns && l->round.background;
}

/* At the cap there is nothing to renew for. */
void rl_hold_until(struct rl_lock *l, const struct rl_event *e, uint64_t valid_until)
{
	const struct rl_rules *r = l->rules;
	bool renews = r->renew_ns > 0 && !rl_hold_is_capped(l);
	if (valid_until > l->valid_until_ns)
		l->warned = false;
	l->renew_at_ns = renews ? renewal_at(r, valid_until, e->around.entropy) : RL_TIME_NEVER;
	l->valid_until_ns = valid_until;
	l->phase = RL_HELD;
}

/* Half of the time in which a node does not take a value that somebody wrote after our claim for a claim of
 * theirs (ops/lib/setnx.lua). */
#define EARLY_NS (500 * RL_NS_PER_MS)

void rl_hold_renew_early(struct rl_lock *l, uint64_t now)
{
	if (l->renew_at_ns != RL_TIME_NEVER)
		l->renew_at_ns = rl_time_min(l->renew_at_ns, rl_time_add(now, EARLY_NS));
}

/* Nobody's patience ends sooner: only what the servers count, too. */
void rl_hold_leap(struct rl_lock *l, const struct rl_event *e)
{
	l->round.leapt_ns = rl_time_add(l->round.leapt_ns, e->leap_ns);
	l->valid_until_ns = rl_time_sub(l->valid_until_ns, e->leap_ns);
	l->renew_at_ns = rl_time_sub(l->renew_at_ns, e->leap_ns);
	l->hold.hold_until_ns = rl_time_sub(l->hold.hold_until_ns, e->leap_ns);
	l->hold.sticky_until_ns = rl_time_sub(l->hold.sticky_until_ns, e->leap_ns);
	/* The validity of a lock that is handed over counts from its offer. Older offers are void, also if the
	 * clock has stood still since. */
	if (l->queue.offered_ns != 0)
		l->queue.offered_ns = e->now_ns + 1;
}

void rl_hold_guard(struct rl_lock *l, uint64_t now, uint64_t ttl)
{
	uint64_t drift = rl_validity_drift(ttl, l->rules->drift_ppm, l->rules->drift_base_ns);
	l->valid_until_ns = rl_time_min(l->valid_until_ns, rl_validity_end(now, ttl, drift));
	if (l->renew_at_ns != RL_TIME_NEVER)
		l->renew_at_ns = now;
}

void rl_hold_lose(struct rl_lock *l, uint32_t reason, struct rl_effects *fx)
{
	l->phase = RL_LOST;
	l->hold.hold_until_ns = l->valid_until_ns;
	l->valid_until_ns = 0;
	fx->observed |= RL_OBSERVE_LOST | reason;
	if (l->round.open && l->round.operation == REDLOCK_OP_EXTEND)
		rl_round_end(l, REDLOCK_E_LOST, fx);
}

/* The TTL that an extend may ask for under the caps; 0: none. */
static uint64_t capped_ttl(const struct rl_lock *l, uint64_t ttl, uint64_t now)
{
	if (l->phase != RL_HELD)
		return ttl;
	if (l->rules->max_extends > 0 && l->extends >= l->rules->max_extends)
		return 0;
	uint64_t room = rl_time_sub(l->hold.hold_until_ns, now);
	if (room >= ttl)
		return ttl;
	uint64_t drift = rl_validity_drift(room, l->rules->drift_ppm, l->rules->drift_base_ns);
	room -= room % RL_NS_PER_MS; /* the wire counts milliseconds */
	return rl_validity_end(now, room, drift) > l->valid_until_ns ? room : 0;
}

static int begin(struct rl_lock *l, uint64_t now, uint64_t asked, bool background, struct rl_effects *fx)
{
	uint64_t ttl = capped_ttl(l, asked, now);
	if (ttl == 0)
		return REDLOCK_E_LIMIT;
	rl_round_open(l, REDLOCK_OP_EXTEND, now, l->phase == RL_HELD ? l->valid_until_ns : RL_TIME_NEVER, ttl,
	              fx);
	l->round.background = background;
	return 0;
}

/* The rest of the TTL was promised for the shared lock, perhaps by other nodes than those that upgrade. So
 * the upgrade asks these nodes for as much, and for the drift of the clocks meanwhile. */
static uint64_t ttl_of_upgrade(const struct rl_lock *l, uint64_t now)
{
	uint64_t ttl = l->rules->ttl_ns;
	for (;;) {
		uint64_t drift = rl_validity_drift(ttl, l->rules->drift_ppm, l->rules->drift_base_ns);
		uint64_t missing = rl_time_sub(l->valid_until_ns, rl_validity_end(now, ttl, drift));
		if (missing == 0)
			return ttl;
		ttl += missing + RL_NS_PER_MS;
		ttl -= ttl % RL_NS_PER_MS; /* the wire counts milliseconds */
	}
}

/* Behind a cap nothing is lengthened, but a lock can be shared again. */
int rl_hold_turn(struct rl_lock *l, uint64_t now, enum rl_turn turn, struct rl_effects *fx)
{
	bool up = turn == RL_TURN_UP;
	uint64_t ttl = capped_ttl(l, up ? ttl_of_upgrade(l, now) : l->rules->ttl_ns, now);
	if (ttl == 0 && up)
		return REDLOCK_E_LIMIT;
	if (ttl == 0)
		ttl = RL_NS_PER_MS;
	rl_round_open(l, REDLOCK_OP_EXTEND, now, l->valid_until_ns, ttl, fx);
	rl_round_turn(l, turn, fx);
	return 0;
}

void rl_hold_confirm(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	uint64_t valid_until = rl_time_max(l->valid_until_ns, rl_round_validity_end(l));
	if (valid_until <= e->now_ns) { /* only without an acquire before: a held lock is lost by then */
		rl_round_end(l, REDLOCK_E_NOQUORUM, fx);
		return;
	}
	if (l->phase == RL_HELD) {
		l->extends++;
	} else {
		l->extends = 0;
		l->hold.held_ns = e->now_ns;
		l->hold.hold_until_ns = RL_TIME_NEVER;
		fx->observed |= RL_COUNT_TAKEN_UP;
		l->claim.owed = rl_round_nodes(l);
		l->claim.seq = 0;
	}
	rl_hold_until(l, e, valid_until);
	rl_round_end(l, 0, fx);
}

/* The old validity stands. A renewal is tried again soon, while there is time. */
static void fail_extend(struct rl_lock *l, const struct rl_event *e, int result, struct rl_effects *fx)
{
	if (l->round.background)
		l->renew_at_ns = rl_round_retry_at(l, e, rl_time_sub(l->valid_until_ns, e->now_ns));
	rl_round_end(l, result, fx);
}

/* A quorum that says "not ours" has let somebody else in, or will: the clock no longer matters. */
void rl_hold_decide(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	const struct rl_ask *ask = &l->policy->asks[l->round.ask];
	enum rl_tally tally = ask->weigh(l);
	if (tally == RL_WON)
		rl_hold_confirm(l, e, fx);
	else if (tally == RL_REFUSED && l->phase == RL_HELD)
		rl_hold_lose(l, RL_COUNT_GONE, fx);
	else if (tally != RL_UNDECIDED)
		fail_extend(l, e, rl_policy_result(ask, tally), fx);
}

bool rl_hold_renewal_is_due(const struct rl_lock *l, uint64_t now)
{
	assert(!l->round.open || l->round.background);
	return l->phase == RL_HELD && (now >= l->renew_at_ns || l->round.open);
}

/* An extend that replaces a renewal asks for no less than the renewal would. */
int rl_hold_extend(struct rl_lock *l, uint64_t now, uint64_t ttl, struct rl_effects *fx)
{
	bool own = ttl > 0 && (ttl > l->rules->ttl_ns || !rl_hold_renewal_is_due(l, now));
	int error = begin(l, now, own ? ttl : l->rules->ttl_ns, false, fx);
	l->round.asked_ttl = error == 0 && own;
	return error;
}

/* At the cap there is no further renewal: the clock runs out. Nobody waits for a renewal, and a connection
 * answers in order: one that is asked again soon is answered no sooner, and servers that are slow would have
 * more and more to do. */
void rl_hold_renew(struct rl_lock *l, uint64_t now, struct rl_effects *fx)
{
	uint64_t patience = rl_time_sub(l->valid_until_ns, now) / RENEWAL_PATIENCE;
	l->renew_at_ns = RL_TIME_NEVER;
	rl_round_keep_votes(l);
	if (begin(l, now, l->rules->ttl_ns, true, fx) == 0)
		l->round.deadline_ns = rl_time_max(l->round.deadline_ns, rl_time_add(now, patience));
}

void rl_hold_tick(struct rl_lock *l, uint64_t now, struct rl_effects *fx)
{
	if (l->rules->danger_ns > 0 && now >= danger_at(l)) {
		l->warned = true;
		fx->observed |= RL_OBSERVE_DANGER;
	}
	if (now >= l->renew_at_ns && !l->round.open)
		rl_hold_renew(l, now, fx);
}

/* ---- passing on ---- */

/* A claim is passed on for this long after its grant, and this often. A waiter of another client waits no
 * longer than this and one hold more; and a hand-over to that client, some tenths of a millisecond, is a
 * small part of it. */
#define LONGEST_NS (5 * RL_NS_PER_MS)

/* Nor for more than this part of the TTL: who is passed the lock has that much less of it. */
enum { PART = 8 };

void rl_hold_allow_pass(struct rl_lock *l, uint64_t now)
{
	l->passes = 0;
	l->hold.pass_until_ns = rl_time_add(now, rl_time_min(LONGEST_NS, l->rules->ttl_ns / PART));
}

uint64_t rl_hold_pass_until(const struct rl_lock *l)
{
	bool may = l->phase == RL_HELD && l->passes < RL_HOLD_PASSES_MOST && l->rules->slots == 0;
	return may ? l->hold.pass_until_ns : 0;
}

bool rl_hold_are_alike(const struct rl_rules *a, const struct rl_rules *b)
{
	return a->policy == b->policy && a->ttl_ns == b->ttl_ns && a->drift_ppm == b->drift_ppm &&
	       a->drift_base_ns == b->drift_base_ns && a->renew_ns == b->renew_ns;
}

/* A caller's own value is known elsewhere. A fencing number is that of one turn: the next one needs a higher
 * one, which only the nodes have. */
bool rl_hold_may_pass(const struct rl_lock *from, const struct rl_lock *to, uint64_t now)
{
	bool may = now < rl_hold_pass_until(from) && from->policy->heirs && !rl_state_is_busy(from) &&
	           !rl_hold_is_capped(from);
	bool wants = rl_state_acquires(to) && now < to->wait_until_ns;
	return may && wants && rl_hold_are_alike(from->rules, to->rules) &&
	       from->valid_until_ns > rl_time_add(now, to->rules->min_validity_ns);
}
