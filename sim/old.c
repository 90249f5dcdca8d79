/* SPDX-License-Identifier: MIT */
#include "old.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "redis_call.h"
#include "world.h"

/* The longest times: of a command; between a GET and its GETSET; and of holding the lock. */
#define MOST_TRIP_NS (20 * SIM_MS)
#define MOST_GAP_NS (400 * SIM_MS)
#define MOST_HOLD_NS (300 * SIM_MS)
#define MOST_THINK_NS (60 * SIM_MS)

/* Per thousand: commands that do not arrive, answers that do not, clients that die. */
enum { LOST_COMMANDS = 20, LOST_ANSWERS = 20, DEATHS = 400 };

/* One number in events of the world: a client, and a node; of a DEL: a resource, and a node. */
static uint32_t subject_of(uint32_t which, uint32_t node)
{
	return which << 8 | node;
}

static bool is_stale(const struct world *w, uint32_t subject, uint64_t turn)
{
	return w->calm || w->old[subject >> 8].turn != turn;
}

/* ---- one node ---- */

static bool serves(const struct world *w, const struct node *n)
{
	return n->up && !n->hung && n->redis.mode == REDIS_NORMAL && !n->other_password && !n->no_database;
}

static bool arrives(struct world *w, uint32_t node)
{
	return !prng_chance(&w->chaos, LOST_COMMANDS) && serves(w, &w->nodes[node]);
}

/* The client's clock, in the seconds that the page has. */
static int64_t clock_s(const struct world *w, const struct old *o, uint32_t node)
{
	return (node_now_ms(w, &w->nodes[node]) + o->at[node].ahead_ms) / 1000;
}

static struct key *find(struct world *w, const struct old *o, uint32_t node)
{
	char buffer[SIM_MAX_KEY];
	node_expire(w, node);
	return keyspace_find(&w->nodes[node].redis.keys, w->plan.database,
	                     resource_key(&w->plan, o->resource, buffer), w->nodes[node].redis.now_ms);
}

/* The time in a string; negative: it is not a time, or there is no string. */
static int64_t time_of(const struct key *key)
{
	char text[24], *end;
	if (key == NULL || key->type != KEY_STRING || key->value.size >= sizeof text)
		return -1;
	snprintf(text, sizeof text, "%.*s", (int)key->value.size, key->value.at);
	int64_t time = strtoll(text, &end, 10);
	return end != text && *end == '\0' ? time : -1;
}

/* SET, without an expiry. */
static void write_time(struct world *w, uint32_t node, unsigned resource, int64_t time)
{
	struct redis *r = &w->nodes[node].redis;
	char buffer[SIM_MAX_KEY], value[24];
	struct bytes name = resource_key(&w->plan, resource, buffer);
	struct key *key = keyspace_find(&r->keys, w->plan.database, name, r->now_ms);
	snprintf(value, sizeof value, "%" PRId64, time);
	w->old_twice[resource][node] = key != NULL && key->owner == KEY_NOBODY;
	if (key == NULL) {
		redis_put(r, w->plan.database, name, text_bytes(value));
		return;
	}
	keyspace_set_value(key, text_bytes(value));
	key->expires_ms = KEY_FOREVER;
	key->owner = KEY_NOBODY;
	multi_touch(r, w->plan.database, name);
	check_key(w, name);
}

static void put(struct world *w, struct old *o, uint32_t node, bool wins)
{
	o->at[node].wrote = clock_s(w, o, node) + (int64_t)w->plan.old_timeout_s + 1;
	write_time(w, node, o->resource, o->at[node].wrote);
	o->at[node].won = wins && !prng_chance(&w->chaos, LOST_ANSWERS);
	TRACE(w, "o%u writes %" PRId64 " for resource %u on n%u: %s", (unsigned)(o - w->old), o->at[node].wrote,
	      o->resource, node, o->at[node].won ? "won" : "lost");
}

/* ---- its steps ---- */

static void decide(struct world *w, uint32_t client);

static void answered(struct world *w, uint32_t client)
{
	if (--w->old[client].asked == 0)
		decide(w, client);
}

static void later(struct world *w, uint64_t most_ns, sim_fire step, uint32_t subject)
{
	world_after(w, prng_below(&w->chaos, most_ns), step, subject, w->old[subject >> 8].turn);
}

