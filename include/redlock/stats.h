/* SPDX-License-Identifier: MIT */
/*
 * Counters of a client and of its nodes, for metrics. A part of redlock.h, which includes it.
 *
 * Counters begin with redlock_open() and never fall. They are counted under the mutex that each call of the
 * client holds anyway, and read under it: the numbers of one struct fit together. Rates, sums over clients
 * and names of metrics are the program's own; redlock-exporter(1) shows the names that redlock uses.
 */
#ifndef REDLOCK_STATS_H
#define REDLOCK_STATS_H

#include "redlock.h" /* NOLINT(misc-header-include-cycle): it is a header by itself, too */

#ifdef __cplusplus
extern "C" {
#endif

/* Lengths of arrays. They never change; numbers that are not used yet count nothing. */
enum { REDLOCK_HISTOGRAM_BUCKETS = 55, REDLOCK_STATS_RESULTS = 32, REDLOCK_STATS_VOTES = 64 };

/* Times, in buckets of powers of two: bucket 0 counts times below 1024 ns, and bucket i those from
 * 2^(i+9) up to, but not including, 2^(i+10) ns. Never changes. */
struct redlock_histogram {
	uint64_t count; /* the sum of all buckets */
	uint64_t sum_ns;
	uint64_t buckets[REDLOCK_HISTOGRAM_BUCKETS];
};

/* Why a lock was lost. New reasons follow the last. */
enum redlock_loss {
	REDLOCK_LOSS_EXPIRED = 0, /* the validity ended, as no renewal or extension was confirmed before */
	REDLOCK_LOSS_GONE = 1,    /* a quorum said that the key is missing or is somebody else's */
	REDLOCK_LOSS_LEAP = 2,    /* the wall clock was set forward beyond the validity: redlock_leapt_ms() */
	REDLOCK_LOSS_COUNT = 3
};
enum { REDLOCK_STATS_LOSSES = 8 };

struct redlock_stats {
	size_t size; /* the caller's: sizeof(struct redlock_stats) */

	/* Acquires and releases that have ended, by result: [0] succeeded, [-error] did not. Calls that fail at
	 * once, before a node is asked, are not counted; nor are those that enter a reentrant handle again. */
	uint64_t acquires[REDLOCK_STATS_RESULTS];
	uint64_t releases[REDLOCK_STATS_RESULTS];
	struct redlock_histogram wait;     /* how long these acquires took, in vain or not */
	struct redlock_histogram hold;     /* how long locks were held: until the release, or until the validity
	                                      ended or the loss was seen, whichever was first */
	struct redlock_histogram validity; /* what was left of the validity when a held lock was released. A
	                                      handle that is freed while it holds a lock counts here and in
	                                      `hold`, and not in `releases` */

	uint64_t attempts;    /* of acquires: rounds in which the nodes were asked for the lock */
	uint64_t taken_over;  /* acquires that succeeded because a holder handed the lock over */
	uint64_t passed;      /* acquires that succeeded because another handle of the client passed it on */
	uint64_t handed_over; /* releases that handed the lock over to the next waiter, whether or not it could
	                         take it */
	uint64_t renewals;    /* renewals that were confirmed; renew_ms starts them */
	uint64_t failed_renewals; /* that were not: the old validity still counts, and the client tries again */
	uint64_t extends;         /* calls of redlock_extend() and redlock_start_extend() that succeeded */
	uint64_t failed_extends;  /* that did not */
	uint64_t losses[REDLOCK_STATS_LOSSES]; /* by enum redlock_loss */

	/* Now. These two fall, too. */
	uint64_t waiting; /* acquires that have begun and have not ended */
	uint64_t held;    /* handles that hold a lock; one whose validity ends while no call, keeper or event
	                     loop drives the client, until that is noticed */
};

/* Writes the counters of the client. Sends nothing and does not wait. Any thread. Errors: INVAL, FORKED. */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_stats(redlock_client *client, struct redlock_stats *ret_stats);

struct redlock_node_stats {
	size_t size; /* the caller's: sizeof(struct redlock_node_stats) */

	/* The votes of the node, by enum redlock_vote_code: one for each question about a lock that somebody
	 * waits for, also if the question was not sent, or its answer came after the decision. A silent node's
	 * votes are counted when it answers, or when its connection is given up (CLOSED), 5 s later. */
	uint64_t votes[REDLOCK_STATS_VOTES];
	/* From the start of the operation to the vote, if that came before the handle's next operation began; of
	 * a connection that broke: to its end. */
	struct redlock_histogram round_trip;
	uint64_t connects;        /* connections that were opened: the first, reconnects, and in a guarded set the
	                             checks of where the address leads, every quarter of its maximum TTL */
	uint64_t failed_connects; /* tries to connect that failed */
	uint64_t lost_connections; /* connections that broke */
};

/* Writes the counters of node `index` (0 to N-1, in the order of the URLs), as redlock_stats(). */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_node_stats(redlock_client *client, unsigned index,
                                                      struct redlock_node_stats *ret_stats);

#ifdef __cplusplus
}
#endif

#endif
