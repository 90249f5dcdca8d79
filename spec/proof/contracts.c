/* SPDX-License-Identifier: MIT */
/*
 * Contracts that would not help a reader of the header: of static functions, of votes and pauses that need a
 * notation of their own, and of offsets of servers' clocks. Those of the quorum, of times and of the drift
 * formula stand in their headers, those of replies in replies.c. `contracts` has Frama-C prove all of them
 * for the code itself, which is included here as it is, with overflow of unsigned integers as an error.
 * Invariants stand at their loops. In the comments, integers have no size.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/fence.h"
#include "core/offset.h"
#include "core/pace.h"
#include "core/quorum.h"
#include "core/round.h"
#include "proto/command.h"

/* Two quorums share a node. */
/*@ lemma overlap: \forall integer n, q, a, b; n < 2 * q && a >= q && b >= q ==> a + b > n; */

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

#include "../../src/core/offset.c"
#include "../../src/core/pace.c"
#include "../../src/core/quorum.c"
#include "../../src/core/validity.c"

/* ---- the votes of a round, counted by kind ---- */

/* The kind of each code, as the table of the public header has it. */
/* clang-format off */
#define KIND_OF(name, value, kind, text) code == (value) ? (REDLOCK_KIND_##kind) :
#define IS_KIND(name, value, kind, text) ensures code == (value) ==> \result == (REDLOCK_KIND_##kind);
/* clang-format on */
/*@ logic integer kind_of(integer code) = REDLOCK_VOTE_MAP(KIND_OF) REDLOCK_KIND_MISSING; */

/*@ assigns \nothing;
    REDLOCK_VOTE_MAP(IS_KIND)
    ensures code >= REDLOCK_VOTE_COUNT ==> \result == REDLOCK_KIND_MISSING; */
enum redlock_vote_kind redlock_vote_kind(enum redlock_vote_code code);

/*@ predicate in_round(struct rl_lock *l) =
      \valid_read(l) && \valid_read(l->rules) && 1 <= l->rules->node_count <= 31 &&
      \valid_read(l->votes + (0 .. l->rules->node_count - 1));
    predicate writable(struct rl_lock *l) =
      in_round(l) && \valid(l) && \valid(l->votes + (0 .. l->rules->node_count - 1)) &&
      \separated(l, l->rules, l->votes + (0 .. l->rules->node_count - 1));
    predicate permitted(struct rl_rules *r) = r->node_count < 2 * r->quorum && r->quorum <= r->node_count; */

/* How many of the first n nodes have cast a vote of this kind; and each kind is counted right. */
/*@ logic integer cast(struct rl_lock *l, integer kind, integer n) =
      n <= 0 ? 0 : cast(l, kind, n - 1) + (kind_of(l->votes[n - 1].code) == kind ? 1 : 0);
    predicate is_kind(integer k) = REDLOCK_KIND_PENDING <= k <= REDLOCK_KIND_FATAL;
    predicate tallied(struct rl_lock *l) =
      \forall integer k; is_kind(k) ==> l->round.votes[k] == cast(l, k, l->rules->node_count); */

/* A vote is added to its kind, and the vote that the node had is taken from its kind. */
/*@ requires writable(l) && node < l->rules->node_count && code < REDLOCK_VOTE_COUNT;
    requires 0 < l->round.votes[kind_of(l->votes[node].code)];
    requires \forall integer k; is_kind(k) ==> l->round.votes[k] <= 31;
    assigns l->votes[node], l->round.votes[REDLOCK_KIND_PENDING .. REDLOCK_KIND_FATAL];
    ensures l->votes[node].code == code;
    ensures \forall integer k; is_kind(k) ==>
      l->round.votes[k] == \old(l->round.votes[k]) - (k == kind_of(\old(l->votes[node].code)) ? 1 : 0)
        + (k == kind_of(code) ? 1 : 0); */
void rl_round_cast(struct rl_lock *l, unsigned node, enum redlock_vote_code code, uint64_t rtt);

/* ---- loops over the votes of a round, whose invariants stand at the loops ---- */

/*@ predicate ready(struct rl_lock *l) = in_round(l) &&
      \valid_read(l->numbers) && \valid_read(l->numbers->of + (0 .. l->rules->node_count - 1)); */

/* How many of the first n nodes have told this number with their yes, or a higher one. */
/*@ predicate agrees(struct rl_lock *l, integer i) = l->votes[i].code == REDLOCK_VOTE_YES;
    logic integer fits(struct rl_lock *l, integer number, integer more, integer i) =
      l->votes[i].code != REDLOCK_VOTE_YES ? 0 : l->numbers->of[i] == number && more == 0 ? 1
        : l->numbers->of[i] > number && more != 0 ? 1 : 0;
    logic integer told(struct rl_lock *l, integer number, integer more, integer n) =
      n <= 0 ? 0 : told(l, number, more, n - 1) + fits(l, number, more, n - 1); */

/* Kinds of votes of the first n nodes add up, to no more than n. */
/*@ predicate add_up(struct rl_lock *l, integer n) =
      (\forall integer k; 0 <= cast(l, k, n) <= n) &&
      (\forall integer i; 0 <= i < n ==> cast(l, kind_of(l->votes[i].code), n) >= 1) &&
      cast(l, REDLOCK_KIND_PENDING, n) + cast(l, REDLOCK_KIND_YES, n) + cast(l, REDLOCK_KIND_NO, n) <= n &&
      told(l, l->numbers->fence, 0, n) + told(l, l->numbers->fence, 1, n) <= cast(l, REDLOCK_KIND_YES, n); */

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

