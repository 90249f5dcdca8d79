/* SPDX-License-Identifier: MIT */
/* Comma lists of node URLs. */
#include "config/url_list.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <redlock/url.h>

static const char blanks[] = " \t\r\n";

/* Where the first element of the list ends. The Sentinels of one node have commas between them, too, and the
 * servers of a cluster: up to the / after them. */
static const char *end_of_first(const char *list)
{
	static const char *const marks[] = {"+sentinel://", "+cluster://"};
	const char *end = list + strcspn(list, ",");
	for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
		const char *hosts = strstr(list, marks[i]);
		if (hosts == NULL || hosts > end)
			continue;
		hosts += strlen(marks[i]);
		hosts += strcspn(hosts, "/");
		return hosts + strcspn(hosts, ",");
	}
	return end;
}

bool rl_url_list_next(const char **list, char **ret_url)
{
	const char *from = *list;
	if (from == NULL)
		return false;
	const char *end = end_of_first(from);
	*list = *end ? end + 1 : NULL;
	from += strspn(from, blanks);
	while (end > from && strchr(blanks, end[-1]) != NULL)
		end--;
	*ret_url = end > from ? strndup(from, (size_t)(end - from)) : strdup("");
	return true;
}

/* An entry that is not a URL is a word, as `local`. */
static bool is_same(const char *one, const char *two)
{
	int same = redlock_url_same_server(one, two);
	return same < 0 ? *one && strcasecmp(one, two) == 0 : same;
}

static bool has_server(const char *list, const char *wanted)
{
	bool found = false;
	char *url;
	while (!found && rl_url_list_next(&list, &url)) {
		found = url != NULL && is_same(url, wanted);
		rl_url_list_free(url);
	}
	return found;
}

bool rl_url_list_repeats(const char *list, const char *other)
{
	const char *rest = list;
	bool found = false;
	char *url;
	while (!found && rl_url_list_next(&rest, &url)) {
		found = url != NULL && has_server(list == other ? rest : other, url);
		rl_url_list_free(url);
	}
	return found;
}

void rl_url_list_free(char *url)
{
	if (url == NULL)
		return;
	explicit_bzero(url, strlen(url));
	free(url);
}
