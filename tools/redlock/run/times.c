/* SPDX-License-Identifier: MIT */
/* When to renew, to warn, to TERM and to KILL. */
#include "times.h"

#include <stdio.h>

enum { KILL_AFTER_MS = 5000, MARGIN_NS = 100000000 };

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void run_times_init(struct run_times *times, const struct settings *settings,
                    const struct redlock_terms *terms)
{
	uint64_t ttl = terms->ttl_ms;
	*times = (struct run_times){0};
	times->ttl_ms = ttl;
	bool is_given = settings->renew_ms != 0 && settings->renew_ms != REDLOCK_FOREVER;
	times->renew_ms = is_given ? settings->renew_ms : ttl / 3;
	times->node_timeout_ms = terms->node_timeout_ms;
	times->kill_after_ms = settings->kill_after_ms ? settings->kill_after_ms : least(KILL_AFTER_MS, ttl / 6);
	times->drift_ms = terms->drift_ms;
	times->margin_ns = least(MARGIN_NS, times->kill_after_ms * 1000000 / 2);
}

/* The sum, in words. */
static void show_sum(const struct run_times *times, uint64_t sum, char *why, size_t size)
{
	const struct {
		const char *name;
		uint64_t ms;
		const char *place;
	} parts[] = {{"renew ", times->renew_ms, times->places.renew},
	             {" + node timeout ", times->node_timeout_ms, times->places.node_timeout},
	             {" + kill-after ", times->kill_after_ms, times->places.kill_after},
	             {" + drift ", times->drift_ms, times->places.drift},
	             {" = ", sum, NULL},
	             {", which must be less than the ttl ", times->ttl_ms, times->places.ttl}};
	char value[32];
	size_t used = 0;
	for (size_t i = 0; i < sizeof parts / sizeof parts[0] && used < size; i++) {
		const char *place = parts[i].place;
		redlock_duration_text(parts[i].ms, value, sizeof value);
		used +=
		    (size_t)snprintf(why + used, size - used, "%s%s%s%s%s", parts[i].name, value,
		                     place != NULL ? " (" : "", place != NULL ? place : "", place != NULL ? ")" : "");
	}
}

bool run_times_work(const struct run_times *times, char *why, size_t size)
{
	uint64_t sum = times->renew_ms + times->node_timeout_ms + times->kill_after_ms + times->drift_ms;
	if (sum >= times->ttl_ms)
		show_sum(times, sum, why, size);
	return sum < times->ttl_ms;
}

uint64_t run_times_late_ms(const struct run_times *times)
{
	uint64_t due_ms = times->ttl_ms - times->drift_ms - times->renew_ms; /* before the end */
	return times->kill_after_ms + (due_ms - times->kill_after_ms) / 2;
}
