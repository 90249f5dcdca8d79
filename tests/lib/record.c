/* SPDX-License-Identifier: MIT */
#include "record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void set(const struct server *server, const char *field, const char *value)
{
	struct raw_reply reply;
	server_ask(server, &reply, "HSET", "redlock:set", field, value, NULL);
}

/* The configuration is the same everywhere: what differs is the node. */
static void write_one(const struct server *server, const char *node, const char *members, unsigned quorum,
                      unsigned max_ttl_ms, const char *floor)
{
	char pass[128], number[16];
	struct raw_reply reply;
	const char *info = server_ask(server, &reply, "INFO", "server", NULL);
	snprintf(pass, sizeof pass, "%.40s:8899aabbccddeeff", strstr(info, "run_id:") + 7);
	server_ask(server, &reply, "DEL", "redlock:set", NULL);
	set(server, "pass", pass);
	set(server, "node", node);
	snprintf(number, sizeof number, "%u", quorum);
	set(server, "quorum", number);
	snprintf(number, sizeof number, "%u", max_ttl_ms);
	set(server, "ttl", number);
	set(server, "members", members);
	set(server, "version", "1");
	set(server, "mode", "guard");
	set(server, "set", "00112233445566aa");
	set(server, "step", "1");
	set(server, "config", "8899aabbccddeeff");
	set(server, "gmax", floor != NULL ? floor : "0");
	if (floor != NULL)
		set(server, "floor", floor);
}

void record_write(const struct servers *servers, unsigned count, unsigned max_ttl_ms, const char *floor)
{
	char members[SERVERS_MAX][128], all[SERVERS_MAX * 128] = "", node[128];
	size_t used = 0;
	for (unsigned i = 0; i < count; i++)
		snprintf(members[i], sizeof members[i], "unix:%s/0", servers->server[i].socket);
	qsort(members, count, sizeof members[0], compare);
	for (unsigned i = 0; i < count; i++)
		used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", i > 0 ? " " : "", members[i]);
	for (unsigned i = 0; i < count; i++) {
		snprintf(node, sizeof node, "unix:%s/0", servers->server[i].socket);
		write_one(&servers->server[i], node, all, count / 2 + 1, max_ttl_ms, floor);
	}
}

void record_write_alone(const struct server *server, const char *member, unsigned max_ttl_ms)
{
	write_one(server, member, member, 1, max_ttl_ms, "1000");
}
