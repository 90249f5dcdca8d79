/* SPDX-License-Identifier: MIT */
#include "config/lines.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/url_list.h"
#include "os/file.h"

#define SECTION "cluster "
#define NO_LINE "neither [section] nor key = value"

enum { MAX_FILE = 1 << 20, MAX_LINE = 4096 };

struct reading {
	struct rl_lines *lines;
	const char *path;
	unsigned line;
	const char *cluster;        /* of the section, "" before the first one */
	const struct rl_word *word; /* of the last line, which an indented line continues; NULL: of none */
	bool is_users;
	bool has_password;
	int error;
};

__attribute__((format(printf, 3, 4))) static void fail(struct reading *r, int error, const char *format, ...)
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
}

/* ---- texts of a line ---- */

/* Cuts the blanks off both ends. Returns the text between them. */
static char *trim(char *text)
{
	char *end = text + strlen(text);
	while (end > text && isspace((unsigned char)end[-1]))
		end--;
	*end = '\0';
	return text + strspn(text, " \t\n\v\f\r");
}

/* Finds the first of `chars`, or a comment: a semicolon after a blank. Returns the end of the text if it has
 * neither. */
static char *find(char *text, const char *chars)
{
	bool after_blank = false;
	for (; *text != '\0' && strchr(chars, *text) == NULL && !(after_blank && *text == ';'); text++)
		after_blank = isspace((unsigned char)*text);
	return text;
}

/* A comment in a value: `;` or `#` after a blank. A value may begin with `#`. */
static char *without_comment(char *text)
{
	char *value = trim(text), *at = value;
	for (; *at != '\0'; at++) {
		bool after_blank = at > text && isspace((unsigned char)at[-1]);
		if (after_blank && (*at == ';' || (*at == '#' && at > value)))
			break;
	}
	*at = '\0';
	return trim(value);
}

/* ---- sections ---- */

/* Returns the name as `lines` keeps it. NULL: out of memory. */
static const char *add_cluster(struct rl_lines *lines, const char *name)
{
	for (size_t i = 0; i < lines->cluster_count; i++)
		if (strcmp(lines->clusters[i], name) == 0)
			return lines->clusters[i];
	char **clusters = realloc(lines->clusters, (lines->cluster_count + 1) * sizeof *clusters);
	if (clusters == NULL)
		return NULL;
	lines->clusters = clusters;
	clusters[lines->cluster_count] = strdup(name);
	return clusters[lines->cluster_count] != NULL ? clusters[lines->cluster_count++] : NULL;
}

/* `line` begins with a bracket. */
static void take_section(struct reading *r, char *line)
{
	char *section = line + 1, *end = find(section, "]");
	if (*end != ']') {
		fail(r, REDLOCK_E_CONFIG, NO_LINE);
		return;
	}
	*end = '\0';
	const char *rest = end + 1 + strspn(end + 1, " \t");
	if (strncmp(section, SECTION, strlen(SECTION)) != 0 || !section[strlen(SECTION)])
		fail(r, REDLOCK_E_CONFIG, "unknown section [%s]; there is [cluster NAME]", section);
	else if (*rest && *rest != ';' && *rest != '#')
		fail(r, REDLOCK_E_CONFIG, "[%s]: nothing but a comment may follow", section);
	else if ((r->cluster = add_cluster(r->lines, section + strlen(SECTION))) == NULL)
		fail(r, REDLOCK_E_NOMEM, "out of memory");
	r->word = NULL;
}

/* ---- nodes ---- */

