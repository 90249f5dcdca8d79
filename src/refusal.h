/* SPDX-License-Identifier: MIT */
/* The rules for the options of a lock handle, and the sentence for options that break them. */
#ifndef RL_REFUSAL_H
#define RL_REFUSAL_H

#include "core/state.h"

/* The lock that is wanted, and its client. */
struct rl_wish {
	const struct redlock_lock_options *options;
	bool several; /* names */
	int guard;    /* REDLOCK_GUARD_ */
	unsigned node_count, quorum;
	uint32_t node_timeout_ms; /* 0: by the TTL */
	uint32_t drift_ppm, drift_ms;
};

/* True: a lock with these options is refused, and `why` receives one sentence. `rules` are those that follow
 * from the options. */
bool rl_refusal_of(const struct rl_wish *wish, const struct rl_rules *rules, char *why, size_t size);

bool rl_refusal_has_ttl(uint64_t ttl_ms); /* in its range */

bool rl_refusal_fits(const struct rl_rules *rules); /* its times into its TTL */

/* node timeout + drift + other < ttl: an answer at the last moment must still leave some validity. */
bool rl_refusal_leaves_time(const struct rl_rules *rules, uint64_t ttl_ns, uint64_t other_ns);

#endif
