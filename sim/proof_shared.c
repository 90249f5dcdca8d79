/* SPDX-License-Identifier: MIT */
/*
 * Shared and plain locks as claims of shared.thm. Its one clock is that of the world, and all TTLs are longer
 * than a seed: a claim whose validity ends counts as given back, and what expires as a release, or as a vote
 * that ends. So a key on which a deadline rests must not go before its claim is over. Locks of other kinds,
 * callers' own values and other programs are claims that are over (strangers).
 */
#include <stdlib.h>

#include "client.h"
#include "core/kinds.h"
#include "core/validity.h"
#include "proof_all.h"
#include "proof_clients.h"
#include "redis_types.h"
#include "theorem.h"

#include "theorem_shared.h"

enum {
	CLAIMS = sizeof((struct shared *)0)->is_Claim,
	ROUNDS = sizeof((struct shared *)0)->is_Round,
	NONE = -1
};
#define LONG ((int64_t)(2000 * SIM_SECOND) * UNIT)

/* The state of one name. Claim 0 is nobody. */
struct proof_shared {
	struct shared t;
	bool refused;
	struct proof_quorums quorums;
	struct proof_value values[CLAIMS];
	uint32_t seq[CLAIMS];       /* of the extend that the last round is; 0: it is the claim */
	int reads[CLAIMS];          /* the last round of each form; NONE */
	int writes[CLAIMS];         /* */
	bool forgot[SIM_MAX_NODES]; /* the node has lost its data, and owes what it had */
};

/* A node, and what it has under a name after a command. */
struct site {
	struct world *w;
	struct proof_shared *p;
	struct shared *t;
	unsigned name, node;
	const struct call *call;
	const struct key *key; /* NULL: none */
};

const char *const shared_names[] = {SHARED_NAMES, NULL};

#define TELL(w, m, admitted, action, format, ...)                                                            \
	proof_tells(w, PROOF_SHARED, &(w)->shared[m].refused, admitted, (w)->shared[m].t.why, action,            \
	            "m%u " format, m, __VA_ARGS__)

void shared_begin(struct world *w)
{
	if (w->plan.changes)
		return;
	w->shared = buffer_realloc(NULL, SIM_MAX_RESOURCES * sizeof *w->shared);
	memset(w->shared, 0, SIM_MAX_RESOURCES * sizeof *w->shared);
	for (unsigned m = 0; m < w->plan.resources; m++) {
		struct shared *t = &w->shared[m].t;
		for (unsigned i = 0; i < w->plan.nodes; i++)
			t->is_Node[i] = true;
		t->most_Node = w->plan.nodes;
		t->is_Claim[0] = t->over[0] = true;
		t->most_Claim = 1;
	}
}

void shared_end(struct world *w)
{
	for (unsigned m = 0; w->shared != NULL && m < w->plan.resources; m++)
		for (unsigned i = 0; i < SHARED_ACTIONS; i++)
			w->cover->proof[PROOF_SHARED][i] += w->shared[m].t.times[i];
	free(w->shared);
	w->shared = NULL;
}

/* ---- claims and rounds ---- */

static bool has(const struct shared *t, unsigned node, unsigned k)
{
	return t->string[node] == k || t->end[node][k] > t->now;
}

static bool is_needed(const struct shared *t, unsigned k)
{
	bool needed = k == 0 || !t->over[k];
	for (unsigned n = 0; n < t->most_Node; n++)
		needed |= has(t, n, k);
	return needed;
}

static void tidy(struct shared *t)
{
	for (unsigned k = 0; k < t->most_Claim; k++)
		t->is_Claim[k] = t->is_Claim[k] && is_needed(t, k);
	for (unsigned r = 0; r < t->most_Round; r++)
		t->is_Round[r] = t->is_Round[r] && t->is_Claim[t->of[r]];
	t->most_Claim = theorem_last(t->is_Claim, t->most_Claim);
	t->most_Round = theorem_last(t->is_Round, t->most_Round);
}

/* By how much the deadline would move that the round asks for. */
static int64_t lengthens(const struct rl_lock *l)
{
	uint64_t drift_ns = rl_validity_drift(l->round.ttl_ns, l->rules->drift_ppm, l->rules->drift_base_ns);
	int64_t end_ns = (int64_t)rl_validity_end(l->round.t0_ns, l->round.ttl_ns, drift_ns);
	return (end_ns - (int64_t)l->valid_until_ns) * UNIT;
}

