/* SPDX-License-Identifier: MIT */
#include "nodes.h"

#include <stdlib.h>
#include <string.h>

#include "core/time.h"
#include "net/admission.h"
#include "net/auth.h"
#include "net/permit.h"
#include "net/record.h"

void rl_nodes_close(struct rl_nodes *ns, bool child)
{
	for (unsigned i = 0; i < ns->count; i++)
		rl_node_close(&ns->list[i], child);
	rl_tls_context_free(ns->tls);
	rl_set_free(ns->set);
	rl_wire_free(&ns->wire);
	free(ns->list);
}

void rl_nodes_connect(struct rl_nodes *ns, uint64_t now)
{
	for (unsigned i = 0; i < ns->count; i++)
		rl_node_connect(&ns->list[i], now);
}

/* ---- asking ---- */

/* A waiter asks its gate by another operation, unless that is refused there; and the other nodes, if its
 * token may be there. */
static void look_at_queue(struct rl_request *request, const struct rl_node *n, unsigned operation)
{
	bool enters = (request->enter >> n->id & 1) != 0 && rl_node_may_queue(n);
	unsigned other = enters ? rl_ops[operation].enters : RL_OP_NONE;
	request->operation = other != RL_OP_NONE ? other : operation;
	request->unqueued = (request->plain >> n->id & 1) != 0;
}

#define LOOK_NS (60000 * RL_NS_PER_MS)

/* `redlock init` may have made it a guarded set since. The question leaves with the request. */
static __attribute__((noinline)) void look_again(struct rl_nodes *ns, uint64_t now)
{
	ns->look_ns = rl_time_add(now, LOOK_NS);
	rl_set_doubt(ns->set);
	for (unsigned i = 0; i < ns->count; i++)
		rl_record_look(&ns->list[i], now);
}

void rl_nodes_submit(struct rl_nodes *ns, struct rl_request *request, uint32_t to, uint64_t now)
{
	if (now >= ns->look_ns && rl_ops_relies(&rl_ops[request->operation]))
		look_again(ns, now);
	uint32_t seq = request->tag.seq;
	unsigned operation = request->operation;
	bool differ = (request->enter | request->plain) != 0; /* not all are asked the same */
	rl_wire_reset(&ns->wire);
	for (unsigned i = 0; i < ns->count; i++) {
		if ((to >> i & 1) == 0)
			continue;
		if (differ)
			look_at_queue(request, &ns->list[i], operation);
		request->unproven = request->own_value && seq == 0 && (request->owed >> i & 1) == 0;
		enum redlock_vote_code vote = request->name.bytes != NULL
		                                  ? rl_node_submit(&ns->list[i], request, &ns->wire, now)
		                                  : REDLOCK_VOTE_BACKLOG; /* there is no memory for it */
		if (vote == REDLOCK_VOTE_PENDING || seq == 0)
			continue;
		ns->refused_seq = seq;
		ns->refused_by |= 1u << i;
		ns->refused_votes[i] = vote;
	}
	request->operation = operation;
}

bool rl_nodes_next_refusal(struct rl_nodes *ns, unsigned *ret_node, struct rl_vote *ret_vote, uint64_t now)
{
	if (ns->refused_by == 0)
		return false;
	*ret_node = (unsigned)__builtin_ctz(ns->refused_by);
	*ret_vote = (struct rl_vote){.code = ns->refused_votes[*ret_node]};
	if (ret_vote->code == REDLOCK_VOTE_QUARANTINE)
		ret_vote->left_ms = (int64_t)rl_permit_left_ms(&ns->list[*ret_node], now);
	ns->refused_by &= ns->refused_by - 1;
	return true;
}

void rl_nodes_listen(struct rl_nodes *ns, unsigned index, const char *channel, uint64_t now)
{
	rl_node_listen(&ns->list[index], channel, now);
	ns->listening = true;
}

/* ---- time ---- */

/* Seldom: these stay out of the way of what is done in every turn. */
uint32_t rl_nodes_heard(const struct rl_nodes *ns)
{
	uint32_t nodes = 0;
	for (unsigned i = 0; i < ns->count; i++)
		nodes |= (uint32_t)rl_node_hears(&ns->list[i]) << i;
	return nodes;
}

