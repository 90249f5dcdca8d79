/* SPDX-License-Identifier: MIT */
/* Passwords, removed from where other users can see them. */
#include "secret.h"

#include <stdlib.h>
#include <string.h>

/* The last `@` of [from, end), or NULL. */
static char *last_at_sign(const char *from, char *end)
{
	while (end > from)
		if (*--end == '@')
			return end;
	return NULL;
}

/* Blanks the password in `[user][:password]@`, and returns whether there was one. A word without a colon is
 * blanked too: it is a user, but redis-cli takes such a word for the password. */
static bool blank_userinfo(char *from, char *end)
{
	char *at = last_at_sign(from, end);
	if (at == NULL || at == from || *from == '/')
		return false;
	char *colon = memchr(from, ':', (size_t)(at - from));
	if (colon != NULL)
		from = colon + 1;
	memset(from, '*', (size_t)(at - from));
	return colon != NULL && at > from;
}

/* Where the value of the parameter that is a password begins and ends. NULL: no such parameter is there. */
static char *password_parameter(char *text, char **ret_end)
{
	static const char name[] = "sentinel_password=";
	char *from = strstr(text, name);
	if (from == NULL)
		return NULL;
	from += sizeof name - 1;
	*ret_end = from + strcspn(from, "&, \t\r\n\'\"");
	return from;
}

static bool blank_parameters(char *text)
{
	bool found = false;
	char *from, *end;
	for (char *at = text; (from = password_parameter(at, &end)) != NULL; at = end) {
		memset(from, '*', (size_t)(end - from));
		found |= end > from;
	}
	return found;
}

bool secret_blank_urls(char *text)
{
	char *start = strstr(text, "://");
	bool found = blank_parameters(text);
	/* A URL reaches to the next "://", not to the next comma: an unescaped comma may be in the password. */
	while (start != NULL) {
		char *from = start + 3;
		char *next = strstr(from, "://");
		if (blank_userinfo(from, next != NULL ? next : from + strlen(from)))
			found = true;
		start = next;
	}
	return found;
}

/* "host:port" or the like, and not the "user:pass" of "user:pass word@host". */
static bool is_place(const char *from, const char *end)
{
	const char *colon = memchr(from, ':', (size_t)(end - from));
	if (colon == NULL || *from == '/' || *from == '[' || memchr(from, '/', (size_t)(colon - from)) != NULL)
		return true;
	colon++;
	if (colon == end) /* "host: why", or a password that begins with a quote */
		return *end != '"' && *end != '\'';
	while (colon < end && *colon >= '0' && *colon <= '9')
		colon++;
	return colon == end || strchr(":,;.)/?", *colon) != NULL;
}

void secret_blank_words(char *line)
{
	(void)blank_parameters(line);
	for (char *at = strstr(line, "://"); at != NULL; at = strstr(at, "://")) {
		at += 3;
		char *end = at + strcspn(at, " \t\r\n\'\"");
		/* A password may have blanks and quotes: then its end is far. */
		if (memchr(at, '@', (size_t)(end - at)) == NULL && !is_place(at, end)) {
			char *next = strstr(end, "://");
			char *behind = last_at_sign(end, next != NULL ? next : end + strlen(end));
			end = behind != NULL ? behind + 1 : end;
		}
		(void)blank_userinfo(at, end);
	}
}

/* Cuts [from, to) out of its text, and leaves nothing behind its new end. */
static void cut(char *from, const char *to)
{
	size_t rest = strlen(to), gone = (size_t)(to - from);
	memmove(from, to, rest);
	explicit_bzero(from + rest, gone);
}

/* Takes the passwords, with their colons, out of the URLs in the text, in place. */
static void strip_urls(char *text)
{
	char *value, *end;
	for (char *at = text; (value = password_parameter(at, &end)) != NULL; at = value)
		cut(value, end);
	for (char *from = strstr(text, "://"); from != NULL; from = strstr(from, "://")) {
		from += 3;
		char *next = strstr(from, "://");
		char *at = *from == '/' ? NULL : last_at_sign(from, next != NULL ? next : from + strlen(from));
		char *colon = at != NULL ? memchr(from, ':', (size_t)(at - from)) : NULL;
		if (colon != NULL)
			cut(colon, colon == from ? at + 1 : at);
	}
}

static const struct {
	const char *name;
	bool is_urls; /* else a password */
	bool is_ours; /* else another program's, which the command may be */
} secret_variables[] = {{"REDLOCK_AUTH", false, true},
                        {"REDLOCK_URLS", true, true},
                        {"REDISCLI_AUTH", false, false},
                        {"VALKEYCLI_AUTH", false, false},
                        {"REDIS_URL", true, false}};

void secret_wipe_environment(bool heirs)
{
	for (size_t i = 0; i < sizeof secret_variables / sizeof secret_variables[0]; i++) {
		char *value = getenv(secret_variables[i].name);
		if (value == NULL || (heirs && !secret_variables[i].is_ours))
			continue;
		if (secret_variables[i].is_urls)
			strip_urls(value);
		else
			explicit_bzero(value, strlen(value));
	}
}

__attribute__((noinline)) void secret_wipe_stack(void)
{
	char deep[16384];
	explicit_bzero(deep, sizeof deep);
}

void secret_free(char *secret)
{
	if (secret == NULL)
		return;
	explicit_bzero(secret, strlen(secret));
	free(secret);
}
