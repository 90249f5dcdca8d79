/* SPDX-License-Identifier: MIT */
#include "call.h"

#include "core/keep.h"
#include "core/policy.h"
#include "kept.h"
#include "operate.h"
#include "options.h"
#include "places.h"
#include "seen.h"
#include "stats.h"

/* Whether another handle claims the same value of the caller under the same name. A release that the other
 * handle still owes would delete the key of this one: so a value is claimed by one handle at a time. */
static bool value_is_claimed(const redlock_client *c, const redlock_lock *lock)
{
	if (lock->core.phase != RL_IDLE || rl_state_is_busy(&lock->core))
		return false;
	const redlock_lock *l = rl_registry_next(&c->handles, 0);
	for (; l != NULL; l = rl_registry_next(&c->handles, l->slot + 1))
		if (l != lock && !l->core.policy->signs && l->core.phase != RL_IDLE &&
		    rl_slice_same(rl_handle_name(l), rl_handle_name(lock)) &&
		    rl_slice_same(rl_handle_token(l), rl_handle_token(lock)))
			return true;
	return false;
}

/* The caller's token is another one's now. */
static bool pass_on(redlock_client *c, redlock_lock *lock)
{
	redlock_lock *next = rl_places_heir(&c->places, lock, c->loop.now_ns);
	if (next == NULL)
		return false;
	rl_registry_drop_events(&c->handles, lock);
	rl_stats_acquired(&c->stats, c->loop.now_ns, next->core.wait.began_ns);
	c->stats.passed++;
	rl_places_exchange(&c->handles, lock, next);
	rl_operate_step(c, lock, &(struct rl_event){.kind = RL_EV_PASS});
	lock->token_size = 0;
	rl_operate_step(c, next, &(struct rl_event){.kind = RL_EV_PASS});
	return true;
}

/* The one handle has the claim that the other one kept: as in pass_on(). */
static void enter_from(redlock_client *c, redlock_lock *lock, redlock_lock *kept)
{
	rl_kept_quit(&c->kept, kept);
	rl_places_exchange(&c->handles, kept, lock);
	rl_kept_join(&c->kept, lock);
	rl_stats_acquired(&c->stats, c->loop.now_ns, c->loop.now_ns);
	rl_operate_step(c, kept, &(struct rl_event){.kind = RL_EV_PASS});
	kept->token_size = 0;
	rl_operate_step(c, lock, &(struct rl_event){.kind = RL_EV_PASS});
}

/* Enters what the client keeps of the name, whichever handle has it. False: nothing is kept any more that
 * would be in the way of this acquire. */
static bool enter_kept(redlock_client *c, redlock_lock *lock, struct rl_event *event)
{
	redlock_lock *kept = rl_kept_find(&c->kept, lock);
	for (; kept != NULL; kept = rl_kept_find(&c->kept, lock)) {
		if (!rl_keep_may_enter(&kept->core, lock->core.rules, c->loop.now_ns)) {
			rl_operate_recall(c, kept, true);
			continue;
		}
		if (kept == lock)
			rl_operate_step(c, lock, event);
		else
			enter_from(c, lock, kept);
		c->stats.waiting++;
		c->kept.asks_nobody = true;
		return true;
	}
	return false;
}

/* Whether a handle that is entered more than once is entered again, or left and still held: nothing is asked
 * then. One whose time is over is not entered. */
static __attribute__((noinline)) bool counts(redlock_client *c, redlock_lock *lock,
                                             const struct rl_event *event)
{
	bool enters = event->kind == RL_EV_ACQUIRE && lock->entries < INT32_MAX &&
	              rl_lock_valid_until(&lock->core, c->loop.now_ns) > 0;
	bool leaves = event->kind == RL_EV_RELEASE && lock->entries > 0;
	if ((!enters && !leaves) || rl_state_is_busy(&lock->core))
		return false;
	lock->entries = (lock->entries + (enters ? 1U : UINT32_MAX)) & INT32_MAX;
	struct rl_effects fx = {.done.operation = enters ? REDLOCK_OP_ACQUIRE : REDLOCK_OP_RELEASE,
	                        .observed = RL_OBSERVE_DONE};
	rl_operate_report(c, lock, &fx);
	return true;
}

static int acquire(redlock_client *c, redlock_lock *lock, struct rl_event *event)
{
	if (!lock->core.policy->signs && value_is_claimed(c, lock))
		return REDLOCK_E_BUSY;
	if (c->kept.first != NULL && enter_kept(c, lock, event))
		return 0;
	if (lock->heir != NULL)
		rl_seen_forget_heir(lock);
	if (lock->core.rules->sticky_ns > 0)
		rl_places_invite(&c->places, lock, c->loop.now_ns);
	if (rl_nodes_are_guarded(&c->nodes))
		(void)rl_handle_make_numbers(lock); /* without memory quarantines are not waited for */
	int error = rl_operate_step(c, lock, event);
	c->stats.waiting += error == 0;
	return error;
}

static int release(redlock_client *c, redlock_lock *lock, struct rl_event *event)
{
	uint64_t until = rl_lock_valid_until(&lock->core, c->loop.now_ns), held_ns = lock->core.hold.held_ns;
	bool passed = event->asked.passes && pass_on(c, lock);
	event->asked.keeps = event->asked.passes && lock->core.rules->sticky_ns > 0 &&
	                     rl_kept_may(&c->kept, &c->loop, &c->places, lock);
	int error = passed ? 0 : rl_operate_step(c, lock, event);
	c->kept.asks_nobody = lock->core.phase == RL_KEPT;
	if (error < 0 || until == 0)
		return error;
	rl_stats_add(&c->stats.validity, rl_time_sub(until, c->loop.now_ns));
	rl_stats_add(&c->stats.hold, rl_time_sub(c->loop.now_ns, held_ns));
	return 0;
}

/* An upgrade that fails is undone by a renewal, also without renew_ms. */
static int operate(redlock_client *c, redlock_lock *lock, struct rl_event *event)
{
	if (lock->core.rules->renew_ns > 0 || event->kind == RL_EV_TURN)
		rl_handle_keep_votes(lock);
	return rl_operate_step(c, lock, event);
}

int rl_call_begin(redlock_client *c, redlock_lock *lock, struct rl_event *event)
{
	if (lock->reentrant && counts(c, lock, event))
		return 0;
	if (lock->core.phase == RL_KEPT && event->kind != RL_EV_ACQUIRE)
		rl_operate_recall(c, lock, true); /* its caller has released it */
	if (event->kind == RL_EV_EXTEND &&
	    !rl_options_may_extend(lock->core.rules, event->asked.ttl_ns / RL_NS_PER_MS))
		return REDLOCK_E_INVAL;
	int error = event->kind == RL_EV_ACQUIRE   ? acquire(c, lock, event)
	            : event->kind == RL_EV_RELEASE ? release(c, lock, event)
	                                           : operate(c, lock, event);
	rl_operate_settle(c, lock);
	return error;
}
