/* SPDX-License-Identifier: MIT */
/* The life of a client's process: it starts, pauses, dies, or closes its client, and starts anew. */
#include <assert.h>
#include <stdio.h>

#include "spread.h"
#include "world.h"

#define URL_SIZE 128

static void trace_line(void *world, const char *line)
{
	struct world *w = world;
	TRACE(w, "c%u | %s", w->current->index, line);
}

static void write_url(const struct plan *plan, unsigned node, bool lends, char url[URL_SIZE])
{
	char login[48] = "";
	if (plan->password != NULL && !lends)
		snprintf(login, sizeof login, "%s:%s@", plan->user != NULL ? plan->user : "", plan->password);
	if (plan->unix_sockets)
		snprintf(url, URL_SIZE, "unix://%s/run/node%u.sock?db=%u", login, node, plan->database);
	else
		snprintf(url, URL_SIZE, "redis://%snode%u:%u/%u", login, node, 7000 + node, plan->database);
}

/* Some programs end themselves: most release what they have and wait until no node is owed anything, as a
 * one-shot command does; some just close. */
static void retire(struct world *w, uint32_t actor, uint64_t life)
{
	struct actor *a = &w->actors[actor];
	if (a->life != life || !a->alive || w->winding_down)
		return;
	if (prng_chance(&w->work, 700))
		actor_retire(w, actor);
	else if (!a->paused)
		actor_close(w, actor);
}

void actor_seed(const struct world *w, const struct actor *a, struct prng *ret)
{
	prng_seed(ret, w->plan.seed, 1000 + (uint64_t)a->index * 100 + a->life);
}

/* The nodes of one of the set's lists come first, then all others. */
static void choose_list(struct world *w, struct actor *a, const unsigned *all)
{
	unsigned used = 0;
	a->list = change_list(w);
	a->node_count = (unsigned)__builtin_popcount(a->list);
	for (unsigned pass = 0; pass < 2; pass++)
		for (unsigned i = 0; i < w->plan.nodes; i++)
			if ((a->list >> all[i] & 1) == (pass == 0))
				a->order[used++] = all[i];
}

/* By the rule of the library (spread.h). */
static unsigned joint_quorum(const struct world *w)
{
	const char *urls[SIM_MAX_NODES] = {NULL}, *ret_urls[REDLOCK_MAX_NODES], *why;
	struct rl_spread_sets sets = {.count = 2, .joining = 1};
	struct redlock_node_set both;
	sets.list[0] = (struct redlock_node_set){.urls = urls, .url_count = w->plan.old_nodes};
	sets.list[1] = (struct redlock_node_set){.urls = urls, .url_count = w->plan.nodes - w->plan.old_nodes};
	why = rl_spread_nodes(&sets, (struct rl_spread_choice){.joins = true}, ret_urls, &both);
	assert(why == NULL);
	return why == NULL ? both.quorum : 0;
}

/* While a node set joins, each process is in one of two steps that follow each other. */
static void choose_step(struct world *w, struct actor *a)
{
	unsigned kept = 0;
	unsigned step = w->plan.first_step + (unsigned)prng_below(&w->work, 2);
	if (w->plan.broken == BREAK_STEPS)
		step = prng_chance(&w->work, 500) ? STEP_OLD : STEP_NEW;
	for (unsigned i = 0; i < a->node_count; i++)
		if (a->order[i] < w->plan.old_nodes ? step != STEP_NEW : step != STEP_OLD)
			a->order[kept++] = a->order[i];
	a->step = (enum sim_step)step;
	a->node_count = kept;
}

static unsigned choose_quorum(const struct world *w, const struct actor *a)
{
	if (w->plan.joins && a->step == STEP_BOTH && w->plan.broken != BREAK_JOINT)
		return joint_quorum(w);
	return w->plan.quorum != 0 ? w->plan.quorum : rl_quorum_least(a->node_count);
}

