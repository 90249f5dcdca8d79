/* SPDX-License-Identifier: MIT */
/* The life of a lock handle in an application. Every decision is drawn; every answer is checked. */
#include "handle.h"

#include <stdio.h>
#include <string.h>

#include "adoption.h"
#include "resource.h"
#include "world.h"

/* How late the end of an operation or a notice may be seen: the event loop's delays, and drift. */
#define SLACK_NS (150 * SIM_MS)

#define FINAL_TTL_MS 3000
#define RENEWED_TTL_MS 1200

static uint32_t subject_of(uint32_t actor, uint32_t slot)
{
	return actor << 8 | slot;
}

static struct handle *handle_of(struct world *w, uint32_t subject)
{
	return &w->actors[subject >> 8].handles[subject & 0xff];
}

static bool chance(struct world *w, unsigned permille)
{
	return prng_chance(&w->work, permille);
}

static uint64_t draw_ms(struct world *w, uint64_t low_ms, uint64_t high_ms)
{
	return prng_between(&w->work, low_ms, high_ms) * SIM_MS;
}

void handle_drop(struct handle *h)
{
	struct handle fresh = {.turn = h->turn + 1, .operation = h->operation + 1, .claim = h->claim + 1};
	memcpy(fresh.results, h->results, sizeof fresh.results);
	*h = fresh;
}

/* The application stops to rely on the lock, before it calls the library. */
static void end_claim(struct handle *h)
{
	h->held = false;
	h->over = true;
	h->claim++;
}

/* ---- what must happen in time ---- */

/* A process that paused gets the slack again from when it went on. Later than this is too late. */
static uint64_t latest(const struct actor *a, uint64_t due_ns)
{
	uint64_t from = a->paused ? a->resume_ns : a->resumed_ns;
	return from + SLACK_NS > due_ns ? from + SLACK_NS : due_ns;
}

static void operation_due(struct world *w, uint32_t subject, uint64_t operation)
{
	const struct actor *a = &w->actors[subject >> 8];
	const struct handle *h = handle_of(w, subject);
	if (h->operation != operation || h->running == REDLOCK_OP_NONE)
		return;
	if (latest(a, w->now_ns) > w->now_ns)
		world_at(w, latest(a, w->now_ns), operation_due, subject, operation);
	else
		check_fail(w, VIOLATION_NO_ANSWER, "c%u operation %d on resource %u", a->index, (int)h->running,
		           h->resource);
}

static void notice_due(struct world *w, uint32_t subject, uint64_t claim)
{
	const struct actor *a = &w->actors[subject >> 8];
	const struct handle *h = handle_of(w, subject);
	if (h->claim != claim || h->lock == NULL)
		return;
	if (latest(a, w->now_ns) > w->now_ns)
		world_at(w, latest(a, w->now_ns), notice_due, subject, claim);
	else
		check_fail(w, VIOLATION_NOTICE, "c%u was not told that resource %u is lost", a->index, h->resource);
}

void handle_expect_notice(struct world *w, uint32_t actor, uint32_t slot)
{
	struct handle *h = &w->actors[actor].handles[slot];
	h->claimed_ns = w->now_ns;
	h->claim++;
	world_at(w, h->until_ns + SLACK_NS, notice_due, subject_of(actor, slot), h->claim);
}

/* ---- operations ---- */

static uint64_t node_timeout_ns(const struct handle *h)
{
	uint64_t ms = h->options.ttl_ms / 3;
	return (ms < 200 ? ms : 200) * SIM_MS;
}

static uint64_t due_in(const struct handle *h, enum redlock_operation operation)
{
	uint64_t wait_ms = h->options.wait_ms;
	if (operation == REDLOCK_OP_QUERY) /* it may wait for a renewal that is under way */
		return 2 * node_timeout_ns(h) + SLACK_NS;
	if (operation != REDLOCK_OP_ACQUIRE || wait_ms == 0)
		return node_timeout_ns(h) + SLACK_NS;
	if (wait_ms == REDLOCK_FOREVER)
		return SIM_NEVER;
	return wait_ms * SIM_MS + wait_ms * SIM_MS / 100 + SLACK_NS;
}

