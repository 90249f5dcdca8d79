/* SPDX-License-Identifier: MIT */
#include "elector.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../clock.h"
#include "../exit_codes.h"
#include "../message.h"
#include "../printable.h"
#include "hook.h"
#include "notify.h"
#include "run.h"
#include "status_file.h"
#include "term.h"

#define MS_NS UINT64_C(1000000)

enum { FIRST_PAUSE_MS = 500, LONGEST_PAUSE_MS = 30000, STEADY_MS = 10000 };

struct elector {
	const struct settings *settings;
	const char *path;
	struct run_order order;
	struct term term;
	struct elect_status status;
	sigset_t mask; /* as it was before */
	int signals;
	int news;          /* of the term's processes; its end is theirs. -1: no term */
	pid_t child;       /* the supervisor of the term; 0: it has ended */
	int code;          /* its exit code */
	uint64_t begun_ns; /* the term's processes */
	uint64_t start_ns; /* when to start the next term; UINT64_MAX: one is running */
	uint64_t pause_ms; /* before the next term */
	uint64_t write_ns; /* when the status file needs to be written again */
	pid_t hook;        /* --on-change; 0: it does not run */
	uint64_t hook_ns;  /* when it is killed */
	bool changed;      /* once more, when it has ended */
	int ended_by;      /* signal; 0: none */
	bool cannot_write; /* the status file: said once */
};

/* ---- what others see ---- */

static void write_status(struct elector *e)
{
	uint64_t ttl_ns = e->settings->ttl_ms * MS_NS;
	if (e->status.state == NEWS_FOLLOWER)
		e->status.valid_ns = clock_ns() + ttl_ns;
	e->write_ns = e->status.state == NEWS_FOLLOWER ? clock_ns() + ttl_ns / 3 : UINT64_MAX;
	bool written = status_file_write(e->path, &e->status);
	if (!written && !e->cannot_write)
		say(e->settings, MSG(STATUS_FILE), e->path, strerror(errno));
	e->cannot_write = !written;
}

static void start_change_hook(struct elector *e)
{
	const struct hook hook = {.line = e->settings->on_change, .event = "change", .mask = &e->mask};
	char fence[24];
	e->changed = e->hook > 0;
	if (hook.line == NULL || e->hook > 0)
		return;
	snprintf(fence, sizeof fence, "%llu", (unsigned long long)e->status.fence);
	(void)setenv("REDLOCK_LEADER", e->status.leader, 1);
	(void)setenv("REDLOCK_IS_LEADER", e->status.state == NEWS_LEADER ? "1" : "0", 1);
	(void)setenv("REDLOCK_FENCE", fence, 1);
	e->hook = hook_start(&hook);
	e->hook_ns = clock_ns() + e->settings->hook_ms * MS_NS;
}

static void tell(const struct elector *e, const char *ready)
{
	static const char *const words[] = {[NEWS_FOLLOWER] = "following",
	                                    [NEWS_LEADER] = "leading",
	                                    [NEWS_STEPPING_DOWN] = "stepping down from"};
	char name[PRINTABLE_MAX];
	printable(e->status.name, strlen(e->status.name), name, sizeof name);
	notify_status(ready, "%s '%s'%s%s", words[e->status.state], name,
	              e->status.state == NEWS_FOLLOWER && *e->status.leader ? ", led by " : "",
	              e->status.state == NEWS_FOLLOWER ? e->status.leader : "");
}

static void set_status(struct elector *e, const struct news *news)
{
	bool is_other = strcmp(e->status.leader, news->leader) != 0, is_turn = e->status.state != news->state;
	if (is_other)
		e->status.since_ms = (uint64_t)((int64_t)clock_ns() + clock_ahead_ns()) / MS_NS;
	snprintf(e->status.leader, sizeof e->status.leader, "%s", news->leader);
	e->status.state = news->state;
	e->status.fence = news->fence;
	e->status.valid_ns = news->deadline_ns;
	write_status(e);
	if (is_other || is_turn)
		tell(e, "");
	if (is_other)
		start_change_hook(e);
}

/* Before the term ends, so that no reader believes in it while --on-loss runs. */
static void step_down(struct elector *e)
{
	if (e->status.state != NEWS_LEADER)
		return;
	e->status.state = NEWS_STEPPING_DOWN;
	write_status(e);
	tell(e, "");
}

