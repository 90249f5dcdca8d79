/* SPDX-License-Identifier: MIT */
/*
 * When a connection that ended is made again. Many clients lose one node at one moment: they must not come
 * back together, nor as fast as the machine can.
 *
 * A connection worked if it opened and lasted a second. When one that worked ends, the next is made as soon
 * as an operation needs it (no failures), else at a random time within a second: nobody waits for it. One
 * that opened and ended sooner is excused once: a server that closes on every command would otherwise be
 * asked again with each operation. All others wait for a random time that doubles up to 3 s.
 */
#ifndef RL_NET_BACKOFF_H
#define RL_NET_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

struct rl_backoff {
	unsigned failures; /* connections in a row that did not work */
	bool brief;        /* the last one opened and ended soon */
	uint64_t retry_at_ns;
};

/* A connection has ended, which had opened at that time, UINT64_MAX: it had not. `needed`: somebody waits for
 * the next one. */
void rl_backoff_begin(struct rl_backoff *backoff, uint64_t opened_ns, bool needed, uint64_t now_ns);

/* An attempt to connect has failed. */
void rl_backoff_again(struct rl_backoff *backoff, uint64_t now_ns);

/* The cause of the failures is gone: the next attempt may be made now. */
void rl_backoff_forgive(struct rl_backoff *backoff, uint64_t now_ns);

#endif
