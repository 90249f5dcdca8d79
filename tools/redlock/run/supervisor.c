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
#include <sys/wait.h>
#include <unistd.h>

#include "../clock.h"
#include "../exit_codes.h"
#include "../message.h"
#include "../outcome.h"
#include "../signals.h"
#include "../streams.h"
#include "family.h"
#include "notify.h"
#include "run.h"

enum {
	ASK_WHO_AFTER_NS = 300000000, /* a shorter wait is none that a person would ask about */
	OVERDUE_NS = 100000000,       /* the guard gets so much time to kill what it has to kill */
	KILL_AGAIN_NS = 5000000
};

static void apply(struct run *run, enum run_event event);

static bool is_supervising(const struct run *run)
{
	return run->state >= RUN_HELD && run->state <= RUN_LOST;
}

/* ---- Exit codes
 * -------------------------------------------------------------------------------------------- */

static int command_code(struct run *run)
{
	int error = atomic_load(&run->guard.share->exec_error);

	if (error != 0) {
		tell_cannot_execute(run, error);
		return error == ENOENT ? run->order->not_found_code : run->order->cannot_execute_code;
	}
	if (!WIFSIGNALED(run->wait_status))
		return WEXITSTATUS(run->wait_status);
	/* Ctrl-C ends the command and redlock in the same way, so that a shell's loop around it ends too. */
	if (run->end_signal_of_terminal == WTERMSIG(run->wait_status))
		run->die_of = run->end_signal_of_terminal;
	return EXIT_SIGNAL + WTERMSIG(run->wait_status);
}

static int refusal_code(struct run *run)
{
	struct report report;

	if (run->self_wait)
		return (int)run->settings->busy_code;
	report_collect(&report, "run", run->order->name, run->result, &run->session, run->lock);
	tell_refused(run, &report);
	return run->result == REDLOCK_E_BUSY ? (int)run->settings->busy_code : report.exit_code;
}

static int code_of(struct run *run, enum run_code code)
{
	switch (code) {
	case RUN_CODE_KEEP:
		break;
	case RUN_CODE_OF_REFUSAL:
		return refusal_code(run);
	case RUN_CODE_OF_SIGNAL:
		run->die_of = run->signal.from_terminal ? run->signal.number : 0;
		return EXIT_SIGNAL + run->signal.number;
	case RUN_CODE_OF_COMMAND:
		return command_code(run);
	case RUN_CODE_LOST:
		return EXIT_LOST;
	case RUN_CODE_MAX_HOLD:
		return EXIT_MAX_HOLD;
	case RUN_CODE_INTERNAL:
		return EXIT_INTERNAL;
	}
	return run->code;
}

/* ---- Actions
 * ----------------------------------------------------------------------------------------------- */

static void kill_by(struct run *run, uint64_t when_ns)
{
	if (when_ns < run->kill_by_ns)
		run->kill_by_ns = when_ns;
}

static void publish(struct run *run, uint64_t deadline_ns)
{
	run->deadline_ns = deadline_ns;
	atomic_store(&run->guard.share->deadline_ns, deadline_ns);
}

static void start_command(struct run *run)
{
	struct run_share *share = run->guard.share;
	size_t length;

	run->acquired_ns = clock_ns();
	publish(run, redlock_deadline_ns(run->lock));
	if (redlock_lock_token(run->lock, share->token, sizeof(share->token), &length) < 0)
		share->token[0] = '\0';
	link_send(run->guard.link, LINK_LAUNCH, 0);
	tell_granted(run);
}

static void stop_self(const struct run *run, enum run_event event)
{
	/* Without a terminal, who stopped the command does not know of this process: the lock is kept. */
	if (run->has_terminal || event != RUN_ON_CHILD_STOPPED)
		inbox_default(run->stop_signal);
}

static void disown(struct run *run)
{
	publish(run, 0);
	link_send(run->guard.link, LINK_LOOK, 0);
	if (run->order->on_loss == ON_LOSS_KILL)
		kill_by(run, clock_ns());
}

static void stop_all(struct run *run)
{
	link_send(run->guard.link, LINK_STOP, 0);
	kill_by(run, clock_ns() + run->times.kill_after_ms * 1000000);
}