/*@ requires in_round(l);
    assigns \nothing;
    ensures \result.nodes == l->rules->node_count && \result.quorum == l->rules->quorum;
    ensures \result.yes == l->round.votes[REDLOCK_KIND_YES] && \result.no == l->round.votes[REDLOCK_KIND_NO];
    ensures \result.out == l->round.votes[REDLOCK_KIND_PENDING]; */
struct rl_count rl_round_count(const struct rl_lock *l);

/* A number wins if and only if a quorum has told it (fence.thm: issue). */
/*@ requires ready(l) && permitted(l->rules);
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
      : n == 19 ? 10000000000000000000 : 100000000000000000000;
    predicate is_digit(integer c) = '0' <= c <= '9'; */

/*@ requires \valid(ret) && \separated(ret, at + (..));
    requires \exists integer n; 0 <= n && \valid_read(at + (0 .. n)) && at[n] == '\0';
    assigns *ret;
    ensures -INT64_MAX <= *ret && (\result == \null || \result > at); */
static const char *take_number(const char *at, int64_t *ret);

/*@ assigns \nothing;
    ensures \result == \max(INT32_MIN, \min(number, INT32_MAX)); */
static int32_t saturated(int64_t number);

/* After a mark, a length of n digits and a line end. A length of our own commands fits into 64 bits. */
/*@ predicate is_length(char *at, integer n) = 0 <= n <= 19 && \valid_read(at + (0 .. n + 2)) &&
      at[n + 1] == '\r' && \forall integer i; 1 <= i <= n ==> is_digit(at[i]); */

#include "../../src/proto/answer.c"
#include "../../src/proto/command.c"

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

/* 255 pauses do not grow: 64 bits hold a millisecond that has doubled 44 times. */
/*@ requires \valid(l) && \valid_read(l->rules) && \separated(l, l->rules) && l->look.pauses < UINT8_MAX;
    assigns l->look.pauses;
    ensures grown_to(longest(l), l->look.pauses) ==
      \min(2 * grown_to(longest(l), \old(l->look.pauses)), longest(l)); */
void rl_round_retry_grow(struct rl_lock *l);

#include "../../src/core/fence.c"
#include "../../src/core/round.c"
#include "../../src/core/vote.c"
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

/* ---- what the contracts say together: functions of the proof alone. Each loop is an induction ---- */

/* A round begins with a right count ... */
/*@ requires in_round(l) && l->round.votes[REDLOCK_KIND_PENDING] == l->rules->node_count;
    requires \forall integer i; 0 <= i < l->rules->node_count ==> l->votes[i].code == REDLOCK_VOTE_PENDING;
    requires \forall integer k; REDLOCK_KIND_YES <= k <= REDLOCK_KIND_FATAL ==> l->round.votes[k] == 0;
    assigns \nothing;
    ensures tallied(l); */
static void count_begins(const struct rl_lock *l)
{
	/*@ loop invariant 0 <= i <= l->rules->node_count;
	    loop invariant \forall integer k; cast(l, k, i) == (k == REDLOCK_KIND_PENDING ? i : 0);
	    loop assigns i;
	    loop variant l->rules->node_count - i; */
	for (unsigned i = 0; i < l->rules->node_count; i++)
		;
}

/*@ requires in_round(l);
    assigns \nothing;
    ensures add_up(l, l->rules->node_count); */
static void count_adds_up(const struct rl_lock *l)
{
	/*@ loop invariant 0 <= i <= l->rules->node_count && add_up(l, i);
	    loop assigns i;
	    loop variant l->rules->node_count - i; */
	for (unsigned i = 0; i < l->rules->node_count; i++)
		;
}

/* ... each vote keeps it right ... */
/*@ requires writable(l) && node < l->rules->node_count && code < REDLOCK_VOTE_COUNT && tallied(l);
    assigns l->votes[node], l->round.votes[REDLOCK_KIND_PENDING .. REDLOCK_KIND_FATAL];
    ensures tallied(l) && l->votes[node].code == code; */
static void count_stays(struct rl_lock *l, unsigned node, enum redlock_vote_code code, uint64_t rtt)
{
	count_adds_up(l);
	rl_round_cast(l, node, code, rtt);
	/*@ loop invariant 0 <= i <= l->rules->node_count;
	    loop invariant \forall integer k;
	      cast(l, k, i) == \at(cast(l, k, \at(i, Here)), Pre) + (i <= node ? 0 :
	        (k == kind_of(code) ? 1 : 0) - (k == kind_of(\at(l->votes[node].code, Pre)) ? 1 : 0));
	    loop assigns i;
	    loop variant l->rules->node_count - i; */
	for (unsigned i = 0; i < l->rules->node_count; i++)
		;
}

/* ... so a quorum is weighed by what nodes have said, and each node counts once ... */
/*@ requires in_round(l) && permitted(l->rules) && tallied(l);
    assigns \nothing;
    ensures \result == RL_WON <==> cast(l, REDLOCK_KIND_YES, l->rules->node_count) >= l->rules->quorum; */
static enum rl_tally count_weighs(const struct rl_lock *l)
{
	count_adds_up(l);
	return rl_quorum_for_claim(rl_round_count(l));
}

/* ... and so is a fencing number. */
/*@ requires ready(l) && permitted(l->rules) && tallied(l) && l->numbers->fence != 0;
    assigns \nothing;
    ensures \result == RL_WON <==> told(l, l->numbers->fence, 0, l->rules->node_count) >= l->rules->quorum; */
static enum rl_tally count_confirms(const struct rl_lock *l)
{
	count_adds_up(l);
	return rl_fence_weigh(l);
}
