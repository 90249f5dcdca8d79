/* SPDX-License-Identifier: MIT */
/* The life of a lock handle in an application: every decision is drawn. */
#include <stdio.h>

#include "handle_inside.h"

/* A third of it is longer than a round trip in the slowest of networks. */

/* For the end of a seed. Long enough for the slowest of networks. */
#define FINAL_TTL_MS 3000
#define RENEWED_TTL_MS 1200

void handle_drop(struct handle *h)
{
	struct handle fresh = {.turn = h->turn + 1, .operation = h->operation + 1, .claim = h->claim + 1};
	memcpy(fresh.results, h->results, sizeof fresh.results);
	*h = fresh;
}

/* ---- operations ---- */

/* Starts an operation and expects its end. */
static void start(struct world *w, uint32_t subject, enum redlock_operation operation, uint64_t ttl_ms)
{
	struct handle *h = handle_of(w, subject);
	int error = 0;
	if (h->both && operation >= REDLOCK_OP_QUERY) /* of one name only */
		operation = h->owned ? REDLOCK_OP_RELEASE : REDLOCK_OP_ACQUIRE;
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
		check_kept(w, h);
		break;
	case REDLOCK_OP_PROBE:
		error = redlock_start_probe(h->lock);
		break;
	case REDLOCK_OP_UPGRADE:
		error = redlock_start_upgrade(h->lock);
		break;
	case REDLOCK_OP_DOWNGRADE:
		h->alone = false;
		error = redlock_start_downgrade(h->lock);
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
		h->stopped_ns = w->current->stopped_ns;
		handle_expect_answer(w, subject, operation);
		actor_must_run(w, subject >> 8);
	} else if (error == REDLOCK_E_BUSY && operation == REDLOCK_OP_ACQUIRE && h->options.token != NULL) {
		world_hit(w, COVER_ONE_AT_A_TIME);
	} else if (error == REDLOCK_E_LIMIT &&
	           (operation == REDLOCK_OP_EXTEND || operation == REDLOCK_OP_UPGRADE)) {
		world_hit(w, COVER_LIMITED);
	} else if (error == REDLOCK_E_LOST &&
	           (operation == REDLOCK_OP_EXTEND || operation >= REDLOCK_OP_UPGRADE)) {
		check_loss(w, w->current, h);
	} else if (error != REDLOCK_E_SYSTEM ||
	           (operation != REDLOCK_OP_ACQUIRE && operation != REDLOCK_OP_PROBE)) {
		check_fail(w, VIOLATION_RESULT, "operation %d cannot start: %s", (int)operation,
		           redlock_error_name(error));
	}
}

/* ---- making and freeing ---- */

/* Puts up the token of a lock that is being left. */
static void offer(struct world *w, const struct handle *h)
{
	struct adoption *place = &w->adoptions[prng_below(&w->work, SIM_ADOPTIONS)];
	if (h->token_size >= sizeof place->token || h->both || h->options.slots > 0 ||
	    h->options.mode == REDLOCK_SHARED)
		return;
	*place = (struct adoption){.open = true, .resource = h->resource, .compat = h->options.compat};
	memcpy(place->token, h->token, h->token_size);
}

/* Now and then takes a token that was put up, as the handle's own: false otherwise. */
static bool take(struct world *w, struct handle *h)
{
	struct adoption *place = &w->adoptions[prng_below(&w->work, SIM_ADOPTIONS)];
	if (!place->open || !prng_chance(&w->work, 500))
		return false;
	place->open = false;
	h->resource = place->resource;
	memcpy(h->own_token, place->token, sizeof place->token);
	h->options.token = h->own_token;
	h->options.compat = place->compat;
	return true;
}

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
	if (w->plan.sticky && chance(w, 700))
		o->sticky_ms = prng_between(&w->work, 1, 2000);
	if (w->plan.by_time && (w->plan.old_clients > 0 || chance(w, 500)))
		o->compat = REDLOCK_COMPAT_SETNX;
}

