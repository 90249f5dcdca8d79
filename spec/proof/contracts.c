/* SPDX-License-Identifier: MIT */
/*
 * Contracts that would not help a reader of the header: of static functions, of votes and pauses that need a
 * notation of their own, and of offsets of servers' clocks. Those of the quorum, of times and of the drift
 * formula stand in their headers. `contracts` has Frama-C prove all of them for the code itself, which is
 * included here as it is, with overflow of unsigned integers as an error. Invariants stand at their loops. In
 * the comments, integers have no size.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/fence.h"
#include "core/offset.h"
#include "core/pace.h"
#include "core/quorum.h"
#include "core/round.h"

/* Two quorums share a node. */
/*@ lemma overlap: \forall integer n, q, a, b; n < 2 * q && a >= q && b >= q ==> a + b > n; */

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
/*@ requires near(least_a) && near(most_a) && near(least_b) && near(most_b);
    requires least_a <= most_a && least_b <= most_b;
    assigns \nothing;
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

/* ---- loops over the votes of a round, whose invariants stand at the loops ---- */

/*@ predicate ready(struct rl_lock *l) =
      \valid_read(l) && \valid_read(l->rules) && 1 <= l->rules->node_count <= 31 &&
      \valid_read(l->votes + (0 .. l->rules->node_count - 1)) &&
      \valid_read(l->numbers) && \valid_read(l->numbers->of + (0 .. l->rules->node_count - 1)); */

/* How many of the first n nodes have told this number with their yes, or a higher one. */
/*@ predicate agrees(struct rl_lock *l, integer i) = l->votes[i].code == REDLOCK_VOTE_YES;
    logic integer fits(struct rl_lock *l, integer number, integer more, integer i) =
      l->votes[i].code != REDLOCK_VOTE_YES ? 0 : l->numbers->of[i] == number && more == 0 ? 1
        : l->numbers->of[i] > number && more != 0 ? 1 : 0;
    logic integer told(struct rl_lock *l, integer number, integer more, integer n) =
      n <= 0 ? 0 : told(l, number, more, n - 1) + fits(l, number, more, n - 1); */

/* No yes of the first n nodes has told a higher number; and one has told this, unless it is 0. */
/*@ predicate is_highest(struct rl_lock *l, integer number, integer n) =
      (\forall integer i; 0 <= i < n && agrees(l, i) ==> l->numbers->of[i] <= number) &&
      (number == 0 || \exists integer i; 0 <= i < n && agrees(l, i) && l->numbers->of[i] == number); */

/*@ requires ready(l) && node < l->rules->node_count;
    assigns \nothing;
    ensures \result <==> agrees(l, node); */
static bool said_yes(const struct rl_lock *l, unsigned node);

/*@ requires ready(l);
    assigns \nothing;
    ensures \result == told(l, number, more, l->rules->node_count) <= l->rules->node_count; */
static unsigned count(const struct rl_lock *l, uint64_t number, bool more);

/* The number that a quorum has told; where none has, the highest one. */
/*@ requires ready(l);
    assigns \nothing;
    ensures told(l, \result, 0, l->rules->node_count) >= l->rules->quorum ||
            is_highest(l, \result, l->rules->node_count); */
static uint64_t choose(const struct rl_lock *l);

/*@ requires ready(l);
    assigns \nothing;
    ensures \result.nodes == l->rules->node_count && \result.quorum == l->rules->quorum;
    ensures \result.yes == l->round.votes[REDLOCK_KIND_YES] && \result.no == l->round.votes[REDLOCK_KIND_NO];
    ensures \result.out == l->round.votes[REDLOCK_KIND_PENDING]; */
struct rl_count rl_round_count(const struct rl_lock *l);

/* A number wins if and only if a quorum has told it (fence.thm: issue). Votes are counted by kind. */
/*@ requires ready(l) && l->rules->node_count < 2 * l->rules->quorum;
    requires l->rules->quorum <= l->rules->node_count;
    requires l->round.votes[REDLOCK_KIND_YES] + l->round.votes[REDLOCK_KIND_NO]
               + l->round.votes[REDLOCK_KIND_PENDING] <= l->rules->node_count;
    requires sums: l->round.votes[REDLOCK_KIND_YES] >= told(l, l->numbers->fence, 0, l->rules->node_count)
               + told(l, l->numbers->fence, 1, l->rules->node_count);
    assigns \nothing;
    ensures l->numbers->fence != 0 ==>
      (\result == RL_WON <==> told(l, l->numbers->fence, 0, l->rules->node_count) >= l->rules->quorum); */
enum rl_tally rl_fence_weigh(const struct rl_lock *l);

