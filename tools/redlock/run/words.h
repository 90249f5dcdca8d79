/* SPDX-License-Identifier: MIT */
/*
 * The words of `redlock run`: states, events and actions of its two processes, as data.
 * docs/run.md explains them; a test holds that page against these tables.
 *
 * The supervisor is the process that the user started: it talks to the nodes. The guard is its child and the
 * command's parent: it alone sends signals to the command. Each is a pure step function over a table.
 */
#ifndef REDLOCK_TOOL_RUN_WORDS_H
#define REDLOCK_TOOL_RUN_WORDS_H

/* ---- supervisor: X(NAME, words, sentence) ---- */

#define RUN_STATE_MAP(X)                                                                                     \
	X(WAITING, "waiting", "the lock is being acquired")                                                      \
	X(GIVING_UP, "giving up", "the wait was cancelled, its end is awaited")                                  \
	X(HELD, "held", "the command runs under the lock")                                                       \
	X(CHILD_GONE, "child gone", "the command has ended, processes that it started have not")                 \
	X(DANGER, "danger", "the end of the lock is near, everything got TERM")                                  \
	X(STOPPING, "stopping",                                                                                  \
	  "the lock is held, but everything has to go: the cap is reached or the guard is gone")                 \
	X(LOST, "lost", "the lock is lost, everything has to go at once")                                        \
	X(RESTING, "resting", "all processes are gone, the lock is kept for --min-hold")                         \
	X(RELEASING, "releasing", "the lock is being given back")                                                \
	X(ENDED, "ended", "redlock exits")

#define RUN_EVENT_MAP(X)                                                                                     \
	X(GRANTED, "granted", "the lock was acquired")                                                           \
	X(SKIPPED, "ran already", "the lock was acquired, but the job ran within --once-per")                    \
	X(UNMARKED, "mark failed", "the lock was acquired, but too few nodes told or took the marker")           \
	X(REFUSED, "refused", "busy, no quorum, a server that refuses, or cancelled")                            \
	X(END_SIGNAL, "TERM INT HUP QUIT", "sent to redlock by a process")                                       \
	X(PASS_SIGNAL, "USR1 USR2 WINCH CONT", "sent to redlock by a process")                                   \
	X(STOP_SIGNAL, "TSTP", "sent to redlock by a process")                                                   \
	X(TTY_END, "Ctrl-C, Ctrl-\\\\, hangup", "sent by the terminal, to the command as well")                  \
	X(TTY_STOP, "Ctrl-Z, tty input", "sent by the terminal, to the command as well")                         \
	X(CHILD_STOPPED, "command stopped", "told by the guard")                                                 \
	X(CHILD_EXITED, "command ended", "told by the guard; also when it could not be executed")                \
	X(ALL_GONE, "all gone", "no process of the command is left")                                             \
	X(LATE, "renewal failed", "the renewal that was due has not succeeded so far")                           \
	X(TOO_LATE, "too late to start", "the lock has ended: the command was not executed")                     \
	X(NEAR_END, "deadline near", "the guard has sent TERM, kill-after before the validity ends")             \
	X(LOSS, "lock lost", "the validity has ended, or a quorum does not have the lock any more")              \
	X(OVERDUE, "guard overdue", "the guard should have killed everything, and has not")                      \
	X(GUARD_GONE, "guard killed", "the guard ended before its work was done")                                \
	X(MAX_HOLD, "--max-hold reached", "")                                                                    \
	X(MIN_HOLD, "--min-hold over", "")                                                                       \
	X(RELEASED, "released", "also when too few nodes confirmed it: then keys may live until their TTL")      \
	X(RELEASE_GONE, "was not ours", "the release found the lock gone")

#define RUN_ACTION_MAP(X)                                                                                    \
	X(START, 0, "start the command")                                                                         \
	X(FORWARD, 1, "forward the signal")                                                                      \
	X(STOP_SELF, 2, "stop with the command, if somebody can continue it")                                    \
	X(CANCEL, 3, "cancel the wait")                                                                          \
	X(WARN, 4, "print a message")                                                                            \
	X(STOP_ALL, 5, "have the guard stop everything: TERM, kill-after later KILL")                            \
	X(DISOWN, 6, "tell the guard that the lock has ended")                                                   \
	X(TAKE_OVER, 7, "kill the guard, then everything")                                                       \
	X(REST, 8, "keep the lock until --min-hold is over")                                                     \
	X(RELEASE, 9, "release the lock")                                                                        \
	X(EXIT, 10, "exit")

