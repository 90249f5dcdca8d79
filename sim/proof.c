/* SPDX-License-Identifier: MIT */
/* The things that the theorem speaks of, their clocks, and what a refusal says. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "proof_inside.h"

_Static_assert((int)LOCK_ACTIONS <= (int)PROOF_ACTIONS, "each action has a counter");

/* ---- what a refusal says ---- */

static __attribute__((format(printf, 2, 3))) void add(struct lock *s, const char *format, ...)
{
	size_t used = strlen(s->why);
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(s->why + used, sizeof s->why - used, format, arguments);
	va_end(arguments);
}

void proof_refuse(struct lock *s, const char *rule)
{
	s->why[0] = '\0';
	add(s, "%s:", rule);
}

void proof_tell(struct lock *s, const char *term, int64_t value, bool is_time)
{
	if (is_time)
		add(s, " %s = %.6f ms;", term, (double)value / (double)UNIT / (double)SIM_MS);
	else
		add(s, " %s = %" PRId64 ";", term, value);
}

void proof_did(struct world *w, unsigned resource, bool admitted, const char *action, const char *format, ...)
{
	struct proof_name *n = &w->proof->names[resource];
	char values[128];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(values, sizeof values, format, arguments);
	va_end(arguments);
	TRACE(w, "proof of resource %u: %s %s", resource, action, values);
	if (admitted || n->refused)
		return;
	n->refused = true;
	check_fail(w, VIOLATION_PROOF, "resource %u: %s %s: %s", resource, action, values, n->lock.why);
}

int proof_print(const uint64_t times[PROOF_ACTIONS], bool missing)
{
	int never = 0;
	for (unsigned i = 0; i < LOCK_ACTIONS; i++) {
		never += times[i] == 0;
		if (!missing || times[i] == 0)
			printf("  %12" PRIu64 "  %s\n", times[i], lock_actions[i]);
	}
	return never;
}

/* ---- things ---- */

/* Claims that are over make room once there are so many more. */
enum { FEW_CLAIMS = 8 };

static void full(struct world *w, const char *what)
{
	check_fail(w, VIOLATION_PROOF, "more %s at a time than the checker has room for", what);
}

static unsigned room(bool *is, unsigned size, unsigned *most)
{
	for (unsigned i = 0; i < size; i++)
		if (!is[i]) {
			is[i] = true;
			*most = i >= *most ? i + 1 : *most;
			return i;
		}
	return PROOF_NONE;
}

static unsigned last(const bool *is, unsigned most)
{
	while (most > 0 && !is[most - 1])
		most--;
	return most;
}

static bool is_owner(const struct lock *t, unsigned value)
{
	for (unsigned i = 0; i < SIM_MAX_NODES; i++)
		if (t->owner[i] == value)
			return true;
	return false;
}

static bool is_current(const struct proof *p, unsigned resource, unsigned claim)
{
	for (unsigned i = 0; i < PROOF_HANDLES; i++)
		if (p->handles[i].core != NULL && p->handles[i].resource == resource && p->handles[i].claim == claim)
			return true;
	return false;
}

/* Whether a claim makes no difference any more: no key of it is left, and none is owed to it. */
static bool is_done(const struct lock *t, unsigned k)
{
	if (is_owner(t, t->token[k]) || (t->held[k] && !t->over[k] && t->clock[k] < t->deadline[k]))
		return false;
	for (unsigned n = 0; n < SIM_MAX_NODES && !t->over[k]; n++)
		if (t->clock[k] + t->step < t->until[n][k])
			return false;
	return true;
}

/* Claims that are over make room for others, and with them their values, TTLs and offers. */
static void tidy(struct proof *p, unsigned resource)
{
	struct proof_name *n = &p->names[resource];
	struct lock *t = &n->lock;
	bool values[PROOF_VALUES] = {true}, ttls[PROOF_TTLS] = {true};
	for (unsigned k = 0; k < t->most_Claim; k++) {
		if (t->is_Claim[k] && is_done(t, k) && !is_current(p, resource, k))
			t->is_Claim[k] = false;
		if (t->is_Claim[k])
			values[t->token[k]] = ttls[t->ttl[k]] = ttls[t->xttl[k]] = true;
	}
	for (unsigned v = 0; v < t->most_Value; v++)
		t->is_Value[v] = values[v] || is_owner(t, v);
	for (unsigned i = 0; i < t->most_Ttl; i++)
		t->is_Ttl[i] = ttls[i];
	for (unsigned e = 0; e < t->most_Enter; e++)
		t->is_Enter[e] = t->is_Enter[e] && t->is_Claim[t->of[e]] && !t->over[t->of[e]];
	t->most_Claim = last(t->is_Claim, t->most_Claim);
	t->most_Value = last(t->is_Value, t->most_Value);
	t->most_Ttl = last(t->is_Ttl, t->most_Ttl);
	t->most_Enter = last(t->is_Enter, t->most_Enter);
}

