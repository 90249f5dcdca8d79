/* SPDX-License-Identifier: MIT */
/*
 * The phases of a seed: work under faults; faults over, somebody acquires each resource; everybody
 * gives up what they have and settles; silence until every TTL is over; each client acquires each resource
 * once more; everybody closes.
 */
#include "scenario.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "faults.h"
#include "proof.h"
#include "world.h"

#define STEP_NS (20 * SIM_MS)

/* How long settling may take beyond the last restart of a node: back-off, stalled connections,
 * retransmission. */
#define SETTLE_NS (12 * SIM_SECOND)

/* Until then every node is back, every client has tried it again, and every dead connection is known to be
 * dead. */
#define REST_NS (KEEPALIVE_NS + 4 * SIM_SECOND)

/* The time to give back without faults: before any TTL could help. */
#define GIVE_BACK_NS SIM_SECOND

/* Blocks of memory that a client at rest may have. Of each node: its URL in two forms, its place in the set,
 * its record, a second link, two readers, two buffers, and six outboxes of two blocks each, which stay once
 * they have been used. */
#define CLIENT_BLOCKS 21
#define NODE_BLOCKS 21

#define FINAL_WAIT_MS 10000
#define RIVAL_WAIT_MS 300
#define KEEP_STEPS 40

static void begin(struct world *w)
{
	change_begin(w);
	for (uint32_t i = 0; i < w->plan.nodes; i++)
		node_start(w, i);
	for (uint32_t i = 0; i < w->plan.actors; i++)
		actor_init(w, i);
	faults_begin(w);
	change_operate(w);
	old_begin(w);
}

static bool all_settled(struct world *w)
{
	bool all = true;
	for (uint32_t i = 0; i < w->plan.actors; i++)
		all &= actor_wind_down(w, i);
	return all;
}

static void report_debts(struct world *w)
{
	for (uint32_t i = 0; i < w->plan.actors; i++) {
		uint32_t node = actor_debt(w, i);
		if (node < SIM_MAX_NODES)
			check_fail(w, VIOLATION_UNSETTLED, "c%u owes n%u, long after the last fault", i, node);
	}
	check_fail(w, VIOLATION_UNSETTLED, "somebody does not come to rest");
}

/* The bound of split votes, and the time of one stage more, with the node timeout of these locks. */
#define CONTEST_NS (1200 * SIM_MS)
enum { MISUSES = 64 };

/* ---- the first seconds after the faults ---- */

/* The longest last restart, and the longest pause of a client: until then the faults are not over. */
#define LAST_FAULT_NS (5 * SIM_SECOND)

/* A connect that hangs is given up after 3 s, and the next one is made up to 3 s later. */
#define RECONNECT_NS (6 * SIM_SECOND)

/* Many clients that want one lock split the votes now and then, and wait for up to 160 ms before they try
 * again. */
#define CONTENTION_NS (2 * SIM_SECOND)

void heal_granted(struct world *w, unsigned resource)
{
	if (w->heal.on)
		w->heal.granted_ns[resource] = w->now_ns;
}

/* In some seeds all holders die now. Their keys stay until the TTL, and block nobody for longer. */
static void kill_holders(struct world *w)
{
	for (uint32_t i = 0; i < w->plan.actors; i++) {
		bool holds = false;
		for (unsigned k = 0; k < SIM_MAX_HANDLES; k++)
			holds |= w->actors[i].handles[k].held;
		if (holds && !w->actors[i].paused)
			actor_crash(w, i, true);
	}
}

static bool faults_are_over(const struct world *w)
{
	for (uint32_t i = 0; i < w->plan.nodes; i++)
		if (!w->nodes[i].up)
			return false;
	for (uint32_t i = 0; i < w->plan.actors; i++)
		if (w->actors[i].paused)
			return false;
	return true;
}

static bool all_granted(const struct world *w, uint64_t since_ns)
{
	for (unsigned i = 0; i < w->plan.resources; i++)
		if (w->heal.granted_ns[i] < since_ns)
			return false;
	return true;
}

