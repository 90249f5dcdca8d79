/* SPDX-License-Identifier: MIT */
/* Connections between clients and nodes. See link.h. */
#include "link.h"

#include <errno.h>
#include <stdlib.h>

#include "world.h"

/* How long a cut or a full queue makes TCP wait before it tries again, at most. */
#define RETRANSMIT_NS (200 * SIM_MS)

/* When a kernel gives up a connect that nobody answers. */
#define CONNECT_GIVE_UP_NS (127 * SIM_SECOND)

/* A pipe in an event: connection number and direction in one number. */
static uint32_t pipe_name(uint32_t conn, enum direction dir)
{
	return conn << 1 | (uint32_t)dir;
}

static struct conn *conn_of(struct world *w, uint32_t conn)
{
	return &w->links.conns[conn];
}

void links_free(struct links *links)
{
	for (uint32_t i = 0; i < links->count; i++)
		for (int dir = TO_NODE; dir <= TO_CLIENT; dir++) {
			buffer_free(&links->conns[i].pipe[dir].flight);
			buffer_free(&links->conns[i].pipe[dir].inbox);
		}
	free(links->conns);
	*links = (struct links){0};
}

static uint64_t delay(struct world *w)
{
	uint64_t ns = w->plan.delay_ns + prng_below(&w->net, w->plan.jitter_ns + 1);
	if (world_mishap(w, COVER_DELAY_SPIKE))
		ns += prng_between(&w->net, 1, 400) * SIM_MS;
	return ns;
}

/* Until when nothing passes in this direction; 0: now it does. */
static uint64_t cut_until(const struct world *w, const struct conn *c, enum direction dir)
{
	uint64_t until = w->cut_until_ns[c->actor][c->node][dir];
	return until > w->now_ns ? until : 0;
}

static void tell_receiver(struct world *w, const struct conn *c, enum direction dir)
{
	if (dir == TO_NODE)
		node_poke(w, c->node);
	else
		actor_poke(w, c->actor);
}

/* ---- what arrives ---- */

static uint64_t next_arrival(struct world *w, struct pipe *p, uint64_t earliest_ns)
{
	uint64_t at = earliest_ns + delay(w);
	p->last_ns = at > p->last_ns ? at : p->last_ns;
	return p->last_ns;
}

static void finish(struct world *w, uint32_t name, uint64_t error);

static void send_end(struct world *w, uint32_t conn, enum direction dir, int error)
{
	struct conn *c = conn_of(w, conn);
	world_at(w, next_arrival(w, &c->pipe[dir], w->now_ns), finish, pipe_name(conn, dir), (uint64_t)error);
}

/* A chunk in an event: its size, and when it was sent. */
#define CHUNK_SIZE_BITS 24

static uint64_t chunk_name(const struct world *w, size_t size)
{
	return w->now_ns / SIM_US << CHUNK_SIZE_BITS | size;
}

static void note_order(struct world *w, uint32_t conn, uint64_t sent_us)
{
	struct node *n = &w->nodes[conn_of(w, conn)->node];
	if (sent_us < n->newest_us && n->newest_conn != conn)
		world_hit(w, COVER_REORDERED);
	if (sent_us <= n->newest_us)
		return;
	n->newest_us = sent_us;
	n->newest_conn = conn;
}

/* A chunk's time has come. */
static void deliver(struct world *w, uint32_t name, uint64_t chunk)
{
	size_t size = chunk & ((1u << CHUNK_SIZE_BITS) - 1);
	uint32_t conn = name >> 1;
	enum direction dir = (enum direction)(name & 1);
	struct conn *c = conn_of(w, conn);
	struct pipe *p = &c->pipe[dir];
	uint64_t cut = cut_until(w, c, dir);
	if (c->silent || p->ended) {
		buffer_drop(&p->flight, size);
	} else if (cut != 0) {
		uint64_t again = cut + prng_below(&w->net, RETRANSMIT_NS);
		world_at(w, next_arrival(w, p, again), deliver, name, chunk);
	} else if (dir == TO_NODE && c->session == NULL) {
		buffer_drop(&p->flight, size); /* nobody has this connection any more: the answer is a reset */
		send_end(w, conn, TO_CLIENT, ECONNRESET);
	} else if (dir == TO_CLIENT && c->client_gone) {
		buffer_drop(&p->flight, size);
	} else {
		buffer_move(&p->inbox, &p->flight, size);
		if (dir == TO_NODE)
			note_order(w, conn, chunk >> CHUNK_SIZE_BITS);
		tell_receiver(w, c, dir);
	}
}

/* The end of a stream arrives, orderly or as a reset, after all chunks that still come. */
static void finish(struct world *w, uint32_t name, uint64_t error)
{
	enum direction dir = (enum direction)(name & 1);
	struct conn *c = conn_of(w, name >> 1);
	struct pipe *p = &c->pipe[dir];
	if (c->silent || p->ended)
		return;
	uint64_t cut = cut_until(w, c, dir);
	if (cut != 0 || p->flight.length > 0) {
		world_at(w, next_arrival(w, p, cut != 0 ? cut : w->now_ns), finish, name, error);
		return;
	}
	p->ended = true;
	p->error = (int)error;
	TRACE(w, "conn %u c%u %s n%u %s", name >> 1, c->actor, dir == TO_NODE ? ">" : "<", c->node,
	      error != 0 ? "reset" : "end");
	if (error != 0 && dir == TO_CLIENT && prng_chance(&w->net, 300))
		buffer_drop(&p->inbox, p->inbox.length); /* some systems drop what was not read */
	tell_receiver(w, c, dir);
}

