/* SPDX-License-Identifier: MIT */
/* The life of a modelled server. tests/fake has its commands. */
#include "node.h"

#include <stdio.h>
#include <stdlib.h>

#include "broken.h"
#include "proof.h"
#include "redis_types.h"
#include "resp.h"
#include "world.h"

int64_t node_now_ms(const struct world *w, const struct node *n)
{
	return (int64_t)(drift_local(&n->clock, w->now_ns) / SIM_MS);
}

uint64_t node_expiry_world(const struct node *n, const struct key *key)
{
	if (key->expires_ms == KEY_FOREVER)
		return SIM_NEVER;
	return drift_world(&n->clock, ((uint64_t)key->expires_ms + 1) * SIM_MS);
}

bool node_has_value(const struct world *w, uint32_t node, struct bytes value)
{
	const struct node *n = &w->nodes[node];
	int64_t now_ms = node_now_ms(w, n);
	for (size_t i = 0; i < n->redis.keys.count; i++) {
		struct key room, member;
		const struct key *key = check_as_token(&n->redis.keys.keys[i], &room);
		if (key != NULL && key->type == KEY_ZSET)
			key = zset_member(key, value, &member) ? &member : NULL;
		if (key != NULL && now_ms <= key->expires_ms && bytes_equal(key->value, value))
			return true;
	}
	return false;
}

void node_expire(struct world *w, uint32_t node)
{
	struct node *n = &w->nodes[node];
	n->redis.now_ms = node_now_ms(w, n);
	redis_expire(&n->redis);
}

static void lose_data(struct world *w, uint32_t node)
{
	struct node *n = &w->nodes[node];
	w->change.lost_ns[node] = w->now_ns;
	for (size_t i = 0; i < n->redis.keys.count; i++)
		check_gone(w, node, &n->redis.keys.keys[i], w->now_ns);
	keyspace_clear(&n->redis.keys);
	proof_forgets(w, node);
}

/* ---- a guarded set ---- */

static const struct bytes record_name = {"redlock:set", 11};

static bool pass_of(const struct world *w, const struct node *n, struct bytes *ret)
{
	const struct key *key = keyspace_find(&n->redis.keys, w->plan.database, record_name, 0);
	return key != NULL && hash_get(key, text_bytes("pass"), ret);
}

bool node_admits(const struct world *w, const struct node *n)
{
	struct bytes pass;
	size_t size = strlen(n->redis.run_id);
	return pass_of(w, n, &pass) && pass.size > size && memcmp(pass.at, n->redis.run_id, size) == 0;
}

bool node_others_know(const struct world *w, uint32_t node)
{
	for (uint32_t i = 0; i < w->plan.nodes; i++) {
		const struct node *n = &w->nodes[i];
		struct bytes pass;
		if (i != node && pass_of(w, n, &pass) && !n->wipe && !n->other_password && !n->no_database)
			return true;
	}
	return false;
}

void node_flush(struct world *w, uint32_t node)
{
	TRACE(w, "n%u is flushed", node);
	lose_data(w, node);
}

static void begin_process(struct world *w, struct node *n)
{
	static const char digits[] = "0123456789abcdef";
	for (int i = 0; i < 40; i++)
		n->redis.run_id[i] = digits[prng_below(&w->chaos, 16)];
	n->up = true;
	n->machine_down = false;
	n->hung = false;
	n->starts++;
	n->redis.mode = REDIS_NORMAL;
	n->run_planned = false;
	n->redis.last_id = 0; /* ids begin anew: CLIENT KILL ID of an old one may hit a stranger */
	n->redis.cached = 0;
}

/* Makes a node one that is configured wrongly for ever. Plans in which a set joins have no such node: clients
 * of the step before need the nodes of one set, and clients of both sets need nearly all. */
static bool useless(struct world *w, enum sim_cover fault, bool possible)
{
	unsigned quorum = w->plan.quorum != 0 ? w->plan.quorum : w->plan.nodes / 2 + 1;
	if (!possible || w->plan.joins || w->useless_nodes + quorum >= w->plan.nodes || !world_mishap(w, fault))
		return false;
	w->useless_nodes++;
	return true;
}

void node_start(struct world *w, uint32_t node)
{
	struct node *n = &w->nodes[node];
	n->clock = (struct drift){
	    .base_world_ns = w->now_ns,
	    .base_local_ns = 1700000000 * SIM_SECOND + prng_below(&w->chaos, 1000 * SIM_SECOND),
	};
	if (w->plan.gap_ms[COVER_NODE_DRIFT] != 0)
		n->clock.rate_ppm =
		    (int32_t)prng_between(&w->chaos, 0, 2 * (uint64_t)w->plan.rate_ppm) - w->plan.rate_ppm;
	struct redis *r = &n->redis;
	*r = (struct redis){
	    .ears = &node_ears,
	    .world = w,
	    .edits = broken_scripts(w->plan.broken),
	};
	r->kill_denied = world_mishap(w, COVER_KILL_DENIED);
	r->info_denied = world_mishap(w, COVER_INFO_DENIED);
	r->eval_denied = world_mishap(w, COVER_EVAL_DENIED);
	r->queue_denied = world_mishap(w, COVER_QUEUE_DENIED);
	r->tells_keys = world_mishap(w, COVER_KEYS_TOLD);
	r->keys_denied = world_mishap(w, COVER_KEYS_DENIED);
	r->native =
	    world_mishap(w, COVER_NATIVE) ? (enum redis_native)prng_between(&w->chaos, 1, 2) : NATIVE_NONE;
	r->quiet_login = world_mishap(w, COVER_QUIET_LOGIN);
	r->queues_when_full = r->native != NATIVE_NONE;
	r->is_valkey_9 = r->native == NATIVE_DELIFEQ;
	n->other_password = useless(w, COVER_NO_LOGIN, w->plan.password != NULL);
	n->no_database = !n->other_password && useless(w, COVER_NO_DATABASE, w->plan.database != 0);
	r->user = w->plan.user;
	r->password = n->other_password ? "another" : w->plan.password;
	r->databases = n->no_database ? 1 : 16;
	begin_process(w, n);
	if (w->plan.guard)
		change_found(w, node);
}

