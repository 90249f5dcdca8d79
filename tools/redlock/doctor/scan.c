/* SPDX-License-Identifier: MIT */
/* Keys under the prefix that have no expiry: locks that end when somebody deletes them. As many are looked at
 * as there is time for. */
#include <stdlib.h>
#include <string.h>

#include "../clock.h"
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

/* The question for a key, as redlock_ask() wants it; and the key as it may be shown, which is gone when the
 * answer is there. */
struct expiry {
	const char *argv[2];
	size_t length[2];
	char shown[DOCTOR_KEY_SHOWN];
};

static void note_key(struct doctor_keys *keys, const struct redlock_question *q, const struct expiry *asked)
{
	if (strcmp(asked->shown, GUARD_RECORD_KEY) == 0)
		return;
	keys->seen++;
	if (q->reply == NULL || q->reply->kind != REDLOCK_REPLY_INTEGER || q->reply->integer != -1)
		return;
	if (keys->endless++ == 0)
		memcpy(keys->example, asked->shown, sizeof keys->example);
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

static bool add_keys(struct doctor_asks *asks, unsigned node, const struct redlock_reply *page,
                     struct expiry *room)
{
	static const char *const command[] = {"PTTL", "", NULL};
	for (size_t k = 0; k < page->count; k++) {
		const struct redlock_reply *key = &page->items[k];
		room[k] = (struct expiry){{"PTTL", key->text}, {4, key->length}, ""};
		printable(key->text, key->length, room[k].shown, sizeof room[k].shown);
		if (!doctor_asks_add(asks, node, command))
			return false;
		asks->list[asks->count - 1].argv = room[k].argv;
		asks->list[asks->count - 1].argv_len = room[k].length;
	}
	return true;
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
		struct doctor_node *node = &doctor->node[question->node];
		if (question->argv_len != NULL)
			note_key(&node->keys, question, asked++); /* in the order of the questions */
		else
			turn_page(node, &walks[question->node], question);
	}
}

/* The expiry of the keys of each page, and the next page. */
static bool go_on(struct doctor *doctor, struct walk *walks, const char *pattern)
{
	const char *scan[REDLOCK_MAX_NODES][7];
	struct doctor_asks asks = {0};
	struct expiry *room = calloc(page_keys(doctor, walks) + 1, sizeof *room);
	bool ok = room != NULL;
	for (unsigned i = 0, used = 0; i < doctor->nodes && ok; i++) {
		if (walks[i].page != NULL) {
			ok = add_keys(&asks, i, walks[i].page, room + used);
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
	bool ok = pattern != NULL;
	if (ok)
		put_pattern(prefix != NULL ? prefix : "", pattern);
	for (unsigned i = 0; i < doctor->nodes; i++)
		walks[i] = (struct walk){.cursor = "0", .runs = doctor->node[i].answered};
	do
		ok = ok && go_on(doctor, walks, pattern);
	while (ok && any_left(doctor, walks) && clock_ns() < until_ns);
	for (unsigned i = 0; i < doctor->nodes; i++)
		doctor->node[i].keys.whole = !walks[i].runs && walks[i].page == NULL;
	free(pattern);
	return ok;
}
