/* SPDX-License-Identifier: MIT */
/*
 * redlock doctor: what is seen of each node, and what is wrong with it.
 *
 *     accept.c     checks whose warnings the operator accepts
 *     ask.c        questions to all nodes at once
 *     gather.c     what is asked: INFO, CONFIG GET, TIME
 *     rights.c     which rights the user lacks, by trying them
 *     scan.c       keys without expiry
 *     endless.c    locks among them that nobody can acquire
 *     clocks.c     offsets and rates of the nodes' clocks
 *     guard.c      the records of a guarded set
 *     guard_checks.c   what the table asks about them
 *     shards.c     the masters of a Redis Cluster
 *     sentinels.c  the Sentinels of a master
 *     facts.c      what follows from what a server says of itself
 *     ../doctor_rivals.c   locks that two clients hold, by different lists of nodes: with the engine of ls
 *     checks.c     the table of checks
 */
#ifndef REDLOCK_TOOL_DOCTOR_H
#define REDLOCK_TOOL_DOCTOR_H

#include <redlock/ask.h>
#include <redlock/url.h>

#include "../guard_move.h"
#include "../guard_record.h"
#include "../guard_view.h"
#include "../report.h"
#include "../shards.h"

/* ---- what is seen ---- */

/* X(NAME, right that it needs, what is asked for people): what a node may permit or not. */
#define DOCTOR_SOURCE_MAP(X)                                                                                 \
	X(INFO, "+info", "INFO")                                                                                 \
	X(CONFIG, "+config|get", "CONFIG GET")                                                                   \
	X(TIME, "+time", "TIME")                                                                                 \
	X(SCAN, "+scan +pttl", "SCAN")                                                                           \
	X(GUARD, "+hmget ~redlock:set", "The record of a guarded set")

enum doctor_source {
	DOCTOR_ALWAYS, /* what is known without a question: URLs and votes */
#define DOCTOR_SOURCE_ENUM(name, right, text) DOCTOR_##name,
	DOCTOR_SOURCE_MAP(DOCTOR_SOURCE_ENUM)
#undef DOCTOR_SOURCE_ENUM
	    DOCTOR_SOURCES
};

/* The settings that are asked for by name. */
enum doctor_setting {
	DOCTOR_SAVE,
	DOCTOR_APPENDONLY,
	DOCTOR_APPENDFSYNC,
	DOCTOR_ON_REWRITE,
	DOCTOR_EVENTS,
	DOCTOR_SETTINGS
};

/* The server's clock minus our CLOCK_BOOTTIME, which is between these, at a moment. */
struct doctor_moment {
	int64_t low_ns, high_ns;
	uint64_t at_ns;
	int64_t said_us; /* what it said */
};

struct doctor_clock {
	struct doctor_moment first, last; /* of those at each end of the audit, the narrowest one */
	uint64_t rtt_ns;                  /* the least */
};

enum { DOCTOR_KEY_SHOWN = 96 };

struct doctor_keys {
	uint64_t seen, endless;
	bool whole;                     /* all keys were looked at */
	char example[DOCTOR_KEY_SHOWN]; /* one of the endless, as it may be shown */
};

/* A key that may be a lock's, and has no expiry. */
struct doctor_endless {
	char *key;
	size_t length;
	unsigned nodes; /* that have it so */
};

enum { DOCTOR_ENDLESS_MAX = 16 };

struct doctor_node {
	struct redlock_url url;
	bool local;    /* a Unix socket or a loopback address */
	bool answered; /* it has answered a question */
	bool sees[DOCTOR_SOURCES];
	char why_not[DOCTOR_SOURCES][128];
	char *info; /* NULL: not seen */
	char settings[DOCTOR_SETTINGS][128];
	struct doctor_clock clock;
	uint64_t lacks; /* a bit for each row of the rights that the user does not have */
	struct doctor_keys keys;
	struct doctor_shards *shards; /* its masters; NULL: it is no cluster, or does not list them */
	char unlisted[128];           /* of a cluster that does not: why */
	char sentinels[512];          /* its Sentinels that do not name the master, and why; "": all do */
};

/* The masters of a cluster are looked at as nodes are. */
struct doctor_shards;

