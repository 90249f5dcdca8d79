/* SPDX-License-Identifier: MIT */
#include "net/cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/time.h"
#include "os/resolve.h"

#define SILENT_NS (1000 * RL_NS_PER_MS)
#define OPENING_NS (50 * RL_NS_PER_MS) /* for so long a request waits for a connection to open */
#define PAY_NS (250 * RL_NS_PER_MS)
#define LEAVE_NS (2000 * RL_NS_PER_MS) /* the connection of a server that is silent for longer ends */
enum { MOST_HOPS = 6, MOST_TRIES = 240 };

/* Ids in the poller: each server begins this far above the one before. */
#define WATCH_ID_STEP (RL_WATCH_LINKS << 12)
_Static_assert(RL_CLUSTER_SERVERS <= 1 << 8, "a dial has 1 << 20 serial numbers");

/* ---- servers ---- */

/* NULL: out of memory, or there are too many. */
static struct rl_node *open_server(struct rl_clusters *c, unsigned index, struct rl_endpoint *endpoint)
{
	const struct rl_link *first = &c->list[index].link;
	struct rl_node *n = c->count < RL_CLUSTER_SERVERS ? malloc(sizeof *n) : NULL;
	if (n == NULL) {
		rl_url_free(endpoint);
		return NULL;
	}
	uint32_t number = index + RL_WATCH_CLUSTERS + c->count * WATCH_ID_STEP;
	bool ok = rl_node_open(n, endpoint, first->tls, first->poller, number);
	n->id = index;
	n->listener_id = index + RL_WATCH_NODES + c->count * WATCH_ID_STEP;
	n->redirect = &c->redirect;
	n->link.in_cluster = true;
	if (ok)
		return c->servers[c->count++] = n;
	rl_node_close(n, false);
	free(n);
	return NULL;
}

bool rl_cluster_add(struct rl_clusters **clusters, struct rl_node *list, unsigned index,
                    const struct rl_endpoint *endpoint)
{
	struct rl_endpoint seed;
	struct rl_clusters *c = *clusters != NULL ? *clusters : calloc(1, sizeof *c);
	if (c == NULL)
		return false;
	*clusters = c;
	c->list = list;
	c->owners[index] = calloc(RL_HASHSLOT_COUNT, sizeof *c->owners[index]);
	bool ok = c->owners[index] != NULL;
	for (unsigned i = 1; ok && i < rl_url_count_hosts(endpoint); i++)
		ok = rl_url_seed(endpoint, i, &seed) && open_server(c, index, &seed) != NULL;
	list[index].redirect = &c->redirect;
	list[index].link.in_cluster = true;
	return ok;
}

void rl_cluster_free(struct rl_clusters *c, bool child)
{
	for (unsigned i = 0; i < rl_cluster_count(c); i++) {
		rl_node_close(c->servers[i], child);
		free(c->servers[i]);
	}
	for (unsigned i = 0; c != NULL && i < REDLOCK_MAX_NODES; i++) {
		free(c->owners[i]);
		rl_outbox_free(&c->late[i]);
	}
	if (c != NULL)
		rl_buffer_free(&c->redirect.bytes);
	free(c);
}

/* The servers of a node, by a number that goes on from 0: those of other nodes are NULL. */
static struct rl_node *server_at(const struct rl_clusters *c, unsigned index, unsigned at)
{
	if (at == 0)
		return &c->list[index];
	return c->servers[at - 1]->id == index ? c->servers[at - 1] : NULL;
}

/* By the address that its URL or MOVED has, or that its connection goes to. */
static bool is_at(const struct rl_node *n, const char *host, uint16_t port)
{
	struct rl_address address;
	const struct rl_link *l = &n->link;
	if (l->endpoint.port == port && strcasecmp(l->endpoint.host, host) == 0)
		return true;
	return l->state == RL_LINK_OPEN && rl_resolve_literal(host, port, &address) &&
	       rl_socket_same_address(&l->dial.peer, &address);
}

/* NULL: out of memory, or there are too many. */
static struct rl_node *find_server(struct rl_clusters *c, unsigned index, const char *host, uint16_t port)
{
	struct rl_endpoint endpoint;
	for (unsigned at = 0; at <= c->count; at++) {
		struct rl_node *n = server_at(c, index, at);
		if (n != NULL && is_at(n, host, port))
			return n;
	}
	return rl_url_server(&c->list[index].link.endpoint, host, port, &endpoint)
	           ? open_server(c, index, &endpoint)
	           : NULL;
}

