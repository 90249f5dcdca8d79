/* SPDX-License-Identifier: MIT */
#include "expected.h"

#include <stdio.h>
#include <stdlib.h>

#include "scripts.h"

#define QUEUE_SCRIPT(call) [RL_FORM_QUEUE_SHA] = "EVALSHA " call, [RL_FORM_QUEUE_TEXT] = "EVAL " call
#define GUARD_SCRIPT(call) [RL_FORM_GUARD_SHA] = "EVALSHA " call, [RL_FORM_GUARD_TEXT] = "EVAL " call
#define DELETE                                                                                               \
	[RL_FORM_DELEX] = "DELEX NAME IFEQ TOKEN", [RL_FORM_DELIFEQ] = "DELIFEQ NAME TOKEN",                     \
	SCRIPT("release 1 NAME TOKEN")
#define SCRIPT(call) [RL_FORM_SHA] = "EVALSHA " call, [RL_FORM_TEXT] = "EVAL " call

/* NOLINTBEGIN(bugprone-suspicious-missing-comma): words that are put together are one */
const struct expected expected[RL_OP_COUNT] = {
    [REDLOCK_OP_ACQUIRE] = {{[RL_FORM_PLAIN] = "SET NAME TOKEN NX PX TTL",
                             GUARD_SCRIPT("acquire KEYSF1 NAME redlock:set FENCES TOKEN TTL PASS TIMED")},
                            "+OK\r\n",
                            "$-1\r\n"},
    [REDLOCK_OP_EXTEND] = {{SCRIPT("extend 1 NAME TOKEN TTL"),
                            GUARD_SCRIPT("guarded_extend 2 NAME redlock:set TOKEN TTL PASS TIMED")},
                           ":1\r\n",
                           ":0\r\n"},
    [REDLOCK_OP_RELEASE] = {{QUEUE_SCRIPT("vacate 2 NAME QUEUE TOKEN"), DELETE},
                            ":1\r\n",
                            ":0\r\n",
                            ":2\r\n"},
    [REDLOCK_OP_QUERY] = {{SCRIPT("query 1 NAME")},
                          "*4\r\n$6\r\nstring\r\n:9\r\n:2\r\n$2\r\nt0\r\n",
                          "*4\r\n$4\r\nnone\r\n:-2\r\n:0\r\n$0\r\n\r\n"},
    [REDLOCK_OP_PROBE] = {{[RL_FORM_PLAIN] = "SET NAME TOKEN XX PX TTL"}, "$-1\r\n", "+OK\r\n"},
    [RL_OP_ENTER] = {{QUEUE_SCRIPT("enter 3 NAME QUEUE OFFERS TOKEN TTL PLACE TERMS"),
                      GUARD_SCRIPT(
                          "guarded_enter 5 NAME QUEUE OFFERS redlock:set FENCE TOKEN TTL PLACE TERMS PASS "
                          "FENCED TIMED")},
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
    [RL_OP_RAISE] = {{GUARD_SCRIPT("raise KEYS5 NAMES FENCES redlock:set TOKEN NUMBER PASS")},
                     "*5\r\n:1\r\n:7\r\n:0\r\n:0\r\n$2\r\nt0\r\n",
                     "*5\r\n:0\r\n:0\r\n:0\r\n:0\r\n$2\r\nt0\r\n"},
    [RL_OP_MEET] = {{[RL_FORM_TEXT] = "EVAL meet 1 redlock:set ID MEMBERS QUORUM LONGEST"},
                    "*6\r\n:1\r\n:0\r\n:9\r\n:3\r\n$2\r\nq0\r\n$3\r\nr s\r\n",
                    "*6\r\n:0\r\n:0\r\n:9\r\n:0\r\n$2\r\nq0\r\n$3\r\nr s\r\n"},
    [RL_OP_ADMIT] = {{[RL_FORM_TEXT] =
                          "EVAL admit 1 redlock:set ID SETID STEP CONFIG LONGEST FLOOR MEMBERS QUORUM "
                          "MEMBER DONE"},
                     "*5\r\n:1\r\n:0\r\n:0\r\n:9\r\n$2\r\nq0\r\n",
                     "*5\r\n:0\r\n:0\r\n:0\r\n:9\r\n$2\r\nq0\r\n"},
    [RL_OP_CLAIM_ALL] =
        {{SCRIPT("claim_all KEYS NAMES TOKEN TTL"),
          GUARD_SCRIPT("guarded_claim_all KEYSF1 NAMES FENCES redlock:set TOKEN TTL PASS TIMED FENCED")},
         "$10\r\n1 0 0 0 t0\r\n",
         "$10\r\n0 2 9 0 t0\r\n"},
    [RL_OP_ENTER_ALL] = {{QUEUE_SCRIPT("enter_all KEYS3 LINE QUEUE OFFERS NAMES TOKEN TTL PLACE PATIENCE"),
                          GUARD_SCRIPT(
                              "guarded_enter_all KEYSF4 LINE QUEUE OFFERS NAMES FENCES redlock:set TOKEN TTL "
                              "PASS TIMED PLACE PATIENCE FENCED")},
                         "*6\r\n:1\r\n:0\r\n:0\r\n:0\r\n$2\r\nt0\r\n$0\r\n\r\n",
                         "*6\r\n:-3\r\n:3\r\n:9\r\n:2\r\n$2\r\nt0\r\n$2\r\nt1\r\n"},
    [RL_OP_EXTEND_ALL] = {{SCRIPT("extend_all KEYS NAMES TOKEN TTL"),
                           GUARD_SCRIPT("guarded_extend_all KEYS1 NAMES redlock:set TOKEN TTL PASS TIMED")},
                          "$10\r\n1 0 0 0 t0\r\n",
                          "$10\r\n0 2 0 0 t0\r\n"},
    [RL_OP_RELEASE_ALL] = {{QUEUE_SCRIPT("release_all KEYS2 NAMES QUEUES TOKEN 2 PLACE PATIENCE QUIET"),
                            SCRIPT("release_all KEYS NAMES TOKEN 1")},
                           "*2\r\n:2\r\n$2\r\nt0\r\n",
                           "*2\r\n:0\r\n$2\r\nt0\r\n",
                           "*2\r\n:1\r\n$2\r\nt0\r\n"},
    [RL_OP_SETNX] = {{[RL_FORM_TEXT] = "EVAL setnx 2 NAME SIDE TOKEN TTL"},
                     "*2\r\n:1\r\n$2\r\nt0\r\n",
                     "*2\r\n:0\r\n$2\r\nt0\r\n"},
    [RL_OP_SETNX_EXTEND] = {{[RL_FORM_TEXT] = "EVAL setnx_extend 2 NAME SIDE TOKEN TTL"},
                            "*2\r\n:1\r\n$2\r\nt0\r\n",
                            "*2\r\n:0\r\n$2\r\nt0\r\n"},
    [RL_OP_SETNX_RELEASE] = {{[RL_FORM_TEXT] = "EVAL setnx_release 2 NAME SIDE TOKEN"},
                             "*2\r\n:1\r\n$2\r\nt0\r\n",
                             "*2\r\n:0\r\n$2\r\nt0\r\n"},
    [RL_OP_SETNX_QUERY] = {{[RL_FORM_TEXT] = "EVAL setnx_query 2 NAME SIDE TOKEN"},
                           "*5\r\n$6\r\nstring\r\n:9\r\n:2\r\n$2\r\n17\r\n:1\r\n",
                           "*5\r\n$4\r\nnone\r\n:-2\r\n:0\r\n$0\r\n\r\n:0\r\n"},
    [RL_OP_SLOT] =
        {{SCRIPT("slot SLOTKEYS2 NAME COUNT SLOTS TOKEN TTL RULE_SLOTS FIRST"),
          GUARD_SCRIPT(
              "guarded_slot SLOTKEYS3 NAME COUNT SLOTS redlock:set TOKEN TTL RULE_SLOTS FIRST PASS TIMED")},
         "$10\r\n1 0 0 0 t0\r\n",
         "*5\r\n:0\r\n:0\r\n:0\r\n:0\r\n$2\r\nt0\r\n"},
    [RL_OP_SLOT_ENTER] =
        {{SCRIPT(
              "slot_enter SLOTKEYS4 NAME QUEUE OFFERS COUNT SLOTS TOKEN TTL RULE_SLOTS FIRST PLACE PATIENCE"),
          GUARD_SCRIPT("guarded_slot_enter SLOTKEYS5 NAME QUEUE OFFERS COUNT SLOTS redlock:set TOKEN TTL "
                       "RULE_SLOTS FIRST PLACE PATIENCE PASS TIMED")},
         "*6\r\n:1\r\n:0\r\n:0\r\n:0\r\n$2\r\nt0\r\n$0\r\n\r\n",
         "*6\r\n:0\r\n:3\r\n:9\r\n:2\r\n$2\r\nt0\r\n$2\r\nt1\r\n"},
    [RL_OP_SLOT_RELEASE] =
        {{SCRIPT("slot_release SLOTKEYS3 NAME QUEUE OFFERS SLOTS TOKEN PLACE PATIENCE QUIET KEPT")},
         ":1\r\n",
         ":0\r\n",
         ":2\r\n"},
    [RL_OP_SHARE] = {{QUEUE_SCRIPT("share 3 NAME QUEUE OFFERS TOKEN TTL PLACE TERMS"),
                      SCRIPT("share 1 NAME TOKEN TTL"),
                      GUARD_SCRIPT(
                          "guarded_share 4 NAME QUEUE OFFERS redlock:set TOKEN TTL PLACE TERMS PASS")},
                     "$10\r\n1 0 0 0 t0\r\n",
                     "*6\r\n:-1\r\n:3\r\n:9\r\n:2\r\n$2\r\nt0\r\n$0\r\n\r\n"},
    [RL_OP_SHARE_EXTEND] = {{QUEUE_SCRIPT("share_extend 3 NAME QUEUE OFFERS TOKEN TTL PATIENCE TURNS"),
                             SCRIPT("share_extend 1 NAME TOKEN TTL TURNS"),
                             GUARD_SCRIPT("guarded_share_extend 4 NAME QUEUE OFFERS redlock:set TOKEN TTL "
                                          "PATIENCE TURNS PASS")},
                            "$4\r\n1 t0\r\n",
                            "$4\r\n0 t0\r\n"},
    [RL_OP_SHARE_RELEASE] = {{QUEUE_SCRIPT("share_release 3 NAME QUEUE OFFERS TOKEN PLACE PATIENCE QUIET"),
                              SCRIPT("share_release 1 NAME TOKEN")},
                             "$4\r\n2 t0\r\n",
                             "$5\r\n-1 t0\r\n",
                             "$4\r\n1 t0\r\n"},
    [RL_OP_SHARE_QUERY] = {{SCRIPT("share_query 1 NAME TOKEN")},
                           "*5\r\n$4\r\nzset\r\n:9\r\n:2\r\n$2\r\nt0\r\n:1\r\n",
                           "*5\r\n$4\r\nnone\r\n:-2\r\n:0\r\n$0\r\n\r\n:0\r\n"},
    [RL_OP_UPGRADE] = {{SCRIPT("upgrade 1 NAME TOKEN TTL"),
                        GUARD_SCRIPT("guarded_upgrade KEYSF1 NAME FENCES redlock:set TOKEN TTL PASS")},
                       "$4\r\n1 t0\r\n",
                       "$4\r\n0 t0\r\n"},
};
/* NOLINTEND(bugprone-suspicious-missing-comma) */

/* The text that a word stands for. */
static struct bytes part(const struct rl_request *r, enum rl_form form, struct expected_room *room,
                         struct bytes word)
{
	bool several = r->also.size > 0;
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
	    {"QUIET", text_bytes(r->quiet ? "1" : "")},
	    {"TURNS", text_bytes(r->own_value ? "" : "1")},
	    {"NEXT", {r->next.bytes, r->next.size}},
	    {"PLACE", {r->place.bytes, r->place.size}},
	    {"PATIENCE", text_bytes(room->patience)},
	    {"SIDE", {room->setnx.bytes, room->setnx.length}},
	    {"FENCE", {room->fence.bytes, room->fence.length}},
	    {"PASS", {r->pass.bytes, r->pass.size}},
	    {"NUMBER", text_bytes(room->number)},
	    {"FENCED", text_bytes(r->fenced ? "1" : "")},
	    {"TIMED", text_bytes(r->timed ? "1" : "")},
	    {"KEYS", text_bytes(several ? "2" : "1")},
	    {"KEYS1", text_bytes(several ? "3" : "2")},
	    {"KEYS2", text_bytes(several ? "4" : "2")},
	    {"KEYS3", text_bytes(several ? "5" : "4")},
	    {"KEYS5", text_bytes(several ? "5" : "3")},
	    {"KEYSF1", text_bytes(r->fenced ? several ? "5" : "3"
	                          : several ? "3"
	                                    : "2")},
	    {"KEYSF4", text_bytes(r->fenced ? several ? "8" : "6"
	                          : several ? "6"
	                                    : "5")},
	    {"LINE", {r->line.bytes, r->line.size}},
	    {"SLOTKEYS2", text_bytes(room->slot_keys[2])},
	    {"SLOTKEYS3", text_bytes(room->slot_keys[3])},
	    {"SLOTKEYS4", text_bytes(room->slot_keys[4])},
	    {"SLOTKEYS5", text_bytes(room->slot_keys[5])},
	    {"COUNT", {room->count.bytes, room->count.length}},
	    {"FIRST", text_bytes(room->first)},
	    {"KEPT", text_bytes(room->kept)},
	    {"NAMES", {r->name.bytes, r->name.size}},
	    {"QUEUES", {room->queue.bytes, room->queue.length}},
	    {"FENCES", {room->fence.bytes, room->fence.length}},
	};
	static const char *const rules[RL_RULE_WORDS] = {
#define RULE(NAME, field) "RULE_" #NAME,
	    RL_RULE_MAP(RULE)
#undef RULE
	};
	static const char *const record[RL_RECORD_WORDS] = {
	    [RL_RECORD_ID] = "ID",         [RL_RECORD_MEMBERS] = "MEMBERS", [RL_RECORD_QUORUM] = "QUORUM",
	    [RL_RECORD_TTL] = "LONGEST",   [RL_RECORD_SET] = "SETID",       [RL_RECORD_STEP] = "STEP",
	    [RL_RECORD_CONFIG] = "CONFIG", [RL_RECORD_FLOOR] = "FLOOR",     [RL_RECORD_MEMBER] = "MEMBER",
	    [RL_RECORD_DONE] = "DONE",
	};
	for (unsigned i = 0; i < sizeof parts / sizeof parts[0]; i++)
		if (word_is(word, parts[i].word))
			return parts[i].part;
	for (unsigned i = 0; i < RL_RULE_WORDS; i++)
		if (word_is(word, rules[i])) {
			snprintf(room->rules[i], sizeof room->rules[i], "%llu", (unsigned long long)r->rules[i]);
			return text_bytes(room->rules[i]);
		}
	for (unsigned i = 0; r->record != NULL && i < RL_RECORD_WORDS; i++)
		if (word_is(word, record[i]))
			return (struct bytes){r->record[i].bytes, r->record[i].size};
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
	buffer_free(&room->also);
	buffer_free(&room->also_fence);
	buffer_free(&room->offers);
	buffer_free(&room->fence);
	buffer_free(&room->setnx);
	buffer_free(&room->count);
	for (unsigned i = 1; i < EXPECTED_SLOTS; i++)
		buffer_free(&room->slots[i]);
}

