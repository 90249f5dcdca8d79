/* SPDX-License-Identifier: MIT */
/* The kinds of events in a run, and how often each happened. A long run that lacks a kind fails. */
#ifndef SIM_COVER_H
#define SIM_COVER_H

#include <stdint.h>

#include "asked.h"
#include "core/observe.h"
#include "crowd.h"
#include "transitions.h"

/* Faults. Each seed switches every one of them on or off (swarm testing): X(name, text) */
#define SIM_FAULT_MAP(X)                                                                                     \
	X(DELAY_SPIKE, "a chunk takes far longer")                                                               \
	X(SPLIT_CHUNK, "bytes of one send arrive in pieces")                                                     \
	X(PARTIAL_READ, "receive returns less than has arrived")                                                 \
	X(PARTIAL_WRITE, "send accepts less than was given")                                                     \
	X(CONNECT_ERROR, "connect fails at once")                                                                \
	X(CONNECT_REFUSED, "connect is refused")                                                                 \
	X(CONNECT_HANG, "connect is never answered")                                                             \
	X(RESET_LOST, "connection reset, bytes in flight lost")                                                  \
	X(RESET_LATE, "connection reset after the bytes in flight")                                              \
	X(NODE_CLOSES, "node closes a connection")                                                               \
	X(HALF_OPEN, "connection silent for a while, then reset")                                                \
	X(PARTITION, "no bytes between one client and one node")                                                 \
	X(ONE_WAY, "no bytes from a client to a node, or back")                                                  \
	X(ISOLATION, "one node cut off from everybody")                                                          \
	X(CRASH_KEEP, "node crashes, data kept")                                                                 \
	X(CRASH_WIPE, "node crashes, data lost, delayed restart")                                                \
	X(CRASH_MACHINE, "node's machine dies, its peers hear nothing")                                          \
	X(HANG, "node stops executing, then goes on")                                                            \
	X(SLOW_NODE, "node executes slowly")                                                                     \
	X(LOADING, "node is loading")                                                                            \
	X(OUT_OF_MEMORY, "node is out of memory")                                                                \
	X(MISCONF, "node refuses writes, cannot persist")                                                        \
	X(READONLY, "node refuses writes, is a replica")                                                         \
	X(BUSY_SCRIPT, "node is busy with a script")                                                             \
	X(GARBAGE, "node sends what is not RESP")                                                                \
	X(SCRIPT_FLUSH, "node forgets its scripts")                                                              \
	X(KILL_DENIED, "node does not permit CLIENT KILL")                                                       \
	X(INFO_DENIED, "node does not permit INFO")                                                              \
	X(EVAL_DENIED, "node does not permit scripts")                                                           \
	X(QUEUE_DENIED, "node does not permit the keys of queues")                                               \
	X(KEYS_TOLD, "node tells of keys that end")                                                              \
	X(KEYS_DENIED, "node does not permit to hear of keys")                                                   \
	X(NATIVE, "node has compare commands of its own")                                                        \
	X(NO_LOGIN, "node has another password")                                                                 \
	X(QUIET_LOGIN, "node does not answer a login that it refuses after other answers")                       \
	X(NEW_LOGIN, "client has credentials for a while that are refused")                                      \
	X(NO_DATABASE, "node lacks the database")                                                                \
	X(NO_NAME, "a host name does not resolve")                                                               \
	X(SLOW_NAME, "the name server takes its time")                                                           \
	X(DEAD_ADDRESS, "a host name has a second address, at which nobody is")                                  \
	X(CLIENT_PAUSE, "client pauses")                                                                         \
	X(CLIENT_CRASH, "client's process dies")                                                                 \
	X(HOST_CRASH, "client's machine dies")                                                                   \
	X(SUSPEND, "client's machine is suspended, its clock goes on")                                           \
	X(MESSAGE_LOST, "a message to a waiter is lost")                                                         \
	X(MESSAGE_LATE, "a message to a waiter comes late")                                                      \
	X(MESSAGE_TWICE, "a message to a waiter comes twice")                                                    \
	X(WAITER_CRASH, "client's process dies while it waits")                                                  \
	X(WAITER_LOSS, "client's machine dies while it waits")                                                   \
	X(WOKEN_CRASH, "client dies as it is woken")                                                             \
	X(GATE_HANG, "the node at which a client waits stops executing")                                         \
	X(GATE_SPLIT, "the node at which a client waits is cut off from some")                                   \
	X(EARS_RESET, "the connection on which a client hears is reset")                                         \
	X(EARS_SILENT, "the connection on which a client hears falls silent")                                    \
	X(PLAIN_CLIENT, "a client may not touch the keys of queues")                                             \
	X(CHANGED, "the members of the set begin to change")                                                     \
	X(LOOK, "client looks again whether a plain set is guarded")                                             \
	X(SLOW_LOOP, "client's event loop is slow")                                                              \
	X(NO_RANDOM, "no random bytes for a client")                                                             \
	X(CLIENT_DRIFT, "a client's clock changes its rate")                                                     \
	X(NODE_DRIFT, "a node's clock changes its rate")                                                         \
	X(CLIENT_JUMP, "a client's clock jumps forward")                                                         \
	X(CLIENT_STOP, "a client and its clock stand still for long, and its wall clock is set right")           \
	X(WALL_FORWARD, "a client's wall clock is set forward")                                                  \
	X(WALL_BACK, "a client's wall clock is set back")                                                        \
	X(CLIENT_FREEZE, "a client and its clock stand still, within the allowance")                             \
	X(NODE_JUMP, "a node's clock jumps forward, within the allowance")                                       \
	X(NODE_STEP_BACK, "a node's clock is set back")                                                          \
	X(FOREIGN_STRING, "another program holds the key on some nodes")                                         \
	X(FOREIGN_HASH, "another program holds the key as a hash")