/* Sends bytes in one or more chunks. */
static void push(struct world *w, uint32_t conn, enum direction dir, const void *bytes, size_t size)
{
	struct pipe *p = &conn_of(w, conn)->pipe[dir];
	if (conn_of(w, conn)->doomed)
		return;
	buffer_append(&p->flight, bytes, size);
	while (size > 0) {
		size_t piece = size;
		if (size > 1 && world_mishap(w, COVER_SPLIT_CHUNK))
			piece = prng_between(&w->net, 1, size - 1);
		world_at(w, next_arrival(w, p, w->now_ns), deliver, pipe_name(conn, dir), chunk_name(w, piece));
		size -= piece;
	}
}

/* ---- connecting ---- */

static void connected(struct world *w, uint32_t conn, uint64_t error)
{
	struct conn *c = conn_of(w, conn);
	if (c->state != CONN_CONNECTING || c->client_gone)
		return;
	if (error == 0 && (cut_until(w, c, TO_NODE) != 0 || cut_until(w, c, TO_CLIENT) != 0 ||
	                   w->nodes[c->node].machine_down)) {
		world_after(w, prng_between(&w->net, 1, 5) * RETRANSMIT_NS, connected, conn, error);
		return; /* SYN or its answer was lost: it is sent again */
	}
	if (error == 0 && !w->nodes[c->node].up)
		error = ECONNREFUSED;
	c->state = error == 0 ? CONN_OPEN : CONN_FAILED;
	c->connect_error = (int)error;
	if (error == 0)
		node_accept(w, c->node, conn);
	TRACE(w, "conn %u c%u > n%u %s", conn, c->actor, c->node, error == 0 ? "connected" : "not connected");
	actor_poke(w, c->actor);
}

static uint32_t conn_new(struct world *w, uint32_t actor, uint32_t node)
{
	struct links *links = &w->links;
	if (links->count == links->capacity) {
		links->capacity = links->capacity ? links->capacity * 2 : 64;
		links->conns = buffer_realloc(links->conns, links->capacity * sizeof *links->conns);
	}
	links->conns[links->count] = (struct conn){.actor = actor, .life = w->actors[actor].life, .node = node};
	return links->count++;
}

int link_connect(struct world *w, uint32_t actor, uint32_t node, bool local, uint32_t *ret_conn)
{
	static const int errors[] = {ENETUNREACH, EADDRNOTAVAIL, EAGAIN};
	if (world_mishap(w, COVER_CONNECT_ERROR))
		return -errors[prng_below(&w->net, 3)];
	uint32_t conn = conn_new(w, actor, node);
	*ret_conn = conn;
	if (local) { /* a Unix socket is connected at once, or not at all */
		connected(w, conn, 0);
		struct conn *c = conn_of(w, conn);
		if (c->state == CONN_CONNECTING)
			c->state = CONN_FAILED;
		if (c->state != CONN_OPEN)
			c->client_gone = true;
		return c->state == CONN_OPEN ? 0 : -ECONNREFUSED;
	}
	uint64_t error = world_mishap(w, COVER_CONNECT_REFUSED) ? ECONNREFUSED : 0;
	if (!world_mishap(w, COVER_CONNECT_HANG))
		world_after(w, 2 * delay(w), connected, conn, error);
	else
		world_after(
		    w, prng_chance(&w->net, 500) ? prng_between(&w->net, 500, 4000) * SIM_MS : CONNECT_GIVE_UP_NS,
		    connected, conn, ETIMEDOUT);
	return 0;
}

/* An address of a node at which nobody is: no way to it, refused, or silence. */
int link_connect_nobody(struct world *w, uint32_t actor, uint32_t node, uint32_t *ret_conn)
{
	uint64_t how = prng_below(&w->net, 3);
	if (how == 0)
		return -ENETUNREACH;
	*ret_conn = conn_new(w, actor, node);
	world_after(w, how == 1 ? 2 * delay(w) : CONNECT_GIVE_UP_NS, connected, *ret_conn,
	            how == 1 ? ECONNREFUSED : ETIMEDOUT);
	return 0;
}

/* ---- the client's side ---- */