static void start_release(struct run *run)
{
	run->result = redlock_start_release(run->lock);
	if (run->result < 0)
		apply(run, run->result == REDLOCK_E_STATE ? RUN_ON_RELEASE_GONE : RUN_ON_RELEASED);
}

static void act(struct run *run, unsigned actions, enum run_event event)
{
	if (actions & RUN_DO_WARN)
		tell_event(run, event);
	if (actions & RUN_DO_START)
		start_command(run);
	if (actions & RUN_DO_FORWARD)
		link_send(run->guard.link, LINK_SIGNAL, run->signal.number);
	if (actions & RUN_DO_STOP_SELF)
		stop_self(run, event);
	if (actions & RUN_DO_CANCEL)
		redlock_cancel(run->lock);
	if (actions & RUN_DO_STOP_ALL)
		stop_all(run);
	if (actions & RUN_DO_DISOWN)
		disown(run);
	if (actions & RUN_DO_TAKE_OVER) {
		guard_kill(&run->guard);
		run->taken_over = true;
	}
	if (actions & RUN_DO_RELEASE)
		start_release(run);
}

static void apply(struct run *run, enum run_event event)
{
	const struct run_rule *rule = run_step(run->state, event);

	if (!rule)
		return;
	run->code = code_of(run, rule->code);
	run->state = rule->next;
	act(run, rule->actions, event);
}

/* ---- Events
 * ------------------------------------------------------------------------------------------------ */

static void take_signals(struct run *run)
{
	while (inbox_next(&run->inbox, &run->signal)) {
		if (run->signal.sender == run->guard.pid && run->signal.number == SIGCONT)
			continue; /* it only wakes this process */
		if (run->signal.event == RUN_ON_TTY_END)
			run->end_signal_of_terminal = run->signal.number;
		if (run->signal.event == RUN_ON_STOP_SIGNAL || run->signal.event == RUN_ON_TTY_STOP)
			run->stop_signal = run->signal.number;
		apply(run, run->signal.event);
	}
}

/* True when the flag of the page is seen for the first time. */
static bool news(atomic_bool *flag, bool *known)
{
	if (*known || !atomic_load(flag))
		return false;
	*known = true;
	return true;
}

static void take_news(struct run *run, struct run_share *share)
{
	const int stopped_by = atomic_exchange(&share->stop_signal, 0);

	if (news(&share->near_end, &run->near_end)) {
		if (run->order->on_loss == ON_LOSS_KILL)
			kill_by(run, clock_ns() + run->times.kill_after_ms * 1000000);
		apply(run, RUN_ON_NEAR_END);
	}
	if (stopped_by != 0) {
		run->stop_signal = stopped_by;
		apply(run, RUN_ON_CHILD_STOPPED);
	}
	if (news(&share->exited, &run->exited)) {
		run->wait_status = atomic_load(&share->wait_status);
		apply(run, RUN_ON_CHILD_EXITED);
	}
	if (news(&share->all_gone, &run->all_gone))
		apply(run, RUN_ON_ALL_GONE);
}

static void look_at_guard(struct run *run)
{
	struct link_message message;
	int got = 1;

	if (run->guard_gone)
		return;
	while ((got = link_receive(run->guard.link, &message)) > 0)
		;
	/* Read after the messages: what one of them announced is seen now. */
	if (is_supervising(run))
		take_news(run, run->guard.share);
	run->guard_gone = got < 0;
	if (run->guard_gone && !run->all_gone)
		apply(run, RUN_ON_GUARD_GONE);
}

/* The guard's work, after its end: what it had in its care are this process's children now. */
static void finish_off(struct run *run)
{
	static const int kill_now[] = {SIGKILL};
	pid_t pid;

	(void)family_signal(getpid(), kill_now, 1);
	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		if (pid == run->guard.pid)
			run->guard.pid = 0;
	if (pid < 0 && errno == ECHILD && !run->all_gone) {
		run->all_gone = true;
		apply(run, RUN_ON_ALL_GONE);
	}
}

static enum run_event lock_event(const struct redlock_event *event)
{
	if (event->kind == REDLOCK_EVENT_DANGER)
		return RUN_ON_LATE;
	if (event->kind == REDLOCK_EVENT_LOST)
		return RUN_ON_LOSS;
	if (event->operation == REDLOCK_OP_ACQUIRE)
		return event->result == 0 ? RUN_ON_GRANTED : RUN_ON_REFUSED;
	return event->result == REDLOCK_E_GONE ? RUN_ON_RELEASE_GONE : RUN_ON_RELEASED;
}

