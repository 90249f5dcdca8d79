/* SPDX-License-Identifier: MIT */
/*
 * The seam: names. "node<k>" and "/run/node<k>.sock" are node k; its address is that number. A lookup takes
 * its time, and may fail. Some names have a second address, at which nobody answers, in front or behind.
 */
#include "os/resolve.h"

#include <errno.h>
#include <stdio.h>

#include "world.h"

bool rl_resolve_literal(const char *host, uint16_t port, struct rl_address *ret)
{
	(void)host;
	(void)port;
	ret->length = 0;
	return false;
}

static void make_address(struct rl_address *ret, unsigned char kind, unsigned node)
{
	*ret = (struct rl_address){.length = SIM_ADDRESS_LENGTH};
	ret->bytes[0] = kind;
	ret->bytes[1] = (unsigned char)node;
}

int rl_resolve_path(const char *path, struct rl_address *ret)
{
	unsigned node = 0;
	if (sscanf(path, "/run/node%u.sock", &node) != 1 || node >= sim_world->plan.nodes)
		check_fail(sim_world, VIOLATION_PROTOCOL, "the path of a socket is '%s'", path);
	make_address(ret, SIM_ADDRESS_UNIX, node);
	return 0;
}

/* ---- lookups ---- */

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

int rl_lookup_start(const char *host, uint16_t port, struct rl_poller *poller, uint32_t id,
                    struct rl_lookup **ret)
{
	struct world *w = sim_world;
	struct actor *a = w->current;
	unsigned node;
	(void)poller;
	if (sscanf(host, "node%u", &node) != 1 || node >= w->plan.nodes || port != 7000 + node)
		check_fail(w, VIOLATION_PROTOCOL, "the name that is looked up is '%s:%u'", host, port);
	struct rl_lookup *l = &a->lookups[node];
	if (l->runs)
		check_fail(w, VIOLATION_PROTOCOL, "c%u looks '%s' up twice at a time", a->index, host);
	if (a->dying)
		return -EMFILE;
	*l = (struct rl_lookup){.runs = true, .node = node, .watch_id = id, .ends_ns = w->now_ns + duration(w)};
	world_at(w, l->ends_ns, ended, a->index, a->life);
	*ret = l;
	return 0;
}

bool rl_lookup_take(struct rl_lookup *l, struct rl_poller *poller, struct rl_lookup_result *ret)
{
	struct world *w = sim_world;
	(void)poller;
	if (l->ends_ns > w->now_ns)
		return false;
	l->runs = false;
	*ret = (struct rl_lookup_result){.certain = false};
	if (world_mishap(w, COVER_NO_NAME)) {
		ret->certain = prng_chance(&w->net, 500);
		snprintf(ret->why, sizeof ret->why, "name does not resolve");
		return true;
	}
	struct rl_addresses *to = &ret->addresses;
	unsigned real = 0;
	if (world_mishap(w, COVER_DEAD_ADDRESS)) {
		real = (unsigned)prng_below(&w->net, 2);
		make_address(&to->list[1 - real], SIM_ADDRESS_NOBODY, l->node);
		to->count++;
	}
	make_address(&to->list[real], SIM_ADDRESS_TCP, l->node);
	to->count++;
	return true;
}

void rl_lookup_leave(struct rl_lookup *l, bool child)
{
	(void)child;
	l->runs = false;
}
