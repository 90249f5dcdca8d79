/* SPDX-License-Identifier: MIT */
/* Takes over the configuration that the library has read. */
#include "config.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <redlock/redlock.h>

#include "exit_codes.h"
#include "message.h"
#include "outcome.h"
#include "signals.h"
#include "values.h"

const struct option_group *const config_groups[] = {
    &node_options, &ttl_options, &wait_options, &busy_options, &renew_options, &kill_options, NULL};

static int out_of_memory(void)
{
	complain(MSG(NO_MEMORY));
	return EXIT_INTERNAL;
}

static int take(struct settings *settings, const struct redlock_setting *setting)
{
	char problem[512];
	const struct option_spec *spec = options_find(config_groups, setting->name);
	if (spec == NULL) { /* the password of the environment */
		settings->password = strdup(setting->value);
		return settings->password != NULL ? EXIT_OK : out_of_memory();
	}
	if (settings_store(settings, spec, setting->value, RANK_CONFIGURED, setting->where, problem,
	                   sizeof problem))
		return EXIT_OK;
	complain(MSG(CONFIG_VALUE), setting->where, setting->name, problem);
	return EXIT_CONFIG;
}

static int take_all(struct settings *settings, const redlock_config *config)
{
	struct redlock_setting setting = {.size = sizeof setting};
	const char *cluster;
	int code = EXIT_OK;
	for (size_t i = 0; code == EXIT_OK && redlock_config_setting(config, i, &setting) > 0; i++)
		code = take(settings, &setting);
	for (size_t i = 0; code == EXIT_OK && (cluster = redlock_config_cluster(config, i)) != NULL; i++)
		code = text_list_add(&settings->clusters, cluster) ? EXIT_OK : out_of_memory();
	return code;
}

static int refused(int error, const char *why)
{
	if (error == REDLOCK_E_INTERRUPTED && signals_caught())
		return EXIT_SIGNAL + signals_caught();
	complain(MSG(CONFIG_REFUSED), *why ? why : redlock_strerror(error));
	return outcome_of_error(error);
}

int config_apply(struct settings *settings)
{
	char why[512] = "", warning[512] = "";
	struct redlock_options options;
	redlock_config *config = NULL;
	redlock_options_init(&options);
	options.error_text = why;
	options.error_text_size = sizeof why;
	options.warning_text = warning;
	options.warning_text_size = sizeof warning;
	options.stop_fd = signals_fd();
	sigset_t mask = signals_permit();
	int error = redlock_config_read(&options, settings->cluster, settings->config, &config);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	if (error < 0)
		return refused(error, why);
	for (char *rest = warning, *line; (line = strtok_r(rest, "\n", &rest)) != NULL;)
		say(settings, MSG(CONFIG_WARNING), line);
	int code = take_all(settings, config);
	redlock_config_free(config);
	return code;
}
