/* SPDX-License-Identifier: MIT */
/* Opens and closes a client, with a part for each node set if it has several. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "core/sized.h"
#include "open.h"
#include "os/bell.h"

static int fail(const struct redlock_options *o, int error, const char *why)
{
	if (o->error_text != NULL && o->error_text_size > 0)
		snprintf(o->error_text, o->error_text_size, "%s", why);
	return error;
}

static int refuse(const struct redlock_options *o, const char *option, const char *why)
{
	if (o->error_option != NULL)
		*o->error_option = option;
	return fail(o, REDLOCK_E_INVAL, why);
}

/* ---- a part ---- */

/* The parts trace in their own threads, and the caller is promised one line at a time. */
static void trace(void *user, const char *line)
{
	redlock_client *whole = user;
	rl_loop_enter(&whole->loop);
	whole->trace(whole->trace_user, line);
	rl_loop_leave(&whole->loop);
}

static int open_one(redlock_client *whole, const struct redlock_options *o,
                    const struct redlock_node_set *nodes, redlock_client **ret)
{
	char why[256] = "", text[512];
	struct redlock_options of_part = *o;
	of_part.sets = NULL;
	of_part.set_count = 0;
	of_part.urls = nodes->urls;
	of_part.url_count = nodes->url_count;
	of_part.quorum = nodes->quorum;
	of_part.trace = o->trace != NULL ? trace : NULL;
	of_part.trace_user = whole;
	of_part.error_node = NULL; /* an index says nothing without its set */
	of_part.error_text = why;
	of_part.error_text_size = sizeof why;
	int error = rl_client_open(&of_part, true, ret);
	if (error < 0) {
		snprintf(text, sizeof text, "node set %s%s: %s", nodes->name,
		         nodes->joining ? " with the one that joins" : "", why);
		refuse(o, o->error_option != NULL ? *o->error_option : NULL, text);
	}
	return error;
}

static int open_part(redlock_client *whole, const struct redlock_options *o,
                     const struct rl_spread_sets *sets, struct rl_spread_choice choice)
{
	struct rl_client_parts *parts = whole->parts;
	struct redlock_node_set nodes;
	const char *urls[REDLOCK_MAX_NODES], *why = rl_spread_nodes(sets, choice, urls, &nodes);
	if (why != NULL)
		return refuse(o, "sets", why);
	int error = open_one(whole, o, &nodes, &parts->list[parts->count]);
	if (error < 0)
		return error;
	(choice.joins ? parts->joint : parts->alone)[choice.set] = parts->count;
	int fd = parts->list[parts->count]->loop.poller.fd;
	error = rl_poller_watch(&whole->loop.poller, fd, parts->count, RL_READABLE, false);
	parts->count++;
	return error == 0 ? 0 : fail(o, REDLOCK_E_SYSTEM, strerror(-error));
}

/* ---- all ---- */

/* The texts of the caller do not stay, and of the sets only the names are needed. */
static bool keep_names(struct rl_spread_sets *to, const struct rl_spread_sets *sets)
{
	to->joining = sets->joining;
	for (; to->count < sets->count; to->count++) {
		to->list[to->count].name = strdup(sets->list[to->count].name);
		if (to->list[to->count].name == NULL)
			return false;
	}
	return true;
}

/* A part for each set that does not join, and then one for each of these with the set that does. */
static int open_parts(redlock_client *c, const struct redlock_options *o, const struct rl_spread_sets *sets)
{
	int error = 0;
	c->parts = calloc(1, sizeof *c->parts);
	if (c->parts == NULL)
		return fail(o, REDLOCK_E_NOMEM, "out of memory");
	c->parts->notice_fd = -1;
	if (!keep_names(&c->parts->sets, sets))
		return fail(o, REDLOCK_E_NOMEM, "out of memory");
	for (unsigned i = 0; i < sets->count && error == 0; i++)
		if (i != sets->joining)
			error = open_part(c, o, sets, (struct rl_spread_choice){.set = i});
	for (unsigned i = 0; i < sets->count && error == 0 && sets->joining < sets->count; i++)
		if (i != sets->joining)
			error = open_part(c, o, sets, (struct rl_spread_choice){.set = i, .joins = true});
	return error;
}

static void close_parts(struct rl_client_parts *parts)
{
	for (unsigned i = 0; i < parts->count; i++)
		rl_client_close(parts->list[i]);
	for (unsigned i = 0; i < parts->sets.count; i++)
		free((char *)parts->sets.list[i].name);
	rl_bell_close(parts->notice_fd);
	free(parts);
}

static int open_sets(const struct redlock_options *o, redlock_client **ret)
{
	struct rl_spread_sets sets;
	redlock_client *c = NULL;
	const char *why = rl_spread_take(o, &sets);
	if (why != NULL)
		return refuse(o, "sets", why);
	int error = rl_client_make(o, &c);
	if (error < 0)
		return error;
	error = open_parts(c, o, &sets);
	if (error == 0)
		*ret = c;
	else
		redlock_close(c);
	return error;
}

int redlock_open(const struct redlock_options *options, redlock_client **ret_client)
{
	RL_NO_CANCEL;
	struct redlock_options o;
	redlock_options_init(&o);
	if (options == NULL || ret_client == NULL)
		return REDLOCK_E_INVAL;
	int error = rl_sized_copy(&o, sizeof o, options);
	if (error < 0)
		return options->size > sizeof o && options->size <= RL_SIZED_MOST
		           ? refuse(options, NULL, "there is an option that this library does not know")
		           : error;
	refuse(&o, NULL, "");
	if (o.drift_ppm == 0 && o.drift_ms == 0 && o.stop_fd == 0)
		return refuse(&o, NULL, "the options are zero: call redlock_options_init() before you set any");
	if (o.error_node != NULL)
		*o.error_node = -1;
	bool spreads = o.sets != NULL || o.set_count > 0; /* one without the other is refused */
	return spreads ? open_sets(&o, ret_client) : rl_client_open(&o, false, ret_client);
}

void redlock_release_all(redlock_client *c)
{
	RL_NO_CANCEL;
	if (c == NULL)
		return;
	for (unsigned i = 0; c->parts != NULL && i < c->parts->count; i++)
		rl_client_release(c->parts->list[i]);
	rl_client_release(c);
}

void redlock_close(redlock_client *c)
{
	RL_NO_CANCEL;
	if (c == NULL)
		return;
	if (c->parts != NULL)
		close_parts(c->parts);
	rl_client_close(c);
}
