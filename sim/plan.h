/* SPDX-License-Identifier: MIT */
/* The plan that a seed draws before anything happens: sizes, times, and which faults are on, how often (swarm
 * testing). */
#ifndef SIM_PLAN_H
#define SIM_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "cover.h"
#include "keyspace.h"

#define SIM_MAX_KEY 400

/* An assumption of the protocol, or a rule, that is broken on purpose, and what the checkers must find:
 * X(name, option, violation, text) */
#define SIM_BREAK_MAP(X)                                                                                     \
	X(NONE, "none", OVERLAP, "nothing")                                                                      \
	X(AMNESIA, "amnesia", OVERLAP, "a node that lost its data votes again at once")                          \
	X(NODE_JUMP, "node-jump", OVERLAP, "clocks of nodes jump forward by more than the allowance")            \
	X(CLIENT_JUMP, "client-jump", OVERLAP, "clocks of clients stand still for longer than the allowance")    \
	X(WALL, "wall", OVERLAP,                                                                                 \
	  "clients do not look at their wall clock: only that shows that they were stopped")                     \
	X(DRIFT, "drift", OVERLAP, "clocks run faster or slower than the allowance")                             \
	X(LATE_ACTION, "late-action", OVERLAP, "the application acts on without looking at the deadline")        \
	X(TOKEN, "token", OVERLAP, "a process uses one token for everything")                                    \
	X(VALIDITY, "validity", OVERLAP, "validity is counted from the end of a round, not from its beginning")  \
	X(QUORUM, "quorum", OVERLAP, "N/2 nodes are a quorum")                                                   \
	X(MEMBERS, "members", OVERLAP, "clients have different nodes, so that their quorums need not meet")      \
	X(JOINT, "joint", OVERLAP,                                                                               \
	  "the quorum of two node sets, one of which joins, is a majority of their nodes")                       \
	X(STEPS, "steps", OVERLAP, "a node set is added without the step in which it joins")                     \
	X(EXTEND, "extend", CONTINUITY, "a node that lost its data confirms extends of keys that it lacks")      \
	X(OWN_VALUE, "own-value", DEADLINE,                                                                      \
	  "the release of a failed attempt with the caller's own value follows its SET")                         \
	X(LOGIN, "login", OVERLAP, "a login is sent after unanswered requests, and other requests after it")     \
	X(ANSWERS, "answers", OVERLAP, "nodes leave out an answer now and then")                                 \
	X(GIVE_ALL, "give-all", OVERLAP,                                                                         \
	  "old clients that fail give back what they have written where their GETSET lost, too")                 \
	X(GETSET, "getset", OVERLAP, "old clients take over without a look at what their GETSET answers")        \
	X(UNASKED, "unasked", OVERLAP, "nodes give back a lock by time, anybody's")                              \
	X(SPLIT, "split", SPLIT, "votes that are split are taken for a lock that is held")                       \
	X(TURNS, "turns", OVERTAKEN, "a queue lets in any client that asks")                                     \
	X(HEADS, "heads", IDLE, "a queue waits for waiters that are gone")                                       \
	X(POLLS, "polls", IDLE, "waiters do not ask by themselves, and messages are lost")                       \
	X(SILENT, "silent", UNSERVED, "one client does not hear that it is its turn, nor does it ask")           \
	X(COUNTING, "count", OVERLAP, "each node admits as many as there are slots, and any majority will do")   \
	X(SHARED, "shared", OVERLAP, "nodes admit readers beside an exclusive holder")                           \
	X(QUARANTINE, "quarantine", OVERLAP, "a node of a guarded set is admitted at once")                      \
	X(FENCE, "fence", FENCE, "counters that differ are not raised, though nodes say so")                     \
	X(SOME, "some", OVERLAP, "of several names a node takes those that are free")                            \
	X(PASS, "pass", OVERLAP, "nodes of a guarded set vote without a look at their record")                   \
	X(ADMIT, "admit", OVERLAP, "nodes of a guarded set are admitted before their quarantine is over")        \
	X(TWO_CHANGES, "two-changes", OVERLAP, "a change of members begins before the one before is finished")   \
	X(UNTOLD, "untold", OVERLAP, "a node that leaves the set is not told")                                   \
	X(STILL_ACCEPTED, "still-accepted", OVERLAP, "a change ends while members accept the former list")       \
	X(NO_WAIT, "no-wait", OVERLAP, "a change ends before locks of the former list are over")

