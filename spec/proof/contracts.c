/* SPDX-License-Identifier: MIT */
/*
 * Contracts of the functions that the theorems rest on: the quorum (lemma half), the drift formula and the
 * end of validity (lemma formula), and the saturating sum. `contracts` has Frama-C prove them for the code
 * itself, which is included here as it is, with overflow of unsigned integers as an error. In the comments,
 * integers have no size.
 */
#include <stdbool.h>
#include <stdint.h>

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

/* From 1000000 ppm on no lock is permitted (check() in options.c: the drift must be less than the TTL). */
/*@ requires ppm <= 1000000;
    assigns \nothing;
    ensures enough: \result == UINT64_MAX || \result * 1000000 >= (integer)ttl_ns * ppm + (integer)base_ns *
   1000000; ensures \result >= base_ns; */
uint64_t rl_validity_drift(uint64_t ttl_ns, uint32_t ppm, uint64_t base_ns);

/*@ assigns \nothing;
    ensures t0_ns <= \result <= (drift_ns >= ttl_ns ? (integer)t0_ns : (integer)t0_ns + ttl_ns - drift_ns); */
uint64_t rl_validity_end(uint64_t t0_ns, uint64_t ttl_ns, uint64_t drift_ns);

#include "../../src/core/quorum.c"
#include "../../src/core/validity.c"
