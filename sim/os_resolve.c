/* SPDX-License-Identifier: MIT */
/* The seam: names. "node<k>" and "/run/node<k>.sock" are node k; its address is that number. */
#include "os/resolve.h"

#include <stdio.h>

#include "world.h"

enum { ADDRESS_TCP = 'T', ADDRESS_UNIX = 'U', ADDRESS_LENGTH = 2 };

static void make_address(struct rl_address *ret, unsigned char kind, unsigned node)
{
	*ret = (struct rl_address){.length = ADDRESS_LENGTH};
	ret->bytes[0] = kind;
	ret->bytes[1] = (unsigned char)node;
}

/* Names stay unresolved for a minority of the nodes only, or the client could never acquire. */
static bool unresolved(struct world *w)
{
	struct actor *a = w->current;
	if (sim_world->useless_nodes + a->unresolved + a->quorum >= a->node_count ||
	    !world_mishap(w, COVER_NO_NAME))
		return false;
	a->unresolved++;
	return true;
}

int rl_resolve_host(const char *host, uint16_t port, struct rl_address *ret)
{
	unsigned node;
	(void)port;
	*ret = (struct rl_address){0};
	if (sscanf(host, "node%u", &node) != 1 || node >= sim_world->plan.nodes || unresolved(sim_world))
		return 1;
	make_address(ret, ADDRESS_TCP, node);
	return 0;
}

const char *rl_resolve_error(int code)
{
	return code != 0 ? "name does not resolve" : "success";
}

int rl_resolve_path(const char *path, struct rl_address *ret)
{
	unsigned node = 0;
	if (sscanf(path, "/run/node%u.sock", &node) != 1 || node >= sim_world->plan.nodes)
		check_fail(sim_world, VIOLATION_PROTOCOL, "the path of a socket is '%s'", path);
	make_address(ret, ADDRESS_UNIX, node);
	return 0;
}
