/* SPDX-License-Identifier: MIT */
/*
 * Locks of several names, slots, and plain locks beside them, as claims of several.thm. The checker compares
 * the clients' claims and the nodes' keys with the theorem before each step of a core and after each command
 * of a node. Locks of other kinds, and other programs, are claims that are over.
 */
#include <stdlib.h>

#include "core/kinds.h"
#include "proof_all.h"
#include "proof_clients.h"
#include "theorem.h"

#include "theorem_several.h"

enum {
	CLAIMS = sizeof((struct several *)0)->is_Claim,
	SLOTS = 3,
	KEYS = SIM_MAX_RESOURCES * SLOTS,
	NONE = -1
};
_Static_assert((int)KEYS <= (int)sizeof((struct several *)0)->is_Key, "each key has a place");

struct proof_several {
	struct several t;
	bool refused;
	struct proof_quorums quorums;
	struct proof_value values[CLAIMS];
	bool stranger[CLAIMS];
	bool forgot[SIM_MAX_NODES][KEYS];
};

const char *const several_names[] = {SEVERAL_NAMES, NULL};

#define TELL(w, admitted, action, ...)                                                                       \
	proof_tells(w, PROOF_SEVERAL, &(w)->several->refused, admitted, (w)->several->t.why, action, __VA_ARGS__)

void several_begin(struct world *w)
{
	if (w->plan.changes)
		return;
	struct proof_several *p = w->several = buffer_realloc(NULL, sizeof *w->several);
	memset(p, 0, sizeof *p);
	for (unsigned i = 0; i < w->plan.nodes; i++)
		p->t.is_Node[i] = true;
	p->t.most_Node = w->plan.nodes;
	for (unsigned i = 0; i < KEYS; i++)
		p->t.is_Key[i] = true;
	p->t.most_Key = w->plan.resources * SLOTS;
}

void several_end(struct world *w)
{
	for (unsigned i = 0; w->several != NULL && i < SEVERAL_ACTIONS; i++)
		w->cover->proof[PROOF_SEVERAL][i] += w->several->t.times[i];
	free(w->several);
	w->several = NULL;
}

/* ---- claims ---- */

static bool is_needed(const struct several *t, unsigned k)
{
	bool needed = !t->over[k];
	for (unsigned n = 0; n < t->most_Node; n++)
		for (unsigned x = 0; x < t->most_Key; x++)
			needed |= t->has[n][x][k];
	return needed;
}

static void clear(struct several *t, unsigned k)
{
	for (unsigned x = 0; x < KEYS; x++) {
		t->wants[k][x] = t->holds_key[k][x] = false;
		for (unsigned n = 0; n < SIM_MAX_NODES; n++)
			t->has[n][x][k] = t->gave[n][x][k] = false;
	}
	t->over[k] = false;
}

static void tidy(struct several *t)
{
	for (unsigned k = 0; k < t->most_Claim; k++)
		t->is_Claim[k] = t->is_Claim[k] && is_needed(t, k);
	t->most_Claim = theorem_last(t->is_Claim, t->most_Claim);
}

static int add(struct world *w, struct bytes value, bool stranger)
{
	struct several *t = &w->several->t;
	tidy(t);
	unsigned k = proof_room(w, "several", &w->several->refused, t->is_Claim, CLAIMS, &t->most_Claim);
	if (w->several->refused)
		return 0;
	clear(t, k);
	proof_value_keep(&w->several->values[k], value);
	w->several->stranger[k] = stranger;
	return (int)k;
}

/* The claim with this value, one that goes on if possible. */
static int find(const struct proof_several *p, struct bytes value, bool stranger, unsigned key)
{
	int found = NONE;
	for (unsigned k = 0; k < p->t.most_Claim; k++)
		if (p->t.is_Claim[k] && p->stranger[k] == stranger && proof_value_is(&p->values[k], value) &&
		    p->t.wants[k][key] && (found == NONE || !p->t.over[k]))
			found = (int)k;
	return found;
}

