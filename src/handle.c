/* SPDX-License-Identifier: MIT */
#include "handle.h"

#include <stdlib.h>

#include "options.h"
#include "proto/names.h"

struct rl_slice rl_handle_name_at(const redlock_lock *lock, unsigned index)
{
	struct rl_slice name = rl_handle_name(lock), others = rl_handle_others(lock);
	for (unsigned i = index; i > 0 && rl_names_next(&others, &name); i--)
		continue;
	return name;
}

struct rl_slice rl_handle_line(const redlock_lock *lock)
{
	return lock->core.queue.line == 0 ? rl_handle_name(lock) : rl_handle_name_at(lock, lock->core.queue.line);
}

/* FNV-1a, 32 bits (Fowler, Noll, Vo). */
static uint8_t turn_of(struct rl_slice name, unsigned nodes)
{
	uint32_t hash = 2166136261u;
	for (size_t i = 0; i < name.size; i++)
		hash = (hash ^ (uint8_t)name.bytes[i]) * 16777619u;
	return (uint8_t)(hash % nodes);
}

void rl_handle_turn(redlock_lock *lock)
{
	lock->core.queue.turn = turn_of(rl_handle_line(lock), lock->core.rules->node_count);
}

static enum rl_cause cause_of(const redlock_lock *lock, const struct rl_event *event)
{
	bool acquires = event->kind == RL_EV_ACQUIRE, asks = event->kind == RL_EV_QUERY;
	bool holds = lock->core.phase == RL_HELD;
	if (lock->waiter != NULL || rl_state_is_busy(&lock->core))
		return RL_CAUSE_RUNS;
	if ((lock->pending & RL_OBSERVE_DONE) != 0)
		return RL_CAUSE_EVENT;
	if (lock->core.phase == RL_LOST)
		return RL_CAUSE_LOST;
	if (holds && (acquires || (asks && event->asked.probe)))
		return RL_CAUSE_HELD;
	return holds || acquires || asks ? RL_CAUSE_KIND : RL_CAUSE_IDLE;
}

void rl_handle_note_refusal(redlock_lock *lock, int error, const struct rl_event *event)
{
	enum rl_cause cause = error == REDLOCK_E_STATE  ? cause_of(lock, event)
	                      : error == REDLOCK_E_LOST ? RL_CAUSE_LOSS
	                                                : RL_CAUSE_CALL;
	rl_handle_note(lock, error, cause);
}

bool rl_handle_make_findings(redlock_lock *lock)
{
	if (lock->core.findings == NULL)
		lock->core.findings = calloc(lock->core.rules->node_count, sizeof *lock->core.findings);
	return lock->core.findings != NULL;
}

void rl_handle_keep_votes(redlock_lock *lock)
{
	if (lock->core.caller_votes == NULL)
		lock->core.caller_votes = calloc(lock->core.rules->node_count, sizeof *lock->core.caller_votes);
}

bool rl_handle_make_numbers(redlock_lock *lock)
{
	size_t votes = lock->core.rules->node_count * sizeof lock->core.numbers->of[0];
	if (lock->core.numbers == NULL)
		lock->core.numbers = calloc(1, sizeof *lock->core.numbers + votes);
	return lock->core.numbers != NULL;
}
