/* SPDX-License-Identifier: MIT */
/* The parts of `redlock status`. */
#ifndef REDLOCK_TOOL_STATUS_H
#define REDLOCK_TOOL_STATUS_H

#include "guard_move.h"
#include "guard_record.h"
#include "report.h"
#include "rival.h"
#include "status_slots.h"

/* X(word of a node that has no vote, what it means, next step). After the word comes the vote. */
#define STATUS_TROUBLE_MAP(X)                                                                                \
	X(SILENT,                                                                                                \
	  "the server is connected, or takes connections, and does not answer in time: it hangs, is "            \
	  "stopped or overloaded",                                                                               \
	  "look at the processor, disk and memory of that machine, and at its log; a longer --node-timeout for " \
	  "a distant server")                                                                                    \
	X(DOWN, "there is no connection to the server: the text after it says why",                              \
	  "start the server, or mend the network, the name or TLS; the row of the vote has more")                \
	X(QUARANTINE, "the server may have forgotten locks, and does not vote until these have expired",         \
	  "nothing: it votes again by itself. If it has no record, and no other node answers that has one: "     \
	  "start those")                                                                                         \
	X(REFUSES, "the server answers, and does not vote: the text after it says why",                          \
	  "see the row of that vote")

/* The keys of all nodes under a name. */
struct status_picture {
	struct report report;
	struct standing standing;
	struct status_slots slots;
	struct rivals rivals;              /* after status_find_rivals() */
	uint64_t fence[REDLOCK_MAX_NODES]; /* the fencing number that each drew last; 0: none is known */
	int64_t waiting;                   /* clients in the queue, on the node that has the most; -1: not told */
};

/* Asks the nodes. Returns an exit code; if it is EXIT_OK, status_end() is due. */
int status_read(struct status_picture *picture, struct session *session, const char *name);
void status_end(struct status_picture *picture);
void status_print(struct status_picture *picture);

/* Looks again, after a pause, where another client than the holder has a key on some nodes. */
void status_find_rivals(struct status_picture *picture, struct session *session, const char *name);
/* The nodes where it was still there: a bit for each. */
uint64_t status_rivals_on(const struct status_picture *picture);
void status_rivals_print(const struct status_picture *picture);

/* Shows the key of every node under a name. Returns the exit code. */
int status_of_name(const struct settings *settings, const char *name);

/* Asks what the nodes would do for an acquire, and for the operations after it: the votes. Returns an exit
 * code. */
int status_ask(struct session *session, const char *verb, struct report *ret);

/* Counts a node as up that refused for its quarantine, if its record, which was read later, shows that this
 * is over: the next guarded client that needs the node admits it. */
void status_count_ready(struct report *report, const struct guard_record *records);

/* The nodes themselves. Returns the exit code. */
int status_of_nodes(const struct settings *settings);

#endif
