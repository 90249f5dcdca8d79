/* SPDX-License-Identifier: MIT */
/* Keys under the prefix that have no expiry: locks that end when somebody deletes them. As many are looked at
 * as there is time for. */
#include <stdlib.h>
#include <string.h>

#include "../clock.h"
#include "../holder.h"
#include "../printable.h"
#include "doctor.h"

#define PAGE "200"
enum { MOST_KEYS = 1000 }; /* of a page: what is more is no answer to that */

struct walk {
	char cursor[24];
	bool runs;
	const struct redlock_reply *page; /* the keys of the last one */
};

/* Writes the prefix so that SCAN takes its special characters literally. */
static void put_pattern(const char *prefix, char *at)
{
	for (; *prefix; prefix++) {
		if (strchr("*?[]\\", *prefix) != NULL)
			*at++ = '\\';
		*at++ = *prefix;
	}
	memcpy(at, "*", 2);
}

/* The questions for a key, as redlock_ask() wants them, and a copy of the key, which is gone when the answers
 * are there. Under a prefix each key is a lock's; elsewhere a value with the form of a token, and a label. */
struct expiry {
	const char *argv[2], *value[4];
	size_t length[2], value_length[4];
	char *key;
};

enum { TOKEN = 40 };

static bool is_of_lock(const struct redlock_question *value)
{
	const struct redlock_reply *r = value->reply;
	return r != NULL && r->kind == REDLOCK_REPLY_STRING && r->length > TOKEN && r->text[TOKEN] == '|' &&
	       holder_made_here(r->text, r->length);
}

static bool has_prefix(const struct doctor *doctor)
{
	return doctor->session->settings->prefix != NULL && doctor->session->settings->prefix[0] != '\0';
}

/* `q` asks how long the key lives; the next question, without a prefix, for the first bytes of its value. */
static void note_key(struct doctor *doctor, const struct redlock_question *q, const struct expiry *asked)
{
	struct doctor_keys *keys = &doctor->node[q->node].keys;
	if (asked->key == NULL || strcmp(asked->key, GUARD_RECORD_KEY) == 0)
		return;
	keys->seen++;
	if (q->reply == NULL || q->reply->kind != REDLOCK_REPLY_INTEGER || q->reply->integer != -1)
		return;
	if (keys->endless++ == 0)
		printable(asked->key, asked->length[1], keys->example, sizeof keys->example);
	if (has_prefix(doctor) || is_of_lock(q + 1))
		doctor_note_endless(doctor, asked->key, asked->length[1]);
}

/* SCAN's answer: the next cursor, and some keys. */
static void turn_page(struct doctor_node *node, struct walk *walk, const struct redlock_question *q)
{
	const struct redlock_reply *r = q->reply;
	bool fits = r != NULL && r->kind == REDLOCK_REPLY_ARRAY && r->count == 2 &&
	            r->items[0].kind == REDLOCK_REPLY_STRING && r->items[0].length > 0 &&
	            r->items[0].length < sizeof walk->cursor && r->items[1].kind == REDLOCK_REPLY_ARRAY &&
	            r->items[1].count <= MOST_KEYS;
	if (!fits)
		doctor_note_why(node, DOCTOR_SCAN, q);
	walk->runs = fits;
	walk->page = fits ? &r->items[1] : NULL;
	if (!fits)
		return;
	node->sees[DOCTOR_SCAN] = true;
	memcpy(walk->cursor, r->items[0].text, r->items[0].length + 1);
	if (strcmp(walk->cursor, "0") == 0)
		walk->runs = false;
}

/* Appends a question whose words may have any bytes. */
static bool add(struct doctor_asks *asks, unsigned node, const char *const *argv, const size_t *length,
                size_t argc)
{
	static const char *const any[] = {"", NULL};
	if (!doctor_asks_add(asks, node, any))
		return false;
	struct redlock_question *q = &asks->list[asks->count - 1];
	q->argv = argv;
	q->argv_len = length;
	q->argc = argc;
	return true;
}

