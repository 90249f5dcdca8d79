/* SPDX-License-Identifier: MIT */
/*
 * A lock handle: one piece of memory, with a vote for each node, then the names and the token, each with its
 * own length. life.h makes and frees handles. Data that is needed only while a thread waits is on that
 * thread's stack (loop.h), data about nodes is allocated when it is first needed, and rules are shared
 * (registry.h): a program may hold a hundred thousand locks.
 */
#ifndef RL_HANDLE_H
#define RL_HANDLE_H

#include <stdatomic.h>

#include <redlock/redlock.h>

#include "core/lock.h"
#include "core/slice.h"
#include "loop.h"
#include "schedule.h"

/* A fresh token: digits of random bytes, and after them the client's label. */
enum {
	RL_HANDLE_TOKEN_BYTES = 20,
	RL_HANDLE_TOKEN_DIGITS = 2 * RL_HANDLE_TOKEN_BYTES,
	RL_HANDLE_TOKEN_ROOM = RL_HANDLE_TOKEN_DIGITS + 1 + REDLOCK_MAX_OWNER,
};

/* Why a call failed. */
enum rl_cause {
	RL_CAUSE_VOTES, /* the votes and findings say it */
	RL_CAUSE_CALL,  /* no node was asked: votes and findings are older. The error says all. */
	/* As the former, with STATE as the error: */
	RL_CAUSE_RUNS,  /* another operation of the handle runs */
	RL_CAUSE_EVENT, /* redlock_next() has not returned the end of the last one */
	RL_CAUSE_HELD,  /* it is held already */
	RL_CAUSE_LOST,  /* it was held, and is lost */
	RL_CAUSE_IDLE,  /* it is not held */
	RL_CAUSE_KIND,  /* no lock of this kind can do it */
	RL_CAUSE_LOSS,  /* with LOST, as also of a loss that no call has reported: `loss` says why */
	RL_CAUSE_COUNT
};

struct redlock_lock {
	redlock_client *client; /* NULL: the client was closed */
	struct rl_lock core;
	struct rl_timer timer;
	void *user;

	redlock_lock *previous_queued; /* in the queue of events, while one is pending */
	redlock_lock *next_queued;
	_Atomic(struct rl_waiter *) waiter; /* a blocking call waits for the result; it writes this one field, and
	                                     * NULL alone, also without the mutex */
	int16_t done_result;                /* of the event that is pending */
	int8_t last_result;                 /* of the last call, for redlock_last_error() */
	uint8_t last_cause : 5;             /* enum rl_cause of that call */
	uint8_t loss : 3;                   /* enum redlock_loss of the last loss */
	uint8_t done_operation;
	uint8_t pending; /* RL_OBSERVE_ bits: one event of each kind may wait to be pulled */
	uint16_t token_size;

	struct rl_heir *heir; /* of what is held: seen.h. NULL: nobody is known */

	redlock_lock *next_in_line; /* places.h has the order */
	redlock_lock *previous_in_line;
	struct rl_seen *seen;    /* what was told of the lock while it waits; NULL: nothing */
	uint32_t name_size : 25; /* with the prefix */
	uint32_t follows : 5;    /* the node where the end of the key is heard, plus 1; 0: none */
	uint32_t in_line : 1;    /* it waits; or it did, and holds the lock now */
	uint32_t told : 1;       /* the caller knows the token */
	uint32_t slot;           /* answers name the slot and its generation, never the handle */
	uint32_t also_size;      /* of several names: bytes of the others */
	uint32_t entries : 31;   /* so often it was acquired again while it was held */
	uint32_t reentrant : 1;

	struct rl_ballot votes[]; /* then the name, room for the token, and the other names */
};

/* Notes the result of a call; the caller has entered the loop. */
static inline void rl_handle_note(redlock_lock *lock, int result, enum rl_cause cause)
{
	lock->last_result = (int8_t)result;
	lock->last_cause = cause & 31;
}

/* The votes that redlock_lock_vote() and redlock_last_error() tell: a renewal does not replace those of an
 * operation that failed before the caller has asked for them. */
static inline const struct rl_ballot *rl_handle_votes(const redlock_lock *lock)
{
	bool failed = lock->last_result < 0 && lock->last_cause == RL_CAUSE_VOTES;
	bool replaced = lock->core.round.background && lock->core.caller_votes != NULL;
	return failed && replaced ? lock->core.caller_votes : lock->core.votes;
}

/* As rl_handle_note() for a call that failed before it asked a node. The state is the one that refused it. */
void rl_handle_note_refusal(redlock_lock *lock, int error, const struct rl_event *event);

static inline char *rl_handle_name_bytes(const redlock_lock *lock)
{
	return (char *)(lock->core.votes + lock->core.rules->node_count);
}

static inline char *rl_handle_token_bytes(const redlock_lock *lock)
{
	return rl_handle_name_bytes(lock) + lock->name_size;
}

static inline struct rl_slice rl_handle_name(const redlock_lock *lock)
{
	return (struct rl_slice){rl_handle_name_bytes(lock), lock->name_size};
}

/* The names after the first, of a handle of several names. They follow the room for the longest fresh token.
 */
static inline struct rl_slice rl_handle_others(const redlock_lock *lock)
{
	return (struct rl_slice){rl_handle_token_bytes(lock) + RL_HANDLE_TOKEN_ROOM, lock->also_size};
}

/* One of several names, 0: the first. */
struct rl_slice rl_handle_name_at(const redlock_lock *lock, unsigned index);

/* The name that the handle waits for: of several names one, else the name. */
struct rl_slice rl_handle_line(const redlock_lock *lock);

/* Where the order of nodes begins for who waits for that one: all clients agree. */
void rl_handle_turn(redlock_lock *lock);

/* That which was signed last, or the caller's own; at first it is empty. */
static inline struct rl_slice rl_handle_token(const redlock_lock *lock)
{
	return (struct rl_slice){rl_handle_token_bytes(lock), lock->token_size};
}

/* Makes room for what the nodes have under the name, once. False: out of memory. */
bool rl_handle_make_findings(redlock_lock *lock);

/* Makes room for the votes of an operation that renewals may follow. Without memory they replace its votes.
 */
void rl_handle_keep_votes(redlock_lock *lock);

/* Makes room for numbers that the nodes of a guarded set report, or for the slots that they gave. */
bool rl_handle_make_numbers(redlock_lock *lock);

#endif