struct doctor {
	struct session *session;
	struct report report; /* the votes */
	redlock_asker *asker;
	int error; /* negative: why it cannot go on; else, if it cannot, it is out of memory */
	unsigned nodes;
	char key[REDLOCK_MAX_NAME + 64]; /* with the prefix, of no lock */
	uint64_t allowance_ns;           /* for clocks, of the TTL */
	double allowed_rate;             /* the same for a time that passes, as a part of it */
	int64_t wall_ns;                 /* our own clock minus CLOCK_BOOTTIME */
	struct doctor_node node[REDLOCK_MAX_NODES];
	struct guard_record record[REDLOCK_MAX_NODES];
	struct guard_view guard;
	struct doctor_endless endless[DOCTOR_ENDLESS_MAX];
	unsigned endless_count;
	char move[GUARD_MOVE_MAX]; /* the members of the set, and what makes them this list; "": they are */
	unsigned rivals;           /* locks that another client than the holder keeps a key of */
	char rival_text[384];      /* one of these */
};

/* For a part of the questions, with these votes. False: it cannot ask. */
bool doctor_open(struct doctor *doctor, struct session *session, const struct report *report);
/* Asks the nodes. Returns an exit code; unless it is EXIT_OK, what is wrong was said. */
int doctor_gather(struct doctor *doctor, struct session *session);
void doctor_free(struct doctor *doctor);

/* A field of INFO. False: it is not there. */
bool doctor_info(const struct doctor_node *node, const char *field, char *buffer, size_t size);
/* As doctor_info(), as a number; 0: not there. */
int64_t doctor_info_number(const struct doctor_node *node, const char *field);

/* Whether the node is a whole cluster, so that the server that was asked may be any of it. */
bool doctor_is_cluster(const struct doctor_node *node);

/* ---- asking ---- */

struct doctor_asks {
	struct redlock_question *list;
	size_t count, room;
};

/* Appends a question: argv ends with NULL and stays the caller's. False: out of memory. */
bool doctor_asks_add(struct doctor_asks *asks, unsigned node, const char *const *argv);

/* Asks all of them and waits. False: it cannot go on: memory, or a signal. */
bool doctor_asks_run(struct doctor *doctor, struct doctor_asks *asks);
void doctor_asks_free(struct doctor_asks *asks);

/* Notes why a source is not seen: what the question was refused with, or what became of it. */
void doctor_note_why(struct doctor_node *node, enum doctor_source source,
                     const struct redlock_question *question);

/* ---- parts of it ---- */

/* INFO and CONFIG of all nodes. */
bool doctor_look_at_servers(struct doctor *doctor);
/* The masters of nodes that are clusters. */
bool doctor_look_at_shards(struct doctor *doctor);
void doctor_free_shards(struct doctor_shards *shards);
/* The Sentinels of nodes that have some. */
bool doctor_look_at_sentinels(struct doctor *doctor);
bool doctor_look_at_clocks(struct doctor *doctor, bool first);
bool doctor_look_at_keys(struct doctor *doctor, uint64_t until_ns);
/* Remembers a key without expiry, if it may be a lock's. */
void doctor_note_endless(struct doctor *doctor, const char *key, size_t length);
/* Asks how many nodes have these keys without an expiry. */
bool doctor_count_endless(struct doctor *doctor);
void doctor_free_endless(struct doctor *doctor);
bool doctor_try_rights(struct doctor *doctor, bool last);
bool doctor_look_at_records(struct doctor *doctor);
bool doctor_look_at_rivals(struct doctor *doctor);

/* The record with the newest configuration. NULL: none is guarded. */
const struct guard_record *doctor_guard_latest(const struct doctor *doctor);
/* The reason why the record of a node is wrong; NULL: it is right. */
const char *doctor_guard_difference(const struct doctor *doctor, unsigned node);

/* The list of nodes as records have it, which the caller frees. NULL: out of memory. */
char *doctor_guard_members(const struct doctor *doctor);

/* Some node has a record, all are to have one, or this host remembers one. */
bool doctor_guard_is_wanted(const struct doctor *doctor);
bool doctor_guard_is_changing(const struct doctor *doctor);

/* How many nodes vote, and do not know their fencing numbers, if the others are too few; else 0. */
unsigned doctor_guard_uncounted(const struct doctor *doctor);
/* The state of this node's fencing counters; clients may bring it those of the others. */
enum doctor_counters { DOCTOR_COUNTED, DOCTOR_BROUGHT, DOCTOR_UNCOUNTED, DOCTOR_USED_UP };
enum doctor_counters doctor_guard_counters(const struct doctor *doctor, unsigned node);

