/* SPDX-License-Identifier: MIT */
#include "handle.h"

#include <stdlib.h>

#include "options.h"
#include "proto/names.h"

struct rl_slice rl_handle_line(const redlock_lock *lock)
{
	struct rl_slice name = rl_handle_name(lock);
	if (lock->core.line == 0)
		return name;
	struct rl_slice others = rl_handle_others(lock);
	for (unsigned i = lock->core.line; i > 0 && rl_names_next(&others, &name); i--)
		continue;
	return name;
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
	lock->core.turn = turn_of(rl_handle_line(lock), lock->core.rules->node_count);
}

bool rl_handle_make_findings(redlock_lock *lock)
{
	if (lock->core.findings == NULL)
		lock->core.findings = calloc(lock->core.rules->node_count, sizeof *lock->core.findings);
	return lock->core.findings != NULL;
}

bool rl_handle_make_numbers(redlock_lock *lock)
{
	size_t votes = lock->core.rules->node_count * sizeof lock->core.numbers->of[0];
	if (lock->core.numbers == NULL)
		lock->core.numbers = calloc(1, sizeof *lock->core.numbers + votes);
	return lock->core.numbers != NULL;
}
