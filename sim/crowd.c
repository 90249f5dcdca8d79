/* SPDX-License-Identifier: MIT */
#include "crowd.h"

#include <stdio.h>

#include "client.h"
#include "faults.h"
#include "redis_call.h"
#include "world.h"

#define STEP_NS SIM_MS
#define TROUBLE_NS (1200 * SIM_MS)

/* A connect that hangs is given up after 3 s, and the next one is made up to 3 s later. */
#define RECONNECT_NS (6 * SIM_SECOND)

/* How much of the bar each turn has, on average, until all had theirs. */
enum { SHARE_MS = 100 };

/* So long may the lock be free although somebody waits who may have it, and the time of some round trips:
 * what benchmarks allow when a node is cut off, and a third more, for pauses are drawn by chance and among
 * thousands of crowds there are some with the longest; and what votes may take that are split by chance:
 * where waiters have different first nodes, some may not stand in line, or who is woken comes too late. */
enum { BAR_MS = 400, BAR_TRIPS = 8, CHANCE_MS = 3000 };

enum { TURNS = 3, MOST_HOLD_US = 15000, MOST_BRIEF_US = 500, MOST_THINK_US = 30000, FOREVER_MS = 60000 };

static const struct trouble {
	enum sim_cover fault;
	unsigned permille, gap_ms, more_ms;
} troubles[SIM_TROUBLES] = {
#define TROUBLE_ROW(fault, permille, gap_ms, more_ms) {COVER_##fault, permille, gap_ms, more_ms},
    SIM_TROUBLE_MAP(TROUBLE_ROW)
#undef TROUBLE_ROW
};

const char *crowd_name(unsigned row)
{
	bool fault = row > 0 && row < SIM_TROUBLES;
	return fault      ? covers[troubles[row].fault].text
	       : row == 0 ? "no fault"
	                  : "votes that are split by chance";
}

/* A quarter of a node timeout: for so long goes first who is woken. */
#define PATIENCE_NS (50 * SIM_MS)

static uint64_t trip_ns(const struct world *w)
{
	return 2 * (w->plan.delay_ns + w->plan.jitter_ns + w->plan.loop_ns);
}

static unsigned resource_of(const struct world *w)
{
	return (unsigned)(w->plan.seed % w->plan.resources);
}

/* ---- who has it ---- */

static bool is_held(const struct world *w)
{
	for (unsigned i = 0; i < w->plan.actors; i++)
		for (unsigned k = 0; k < SIM_MAX_HANDLES; k++) {
			const struct handle *h = &w->actors[i].handles[k];
			if (h->lock != NULL && handle_wants(h, resource_of(w)) && h->deadline_ns != 0 &&
			    h->until_ns > w->now_ns)
				return true;
		}
	return false;
}

static bool reaches(const struct world *w, const struct actor *a, unsigned node)
{
	return w->cut_until_ns[a->index][node][TO_NODE] <= w->now_ns &&
	       w->cut_until_ns[a->index][node][TO_CLIENT] <= w->now_ns;
}

/* Whether a key stays until it expires, or until its owner and the node meet again: the owner has ended, or
 * cannot be told, or cannot say, that it does not want the key; the key was handed to it, say. */
static bool is_stuck(const struct world *w, const struct key *key, unsigned node)
{
	if (key->owner == KEY_NOBODY)
		return false;
	const struct actor *a = &w->actors[key->owner >> 32];
	return !a->alive || a->life != (uint32_t)key->owner || !reaches(w, a, node);
}

static bool serves(const struct world *w, const struct actor *a, unsigned node)
{
	const struct node *n = &w->nodes[node];
	return n->up && !n->hung && n->redis.mode == REDIS_NORMAL && !n->other_password && !n->no_database &&
	       reaches(w, a, node);
}

/* Whether enough nodes for the lock serve this client, and have no such key. One at the gate alone is waited
 * for too, until it expires. */
static bool may_have_it(const struct world *w, const struct actor *a, const struct handle *h)
{
	char buffer[SIM_MAX_KEY];
	struct bytes name = resource_key(&w->plan, resource_of(w), buffer);
	unsigned good = 0;
	bool blocked = false;
	for (unsigned i = 0; i < w->plan.nodes; i++) {
		const struct node *n = &w->nodes[i];
		const struct key *key = keyspace_find(&n->redis.keys, w->plan.database, name, node_now_ms(w, n));
		bool stuck = key != NULL && is_stuck(w, key, i);
		good += serves(w, a, i) && !stuck;
		blocked |= stuck && a->order[h->lock->core.queue.gate] == i;
	}
	return good >= a->quorum && !blocked;
}

