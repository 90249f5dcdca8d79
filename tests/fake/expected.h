/* SPDX-License-Identifier: MIT */
/*
 * The words of the library for each operation in each of its forms, and the answers to them: written by hand,
 * and not read from its table (ops/NAME.lua), so that a wrong row there is seen. Tests go over all rows of
 * that table: one that is missing here fails them.
 */
#pragma once

#include "proto/request.h"
#include "resp.h"

struct expected {
	/* Words in capitals stand for parts of the request (NAME, TOKEN, TTL, QUEUE, PLACE ...), a script's
	 * name for its text or digest. NULL: it has no such form. */
	const char *words[RL_FORM_WATCH];
	const char *yes, *other; /* answers of a server that can do it */
	const char *or_yes;      /* another yes; NULL: there is none */
};

extern const struct expected expected[RL_OP_COUNT];

/* Appends a key beside that of a name: its queue, or the offers. */
void expected_side(struct bytes name, const char *what, struct buffer *ret);

/* For the parts of a request that are put together. */
enum { EXPECTED_SLOTS = 4, EXPECTED_SLOT_KEYS = 6 };
struct expected_room {
	char number[24], ttl[24], patience[24], terms[48], rules[RL_RULE_WORDS][24], first[16], kept[16];
	char slot_keys[EXPECTED_SLOT_KEYS]
	              [16]; /* how many keys there are, by how many of them are no slots but one */
	struct buffer queue, also, also_fence, offers, fence, setnx, count;
	struct buffer slots[EXPECTED_SLOTS];
};
void expected_free(struct expected_room *room);

/* The words that a request has in a form; of several names there may be one more, of slots EXPECTED_SLOTS.
 * False: it has no such form.
 */
bool expected_words(const struct rl_request *r, enum rl_form form, struct expected_room *room,
                    struct words *ret);

/* Whether a reply is the yes of an operation. Of an array the size counts. */
bool expected_yes(unsigned operation, const struct rl_reply *reply);
