/* SPDX-License-Identifier: MIT */
/*
 * The supervisor's process: the shell around the table in rules.c. It keeps the lock, and the guard informed
 * of its deadline; the guard runs and stops the command.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "../clock.h"
#include "../conflicts.h"
#include "../exit_codes.h"
#include "../message.h"
#include "../outcome.h"
#include "../signals.h"
#include "../streams.h"
#include "metrics.h"
#include "news.h"
#include "run.h"

enum {
	OVERDUE_NS = 100000000,          /* the guard gets so much time to kill what it has to kill */
	LEFTOVERS_AFTER_NS = 1000000000, /* most are on their way out */
	KILL_AGAIN_NS = 5000000
};

/* ---- times ---- */

static uint64_t overdue_ns(const struct run *run)
{
	uint64_t when_ns = run->kill_by_ns;
	if (!run_has_processes(run) || run->taken_over)
		return UINT64_MAX;
	if (run->order->on_loss == ON_LOSS_KILL && run->deadline_ns - run->times.margin_ns < when_ns)
		when_ns = run->deadline_ns - run->times.margin_ns;
	return when_ns == UINT64_MAX ? UINT64_MAX : when_ns + OVERDUE_NS;
}

/* Times at which the supervisor has something to do by itself: when, and what. */
static uint64_t find_ns(const struct run *run)
{
	uint64_t begin_ns = run->waiting.view.begin_ns;
	uint64_t first_ns = begin_ns + WAIT_VIEW_AFTER_NS, due_ns = run->waiting.due_ns;
	if (run->state != RUN_WAITING)
		return UINT64_MAX;
	if (run->order->term != NULL)
		return leader_due_ns(&run->leader, &run->waiting.view);
	return due_ns > 0 ? due_ns : first_ns;
}

static uint64_t show_ns(const struct run *run)
{
	return run->state == RUN_WAITING ? wait_view_due_ns(&run->waiting.view) : UINT64_MAX;
}

static uint64_t max_hold_ns(const struct run *run)
{
	if (!run_has_processes(run) || run->capped || run->settings->max_hold_ms == 0)
		return UINT64_MAX;
	return run->acquired_ns + run->settings->max_hold_ms * 1000000;
}

/* A renewal that has not succeeded by then is late. */
static uint64_t late_ns(const struct run *run)
{
	bool runs = run->state == RUN_HELD || run->state == RUN_CHILD_GONE;
	if (!runs || run->late || run->deadline_ns == 0)
		return UINT64_MAX;
	return run->deadline_ns - run_times_late_ms(&run->times) * 1000000;
}

static uint64_t min_hold_ns(const struct run *run)
{
	return run->state == RUN_RESTING ? run->acquired_ns + run->settings->min_hold_ms * 1000000 : UINT64_MAX;
}

static uint64_t leftovers_ns(const struct run *run)
{
	return run->state == RUN_CHILD_GONE && !run->leftovers_told ? run->exited_ns + LEFTOVERS_AFTER_NS
	                                                            : UINT64_MAX;
}

static uint64_t finish_off_ns(const struct run *run)
{
	return run->taken_over && run_has_processes(run) ? clock_ns() + KILL_AGAIN_NS : UINT64_MAX;
}

static void arm(struct run *run)
{
	const uint64_t times[] = {overdue_ns(run),  find_ns(run),      show_ns(run),       max_hold_ns(run),
	                          min_hold_ns(run), leftovers_ns(run), finish_off_ns(run), late_ns(run)};
	uint64_t first = UINT64_MAX;
	for (size_t i = 0; i < sizeof times / sizeof times[0]; i++)
		if (times[i] < first)
			first = times[i];
	clock_alarm_set(&run->alarm, first);
}

static void find_holder(struct run *run)
{
	if (run->order->term != NULL)
		leader_ask(&run->leader, &run->session, run->order->name, &run->waiting.view);
	else
		waiting_find(&run->waiting, &run->session, run->order->name, run_busy_name(run));
}

