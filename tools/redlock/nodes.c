/* SPDX-License-Identifier: MIT */
/* Which nodes: the command line, else REDLOCK_URLS, else REDIS_URL. */
#include "nodes.h"

#include <stdio.h>
#include <string.h>

#include <redlock/redlock.h>
#include <redlock/url.h>

#include "cluster_dir.h"
#include "exit_codes.h"
#include "message.h"
#include "values.h"

static int add_list(const char *source, const char *list, struct text_list *ret)
{
	char why[256] = "out of memory";
	struct redlock_options options;
	redlock_options_init(&options);
	options.error_text = why;
	options.error_text_size = sizeof why;
	int error = redlock_options_set(&options, "url", list);
	for (size_t i = 0; i < options.url_count && error == 0; i++)
		error = text_list_add(ret, options.urls[i]) ? 0 : REDLOCK_E_NOMEM;
	redlock_options_clear(&options);
	if (error == REDLOCK_E_INVAL)
		complain(MSG(URL_LIST), source, strncmp(why, "url: ", 5) == 0 ? why + 5 : why);
	else if (error != 0)
		complain(MSG(NO_MEMORY));
	return error == 0 ? EXIT_OK : error == REDLOCK_E_INVAL ? EXIT_CONFIG : EXIT_INTERNAL;
}

/* Replaces the word `local` by the nodes of the local cluster. */
static int expand_local(const char *source, struct text_list *urls)
{
	size_t locals = 0;
	for (size_t i = 0; i < urls->count; i++)
		locals += strcmp(urls->items[i], "local") == 0;
	if (locals == 0)
		return EXIT_OK;
	if (urls->count > 1) {
		complain(MSG(LOCAL_ALONE), source);
		return EXIT_CONFIG;
	}
	text_list_free(urls);
	return cluster_dir_urls(urls);
}

/* The sections of the configuration: their nodes were meant, and none was chosen. */
static int no_cluster(const struct settings *settings)
{
	char names[512] = "";
	size_t used = 0;
	for (size_t i = 0; i < settings->clusters.count && used < sizeof names; i++)
		used += (size_t)snprintf(names + used, sizeof names - used, "%s[cluster %s]", i > 0 ? ", " : "",
		                         settings->clusters.items[i]);
	complain(MSG(CLUSTER_NAME), names, settings->has_no_node_options ? "REDLOCK_CLUSTER=" : "-C ",
	         settings->clusters.items[0]);
	return EXIT_CONFIG;
}

static int no_nodes(const struct settings *settings)
{
	if (settings->quorums != NULL) {
		const char *option = settings->has_no_node_options ? "REDLOCK_CLUSTER=" : "-C ";
		complain(MSG(NODE_SETS), settings->quorums, option, (int)strcspn(settings->quorums, " \t,"),
		         settings->quorums);
		return EXIT_CONFIG;
	}
	if (settings->clusters.count > 0)
		return no_cluster(settings);
	complain(MSG(NO_NODES), settings->has_no_node_options ? "" : "give -r redis://host:6379 for each, or ",
	         settings->has_no_node_options ? "REDLOCK_URLS=" : "-r ");
	return EXIT_CONFIG;
}

int nodes_list(const struct settings *settings, struct text_list *ret)
{
	int code = EXIT_OK;
	for (size_t i = 0; i < settings->urls.count && code == EXIT_OK; i++)
		code = add_list(settings->url_sources.items[i], settings->urls.items[i], ret);
	return code;
}

int nodes_find(const struct settings *settings, struct text_list *ret)
{
	const struct setting_source *source = settings_source(settings, offsetof(struct settings, urls));
	if (settings->urls.count == 0 || source == NULL)
		return no_nodes(settings);
	int code = nodes_list(settings, ret);
	if (settings->password_in_argv)
		say(settings, MSG(PASSWORD_SEEN));
	if (strcmp(source->where, "REDIS_URL") == 0)
		say(settings, MSG(ONE_NODE));
	return code == EXIT_OK ? expand_local(source->where, ret) : code;
}

bool nodes_are_local(const struct settings *settings)
{
	return settings->urls.count == 1 && strcmp(settings->urls.items[0], "local") == 0;
}

/* A comma without a URL after it is between the Sentinels of one node. */
static unsigned count_urls(const char *list)
{
	unsigned count = 1;
	for (const char *at = list; (at = strchr(at, ',')) != NULL; at++) {
		const char *scheme = strstr(at, "://");
		count += scheme != NULL && memchr(at + 1, ',', (size_t)(scheme - at - 1)) == NULL;
	}
	return count;
}

const char *nodes_source(const struct settings *settings, unsigned node)
{
	for (size_t i = 0; i < settings->urls.count && i < settings->url_sources.count; i++) {
		unsigned count = count_urls(settings->urls.items[i]);
		if (node < count)
			return settings->url_sources.items[i];
		node -= count;
	}
	return NULL;
}

/* Copies the user of one URL. False: it has escapes, or is too long. */
static bool user_of(const char *text, const char *user, char *buffer, size_t size)
{
	struct redlock_url url = {.size = sizeof url};
	const char *begin = strstr(text, "://"), *name = user != NULL ? user : "default";
	if (begin == NULL || redlock_url_parse(text, NULL, 0, &url) < 0)
		return false;
	size_t length = strlen(name);
	if (url.has_user) {
		name = begin + 3;
		length = strcspn(name, ":@");
	} else if (url.has_password) {
		name = "default";
		length = strlen(name);
	}
	if (length >= size || memchr(name, '%', length) != NULL)
		return false;
	memcpy(buffer, name, length);
	buffer[length] = '\0';
	return true;
}

void nodes_user(const struct text_list *urls, const char *user, char *buffer, size_t size)
{
	char other[64];
	bool same = urls->count > 0 && user_of(urls->items[0], user, buffer, size);
	for (size_t i = 1; i < urls->count && same; i++)
		same = user_of(urls->items[i], user, other, sizeof other) && strcmp(other, buffer) == 0;
	if (!same)
		buffer[0] = '\0';
}

bool nodes_have_user(const struct text_list *urls)
{
	bool found = false;
	for (size_t i = 0; i < urls->count && !found; i++) {
		struct redlock_url url = {.size = sizeof url};
		found = redlock_url_parse(urls->items[i], NULL, 0, &url) == 0 && url.has_user;
	}
	return found;
}
