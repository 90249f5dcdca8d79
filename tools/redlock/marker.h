/* SPDX-License-Identifier: MIT */
/*
 * The marker of a job's last run: a key beside the lock's own, `{NAME}:redlock:last`, that outlives the lock.
 * The run that holds the lock writes it to all nodes; `redlock last` and `run --once-per` read it. Its age is
 * what is gone of its time to live, so no two clocks have to agree. docs/decisions/operating.md
 */
#ifndef REDLOCK_TOOL_MARKER_H
#define REDLOCK_TOOL_MARKER_H

#include <redlock/ask.h>

#include "session.h"

enum { MARKER_HOST_MAX = 64, MARKER_TEXT_MAX = 512 };

#define MARKER_KEEP_MAX_MS (UINT64_C(400) * 24 * 3600 * 1000)

enum {
	MARKER_UNKNOWN = -1, /* the run has not ended, or nobody could write that */
	MARKER_NO_RUN = -2   /* the command was not started, and no run before it is known */
};

struct marker {
	uint64_t run;      /* counts the markers, from 1 on: of two the larger one is newer. 0: no marker */
	uint64_t keep_ms;  /* the time to live when the run began */
	uint64_t start_ms; /* by the clock of the host that ran it: for people */
	uint64_t took_ms;
	int exit_code; /* or MARKER_ */
	char host[MARKER_HOST_MAX + 1];
	char label[REDLOCK_MAX_OWNER + 1]; /* the owner label of its lock */
};

/* The nodes, and the key of one name on them. */
struct marker_nodes {
	const struct session *session;
	redlock_asker *asker;
	char *key;
	uint64_t timeout_ms;
	uint64_t silent; /* nodes that did not answer, and are asked again only if a quorum needs them */
	char why[2048];  /* what the nodes without a usable answer said, each with its number; "" */
	struct redlock_vote votes[REDLOCK_MAX_NODES]; /* what the last answers of each node came to */
};

struct marker_reading {
	unsigned answered;  /* nodes that told their marker, or that they have none */
	uint64_t blank;     /* those without one */
	struct marker last; /* the newest */
	uint64_t age_ms;    /* since the start of that run */
	uint64_t left_ms;   /* of its time to live */
};

static inline bool marker_is_run(const struct marker *marker)
{
	return marker->run > 0 && marker->exit_code != MARKER_NO_RUN;
}

/* False: out of memory or descriptors. */
bool marker_open(struct marker_nodes *nodes, const struct session *session, const char *name,
                 uint64_t timeout_ms);

/* Reads the markers of all nodes. True: a quorum answered. */
bool marker_read(struct marker_nodes *nodes, struct marker_reading *ret);

/* Writes a marker to all nodes. Returns how many have it now. Only the holder of the lock may write. */
unsigned marker_write(struct marker_nodes *nodes, const struct marker *marker, uint64_t ttl_ms);

/* Gives the newest marker to nodes that have none, as they may have been restarted empty. Anybody may: it
 * replaces nothing. */
void marker_heal(struct marker_nodes *nodes, const struct marker_reading *reading);

void marker_close(struct marker_nodes *nodes);

/* "5 h 12 min": a length of time for people. Returns `buffer`. */
const char *marker_time_text(uint64_t ms, char *buffer, size_t size);

/* "began 5 h 12 min ago on web-1 (web-1:4211), exit code 0 after 31 s". Returns `buffer`. */
const char *marker_words(const struct marker_reading *reading, char *buffer, size_t size);

#endif
