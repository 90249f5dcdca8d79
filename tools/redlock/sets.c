/* SPDX-License-Identifier: MIT */
#include "sets.h"

#include <stdio.h>
#include <string.h>

#include "config.h"
#include "exit_codes.h"
#include "message.h"
#include "outcome.h"

static bool is_of_command_line(const struct settings *settings, size_t field)
{
	const struct setting_source *source = settings_source(settings, field);
	return source != NULL && source->rank == RANK_COMMAND_LINE;
}

/* False: out of memory. */
static bool store(struct settings *settings, const char *option, const char *value)
{
	char problem[256];
	const struct setting_source *sets = settings_source(settings, offsetof(struct settings, quorums));
	return settings_store(settings, options_find(config_groups, option), value, RANK_CONFIGURED, sets->where,
	                      problem, sizeof problem);
}

static int take(struct settings *settings, const struct redlock_node_set *nodes)
{
	char quorum[16];
	bool ok = true;
	for (size_t i = 0; i < nodes->url_count && ok; i++)
		ok = store(settings, "url", nodes->urls[i]);
	snprintf(quorum, sizeof quorum, "%u", nodes->quorum);
	if (nodes->quorum > 0)
		ok = ok && store(settings, "quorum", quorum);
	if (!ok)
		complain(MSG(NO_MEMORY));
	return ok ? EXIT_OK : EXIT_INTERNAL;
}

static int find(struct settings *settings, const struct redlock_options *options, const char *name)
{
	struct redlock_name names[REDLOCK_MAX_NAMES] = {{name, strlen(name)}};
	const char *urls[REDLOCK_MAX_NODES];
	struct redlock_node_set nodes = {.size = sizeof nodes};
	size_t count = 1;
	for (size_t i = 0; i < settings->also.count && count < REDLOCK_MAX_NAMES; i++)
		names[count++] = (struct redlock_name){settings->also.items[i], strlen(settings->also.items[i])};
	int error = redlock_nodes_of(options, names, count, urls, &nodes);
	if (error == 0)
		return take(settings, &nodes);
	complain(MSG(NAMES_IN_SETS), options->error_text);
	return outcome_of_error(error);
}

static bool has_node(const struct redlock_node_set *nodes, const char *url)
{
	bool found = false;
	for (size_t i = 0; i < nodes->url_count && !found; i++)
		found = strcmp(nodes->urls[i], url) == 0;
	return found;
}

/* The section that was chosen is one of several node sets, and the name belongs to another one: clients of
 * all sets do not look at this one. */
static void warn_elsewhere(const struct settings *settings, const redlock_config *config, const char *name)
{
	struct redlock_name names[1] = {{name, strlen(name)}};
	const char *urls[REDLOCK_MAX_NODES];
	struct redlock_node_set nodes = {.size = sizeof nodes};
	struct redlock_options options;
	redlock_options_init(&options);
	options.prefix = settings->prefix;
	if (redlock_config_sets(config, &options) == 0 &&
	    redlock_nodes_of(&options, names, 1, urls, &nodes) == 0 && !has_node(&nodes, settings->urls.items[0]))
		say(settings, MSG(NAME_ELSEWHERE), name, nodes.name, settings->cluster);
	redlock_options_clear(&options);
}

int sets_choose(struct settings *settings, const redlock_config *config, const char *name)
{
	char why[512] = "";
	struct redlock_options options;
	bool is_one = settings->cluster != NULL && settings->urls.count > 0 &&
	              !is_of_command_line(settings, offsetof(struct settings, urls));
	if (settings->quorums == NULL && is_one && *name)
		warn_elsewhere(settings, config, name);
	if (settings->quorums == NULL || settings->urls.count > 0)
		return EXIT_OK;
	if (!*name) {
		complain(MSG(NAME_EMPTY));
		return EXIT_USAGE;
	}
	if (is_of_command_line(settings, offsetof(struct settings, quorum))) {
		complain(MSG(QUORUM_OF_SETS));
		return EXIT_USAGE;
	}
	if (settings->fence) {
		complain(MSG(FENCE_OF_SETS));
		return EXIT_USAGE;
	}
	redlock_options_init(&options);
	options.error_text = why;
	options.error_text_size = sizeof why;
	options.prefix = settings->prefix;
	options.guard = (int)settings->guard;
	int code = EXIT_OK, error = redlock_config_sets(config, &options);
	if (error == 0)
		code = find(settings, &options, name);
	else {
		complain(MSG(CONFIG_REFUSED), why);
		code = outcome_of_error(error);
	}
	redlock_options_clear(&options);
	return code;
}
