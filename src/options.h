/* SPDX-License-Identifier: MIT */
/* Options of callers, in structs that may grow at their end: defaults, limits, and the rules that follow. */
#ifndef RL_OPTIONS_H
#define RL_OPTIONS_H

#include "core/state.h"

/* Copies the caller's options over `to`, which holds the defaults. The caller's struct may be shorter (older
 * header: the rest stays at its default) or longer (newer header: what this library does not know must be
 * zero). Both begin with their size. 0 or INVAL. */
int rl_options_copy(void *to, size_t to_size, const void *from);

/* Whether an owner label has only the characters that a token may carry. NULL and "" are allowed. */
int rl_options_check_owner(const char *owner);

/* From checked options to the core's rules. `node_timeout_ms` 0: by the TTL. 0 or INVAL. */
int rl_options_make_rules(struct rl_rules *ret, const struct redlock_lock_options *options,
                          unsigned node_count, unsigned quorum, uint32_t node_timeout_ms, uint32_t drift_ppm,
                          uint32_t drift_ms);

/* The terms that follow from rules, for callers. 0, or INVAL: the size of `ret` cannot be. */
int rl_options_terms_of_rules(const struct rl_rules *rules, struct redlock_terms *ret);

/* As rl_options_terms_of_rules(), for options that were not checked; NULL: the defaults. 0 or INVAL. */
int rl_options_terms(const struct redlock_lock_options *options, uint32_t node_timeout_ms, uint32_t drift_ppm,
                     uint32_t drift_ms, struct redlock_terms *ret);

/* The TTL of an extend that asks for `ttl_ms` (0: as acquired), in nanoseconds. 0: it is out of its range, or
 * too short for node timeout and drift. */
uint64_t rl_options_extend_ttl(const struct rl_rules *rules, uint64_t ttl_ms);

#endif
