/* SPDX-License-Identifier: MIT */
#include "cohort.h"

#include "core/hold.h"

/* A token that the caller was told may be used after its turn. */
redlock_lock *rl_cohort_next(const struct rl_places *places, const redlock_lock *lock, uint64_t now_ns)
{
	redlock_lock *next = places->first != NULL ? rl_places_first_waiter(places, lock) : NULL;
	bool fits = next != NULL && !lock->told && rl_hold_may_pass(&lock->core, &next->core, now_ns);
	return fits ? next : NULL;
}

static void swap_bytes(void *a, void *b, size_t size)
{
	unsigned char *x = a, *y = b;
	for (size_t i = 0; i < size; i++) {
		unsigned char kept = x[i];
		x[i] = y[i];
		y[i] = kept;
	}
}

#define SWAP(type, field)                                                                                    \
	do {                                                                                                     \
		type kept_ = lock->field;                                                                            \
		lock->field = next->field;                                                                           \
		next->field = kept_;                                                                                 \
	} while (0)

/* Both have room for fresh tokens, of one size; one that has not tried yet has none. */
void rl_cohort_exchange(struct rl_registry *handles, redlock_lock *lock, redlock_lock *next)
{
	size_t nodes = lock->core.rules->node_count;
	size_t size = lock->token_size > next->token_size ? lock->token_size : next->token_size;
	SWAP(struct rl_lock, core);
	SWAP(const struct rl_rules *, core.rules); /* lent by the handle, these three */
	SWAP(struct rl_ballot *, core.votes);
	SWAP(struct redlock_finding *, core.findings);
	swap_bytes(lock->votes, next->votes, nodes * sizeof lock->votes[0]);
	swap_bytes(rl_handle_token_bytes(lock), rl_handle_token_bytes(next), size);
	SWAP(uint16_t, token_size);
	SWAP(struct rl_heir *, heir);
	lock->told = next->told = 0; /* what next's caller may know is the token of an attempt */
	rl_registry_exchange(handles, lock, next);
}
