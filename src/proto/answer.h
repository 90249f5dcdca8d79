/* SPDX-License-Identifier: MIT */
/* From replies to votes: the one place that knows what server answers mean. */
#ifndef RL_PROTO_ANSWER_H
#define RL_PROTO_ANSWER_H

#include "core/vote.h"
#include "proto/ops.h"

/* The vote that an error reply stands for, by its first words. */
enum redlock_vote_code rl_answer_of_error(const char *text);

/* The vote that a reply to an operation is, by its outcomes (rl_ops_outcomes()), with its values: GARBAGE if
 * no server answers so. Its texts point into the reply. */
void rl_answer_read(const struct rl_outcome *outcomes, const struct rl_reply *reply,
                    struct rl_vote *ret_vote);

#endif
