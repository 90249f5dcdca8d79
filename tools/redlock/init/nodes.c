/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "../exit_codes.h"
#include "../message.h"
#include "../nodes.h"
#include "../values.h"
#include "init.h"

const char *init_address(const struct init *in, unsigned node)
{
	static struct redlock_node_status status = {.size = sizeof status}; /* one at a time, in one thread */
	return redlock_node_status(in->session.client, node, &status) == 0 ? status.address : in->member[node];
}

/* ---- members ---- */

/* As records have them. NULL: out of memory. */
static char *join(const struct init *in, const bool *of)
{
	const char *members[REDLOCK_MAX_NODES + 1];
	size_t count = 0;
	for (unsigned i = 0; i < in->nodes; i++)
		if (of[i])
			members[count++] = in->member[i];
	return guard_record_join(members, count);
}

static void put_quorum(const struct init *in, const bool *of, char ret[4])
{
	unsigned count = 0;
	for (unsigned i = 0; i < in->nodes; i++)
		count += of[i];
	unsigned asked = (unsigned)in->settings->quorum;
	snprintf(ret, 4, "%u", (asked > count / 2 + 1 ? asked : count / 2 + 1) % 100);
}

static int find_member(const struct init *in, const char *member)
{
	for (unsigned i = 0; i < in->nodes; i++)
		if (strcmp(in->member[i], member) == 0)
			return (int)i;
	return -1;
}

static int append(struct init *in, const char *url)
{
	if (!text_list_add(&in->own.urls, url) || !text_list_add(&in->own.url_sources, "the list of nodes")) {
		complain("out of memory");
		return EXIT_INTERNAL;
	}
	if (!guard_record_member(url, in->member[in->nodes], INIT_MEMBER)) {
		complain("a URL of the list is not valid");
		return EXIT_CONFIG;
	}
	in->nodes++;
	return EXIT_OK;
}

/* Clients refuse a longer list as well. */
static int check_count(size_t count)
{
	if (count <= REDLOCK_MAX_NODES)
		return EXIT_OK;
	complain("init: a node set has 1 to %d nodes, not %zu", REDLOCK_MAX_NODES, count);
	return EXIT_USAGE;
}

/* The node that comes or goes, which may be in the list of nodes by now or not. */
static int place_other(struct init *in)
{
	const char *url = in->settings->add != NULL ? in->settings->add : in->settings->remove;
	in->is_added = in->settings->add != NULL;
	if (url == NULL)
		return EXIT_OK;
	if (!guard_record_member(url, in->gone, sizeof in->gone)) {
		complain("init: --%s: not the URL of a node", in->is_added ? "add" : "remove");
		return EXIT_CONFIG;
	}
	in->other = find_member(in, in->gone);
	if (in->other < 0) {
		in->other = (int)in->nodes;
		int code = check_count(in->nodes + 1U);
		if (code == EXIT_OK)
			code = append(in, url);
		if (code != EXIT_OK)
			return code;
	}
	in->listed[in->other] = !in->is_added;
	in->wanted[in->other] = in->is_added;
	return EXIT_OK;
}

static int place_nodes(struct init *in)
{
	struct text_list urls = {NULL, 0};
	int code = nodes_find(in->settings, &urls);
	if (code == EXIT_OK)
		code = check_count(urls.count);
	for (size_t i = 0; i < urls.count && code == EXIT_OK; i++)
		code = append(in, urls.items[i]);
	for (unsigned i = 0; i < in->nodes; i++)
		in->listed[i] = in->wanted[i] = true;
	text_list_free(&urls);
	return code == EXIT_OK ? place_other(in) : code;
}

/* The settings with these URLs, and only these. */
static void own_settings(struct init *in)
{
	in->own = *in->settings;
	in->own.urls = in->own.url_sources = (struct text_list){NULL, 0};
	in->own.guard = REDLOCK_GUARD_OFF;
	in->own.quorum = 0; /* there is nothing to vote on here */
	in->own.interruptible = true;
}

int init_open(struct init *in, const struct settings *settings)
{
	in->settings = settings;
	in->other = -1;
	own_settings(in);
	guard_record_free(in->record, REDLOCK_MAX_NODES + 1);
	int code = place_nodes(in);
	if (code != EXIT_OK)
		return code;
	put_quorum(in, in->wanted, in->target_quorum);
	put_quorum(in, in->listed, in->list_quorum);
	snprintf(in->ttl, sizeof in->ttl, "%llu",
	         (unsigned long long)(settings->max_ttl_ms > 0 ? settings->max_ttl_ms : 60000));
	in->list = join(in, in->listed);
	in->target = join(in, in->wanted);
	if (in->list == NULL || in->target == NULL || in->target[0] == '\0') {
		complain("%s", in->list == NULL || in->target == NULL ? "out of memory" : "no node would be left");
		return in->list == NULL || in->target == NULL ? EXIT_INTERNAL : EXIT_CONFIG;
	}
	code = session_open(&in->session, &in->own);
	int error = code == EXIT_OK ? redlock_asker_open(in->session.client, &in->asker) : 0;
	if (error < 0)
		complain("%s", redlock_strerror(error));
	return error < 0 ? EXIT_INTERNAL : code;
}

void init_close(struct init *in)
{
	redlock_asker_close(in->asker);
	guard_record_free(in->record, REDLOCK_MAX_NODES + 1);
	if (in->session.settings != NULL)
		session_close(&in->session);
	text_list_free(&in->own.urls);
	text_list_free(&in->own.url_sources);
	free(in->founding);
	free(in->list);
	free(in->target);
}
