/* SPDX-License-Identifier: MIT */
/* Facts that a server has reported about itself while a connection opened. */
#ifndef RL_NET_FACTS_H
#define RL_NET_FACTS_H

#include <stdbool.h>
#include <stdint.h>

struct rl_facts {
	int64_t client_id; /* of this connection at the server; 0: unknown */
	char run_id[41];   /* the server's identity; "": unknown. Stays until the next connection knows better */
	char left[41];     /* the identity before that, if another server had it; "": none is known */
	bool run_id_known; /* this connection was told */
	bool same_server;  /* and it is the one that the connection before was told */
};

#endif
