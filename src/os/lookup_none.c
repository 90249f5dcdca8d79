/* SPDX-License-Identifier: MIT */
/* In the place of lookup.c in a program that is linked statically: glibc's resolver loads shared libraries.
 */
#include <errno.h>

#include "os/resolve.h"

int rl_lookup_start(const char *host, uint16_t port, struct rl_poller *poller, uint32_t id,
                    struct rl_lookup **ret)
{
	(void)host;
	(void)port;
	(void)poller;
	(void)id;
	*ret = NULL;
	return -ENOSYS;
}

bool rl_lookup_take(struct rl_lookup *lookup, struct rl_poller *poller, struct rl_lookup_result *ret)
{
	(void)lookup;
	(void)poller;
	(void)ret;
	return false;
}

void rl_lookup_leave(struct rl_lookup *lookup, bool child)
{
	(void)lookup;
	(void)child;
}