/* ---- terms ---- */

static _Noreturn void be_supervisor(struct elector *e, pid_t elector)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	close(e->news);
	close(e->signals);
	sigprocmask(SIG_SETMASK, &e->mask, NULL);
	(void)unsetenv("NOTIFY_SOCKET"); /* the elector speaks for the service */
	_exit(getppid() == elector ? run_supervise(e->settings, &e->order) : EXIT_INTERNAL);
}

static bool start_term(struct elector *e)
{
	int news[2];
	pid_t elector = getpid();
	if (pipe2(news, O_CLOEXEC | O_NONBLOCK) < 0)
		return false;
	atomic_store(&e->term.page->begun, false);
	atomic_store(&e->term.page->loss_begun, false);
	atomic_store(&e->term.page->over, false);
	e->news = news[0];
	e->term.news = news[1];
	e->begun_ns = clock_ns();
	e->start_ns = UINT64_MAX;
	e->child = fork();
	if (e->child == 0)
		be_supervisor(e, elector);
	close(news[1]);
	return e->child > 0;
}

/* The lock was lost at once, or the guard was killed: the term could not run --on-loss. */
static void make_up_for_loss(struct elector *e)
{
	const struct hook hook = {.line = e->settings->on_loss_line,
	                          .event = "loss",
	                          .mask = &e->mask,
	                          .limit_ms = e->settings->hook_ms};
	char why[32];
	if (!atomic_load(&e->term.page->begun) || atomic_load(&e->term.page->loss_begun) || hook.line == NULL)
		return;
	say(e->settings, MSG(LOST_AT_ONCE));
	(void)setenv("REDLOCK_LATE", "1", 1);
	int code = hook_run(&hook);
	if (code != 0)
		complain(MSG(ON_LOSS), hook_why(code, why, sizeof why));
	(void)unsetenv("REDLOCK_LATE");
}

static bool is_for_good(int code)
{
	return code == EXIT_USAGE || code == EXIT_CONFIG || code == EXIT_AUTH || code == EXIT_REFUSED;
}

/* By itself: a supervisor with Restart=on-failure may start it again and again. */
static void tell_end(const struct elector *e)
{
	const char *meaning = "";
#define MEANING(name, number, text)                                                                          \
	if (e->code == (number))                                                                                 \
		meaning = (text);
	EXIT_CODE_MAP(MEANING)
#undef MEANING
	char name[PRINTABLE_MAX];
	say(e->settings, MSG(ELECT_ENDS), printable(e->status.name, strlen(e->status.name), name, sizeof name),
	    e->code, meaning);
}

/* No process of the term is left. A term that ends early makes room for others, for longer each time. */
static void term_over(struct elector *e)
{
	static const struct news nobody = {.state = NEWS_FOLLOWER};
	bool steady = clock_ns() - e->begun_ns > STEADY_MS * MS_NS;
	bool led = atomic_load(&e->term.page->begun);
	close(e->news);
	e->news = -1;
	make_up_for_loss(e);
	if (e->status.state != NEWS_FOLLOWER || (e->ended_by == 0 && *e->status.leader))
		set_status(e, &nobody);
	e->pause_ms = steady || e->pause_ms == 0 ? FIRST_PAUSE_MS : 2 * e->pause_ms;
	if (e->pause_ms > LONGEST_PAUSE_MS)
		e->pause_ms = LONGEST_PAUSE_MS;
	e->start_ns = clock_ns() + e->pause_ms * MS_NS;
	if (e->ended_by == 0 && !led && is_for_good(e->code)) {
		e->ended_by = -1;
		tell_end(e);
	}
}

/* ---- events ---- */

static void reap(struct elector *e)
{
	int status;
	pid_t pid;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid == e->child) {
			e->child = 0;
			e->code = WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_SIGNAL + WTERMSIG(status);
		} else if (pid == e->hook) {
			hook_kill(pid); /* what it has left in its group */
			e->hook = 0;
			if (e->changed)
				start_change_hook(e);
		}
	}
}

