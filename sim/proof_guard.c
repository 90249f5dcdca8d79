/* SPDX-License-Identifier: MIT */
/*
 * Plain, fenced and several-name locks in guarded seeds as guard.thm has them: what each client relies on by
 * its own clock, the keys of each node, its record, its quarantine and who ends that. Locks of other kinds,
 * callers' own values and other programs are claims that are over (strangers), whose keys last for no time.
 */
#include <stdlib.h>

#include "client.h"
#include "core/kinds.h"
#include "core/queue.h"
#include "proof_guard.h"

const char *const guard_names[] = {GUARD_NAMES, NULL};

void guard_begin(struct world *w)
{
	if (!w->plan.guard || w->plan.changes)
		return;
	w->guard = buffer_realloc(NULL, SIM_MAX_RESOURCES * sizeof *w->guard);
	memset(w->guard, 0, SIM_MAX_RESOURCES * sizeof *w->guard);
	/* A quarantine may begin before a lock is wanted that tells the allowance. */
	struct redlock_options options;
	redlock_options_init(&options);
	for (unsigned m = 0; m < w->plan.resources; m++) {
		struct guard *t = &w->guard[m].t;
		w->guard[m].ppm = options.drift_ppm;
		t->step = (int64_t)(options.drift_ms * SIM_MS) * UNIT;
		proof_clocks_look(w, &w->guard[m].clocks);
		t->most_Node = w->plan.nodes;
		t->longest = INT64_MAX / 4; /* until a quarantine is seen */
		for (unsigned i = 0; i < w->plan.nodes; i++) {
			t->is_Node[i] = true;
			t->admitted[i] = node_admits(w, &w->nodes[i]);
			w->guard[m].starts[i] = w->nodes[i].starts;
		}
	}
}

void guard_end(struct world *w)
{
	for (unsigned m = 0; w->guard != NULL && m < w->plan.resources; m++)
		for (unsigned i = 0; i < GUARD_ACTIONS; i++)
			w->cover->proof[PROOF_GUARD][i] += w->guard[m].t.times[i];
	free(w->guard);
	w->guard = NULL;
}

/* ---- claims and rounds ---- */

static bool is_ours(const struct rl_lock *l)
{
	const struct rl_policy *kind = l->rules->policy;
	return kind->signs && !kind->shares && !kind->slots && kind != &rl_kinds[RL_KIND_SETNX];
}

static bool is_needed(const struct guard *t, unsigned k)
{
	bool needed = !t->over[k];
	for (unsigned n = 0; n < t->most_Node; n++)
		needed |= t->owner[n] == t->token[k];
	return needed;
}

static void tidy(struct guard *t)
{
	for (unsigned k = 0; k < t->most_Claim; k++)
		t->is_Claim[k] = t->is_Claim[k] && is_needed(t, k);
	for (unsigned r = 0; r < t->most_Round; r++)
		t->is_Round[r] = t->is_Round[r] && t->is_Claim[t->of[r]];
	t->most_Claim = theorem_last(t->is_Claim, t->most_Claim);
	t->most_Round = theorem_last(t->is_Round, t->most_Round);
}

static unsigned send(struct world *w, unsigned m, unsigned k, enum ask what, uint64_t ttl_ns)
{
	struct proof_guard *p = &w->guard[m];
	struct guard *t = &p->t;
	for (unsigned r = 0; what != OFFER && r < t->most_Round; r++)
		if (t->is_Round[r] && t->of[r] == k && p->rounds[r].ask == what)
			t->is_Round[r] = false; /* votes for an earlier one count no more */
	unsigned r = proof_room(w, "guard", &p->refused, t->is_Round, ROUNDS, &t->most_Round);
	t->of[r] = k;
	t->sent[r] = false;
	t->keeps[r] = (int64_t)ttl_ns * (UNIT - p->ppm);
	t->counts[r] = INT64_MIN / 4; /* until a deadline tells */
	p->rounds[r].ask = what;
	p->rounds[r].number = 0;
	for (unsigned n = 0; n < SIM_MAX_NODES; n++)
		t->yes[n][r] = false;
	TELL(w, m, guard_send(t, r), "send", "r%u of k%u", r, k);
	return r;
}

int guard_find(const struct proof_guard *p, struct bytes value, const struct actor *a)
{
	int found = NONE;
	for (unsigned k = 0; k < p->t.most_Claim; k++)
		if (p->t.is_Claim[k] && proof_value_is(&p->claims[k].token, value) &&
		    (a == NULL || (p->claims[k].actor == a->index && p->claims[k].life == a->life)) &&
		    (found == NONE || !p->t.over[k]))
			found = (int)k;
	return found;
}