void node_free(struct node *n)
{
	redis_free(&n->redis);
	buffer_free(&n->reply);
}

/* ---- sessions ---- */

void node_accept(struct world *w, uint32_t node, uint32_t conn)
{
	struct conn *c = &w->links.conns[conn];
	c->session = redis_accept(&w->nodes[node].redis);
	c->session->tag = conn;
	c->session->owner = KEY_OWNER(c->actor, c->life);
	c->session->queue_denied = w->actors[c->actor].plain;
}

void node_forget(struct world *w, uint32_t node, uint32_t conn)
{
	struct conn *c = &w->links.conns[conn];
	redis_forget(&w->nodes[node].redis, c->session);
	c->session = NULL;
}

/* ---- execution ---- */

static void serve(struct world *w, uint32_t node, uint32_t conn)
{
	struct node *n = &w->nodes[node];
	struct conn *c = &w->links.conns[conn];
	struct pipe *in = &c->pipe[TO_NODE];
	bool gives_up = false;
	if (c->session == NULL)
		return;
	if (n->redis.mode == (enum redis_mode)NODE_GARBAGE && in->inbox.length > 0) {
		static const char garbage[] = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";
		link_node_send(w, conn, garbage, sizeof garbage - 1);
		c->session->stray = true;
		world_hit(w, COVER_GARBAGE);
	} else if (in->inbox.length > 0) {
		/* A server that cannot write its answers gives up the connection, and what it has not read of it. */
		gives_up = c->client_gone && prng_chance(&w->net, 300);
		unsigned most = gives_up ? (unsigned)prng_between(&w->net, 1, 3) : UINT32_MAX;
		redis_serve(&n->redis, c->session, &in->inbox, most, &n->reply);
		link_node_send(w, conn, buffer_front(&n->reply), n->reply.length);
		buffer_drop(&n->reply, n->reply.length);
		actor_poke(w, c->actor); /* there is room again for what it wants to send */
	}
	c->session->stray |= gives_up;
	if (in->ended || c->session->stray)
		link_node_close(w, conn, false);
}

static void node_run(struct world *w, uint32_t node, uint64_t starts)
{
	struct node *n = &w->nodes[node];
	if (starts != n->starts)
		return;
	n->run_planned = false;
	if (!n->up || n->hung)
		return;
	node_expire(w, node);
	uint32_t count = n->redis.open_count;
	if (count == 0)
		return;
	/* The order among the sessions is up to chance; serving one may close others. */
	uint32_t *order = buffer_realloc(NULL, count * sizeof *order);
	for (uint32_t i = 0; i < count; i++)
		order[i] = n->redis.open[i]->tag;
	uint32_t first = (uint32_t)prng_below(&w->net, count);
	for (uint32_t i = 0; i < count; i++)
		serve(w, node, order[(first + i) % count]);
	free(order);
}

void node_poke(struct world *w, uint32_t node)
{
	struct node *n = &w->nodes[node];
	if (!n->up || n->hung || n->run_planned)
		return;
	n->run_planned = true;
	world_after(w, prng_between(&w->net, 2, 60) * SIM_US + n->slow_ns, node_run, node, n->starts);
}

/* ---- faults ---- */

void node_crash(struct world *w, uint32_t node, bool wipe, bool machine)
{
	struct node *n = &w->nodes[node];
	TRACE(w, "n%u crashes%s%s", node, wipe ? ", data lost" : "", machine ? ", with its machine" : "");
	n->up = false;
	n->machine_down = machine;
	n->wipe = n->wipe || wipe;
	while (n->redis.open_count > 0) {
		uint32_t conn = n->redis.open[n->redis.open_count - 1]->tag;
		struct buffer *replies = &w->links.conns[conn].pipe[TO_CLIENT].flight;
		if (machine) {
			node_forget(w, node, conn);
			link_silence(w, conn);
			continue;
		}
		if (prng_chance(&w->net, 500))
			buffer_drop(replies, replies->length);
		link_node_close(w, conn, prng_chance(&w->net, 500));
	}
	/* With delayed restart, data that was lost cannot be told from data that has expired meanwhile. So it
	 * goes when the node comes back, and till then the checkers can see what was promised on it. */
	if (n->wipe && plan_forgets(&w->plan))
		lose_data(w, node);
}

void node_restart(struct world *w, uint32_t node)
{
	struct node *n = &w->nodes[node];
	if (n->wipe)
		lose_data(w, node);
	n->wipe = false;
	begin_process(w, n);
	TRACE(w, "n%u starts", node);
	for (uint32_t i = 0; i < w->links.count; i++)
		if (w->links.conns[i].node == node && w->links.conns[i].silent && !w->links.conns[i].client_gone)
			link_reset(w, i, true);
}

void node_hang(struct world *w, uint32_t node, bool hung)
{
	TRACE(w, "n%u %s", node, hung ? "hangs" : "goes on");
	w->nodes[node].hung = hung;
	node_poke(w, node);
}
