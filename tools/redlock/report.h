/* SPDX-License-Identifier: MIT */
/* The result of an operation, node by node: as text for people and as JSON for programs. */
#ifndef REDLOCK_TOOL_REPORT_H
#define REDLOCK_TOOL_REPORT_H

#include <redlock/redlock.h>

#include "json.h"
#include "outcome.h"
#include "session.h"
#include "standing.h"

struct node_report {
	struct redlock_node_status status;
	struct redlock_vote vote;
	char detail[256]; /* why a vote is missing; "" for definite ones */
};

struct report {
	const char *verb;
	const char *name;
	unsigned slots;         /* how many the name has; 0: none. The findings are of the first slot's key */
	const char *busy_name;  /* of several names the one that somebody else has; NULL: it is `name` */
	int result;             /* 0 or a REDLOCK_E_ code */
	struct outcome outcome; /* what follows from it */
	unsigned nodes;
	unsigned quorum;
	unsigned answered; /* nodes with a definite vote */
	const char *token; /* the caller's, NULL: none; for who fills it in */
	char instead[96];  /* of what that is the token, which was asked for as something else; "": unknown */
	char lacks[256];   /* rights that the user lacks, where the votes do not name them; "" */
	char user[64];     /* of the servers, that lacks them */
	char unread[256];  /* why a node did not tell whose key it has; "" */
	bool has_standing; /* the holder is known */
	struct standing standing;
	struct node_report node[REDLOCK_MAX_NODES];
};

/* Whether the vote of a node is an answer to what was asked. */
bool report_is_definite(const struct node_report *node);
/* The server is in protected mode. */
bool report_is_protected(const struct node_report *node);

/* The result becomes another one: the outcome follows from it and the votes. */
void report_conclude(struct report *report, int result);

/* Reads the votes of the operation that ended with `result`. */
void report_collect(struct report *report, const char *verb, const char *name, int result,
                    struct session *session, redlock_lock *lock);

/* The members "also", a list of objects that begin with the name, and "busy_name", with --also alone. */
void report_json_names(const struct report *report, const struct settings *settings, struct json *json);

/* After BUSY and GONE: finds out who has the lock instead, as the messages and the JSON of the report then
 * say. May ask the nodes, and waits for them as any operation does. */
void report_find_holder(struct report *report, struct session *session, redlock_lock *lock);

/* Whether the lock is busy and no wait ends that: keys without expiry, which no holder of redlock leaves. To
 * be asked after report_find_holder(). */
bool report_is_stuck(const struct report *report);

/* One line per node on stderr. */
void report_votes(const struct report *report);

/* Says on stderr, unless -q, what failed, at which node and why, and the next step. */
void report_failure(const struct report *report, const struct settings *settings);

/* Says the next step of an outcome, and of each other cause among these votes. */
void report_hints(const struct settings *settings, const struct outcome *outcome,
                  const struct redlock_vote *votes, size_t count);

/* Says in one line, unless -q, which nodes have no vote for a lock that is held, or do not have its key, and
 * why; and if no further node may fail. False: there are none. */
bool report_degraded(struct report *report, const struct settings *settings);

/* Names nodes that have told the same identity, unless -q. */
void report_duplicates(const struct report *report, const struct settings *settings);

/* Begins the JSON object with what all verbs have in common, up to the quorum. */
void report_json_begin(const struct report *report, struct json *json);

/* The members that every node has; the caller opens and closes the node's object. */
void report_json_node(const struct report *report, unsigned index, struct json *json);

/* As report_json_node(), with another word than the vote's under another key. */
void report_json_node_as(const struct report *report, unsigned index, const char *key, const char *word,
                         struct json *json);

/* The member "holder", the "nodes" array, and the end of the object. */
void report_json_end(const struct report *report, struct json *json);

#endif
