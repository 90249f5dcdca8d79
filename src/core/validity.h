/* SPDX-License-Identifier: MIT */
/* How long a lock may be relied on: its TTL, less what clocks may differ by. The contracts are proved
 * (spec/proof/contracts). */
#ifndef RL_CORE_VALIDITY_H
#define RL_CORE_VALIDITY_H

#include <stdint.h>

/* By how much clocks may differ after `ttl_ns`: ttl * ppm / 1e6, rounded up, plus `base_ns`. Source: redis.io
 * "Distributed Locks with Redis", clock drift. Limit: a product of any TTL and more than 1000000 ppm may not
 * fit. No lock is permitted with so much: its drift would be its TTL. */
/*@ requires ppm <= 1000000;
    assigns \nothing;
    ensures \result == UINT64_MAX || \result * 1000000 >= (integer)ttl_ns * ppm + (integer)base_ns * 1000000;
    ensures \result >= base_ns; */
uint64_t rl_validity_drift(uint64_t ttl_ns, uint32_t ppm, uint64_t base_ns);

/* Until when a lock may be relied on whose first SET was sent not before `t0_ns`: t0 + ttl - drift.
 * `t0_ns` itself when drift eats the TTL. */
/*@ assigns \nothing;
    ensures t0_ns <= \result <= (drift_ns >= ttl_ns ? (integer)t0_ns : (integer)t0_ns + ttl_ns - drift_ns); */
uint64_t rl_validity_end(uint64_t t0_ns, uint64_t ttl_ns, uint64_t drift_ns);

#endif
