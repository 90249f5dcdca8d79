/* SPDX-License-Identifier: MIT */
/* The actions of nodes: what a command has made of the key of a name. */
#include <stdio.h>

#include "proof_inside.h"

/* A command, and what the node has under a name after it. */
struct site {
	struct world *w;
	struct proof_name *name;
	struct lock *t;
	const struct call *call;
	unsigned resource, node, value;
	real ends;
};

static real ends_of(const struct world *w, const struct lock *t, unsigned node, const struct key *key)
{
	int64_t now_ns = (int64_t)drift_local(&w->nodes[node].clock, w->now_ns);
	if (key->expires_ms == KEY_FOREVER)
		return INT64_MAX / 4;
	return t->node_clock[node] + ((key->expires_ms + 1) * (int64_t)SIM_MS - now_ns) * (UNIT - w->proof->ppm);
}

/* Whether the node's yes may be believed: where an older request with the value is gone, that is an action.
 */
static bool believed(const struct site *s, unsigned k)
{
	struct lock *t = s->t;
	unsigned v = t->token[k];
	bool gone = !t->over[k] && t->out[s->node][v] &&
	            !proof_is_on_its_way(s->w, s->node, s->call, &s->name->values[v]);
	if (gone)
		proof_did(s->w, s->resource, lock_request_is_gone(t, s->node, v), "request_is_gone", "n%u v%u",
		          s->node, v);
	return t->begun[k] && !t->out[s->node][v];
}

/* A claim whose token this is, of the client that asked if possible. */
static unsigned claim_of(const struct site *s)
{
	uint64_t owner = s->call->session->owner;
	unsigned best = PROOF_NONE, rank = 0;
	for (unsigned k = 0; k < s->t->most_Claim; k++) {
		if (!s->t->is_Claim[k] || s->t->token[k] != s->value || s->value == 0)
			continue;
		bool same = owner == KEY_OWNER(s->name->claims[k].actor, s->name->claims[k].life);
		unsigned is = 1 + (s->t->over[k] ? 0U : 4U) + (s->t->attached[k] ? 0U : 2U) + same;
		best = is > rank ? k : best;
		rank = is > rank ? is : rank;
	}
	return best;
}

/* A claim that was given up, and whose request comes late: it is one of another kind of lock, or of another
 * program. */
static unsigned stranger(struct site *s, const struct key *key)
{
	if (s->value == 0)
		s->value = proof_value(s->name, proof_value_of(key), true);
	for (unsigned k = 0; k < s->t->most_Claim; k++)
		if (s->t->is_Claim[k] && s->name->claims[k].stranger && s->t->token[k] == s->value)
			return k;
	bool known = claim_of(s) != PROOF_NONE;
	unsigned k = proof_claim(s->w, s->resource, NULL, s->value, 0);
	if (known) { /* it had made room for others */
		s->t->begun[k] = s->t->over[k] = true;
		return k;
	}
	proof_did(s->w, s->resource, lock_begin_attempt(s->t, k), "begin_attempt", "k%u, a stranger", k);
	proof_did(s->w, s->resource, lock_give_back(s->t, k), "give_back", "k%u", k);
	return k;
}

static bool is_long_enough(const struct site *s, unsigned ttl)
{
	return s->ends >= s->t->node_clock[s->node] + s->t->keeps[ttl];
}

static void appears(struct site *s, const struct key *key)
{
	unsigned k = claim_of(s);
	if (k == PROOF_NONE ||
	    !is_long_enough(s, s->t->ttl[k])) /* of an earlier claim with this value, for another TTL */
		k = stranger(s, key);
	bool heard = believed(s, k);
	proof_did(s->w, s->resource, lock_set_arrives(s->t, s->node, k, heard, s->ends), "set_arrives",
	          "n%u k%u v%u%s", s->node, k, s->value, heard ? "" : ", unheard");
}

/* The key of a claim that goes on: its client releases a yes that it does not believe, as an older request
 * with the value may come or the node's record is not known. */
static void disbelieved(const struct site *s, unsigned v)
{
	struct lock *t = s->t;
	for (unsigned k = 0; k < t->most_Claim && !t->out[s->node][v]; k++)
		if (t->is_Claim[k] && t->token[k] == v && t->begun[k] && !t->over[k])
			proof_did(s->w, s->resource, lock_disbelieve(t, s->node, k), "disbelieve", "n%u k%u", s->node, k);
}

static void goes(const struct site *s)
{
	unsigned v = s->t->owner[s->node], op = RL_OP_NONE;
	if (s->call->asked.op != NULL)
		op = asked_operation(&s->call->asked);
	if (s->call->asked.op == NULL || rl_ops[op].gives_back)
		disbelieved(s, v);
	proof_did(s->w, s->resource, lock_release_arrives(s->t, s->node, v), "release_arrives", "n%u v%u",
	          s->node, v);
}

/* HAND names the heir by client.slot, number, TTL and token. */
static bool is_handed(struct site *s)
{
	struct bytes next = s->call->asked.parts[RL_WORD_NEXT];
	char text[256];
	unsigned long long number, ttl_ms;
	if (s->call->asked.op != &rl_ops[RL_OP_HAND] || next.size >= sizeof text)
		return false;
	memcpy(text, next.at, next.size);
	text[next.size] = '\0';
	if (sscanf(text, "%*s %llu %llu", &number, &ttl_ms) != 2)
		return false;
	for (unsigned e = 0; e < s->t->most_Enter; e++)
		if (s->t->is_Enter[e] && s->name->numbers[e] == number && s->t->token[s->t->of[e]] == s->value) {
			unsigned v = s->t->owner[s->node];
			bool heard = believed(s, s->t->of[e]);
			proof_did(s->w, s->resource, lock_hand_over(s->t, s->node, v, e, heard, s->ends), "hand_over",
			          "n%u v%u to k%u, number %llu%s", s->node, v, s->t->of[e], number,
			          heard ? "" : ", unheard");
			return true;
		}
	return false;
}

