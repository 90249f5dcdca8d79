/* SPDX-License-Identifier: MIT */
/*
 * The options of a lock that are numbers: a row for each. From these rows come the option by name
 * (config/words.c), the rule of the core (options.c), and the range that redlock_lock_new() checks
 * (refusal.c). A row needs a field of the same name in struct redlock_lock_options and in struct rl_rules.
 */
#ifndef RL_CORE_LOCK_OPTIONS_H
#define RL_CORE_LOCK_OPTIONS_H

#include <stdint.h>

#include <redlock/redlock.h>

/*
 * X(UNIT, field, name, least, most, is_key, variable): `name` is the one that redlock_lock_options_set() and
 * the configuration know. `is_key`: the name may stand in a file. `variable` of the environment sets it;
 * NULL: none.
 *
 * TIME: `field`_ms of the options becomes `field`_ns of the rules. The range is that of a time by name.
 * NUMBER: `field` of both. The range is that of the field, too.
 */
#define RL_LOCK_OPTIONS_MAP(X)                                                                               \
	X(TIME, ttl, "ttl", REDLOCK_MIN_TTL_MS, REDLOCK_MAX_TTL_MS, true, "REDLOCK_TTL")                         \
	X(TIME, wait, "wait", 0, REDLOCK_FOREVER, true, "REDLOCK_WAIT")                                          \
	X(TIME, renew, "renew", 0, REDLOCK_MAX_TTL_MS, true, NULL)                                               \
	X(TIME, noquorum_wait, "noquorum-wait", 0, REDLOCK_FOREVER, false, NULL)                                 \
	X(TIME, quarantine_wait, "quarantine-wait", 0, REDLOCK_FOREVER, false, NULL)                             \
	X(TIME, min_validity, "min-validity", 0, REDLOCK_MAX_TTL_MS, false, NULL)                                \
	X(TIME, retry_min, "retry-min", 0, REDLOCK_MAX_TTL_MS, false, NULL)                                      \
	X(TIME, retry_max, "retry-max", 0, REDLOCK_MAX_TTL_MS, false, NULL)                                      \
	X(TIME, danger, "danger", 0, REDLOCK_MAX_TTL_MS, false, NULL)                                            \
	X(TIME, max_hold, "max-hold", 0, REDLOCK_MAX_TTL_MS, false, NULL)                                        \
	X(NUMBER, max_extends, "max-extends", 0, UINT32_MAX, false, NULL)                                        \
	X(TIME, sticky, "sticky", 0, REDLOCK_MAX_TTL_MS, false, NULL)                                            \
	X(NUMBER, slots, "slots", 0, REDLOCK_MAX_SLOTS, false, NULL)

#endif
