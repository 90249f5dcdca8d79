/* SPDX-License-Identifier: MIT */
/* A client with the options of the configuration: the only file of the client that knows that layer. */
#include <stdio.h>

#include "redlock/redlock.h"

#include "config/set.h"
#include "os/thread.h"

/* Opens with a text of its own, before which the place of the option goes. */
static int open_loaded(struct redlock_options *options, redlock_client **ret_client)
{
	char why[512] = "", *text = options->error_text;
	size_t size = options->error_text_size;
	const char *option = NULL;
	options->error_option = &option;
	redlock_options_set_error_text(options, why, sizeof why);
	int error = redlock_open(options, ret_client);
	const char *place = rl_set_place(options, option);
	if (text != NULL && size > 0)
		snprintf(text, size, "%s%s%s", place != NULL ? place : "", place != NULL ? ": " : "", why);
	return error;
}

int redlock_open_configured(const char *cluster, char *error_text, size_t error_text_size,
                            redlock_client **ret_client)
{
	RL_NO_CANCEL;
	struct redlock_options options;
	redlock_options_init(&options);
	redlock_options_set_error_text(&options, error_text, error_text_size);
	if (error_text != NULL && error_text_size > 0)
		error_text[0] = '\0';
	int error = ret_client == NULL ? REDLOCK_E_INVAL : redlock_options_load(&options, cluster, NULL);
	if (error == 0)
		error = open_loaded(&options, ret_client);
	redlock_options_clear(&options); /* the client has copies */
	return error;
}
