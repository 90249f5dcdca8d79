/* SPDX-License-Identifier: MIT */
/*
 * The wall clocks of servers, by which keys expire, held against our clock and against each other. A reading
 * tells of a server's clock that it was ahead of ours by something between two bounds: the answer came after
 * the request. From reading to reading these may move by as much as clocks may differ by, and by no more: a
 * clock that was set, runs too fast or stands still leaves them.
 *
 * One reading outside of this makes a node suspect, no more. When the next reading says so too, and the
 * others have been read since, they judge: if most moved alike, it was our clock that stood still. Else this
 * node's clock is not believed until all keys that the node was given before have expired, and not before its
 * clock has gone right for so long.
 */
#ifndef RL_CORE_OFFSET_H
#define RL_CORE_OFFSET_H

#include <stdbool.h>
#include <stdint.h>

/* The clock of one server; all zeros: nothing is known. */
struct rl_offset {
	int64_t least_ns, most_ns;             /* it is ahead of ours by something between these, */
	uint64_t at_ns;                        /* at this time of ours; 0: not known */
	uint64_t asked_ns;                     /* when it was asked for the last reading */
	int64_t moved_least_ns, moved_most_ns; /* by that one, out of those bounds */
	uint64_t odd_ns;                       /* since when it is out of them; 0: it is not */
	uint64_t out_until_ns;                 /* not believed; 0: it is */
};

struct rl_offset_rules {
	uint32_t drift_ppm; /* what clocks may differ by: in any time, */
	uint64_t drift_ns;  /* and besides */
	uint64_t out_ns;    /* how long one that leaves the bounds is not believed */
};

struct rl_offset_reading {
	uint64_t sent_ns, received_ns; /* not before the first, not after the second */
	int64_t wall_ms;               /* of the server, rounded down */
};

/* Server `index` of `count` told its time. Returns a bit for each that is odd or not believed since now. */
uint32_t rl_offset_read(struct rl_offset *all, unsigned count, unsigned index,
                        const struct rl_offset_rules *rules, const struct rl_offset_reading *reading);

/* As much time may have passed that our clock does not show. */
void rl_offset_leap(struct rl_offset *all, unsigned count, uint64_t leap_ns);

/* By how much the server's clock left its bounds at least; negative: it is too late. */
/*@ requires \valid_read(offset) && offset->moved_least_ns <= offset->moved_most_ns;
    assigns \nothing;
    ensures \result == 0 <==> offset->moved_least_ns <= 0 <= offset->moved_most_ns;
    ensures \result > 0 ==> \result == offset->moved_least_ns;
    ensures \result < 0 ==> \result == offset->moved_most_ns; */
int64_t rl_offset_moved_ns(const struct rl_offset *offset);

/* How far its clock is from ours, which is ahead of CLOCK_BOOTTIME by `wall_ns`; 0: not farther than
 * `allowed_ns`, or neither are most others. */
int64_t rl_offset_apart_ns(const struct rl_offset *all, unsigned count, unsigned index, int64_t wall_ns,
                           int64_t allowed_ns);

#endif
