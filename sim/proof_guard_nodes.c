/* SPDX-License-Identifier: MIT */
/* The actions of nodes in guard.thm: what a command has made of a key, of the record, and of a quarantine. */
#include <stdio.h>

#include "proof_guard.h"
#include "redis_types.h"

/* A node, and what it has under a name after a command. */
struct site {
	struct world *w;
	struct proof_guard *p;
	struct guard *t;
	unsigned name, node;
	const struct call *call;
	const struct key *key; /* NULL: none */
	real ends;
};

/* The claim whose key it is: of the client that asked if possible. */
static unsigned claim_of(const struct site *s)
{
	uint64_t owner = s->call->session->owner;
	struct bytes value = proof_value_of(s->key);
	unsigned actor = (unsigned)(owner >> 32) % SIM_MAX_ACTORS;
	int found = guard_find(s->p, value, &s->w->actors[actor]);
	return found != NONE ? (unsigned)found : guard_stranger(s->w, s->name, value);
}

static bool has(const struct site *s, unsigned k)
{
	return s->key != NULL && proof_value_is(&s->p->claims[k].token, proof_value_of(s->key));
}

static void vote(const struct site *s, unsigned r)
{
	if (s->ends >= s->t->node_clock[s->node] + s->t->keeps[r])
		TELL(s->w, s->name, guard_claim_arrives(s->t, s->node, r), "claim_arrives", "n%u r%u of k%u", s->node,
		     r, s->t->of[r]);
}

/* All rounds of the claim that are no later may have arrived by now: requests come late. */
static void votes(const struct site *s, unsigned k, bool extends, real latest)
{
	for (unsigned r = 0; r < s->t->most_Round; r++)
		if (s->t->is_Round[r] && s->t->of[r] == k && (s->p->rounds[r].ask == EXTEND) == extends &&
		    s->t->time[r] <= latest)
			vote(s, r);
}

/* HAND names the heir by client.slot, number, TTL and token. */
static uint64_t number_of_heir(const struct site *s)
{
	struct bytes next = s->call->asked.parts[RL_WORD_NEXT];
	char text[256];
	unsigned long long number;
	if (s->call->asked.op != &rl_ops[RL_OP_HAND] || next.size >= sizeof text)
		return 0;
	memcpy(text, next.at, next.size);
	text[next.size] = '\0';
	return sscanf(text, "%*s %llu", &number) == 1 ? number : 0;
}

static bool is_handed(const struct site *s, unsigned from, unsigned k)
{
	uint64_t number = number_of_heir(s);
	for (unsigned r = 0; number != 0 && r < s->t->most_Round; r++) {
		if (!s->t->is_Round[r] || s->t->of[r] != k || s->p->rounds[r].number != number)
			continue;
		TELL(s->w, s->name, guard_hand_over(s->t, s->node, from, r), "hand_over", "n%u k%u to r%u of k%u",
		     s->node, from, r, k);
		votes(s, k, false, s->t->time[r]);
		return true;
	}
	return false;
}

/* The claim that has the key for the theorem; NONE. */
static int owner(const struct site *s)
{
	for (unsigned k = 0; k < s->t->most_Claim; k++)
		if (s->t->is_Claim[k] && s->t->owner[s->node] == s->t->token[k])
			return (int)k;
	return NONE;
}

static bool is_alive(const struct site *s)
{
	return s->t->node_clock[s->node] < s->t->end[s->node];
}

/* Whether the command is a request with the claim's token of one of these kinds. */
static bool asks(const struct site *s, unsigned k, bool extends)
{
	const struct asked *asked = &s->call->asked;
	unsigned op = asked->op != NULL ? asked_operation(asked) : RL_OP_NONE;
	bool fits = extends
	                ? op == RL_OP_EXTEND || op == RL_OP_EXTEND_ALL
	                : op != RL_OP_NONE && (rl_ops[op].claims || op == RL_OP_ENTER || op == RL_OP_ENTER_ALL);
	return fits && proof_value_is(&s->p->claims[k].token, asked->parts[RL_WORD_TOKEN]);
}

static void look_at_key(struct site *s)
{
	int k = owner(s);
	if (k != NONE && !has(s, (unsigned)k) && (is_alive(s) || s->t->over[k])) {
		unsigned heir = s->key != NULL ? claim_of(s) : 0;
		if (s->key != NULL && is_handed(s, (unsigned)k, heir))
			return;
		TELL(s->w, s->name, guard_release_arrives(s->t, s->node, (unsigned)k), "release_arrives", "n%u k%d",
		     s->node, k);
	} else if (k != NONE && !has(s, (unsigned)k)) {
		TELL(s->w, s->name, guard_expire(s->t, s->node), "expire", "n%u k%d", s->node, k);
	}
	if (s->key == NULL)
		return;
	unsigned is = claim_of(s);
	bool comes = s->t->owner[s->node] != s->t->token[is];
	if (asks(s, is, true))
		votes(s, is, true, INT64_MAX);
	else if (asks(s, is, false) || comes)
		votes(s, is, false, INT64_MAX);
}

