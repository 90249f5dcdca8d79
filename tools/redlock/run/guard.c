/* SPDX-License-Identifier: MIT */
/* The guard's process: the shell around watch.c. */
#include "guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../clock.h"
#include "../exit_codes.h"
#include "../secret.h"
#include "../streams.h"
#include "family.h"

enum { WAKE_AGAIN_NS = 5000000, LOOK_AGAIN_NS = 1000000000 };

struct post { /* the guard's place to work */
	struct watch watch;
	struct launch *launch;
	struct run_share *share;
	pid_t supervisor;
	pid_t command; /* 0: none, or it has ended */
	bool stopped;  /* the command, as the supervisor was told */
	int proc;
	int link;     /* -1: the supervisor is gone */
	int children; /* signalfd of SIGCHLD */
	struct clock_alarm alarm;
	int clock_set; /* readable when the wall clock was set: the end may be nearer; -1: none */
	bool waking;   /* the supervisor may be stopped, and must not be */
};

/* The deadline, and what counts back from it. A shorter TTL is told before its first deadline. */
static uint64_t read_times(struct post *post)
{
	uint64_t deadline_ns = share_deadline_ns(post->share);
	post->watch.kill_after_ns = atomic_load(&post->share->kill_after_ns);
	post->watch.margin_ns = atomic_load(&post->share->margin_ns);
	return deadline_ns;
}

/* ---- actions ---- */

/* vfork saves copying memory for nothing: the child changes none of it. But the guard waits until the command
 * is executed; on a terminal, where Ctrl-Z may stop the child before that, it must not. */
/* NOLINTBEGIN(clang-analyzer-unix.Vfork,clang-analyzer-*.vfork,bugprone-unsafe-functions) */
static void launch(struct post *post)
{
	pid_t guard = getpid();
	(void)read_times(post);
	launch_complete(post->launch, post->share);
	const struct hold *hold = post->launch->hold;
	bool executes = hold == NULL && post->launch->term == NULL;
	pid_t pid = post->launch->own_group && executes ? vfork() : fork();
	if (pid == 0 && hold != NULL)
		launch_hold(post->launch, post->share, &post->watch, post->proc, post->supervisor, guard);
	if (pid == 0 && !executes)
		launch_term(post->launch, post->share, &post->watch, guard);
	if (pid == 0)
		launch_command(post->launch, post->share, &post->watch, guard);
	if (hold != NULL)
		hold_close(hold);
	if (pid < 0) {
		atomic_store(&post->share->exec_error, errno);
		atomic_store(&post->share->wait_status, EXIT_CANNOT_EXECUTE << 8);
		atomic_store(&post->share->exited, true);
	}
	post->command = pid < 0 ? 0 : pid;
	/* Only the command has its standard streams now: who reads its output sees the end when it closes them.
	 */
	streams_drop(STDERR_FILENO);
}
/* NOLINTEND(clang-analyzer-unix.Vfork,clang-analyzer-*.vfork,bugprone-unsafe-functions) */

/* Signals all processes that are there. A waiter waits for other processes, which are no children of the
 * guard; it ends by itself when they have. */
static void signal_all(const struct post *post, const int *signals, size_t count)
{
	if (atomic_load(&post->share->locked)) {
		(void)family_signal_holders(post->proc, &post->share->lock, signals, count);
		return;
	}
	if (family_signal(post->proc, post->command, signals, count) ||
	    atomic_exchange(&post->share->unseen, true) || post->link < 0)
		return;
	link_send(post->link, LINK_LOOK, 0);
}

static void forward(const struct post *post, int number)
{
	if (post->command > 0)
		(void)kill(post->command, number);
	else
		signal_all(post, &number, 1);
}

/* The command and its group at once, the rest when /proc has been read. */
static void kill_all(const struct post *post)
{
	static const int kill_now[] = {SIGKILL};
	if (post->command > 0 && !atomic_load(&post->share->locked))
		(void)kill(post->launch->own_group ? -post->command : post->command, SIGKILL);
	signal_all(post, kill_now, 1);
}

/* The supervisor may have read that the command is stopped, and not be stopped yet: one CONT could come too
 * early for that stop. It is repeated until the supervisor says that it is on its way again. */
static void wake(struct post *post)
{
	post->waking = getppid() == post->supervisor;
	if (post->waking)
		(void)kill(post->supervisor, SIGCONT);
}

static void wake_again(struct post *post)
{
	if (post->waking && atomic_load(&post->share->stopping))
		wake(post);
	else
		post->waking = false;
}

static _Noreturn void leave(struct post *post)
{
	for (wake_again(post); post->waking; wake_again(post))
		clock_sleep_ms(1);
	_exit(EXIT_OK);
}