/* The actions of applications, and outcomes that must come up now and then: X(name, text) */
#define SIM_ACT_MAP(X)                                                                                       \
	X(GRANTED, "lock granted")                                                                               \
	X(GRANTED_JOINT, "and that on two node sets, one of which joins")                                        \
	X(GRANTED_LATE, "lock granted, seen after its validity")                                                 \
	X(BUSY, "acquire ended busy")                                                                            \
	X(NOQUORUM, "acquire ended without a quorum")                                                            \
	X(CANCELLED, "operation cancelled")                                                                      \
	X(EXTENDED, "extend confirmed")                                                                          \
	X(EXTEND_FAILED, "extend not confirmed")                                                                 \
	X(RENEWED, "lock renewed in the background")                                                             \
	X(LEAPT, "validity ends sooner as the wall clock was set forward")                                       \
	X(LIMITED, "cap on extending reached")                                                                   \
	X(SHARED, "shared lock granted")                                                                         \
	X(SHARED_WITH, "and somebody else had it")                                                               \
	X(SHARED_IN_TURN, "and had waited for it in line with others that do not share")                         \
	X(UPGRADED, "shared lock upgraded")                                                                      \
	X(UPGRADE_FAILED, "upgrade not granted")                                                                 \
	X(DOWNGRADED, "shared again, or extended so")                                                            \
	X(BY_TIME, "lock of the old SETNX protocol granted")                                                     \
	X(TAKEN_OVER, "and it took over a time that was past")                                                   \
	X(SET_RIGHT, "its time written again, over that of an old client whose GETSET lost")                     \
	X(OLD_GRANTED, "old client has the lock")                                                                \
	X(OLD_TAKES_OVER, "by a GETSET over a time that was past, on some node")                                 \
	X(OLD_LOSES, "GETSET of an old client answers that it came too late")                                    \
	X(OLD_FAILS, "old client has no majority, and gives back what it has")                                   \
	X(OLD_DIES, "old client dies with the lock")                                                             \
	X(RELEASED, "release confirmed")                                                                         \
	X(SLOTS_HELD, "several hold slots of one resource")                                                      \
	X(PASSED, "lock passed on to another handle of the client")                                              \
	X(KEPT, "released lock stays with its client")                                                           \
	X(ENTERED, "kept lock acquired again")                                                                   \
	X(ASKED_BACK, "waiter asks for a lock that is kept, or may be")                                          \
	X(RELEASE_FAILED, "release not confirmed")                                                               \
	X(QUERIED, "query says held")                                                                            \
	X(QUERY_FAILED, "query says not held, or is not answered")                                               \
	X(PROBED, "probe says that a lock would be granted")                                                     \
	X(PROBE_FAILED, "probe is not answered, or says that it would not")                                      \
	X(FREED_HELD, "held handle freed")                                                                       \
	X(FREED_RUNNING, "handle freed with an operation running")                                               \
	X(LEFT, "held handle left")                                                                              \
	X(TAKEN, "acquired with the caller's own token")                                                         \
	X(TAKEN_AGAIN, "a node got the caller's own token once more")                                            \
	X(ONE_AT_A_TIME, "the caller's own token is in use by another handle")                                   \
	X(ADOPTED, "token of another client extended or released")                                               \
	X(CLOSED, "client closed")                                                                               \
	X(SETTLED, "client settled all debts")                                                                   \
	X(LATE_EXECUTION, "node executed bytes of an aborted connection")                                        \
	X(KILLED_UNREAD, "CLIENT KILL dropped unread bytes")                                                     \
	X(NOSCRIPT, "EVALSHA answered NOSCRIPT")                                                                 \
	X(WRONGTYPE, "script answered WRONGTYPE")                                                                \
	X(EXEC_NIL, "EXEC answered nil")                                                                         \
	X(REORDERED, "bytes overtook older ones of another connection")                                          \
	X(MISUSE, "an operation that cannot begin is refused")                                                   \
	X(SEND_FULL, "send would block")                                                                         \
	X(KEY_TOLD, "a waiter was told what became of the key")                                                  \
	X(EXPIRED, "key expired on a node")