/* NULL: a stranger's. */
static unsigned add(struct world *w, unsigned m, struct bytes value, const struct actor *a)
{
	struct proof_guard *p = &w->guard[m];
	struct guard *t = &p->t;
	int other = a != NULL ? guard_find(p, value, NULL) : NONE;
	tidy(t);
	unsigned k = proof_room(w, "guard", &p->refused, t->is_Claim, CLAIMS, &t->most_Claim);
	bool copied = other != NONE && p->claims[other].actor != a->index && !p->claims[other].stranger;
	t->token[k] = copied ? t->token[other] : k + 1;
	t->over[k] = t->held[k] = false;
	t->clock[k] = t->deadline[k] = 0;
	for (unsigned n = 0; n < SIM_MAX_NODES; n++)
		t->until[n][k] = t->gain[n][k] = 0;
	proof_value_keep(&p->claims[k].token, value);
	p->claims[k].stranger = a == NULL;
	p->claims[k].actor = a != NULL ? a->index : 0;
	p->claims[k].life = a != NULL ? a->life : 0;
	p->claims[k].seq[0] = p->claims[k].seq[1] = 0;
	TELL(w, m, !copied || guard_tokens_are_fresh(t), "a claim", "k%u", k);
	return k;
}

unsigned guard_stranger(struct world *w, unsigned m, struct bytes value)
{
	int found = guard_find(&w->guard[m], value, NULL);
	if (found != NONE)
		return (unsigned)found;
	unsigned k = add(w, m, value, NULL);
	(void)send(w, m, k, CLAIM, 0);
	TELL(w, m, guard_give_back(&w->guard[m].t, k), "give_back", "k%u, a stranger", k);
	return k;
}

/* ---- clients ---- */

/* A point of the client's time, by the clock of the theorem. */
static real in_theorem(const struct guard *t, const struct proof_client *c, unsigned k, uint64_t at_ns)
{
	return t->clock[k] + (int64_t)(at_ns - c->now_ns) * UNIT;
}

static unsigned quorum(struct world *w, unsigned m, uint32_t nodes)
{
	struct proof_guard *p = &w->guard[m];
	unsigned before = p->quorums.count, q = proof_quorum_of(&p->quorums, nodes);
	if (q < before)
		return q;
	p->t.is_Quorum[q] = true;
	p->t.most_Quorum = p->quorums.count = q + 1;
	proof_quorum_tell(p->quorums.nodes, q, p->t.in, p->t.common);
	TELL(w, m, guard_quorums_meet(&p->t), "quorums_meet", "%x", nodes);
	return q;
}

/* The round that the core counts from: the offer with that number, or else what was asked last. */
static int counted(const struct proof_guard *p, unsigned k, bool extends, uint64_t t0_ns)
{
	int found = NONE;
	for (unsigned r = 0; r < p->t.most_Round; r++) {
		if (!p->t.is_Round[r] || p->t.of[r] != k)
			continue;
		if (p->rounds[r].ask == OFFER && !extends && p->rounds[r].number == t0_ns)
			return (int)r;
		if (p->rounds[r].ask == (extends ? EXTEND : CLAIM))
			found = (int)r;
	}
	return found;
}

static void count(struct world *w, unsigned m, const struct proof_client *c, unsigned k, uint32_t nodes,
                  const struct proof_before *before)
{
	struct guard *t = &w->guard[m].t;
	unsigned q = quorum(w, m, nodes);
	bool extends = before->operation == REDLOCK_OP_EXTEND;
	real until = in_theorem(t, c, k, c->core->valid_until_ns);
	bool same = c->core->round.seq == before->seq || c->core->round.operation == before->operation;
	uint64_t t0_ns = same ? c->core->round.t0_ns : before->t0_ns;
	int r = counted(&w->guard[m], k, extends, t0_ns);
	if (r == NONE) {
		refuse(t, "count: nothing was sent by then");
		TELL(w, m, false, "count", "k%u", k);
		return;
	}
	if (!extends || until > t->deadline[k])
		t->counts[r] = until - t->time[r];
	TELL(w, m, guard_drift_is_subtracted(t) && guard_count(t, (unsigned)r, q), "count", "r%d of k%u by %x", r,
	     k, nodes);
}

static void offer(struct world *w, unsigned m, const struct rl_lock *l, unsigned k, uint64_t number)
{
	struct proof_guard *p = &w->guard[m];
	int oldest = NONE;
	unsigned count = 0;
	for (unsigned r = 0; r < p->t.most_Round; r++) {
		if (!p->t.is_Round[r] || p->t.of[r] != k || p->rounds[r].ask != OFFER)
			continue;
		if (p->rounds[r].number == number)
			return;
		count++;
		oldest = oldest == NONE || p->rounds[r].number < p->rounds[oldest].number ? (int)r : oldest;
	}
	if (count >= OFFERS)
		p->t.is_Round[oldest] = false;
	p->rounds[send(w, m, k, OFFER, l->rules->ttl_ns)].number = number;
}