static void take_lock_event(struct run *run, const struct redlock_event *event)
{
	if (event->lock == run->waiting.question) {
		run->self_wait =
		    run->state == RUN_WAITING && !waiting_tell(&run->waiting, &run->session, run->order->name);
		if (run->self_wait)
			redlock_cancel(run->lock);
		return;
	}
	if (event->kind == REDLOCK_EVENT_DONE)
		run->result = event->result;
	if (event->kind == REDLOCK_EVENT_DANGER)
		run->late = true;
	apply(run, lock_event(event));
}

/* A client that cannot go on can neither renew nor release: the lock is as good as lost. */
static void client_failed(struct run *run, int error)
{
	complain("%s", redlock_strerror(error));
	run->result = error;
	if (run->state == RUN_WAITING || run->state == RUN_GIVING_UP)
		apply(run, RUN_ON_REFUSED);
	else if (run->state == RUN_RELEASING)
		apply(run, RUN_ON_RELEASED);
	else
		apply(run, RUN_ON_LOSS);
}

static void drive_client(struct run *run)
{
	struct redlock_event event;
	int more = redlock_process(run->session.client);

	while (more >= 0 && run->state != RUN_ENDED && (more = redlock_next(run->session.client, &event)) > 0)
		take_lock_event(run, &event);
	if (more < 0)
		client_failed(run, more);
}

static void follow_deadline(struct run *run)
{
	const uint64_t deadline_ns = redlock_deadline_ns(run->lock);

	if (!is_supervising(run) || deadline_ns <= run->deadline_ns)
		return;
	publish(run, deadline_ns);
	if (run->late)
		tell_renewed(run);
	run->late = false;
}

/* ---- Times
 * ------------------------------------------------------------------------------------------------- */

static uint64_t overdue_ns(const struct run *run)
{
	uint64_t when_ns = run->kill_by_ns;

	if (!is_supervising(run) || run->taken_over)
		return UINT64_MAX;
	if (run->order->on_loss == ON_LOSS_KILL && run->deadline_ns - run->times.margin_ns < when_ns)
		when_ns = run->deadline_ns - run->times.margin_ns;
	return when_ns == UINT64_MAX ? UINT64_MAX : when_ns + OVERDUE_NS;
}

/* Times at which the supervisor has something to do by itself: when, and what. */
static uint64_t ask_ns(const struct run *run)
{
	return run->state == RUN_WAITING && !run->waiting.question ? run->begin_ns + ASK_WHO_AFTER_NS
	                                                           : UINT64_MAX;
}

static uint64_t max_hold_ns(const struct run *run)
{
	if (!is_supervising(run) || run->capped || run->settings->max_hold_ms == 0)
		return UINT64_MAX;
	return run->acquired_ns + run->settings->max_hold_ms * 1000000;
}

static uint64_t min_hold_ns(const struct run *run)
{
	return run->state == RUN_RESTING ? run->acquired_ns + run->settings->min_hold_ms * 1000000 : UINT64_MAX;
}

static uint64_t finish_off_ns(const struct run *run)
{
	return run->taken_over && is_supervising(run) ? clock_ns() + KILL_AGAIN_NS : UINT64_MAX;
}

static void arm(const struct run *run)
{
	const uint64_t times[] = {overdue_ns(run), ask_ns(run), max_hold_ns(run), min_hold_ns(run),
	                          finish_off_ns(run)};
	uint64_t first = UINT64_MAX;

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		if (times[i] < first)
			first = times[i];
	clock_alarm(run->timer, first);
}

static void keep_time(struct run *run)
{
	const uint64_t now_ns = clock_ns();

	if (now_ns >= overdue_ns(run))
		apply(run, RUN_ON_OVERDUE);
	if (run->taken_over && is_supervising(run))
		finish_off(run);
	if (now_ns >= max_hold_ns(run)) {
		run->capped = true;
		apply(run, RUN_ON_MAX_HOLD);
	}
	if (now_ns >= min_hold_ns(run))
		apply(run, RUN_ON_MIN_HOLD);
	if (now_ns >= ask_ns(run))
		(void)waiting_ask(&run->waiting, &run->session, run->order->name);
}

