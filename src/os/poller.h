/* SPDX-License-Identifier: MIT */
/*
 * One pollable descriptor over many sockets, a timer and a wake-up.
 * The timer counts on CLOCK_BOOTTIME, as the deadlines do; poll(2) and epoll_wait(2) count on
 * CLOCK_MONOTONIC, which stands still during suspend, so their timeout is not used. When the wall clock is
 * set, the wait ends: rl_clock_read() tells then what it was, and timers may be due sooner.
 */
#ifndef RL_OS_POLLER_H
#define RL_OS_POLLER_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct rl_poller {
	int fd; /* readable when anything below is ready */
	int timer_fd;
	int wake_fd;
	int set_fd;        /* readable when the wall clock was set, and after a suspend; -1: not available */
	uint64_t armed_ns; /* when the timer fires; UINT64_MAX: disarmed */
};

enum { RL_READABLE = 1, RL_WRITABLE = 2 };

struct rl_ready {
	uint32_t id;     /* as given to rl_poller_watch() */
	uint32_t events; /* RL_READABLE | RL_WRITABLE; errors and hang-ups set both */
};

/* All return 0 or -errno. */
int rl_poller_open(struct rl_poller *poller);
void rl_poller_close(struct rl_poller *poller);

/* Watches `fd` (level-triggered), or changes what is watched when `known`. */
int rl_poller_watch(struct rl_poller *poller, int fd, uint32_t id, uint32_t events, bool known);

/* No longer watches `fd`. To be called before it is closed: a child process may have it open still. */
void rl_poller_forget(struct rl_poller *poller, int fd);

/* Arms the timer so that the poller is ready at `deadline_ns` at the latest. It may be ready earlier: a timer
 * that is set to an earlier time and has not fired at `now_ns` is left alone, which saves a system call per
 * operation. A timer that has fired keeps the poller ready until it is armed again. */
int rl_poller_arm(struct rl_poller *poller, uint64_t deadline_ns, uint64_t now_ns);

/* Writes up to `max` ready sockets and returns their number; timers and wake-ups are not in the list. -errno
 * on failure. */
int rl_poller_look(struct rl_poller *poller, struct rl_ready *ready, int max);

/* Does the same, once something is ready: timers and wake-ups end the wait, which may return 0 early. May be
 * called while another thread uses the other calls. -EINTR: a signal handler has run. `signals`: those that
 * are blocked while it waits; NULL: as they are. */
int rl_poller_wait(struct rl_poller *poller, struct rl_ready *ready, int max, const sigset_t *signals);

/* Ends a running or the next rl_poller_wait(). Any thread. */
void rl_poller_wake(struct rl_poller *poller);

#endif