/* The first one is the name. */
static void expect_slots(const struct rl_request *r, struct expected_room *room)
{
	unsigned slots = (unsigned)r->rules[RL_RULE_SLOTS];
	for (unsigned i = 1; i < EXPECTED_SLOTS; i++) {
		char what[32];
		room->slots[i] = (struct buffer){0};
		snprintf(what, sizeof what, "slot:%u", i);
		expected_side((struct bytes){r->name.bytes, r->name.size}, what, &room->slots[i]);
	}
	for (unsigned i = 2; i < EXPECTED_SLOT_KEYS; i++)
		snprintf(room->slot_keys[i], sizeof room->slot_keys[i], "%u", i + (slots > 0 ? slots - 1 : 0));
	snprintf(room->first, sizeof room->first, "%u", r->first);
	if (r->kept > 0)
		snprintf(room->kept, sizeof room->kept, "%u", r->kept - 1);
	else
		room->kept[0] = '\0';
	room->count = (struct buffer){0};
	expected_side((struct bytes){r->name.bytes, r->name.size}, "slots", &room->count);
}

bool expected_words(const struct rl_request *r, enum rl_form form, struct expected_room *room,
                    struct words *ret)
{
	const char *at = expected[r->operation].words[form];
	const char *end = r->also.size > 0 ? memchr(r->also.bytes, '\n', r->also.size) : NULL;
	struct bytes also = {end != NULL ? end + 1 : "", end != NULL ? strtoul(r->also.bytes + 1, NULL, 10) : 0};
	snprintf(room->ttl, sizeof room->ttl, "%llu", (unsigned long long)r->ttl_ms);
	snprintf(room->patience, sizeof room->patience, "%llu", (unsigned long long)r->patience_ms);
	snprintf(room->terms, sizeof room->terms, "%s %llu", room->patience, (unsigned long long)r->offered_ns);
	snprintf(room->number, sizeof room->number, "%llu", (unsigned long long)r->number);
	room->queue = room->also = room->also_fence = room->offers = room->fence = room->setnx =
	    (struct buffer){0};
	bool lines_up = r->operation == RL_OP_ENTER_ALL;
	struct bytes line = {lines_up ? r->line.bytes : r->name.bytes, lines_up ? r->line.size : r->name.size};
	expected_side(line, "queue", &room->queue);
	expected_side(line, "offers", &room->offers);
	expected_side((struct bytes){r->name.bytes, r->name.size}, "fence", &room->fence);
	expected_side((struct bytes){r->name.bytes, r->name.size}, "setnx", &room->setnx);
	expected_side(also, "queue", &room->also);
	expected_side(also, "fence", &room->also_fence);
	expect_slots(r, room);
	ret->count = 0;
	for (size_t length; at != NULL && (length = strcspn(at, " ")) > 0; at += length + (at[length] == ' ')) {
		struct bytes word = {at, length};
		if (word_is(word, "SLOTS")) {
			for (unsigned i = 1; i < r->rules[RL_RULE_SLOTS] && i < EXPECTED_SLOTS; i++)
				ret->at[ret->count++] = (struct bytes){room->slots[i].bytes, room->slots[i].length};
			continue;
		}
		if (word_is(word, "FENCES") && !r->fenced)
			continue;
		ret->at[ret->count++] = part(r, form, room, word);
		if (also.size > 0 && word_is(word, "NAMES"))
			ret->at[ret->count++] = also;
		else if (also.size > 0 && word_is(word, "QUEUES"))
			ret->at[ret->count++] = (struct bytes){room->also.bytes, room->also.length};
		else if (also.size > 0 && word_is(word, "FENCES"))
			ret->at[ret->count++] = (struct bytes){room->also_fence.bytes, room->also_fence.length};
	}
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
