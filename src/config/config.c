/* SPDX-License-Identifier: MIT */
/* The configuration: which of the values in files and environment counts. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <redlock/redlock.h>

#include "config/config.h"
#include "core/sized.h"
#include "os/thread.h"

#define SYSTEM_FILE "/etc/redlock/redlock.conf"
#define USER_FILE "redlock/redlock.conf"

/* The order of precedence: if an option has several values, the later rank in this list counts. The user's
 * file precedes the system's, the values of a cluster those of all clusters, and those of a cluster that the
 * caller asked for the environment. */
enum rank {
	RANK_SYSTEM_FILE,
	RANK_USER_FILE,
	RANK_SYSTEM_CLUSTER,
	RANK_USER_CLUSTER,
	RANK_ENVIRONMENT,
	RANK_CHOSEN_SYSTEM_CLUSTER,
	RANK_CHOSEN_USER_CLUSTER
};

struct setting {
	const struct rl_word *word;
	const char *value; /* of a line, or a copy in `copies` */
	const char *where;
	enum rank rank;
};

enum { MAX_COPIES = 16 }; /* variables */

struct redlock_config {
	struct rl_lines lines;
	struct setting *settings; /* all, in the order in which they were found */
	size_t count, room;
	char *copies[MAX_COPIES];
	size_t copy_count;
	const char *whole; /* the section whose `quorums` names the chosen one as a node set; NULL: none */
};

/* ---- files ---- */

static int read_users_file(redlock_config *c, int stop_fd)
{
	const char *home = getenv("XDG_CONFIG_HOME");
	const char *rest = USER_FILE;
	if (home == NULL || *home != '/') {
		home = getenv("HOME");
		rest = ".config/" USER_FILE;
	}
	char path[PATH_MAX];
	if (home == NULL || snprintf(path, sizeof path, "%s/%s", home, rest) >= (int)sizeof path)
		return 0;
	return rl_lines_read(&c->lines, path, true, false, stop_fd);
}

static int read_files(redlock_config *c, const char *file, int stop_fd)
{
	const char *only = file != NULL ? file : getenv("REDLOCK_CONFIG");
	if (only != NULL && *only)
		return rl_lines_read(&c->lines, only, true, true, stop_fd);
	int error = rl_lines_read(&c->lines, SYSTEM_FILE, false, false, stop_fd);
	return error == 0 ? read_users_file(c, stop_fd) : error;
}

/* ---- settings ---- */

static int add(redlock_config *c, const struct rl_word *word, const char *value, const char *where,
               enum rank rank)
{
	if (c->count == c->room) {
		size_t room = c->room > 0 ? 2 * c->room : 16;
		struct setting *settings = realloc(c->settings, room * sizeof *settings);
		if (settings == NULL)
			return REDLOCK_E_NOMEM;
		c->settings = settings;
		c->room = room;
	}
	c->settings[c->count++] = (struct setting){word, value, where, rank};
	return 0;
}

static int add_variable(redlock_config *c, const char *variable, const struct rl_word *word, enum rank rank)
{
	const char *value = getenv(variable);
	char problem[256];
	uint64_t number;
	if (value == NULL || !*value)
		return 0;
	if (!rl_words_parse(word, value, &number, problem, sizeof problem)) {
		snprintf(c->lines.error, sizeof c->lines.error, "%s: %s", variable, problem);
		return REDLOCK_E_CONFIG;
	}
	char *copy = strdup(value);
	if (copy == NULL)
		return REDLOCK_E_NOMEM;
	c->copies[c->copy_count++] = copy;
	return add(c, word, copy, variable, rank);
}

static int add_environment(redlock_config *c)
{
	int error = 0;
	for (size_t i = 0; i < rl_words_count && error == 0; i++)
		if (rl_words[i].variable != NULL)
			error = add_variable(c, rl_words[i].variable, &rl_words[i], RANK_ENVIRONMENT);
	return error;
}

static int add_lines(redlock_config *c, const char *cluster, enum rank rank)
{
	int error = 0;
	for (size_t i = 0; i < c->lines.count && error == 0; i++) {
		const struct rl_line *line = &c->lines.list[i];
		if (strcmp(line->cluster, cluster) == 0)
			error = add(c, line->word, line->value, line->where, rank + line->is_users);
	}
	return error;
}

/* The last of the values with the highest rank; NULL: the option is not configured. */
static const struct setting *find(const redlock_config *c, const struct rl_word *word)
{
	const struct setting *found = NULL;
	for (size_t i = 0; i < c->count; i++) {
		const struct setting *setting = &c->settings[i];
		if (setting->word == word && (found == NULL || setting->rank >= found->rank))
			found = setting;
	}
	return found;
}