static void look_at(struct world *w, unsigned m, const struct proof_client *c, bool relied[CLAIMS])
{
	struct proof_guard *p = &w->guard[m];
	struct guard *t = &p->t;
	const struct rl_lock *l = c->core;
	int found = guard_find(p, c->token, c->actor);
	unsigned k = (unsigned)found;
	for (unsigned i = 0; i < w->plan.resources; i++) {
		w->guard[i].ppm = l->rules->drift_ppm;
		w->guard[i].t.step = (int64_t)l->rules->drift_base_ns * UNIT;
	}
	if (found == NONE || (t->over[found] && !c->holds))
		k = add(w, m, c->token, c->actor);
	relied[k] = true;
	bool extends = l->round.operation == REDLOCK_OP_EXTEND;
	uint32_t *seq = &p->claims[k].seq[extends];
	bool asks = extends ? l->round.open : l->round.operation == REDLOCK_OP_ACQUIRE && l->claim.open;
	if (asks && l->round.seq != *seq && !t->over[k])
		(void)send(w, m, k, extends ? EXTEND : CLAIM, l->round.ttl_ns);
	if (asks)
		*seq = l->round.seq;
	if (l->queue.offered_ns != 0 && l->queue.offered_ns != RL_QUEUE_POLLS && rl_state_acquires(l))
		offer(w, m, l, k, l->queue.offered_ns);
	if (!c->holds || p->refused || (t->held[k] && !t->over[k]))
		return;
	refuse(t, "the core relies on what is over, or was not granted");
	TELL(w, m, false, "holds", "k%u", k);
}

void guard_look(struct world *w, const struct proof_clients *clients)
{
	for (unsigned m = 0; w->guard != NULL && m < w->plan.resources; m++) {
		struct guard *t = &w->guard[m].t;
		bool relied[CLAIMS] = {false};
		for (unsigned i = 0; i < clients->count && !w->guard[m].refused; i++)
			if (clients->of[i].relies && is_ours(clients->of[i].core) &&
			    handle_wants(clients->of[i].handle, m))
				look_at(w, m, &clients->of[i], relied);
		for (unsigned k = 0; k < t->most_Claim && !w->guard[m].refused; k++)
			if (t->is_Claim[k] && !t->over[k] && !relied[k])
				TELL(w, m, guard_give_back(t, k), "give_back", "k%u", k);
	}
}

/* The process relies on no more than the theorem has granted. */
static void compare(struct world *w, unsigned m, const struct proof_client *c, unsigned k)
{
	struct guard *t = &w->guard[m].t;
	real until = in_theorem(t, c, k, c->core->valid_until_ns);
	if (until <= t->deadline[k] || w->guard[m].refused)
		return;
	refuse(t, "the core relies on a later deadline than was granted");
	tell_Real(t, "valid_until", until);
	tell_Real(t, "(deadline k)", t->deadline[k]);
	TELL(w, m, false, "holds", "k%u", k);
}

void guard_step(struct world *w, const struct rl_lock *l, const struct proof_before *before,
                const struct rl_event *e, const struct rl_effects *fx)
{
	struct proof_client c;
	if (w->guard == NULL || !is_ours(l) || !proof_holder(w, l, &c) || c.actor->stopped)
		return;
	bool counts = proof_grants(l, before) || proof_confirms(before, fx);
	for (unsigned m = 0; m < w->plan.resources; m++) {
		int k = handle_wants(c.handle, m) ? guard_find(&w->guard[m], c.token, c.actor) : NONE;
		if (k == NONE || w->guard[m].refused)
			continue;
		if (counts)
			count(w, m, &c, (unsigned)k, proof_voters(w, l, before, e), before);
		if (e->now_ns == c.now_ns)
			compare(w, m, &c, (unsigned)k);
	}
}

/* ---- time ---- */

static void tick(struct world *w, unsigned m)
{
	struct proof_guard *p = &w->guard[m];
	struct proof_advance by;
	real client[CLAIMS] = {0};
	if (!proof_clocks_advance(w, &p->clocks, p->ppm, &by))
		return;
	for (unsigned k = 0; k < p->t.most_Claim; k++)
		client[k] = proof_advance_of(w, &by, p->claims[k].actor, p->claims[k].life, p->claims[k].stranger);
	if (!guard_tick(&p->t, by.node, client))
		TELL(w, m, false, "tick", "of %.6f ms", (double)by.world / (double)UNIT / (double)SIM_MS);
}

void guard_time(struct world *w)
{
	for (unsigned m = 0; w->guard != NULL && m < w->plan.resources; m++)
		if (!w->guard[m].refused)
			tick(w, m);
}
