/* SPDX-License-Identifier: MIT */
/* Turns signals, messages of the guard and results of the client into events of the supervisor's rules. */
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../clock.h"
#include "../message.h"
#include "run.h"

void run_take_signals(struct run *run)
{
	while (inbox_next(&run->inbox, &run->signal)) {
		if (run->signal.sender == run->guard.pid && run->signal.number == SIGCONT)
			continue; /* it only wakes this process */
		if (run->signal.event == RUN_ON_TTY_END)
			run->end_signal_of_terminal = run->signal.number;
		if (run->signal.event == RUN_ON_STOP_SIGNAL || run->signal.event == RUN_ON_TTY_STOP)
			run->stop_signal = run->signal.number;
		run_apply(run, run->signal.event);
	}
}

/* True when it is seen for the first time. */
static bool is_news(bool seen, bool *known)
{
	bool first = seen && !*known;
	*known = *known || seen;
	return first;
}

/* The guard writes too_late or near_end, outlived, exited, all_gone in this order: read the other way round,
 * none is seen without those before it. */
static void take_news(struct run *run, struct run_share *share)
{
	int stopped_by = atomic_exchange(&share->stop_signal, 0);
	bool all_gone = atomic_load(&share->all_gone);
	bool exited = atomic_load(&share->exited);
	bool outlived = atomic_load(&share->outlived);
	bool near_end = atomic_load(&share->near_end);
	bool too_late = atomic_load(&share->too_late);
	if (is_news(atomic_load(&share->unseen), &run->unseen))
		tell_unseen(run);
	if (is_news(too_late, &run->too_late))
		run_apply(run, RUN_ON_TOO_LATE);
	if (is_news(near_end, &run->near_end)) {
		if (run->order->on_loss == ON_LOSS_KILL)
			run_kill_by(run, clock_ns() + run->times.kill_after_ms * 1000000);
		run_apply(run, RUN_ON_NEAR_END);
	}
	if (is_news(outlived, &run->outlived))
		run_apply(run, RUN_ON_LOSS);
	if (is_news(exited, &run->exited)) {
		run->wait_status = atomic_load(&share->wait_status);
		run->exited_ns = clock_ns();
		run_apply(run, RUN_ON_CHILD_EXITED);
	}
	if (is_news(all_gone, &run->all_gone)) {
		mark_end(run);
		run_apply(run, RUN_ON_ALL_GONE);
	}
	/* At last: this process may stop here, and then what it has read is old. */
	if (stopped_by != 0 && !run->exited) {
		run->stop_signal = stopped_by;
		run_apply(run, RUN_ON_CHILD_STOPPED);
	}
}

void run_look_at_guard(struct run *run)
{
	int got = 1;
	if (run->guard_gone)
		return;
	struct link_message message;
	while ((got = link_receive(run->guard.link, &message)) > 0)
		;
	/* Read after the messages: what one of them announced is seen now. */
	if (run_has_processes(run))
		take_news(run, run->guard.share);
	run->guard_gone = got < 0;
	if (run->guard_gone && !run->all_gone)
		run_apply(run, RUN_ON_GUARD_GONE);
}

/* The guard's work, after its end: what it had in its care are this process's children now. */
void run_finish_off(struct run *run)
{
	if (is_news(!guard_signal_heirs(&run->guard, SIGKILL), &run->unseen))
		tell_unseen(run);
	pid_t pid;
	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		if (pid == run->guard.pid)
			run->guard.pid = 0;
	if (pid < 0 && errno == ECHILD && !run->all_gone) {
		run->all_gone = true;
		mark_end(run);
		run_apply(run, RUN_ON_ALL_GONE);
	}
}

/* RUN_EVENT_COUNT: nothing of concern here. */
static enum run_event lock_event(const struct redlock_event *event)
{
	if (event->kind == REDLOCK_EVENT_LOST)
		return RUN_ON_LOSS;
	if (event->kind != REDLOCK_EVENT_DONE)
		return RUN_EVENT_COUNT;
	if (event->operation == REDLOCK_OP_ACQUIRE)
		return event->result == 0 ? RUN_ON_GRANTED : RUN_ON_REFUSED;
	return event->result == REDLOCK_E_GONE ? RUN_ON_RELEASE_GONE : RUN_ON_RELEASED;
}

/* The command may start, unless --once-per has something against it. */
static void take_lock(struct run *run)
{
	static const enum run_event events[] = {
	    [MARK_GO] = RUN_ON_GRANTED, [MARK_SKIP] = RUN_ON_SKIPPED, [MARK_FAIL] = RUN_ON_UNMARKED};
	run_apply(run, events[mark_begin(run)]);
}

/* The command must not begin under a lock that cannot be renewed. The lock is released again as far as
 * possible. */
