/* SPDX-License-Identifier: MIT */
/* REDLOCK_RUNS: written and read. */
#include "runs.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const kinds[RUNS_KINDS] = {"plain", "shared", "setnx", "setnx-safe"};

enum runs_kind runs_kind_of(const struct settings *settings)
{
	if (settings->compat == REDLOCK_COMPAT_SETNX)
		return RUNS_SETNX;
	if (settings->compat == REDLOCK_COMPAT_SETNX_SAFE)
		return RUNS_SAFE;
	return settings->shared ? RUNS_SHARED : RUNS_PLAIN;
}

/* ---- names: each is written in one way only ---- */

enum { SPELT_MAX = sizeof "%41" };

static size_t spell(char c, char *ret)
{
	static const char themselves[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-/:@";
	*ret = c;
	return strchr(themselves, c) != NULL ? 1 : (size_t)sprintf(ret, "%%%02X", (unsigned)(unsigned char)c);
}

/* Returns where the text goes on; NULL: there is no room. */
static char *put(char *at, const char *end, const char *bytes)
{
	for (; at != NULL && *bytes; bytes++) {
		if (end - at <= SPELT_MAX)
			return NULL;
		at += spell(*bytes, at);
	}
	return at;
}

/* Moves past the bytes; false: the text does not have them here. */
static bool skip(const char **at, const char *end, const char *bytes)
{
	char spelt[SPELT_MAX];
	for (; *bytes; bytes++) {
		size_t size = spell(*bytes, spelt);
		if ((size_t)(end - *at) < size || memcmp(*at, spelt, size) != 0)
			return false;
		*at += size;
	}
	return true;
}

/* ---- writing ---- */

static char *put_name(char *at, const char *end, const char *prefix, const char *name)
{
	if (at == NULL || end - at <= 1)
		return NULL;
	*at++ = ',';
	return put(put(at, end, prefix != NULL ? prefix : ""), end, name);
}

static void put_above(char *at, const char *end)
{
	struct runs_entry entry;
	const char *from = runs_begin();
	for (const char *next = from; runs_next(&next, &entry); from = next) {
		size_t size = strcspn(from, " ");
		if ((size_t)(end - at) <= size + 1)
			break;
		*at++ = ' ';
		memcpy(at, from, size);
		at += size;
	}
	*at = '\0';
}

char *runs_prepare(char *buffer, uint64_t birth, const char *prefix, const char *name,
                   const struct text_list *also)
{
	char *const prepared = buffer + RUNS_HEAD_MAX;
	const char *const end = buffer + RUNS_MAX;
	char *at = prepared;
	at += sprintf(at, ",%ld,%llu", (long)getpid(), (unsigned long long)birth);
	at = put_name(at, end, prefix, name);
	for (size_t i = 0; i < also->count; i++)
		at = put_name(at, end, prefix, also->items[i]);
	if (at == NULL || at == end)
		return NULL;
	put_above(at, end);
	return prepared;
}

char *runs_complete(char *prepared, const char *token, enum runs_kind kind, const char *slot)
{
	char head[RUNS_HEAD_MAX + 1];
	int size = snprintf(head, sizeof head, RUNS_IS "%s,%s,%s", token, kinds[kind], slot);
	return memcpy(prepared - size, head, (size_t)size);
}

/* ---- reading ---- */

const char *runs_begin(void)
{
	const char *list = getenv("REDLOCK_RUNS");
	return list != NULL && strnlen(list, RUNS_MAX) < RUNS_MAX ? list : "";
}

/* The bytes to the next comma; false: there is none in front of `end`, or nothing is. */
static bool take_word(const char **at, const char *end, const char **ret, size_t *ret_size)
{
	const char *comma = memchr(*at, ',', (size_t)(end - *at));
	if (comma == NULL || comma == *at)
		return false;
	*ret = *at;
	*ret_size = (size_t)(comma - *at);
	*at = comma + 1;
	return true;
}

static bool take_token(const char **at, const char *end, char *ret)
{
	const char *word;
	size_t size;
	if (!take_word(at, end, &word, &size) || size > REDLOCK_MAX_TOKEN)
		return false;
	memcpy(ret, word, size);
	ret[size] = '\0';
	return true;
}

static bool take_kind(const char **at, const char *end, enum runs_kind *ret)
{
	const char *word;
	size_t size;
	if (!take_word(at, end, &word, &size))
		return false;
	for (int i = 0; i < RUNS_KINDS; i++)
		if (strlen(kinds[i]) == size && memcmp(kinds[i], word, size) == 0) {
			*ret = (enum runs_kind)i;
			return true;
		}
	return false;
}

static bool take_number(const char **at, const char *end, uint64_t max, uint64_t *ret)
{
	const char *word;
	size_t size;
	if (!take_word(at, end, &word, &size) || size > 18 || strspn(word, "0123456789") != size)
		return false;
	*ret = strtoull(word, NULL, 10);
	return *ret <= max;
}

bool runs_next(const char **at, struct runs_entry *ret)
{
	uint64_t slot, guard;
	const char *end = *at + strcspn(*at, " ");
	ret->nearest = *at == getenv("REDLOCK_RUNS");
	if (!take_token(at, end, ret->token) || !take_kind(at, end, &ret->kind) ||
	    !take_number(at, end, REDLOCK_MAX_SLOTS, &slot) || !take_number(at, end, INT_MAX, &guard) ||
	    !take_number(at, end, UINT64_MAX, &ret->birth))
		return false;
	ret->slot = (unsigned)slot;
	ret->guard = (pid_t)guard;
	ret->names = *at;
	ret->names_size = (size_t)(end - *at);
	*at = *end == ' ' ? end + 1 : end;
	return true;
}

bool runs_has(const struct runs_entry *entry, const char *prefix, const char *name)
{
	const char *end = entry->names + entry->names_size;
	for (const char *at = entry->names; at < end; at++) {
		const char *comma = memchr(at, ',', (size_t)(end - at));
		const char *last = comma != NULL ? comma : end;
		if (skip(&at, last, prefix != NULL ? prefix : "") && skip(&at, last, name) && at == last)
			return true;
		at = last;
	}
	return false;
}
