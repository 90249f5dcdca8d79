/* SPDX-License-Identifier: MIT */
#include "core/many.h"

#include "core/policy.h"
#include "core/queue.h"

/* A client that has the gate, and is refused elsewhere, waits for silent nodes for this part of a node
 * timeout at most, because others want the keys that it has. Nodes may be far away, so it waits at least
 * twice as long as the last attempt took. */
enum { PATIENCE = 8 };

/* A gate says by its verdict which name it is, below that of a node that has no vote. */
static uint8_t name_in(const struct rl_event *e)
{
	const struct rl_vote *vote = &e->reply.vote;
	return (uint8_t)((e->reply.operation == RL_OP_ENTER_ALL ? -1 - vote->verdict : vote->name) & 0xff);
}

static void lose_patience(struct rl_lock *l, const struct rl_event *e)
{
	uint64_t patience = rl_time_max(l->rules->node_timeout_ns / PATIENCE, 2 * l->wait.trip_ns);
	l->round.deadline_ns = rl_time_min(l->round.deadline_ns, rl_time_add(e->now_ns, patience));
}

void rl_many_keep(struct rl_lock *l, const struct rl_event *e)
{
	const struct rl_vote *vote = &e->reply.vote;
	rl_queue_learn(l, e);
	if (vote->code != REDLOCK_VOTE_NO || (vote->told & (RL_TOLD(NAME) | RL_TOLD(PLACE))) == 0)
		return;
	l->queue.obstacle = name_in(e);
	if (l->claim.open && l->queue.stage == RL_STAGE_CLAIM)
		lose_patience(l, e);
	if (e->reply.operation != RL_OP_ENTER_ALL)
		return; /* what follows, the gate alone says */
	l->queue.contended = true;
	if (vote->place == 0) {
		l->queue.placed = false;
		l->queue.place = 0;
	}
}

/* Gates that were passed over were those of another line. */
void rl_many_line_up(struct rl_lock *l)
{
	uint8_t line = l->queue.line;
	if (l->policy->several && !l->queue.placed && l->queue.obstacle > 0)
		l->queue.line = (uint8_t)(l->queue.obstacle - 1);
	if (l->queue.line != line) {
		l->queue.passed = 0;
		l->queue.back = false;
	}
}
