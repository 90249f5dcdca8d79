/* SPDX-License-Identifier: MIT */
/* Options by name, and the texts that they own. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <redlock/redlock.h>
#include <redlock/url.h>

#include "config/set.h"
#include "config/sets.h"
#include "config/url_list.h"
#include "config/words.h"
#include "core/sized.h"
#include "os/file.h"
#include "os/thread.h"

enum { MAX_PASSWORD = 4096 };

/* The memory that the options own. */
struct redlock_option_store {
	struct redlock_lock_options lock;
	char **texts; /* all copies, also of values that were replaced */
	size_t count;
	const char **places; /* of the word in rl_words: the file and line, or the variable; NULL: none */
	const char *urls[REDLOCK_MAX_NODES];
	struct redlock_node_set sets[REDLOCK_MAX_SETS];
	const char *set_urls[REDLOCK_MAX_SETS][REDLOCK_MAX_NODES];
};

__attribute__((format(printf, 3, 4))) static int fail(const struct redlock_options *o, int error,
                                                      const char *format, ...)
{
	va_list arguments;
	if (o->error_text == NULL || o->error_text_size == 0)
		return error;
	va_start(arguments, format);
	vsnprintf(o->error_text, o->error_text_size, format, arguments);
	va_end(arguments);
	return error;
}

static void add_warning(const struct redlock_options *o, const char *what, const char *why)
{
	if (o->warning_text == NULL || o->warning_text_size == 0 || !*what)
		return;
	size_t used = strlen(o->warning_text);
	snprintf(o->warning_text + used, o->warning_text_size - used, "%s%s%s", used > 0 ? "\n" : "", what, why);
}

/* ---- fields ---- */

static void put_number(void *options, const struct rl_word *word, uint64_t number)
{
	char *field = (char *)options + word->offset;
	const uint32_t narrow = (uint32_t)number; /* its max says that it fits */
	if (word->width == sizeof number)
		memcpy(field, &number, sizeof number);
	else
		memcpy(field, &narrow, sizeof narrow);
}

static void put_text(void *options, const struct rl_word *word, const char *text)
{
	memcpy((char *)options + word->offset, &text, sizeof text);
}

/* ---- texts ---- */

static bool make_store(struct redlock_options *o)
{
	if (o->store != NULL)
		return true;
	struct redlock_option_store *store = calloc(1, sizeof *store);
	const char **places = calloc(rl_words_count, sizeof *places);
	if (store == NULL || places == NULL) {
		free(store);
		free(places);
		return false;
	}
	store->places = places;
	o->store = store;
	return true;
}

/* Makes the lock options of the store those of the client. They begin as a copy of the caller's, so that an
 * option changes and the others stay. */
static int own_lock_options(struct redlock_options *o)
{
	struct redlock_lock_options *own = &o->store->lock;
	if (o->lock_options == own)
		return 0;
	redlock_lock_options_init(own);
	if (o->lock_options != NULL && rl_sized_copy(own, sizeof *own, o->lock_options) < 0)
		return fail(o, REDLOCK_E_INVAL, "the lock options have one that this library does not know");
	o->lock_options = own;
	return 0;
}

/* NULL: out of memory. */
static char *keep(struct redlock_option_store *store, const char *text, size_t size)
{
	char **texts = realloc(store->texts, (store->count + 1) * sizeof *texts);
	if (texts == NULL)
		return NULL;
	store->texts = texts;
	texts[store->count] = strndup(text, size);
	return texts[store->count] != NULL ? texts[store->count++] : NULL;
}

static int set_text(struct redlock_options *o, const struct rl_word *word, const char *value)
{
	const char *copy = keep(o->store, value, strlen(value));
	if (copy == NULL)
		return fail(o, REDLOCK_E_NOMEM, "out of memory");
	put_text(o, word, copy);
	return 0;
}

/* Takes one URL into the store. An empty one is refused, not skipped: with a node less, the quorum would be
 * another. */
