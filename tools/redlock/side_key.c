/* SPDX-License-Identifier: MIT */
#include "side_key.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void side_key(const char *name, const char *what, char *buffer, size_t size)
{
	const char *open = strchr(name, '{'), *close = open != NULL ? strchr(open, '}') : NULL;
	bool tagged = close != NULL && close > open + 1;
	snprintf(buffer, size, "%s%s%s:redlock:%s", tagged ? "" : "{", name, tagged ? "" : "}", what);
}

uint64_t side_key_waiters(uint64_t size)
{
	enum { ENTRY = 31 }; /* bytes of a waiter, at least: scripts count them so */
	return size / ENTRY;
}

char *side_key_new(const char *prefix, const char *name, const char *what)
{
	prefix = prefix != NULL ? prefix : "";
	size_t length = strlen(prefix) + strlen(name), size = length + strlen(what) + sizeof "{}:redlock:";
	char *whole = malloc(length + 1), *key = malloc(size);
	if (key != NULL && whole != NULL) {
		snprintf(whole, length + 1, "%s%s", prefix, name);
		side_key(whole, what, key, size);
	} else {
		free(key);
		key = NULL;
	}
	free(whole);
	return key;
}

char *side_key_slot(const char *prefix, const char *name, unsigned slot)
{
	char what[16], *key = NULL;
	snprintf(what, sizeof what, "slot:%u", slot);
	if (slot > 0)
		return side_key_new(prefix, name, what);
	return asprintf(&key, "%s%s", prefix != NULL ? prefix : "", name) >= 0 ? key : NULL;
}