enum sim_break {
#define SIM_BREAK_ENUM(name, option, violation, text) BREAK_##name,
	SIM_BREAK_MAP(SIM_BREAK_ENUM) BREAK_COUNT
#undef SIM_BREAK_ENUM
};

struct plan {
	uint64_t seed;
	enum sim_break broken;
	bool guard;           /* the nodes have a record, and forget without delay */
	bool changes;         /* and these change their members meanwhile */
	bool looks;           /* they have none, and clients look for it as they do by default */
	bool joins;           /* the nodes are two sets, of which the second joins: */
	unsigned old_nodes;   /* the first has so many, */
	unsigned first_step;  /* and clients are in this step or the next one: the first set, both, the second */
	bool sticky;          /* some locks stay with their client after a release */
	bool by_time;         /* some locks are of the old SETNX protocol; if there are clients to the letter */
	unsigned old_clients; /* of its page (old.c), all are, */
	uint64_t old_timeout_s; /* as long as theirs, or up to a second shorter; */
	uint64_t old_ahead_ms;  /* and their clocks are ahead of a node's by at most this */
	unsigned actors;
	unsigned nodes;
	unsigned resources;
	unsigned quorum; /* as option; 0: a majority */
	uint64_t ttl_ms_min;
	uint64_t ttl_ms_max;
	uint64_t think_ms; /* between two uses of a handle, at most */
	uint64_t busy_ns;  /* how long the applications work and the faults go on */
	bool unix_sockets;
	const char *user;
	const char *password;
	const char *prefix;
	unsigned database;
	uint64_t delay_ns;               /* of a chunk, at least */
	uint64_t jitter_ns;              /* plus up to this */
	uint64_t loop_ns;                /* how long an event loop takes to wake up, at most */
	uint64_t send_room;              /* bytes that a kernel takes before it says EAGAIN */
	int32_t rate_ppm;                /* clocks of clients and nodes differ from the world's by at most this */
	uint64_t node_jump_ns;           /* a node's clock jumps forward by at most this during any lease */
	uint64_t client_freeze_ns;       /* a client's clock stands still for at most this during any lease */
	uint64_t step_back_ns;           /* a node's clock is set back by at most this during any lease */
	uint16_t permille[COVER_FAULTS]; /* faults of an occasion: per occasion; 0: off */
	uint32_t gap_ms[COVER_FAULTS];   /* faults of a time: mean gap between two; 0: off */
};

/* No TTL is longer than this many times the TTL of its handle. */
#define SIM_TTL_STRETCH 2

/* The shortest TTL when all is to be well again, and the longest of a guarded set. */
#define HEAL_TTL_MS 600
uint64_t plan_guard_ttl_ms(const struct plan *plan);

/* Whether nodes that lose their data come back at once. */
bool plan_forgets(const struct plan *plan);

void plan_draw(struct plan *plan, uint64_t seed, enum sim_break broken);

/* The name that the applications use: spaces, NUL, line ends and length are tried too. The key on the nodes:
 * the plan's prefix and the name, written into `buffer`. */
struct bytes resource_name(unsigned resource);
struct bytes resource_key(const struct plan *plan, unsigned resource, char buffer[SIM_MAX_KEY]);

/* The key of a slot of a resource, none of which has braces in its name; the first slot is the resource
 * itself. */
struct bytes slot_key(const struct plan *plan, unsigned resource, unsigned slot, char buffer[SIM_MAX_KEY]);

/* The longest time that any key may live, in world time, drift and set-back clocks included. */
uint64_t plan_longest_ttl_ns(const struct plan *plan);

#endif