/* Whether the handle waits, and not for another handle of its client: sharers have a place each. */
static bool asks(const struct actor *a, const struct handle *h)
{
	return h->running == REDLOCK_OP_ACQUIRE &&
	       (handle_shares(h, h) || rl_places_first_waiter(&a->client->places, h->lock) == h->lock);
}

/* Whether somebody waits who may have it; and notes whether some of them do not meet the others, or may not
 * wake them. */
static bool somebody_waits(struct world *w)
{
	uint32_t gates = 0;
	bool plain = false;
	for (unsigned i = 0; i < w->plan.actors; i++) {
		const struct actor *a = &w->actors[i];
		plain |= a->plain;
		for (unsigned k = 0; a->alive && !a->paused && k < w->crowd.handles; k++)
			if (asks(a, &a->handles[k]) && may_have_it(w, a, &a->handles[k]))
				gates |= 1u << a->order[a->handles[k].lock->core.queue.gate];
	}
	w->crowd.differs |= (gates & (gates - 1)) != 0 || plain || 2 * trip_ns(w) >= PATIENCE_NS;
	return gates != 0;
}

/* Whether each node that serves is needed: votes that are split by chance then have no bound worth the name.
 */
static bool needs_all(const struct world *w)
{
	unsigned quorum = w->plan.quorum != 0 ? w->plan.quorum : w->plan.nodes / 2 + 1;
	return w->plan.nodes > 1 && quorum + w->useless_nodes >= w->plan.nodes;
}

static void look_whether_idle(struct world *w, unsigned trouble)
{
	struct crowd *c = &w->crowd;
	if (is_held(w) || !somebody_waits(w) || (c->differs && needs_all(w))) {
		c->free_ns = w->now_ns;
		c->differs = false;
		return;
	}
	unsigned row = c->differs ? SIM_TROUBLES : trouble;
	uint64_t most_ms = BAR_MS + (c->differs ? CHANCE_MS : troubles[trouble].more_ms);
	uint64_t trips_ns = BAR_TRIPS * trip_ns(w), idle_ns = w->now_ns - c->free_ns;
	uint64_t explained_ns = trips_ns + w->gone_machines * PATIENCE_NS;
	uint64_t more_ns = idle_ns > explained_ns ? idle_ns - explained_ns : 0;
	if (more_ns > w->cover->idle_ns[row])
		w->cover->idle_ns[row] = more_ns;
	if (more_ns > most_ms * SIM_MS)
		check_fail(w, VIOLATION_IDLE, "for %.3f ms, with %s", (double)idle_ns / (double)SIM_MS,
		           crowd_name(row));
}

/* ---- whose turn it is ---- */

/* A client's handles queue inside the client, and one of them in the node's queue, except sharers. */
static void check_one_place(struct world *w, const struct actor *a)
{
	unsigned places = 0;
	for (unsigned k = 0; k < w->crowd.handles; k++) {
		const struct waiter *waiter = &w->crowd.waiters[a->index][k];
		places += a->handles[k].running == REDLOCK_OP_ACQUIRE && waiter->stands && !waiter->shares;
	}
	if (places > 1 && w->crowd.orderly)
		check_fail(w, VIOLATION_PLACES, "c%u has %u", a->index, places);
}

/* A handle that has the gate's key, and stands in line at the other nodes, has left its place. */
void crowd_entered(struct world *w, const struct call *call, struct bytes answer)
{
	struct actor *a = &w->actors[call->session->owner >> 32];
	struct bytes place = call->asked.parts[RL_WORD_PLACE];
	char text[96];
	int verdict = -1, stands = 0;
	unsigned number = 0;
	if (!w->crowd.on || a->life != (uint32_t)call->session->owner || place.size == 0)
		return;
	snprintf(text, sizeof text, "%.*s", (int)answer.size, answer.at);
	sscanf(text, "*6 :%d :%*d :%*d :%d", &verdict, &stands);
	snprintf(text, sizeof text, "%.*s", (int)place.size, place.at);
	sscanf(text, "%*[0-9a-f].%u", &number);
	for (unsigned k = 0; k < w->crowd.handles; k++) {
		const struct handle *h = &a->handles[k];
		struct waiter *waiter = &w->crowd.waiters[a->index][k];
		if (h->lock == NULL || h->running != REDLOCK_OP_ACQUIRE || h->lock->core.queue.beside ||
		    number != h->lock->slot * RL_CALLS + h->lock->core.queue.call)
			continue;
		waiter->stands = verdict <= 0 && stands > 0;
		if (waiter->stands && waiter->placed_ns == 0)
			waiter->placed_ns = w->now_ns;
	}
	check_one_place(w, a);
}

