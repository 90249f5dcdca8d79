/* SPDX-License-Identifier: MIT */
/*
 * Addresses that are written out, and paths: they cost no system call. Names: lookup.h.
 */
#ifndef RL_OS_RESOLVE_H
#define RL_OS_RESOLVE_H

#include <stdbool.h>
#include <stdint.h>

#include "os/socket.h"

#define RL_MAX_ADDRESSES 8

struct rl_addresses {
	unsigned count;
	struct rl_address list[RL_MAX_ADDRESSES];
};

/* Takes a host that is an IPv4 or IPv6 address. False: it is a name (or has a zone, as fe80::1%eth0). */
bool rl_resolve_literal(const char *host, uint16_t port, struct rl_address *ret);

/* The address of a Unix socket. Returns 0, or -ENAMETOOLONG. */
int rl_resolve_path(const char *path, struct rl_address *ret);

#endif
