/* SPDX-License-Identifier: MIT */
/*
 * What the library says for each operation in each of its forms, and what it is answered: by hand, and not
 * read from its table (src/proto/ops.c), so that a wrong row there is seen. Tests go over all rows of that
 * table: one that is missing here fails them.
 */
#ifndef FAKE_EXPECTED_H
#define FAKE_EXPECTED_H

#include "proto/request.h"
#include "resp.h"

struct expected {
	/* NAME, TOKEN and TTL stand for parts of the request, a script's name for its text or digest. NULL: it
	 * has no such form. */
	const char *words[RL_FORM_WATCH];
	const char *yes, *other; /* answers of a server that can do it */
};

extern const struct expected expected[RL_OP_COUNT];

/* The words that a request has in a form; `digits` is for its TTL. False: it has no such form. */
bool expected_words(const struct rl_request *r, enum rl_form form, char digits[24], struct words *ret);

/* Whether a reply is the yes of an operation. Of an array the size counts. */
bool expected_yes(unsigned operation, const struct rl_reply *reply);

#endif
