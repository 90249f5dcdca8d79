/* SPDX-License-Identifier: MIT */
/* Options of callers, in structs that may grow at their end: defaults, limits, and the rules that follow. */
#ifndef RL_OPTIONS_H
#define RL_OPTIONS_H

#include "refusal.h"

/* Whether an owner label has only the characters that a token may carry. NULL and "" are allowed. */
int rl_options_check_owner(const char *owner);

/* From options to the core's rules. 0, or INVAL: `why` receives a sentence. */
int rl_options_make_rules(struct rl_rules *ret, const struct rl_wish *wish, char *why, size_t size);

/* Shortens a TTL that nobody asked for to the maximum of a node set, and the times that follow from it.
 * False: the rules stay, as somebody asked for the TTL, it is not longer, or other times would not fit. */
bool rl_options_follow(struct rl_rules *rules, uint64_t maximum_ms);

/* The terms that follow from rules, for callers. 0, or INVAL: the size of `ret` cannot be. */
int rl_options_terms_of_rules(const struct rl_rules *rules, struct redlock_terms *ret);

/* As rl_options_terms_of_rules(), for options that were not checked; NULL: the defaults. 0 or INVAL. */
int rl_options_terms(const struct redlock_lock_options *options, uint32_t node_timeout_ms, uint32_t drift_ppm,
                     uint32_t drift_ms, struct redlock_terms *ret);

/* Whether an extend may ask for `ttl_ms` (0: as acquired): it is in its range, and leaves time for node
 * timeout and drift. */
bool rl_options_may_extend(const struct rl_rules *rules, uint64_t ttl_ms);

#endif
