/* SPDX-License-Identifier: MIT */
#include "seen.h"

#include <stdlib.h>
#include <string.h>

#include "core/policy.h"
#include "core/queue.h"

void rl_seen_forget(redlock_lock *lock)
{
	free(lock->seen);
	lock->seen = NULL;
}

static struct rl_slice cut(struct rl_slice value)
{
	enum { MOST = sizeof((struct redlock_wait *)NULL)->holder };
	return (struct rl_slice){value.bytes, value.size < MOST ? value.size : MOST};
}

/* Since when the key is seen: as before, if it is the same one. */
static uint64_t since(const struct rl_seen *before, const struct rl_seen *seen)
{
	bool same = before != NULL && before->since_ns != 0 && before->node == seen->node &&
	            before->size == seen->size && memcmp(before->holder, seen->holder, seen->size) == 0;
	return same ? before->since_ns : seen->told_ns;
}

static uint64_t until(int64_t pttl_ms, uint64_t now_ns)
{
	return pttl_ms < 0 ? RL_TIME_NEVER : rl_time_add(now_ns, rl_time_ms((uint64_t)pttl_ms));
}

void rl_seen_learn(redlock_lock *lock, const struct rl_event *e, uint64_t now_ns)
{
	const struct rl_vote *vote = &e->reply.vote;
	bool shares = lock->core.policy->shares && vote->value.size > 0;
	bool asked = lock->in_line ? e->node == lock->core.queue.gate : shares; /* others know of no queue */
	bool tells = asked && rl_vote_tells(vote, RL_FIELD_VALUE) && vote->code == REDLOCK_VOTE_NO;
	if (!tells || e->reply.seq != lock->core.round.seq)
		return;
	struct rl_slice value = cut(vote->value);
	struct rl_seen *seen = malloc(sizeof *seen + value.size);
	if (seen != NULL) {
		*seen = (struct rl_seen){.told_ns = now_ns,
		                         .wait_until_ns = lock->core.wait_until_ns,
		                         .node = (uint8_t)e->node,
		                         .size = (uint16_t)value.size};
		memcpy(seen->holder, value.bytes, value.size);
		seen->waiting = vote->waiting > 0 ? (uint32_t)vote->waiting : 0;
		bool key = vote->pttl_ms != -2;
		seen->since_ns = key ? since(lock->seen, seen) : 0;
		seen->until_ns = key ? until(vote->pttl_ms, now_ns) : 0;
	}
	rl_seen_forget(lock);
	lock->seen = seen;
}

/* ---- the heir ---- */

void rl_seen_keep_heir(redlock_lock *lock, struct rl_slice offer, uint64_t now_ns)
{
	rl_seen_forget_heir(lock);
	struct rl_heir *heir = offer.size > 0 ? malloc(sizeof *heir + offer.size) : NULL;
	if (heir == NULL)
		return;
	heir->told_ns = now_ns;
	heir->size = offer.size;
	memcpy(heir->offer, offer.bytes, offer.size);
	lock->heir = heir;
}

void rl_seen_forget_heir(redlock_lock *lock)
{
	free(lock->heir);
	lock->heir = NULL;
}
