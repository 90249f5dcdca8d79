/* SPDX-License-Identifier: MIT */
/* Configuration files and environment. */
#include "config.h"

#include <errno.h>
#include <ini.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "exit_codes.h"
#include "message.h"
#include "secret.h"
#include "url_list.h"

#define SYSTEM_FILE "/etc/redlock/redlock.conf"
#define SECTION "cluster "
#define UNKNOWN_SECTION "unknown section [%s]; there is [cluster NAME]"

const struct option_group *const config_groups[] = {&node_options, &ttl_options, &wait_options, &busy_options,
                                                    NULL};

/* One line of a file: where it stands, what it says. */
struct entry {
	char *where;   /* "file:line" */
	char *cluster; /* "": for all */
	char *value;
	const struct option_spec *spec;
	bool of_user;
};

struct reading {
	struct settings *settings;
	const char *path;
	FILE *file;
	unsigned line;
	bool of_user;
	bool failed;
	bool has_password;
	char *readable[2];     /* files with a password that others can read */
	struct entry *entries; /* of both files */
	size_t count;
};

/* ---- files ---- */

__attribute__((format(printf, 2, 3))) static int wrong(struct reading *reading, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	char text[512];
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	if (!reading->failed)
		complain("%s:%u: %s", reading->path, reading->line, text);
	reading->failed = true;
	return 0;
}

/* The name of the cluster of a section, "" for none; NULL: not a section of ours. */
static const char *cluster_of(const char *section)
{
	if (!*section)
		return "";
	if (strncmp(section, SECTION, strlen(SECTION)) != 0 || !section[strlen(SECTION)])
		return NULL;
	return section + strlen(SECTION);
}

/* inih tells of a section with its first key, takes [] for none, and passes over what follows the bracket. */
static void check_section(struct reading *reading, const char *line)
{
	char section[256];
	size_t length = strcspn(line + 1, "]");
	const char *rest = line + 1 + length;
	if (*line != '[' || *rest != ']')
		return; /* inih finds out */
	snprintf(section, sizeof section, "%.*s", (int)length, line + 1);
	rest += 1 + strspn(rest + 1, " \t\r\n");
	if (!*section || cluster_of(section) == NULL)
		wrong(reading, UNKNOWN_SECTION, section);
	else if (*rest && *rest != ';' && *rest != '#')
		wrong(reading, "[%s]: nothing but a comment may follow", section);
}

/* As fgets, which would not tell of a NUL. Returns how many bytes the line has. */
static int get_line(char *buffer, int size, FILE *file)
{
	int length = 0, byte = 0;
	while (length < size - 1 && byte != '\n' && (byte = getc(file)) != EOF)
		buffer[length++] = (char)byte;
	buffer[length] = '\0';
	return length;
}

/* inih cuts longer lines in pieces and takes each for a line. */
static char *read_line(char *buffer, int size, void *user)
{
	struct reading *reading = user;
	int length = reading->failed ? 0 : get_line(buffer, size, reading->file);
	if (length == 0)
		return NULL;
	reading->line++;
	if (length == size - 1 && buffer[size - 2] != '\n')
		wrong(reading, "the line is longer than %d bytes; `url` may be repeated", size - 2);
	else if (memchr(buffer, '\0', (size_t)length) != NULL)
		wrong(reading, "the line has a NUL byte in it");
	else
		check_section(reading, buffer);
	return reading->failed ? NULL : buffer;
}

/* The same node twice in one section: found here, where the line is known. */
static bool is_listed(const struct reading *reading, const char *cluster, const char *value)
{
	if (url_list_repeats(value, value))
		return true;
	for (size_t i = 0; i < reading->count; i++) {
		const struct entry *entry = &reading->entries[i];
		if (entry->spec->kind == OPTION_URLS && entry->of_user == reading->of_user &&
		    strcmp(entry->cluster, cluster) == 0 && url_list_repeats(entry->value, value))
			return true;
	}
	return false;
}

static int add_entry(struct reading *reading, const struct option_spec *spec, const char *cluster,
                     const char *value)
{
	struct entry *entries = realloc(reading->entries, (reading->count + 1) * sizeof *entries);
	if (entries == NULL)
		return wrong(reading, "out of memory");
	reading->entries = entries;
	struct entry *entry = &entries[reading->count++];
	char where[PATH_MAX + 16];
	snprintf(where, sizeof where, "%s:%u", reading->path, reading->line);
	*entry = (struct entry){
	    .where = strdup(where),
	    .cluster = strdup(cluster),
	    .value = strdup(value),
	    .spec = spec,
	    .of_user = reading->of_user,
	};
	return entry->where != NULL && entry->cluster != NULL && entry->value != NULL
	           ? 1
	           : wrong(reading, "out of memory");
}