/* Starts an operation and expects its end. */
static void start(struct world *w, uint32_t subject, enum redlock_operation operation, uint64_t ttl_ms)
{
	struct handle *h = handle_of(w, subject);
	int error = 0;
	switch (operation) {
	case REDLOCK_OP_ACQUIRE:
		h->over = h->lost = false;
		actor_unsettle(w, subject >> 8);
		error = redlock_start_acquire(h->lock);
		break;
	case REDLOCK_OP_EXTEND:
		error = redlock_start_extend(h->lock, ttl_ms);
		break;
	case REDLOCK_OP_RELEASE:
		end_claim(h);
		error = redlock_start_release(h->lock);
		break;
	default:
		error = redlock_start_query(h->lock);
		break;
	}
	TRACE(w, "c%u starts operation %d on resource %u: %s", subject >> 8, (int)operation, h->resource,
	      redlock_error_name(error));
	w->cover->operations++;
	if (error == 0) {
		h->running = operation;
		h->cancelled = false;
		h->started_ns = actor_now(w, w->current);
		h->operation++;
		uint64_t due = due_in(h, operation);
		if (due != SIM_NEVER)
			world_after(w, due, operation_due, subject, h->operation);
		actor_must_run(w, subject >> 8);
	} else if (error == REDLOCK_E_LIMIT && operation == REDLOCK_OP_EXTEND) {
		world_hit(w, COVER_LIMITED);
	} else if (error == REDLOCK_E_LOST && operation == REDLOCK_OP_EXTEND) {
		check_loss(w, w->current, h);
	} else if (error != REDLOCK_E_SYSTEM || operation != REDLOCK_OP_ACQUIRE) {
		check_fail(w, VIOLATION_RESULT, "operation %d cannot start: %s", (int)operation,
		           redlock_error_name(error));
	}
}

/* ---- making and freeing ---- */

static void draw_options(struct world *w, struct handle *h)
{
	struct redlock_lock_options *o = &h->options;
	redlock_lock_options_init(o);
	o->ttl_ms = prng_between(&w->work, w->plan.ttl_ms_min, w->plan.ttl_ms_max);
	if (chance(w, 700))
		o->wait_ms = chance(w, 100) ? REDLOCK_FOREVER : prng_between(&w->work, 10, 2000);
	if (chance(w, 300))
		o->noquorum_wait_ms = prng_between(&w->work, 0, 500);
	if (chance(w, 200))
		o->min_validity_ms = o->ttl_ms / 4;
	if (chance(w, 500)) {
		o->retry_min_ms = chance(w, 100) ? 0 : prng_between(&w->work, 5, 60);
		o->retry_max_ms = o->retry_min_ms + (chance(w, 200) ? 0 : prng_below(&w->work, 100));
	}
	if (chance(w, 500))
		o->renew_ms = o->ttl_ms / 3;
	if (chance(w, 300))
		o->danger_ms = chance(w, 500) ? 0 : o->ttl_ms / 4;
	if (chance(w, 150))
		o->max_hold_ms = prng_between(&w->work, o->ttl_ms, 4 * o->ttl_ms);
	if (chance(w, 150))
		o->max_extends = (uint32_t)prng_between(&w->work, 1, 3);
}

static void make(struct world *w, uint32_t subject)
{
	struct actor *a = &w->actors[subject >> 8];
	struct handle *h = handle_of(w, subject);
	h->resource = (unsigned)prng_below(&w->work, w->plan.resources);
	draw_options(w, h);
	if (adoption_take(w, h)) {
		h->adopted = a->adopted = true;
	} else if (chance(w, 100)) {
		snprintf(h->own_token, sizeof h->own_token, "own-%u-%u-%u-%llu", a->index, a->life, subject & 0xff,
		         (unsigned long long)h->turn);
		h->options.token = h->own_token;
	}
	h->options.token_len = h->options.token != NULL ? strlen(h->own_token) : 0;
	struct bytes name = resource_name(h->resource);
	int error = redlock_lock_new(a->client, name.at, name.size, &h->options, &h->lock);
	if (error != 0)
		check_fail(w, VIOLATION_RESULT, "redlock_lock_new() says %s", redlock_error_name(error));
	h->over = !h->adopted;
}