static int keep_url(struct redlock_options *o, const char *url, size_t count, const char **ret)
{
	if (url != NULL && !*url)
		return fail(o, REDLOCK_E_INVAL, "url: an empty URL in the list; every node must be named");
	if (count == REDLOCK_MAX_NODES)
		return fail(o, REDLOCK_E_INVAL, "url: more than %d nodes", REDLOCK_MAX_NODES);
	*ret = url != NULL ? keep(o->store, url, strlen(url)) : NULL;
	return *ret != NULL ? 0 : fail(o, REDLOCK_E_NOMEM, "out of memory");
}

static int keep_urls(struct redlock_options *o, const char *list, const char *ret[REDLOCK_MAX_NODES],
                     size_t *ret_count)
{
	const char *urls[REDLOCK_MAX_NODES + 1] = {NULL};
	char *url;
	size_t count = 0;
	int error = 0;
	while (error == 0 && rl_url_list_next(&list, &url)) {
		error = keep_url(o, url, count, &urls[count]);
		rl_url_list_free(url);
		count++;
	}
	if (error != 0)
		return error;
	memcpy(ret, urls, count * sizeof *urls);
	*ret_count = count;
	return 0;
}

static void use_own_urls(struct redlock_options *o, size_t count)
{
	o->urls = o->store->urls;
	o->url_count = count;
	o->sets = NULL;
	o->set_count = 0;
}

static int set_urls(struct redlock_options *o, const char *list)
{
	size_t count;
	int error = keep_urls(o, list, o->store->urls, &count);
	if (error == 0)
		use_own_urls(o, count);
	return error;
}

int redlock_options_add_url(struct redlock_options *o, const char *url)
{
	RL_NO_CANCEL;
	const char *copy = NULL;
	if (o == NULL || o->size < sizeof *o || url == NULL)
		return REDLOCK_E_INVAL;
	if (!make_store(o))
		return fail(o, REDLOCK_E_NOMEM, "out of memory");
	size_t count = o->urls != NULL ? o->url_count : 0;
	int error = count <= REDLOCK_MAX_NODES ? keep_url(o, url, count, &copy) : REDLOCK_E_INVAL;
	if (error < 0)
		return error;
	if (o->urls != o->store->urls && count > 0) /* the nodes of the caller's own array stay */
		memcpy(o->store->urls, o->urls, count * sizeof *o->urls);
	o->store->urls[count] = copy;
	use_own_urls(o, count + 1);
	return 0;
}

int redlock_option_is_duration(const char *name)
{
	const struct rl_word *word = name != NULL ? rl_words_find(name) : NULL;
	return word != NULL && word->kind == RL_WORD_DURATION;
}

/* ---- passwords ---- */

/* The line end is not a part of the password. Returns what is wrong, or NULL. */
static const char *trim(struct rl_file *file)
{
	size_t size = file->size;
	if (size > 0 && file->bytes[size - 1] == '\n')
		size--;
	if (size > 0 && file->bytes[size - 1] == '\r')
		size--;
	file->bytes[size] = '\0';
	if (size > MAX_PASSWORD)
		return "longer than 4096 bytes: not a password";
	if (size == 0)
		return "is empty";
	return memchr(file->bytes, '\0', size) != NULL ? "has a NUL byte in it" : NULL;
}

static const char *what_is_wrong(int error)
{
	return error == ECANCELED ? "a signal ended the wait for it"
	       : error == EFBIG   ? "longer than 4096 bytes: not a password"
	                          : strerror(error);
}

static int set_password_file(struct redlock_options *o, const struct rl_word *word, const char *path)
{
	struct rl_file file;
	int error = rl_file_read(path, MAX_PASSWORD + 2, o->stop_fd, &file);
	if (error == ENOMEM)
		return fail(o, REDLOCK_E_NOMEM, "out of memory");
	if (error != 0)
		return fail(o, error == ECANCELED ? REDLOCK_E_INTERRUPTED : REDLOCK_E_CONFIG, "%s: %s: %s",
		            word->name, path, what_is_wrong(error));
	const char *problem = trim(&file);
	int result = problem != NULL ? fail(o, REDLOCK_E_CONFIG, "%s: %s: %s", word->name, path, problem)
	                             : set_text(o, word, file.bytes);
	if (o->warning_text != NULL && o->warning_text_size > 0)
		o->warning_text[0] = '\0';
	if (file.is_exposed)
		add_warning(o, path, " can be read by others; chmod 600 it");
	rl_file_free(&file);
	return result;
}