static uint16_t number_of(const struct rl_clusters *c, const struct rl_node *n)
{
	unsigned at = 0;
	while (server_at(c, n->id, at) != n)
		at++;
	return (uint16_t)(at + 1);
}

/* ---- which server ---- */

static bool has_failed(const struct rl_node *n)
{
	const struct rl_link *l = &n->link;
	return l->state == RL_LINK_BROKEN || (l->state != RL_LINK_OPEN && l->backoff.failures > 0);
}

/* Whether another server may have taken over. That server knows: it is asked, and sends the request back if
 * not. */
static bool is_in_doubt(const struct rl_node *n, uint64_t now_ns)
{
	const struct rl_link *l = &n->link;
	bool waits = l->outbox.count > 0 || l->gate > 0;
	uint64_t patience_ns = l->gate > 0 ? OPENING_NS : SILENT_NS;
	return has_failed(n) || (l->state != RL_LINK_DOWN && waits && now_ns - l->progress_ns > patience_ns);
}

static bool is_ready(const struct rl_node *n)
{
	return n->link.state == RL_LINK_OPEN && n->link.setup.count == 0;
}

/* A server whose connection is open, else a server that is not known to have failed. NULL: all have failed.
 */
static struct rl_node *find_other(const struct rl_clusters *c, unsigned index, uint64_t now_ns)
{
	struct rl_node *found = NULL;
	for (unsigned at = 0; at <= c->count; at++) {
		struct rl_node *n = server_at(c, index, at);
		if (n == NULL || is_in_doubt(n, now_ns))
			continue;
		if (is_ready(n))
			return n;
		found = found == NULL ? n : found;
	}
	return found;
}

/* As find_other(), and has begun to connect to it. */
static struct rl_node *open_other(const struct rl_clusters *c, unsigned index, uint64_t now_ns)
{
	struct rl_node *n;
	while ((n = find_other(c, index, now_ns)) != NULL && n->link.state == RL_LINK_DOWN) {
		rl_node_connect(n, now_ns);
		if (n->link.state == RL_LINK_DOWN)
			return NULL; /* its name is looked up, which has failed before */
	}
	return n;
}

/* Whether a request waits for this server's connection to open, and nothing of the outbox has left. */
static bool is_opening(const struct rl_node *n)
{
	const struct rl_link *l = &n->link;
	bool opens = l->state == RL_LINK_CONNECTING || l->state == RL_LINK_OPEN;
	return opens && l->gate > 0 && l->outbox.count > 0 && n->talk.parked.count == 0;
}

static struct rl_node *owner_of(const struct rl_clusters *c, unsigned index, unsigned slot)
{
	uint16_t owner = c->owners[index][slot];
	return owner > 0 ? server_at(c, index, owner - 1U) : NULL;
}

/* Where the claim is that the release must not overtake: it has not left yet. One of the caller's own value
 * is given up where it was asked. */
static struct rl_node *find_claim(const struct rl_clusters *c, unsigned index, const struct rl_request *r)
{
	for (unsigned at = 0; at <= c->count; at++) {
		struct rl_node *n = server_at(c, index, at);
		if (n != NULL && (r->unproven || is_opening(n)) &&
		    (rl_outbox_find_claim(&n->link.outbox, r->tag) != 0 ||
		     rl_outbox_find_claim(&n->talk.parked, r->tag) != 0))
			return n;
	}
	return NULL;
}

struct rl_node *rl_cluster_route(struct rl_clusters *c, unsigned index, const struct rl_request *r,
                                 uint64_t now_ns)
{
	struct rl_node *owner = rl_ops[r->operation].gives_back ? find_claim(c, index, r) : NULL;
	if (owner != NULL)
		return owner;
	owner = owner_of(c, index, rl_hashslot_of(r->name));
	if (owner != NULL && !is_in_doubt(owner, now_ns))
		return owner;
	struct rl_node *other = find_other(c, index, now_ns);
	return other != NULL ? other : owner != NULL ? owner : &c->list[index];
}

const struct rl_node *rl_cluster_owner(const struct rl_clusters *c, unsigned index, struct rl_slice name)
{
	return owner_of(c, index, rl_hashslot_of(name));
}

