/* SPDX-License-Identifier: MIT */
/* The names that were found, each once; and the name that a key is of, by its form alone. */
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "ls.h"

const char *const ls_side_words[LS_SIDES] = {
#define LS_SIDE_WORD(name, word) word,
    LS_SIDE_MAP(LS_SIDE_WORD)
#undef LS_SIDE_WORD
};

/* ---- keys ---- */

static const char mark[] = ":redlock:";
static const char slot_word[] = "slot:";
enum { MARK = sizeof mark - 1, SLOT_WORD = sizeof slot_word - 1 };

/* The last mark in the key. NULL: it has none. */
static const char *find_mark(const char *key, size_t length)
{
	for (size_t at = length >= MARK ? length - MARK + 1 : 0; at > 0; at--)
		if (memcmp(key + at - 1, mark, MARK) == 0)
			return key + at - 1;
	return NULL;
}

/* The number of a slot, from 1 on, as the text says it. 0: it is no such text. */
static unsigned slot_of(const char *text, size_t length)
{
	unsigned slot = 0;
	if (length <= SLOT_WORD || length > SLOT_WORD + 2 || memcmp(text, slot_word, SLOT_WORD) != 0 ||
	    text[SLOT_WORD] == '0')
		return 0;
	for (size_t i = SLOT_WORD; i < length; i++) {
		if (text[i] < '0' || text[i] > '9')
			return 0;
		slot = 10 * slot + (unsigned)(text[i] - '0');
	}
	return slot < REDLOCK_MAX_SLOTS ? slot : 0;
}

static int side_of(const char *text, size_t length)
{
	for (int side = 0; side < LS_SIDES; side++)
		if (strlen(ls_side_words[side]) == length && memcmp(text, ls_side_words[side], length) == 0)
			return side;
	return -1;
}

/* A side key has the name in braces, unless the name has some already: then it begins with the name itself.
 */
static void unwrap(struct ls_key *key)
{
	if (key->length < 3 || key->name[0] != '{' || key->name[key->length - 1] != '}')
		return;
	if (memchr(key->name + 1, '{', key->length - 1) != NULL ||
	    memchr(key->name, '}', key->length - 1) != NULL)
		return;
	key->name++;
	key->length -= 2;
}

void ls_key_read(struct ls_key *ret, const char *key, size_t length)
{
	*ret = (struct ls_key){.name = key, .length = length, .side = -1};
	const char *at = find_mark(key, length);
	if (at == NULL || at == key)
		return;
	size_t before = (size_t)(at - key), left = length - before - MARK;
	unsigned slot = slot_of(at + MARK, left);
	int side = side_of(at + MARK, left);
	if (slot == 0 && side < 0)
		return;
	*ret = (struct ls_key){.name = key, .length = before, .slot = slot, .side = side};
	unwrap(ret);
}

/* ---- the set of names ---- */

static int compare(const void *one, const void *other)
{
	const struct ls_name *a = one, *b = other;
	int order = strcmp(a->text, b->text);
	return order != 0 ? order : (a->slot > b->slot) - (a->slot < b->slot);
}

static struct ls_name *make(const char *bytes, size_t length, unsigned slot)
{
	struct ls_name *name = malloc(sizeof *name + length + 1);
	if (name == NULL)
		return NULL;
	*name = (struct ls_name){.slot = slot};
	memcpy(name->text, bytes, length);
	name->text[length] = '\0';
	return name;
}

static bool has_room(struct ls_names *names)
{
	if (names->count < names->room)
		return true;
	size_t room = names->room > 0 ? 2 * names->room : 64;
	struct ls_name **list =
	    realloc(names->list, room * sizeof *list); /* NOLINT(bugprone-sizeof-expression) */
	if (list == NULL)
		return false;
	names->list = list;
	names->room = room;
	return true;
}

struct ls_name *ls_names_add(struct ls_names *names, const char *bytes, size_t length, unsigned slot)
{
	struct ls_name *name = make(bytes, length, slot);
	struct ls_name **found =
	    name != NULL && has_room(names) ? (struct ls_name **)tsearch(name, &names->tree, compare) : NULL;
	if (found == NULL || *found != name)
		free(name);
	else
		names->list[names->count++] = name;
	return found != NULL ? *found : NULL;
}

void ls_names_free(struct ls_names *names)
{
	for (size_t i = 0; i < names->count; i++) {
		(void)tdelete(names->list[i], &names->tree, compare);
		free(names->list[i]);
	}
	free(names->list);
	*names = (struct ls_names){0};
}