static void act(struct post *post, unsigned actions, int value)
{
	static const int term[] = {SIGTERM, SIGCONT};
	if (actions & GUARD_DO_LAUNCH)
		launch(post);
	if (actions & GUARD_DO_FORWARD)
		forward(post, value);
	if (actions & GUARD_DO_TERM)
		signal_all(post, term, 2);
	if (actions & GUARD_DO_KILL)
		kill_all(post);
	if (actions & GUARD_DO_TELL && post->link >= 0)
		link_send(post->link, LINK_LOOK, 0);
	if (actions & GUARD_DO_WAKE)
		wake(post);
	if (actions & GUARD_DO_EXIT)
		leave(post);
}

/* The data for the supervisor is in the page before the message goes out. */
static void step(struct post *post, enum guard_event event, int value)
{
	act(post, watch_step(&post->watch, event, clock_ns()), value);
}

/* ---- events ---- */

/* Before an end is told: the supervisor may hear of it long after the lock has ended, as when it was stopped,
 * and cannot know then which of them was first. */
static void compare_end(const struct post *post)
{
	if (clock_ns() >= share_deadline_ns(post->share))
		atomic_store(&post->share->outlived, true);
}

static void child_changed(struct post *post, pid_t pid, int status)
{
	struct run_share *share = post->share;
	if (pid != post->command)
		return; /* an orphan of the command: reaped, that is all */
	if (WIFSTOPPED(status) && post->launch->hold != NULL) {
		(void)kill(pid, SIGCONT); /* a waiter that is stopped would not see the end */
	} else if (WIFSTOPPED(status)) {
		post->stopped = true;
		atomic_store(&share->stop_signal, WSTOPSIG(status));
		step(post, GUARD_ON_CHILD_STOPPED, 0);
	} else if (WIFCONTINUED(status)) {
		post->stopped = false;
		atomic_store(&share->stop_signal, 0);
		step(post, GUARD_ON_CHILD_CONTINUED, 0);
	} else {
		post->command = 0;
		compare_end(post);
		atomic_store(&share->wait_status, status);
		atomic_store(&share->exited, true);
		/* Killed while it was stopped: the supervisor stopped with it, and has to go on. */
		atomic_store(&share->stop_signal, 0);
		if (post->stopped)
			step(post, GUARD_ON_CHILD_CONTINUED, 0);
		step(post, GUARD_ON_CHILD_EXITED, 0);
		if (WIFSIGNALED(status) && atomic_load(&share->locked))
			step(post, GUARD_ON_KILL_TIME, 0); /* nobody would see the end of the work */
	}
}

/* A waiter that has ended by itself leaves nobody. */
static bool is_someone_left(const struct post *post)
{
	int status = atomic_load(&post->share->wait_status);
	return atomic_load(&post->share->locked) && WIFSIGNALED(status) &&
	       family_signal_holders(post->proc, &post->share->lock, NULL, 0);
}

static void reap(struct post *post)
{
	struct signalfd_siginfo unused[8];
	while (read(post->children, unused, sizeof unused) > 0)
		;
	int status;
	pid_t pid;
	while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED)) > 0)
		child_changed(post, pid, status);
	if (pid < 0 && errno == ECHILD && post->watch.state != GUARD_READY && !is_someone_left(post)) {
		compare_end(post);
		atomic_store(&post->share->all_gone, true);
		step(post, GUARD_ON_ALL_GONE, 0);
	}
}

static void listen_to_supervisor(struct post *post)
{
	struct link_message message;
	int got;
	while ((got = link_receive(post->link, &message)) > 0) {
		if (message.kind == LINK_LAUNCH)
			step(post, GUARD_ON_LAUNCH, 0);
		else if (message.kind == LINK_SIGNAL)
			step(post, GUARD_ON_SIGNAL, message.value);
		else if (message.kind == LINK_STOP)
			step(post, GUARD_ON_STOP, 0);
	}
	if (got == 0)
		return;
	close(post->link);
	post->link = -1;
	step(post, watch_orphaned(&post->watch), 0);
}

static void keep_time(struct post *post)
{
	uint64_t deadline_ns = read_times(post);
	enum guard_event event;
	if (!watch_is_due(&post->watch, clock_ns(), deadline_ns, &event))
		return;
	if (post->watch.state == GUARD_RUNNING)
		atomic_store(&post->share->near_end, true);
	step(post, event, 0);
}

/* ---- the process ---- */

static uint64_t next_time(struct post *post)
{
	uint64_t deadline_ns = read_times(post), due_ns = watch_due(&post->watch, deadline_ns);
	uint64_t again_ns = UINT64_MAX;
	if (post->waking)
		again_ns = clock_ns() + WAKE_AGAIN_NS;
	else if (post->clock_set < 0 && due_ns != UINT64_MAX)
		again_ns = clock_ns() + LOOK_AGAIN_NS;
	return due_ns < again_ns ? due_ns : again_ns;
}