ssize_t link_client_send(struct world *w, uint32_t conn, const void *bytes, size_t size)
{
	struct conn *c = conn_of(w, conn);
	if (c->pipe[TO_CLIENT].ended && c->pipe[TO_CLIENT].error != 0)
		return -c->pipe[TO_CLIENT].error;
	if (c->state != CONN_OPEN)
		return c->state == CONN_FAILED ? -EPIPE : -EAGAIN;
	size_t queued = c->pipe[TO_NODE].flight.length + c->pipe[TO_NODE].inbox.length;
	size_t room = queued < w->plan.send_room ? w->plan.send_room - queued : 0;
	if (room == 0) {
		world_hit(w, COVER_SEND_FULL);
		return -EAGAIN;
	}
	if (size > room)
		size = room;
	if (size > 1 && world_mishap(w, COVER_PARTIAL_WRITE))
		size = prng_between(&w->net, 1, size - 1);
	push(w, conn, TO_NODE, bytes, size);
	return (ssize_t)size;
}

ssize_t link_client_receive(struct world *w, uint32_t conn, void *bytes, size_t size)
{
	struct conn *c = conn_of(w, conn);
	struct pipe *p = &c->pipe[TO_CLIENT];
	if (c->state == CONN_FAILED)
		return -ENOTCONN;
	if (p->inbox.length == 0)
		return !p->ended ? -EAGAIN : -p->error;
	if (size > p->inbox.length)
		size = p->inbox.length;
	if (size > 1 && world_mishap(w, COVER_PARTIAL_READ))
		size = prng_between(&w->net, 1, size - 1);
	return (ssize_t)buffer_take(&p->inbox, bytes, size);
}

void link_client_close(struct world *w, uint32_t conn)
{
	struct conn *c = conn_of(w, conn);
	if (c->pipe[TO_CLIENT].inbox.length > 0 && prng_chance(&w->net, 500)) {
		link_client_abort(w, conn); /* a close with unread bytes is a reset, on some systems */
		c->aborted = false;
		return;
	}
	if (c->client_gone)
		return;
	c->client_gone = true;
	if (c->state == CONN_OPEN)
		send_end(w, conn, TO_NODE, 0);
}

void link_client_abort(struct world *w, uint32_t conn)
{
	struct conn *c = conn_of(w, conn);
	if (c->client_gone)
		return;
	c->client_gone = true;
	c->aborted = true;
	if (c->state != CONN_OPEN)
		return;
	/* How much the kernel had sent already is up to chance. */
	struct buffer *flight = &c->pipe[TO_NODE].flight;
	if (flight->length > 0)
		flight->length = prng_below(&w->net, flight->length + 1);
	send_end(w, conn, TO_NODE, ECONNRESET);
}

void link_client_die(struct world *w, uint32_t conn, bool machine)
{
	struct conn *c = conn_of(w, conn);
	if (c->client_gone)
		return;
	if (!machine) {
		link_client_close(w, conn);
		return;
	}
	c->client_gone = true;
	if (c->state == CONN_OPEN && !c->silent && prng_chance(&w->net, 500)) {
		buffer_move(&c->pipe[TO_NODE].inbox, &c->pipe[TO_NODE].flight, c->pipe[TO_NODE].flight.length);
		node_poke(w, c->node);
	}
	c->silent = true;
}

unsigned link_client_ready(const struct world *w, uint32_t conn)
{
	const struct conn *c = &w->links.conns[conn];
	if (c->state == CONN_CONNECTING)
		return 0;
	const struct pipe *in = &c->pipe[TO_CLIENT];
	if (c->state == CONN_FAILED || (in->ended && in->error != 0))
		return RL_READABLE | RL_WRITABLE;
	unsigned ready = in->inbox.length > 0 || in->ended ? RL_READABLE : 0;
	if (c->pipe[TO_NODE].flight.length + c->pipe[TO_NODE].inbox.length < w->plan.send_room)
		ready |= RL_WRITABLE;
	return ready;
}

/* ---- the node's side ---- */

void link_node_send(struct world *w, uint32_t conn, const void *bytes, size_t size)
{
	struct conn *c = conn_of(w, conn);
	if (size > 0 && !c->client_gone && !c->pipe[TO_NODE].error)
		push(w, conn, TO_CLIENT, bytes, size);
}

void link_node_close(struct world *w, uint32_t conn, bool reset)
{
	struct conn *c = conn_of(w, conn);
	node_forget(w, c->node, conn);
	buffer_drop(&c->pipe[TO_NODE].inbox, c->pipe[TO_NODE].inbox.length);
	if (!c->client_gone)
		send_end(w, conn, TO_CLIENT, reset ? ECONNRESET : 0);
}

/* ---- faults ---- */

void link_reset(struct world *w, uint32_t conn, bool lost)
{
	struct conn *c = conn_of(w, conn);
	c->silent = false;
	c->doomed = true;
	for (int dir = TO_NODE; dir <= TO_CLIENT; dir++) {
		struct pipe *p = &c->pipe[dir];
		if (lost)
			buffer_drop(&p->flight, p->flight.length);
		send_end(w, conn, (enum direction)dir, ECONNRESET);
	}
}

void link_silence(struct world *w, uint32_t conn)
{
	conn_of(w, conn)->silent = true;
}

void link_cut(struct world *w, uint32_t actor, uint32_t node, enum direction dir, uint64_t until_ns)
{
	uint64_t *until = &w->cut_until_ns[actor][node][dir];
	if (*until < until_ns)
		*until = until_ns;
}
