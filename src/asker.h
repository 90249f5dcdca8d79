/* SPDX-License-Identifier: MIT */
/*
 * Plain questions to the servers, over links of their own and a poller of their own: the client, its mutex
 * and its loop do not know of them. Why not over the nodes' connections: docs/decisions/requests.md. The
 * calls for programs are in ask.c, which checks their arguments.
 *
 *     rl_asker_open()     the client stays open until the asker is closed
 *     rl_asker_ask()      sends all questions at once, and waits for all answers
 *     rl_asker_close()
 */
#ifndef RL_ASKER_H
#define RL_ASKER_H

#include <signal.h>

#include <redlock/ask.h>

#include "client.h"

struct rl_asker;

/* Which servers are asked: those of `list`, HOST:PORT each, of the cluster that is node `node`, or its
 * Sentinels; NULL: one of each node. */
struct rl_asker_servers {
	unsigned node;
	const char *const *list;
	size_t count;
};

/* Returns 0, INVAL, NOMEM, SYSTEM or FORKED. */
int rl_asker_open(redlock_client *client, const struct rl_asker_servers *servers, struct rl_asker **ret);
void rl_asker_close(struct rl_asker *asker);

/* How many servers it asks: the `node` of each question is less. */
unsigned rl_asker_count(const struct rl_asker *asker);

/* Returns the number of questions without an answer, or NOMEM, INTERRUPTED or SYSTEM. `signals`: as for
 * rl_poller_wait(). The questions may quote the replies of the call before, so that these stay until
 * rl_asker_forget(), which must follow. */
int rl_asker_ask(struct rl_asker *asker, struct redlock_question *questions, size_t count, uint64_t until_ns,
                 const sigset_t *signals);
void rl_asker_forget(struct rl_asker *asker);

/* One of several questions; `size` is that of the struct that the caller was built with. */
static inline struct redlock_question *rl_asker_question(struct redlock_question *questions, size_t size,
                                                         size_t index)
{
	return (struct redlock_question *)(void *)((char *)questions + index * size);
}

#endif
