/* SPDX-License-Identifier: MIT */
/*
 * The connection between supervisor and guard: one page of memory, which stays readable when either is
 * stopped or killed, and a socket. The guard's data is in the page, so that none of it can be lost; a message
 * only says that there is something to look at.
 */
#ifndef REDLOCK_TOOL_RUN_SHARE_H
#define REDLOCK_TOOL_RUN_SHARE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <redlock/redlock.h>

#include "flocks.h"

#define SHARE_TOKEN_IS "REDLOCK_TOKEN=" /* so it stands in the command's environment */
#define SHARE_FENCE_IS "REDLOCK_FENCE="
#define SHARE_FENCE_MAX 24
#define SHARE_SLOT_IS "REDLOCK_SLOT="
#define SHARE_SLOT_MAX 12
#define SHARE_TTL_IS "REDLOCK_TTL_MS="
#define SHARE_TTL_MAX 21

struct run_share {
	/* Written by the supervisor. */
	_Atomic uint64_t deadline_ns; /* when the validity ends, CLOCK_BOOTTIME: share_deadline_ns() */
	_Atomic uint64_t wall_ns;     /* the same on the wall clock */
	atomic_bool stopping;         /* it stops itself, or is stopped since */
	char token_variable[sizeof SHARE_TOKEN_IS + REDLOCK_MAX_TOKEN]; /* before LINK_LAUNCH is sent; */
	char fence_variable[sizeof SHARE_FENCE_IS + SHARE_FENCE_MAX];   /* too, */
	char slot_variable[sizeof SHARE_SLOT_IS + SHARE_SLOT_MAX];      /* and this, */
	char ttl_variable[sizeof SHARE_TTL_IS + SHARE_TTL_MAX];         /* and this; */
	_Atomic uint64_t kill_after_ns, margin_ns; /* as struct watch has them, by the TTL that was granted */

	/* Written by the guard, or by the command's process before it is the command. */
	_Atomic int stop_signal; /* the command was stopped by it; the supervisor sets it back to 0 */
	_Atomic int exec_error;  /* errno of an execve that failed */
	atomic_bool too_late;    /* the command was not executed: the lock has ended, or is about to */
	_Atomic int wait_status; /* as of waitpid; valid once `exited` */
	atomic_bool exited;      /* the command has ended */
	atomic_bool near_end;    /* TERM was sent because the deadline is near */
	atomic_bool outlived;    /* a process of the command was there when the lock ended */
	atomic_bool unseen;      /* a process of the command is left that /proc does not show */
	atomic_bool all_gone;    /* no process of the command is left */
	atomic_bool locked;      /* rflock with a descriptor: its description is locked, */
	struct flocks_lock lock; /* by this; valid once `locked` */
};

static inline char *share_token(struct run_share *share)
{
	return share->token_variable + sizeof SHARE_TOKEN_IS - 1;
}

/* When the validity ends; by how much the wall clock was ahead is asked for before that is. A wall clock that
 * was set forward since then shows that the other one stood still: then it ends sooner. Needs no message, and
 * no life of the process that has written it. */
void share_set_deadline(struct run_share *share, uint64_t deadline_ns, int64_t ahead_ns);
uint64_t share_deadline_ns(struct run_share *share);

enum link_kind {
	LINK_READY,  /* from the guard, once and first: `value` as of guard_await() */
	LINK_LOOK,   /* either way: look at the page */
	LINK_LAUNCH, /* to the guard: execute the command */
	LINK_SIGNAL, /* to the guard: forward signal `value` */
	LINK_STOP    /* to the guard: stop everything */
};

struct link_message {
	int32_t kind;
	int32_t value;
};

/* Sends without waiting. A message that does not fit is dropped: then the other side has enough to read
 * already. False: it was dropped, for that or for want of memory. */
bool link_send(int fd, enum link_kind kind, int value);

/* Receives one message. 1, 0 when there is none, -1 when the other side is gone. */
int link_receive(int fd, struct link_message *ret_message);

#endif
