/* SPDX-License-Identifier: MIT */
#include "config/lines.h"

#include <errno.h>
#include <ini.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/url_list.h"
#include "os/file.h"

#define SECTION "cluster "
#define UNKNOWN_SECTION "unknown section [%s]; there is [cluster NAME]"

enum { MAX_FILE = 1 << 20 };

struct reading {
	struct rl_lines *lines;
	const char *path;
	const char *at; /* the next line */
	const char *end;
	unsigned line;
	bool is_users;
	bool has_password;
	int error;
};

__attribute__((format(printf, 3, 4))) static int fail(struct reading *r, int error, const char *format, ...)
{
	char text[400];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	if (r->error == 0 && r->line > 0)
		snprintf(r->lines->error, sizeof r->lines->error, "%s:%u: %s", r->path, r->line, text);
	else if (r->error == 0)
		snprintf(r->lines->error, sizeof r->lines->error, "%s: %s", r->path, text);
	if (r->error == 0)
		r->error = error;
	return 0; /* as inih wants it */
}

/* ---- sections ---- */

/* The name of the cluster of a section, "" for the lines before any; NULL: no section of ours. */
static const char *cluster_of(const char *section)
{
	if (!*section)
		return "";
	if (strncmp(section, SECTION, strlen(SECTION)) != 0 || !section[strlen(SECTION)])
		return NULL;
	return section + strlen(SECTION);
}

static bool add_cluster(struct rl_lines *lines, const char *name)
{
	for (size_t i = 0; i < lines->cluster_count; i++)
		if (strcmp(lines->clusters[i], name) == 0)
			return true;
	char **clusters = realloc(lines->clusters, (lines->cluster_count + 1) * sizeof *clusters);
	if (clusters == NULL)
		return false;
	lines->clusters = clusters;
	clusters[lines->cluster_count] = strdup(name);
	if (clusters[lines->cluster_count] == NULL)
		return false;
	lines->cluster_count++;
	return true;
}

/* inih reports a section with its first key, takes [] for none, and ignores what follows the bracket. */
static void check_section(struct reading *r, const char *line)
{
	char section[256];
	size_t length = strcspn(line + 1, "]");
	const char *rest = line + 1 + length;
	if (*line != '[' || *rest != ']')
		return; /* inih refuses the line */
	snprintf(section, sizeof section, "%.*s", (int)length, line + 1);
	rest += 1 + strspn(rest + 1, " \t\r\n");
	if (!*section || cluster_of(section) == NULL)
		fail(r, REDLOCK_E_CONFIG, UNKNOWN_SECTION, section);
	else if (*rest && *rest != ';' && *rest != '#')
		fail(r, REDLOCK_E_CONFIG, "[%s]: nothing but a comment may follow", section);
	else if (!add_cluster(r->lines, cluster_of(section)))
		fail(r, REDLOCK_E_NOMEM, "out of memory");
}

/* ---- nodes ---- */

/* Finds a node that is listed twice in one section, here where the line is known. */
static bool is_listed(const struct reading *r, const char *cluster, const char *value)
{
	bool found = rl_url_list_repeats(value, value);
	for (size_t i = 0; i < r->lines->count && !found; i++) {
		const struct rl_line *line = &r->lines->list[i];
		found = line->word->kind == RL_WORD_URLS && line->is_users == r->is_users &&
		        strcmp(line->cluster, cluster) == 0 && rl_url_list_repeats(line->value, value);
	}
	return found;
}

/* A URL reaches to the next "://", not to the next comma: an unescaped comma may be in the password. */
static bool has_password(const char *list)
{
	bool found = false;
	for (const char *from = strstr(list, "://"); from != NULL && !found;) {
		from += 3;
		const char *next = strstr(from, "://");
		size_t size = next != NULL ? (size_t)(next - from) : strlen(from);
		const char *at = memrchr(from, '@', size);
		const char *colon = at != NULL ? memchr(from, ':', (size_t)(at - from)) : NULL;
		found = colon != NULL && colon + 1 < at;
		from = next;
	}
	return found;
}

/* ---- keys ---- */

static bool add_line(struct reading *r, const struct rl_word *word, const char *cluster, const char *value)
{
	struct rl_lines *lines = r->lines;
	struct rl_line *list = realloc(lines->list, (lines->count + 1) * sizeof *list);
	if (list == NULL)
		return false;
	lines->list = list;
	char where[PATH_MAX + 16];
	snprintf(where, sizeof where, "%s:%u", r->path, r->line);
	struct rl_line *line = &list[lines->count++];
	*line = (struct rl_line){.word = word,
	                         .value = strdup(value),
	                         .where = strdup(where),
	                         .cluster = strdup(cluster),
	                         .is_users = r->is_users};
	return line->value != NULL && line->where != NULL && line->cluster != NULL;
}

static int unknown_key(struct reading *r, const char *name)
{
	if (strcmp(name, "password") == 0)
		return fail(r, REDLOCK_E_CONFIG,
		            "unknown key 'password'; write the password to a file that only its user can read, and "
		            "its path here: password-file = FILE");
	return fail(r, REDLOCK_E_CONFIG, "unknown key '%s'", name);
}

