/* SPDX-License-Identifier: MIT */
/* The actions of clients: what a step of the core has decided. */
#include <assert.h>

#include "client.h"
#include "core/kinds.h"
#include "core/queue.h"
#include "core/round.h"
#include "proof_inside.h"

/* A handle whose core has taken a step. */
struct stage {
	struct world *w;
	struct proof_handle *h;
	struct proof_name *name;
	struct lock *t;
	const struct rl_lock *l;
	const struct proof_before *before;
	const struct rl_event *e;
	const struct rl_effects *fx;
};

#define DO(s, action, ...)                                                                                   \
	proof_did((s)->w, (s)->h->resource, lock_##action((s)->t, __VA_ARGS__), #action, "k%u", (s)->h->claim)

static const redlock_lock *handle_of_core(const struct rl_lock *core)
{
	return (const redlock_lock *)(const void *)((const char *)core - offsetof(redlock_lock, core));
}

/* ---- handles ---- */

static bool is_plain(const struct rl_lock *l)
{
	const struct rl_policy *kind = l->rules->policy;
	return kind == &rl_kinds[RL_KIND_EXCLUSIVE] || kind == &rl_kinds[RL_KIND_OWN_VALUE] ||
	       kind == &rl_kinds[RL_KIND_NUMBER];
}

static unsigned resource_of(const struct world *w, const struct rl_lock *l)
{
	char buffer[SIM_MAX_KEY];
	struct rl_slice name = rl_handle_name(handle_of_core(l));
	for (unsigned r = 0; r < w->plan.resources; r++)
		if (bytes_equal(resource_key(&w->plan, r, buffer), (struct bytes){name.bytes, name.size}))
			return r;
	return PROOF_NONE;
}

static struct proof_handle *find(struct proof *p, const struct rl_lock *core)
{
	for (unsigned i = 0; i < PROOF_HANDLES; i++)
		if (p->handles[i].core == core)
			return &p->handles[i];
	return NULL;
}

/* Forgets handles that were freed, also by the end of their process. */
static void purge(struct world *w)
{
	for (unsigned i = 0; i < PROOF_HANDLES; i++) {
		struct proof_handle *h = &w->proof->handles[i];
		const struct actor *a = &w->actors[h->actor];
		bool there = false;
		for (unsigned k = 0; h->core != NULL && k < SIM_MAX_HANDLES; k++)
			there |= a->alive && a->life == h->life && a->handles[k].lock == handle_of_core(h->core);
		if (!there)
			h->core = NULL;
	}
}

/* NULL: the theorem says nothing of this kind. */
static struct proof_handle *handle_for(struct world *w, const struct rl_lock *l)
{
	struct proof_handle *h = find(w->proof, l);
	unsigned resource = h != NULL || !is_plain(l) ? PROOF_NONE : resource_of(w, l);
	if (h != NULL || resource == PROOF_NONE || w->current == NULL)
		return h;
	purge(w);
	h = find(w->proof, NULL);
	assert(h != NULL);
	*h = (struct proof_handle){.core = l,
	                           .actor = w->current->index,
	                           .life = w->current->life,
	                           .resource = resource,
	                           .claim = PROOF_NONE};
	for (unsigned r = 0; w->proof->ppm == 0 && r < w->plan.resources; r++)
		w->proof->names[r].lock.step = (int64_t)l->rules->drift_base_ns * UNIT;
	w->proof->ppm = l->rules->drift_ppm;
	return h;
}

/* Whatever address it has: those that were freed before it are forgotten now, or addresses would decide. */
void plain_new(struct world *w, const struct rl_lock *l)
{
	if (w->proof == NULL)
		return;
	purge(w);
	struct proof_handle *h = find(w->proof, l);
	if (h != NULL)
		h->core = NULL;
}

/* ---- claims ---- */

static bool has_claim(const struct stage *s)
{
	return s->h->claim != PROOF_NONE && !s->t->over[s->h->claim];
}

static void give_back(const struct stage *s)
{
	s->h->begins = false;
	if (has_claim(s))
		DO(s, give_back, s->h->claim);
}

/* Claims of processes and handles that are gone, with a value that is used again. */
static void give_back_others(const struct stage *s, unsigned value)
{
	struct proof *p = s->w->proof;
	for (unsigned k = 0; k < s->t->most_Claim; k++) {
		if (!s->t->is_Claim[k] || s->t->token[k] != value || !s->t->begun[k] || s->t->over[k])
			continue;
		bool current = s->name->claims[k].stranger;
		for (unsigned i = 0; i < PROOF_HANDLES; i++)
			current |= p->handles[i].core != NULL && p->handles[i].claim == k &&
			           p->handles[i].resource == s->h->resource &&
			           p->handles[i].life == s->w->actors[p->handles[i].actor].life;
		if (!current)
			proof_did(s->w, s->h->resource, lock_give_back(s->t, k), "give_back", "k%u, whose handle is gone",
			          k);
	}
}

static unsigned new_claim(struct stage *s, uint64_t ttl_ns)
{
	struct rl_slice token = rl_handle_token(handle_of_core(s->l));
	bool known = proof_value(s->name, (struct bytes){token.bytes, token.size}, false) != 0;
	unsigned v = proof_value(s->name, (struct bytes){token.bytes, token.size}, true);
	for (unsigned i = 0; i < SIM_MAX_NODES; i++) /* an own value may have been used before */
		s->t->out[i][v] |= !known && !s->l->rules->policy->signs;
	s->h->claim = proof_claim(s->w, s->h->resource, &s->w->actors[s->h->actor], v, ttl_ns);
	s->h->begins = false;
	return v;
}

static void offer(const struct stage *s, uint64_t number)
{
	unsigned e = proof_offer(s->w, s->h->resource, s->h->claim, number);
	proof_did(s->w, s->h->resource, lock_offer(s->t, e), "offer", "k%u, number %llu", s->h->claim,
	          (unsigned long long)number);
}

/* The token is known now. */
static void begin_new(struct stage *s)
{
	uint64_t offered_ns = s->h->offered_ns;
	unsigned v = new_claim(s, s->l->round.ttl_ns);
	give_back_others(s, v);
	proof_did(s->w, s->h->resource, lock_begin_attempt(s->t, s->h->claim), "begin_attempt", "k%u v%u",
	          s->h->claim, v);
	s->h->offered_ns = 0;
	if (offered_ns != 0)
		offer(s, offered_ns);
}

void plain_settle(struct world *w)
{
	for (unsigned i = 0; w->proof != NULL && i < PROOF_HANDLES; i++) {
		struct proof_handle *h = &w->proof->handles[i];
		if (h->core == NULL || !h->begins)
			continue;
		struct proof_name *name = &w->proof->names[h->resource];
		struct stage s = {.w = w, .h = h, .name = name, .t = &name->lock, .l = h->core};
		if (name->refused)
			h->begins = false;
		else
			begin_new(&s);
	}
}

/* ---- what a step has done ---- */

/* The votes on which a decision rests. */
static unsigned voters(const struct stage *s)
{
	return proof_quorum(s->w, s->h->resource, proof_voters(s->w, s->l, s->before, s->e));
}

/* A point of the client's time, by the clock of the theorem: a leap of the wall clock moves it. */
static real in_theorem(const struct stage *s, uint64_t at_ns)
{
	return s->t->clock[s->h->claim] + (int64_t)(at_ns - actor_now(s->w, &s->w->actors[s->h->actor])) * UNIT;
}

/* The time that a client counts on is read from its deadline, and the axiom is asked of it. */
static void observe(const struct stage *s, unsigned ttl, real from)
{
	s->t->counts[ttl] = in_theorem(s, s->l->valid_until_ns) - from;
	proof_did(s->w, s->h->resource, lock_drift_is_subtracted(s->t), "a deadline", "k%u until %.6f ms",
	          s->h->claim, (double)s->l->valid_until_ns / (double)SIM_MS);
}

static void take(const struct stage *s)
{
	const struct world *w = s->w;
	unsigned node = w->actors[s->h->actor].order[s->e->node];
	for (unsigned e = 0; e < s->t->most_Enter; e++)
		if (s->t->is_Enter[e] && s->t->of[e] == s->h->claim &&
		    s->name->numbers[e] == s->e->message.offered_ns) {
			proof_did(s->w, s->h->resource, lock_take(s->t, node, e), "take", "n%u k%u", node, s->h->claim);
			return;
		}
	if (has_claim(s)) {
		refuse(s->t, "take: the number was never sent");
		proof_did(s->w, s->h->resource, false, "take", "n%u k%u", node, s->h->claim);
	}
}

static void begun(struct stage *s)
{
	bool fresh = s->fx->send.sign || !has_claim(s);
	if (fresh) {
		give_back(s);
		s->h->begins = true;
	} else {
		DO(s, begin_attempt, s->h->claim);
	}
}

static void extend_begun(struct stage *s)
{
	if (s->l->phase != RL_HELD && (!has_claim(s) || !s->t->attached[s->h->claim])) {
		(void)new_claim(s, s->l->round.ttl_ns);
		DO(s, attach, s->h->claim);
	}
	unsigned ttl = proof_ttl(s->w->proof, s->name, s->l->round.ttl_ns);
	if (has_claim(s))
		DO(s, begin_extend, s->h->claim, ttl);
}

static void granted(const struct stage *s)
{
	unsigned k = s->h->claim;
	if (!has_claim(s)) {
		refuse(s->t, "grant: nothing was claimed");
		proof_did(s->w, s->h->resource, false, "grant", "-");
		return;
	}
	unsigned q = voters(s);
	observe(s, s->t->ttl[k], s->t->t0[k]);
	DO(s, grant, k, q);
}

static void confirmed(const struct stage *s)
{
	unsigned k = s->h->claim;
	if (!has_claim(s))
		return;
	unsigned q = voters(s);
	if (in_theorem(s, s->l->valid_until_ns) > s->t->deadline[k] || !s->t->held[k])
		observe(s, s->t->xttl[k], s->t->x0[k]);
	DO(s, confirm_extend, k, q);
}

/* The process relies on no more than the theorem has granted. */
static void compare(const struct stage *s)
{
	const struct actor *a = &s->w->actors[s->h->actor];
	if (!has_claim(s) || s->name->refused || s->e->now_ns != actor_now(s->w, a) || a->stopped)
		return; /* a client that is closed does not look at its clocks */
	real until = in_theorem(s, s->l->valid_until_ns);
	if (until <= s->t->deadline[s->h->claim])
		return;
	refuse(s->t, "the core relies on a later deadline than was granted");
	tell_Real(s->t, "valid_until", until);
	tell_Real(s->t, "(deadline k)", s->t->deadline[s->h->claim]);
	proof_did(s->w, s->h->resource, false, "holds", "k%u", s->h->claim);
}

static void exchange(struct proof *p, struct stage *s)
{
	struct proof_handle *other = find(p, p->passes);
	unsigned claim = s->h->claim;
	if (other == NULL)
		return;
	s->h->claim = other->claim;
	other->claim = claim;
	other->begins = false;
	p->passes = NULL;
	struct stage gives = *s;
	gives.h = other;
	give_back(&gives);
	compare(s);
}

static void extends(struct stage *s)
{
	bool opened = s->l->round.seq != s->before->seq && s->l->round.operation == REDLOCK_OP_EXTEND;
	if (proof_confirms(s->before, s->fx))
		confirmed(s);
	if (opened)
		extend_begun(s);
}

static void acquires(struct stage *s)
{
	const struct rl_lock *l = s->l;
	unsigned send = s->fx->send.operation;
	bool gives = send == RL_OP_RELEASE || send == RL_OP_LEAVE || send == RL_OP_HAND;
	bool held = s->before->phase == RL_HELD || s->before->phase == RL_KEPT;
	bool ended = rl_state_acquires(l) == false && !held && s->before->phase != RL_LOST &&
	             s->before->phase != RL_IDLE && l->phase == RL_IDLE;
	bool grants = !held && l->phase == RL_HELD && s->e->kind != RL_EV_EXTEND &&
	              l->round.operation == REDLOCK_OP_ACQUIRE;
	bool opened = l->round.seq != s->before->seq && l->round.operation == REDLOCK_OP_ACQUIRE;
	bool taken = s->e->kind == RL_EV_HAND && (l->queue.handed || grants) && !s->fx->declines;
	if ((s->before->claims && !l->claim.open && l->phase != RL_HELD && gives && !opened) ||
	    (ended && s->before->phase != RL_RELEASING))
		give_back(s);
	if (opened && (l->claim.open || grants || taken))
		begun(s);
	if (s->fx->send.enter != 0 && s->fx->queue.offered_ns != 0 && s->fx->queue.offered_ns != RL_QUEUE_POLLS) {
		if (s->h->begins)
			s->h->offered_ns = s->fx->queue.offered_ns;
		else if (has_claim(s))
			offer(s, s->fx->queue.offered_ns);
	}
	if (taken)
		take(s);
	if (grants)
		granted(s);
}

void plain_ready(struct world *w, const struct rl_lock *l, const struct rl_event *e)
{
	if (w->proof == NULL)
		return;
	struct proof_handle *h = find(w->proof, l);
	if (h != NULL && e->kind == RL_EV_CANCEL && e->now_ns == 0) /* no random bytes: nothing was sent */
		h->begins = false;
	plain_tick(w, true);
	plain_settle(w);
}

void plain_step(struct world *w, const struct rl_lock *l, const struct proof_before *before,
                const struct rl_event *e, const struct rl_effects *fx)
{
	struct proof *p = w->proof;
	struct proof_handle *h = NULL;
	if (p != NULL) /* one that is cancelled has begun before, or is freed unused with others that are freed */
		h = e->kind == RL_EV_CANCEL ? find(p, l) : handle_for(w, l);
	if (h == NULL || p->names[h->resource].refused)
		return;
	struct proof_name *name = &p->names[h->resource];
	struct stage s = {w, h, name, &name->lock, l, before, e, fx};
	if (e->kind == RL_EV_PASS && p->passes == NULL) {
		p->passes = l;
		return;
	}
	if (e->kind == RL_EV_PASS) {
		exchange(p, &s);
		return;
	}
	if ((before->phase == RL_HELD || before->phase == RL_KEPT) && !rl_state_holds(l))
		give_back(&s); /* for the theorem, what is kept is held */
	if (e->kind == RL_EV_RELEASE && l->phase == RL_RELEASING) {
		if (!has_claim(&s) && before->phase == RL_IDLE) {
			(void)new_claim(&s, l->rules->ttl_ns);
			DO(&s, attach, h->claim);
		}
		give_back(&s);
	}
	acquires(&s);
	extends(&s);
	if (l->phase == RL_HELD && e->kind != RL_EV_CANCEL) /* one that is freed need not know of a leap */
		compare(&s);
}