/* ---- set ---- */

void redlock_options_set_error_text(struct redlock_options *o, char *text, size_t size)
{
	if (o == NULL || o->size < sizeof *o)
		return;
	o->error_text = text;
	o->error_text_size = size;
}

void redlock_options_set_trace(struct redlock_options *o, void (*trace)(void *trace_user, const char *line),
                               void *trace_user)
{
	if (o == NULL || o->size < sizeof *o)
		return;
	o->trace = trace;
	o->trace_user = trace_user;
}

static int set_parsed(struct redlock_options *o, const struct rl_word *word, const char *value,
                      uint64_t number)
{
	bool is_of_lock = word->home == RL_WORD_LOCK;
	int error = is_of_lock ? own_lock_options(o) : 0;
	if (error < 0)
		return error;
	switch (word->kind) {
	case RL_WORD_URLS:
		return set_urls(o, value);
	case RL_WORD_TEXT:
		return set_text(o, word, value);
	case RL_WORD_PASSWORD_FILE:
		return set_password_file(o, word, value);
	case RL_WORD_NUMBER:
	case RL_WORD_DURATION:
	case RL_WORD_CHOICE:
		put_number(is_of_lock ? (void *)&o->store->lock : (void *)o, word, number);
	}
	return 0;
}

int redlock_options_set(struct redlock_options *o, const char *name, const char *value)
{
	RL_NO_CANCEL;
	char problem[256];
	uint64_t number;
	if (o == NULL || o->size < sizeof *o || name == NULL || value == NULL)
		return REDLOCK_E_INVAL;
	const struct rl_word *word = rl_words_find(name);
	bool is_ours = word != NULL && (word->home == RL_WORD_CLIENT || word->home == RL_WORD_LOCK);
	if (!is_ours || strcmp(name, "token") == 0)
		return fail(o, REDLOCK_E_INVAL, "no option of a client is called '%s'; redlock_config(3) lists them",
		            name);
	if (!rl_words_parse(word, value, &number, problem, sizeof problem))
		return fail(o, REDLOCK_E_INVAL, "%s: %s", name, problem);
	if (!make_store(o))
		return fail(o, REDLOCK_E_NOMEM, "out of memory");
	int error = set_parsed(o, word, value, number);
	if (error == 0) /* this value is not that of the file: rl_set_place() must not name the file */
		o->store->places[word - rl_words] = NULL;
	return error;
}

int redlock_lock_options_set(struct redlock_lock_options *o, const char *name, const char *value,
                             char *error_text, size_t error_text_size)
{
	char problem[256] = "";
	uint64_t number = 0;
	if (o == NULL || name == NULL || value == NULL)
		return REDLOCK_E_INVAL;
	if (error_text == NULL)
		error_text_size = 0;
	const struct rl_word *word = rl_words_find(name);
	if (word == NULL || word->home != RL_WORD_LOCK || o->size < word->offset + word->width) {
		snprintf(error_text, error_text_size,
		         "no option of a lock is called '%s'; redlock_config(3) lists them", name);
		return REDLOCK_E_INVAL;
	}
	if (!rl_words_parse(word, value, &number, problem, sizeof problem)) {
		snprintf(error_text, error_text_size, "%s: %s", name, problem);
		return REDLOCK_E_INVAL;
	}
	if (word->kind == RL_WORD_TEXT) {
		put_text(o, word, value);
		o->token_len = strlen(value);
	} else {
		put_number(o, word, number);
	}
	return 0;
}

/* ---- load ---- */

/* The nodes of several lines are one list. Returns NULL: out of memory. */
static char *join_urls(const redlock_config *config)
{
	struct redlock_setting setting = {.size = sizeof setting};
	size_t size = 1;
	for (size_t i = 0; redlock_config_setting(config, i, &setting) > 0; i++)
		size += strcmp(setting.name, "url") == 0 ? strlen(setting.value) + 1 : 0;
	char *list = calloc(1, size), *end = list;
	for (size_t i = 0; list != NULL && redlock_config_setting(config, i, &setting) > 0; i++)
		if (strcmp(setting.name, "url") == 0)
			end += snprintf(end, size - (size_t)(end - list), "%s%s", end > list ? "," : "", setting.value);
	return list;
}