/* One line, from inih. 0: wrong. */
static int take_line(void *user, const char *section, const char *name, const char *value)
{
	struct reading *reading = user;
	const struct option_spec *spec = options_find(config_groups, name);
	const char *cluster = cluster_of(section);
	struct settings scratch = {.source_count = 0};
	if (reading->failed)
		return 0;
	if (cluster == NULL)
		return wrong(reading, UNKNOWN_SECTION, section);
	if (spec == NULL || spec->value == NULL || strcmp(name, "config") == 0 ||
	    (*cluster && strcmp(name, "cluster") == 0))
		return wrong(reading, "unknown key '%s'", name);
	const char *problem = settings_store(&scratch, spec, value, RANK_COMMAND_LINE, "");
	settings_clear(&scratch);
	char text[256];
	if (problem != NULL)
		return wrong(reading, "%s: %s", name, settings_problem(spec, value, problem, text, sizeof text));
	if (spec->kind == OPTION_URLS && !*value)
		return wrong(reading, "%s: is empty", name);
	if (spec->kind == OPTION_URLS && is_listed(reading, cluster, value))
		return wrong(reading, "%s: this node is listed twice", name);
	if (spec->kind == OPTION_URLS && secret_is_in(value))
		reading->has_password = true;
	return add_entry(reading, spec, cluster, value);
}

static void check_readable(struct reading *reading)
{
	struct stat status;
	if (reading->has_password && fstat(fileno(reading->file), &status) == 0 && secret_is_exposed(&status))
		reading->readable[reading->of_user] = strdup(reading->path);
}

static void warn_readable(const struct reading *reading)
{
	for (size_t i = 0; i < sizeof reading->readable / sizeof reading->readable[0]; i++)
		if (reading->readable[i] != NULL)
			say(reading->settings, "warning: %s has a password in it and can be read by others; chmod 600 it",
			    reading->readable[i]);
}

/* A file that is not there is empty, unless it was asked for. */
static int read_file(struct reading *reading, const char *path, bool of_user, bool asked)
{
	char buffer[4096]; /* of the stream; it is wiped here */
	struct stat status;
	reading->path = path;
	reading->line = 0;
	reading->of_user = of_user;
	reading->file = fopen(path, "re");
	if (reading->file == NULL) {
		reading->path = NULL;
		if (!asked && (errno == ENOENT || errno == ENOTDIR))
			return EXIT_OK;
		int error = errno;
		complain("%s: %s", path, strerror(error));
		return exit_code_of_errno(error);
	}
	if (fstat(fileno(reading->file), &status) == 0 && S_ISDIR(status.st_mode)) {
		complain("%s: is a directory, not a configuration file", path);
		fclose(reading->file);
		reading->file = NULL;
		reading->path = NULL;
		return EXIT_CONFIG;
	}
	setvbuf(reading->file, buffer, _IOFBF, sizeof buffer);
	int line = ini_parse_stream(read_line, reading, take_line, reading);
	if (line != 0 && !reading->failed) {
		reading->line = (unsigned)line;
		wrong(reading, "neither [section] nor key = value");
	}
	check_readable(reading);
	fclose(reading->file);
	explicit_bzero(buffer, sizeof buffer);
	reading->file = NULL;
	reading->path = NULL;
	return reading->failed ? EXIT_CONFIG : EXIT_OK;
}

static int read_user_file(struct reading *reading)
{
	const char *home = getenv("XDG_CONFIG_HOME");
	const char *rest = "redlock/redlock.conf";
	if (home == NULL || *home != '/') {
		home = getenv("HOME");
		rest = ".config/redlock/redlock.conf";
	}
	char path[PATH_MAX];
	if (home == NULL || snprintf(path, sizeof path, "%s/%s", home, rest) >= (int)sizeof path)
		return EXIT_OK;
	return read_file(reading, path, true, false);
}

