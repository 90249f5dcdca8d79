/* SPDX-License-Identifier: MIT */
/*
 * The masters of a node that is a Redis Cluster, as one of its servers lists them (CLUSTER NODES), and what
 * each of them says of itself: for status and doctor. Nothing is written.
 */
#ifndef REDLOCK_TOOL_SHARDS_H
#define REDLOCK_TOOL_SHARDS_H

#include <redlock/ask.h>

#include "json.h"

#define SHARD_SLOTS 16384u

struct shard {
	char address[96]; /* HOST:PORT */
	unsigned slots;
	bool up;       /* it has answered */
	bool replica;  /* it says that it is one meanwhile */
	int replicas;  /* that are connected to it */
	char why[128]; /* it is not up: why */
};

struct shards {
	unsigned count; /* 0: they could not be listed */
	unsigned more;  /* masters for which there is no room in `list` */
	unsigned slots; /* that some master has */
	char why[128];  /* count 0: why */
	struct shard list[REDLOCK_MAX_NODES];
};

/* Whether the address is that of a Redis Cluster. */
bool shards_are_of(const char *address);

/* Lists the masters that have slots. */
void shards_list(redlock_asker *asker, unsigned node, uint64_t timeout_ms, struct shards *ret);

/* Makes an asker for these masters, in their order. Returns as redlock_asker_open_servers(). */
int shards_open(redlock_client *client, unsigned node, const struct shards *shards, redlock_asker **ret);

/* Asks each for its role and replicas. */
void shards_look(redlock_client *client, unsigned node, uint64_t timeout_ms, struct shards *shards);

/* Takes the answer to INFO or INFO replication. */
void shard_take(struct shard *shard, const struct redlock_question *info);

/* "127.0.0.1:7000: up, 5461 slots, 1 replica". Returns `buffer`. */
const char *shard_text(const struct shard *shard, char *buffer, size_t size);

/* The member "servers". */
void shards_json(const struct shards *shards, struct json *json);

#endif