/* Every client has the same nodes, in an order of its own. */
static void choose_nodes(struct world *w, struct actor *a)
{
	unsigned all[SIM_MAX_NODES] = {0};
	assert(w->plan.nodes > 0);
	a->node_count = w->plan.nodes;
	for (unsigned i = 0; i < w->plan.nodes; i++)
		all[i] = i;
	for (unsigned i = w->plan.nodes; i > 1; i--) {
		unsigned k = (unsigned)prng_below(&w->work, i), kept = all[i - 1];
		all[i - 1] = all[k];
		all[k] = kept;
	}
	if (w->plan.broken == BREAK_MEMBERS) { /* each leaves out one node */
		a->node_count = w->plan.nodes - 1;
		for (unsigned i = 0; i < a->node_count; i++)
			all[i] = (a->index + i) % w->plan.nodes;
	}
	if (w->plan.changes)
		choose_list(w, a, all);
	else
		memcpy(a->order, all, sizeof all);
	if (w->plan.joins)
		choose_step(w, a);
}

static void check_memory_given_back(struct world *w, struct actor *a)
{
	if (a->memory.blocks != 0)
		check_fail(w, VIOLATION_LEAK, "c%u closed its client and left %u blocks, %zu bytes", a->index,
		           a->memory.blocks, a->memory.bytes);
	if (a->memory.most_bytes > w->cover->most_memory)
		w->cover->most_memory = a->memory.most_bytes;
	a->memory = (struct memory){0};
}

static void actor_start(struct world *w, uint32_t actor, uint64_t life)
{
	struct actor *a = &w->actors[actor];
	if (a->alive || life != a->life + 1)
		return;
	char urls[SIM_MAX_NODES][URL_SIZE];
	const char *list[SIM_MAX_NODES];
	a->life = (uint32_t)life;
	a->alive = true;
	a->dying = a->refused = a->adopted = a->retiring = a->paused = a->stopped = a->run_planned = false;
	a->style = (enum loop_style)prng_below(&w->work, LOOP_STYLES);
	a->timeout_ns = a->timer_ns = a->stumble_ns = 0;
	a->os = (struct fake_process){0};
	actor_seed(w, a, &a->random);
	choose_nodes(w, a);
	a->lends = w->plan.gap_ms[COVER_NEW_LOGIN] != 0;
	a->quorum = choose_quorum(w, a);
	for (unsigned i = 0; i < a->node_count; i++) {
		write_url(&w->plan, a->order[i], a->lends, urls[i]);
		list[i] = urls[i];
	}
	struct redlock_options options;
	char why[256] = "";
	redlock_options_init(&options);
	options.urls = list;
	options.url_count = a->node_count;
	options.user = a->lends ? w->plan.user : NULL;
	options.password = a->lends ? w->plan.password : NULL;
	options.prefix = w->plan.prefix;
	options.quorum = w->plan.joins ? a->quorum : w->plan.quorum;
	options.guard = w->plan.guard   ? REDLOCK_GUARD_REQUIRE
	                : w->plan.looks ? REDLOCK_GUARD_AUTO
	                                : REDLOCK_GUARD_OFF;
	options.owner = actor % 2 == 0 ? "app@sim" : NULL;
	options.trace = w->trace.on ? trace_line : NULL;
	options.trace_user = w;
	options.error_text = why;
	options.error_text_size = sizeof why;
	TRACE(w, "c%u starts, process %u", actor, a->life);
	actor_enter(w, actor);
	int error = redlock_open(&options, &a->client);
	if (error != 0) {
		a->alive = false;
		w->current = NULL;
		check_memory_given_back(w, a);
		if (error != REDLOCK_E_SYSTEM) /* there were no random bytes */
			check_fail(w, VIOLATION_RESULT, "redlock_open() says %s: %s", redlock_error_name(error), why);
		a->life = (uint32_t)life;
		world_after(w, 100 * SIM_MS, actor_start, actor, life + 1);
		return;
	}
	actor_leave(w);
	actor_must_run(w, actor);
	if (prng_chance(&w->work, 400))
		world_after(w, prng_between(&w->work, 100, 3000) * SIM_MS, retire, actor, life);
	for (uint32_t i = 0; i < SIM_MAX_HANDLES; i++)
		handle_plan(w, actor, i, prng_below(&w->work, w->plan.think_ms + 1) * SIM_MS);
}

