/* SPDX-License-Identifier: MIT */
/* The arithmetic of `redlock run`: when to renew, to warn, to TERM and to KILL. Pure. */
#ifndef REDLOCK_TOOL_RUN_TIMES_H
#define REDLOCK_TOOL_RUN_TIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <redlock/redlock.h>

#include "../options.h"

struct run_times {
	uint64_t ttl_ms;
	uint64_t renew_ms; /* after each grant */
	uint64_t node_timeout_ms;
	uint64_t kill_after_ms; /* TERM so long before the validity ends */
	uint64_t drift_ms;
	uint64_t margin_ns; /* KILL so long before the validity ends */
	struct {
		const char *renew, *node_timeout, *kill_after, *drift, *ttl;
	} places; /* where each was set, for the sum; NULL: not to be told. The caller fills it in */
};

/* Fills in what the settings leave open; the library's `terms` are those of session_terms(). */
void run_times_init(struct run_times *times, const struct settings *settings,
                    const struct redlock_terms *terms);

/* True when a renewal can still fail in time to stop the command before the validity ends:
 * renew + node timeout + kill-after + drift < ttl. Else `why` shows the sum. */
bool run_times_work(const struct run_times *times, char *why, size_t size);

/* A renewal that has not succeeded so long before the validity ends is late: half way between the moment it
 * was due and TERM. */
uint64_t run_times_late_ms(const struct run_times *times);

#endif
