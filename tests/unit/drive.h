/* SPDX-License-Identifier: MIT */
/*
 * Drives the core under virtual time and keeps what it says as text: one trace line per step, with the error
 * of a refused operation after it. Votes of one moment that change nothing but the count share a line with
 * the next one. A scenario is a list of calls, then drive_expect() with the whole text.
 */
#pragma once

#include "core/kinds.h"
#include "core/lock.h"
#include "unit.h"

struct drive {
	struct rl_lock lock;
	struct rl_rules rules;
	struct rl_ballot votes[REDLOCK_MAX_NODES];
	struct redlock_finding findings[REDLOCK_MAX_NODES];
	union {
		struct rl_numbers numbers;
		char room[sizeof(struct rl_numbers) + REDLOCK_MAX_NODES * sizeof(uint64_t)];
	};
	struct rl_effects fx; /* of the last step */
	int error;            /* of the last step */
	uint64_t now_ns;
	const uint8_t *order; /* of the nodes, given with every event; NULL: as numbered */
	uint64_t entropy; /* given with every event: the retry delay is retry_min + entropy % (max - min + 1) */
	uint32_t hears;   /* given with every event: a bit for each node where a place is of use */
	uint32_t twins;   /* bit per node: these nodes are one server */
	bool anonymous;   /* there are nodes that do not say who they are */
	char text[16384];
	size_t used, line; /* and where its last line begins */
	bool quiet;        /* that is a vote that changed nothing else: another may follow it */
};

/* The rules of most scenarios: a majority of `node_count`, TTL 30 s, node timeout 200 ms, drift 1 % + 2 ms
 * (validity is 29698 ms), retries after 50 to 150 ms, wait 0, no renewal, danger notice or caps. */
struct rl_rules drive_rules(unsigned node_count);

/* `wait_ms` of both kinds: for a busy lock and for an unreachable quorum. */
struct rl_rules drive_waiting_rules(unsigned node_count, uint64_t wait_ms);

/* Starts at 0 ms with entropy 0. */
void drive_init(struct drive *d, const struct rl_rules *rules);

/* Starts, and acquires at 0 ms with the votes of a quorum. The text is forgotten; the round is #1. */
void drive_hold(struct drive *d, const struct rl_rules *rules);

/* As the functions above, as values. */
struct drive drive_idle(struct rl_rules rules);
struct drive drive_held(struct rl_rules rules);

/* Idle or held, and then plays this (drive_play). */
struct drive drive_begin(struct rl_rules rules, const char *script);
struct drive drive_begin_held(struct rl_rules rules, const char *script);

/* One event, now. */
void drive_step(struct drive *d, struct rl_event event);

void drive_at(struct drive *d, uint64_t ms); /* what follows happens then */

void drive_acquire(struct drive *d);
void drive_extend(struct drive *d, uint64_t ttl_ms);
void drive_release(struct drive *d);
void drive_query(struct drive *d);
void drive_probe(struct drive *d);
void drive_cancel(struct drive *d);
void drive_tick(struct drive *d);
void drive_wake(struct drive *d, uint64_t node);

/* A node answers the current round, or an older one. */
void drive_reply(struct drive *d, unsigned node, enum redlock_vote_code vote);
void drive_reply_to(struct drive *d, uint32_t seq, unsigned node, enum redlock_vote_code vote);

/* Answers of nodes 0, 1, 2 ... in this order: Y yes, N no, C closed, D down, O out of memory, P no
 * permission, G garbage, . none. */
void drive_votes(struct drive *d, const char *votes);
enum redlock_vote_code drive_vote(char letter);

/* Nodes 0, 1, 2 ... say yes with these fencing numbers, or are in quarantine for so many ms: "7,5,-"; a dash:
 * no answer. */
void drive_yes(struct drive *d, const char *numbers);
void drive_left(struct drive *d, const char *ms);

/* The gate answers, and says how many wait, for how many ms the key is there, and our place. */
void drive_gate(struct drive *d, enum redlock_vote_code vote, int waiting, int pttl_ms, int place);

/* The last look is answered by nodes 0, 1, 2 ...: _ no key, * ours, a digit for one of somebody else (from 5
 * on: it comes before ours), ? no permission, . no answer. */
void drive_keys(struct drive *d, const char *keys);

/* Some of these, and those below, in order: "at 1000; extend 30000; votes YYN; until 60000; forget". */
void drive_play(struct drive *d, const char *script);

/* Takes every deadline of the core up to `ms`, and stays there. */
void drive_ticks_until(struct drive *d, uint64_t ms);

/* When the next TICK is due, in ms; UINT64_MAX: never. */
uint64_t drive_deadline_ms(struct drive *d);
uint64_t drive_deadline_ns(struct drive *d);

/* Forgets the text so far. */
void drive_forget(struct drive *d);

/* The text since the start or the last drive_expect() is exactly `text`. Forgets it. */
#define drive_expect(d, text) drive_expect_((d), (text), __FILE__, __LINE__)
void drive_expect_(struct drive *d, const char *text, const char *file, int line);

/* A script, and what comes of it. */
#define drive_tells(d, script, text)                                                                         \
	do {                                                                                                     \
		drive_play((d), script);                                                                             \
		drive_expect((d), text);                                                                             \
	} while (0)

/* A test of no more than that. */
#define SCENARIO(title, start, script, text)                                                                 \
	TEST(title)                                                                                              \
	{                                                                                                        \
		struct drive d = start;                                                                              \
		drive_tells(&d, script, text);                                                                       \
	}