/* By the gate too, or soon: it does not stand there any more. */
void crowd_handed(struct world *w, const struct key *key)
{
	struct actor *a = &w->actors[key->owner >> 32];
	for (unsigned k = 0; w->crowd.on && k < w->crowd.handles; k++) {
		const struct redlock_lock *lock = a->handles[k].lock;
		if (lock != NULL && key->value.size == lock->token_size &&
		    memcmp(key->value.at, rl_handle_token_bytes(lock), key->value.size) == 0)
			w->crowd.waiters[a->index][k].stands = false;
	}
}

/*
 * No waiter that is later in the queue has the lock first, unless both share. A waiter without a place may
 * overtake: with its first attempt, which asks all nodes at once, and with one more that it begins before the
 * gate has answered its release. A waiter that the gate has let in has left the queue, and the others do not
 * know it: chance decides which waiter gets the other nodes.
 */
enum { MOST_PASSES = 2 };

static void overtake(struct world *w, struct waiter *other, unsigned actor, unsigned self)
{
	const struct waiter *me = &w->crowd.waiters[self / SIM_CROWD_HANDLES][self % SIM_CROWD_HANDLES];
	bool later = me->placed_ns > other->placed_ns;
	bool passes = other->stands && me->placed_ns == 0 && me->began_ns > other->placed_ns;
	other->passed_by[self] = (uint8_t)(other->passed_by[self] + passes);
	if (later || other->passed_by[self] > MOST_PASSES)
		check_fail(w, VIOLATION_OVERTAKEN, "c%u has waited in line since %.6f ms, c%u %s %.6f ms", actor,
		           (double)other->placed_ns / (double)SIM_MS, self / SIM_CROWD_HANDLES,
		           later ? "since" : "passes it again, and began at",
		           (double)(later ? me->placed_ns : me->began_ns) / (double)SIM_MS);
}

void crowd_granted(struct world *w, uint32_t actor, uint32_t slot)
{
	struct crowd *c = &w->crowd;
	if (!c->on || slot >= c->handles)
		return;
	struct waiter *me = &c->waiters[actor][slot];
	bool local = w->actors[actor].handles[slot].passed; /* those have a bound of their own: check_passed() */
	for (unsigned i = 0; i < w->plan.actors && c->orderly && !local; i++)
		for (unsigned k = 0; k < c->handles; k++) {
			struct waiter *other = &c->waiters[i][k];
			bool waits = w->actors[i].alive && w->actors[i].handles[k].running == REDLOCK_OP_ACQUIRE;
			bool both = me->shares && other->shares;
			if (other != me && waits && other->placed_ns != 0 && !both)
				overtake(w, other, i, actor * SIM_CROWD_HANDLES + slot);
		}
	if (me->shares && me->placed_ns != 0)
		world_hit(w, COVER_SHARED_IN_TURN);
	me->turns -= me->turns > 0;
	c->free_ns = w->now_ns; /* it may be over when somebody looks the next time */
	me->next_ns = w->now_ns + prng_below(&w->work, c->most_hold_us) * SIM_US;
}

/* ---- what they do ---- */

/* The first handles of the first two want both names; the second one names the other one first. */
static void acquire(struct world *w, uint32_t actor, uint32_t slot)
{
	enum { WHO = 2 };
	bool both = w->crowd.several && actor < WHO && slot == 0;
	unsigned resource = resource_of(w) ^ (both ? actor : 0);
	bool shares = w->crowd.waiters[actor][slot].shares;
	handle_crowd_acquire(w, actor, slot, (struct handle_wish){resource, both, shares, FOREVER_MS});
}

static void act(struct world *w, uint32_t actor, uint32_t slot)
{
	const struct handle *h = &w->actors[actor].handles[slot];
	struct waiter *me = &w->crowd.waiters[actor][slot];
	if (h->running != REDLOCK_OP_NONE || w->now_ns < me->next_ns)
		return;
	if (h->owned) {
		actor_enter(w, actor);
		handle_wind_down(w, actor, slot);
		actor_leave(w);
		me->next_ns =
		    w->now_ns + (prng_chance(&w->work, 500) ? prng_below(&w->work, MOST_THINK_US) * SIM_US : 0);
	} else if (me->turns > 0) {
		me->began_ns = w->now_ns;
		me->placed_ns = 0;
		me->stands = false;
		memset(me->passed_by, 0, sizeof me->passed_by);
		acquire(w, actor, slot);
	}
}