struct rl_node *rl_cluster_speaker(const struct rl_clusters *c, unsigned index)
{
	for (unsigned at = 0; at <= c->count; at++) {
		struct rl_node *n = server_at(c, index, at);
		if (n != NULL && is_ready(n))
			return n;
	}
	return &c->list[index];
}

struct rl_node *rl_cluster_listener(const struct rl_clusters *c, unsigned index, struct rl_slice name)
{
	struct rl_node *owner = owner_of(c, index, rl_hashslot_of(name));
	return owner != NULL ? owner : rl_cluster_speaker(c, index);
}

/* Whether the request has the value of this one: of the same handle, or of the caller's own value, which
 * several handles may have. */
static bool is_alike(const struct rl_entry *e, struct rl_slice bytes, const struct rl_request *r)
{
	bool same = e->tag.slot == r->tag.slot && e->tag.generation == r->tag.generation;
	if (same || !r->own_value || e->operation == RL_OP_NONE)
		return same;
	struct rl_request other = rl_outbox_request(e, bytes);
	return rl_slice_same(other.name, r->name) && rl_slice_same(other.token, r->token);
}

static bool has_alike(const struct rl_outbox *outbox, const struct rl_request *r)
{
	for (unsigned i = 0; i < outbox->count; i++) {
		const struct rl_entry *e = rl_outbox_at(outbox, i);
		struct rl_slice bytes = r->own_value ? rl_outbox_bytes_at(outbox, i) : (struct rl_slice){"", 0};
		if (e->setup == RL_SETUP_NONE && e->step == RL_STEP_NONE && is_alike(e, bytes, r))
			return true;
	}
	return false;
}

bool rl_cluster_overtakes(const struct rl_clusters *c, const struct rl_node *server,
                          const struct rl_request *r)
{
	if (!rl_ops[r->operation].relies)
		return false;
	bool found = has_alike(&c->late[server->id], r);
	for (unsigned at = 0; at <= c->count && !found; at++) {
		const struct rl_node *n = server_at(c, server->id, at);
		found = n != NULL && n != server &&
		        (has_alike(&n->link.outbox, r) || has_alike(&n->talk.parked, r) ||
		         has_alike(&n->ledger.debts, r));
	}
	return found;
}

/* ---- requests that are sent on ---- */

/* Whether the request is to be asked again. A claim or extend that nobody waits for is not: the release of
 * its token may have been asked before, and would not find the key. */
static bool is_asked_on(const struct rl_entry *entry, bool wanted)
{
	bool gives_back = rl_ops[entry->operation].gives_back;
	return !entry->given_up && (gives_back ? entry->hops < MOST_TRIES : wanted && entry->hops < MOST_HOPS);
}

/* Some keys of a request with several are here, and others elsewhere: asks for the lock's own alone. False:
 * it has no such form. */
static bool ask_shorter(const struct rl_entry *entry, struct rl_request *r)
{
	const struct rl_op *op = &rl_ops[entry->operation];
	bool queued = (RL_FORMS_QUEUE >> entry->form & 1) != 0;
	if (!queued || op->several)
		return false;
	if (op->plainly != RL_OP_NONE) {
		r->operation = op->plainly;
		r->place = (struct rl_slice){"", 0};
	}
	r->unqueued = true;
	return op->plainly != RL_OP_NONE || op->gives_back;
}

/* The server that MOVED, ASK or TRYAGAIN names, or any other. NULL: no server can be asked, it is out of
 * memory, or too many servers are known. */
static struct rl_node *target_of(struct rl_clusters *c, struct rl_node *server, uint64_t now_ns)
{
	if (c->redirect.kind == RL_REDIRECT_UNSENT)
		return open_other(c, server->id, now_ns);
	const struct rl_redirect *to = &c->redirect;
	const char *host = to->host[0] != '\0' ? to->host : server->link.endpoint.host;
	if (to->kind == RL_REDIRECT_SPLIT)
		return server;
	struct rl_node *target = find_server(c, server->id, host, to->port);
	if (target != NULL && to->kind == RL_REDIRECT_MOVED)
		c->owners[server->id][to->slot] = number_of(c, target);
	return target;
}

