/* SPDX-License-Identifier: MIT */
/*
 * A Redis Cluster of six real servers, three masters with a replica each, and two plain masters beside it:
 * for the tests of a cluster as one node. Slots are moved as `redis-cli --cluster reshard` does it.
 */
#pragma once

#include <stdio.h>
#include <unistd.h>

#include "fixture.h"

enum { SERVERS = 6, MASTERS = 3, SLOTS = 16384, NODE_TIMEOUT_MS = 500 };

static const char *const cluster_options[] = {"--cluster-enabled", "yes", "--cluster-node-timeout", "5000",
                                              NULL};
static char url[160], seed_urls[SERVERS][96];
static const char *const one_url[] = {url};
static struct servers plain; /* masters that are nodes by themselves */

/* ---- the cluster ---- */

struct shard {
	struct server *master;
	char id[48];
};

static inline const char *id_of(const struct server *s, char id[48])
{
	struct raw_reply reply;
	snprintf(id, 48, "%s", server_ask(s, &reply, "CLUSTER", "MYID", NULL));
	return id;
}

static inline bool says(const struct server *s, const char *what)
{
	struct raw_reply reply;
	return strstr(server_ask(s, &reply, "CLUSTER", "INFO", NULL), what) != NULL;
}

static inline bool is_master(const struct server *s)
{
	struct raw_reply reply;
	return strstr(server_ask(s, &reply, "INFO", "replication", NULL), "role:master") != NULL;
}

static inline bool is_synced(const struct server *s)
{
	struct raw_reply reply;
	return is_master(s) ||
	       strstr(server_ask(s, &reply, "INFO", "replication", NULL), "master_link_status:up") != NULL;
}

/* All servers run, and agree; three are masters, and the others have their data. */
static inline bool is_whole(void)
{
	unsigned masters = 0;
	bool whole = true;
	on_servers(0, SERVERS, {
		whole = whole && says(it, "cluster_state:ok") && says(it, "cluster_known_nodes:6") && is_synced(it);
		masters += is_master(it);
	});
	return whole && masters == MASTERS;
}

static inline void meet(void)
{
	on_servers(1, SERVERS, {
		char port[16];
		snprintf(port, sizeof port, "%d", it->port);
		server_must(&servers.server[0], "OK", "CLUSTER", "MEET", "127.0.0.1", port, NULL);
	});
	for (int i = 0; i < MASTERS; i++) {
		char from[16], to[16], epoch[16];
		snprintf(from, sizeof from, "%d", i * SLOTS / MASTERS);
		snprintf(to, sizeof to, "%d", (i + 1) * SLOTS / MASTERS - 1);
		snprintf(epoch, sizeof epoch, "%d", i + 1);
		server_must(&servers.server[i], "OK", "CLUSTER", "ADDSLOTSRANGE", from, to, NULL);
	}
	on_servers(0, SERVERS, assert_soon(says(it, "cluster_known_nodes:6")));
	for (int i = MASTERS; i < SERVERS; i++) {
		char id[48];
		struct raw_reply reply;
		id_of(&servers.server[i - MASTERS], id);
		assert_soon(strcmp(server_ask(&servers.server[i], &reply, "CLUSTER", "REPLICATE", id, NULL), "OK") ==
		            0);
	}
	assert_soon(is_whole());
}

static inline void start(void)
{
	servers_start(&servers, SERVERS, cluster_options);
	servers_start(&plain, 2, NULL);
	on_servers(0, SERVERS, server_must(it, "OK", "CONFIG", "SET", "repl-diskless-sync-delay", "0", NULL));
	meet();
	for (int i = 0; i < SERVERS; i++)
		snprintf(seed_urls[i], sizeof seed_urls[i], "redis+cluster://127.0.0.1:%d/", servers.server[i].port);
	snprintf(url, sizeof url, "redis+cluster://127.0.0.1:%d,127.0.0.1:%d/", servers.server[MASTERS].port,
	         servers.server[1].port); /* the first is a replica */
}

static inline void stop(void)
{
	servers_stop(&servers);
	servers_stop(&plain);
}

/* The master that has the slot, by its own word. */
static inline struct server *owner_of(const char *name)
{
	struct raw_reply reply;
	for (uint64_t began = wait_now_ns(); wait_elapsed_ms(began) < WAIT_SOON_MS; wait_ms(5)) {
		on_servers(0, SERVERS, {
			if (it->pid == 0 || !is_master(it))
				continue;
			server_ask(it, &reply, "GET", name, NULL);
			if (reply.type == '$' || reply.type == '_')
				return it;
		});
	}
	on_servers(0, SERVERS, {
		printf("SRV %d GET: %s\n", it->port, server_ask(it, &reply, "GET", name, NULL));
		printf("%s\n", server_ask(it, &reply, "CLUSTER", "NODES", NULL));
	});
	fail_msg("no server has the slot of %s", name);
	return NULL;
}

static inline const char *slot_of(const char *name, char slot[16])
{
	struct raw_reply reply;
	snprintf(slot, 16, "%s", server_ask(&servers.server[0], &reply, "CLUSTER", "KEYSLOT", name, NULL));
	return slot;
}

static inline struct server *other_master(const struct server *than)
{
	static unsigned next;
	for (;;) {
		struct server *it = &servers.server[next++ % SERVERS];
		if (it != than && it->pid != 0 && is_master(it))
			return it;
	}
}

static inline void begin_move(const char *name, const struct server *from, const struct server *to)
{
	char slot[16], source[48], target[48];
	slot_of(name, slot);
	server_must(to, "OK", "CLUSTER", "SETSLOT", slot, "IMPORTING", id_of(from, source), NULL);
	server_must(from, "OK", "CLUSTER", "SETSLOT", slot, "MIGRATING", id_of(to, target), NULL);
}

static inline void move_keys(const char *name, const struct server *from, const struct server *to)
{
	char port[16], queue[64], offers[64];
	struct raw_reply reply;
	snprintf(port, sizeof port, "%d", to->port);
	snprintf(queue, sizeof queue, "{%s}:redlock:queue", name);
	snprintf(offers, sizeof offers, "{%s}:redlock:offers", name);
	server_ask(from, &reply, "MIGRATE", "127.0.0.1", port, "", "0", "5000", "KEYS", name, queue, offers,
	           NULL);
}

/* The source refuses as long as it has keys. */
static inline void end_move(const char *name, const struct server *from, const struct server *to)
{
	char slot[16], target[48];
	struct raw_reply reply;
	slot_of(name, slot);
	id_of(to, target);
	server_must(to, "OK", "CLUSTER", "SETSLOT", slot, "NODE", target, NULL);
	for (uint64_t began = wait_now_ns();; move_keys(name, from, to)) {
		if (strcmp(server_ask(from, &reply, "CLUSTER", "SETSLOT", slot, "NODE", target, NULL), "OK") == 0)
			break;
		assert_true(wait_elapsed_ms(began) < WAIT_SOON_MS);
	}
}

static inline void move(const char *name)
{
	struct server *from = owner_of(name), *to = other_master(from);
	begin_move(name, from, to);
	wait_ms(20);
	move_keys(name, from, to);
	wait_ms(5);
	end_move(name, from, to);
}

static inline bool has_key(const struct server *s, const char *key)
{
	struct raw_reply reply;
	return strstr(server_ask(s, &reply, "KEYS", key, NULL), key) != NULL;
}

static inline void expect_free(const char *name)
{
	on_servers(0, SERVERS, { assert_soon(!has_key(it, name)); });
}