/* Whether somebody still wants a turn, or has one. */
static bool all_act(struct world *w)
{
	bool any = false;
	for (uint32_t i = 0; i < w->plan.actors; i++)
		for (uint32_t k = 0; k < w->crowd.handles; k++) {
			const struct actor *a = &w->actors[i];
			if (a->alive && !a->paused)
				act(w, i, k);
			any |= w->crowd.waiters[i][k].turns > 0 || a->handles[k].owned;
		}
	return any;
}

/* Whether all look for one another at the same nodes. A server that was busy as a client came does not tell
 * it who it is, as long as the connection lasts: that client sorts it elsewhere. */
static bool same_order(const struct world *w)
{
	for (unsigned i = 0; i < w->plan.actors; i++)
		for (unsigned k = 0; k < w->plan.nodes; k++) {
			const struct actor *a = &w->actors[i], *first = &w->actors[0];
			if (!a->alive || !first->alive || a->plain ||
			    a->order[a->client->nodes.order[k]] != first->order[first->client->nodes.order[k]])
				return false;
		}
	return true;
}

/* Shared locks and several names need scripts. */
static bool has_scripts(const struct world *w)
{
	for (unsigned i = 0; i < w->plan.nodes; i++)
		if (w->nodes[i].redis.eval_denied)
			return false;
	return true;
}

bool crowd_may_share(const struct world *w)
{
	bool may = !w->plan.guard && has_scripts(w);
	for (unsigned i = 0; i < w->plan.actors; i++)
		may &= !w->actors[i].plain;
	return may;
}

static void gather(struct world *w, unsigned trouble)
{
	struct crowd *c = &w->crowd;
	*c = (struct crowd){.on = true, .free_ns = w->now_ns};
	c->handles = prng_chance(&w->work, 300) ? SIM_CROWD_HANDLES : 1;
	c->most_hold_us = prng_chance(&w->work, 300) ? MOST_BRIEF_US : MOST_HOLD_US;
	c->several = w->plan.resources == 2 && has_scripts(w) && w->plan.seed / 2 % 4 == 1;
	c->orderly = trouble == 0 && 2 * trip_ns(w) < PATIENCE_NS && same_order(w) && !c->several;
	bool mixed =
	    trouble == 0 && !c->several && crowd_may_share(w) && same_order(w) && prng_chance(&w->work, 500);
	for (unsigned i = 0; i < w->plan.actors; i++) {
		for (unsigned k = 0; k < c->handles; k++)
			c->waiters[i][k] = (struct waiter){
			    .turns = TURNS,
			    .shares = mixed && prng_chance(&w->work, 500),
			    .next_ns = w->now_ns + prng_below(&w->work, MOST_THINK_US) * SIM_US,
			};
	}
}

unsigned crowd_trouble(struct world *w, unsigned fault)
{
	unsigned trouble = 1 + (unsigned)prng_below(&w->work, SIM_TROUBLES - 1);
	for (unsigned i = 1; fault != COVER_COUNT && i < SIM_TROUBLES; i++)
		if (troubles[i].fault == fault)
			trouble = i;
	return trouble;
}

void crowd_play(struct world *w, unsigned trouble)
{
	const struct trouble *t = &troubles[trouble];
	uint64_t ends_ns = w->now_ns + (trouble > 0 ? TROUBLE_NS : 0);
	uint64_t turns = (uint64_t)w->plan.actors * SIM_CROWD_HANDLES * TURNS;
	uint64_t by_ns =
	    ends_ns + RECONNECT_NS + turns * (MOST_HOLD_US * SIM_US + SHARE_MS * SIM_MS + BAR_TRIPS * trip_ns(w));
	TRACE(w, "a crowd gathers, with %s", crowd_name(trouble));
	gather(w, trouble);
	if (trouble > 0)
		faults_alone(w, t->fault, t->permille, t->gap_ms);
	while (all_act(w) && !w->check.failed) {
		if (w->only != COVER_COUNT && w->now_ns >= ends_ns)
			faults_end(w);
		if (w->now_ns > by_ns) {
			check_fail(w, VIOLATION_UNSERVED, "%.3f ms after all faults",
			           (double)(w->now_ns - ends_ns) / (double)SIM_MS);
			break;
		}
		look_whether_idle(w, trouble);
		world_run(w, w->now_ns + STEP_NS);
	}
	faults_end(w);
	w->crowd.on = false;
}
