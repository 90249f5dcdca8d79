/* SPDX-License-Identifier: MIT */
/*
 * One look at the nodes: what each would do for a lock, its clock, its guard, and the locks that were named
 * by
 * --lock. watch.c takes looks, one a second at most; metrics.c, page.c and locks_json.c show the last one. A
 * look has no token, no password and no value of a key.
 */
#ifndef REDLOCK_EXPORTER_LOOK_H
#define REDLOCK_EXPORTER_LOOK_H

#include <stdbool.h>
#include <stdint.h>

#include <redlock/ask.h>
#include <redlock/redlock.h>

enum { LOOK_LOCKS_MOST = 64 };

struct look_node {
	char address[256];
	bool up;                     /* it would grant a lock now */
	enum redlock_vote_code vote; /* what it answers to a claim */
	bool connected;
	bool answered; /* it has told its time: the rest is known */
	double round_trip_s;
	double ahead_s;      /* its clock before ours; right to half of the round trip */
	char version[48];    /* "redis 7.0.15", as the server says: any bytes; "": unknown */
	int evicting;        /* its policy removes keys when memory is full; -1: it does not tell */
	bool guarded;        /* it has a record of a guarded set, */
	bool numbered;       /* with its fencing numbers */
	bool quarantined;    /* it has no vote, as it may have forgotten locks, */
	double quarantine_s; /* for so long; 0: unknown */
	uint64_t connects, lost_connections; /* of this program's own client */
};

struct look_lock {
	const char *name;
	bool known;         /* a quorum has answered */
	unsigned votes;     /* nodes that have the most frequent key */
	bool held;          /* they are a quorum */
	double remaining_s; /* until a quorum no longer has it; below 0: its keys have no expiry */
	double ttl_s;       /* the longest rest that was seen of this holder: its TTL, nearly */
	double since_s;     /* for so long this program has seen the same holder */
	int64_t waiting;    /* the longest queue of a node; -1: no node told it */
	uint64_t fence;     /* the highest fencing number that a quorum has reached; 0: none */
	char kind[16];      /* as `redlock status --json` has it */
	char owner[256];    /* the holder's label, any bytes; "": it has none */
};

struct look {
	uint64_t at_s;  /* unix time; 0: there was none yet */
	uint64_t at_ns; /* CLOCK_MONOTONIC, when it ended */
	double took_s;
	unsigned count, quorum, up;
	int fencing; /* so many nodes of a guarded set know their fencing numbers that --fence can have one; -1:
	                it is no such set, or too few records were read */
	struct look_node node[REDLOCK_MAX_NODES];
	unsigned locks;
	struct look_lock lock[LOOK_LOCKS_MOST];
};

/* A client, its asker and its handles, which take the looks. One thread uses it. */
struct looker;

/* Opens it with the options of a client, which stay the caller's. `locks`: names, at most LOOK_LOCKS_MOST.
 * NULL: `why` says what is wrong. */
struct looker *looker_open(const struct redlock_options *options, const char *const *locks, unsigned count,
                           char *why, size_t size);
void looker_close(struct looker *looker);

/* The client that takes the looks, for questions of other threads. */
redlock_client *looker_client(const struct looker *looker);

/* Takes a look, in a second at most. False: the client cannot be used, e.g. without descriptors. */
bool looker_look(struct looker *looker, struct look *ret);

#endif
