/* SPDX-License-Identifier: MIT */
#include "proof_clients.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "client.h"
#include "core/policy.h"
#include "core/round.h"
#include "core/time.h"
#include "core/validity.h"
#include "proof.h"
#include "theorem.h"

/* Until when votes of the round may grant the lock. The hooks of the core are not asked. */
static uint64_t round_ends(const struct rl_lock *l)
{
	uint64_t drift_ns = rl_validity_drift(l->round.ttl_ns, l->rules->drift_ppm, l->rules->drift_base_ns);
	return rl_time_sub(l->round.t0_ns + l->round.ttl_ns, drift_ns + l->round.leapt_ns);
}

/* A machine that is stopped lives through that time, and will know so before it relies on anything. */
static uint64_t lived_ns(const struct world *w, const struct actor *a, const struct handle *h)
{
	uint64_t ends_ns = a->clock.base_world_ns, left_ns = ends_ns > w->now_ns ? ends_ns - w->now_ns : 0;
	return actor_now(w, a) + (left_ns < h->untold_ns ? h->untold_ns - left_ns : 0);
}

bool proof_next_client(const struct world *w, unsigned *at, struct proof_client *ret)
{
	for (; *at < w->plan.actors * SIM_MAX_HANDLES; ++*at) {
		const struct actor *a = &w->actors[*at / SIM_MAX_HANDLES];
		const struct handle *h = &a->handles[*at % SIM_MAX_HANDLES];
		if (!a->alive || h->lock == NULL)
			continue;
		const struct rl_lock *l = &h->lock->core;
		struct rl_slice token = rl_handle_token(h->lock);
		uint64_t now_ns = lived_ns(w, a, h);
		*ret = (struct proof_client){a, h, l, {token.bytes, token.size}, now_ns, false, false};
		ret->holds =
		    rl_state_holds(l) && now_ns < l->valid_until_ns; /* what is kept is held, for the nodes */
		ret->relies = ret->holds || (l->claim.open && now_ns < round_ends(l)) ||
		              (rl_state_acquires(l) && l->queue.offered_ns != 0);
		++*at;
		return true;
	}
	return false;
}

void proof_clients(const struct world *w, struct proof_clients *ret)
{
	unsigned at = 0;
	ret->count = 0;
	while (proof_next_client(w, &at, &ret->of[ret->count]))
		ret->count++;
}

bool proof_holder(const struct world *w, const struct rl_lock *core, struct proof_client *ret)
{
	unsigned at = 0;
	while (proof_next_client(w, &at, ret))
		if (ret->core == core)
			return ret->holds;
	return false;
}

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

void proof_told(struct world *w, const struct rl_lock *core, const struct rl_event *e)
{
	bool tells = e->kind == RL_EV_LEAP || e->kind == RL_EV_ACQUIRE;
	for (unsigned i = 0; tells && w->current != NULL && i < SIM_MAX_HANDLES; i++)
		if (w->current->handles[i].lock != NULL && &w->current->handles[i].lock->core == core)
			w->current->handles[i].untold_ns = 0;
}

uint32_t proof_in_world(const struct actor *a, uint32_t nodes)
{
	uint32_t these = 0;
	for (unsigned i = 0; i < a->node_count; i++)
		if ((nodes >> i & 1) != 0)
			these |= UINT32_C(1) << a->order[i];
	return these;
}

uint32_t proof_voted(const struct proof_client *c)
{
	const struct rl_lock *l = c->core;
	uint32_t nodes = rl_round_voted(l, REDLOCK_VOTE_YES);
	bool acquires = l->round.operation == REDLOCK_OP_ACQUIRE;
	uint64_t wanted = l->rules->policy->slots ? l->claim.slot + 1u
	                  : l->numbers != NULL    ? l->numbers->fence
	                                          : 0;
	for (unsigned i = 0; i < l->rules->node_count && acquires && wanted != 0; i++)
		if (l->numbers->of[i] != wanted)
			nodes &= ~(UINT32_C(1) << i);
	return proof_in_world(c->actor, nodes);
}

uint32_t proof_voters(const struct world *w, const struct rl_lock *l, const struct proof_before *before,
                      const struct rl_event *e)
{
	uint32_t nodes = before->yes;
	if (l->round.operation == REDLOCK_OP_ACQUIRE || l->round.seq == before->seq)
		nodes = rl_round_voted(l, REDLOCK_VOTE_YES);
	else if (e->kind == RL_EV_REPLY && e->reply.seq == before->seq && e->reply.vote.code == REDLOCK_VOTE_YES)
		nodes |= UINT32_C(1) << e->node;
	return w->current != NULL ? proof_in_world(w->current, nodes) : 0;
}

bool proof_grants(const struct rl_lock *l, const struct proof_before *before)
{
	return before->phase != RL_HELD && before->phase != RL_KEPT && l->phase == RL_HELD &&
	       before->operation == REDLOCK_OP_ACQUIRE;
}

