/* SPDX-License-Identifier: MIT */
/* The things that the theorem speaks of, their clocks, and what a refusal says. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "proof_inside.h"

const char *const plain_actions[] = {LOCK_NAMES, NULL};

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
	char text[480];
	snprintf(text, sizeof text, "resource %u: %s %s: %s", resource, action, values, n->lock.why);
	check_refuse(w, PROOF_LOCK, text);
}

/* ---- things ---- */

/* Claims that are over make room once there are so many more. */
enum { FEW_CLAIMS = 8 };

static void full(struct world *w, const char *what)
{
	check_fail(w, VIOLATION_PROOF, "more %s at a time than the checker has room for", what);
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
	t->most_Claim = theorem_last(t->is_Claim, t->most_Claim);
	t->most_Value = theorem_last(t->is_Value, t->most_Value);
	t->most_Ttl = theorem_last(t->is_Ttl, t->most_Ttl);
	t->most_Enter = theorem_last(t->is_Enter, t->most_Enter);
}

unsigned proof_value(struct proof_name *n, struct bytes value, bool make)
{
	struct lock *t = &n->lock;
	for (unsigned v = 1; v < t->most_Value; v++)
		if (t->is_Value[v] && proof_value_is(&n->values[v], value))
			return v;
	unsigned v = make ? theorem_room(t->is_Value, PROOF_VALUES, &t->most_Value) : PROOF_NONE;
	if (v == PROOF_NONE)
		return 0;
	proof_value_keep(&n->values[v], value);
	t->had[v] = t->remade[v] = t->intruded[v] = false;
	for (unsigned i = 0; i < SIM_MAX_NODES; i++)
		t->out[i][v] = false;
	return v;
}

unsigned proof_ttl(struct proof *p, struct proof_name *n, uint64_t ttl_ns)
{
	struct lock *t = &n->lock;
	for (unsigned i = 0; i < t->most_Ttl; i++)
		if (t->is_Ttl[i] && n->ttl_ns[i] == ttl_ns)
			return i;
	unsigned i = theorem_room(t->is_Ttl, PROOF_TTLS, &t->most_Ttl);
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
	unsigned q = theorem_room(t->is_Quorum, PROOF_QUORUMS, &t->most_Quorum);
	if (q == PROOF_NONE) {
		full(w, "quorums");
		return 0;
	}
	n->quorums[q] = nodes;
	proof_quorum_tell(n->quorums, q, t->in, t->common);
	proof_did(w, resource, lock_quorums_meet(t), "a quorum", "%x", nodes);
	return q;
}

unsigned proof_claim(struct world *w, unsigned resource, const struct actor *a, unsigned value,
                     uint64_t ttl_ns)
{
	struct proof_name *n = &w->proof->names[resource];
	struct lock *t = &n->lock;
	unsigned k = theorem_room(t->is_Claim, PROOF_CLAIMS, &t->most_Claim);
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
	unsigned e = theorem_room(t->is_Enter, PROOF_ENTERS, &t->most_Enter);
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
	struct proof_advance by;
	real client[PROOF_CLAIMS] = {0};
	if (!proof_clocks_advance(w, &n->clocks, w->proof->ppm, &by))
		return;
	for (unsigned k = 0; k < t->most_Claim; k++)
		client[k] = proof_advance_of(w, &by, n->claims[k].actor, n->claims[k].life, n->claims[k].stranger);
	if (!lock_tick(t, by.node, client))
		proof_did(w, resource, false, "tick", "of %.6f ms", (double)by.world / (double)UNIT / (double)SIM_MS);
	expire(w, resource);
}

/* Whether a clock was set, or has another rate, since this was asked last. Between that it is enough to look
 * when something else happens. */
static bool are_clocks_changed(const struct world *w)
{
	uint64_t sum = 0;
	for (unsigned i = 0; i < w->plan.nodes; i++)
		sum += w->nodes[i].clock.base_world_ns + w->nodes[i].clock.base_local_ns;
	for (unsigned i = 0; i < w->plan.actors; i++)
		sum += w->actors[i].clock.base_world_ns + w->actors[i].clock.base_local_ns + w->actors[i].leapt_ns;
	bool changed = sum != w->proof->clocks;
	w->proof->clocks = sum;
	return changed;
}

void plain_tick(struct world *w, bool all)
{
	if (w->proof == NULL || w->proof->ppm == 0 || (!are_clocks_changed(w) && !all))
		return;
	for (unsigned r = 0; r < w->plan.resources; r++)
		if (!w->proof->names[r].refused && (all || has_owner(&w->proof->names[r].lock)))
			tick_name(w, r);
}

void plain_begin(struct world *w)
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
		proof_clocks_look(w, &w->proof->names[r].clocks);
	}
}

void plain_end(struct world *w)
{
	for (unsigned r = 0; w->proof != NULL && r < w->plan.resources; r++)
		for (unsigned i = 0; i < LOCK_ACTIONS; i++)
			w->cover->proof[PROOF_LOCK][i] += w->proof->names[r].lock.times[i];
	free(w->proof);
	w->proof = NULL;
}