static int read_files(struct reading *reading)
{
	const char *only =
	    reading->settings->config != NULL ? reading->settings->config : getenv("REDLOCK_CONFIG");
	if (only != NULL && *only)
		return read_file(reading, only, true, true);
	int code = read_file(reading, SYSTEM_FILE, false, false);
	return code == EXIT_OK ? read_user_file(reading) : code;
}

/* ---- precedence ---- */

static int store(struct settings *settings, const struct option_spec *spec, const char *value,
                 enum setting_rank rank, const char *where)
{
	const char *problem = settings_store(settings, spec, value, rank, where);
	if (problem == NULL)
		return EXIT_OK;
	char text[256];
	complain("%s: %s", where, settings_problem(spec, value, problem, text, sizeof text));
	return EXIT_CONFIG;
}

static const struct {
	const char *variable;
	const char *option;
} variables[] = {
    {"REDLOCK_CLUSTER", "cluster"}, {"REDLOCK_URLS", "url"},
    {"REDLOCK_USER", "user"},       {"REDLOCK_PASSWORD_FILE", "password-file"},
    {"REDLOCK_PREFIX", "prefix"},   {"REDLOCK_NODE_TIMEOUT", "node-timeout"},
    {"REDLOCK_TTL", "ttl"},         {"REDLOCK_WAIT", "wait"},
    {"REDLOCK_GUARD", "guard"},
};

static int apply_environment(struct settings *settings)
{
	int code = EXIT_OK;
	for (size_t i = 0; i < sizeof variables / sizeof variables[0] && code == EXIT_OK; i++) {
		const char *value = getenv(variables[i].variable);
		if (value != NULL && *value)
			code = store(settings, options_find(config_groups, variables[i].option), value, RANK_ENVIRONMENT,
			             variables[i].variable);
	}
	return code;
}

static int apply_entries(const struct reading *reading, const char *cluster, enum setting_rank rank)
{
	int code = EXIT_OK;
	for (size_t i = 0; i < reading->count && code == EXIT_OK; i++) {
		const struct entry *entry = &reading->entries[i];
		if (strcmp(entry->cluster, cluster) == 0)
			code = store(reading->settings, entry->spec, entry->value, rank + entry->of_user, entry->where);
	}
	return code;
}

static bool has_cluster(const struct reading *reading, const char *cluster)
{
	for (size_t i = 0; i < reading->count; i++)
		if (strcmp(reading->entries[i].cluster, cluster) == 0)
			return true;
	return false;
}

static int apply_cluster(const struct reading *reading)
{
	const struct setting_source *source =
	    settings_source(reading->settings, offsetof(struct settings, cluster));
	const char *cluster = reading->settings->cluster;
	if (cluster == NULL || source == NULL)
		return EXIT_OK;
	if (!*cluster || !has_cluster(reading, cluster)) {
		complain("%s: no section [cluster %s] in the configuration; `redlock config show` lists the files",
		         source->where, cluster);
		return EXIT_CONFIG;
	}
	return apply_entries(reading, cluster,
	                     source->rank == RANK_COMMAND_LINE ? RANK_CHOSEN_SYSTEM_CLUSTER
	                                                       : RANK_SYSTEM_CLUSTER);
}

static int apply_fallback(struct settings *settings)
{
	const char *url = getenv("REDIS_URL");
	if (settings->urls.count > 0 || url == NULL || !*url)
		return EXIT_OK;
	return store(settings, options_find(config_groups, "url"), url, RANK_SYSTEM_FILE, "REDIS_URL");
}

static void clear(struct reading *reading)
{
	for (size_t i = 0; i < reading->count; i++) {
		free(reading->entries[i].where);
		free(reading->entries[i].cluster);
		secret_free(reading->entries[i].value);
	}
	free(reading->entries);
	for (size_t i = 0; i < sizeof reading->readable / sizeof reading->readable[0]; i++)
		free(reading->readable[i]);
}

int config_apply(struct settings *settings)
{
	struct reading reading = {.settings = settings};
	int code = read_files(&reading);
	if (code == EXIT_OK)
		code = apply_environment(settings);
	if (code == EXIT_OK)
		code = apply_entries(&reading, "", RANK_SYSTEM_FILE);
	if (code == EXIT_OK)
		code = apply_cluster(&reading);
	if (code == EXIT_OK)
		code = apply_fallback(settings);
	warn_readable(&reading);
	clear(&reading);
	secret_wipe_stack(); /* here, before longer calls leave what is in it between their own variables */
	return code;
}
