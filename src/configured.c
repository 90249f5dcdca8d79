/* SPDX-License-Identifier: MIT */
/* Clients and handles whose options are text or come from the configuration: the only file of the client that
 * knows that layer. */
#include <stdio.h>
#include <string.h>

#include "config/set.h"
#include "life.h"
#include "os/thread.h"

/* The value that follows a name, or the name that follows a value. */
static const char *next(const char *word)
{
	return word + strlen(word) + 1;
}

static bool has_url(const char *words)
{
	while (*words != '\0' && strcmp(words, "url") != 0)
		words = next(next(words));
	return *words != '\0';
}

static const char *given(const char *text)
{
	return text != NULL && *text != '\0' ? text : NULL;
}

/* Opens with a text of its own, before which the place of the option goes. */
static int open_loaded(struct redlock_options *options, redlock_client **ret_client)
{
	char why[512] = "", *text = options->error_text;
	size_t size = options->error_text_size;
	const char *option = NULL;
	options->error_option = &option;
	redlock_options_set_error_text(options, why, sizeof why);
	int error = redlock_open(options, ret_client);
	options->error_option = NULL;
	redlock_options_set_error_text(options, text, size);
	const char *place = rl_set_place(options, option);
	if (text != NULL && size > 0)
		snprintf(text, size, "%s%s%s", place != NULL ? place : "", place != NULL ? ": " : "", why);
	return error;
}

int redlock_open_words(const char *words, const char *cluster, const char *file, char *error_text,
                       size_t error_text_size, redlock_client **ret_client)
{
	RL_NO_CANCEL;
	struct redlock_options options;
	const char *name = words != NULL ? words : "";
	int error = ret_client == NULL ? REDLOCK_E_INVAL : 0;
	redlock_options_init(&options);
	redlock_options_set_error_text(&options, error_text, error_text_size);
	if (error_text != NULL && error_text_size > 0)
		error_text[0] = '\0';
	if (error == 0 && !has_url(name))
		error = redlock_options_load(&options, given(cluster), given(file));
	for (; error == 0 && *name != '\0'; name = next(next(name)))
		error = redlock_options_set(&options, name, next(name));
	if (error == 0)
		error = open_loaded(&options, ret_client);
	redlock_options_clear(&options); /* the client has copies */
	return error;
}

int redlock_open_configured(const char *cluster, char *error_text, size_t error_text_size,
                            redlock_client **ret_client)
{
	return redlock_open_words(NULL, cluster, NULL, error_text, error_text_size, ret_client);
}

int redlock_lock_new_words(redlock_client *client, const struct redlock_name *names, size_t count,
                           const char *words, const void *token, size_t token_len, void *user,
                           redlock_lock **ret_lock)
{
	char why[256] = "";
	struct redlock_lock_options options = {.size = sizeof options};
	int error = redlock_client_lock_options(client, &options);
	for (const char *name = words != NULL ? words : ""; error == 0 && *name != '\0'; name = next(next(name)))
		error = redlock_lock_options_set(&options, name, next(name), why, sizeof why);
	if (error < 0)
		return why[0] != '\0' ? rl_life_refuse(client, error, why) : error;
	if (token != NULL || token_len > 0) {
		options.token = token;
		options.token_len = token_len;
	}
	options.user = user;
	return redlock_lock_new_many_bytes(client, names, count, &options, ret_lock);
}
