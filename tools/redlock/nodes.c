/* SPDX-License-Identifier: MIT */
/* Which nodes: the command line, else REDLOCK_URLS, else REDIS_URL. */
#include "nodes.h"

#include <string.h>

#include "cluster_dir.h"
#include "exit_codes.h"
#include "message.h"
#include "secret.h"
#include "url_list.h"
#include "values.h"

static int add_list(const char *source, const char *list, struct text_list *ret)
{
	int code = EXIT_OK;
	char *url;
	while (code == EXIT_OK && url_list_next(&list, &url)) {
		if (url != NULL && !*url) {
			/* Not skipped: one node less is another quorum. */
			complain("%s: an empty URL in the list; every node must be named", source);
			code = EXIT_CONFIG;
		} else if (url == NULL || !text_list_add(ret, url)) {
			complain("out of memory");
			code = EXIT_INTERNAL;
		}
		secret_free(url);
	}
	return code;
}

/* Puts the nodes of the local cluster in the place of the word `local`. */
static int expand_local(const char *source, struct text_list *urls)
{
	size_t locals = 0;
	for (size_t i = 0; i < urls->count; i++)
		locals += strcmp(urls->items[i], "local") == 0;
	if (locals == 0)
		return EXIT_OK;
	if (urls->count > 1) {
		complain("%s: `local` stands for all nodes of the local cluster and cannot be mixed with others",
		         source);
		return EXIT_CONFIG;
	}
	text_list_free(urls);
	return cluster_dir_urls(urls);
}

int nodes_find(const struct settings *settings, struct text_list *ret)
{
	const struct setting_source *source = settings_source(settings, offsetof(struct settings, urls));
	int code = EXIT_OK;
	if (settings->urls.count == 0 || source == NULL) {
		complain("no nodes: %sset REDLOCK_URLS (comma list of redis://host:6379), or `url` in the "
		         "configuration; to try it here: `redlock cluster start`, then %slocal",
		         settings->has_no_node_options ? "" : "give -r redis://host:6379 for each, or ",
		         settings->has_no_node_options ? "REDLOCK_URLS=" : "-r ");
		return EXIT_CONFIG;
	}
	for (size_t i = 0; i < settings->urls.count && code == EXIT_OK; i++)
		code = add_list(settings->url_sources.items[i], settings->urls.items[i], ret);
	if (settings->password_in_argv)
		say(settings, "hint: a password on the command line can be seen by other users for a moment; "
		              "--password-file or REDLOCK_URLS is safer");
	if (strcmp(source->where, "REDIS_URL") == 0)
		say(settings, "one node, from REDIS_URL: the lock is only as safe as that server; "
		              "set REDLOCK_URLS for a quorum");
	return code == EXIT_OK ? expand_local(source->where, ret) : code;
}

bool nodes_are_local(const struct settings *settings)
{
	return settings->urls.count == 1 && strcmp(settings->urls.items[0], "local") == 0;
}

const char *nodes_source(const struct settings *settings, unsigned node)
{
	for (size_t i = 0; i < settings->urls.count && i < settings->url_sources.count; i++) {
		const char *list = settings->urls.items[i];
		char *url;
		while (url_list_next(&list, &url)) {
			secret_free(url);
			if (node-- == 0)
				return settings->url_sources.items[i];
		}
	}
	return NULL;
}
