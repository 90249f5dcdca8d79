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
	rl_cluster_free(ns->clusters, child);
	for (unsigned i = 0; i < ns->count; i++)
		rl_node_close(&ns->list[i], child);
	rl_tls_context_free(ns->tls);
	rl_set_free(ns->set);
	rl_request_free(&ns->wire);
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

/* Asks the server of the node that the request is for. */
static enum redlock_vote_code ask(struct rl_nodes *ns, struct rl_node *n, struct rl_request *request,
                                  uint64_t now)
{
	if (request->name.bytes == NULL)
		return REDLOCK_VOTE_BACKLOG; /* there is no memory for it */
	if (n->redirect != NULL && rl_cluster_overtakes(ns->clusters, n, request))
		return REDLOCK_VOTE_SHARD; /* the server that had the slot may still do what it was asked */
	return rl_node_submit(n, request, &ns->wire, now);
}

void rl_nodes_submit(struct rl_nodes *ns, struct rl_request *request, uint32_t to, uint64_t now)
{
	if (now >= ns->look_ns && rl_ops[request->operation].relies)
		look_again(ns, now);
	uint32_t seq = request->tag.seq;
	unsigned operation = request->operation;
	bool differ = (request->enter | request->plain) != 0; /* not all are asked the same */
	ns->wire.made = 0;
	for (unsigned i = 0; i < ns->count; i++) {
		if ((to >> i & 1) == 0)
			continue;
		struct rl_node *n = &ns->list[i];
		request->unproven = request->own_value && seq == 0 && (request->owed >> i & 1) == 0;
		if (n->redirect != NULL && request->name.bytes != NULL)
			n = rl_cluster_route(ns->clusters, i, request, now);
		if (differ)
			look_at_queue(request, n, operation);
		enum redlock_vote_code vote = ask(ns, n, request, now);
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
		ret_vote->left_ms = rl_permit_left_ms(&ns->list[*ret_node], now);
	ns->refused_by &= ns->refused_by - 1;
	return true;
}

void rl_nodes_listen(struct rl_nodes *ns, unsigned index, struct rl_slice name, const char *channel,
                     uint64_t now)
{
	bool cluster = rl_cluster_is(ns->clusters, index);
	rl_node_listen(cluster ? rl_cluster_listener(ns->clusters, index, name) : &ns->list[index], channel, now);
	ns->listening = true;
}

/* ---- time ---- */

/* Seldom: these stay out of the way of what is done in every turn. */
uint32_t rl_nodes_heard(const struct rl_nodes *ns)
{
	uint32_t nodes = 0;
	for (unsigned i = 0; i < rl_nodes_servers(ns); i++)
		nodes |= (uint32_t)rl_node_hears(rl_nodes_server(ns, i)) << rl_nodes_server(ns, i)->id;
	return nodes;
}

static __attribute__((noinline)) uint64_t listeners_deadline(const struct rl_nodes *ns)
{
	uint64_t next = UINT64_MAX;
	for (unsigned i = 0; i < rl_nodes_servers(ns); i++) {
		const struct rl_node *n = rl_nodes_server(ns, i);
		next =
		    rl_time_min(next, rl_time_min(rl_node_listener_deadline(n), rl_sentinels_deadline(n->sentinels)));
	}
	return next;
}

static __attribute__((noinline)) void tick_listeners(struct rl_nodes *ns, uint64_t now)
{
	ns->listening = false;
	for (unsigned i = 0; i < rl_nodes_servers(ns); i++) {
		struct rl_node *n = rl_nodes_server(ns, i);
		rl_node_listener_tick(n, now);
		rl_sentinels_tick(n->sentinels, now);
		ns->listening |= n->listener != NULL || n->sentinels != NULL;
	}
}

uint64_t rl_nodes_deadline(const struct rl_nodes *ns, uint64_t now)
{
	uint64_t next = ns->listening ? listeners_deadline(ns) : UINT64_MAX;
	if (ns->clusters != NULL)
		next = rl_time_min(next, rl_cluster_deadline(ns->clusters, now));
	for (unsigned i = 0; i < ns->count; i++)
		next = rl_time_min(next, rl_link_deadline(&ns->list[i].link));
	return next;
}

void rl_nodes_tick(struct rl_nodes *ns, uint64_t now)
{
	for (unsigned i = 0; i < ns->count; i++)
		if (now >= rl_link_deadline(&ns->list[i].link))
			rl_node_tick(&ns->list[i], now);
	if (ns->clusters != NULL)
		rl_cluster_tick(ns->clusters, &ns->wire, now);
	if (ns->listening)
		tick_listeners(ns, now);
}

bool rl_nodes_have_work(const struct rl_nodes *ns)
{
	for (unsigned i = 0; i < ns->count; i++)
		if (rl_submit_can_send(&ns->list[i]))
			return true;
	for (unsigned i = 0; i < rl_cluster_count(ns->clusters); i++)
		if (rl_submit_can_send(ns->clusters->servers[i]))
			return true;
	return false;
}

unsigned rl_nodes_owed_by(const struct rl_nodes *ns, unsigned index)
{
	unsigned owed = 0;
	for (unsigned i = 0; i < rl_nodes_servers(ns); i++)
		if (rl_nodes_server(ns, i)->id == index)
			owed += rl_node_owed(rl_nodes_server(ns, i));
	return owed + (ns->clusters != NULL ? ns->clusters->late[index].count : 0);
}

bool rl_nodes_is_open(const struct rl_nodes *ns, unsigned index)
{
	return rl_node_is_open(rl_cluster_is(ns->clusters, index) ? rl_cluster_speaker(ns->clusters, index)
	                                                          : &ns->list[index]);
}

unsigned rl_nodes_owed(const struct rl_nodes *ns)
{
	unsigned total = 0;
	for (unsigned i = 0; i < ns->count; i++)
		total += rl_nodes_owed_by(ns, i);
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
	if (n->redirect != NULL)
		return n->link.endpoint.address; /* a cluster is many */
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
static const char *identity_of_vote(const struct rl_node *n, unsigned index, const struct rl_lock *lock)
{
	uint64_t voted_ns = rl_time_add(lock->round.t0_ns, lock->votes[index].rtt_ns);
	return voted_ns < n->left_ns ? n->link.facts.left : n->link.facts.run_id;
}

/* The server that a node asks for the name. */
static const struct rl_node *server_for(const struct rl_nodes *ns, unsigned index, struct rl_slice name)
{
	const struct rl_node *owner =
	    rl_cluster_is(ns->clusters, index) ? rl_cluster_owner(ns->clusters, index, name) : NULL;
	return owner != NULL ? owner : &ns->list[index];
}

uint32_t rl_nodes_twins(const struct rl_nodes *ns, unsigned index, const struct rl_lock *lock,
                        struct rl_slice name)
{
	const struct rl_node *n = server_for(ns, index, name);
	uint32_t twins = 0;
	for (unsigned i = 0; i < ns->count; i++) {
		const struct rl_node *one = server_for(ns, i, name);
		const char *other = identity_of_vote(one, i, lock);
		bool twin = i != index && is_same_server(n, identity_now(n), one, other);
		twins |= (uint32_t)twin << i;
	}
	return twins;
}

/* Whether another node is the server that this one is, or may have a vote of it. */
static bool is_shared(const struct rl_nodes *ns, const struct rl_node *n)
{
	for (unsigned i = 0; i < rl_nodes_servers(ns); i++) {
		const struct rl_node *other = rl_nodes_server(ns, i);
		const struct rl_facts *facts = &other->link.facts;
		bool left = facts->left[0] != '\0' && strcmp(identity_now(n), facts->left) == 0;
		if (other->id != n->id && (left || is_same_server(n, identity_now(n), other, facts->run_id)))
			return true;
	}
	return false;
}

void rl_nodes_identify(struct rl_nodes *ns)
{
	ns->named = true;
	for (unsigned i = 0; i < rl_nodes_servers(ns); i++) {
		struct rl_node *n = rl_nodes_server(ns, i);
		ns->named &= i >= ns->count || n->link.facts.run_id[0] != '\0';
		if (!n->identified)
			continue;
		n->identified = n->duplicate = false;
		ns->shared |= is_shared(ns, n);
	}
	rl_nodes_sort(ns);
}

bool rl_nodes_are_identified(const struct rl_nodes *ns)
{
	for (unsigned i = 0; i < ns->count; i++)
		if (ns->list[i].redirect == NULL && !ns->list[i].link.facts.run_id_known)
			return false;
	return true;
}

bool rl_nodes_are_guarded(const struct rl_nodes *ns)
{
	return ns->set != NULL && !ns->set->at_rest;
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
	for (unsigned i = rl_nodes_servers(ns); i-- > 0;) {
		struct rl_node *n = rl_nodes_server(ns, i);
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
	for (unsigned i = 0; i < rl_nodes_servers(ns); i++)
		if (rl_nodes_server(ns, i)->link.setup.count == 0)
			rl_auth_end(&rl_nodes_server(ns, i)->link);
}