/* Whether the theorem speaks of it: tokens are fresh. lock.thm has callers' own values. */
static bool is_ours(const struct rl_lock *l)
{
	const struct rl_policy *kind = l->rules->policy;
	return kind->signs && !kind->shares && kind != &rl_kinds[RL_KIND_SETNX];
}

static void give_back(struct world *w, unsigned k)
{
	TELL(w, several_give_back(&w->several->t, k), "give_back", "k%u", k);
}

/* ---- clients ---- */

static unsigned first_key(const struct proof_client *c)
{
	return c->handle->resource * SLOTS;
}

/* An attempt that was opened just now has the token of the one before until it is signed. */
static unsigned claim_of(struct world *w, const struct proof_client *c)
{
	int found = find(w->several, c->token, false, first_key(c));
	if (found != NONE && (c->holds || !w->several->t.over[found]))
		return (unsigned)found;
	unsigned k = (unsigned)add(w, c->token, false);
	for (unsigned r = 0; r < w->plan.resources; r++)
		for (unsigned s = 0; s < SLOTS; s++)
			w->several->t.wants[k][r * SLOTS + s] =
			    handle_wants(c->handle, r) && (s == 0 || s < c->handle->options.slots);
	return k;
}

static unsigned quorum(struct world *w, uint32_t nodes)
{
	struct several *t = &w->several->t;
	unsigned before = w->several->quorums.count, q = proof_quorum_of(&w->several->quorums, nodes);
	if (q < before)
		return q;
	t->is_Quorum[q] = true;
	t->most_Quorum = w->several->quorums.count = q + 1;
	proof_quorum_tell(w->several->quorums.nodes, q, t->in, t->common);
	TELL(w, several_quorums_meet(t), "quorums_meet", "%x", nodes);
	return q;
}

static void grant(struct world *w, const struct proof_client *c, unsigned k, uint32_t nodes)
{
	struct several *t = &w->several->t;
	unsigned q = quorum(w, nodes);
	if (c->core->rules->policy->slots)
		TELL(w, several_grant_slot(t, k, first_key(c) + c->core->claim.slot, q), "grant_slot",
		     "k%u slot %u by %x", k, c->core->claim.slot, nodes);
	else
		TELL(w, several_grant_all(t, k, q), "grant_all", "k%u by %x", k, nodes);
}

static void look_at(struct world *w, const struct proof_client *c, bool relied[CLAIMS])
{
	struct several *t = &w->several->t;
	unsigned k = claim_of(w, c),
	         key = first_key(c) + (c->core->rules->policy->slots ? c->core->claim.slot : 0);
	relied[k] = true;
	if (c->holds && !t->holds_key[k][key])
		grant(w, c, k, proof_voted(c));
	if (t->over[k] || (c->holds && !t->holds_key[k][key])) {
		refuse(t, "the core relies on what is over, or was not granted");
		TELL(w, false, "holds", "k%u", k);
	}
}

void several_look(struct world *w, const struct proof_clients *clients)
{
	struct proof_several *p = w->several;
	bool relied[CLAIMS] = {false};
	if (p == NULL || p->refused)
		return;
	for (unsigned i = 0; i < clients->count; i++)
		if (clients->of[i].relies && is_ours(clients->of[i].core))
			look_at(w, &clients->of[i], relied);
	for (unsigned k = 0; k < p->t.most_Claim; k++)
		if (p->t.is_Claim[k] && !p->t.over[k] && !relied[k])
			give_back(w, k);
}

/* After an extend that does not lengthen the validity, as its TTL is shorter, the claim rests on the votes of
 * before. */
void several_step(struct world *w, const struct rl_lock *l, const struct proof_before *before,
                  const struct rl_event *e, const struct rl_effects *fx)
{
	struct proof_client c;
	if (w->several != NULL && !w->several->refused && is_ours(l) && proof_confirms(before, fx) &&
	    l->valid_until_ns > before->until_ns && proof_holder(w, l, &c))
		grant(w, &c, claim_of(w, &c), proof_voters(w, l, before, e));
}

