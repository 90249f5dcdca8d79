/* SPDX-License-Identifier: MIT */
#include "heir.h"

#include <stdlib.h>
#include <string.h>

void rl_heir_keep(redlock_lock *lock, struct rl_slice offer, uint64_t now_ns)
{
	rl_heir_forget(lock);
	struct rl_heir *heir = offer.size > 0 ? malloc(sizeof *heir + offer.size) : NULL;
	if (heir == NULL)
		return;
	heir->told_ns = now_ns;
	heir->size = offer.size;
	memcpy(heir->offer, offer.bytes, offer.size);
	lock->heir = heir;
}

void rl_heir_forget(redlock_lock *lock)
{
	free(lock->heir);
	lock->heir = NULL;
}