static __attribute__((noinline)) uint64_t listeners_deadline(const struct rl_nodes *ns)
{
	uint64_t next = UINT64_MAX;
	for (unsigned i = 0; i < ns->count; i++)
		next = rl_time_min(next, rl_time_min(rl_node_listener_deadline(&ns->list[i]),
		                                     rl_sentinels_deadline(ns->list[i].sentinels)));
	return next;
}

static __attribute__((noinline)) void tick_listeners(struct rl_nodes *ns, uint64_t now)
{
	ns->listening = false;
	for (unsigned i = 0; i < ns->count; i++) {
		rl_node_listener_tick(&ns->list[i], now);
		rl_sentinels_tick(ns->list[i].sentinels, now);
		ns->listening |= ns->list[i].listener != NULL || ns->list[i].sentinels != NULL;
	}
}

uint64_t rl_nodes_deadline(const struct rl_nodes *ns)
{
	uint64_t next = ns->listening ? listeners_deadline(ns) : UINT64_MAX;
	for (unsigned i = 0; i < ns->count; i++)
		next = rl_time_min(next, rl_node_deadline(&ns->list[i]));
	return next;
}

void rl_nodes_tick(struct rl_nodes *ns, uint64_t now)
{
	for (unsigned i = 0; i < ns->count; i++)
		rl_node_tick(&ns->list[i], now);
	if (ns->listening)
		tick_listeners(ns, now);
}

bool rl_nodes_have_work(const struct rl_nodes *ns)
{
	for (unsigned i = 0; i < ns->count; i++)
		if (rl_node_can_send(&ns->list[i]))
			return true;
	return false;
}

unsigned rl_nodes_owed(const struct rl_nodes *ns)
{
	unsigned total = 0;
	for (unsigned i = 0; i < ns->count; i++)
		total += rl_node_owed(&ns->list[i]);
	return total;
}

bool rl_nodes_may_ask_again(const struct rl_nodes *ns, unsigned index)
{
	uint32_t refused = 0;
	for (unsigned i = 0; i < ns->count; i++)
		refused |= ns->list[i].methods.refused;
	return rl_node_may_ask_again(&ns->list[index], refused);
}

/* ---- who they are ---- */

/* The identity of the node's server, which is the same under all of its addresses. */
static const char *known_as(const struct rl_node *n)
{
	return n->link.facts.run_id[0] != '\0' ? n->link.facts.run_id : n->link.endpoint.address;
}

void rl_nodes_sort(struct rl_nodes *ns)
{
	for (unsigned i = 0; i < ns->count; i++) {
		unsigned at = i;
		for (; at > 0 && strcmp(known_as(&ns->list[ns->order[at - 1]]), known_as(&ns->list[i])) > 0; at--)
			ns->order[at] = ns->order[at - 1];
		ns->order[at] = (uint8_t)i;
	}
}

/* Whether two nodes are one server: by identity, or where one of them tells none, by address. */
static bool is_same_server(const struct rl_node *a, const char *identity, const struct rl_node *b,
                           const char *other)
{
	if (identity[0] != '\0' && other[0] != '\0')
		return strcmp(identity, other) == 0;
	bool told = a->link.setup.count == 0 && b->link.setup.count == 0; /* or would have */
	return told && rl_socket_same_address(&a->link.dial.peer, &b->link.dial.peer);
}

/* The identity that counts for what the node says now. */
static const char *identity_now(const struct rl_node *n)
{
	return n->link.facts.run_id_known ? n->link.facts.run_id : "";
}

/* The identity of the server that gave the vote of node `index`. A node's run_id stays when its connection
 * breaks, as the vote does. */
static const char *identity_of_vote(const struct rl_nodes *ns, unsigned index, const struct rl_lock *lock)
{
	const struct rl_node *n = &ns->list[index];
	uint64_t voted_ns = rl_time_add(lock->round.t0_ns, lock->votes[index].rtt_ns);
	return voted_ns < n->left_ns ? n->link.facts.left : n->link.facts.run_id;
}