/* ---- nodes ---- */

static int owner(const struct several *t, unsigned node, unsigned key)
{
	for (unsigned k = 0; k < t->most_Claim; k++)
		if (t->is_Claim[k] && t->has[node][key][k])
			return (int)k;
	return NONE;
}

static void goes(struct world *w, unsigned node, unsigned key, unsigned k)
{
	struct several *t = &w->several->t;
	bool needed = t->holds_key[k][key] && t->in[node][t->voters[k][key]];
	if (!t->over[k] && t->gave[node][key][k] && !needed)
		TELL(w, several_vote_ends(t, node, k, key), "vote_ends", "n%u k%u x%u", node, k, key);
	TELL(w, several_key_goes(t, node, key, k), "key_goes", "n%u x%u k%u", node, key, k);
	w->several->forgot[node][key] = false;
}

static const struct key *key_at(const struct world *w, unsigned node, unsigned key)
{
	char buffer[SIM_MAX_KEY];
	const struct node *n = &w->nodes[node];
	return keyspace_find(&n->redis.keys, w->plan.database,
	                     slot_key(&w->plan, key / SLOTS, key % SLOTS, buffer), node_now_ms(w, n));
}

static unsigned stranger(struct world *w, struct bytes value, unsigned key)
{
	int found = find(w->several, value, true, key);
	if (found != NONE)
		return (unsigned)found;
	unsigned k = (unsigned)add(w, value, true);
	w->several->t.wants[k][key] = true;
	give_back(w, k);
	return k;
}

/* A claim for several names has all of them now. */
static void arrives(struct world *w, unsigned node, unsigned key, struct bytes value)
{
	struct several *t = &w->several->t;
	int known = find(w->several, value, false, key);
	unsigned k = known != NONE ? (unsigned)known : stranger(w, value, key);
	bool slots = t->wants[k][key - key % SLOTS + 1];
	if (slots) {
		TELL(w, several_slot_arrives(t, node, k, key), "slot_arrives", "n%u k%u x%u", node, k, key);
		return;
	}
	TELL(w, several_claim_all_arrives(t, node, k), "claim_all_arrives", "n%u k%u", node, k);
	for (unsigned x = 0; x < t->most_Key; x++) {
		const struct key *has = t->wants[k][x] ? key_at(w, node, x) : NULL;
		if (!t->wants[k][x] || (has != NULL && proof_value_is(&w->several->values[k], proof_value_of(has))))
			continue;
		refuse(t, "claim_all_arrives: the node has some of the keys");
		TELL(w, false, "claim_all_arrives", "n%u k%u x%u", node, k, x);
	}
}

static void look_at_key(struct world *w, unsigned node, unsigned key, bool leaves)
{
	struct proof_several *p = w->several;
	const struct key *has = key_at(w, node, key);
	int k = owner(&p->t, node, key);
	bool same = has != NULL && k != NONE && proof_value_is(&p->values[k], proof_value_of(has));
	bool owes = p->forgot[node][key] && k != NONE && !p->t.over[k] &&
	            (has == NULL || find(p, proof_value_of(has), false, key) == NONE);
	if (leaves && k != NONE && !same && !owes)
		goes(w, node, key, (unsigned)k);
	if (!leaves && has != NULL && !same && k == NONE)
		arrives(w, node, key, proof_value_of(has));
}

void several_command(struct world *w, uint32_t node)
{
	for (unsigned pass = 0; pass < 2; pass++)
		for (unsigned x = 0; w->several != NULL && !w->several->refused && x < w->several->t.most_Key; x++)
			look_at_key(w, node, x, pass == 0);
}

/* A node that lost its data owes its keys still, also where another program has put one. */
void several_forgets(struct world *w, uint32_t node)
{
	for (unsigned x = 0; w->several != NULL && x < KEYS; x++)
		w->several->forgot[node][x] = owner(&w->several->t, node, x) != NONE;
}
