/* SPDX-License-Identifier: MIT */
/*
 * Looks host names up by getaddrinfo(3), which knows all that the system knows (NSS, /etc/hosts) and may
 * block for half a minute: in a thread of its own, which nobody ever waits for.
 */
#ifndef RL_OS_LOOKUP_H
#define RL_OS_LOOKUP_H

#include <stdbool.h>
#include <stdint.h>

#include "os/poller.h"
#include "os/resolve.h"

struct rl_lookup;

struct rl_lookup_result {
	/* In the order in which they are to be tried: the resolver's, with IPv6 and IPv4 in turn. None: it
	 * failed, and this is why. */
	struct rl_addresses addresses;
	char why[128];
	bool certain; /* the name has no address; else nobody could say */
};

/* Begins to look `host` up. When it has ended, the poller reports `id` as readable, until the result is
 * taken. 0 or -errno: no memory, descriptor or thread. */
int rl_lookup_start(const char *host, uint16_t port, struct rl_poller *poller, uint32_t id,
                    struct rl_lookup **ret);

/* Takes the result; then the lookup is gone. False: it has not ended. */
bool rl_lookup_take(struct rl_lookup *lookup, struct rl_poller *poller, struct rl_lookup_result *ret);

/* Leaves a lookup alone, without waiting: it frees itself when it ends. Its poller is closed, or will be. A
 * `child` process has no such thread, and frees it at once. */
void rl_lookup_leave(struct rl_lookup *lookup, bool child);

#endif
