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

void record_write(const struct servers *servers, unsigned count, unsigned max_ttl_ms, const char *floor)
{
	char members[SERVERS_MAX][128], all[SERVERS_MAX * 128] = "", pass[128], number[16];
	struct raw_reply reply;
	size_t used = 0;
	for (unsigned i = 0; i < count; i++)
		snprintf(members[i], sizeof members[i], "unix:%s/0", servers->server[i].socket);
	qsort(members, count, sizeof members[0], compare);
	for (unsigned i = 0; i < count; i++)
		used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", i > 0 ? " " : "", members[i]);
	for (unsigned i = 0; i < count; i++) {
		const struct server *server = &servers->server[i];
		const char *info = server_ask(server, &reply, "INFO", "server", NULL);
		snprintf(pass, sizeof pass, "%.40s:8899aabbccddeeff", strstr(info, "run_id:") + 7);
		server_ask(server, &reply, "DEL", "redlock:set", NULL);
		set(server, "pass", pass);
		snprintf(pass, sizeof pass, "unix:%s/0", server->socket);
		set(server, "node", pass);
		snprintf(number, sizeof number, "%u", count / 2 + 1);
		set(server, "quorum", number);
		snprintf(number, sizeof number, "%u", max_ttl_ms);
		set(server, "ttl", number);
		set(server, "members", all);
		set(server, "version", "1");
		set(server, "mode", "guard");
		set(server, "set", "00112233445566aa");
		set(server, "step", "1");
		set(server, "config", "8899aabbccddeeff");
		set(server, "gmax", floor != NULL ? floor : "0");
		if (floor != NULL)
			set(server, "floor", floor);
	}
}
