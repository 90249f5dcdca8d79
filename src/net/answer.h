/* SPDX-License-Identifier: MIT */
/* From replies to votes: the one place that knows what server answers mean. */
#ifndef RL_NET_ANSWER_H
#define RL_NET_ANSWER_H

#include <redlock/redlock.h>

#include "net/resp.h"

/* The vote that an error reply stands for, by its first words. */
enum redlock_vote_code rl_vote_of_error(const char *text);

/* The vote that a reply to an operation stands for. QUERY: YES means that the reply has the right shape;
 * whose key it is decides who knows the token. PROBE: YES means that nothing stands in the way of a SET. */
enum redlock_vote_code rl_vote_of_reply(enum redlock_operation operation, const struct rl_reply *reply);

#endif