static void wait_for_grants(struct world *w)
{
	uint64_t since_ns = w->now_ns, longest_ns = plan_longest_ttl_ns(&w->plan);
	if (w->plan.guard) /* a quarantine may begin anew */
		longest_ns = 2 * (longest_ns + plan_guard_ttl_ms(&w->plan) * SIM_MS);
	uint64_t by_ns = since_ns + (longest_ns > RECONNECT_NS ? longest_ns : RECONNECT_NS) + CONTENTION_NS;
	while (!all_granted(w, since_ns) && !w->check.failed) {
		if (w->now_ns > by_ns)
			check_fail(w, VIOLATION_STANDSTILL, "nobody acquired a resource within %.3f ms",
			           (double)(w->now_ns - since_ns) / (double)SIM_MS);
		world_run(w, w->now_ns + STEP_NS);
	}
	if (w->now_ns - since_ns > w->cover->slowest_heal_ns)
		w->cover->slowest_heal_ns = w->now_ns - since_ns;
}

static void heal(struct world *w)
{
	if (prng_chance(&w->work, 500))
		kill_holders(w);
	faults_end(w);
	change_end(w);
	for (uint32_t i = 0; i < w->links.count; i++)
		if (w->links.conns[i].silent && !w->links.conns[i].client_gone)
			link_reset(w, i, true);
	w->heal.on = true;
	for (uint32_t i = 0; i < w->plan.actors; i++)
		for (uint32_t k = 0; w->actors[i].alive && k < SIM_MAX_HANDLES; k++)
			handle_plan(w, i, k, prng_below(&w->work, 100) * SIM_MS);
	uint64_t by_ns = w->now_ns + LAST_FAULT_NS + 2 * plan_longest_ttl_ns(&w->plan);
	while (!faults_are_over(w) && w->now_ns < by_ns && !w->check.failed)
		world_run(w, w->now_ns + STEP_NS);
	wait_for_grants(w);
	w->heal.on = false;
}

/* ---- rest ---- */

static void settle(struct world *w)
{
	w->winding_down = true;
	uint64_t by = w->now_ns + plan_longest_ttl_ns(&w->plan) + SETTLE_NS;
	while (!all_settled(w) && !w->check.failed) {
		if (w->now_ns > by)
			report_debts(w);
		world_run(w, w->now_ns + STEP_NS);
	}
}

/* With one kind of fault, and again without any. The effects of that fault may not delay anybody. */
static void wait_in_turn(struct world *w)
{
	enum sim_cover wanted = w->plan.broken == BREAK_HEADS   ? COVER_WAITER_CRASH
	                        : w->plan.broken == BREAK_POLLS ? COVER_MESSAGE_LOST
	                                                        : COVER_COUNT;
	crowd_play(w, crowd_trouble(w, wanted));
	settle(w);
	world_run(w, w->now_ns + REST_NS);
	crowd_play(w, 0);
	settle(w);
}

/* Acquires, in a world without faults. */
static int acquire(struct world *w, uint32_t actor, unsigned resource, uint64_t wait_ms, bool renewed)
{
	struct handle *h = &w->actors[actor].handles[0];
	uint64_t by = w->now_ns + wait_ms * SIM_MS + SIM_SECOND;
	memset(h->results, 0, sizeof h->results);
	h->results[REDLOCK_OP_ACQUIRE] = REDLOCK_E_STATE;
	handle_final_acquire(w, actor, resource, wait_ms, renewed);
	while (h->running != REDLOCK_OP_NONE && w->now_ns < by && !w->check.failed)
		world_run(w, w->now_ns + SIM_MS);
	return h->results[REDLOCK_OP_ACQUIRE];
}

static uint64_t total(const uint64_t *counts, unsigned size)
{
	uint64_t all = 0;
	for (unsigned i = 0; i < size; i++)
		all += counts[i];
	return all;
}

/* The counters of a client whose handles are gone. */
static void check_counters(struct world *w, const struct actor *a)
{
	struct redlock_stats s = {.size = sizeof s};
	actor_enter(w, a->index);
	int error = redlock_stats(a->client, &s);
	actor_leave(w);
	uint64_t lost = total(s.losses, REDLOCK_STATS_LOSSES);
	bool fits = error == 0 && s.held == 0 && s.waiting == 0 &&
	            s.wait.count == total(s.acquires, REDLOCK_STATS_RESULTS) &&
	            s.attempts + s.passed >= s.acquires[0] && s.taken_over + s.passed <= s.acquires[0] &&
	            lost + s.validity.count <= s.hold.count && s.hold.count >= s.acquires[0];
	if (!fits)
		check_fail(w, VIOLATION_COUNTERS,
		           "c%u: held %" PRIu64 ", waiting %" PRIu64 ", acquired %" PRIu64
		           ", holds that ended %" PRIu64 ", attempts %" PRIu64,
		           a->index, s.held, s.waiting, s.acquires[0], s.hold.count, s.attempts);
}

