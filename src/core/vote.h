/* SPDX-License-Identifier: MIT */
/*
 * The answer of one node to one operation: a code, and the values that came with it. The operation's row in
 * the table of operations says what each number and text means.
 */
#ifndef RL_CORE_VOTE_H
#define RL_CORE_VOTE_H

#include <stdint.h>

#include <redlock/redlock.h>

#include "core/slice.h"

enum { RL_VOTE_NUMBERS = 4, RL_VOTE_TEXTS = 2 };

struct rl_vote {
	enum redlock_vote_code code;
	uint8_t number_count;
	uint8_t text_count;
	int64_t numbers[RL_VOTE_NUMBERS];
	struct rl_slice texts[RL_VOTE_TEXTS]; /* point into the answer: valid during the step that takes it */
};

#endif