/* Finds a node that is listed twice in one section, here where the line is known. */
static bool is_listed(const struct reading *r, const char *value)
{
	bool found = rl_url_list_repeats(value, value);
	for (size_t i = 0; i < r->lines->count && !found; i++) {
		const struct rl_line *line = &r->lines->list[i];
		found = line->word->kind == RL_WORD_URLS && line->is_users == r->is_users &&
		        strcmp(line->cluster, r->cluster) == 0 && rl_url_list_repeats(line->value, value);
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

static bool add_line(struct reading *r, const char *value)
{
	struct rl_lines *lines = r->lines;
	struct rl_line *list = realloc(lines->list, (lines->count + 1) * sizeof *list);
	if (list == NULL)
		return false;
	lines->list = list;
	char where[PATH_MAX + 16];
	snprintf(where, sizeof where, "%s:%u", r->path, r->line);
	struct rl_line *line = &list[lines->count++];
	*line = (struct rl_line){.word = r->word,
	                         .value = strdup(value),
	                         .where = strdup(where),
	                         .cluster = strdup(r->cluster),
	                         .is_users = r->is_users};
	return line->value != NULL && line->where != NULL && line->cluster != NULL;
}

static void unknown_key(struct reading *r, const char *name)
{
	if (strcmp(name, "password") == 0)
		fail(r, REDLOCK_E_CONFIG,
		     "unknown key 'password'; write the password to a file that only its user can read, and "
		     "its path here: password-file = FILE");
	else
		fail(r, REDLOCK_E_CONFIG, "unknown key '%s'; redlock(1), CONFIGURATION, has the keys", name);
}

/* A value of the key `word`. */
static void take_value(struct reading *r, const char *value)
{
	const struct rl_word *word = r->word;
	char problem[256];
	uint64_t number;
	if (!rl_words_parse(word, value, &number, problem, sizeof problem)) {
		fail(r, REDLOCK_E_CONFIG, "%s: %s", word->name, problem);
		return;
	}
	if (word->kind == RL_WORD_URLS && !*value)
		fail(r, REDLOCK_E_CONFIG, "%s: is empty", word->name);
	else if (word->kind == RL_WORD_URLS && is_listed(r, value))
		fail(r, REDLOCK_E_CONFIG, "%s: this node is listed twice", word->name);
	else if (!add_line(r, value))
		fail(r, REDLOCK_E_NOMEM, "out of memory");
	if (word->kind == RL_WORD_URLS && has_password(value))
		r->has_password = true;
}

static void take_key(struct reading *r, char *line)
{
	char *end = find(line, "=:");
	if (*end != '=' && *end != ':') {
		fail(r, REDLOCK_E_CONFIG, NO_LINE);
		return;
	}
	*end = '\0';
	const char *name = trim(line);
	if (strpbrk(name, " \t") != NULL) { /* `url redis://host`: the colon is a part of the value */
		fail(r, REDLOCK_E_CONFIG, NO_LINE);
		return;
	}
	r->word = rl_words_find(name);
	if (r->word == NULL || !r->word->is_key || (*r->cluster && r->word->home == RL_WORD_FILE))
		unknown_key(r, name);
	else
		take_value(r, without_comment(end + 1));
}

/* ---- files ---- */

static void take_line(struct reading *r, char *line)
{
	char *start = trim(line);
	if (*start == '\0' || *start == ';' || *start == '#')
		return;
	if (start > line && r->word != NULL)
		take_value(r, without_comment(start));
	else if (*start == '[')
		take_section(r, start);
	else
		take_key(r, start);
}

static void take_lines(struct reading *r, const char *at, const char *end)
{
	char line[MAX_LINE + 1];
	static const char mark[] = "\xEF\xBB\xBF"; /* of UTF-8, which some editors write */
	if (end - at >= 3 && memcmp(at, mark, 3) == 0)
		at += 3;
	while (at < end && r->error == 0) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t size = (size_t)((newline != NULL ? newline : end) - at);
		r->line++;
		if (size > MAX_LINE) {
			fail(r, REDLOCK_E_CONFIG, "the line is longer than %d bytes; `url` may be repeated", MAX_LINE);
		} else if (memchr(at, '\0', size) != NULL) {
			fail(r, REDLOCK_E_CONFIG, "the line has a NUL byte in it");
		} else {
			memcpy(line, at, size);
			line[size] = '\0';
			take_line(r, line);
		}
		at += size + 1;
	}
	explicit_bzero(line, sizeof line); /* it may have had a password in it */
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
	struct reading r = {.lines = lines, .path = path, .cluster = "", .is_users = is_users};
	struct rl_file file;
	int error = rl_file_read(path, MAX_FILE, stop_fd, &file);
	if (!must_exist && (error == ENOENT || error == ENOTDIR))
		return 0;
	if (error != 0)
		return cannot_read(&r, error);
	take_lines(&r, file.bytes, file.bytes + file.size);
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
