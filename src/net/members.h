/* SPDX-License-Identifier: MIT */
/* The members of a guarded node set as its record has them: each by the address of its URL. */
#ifndef RL_NET_MEMBERS_H
#define RL_NET_MEMBERS_H

#include "net/url.h"

/* HOST:PORT/DATABASE, unix:PATH/DATABASE, or sentinel:LIST/NAME/DATABASE. NULL: out of memory. */
char *rl_members_address(const struct rl_endpoint *endpoint);

/* All addresses in one text, sorted, so that each client has the same text for the same members. NULL: out of
 * memory. */
char *rl_members_join(char *const *addresses, unsigned count);

#endif
