/* SPDX-License-Identifier: MIT */
/* Handles of clients that share the lock "job" of five servers, or want it alone. */
#ifndef TEST_READERS_H
#define TEST_READERS_H

#include <string.h>

#include "fixture.h"

enum { NODES = 5, QUORUM = 3 };

static inline redlock_client *open_client(void)
{
	return fixture_open(servers.urls, NODES, 0);
}

static inline redlock_lock *shared_with(redlock_client *client, const char *name, uint64_t ttl_ms,
                                        uint64_t wait_ms)
{
	struct redlock_lock_options options = fixture_options(ttl_ms);
	options.mode = REDLOCK_SHARED;
	options.wait_ms = wait_ms;
	return fixture_lock_with(client, name, &options);
}

static inline redlock_lock *reader(redlock_client *client, uint64_t wait_ms)
{
	return shared_with(client, "job", WAIT_LONG_TTL_MS, wait_ms);
}

static inline redlock_lock *writer(redlock_client *client, uint64_t wait_ms)
{
	return fixture_lock(client, "job", WAIT_LONG_TTL_MS, wait_ms);
}

/* Shares it by a value of its own. */
static inline redlock_lock *reader_with(redlock_client *client, const char *value)
{
	struct redlock_lock_options options = fixture_options(WAIT_LONG_TTL_MS);
	options.mode = REDLOCK_SHARED;
	options.token = value;
	options.token_len = strlen(value);
	return fixture_lock_with(client, "job", &options);
}

/* On how many nodes so many share it. */
static inline unsigned nodes_with(const char *members)
{
	unsigned count = 0;
	struct raw_reply reply;
	for (unsigned i = 0; i < NODES; i++)
		count += strcmp(server_ask(&servers.server[i], &reply, "ZCARD", "job", NULL), members) == 0;
	return count;
}

/* A connection may be open too late for the quorum; and it may be the one to the node at which others wait.
 */
static inline void expect_on_all(redlock_client *client)
{
	assert_driven(client, servers_with_key(&servers, NODES, "job") == NODES);
}

#endif
