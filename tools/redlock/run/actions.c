/* SPDX-License-Identifier: MIT */
/* Carries out the actions of the supervisor's rules. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../clock.h"
#include "../exit_codes.h"
#include "../live.h"
#include "../streams.h"
#include "run.h"
#include "term.h"

/* ---- exit codes ---- */

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

/* Finds the client that has the lock instead, and for how long that was certain. */
static void find_holder(struct run *run)
{
	report_find_holder(run->report, &run->session, run->lock);
	if (run->report->has_standing)
		waiting_date(&run->waiting, &run->session, &run->report->standing);
}

static int refusal_code(struct run *run)
{
	if (run->rights.refused)
		run->result = REDLOCK_E_NOQUORUM;
	else if (run->self_wait) /* which was ended by a cancel */
		run->result = REDLOCK_E_BUSY;
	report_collect(run->report, "run", run->order->name, run->result, &run->session,
	               run->rights.refused ? run->rights.question : run->lock);
	run->report->slots = (unsigned)run->settings->slots;
	if (run->order->report_fd >= 0 || !run->self_wait) /* also for -q: the exit code depends on it */
		find_holder(run);
	if (run->result == REDLOCK_E_LOST) { /* this process was stopped while the lock was granted and ended */
		tell_event(run, RUN_ON_TOO_LATE);
		return EXIT_LOST;
	}
	if (!run->self_wait) /* it was said */
		tell_refused(run);
	if (run->result == REDLOCK_E_BUSY && !report_is_stuck(run->report))
		return run->order->busy_code;
	return run->report->outcome.code == EXIT_NOQUORUM ? run->order->no_quorum_code
	                                                  : run->report->outcome.code;
}

static int mark_code(const struct run *run)
{
	int code = mark_trouble(run).code;
	return code == EXIT_NOQUORUM ? run->order->no_quorum_code : code;
}

static int code_of(struct run *run, enum run_code code)
{
	switch (code) {
	case RUN_CODE_KEEP:
		break;
	case RUN_CODE_SKIPPED:
		return EXIT_OK;
	case RUN_CODE_OF_MARK:
		return mark_code(run);
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

/* ---- actions ---- */

void run_kill_by(struct run *run, uint64_t when_ns)
{
	if (when_ns < run->kill_by_ns)
		run->kill_by_ns = when_ns;
}

void run_publish(struct run *run, uint64_t deadline_ns, int64_t ahead_ns)
{
	run->deadline_ns = deadline_ns;
	share_set_deadline(run->guard.share, deadline_ns, ahead_ns);
}

static void start_command(struct run *run)
{
	struct run_share *share = run->guard.share;
	wait_view_end(&run->waiting.view);
	run->acquired_ns = run->waiting.view.end_ns;
	run_follow_maximum(run, true);
	int64_t ahead_ns = clock_ahead_ns();
	run_publish(run, redlock_deadline_ns(run->lock), ahead_ns);
	run->leapt_ms = redlock_leapt_ms(run->session.client);
	size_t length;
	if (redlock_lock_token(run->lock, share_token(share), REDLOCK_MAX_TOKEN + 1, &length) < 0)
		*share_token(share) = '\0';
	snprintf(share->fence_variable, sizeof share->fence_variable, SHARE_FENCE_IS "%llu",
	         (unsigned long long)redlock_lock_fence(run->lock));
	snprintf(share->ttl_variable, sizeof share->ttl_variable, SHARE_TTL_IS "%llu",
	         (unsigned long long)run->times.ttl_ms);
	atomic_store(&share->kill_after_ns, run->times.kill_after_ms * 1000000);
	atomic_store(&share->margin_ns, run->times.margin_ns);
	unsigned slot = 0;
	if (redlock_lock_slot(run->lock, &slot) == 0)
		snprintf(share->slot_variable, sizeof share->slot_variable, SHARE_SLOT_IS "%u", slot);
	if (run->order->hold != NULL)
		(void)prctl(PR_SET_PDEATHSIG, 0); /* the caller ends now, the lock does not */
	/* Only this message is not made up for later, by a time that comes or by who waits for it. */
	if (!link_send(run->guard.link, LINK_LAUNCH, 0))
		guard_kill(&run->guard);
	tell_granted(run);
	if (run->order->hold != NULL && !run->order->hold->has_errors)
		streams_drop(STDERR_FILENO);
	session_remember(&run->session);
}

static void stop_self(const struct run *run, enum run_event event)
{
	/* Without a terminal, who stopped the command does not know of this process: the lock is kept. */
	if (!run->has_terminal && event == RUN_ON_CHILD_STOPPED)
		return;
	live_erase(); /* it is drawn again afterwards */
	atomic_store(&run->guard.share->stopping, true);
	inbox_stop(run->stop_signal);
	atomic_store(&run->guard.share->stopping, false);
}

static void disown(struct run *run)
{
	run->ended_before = atomic_load(&run->guard.share->all_gone); /* soon the guard has killed them */
	run_publish(run, 0, 0);
	link_send(run->guard.link, LINK_LOOK, 0);
	if (run->order->on_loss == ON_LOSS_KILL)
		run_kill_by(run, clock_ns());
}

static void stop_all(struct run *run)
{
	link_send(run->guard.link, LINK_STOP, 0);
	run_kill_by(run, clock_ns() + run->times.kill_after_ms * 1000000);
}

/* Returns the event that follows at once, RUN_EVENT_COUNT for none. */
static enum run_event start_release(struct run *run)
{
	if (run->order->term != NULL)
		term_hide(run->order->term);
	run->result = redlock_start_release(run->lock);
	if (run->result == 0)
		return RUN_EVENT_COUNT;
	return run->result == REDLOCK_E_STATE ? RUN_ON_RELEASE_GONE : RUN_ON_RELEASED;
}

static enum run_event act(struct run *run, unsigned actions, enum run_event event)
{
	if (actions & RUN_DO_START)
		start_command(run);
	if (actions & RUN_DO_FORWARD) {
		link_send(run->guard.link, LINK_SIGNAL, run->signal.number);
		guard_wake(&run->guard);
	}
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
	if (actions & RUN_DO_WARN)
		tell_event(run, event);
	return actions & RUN_DO_RELEASE ? start_release(run) : RUN_EVENT_COUNT;
}

void run_apply(struct run *run, enum run_event event)
{
	const struct run_rule *rule;
	while ((rule = run_step(run->state, event)) != NULL) {
		run->code = code_of(run, rule->code);
		run->state = rule->next;
		event = act(run, rule->actions, event);
	}
}