/* Groups of rights: what does not work without them. */
enum doctor_group {
	DOCTOR_NEEDED,
	DOCTOR_SCRIPTS,
	DOCTOR_STEPS,
	DOCTOR_OPENING,
	DOCTOR_QUEUE,
	DOCTOR_CHANNEL, /* the channels of waiters */
	DOCTOR_SHARED,  /* of shared locks alone */
	DOCTOR_FENCE,   /* of fencing tokens alone */
	DOCTOR_TOLD,    /* by servers, of the end of a key */
	DOCTOR_GUARDS,  /* of a guarded set, if it is or is to be one; they are in other groups as well */
	DOCTOR_LOOK
};

/* The rights of a group that the user lacks, as ACL SETUSER takes them; "": none. Returns `buffer`. */
const char *doctor_rights(const struct doctor *doctor, const struct doctor_node *node,
                          enum doctor_group group, char *buffer, size_t size);

/* How far the node's clock is from that of most nodes, or ours where these are fewer than three, at least;
 * negative: too late. 0: not for certain. */
int64_t doctor_clock_offset_ns(const struct doctor *doctor, const struct doctor_node *node,
                               bool *ret_from_most);
/* How far ours is from that of most nodes. */
int64_t doctor_clock_own_offset_ns(const struct doctor *doctor);
/* By how much the clock gained during the audit, at least; and how long the audit lasted. */
int64_t doctor_clock_gain_ns(const struct doctor_node *node, uint64_t *ret_elapsed_ns);
bool doctor_clock_stands(const struct doctor_node *node);

enum doctor_persistence {
	DOCTOR_KEEPS_UNKNOWN,
	DOCTOR_KEEPS_NOTHING,
	DOCTOR_KEEPS_SNAPSHOTS,
	DOCTOR_KEEPS_UNSYNCED,
	DOCTOR_KEEPS_SECOND,
	DOCTOR_KEEPS_UNLESS_REWRITE,
	DOCTOR_KEEPS_ALL
};
enum doctor_persistence doctor_persistence(const struct doctor_node *node);

/* ?replicas= of the URL of the node; of a master of a cluster, that of the cluster. */
unsigned doctor_replicas_wanted(const struct doctor *doctor, const struct doctor_node *node);

/* "Redis 7.0.15"; "": not seen. */
const char *doctor_version(const struct doctor_node *node, char *buffer, size_t size);
/* The time since the server was started; -1: not seen. */
int64_t doctor_uptime_s(const struct doctor_node *node);
/* The known defects of such servers; "": none. `old`: that they are too old. Returns `buffer`. */
const char *doctor_defects(const struct doctor_node *node, bool old, char *buffer, size_t size);

/* ---- what is wrong ---- */

/* X(NAME, word). From the second on people are told. ACCEPTED: a warning that the operator accepts. */
#define DOCTOR_LEVEL_MAP(X)                                                                                  \
	X(NOTE, "note")                                                                                          \
	X(UNSEEN, "unseen")                                                                                      \
	X(ACCEPTED, "accepted")                                                                                  \
	X(WARNING, "warning")                                                                                    \
	X(ERROR, "error")

enum doctor_level {
#define DOCTOR_LEVEL_ENUM(name, word) DOCTOR_##name,
	DOCTOR_LEVEL_MAP(DOCTOR_LEVEL_ENUM)
#undef DOCTOR_LEVEL_ENUM
	    DOCTOR_LEVELS
};

/* The address decides whether it is on this machine. */
void doctor_locate(struct doctor_node *node, const char *address);

struct doctor_finding {
	const char *check;
	enum doctor_level level;
	char text[GUARD_MOVE_MAX + 256];   /* the sentence */
	char advice[GUARD_MOVE_MAX + 256]; /* what to do; "": nothing */
};

/* Calls `visit` for each row of the tables: a % in its text or advice stands for what is found; advice may be
 * NULL. */
void doctor_each_check(void (*visit)(void *user, const char *check, const char *text, const char *advice),
                       void *user);

/* The levels that findings of a check may have, a bit for each. 0: there is no such check. */
unsigned doctor_levels(const char *check);

/* Checks the value of --accept or of the key `accept`. Returns an exit code; unless it is EXIT_OK, what is
 * wrong was said. */
int doctor_check_accept(const struct settings *settings);
/* Whether the operator accepts the warnings of this check. */
bool doctor_is_accepted(const struct settings *settings, const char *check);

/* Calls `visit` for each finding of a node, or with -1 of the set. */
void doctor_check(const struct doctor *doctor, int node,
                  void (*visit)(void *user, const struct doctor_finding *finding), void *user);

#endif