/* `l`: its lock, which extends; NULL: it is claimed. */
static void ask(struct world *w, unsigned m, unsigned k, const struct rl_lock *l, bool write)
{
	struct proof_shared *p = &w->shared[m];
	struct shared *t = &p->t;
	int *last = write ? &p->writes[k] : &p->reads[k];
	TELL(w, m, shared_tick(t, (int64_t)w->now_ns * UNIT), "tick", "%s", "");
	if (*last != NONE)
		t->is_Round[*last] = false; /* its votes count no more */
	unsigned r = proof_room(w, "shared", &p->refused, t->is_Round, ROUNDS, &t->most_Round);
	t->of[r] = k;
	t->ttl[r] = l != NULL && t->held[k] ? t->deadline[k] + lengthens(l) - t->now : LONG;
	t->write[r] = write;
	t->sent[r] = false;
	for (unsigned n = 0; n < SIM_MAX_NODES; n++)
		t->yes[n][r] = false;
	*last = (int)r;
	if (write)
		TELL(w, m, shared_ask_to_write(t, r), "ask_to_write", "k%u", k);
	else
		TELL(w, m, shared_ask_to_read(t, r), "ask_to_read", "k%u", k);
}

static unsigned add(struct world *w, unsigned m, struct bytes value, bool write)
{
	struct proof_shared *p = &w->shared[m];
	struct shared *t = &p->t;
	tidy(t);
	w->cover->histories += t->most_Claim == 1; /* nobody relies on the name, and no node has it */
	unsigned k = proof_room(w, "shared", &p->refused, t->is_Claim, CLAIMS, &t->most_Claim);
	for (unsigned n = 0; n < SIM_MAX_NODES; n++) {
		t->end[n][k] = t->until[n][k] = t->alone[n][k] = 0;
		t->out[n][k] = false;
	}
	t->over[k] = t->held[k] = t->writer[k] = false;
	t->deadline[k] = 0;
	p->reads[k] = p->writes[k] = NONE;
	p->seq[k] = 0;
	proof_value_keep(&p->values[k], value);
	ask(w, m, k, NULL, write);
	return k;
}

/* The claim with this token, one that goes on if possible; 0: none. */
static unsigned find(const struct proof_shared *p, struct bytes value)
{
	unsigned found = 0;
	for (unsigned k = 1; k < p->t.most_Claim; k++)
		if (p->t.is_Claim[k] && proof_value_is(&p->values[k], value) && (found == 0 || !p->t.over[k]))
			found = k;
	return found;
}

/* ---- clients ---- */

static bool is_ours(const struct rl_lock *l)
{
	const struct rl_policy *kind = l->rules->policy;
	return kind->signs && !kind->slots && kind != &rl_kinds[RL_KIND_SETNX];
}

/* Whether the round asks for the form in which a lock is held alone. */
static bool writes(const struct rl_lock *l)
{
	bool extends = l->round.operation == REDLOCK_OP_EXTEND;
	if (extends && l->round.turn != RL_TURN_NONE)
		return l->round.turn == RL_TURN_UP;
	return !l->rules->policy->shares || (extends && l->policy != l->rules->policy);
}

/* A yes to an upgrade or an extend counts once it is heard: no renewal may come after that. */
static void hear(struct world *w, unsigned m, unsigned node, unsigned r)
{
	struct shared *t = &w->shared[m].t;
	unsigned k = t->of[r];
	if (t->out[node][k])
		TELL(w, m, shared_renewal_is_gone(t, node, k), "renewal_is_gone", "n%u k%u", node, k);
	TELL(w, m, shared_upgrade_arrives(t, node, r, true), "upgrade_arrives", "n%u k%u, heard", node, k);
}

static void count(struct world *w, unsigned m, unsigned k, uint32_t nodes)
{
	struct proof_shared *p = &w->shared[m];
	struct shared *t = &p->t;
	unsigned before = p->quorums.count, q = proof_quorum_of(&p->quorums, nodes);
	if (q == before) {
		t->is_Quorum[q] = true;
		t->most_Quorum = p->quorums.count = q + 1;
		proof_quorum_tell(p->quorums.nodes, q, t->in, t->common);
		TELL(w, m, shared_quorums_meet(t), "quorums_meet", "%x", nodes);
	}
	unsigned r = t->current[k];
	for (unsigned n = 0; n < t->most_Node; n++)
		if (t->in[n][q] && t->write[r] && !t->yes[n][r])
			hear(w, m, n, r);
	TELL(w, m, shared_count(t, r, q), "count", "k%u as a %s by %x", k, t->write[r] ? "writer" : "reader",
	     nodes);
}