static int set_nodes(struct redlock_options *o, const redlock_config *config)
{
	char *list = join_urls(config);
	if (list == NULL)
		return fail(o, REDLOCK_E_NOMEM, "out of memory");
	int error = *list ? redlock_options_set(o, "url", list) : 0;
	explicit_bzero(list, strlen(list));
	free(list);
	return error;
}

/* The directory of the local cluster is known to the command, not to the library. */
static int refuse_local(const struct redlock_options *o, const char *list)
{
	if (!rl_url_list_repeats(list, "local"))
		return 0;
	return fail(o, REDLOCK_E_CONFIG,
	            "url: local is for the command: give the URLs, which `redlock cluster status` prints");
}

/* A wrong URL is told here, where it is known which file or variable has it. */
static int check_urls(const struct redlock_options *o, const char *list)
{
	int error = 0;
	unsigned node = 0;
	char *url, text[512];
	struct redlock_url parsed = {.size = sizeof parsed};
	while (error == 0 && rl_url_list_next(&list, &url)) {
		if (url == NULL)
			error = REDLOCK_E_NOMEM;
		else if (*url && ++node)
			error = redlock_url_parse(url, text, sizeof text, &parsed);
		rl_url_list_free(url);
	}
	if (error == REDLOCK_E_NOMEM)
		return fail(o, error, "out of memory");
	return error < 0 ? fail(o, REDLOCK_E_CONFIG, "node %u: %s", node, text) : 0;
}

/* Puts in front of a sentence where the setting stands. */
static int refuse(const struct redlock_options *o, int error, const char *where)
{
	char text[512];
	if (o->error_text == NULL || o->error_text_size == 0 || error == REDLOCK_E_NOMEM)
		return error;
	snprintf(text, sizeof text, "%s", o->error_text);
	snprintf(o->error_text, o->error_text_size, "%s: %s", where, text);
	return error == REDLOCK_E_INVAL ? REDLOCK_E_CONFIG : error;
}

static int set_sets(struct redlock_options *o, const struct rl_sets *sets)
{
	int error = 0;
	for (size_t i = 0; i < sets->count && error == 0; i++) {
		struct redlock_node_set *set = &o->store->sets[i];
		*set =
		    (struct redlock_node_set){.size = sizeof *set,
		                              .name = keep(o->store, sets->list[i].name, strlen(sets->list[i].name)),
		                              .urls = o->store->set_urls[i],
		                              .quorum = sets->list[i].quorum,
		                              .joining = sets->list[i].joining};
		if (set->name == NULL)
			return fail(o, REDLOCK_E_NOMEM, "out of memory");
		error = refuse_local(o, sets->list[i].urls);
		if (error == 0)
			error = check_urls(o, sets->list[i].urls);
		if (error == 0)
			error = keep_urls(o, sets->list[i].urls, o->store->set_urls[i], &set->url_count);
		if (error < 0)
			return refuse(o, error, sets->list[i].where);
	}
	return 0;
}

int redlock_config_sets(const redlock_config *config, struct redlock_options *o)
{
	struct rl_sets sets;
	if (config == NULL || o == NULL || o->size < sizeof *o)
		return REDLOCK_E_INVAL;
	int error = rl_sets_read(config, &sets);
	if (error < 0)
		fail(o, error, "%s", sets.error);
	else if (sets.count == 0)
		error = fail(o, REDLOCK_E_CONFIG, "the configuration has no node sets: `quorums` names them");
	else if (!make_store(o))
		error = fail(o, REDLOCK_E_NOMEM, "out of memory");
	else
		error = set_sets(o, &sets);
	if (error == 0) {
		o->sets = o->store->sets;
		o->set_count = sets.count;
		o->urls = NULL;
		o->url_count = o->quorum = 0;
	}
	rl_sets_free(&sets);
	return error;
}

static int keep_place(struct redlock_options *o, const struct rl_word *word, const char *where)
{
	const char *copy = keep(o->store, where, strlen(where));
	o->store->places[word - rl_words] = copy;
	return copy != NULL ? 0 : fail(o, REDLOCK_E_NOMEM, "out of memory");
}