unsigned proof_value(struct proof_name *n, struct bytes value, bool make)
{
	struct lock *t = &n->lock;
	size_t kept = value.size < PROOF_VALUE_BYTES ? value.size : PROOF_VALUE_BYTES;
	for (unsigned v = 1; v < t->most_Value; v++)
		if (t->is_Value[v] && n->values[v].size == value.size && memcmp(n->values[v].at, value.at, kept) == 0)
			return v;
	unsigned v = make ? room(t->is_Value, PROOF_VALUES, &t->most_Value) : PROOF_NONE;
	if (v == PROOF_NONE)
		return 0;
	n->values[v].size = value.size;
	memcpy(n->values[v].at, value.at, kept);
	t->had[v] = t->remade[v] = t->intruded[v] = false;
	for (unsigned i = 0; i < SIM_MAX_NODES; i++)
		t->out[i][v] = n->believed[i][v] = false;
	return v;
}

unsigned proof_ttl(struct proof *p, struct proof_name *n, uint64_t ttl_ns)
{
	struct lock *t = &n->lock;
	for (unsigned i = 0; i < t->most_Ttl; i++)
		if (t->is_Ttl[i] && n->ttl_ns[i] == ttl_ns)
			return i;
	unsigned i = room(t->is_Ttl, PROOF_TTLS, &t->most_Ttl);
	if (i == PROOF_NONE)
		return 0;
	n->ttl_ns[i] = ttl_ns;
	t->keeps[i] = (int64_t)ttl_ns * (UNIT - p->ppm);
	t->counts[i] = INT64_MIN / 4; /* until a deadline tells */
	return i;
}

/* Two quorums must have a node in common: the axiom is asked of each that was ever relied on. */
unsigned proof_quorum(struct world *w, unsigned resource, uint32_t nodes)
{
	struct proof_name *n = &w->proof->names[resource];
	struct lock *t = &n->lock;
	for (unsigned q = 0; q < t->most_Quorum; q++)
		if (n->quorums[q] == nodes)
			return q;
	unsigned q = room(t->is_Quorum, PROOF_QUORUMS, &t->most_Quorum);
	if (q == PROOF_NONE) {
		full(w, "quorums");
		return 0;
	}
	n->quorums[q] = nodes;
	for (unsigned i = 0; i < SIM_MAX_NODES; i++)
		t->in[i][q] = (nodes >> i & 1) != 0;
	for (unsigned p = 0; p < t->most_Quorum; p++) {
		uint32_t both = nodes & n->quorums[p];
		unsigned common = both != 0 ? (unsigned)__builtin_ctz(both) : 0;
		t->common[p][q] = t->common[q][p] = common;
	}
	proof_did(w, resource, lock_quorums_meet(t), "a quorum", "%x", nodes);
	return q;
}

unsigned proof_claim(struct world *w, unsigned resource, const struct actor *a, unsigned value,
                     uint64_t ttl_ns)
{
	struct proof_name *n = &w->proof->names[resource];
	struct lock *t = &n->lock;
	unsigned k = room(t->is_Claim, PROOF_CLAIMS, &t->most_Claim);
	if (k == PROOF_NONE) {
		full(w, "claims");
		return 0;
	}
	n->made++;
	n->claims[k].stranger = a == NULL;
	n->claims[k].actor = a != NULL ? a->index : 0;
	n->claims[k].life = a != NULL ? a->life : 0;
	t->token[k] = value;
	t->ttl[k] = t->xttl[k] = proof_ttl(w->proof, n, ttl_ns);
	t->clock[k] = t->t0[k] = t->x0[k] = t->deadline[k] = 0;
	t->begun[k] = t->attached[k] = t->over[k] = t->held[k] = false;
	t->voters[k] = 0;
	for (unsigned i = 0; i < SIM_MAX_NODES; i++) {
		t->gain[i][k] = t->until[i][k] = 0;
		t->yes[i][k] = t->xyes[i][k] = false;
	}
	return k;
}

unsigned proof_offer(struct world *w, unsigned resource, unsigned claim, uint64_t number)
{
	struct proof_name *n = &w->proof->names[resource];
	struct lock *t = &n->lock;
	unsigned e = room(t->is_Enter, PROOF_ENTERS, &t->most_Enter);
	if (e == PROOF_NONE) {
		full(w, "offers");
		return 0;
	}
	n->numbers[e] = number;
	t->of[e] = claim;
	t->offered[e] = false;
	for (unsigned i = 0; i < SIM_MAX_NODES; i++)
		t->message[i][e] = false;
	return e;
}

/* ---- time ---- */

/* A machine that was stopped has lived through that time, and its wall clock tells so. */
int64_t proof_actor_ns(const struct world *w, const struct actor *a)
{
	uint64_t now_ns = actor_now(w, a);
	if (w->plan.broken == BREAK_WALL)
		return (int64_t)now_ns;
	uint64_t left_ns =
	    a->stopped && a->clock.base_world_ns > w->now_ns ? a->clock.base_world_ns - w->now_ns : 0;
	return (int64_t)(now_ns + a->leapt_ns - left_ns);
}