void actor_init(struct world *w, uint32_t actor)
{
	struct actor *a = &w->actors[actor];
	a->index = actor;
	a->clock = (struct drift){
	    .base_world_ns = w->now_ns,
	    .base_local_ns = SIM_SECOND + prng_below(&w->chaos, 1000000) * SIM_SECOND,
	};
	if (w->plan.gap_ms[COVER_CLIENT_DRIFT] != 0)
		a->clock.rate_ppm =
		    (int32_t)prng_between(&w->chaos, 0, 2 * (uint64_t)w->plan.rate_ppm) - w->plan.rate_ppm;
	a->plain = world_mishap(w, COVER_PLAIN_CLIENT);
	world_after(w, prng_below(&w->work, 200) * SIM_MS, actor_start, actor, 1);
}

/* Frees the process's memory as the library does it, checks that it kept no descriptor, and lets the next
 * process start. */
static void end_process(struct world *w, struct actor *a)
{
	redlock_lock *locks[SIM_MAX_HANDLES];
	for (unsigned i = 0; i < SIM_MAX_HANDLES; i++) {
		locks[i] = a->handles[i].lock;
		handle_drop(&a->handles[i]);
	}
	actor_enter(w, a->index);
	bool handles_first = prng_chance(&w->work, 500);
	for (unsigned i = 0; handles_first && i < SIM_MAX_HANDLES; i++)
		redlock_lock_free(locks[i]);
	redlock_close(a->client);
	for (unsigned i = 0; !handles_first && i < SIM_MAX_HANDLES; i++)
		redlock_lock_free(locks[i]);
	w->current = NULL;
	a->client = NULL;
	a->alive = false;
	check_memory_given_back(w, a);
	for (unsigned i = 0; i < FAKE_FDS; i++)
		if (a->os.fds[i].used)
			check_fail(w, VIOLATION_DESCRIPTOR, "c%u closed its client and left descriptor %u", a->index,
			           i + FAKE_FIRST_FD);
	for (unsigned i = 0; i < FAKE_LOOKUPS; i++)
		if (a->os.lookups[i].runs)
			check_fail(w, VIOLATION_LEAK, "c%u closed its client and left a lookup", a->index);
	if (a->os.poller_open)
		check_fail(w, VIOLATION_DESCRIPTOR, "c%u closed its client and left its poller", a->index);
	world_after(w, prng_between(&w->work, 1, 500) * SIM_MS, actor_start, a->index, a->life + 1);
}

void actor_crash(struct world *w, uint32_t actor, bool machine)
{
	struct actor *a = &w->actors[actor];
	TRACE(w, "c%u dies%s", actor, machine ? ", with its machine" : "");
	w->gone_machines += machine;
	for (unsigned i = 0; i < FAKE_FDS; i++)
		if (a->os.fds[i].used)
			link_client_die(w, a->os.fds[i].conn, machine);
	a->dying = true;
	actor_spoil(w, actor, false);
	end_process(w, a);
}

void actor_close(struct world *w, uint32_t actor)
{
	TRACE(w, "c%u closes its client", actor);
	world_hit(w, COVER_CLOSED);
	actor_spoil(w, actor, true);
	end_process(w, &w->actors[actor]);
}

void actor_log_in(struct world *w, uint32_t actor, bool refused)
{
	struct actor *a = &w->actors[actor];
	TRACE(w, "c%u gets credentials that are %s", actor, refused ? "refused" : "accepted");
	a->refused = refused;
	actor_enter(w, actor);
	int error = redlock_set_credentials(a->client, refused ? "nobody" : w->plan.user,
	                                    refused ? "wrong" : w->plan.password);
	actor_leave(w);
	if (error != 0)
		check_fail(w, VIOLATION_RESULT, "redlock_set_credentials() says %s", redlock_error_name(error));
	actor_must_run(w, actor);
}

void actor_stumble(struct world *w, uint32_t actor, uint64_t duration_ns)
{
	w->actors[actor].stumble_ns = duration_ns;
}

static void go_on(struct world *w, uint32_t actor, uint64_t life)
{
	struct actor *a = &w->actors[actor];
	if (a->life != life || !a->paused)
		return;
	a->paused = false;
	a->resumed_ns = w->now_ns;
	TRACE(w, "c%u goes on", actor);
	actor_must_run(w, actor);
}

