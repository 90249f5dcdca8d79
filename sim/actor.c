/* SPDX-License-Identifier: MIT */
/* The event loop of an application. Its life is in actor_life.c, what it does with locks in handle.c.
 */
#include "actor.h"

#include "proof.h"
#include "world.h"

uint64_t actor_now(const struct world *w, const struct actor *a)
{
	return drift_local(&a->clock, w->now_ns);
}

static bool loop_ready(const struct world *w, const struct actor *a)
{
	uint64_t timer = a->style == LOOP_TIMEOUT ? a->timeout_ns : a->os.armed_ns;
	return timer <= actor_now(w, a) || fake_anything_ready(&a->os);
}

static void pull_events(struct world *w, struct actor *a)
{
	struct redlock_event event = {.size = sizeof event};
	int more;
	while ((more = redlock_next(a->client, &event)) == 1)
		handle_event(w, a->index, &event);
	if (more < 0)
		check_fail(w, VIOLATION_RESULT, "redlock_next() says %s", redlock_error_name(more));
}

static bool unseen_grant(const struct actor *a)
{
	for (unsigned i = 0; i < SIM_MAX_HANDLES; i++)
		if (a->handles[i].running == REDLOCK_OP_ACQUIRE && a->handles[i].deadline_ns != 0)
			return true;
	return false;
}

static void actor_run(struct world *w, uint32_t actor, uint64_t life)
{
	struct actor *a = &w->actors[actor];
	if (a->life != life || !a->alive)
		return;
	a->run_planned = false;
	if (a->paused)
		return;
	actor_enter(w, actor);
	int error = redlock_process(a->client);
	if (error != 0)
		check_fail(w, VIOLATION_RESULT, "redlock_process() says %s", redlock_error_name(error));
	check_claims(w, a);
	if (a->stumble_ns != 0 && unseen_grant(a)) {
		actor_pause(w, actor, a->stumble_ns);
		a->stumble_ns = 0;
	} else {
		pull_events(w, a);
	}
	actor_leave(w);
}

static void plan_run(struct world *w, struct actor *a)
{
	if (!a->alive || a->paused || a->run_planned)
		return;
	uint64_t delay = SIM_US + prng_below(&w->net, w->plan.loop_ns);
	if (world_mishap(w, COVER_SLOW_LOOP))
		delay += prng_between(&w->net, 1, 30) * SIM_MS;
	a->run_planned = true;
	world_after(w, delay, actor_run, a->index, a->life);
}

void actor_poke(struct world *w, uint32_t actor)
{
	struct actor *a = &w->actors[actor];
	if (a->alive && !a->paused && !a->run_planned && loop_ready(w, a))
		plan_run(w, a);
}

void actor_must_run(struct world *w, uint32_t actor)
{
	plan_run(w, &w->actors[actor]);
}

static void timer(struct world *w, uint32_t actor, uint64_t life)
{
	struct actor *a = &w->actors[actor];
	if (a->life != life || !a->alive)
		return;
	actor_poke(w, actor);
	if (a->timer_ns <= w->now_ns)
		actor_plan_timer(w, actor); /* it was set to a later time meanwhile */
}

/* One event at a time is enough: it looks again when it fires. */
void actor_plan_timer(struct world *w, uint32_t actor)
{
	struct actor *a = &w->actors[actor];
	uint64_t when = drift_world(&a->clock, a->style == LOOP_TIMEOUT ? a->timeout_ns : a->os.armed_ns);
	bool planned = a->timer_ns > w->now_ns && a->timer_ns <= when;
	if (planned || when <= w->now_ns)
		return;
	a->timer_ns = when;
	world_at(w, when, timer, actor, a->life);
}

void actor_enter(struct world *w, uint32_t actor)
{
	w->current = &w->actors[actor];
	fake_process = &w->current->os;
}

void actor_leave(struct world *w)
{
	struct actor *a = w->current;
	proof_settle(w);
	check_claims(w, a);
	if (a->style == LOOP_TIMEOUT) {
		a->timeout_ns = redlock_timeout_ns(a->client);
		actor_plan_timer(w, a->index);
	}
	w->current = NULL;
	actor_poke(w, a->index);
}