/* A release that nobody takes now is asked again later: one that no server has answered as a debt. */
static void keep_late(struct rl_clusters *c, struct rl_node *server, const struct rl_entry *entry,
                      struct rl_slice bytes, uint64_t now_ns)
{
	struct rl_entry late = *entry;
	late.tag.seq = 0;
	late.set_number = 0;
	if (c->redirect.kind == RL_REDIRECT_UNSENT) {
		if (entry->owed)
			rl_ledger_keep(&server->ledger, &late, bytes);
		return;
	}
	bool kept = entry->owed && entry->hops < MOST_TRIES && rl_outbox_push(&c->late[server->id], &late, bytes);
	if (!kept)
		rl_ledger_settle(&server->ledger, entry, REDLOCK_VOTE_BLOCKED, now_ns);
	else if (c->late[server->id].count == 1)
		c->pay_ns = rl_time_add(now_ns, PAY_NS);
}

/* Asks again as the redirect says. PENDING: it is asked. `refused`: the vote if there is no server to ask. */
static enum redlock_vote_code ask_on(struct rl_clusters *c, struct rl_node *server, struct rl_slice bytes,
                                     enum redlock_vote_code refused, struct rl_wire *wire, uint64_t now_ns)
{
	enum rl_redirect_kind kind = c->redirect.kind;
	const struct rl_entry *entry = &c->redirect.entry;
	struct rl_node *target = target_of(c, server, now_ns);
	struct rl_request r = rl_outbox_request(entry, bytes);
	r.asking = kind == RL_REDIRECT_ASK;
	r.unqueued =
	    (RL_FORMS_QUEUE >> entry->form & 1) == 0; /* as it was asked: TRYAGAIN may have been the answer */
	r.hops = (uint8_t)(entry->hops + (kind != RL_REDIRECT_UNSENT));
	r.owed = (uint32_t)entry->owed << server->id;
	bool split = kind == RL_REDIRECT_SPLIT;
	if (target != NULL && kind != RL_REDIRECT_LATE && (!split || ask_shorter(entry, &r)) &&
	    !rl_cluster_overtakes(c, target, &r)) {
		wire->made = 0;
		return rl_node_submit(target, &r, wire, now_ns);
	}
	keep_late(c, server, entry, bytes, now_ns);
	return refused;
}

bool rl_cluster_redirect(struct rl_clusters *c, struct rl_node *server, struct rl_answer *answer, bool wanted,
                         struct rl_wire *wire, uint64_t now_ns)
{
	const struct rl_entry entry = c->redirect.entry;
	const struct rl_slice bytes = {c->redirect.bytes.bytes, c->redirect.bytes.size};
	if (is_asked_on(&entry, wanted))
		answer->vote.code = ask_on(c, server, bytes, answer->vote.code, wire, now_ns);
	else
		keep_late(c, server, &entry, bytes, now_ns);
	c->redirect.kind = RL_REDIRECT_NONE;
	return answer->vote.code == REDLOCK_VOTE_PENDING || entry.tag.seq == 0;
}

/* ---- time ---- */

void rl_cluster_ready(const struct rl_clusters *c, unsigned index, uint32_t watch_id, uint32_t events,
                      uint64_t now_ns)
{
	for (unsigned at = 1; at <= c->count; at++) {
		struct rl_node *n = server_at(c, index, at);
		if (n != NULL)
			rl_link_ready(&n->link, watch_id, events, now_ns);
	}
}

struct rl_node *rl_cluster_opening(const struct rl_clusters *c, uint64_t now_ns)
{
	for (unsigned i = 0; i < REDLOCK_MAX_NODES; i++)
		for (unsigned at = 0; c->owners[i] != NULL && at <= c->count; at++) {
			struct rl_node *n = server_at(c, i, at);
			if (n != NULL && is_opening(n) && is_in_doubt(n, now_ns) && open_other(c, i, now_ns) != NULL)
				return n;
		}
	return NULL;
}

/* When what waits for this server goes to another one, as things are. */
static uint64_t opening_until(const struct rl_clusters *c, const struct rl_node *n, uint64_t now_ns)
{
	if (!is_opening(n) || (is_in_doubt(n, now_ns) && find_other(c, n->id, now_ns) == NULL))
		return UINT64_MAX;
	return rl_time_add(n->link.progress_ns, OPENING_NS + 1);
}

