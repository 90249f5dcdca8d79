/* SPDX-License-Identifier: MIT */
/*
 * The messages of the supervisor of a term to the elector, over a pipe: the state of the election, when it
 * changes. Nothing waits for a reader.
 */
#ifndef REDLOCK_TOOL_RUN_NEWS_H
#define REDLOCK_TOOL_RUN_NEWS_H

#include <stdint.h>

struct run;

enum news_state { NEWS_FOLLOWER, NEWS_LEADER, NEWS_STEPPING_DOWN };

enum { NEWS_LEADER_MAX = 256 };

struct news {
	enum news_state state;
	uint64_t deadline_ns;         /* of the lock that this process holds; 0: it holds none */
	uint64_t fence;               /* the number of that lock; 0: none */
	char leader[NEWS_LEADER_MAX]; /* the label of the leader; "": not known */
};

/* Sends the state of the run to `order->term->news`, if it has changed. */
void news_observe(const struct run *run);

#endif
