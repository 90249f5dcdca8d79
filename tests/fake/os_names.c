/* SPDX-License-Identifier: MIT */
/* The addresses of hosts and paths; the world decides them. */
#include "os.h"

bool rl_resolve_literal(const char *host, uint16_t port, struct rl_address *ret)
{
	*ret = (struct rl_address){0};
	return fake_world->literal != NULL && fake_world->literal(host, port, ret);
}

int rl_resolve_path(const char *path, struct rl_address *ret)
{
	fake_world->path(path, ret);
	return 0;
}