/* A client that has no handle and owes nothing keeps its connections with their buffers, and nothing else. */
static void check_at_rest(struct world *w, const struct actor *a)
{
	uint32_t most = CLIENT_BLOCKS + NODE_BLOCKS * a->node_count;
	if (!w->check.failed && a->memory.blocks > most)
		check_fail(w, VIOLATION_LEAK, "c%u is at rest and has %u blocks, %zu bytes", a->index,
		           a->memory.blocks, a->memory.bytes);
}

static void give_back(struct world *w, uint32_t actor)
{
	uint64_t by = w->now_ns + GIVE_BACK_NS;
	while (!actor_wind_down(w, actor) && !w->check.failed) {
		if (w->now_ns > by)
			check_fail(w, VIOLATION_UNSETTLED, "c%u after its last release", actor);
		world_run(w, w->now_ns + SIM_MS);
	}
	check_at_rest(w, &w->actors[actor]);
	check_counters(w, &w->actors[actor]);
}

static void refuse(struct world *w, uint32_t rival, unsigned resource)
{
	int result = acquire(w, rival, resource, RIVAL_WAIT_MS, false);
	if (result != REDLOCK_E_BUSY)
		check_fail(w, VIOLATION_RESULT, "a busy resource is %s for c%u", redlock_error_name(result), rival);
	give_back(w, rival);
}

/* A client acquires a free resource; a rival is told that it is busy; after the release no key is left. */
static void once_more(struct world *w, uint32_t actor, unsigned resource)
{
	TRACE(w, "c%u acquires resource %u for the last time", actor, resource);
	int result = acquire(w, actor, resource, FINAL_WAIT_MS, false);
	if (result != 0 || !w->actors[actor].handles[0].held)
		check_fail(w, VIOLATION_STARVED, "c%u resource %u: %s", actor, resource, redlock_error_name(result));
	if (resource == 0 && !w->plan.joins) /* votes of two steps are split: nobody has a quorum of refusals */
		refuse(w, (actor + 1) % w->plan.actors, resource);
	give_back(w, actor);
	result = w->actors[actor].handles[0].results[REDLOCK_OP_RELEASE];
	if (result != 0)
		check_fail(w, VIOLATION_RESULT, "the release of a lock that is held is %s",
		           redlock_error_name(result));
	check_no_keys(w);
}

/* All clients try a free resource at the same moment, without waiting: exactly one gets it. */
static void contest(struct world *w)
{
	unsigned winners = 0;
	TRACE(w, "all try resource %u at once", 0);
	for (uint32_t i = 0; i < w->plan.actors; i++)
		handle_final_acquire(w, i, 0, 0, false);
	for (uint32_t i = 0; i < MISUSES; i++) {
		world_run(w, w->now_ns + CONTEST_NS / MISUSES);
		handle_final_misuse(w, i % w->plan.actors);
	}
	for (uint32_t i = 0; i < w->plan.actors; i++) {
		const struct handle *h = &w->actors[i].handles[0];
		bool answered = h->running == REDLOCK_OP_NONE && h->results[REDLOCK_OP_ACQUIRE] != REDLOCK_E_NOQUORUM;
		winners += answered && h->results[REDLOCK_OP_ACQUIRE] == 0;
		if (!answered)
			check_fail(w, VIOLATION_SPLIT, "c%u has no answer, or no quorum", i);
	}
	if (winners != 1)
		check_fail(w, VIOLATION_SPLIT, "%u of %u clients got it", winners, w->plan.actors);
	for (uint32_t i = 0; i < w->plan.actors; i++)
		give_back(w, i);
	check_no_keys(w);
}