/* Where the exit code comes from. */
#define RUN_CODE_MAP(X)                                                                                      \
	X(KEEP, "")                                                                                              \
	X(SKIPPED, "0")                                                                                          \
	X(OF_MARK, "69 76 77 78")                                                                                \
	X(OF_REFUSAL, "69 75 76 77 78")                                                                          \
	X(OF_SIGNAL, "128+n")                                                                                    \
	X(OF_COMMAND, "the command's")                                                                           \
	X(LOST, "79")                                                                                            \
	X(MAX_HOLD, "124")                                                                                       \
	X(INTERNAL, "125")

enum run_state {
#define RUN_STATE_ENUM(name, words, text) RUN_##name,
	RUN_STATE_MAP(RUN_STATE_ENUM)
#undef RUN_STATE_ENUM
	    RUN_STATE_COUNT
};

enum run_event {
#define RUN_EVENT_ENUM(name, words, text) RUN_ON_##name,
	RUN_EVENT_MAP(RUN_EVENT_ENUM)
#undef RUN_EVENT_ENUM
	    RUN_EVENT_COUNT
};

enum run_action {
#define RUN_ACTION_ENUM(name, bit, words) RUN_DO_##name = 1 << (bit),
	RUN_ACTION_MAP(RUN_ACTION_ENUM)
#undef RUN_ACTION_ENUM
};

enum run_code {
#define RUN_CODE_ENUM(name, words) RUN_CODE_##name,
	RUN_CODE_MAP(RUN_CODE_ENUM)
#undef RUN_CODE_ENUM
};

/* ---- guard ---- */

#define GUARD_STATE_MAP(X)                                                                                   \
	X(READY, "ready", "no command yet")                                                                      \
	X(RUNNING, "running", "the command, or a process that it started, is there")                             \
	X(TERMED, "termed", "everything got TERM")                                                               \
	X(KILLING, "killing", "everything gets KILL until nothing is left")                                      \
	X(DONE, "done", "the guard exits")

#define GUARD_EVENT_MAP(X)                                                                                   \
	X(LAUNCH, "start", "the supervisor has the lock")                                                        \
	X(SIGNAL, "signal", "one that the supervisor forwards")                                                  \
	X(STOP, "stop", "the supervisor wants everything stopped")                                               \
	X(NEAR_END, "deadline near", "kill-after before the validity ends")                                      \
	X(KILL_TIME, "time to kill", "100 ms before the validity ends, or TERM plus kill-after")                 \
	X(ORPHANED, "redlock killed", "the supervisor has ended")                                                \
	X(LET_GO, "redlock killed, --on-loss warn", "")                                                          \
	X(CHILD_STOPPED, "command stopped", "")                                                                  \
	X(CHILD_CONTINUED, "command continued", "")                                                              \
	X(CHILD_EXITED, "command ended", "")                                                                     \
	X(ALL_GONE, "all gone", "no child is left; orphans of the command become the guard's children")

#define GUARD_ACTION_MAP(X)                                                                                  \
	X(LAUNCH, 0, "execute the command, unless it is too late")                                               \
	X(FORWARD, 1, "signal the command; when it has ended, what is left of it")                               \
	X(TERM, 2, "TERM and CONT to everything")                                                                \
	X(KILL, 3, "KILL to everything")                                                                         \
	X(TELL, 4, "tell the supervisor")                                                                        \
	X(WAKE, 5, "CONT to the supervisor")                                                                     \
	X(EXIT, 6, "exit")

enum guard_state {
#define GUARD_STATE_ENUM(name, words, text) GUARD_##name,
	GUARD_STATE_MAP(GUARD_STATE_ENUM)
#undef GUARD_STATE_ENUM
	    GUARD_STATE_COUNT
};

enum guard_event {
#define GUARD_EVENT_ENUM(name, words, text) GUARD_ON_##name,
	GUARD_EVENT_MAP(GUARD_EVENT_ENUM)
#undef GUARD_EVENT_ENUM
	    GUARD_EVENT_COUNT
};

enum guard_action {
#define GUARD_ACTION_ENUM(name, bit, words) GUARD_DO_##name = 1 << (bit),
	GUARD_ACTION_MAP(GUARD_ACTION_ENUM)
#undef GUARD_ACTION_ENUM
};

#endif