static void take_rights(struct run *run, int result)
{
	bool granted = run->grant_waits;
	rights_take(&run->rights, &run->session, result);
	run->grant_waits = false;
	if (run->rights.refused && run->state == RUN_WAITING) {
		if (granted)
			run->result = redlock_start_release(run->lock);
		else
			(void)redlock_cancel(run->lock);
		run_apply(run, RUN_ON_REFUSED);
	} else if (granted) {
		if (redlock_deadline_ns(run->lock) > 0)
			take_lock(run);
		else
			run_apply(run, RUN_ON_TOO_LATE);
	}
}

/* A client that cannot go on can neither renew nor release: the lock is as good as lost. */
static void client_failed(struct run *run, int error)
{
	if (!run->client_failed)
		say_now(run->settings, MSG(LIBRARY), redlock_strerror(error));
	run->client_failed = true;
	run->result = error;
	if (run->state == RUN_WAITING || run->state == RUN_GIVING_UP)
		run_apply(run, RUN_ON_REFUSED);
	else if (run->state == RUN_RELEASING)
		run_apply(run, RUN_ON_RELEASED);
	else
		run_apply(run, RUN_ON_LOSS);
}

/* The grant waits until the rights are known. Without an answer there is no command. */
static void take_grant(struct run *run)
{
	enum rights_wait wait = rights_wait(&run->rights, &run->session, run->order->name);
	run->grant_waits = wait == RIGHTS_WAIT;
	if (wait == RIGHTS_FAIL) {
		run->result = redlock_start_release(run->lock); /* as far as that goes */
		client_failed(run, REDLOCK_E_NOMEM);
	} else if (wait == RIGHTS_GO) {
		take_lock(run);
	}
}

static void take_lock_event(struct run *run, const struct redlock_event *event)
{
	if (event->lock == run->rights.question) {
		take_rights(run, event->result);
		return;
	}
	if (event->lock == run->rivals.question) {
		run_rivals_take(&run->rivals, &run->session, run->order->name);
		return;
	}
	if (event->lock == run->waiting.question) {
		run->self_wait = run->state == RUN_WAITING && !run->grant_waits &&
		                 !waiting_answered(&run->waiting, &run->session, run_busy_name(run), event->result);
		if (run->self_wait)
			redlock_cancel(run->lock);
		return;
	}
	if (event->lock == run->leader.question) {
		leader_answered(&run->leader, &run->session, run->times.ttl_ms);
		return;
	}
	bool refused = event->kind == REDLOCK_EVENT_DONE && event->operation == REDLOCK_OP_ACQUIRE;
	if (refused && run->state == RUN_WAITING && !run->grant_waits && run_shorten(run, event->result))
		return;
	if (event->kind == REDLOCK_EVENT_DONE)
		run->result = event->result;
	if (event->kind == REDLOCK_EVENT_DONE && event->operation == REDLOCK_OP_RELEASE)
		run->given_back = event->result == 0;
	/* The command may have ended before that: the guard knows. */
	if (event->kind == REDLOCK_EVENT_LOST)
		run_look_at_guard(run);
	/* A grant that waits is applied, or is too late, when the rights are known. */
	if (run->grant_waits || lock_event(event) == RUN_EVENT_COUNT)
		return;
	if (lock_event(event) == RUN_ON_GRANTED && run->state == RUN_WAITING)
		take_grant(run);
	else
		run_apply(run, lock_event(event));
}

void run_drive_client(struct run *run)
{
	struct redlock_event event = {.size = sizeof event};
	int more = redlock_process(run->session.client);
	tell_note_votes(run);
	while (more >= 0 && run->state != RUN_ENDED && (more = redlock_next(run->session.client, &event)) > 0)
		take_lock_event(run, &event);
	if (more < 0)
		client_failed(run, more);
	else if (run_has_processes(run))
		tell_degraded(run);
	if (run->state == RUN_HELD && clock_ns() >= run->acquired_ns + run->times.renew_ms * 1000000)
		run_rivals_ask(&run->rivals, &run->session, run->lock, run->order->name,
		               redlock_deadline_ns(run->lock));
}

void run_follow_deadline(struct run *run)
{
	int64_t ahead_ns = clock_ahead_ns(); /* first: a clock that is set in between counts twice, not never */
	uint64_t deadline_ns = redlock_deadline_ns(run->lock);
	if (!run_has_processes(run) || deadline_ns == 0 || deadline_ns == run->deadline_ns)
		return;
	bool renewed = deadline_ns > run->deadline_ns;
	run_follow_maximum(run, false);
	run_publish(run, deadline_ns, ahead_ns);
	if (!renewed) /* the guard has seen itself that the wall clock was set */
		return;
	run->leapt_ms = redlock_leapt_ms(run->session.client);
	if (run->late)
		tell_renewed(run);
	run->late = false;
}