/* A node that is not admitted gives nobody a key who asks it to look at its record. This looks neither at
 * what other programs do there, nor at what a client asked for without that: the answer is no vote for it. */
static void look_at_outsider(struct site *s)
{
	const struct asked *asked = &s->call->asked;
	bool checks = asked->op != NULL && (RL_FORMS_GUARD >> asked->form & 1) != 0;
	unsigned k = s->key != NULL ? claim_of(s) : 0;
	if (checks && s->key != NULL && !s->t->over[k] && s->t->owner[s->node] != s->t->token[k])
		votes(s, k, false, INT64_MAX);
}

/* When the quarantine of this process is over, by the node's clock; 0: none has begun. */
static int64_t quarantine_ends_ms(const struct world *w, unsigned node)
{
	struct bytes id, until;
	const struct node *n = &w->nodes[node];
	const struct key *record =
	    keyspace_find(&n->redis.keys, w->plan.database, text_bytes("redlock:set"), node_now_ms(w, n));
	bool begun = record != NULL && record->type == KEY_HASH && hash_get(record, text_bytes("qrid"), &id) &&
	             bytes_equal(id, text_bytes(n->redis.run_id)) &&
	             hash_get(record, text_bytes("quntil"), &until);
	return begun ? word_number(until) : 0;
}

static void look_at_record(struct site *s)
{
	struct proof_guard *p = s->p;
	const struct node *n = &s->w->nodes[s->node];
	int64_t now_ns = (int64_t)drift_local(&n->clock, s->w->now_ns);
	int64_t until_ms = quarantine_ends_ms(s->w, s->node);
	if (p->forgot[s->node] || p->starts[s->node] != n->starts) {
		unsigned owner = s->key != NULL ? s->t->token[claim_of(s)] : s->t->nothing;
		TELL(s->w, s->name, guard_forget(s->t, s->node, owner, s->key != NULL ? s->ends : 0), "forget", "n%u",
		     s->node);
		p->forgot[s->node] = false;
		p->starts[s->node] = n->starts;
		p->until_ms[s->node] = 0;
	}
	if (!s->t->admitted[s->node] && until_ms != 0 && until_ms != p->until_ms[s->node] &&
	    s->call->asked.op == &rl_ops[RL_OP_MEET]) {
		real length = (until_ms * (int64_t)SIM_MS - now_ns) * (UNIT - p->ppm);
		if (length != s->t->longest)
			TELL(s->w, s->name, guard_another_maximum(s->t, length), "another_maximum", "%.6f ms",
			     (double)length / (double)UNIT / (double)SIM_MS);
		TELL(s->w, s->name, guard_first_contact(s->t, s->node), "first_contact", "n%u until %lld ms", s->node,
		     (long long)until_ms);
		p->until_ms[s->node] = until_ms;
	}
	if (!s->t->admitted[s->node] && node_admits(s->w, n))
		TELL(s->w, s->name, guard_admit(s->t, s->node), "admit", "n%u", s->node);
}

void guard_command(struct world *w, uint32_t node, const struct call *call)
{
	char buffer[SIM_MAX_KEY];
	const struct node *n = &w->nodes[node];
	for (unsigned m = 0; w->guard != NULL && m < w->plan.resources; m++) {
		struct site s = {w, &w->guard[m], &w->guard[m].t, m, node, call, NULL, 0};
		s.key = keyspace_find(&n->redis.keys, w->plan.database, resource_key(&w->plan, m, buffer),
		                      node_now_ms(w, n));
		if (s.p->refused || s.p->ppm == 0)
			continue;
		int64_t now_ns = (int64_t)drift_local(&n->clock, w->now_ns);
		s.ends = s.key == NULL || s.key->expires_ms == KEY_FOREVER
		             ? INT64_MAX / 4
		             : s.t->node_clock[node] +
		                   ((s.key->expires_ms + 1) * (int64_t)SIM_MS - now_ns) * (UNIT - s.p->ppm);
		look_at_record(&s);
		if (s.t->admitted[node])
			look_at_key(&s);
		else
			look_at_outsider(&s);
	}
}

void guard_forgets(struct world *w, uint32_t node)
{
	for (unsigned m = 0; w->guard != NULL && m < w->plan.resources; m++)
		w->guard[m].forgot[node] = true;
}