/* ---- Life
 * -------------------------------------------------------------------------------------------------- */

static void supervise(struct run *run)
{
	while (run->state != RUN_ENDED) {
		struct pollfd watched[] = {{.fd = run->timer, .events = POLLIN},
		                           {.fd = run->inbox.fd, .events = POLLIN},
		                           {.fd = run->guard_gone ? -1 : run->guard.link, .events = POLLIN},
		                           {.fd = redlock_fd(run->session.client), .events = POLLIN}};

		drive_client(run);
		follow_deadline(run);
		keep_time(run);
		if (run->state == RUN_ENDED)
			break;
		arm(run);
		if (redlock_timeout_ns(run->session.client) > 0)
			(void)poll(watched, 4, -1);
		take_signals(run);
		look_at_guard(run);
	}
}

static int make_lock(struct run *run)
{
	struct redlock_lock_options options;

	session_lock_options(run->settings, &options);
	options.renew_ms = run->times.renew_ms;
	options.danger_ms = run_times_late_ms(&run->times);
	options.min_validity_ms = run->times.kill_after_ms;
	return session_lock_with(&run->session, run->order->name, &options, &run->lock);
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
	complain("cannot start: %s", strerror(errno));
	return EXIT_INTERNAL;
}

/* Before there are connections and passwords: the guard has no part in them. */
static int make_guard(struct run *run)
{
	struct launch launch = {.argv = run->order->argv,
	                        .name = run->order->name,
	                        .ttl_ms = run->settings->ttl_ms,
	                        .mask = run->inbox.mask,
	                        .own_group = !run->has_terminal && !run->settings->foreground,
	                        .group = getpgrp(),
	                        .die_with_guard = run->order->on_loss == ON_LOSS_KILL};
	struct watch watch;

	watch_init(&watch, run->order->on_loss, run->times.kill_after_ms * 1000000, run->times.margin_ns);
	if (guard_start(&run->guard, &launch, &watch) < 0)
		return cannot_start();
	return EXIT_OK;
}

static int begin(struct run *run)
{
	int code;

	run->has_terminal = has_terminal();
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1); /* in case the guard is killed */
	if (inbox_open(&run->inbox) < 0 || (run->timer = clock_timer()) < 0)
		return cannot_start();
	code = make_guard(run);
	if (code == EXIT_OK)
		code = session_open(&run->session, run->settings);
	if (code == EXIT_OK)
		code = make_lock(run);
	if (code != EXIT_OK)
		return code;
	streams_drop(STDOUT_FILENO); /* the command's, not ours; the guard keeps them for it */
	run->begin_ns = clock_ns();
	run->result = redlock_start_acquire(run->lock);
	if (run->result == 0 && signals_caught()) { /* before the inbox was there */
		run->signal = (struct inbox_signal){.number = signals_caught()};
		apply(run, RUN_ON_END_SIGNAL);
	}
	return run->result == 0 ? EXIT_OK : outcome_of_error(run->result);
}

static void end(struct run *run)
{
	struct report report;

	run->ended_ns = clock_ns();
	if (run->session.client) {
		session_drain(&run->session);
		session_warn_lingering(&run->session, run->order->name);
	}
	if (run->guard.share && run->order->report_fd >= 0) {
		report_collect(&report, "run", run->order->name, run->result, &run->session, run->lock);
		record_write(run, &report);
	}
	waiting_end(&run->waiting);
	redlock_lock_free(run->lock);
	session_close(&run->session);
	guard_close(&run->guard);
	if (run->timer >= 0)
		close(run->timer);
	inbox_close(&run->inbox);
}

int run_supervise(const struct settings *settings, const struct run_order *order)
{
	struct run run = {.settings = settings, .order = order, .state = RUN_WAITING, .kill_by_ns = UINT64_MAX};

	run.timer = run.inbox.fd = run.guard.link = -1;
	run_times_init(&run.times, settings);
	run.code = begin(&run);
	if (run.code == EXIT_OK || run.state != RUN_WAITING)
		supervise(&run);
	end(&run);
	if (run.die_of)
		inbox_default(run.die_of);
	return run.code;
}
