/* SPDX-License-Identifier: MIT */
/* From the grant to the last close of a descriptor. */
#include "hold.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "../clock.h"
#include "../exit_codes.h"
#include "../message.h"
#include "../streams.h"
#include "family.h"
#include "flocks.h"

enum { FLOCK_FAILED = 65, LONGEST_PAUSE_MS = 100, KILL_AGAIN_MS = 5 };

void hold_close(const struct hold *hold)
{
	close(hold->fd);
	close(hold->again);
	close(hold->ready);
}

/* The guard's descriptors: a copy of its link would hide its end from the keeper. */
static void close_others(const struct hold *hold, int proc)
{
	const int kept[] = {hold->fd, hold->again, hold->ready, proc};
	for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
		(void)fcntl(kept[i], F_SETFD, 0);
	streams_close_by_flag(FD_CLOEXEC);
}

/* ---- before the caller knows ---- */

static int signals_open(void)
{
	sigset_t wanted;
	sigemptyset(&wanted);
	sigaddset(&wanted, SIGTERM);
	sigaddset(&wanted, SIGINT);
	sigaddset(&wanted, SIGHUP);
	sigaddset(&wanted, SIGQUIT);
	return signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Somebody else on this host has the file: waits, no longer than `pause_ms`. Returns 0 to try again. */
static int pause_or_end(const struct hold *hold, int signals, int pause_ms)
{
	struct signalfd_siginfo info;
	struct pollfd watched[] = {{.fd = hold->ready}, {.fd = signals, .events = POLLIN}};
	uint64_t now_ns = clock_ns(), left_ns = hold->end_ns > now_ns ? hold->end_ns - now_ns : 0;
	if (left_ns == 0)
		return hold->busy_code;
	if (left_ns / 1000000 < (uint64_t)pause_ms)
		pause_ms = (int)(left_ns / 1000000) + 1;
	(void)poll(watched, 2, pause_ms);
	if (read(signals, &info, sizeof info) == (ssize_t)sizeof info)
		return EXIT_SIGNAL + (int)info.ssi_signo;
	return watched[0].revents ? EXIT_INTERNAL : 0; /* the caller is gone */
}

/* Locks with this process as the locker, by which copies of the descriptor are found. A lock that flock(1)
 * has put on the same description before is not replaced by another of its kind: it is given up first. */
static int lock_file(const struct hold *hold, int signals)
{
	int code = 0, tries = 0;
	bool shared;
	for (int pause_ms = 1; code == 0; pause_ms = pause_ms < LONGEST_PAUSE_MS ? 2 * pause_ms : pause_ms) {
		if (flock(hold->fd, (hold->shared ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0) {
			if (flocks_locker(hold->fd, &shared) == getpid())
				return 0;
			(void)flock(hold->fd, LOCK_UN);
			if (++tries > 1) {
				complain(MSG(RFLOCK_PROC));
				return EXIT_CONFIG;
			}
		} else if (errno == EWOULDBLOCK) {
			code = pause_or_end(hold, signals, pause_ms);
		} else {
			complain(MSG(RFLOCK_FLOCK));
			return FLOCK_FAILED;
		}
	}
	return code;
}

/* ---- afterwards ---- */

/* Data for the signal handler, which has no argument. */
static struct {
	pid_t keeper;
	struct flocks_lock lock;
	int proc;
} watched;

/* The guard has ended, or the keeper after it. While one of them lives it stops all that has the description;
 * when both were killed, this process does. The handler only ever interrupts flock(2), so that it may call
 * what it likes. */
static void parent_ended(int number)
{
	static const int kill_now[] = {SIGKILL};
	(void)number;
	if (getppid() == watched.keeper)
		return;
	while (family_signal_holders(watched.proc, &watched.lock, kill_now, 1))
		clock_sleep_ms(KILL_AGAIN_MS);
}

static void watch_parents(int proc, pid_t keeper)
{
	struct sigaction action = {.sa_handler = parent_ended};
	watched.keeper = keeper;
	watched.proc = proc;
	sigfillset(&action.sa_mask);
	(void)sigaction(SIGUSR1, &action, NULL);
	(void)prctl(PR_SET_PDEATHSIG, SIGUSR1);
}

/* Waits until the file can be locked anew: exclusively after a shared lock, and in any way after an exclusive
 * one. */
static void await_last_close(const struct hold *hold)
{
	sigset_t only;
	sigemptyset(&only);
	sigaddset(&only, SIGUSR1);
	(void)sigprocmask(SIG_UNBLOCK, &only, NULL);
	while (flock(hold->again, hold->shared ? LOCK_EX : LOCK_SH) < 0 && errno == EINTR)
		;
	(void)sigprocmask(SIG_BLOCK, &only, NULL);
	(void)flock(hold->again, LOCK_UN);
}

int hold_file(const struct hold *hold, struct run_share *share, int proc, pid_t keeper, pid_t guard)
{
	sigset_t all;
	sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	(void)prctl(PR_SET_NAME, WAITER_PROCESS);
	(void)signal(SIGPIPE, SIG_IGN);
	close_others(hold, proc);
	watch_parents(proc, keeper);
	int code = lock_file(hold, signals_open());
	if (code != 0)
		return code;
	streams_drop(STDERR_FILENO);
	if (getppid() != guard || !flocks_read(hold->fd, &watched.lock))
		return EXIT_INTERNAL;
	share->lock = watched.lock;
	atomic_store(&share->locked, true); /* from now on the caller is at work, and is stopped if need be */
	if (write(hold->ready, "", 1) != 1) {
		atomic_store(&share->locked, false);
		return EXIT_INTERNAL;
	}
	close(hold->ready);
	close(hold->fd);
	await_last_close(hold);
	return EXIT_OK;
}
