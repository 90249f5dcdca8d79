/* SPDX-License-Identifier: MIT */
/*
 * Tells which request of the library a command is: a row of its table of operations (src/proto/ops.h) in one
 * of its forms. No fake has a list of its own of the library's requests, so that a new row needs none.
 *
 * Only this is read from the table. The effects and answers of commands are written by hand (redis_keys.c and
 * others; a script by its own text), as are the words and the answers that the tests expect of each row
 * (expected.h): else a wrong row would be checked against itself.
 */
#pragma once

#include "proto/ops.h"
#include "resp.h"

struct asked {
	const struct rl_op *op; /* NULL: no row */
	enum rl_form form;
	struct bytes parts[RL_WORD_FIXED]; /* name, token and TTL, where the row has them */
};

/* False: the library never sends this by itself. A TTL is a number from 1 on. */
bool asked_read(const struct words *w, struct asked *ret);

/* How often each outcome of each row came up; by a transaction: how often that was done. */
enum { ASKED_OUTCOMES = 6 };
struct asked_seen {
	uint64_t times[RL_OP_COUNT][RL_FORM_COUNT][ASKED_OUTCOMES];
};

/* Counts an answer, unless it is none of the row's outcomes, as errors are. */
void asked_note(struct asked_seen *seen, const struct asked *asked, struct bytes answer);

enum asked_show { ASKED_NOTHING, ASKED_MISSING, ASKED_ALL };

/* Prints what came up, or only what never did, of these forms. Returns how many outcomes never did. */
int asked_print(const struct asked_seen *seen, uint32_t forms, enum asked_show show);

/* The operation's number. */
static inline unsigned asked_operation(const struct asked *asked)
{
	return (unsigned)(asked->op - rl_ops);
}