static void keep_time(struct run *run)
{
	uint64_t now_ns = clock_ns();
	if (now_ns >= overdue_ns(run))
		run_apply(run, RUN_ON_OVERDUE);
	if (run->taken_over && run_has_processes(run))
		run_finish_off(run);
	if (now_ns >= max_hold_ns(run)) {
		run->capped = true;
		run_apply(run, RUN_ON_MAX_HOLD);
	}
	if (now_ns >= late_ns(run)) {
		run->late = true;
		run_apply(run, RUN_ON_LATE);
	}
	if (now_ns >= leftovers_ns(run)) {
		run->leftovers_told = true;
		tell_leftovers(run);
	}
	if (now_ns >= min_hold_ns(run))
		run_apply(run, RUN_ON_MIN_HOLD);
	run->waiting.view.name = run_busy_name(run);
	if (run->state == RUN_WAITING)
		wait_view_look(&run->waiting.view, run->lock);
	if (now_ns >= find_ns(run))
		find_holder(run);
	if (now_ns >= show_ns(run))
		wait_view_show(&run->waiting.view);
}

/* ---- life ---- */

static void supervise(struct run *run)
{
	while (run->state != RUN_ENDED) {
		struct pollfd watched[] = {{.fd = run->alarm.fd, .events = POLLIN},
		                           {.fd = run->inbox.fd, .events = POLLIN},
		                           {.fd = run->guard_gone ? -1 : run->guard.link, .events = POLLIN},
		                           {.fd = redlock_fd(run->session.client), .events = POLLIN}};
		run_drive_client(run);
		run_follow_deadline(run);
		password_watch_look(&run->password, run->session.client);
		keep_time(run);
		if (run->order->term != NULL)
			news_observe(run);
		if (run->state == RUN_ENDED)
			break;
		arm(run);
		if (redlock_timeout_ns(run->session.client) > 0)
			(void)poll(watched, 4, -1);
		if (watched[1].revents)
			run_take_signals(run);
		if (watched[2].revents)
			run_look_at_guard(run);
	}
}

/* Whether nobody gave a TTL, nor a time that has to fit it: all follow the maximum of the node set. */
static bool follows(const struct run *run, const struct redlock_lock_options *options)
{
	const struct settings *s = run->settings;
	bool renews = s->renew_ms != 0 && s->renew_ms != REDLOCK_FOREVER;
	return options->ttl_ms == REDLOCK_DEFAULT_TTL && !renews && s->kill_after_ms == 0;
}

static int make_lock(struct run *run, uint64_t wait_ms)
{
	struct redlock_lock_options options;
	session_lock_options(run->settings, &options);
	options.wait_ms = wait_ms;
	bool is_fixed = !follows(run, &options);
	if (is_fixed)
		options.ttl_ms = run->times.ttl_ms;
	options.fence = run->settings->fence;
	options.slots = (uint32_t)run->settings->slots;
	options.renew_ms = run->times.renew_ms;
	options.min_validity_ms = is_fixed ? run->times.kill_after_ms : 0; /* it might not fit another TTL */
	return session_lock_all(&run->session, run->order->name, &options, &run->lock);
}

void run_follow_maximum(struct run *run, bool starts)
{
	struct redlock_guard_status guard = {.size = sizeof guard};
	struct redlock_lock_options options;
	struct redlock_terms terms = {.size = sizeof terms};
	struct run_times times;
	char why[256];
	session_lock_options(run->settings, &options);
	if (!follows(run, &options) || redlock_guard_status(run->session.client, &guard) < 0 ||
	    guard.max_ttl_ms == 0 || guard.max_ttl_ms >= run->times.ttl_ms)
		return;
	options.ttl_ms = guard.max_ttl_ms;
	if (redlock_client_terms(run->session.client, &options, &terms) < 0)
		return;
	run_times_init(&times, run->settings, &terms);
	if (!run_times_work(&times, why, sizeof why)) {
		if (starts) /* the guard finds too little time left, and does not start the command */
			complain(MSG(MAXIMUM_TIMES), why);
		run->late |= starts;
		return;
	}
	run->times = times;
	atomic_store(&run->guard.share->kill_after_ns, times.kill_after_ms * 1000000);
	atomic_store(&run->guard.share->margin_ns, times.margin_ns);
	(void)session_ttl_ms(&run->session, run->lock);
}

static bool is_refused_for_ttl(const struct run *run)
{
	struct redlock_vote vote = {.size = sizeof vote};
	for (unsigned i = 0; i < redlock_node_count(run->session.client); i++)
		if (redlock_lock_vote(run->lock, i, &vote) == 0 && vote.code == REDLOCK_VOTE_LONG_TTL)
			return true;
	return false;
}

/* How long the wait for the lock may still last: it began with the first handle. False: it has lasted as long
 * as it may. */
