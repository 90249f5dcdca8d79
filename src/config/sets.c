/* SPDX-License-Identifier: MIT */
#include "config/sets.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"

#define BLANKS " \t,"

__attribute__((format(printf, 3, 4))) static int fail(struct rl_sets *s, const char *where,
                                                      const char *format, ...)
{
	char text[400];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	snprintf(s->error, sizeof s->error, "%s: %s", where, text);
	return REDLOCK_E_CONFIG;
}

static int out_of_memory(struct rl_sets *s)
{
	snprintf(s->error, sizeof s->error, "out of memory");
	return REDLOCK_E_NOMEM;
}

/* ---- sections ---- */

static bool is_section(const struct rl_lines *lines, const char *name)
{
	bool found = false;
	for (size_t i = 0; i < lines->cluster_count && !found; i++)
		found = strcmp(lines->clusters[i], name) == 0;
	return found;
}

/* Whether the line is about `key` of the section. The user's file precedes the system's. */
static bool counts(const struct rl_lines *lines, const struct rl_line *line, const char *section,
                   const char *key)
{
	bool is_about = strcmp(line->cluster, section) == 0 && strcmp(line->word->name, key) == 0;
	for (size_t i = 0; i < lines->count && is_about && !line->is_users; i++) {
		const struct rl_line *other = &lines->list[i];
		is_about =
		    !other->is_users || strcmp(other->cluster, section) != 0 || strcmp(other->word->name, key) != 0;
	}
	return is_about;
}

/* A set has no options of its own: one client asks all of them. */
static int check_keys(struct rl_sets *s, const struct rl_lines *lines, const char *section)
{
	for (size_t i = 0; i < lines->count; i++) {
		const struct rl_line *line = &lines->list[i];
		const char *key = line->word->name;
		if (strcmp(line->cluster, section) == 0 && strcmp(key, "url") != 0 && strcmp(key, "quorum") != 0)
			return fail(
			    s, line->where,
			    "%s: `quorums` names this section, which may only have url and quorum then: write it in "
			    "front of all sections",
			    key);
	}
	return 0;
}

/* The nodes of several lines are one list. */
static bool add_urls(char **list, const char *urls)
{
	size_t size = *list != NULL ? strlen(*list) : 0, more = strlen(urls);
	char *longer = malloc(size + more + 2);
	if (longer == NULL)
		return false;
	snprintf(longer, size + more + 2, "%s%s%s", size > 0 ? *list : "", size > 0 ? "," : "", urls);
	if (*list != NULL)
		explicit_bzero(*list, size);
	free(*list);
	*list = longer;
	return true;
}

static int read_section(struct rl_sets *s, const struct rl_lines *lines, size_t index, const char *where)
{
	const char *name = s->list[index].name;
	if (!is_section(lines, name))
		return fail(s, where, "no section [cluster %s] in the configuration", name);
	int error = check_keys(s, lines, name);
	for (size_t i = 0; i < lines->count && error == 0; i++) {
		const struct rl_line *line = &lines->list[i];
		if (counts(lines, line, name, "quorum"))
			s->list[index].quorum = (unsigned)strtoul(line->value, NULL, 10);
		if (!counts(lines, line, name, "url"))
			continue;
		if (s->list[index].where == NULL)
			s->list[index].where = line->where;
		error = add_urls(&s->list[index].urls, line->value) ? 0 : out_of_memory(s);
	}
	if (error == 0 && s->list[index].urls == NULL)
		return fail(s, where, "[cluster %s] has no url", name);
	return error;
}

/* ---- lists ---- */

static int add(struct rl_sets *s, const char *name, size_t size, const struct redlock_setting *setting)
{
	for (size_t i = 0; i < s->count; i++)
		if (strlen(s->list[i].name) == size && memcmp(s->list[i].name, name, size) == 0)
			return fail(s, setting->where, "%s: [cluster %s] is listed twice", setting->name,
			            s->list[i].name);
	if (s->count == REDLOCK_MAX_SETS)
		return fail(s, setting->where, "%s: more than %d node sets", setting->name, REDLOCK_MAX_SETS);
	s->list[s->count].name = strndup(name, size);
	if (s->list[s->count].name == NULL)
		return out_of_memory(s);
	s->list[s->count++].joining = strcmp(setting->name, "joining") == 0;
	return 0;
}

static int add_list(struct rl_sets *s, const struct rl_lines *lines, const struct redlock_setting *setting)
{
	size_t first = s->count;
	int error = 0;
	for (const char *at = setting->value; error == 0 && *(at += strspn(at, BLANKS)) != '\0';) {
		size_t size = strcspn(at, BLANKS);
		error = add(s, at, size, setting);
		at += size;
	}
	if (error == 0 && strcmp(setting->name, "joining") == 0 && s->count != first + 1)
		error = fail(s, setting->where, "joining: one node set joins at a time");
	for (size_t i = first; i < s->count && error == 0; i++)
		error = read_section(s, lines, i, setting->where);
	return error;
}

/* The lines of the section that counts: of the same file the last one. */
static int add_of(struct rl_sets *s, const struct rl_lines *lines, const char *section, const char *key)
{
	const struct rl_line *line = NULL;
	for (size_t i = 0; i < lines->count; i++)
		if (counts(lines, &lines->list[i], section, key))
			line = &lines->list[i];
	if (line == NULL)
		return 0;
	const struct redlock_setting setting = {
	    .size = sizeof setting, .name = key, .value = line->value, .where = line->where};
	return add_list(s, lines, &setting);
}

int rl_sets_read(const redlock_config *config, struct rl_sets *ret)
{
	const struct rl_lines *lines = rl_config_lines(config);
	struct redlock_setting setting = {.size = sizeof setting};
	int error = 0;
	*ret = (struct rl_sets){.count = 0};
	for (size_t i = 0; error == 0 && redlock_config_setting(config, i, &setting) > 0; i++)
		if (strcmp(setting.name, "quorums") == 0 || strcmp(setting.name, "joining") == 0)
			error = add_list(ret, lines, &setting);
	const char *whole = rl_config_whole(config);
	if (error != 0 || ret->count > 0 || whole == NULL)
		return error;
	error = add_of(ret, lines, whole, "quorums");
	return error == 0 ? add_of(ret, lines, whole, "joining") : error;
}

void rl_sets_free(struct rl_sets *s)
{
	for (size_t i = 0; i < s->count; i++) {
		if (s->list[i].urls != NULL)
			explicit_bzero(s->list[i].urls, strlen(s->list[i].urls));
		free(s->list[i].urls);
		free(s->list[i].name);
	}
	s->count = 0;
}
