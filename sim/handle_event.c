/* SPDX-License-Identifier: MIT */
/* The application's reactions to the library's answers and notices, and the checks of those. */
#include "handle_inside.h"

/* The least validity that was asked for was left when the lock was granted. */
static void check_validity(struct world *w, const struct handle *h)
{
	uint64_t least_ns = h->options.min_validity_ms * SIM_MS;
	if (h->deadline_ns != 0 && !h->adopted && h->validity_ns < least_ns - least_ns / 100)
		check_fail(w, VIOLATION_RESULT, "granted with %.3f ms left, not %.3f",
		           (double)h->validity_ns / (double)SIM_MS, (double)least_ns / (double)SIM_MS);
}

/* A wait that is over is not exceeded by a further round. The lock's deadline shows when its round began: at
 * deadline - TTL + drift, with the drift of the default options. */
static void check_in_time(struct world *w, const struct handle *h)
{
	uint64_t wait_ms = h->options.wait_ms;
	if (h->adopted || wait_ms == REDLOCK_FOREVER || h->deadline_ns == 0)
		return;
	uint64_t latest_ns = h->started_ns + wait_ms * SIM_MS;
	if (wait_ms != 0 && h->began_ns > latest_ns + SIM_US)
		check_fail(w, VIOLATION_OVERTIME, "granted by a round that began %.3f ms late",
		           (double)(h->began_ns - latest_ns) / (double)SIM_MS);
}

static void granted(struct world *w, uint32_t subject)
{
	struct actor *a = &w->actors[subject >> 8];
	struct handle *h = handle_of(w, subject);
	world_hit(w, h->options.token != NULL ? (h->adopted ? COVER_ADOPTED : COVER_TAKEN) : COVER_GRANTED);
	if (w->plan.joins && a->step == STEP_BOTH)
		world_hit(w, COVER_GRANTED_JOINT);
	check_claim(w, a, h);
	check_in_time(w, h);
	check_validity(w, h);
	h->owned = true;
	h->alone = false;
	if (h->options.mode == REDLOCK_SHARED)
		world_hit(w, COVER_SHARED);
	if (handle_is_by_time(h))
		world_hit(w, COVER_BY_TIME);
	if (redlock_remaining_ms(h->lock) > 0) { /* else under a millisecond is left */
		check_grant(w, a, h);
		heal_granted(w, h->resource);
		if (h->both)
			heal_granted(w, h->resource ^ 1);
		crowd_granted(w, a->index, subject & 0xff);
	}
	bool brief = prng_chance(&w->work, h->options.sticky_ms > 0 ? 800 : 300);
	handle_plan(w, a->index, subject & 0xff, draw_ms(w, 0, brief ? 1 : h->options.ttl_ms));
}

static void done_acquire(struct world *w, uint32_t subject, int result)
{
	struct handle *h = handle_of(w, subject);
	switch (result) {
	case 0:
		granted(w, subject);
		return;
	case REDLOCK_E_BUSY:
		world_hit(w, COVER_BUSY);
		break;
	case REDLOCK_E_NOQUORUM:
		world_hit(w, COVER_NOQUORUM);
		break;
	case REDLOCK_E_CANCELLED:
		world_hit(w, COVER_CANCELLED);
		if (!h->cancelled)
			check_fail(w, VIOLATION_RESULT, "nobody cancelled");
		break;
	case REDLOCK_E_LOST: /* the loop came for the grant after its validity */
		world_hit(w, COVER_GRANTED_LATE);
		check_loss(w, w->current, h);
		h->claim++; /* no notice follows */
		break;
	case REDLOCK_E_SYSTEM: /* no random bytes */
		if (w->plan.permille[COVER_NO_RANDOM] != 0)
			break;
		/* fall through */
	default:
		check_fail(w, VIOLATION_RESULT, "acquire says %s", redlock_error_name(result));
	}
}

static void done_extend(struct world *w, uint32_t subject, int result)
{
	struct handle *h = handle_of(w, subject);
	if (result != 0)
		world_hit(w, COVER_EXTEND_FAILED);
	if (result == 0 && h->adopted && !h->held)
		granted(w, subject);
	else if (result == 0 && h->deadline_ns > actor_now(w, w->current) &&
	         !check_excludes(w, w->current, h, w->now_ns))
		check_fail(w, VIOLATION_DEADLINE, "an extend was confirmed without a quorum");
	else if (result == REDLOCK_E_LOST || (result == REDLOCK_E_GONE && h->deadline_ns != 0))
		check_loss(w, w->current, h);
	else if (result == REDLOCK_E_CANCELLED && h->cancelled)
		world_hit(w, COVER_CANCELLED);
	else if (result != 0 && result != REDLOCK_E_NOQUORUM && (result != REDLOCK_E_GONE || !h->adopted))
		check_fail(w, VIOLATION_RESULT, "extend says %s", redlock_error_name(result));
}

static void done_upgrade(struct world *w, uint32_t subject, int result)
{
	struct handle *h = handle_of(w, subject);
	world_hit(w, result == 0 ? COVER_UPGRADED : COVER_UPGRADE_FAILED);
	if (result == 0 && h->held) {
		check_upgrade(w, w->current, h);
	} else if (result != REDLOCK_E_BUSY) {
		done_extend(w, subject, result);
	}
}

static void done_downgrade(struct world *w, uint32_t subject, int result)
{
	world_hit(w, COVER_DOWNGRADED);
	done_extend(w, subject, result);
}

