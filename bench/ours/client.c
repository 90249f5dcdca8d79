/* SPDX-License-Identifier: MIT */
/* A client for the nodes of the command line. See client.h. */
#include "client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void client_check(int result, const char *what)
{
	if (result >= 0)
		return;
	fprintf(stderr, "%s: %s\n", what, redlock_strerror(result));
	exit(1);
}

redlock_client *client_open(const struct options *o)
{
	return client_open_traced(o, NULL);
}

/* Sets of equal size instead of one list. */
static void spread(struct redlock_options *options, unsigned count)
{
	static struct redlock_node_set sets[REDLOCK_MAX_SETS];
	static char names[REDLOCK_MAX_SETS][8];
	size_t size = options->url_count / count;
	for (unsigned i = 0; i < count && i < REDLOCK_MAX_SETS; i++) {
		snprintf(names[i], sizeof names[i], "s%u", i);
		sets[i] = (struct redlock_node_set){
		    .size = sizeof sets[i], .name = names[i], .urls = options->urls + i * size, .url_count = size};
	}
	options->urls = NULL;
	options->url_count = 0;
	options->sets = sets;
	options->set_count = count;
}

redlock_client *client_open_traced(const struct options *o, void (*trace)(void *user, const char *line))
{
	char text[MAX_NODES][256];
	const char *urls[MAX_NODES];
	struct redlock_options options;
	redlock_client *client = NULL;
	for (unsigned i = 0; i < o->node_count; i++) {
		bool path = strchr(o->nodes[i], '/') != NULL;
		snprintf(text[i], sizeof text[i], "%s%s", path ? "unix://" : "redis://127.0.0.1:", o->nodes[i]);
		urls[i] = text[i];
	}
	redlock_options_init(&options);
	options.urls = urls;
	options.url_count = o->node_count;
	options.user = o->user;
	options.password = o->user != NULL ? "bench" : NULL;
	options.trace = trace;
	options.guard = o->guard ? REDLOCK_GUARD_REQUIRE : REDLOCK_GUARD_OFF;
	if (o->sets > 0)
		spread(&options, o->sets);
	client_check(redlock_open(&options, &client), "open");
	if (o->sticky_ms > 0)
		client_check(redlock_keeper_start(client), "keeper_start");
	return client;
}

redlock_lock *client_lock(redlock_client *client, const struct options *o, unsigned number,
                          const struct redlock_lock_options *lock_options)
{
	static _Thread_local char name[REDLOCK_MAX_NAME];
	redlock_lock *lock = NULL;
	struct redlock_lock_options all;
	redlock_lock_options_init(&all);
	if (lock_options != NULL)
		all = *lock_options;
	all.fence |= o->fence;
	all.mode = o->shared ? REDLOCK_SHARED : all.mode;
	all.slots = o->slots > 0 ? o->slots : all.slots;
	all.sticky_ms = o->sticky_ms > 0 ? o->sticky_ms : all.sticky_ms;
	options_name(o, number, name);
	const struct redlock_name names[] = {{name, o->name_size}, {"bench-also", 10}};
	client_check(o->many ? redlock_lock_new_many_bytes(client, names, 2, &all, &lock)
	                     : redlock_lock_new_bytes(client, name, o->name_size, &all, &lock),
	             "lock_new");
	return lock;
}