static void let_go(struct world *w, uint32_t subject)
{
	struct handle *h = handle_of(w, subject);
	redlock_lock *lock = h->lock;
	if (h->held)
		world_hit(w, COVER_FREED_HELD);
	if (h->running != REDLOCK_OP_NONE)
		world_hit(w, COVER_FREED_RUNNING);
	TRACE(w, "c%u frees its handle of resource %u", subject >> 8, h->resource);
	handle_drop(h);
	redlock_lock_free(lock);
	actor_must_run(w, subject >> 8);
}

static void leave(struct world *w, uint32_t subject)
{
	struct handle *h = handle_of(w, subject);
	redlock_lock *lock = h->lock;
	world_hit(w, COVER_LEFT);
	TRACE(w, "c%u leaves resource %u", subject >> 8, h->resource);
	check_left(w, h);
	adoption_offer(w, h);
	handle_drop(h);
	redlock_lock_leave(lock);
}

static void cancel(struct world *w, uint32_t subject)
{
	struct handle *h = handle_of(w, subject);
	TRACE(w, "c%u cancels on resource %u", subject >> 8, h->resource);
	h->cancelled = true;
	int error = redlock_cancel(h->lock);
	if (error != 0)
		check_fail(w, VIOLATION_RESULT, "redlock_cancel() says %s", redlock_error_name(error));
	actor_must_run(w, subject >> 8);
}

/* ---- decisions ---- */

static void act_running(struct world *w, uint32_t subject)
{
	struct handle *h = handle_of(w, subject);
	if (chance(w, 300))
		cancel(w, subject);
	else if (chance(w, 200))
		let_go(w, subject);
	else
		handle_plan(w, subject >> 8, subject & 0xff, draw_ms(w, 10, h->options.ttl_ms));
}

static void act_held(struct world *w, uint32_t subject)
{
	struct handle *h = handle_of(w, subject);
	uint64_t pick = prng_below(&w->work, 100);
	if (pick < 35)
		start(w, subject, REDLOCK_OP_EXTEND,
		      chance(w, 500)
		          ? 0
		          : prng_between(&w->work, h->options.ttl_ms / 2, SIM_TTL_STRETCH * h->options.ttl_ms));
	else if (pick < 45)
		start(w, subject, REDLOCK_OP_QUERY, 0);
	else if (pick < 80)
		start(w, subject, REDLOCK_OP_RELEASE, 0);
	else if (pick < 86)
		let_go(w, subject);
	else if (pick < 90)
		leave(w, subject);
	if (h->lock != NULL && h->running == REDLOCK_OP_NONE)
		handle_plan(w, subject >> 8, subject & 0xff, draw_ms(w, 10, h->options.ttl_ms));
}

static void act_free(struct world *w, uint32_t subject)
{
	struct handle *h = handle_of(w, subject);
	if (h->lock == NULL)
		make(w, subject);
	else if (h->options.token != NULL || chance(w, 200))
		let_go(w, subject);
	if (h->lock == NULL) {
		handle_plan(w, subject >> 8, subject & 0xff, draw_ms(w, 1, w->plan.think_ms));
		return;
	}
	if (h->owned)
		start(w, subject, REDLOCK_OP_RELEASE, 0);
	else if (chance(w, 50))
		start(w, subject, REDLOCK_OP_QUERY, 0);
	else if (!h->adopted)
		start(w, subject, REDLOCK_OP_ACQUIRE, 0);
	else
		start(w, subject, chance(w, 700) ? REDLOCK_OP_EXTEND : REDLOCK_OP_RELEASE, 0);
	uint64_t patience = draw_ms(w, 5, 3 * w->plan.ttl_ms_max);
	handle_plan(w, subject >> 8, subject & 0xff, patience);
}

