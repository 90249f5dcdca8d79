/* SPDX-License-Identifier: MIT */
/*
 * Plain, fenced and several-name locks in seeds whose members change, as members.thm has them: under which
 * configuration each round is asked and counted, what each node's record accepts, and the steps of the
 * change. A round of the theorem is what one client asks under one configuration; it has lapsed when its
 * votes cannot grant or prolong the lock any more by that client's clock. Locks of other kinds, callers' own
 * values and other programs are claims that are over (strangers).
 */
#include <stdlib.h>

#include "client.h"
#include "core/kinds.h"
#include "core/time.h"
#include "core/validity.h"
#include "net/set.h"
#include "proof_all.h"
#include "proof_clients.h"
#include "redis_types.h"
#include "theorem.h"

#include "theorem_members.h"

enum {
	CLAIMS = sizeof((struct members *)0)->is_Claim,
	ROUNDS = sizeof((struct members *)0)->is_Round,
	QUORUMS = sizeof((struct members *)0)->is_Quorum,
	NONE = -1
};

/* The state of one name. Claim 0 is nobody. */
struct proof_members {
	struct members t;
	bool refused;
	uint32_t quorums[QUORUMS];
	struct proof_value tokens[CLAIMS];
	struct {
		uint32_t actor, life, seq;
		bool extends;
		int64_t until_ns; /* of the time that the client lives through */
	} rounds[ROUNDS];
	uint32_t starts[SIM_MAX_NODES]; /* of the process that has the record, and */
	bool forgot[SIM_MAX_NODES];     /* whether it has lost its data since */
};

const char *const members_names[] = {MEMBERS_NAMES, NULL};

#define TELL(w, m, admitted, action, format, ...)                                                            \
	proof_tells(w, PROOF_MEMBERS, &(w)->members[m].refused, admitted, (w)->members[m].t.why, action,         \
	            "m%u " format, m, __VA_ARGS__)

void members_begin(struct world *w)
{
	if (!w->plan.changes)
		return;
	w->members = buffer_realloc(NULL, SIM_MAX_RESOURCES * sizeof *w->members);
	memset(w->members, 0, SIM_MAX_RESOURCES * sizeof *w->members);
	for (unsigned m = 0; m < w->plan.resources; m++) {
		struct members *t = &w->members[m].t;
		t->most_Node = w->plan.nodes;
		t->newest = t->settled = 1;
		t->is_Claim[0] = t->over[0] = true;
		t->most_Claim = 1;
		for (unsigned i = 0; i < w->plan.nodes; i++) {
			t->is_Node[i] = true;
			t->at[i] = 1;
			t->in_set[i] = t->member[i][1] = (w->change.lists[1] >> i & 1) != 0;
			w->members[m].starts[i] = w->nodes[i].starts;
		}
	}
}

void members_end(struct world *w)
{
	for (unsigned m = 0; w->members != NULL && m < w->plan.resources; m++)
		for (unsigned i = 0; i < MEMBERS_ACTIONS; i++)
			w->cover->proof[PROOF_MEMBERS][i] += w->members[m].t.times[i];
	free(w->members);
	w->members = NULL;
}

/* ---- claims and rounds ---- */

static bool is_ours(const struct rl_lock *l)
{
	const struct rl_policy *kind = l->rules->policy;
	return kind->signs && !kind->shares && !kind->slots && kind != &rl_kinds[RL_KIND_SETNX];
}

static bool is_needed(const struct members *t, unsigned k)
{
	bool needed = k == 0 || !t->over[k];
	for (unsigned n = 0; n < t->most_Node; n++)
		needed |= t->owner[n] == k;
	return needed;
}

/* Rounds that are over make room for others. */
static void tidy_rounds(struct members *t)
{
	for (unsigned r = 0; r < t->most_Round; r++)
		t->is_Round[r] = t->is_Round[r] && !t->lapsed[r] && t->is_Claim[t->of[r]] && !t->over[t->of[r]];
	t->most_Round = theorem_last(t->is_Round, t->most_Round);
}

static void tidy(struct members *t)
{
	for (unsigned k = 0; k < t->most_Claim; k++)
		t->is_Claim[k] = t->is_Claim[k] && is_needed(t, k);
	tidy_rounds(t);
	t->most_Claim = theorem_last(t->is_Claim, t->most_Claim);
}

