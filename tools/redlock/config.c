/* SPDX-License-Identifier: MIT */
/* Takes over the configuration that the library has read. */
#include "config.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <redlock/redlock.h>

#include "exit_codes.h"
#include "message.h"
#include "nodes.h"
#include "outcome.h"
#include "sets.h"
#include "signals.h"
#include "values.h"

const struct option_group *const config_groups[] = {
    &node_options,  &ttl_options,  &wait_options,   &busy_options,
    &renew_options, &kill_options, &accept_options, NULL};

static int out_of_memory(void)
{
	complain(MSG(NO_MEMORY));
	return EXIT_INTERNAL;
}

static const struct option_spec set_specs[] = {
    {0, "quorums", "SECTIONS", OPTION_TEXT, offsetof(struct settings, quorums), 1, 0, ""},
    {0, "joining", "SECTION", OPTION_TEXT, offsetof(struct settings, joining), 1, 0, ""},
};
const struct option_group config_sets = {"Node sets", set_specs, 2};

/* Keys that no option of the command line has. */
static int take_sets(struct settings *settings, const struct redlock_setting *setting)
{
	char problem[512];
	const struct option_spec *spec = &set_specs[strcmp(setting->name, set_specs[0].name) == 0 ? 0 : 1];
	return settings_store(settings, spec, setting->value, RANK_CONFIGURED, setting->where, problem,
	                      sizeof problem)
	           ? EXIT_OK
	           : out_of_memory();
}

static int take(struct settings *settings, const struct redlock_setting *setting)
{
	char problem[512];
	const struct option_spec *spec = options_find(config_groups, setting->name);
	if (spec == NULL && (strcmp(setting->name, "quorums") == 0 || strcmp(setting->name, "joining") == 0))
		return take_sets(settings, setting);
	if (spec == NULL) { /* the password of the environment */
		settings->password = strdup(setting->value);
		bool ok = settings->password != NULL && text_list_add(&settings->texts, setting->where);
		settings->password_from = ok ? settings->texts.items[settings->texts.count - 1] : NULL;
		return ok ? EXIT_OK : out_of_memory();
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

/* Whether a line of a file has set this field: its source is "/etc/redlock/redlock.conf:3". Names of
 * variables have no colon. */
static bool is_from_file(const struct settings *settings, size_t field)
{
	const struct setting_source *source = settings_source(settings, field);
	return source != NULL && source->rank == RANK_CONFIGURED && strchr(source->where, ':') != NULL;
}

static bool forget_of_file(struct settings *settings, size_t field)
{
	bool forgets = is_from_file(settings, field);
	if (forgets)
		settings_forget(settings, field);
	return forgets;
}

/* The servers of the local cluster have no users, no passwords and no guard until somebody gives them some.
 * Those in a file belong to the other servers that it names. */
static void drop_for_local(struct settings *settings)
{
	if (is_from_file(settings, offsetof(struct settings, urls)))
		return;
	if (forget_of_file(settings, offsetof(struct settings, user)))
		settings->user = NULL;
	if (forget_of_file(settings, offsetof(struct settings, password_file)))
		settings->password_file = NULL;
	if (forget_of_file(settings, offsetof(struct settings, guard)))
		settings->guard = REDLOCK_GUARD_AUTO;
	if (forget_of_file(settings, offsetof(struct settings, quorum)))
		settings->quorum = 0;
}

static int refused(int error, const char *why)
{
	if (error == REDLOCK_E_INTERRUPTED && signals_caught())
		return EXIT_SIGNAL + signals_caught();
	complain(MSG(CONFIG_REFUSED), *why ? why : redlock_strerror(error));
	return outcome_of_error(error);
}

int config_apply(struct settings *settings, const char *name)
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
	if (code == EXIT_OK && nodes_are_local(settings))
		drop_for_local(settings);
	if (code == EXIT_OK && name != NULL)
		code = sets_choose(settings, config, name);
	redlock_config_free(config);
	return code;
}