static void watch_over(struct post *post)
{
	/* The wait comes last: one pass has touched all pages before the command is due. */
	for (;;) {
		/* The time first: after a suspend it is what matters. */
		keep_time(post);
		if (post->link >= 0)
			listen_to_supervisor(post);
		reap(post);
		wake_again(post);
		clock_alarm_set(&post->alarm, next_time(post));
		struct pollfd watched[] = {{.fd = post->alarm.fd, .events = POLLIN},
		                           {.fd = post->children, .events = POLLIN},
		                           {.fd = post->link, .events = POLLIN},
		                           {.fd = post->clock_set, .events = POLLIN}};
		(void)poll(watched, 4, -1);
		if (watched[3].revents)
			clock_set_seen(post->clock_set);
	}
}

/* The first touch of a page, or of a process in /proc, takes its time: here the supervisor need not wait for
 * it. Returns what guard_await() does. */
static int prepare(struct post *post)
{
	share_set_deadline(post->share, UINT64_MAX, 0);
	post->clock_set = clock_set_open();
	post->launch->birth = family_birth(post->proc, getpid());
	if (post->children < 0 || !clock_alarm_open(&post->alarm) || !launch_prepare(post->launch, post->share))
		return errno;
	return family_shows(post->proc, post->supervisor) ? 0 : GUARD_BLIND;
}

static _Noreturn void be_guard(struct post *post)
{
	char *password = post->launch->password;
	bool has_password = password != NULL;
	if (has_password)
		explicit_bzero(password, strlen(password));
	for (size_t i = 0; i < post->launch->urls->count; i++)
		has_password |= secret_blank_urls(post->launch->urls->items[i]);
	secret_wipe_environment(true);
	if (has_password)
		secret_wipe_stack();
	/* In a group of its own it is not stopped by Ctrl-Z, nor killed with redlock's group. */
	(void)setpgid(0, 0);
	(void)prctl(PR_SET_NAME, GUARD_PROCESS);
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	sigset_t all;
	sigfillset(&all);
	sigset_t children;
	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	sigprocmask(SIG_SETMASK, &all, NULL);
	post->children = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
	if (link_send(post->link, LINK_READY, prepare(post)))
		watch_over(post);
	_exit(EXIT_INTERNAL);
}

static struct run_share *make_share(void)
{
	struct run_share *share =
	    mmap(NULL, sizeof *share, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return share == MAP_FAILED ? NULL : share;
}

int guard_start(struct guard *guard, struct launch *launch, const struct watch *watch)
{
	struct post post = {.watch = *watch, .launch = launch, .supervisor = getpid()};
	guard->proc = post.proc = family_open();
	guard->share = post.share = make_share();
	int link[2];
	if (guard->share == NULL || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, link) < 0)
		return -1;
	atomic_store(&guard->share->kill_after_ns, watch->kill_after_ns);
	atomic_store(&guard->share->margin_ns, watch->margin_ns);
	guard->pid = fork();
	if (guard->pid == 0) {
		close(link[0]);
		post.link = link[1];
		be_guard(&post);
	}
	close(link[1]);
	guard->link = link[0];
	guard->spare = fcntl(guard->proc, F_DUPFD_CLOEXEC, 0);
	return guard->pid < 0 || (guard->proc >= 0 && guard->spare < 0) ? -1 : 0;
}

bool guard_await(const struct guard *guard, int other_fd, int *ret)
{
	struct link_message message;
	struct pollfd watched[] = {{.fd = guard->link, .events = POLLIN}, {.fd = other_fd, .events = POLLIN}};
	if (poll(watched, 2, -1) < 0 || watched[0].revents == 0)
		return false;
	ssize_t got = recv(guard->link, &message, sizeof message, 0);
	*ret = got == (ssize_t)sizeof message ? message.value : ECHILD;
	return true;
}

bool guard_signal_heirs(struct guard *guard, int number)
{
	if (guard->spare >= 0)
		close(guard->spare);
	bool found = true; /* a waiter ends when nobody is left */
	if (atomic_load(&guard->share->locked))
		(void)family_signal_holders(guard->proc, &guard->share->lock, &number, 1);
	else
		found = family_signal(guard->proc, 0, &number, 1);
	guard->spare = fcntl(guard->proc, F_DUPFD_CLOEXEC, 0);
	return found;
}

void guard_wake(const struct guard *guard)
{
	if (guard->pid > 0)
		(void)kill(guard->pid, SIGCONT);
}

void guard_kill(const struct guard *guard)
{
	if (guard->pid > 0)
		(void)kill(guard->pid, SIGKILL);
}

void guard_close(struct guard *guard)
{
	if (guard->link >= 0)
		close(guard->link);
	guard_kill(guard); /* if it is stopped; it has nothing to do any more */
	if (guard->pid > 0)
		(void)waitpid(guard->pid, NULL, 0);
	guard->pid = 0;
}