static bool add_keys(struct doctor_asks *asks, unsigned node, const struct redlock_reply *page,
                     struct expiry *room, bool values)
{
	bool ok = true;
	for (size_t k = 0; k < page->count && ok; k++) {
		const struct redlock_reply *key = &page->items[k];
		room[k] = (struct expiry){{"PTTL", key->text},
		                          {"GETRANGE", key->text, "0", "40"},
		                          {4, key->length},
		                          {8, key->length, 1, 2},
		                          malloc(key->length + 1)};
		ok = room[k].key != NULL;
		if (ok)
			memcpy(room[k].key, key->text, key->length + 1);
		ok = ok && add(asks, node, room[k].argv, room[k].length, 2) &&
		     (!values || add(asks, node, room[k].value, room[k].value_length, 4));
	}
	return ok;
}

static size_t page_keys(const struct doctor *doctor, const struct walk *walks)
{
	size_t keys = 0;
	for (unsigned i = 0; i < doctor->nodes; i++)
		keys += walks[i].page != NULL ? walks[i].page->count : 0;
	return keys;
}

static void take(struct doctor *doctor, struct walk *walks, const struct doctor_asks *asks,
                 const struct expiry *asked)
{
	for (unsigned i = 0; i < doctor->nodes; i++)
		walks[i].page = NULL;
	for (size_t q = 0; q < asks->count; q++) {
		const struct redlock_question *question = &asks->list[q];
		if (question->argv_len == NULL)
			turn_page(&doctor->node[question->node], &walks[question->node], question);
		else if (question->argc == 2)
			note_key(doctor, question, asked++); /* in the order of the questions */
	}
}

/* The expiry of the keys of each page, and the next page. */
static bool go_on(struct doctor *doctor, struct walk *walks, const char *pattern)
{
	const char *scan[REDLOCK_MAX_NODES][7];
	struct doctor_asks asks = {0};
	size_t keys = page_keys(doctor, walks);
	struct expiry *room = calloc(keys + 1, sizeof *room);
	bool ok = room != NULL;
	for (unsigned i = 0, used = 0; i < doctor->nodes && ok; i++) {
		if (walks[i].page != NULL) {
			ok = add_keys(&asks, i, walks[i].page, room + used, !has_prefix(doctor));
			used += (unsigned)walks[i].page->count;
		}
		memcpy(scan[i], (const char *[]){"SCAN", walks[i].cursor, "MATCH", pattern, "COUNT", PAGE, NULL},
		       sizeof scan[i]);
		if (walks[i].runs)
			ok = ok && doctor_asks_add(&asks, i, scan[i]);
	}
	ok = ok && doctor_asks_run(doctor, &asks);
	if (ok)
		take(doctor, walks, &asks, room);
	doctor_asks_free(&asks);
	for (size_t k = 0; k < keys && room != NULL; k++)
		free(room[k].key);
	free(room);
	return ok;
}

static bool any_left(const struct doctor *doctor, const struct walk *walks)
{
	for (unsigned i = 0; i < doctor->nodes; i++)
		if (walks[i].runs || walks[i].page != NULL)
			return true;
	return false;
}

bool doctor_look_at_keys(struct doctor *doctor, uint64_t until_ns)
{
	const char *prefix = doctor->session->settings->prefix;
	struct walk walks[REDLOCK_MAX_NODES] = {{.runs = false}};
	char *pattern = malloc(2 * (prefix != NULL ? strlen(prefix) : 0) + 2);
	unsigned rounds =
	    0; /* keys are listed in one, and looked at in the next: a slow machine has time for these */
	bool ok = pattern != NULL;
	if (ok)
		put_pattern(prefix != NULL ? prefix : "", pattern);
	for (unsigned i = 0; i < doctor->nodes; i++)
		walks[i] = (struct walk){.cursor = "0", .runs = doctor->node[i].answered};
	do
		ok = ok && go_on(doctor, walks, pattern);
	while (ok && any_left(doctor, walks) && (++rounds < 2 || clock_ns() < until_ns));
	for (unsigned i = 0; i < doctor->nodes; i++)
		doctor->node[i].keys.whole = !walks[i].runs && walks[i].page == NULL;
	free(pattern);
	return ok;
}