bool proof_confirms(const struct proof_before *before, const struct rl_effects *fx)
{
	bool extended = fx->done.operation == REDLOCK_OP_EXTEND || fx->done.operation == REDLOCK_OP_UPGRADE ||
	                fx->done.operation == REDLOCK_OP_DOWNGRADE;
	bool done = (fx->observed & RL_COUNT_RENEWED) != 0 || (extended && fx->done.result == 0);
	return before->open && before->operation == REDLOCK_OP_EXTEND && done;
}

struct bytes proof_value_of(const struct key *key)
{
	return key->type == KEY_STRING ? key->value : text_bytes("(a key of another type)");
}

void proof_value_keep(struct proof_value *ret, struct bytes value)
{
	*ret = (struct proof_value){.size = value.size};
	memcpy(ret->at, value.at, value.size < PROOF_VALUE_BYTES ? value.size : PROOF_VALUE_BYTES);
}

bool proof_value_is(const struct proof_value *kept, struct bytes value)
{
	size_t size = value.size < PROOF_VALUE_BYTES ? value.size : PROOF_VALUE_BYTES;
	return kept->size == value.size && memcmp(kept->at, value.at, size) == 0;
}

/* Whether the value at `at` is that of a SET: "SET", the name and the value are its first words. */
static bool is_set(const char *begin, const char *at)
{
	static const char set[] = "$3\r\nSET\r\n";
	while (at - begin >= 3 && memcmp(at - 3, "\r\n*", 3) != 0)
		at--;
	if (at - begin < 3)
		at = begin;
	const char *word = memchr(at, '$', 8);
	return word != NULL && strncmp(word, set, sizeof set - 1) == 0;
}

/* A SET gives nothing back, and may come late (spec/proof/lock.thm: `out` is of releases). */
static bool has_other_than_set(const struct buffer *b, const struct proof_value *value, size_t size)
{
	const char *begin = buffer_front(b), *end = begin + b->length, *at = begin;
	while ((at = memmem(at, (size_t)(end - at), value->at, size)) != NULL) {
		if (!is_set(begin, at))
			return true;
		at += size;
	}
	return false;
}

bool proof_is_on_its_way(const struct world *w, unsigned node, const struct call *call,
                         const struct proof_value *value)
{
	const struct links *links = &w->links;
	size_t size = value->size < PROOF_VALUE_BYTES ? value->size : PROOF_VALUE_BYTES;
	for (uint32_t i = 0; i < links->count; i++) {
		const struct pipe *pipe = &links->conns[i].pipe[TO_NODE];
		if (links->conns[i].node != node || i == call->session->tag || links->conns[i].session == NULL)
			continue;
		const struct buffer *parts[] = {&pipe->flight, &pipe->inbox};
		for (unsigned k = 0; k < 2; k++)
			if (parts[k]->length >= size && has_other_than_set(parts[k], value, size))
				return true;
	}
	return false;
}

unsigned proof_quorum_of(struct proof_quorums *qs, uint32_t nodes)
{
	unsigned q = 0;
	while (q < qs->count && qs->nodes[q] != nodes)
		q++;
	assert(q < sizeof qs->nodes / sizeof qs->nodes[0]);
	qs->nodes[q] = nodes;
	return q;
}

void proof_quorum_tell(const uint32_t *quorums, unsigned q, bool in[][PROOF_QUORUMS],
                       unsigned common[][PROOF_QUORUMS])
{
	for (unsigned i = 0; i < SIM_MAX_NODES; i++)
		in[i][q] = (quorums[q] >> i & 1) != 0;
	for (unsigned p = 0; p <= q; p++) {
		uint32_t both = quorums[q] & quorums[p];
		common[p][q] = common[q][p] = both != 0 ? (unsigned)__builtin_ctz(both) : 0;
	}
}

void proof_tells(struct world *w, enum proof_theorem theorem, bool *refused, bool admitted, const char *why,
                 const char *action, const char *format, ...)
{
	char values[128];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(values, sizeof values, format, arguments);
	va_end(arguments);
	TRACE(w, "proof of %s: %s %s", proof_theorems[theorem], action, values);
	if (admitted || *refused)
		return;
	*refused = true;
	char text[480];
	snprintf(text, sizeof text, "%s %s: %s", action, values, why);
	check_refuse(w, theorem, text);
}

unsigned proof_room(struct world *w, const char *theorem, bool *refused, bool *is, unsigned size,
                    unsigned *most)
{
	unsigned i = theorem_room(is, size, most);
	if (i != THEOREM_FULL)
		return i;
	check_fail(w, VIOLATION_PROOF, "%s: more at a time than the checker has room for", theorem);
	*refused = true;
	return 0;
}