/* Now and then what another handle of the process wants. */
static void imitate(struct world *w, const struct actor *a, struct handle *h)
{
	const struct handle *other = &a->handles[prng_below(&w->work, SIM_MAX_HANDLES)];
	if (other->lock == NULL || other->options.token != NULL || !chance(w, 500))
		return;
	h->resource = other->resource;
	h->options = other->options;
	h->options.wait_ms = REDLOCK_FOREVER;
}

/* Nearly all handles agree on how many slots there are. A handle that is imitated has slots too, or none. */
static void draw_slots(struct world *w, struct handle *h)
{
	bool may = h->options.fence == 0 && h->options.token == NULL && !h->both &&
	           h->options.mode == REDLOCK_EXCLUSIVE && !handle_is_by_time(h);
	bool counts = w->plan.broken == BREAK_COUNTING;
	h->slot = 0;
	if (!may)
		h->options.slots = 0;
	else if (h->options.slots == 0 && chance(w, counts ? 900 : 150))
		h->options.slots = !counts && chance(w, 30) ? 3 : 2;
}

static void open_lock(struct world *w, uint32_t subject)
{
	struct handle *h = handle_of(w, subject);
	struct bytes name = resource_name(h->resource), other = resource_name(h->resource ^ 1);
	const struct redlock_name both[] = {{name.at, name.size}, {other.at, other.size}};
	redlock_client *client = w->current->client;
	int error = h->both ? redlock_lock_new_many_bytes(client, both, 2, &h->options, &h->lock)
	                    : redlock_lock_new_bytes(client, name.at, name.size, &h->options, &h->lock);
	if (error != 0)
		check_fail(w, VIOLATION_RESULT, "a new handle says %s", redlock_error_name(error));
}