static void look_at(struct world *w, unsigned m, const struct proof_client *c, bool relied[CLAIMS])
{
	struct proof_shared *p = &w->shared[m];
	const struct rl_lock *l = c->core;
	unsigned k = find(p, c->token);
	if (k == 0 || (p->t.over[k] && !c->holds))
		k = add(w, m, c->token, !l->rules->policy->shares);
	relied[k] = true;
	bool extends = l->round.open && l->round.operation == REDLOCK_OP_EXTEND;
	if (extends && l->round.seq != p->seq[k] && !p->t.over[k]) {
		p->seq[k] = l->round.seq;
		ask(w, m, k, l, writes(l));
	}
	if (c->holds && !p->t.held[k])
		count(w, m, k, proof_voted(c));
	if (!p->t.over[k] || p->refused)
		return;
	refuse(&p->t, "the core relies on what is over");
	TELL(w, m, false, "holds", "k%u", k);
}

static void look_at_name(struct world *w, unsigned m, const struct proof_clients *clients)
{
	struct shared *t = &w->shared[m].t;
	bool relied[CLAIMS] = {false};
	for (unsigned i = 0; i < clients->count; i++)
		if (clients->of[i].relies && is_ours(clients->of[i].core) && handle_wants(clients->of[i].handle, m))
			look_at(w, m, &clients->of[i], relied);
	for (unsigned k = 1; k < t->most_Claim; k++)
		if (t->is_Claim[k] && !t->over[k] && !relied[k])
			TELL(w, m, shared_give_back(t, k), "give_back", "k%u", k);
}

void shared_look(struct world *w, const struct proof_clients *clients)
{
	for (unsigned m = 0; w->shared != NULL && m < w->plan.resources; m++)
		if (!w->shared[m].refused)
			look_at_name(w, m, clients);
}

void shared_step(struct world *w, const struct rl_lock *l, const struct proof_before *before,
                 const struct rl_event *e, const struct rl_effects *fx)
{
	struct proof_client c;
	if (w->shared == NULL || !is_ours(l) || !(proof_grants(l, before) || proof_confirms(before, fx)) ||
	    !proof_holder(w, l, &c))
		return;
	for (unsigned m = 0; m < w->plan.resources; m++) {
		unsigned k = handle_wants(c.handle, m) ? find(&w->shared[m], c.token) : 0;
		if (k != 0 && !w->shared[m].refused)
			count(w, m, k, proof_voters(w, l, before, e));
	}
}

/* ---- nodes ---- */

/* The form in which the node has the token: 's' of a string, 'm' of a member of a set, or 0. */
static char form_of(const struct site *s, unsigned k)
{
	const struct proof_value *v = &s->p->values[k];
	struct bytes token = {v->at, v->size < PROOF_VALUE_BYTES ? v->size : PROOF_VALUE_BYTES};
	struct key member;
	if (s->key == NULL)
		return 0;
	if (s->key->type != KEY_ZSET)
		return proof_value_is(v, proof_value_of(s->key)) ? 's' : 0;
	bool in =
	    zset_member(s->key, token, &member) && member.expires_ms >= node_now_ms(s->w, &s->w->nodes[s->node]);
	return in ? 'm' : 0;
}

/* Whether the command claims, or renews, a share of the lock for the claim. */
static bool is_asked_by(const struct site *s, unsigned k)
{
	const struct asked *asked = &s->call->asked;
	unsigned op = asked->op != NULL ? asked_operation(asked) : RL_OP_NONE;
	bool votes = op == RL_OP_SHARE_EXTEND || op == RL_OP_SHARE;
	return votes && proof_value_is(&s->p->values[k], asked->parts[RL_WORD_TOKEN]);
}

/* The claim's last round of this form. A claim that had made room for others asks anew. */
static unsigned round_of(const struct site *s, unsigned k, bool write)
{
	const int *last = write ? s->p->writes : s->p->reads;
	if (last[k] == NONE && s->t->over[k])
		ask(s->w, s->name, k, NULL, write);
	if (last[k] != NONE)
		return (unsigned)last[k];
	refuse(s->t, "the claim has not asked for this form");
	TELL(s->w, s->name, false, write ? "upgrade_arrives" : "renewal_arrives", "n%u k%u", s->node, k);
	return 0;
}

static void is_written(const struct site *s, unsigned k, bool upgrades)
{
	unsigned r = round_of(s, k, true);
	if (upgrades)
		TELL(s->w, s->name, shared_upgrade_arrives(s->t, s->node, r, false), "upgrade_arrives", "n%u k%u",
		     s->node, k);
	else
		TELL(s->w, s->name, shared_set_arrives(s->t, s->node, r, !s->t->out[s->node][k]), "set_arrives",
		     "n%u k%u", s->node, k);
}