/* A PEXPIRE in a transaction does not tell what it was sent for: the longest TTL that the key has now. */
static unsigned longest(const struct site *s)
{
	unsigned found = PROOF_NONE;
	for (unsigned i = 0; i < s->t->most_Ttl; i++)
		if (s->t->is_Ttl[i] && is_long_enough(s, i) &&
		    (found == PROOF_NONE || s->t->keeps[i] > s->t->keeps[found]))
			found = i;
	return found;
}

/* Whether the answer may be a yes to an extend. Without scripts a client counts what PTTL and EXEC answer. */
static bool may_confirm(const struct call *c)
{
	return c->asked.op != NULL || word_is(c->w.at[0], "pttl") || word_is(c->w.at[0], "exec");
}

/* For each claim of the client with this token: it may have some, which it extends by that alone. */
static void is_extended(const struct site *s, unsigned ttl)
{
	for (unsigned k = 0; k < s->t->most_Claim; k++) {
		bool same = s->call->session->owner == KEY_OWNER(s->name->claims[k].actor, s->name->claims[k].life);
		if (!s->t->is_Claim[k] || s->t->token[k] != s->value || !same)
			continue;
		unsigned asked = ttl;
		if (asked == PROOF_NONE)
			asked = is_long_enough(s, s->t->xttl[k]) ? s->t->xttl[k] : longest(s);
		if (asked == PROOF_NONE || !is_long_enough(s, asked))
			continue;
		bool heard = believed(s, k) && asked == s->t->xttl[k] && may_confirm(s->call);
		proof_did(s->w, s->resource, lock_extend_arrives(s->t, s->node, k, asked, heard, s->ends),
		          "extend_arrives", "n%u k%u for %.3f ms%s", s->node, k,
		          (double)s->name->ttl_ns[asked] / (double)SIM_MS, heard ? "" : ", unheard");
	}
}

/* The node has the key that it had. */
static void stays(const struct site *s)
{
	const struct asked *asked = &s->call->asked;
	unsigned k = claim_of(s);
	bool token = asked->op != NULL &&
	             bytes_equal(asked->parts[RL_WORD_TOKEN],
	                         (struct bytes){s->name->values[s->value].at, s->name->values[s->value].size});
	if (k != PROOF_NONE && token && asked->op == &rl_ops[RL_OP_EXTEND])
		is_extended(
		    s, proof_ttl(s->w->proof, s->name, (uint64_t)word_number(asked->parts[RL_WORD_TTL]) * SIM_MS));
	else if (k != PROOF_NONE && asked->op == NULL)
		is_extended(s, PROOF_NONE);
	bool enters = token && asked->op == &rl_ops[RL_OP_ENTER] && is_long_enough(s, s->t->ttl[k]);
	if (k == PROOF_NONE || (!enters && s->ends == s->t->end[s->node]))
		return;
	bool heard = enters && believed(s, k);
	proof_did(s->w, s->resource, lock_enter_arrives(s->t, s->node, k, heard, s->ends), "enter_arrives",
	          "n%u k%u%s", s->node, k, heard ? "" : ", unheard");
}

static void look(struct site *s)
{
	char buffer[SIM_MAX_KEY];
	struct bytes name = resource_key(&s->w->plan, s->resource, buffer);
	const struct node *n = &s->w->nodes[s->node];
	const struct key *key = keyspace_find(&n->redis.keys, s->w->plan.database, name, node_now_ms(s->w, n));
	unsigned owner = s->t->owner[s->node];
	if (owner == s->t->nothing)
		s->name->forgot[s->node] = false;
	if (key == NULL && owner != s->t->nothing && !s->name->forgot[s->node])
		goes(s);
	if (key == NULL)
		return;
	s->value = proof_value(s->name, proof_value_of(key), false);
	s->ends = ends_of(s->w, s->t, s->node, key);
	bool same = owner != s->t->nothing && s->value == owner && !s->name->forgot[s->node];
	bool strange = same && claim_of(s) != PROOF_NONE && s->name->claims[claim_of(s)].stranger;
	if (same && (!strange || s->ends >= s->t->end[s->node])) {
		stays(s);
		return;
	}
	if (owner != s->t->nothing && !s->name->forgot[s->node]) {
		if (is_handed(s))
			return;
		goes(s);
	}
	appears(s, key);
}

void plain_command(struct world *w, uint32_t node, const struct call *call)
{
	struct proof *p = w->proof;
	if (p == NULL || p->ppm == 0)
		return;
	plain_tick(w, true);
	for (unsigned r = 0; r < w->plan.resources; r++) {
		struct site s = {
		    .w = w, .name = &p->names[r], .t = &p->names[r].lock, .call = call, .resource = r, .node = node};
		if (!s.name->refused)
			look(&s);
	}
}

void plain_forgets(struct world *w, uint32_t node)
{
	for (unsigned r = 0; w->proof != NULL && r < w->plan.resources; r++)
		w->proof->names[r].forgot[node] = true;
}
