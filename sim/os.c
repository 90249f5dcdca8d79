/* SPDX-License-Identifier: MIT */
/*
 * The system of the library, in this world: connections are links, names are nodes. "node<k>" and
 * "/run/node<k>.sock" are node k; a lookup takes its time, and may fail; some names have a second address, at
 * which nobody answers, before or after the first.
 */
#include <errno.h>
#include <stdio.h>

#include "world.h"

enum { ADDRESS_TCP = 'T', ADDRESS_UNIX = 'U', ADDRESS_NOBODY = 'N' };

static void wrong(const char *what, int fd)
{
	struct world *w = sim_world;
	check_fail(w, VIOLATION_DESCRIPTOR, "c%u %s: %d", w->current->index, what, fd);
}

static uint64_t now(void)
{
	return actor_now(sim_world, sim_world->current);
}

static int64_t ahead(void)
{
	const struct world *w = sim_world;
	return w->plan.broken == BREAK_WALL ? 0 : w->current->ahead_ns;
}

/* A stream for each process. */
static int random_bytes(void *buffer, size_t size)
{
	struct world *w = sim_world;
	struct actor *a = w->current;
	unsigned char *at = buffer;
	struct prng always_the_same, *from = &a->random;
	if (world_mishap(w, COVER_NO_RANDOM))
		return -ENOSYS;
	if (w->plan.broken == BREAK_TOKEN) {
		actor_seed(w, a, &always_the_same);
		from = &always_the_same;
	}
	for (size_t i = 0; i < size; i++)
		at[i] = (unsigned char)prng_next(from);
	return 0;
}

/* ---- connections ---- */

static int connect_to(const struct rl_address *address, uint32_t *ret_conn)
{
	struct world *w = sim_world;
	const struct actor *a = w->current;
	if (a->dying)
		return -EMFILE;
	if (address->bytes[0] == ADDRESS_NOBODY)
		return link_connect_nobody(w, a->index, address->bytes[1], ret_conn);
	return link_connect(w, a->index, address->bytes[1], address->bytes[0] == ADDRESS_UNIX, ret_conn);
}

static int connected(uint32_t conn)
{
	const struct conn *c = &sim_world->links.conns[conn];
	return c->state == CONN_CONNECTING ? 0 : -c->connect_error;
}

static ssize_t send_bytes(uint32_t conn, const void *bytes, size_t size)
{
	return sim_world->current->dying ? -EPIPE : link_client_send(sim_world, conn, bytes, size);
}

static ssize_t receive(uint32_t conn, void *bytes, size_t size)
{
	return sim_world->current->dying ? -EPIPE : link_client_receive(sim_world, conn, bytes, size);
}

static void close_conn(uint32_t conn, bool abort)
{
	(abort ? link_client_abort : link_client_close)(sim_world, conn);
}

static unsigned ready(const struct fake_fd *fd)
{
	const struct conn *c = &sim_world->links.conns[fd->conn];
	unsigned events = link_client_ready(sim_world, fd->conn);
	bool failed = c->state == CONN_FAILED || c->pipe[TO_CLIENT].error != 0;
	return failed ? events : events & fd->events;
}

static unsigned first(void)
{
	return (unsigned)prng_below(&sim_world->net, FAKE_FDS);
}

static void armed(void)
{
	actor_plan_timer(sim_world, sim_world->current->index);
}

static void woken(void)
{
	actor_poke(sim_world, sim_world->current->index);
}

/* ---- names ---- */

static void path(const char *text, struct rl_address *ret)
{
	unsigned node = 0;
	if (sscanf(text, "/run/node%u.sock", &node) != 1 || node >= sim_world->plan.nodes)
		check_fail(sim_world, VIOLATION_PROTOCOL, "the path of a socket is '%s'", text);
	*ret = fake_address(ADDRESS_UNIX, node);
}

static void ended(struct world *w, uint32_t actor, uint64_t life)
{
	if (w->actors[actor].life == life)
		actor_poke(w, actor);
}

static uint64_t duration(struct world *w)
{
	if (world_mishap(w, COVER_SLOW_NAME))
		return prng_between(&w->net, 10, 6000) * SIM_MS;
	return prng_between(&w->net, 50, 3000) * SIM_US;
}

static int look_up(const char *host, uint16_t port, struct rl_lookup *l)
{
	struct world *w = sim_world;
	struct actor *a = w->current;
	if (sscanf(host, "node%u", &l->node) != 1 || l->node >= w->plan.nodes || port != 7000 + l->node)
		check_fail(w, VIOLATION_PROTOCOL, "the name that is looked up is '%s:%u'", host, port);
	for (unsigned i = 0; i < FAKE_LOOKUPS; i++)
		if (a->os.lookups[i].runs && a->os.lookups[i].node == l->node)
			check_fail(w, VIOLATION_PROTOCOL, "c%u looks '%s' up twice at a time", a->index, host);
	if (a->dying)
		return -EMFILE;
	l->ends_ns = w->now_ns + duration(w);
	world_at(w, l->ends_ns, ended, a->index, a->life);
	return 0;
}

static bool has_ended(const struct rl_lookup *l)
{
	return l->ends_ns <= sim_world->now_ns;
}

static void found(const struct rl_lookup *l, struct rl_lookup_result *ret)
{
	struct world *w = sim_world;
	struct rl_addresses *to = &ret->addresses;
	unsigned real = 0;
	if (world_mishap(w, COVER_NO_NAME)) {
		ret->certain = prng_chance(&w->net, 500);
		snprintf(ret->why, sizeof ret->why, "name does not resolve");
		return;
	}
	if (world_mishap(w, COVER_DEAD_ADDRESS)) {
		real = (unsigned)prng_below(&w->net, 2);
		to->list[1 - real] = fake_address(ADDRESS_NOBODY, l->node);
		to->count++;
	}
	to->list[real] = fake_address(ADDRESS_TCP, l->node);
	to->count++;
}

const struct fake_world sim_os = {
    .wrong = wrong,
    .now = now,
    .ahead = ahead,
    .random = random_bytes,
    .connect = connect_to,
    .connected = connected,
    .send = send_bytes,
    .receive = receive,
    .close = close_conn,
    .ready = ready,
    .first = first,
    .armed = armed,
    .woken = woken,
    .look_up = look_up,
    .has_ended = has_ended,
    .found = found,
    .path = path,
};