/* The claim with this token, one that goes on if possible; 0: none. */
static unsigned find(const struct proof_members *p, struct bytes token)
{
	unsigned found = 0;
	for (unsigned k = 1; k < p->t.most_Claim; k++)
		if (p->t.is_Claim[k] && proof_value_is(&p->tokens[k], token) && (found == 0 || !p->t.over[k]))
			found = k;
	return found;
}

static unsigned add(struct world *w, unsigned m, struct bytes token)
{
	struct proof_members *p = &w->members[m];
	tidy(&p->t);
	w->cover->histories += p->t.most_Claim == 1; /* nobody relies on the name, and no node has it */
	unsigned k = proof_room(w, "members", &p->refused, p->t.is_Claim, CLAIMS, &p->t.most_Claim);
	p->t.over[k] = false;
	proof_value_keep(&p->tokens[k], token);
	return k;
}

static unsigned add_round(struct world *w, unsigned m, unsigned k, unsigned step)
{
	struct proof_members *p = &w->members[m];
	tidy_rounds(&p->t);
	unsigned r = proof_room(w, "members", &p->refused, p->t.is_Round, ROUNDS, &p->t.most_Round);
	p->t.of[r] = k;
	p->t.under[r] = step;
	p->t.counted[r] = p->t.lapsed[r] = false;
	for (unsigned n = 0; n < SIM_MAX_NODES; n++)
		p->t.yes[n][r] = false;
	return r;
}

/* A claim that is over; 0 if there is one already with the token. */
static unsigned stranger(struct world *w, unsigned m, struct bytes token)
{
	unsigned k = add(w, m, token);
	TELL(w, m, members_give_back(&w->members[m].t, k), "give_back", "k%u, a stranger", k);
	return k;
}

/* ---- clients ---- */

/* The time that the client lives through: its clock, and the time for which its machine was stopped. */
static int64_t lived_ns(const struct world *w, const struct actor *a)
{
	uint64_t ends_ns = a->clock.base_world_ns;
	uint64_t left_ns = a->stopped && ends_ns > w->now_ns ? ends_ns - w->now_ns : 0;
	return (int64_t)(actor_now(w, a) + a->stopped_ns - left_ns);
}

/* The votes of now may grant until then, by lived_ns(). */
static int64_t round_until_ns(const struct world *w, const struct proof_client *c)
{
	const struct rl_lock *l = c->core;
	uint64_t drift_ns = rl_validity_drift(l->round.ttl_ns, l->rules->drift_ppm, l->rules->drift_base_ns);
	uint64_t end_ns = rl_time_sub(l->round.t0_ns + l->round.ttl_ns, drift_ns + l->round.leapt_ns);
	return lived_ns(w, c->actor) + (int64_t)(end_ns - c->now_ns);
}

static bool is_of(const struct proof_members *p, unsigned r, const struct actor *a, unsigned k, bool extends,
                  uint32_t seq)
{
	return p->t.is_Round[r] && p->t.of[r] == k && p->rounds[r].actor == a->index &&
	       p->rounds[r].life == a->life && p->rounds[r].extends == extends && p->rounds[r].seq == seq;
}

/* The round of the client under this configuration: the one that is open, or else what came before it. */
static unsigned round_of(struct world *w, unsigned m, const struct proof_client *c, unsigned k, bool extends,
                         unsigned step)
{
	struct proof_members *p = &w->members[m];
	const struct rl_lock *l = c->core;
	bool current = (l->round.operation == REDLOCK_OP_EXTEND) == extends;
	for (unsigned r = 0; r < p->t.most_Round; r++)
		if (p->t.under[r] == (int64_t)step && !p->t.lapsed[r] && !p->t.counted[r] &&
		    is_of(p, r, c->actor, k, extends, current ? l->round.seq : p->rounds[r].seq))
			return r;
	unsigned r = add_round(w, m, k, step);
	p->rounds[r].actor = c->actor->index;
	p->rounds[r].life = c->actor->life;
	p->rounds[r].seq = current ? l->round.seq : 0;
	p->rounds[r].extends = extends;
	p->rounds[r].until_ns = current ? round_until_ns(w, c) : INT64_MIN;
	if (!current)
		TELL(w, m, members_lapse(&p->t, r), "lapse", "r%u of k%u, which came late", r, k);
	return r;
}

