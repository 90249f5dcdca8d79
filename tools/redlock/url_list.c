/* SPDX-License-Identifier: MIT */
/* Comma lists of node URLs. */
#include "url_list.h"

#include <string.h>
#include <strings.h>

#include <redlock/redlock.h>

#include "secret.h"

static const char blanks[] = " \t\r\n";

bool url_list_next(const char **list, char **ret_url)
{
	const char *from = *list;
	if (from == NULL)
		return false;
	const char *end = from + strcspn(from, ",");
	*list = *end ? end + 1 : NULL;
	from += strspn(from, blanks);
	while (end > from && strchr(blanks, end[-1]) != NULL)
		end--;
	*ret_url = end > from ? strndup(from, (size_t)(end - from)) : strdup("");
	return true;
}

/* What the library makes of a URL; all of it is empty where that is nothing, as of the word `local`. */
static struct redlock_url read_url(const char *text)
{
	struct redlock_url url = {.size = sizeof url};
	if (redlock_url_parse(text, NULL, 0, &url) < 0)
		url = (struct redlock_url){.size = 0};
	return url;
}

static bool is_same(const char *one, const char *two)
{
	const struct redlock_url a = read_url(one), b = read_url(two);
	if (a.size == 0 || b.size == 0)
		return *one && strcasecmp(one, two) == 0;
	return strcasecmp(a.host, b.host) == 0 && a.port == b.port && strcmp(a.path, b.path) == 0;
}

static bool has_server(const char *list, const char *wanted)
{
	bool found = false;
	char *url;
	while (!found && url_list_next(&list, &url)) {
		found = url != NULL && is_same(url, wanted);
		secret_free(url);
	}
	return found;
}

bool url_list_repeats(const char *list, const char *other)
{
	const char *rest = list;
	bool found = false;
	char *url;
	while (!found && url_list_next(&rest, &url)) {
		found = url != NULL && has_server(list == other ? rest : other, url);
		secret_free(url);
	}
	return found;
}

bool url_list_has_user(const char *list)
{
	bool found = false;
	char *url;
	while (!found && url_list_next(&list, &url)) {
		found = url != NULL && read_url(url).has_user;
		secret_free(url);
	}
	return found;
}
