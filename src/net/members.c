/* SPDX-License-Identifier: MIT */
#include "net/members.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <redlock/redlock.h>

char *rl_members_address(const struct rl_endpoint *e)
{
	bool bare = e->is_unix || strchr(e->host, ':') == NULL; /* no IPv6 */
	size_t size = strlen(e->host) + 32 + RL_URL_MASTER;
	char *text = malloc(size);
	if (text == NULL)
		return NULL;
	if (e->is_unix)
		snprintf(text, size, "unix:%s/%u", e->host, e->database);
	else if (e->master != NULL)
		snprintf(text, size, "sentinel:%s/%s/%u", e->host, e->master, e->database);
	else
		snprintf(text, size, "%s%s%s:%u/%u", bare ? "" : "[", e->host, bare ? "" : "]", e->port, e->database);
	for (char *at = text; !e->is_unix && e->master == NULL && *at != '\0'; at++)
		*at = (char)tolower((unsigned char)*at);
	return text;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

char *rl_members_join(char *const *addresses, unsigned count)
{
	char *sorted[REDLOCK_MAX_NODES] = {NULL};
	size_t size = 1, used = 0;
	for (unsigned i = 0; i < count; i++)
		size += strlen(sorted[i] = addresses[i]) + 1;
	qsort(sorted, count, sizeof sorted[0], compare);
	char *text = malloc(size);
	for (unsigned i = 0; text != NULL && i < count; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%s", i > 0 ? " " : "", sorted[i]);
	return text;
}