static bool has_owner(const struct lock *t)
{
	for (unsigned i = 0; i < t->most_Node; i++)
		if (t->owner[i] != t->nothing)
			return true;
	return false;
}

static void expire(struct world *w, unsigned resource)
{
	struct lock *t = &w->proof->names[resource].lock;
	for (unsigned i = 0; i < w->plan.nodes; i++)
		if (t->owner[i] != t->nothing && t->node_clock[i] >= t->end[i])
			proof_did(w, resource, lock_expire(t, i), "expire", "n%u", i);
}

/* By how much each clock has advanced since the last tick; false: by nothing. */
static bool advance(const struct world *w, struct proof_name *n, real node[], real actor[], real *ret_world)
{
	bool moved = n->world_ns != w->now_ns;
	*ret_world = (int64_t)(w->now_ns - n->world_ns) * UNIT;
	n->world_ns = w->now_ns;
	for (unsigned i = 0; i < w->plan.nodes; i++) {
		int64_t now_ns = (int64_t)drift_local(&w->nodes[i].clock, w->now_ns);
		node[i] = (now_ns - n->node_ns[i]) * (UNIT - w->proof->ppm);
		n->node_ns[i] = now_ns;
		moved |= node[i] != 0;
	}
	for (unsigned i = 0; i < w->plan.actors; i++) {
		int64_t now_ns = proof_actor_ns(w, &w->actors[i]);
		actor[i] = w->actors[i].life == n->lives[i] ? (now_ns - n->actor_ns[i]) * UNIT : 0;
		n->actor_ns[i] = now_ns;
		n->lives[i] = w->actors[i].life;
		moved |= actor[i] != 0;
	}
	return moved;
}

static void tidy_now_and_then(struct proof *p, unsigned resource)
{
	struct proof_name *n = &p->names[resource];
	if (n->made <= FEW_CLAIMS && n->lock.most_Ttl <= PROOF_TTLS / 2 && n->lock.most_Enter <= PROOF_ENTERS / 4)
		return;
	tidy(p, resource);
	n->made = 0;
}

static void tick_name(struct world *w, unsigned resource)
{
	struct proof_name *n = &w->proof->names[resource];
	struct lock *t = &n->lock;
	tidy_now_and_then(w->proof, resource);
	real node[SIM_MAX_NODES], actor[SIM_MAX_ACTORS], world, client[PROOF_CLAIMS];
	if (!advance(w, n, node, actor, &world))
		return;
	for (unsigned k = 0; k < t->most_Claim; k++) {
		bool lives = !n->claims[k].stranger && n->claims[k].life == w->actors[n->claims[k].actor].life;
		client[k] = lives ? actor[n->claims[k].actor] : world;
	}
	if (!lock_tick(t, node, client))
		proof_did(w, resource, false, "tick", "of %.6f ms", (double)world / (double)UNIT / (double)SIM_MS);
	expire(w, resource);
}

void proof_tick(struct world *w, bool all)
{
	for (unsigned r = 0; w->proof != NULL && w->proof->ppm != 0 && r < w->plan.resources; r++)
		if (!w->proof->names[r].refused && (all || has_owner(&w->proof->names[r].lock)))
			tick_name(w, r);
}

static void look_at_clocks(const struct world *w, struct proof_name *n)
{
	n->world_ns = w->now_ns;
	for (unsigned i = 0; i < w->plan.nodes; i++)
		n->node_ns[i] = (int64_t)drift_local(&w->nodes[i].clock, w->now_ns);
	for (unsigned i = 0; i < w->plan.actors; i++) {
		n->actor_ns[i] = proof_actor_ns(w, &w->actors[i]);
		n->lives[i] = w->actors[i].life;
	}
}

void proof_begin(struct world *w)
{
	if (w->plan.guard)
		return;
	w->proof = buffer_realloc(NULL, sizeof *w->proof);
	memset(w->proof, 0, sizeof *w->proof);
	for (unsigned r = 0; r < w->plan.resources; r++) {
		struct lock *t = &w->proof->names[r].lock;
		for (unsigned i = 0; i < w->plan.nodes; i++)
			t->is_Node[i] = true;
		t->most_Node = w->plan.nodes;
		t->is_Value[0] = t->is_Ttl[0] = true; /* nothing; of a claim of which nothing is known */
		t->most_Value = t->most_Ttl = 1;
		t->counts[0] = INT64_MIN / 4;
		look_at_clocks(w, &w->proof->names[r]);
	}
}

void proof_end(struct world *w)
{
	for (unsigned r = 0; w->proof != NULL && r < w->plan.resources; r++)
		for (unsigned i = 0; i < LOCK_ACTIONS; i++)
			w->cover->proof[i] += w->proof->names[r].lock.times[i];
	free(w->proof);
	w->proof = NULL;
}
