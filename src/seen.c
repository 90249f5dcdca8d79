/* SPDX-License-Identifier: MIT */
/* What is known of a lock that is waited for. */
#include "seen.h"

#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "core/gate.h"
#include "core/quarantine.h"
#include "core/sized.h"

_Static_assert(RL_TIME_NEVER == REDLOCK_NEVER_NS, "points in time go out as they are");

/* ---- what is told ---- */

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
	const int64_t *numbers = e->vote.numbers;
	bool asked = e->vote.text_count > RL_GATE_HOLDER && e->node == lock->core.gate;
	bool tells = asked && e->vote.code == REDLOCK_VOTE_NO; /* others are asked so too, and know of no queue */
	if (!tells || !lock->in_line || e->seq != lock->core.round.seq)
		return;
	struct rl_slice value = cut(e->vote.texts[RL_GATE_HOLDER]);
	struct rl_seen *seen = malloc(sizeof *seen + value.size);
	if (seen != NULL) {
		*seen = (struct rl_seen){.told_ns = now_ns, .node = (uint8_t)e->node, .size = (uint16_t)value.size};
		memcpy(seen->holder, value.bytes, value.size);
		seen->waiting = numbers[RL_GATE_WAITING] > 0 ? (uint32_t)numbers[RL_GATE_WAITING] : 0;
		bool key = numbers[RL_GATE_PTTL] != -2;
		seen->since_ns = key ? since(lock->seen, seen) : 0;
		seen->until_ns = key ? until(numbers[RL_GATE_PTTL], now_ns) : 0;
	}
	rl_seen_forget(lock);
	lock->seen = seen;
}

/* ---- what is asked ---- */

static void tell(const redlock_lock *first, unsigned before, unsigned count, struct redlock_wait *ret)
{
	const struct rl_seen *seen = first->seen;
	const struct rl_lock *core = &first->core;
	ret->node = seen->node;
	ret->told_ns = seen->told_ns;
	ret->since_ns = seen->since_ns;
	ret->until_ns = seen->until_ns;
	ret->waiting = seen->waiting + count - 1;
	if (core->placed && core->gate == seen->node && core->place > 0)
		ret->place = core->place + before;
	ret->holder_len = seen->size;
	memcpy(ret->holder, seen->holder, seen->size);
}

/* All of the line stand behind its first one, which has the place. */
static int tell_line(const redlock_lock *lock, struct redlock_wait *ret)
{
	struct redlock_wait wait = {.node = -1};
	unsigned before, count;
	const redlock_lock *first = rl_places_first(lock->client, lock, &before, &count);
	if (first->seen != NULL)
		tell(first, before, count, &wait);
	return rl_sized_return(ret, &wait, sizeof wait);
}

static int tell_quarantine(uint64_t until_ns, struct redlock_wait *ret)
{
	struct redlock_wait wait = {.node = -1, .quarantine_ns = until_ns};
	return rl_sized_return(ret, &wait, sizeof wait);
}

int redlock_lock_waiting(const redlock_lock *lock, struct redlock_wait *ret_wait)
{
	int error = ret_wait != NULL ? rl_client_enter_lock(lock) : REDLOCK_E_INVAL;
	if (error < 0)
		return error;
	uint64_t quarantine_ns = rl_quarantine_end(&lock->core);
	if (quarantine_ns != 0)
		error = tell_quarantine(quarantine_ns, ret_wait);
	else
		error = lock->in_line && lock->core.phase != RL_HELD ? tell_line(lock, ret_wait) : REDLOCK_E_STATE;
	rl_loop_leave(&lock->client->loop);
	return error;
}