/* A lock that is renewed in the background stays, whatever else its owner asks for meanwhile. */
static void keep(struct world *w, uint32_t actor)
{
	const struct handle *h = &w->actors[actor].handles[0];
	int result = acquire(w, actor, 0, FINAL_WAIT_MS, true);
	if (result != 0)
		check_fail(w, VIOLATION_STARVED, "c%u resource 0: %s", actor, redlock_error_name(result));
	for (int i = 0; i < KEEP_STEPS && !w->check.failed; i++) {
		handle_final_disturb(w, actor);
		world_run(w, w->now_ns + prng_between(&w->work, 10, 200) * SIM_MS);
		if (!h->held || h->results[REDLOCK_OP_EXTEND] != 0 || h->results[REDLOCK_OP_QUERY] != 0)
			check_fail(w, VIOLATION_NEGLECTED, "c%u: held %d, extend %s, query %s", actor, h->held,
			           redlock_error_name(h->results[REDLOCK_OP_EXTEND]),
			           redlock_error_name(h->results[REDLOCK_OP_QUERY]));
	}
	give_back(w, actor);
}

/* With fewer nodes than a quorum the answer is "no quorum", and nothing is left on those that answer. */
static void outage(struct world *w, uint32_t actor)
{
	unsigned down = w->plan.nodes - w->actors[actor].quorum + 1;
	for (uint32_t i = 0; i < down; i++)
		node_crash(w, i, false, false);
	world_run(w, w->now_ns + SIM_SECOND);
	int result = acquire(w, actor, 0, prng_chance(&w->work, 500) ? 0 : RIVAL_WAIT_MS, false);
	if (result != REDLOCK_E_NOQUORUM)
		check_fail(w, VIOLATION_RESULT, "without a quorum of nodes an acquire is %s",
		           redlock_error_name(result));
	give_back(w, actor);
	check_no_keys(w);
	for (uint32_t i = 0; i < down; i++)
		node_restart(w, i);
}

static void end(struct world *w)
{
	for (uint32_t i = 0; i < w->plan.actors; i++)
		if (w->actors[i].alive)
			actor_close(w, i);
}

void scenario_run(uint64_t seed, enum sim_break broken, bool trace, bool print, struct cover *cover,
                  struct outcome *ret)
{
	struct plan plan;
	struct world *w = buffer_realloc(NULL, sizeof *w);
	plan_draw(&plan, seed, broken);
	assert(plan.actors > 0);
	world_init(w, &plan, cover, trace, print);
	begin(w);
	proof_begin(w);
	world_run(w, w->now_ns + plan.busy_ns);
	if (plan.joins) { /* clients of two steps split votes: when they have their turn has no bound */
		heal(w);
		settle(w);
		world_run(w, w->now_ns + plan_longest_ttl_ns(&plan) + REST_NS);
		check_no_keys(w);
		for (uint32_t i = 0; i < plan.actors && !w->check.failed; i++)
			once_more(w, i, 0);
	} else if (plan.guard &&
	           broken == BREAK_NONE) { /* what they have forgotten is no matter for the checks that follow */
		heal(w);
		settle(w);
	} else if (broken == BREAK_NONE || (broken >= BREAK_SPLIT && !plan.guard)) {
		heal(w);
		settle(w);
		old_clear(w);
		world_run(w, w->now_ns + plan_longest_ttl_ns(&plan) + REST_NS);
		check_no_keys(w);
		wait_in_turn(w);
		for (uint32_t i = 0; i < plan.actors && !w->check.failed; i++)
			for (unsigned k = 0; k < plan.resources && !w->check.failed; k++)
				once_more(w, i, k);
		if (!w->check.failed)
			contest(w);
		if (!w->check.failed)
			keep(w, (uint32_t)(seed % plan.actors));
		if (!w->check.failed)
			outage(w, (uint32_t)(seed % plan.actors));
	}
	end(w);
	cover->events += w->events;
	cover->world_ns += w->now_ns;
	*ret = (struct outcome){
	    .failed = w->check.first[0] != '\0',
	    .trace_hash = w->trace.hash,
	    .trace_lines = w->trace.lines,
	};
	memcpy(ret->found, w->check.found, sizeof ret->found);
	memcpy(ret->first, w->check.first, sizeof ret->first);
	memcpy(ret->refused, w->check.refused, sizeof ret->refused);
	world_free(w);
	free(w);
}