/* One line, from inih. 0: wrong. */
static int take_line(void *user, const char *section, const char *name, const char *value)
{
	struct reading *r = user;
	const struct rl_word *word = rl_words_find(name);
	const char *cluster = cluster_of(section);
	char problem[256];
	uint64_t number;
	if (r->error != 0)
		return 0;
	if (cluster == NULL)
		return fail(r, REDLOCK_E_CONFIG, UNKNOWN_SECTION, section);
	if (word == NULL || !word->is_key || (*cluster && word->home == RL_WORD_FILE))
		return unknown_key(r, name);
	if (!rl_words_parse(word, value, &number, problem, sizeof problem))
		return fail(r, REDLOCK_E_CONFIG, "%s: %s", name, problem);
	if (word->kind == RL_WORD_URLS && !*value)
		return fail(r, REDLOCK_E_CONFIG, "%s: is empty", name);
	if (word->kind == RL_WORD_URLS && is_listed(r, cluster, value))
		return fail(r, REDLOCK_E_CONFIG, "%s: this node is listed twice", name);
	if (word->kind == RL_WORD_URLS && has_password(value))
		r->has_password = true;
	return add_line(r, word, cluster, value) ? 1 : fail(r, REDLOCK_E_NOMEM, "out of memory");
}

/* ---- files ---- */

/* The length of a line without its comment: text after a blank and `#` or `;`, after the first character of a
 * value. inih knows only `;`. */
static size_t length_without_comment(const char *line, size_t length)
{
	static const char blanks[] = " \t";
	size_t at = 0;
	while (at < length && line[at] != '=' && line[at] != ':')
		at++;
	at++;
	while (at < length && strchr(blanks, line[at]) != NULL)
		at++;
	for (at++; at < length; at++)
		if ((line[at] == '#' || line[at] == ';') && strchr(blanks, line[at - 1]) != NULL)
			return at;
	return length;
}

/* For inih, as fgets(3). It would cut a long line in pieces and take each for a line. */
static char *next_line(char *buffer, int size, void *user)
{
	struct reading *r = user;
	if (r->error != 0 || r->at == r->end)
		return NULL;
	const char *newline = memchr(r->at, '\n', (size_t)(r->end - r->at));
	size_t length = newline != NULL ? (size_t)(newline + 1 - r->at) : (size_t)(r->end - r->at);
	r->line++;
	size_t whole = length;
	if (memchr(r->at, '\0', length) == NULL)
		length = length_without_comment(r->at, length);
	if (length > (size_t)size - 2 + (newline != NULL && length == whole))
		fail(r, REDLOCK_E_CONFIG, "the line is longer than %d bytes; `url` may be repeated", size - 2);
	else if (memchr(r->at, '\0', length) != NULL)
		fail(r, REDLOCK_E_CONFIG, "the line has a NUL byte in it");
	if (r->error != 0)
		return NULL;
	memcpy(buffer, r->at, length);
	buffer[length] = '\0';
	r->at += whole;
	check_section(r, buffer);
	return r->error == 0 ? buffer : NULL;
}

static int cannot_read(struct reading *r, int error)
{
	if (error == EMFILE || error == ENFILE)
		fail(r, REDLOCK_E_SYSTEM, "%s", strerror(error));
	else if (error == ENOMEM)
		fail(r, REDLOCK_E_NOMEM, "out of memory");
	else if (error == ECANCELED)
		fail(r, REDLOCK_E_INTERRUPTED, "a signal ended the wait for it");
	else if (error == EISDIR)
		fail(r, REDLOCK_E_CONFIG, "is a directory, not a configuration file");
	else if (error == EFBIG)
		fail(r, REDLOCK_E_CONFIG, "has more than %d bytes: not a configuration file", MAX_FILE);
	else
		fail(r, REDLOCK_E_CONFIG, "%s", strerror(error));
	return r->error;
}

static void warn_exposed(struct rl_lines *lines, const char *path)
{
	size_t used = strlen(lines->warning);
	snprintf(lines->warning + used, sizeof lines->warning - used,
	         "%s%s has a password in it and can be read by others; chmod 600 it", used > 0 ? "\n" : "", path);
}

int rl_lines_read(struct rl_lines *lines, const char *path, bool is_users, bool must_exist, int stop_fd)
{
	struct reading r = {.lines = lines, .path = path, .is_users = is_users};
	struct rl_file file;
	int error = rl_file_read(path, MAX_FILE, stop_fd, &file);
	if (!must_exist && (error == ENOENT || error == ENOTDIR))
		return 0;
	if (error != 0)
		return cannot_read(&r, error);
	r.at = file.bytes;
	r.end = file.bytes + file.size;
	int line = ini_parse_stream(next_line, &r, take_line, &r);
	if (line != 0 && r.error == 0) {
		r.line = (unsigned)line;
		fail(&r, REDLOCK_E_CONFIG, "neither [section] nor key = value");
	}
	if (r.has_password && file.is_exposed)
		warn_exposed(lines, path);
	rl_file_free(&file);
	return r.error;
}

void rl_lines_free(struct rl_lines *lines)
{
	for (size_t i = 0; i < lines->count; i++) {
		struct rl_line *line = &lines->list[i];
		if (line->value != NULL)
			explicit_bzero(line->value, strlen(line->value));
		free(line->value);
		free(line->where);
		free(line->cluster);
	}
	for (size_t i = 0; i < lines->cluster_count; i++)
		free(lines->clusters[i]);
	free(lines->list);
	free(lines->clusters);
	*lines = (struct rl_lines){0};
}
