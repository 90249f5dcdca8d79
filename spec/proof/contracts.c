/* SPDX-License-Identifier: MIT */
/*
 * Contracts of the functions that the theorems rest on: the quorum (lemma half), the drift formula and the
 * end of validity (lemma formula), saturating times, pauses of waiters, offsets of servers' clocks.
 * `contracts` has Frama-C prove them for the code itself, which is included here as it is, with overflow of
 * unsigned integers as an error. In the comments, integers have no size.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/offset.h"
#include "core/pace.h"
#include "core/quorum.h"

/*@ predicate sane(struct rl_count c) = 1 <= c.nodes <= 31 && c.nodes < 2 * c.quorum && c.quorum <= c.nodes
      && c.yes + c.no + c.out <= c.nodes; */

/* Two quorums share a node. */
/*@ lemma overlap: \forall integer n, q, a, b; n < 2 * q && a >= q && b >= q ==> a + b > n; */

/*@ requires node_count <= 31;
    assigns \nothing;
    ensures node_count < 2 * \result;
    ensures node_count >= 1 ==> 1 <= \result <= node_count;
    ensures \forall integer q; node_count < 2 * q ==> \result <= q; */
unsigned rl_quorum_least(unsigned node_count);

/*@ requires sane(count);
    assigns \nothing;
    ensures \result == RL_WON <==> count.yes >= count.quorum;
    ensures \result == RL_REFUSED ==> count.yes + count.out < count.quorum && count.yes + count.no >=
   count.quorum; ensures \result == RL_NOQUORUM ==> count.yes + count.no + count.out < count.quorum; ensures
   count.out == 0 ==> \result != RL_UNDECIDED; */
enum rl_tally rl_quorum_for_claim(struct rl_count count);

/*@ requires sane(count);
    assigns \nothing;
    ensures \result == RL_WON <==> count.yes >= count.quorum;
    ensures \result == RL_REFUSED ==> count.no >= count.quorum;
    ensures count.out == 0 ==> \result != RL_UNDECIDED; */
enum rl_tally rl_quorum_for_extend(struct rl_count count);

/*@ requires sane(count);
    assigns \nothing;
    ensures \result == RL_WON <==> count.yes >= count.quorum;
    ensures \result == RL_REFUSED ==> count.nodes - count.no < count.quorum;
    ensures count.out == 0 ==> \result != RL_UNDECIDED; */
enum rl_tally rl_quorum_for_check(struct rl_count count);

/*@ requires sane(count);
    assigns \nothing;
    ensures \result == RL_WON ==> count.nodes - count.yes < count.quorum && count.yes + count.no >=
   count.quorum; ensures \result == RL_REFUSED <==> count.no >= count.quorum; ensures count.out == 0 ==>
   \result != RL_UNDECIDED; */
enum rl_tally rl_quorum_for_release(struct rl_count count);

/*@ assigns \nothing;
    ensures \result == ((integer)a + b > UINT64_MAX ? UINT64_MAX : a + b); */
static inline uint64_t rl_time_add(uint64_t a, uint64_t b);

/*@ assigns \nothing;
    ensures \result == (a == UINT64_MAX ? a : a > b ? a - b : 0); */
static inline uint64_t rl_time_sub(uint64_t a, uint64_t b);

/*@ assigns \nothing;
    ensures \result == (a < b ? a : b); */
static inline uint64_t rl_time_min(uint64_t a, uint64_t b);

/*@ assigns \nothing;
    ensures \result == (a > b ? a : b); */
static inline uint64_t rl_time_max(uint64_t a, uint64_t b);

/*@ assigns \nothing;
    ensures \result == (ms > UINT64_MAX / 1000000 ? UINT64_MAX : ms * 1000000); */
static inline uint64_t rl_time_ms(uint64_t ms);

/* From 1000000 ppm on no lock is permitted (refusal.c: the drift is less than the TTL). */
/*@ requires ppm <= 1000000;
    assigns \nothing;
    ensures enough: \result == UINT64_MAX || \result * 1000000 >= (integer)ttl_ns * ppm + (integer)base_ns *
   1000000; ensures \result >= base_ns; */
uint64_t rl_validity_drift(uint64_t ttl_ns, uint32_t ppm, uint64_t base_ns);

/*@ assigns \nothing;
    ensures t0_ns <= \result <= (drift_ns >= ttl_ns ? (integer)t0_ns : (integer)t0_ns + ttl_ns - drift_ns); */
uint64_t rl_validity_end(uint64_t t0_ns, uint64_t ttl_ns, uint64_t drift_ns);

/* Pauses of waiters: from half of what was meant to one and a half of it. */
/*@ requires ns <= UINT64_MAX / 2;
    assigns \nothing;
    ensures ns / 2 <= \result && (ns > 0 ==> \result < ns / 2 + ns); */
uint64_t rl_pace_about(uint64_t ns, uint64_t entropy);

/*@ requires least <= RL_PACE_MOST_NS;
    assigns \nothing;
    ensures least <= \result <= RL_PACE_MOST_NS; */
static uint64_t clamp(uint64_t ns, uint64_t least);

/* How far two clocks are apart that are somewhere between their bounds: 0 if they may agree. */
/*@ predicate near(integer ns) = -INT64_MAX / 2 <= ns <= INT64_MAX / 2; */
/*@ requires near(least_a) && near(most_a) && near(least_b) && near(most_b) && least_a <= most_a && least_b <=
   most_b; assigns \nothing;
    ensures \result == 0 <==> least_a <= most_b && least_b <= most_a;
    ensures \result > 0 <==> least_a > most_b; */
static int64_t distance_ns(int64_t least_a, int64_t most_a, int64_t least_b, int64_t most_b);

/*@ requires \valid_read(o) && o->moved_least_ns <= o->moved_most_ns;
    assigns \nothing;
    ensures \result == 0 <==> o->moved_least_ns <= 0 <= o->moved_most_ns;
    ensures \result > 0 ==> \result == o->moved_least_ns;
    ensures \result < 0 ==> \result == o->moved_most_ns; */
int64_t rl_offset_moved_ns(const struct rl_offset *o);

#include "../../src/core/offset.c"
#include "../../src/core/pace.c"
#include "../../src/core/quorum.c"
#include "../../src/core/validity.c"

/* A server's clock is ahead of ours by something between the two: its answer came after the question. */
/*@ requires \valid_read(r) && r->sent_ns <= r->received_ns <= INT64_MAX / 4;
    assigns \nothing;
    ensures \result.least_ns <= \result.most_ns;
    ensures 0 <= r->wall_ms <= 3800000000000 ==> \result.least_ns + r->received_ns == r->wall_ms * 1000000 &&
   \result.most_ns + r->sent_ns == (r->wall_ms + 1) * 1000000; */
static struct bounds bounds_of(const struct rl_offset_reading *r);