/* Rounds of the client that are over by its clock, or were followed by another attempt. */
static void lapse(struct world *w, unsigned m, const struct proof_client *c, unsigned k)
{
	struct proof_members *p = &w->members[m];
	const struct rl_lock *l = c->core;
	int64_t now_ns = lived_ns(w, c->actor);
	for (unsigned r = 0; r < p->t.most_Round; r++) {
		bool ours = p->t.is_Round[r] && p->t.of[r] == k && p->rounds[r].actor == c->actor->index &&
		            p->rounds[r].life == c->actor->life && !p->t.lapsed[r];
		bool current = (l->round.operation == REDLOCK_OP_EXTEND) == p->rounds[r].extends;
		bool followed = ours && !p->t.counted[r] && current && p->rounds[r].seq != l->round.seq;
		if (ours && (followed || p->rounds[r].until_ns <= now_ns))
			TELL(w, m, members_lapse(&p->t, r), "lapse", "r%u of k%u", r, k);
	}
}

static bool holds(const struct members *t, unsigned k)
{
	for (unsigned r = 0; r < t->most_Round; r++)
		if (t->is_Round[r] && t->of[r] == k && t->counted[r] && !t->lapsed[r] && !t->over[k])
			return true;
	return false;
}

static void look_at(struct world *w, unsigned m, const struct proof_client *c, bool relied[CLAIMS])
{
	struct proof_members *p = &w->members[m];
	unsigned k = find(p, c->token);
	if (k == 0 || (p->t.over[k] && !c->holds))
		k = add(w, m, c->token);
	relied[k] = true;
	lapse(w, m, c, k);
	if (!c->holds || p->refused || holds(&p->t, k))
		return;
	refuse(&p->t, "the core relies on what has lapsed, is over, or was not granted");
	TELL(w, m, false, "holds", "k%u", k);
}

void members_look(struct world *w, const struct proof_clients *clients)
{
	for (unsigned m = 0; w->members != NULL && m < w->plan.resources; m++) {
		struct members *t = &w->members[m].t;
		bool relied[CLAIMS] = {false};
		for (unsigned i = 0; i < clients->count && !w->members[m].refused; i++)
			if (clients->of[i].relies && is_ours(clients->of[i].core) &&
			    handle_wants(clients->of[i].handle, m))
				look_at(w, m, &clients->of[i], relied);
		for (unsigned k = 1; k < t->most_Claim && !w->members[m].refused; k++)
			if (t->is_Claim[k] && !t->over[k] && !relied[k])
				TELL(w, m, members_give_back(t, k), "give_back", "k%u", k);
	}
}

static unsigned quorum(struct world *w, unsigned m, uint32_t nodes, unsigned step)
{
	struct proof_members *p = &w->members[m];
	struct members *t = &p->t;
	for (unsigned q = 0; q < t->most_Quorum; q++)
		if (p->quorums[q] == nodes && t->config[q] == (int64_t)step)
			return q;
	unsigned q = proof_room(w, "members", &p->refused, t->is_Quorum, QUORUMS, &t->most_Quorum);
	p->quorums[q] = nodes;
	t->config[q] = step;
	proof_quorum_tell(p->quorums, q, t->in, t->common);
	TELL(w, m, members_quorums_meet(t), "quorums_meet", "%x of step %u", nodes, step);
	return q;
}

/* The votes are those of a round: of the one that has all of them, or else of the configuration of now. */
static void count(struct world *w, unsigned m, const struct proof_client *c, unsigned k, uint32_t nodes,
                  const struct proof_before *before)
{
	struct proof_members *p = &w->members[m];
	const char *id = c->actor->client->nodes.set->config;
	bool extends = before->operation == REDLOCK_OP_EXTEND;
	bool same = c->core->round.seq == before->seq || c->core->round.operation == before->operation;
	uint32_t seq = same ? c->core->round.seq : before->seq;
	int found = NONE;
	for (unsigned r = 0; r < p->t.most_Round; r++) {
		bool has_all = is_of(p, r, c->actor, k, extends, seq);
		for (unsigned n = 0; n < w->plan.nodes; n++)
			has_all &= (nodes >> n & 1) == 0 || p->t.yes[n][r];
		found = has_all ? (int)r : found;
	}
	unsigned r = found != NONE ? (unsigned)found : add_round(w, m, k, change_step(id, strlen(id)));
	unsigned q = quorum(w, m, nodes, (unsigned)p->t.under[r]);
	TELL(w, m, members_count(&p->t, r, q), "count", "r%u of k%u by %x", r, k, nodes);
}

