/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "../exit_codes.h"
#include "../guard_memory.h"
#include "../message.h"
#include "../nodes.h"
#include "../values.h"
#include "init.h"

#define DEFAULT_MAX_TTL_MS UINT64_C(60000)

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

/* The members that stay while one is replaced are no list of any client: a majority of them suffices. */
static void put_quorum(const struct init *in, const bool *of, bool is_between, char ret[4])
{
	unsigned count = 0;
	for (unsigned i = 0; i < in->nodes; i++)
		count += of[i];
	unsigned asked = is_between ? 0 : (unsigned)in->settings->quorum;
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
		complain(MSG(NO_MEMORY));
		return EXIT_INTERNAL;
	}
	if (!guard_record_member(url, in->member[in->nodes], INIT_MEMBER)) {
		complain(MSG(INIT_URLS));
		return EXIT_CONFIG;
	}
	if (strncmp(in->member[in->nodes], "cluster:", strlen("cluster:")) == 0) {
		complain(MSG(INIT_USAGE),
		         "a cluster cannot be a node of a guarded set: each of its shards would need a "
		         "record of its own");
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
	complain(MSG(INIT_SIZE), REDLOCK_MAX_NODES, count);
	return EXIT_USAGE;
}

bool init_replaces(const struct init *in)
{
	return in->leaves >= 0 && in->joins >= 0;
}

/* The node that comes or goes, which may be in the list of nodes by now or not. */
static int place(struct init *in, const char *url, const char *option, int *ret)
{
	char member[INIT_MEMBER];
	if (url == NULL)
		return EXIT_OK;
	if (!guard_record_member(url, member, sizeof member)) {
		complain(MSG(INIT_URL), in->settings->replace != NULL ? "replace" : option);
		return EXIT_CONFIG;
	}
	*ret = find_member(in, member);
	if (*ret >= 0)
		return EXIT_OK;
	*ret = (int)in->nodes;
	int code = check_count(in->nodes + 1U);
	return code == EXIT_OK ? append(in, url) : code;
}

/* The list of nodes is the former one or the new one. */
static int check_replacement(const struct init *in, int listed)
{
	bool has_old = in->leaves < listed, has_new = in->joins < listed;
	if (!init_replaces(in) || has_old != has_new)
		return EXIT_OK;
	const char *old = in->member[in->leaves], *new = in->member[in->joins];
	if (in->leaves == in->joins)
		complain(MSG(INIT_REPLACED), old);
	else if (has_old)
		complain(MSG(INIT_BOTH), old, new);
	else
		complain(MSG(INIT_NEITHER), old, new);
	return EXIT_CONFIG;
}

static int place_others(struct init *in)
{
	int listed = (int)in->nodes;
	int code = place(in, in->settings->remove, "remove", &in->leaves);
	if (code == EXIT_OK)
		code = place(in, in->settings->add, "add", &in->joins);
	in->is_listed = in->joins >= 0 && in->joins < listed;
	return code == EXIT_OK ? check_replacement(in, listed) : code;
}

bool init_turn_to(struct init *in, bool is_added)
{
	in->is_added = is_added;
	in->other = is_added ? in->joins : in->leaves;
	for (int i = 0; i < (int)in->nodes; i++) {
		in->listed[i] = i != in->joins && !(i == in->leaves && is_added);
		in->wanted[i] = i != in->leaves && !(i == in->joins && (!is_added || in->founds));
	}
	put_quorum(in, in->wanted, init_replaces(in) && !is_added, in->target_quorum);
	put_quorum(in, in->listed, init_replaces(in) && is_added, in->list_quorum);
	free(in->list);
	free(in->target);
	in->list = join(in, in->listed);
	in->target = join(in, in->wanted);
	if (in->list == NULL || in->target == NULL)
		complain(MSG(NO_MEMORY));
	return in->list != NULL && in->target != NULL;
}

static int place_nodes(struct init *in)
{
	struct text_list urls = {NULL, 0};
	int code = nodes_find(in->settings, &urls);
	if (code == EXIT_OK)
		code = check_count(urls.count);
	for (size_t i = 0; i < urls.count && code == EXIT_OK; i++)
		code = append(in, urls.items[i]);
	text_list_free(&urls);
	return code == EXIT_OK ? place_others(in) : code;
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

/* Sets the maximum TTL of a new set. One that lost all its records gets its former maximum, where this host
 * remembers it. */
static void put_maximum(struct init *in)
{
	char set[GUARD_MEMORY_ID];
	uint64_t asked_ms = in->settings->max_ttl_ms;
	in->was_set = !nodes_are_local(in->settings) && guard_memory_find(in->target, set, &in->former_ms);
	uint64_t ttl_ms = asked_ms > 0 ? asked_ms : in->former_ms > 0 ? in->former_ms : DEFAULT_MAX_TTL_MS;
	snprintf(in->ttl, sizeof in->ttl, "%llu", (unsigned long long)ttl_ms);
}

int init_open(struct init *in, const struct settings *settings)
{
	in->settings = settings;
	in->leaves = in->joins = -1;
	own_settings(in);
	guard_record_free(in->record, REDLOCK_MAX_NODES + 1);
	int code = place_nodes(in);
	if (code != EXIT_OK)
		return code;
	if (!init_turn_to(in, in->joins >= 0 && !init_replaces(in)))
		return EXIT_INTERNAL;
	put_maximum(in);
	if (in->target[0] == '\0') {
		complain(MSG(INIT_EMPTY), init_replaces(in) ? ": first --add the new one" : "");
		return EXIT_CONFIG;
	}
	code = session_open(&in->session, &in->own);
	int error = code == EXIT_OK ? redlock_asker_open(in->session.client, &in->asker) : 0;
	if (error < 0)
		complain(MSG(LIBRARY), redlock_strerror(error));
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
