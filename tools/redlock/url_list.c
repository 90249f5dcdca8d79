/* SPDX-License-Identifier: MIT */
/* Comma lists of node URLs. */
#include "url_list.h"

#include <string.h>
#include <strings.h>

#include <redlock/url.h>

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

/* What is no URL is a word, as `local`. */
static bool is_same(const char *one, const char *two)
{
	int same = redlock_url_same_server(one, two);
	return same < 0 ? *one && strcasecmp(one, two) == 0 : same;
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

static bool has_user(const char *text)
{
	struct redlock_url url = {.size = sizeof url};
	return redlock_url_parse(text, NULL, 0, &url) == 0 && url.has_user;
}

bool url_list_has_user(const char *list)
{
	bool found = false;
	char *url;
	while (!found && url_list_next(&list, &url)) {
		found = url != NULL && has_user(url);
		secret_free(url);
	}
	return found;
}