/* When the connection ends if the server says nothing more. Handles whose requests it has may not ask another
 * server, which may have taken over: rl_cluster_overtakes(). */
static uint64_t leave_at(const struct rl_node *n)
{
	const struct rl_link *l = &n->link;
	bool asked = l->state == RL_LINK_OPEN && l->login == RL_LOGIN_NONE && !l->kept && l->outbox.count > 0;
	return asked && rl_outbox_front_sent(&l->outbox) ? rl_time_add(l->progress_ns, LEAVE_NS) : UINT64_MAX;
}

static void leave_silent(const struct rl_clusters *c, unsigned index, uint64_t now_ns)
{
	for (unsigned at = 0; at <= c->count; at++) {
		struct rl_node *n = server_at(c, index, at);
		if (n != NULL && now_ns >= leave_at(n))
			rl_link_fail(&n->link, REDLOCK_VOTE_TIMEOUT, "no answer for 2 seconds");
	}
}

/* Asks any server for these releases: that sends them on to the one that has the slots now. */
static void pay(struct rl_clusters *c, unsigned index, struct rl_outbox *from, struct rl_wire *wire,
                uint64_t now_ns)
{
	struct rl_outbox releases = *from;
	*from = (struct rl_outbox){0};
	for (; releases.count > 0; rl_outbox_pop(&releases)) {
		const struct rl_entry *entry = rl_outbox_front(&releases);
		struct rl_request r = rl_outbox_request(entry, rl_outbox_front_bytes(&releases));
		r.owed = UINT32_C(1) << index;
		r.hops = (uint8_t)(entry->hops + 1);
		wire->made = 0;
		(void)rl_node_submit(rl_cluster_route(c, index, &r, now_ns), &r, wire, now_ns);
	}
	rl_outbox_free(&releases);
}

/* Whether a server that has no connection owes something that another one may do. */
static bool is_owing(const struct rl_clusters *c, const struct rl_node *n, uint64_t now_ns)
{
	return n != NULL && n->ledger.debts.count > 0 && has_failed(n) && find_other(c, n->id, now_ns) != NULL;
}

static void pay_all(struct rl_clusters *c, unsigned index, struct rl_wire *wire, uint64_t now_ns)
{
	for (unsigned at = 0; at <= c->count; at++) {
		struct rl_node *n = server_at(c, index, at);
		if (is_owing(c, n, now_ns))
			pay(c, index, &n->ledger.debts, wire, now_ns);
	}
	if (c->late[index].count > 0)
		pay(c, index, &c->late[index], wire, now_ns);
}

uint64_t rl_cluster_deadline(const struct rl_clusters *c, uint64_t now_ns)
{
	uint64_t next = UINT64_MAX;
	for (unsigned i = 0; i < c->count; i++) {
		bool owes = c->servers[i]->ledger.debts.count > 0 && has_failed(c->servers[i]);
		next = rl_time_min(next, rl_link_deadline(&c->servers[i]->link));
		next = rl_time_min(next, opening_until(c, c->servers[i], now_ns));
		next = rl_time_min(next, leave_at(c->servers[i]));
		next = owes ? rl_time_min(next, c->pay_ns) : next;
	}
	for (unsigned i = 0; i < REDLOCK_MAX_NODES; i++) {
		if (c->owners[i] == NULL)
			continue;
		next = rl_time_min(next, opening_until(c, &c->list[i], now_ns));
		next = rl_time_min(next, leave_at(&c->list[i]));
		if (c->late[i].count > 0 || c->list[i].ledger.debts.count > 0)
			next = rl_time_min(next, c->pay_ns);
	}
	return next;
}

void rl_cluster_tick(struct rl_clusters *c, struct rl_wire *wire, uint64_t now_ns)
{
	for (unsigned i = 0; i < c->count; i++)
		rl_node_tick(c->servers[i], now_ns);
	for (unsigned i = 0; i < REDLOCK_MAX_NODES; i++)
		if (c->owners[i] != NULL)
			leave_silent(c, i, now_ns);
	if (now_ns < c->pay_ns)
		return;
	c->pay_ns = rl_time_add(now_ns, PAY_NS);
	for (unsigned i = 0; i < REDLOCK_MAX_NODES; i++)
		if (c->owners[i] != NULL)
			pay_all(c, i, wire, now_ns);
}
