/* SPDX-License-Identifier: MIT */
/* The state of one `redlock run`, which its parts share. supervisor.c changes it, tell.c reports it, record.c
 * writes it to a file. */
#ifndef REDLOCK_TOOL_RUN_RUN_H
#define REDLOCK_TOOL_RUN_RUN_H

#include "../clock.h"
#include "../report.h"
#include "../session.h"
#include "find_holder.h"
#include "guard.h"
#include "leader.h"
#include "mark.h"
#include "password_watch.h"
#include "rights.h"
#include "rivals.h"
#include "rules.h"
#include "signal_inbox.h"
#include "times.h"

/* The job: what is to be run, and how. */
struct run_order {
	const char *name;
	char *const *argv; /* the command, ends with NULL */
	enum on_loss on_loss;
	bool silent_when_busy;
	int report_fd;           /* -1: none */
	const struct hold *hold; /* kept instead of a command; NULL: none */
	const struct term *term; /* run instead of a command: a term of leadership; NULL: none */
	int busy_code;           /* exit code when the lock is busy, */
	int no_quorum_code;      /* exit code when too few nodes answer */
	int not_found_code;      /* exit codes when the command cannot be executed */
	int cannot_execute_code;
};

struct run {
	const struct settings *settings;
	const struct run_order *order;
	struct run_times times;

	struct session session;
	struct password_watch password;
	redlock_lock *lock;
	struct waiting waiting;
	struct leader leader; /* of a term: while it follows */
	struct rights rights;
	struct run_rivals rivals;
	struct mark mark; /* of --once-per and --remember */
	struct inbox inbox;
	struct guard guard;
	struct clock_alarm alarm;

	struct report *report; /* of the acquisition that failed, or of the end; its verb is NULL: not yet */

	enum run_state state;
	int code;                   /* the exit code, as far as it is known */
	int result;                 /* of acquire, later of release */
	struct inbox_signal signal; /* the one that is being handled */
	int stop_signal;            /* the command was stopped by it */
	int die_of;                 /* end by this signal, as the command did; 0: by exit code */
	int end_signal_of_terminal; /* the last one; 0: none */

	bool has_terminal;
	bool exited;     /* the command has ended */
	int wait_status; /* and so */
	bool too_late;   /* the command was not executed */
	bool near_end;
	bool outlived; /* the lock, by a process of the command */
	bool all_gone;
	bool guard_gone;
	bool taken_over;     /* the guard is gone, this process does its work */
	bool client_failed;  /* it can neither renew nor release */
	bool given_back;     /* the lock, by a quorum of nodes */
	bool late;           /* a renewal was late, and not made up for */
	bool grant_waits;    /* the lock is held, whether it could be renewed is not known yet */
	bool self_wait;      /* it would have waited for itself */
	bool skipped;        /* --once-per: the job ran within the period */
	bool capped;         /* --max-hold was reached */
	bool ended_before;   /* all processes had, when the loss was known */
	bool unseen;         /* processes of the command are there that /proc does not show */
	bool degraded_told;  /* that nodes have no vote: once */
	bool brink_told;     /* that no further node may fail: once, and nothing of the kind afterwards */
	bool leftovers_told; /* that processes of the command are still there */

	/* Each node's refusal, if that was its last answer. In a renewal that has begun, no node has answered. */
	enum redlock_vote_code refusals[REDLOCK_MAX_NODES];

	uint64_t acquired_ns; /* 0: not yet */
	uint64_t exited_ns;   /* when the command had ended */
	uint64_t ended_ns;    /* of the release, or of the wait */
	uint64_t deadline_ns; /* as the guard knows it */
	uint64_t leapt_ms;    /* redlock_leapt_ms() at the last renewal */
	uint64_t kill_by_ns;  /* the guard should have killed everything; UINT64_MAX: not yet */
};

/* From grant to the end of the last process of the command. */
static inline bool run_has_processes(const struct run *run)
{
	return run->state >= RUN_HELD && run->state <= RUN_LOST;
}

/* Which name is waited for, or was refused: of several, the one that a node has named last. */
static inline const char *run_busy_name(const struct run *run)
{
	return session_busy_name(run->settings, run->lock, run->order->name);
}

/* actions.c: takes an event by the rules. */
void run_apply(struct run *run, enum run_event event);

/* The guard is told until when the lock may be relied on; it should have killed everything by `when_ns`. */
void run_publish(struct run *run, uint64_t deadline_ns, int64_t ahead_ns);
void run_kill_by(struct run *run, uint64_t when_ns);

/* inputs.c: each takes what has come from one side. */
void run_take_signals(struct run *run);
void run_look_at_guard(struct run *run);
void run_drive_client(struct run *run);
/* The acquire was refused, because of a TTL that nobody asked for: begins it anew with the maximum of the
 * node set, and the times that follow. False: it was another refusal, or that cannot work. */
bool run_shorten(struct run *run, int result);
/* The times of a run that nobody gave any follow from the maximum of the node set, as its lock does. Before
 * the guard is told of a deadline. At the start a maximum that is too short for them is reported. */
void run_follow_maximum(struct run *run, bool starts);
void run_follow_deadline(struct run *run); /* tells the guard of a renewal */
void run_finish_off(struct run *run);      /* the guard's work, after its end */

/* tell.c: lines for people. None of them waits for a reader: the lock has to be renewed meanwhile. */
void tell_refused(const struct run *run);
void tell_granted(struct run *run);
void tell_event(const struct run *run, enum run_event event);
void tell_renewed(const struct run *run);
void tell_note_votes(struct run *run); /* after each step of the client, for what may be told later */
void tell_degraded(struct run *run);
void tell_leftovers(const struct run *run);
void tell_unseen(const struct run *run);
void tell_cannot_execute(const struct run *run, int error);

/* record.c: one JSON object on --report-fd, at the end. */
void record_write(const struct run *run, const struct report *report);

/* supervisor.c: runs the command under the lock. Returns the exit code. */
int run_supervise(const struct settings *settings, const struct run_order *order);

#endif