static void handle_act(struct world *w, uint32_t subject, uint64_t turn)
{
	struct actor *a = &w->actors[subject >> 8];
	struct handle *h = handle_of(w, subject);
	if (h->turn != turn || !a->alive || a->retiring || w->winding_down)
		return;
	if (a->paused) {
		world_at(w, a->resume_ns + SIM_MS, handle_act, subject, turn);
		return;
	}
	actor_enter(w, a->index);
	if (h->running != REDLOCK_OP_NONE)
		act_running(w, subject);
	else if (h->held)
		act_held(w, subject);
	else
		act_free(w, subject);
	actor_leave(w);
}

void handle_plan(struct world *w, uint32_t actor, uint32_t slot, uint64_t after_ns)
{
	struct handle *h = &w->actors[actor].handles[slot];
	h->turn++;
	world_after(w, after_ns, handle_act, subject_of(actor, slot), h->turn);
}

/* ---- answers ---- */

/* What was asked for as the least validity was there when the lock was granted. */
static void check_validity(struct world *w, const struct handle *h)
{
	uint64_t least_ns = h->options.min_validity_ms * SIM_MS;
	if (h->deadline_ns != 0 && !h->adopted && h->until_ns - h->claimed_ns < least_ns - least_ns / 100)
		check_fail(w, VIOLATION_RESULT, "granted with %.3f ms left, not %.3f",
		           (double)(h->until_ns - h->claimed_ns) / (double)SIM_MS, (double)least_ns / (double)SIM_MS);
}

/* A wait that is over is not overshot by a further round. What the lock's deadline says about its round:
 * began at deadline - TTL + drift, with the drift of the default options. */
static void check_in_time(struct world *w, const struct handle *h)
{
	uint64_t ttl_ns = h->options.ttl_ms * SIM_MS, wait_ms = h->options.wait_ms;
	if (h->adopted || wait_ms == REDLOCK_FOREVER || h->deadline_ns == 0)
		return;
	uint64_t began_ns = h->deadline_ns - ttl_ns + ttl_ns / 100 + 2 * SIM_MS;
	uint64_t latest_ns = h->started_ns + wait_ms * SIM_MS;
	if (wait_ms != 0 && began_ns > latest_ns + SIM_US)
		check_fail(w, VIOLATION_OVERTIME, "granted by a round that began %.3f ms late",
		           (double)(began_ns - latest_ns) / (double)SIM_MS);
}

static void granted(struct world *w, uint32_t subject)
{
	struct actor *a = &w->actors[subject >> 8];
	struct handle *h = handle_of(w, subject);
	world_hit(w, h->options.token != NULL ? (h->adopted ? COVER_ADOPTED : COVER_TAKEN) : COVER_GRANTED);
	check_claim(w, a, h);
	check_in_time(w, h);
	check_validity(w, h);
	h->owned = true;
	if (redlock_remaining_ms(h->lock) > 0)
		check_grant(w, a, h);
	else
		world_hit(w, COVER_GRANTED_LATE);
	handle_plan(w, a->index, subject & 0xff, draw_ms(w, 0, h->options.ttl_ms));
}

static void done_acquire(struct world *w, uint32_t subject, int result)
{
	const struct handle *h = handle_of(w, subject);
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
	         !check_quorum_beyond(w, w->current, h, w->now_ns))
		check_fail(w, VIOLATION_DEADLINE, "an extend was confirmed without a quorum");
	else if (result == REDLOCK_E_LOST || (result == REDLOCK_E_GONE && h->deadline_ns != 0))
		check_loss(w, w->current, h);
	else if (result == REDLOCK_E_CANCELLED && h->cancelled)
		world_hit(w, COVER_CANCELLED);
	else if (result != 0 && result != REDLOCK_E_NOQUORUM && (result != REDLOCK_E_GONE || !h->adopted))
		check_fail(w, VIOLATION_RESULT, "extend says %s", redlock_error_name(result));
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

