/* SPDX-License-Identifier: MIT */
#include "core/validity.h"

#include "core/time.h"

uint64_t rl_validity_drift(uint64_t ttl_ns, uint32_t ppm, uint64_t base_ns)
{
	/* Whole millions first: ttl * ppm does not fit into 64 bits for a TTL of days. */
	uint64_t whole = ttl_ns / 1000000 * ppm;
	uint64_t rest = (ttl_ns % 1000000 * ppm + 999999) / 1000000;
	return rl_time_add(rl_time_add(whole, rest), base_ns);
}

uint64_t rl_validity_end(uint64_t t0_ns, uint64_t ttl_ns, uint64_t drift_ns)
{
	return drift_ns >= ttl_ns ? t0_ns : rl_time_add(t0_ns, ttl_ns - drift_ns);
}
