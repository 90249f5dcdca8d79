/* SPDX-License-Identifier: MIT */
/* What can be told from the text of node URLs. */
#include "endpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "secret.h"

enum { ENDPOINT_MAX = 512 };

static const char *skip(const char *text, const char *set)
{
	return text + strspn(text, set);
}

/* The next URL of the list as host:port or path; false at its end. */
static bool next(const char **list, char endpoint[ENDPOINT_MAX])
{
	const char *from = skip(*list, ", \t"), *end = from + strcspn(from, ","), *authority, *at;
	size_t length;

	*list = end;
	if (from == end)
		return false;
	snprintf(endpoint, ENDPOINT_MAX, "%.*s", (int)(end - from), from);
	authority = strstr(endpoint, "://");
	if (!authority || strncasecmp(endpoint, "unix", 4) == 0)
		return true;
	at = strrchr(authority, '@');
	authority = at ? at + 1 : authority + 3;
	length = strcspn(authority, "/? \t");
	memmove(endpoint, authority, length);
	endpoint[length] = '\0';
	if (!strchr(strrchr(endpoint, ']') ? strrchr(endpoint, ']') : endpoint, ':') && length + 6 < ENDPOINT_MAX)
		memcpy(endpoint + length, ":6379", 6);
	return true;
}

bool endpoint_repeats(const char *list, const char *other)
{
	char one[ENDPOINT_MAX], two[ENDPOINT_MAX];
	const char *in_list = list;

	while (next(&in_list, one)) {
		const char *in_other = list == other ? in_list : other;

		while (next(&in_other, two))
			if (strcasecmp(one, two) == 0)
				return true;
	}
	return false;
}

bool endpoint_has_password(const char *list)
{
	char *copy = strdup(list);
	bool found = copy && secret_blank_urls(copy);

	free(copy);
	return found;
}

bool endpoint_has_user(const char *list)
{
	for (const char *url = list; *url; url += strcspn(url, ","), url += *url == ',') {
		const char *end = url + strcspn(url, ","), *authority = strstr(url, "://");

		if (authority && authority < end && authority[3] != ':' && authority[3] != '@' &&
		    memchr(authority, '@', (size_t)(end - authority)))
			return true;
	}
	return false;
}
