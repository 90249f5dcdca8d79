/* SPDX-License-Identifier: MIT */
/* The length of a quarantine. */
#include "quarantine.h"

enum { LEAST_AGE_MS = 1000, DRIFT_BASE_MS = 2 };

uint64_t quarantine_ms(uint64_t ttl_ms)
{
	uint64_t age_ms = (ttl_ms + 3) / 4; /* of a connection, at which locks may still be renewed elsewhere */
	uint64_t drift_ms = (ttl_ms + 99) / 100 + DRIFT_BASE_MS; /* of clocks */
	return ttl_ms + (age_ms > LEAST_AGE_MS ? age_ms : LEAST_AGE_MS) + drift_ms;
}