/* Numbers in replies: 19 digits fit into 64 bits, and nothing after the end of the text is read. */
/*@ logic integer ten_to(integer n) =
      n == 0 ? 1 : n == 1 ? 10 : n == 2 ? 100 : n == 3 ? 1000 : n == 4 ? 10000
      : n == 5 ? 100000 : n == 6 ? 1000000 : n == 7 ? 10000000 : n == 8 ? 100000000 : n == 9 ? 1000000000
      : n == 10 ? 10000000000 : n == 11 ? 100000000000 : n == 12 ? 1000000000000
      : n == 13 ? 10000000000000 : n == 14 ? 100000000000000 : n == 15 ? 1000000000000000
      : n == 16 ? 10000000000000000 : n == 17 ? 100000000000000000 : n == 18 ? 1000000000000000000
      : 10000000000000000000; */

/*@ requires \valid(ret) && \separated(ret, at + (..));
    requires \exists integer n; 0 <= n && \valid_read(at + (0 .. n)) && at[n] == '\0';
    assigns *ret;
    ensures -INT64_MAX <= *ret && (\result == \null || \result > at); */
static const char *take_number(const char *at, int64_t *ret);

/*@ assigns \nothing;
    ensures \result == \max(INT32_MIN, \min(number, INT32_MAX)); */
static int32_t saturated(int64_t number);

#include "../../src/proto/answer.c"

/* Pauses between attempts: 1 ms, and then each is twice as long as the one before it, up to an eighth of a
 * node timeout. */
/*@ logic integer longest(struct rl_lock *l) = \max(RL_ROUND_RETRY_MIN_NS, l->rules->node_timeout_ns / 8);
    logic integer grown_to(integer most, integer n) =
      n <= 0 ? RL_ROUND_RETRY_MIN_NS : \min(2 * grown_to(most, n - 1), most); */

/*@ requires \valid_read(l) && \valid_read(l->rules);
    assigns \nothing;
    ensures \result == grown_to(longest(l), l->look.pauses);
    ensures RL_ROUND_RETRY_MIN_NS <= \result <= longest(l); */
uint64_t rl_round_retry_pause(const struct rl_lock *l);

/*@ requires \valid_read(l) && \valid_read(l->rules);
    assigns \nothing;
    ensures \result == l->rules->node_timeout_ns / 8; */
uint64_t rl_round_retry_longest(const struct rl_lock *l);

/* 255 pauses do not grow: 64 bits hold a millisecond that has doubled 44 times. */
/*@ requires \valid(l) && \valid_read(l->rules) && \separated(l, l->rules) && l->look.pauses < UINT8_MAX;
    assigns l->look.pauses;
    ensures grown_to(longest(l), l->look.pauses) ==
      \min(2 * grown_to(longest(l), \old(l->look.pauses)), longest(l)); */
void rl_round_retry_grow(struct rl_lock *l);

/* The pause after a refused attempt: 1 ms at least, and otherwise no longer than half of what is left of the
 * wait. */
/*@ requires \valid_read(l) && \valid_read(l->rules) && \valid_read(e);
    requires l->rules->retry_min_ns <= l->rules->retry_max_ns < UINT64_MAX;
    assigns \nothing;
    ensures \result == UINT64_MAX || \result >= e->now_ns + RL_ROUND_RETRY_MIN_NS;
    ensures \result <= e->now_ns + \max(RL_ROUND_RETRY_MIN_NS, \min(l->rules->retry_max_ns, left / 2)); */
uint64_t rl_round_retry_at(const struct rl_lock *l, const struct rl_event *e, uint64_t left);

#include "../../src/core/fence.c"
#include "../../src/core/round.c"
#include "../../src/net/backoff.c"

/* A server's clock is ahead of ours by something between the two: its answer came after the question. */
/*@ requires \valid_read(r) && r->sent_ns <= r->received_ns <= INT64_MAX / 4;
    assigns \nothing;
    ensures \result.least_ns <= \result.most_ns;
    ensures 0 <= r->wall_ms <= 3800000000000 ==>
      \result.least_ns + r->received_ns == r->wall_ms * 1000000 &&
      \result.most_ns + r->sent_ns == (r->wall_ms + 1) * 1000000; */
static struct bounds bounds_of(const struct rl_offset_reading *r);

/* Reconnects: a random time between two that differ, 3 s at most. */
/*@ assigns \nothing;
    ensures \result.least_ns < \result.most_ns <= LAST_NS;
    ensures failures > 0 ==> \result.least_ns == \result.most_ns / 2 >= FIRST_NS / 2; */
static struct range range_of(unsigned failures, bool needed);