static void done_release(struct world *w, uint32_t subject, int result)
{
	if (result == 0)
		check_released(w, handle_of(w, subject));
	world_hit(w, result == 0 ? COVER_RELEASED : COVER_RELEASE_FAILED);
	if (result != 0 && result != REDLOCK_E_GONE && result != REDLOCK_E_NOQUORUM)
		check_fail(w, VIOLATION_RESULT, "release says %s", redlock_error_name(result));
}

static void done_query(struct world *w, uint32_t subject, int result)
{
	struct handle *h = handle_of(w, subject);
	world_hit(w, result == 0 ? COVER_QUERIED : COVER_QUERY_FAILED);
	if (result == REDLOCK_E_GONE && h->held)
		check_loss(w, w->current, h);
	else if (result != 0 && result != REDLOCK_E_GONE && result != REDLOCK_E_NOQUORUM &&
	         (result != REDLOCK_E_CANCELLED || !h->cancelled))
		check_fail(w, VIOLATION_RESULT, "query says %s", redlock_error_name(result));
}

static void done_probe(struct world *w, uint32_t subject, int result)
{
	world_hit(w, result == 0 ? COVER_PROBED : COVER_PROBE_FAILED);
	if (result != 0 && result != REDLOCK_E_NOQUORUM &&
	    (result != REDLOCK_E_SYSTEM || w->plan.permille[COVER_NO_RANDOM] == 0) &&
	    (result != REDLOCK_E_CANCELLED || !handle_of(w, subject)->cancelled))
		check_fail(w, VIOLATION_RESULT, "probe says %s", redlock_error_name(result));
}

typedef void take_result(struct world *w, uint32_t subject, int result);

static void done(struct world *w, uint32_t subject, const struct redlock_event *event)
{
	static take_result *const ends[RL_OP_COUNT] = {
	    [REDLOCK_OP_ACQUIRE] = done_acquire,     [REDLOCK_OP_EXTEND] = done_extend,
	    [REDLOCK_OP_RELEASE] = done_release,     [REDLOCK_OP_QUERY] = done_query,
	    [REDLOCK_OP_PROBE] = done_probe,         [REDLOCK_OP_UPGRADE] = done_upgrade,
	    [REDLOCK_OP_DOWNGRADE] = done_downgrade,
	};
	struct handle *h = handle_of(w, subject);
	if (h->running != event->operation) {
		check_fail(w, VIOLATION_STRAY_ANSWER, "operation %d ended, %d runs", (int)event->operation,
		           (int)h->running);
		return;
	}
	h->running = REDLOCK_OP_NONE;
	h->results[event->operation] = event->result;
	ends[event->operation](w, subject, event->result);
	if (event->operation == REDLOCK_OP_RELEASE)
		h->owned = h->lost = false;
	if (!h->held || event->operation != REDLOCK_OP_ACQUIRE)
		handle_plan(w, subject >> 8, subject & 0xff,
		            draw_ms(w, 1, h->held ? h->options.ttl_ms : w->plan.think_ms));
}

/* Danger comes before loss, where the loop ran all the time and the margin is not too small to see. */
static void lost(struct world *w, uint32_t subject)
{
	const struct actor *a = w->current;
	struct handle *h = handle_of(w, subject);
	uint64_t margin_ms =
	    h->options.danger_ms == REDLOCK_DEFAULT_DANGER ? h->options.ttl_ms / 6 : h->options.danger_ms;
	bool seen_all = a->resumed_ns < h->claimed_ns && h->claimed_ns + margin_ms * SIM_MS < h->until_ns;
	if (h->lost)
		check_fail(w, VIOLATION_NOTICE, "c%u is told twice that resource %u is lost", a->index, h->resource);
	if (w->now_ns >= h->until_ns && margin_ms * SIM_MS > SLACK_NS && seen_all && !h->danger_seen)
		check_fail(w, VIOLATION_NOTICE, "c%u was not warned that resource %u ends", a->index, h->resource);
	check_loss(w, w->current, h);
	h->lost = true;
	if (w->plan.broken == BREAK_LATE_ACTION)
		return; /* the application does not listen */
	end_claim(h);
	if (h->running == REDLOCK_OP_NONE)
		handle_plan(w, a->index, subject & 0xff, draw_ms(w, 0, w->plan.think_ms));
}

void handle_event(struct world *w, uint32_t actor, const struct redlock_event *event)
{
	unsigned observed = cover_observed(event->kind);
	uint32_t slot = 0;
	while (slot < SIM_MAX_HANDLES && w->actors[actor].handles[slot].lock != event->lock)
		slot++;
	if (slot == SIM_MAX_HANDLES) {
		check_fail(w, VIOLATION_STRAY_ANSWER, "c%u gets an event of a handle that it has not", actor);
		return;
	}
	w->cover->notices[observed]++;
	TRACE(w, "c%u resource %u %s %d %s", actor, w->actors[actor].handles[slot].resource,
	      cover_observations[observed], (int)event->operation,
	      event->kind == REDLOCK_EVENT_DONE ? redlock_error_name(event->result) : "");
	if (event->kind == REDLOCK_EVENT_DONE)
		done(w, subject_of(actor, slot), event);
	else if (event->kind == REDLOCK_EVENT_LOST)
		lost(w, subject_of(actor, slot));
	else if (event->kind == REDLOCK_EVENT_DANGER)
		w->actors[actor].handles[slot].danger_seen = true;
}
