/* SPDX-License-Identifier: MIT */
/* How the rows of the table of operations (ops.c, alone) are written: words, forms, outcomes. */
#ifndef RL_PROTO_OPS_ROWS_H
#define RL_PROTO_OPS_ROWS_H

#include "proto/ops.h"
#include "proto/side.h"

/* The versions of clang-format do not agree on these. */
/* clang-format off */
#define NAME {.kind = RL_WORD_NAME}
#define TOKEN {.kind = RL_WORD_TOKEN}
#define TTL {.kind = RL_WORD_TTL}
#define QUEUE {.kind = RL_WORD_QUEUE}
#define PLACE {.kind = RL_WORD_PLACE}
#define PATIENCE {.kind = RL_WORD_PATIENCE}
#define OFFERS {.kind = RL_WORD_OFFERS}
#define TERMS {.kind = RL_WORD_TERMS}
#define NEXT {.kind = RL_WORD_NEXT}
#define BARS {.kind = RL_WORD_BARS}
#define QUIET {.kind = RL_WORD_QUIET}
#define TURNS {.kind = RL_WORD_TURNS}
#define SETNX {.kind = RL_WORD_SETNX}
#define FENCE {.kind = RL_WORD_FENCE}
#define COUNT {.kind = RL_WORD_COUNT}
#define SLOTS {.kind = RL_WORD_SLOTS}
#define MOST {.kind = RL_WORD_MOST}
#define FIRST {.kind = RL_WORD_FIRST}
#define KEPT {.kind = RL_WORD_KEPT}
#define PASS {.kind = RL_WORD_PASS}
#define NUMBER {.kind = RL_WORD_NUMBER}
#define FENCED {.kind = RL_WORD_FENCED}
#define TIMED {.kind = RL_WORD_TIMED}
#define KEYS {.kind = RL_WORD_KEYS}
#define NAMES {.kind = RL_WORD_NAMES}
#define QUEUES {.kind = RL_WORD_QUEUES}
#define FENCES {.kind = RL_WORD_FENCES}
#define RECORD(word) {.kind = RL_WORD_RECORD + RL_RECORD_##word}
#define WORD(text) {RL_WORD_FIXED, {text, sizeof(text) - 1}}
/* clang-format on */
#define WORDS(...) ((const struct rl_word[]){__VA_ARGS__, {.kind = RL_WORD_END}})

#define FORM(name) RL_FORM_BIT(RL_FORM_##name)
#define SCRIPTED (FORM(SHA) | FORM(TEXT) | FORM(WATCH))
#define DELETES (FORM(DELEX) | FORM(DELIFEQ) | SCRIPTED)