void actor_pause(struct world *w, uint32_t actor, uint64_t duration_ns)
{
	struct actor *a = &w->actors[actor];
	TRACE(w, "c%u pauses for %.3f ms", actor, (double)duration_ns / (double)SIM_MS);
	a->paused = true;
	a->resume_ns = w->now_ns + duration_ns;
	world_at(w, a->resume_ns, go_on, actor, a->life);
}

/* ---- the clock ---- */

static void clock_changed(struct world *w, struct actor *a)
{
	for (unsigned i = 0; i < SIM_MAX_HANDLES; i++)
		if (a->handles[i].until_ns > w->now_ns && !a->stopped)
			a->handles[i].until_ns = drift_world(&a->clock, a->handles[i].deadline_ns);
	check_clocks(w);
	if (!a->alive)
		return;
	actor_plan_timer(w, a->index);
	actor_poke(w, a->index);
}

void actor_set_rate(struct world *w, uint32_t actor, int32_t rate_ppm)
{
	struct actor *a = &w->actors[actor];
	drift_set_rate(&a->clock, w->now_ns, rate_ppm);
	clock_changed(w, a);
}

void actor_jump(struct world *w, uint32_t actor, uint64_t step_ns)
{
	struct actor *a = &w->actors[actor];
	TRACE(w, "c%u's clock jumps by %.3f ms", actor, (double)step_ns / (double)SIM_MS);
	drift_jump(&a->clock, w->now_ns, (int64_t)step_ns);
	a->resumed_ns = w->now_ns; /* for its timers it is as if it had been away */
	clock_changed(w, a);
}

void actor_freeze(struct world *w, uint32_t actor, uint64_t for_ns)
{
	struct actor *a = &w->actors[actor];
	TRACE(w, "c%u's clock stands still for %.3f ms", actor, (double)for_ns / (double)SIM_MS);
	drift_freeze(&a->clock, w->now_ns, for_ns);
	actor_pause(w, actor, for_ns);
	clock_changed(w, a);
}

/* ---- the wall clock ---- */

/* The first that the process does is to look: what it believes now, it relies on. */
static void start_machine(struct world *w, uint32_t actor, uint64_t life)
{
	struct actor *a = &w->actors[actor];
	if (a->life != life || !a->alive)
		return;
	a->stopped = false;
	actor_enter(w, actor);
	for (unsigned i = 0; i < SIM_MAX_HANDLES; i++) {
		struct handle *h = &a->handles[i];
		if (h->lock == NULL || h->deadline_ns == 0 || redlock_deadline_ns(h->lock) != h->deadline_ns)
			continue;
		h->until_ns = drift_world(&a->clock, h->deadline_ns);
		if (h->held)
			check_grant(w, a, h);
	}
	actor_leave(w);
	check_clocks(w);
}

void actor_stop(struct world *w, uint32_t actor, uint64_t for_ns)
{
	struct actor *a = &w->actors[actor];
	TRACE(w, "c%u's machine is stopped for %.3f ms", actor, (double)for_ns / (double)SIM_MS);
	drift_freeze(&a->clock, w->now_ns, for_ns);
	a->ahead_ns += (int64_t)for_ns;
	a->leapt_ns += for_ns;
	a->stopped_ns += for_ns;
	for (unsigned i = 0; i < SIM_MAX_HANDLES; i++)
		a->handles[i].untold_ns += for_ns;
	a->stopped = true;
	world_after(w, for_ns, start_machine, actor, a->life);
	actor_pause(w, actor, for_ns);
}

/* Back is noticed at once: what is set forward before the next look would seem to be less. */
void actor_set_wall(struct world *w, uint32_t actor, int64_t step_ns)
{
	struct actor *a = &w->actors[actor];
	TRACE(w, "c%u's wall clock is set by %.3f ms", actor, (double)step_ns / (double)SIM_MS);
	a->ahead_ns += step_ns;
	a->resumed_ns = w->now_ns; /* for its timers it is as if it had been away */
	if (step_ns > 0) {
		a->leapt_ns += (uint64_t)step_ns;
		a->os.woken = true;
		actor_poke(w, actor);
	} else {
		actor_enter(w, actor);
		(void)redlock_leapt_ms(a->client);
		actor_leave(w);
	}
}