static void make(struct world *w, uint32_t subject)
{
	struct actor *a = &w->actors[subject >> 8];
	struct handle *h = handle_of(w, subject);
	h->resource = (unsigned)prng_below(&w->work, w->plan.resources);
	draw_options(w, h);
	imitate(w, a, h);
	if (take(w, h)) {
		h->adopted = a->adopted = true;
	} else if (chance(w, w->plan.broken == BREAK_OWN_VALUE ? 900 : 150)) {
		snprintf(h->own_token, sizeof h->own_token, "own-%u-%u-%u%s", a->index, a->values, h->resource,
		         handle_is_by_time(h) ? "t" : "");
		h->options.token = h->own_token;
	}
	h->options.token_len = h->options.token != NULL ? strlen(h->own_token) : 0;
	h->options.fence = w->plan.guard && h->options.token == NULL && chance(w, 750);
	bool plain = h->options.token == NULL && !handle_is_by_time(h);
	h->both = w->plan.resources == 2 && plain && chance(w, w->plan.broken == BREAK_SOME ? 500 : 250);
	bool alike = plain && !h->both;
	h->options.mode =
	    alike && chance(w, w->plan.broken == BREAK_SHARED ? 500 : 250) ? REDLOCK_SHARED : REDLOCK_EXCLUSIVE;
	draw_slots(w, h);
	open_lock(w, subject);
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
	w->actors[subject >> 8].values++; /* it is somebody else's now */
	offer(w, h);
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

static void ask_token(struct world *w, uint32_t subject)
{
	const struct handle *h = handle_of(w, subject);
	char token[REDLOCK_MAX_TOKEN + 1];
	size_t size = 0;
	int error = redlock_lock_token(h->lock, token, sizeof token, &size);
	if (error != 0 || (h->deadline_ns != 0 && (size != h->token_size || memcmp(token, h->token, size) != 0)))
		check_fail(w, VIOLATION_RESULT, "c%u is told a token that it has not", subject >> 8);
	if (h->deadline_ns != 0)
		check_told(w, h);
}

/* Calls that the handle's state does not allow must be refused at once, and change nothing. */
static void misuse(struct world *w, uint32_t subject)
{
	struct handle *h = handle_of(w, subject);
	bool running = h->running != REDLOCK_OP_NONE, fresh = !h->owned && h->options.token == NULL;
	uint64_t pick = prng_below(&w->work, 4);
	int error = REDLOCK_E_STATE;
	if (pick == 0 && (running || h->owned))
		error = redlock_start_acquire(h->lock);
	else if (pick == 1 && (running || fresh || h->lost))
		error = redlock_start_extend(h->lock, 0);
	else if (pick == 2 && (running || fresh))
		error = redlock_start_release(h->lock);
	else if (pick == 3 && (running || h->both))
		error = redlock_start_query(h->lock);
	else
		return;
	world_hit(w, COVER_MISUSE);
	if (error != (pick == 1 && h->lost && !running ? REDLOCK_E_LOST : REDLOCK_E_STATE))
		check_fail(w, VIOLATION_RESULT, "c%u: operation %d that cannot begin is %s", subject >> 8,
		           (int)pick + 1, redlock_error_name(error));
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

/* An old client whose GETSET lost leaves its own time: nobody else's may end later. */
static uint64_t most_ttl_ms(const struct world *w, const struct handle *h)
{
	return (w->plan.old_clients > 0 ? 1 : SIM_TTL_STRETCH) * h->options.ttl_ms;
}

static void act_held(struct world *w, uint32_t subject)
{
	struct handle *h = handle_of(w, subject);
	uint64_t pick = prng_below(&w->work, 100);
	bool ended = h->until_ns <= w->now_ns; /* and nobody has noticed */
	if (chance(w, 50))
		ask_token(w, subject);
	if (ended && chance(w, 300))
		start(w, subject, REDLOCK_OP_QUERY, 0);
	else if (h->options.mode == REDLOCK_SHARED && chance(w, 400))
		start(w, subject, h->alone ? REDLOCK_OP_DOWNGRADE : REDLOCK_OP_UPGRADE, 0);
	else if (pick < 35)
		start(w, subject, REDLOCK_OP_EXTEND,
		      chance(w, 500) ? 0 : prng_between(&w->work, h->options.ttl_ms / 2, most_ttl_ms(w, h)));
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
	if (chance(w, h->owned ? 200 : 50))
		start(w, subject,
		      h->owned || h->options.token != NULL || chance(w, 500) ? REDLOCK_OP_QUERY : REDLOCK_OP_PROBE,
		      0);
	else if (h->owned)
		start(w, subject, REDLOCK_OP_RELEASE, 0);
	else if (!h->adopted)
		start(w, subject, REDLOCK_OP_ACQUIRE, 0);
	else
		start(w, subject, chance(w, 700) ? REDLOCK_OP_EXTEND : REDLOCK_OP_RELEASE, 0);
	uint64_t patience = draw_ms(w, 5, 3 * w->plan.ttl_ms_max);
	handle_plan(w, subject >> 8, subject & 0xff, patience);
}

/* After the faults: every client wants one of the locks, and a holder gives it back. */
static void act_healing(struct world *w, uint32_t subject)
{
	struct handle *h = handle_of(w, subject);
	bool wants = (subject & 0xff) == 0;
	if (h->running == REDLOCK_OP_ACQUIRE && !h->cancelled && !h->healing)
		cancel(w, subject);
	else if (h->running == REDLOCK_OP_NONE && h->lock != NULL && !h->owned)
		let_go(w, subject);
	if (h->lock == NULL && !wants)
		return;
	if (h->lock == NULL) {
		h->healing = true;
		h->resource = (subject >> 8) % w->plan.resources;
		redlock_lock_options_init(&h->options);
		h->options.ttl_ms = w->plan.ttl_ms_max > HEAL_TTL_MS ? w->plan.ttl_ms_max : HEAL_TTL_MS;
		h->options.wait_ms = REDLOCK_FOREVER;
		if (w->plan.old_clients > 0) /* one client takes over from the dead ones */
			h->options.compat = REDLOCK_COMPAT_SETNX;
		open_lock(w, subject);
		start(w, subject, REDLOCK_OP_ACQUIRE, 0);
	} else if (h->running == REDLOCK_OP_NONE) {
		start(w, subject, REDLOCK_OP_RELEASE, 0);
	}
	handle_plan(w, subject >> 8, subject & 0xff, draw_ms(w, 10, 100));
}

static void handle_act(struct world *w, uint32_t subject, uint64_t turn)
{
	struct actor *a = &w->actors[subject >> 8];
	struct handle *h = handle_of(w, subject);
	if (h->turn != turn || !a->alive || a->retiring || w->winding_down)
		return;
	if (a->paused) {
		world_at(w, a->resume_ns + prng_below(&w->work, SIM_MS), handle_act, subject, turn);
		return;
	}
	actor_enter(w, a->index);
	bool ended = h->held && h->until_ns <= w->now_ns; /* and nobody has noticed */
	if (h->lock != NULL && chance(w, ended ? 500 : 30))
		misuse(w, subject);
	if (w->heal.on)
		act_healing(w, subject);
	else if (h->running != REDLOCK_OP_NONE)
		act_running(w, subject);
	else if (h->held)
		act_held(w, subject);
	else
		act_free(w, subject);
	if (h->lock != NULL && h->running != REDLOCK_OP_NONE && chance(w, 50))
		misuse(w, subject);
	actor_leave(w);
}

void handle_plan(struct world *w, uint32_t actor, uint32_t slot, uint64_t after_ns)
{
	struct handle *h = &w->actors[actor].handles[slot];
	h->turn++;
	world_after(w, after_ns, handle_act, subject_of(actor, slot), h->turn);
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

/* A handle that locks by time needs a key beside the name. */
static bool all_keys_are_permitted(const struct world *w)
{
	bool all = crowd_may_share(w);
	for (unsigned i = 0; i < w->plan.nodes; i++)
		all &= !w->nodes[i].redis.queue_denied;
	return all;
}

void handle_final_acquire(struct world *w, uint32_t actor, unsigned resource, uint64_t wait_ms, bool renewed)
{
	struct handle *h = &w->actors[actor].handles[0];
	h->resource = resource;
	redlock_lock_options_init(&h->options);
	h->options.ttl_ms = renewed ? RENEWED_TTL_MS : FINAL_TTL_MS;
	h->options.renew_ms = renewed ? RENEWED_TTL_MS / 3 : 0;
	h->options.wait_ms = wait_ms;
	h->options.slots = w->plan.broken == BREAK_COUNTING ? 2 : 0; /* where all try at the same moment */
	if (w->plan.by_time && wait_ms > 0 && (actor + resource) % 2 == 0 && all_keys_are_permitted(w))
		h->options.compat = REDLOCK_COMPAT_SETNX;
	actor_enter(w, actor);
	open_lock(w, subject_of(actor, 0));
	if (h->lock != NULL)
		start(w, subject_of(actor, 0), REDLOCK_OP_ACQUIRE, 0);
	actor_leave(w);
}

void handle_crowd_acquire(struct world *w, uint32_t actor, uint32_t slot, struct handle_wish wish)
{
	struct handle *h = &w->actors[actor].handles[slot];
	actor_enter(w, actor);
	if (h->lock != NULL && wish.shares != (h->options.mode == REDLOCK_SHARED))
		let_go(w, subject_of(actor, slot));
	if (h->lock == NULL) {
		h->resource = wish.resource;
		h->both = wish.both;
		redlock_lock_options_init(&h->options);
		h->options.ttl_ms = FINAL_TTL_MS;
		h->options.wait_ms = wish.wait_ms;
		h->options.mode = wish.shares ? REDLOCK_SHARED : REDLOCK_EXCLUSIVE;
		open_lock(w, subject_of(actor, slot));
	}
	start(w, subject_of(actor, slot), REDLOCK_OP_ACQUIRE, 0);
	actor_leave(w);
}

void handle_final_misuse(struct world *w, uint32_t actor)
{
	actor_enter(w, actor);
	misuse(w, actor << 8);
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