static void done(struct world *w, uint32_t subject, const struct redlock_event *event)
{
	struct handle *h = handle_of(w, subject);
	if (h->running != event->operation) {
		check_fail(w, VIOLATION_STRAY_ANSWER, "operation %d ended, %d runs", (int)event->operation,
		           (int)h->running);
		return;
	}
	h->running = REDLOCK_OP_NONE;
	h->results[event->operation] = event->result;
	if (event->operation == REDLOCK_OP_ACQUIRE)
		done_acquire(w, subject, event->result);
	else if (event->operation == REDLOCK_OP_EXTEND)
		done_extend(w, subject, event->result);
	else if (event->operation == REDLOCK_OP_RELEASE)
		done_release(w, subject, event->result);
	else
		done_query(w, subject, event->result);
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
	world_hit(w, COVER_LOST);
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
	static const char *const kinds[] = {"?", "DONE", "DANGER", "LOST"};
	uint32_t slot = 0;
	while (slot < SIM_MAX_HANDLES && w->actors[actor].handles[slot].lock != event->lock)
		slot++;
	if (slot == SIM_MAX_HANDLES) {
		check_fail(w, VIOLATION_STRAY_ANSWER, "c%u gets an event of a handle that it has not", actor);
		return;
	}
	TRACE(w, "c%u resource %u %s %d %s", actor, w->actors[actor].handles[slot].resource, kinds[event->kind],
	      (int)event->operation, event->kind == REDLOCK_EVENT_DONE ? redlock_error_name(event->result) : "");
	if (event->kind == REDLOCK_EVENT_DONE) {
		done(w, subject_of(actor, slot), event);
	} else if (event->kind == REDLOCK_EVENT_LOST) {
		lost(w, subject_of(actor, slot));
	} else {
		world_hit(w, COVER_DANGER);
		w->actors[actor].handles[slot].danger_seen = true;
	}
}

/* ---- the end of a seed ---- */

bool handle_wind_down(struct world *w, uint32_t actor, uint32_t slot)
{
	uint32_t subject = subject_of(actor, slot);
	struct handle *h = handle_of(w, subject);
	if (h->lock == NULL)
		return true;
	if (h->running == REDLOCK_OP_ACQUIRE && !h->cancelled)
		cancel(w, subject);
	else if (h->running == REDLOCK_OP_NONE && h->owned)
		start(w, subject, REDLOCK_OP_RELEASE, 0);
	else if (h->running == REDLOCK_OP_NONE)
		let_go(w, subject);
	return false;
}

void handle_final_acquire(struct world *w, uint32_t actor, unsigned resource, uint64_t wait_ms, bool renewed)
{
	struct actor *a = &w->actors[actor];
	struct handle *h = &a->handles[0];
	struct bytes name = resource_name(resource);
	h->resource = resource;
	redlock_lock_options_init(&h->options);
	h->options.ttl_ms = renewed ? RENEWED_TTL_MS : FINAL_TTL_MS;
	h->options.renew_ms = renewed ? RENEWED_TTL_MS / 3 : 0;
	h->options.wait_ms = wait_ms;
	actor_enter(w, actor);
	int error = redlock_lock_new(a->client, name.at, name.size, &h->options, &h->lock);
	if (error != 0)
		check_fail(w, VIOLATION_RESULT, "redlock_lock_new() says %s", redlock_error_name(error));
	else
		start(w, subject_of(actor, 0), REDLOCK_OP_ACQUIRE, 0);
	actor_leave(w);
}

void handle_final_disturb(struct world *w, uint32_t actor)
{
	const struct handle *h = &w->actors[actor].handles[0];
	if (h->running != REDLOCK_OP_NONE || !h->held)
		return;
	actor_enter(w, actor);
	if (chance(w, 500))
		start(w, subject_of(actor, 0), REDLOCK_OP_QUERY, 0);
	else
		start(w, subject_of(actor, 0), REDLOCK_OP_EXTEND,
		      prng_between(&w->work, RENEWED_TTL_MS / 3, RENEWED_TTL_MS));
	actor_leave(w);
}
