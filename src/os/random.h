/* SPDX-License-Identifier: MIT */
/* Random bytes from the kernel: tokens must be unguessable and differ after fork and in cloned machines. */
#ifndef RL_OS_RANDOM_H
#define RL_OS_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* Fills `buffer`. Returns 0, or -errno; then nothing may be used. See getrandom(2). */
int rl_random_bytes(void *buffer, size_t size);

/* Bytes drawn in advance: one system call for many tokens. They are wiped as they are taken, and the rest is
 * drawn anew after a millisecond, so that a machine that is cloned has next to none of them twice. Not for
 * use after a fork. */
struct rl_random_pool {
	uint64_t drawn_ns;
	size_t left;
	unsigned char bytes[320];
};

/* Fills `buffer` with at most as many bytes as the pool holds. 0 or -errno as above. */
int rl_random_pool_take(struct rl_random_pool *pool, uint64_t now_ns, void *buffer, size_t size);

#endif