enum sim_cover {
#define SIM_COVER_ENUM(name, text) COVER_##name,
	SIM_FAULT_MAP(SIM_COVER_ENUM) COVER_FAULTS,
	COVER_BEFORE_ACTS = COVER_FAULTS - 1,
	SIM_ACT_MAP(SIM_COVER_ENUM) COVER_COUNT
#undef SIM_COVER_ENUM
};

/* Sums; from slowest_heal_ns on: what was most. */
struct cover {
	uint64_t hits[COVER_COUNT];
	struct asked_seen rows;             /* what nodes answered */
	uint64_t notices[RL_OBSERVE_COUNT]; /* events that were pulled, by observe.h */
	struct transitions transitions;
	uint64_t proof[6][20];              /* actions of the theorems: proof.h */
	uint64_t histories;                 /* of names, compared with them: each begins with a free name */
	uint64_t operations;                /* operations started by the applications */
	uint64_t events;                    /* events of the world */
	uint64_t commands;                  /* commands executed by the nodes */
	uint64_t world_ns;                  /* virtual time lived through */
	uint64_t slowest_heal_ns;           /* until every resource was acquired after the faults */
	uint64_t idle_ns[SIM_TROUBLES + 1]; /* for which a lock was free although somebody waited */
	uint64_t most_memory;               /* bytes that a client ever had */
};

void cover_add(struct cover *sum, const struct cover *more);

/* Prints what came up, or only what never did. Returns how many kinds never did. */
int cover_print(const struct cover *cover, bool missing);

/* The observation that belongs to an event of the library, and the observations' names. */
unsigned cover_observed(enum redlock_event_kind event);
extern const char *const cover_observations[RL_OBSERVE_COUNT];

extern const struct cover_row {
	const char *name, *text;
} covers[COVER_COUNT];

#endif
