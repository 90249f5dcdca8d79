/* SPDX-License-Identifier: MIT */
#include "redis_entry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t entry_run(struct bytes text, size_t from, const char *characters)
{
	size_t end = from;
	while (end < text.size && text.at[end] != '\0' && strchr(characters, text.at[end]) != NULL)
		end++;
	return end - from;
}

/* tonumber() of Lua, spaces around it and all. */
static bool number_in(const char *at, size_t size, double *ret)
{
	char text[64], *end;
	snprintf(text, sizeof text, "%.*s", (int)size, at);
	*ret = strtod(text, &end);
	return end != text && end[strspn(end, " ")] == '\0';
}

/* ^(..)(%x+)%.(%d+) ([^;]*); */
struct entry entry_first(struct bytes line)
{
	const char *end = memchr(line.at, ';', line.size);
	struct entry e = {.size = end != NULL ? (size_t)(end - line.at) + 1 : line.size};
	size_t client = entry_run(line, 2, "0123456789abcdefABCDEF"), dot = 2 + client;
	size_t slot = dot < line.size && line.at[dot] == '.' ? entry_run(line, dot + 1, "0123456789") : 0;
	size_t used = dot + 1 + slot;
	const char *rest = memchr(line.at + dot, ';', dot < line.size ? line.size - dot : 0);
	if (client == 0 || slot == 0 || rest == NULL || line.at[used] != ' ')
		return e;
	e.placed = true;
	e.reader = memcmp(line.at, "1r", 2) == 0;
	e.known = e.reader || memcmp(line.at, "1w", 2) == 0;
	e.client = (struct bytes){line.at + 2, client};
	e.slot = (struct bytes){line.at + dot + 1, slot};
	e.size = (size_t)(rest - line.at) + 1;
	e.woken = number_in(line.at + used, e.size - 1 - used, &e.until);
	e.doubted = line.at[used + entry_run(line, used, " ")] == '0';
	return e;
}