/* Whether a setting counts. For a list, all values of the highest rank count. */
static bool counts(const redlock_config *c, const struct setting *setting)
{
	const struct setting *best = find(c, setting->word);
	return setting->word->kind == RL_WORD_URLS ? setting->rank == best->rank : setting == best;
}

static bool is_configured(const redlock_config *c, const char *name)
{
	return find(c, rl_words_find(name)) != NULL;
}

/* ---- clusters ---- */

static bool has_cluster(const redlock_config *c, const char *cluster)
{
	bool found = false;
	for (size_t i = 0; i < c->lines.cluster_count && !found; i++)
		found = strcmp(c->lines.clusters[i], cluster) == 0;
	return found;
}

static int no_cluster(redlock_config *c, const char *where, const char *cluster)
{
	char *text = c->lines.error;
	size_t size = sizeof c->lines.error;
	int used = snprintf(text, size, "%s: no section [cluster %s] in the configuration", where, cluster);
	for (size_t i = 0; i < c->lines.cluster_count && (size_t)used < size; i++)
		used += snprintf(text + used, size - (size_t)used, "%s[cluster %s]", i > 0 ? ", " : "; there is ",
		                 c->lines.clusters[i]);
	if (c->lines.cluster_count == 0 && (size_t)used < size)
		snprintf(text + used, size - (size_t)used, ", nor any other; `redlock config show` lists the files");
	return REDLOCK_E_CONFIG;
}

static bool has_word(const char *list, const char *word)
{
	size_t size = strlen(word);
	bool found = false;
	for (const char *at = list; !found && *(at += strspn(at, " \t,")) != '\0'; at += strcspn(at, " \t,"))
		found = strcspn(at, " \t,") == size && memcmp(at, word, size) == 0;
	return found;
}

static bool is_list_of_sets(const struct rl_word *word)
{
	return strcmp(word->name, "quorums") == 0 || strcmp(word->name, "joining") == 0;
}

/* The section whose `quorums` or `joining` names this one; NULL: none does, or several do. */
static const char *find_whole(const redlock_config *c, const char *cluster)
{
	const char *whole = NULL;
	for (size_t i = 0; i < c->lines.count; i++) {
		const struct rl_line *line = &c->lines.list[i];
		if (!is_list_of_sets(line->word) || !*line->cluster || !has_word(line->value, cluster))
			continue;
		if (whole != NULL && strcmp(whole, line->cluster) != 0)
			return NULL;
		whole = line->cluster;
	}
	return whole;
}

/* A section that is one of several node sets has its nodes alone: what stands beside `quorums` is for it,
 * too. */
static int add_shared(redlock_config *c, const char *cluster, enum rank rank)
{
	const char *whole = c->whole = find_whole(c, cluster);
	int error = 0;
	for (size_t i = 0; i < c->lines.count && whole != NULL && error == 0; i++) {
		const struct rl_line *line = &c->lines.list[i];
		if (strcmp(line->cluster, whole) == 0 && !is_list_of_sets(line->word))
			error = add(c, line->word, line->value, line->where, rank + line->is_users);
	}
	return error;
}

static int add_cluster(redlock_config *c, const char *asked)
{
	const struct setting *setting = asked == NULL ? find(c, rl_words_find("cluster")) : NULL;
	const char *cluster = setting != NULL ? setting->value : asked;
	if (cluster == NULL)
		return 0;
	if (!*cluster || !has_cluster(c, cluster))
		return no_cluster(c, setting != NULL ? setting->where : "cluster", cluster);
	enum rank rank = asked != NULL ? RANK_CHOSEN_SYSTEM_CLUSTER : RANK_SYSTEM_CLUSTER;
	int error = add_shared(c, cluster, rank);
	return error == 0 ? add_lines(c, cluster, rank) : error;
}

/* ---- what is for the case that nothing else is configured ---- */

static int add_fallbacks(redlock_config *c)
{
	static const char *const passwords[] = {"REDLOCK_AUTH", "REDISCLI_AUTH", "VALKEYCLI_AUTH"};
	int error = 0;
	if (!is_configured(c, "url") && !is_configured(c, "quorums"))
		error = add_variable(c, "REDIS_URL", rl_words_find("url"), RANK_SYSTEM_FILE);
	bool has_password = is_configured(c, "password-file");
	for (size_t i = 0; i < sizeof passwords / sizeof passwords[0] && !has_password && error == 0; i++) {
		error = add_variable(c, passwords[i], rl_words_find("password"), RANK_ENVIRONMENT);
		has_password = is_configured(c, "password");
	}
	return error;
}