void members_step(struct world *w, const struct rl_lock *l, const struct proof_before *before,
                  const struct rl_event *e, const struct rl_effects *fx)
{
	struct proof_client c;
	if (w->members == NULL || !is_ours(l) || !(proof_grants(l, before) || proof_confirms(before, fx)) ||
	    !proof_holder(w, l, &c) || c.actor->stopped)
		return;
	for (unsigned m = 0; m < w->plan.resources; m++) {
		unsigned k = handle_wants(c.handle, m) ? find(&w->members[m], c.token) : 0;
		if (k != 0 && !w->members[m].refused)
			count(w, m, &c, k, proof_voters(w, l, before, e), before);
	}
}

/* ---- nodes ---- */

/* A node, and what it has under a name after a command. */
struct site {
	struct world *w;
	struct proof_members *p;
	struct members *t;
	unsigned name, node;
	const struct call *call;
	bool agrees;           /* the answer to it is yes */
	const struct key *key; /* NULL: none */
};

/* The step of the configuration that the request quotes; 0: it quotes none. */
static unsigned step_asked(const struct asked *asked)
{
	struct bytes pass = asked->op != NULL ? asked->parts[RL_WORD_PASS] : (struct bytes){"", 0};
	const char *colon = pass.size > 0 ? memchr(pass.at, ':', pass.size) : NULL;
	return colon != NULL ? change_step(colon + 1, pass.size - (size_t)(colon + 1 - pass.at)) : 0;
}

/* An answer is a number, or begins with one, as an array or as a text. */
static bool is_yes(struct bytes answer)
{
	const char *at = answer.at;
	bool list = answer.size > 0 && (*at == '*' || *at == '$');
	if (list)
		at = memchr(at, '\n', answer.size);
	if (at == NULL || at + 2 > answer.at + answer.size)
		return false;
	at += list;
	return *answer.at == '+' || strtol(at + (*at == ':'), NULL, 10) > 0;
}

/* The request asks for one of these with the claim's token, and was given it. */
enum ask { NOTHING, TO_CLAIM, TO_EXTEND };

static enum ask asked_for(const struct site *s, struct bytes token)
{
	const struct asked *asked = &s->call->asked;
	unsigned op = asked->op != NULL ? asked_operation(asked) : RL_OP_NONE;
	if (op == RL_OP_NONE || !s->agrees || !bytes_equal(asked->parts[RL_WORD_TOKEN], token))
		return NOTHING;
	if (op == RL_OP_EXTEND || op == RL_OP_EXTEND_ALL)
		return TO_EXTEND;
	return rl_ops[op].claims || op == RL_OP_ENTER || op == RL_OP_ENTER_ALL ? TO_CLAIM : NOTHING;
}

/* The client that sent the request, if its handle with the token is there still. */
static bool sender(const struct site *s, struct bytes token, struct proof_client *ret)
{
	unsigned at = 0;
	uint64_t owner = s->call->session->owner;
	while (proof_next_client(s->w, &at, ret))
		if (ret->actor->index == owner >> 32 && ret->actor->life == (uint32_t)owner && is_ours(ret->core) &&
		    handle_wants(ret->handle, s->name) && bytes_equal(ret->token, token))
			return true;
	return false;
}

static void vote(const struct site *s, unsigned k, enum ask ask)
{
	struct bytes token = proof_value_of(s->key);
	struct proof_client c;
	unsigned step = ask != NOTHING ? step_asked(&s->call->asked) : 0;
	bool known = step != 0 && sender(s, token, &c) && !s->t->over[k];
	unsigned r = known ? round_of(s->w, s->name, &c, k, ask == TO_EXTEND, step)
	                   : add_round(s->w, s->name, k, step != 0 ? step : (unsigned)s->t->at[s->node]);
	TELL(s->w, s->name, members_claim_arrives(s->t, s->node, r), "claim_arrives", "n%u r%u of k%u, step %u",
	     s->node, r, k, step);
}