static bool left_of_wait(const struct run *run, uint64_t *ret_ms)
{
	uint64_t waited_ms = (clock_ns() - run->waiting.view.begin_ns) / 1000000;
	*ret_ms = run->settings->wait_ms;
	if (*ret_ms == 0 || *ret_ms == REDLOCK_FOREVER)
		return true;
	*ret_ms = *ret_ms > waited_ms ? *ret_ms - waited_ms : 0;
	return *ret_ms > 0;
}

/* As with --ttl of that length: other times follow from it than those that the library knows. */
bool run_shorten(struct run *run, int result)
{
	redlock_lock *former = run->lock;
	struct redlock_guard_status guard = {.size = sizeof guard};
	struct redlock_lock_options options;
	struct redlock_terms terms = {.size = sizeof terms};
	char why[256];
	uint64_t wait_ms;
	session_lock_options(run->settings, &options);
	if (result != REDLOCK_E_NOQUORUM || !is_refused_for_ttl(run) || !left_of_wait(run, &wait_ms) ||
	    options.ttl_ms != REDLOCK_DEFAULT_TTL || redlock_guard_status(run->session.client, &guard) < 0 ||
	    guard.max_ttl_ms >= run->times.ttl_ms)
		return false;
	options.ttl_ms = guard.max_ttl_ms;
	if (redlock_client_terms(run->session.client, &options, &terms) < 0)
		return false; /* the maximum is not known */
	run_times_init(&run->times, run->settings, &terms);
	bool works = run_times_work(&run->times, why, sizeof why);
	if (!works)
		complain(MSG(MAXIMUM_TIMES), why);
	if (!works || make_lock(run, wait_ms) != EXIT_OK) {
		run->lock = former;
		return false;
	}
	redlock_lock_free(former);
	(void)session_ttl_ms(&run->session, run->lock);
	run->result = redlock_start_acquire(run->lock);
	return run->result == 0;
}

static bool has_terminal(void)
{
	int fd = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static int cannot_start(void)
{
	complain(MSG(START), strerror(errno));
	return EXIT_INTERNAL;
}

static int cannot_find(void)
{
	complain(MSG(NO_PROC));
	return EXIT_CONFIG;
}

/* Before there are connections and passwords: the guard has no part in them. */
static int make_guard(struct run *run)
{
	struct launch launch = {.argv = run->order->argv,
	                        .name = run->order->name,
	                        .also = &run->settings->also,
	                        .prefix = run->settings->prefix,
	                        .kind = runs_kind_of(run->settings),
	                        .fenced = run->settings->fence,
	                        .has_slot = run->settings->slots > 0,
	                        .urls = &run->settings->urls,
	                        .password = run->settings->password,
	                        .mask = run->inbox.mask,
	                        .hold = run->order->hold,
	                        .term = run->order->term,
	                        .own_group = !run->has_terminal && !run->settings->foreground,
	                        .group = getpgrp(),
	                        .die_with_guard = run->order->on_loss == ON_LOSS_KILL};
	struct watch watch;
	watch_init(&watch, run->order->on_loss, run->times.kill_after_ms * 1000000, run->times.margin_ns);
	int started = guard_start(&run->guard, &launch, &watch);
	if (started == 0 && launch.hold != NULL)
		hold_close(launch.hold);
	return started < 0 ? cannot_start() : EXIT_OK;
}

/* A signal that came before there was an inbox. */
static void take_early_signal(struct run *run)
{
	if (!signals_caught())
		return;
	run->signal = inbox_early(signals_caught());
	run_apply(run, run->signal.event);
}

/* Waits for the guard, which has prepared while connections were made: the lock is not asked for without it.
 * A guard that is stopped must not keep this process from being ended. */
static int await_guard(struct run *run)
{
	int error = 0;
	take_early_signal(run);
	while (run->state == RUN_WAITING && !guard_await(&run->guard, run->inbox.fd, &error))
		run_take_signals(run);
	if (run->state != RUN_WAITING) {
		run->result = REDLOCK_E_CANCELLED;
		return run->code;
	}
	errno = error;
	if (error == GUARD_BLIND)
		return cannot_find();
	return error != 0 ? cannot_start() : EXIT_OK;
}

static int look_for_mark(struct run *run)
{
	if (!mark_look(run))
		return cannot_start();
	if (run->skipped)
		run->state = RUN_ENDED;
	return EXIT_OK;
}

static int begin(struct run *run)
{
	run->has_terminal = has_terminal();
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1); /* in case the guard is killed */
	if (inbox_open(&run->inbox) < 0 || !clock_alarm_open(&run->alarm))
		return cannot_start();
	int code = make_guard(run);
	password_watch_begin(&run->password, run->settings);
	if (code == EXIT_OK)
		code = session_open(&run->session, run->settings);
	if (code == EXIT_OK)
		code = make_lock(run, run->settings->wait_ms);
	if (code == EXIT_OK)
		code = await_guard(run);
	if (code == EXIT_OK)
		code = look_for_mark(run);
	if (code == EXIT_OK && rights_init(&run->rights, &run->session))
		code = rights_prepare(&run->rights, &run->session, run->order->name);
	if (code != EXIT_OK)
		return code;
	streams_drop(STDOUT_FILENO); /* the command's, not ours; the guard keeps them for it */
	wait_view_begin(&run->waiting.view, run->settings, run->order->name);
	if (run->skipped)
		return EXIT_OK;
	run->result = redlock_start_acquire(run->lock);
	if (run->result == 0 && run->rights.named)
		(void)rights_ask(&run->rights, &run->session, run->order->name); /* else it is asked later */
	return run->result == 0 ? EXIT_OK : outcome_of_error(run->result);
}