uint32_t rl_nodes_twins(const struct rl_nodes *ns, unsigned index, const struct rl_lock *lock)
{
	const struct rl_node *n = &ns->list[index];
	uint32_t twins = 0;
	for (unsigned i = 0; i < ns->count; i++) {
		const char *other = identity_of_vote(ns, i, lock);
		bool twin = i != index && is_same_server(n, identity_now(n), &ns->list[i], other);
		twins |= (uint32_t)twin << i;
	}
	return twins;
}

/* Whether another node is the server that node `index` is, or may have a vote of it. */
static bool is_shared(const struct rl_nodes *ns, unsigned index)
{
	const struct rl_node *n = &ns->list[index];
	for (unsigned i = 0; i < ns->count; i++) {
		const struct rl_node *other = &ns->list[i];
		const struct rl_facts *facts = &other->link.facts;
		bool left = facts->left[0] != '\0' && strcmp(identity_now(n), facts->left) == 0;
		if (i != index && (left || is_same_server(n, identity_now(n), other, facts->run_id)))
			return true;
	}
	return false;
}

void rl_nodes_identify(struct rl_nodes *ns)
{
	ns->named = true;
	for (unsigned i = 0; i < ns->count; i++) {
		struct rl_node *n = &ns->list[i];
		ns->named &= n->link.facts.run_id[0] != '\0';
		if (!n->identified)
			continue;
		n->identified = n->duplicate = false;
		ns->shared |= is_shared(ns, i);
	}
	rl_nodes_sort(ns);
}

bool rl_nodes_are_identified(const struct rl_nodes *ns)
{
	for (unsigned i = 0; i < ns->count; i++)
		if (!ns->list[i].link.facts.run_id_known)
			return false;
	return true;
}

/* A node that never connected, and has failed, is not waited for. */
bool rl_nodes_look_ordered(const struct rl_nodes *ns)
{
	for (unsigned i = 0; i < ns->count; i++) {
		const struct rl_link *link = &ns->list[i].link;
		bool told = link->state == RL_LINK_OPEN && link->setup.count == 0; /* or will not tell */
		if (link->facts.run_id[0] == '\0' && link->failure == REDLOCK_VOTE_PENDING && !told)
			return false;
	}
	return true;
}

void rl_nodes_settle(struct rl_nodes *ns, uint64_t now)
{
	ns->set->changed = false;
	rl_set_settle(ns->set, now);
	if (!ns->set->is_plain)
		ns->look_ns = UINT64_MAX;
	else if (ns->look_ns == UINT64_MAX)
		ns->look_ns = rl_time_add(now, LOOK_NS);
	for (unsigned i = 0; i < ns->count; i++)
		rl_admission_settle(&ns->list[i], now);
}

void rl_nodes_leap(struct rl_nodes *ns, uint64_t leap_ns)
{
	rl_offset_leap(ns->set->offsets, ns->count, leap_ns);
	for (unsigned i = 0; i < ns->count; i++)
		rl_record_leap(&ns->list[i], leap_ns);
}

/* ---- new credentials ---- */

/* One node after the other: what it is asked waits meanwhile, and a quorum must be there for renewals. */
void rl_nodes_log_in(struct rl_nodes *ns, uint64_t now)
{
	struct rl_node *next = NULL;
	bool any = false;
	for (unsigned i = ns->count; i-- > 0;) {
		struct rl_node *n = &ns->list[i];
		if (n->link.login != RL_LOGIN_NONE)
			return;
		any |= n->link.new_credentials;
		if (rl_auth_is_due(&n->link))
			next = n;
	}
	ns->new_credentials = any;
	if (next != NULL)
		rl_auth_begin(&next->link, now);
}

void rl_nodes_end_login(struct rl_nodes *ns)
{
	ns->new_credentials = false;
	for (unsigned i = 0; i < ns->count; i++)
		if (ns->list[i].link.setup.count == 0)
			rl_auth_end(&ns->list[i].link);
}