static void getset(struct world *w, uint32_t subject, uint64_t turn)
{
	uint32_t client = subject >> 8, node = subject & 0xff;
	struct old *o = &w->old[client];
	if (is_stale(w, subject, turn))
		return;
	bool heard = arrives(w, node);
	const struct key *key = heard ? find(w, o, node) : NULL;
	if (heard && (key == NULL || key->type == KEY_STRING)) {
		int64_t was = key != NULL ? time_of(key) : 0;
		bool past = was >= 0 && was < clock_s(w, o, node);
		world_hit(w, past ? COVER_OLD_TAKES_OVER : COVER_OLD_LOSES);
		put(w, o, node, past || w->plan.broken == BREAK_GETSET);
	}
	answered(w, client);
}

static void get(struct world *w, uint32_t subject, uint64_t turn)
{
	uint32_t client = subject >> 8, node = subject & 0xff;
	const struct old *o = &w->old[client];
	if (is_stale(w, subject, turn))
		return;
	int64_t time = arrives(w, node) ? time_of(find(w, o, node)) : -1;
	if (time >= 0 && time < clock_s(w, o, node))
		later(w, prng_chance(&w->chaos, 700) ? MOST_GAP_NS : MOST_TRIP_NS, getset, subject);
	else
		answered(w, client);
}

static void setnx(struct world *w, uint32_t subject, uint64_t turn)
{
	uint32_t client = subject >> 8, node = subject & 0xff;
	struct old *o = &w->old[client];
	if (is_stale(w, subject, turn))
		return;
	bool heard = arrives(w, node), taken = heard && find(w, o, node) != NULL;
	if (taken) {
		later(w, MOST_TRIP_NS, get, subject);
		return;
	}
	if (heard)
		put(w, o, node, true);
	answered(w, client);
}

/* Deletes the key, as the page does, whatever it has. The refuted rule checks that it still has the written
 * value. The client may be after another resource by then. */
static void delete_key(struct world *w, uint32_t subject, uint64_t wrote)
{
	uint32_t node = subject & 0xff;
	const struct old gone = {.resource = subject >> 8};
	if (w->calm || !arrives(w, node))
		return;
	struct key *key = find(w, &gone, node);
	bool same = key != NULL && time_of(key) == (int64_t)wrote;
	TRACE(w, "%" PRId64 " of resource %u is deleted on n%u", (int64_t)wrote, gone.resource, node);
	if (key != NULL && (same || w->plan.broken != BREAK_GIVE_ALL))
		redis_delete(&w->nodes[node].redis, key);
}

/* ---- an attempt ---- */

static void begin(struct world *w, uint32_t client, uint64_t unused)
{
	struct old *o = &w->old[client];
	if (w->calm)
		return;
	*o = (struct old){.turn = o->turn + 1, .began_ns = w->now_ns, .asked = w->plan.nodes};
	o->resource = (unsigned)prng_below(&w->chaos, w->plan.resources);
	for (uint32_t i = 0; i < w->plan.nodes; i++) {
		o->at[i].ahead_ms = (int64_t)w->plan.old_ahead_ms - (int64_t)prng_below(&w->chaos, OLD_CLOCKS_MS + 1);
		later(w, MOST_TRIP_NS, setnx, subject_of(client, i));
	}
}

static void again(struct world *w, uint32_t client)
{
	w->old[client].turn++;
	world_after(w, prng_below(&w->chaos, MOST_THINK_NS), begin, client, 0);
}

/* Where its time is not past. Which nodes it has lost it knows. */
static void give_back(struct world *w, uint32_t client)
{
	const struct old *o = &w->old[client];
	for (uint32_t i = 0; i < w->plan.nodes; i++) {
		bool has = o->at[i].won || (w->plan.broken == BREAK_GIVE_ALL && o->at[i].wrote != 0);
		if (has && clock_s(w, o, i) < o->at[i].wrote)
			world_after(w, prng_below(&w->chaos, MOST_TRIP_NS), delete_key, subject_of(o->resource, i),
			            (uint64_t)o->at[i].wrote);
	}
}