static void close_all(struct run *run)
{
	waiting_end(&run->waiting);
	redlock_lock_free(run->leader.question);
	rights_end(&run->rights);
	run_rivals_end(&run->rivals);
	mark_close(run);
	redlock_lock_free(run->lock);
	session_close(&run->session);
	if (run->alarm.fd >= 0)
		close(run->alarm.fd);
	inbox_close(&run->inbox);
}

static void end(struct run *run)
{
	bool settled = false;
	wait_view_end(&run->waiting.view);
	run->ended_ns = clock_ns();
	guard_close(&run->guard); /* while the last answers are on their way */
	if (run->session.client != NULL) {
		settled = session_drain(&run->session, run->lock) && run->given_back;
		session_warn_lingering(&run->session, run->order->name);
	}
	if (run->guard.share != NULL && run->order->report_fd >= 0) {
		if (run->report->verb == NULL)
			report_collect(run->report, "run", run->order->name, run->result, &run->session, run->lock);
		record_write(run, run->report);
	}
	if (run->settings->metrics_file != NULL)
		metrics_write(run, run->settings->metrics_file);
	/* When the servers have nothing to be told any more, the kernel is quicker: servers that hear of the end
	 * of a connection take the processor while this process is still here (15 us). */
	if (!settled)
		close_all(run);
}

/* Returns an exit code. */
static int check_times(struct run_times *times, const struct settings *settings)
{
	enum { WHY_MAX = 1024 }; /* of which paths take the most */
	char why[WHY_MAX];
	times->places.renew = conflicts_place(settings, offsetof(struct settings, renew_ms));
	times->places.node_timeout = conflicts_place(settings, offsetof(struct settings, node_timeout_ms));
	times->places.kill_after = conflicts_place(settings, offsetof(struct settings, kill_after_ms));
	times->places.drift = conflicts_place(settings, offsetof(struct settings, drift_ppm));
	times->places.ttl = conflicts_place(settings, offsetof(struct settings, ttl_ms));
	if (run_times_work(times, why, sizeof why))
		return EXIT_OK;
	complain(MSG(TIMES), why);
	return conflicts_code_of_times(settings);
}

int run_supervise(const struct settings *settings, const struct run_order *order)
{
	static struct run run; /* memory that is not freed at the end stays reachable, for leak checkers */
	struct redlock_terms terms;
	static struct report report; /* large, and mostly not used: pages that are not touched cost nothing */
	run = (struct run){.settings = settings,
	                   .order = order,
	                   .report = &report,
	                   .state = RUN_WAITING,
	                   .kill_by_ns = UINT64_MAX};
	run.alarm.fd = run.inbox.fd = run.guard.link = run.guard.proc = run.guard.spare = -1;
	session_terms(settings, &terms);
	run_times_init(&run.times, settings, &terms);
	run.code = check_times(&run.times, settings);
	if (run.code != EXIT_OK)
		return run.code;
	run.code = begin(&run);
	if (run.code == EXIT_OK)
		supervise(&run);
	end(&run);
	if (run.die_of)
		inbox_default(run.die_of);
	return run.code;
}