static void is_read(const struct site *s, unsigned k, bool renews)
{
	unsigned r = round_of(s, k, false);
	if (renews)
		TELL(s->w, s->name, shared_renewal_arrives(s->t, s->node, r), "renewal_arrives", "n%u k%u", s->node,
		     k);
	else
		TELL(s->w, s->name, shared_share_arrives(s->t, s->node, r), "share_arrives", "n%u k%u", s->node, k);
}

/* The node has the token no more. */
static void goes(const struct site *s, unsigned k)
{
	if (s->t->over[k])
		TELL(s->w, s->name, shared_release_arrives(s->t, s->node, k), "release_arrives", "n%u k%u", s->node,
		     k);
	else if (!s->p->forgot[s->node])
		TELL(s->w, s->name, shared_vote_ends(s->t, s->node, k), "vote_ends", "n%u k%u", s->node, k);
}

/* The node has the token in the other form: a claim that is over gives up the one and asks for the other. */
static void turns(const struct site *s, unsigned k, char form)
{
	if (s->t->over[k])
		goes(s, k);
	else if (form == 's')
		is_written(s, k, true);
	else
		is_read(s, k, true);
}

/* An attempt for which there were no random bytes has the token of the one before. */
static bool is_of_other(const struct site *s, unsigned k)
{
	const struct proof_value *v = &s->p->values[k];
	for (unsigned j = 1; j < s->t->most_Claim; j++)
		if (j != k && s->t->is_Claim[j] && has(s->t, s->node, j) && v->size == s->p->values[j].size &&
		    memcmp(v->at, s->p->values[j].at, sizeof v->at) == 0)
			return true;
	return false;
}

/* The node has the token in the form that it had, or has it now. */
static void stays_or_comes(const struct site *s, unsigned k, char form)
{
	bool there = has(s->t, s->node, k);
	if (form == 0 || (!there && is_of_other(s, k)))
		return;
	if (s->t->over[k] && s->p->forgot[s->node])
		return; /* another program's, or late, where the node owes what it has forgotten */
	if (form == 's' && !there)
		is_written(s, k, false);
	bool renewed = there && !s->t->over[k] && !s->t->write[s->t->current[k]] && is_asked_by(s, k);
	if (form == 'm' && (!there || renewed))
		is_read(s, k, there && s->t->out[s->node][k]);
}

/* A token that nobody of this theorem claims. */
static void meet(const struct site *s, struct bytes token, bool write)
{
	if (find(s->p, token) != 0)
		return;
	unsigned k = add(s->w, s->name, token, write);
	TELL(s->w, s->name, shared_give_back(s->t, k), "give_back", "k%u, a stranger", k);
}

static void meet_strangers(const struct site *s)
{
	struct key member;
	if (s->key == NULL)
		return;
	if (s->key->type != KEY_ZSET) {
		meet(s, proof_value_of(s->key), true);
		return;
	}
	for (struct bytes rest = s->key->value; zset_next(s->key, &rest, &member);)
		meet(s, member.value, false);
}

static void look_at_key(const struct site *s)
{
	meet_strangers(s);
	bool owes = false;
	for (unsigned k = 1; k < s->t->most_Claim; k++)
		owes |= s->t->is_Claim[k] && !s->t->over[k] && has(s->t, s->node, k);
	s->p->forgot[s->node] &= owes;
	for (unsigned pass = 0; pass < 3; pass++)
		for (unsigned k = 1; k < s->t->most_Claim && !s->p->refused; k++) {
			if (!s->t->is_Claim[k])
				continue;
			bool there = has(s->t, s->node, k);
			char form = form_of(s, k), was = s->t->string[s->node] == k ? 's' : 'm';
			if (pass == 0 && there && form == 0)
				goes(s, k);
			if (pass == 1 && there && form != 0 && form != was)
				turns(s, k, form);
			if (pass == 2)
				stays_or_comes(s, k, form);
		}
}

void shared_command(struct world *w, uint32_t node, const struct call *call)
{
	char buffer[SIM_MAX_KEY];
	const struct node *n = &w->nodes[node];
	for (unsigned m = 0; w->shared != NULL && m < w->plan.resources; m++) {
		struct site s = {w, &w->shared[m], &w->shared[m].t, m, node, call, NULL};
		s.key = keyspace_find(&n->redis.keys, w->plan.database, resource_key(&w->plan, m, buffer),
		                      node_now_ms(w, n));
		if (!s.p->refused)
			look_at_key(&s);
	}
}

/* The node owes what it had, until all of that is over. */
void shared_forgets(struct world *w, uint32_t node)
{
	for (unsigned m = 0; w->shared != NULL && m < w->plan.resources; m++)
		w->shared[m].forgot[node] = true;
}