/* A script of one key, in both of its forms. */
#define SCRIPT(name, ...)                                                                                    \
	[RL_FORM_SHA] = WORDS(WORD("EVALSHA"), WORD(RL_LUA_##name##_SHA), WORD("1"), __VA_ARGS__),               \
	[RL_FORM_TEXT] = WORDS(WORD("EVAL"), WORD(RL_LUA_##name##_TEXT), WORD("1"), __VA_ARGS__)

/* As SCRIPT, for a script with the queue's keys. */
#define QUEUE_SCRIPT(name, ...)                                                                              \
	[RL_FORM_QUEUE_SHA] = WORDS(WORD("EVALSHA"), WORD(RL_LUA_##name##_SHA), __VA_ARGS__),                    \
	[RL_FORM_QUEUE_TEXT] = WORDS(WORD("EVAL"), WORD(RL_LUA_##name##_TEXT), __VA_ARGS__)

/* As SCRIPT, for a script that reads the record of the node set. */
#define GUARD_SCRIPT(name, ...)                                                                              \
	[RL_FORM_GUARD_SHA] = WORDS(WORD("EVALSHA"), WORD(RL_LUA_##name##_SHA), __VA_ARGS__),                    \
	[RL_FORM_GUARD_TEXT] = WORDS(WORD("EVAL"), WORD(RL_LUA_##name##_TEXT), __VA_ARGS__)
/* As SCRIPT, for a script of several names. */
#define MANY_SCRIPT(name, ...)                                                                               \
	[RL_FORM_SHA] = WORDS(WORD("EVALSHA"), WORD(RL_LUA_##name##_SHA), KEYS, __VA_ARGS__),                    \
	[RL_FORM_TEXT] = WORDS(WORD("EVAL"), WORD(RL_LUA_##name##_TEXT), KEYS, __VA_ARGS__)
#define SETNX_SCRIPT(name, ...)                                                                              \
	.forms = FORM(TEXT),                                                                                     \
	.words = {[RL_FORM_TEXT] =                                                                               \
	              WORDS(WORD("EVAL"), WORD(RL_LUA_##name##_TEXT), WORD("2"), NAME, SETNX, __VA_ARGS__)},     \
	.script = RL_SCRIPT_##name, .parked_as = RL_FORM_TEXT
#define SHARED_FORMS (RL_FORMS_QUEUE | FORM(SHA) | FORM(TEXT))
#define SET WORD(RL_SIDE_SET)
#define LOOKS WORD("2"), NAME, QUEUE
#define HANDS WORD("3"), NAME, QUEUE, OFFERS
#define GUARDED_HANDS WORD("4"), NAME, QUEUE, OFFERS, SET

/* To compare and delete where nothing is known of a queue. */
#define DELETE                                                                                               \
	[RL_FORM_DELEX] = WORDS(WORD("DELEX"), NAME, WORD("IFEQ"), TOKEN),                                       \
	[RL_FORM_DELIFEQ] = WORDS(WORD("DELIFEQ"), NAME, TOKEN), SCRIPT(RELEASE, NAME, TOKEN)

#define OUTCOMES(...) ((const struct rl_outcome[]){__VA_ARGS__, {.vote = REDLOCK_VOTE_PENDING}})
#define YES .vote = REDLOCK_VOTE_YES
#define NO .vote = REDLOCK_VOTE_NO
#define QUARANTINE .vote = REDLOCK_VOTE_QUARANTINE
#define UNCOUNTED .vote = REDLOCK_VOTE_UNCOUNTED
#define BARRED .vote = REDLOCK_VOTE_NOPERM
#define OTHER_COUNT .vote = REDLOCK_VOTE_SLOTS
#define OK .type = RL_REPLY_STATUS
#define NIL .type = RL_REPLY_NIL
#define INTEGER(from, to) .type = RL_REPLY_INTEGER, .least = (from), .most = (to)
#define ARRAY_FROM(from, to, letters)                                                                        \
	.type = RL_REPLY_ARRAY, .items = (letters), .least = (from), .most = (to)
#define ARRAY(letters) ARRAY_FROM(INT64_MIN, INT64_MAX, letters)
#define ERROR(text) .type = RL_REPLY_ERROR, .items = (text)

/* Compared with the token, and changed if it is. A release says by 2, or -1
 * if it was not ours, that somebody waits. */
#define COMPARED OUTCOMES({YES, INTEGER(1, 1)}, {NO, INTEGER(0, 0)})
#define RELEASED OUTCOMES({YES, INTEGER(1, 2)}, {NO, INTEGER(-1, 0)})

#define QUOTED OUTCOMES({YES, ARRAY_FROM(1, 1, "is")}, {NO, ARRAY_FROM(0, 0, "is")})

/* In a guarded set: verdict, number, PTTL of the key, time, token. */
#define ADMITTED(letters, ...)                                                                               \
	OUTCOMES({YES, ARRAY_FROM(1, 1, letters)}, {NO, ARRAY_FROM(0, 0, letters)},                              \
	         {QUARANTINE, ARRAY_FROM(-1, -1, letters)}, __VA_ARGS__)
#define COUNTED(letters) ADMITTED(letters, {UNCOUNTED, ARRAY_FROM(-2, -2, letters)})

#define ALL_OR_NONE OUTCOMES({YES, ARRAY_FROM(1, 1, "iiiis")}, {NO, ARRAY_FROM(0, 0, "iiiis")})

/* Answers for shared locks: -1 is a "no". */
#define OUT_OF_SET                                                                                           \
	{                                                                                                        \
		QUARANTINE, ARRAY_FROM(-2, -2, "iiiis")                                                              \
	}
#define NUMBERED_UPGRADE                                                                                     \
	OUTCOMES({YES, ARRAY_FROM(1, 1, "iiiis")}, {NO, ARRAY_FROM(-1, 0, "iiiis")}, OUT_OF_SET,                 \
	         {UNCOUNTED, ARRAY_FROM(-3, -3, "iiiis")})

#define LINED_UP(...)                                                                                        \
	OUTCOMES({YES, ARRAY_FROM(1, 1, "iiiiss")}, {NO, ARRAY_FROM(-1 - REDLOCK_MAX_NAMES, -2, "iiiiss")},      \
	         __VA_ARGS__)

#define ONE_OF_K(letters)                                                                                    \
	OUTCOMES({YES, ARRAY_FROM(1, 1, letters)}, {NO, ARRAY_FROM(0, 0, letters)},                              \
	         {OTHER_COUNT, ARRAY_FROM(-3, -3, "iiiis")})

/* The commands that the scripts of the queue call. */
#define QUEUE_RIGHTS "mget pttl pexpire time publish hget hset hdel hlen"

#endif