static void leave(struct world *w, uint32_t client, uint64_t turn)
{
	struct old *o = &w->old[client];
	if (w->calm || o->turn != turn)
		return;
	bool dies = prng_chance(&w->chaos, DEATHS);
	o->holds = false;
	TRACE(w, "o%u %s", client, dies ? "dies" : "gives back");
	if (dies)
		world_hit(w, COVER_OLD_DIES);
	else
		give_back(w, client);
	again(w, client);
}

static bool relies(const struct world *w, const struct old *o)
{
	return o->holds && o->until_ns > w->now_ns;
}

static void check_alone(struct world *w, uint32_t client)
{
	const struct old *o = &w->old[client];
	for (uint32_t i = 0; i < w->plan.old_clients; i++)
		if (i != client && w->old[i].resource == o->resource && relies(w, &w->old[i]))
			check_fail(w, VIOLATION_OVERLAP, "o%u and o%u rely on resource %u", client, i, o->resource);
	for (unsigned i = 0; i < w->plan.actors; i++)
		for (unsigned k = 0; k < SIM_MAX_HANDLES; k++) {
			const struct handle *h = &w->actors[i].handles[k];
			if (h->held && handle_wants(h, o->resource) && h->slot == 0 && h->until_ns > w->now_ns)
				check_fail(w, VIOLATION_OVERLAP, "o%u relies on resource %u, c%u until %.3f ms", client,
				           o->resource, i, (double)h->until_ns / (double)SIM_MS);
		}
}

/* The client works for no longer than its timeout, by its own clock, from before it asked. */
static void grant(struct world *w, uint32_t client)
{
	struct old *o = &w->old[client];
	uint64_t most_ns = w->plan.old_timeout_s * SIM_SECOND / 100 * 99;
	world_hit(w, COVER_OLD_GRANTED);
	o->holds = true;
	o->until_ns = o->began_ns + most_ns;
	TRACE(w, "o%u relies on resource %u until %.3f ms", client, o->resource,
	      (double)o->until_ns / (double)SIM_MS);
	check_alone(w, client);
	uint64_t hold_ns = prng_below(&w->chaos, prng_chance(&w->chaos, 100) ? most_ns : MOST_HOLD_NS);
	uint64_t at_ns = w->now_ns + hold_ns;
	world_at(w, at_ns < o->until_ns ? at_ns : o->until_ns, leave, client, o->turn);
}

static void decide(struct world *w, uint32_t client)
{
	const struct old *o = &w->old[client];
	unsigned won = 0;
	for (uint32_t i = 0; i < w->plan.nodes; i++)
		won += o->at[i].won;
	if (won > w->plan.nodes / 2) {
		grant(w, client);
		return;
	}
	world_hit(w, COVER_OLD_FAILS);
	give_back(w, client);
	again(w, client);
}

/* ---- all of them ---- */

void old_begin(struct world *w)
{
	for (uint32_t r = 0; r < w->plan.resources && w->plan.old_clients > 0; r++)
		for (uint32_t i = 0; i < w->plan.nodes; i++)
			if (prng_chance(&w->chaos, 900)) {
				node_expire(w, i);
				write_time(w, i, r, node_now_ms(w, &w->nodes[i]) / 1000 - 2);
			}
	for (uint32_t i = 0; i < w->plan.old_clients; i++)
		world_after(w, prng_below(&w->chaos, 200 * SIM_MS), begin, i, 0);
}

void old_clear(struct world *w)
{
	for (uint32_t r = 0; r < w->plan.resources && w->plan.old_clients > 0; r++)
		for (uint32_t i = 0; i < w->plan.nodes; i++) {
			const struct old any = {.resource = r};
			struct key *key = find(w, &any, i);
			if (key != NULL && key->owner == KEY_NOBODY && time_of(key) >= 0)
				redis_delete(&w->nodes[i].redis, key);
		}
}

void old_check_overlap(struct world *w, const struct actor *a, const struct handle *h)
{
	for (uint32_t i = 0; i < w->plan.old_clients; i++)
		if (handle_wants(h, w->old[i].resource) && h->slot == 0 && relies(w, &w->old[i]))
			check_fail(w, VIOLATION_OVERLAP, "c%u relies on resource %u until %.3f ms, o%u until %.3f ms",
			           a->index, h->resource, (double)h->until_ns / (double)SIM_MS, i,
			           (double)w->old[i].until_ns / (double)SIM_MS);
}