static int set_all(struct redlock_options *o, const redlock_config *config)
{
	struct redlock_setting setting = {.size = sizeof setting};
	bool has_nodes = false;
	int error = 0;
	for (size_t i = 0; error == 0 && redlock_config_setting(config, i, &setting) > 0; i++) {
		const struct rl_word *word = rl_words_find(setting.name);
		if (word->kind == RL_WORD_URLS) {
			error = refuse_local(o, setting.value);
			if (error == 0)
				error = check_urls(o, setting.value);
			if (error == 0 && !has_nodes)
				error = set_nodes(o, config);
			has_nodes = true;
		} else if (strcmp(setting.name, "quorums") == 0) {
			error = redlock_config_sets(config, o);
			if (error < 0)
				return error; /* it says where */
		} else if (word->home == RL_WORD_CLIENT || word->home == RL_WORD_LOCK) {
			error = redlock_options_set(o, setting.name, setting.value);
			if (error == 0)
				error = keep_place(o, word, setting.where);
		}
	}
	return error < 0 ? refuse(o, error, setting.where) : 0;
}

/* The times of locks are refused as a whole: it is `renew` that does not fit, or without it the node timeout.
 */
static const char *place_of_times(const struct redlock_options *o)
{
	const char *name = o->store->lock.renew_ms > 0 ? "renew" : "node-timeout";
	return o->store->places[rl_words_find(name) - rl_words];
}

const char *rl_set_place(const struct redlock_options *o, const char *option)
{
	const struct rl_word *word = option != NULL ? rl_words_of_field(option) : NULL;
	if (o->store == NULL || option == NULL)
		return NULL;
	if (strcmp(option, "lock_options") == 0)
		return place_of_times(o);
	return word != NULL && word->kind != RL_WORD_URLS ? o->store->places[word - rl_words] : NULL;
}

/* Names the sections that the file has: their nodes were meant, and none was chosen. */
static int no_nodes(const struct redlock_options *o, const redlock_config *config)
{
	const char *cluster = redlock_config_cluster(config, 0);
	if (cluster == NULL)
		return fail(
		    o, REDLOCK_E_CONFIG,
		    "no nodes: set REDLOCK_URLS (comma list of redis://host:6379), or `url` in the configuration");
	char names[256];
	int used = 0;
	for (size_t i = 0; (cluster = redlock_config_cluster(config, i)) != NULL && used < (int)sizeof names; i++)
		used +=
		    snprintf(names + used, sizeof names - (size_t)used, "%s[cluster %s]", i > 0 ? ", " : "", cluster);
	return fail(o, REDLOCK_E_CONFIG, "no nodes: the configuration has %s; choose one: REDLOCK_CLUSTER=%s",
	            names, redlock_config_cluster(config, 0));
}

int redlock_options_load(struct redlock_options *o, const char *cluster, const char *file)
{
	RL_NO_CANCEL;
	redlock_config *config = NULL;
	char warning[512] = "";
	if (o == NULL || o->size < sizeof *o)
		return REDLOCK_E_INVAL;
	struct redlock_options reading = *o;
	reading.warning_text = warning;
	reading.warning_text_size = sizeof warning;
	int error = redlock_config_read(&reading, cluster, file, &config);
	if (error < 0)
		return error;
	if (o->warning_text != NULL && o->warning_text_size > 0)
		o->warning_text[0] = '\0';
	error = set_all(o, config);
	if (error == 0 && o->url_count == 0 && o->set_count == 0)
		error = no_nodes(o, config);
	if (error == 0)
		add_warning(o, warning, "");
	redlock_config_free(config);
	return error;
}

void redlock_options_clear(struct redlock_options *o)
{
	if (o == NULL || o->size < sizeof *o)
		return;
	struct redlock_option_store *store = o->store;
	redlock_options_init_sized(o, o->size);
	if (store == NULL)
		return;
	for (size_t i = 0; i < store->count; i++) {
		explicit_bzero(store->texts[i], strlen(store->texts[i]));
		free(store->texts[i]);
	}
	free(store->texts);
	free(store->places);
	free(store);
}