/* ---- node sets ---- */

static void drop(redlock_config *c, const char *name)
{
	const struct rl_word *word = rl_words_find(name);
	size_t kept = 0;
	for (size_t i = 0; i < c->count; i++)
		if (c->settings[i].word != word)
			c->settings[kept++] = c->settings[i];
	c->count = kept;
}

static int refuse(redlock_config *c, const struct setting *setting, const char *why)
{
	snprintf(c->lines.error, sizeof c->lines.error, "%s: %s: %s", setting->where, setting->word->name, why);
	return REDLOCK_E_CONFIG;
}

/* `url` and `quorums` exclude each other: the one that ranks higher counts. */
static int choose_nodes(redlock_config *c)
{
	const struct setting *sets = find(c, rl_words_find("quorums")), *url = find(c, rl_words_find("url"));
	const struct setting *joining = find(c, rl_words_find("joining")),
	                     *quorum = find(c, rl_words_find("quorum"));
	if (joining != NULL && (sets == NULL || sets->rank != joining->rank))
		return refuse(c, joining, "stands beside `quorums`, which names the other node sets");
	if (sets == NULL)
		return 0;
	if (url != NULL && url->rank == sets->rank)
		return refuse(c, url, "each node set of `quorums` has its nodes in a section of its own");
	if (url != NULL && url->rank > sets->rank) {
		drop(c, "quorums");
		drop(c, "joining");
		return 0;
	}
	if (quorum != NULL)
		return refuse(c, quorum, "belongs in the sections of the node sets that `quorums` names");
	drop(c, "url");
	return 0;
}

/* ---- the calls ---- */

const struct rl_lines *rl_config_lines(const redlock_config *c)
{
	return &c->lines;
}

const char *rl_config_whole(const redlock_config *c)
{
	return c->whole;
}

static int fill(redlock_config *c, const char *cluster, const char *file, int stop_fd)
{
	int error = read_files(c, file, stop_fd);
	if (error == 0)
		error = add_environment(c);
	if (error == 0)
		error = add_lines(c, "", RANK_SYSTEM_FILE);
	if (error == 0)
		error = add_cluster(c, cluster);
	if (error == 0)
		error = choose_nodes(c);
	return error == 0 ? add_fallbacks(c) : error;
}

static void tell(char *text, size_t size, const char *what)
{
	if (text != NULL && size > 0)
		snprintf(text, size, "%s", what);
}

int redlock_config_read(const struct redlock_options *options, const char *cluster, const char *file,
                        redlock_config **ret)
{
	RL_NO_CANCEL;
	if (options == NULL || options->size < sizeof *options || ret == NULL)
		return REDLOCK_E_INVAL;
	redlock_config *c = calloc(1, sizeof *c);
	if (c == NULL) {
		tell(options->error_text, options->error_text_size, "out of memory");
		return REDLOCK_E_NOMEM;
	}
	int error = fill(c, cluster, file, options->stop_fd);
	tell(options->error_text, options->error_text_size,
	     error == REDLOCK_E_NOMEM ? "out of memory" : c->lines.error);
	tell(options->warning_text, options->warning_text_size, c->lines.warning);
	if (error == 0)
		*ret = c;
	else
		redlock_config_free(c);
	return error;
}

int redlock_config_setting(const redlock_config *c, size_t index, struct redlock_setting *ret)
{
	if (c == NULL || ret == NULL)
		return REDLOCK_E_INVAL;
	for (size_t i = 0; i < c->count; i++) {
		const struct setting *setting = &c->settings[i];
		if (!counts(c, setting) || index-- > 0)
			continue;
		const struct redlock_setting told = {
		    .name = setting->word->name, .value = setting->value, .where = setting->where};
		int error = rl_sized_return(ret, &told, sizeof told);
		return error < 0 ? error : 1;
	}
	return 0;
}

const char *redlock_config_cluster(const redlock_config *c, size_t index)
{
	return c != NULL && index < c->lines.cluster_count ? c->lines.clusters[index] : NULL;
}

void redlock_config_free(redlock_config *c)
{
	if (c == NULL)
		return;
	rl_lines_free(&c->lines);
	for (size_t i = 0; i < c->copy_count; i++) {
		explicit_bzero(c->copies[i], strlen(c->copies[i]));
		free(c->copies[i]);
	}
	free(c->settings);
	free(c);
}
