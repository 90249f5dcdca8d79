/* SPDX-License-Identifier: MIT */
/* redlock config show: what holds, and where each value comes from. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <redlock/redlock.h>

#include "cmd.h"
#include "config.h"
#include "guard_memory.h"
#include "guard_view.h"
#include "json.h"
#include "message.h"
#include "secret.h"
#include "values.h"

static const struct option_group *const groups[] = {&ttl_options,  &wait_options,   &busy_options,
                                                    &node_options, &output_options, NULL};

enum { VALUE_MAX = 1024 };

/* Writes a URL with *** instead of its password, however long that is. */
static void hidden_url(const char *url, char *buffer, size_t size)
{
	char *copy = strdup(url);
	size_t out = 0, stars = 0;
	buffer[0] = '\0';
	if (copy == NULL)
		return;
	(void)secret_blank_urls(copy);
	for (const char *c = copy; *c && out + 1 < size; c++) {
		stars = *c == '*' ? stars + 1 : 0;
		if (stars <= 3)
			buffer[out++] = *c;
	}
	buffer[out] = '\0';
	secret_free(copy);
}

/* The value of a field as it would be typed, "" when there is none. */
static const char *value_text(const struct settings *settings, const struct option_spec *spec, char *buffer)
{
	const void *field = (const char *)settings + spec->field;
	bool is_number =
	    spec->kind == OPTION_DURATION || spec->kind == OPTION_NUMBER || spec->kind == OPTION_WORD;
	uint64_t number = is_number ? *(const uint64_t *)field : 0;
	bool is_set = settings_source(settings, spec->field) != NULL;
	buffer[0] = '\0';
	if (spec->kind == OPTION_TEXT && *(const char *const *)field != NULL)
		snprintf(buffer, VALUE_MAX, "%s", *(const char *const *)field);
	else if (spec->kind == OPTION_TEXTS)
		text_list_join(field, buffer, VALUE_MAX);
	else if (spec->kind == OPTION_DURATION && (number != REDLOCK_FOREVER || is_set) &&
	         (number != 0 || spec->min == 0))
		redlock_duration_text(number, buffer, VALUE_MAX);
	else if (spec->kind == OPTION_WORD)
		value_word_at(spec->value, number, buffer, VALUE_MAX);
	else if (spec->kind == OPTION_NUMBER && number != UINT64_MAX && number >= spec->min)
		snprintf(buffer, VALUE_MAX, "%llu", (unsigned long long)number);
	return buffer;
}

static void show_value(const struct option_spec *spec, const char *value, const char *where,
                       struct json *json)
{
	if (json != NULL) {
		json_open(json, NULL, '{');
		json_text(json, "key", spec->name);
		if (*value)
			json_bytes(json, "value", value, strlen(value));
		else
			json_null(json, "value");
		json_text(json, "from", where);
		json_close(json, '}');
	} else if (*value && strcmp(spec->name, "config") == 0) { /* no key of a file */
		put_line("# %-16s   %-32s  # %s", spec->name, value, where);
	} else if (*value) {
		put_line("%-18s = %-32s  # %s", spec->name, value, where);
	} else {
		put_line("# %-16s   not set", spec->name);
	}
}

static void show_option(const struct settings *settings, const struct option_spec *spec, struct json *json)
{
	const struct setting_source *source = settings_source(settings, spec->field);
	const char *where = source != NULL && source->where != NULL ? source->where : "default";
	char text[VALUE_MAX];
	if (spec->kind != OPTION_URLS) {
		show_value(spec, value_text(settings, spec, text), where, json);
		return;
	}
	for (size_t i = 0; i < settings->urls.count; i++) {
		hidden_url(settings->urls.items[i], text, sizeof text);
		show_value(spec, text, settings->url_sources.items[i], json);
	}
	if (settings->urls.count == 0)
		show_value(spec, "", where, json);
}

/* -n is a shorter way to write -w 0: it has no line of its own. */
static void show_all(const struct settings *settings, struct json *json)
{
	for (size_t i = 0; i < config_sets.count; i++)
		if (settings_source(settings, config_sets.specs[i].field) != NULL)
			show_option(settings, &config_sets.specs[i], json);
	for (const struct option_group *const *group = config_groups; *group != NULL; group++)
		for (size_t i = 0; i < (*group)->count; i++)
			if ((*group)->specs[i].value != NULL)
				show_option(settings, &(*group)->specs[i], json);
}

/* A password of the environment, which a file or a question goes before; never its value. No key of a file.
 */
static void show_password(const struct settings *settings, struct json *json)
{
	bool counts = settings->password_file == NULL && !settings->ask_password;
	const char *from = counts ? settings->password_from : NULL;
	if (json != NULL) {
		json_open(json, NULL, '{');
		json_text(json, "key", "password");
		if (from != NULL)
			json_text(json, "value", "***");
		else
			json_null(json, "value");
		json_text(json, "from", from != NULL ? from : "default");
		json_close(json, '}');
	} else if (from != NULL) {
		put_line("# %-16s   %-32s  # %s", "password", "***", from);
	}
}

/* The directory that remembers guarded sets: another one in the environment is another memory. */
static void show_memory(struct json *json)
{
	char path[PATH_MAX];
	guard_memory_path(path);
	if (json != NULL)
		json_bytes(json, "memory", path, strlen(path));
	else
		put_line("# guarded sets are remembered in %s", path);
}

/* As a comment: the output is a configuration file. */
static void show_guard(const struct settings *settings, struct json *json)
{
	struct guard_view guard;
	char text[256];
	guard_view_recall(&guard, settings);
	if (json != NULL)
		guard_view_json(&guard, json);
	else
		put_line("# guard: %s", guard_view_text(&guard, text, sizeof text));
}

static int run(const struct settings *settings, int argc, char **argv)
{
	(void)argc;
	if (strcmp(argv[0], "show") != 0) {
		complain(MSG(CONFIG_VERB), argv[0]);
		return EXIT_USAGE;
	}
	if (!settings->json) {
		show_all(settings, NULL);
		show_password(settings, NULL);
		show_guard(settings, NULL);
		show_memory(NULL);
		return EXIT_OK;
	}
	struct json json;
	json_init(&json, stdout);
	json_open(&json, NULL, '{');
	json_text(&json, "verb", "config");
	json_open(&json, "settings", '[');
	show_all(settings, &json);
	show_password(settings, &json);
	json_close(&json, ']');
	show_guard(settings, &json);
	show_memory(&json);
	json_close(&json, '}');
	json_end(&json);
	return EXIT_OK;
}

const struct command cmd_config = {
    .name = "config",
    .arguments = "show",
    .summary = "what is configured, and where",
    .details =
        "Each value with its source: the command line, the environment, a file and line, or the default. "
        "Passwords are not shown. Files: /etc/redlock/redlock.conf, then redlock/redlock.conf in "
        "$XDG_CONFIG_HOME or ~/.config.\n",
    .groups = groups,
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