static void look_at_key(const struct site *s)
{
	unsigned was = s->t->owner[s->node];
	struct bytes value = s->key != NULL ? proof_value_of(s->key) : (struct bytes){"", 0};
	bool same = s->key != NULL && was != 0 && proof_value_is(&s->p->tokens[was], value);
	enum ask ask = s->key != NULL ? asked_for(s, value) : NOTHING;
	unsigned is = s->key != NULL ? find(s->p, value) : 0;
	bool comes = s->key != NULL && (!same || (ask != NOTHING && is != was));
	if (was != 0 && (!same || comes))
		TELL(s->w, s->name, members_key_goes(s->t, s->node), "key_goes", "n%u k%u", s->node, was);
	if (s->key != NULL && is == 0)
		is = stranger(s->w, s->name, value);
	if (comes || ask != NOTHING)
		vote(s, is, ask);
}

static void forget(const struct site *s)
{
	if (!s->p->forgot[s->node] && s->p->starts[s->node] == s->w->nodes[s->node].starts)
		return;
	TELL(s->w, s->name, members_forget(s->t, s->node), "forget", "n%u", s->node);
	s->p->forgot[s->node] = false;
	s->p->starts[s->node] = s->w->nodes[s->node].starts;
}

static struct site site_of(struct world *w, unsigned m, unsigned node, const struct call *call)
{
	char buffer[SIM_MAX_KEY];
	const struct node *n = &w->nodes[node];
	struct site s = {w, &w->members[m], &w->members[m].t, m, node, call, false, NULL};
	s.key =
	    keyspace_find(&n->redis.keys, w->plan.database, resource_key(&w->plan, m, buffer), node_now_ms(w, n));
	return s;
}

/* The configuration of the node's record. */
static unsigned step_of(const struct world *w, unsigned node)
{
	struct bytes id;
	const struct key *record =
	    keyspace_find(&w->nodes[node].redis.keys, w->plan.database, text_bytes("redlock:set"), 0);
	return record != NULL && hash_get(record, text_bytes("config"), &id) ? change_step(id.at, id.size) : 0;
}

void members_command(struct world *w, uint32_t node, const struct call *call, struct bytes answer)
{
	bool admits = w->members != NULL && node_admits(w, &w->nodes[node]);
	for (unsigned m = 0; w->members != NULL && m < w->plan.resources; m++) {
		struct site s = site_of(w, m, node, call);
		s.agrees = is_yes(answer);
		if (s.p->refused || !admits)
			continue; /* nobody votes there, and what the node owes is remembered */
		if (call->asked.op == &rl_ops[RL_OP_ADMIT] &&
		    (s.p->forgot[node] || s.p->starts[node] != w->nodes[node].starts || !s.t->in_set[node])) {
			forget(&s);
			TELL(w, m, members_admit(s.t, node, step_of(w, node)), "admit", "n%u in step %u", node,
			     step_of(w, node));
		}
		look_at_key(&s);
	}
}

void members_forgets(struct world *w, uint32_t node)
{
	for (unsigned m = 0; w->members != NULL && m < w->plan.resources; m++)
		w->members[m].forgot[node] = true;
}

/* ---- the change ---- */

static void takes(const struct site *s)
{
	forget(s);
	if (s->t->newest != s->t->settled)
		TELL(s->w, s->name, members_takes(s->t, s->node), "takes", "n%u", s->node);
	else
		TELL(s->w, s->name, members_admit(s->t, s->node, s->t->newest), "admit", "n%u in the newest step",
		     s->node);
}

static void next(const struct site *s)
{
	TELL(s->w, s->name, members_next_change(s->t), "next_change", "to step %u", s->w->change.newest);
	for (unsigned i = 0; i < s->w->plan.nodes; i++)
		s->t->member[i][s->t->newest] = (change_newest(s->w) >> i & 1) != 0;
}

void members_changed(struct world *w, uint32_t node, enum proof_change what)
{
	for (unsigned m = 0; w->members != NULL && m < w->plan.resources; m++) {
		struct site s = site_of(w, m, node, NULL);
		if (s.p->refused)
			continue;
		if (what == PROOF_TAKES)
			takes(&s);
		else if (what == PROOF_REFUSES_FORMER)
			TELL(w, m, members_refuses_preceding(s.t, node), "refuses_preceding", "n%u", node);
		else if (what == PROOF_REMOVED)
			TELL(w, m, members_is_removed(s.t, node), "is_removed", "n%u", node);
		else if (what == PROOF_NEXT)
			next(&s);
		else
			TELL(w, m, members_finish(s.t), "finish", "step %u", w->change.newest);
	}
}
