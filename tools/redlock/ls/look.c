/* SPDX-License-Identifier: MIT */
/* Asks for the keys of each name on all nodes at once, some names at a time: what belongs together is read at
 * the same moment. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <operator_scripts.h>

#include "../side_key.h"
#include "ls.h"

enum {
	NAMES = 16,       /* at a time */
	PLAIN_FIELDS = 5, /* type, remaining life, length, value, time */
	SIDE_FIELDS = 3,  /* remaining life, length, value */
	PLAIN_WORDS = 4,
	WORDS = PLAIN_WORDS + LS_SIDES
};

/* The question about a name, which is the same for all nodes. */
struct question {
	const char *argv[WORDS];
	size_t argc;
	char keys[2];       /* how many keys follow, as text */
	int side[LS_SIDES]; /* of the keys after the first one */
	char *memory;
};

enum { MORE = sizeof "{}:redlock:slots:63" };

/* False: out of memory. */
static bool write_question(struct question *q, const struct ls_name *name)
{
	size_t room = strlen(name->text) + MORE;
	char *at = q->memory = malloc(LS_SIDES * room + room);
	if (at == NULL)
		return false;
	char word[16];
	snprintf(word, sizeof word, "slot:%u", name->slot);
	side_key(name->text, word, at, room);
	memcpy(q->argv,
	       (const char *[]){"EVAL", OPERATOR_LUA_READ_LOCK_TEXT, q->keys, name->slot > 0 ? at : name->text},
	       PLAIN_WORDS * sizeof *q->argv);
	q->argc = PLAIN_WORDS;
	for (int side = 0; side < LS_SIDES; side++) {
		if ((name->sides >> side & 1) == 0)
			continue;
		at += room;
		side_key(name->text, ls_side_words[side], at, room);
		q->side[q->argc - PLAIN_WORDS] = side;
		q->argv[q->argc++] = at;
	}
	q->keys[0] = (char)('1' + q->argc - PLAIN_WORDS);
	q->keys[1] = '\0';
	return true;
}

/* ---- answers ---- */

static size_t copy(char *to, size_t size, const struct redlock_reply *from)
{
	size_t kept = from->length < size ? from->length : size;
	memcpy(to, from->text, kept);
	return kept;
}

static bool fits(const struct redlock_reply *r, unsigned sides)
{
	if (r == NULL || r->kind != REDLOCK_REPLY_ARRAY || r->count != PLAIN_FIELDS + (size_t)SIDE_FIELDS * sides)
		return false;
	for (size_t i = 0; i < r->count; i++) {
		bool is_text = i < PLAIN_FIELDS ? i == 0 || i == 3 : (i - PLAIN_FIELDS) % SIDE_FIELDS == 2;
		if (r->items[i].kind != (is_text ? REDLOCK_REPLY_STRING : REDLOCK_REPLY_INTEGER))
			return false;
	}
	return true;
}

static void take(struct ls_look *look, unsigned node, const struct question *asked,
                 const struct redlock_reply *r)
{
	struct redlock_finding *finding = &look->standing.finding[node];
	const struct redlock_reply *at = r->items + PLAIN_FIELDS;
	finding->known = 1;
	copy(finding->type, sizeof finding->type - 1, &r->items[0]);
	finding->pttl_ms = r->items[1].integer;
	finding->value_len = (uint64_t)r->items[2].integer;
	finding->value_kept = copy(finding->value, sizeof finding->value, &r->items[3]);
	look->time_ms[node] = (uint64_t)r->items[4].integer;
	for (size_t i = 0; i < asked->argc - PLAIN_WORDS; i++, at += SIDE_FIELDS) {
		int side = asked->side[i];
		look->pttl_ms[node][side] = at[0].integer;
		look->size[node][side] = (uint64_t)at[1].integer;
		copy(look->text[node][side], sizeof look->text[node][side] - 1, &at[2]);
	}
}

static bool add_row(struct ls_rows *rows, struct ls_look *look, const struct ls_nodes *nodes,
                    size_t prefix_length)
{
	if (rows->count == rows->room) {
		size_t room = rows->room > 0 ? 2 * rows->room : 64;
		struct ls_row *list = realloc(rows->list, room * sizeof *list);
		if (list == NULL)
			return false;
		rows->list = list;
		rows->room = room;
	}
	struct ls_row *row = &rows->list[rows->count];
	bool ok = ls_row_make(row, look, nodes, prefix_length);
	if (ok && ls_row_is_there(row) && (prefix_length > 0 || look->name->is_asked || !row->is_any_hash))
		rows->count++;
	else
		ls_row_clear(row);
	return ok;
}

/* ---- some names ---- */

static bool ask(struct ls_nodes *nodes, const struct question *q, size_t names, struct redlock_question *list,
                size_t *ret_count)
{
	size_t count = 0;
	for (size_t n = 0; n < names; n++)
		for (unsigned i = 0; i < nodes->report.nodes; i++)
			if (nodes->asked >> i & 1)
				list[count++] = (struct redlock_question){
				    .size = sizeof *list, .node = i, .argc = q[n].argc, .argv = q[n].argv};
	*ret_count = count;
	return ls_nodes_ask(nodes, list, count);
}

static bool take_all(struct ls_nodes *nodes, struct ls_name *const *names, size_t count,
                     const struct question *asked, const struct redlock_question *list, size_t prefix_length,
                     struct ls_rows *rows, struct ls_look *look)
{
	size_t at = 0;
	bool ok = true;
	for (size_t n = 0; n < count && ok; n++) {
		memset(look, 0, sizeof *look);
		look->name = names[n];
		memset(look->pttl_ms, 0xfe, sizeof look->pttl_ms); /* negative: no key */
		for (; list[at].argv == asked[n].argv; at++) {
			if (fits(list[at].reply, (unsigned)asked[n].argc - PLAIN_WORDS))
				take(look, list[at].node, &asked[n], list[at].reply);
			else
				ls_nodes_refused(nodes, list[at].node, &list[at]);
		}
		ok = add_row(rows, look, nodes, prefix_length);
	}
	return ok;
}

static bool look_at_some(struct ls_nodes *nodes, struct ls_name *const *names, size_t count,
                         size_t prefix_length, struct ls_rows *rows, struct ls_look *look)
{
	struct question asked[NAMES];
	struct redlock_question list[NAMES * REDLOCK_MAX_NODES + 1] = {{0}};
	memset(asked, 0, sizeof asked);
	size_t questions = 0;
	bool ok = true;
	for (size_t n = 0; n < count && ok; n++)
		ok = write_question(&asked[n], names[n]);
	if (ok)
		ok = ask(nodes, asked, count, list, &questions);
	else
		nodes->error = REDLOCK_E_NOMEM;
	if (ok && !take_all(nodes, names, count, asked, list, prefix_length, rows, look)) {
		nodes->error = REDLOCK_E_NOMEM;
		ok = false;
	}
	for (size_t n = 0; n < count; n++)
		free(asked[n].memory);
	return ok;
}

bool ls_look_at_names(struct ls_nodes *nodes, const struct ls_names *names, size_t prefix_length,
                      struct ls_rows *rows)
{
	struct ls_look *look = malloc(sizeof *look);
	bool ok = look != NULL;
	if (!ok)
		nodes->error = REDLOCK_E_NOMEM;
	for (size_t at = 0; at < names->count && ok; at += NAMES) {
		size_t count = names->count - at < NAMES ? names->count - at : NAMES;
		ok = look_at_some(nodes, names->list + at, count, prefix_length, rows, look) && ls_nodes_rest(nodes);
	}
	free(look);
	return ok;
}
