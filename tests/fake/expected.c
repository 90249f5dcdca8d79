/* SPDX-License-Identifier: MIT */
#include "expected.h"

#include <stdio.h>
#include <stdlib.h>

#include "scripts.h"

#define QUEUE_SCRIPT(call) [RL_FORM_QUEUE_SHA] = "EVALSHA " call, [RL_FORM_QUEUE_TEXT] = "EVAL " call
#define DELETE                                                                                               \
	[RL_FORM_DELEX] = "DELEX NAME IFEQ TOKEN", [RL_FORM_DELIFEQ] = "DELIFEQ NAME TOKEN",                     \
	SCRIPT("release 1 NAME TOKEN")
#define SCRIPT(call) [RL_FORM_SHA] = "EVALSHA " call, [RL_FORM_TEXT] = "EVAL " call

/* NOLINTBEGIN(bugprone-suspicious-missing-comma): words that are put together are one */
const struct expected expected[RL_OP_COUNT] = {
    [REDLOCK_OP_ACQUIRE] = {{[RL_FORM_PLAIN] = "SET NAME TOKEN NX PX TTL"}, "+OK\r\n", "$-1\r\n"},
    [REDLOCK_OP_EXTEND] = {{SCRIPT("extend 1 NAME TOKEN TTL")}, ":1\r\n", ":0\r\n"},
    [REDLOCK_OP_RELEASE] = {{QUEUE_SCRIPT("vacate 2 NAME QUEUE TOKEN"), DELETE},
                            ":1\r\n",
                            ":0\r\n",
                            ":2\r\n"},
    [REDLOCK_OP_QUERY] = {{SCRIPT("inspect 1 NAME")},
                          "*4\r\n$6\r\nstring\r\n:9\r\n:2\r\n$2\r\nt0\r\n",
                          "*4\r\n$4\r\nnone\r\n:-2\r\n:0\r\n$0\r\n\r\n"},
    [REDLOCK_OP_PROBE] = {{[RL_FORM_PLAIN] = "SET NAME TOKEN XX PX TTL"}, "$-1\r\n", "+OK\r\n"},
    [RL_OP_ENTER] = {{QUEUE_SCRIPT("enter 3 NAME QUEUE OFFERS TOKEN TTL PLACE TERMS")},
                     "*6\r\n:1\r\n:0\r\n:0\r\n:0\r\n$2\r\nt0\r\n$0\r\n\r\n",
                     "*6\r\n:0\r\n:3\r\n:9\r\n:2\r\n$2\r\nt0\r\n$2\r\nt1\r\n"},
    [RL_OP_LEAVE] = {{QUEUE_SCRIPT("leave 3 NAME QUEUE OFFERS TOKEN PLACE PATIENCE BARS"), DELETE},
                     ":2\r\n",
                     ":0\r\n",
                     ":1\r\n"},
    [RL_OP_HAND] = {{QUEUE_SCRIPT("hand 3 NAME QUEUE OFFERS TOKEN NEXT"), DELETE},
                    ":2\r\n",
                    ":0\r\n",
                    ":1\r\n"},
};
/* NOLINTEND(bugprone-suspicious-missing-comma) */

/* What a word stands for. */
static struct bytes part(const struct rl_request *r, enum rl_form form, struct expected_room *room,
                         struct bytes word)
{
	const struct {
		const char *word;
		struct bytes part;
	} parts[] = {
	    {"NAME", {r->name.bytes, r->name.size}},
	    {"TOKEN", {r->token.bytes, r->token.size}},
	    {"TTL", text_bytes(room->ttl)},
	    {"QUEUE", {room->queue.bytes, room->queue.length}},
	    {"OFFERS", {room->offers.bytes, room->offers.length}},
	    {"TERMS", text_bytes(room->terms)},
	    {"BARS", text_bytes(!r->bars   ? ""
	                        : r->quiet ? "2"
	                                   : "1")},
	    {"NEXT", {r->next.bytes, r->next.size}},
	    {"PLACE", {r->place.bytes, r->place.size}},
	    {"PATIENCE", text_bytes(room->patience)},
	};
	for (unsigned i = 0; i < sizeof parts / sizeof parts[0]; i++)
		if (word_is(word, parts[i].word))
			return parts[i].part;
	for (unsigned i = 0; i < RL_SCRIPT_COUNT; i++)
		if (bytes_equal(word, text_bytes(rl_scripts[i].name)))
			return text_bytes((RL_FORMS_SHA >> form & 1) != 0 ? rl_scripts[i].sha : rl_scripts[i].text);
	return word;
}

void expected_side(struct bytes name, const char *what, struct buffer *ret)
{
	const char *open = memchr(name.at, '{', name.size);
	const char *close = open != NULL ? memchr(open, '}', name.size - (size_t)(open - name.at)) : NULL;
	bool tagged = close != NULL && close - open > 1;
	buffer_append(ret, "{", !tagged);
	buffer_append(ret, name.at, name.size);
	buffer_append(ret, "}", !tagged);
	buffer_append(ret, ":redlock:", 9);
	buffer_append(ret, what, strlen(what));
}

void expected_free(struct expected_room *room)
{
	buffer_free(&room->queue);
	buffer_free(&room->offers);
}

bool expected_words(const struct rl_request *r, enum rl_form form, struct expected_room *room,
                    struct words *ret)
{
	const char *at = expected[r->operation].words[form];
	snprintf(room->ttl, sizeof room->ttl, "%llu", (unsigned long long)r->ttl_ms);
	snprintf(room->patience, sizeof room->patience, "%llu", (unsigned long long)r->patience_ms);
	snprintf(room->terms, sizeof room->terms, "%s %llu", room->patience, (unsigned long long)r->offered_ns);
	room->queue = room->offers = (struct buffer){0};
	expected_side((struct bytes){r->name.bytes, r->name.size}, "queue", &room->queue);
	expected_side((struct bytes){r->name.bytes, r->name.size}, "offers", &room->offers);
	ret->count = 0;
	for (size_t length; at != NULL && (length = strcspn(at, " ")) > 0; at += length + (at[length] == ' '))
		ret->at[ret->count++] = part(r, form, room, (struct bytes){at, length});
	return at != NULL;
}

static bool is_reply(const char *yes, const struct rl_reply *r)
{
	if (*yes == '+')
		return r->value.type == RL_REPLY_STATUS && strcmp(r->value.text, "OK") == 0;
	if (*yes == ':')
		return r->value.type == RL_REPLY_INTEGER && r->value.integer == strtoll(yes + 1, NULL, 10);
	if (*yes == '*')
		return r->value.type == RL_REPLY_ARRAY && r->count == strtoul(yes + 1, NULL, 10);
	return r->value.type == RL_REPLY_NIL;
}

bool expected_yes(unsigned operation, const struct rl_reply *r)
{
	return is_reply(expected[operation].yes, r) ||
	       (expected[operation].or_yes != NULL && is_reply(expected[operation].or_yes, r));
}