static void take_signals(struct elector *e)
{
	struct signalfd_siginfo info;
	while (read(e->signals, &info, sizeof info) == (ssize_t)sizeof info) {
		int number = (int)info.ssi_signo;
		if (number == SIGCHLD)
			continue;
		step_down(e);
		if (number != SIGUSR1 && e->ended_by == 0) {
			e->ended_by = number;
			tell(e, "STOPPING=1");
		}
		if (e->child > 0)
			(void)kill(e->child, number == SIGUSR1 ? SIGUSR1 : SIGTERM);
	}
}

static void take_news(struct elector *e)
{
	struct news news;
	ssize_t got;
	while (e->news >= 0 && (got = read(e->news, &news, sizeof news)) != -1) {
		if (got == (ssize_t)sizeof news) {
			news.leader[sizeof news.leader - 1] = '\0';
			if ((e->ended_by != 0 || atomic_load(&e->term.page->over)) && news.state == NEWS_LEADER)
				news.state = NEWS_STEPPING_DOWN;
			set_status(e, &news);
		} else if (e->child == 0) {
			term_over(e);
		} else {
			return; /* the end of the pipe, and soon of the supervisor */
		}
	}
}

static void keep_time(struct elector *e)
{
	uint64_t now_ns = clock_ns();
	if (e->hook > 0 && now_ns >= e->hook_ns) {
		complain(MSG(ON_CHANGE));
		hook_kill(e->hook);
		e->hook_ns = UINT64_MAX;
	}
	if (now_ns >= e->write_ns)
		write_status(e);
	if (e->ended_by == 0 && now_ns >= e->start_ns && !start_term(e))
		e->start_ns = now_ns + LONGEST_PAUSE_MS * MS_NS;
}

static int next_ms(const struct elector *e)
{
	uint64_t now_ns = clock_ns(), next_ns = e->write_ns;
	if (e->hook > 0 && e->hook_ns < next_ns)
		next_ns = e->hook_ns;
	if (e->ended_by == 0 && e->start_ns < next_ns)
		next_ns = e->start_ns;
	return next_ns == UINT64_MAX ? -1 : next_ns <= now_ns ? 0 : (int)((next_ns - now_ns) / MS_NS + 1);
}

/* ---- life ---- */

static bool begin(struct elector *e)
{
	sigset_t wanted;
	hook_ends(&wanted);
	sigaddset(&wanted, SIGCHLD);
	sigprocmask(SIG_BLOCK, &wanted, &e->mask);
	e->signals = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
	e->term.page =
	    mmap(NULL, sizeof *e->term.page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	(void)setenv("REDLOCK_NAME", e->status.name, 1);
	return e->signals >= 0 && e->term.page != MAP_FAILED;
}

static void live(struct elector *e)
{
	while (e->ended_by == 0 || e->news >= 0) {
		bool is_closing = e->news >= 0 && e->child == 0;
		struct pollfd watched[] = {{.fd = e->signals, .events = POLLIN}, {.fd = e->news, .events = POLLIN}};
		(void)poll(watched, 2, is_closing ? 10 : next_ms(e));
		take_signals(e);
		reap(e);
		take_news(e);
		keep_time(e);
	}
}

int elector_run(const struct settings *settings, const char *name, const char *path)
{
	static char *const argv[] = {NULL};
	static struct elector e;
	e = (struct elector){
	    .settings = settings, .path = path, .status = {.name = name, .state = NEWS_FOLLOWER}, .news = -1};
	e.term = (struct term){.on_gain = settings->on_gain,
	                       .on_loss = settings->on_loss_line,
	                       .hook_ms = settings->hook_ms,
	                       .path = path};
	e.order = (struct run_order){.name = name,
	                             .argv = argv,
	                             .term = &e.term,
	                             .on_loss = ON_LOSS_KILL,
	                             .report_fd = -1,
	                             .busy_code = EXIT_BUSY,
	                             .no_quorum_code = EXIT_NOQUORUM};
	if (!begin(&e)) {
		complain(MSG(START), strerror(errno));
		return EXIT_INTERNAL;
	}
	long rival = status_file_rival(path);
	if (rival > 0)
		say(settings, MSG(STATUS_SHARED), path, rival);
	write_status(&e);
	tell(&e, "READY=1");
	live(&e);
	if (e.hook > 0)
		hook_kill(e.hook);
	return e.ended_by > 0 ? EXIT_SIGNAL + e.ended_by : e.code;
}
