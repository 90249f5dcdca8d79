/* SPDX-License-Identifier: MIT */
/* The messages of `redlock run` on stderr, and to systemd. */
#include <stdio.h>
#include <string.h>

#include "../clock.h"
#include "../message.h"
#include "../printable.h"
#include "../streams.h"
#include "notify.h"
#include "run.h"

/* Messages have it between apostrophes: 'a', 'b'. */
static const char *name_of(const struct run *run, char *buffer, size_t size)
{
	const struct text_list *also = &run->settings->also;
	char shown[PRINTABLE_MAX];
	printable(run->order->name, strlen(run->order->name), buffer, size);
	for (size_t i = 0, used = strlen(buffer); i < also->count && used < size; i++)
		used += (size_t)snprintf(buffer + used, size - used, "', '%s",
		                         printable(also->items[i], strlen(also->items[i]), shown, sizeof shown));
	return buffer;
}

static double seconds(uint64_t from_ns, uint64_t to_ns)
{
	return to_ns > from_ns ? (double)(to_ns - from_ns) / 1e9 : 0;
}

void tell_refused(const struct run *run)
{
	if (run->settings->verbose)
		report_votes(run->report);
	bool is_silent = run->order->silent_when_busy && !run->settings->verbose;
	if (run->result == REDLOCK_E_BUSY && is_silent && !report_is_stuck(run->report))
		return;
	if (run->rights.refused)
		say(run->settings, MSG(RIGHTS));
	if (run->result != REDLOCK_E_CANCELLED)
		report_failure(run->report, run->settings);
}

/* By itself: the compiler touches each page of a large frame, 12 page faults that nobody should pay who is
 * told nothing. */
__attribute__((noinline)) static void tell_grant_votes(struct run *run, const char *name)
{
	struct report report;
	report_collect(&report, "run", name, 0, &run->session, run->lock);
	report_votes(&report);
}

void tell_granted(struct run *run)
{
	double waited = seconds(run->waiting.view.begin_ns, run->acquired_ns);
	char name[PRINTABLE_MAX];
	name_of(run, name, sizeof name);
	notify_status("READY=1", "holding '%s'", name);
	if (run->settings->verbose || *run->waiting.view.said)
		say_now(run->settings, MSG(ACQUIRED), name, waited);
	if (run->settings->verbose && streams_take_errors())
		tell_grant_votes(run, run->order->name);
}

/* By itself, as above. */
__attribute__((noinline)) static bool tell_missing_votes(struct run *run)
{
	struct report report;
	report_collect(&report, "run", run->order->name, 0, &run->session, run->lock);
	return report_degraded(&report, run->settings);
}

/* A job that runs while fewer nodes vote than there are: once; and once more when the next failure would end
 * it, as nodes that have lost the key do not get it back. Nodes that said no to the acquire count from the
 * first renewal on: a short job among contenders has no more votes than it needs. A round without a quorum is
 * told of as late. */
void tell_degraded(struct run *run)
{
	bool renews = seconds(run->acquired_ns, clock_ns()) * 1e3 >= (double)run->times.renew_ms;
	unsigned nodes = redlock_node_count(run->session.client), quorum = redlock_quorum(run->session.client);
	unsigned granted = 0, missing = 0, pending = 0;
	for (unsigned i = 0; i < nodes && !run->brink_told; i++) {
		struct redlock_vote vote = {.size = sizeof vote};
		if (redlock_lock_vote(run->lock, i, &vote) < 0)
			continue;
		granted += vote.code == REDLOCK_VOTE_YES;
		pending += vote.code == REDLOCK_VOTE_PENDING;
		missing += redlock_vote_kind(vote.code) >= REDLOCK_KIND_MISSING;
	}
	bool brink = granted == quorum && pending == 0 && granted < nodes;
	if (granted >= quorum && ((brink && renews) || (missing > 0 && !run->degraded_told))) {
		run->degraded_told = tell_missing_votes(run);
		run->brink_told = brink; /* the line says it, also before the first renewal */
	}
}

void tell_renewed(const struct run *run)
{
	char name[PRINTABLE_MAX];
	say_now(run->settings, MSG(RENEWED), name_of(run, name, sizeof name));
}

void tell_leftovers(const struct run *run)
{
	char name[PRINTABLE_MAX];
	say_now(run->settings, MSG(LEFTOVERS), name_of(run, name, sizeof name));
}

void tell_unseen(const struct run *run)
{
	say_now(run->settings, MSG(UNSEEN));
}

void tell_cannot_execute(const struct run *run, int error)
{
	const char *command = run->order->argv[0];
	char shown[PRINTABLE_MAX];
	say_now(run->settings, MSG(EXECUTE), printable(command, strlen(command), shown, sizeof shown),
	        strerror(error));
}

void tell_note_votes(struct run *run)
{
	struct redlock_vote vote = {.size = sizeof vote};
	for (unsigned i = 0; i < redlock_node_count(run->session.client); i++)
		if (redlock_lock_vote(run->lock, i, &vote) == 0 && vote.code != REDLOCK_VOTE_PENDING)
			run->refusals[i] = vote.code == REDLOCK_VOTE_YES ? REDLOCK_VOTE_PENDING : vote.code;
}

/* Why there is no renewal: each node's answer to the last one, or its refusal of the one before. */
static void tell_votes(const struct run *run)
{
	struct redlock_vote vote = {.size = sizeof vote};
	char error[PRINTABLE_MAX];
	for (unsigned i = 0; i < redlock_node_count(run->session.client); i++) {
		struct redlock_node_status status = {.size = sizeof status};
		if (redlock_lock_vote(run->lock, i, &vote) < 0 || vote.code == REDLOCK_VOTE_YES ||
		    redlock_node_status(run->session.client, i, &status) < 0)
			continue;
		enum redlock_vote_code code = vote.code == REDLOCK_VOTE_PENDING ? run->refusals[i] : vote.code;
		/* The text is that of the node's last failure, which may be another one: a silence of the connection
		 * is not that of this renewal, which waits for a shorter time. */
		bool told = code == status.last_failure && code != REDLOCK_VOTE_TIMEOUT;
		printable(status.last_error, told ? strlen(status.last_error) : 0, error, sizeof error);
		say_now(run->settings, MSG(VOTE), i + 1, status.address, redlock_vote_text(code), *error ? ": " : "",
		        error);
	}
}

/* Why its time is over so soon. */
static void tell_leap(const struct run *run)
{
	uint64_t leap_ms = redlock_leapt_ms(run->session.client) - run->leapt_ms;
	if (leap_ms > 0)
		say_now(run->settings, MSG(CLOCK_SET), (double)leap_ms / 1e3);
}

/* The process that works under the lock: the command, or the process that gave rflock a descriptor. */
static const char *worker(const struct run *run)
{
	return run->order->hold != NULL   ? "the caller of rflock"
	       : run->order->term != NULL ? "this leader"
	                                  : "the command";
}

static void tell_late(const struct run *run, const char *name)
{
	double left = seconds(clock_ns(), run->deadline_ns);
	double grace = (double)run->times.kill_after_ms / 1e3;
	if (run->order->on_loss == ON_LOSS_WARN)
		say_now(run->settings, MSG(LATE_WARN), name, left);
	else
		say_now(run->settings, MSG(LATE), name, worker(run), left > grace ? left - grace : 0);
	tell_leap(run);
	tell_votes(run);
}

/* The consequence for the command. */
static const char *consequence(const struct run *run)
{
	switch (run->order->on_loss) {
	case ON_LOSS_KILL:
		return "it is stopped: TERM, then KILL before the lock ends";
	case ON_LOSS_TERM:
		return "it got TERM, and nothing more (--on-loss term)";
	case ON_LOSS_WARN:
		break;
	}
	return "it runs on without the lock (--on-loss warn)";
}

static void tell_loss(const struct run *run, const char *name)
{
	if (run->state == RUN_ENDED) { /* while resting */
		say_now(run->settings, MSG(LOST_AFTER), name,
		        run->settings->min_hold_ms > 0 ? "--min-hold was over" : "its release", worker(run));
		return;
	}
	if (run->ended_before)
		say_now(run->settings, MSG(LOST_ENDED), name, worker(run));
	else if (run->order->on_loss == ON_LOSS_KILL)
		say_now(run->settings, MSG(LOST_KILLED), name, worker(run));
	else
		say_now(run->settings, MSG(LOST), name, consequence(run));
	if (!run->near_end) /* then it was said */
		tell_leap(run);
	tell_votes(run);
}

static void tell_unmarked(const struct run *run)
{
	const char *hint = mark_trouble(run).hint;
	say_now(run->settings, MSG(MARK_REFUSED), run->mark.nodes.key, run->mark.nodes.why);
	if (hint != NULL)
		say_now(run->settings, MSG(HINT), hint);
}

void tell_event(const struct run *run, enum run_event event)
{
	char name[PRINTABLE_MAX];
	name_of(run, name, sizeof name);
	switch (event) {
	case RUN_ON_LATE:
		tell_late(run, name);
		break;
	case RUN_ON_UNMARKED:
		tell_unmarked(run);
		break;
	case RUN_ON_TOO_LATE:
		notify_status("STOPPING=1", "'%s' ended before the command was started", name);
		say_now(run->settings, MSG(TOO_LATE), name);
		tell_leap(run);
		break;
	case RUN_ON_NEAR_END:
		notify_status("STOPPING=1", "losing '%s', stopping the command", name);
		say_now(run->settings, MSG(NEAR_END), name, worker(run), consequence(run));
		tell_leap(run);
		break;
	case RUN_ON_LOSS:
		notify_status("STOPPING=1", "lost '%s'", name);
		tell_loss(run, name);
		break;
	case RUN_ON_MAX_HOLD:
		notify_status("STOPPING=1", "--max-hold is reached, stopping the command");
		say_now(run->settings, MSG(MAX_HOLD), worker(run), (double)run->times.kill_after_ms / 1e3);
		break;
	case RUN_ON_OVERDUE:
		say_now(run->settings, MSG(OVERDUE), worker(run));
		break;
	case RUN_ON_GUARD_GONE:
		say_now(run->settings, MSG(GUARD_KILLED), worker(run));
		break;
	case RUN_ON_RELEASE_GONE:
		say_now(run->settings, MSG(RELEASE_LOST), name);
		break;
	default:
		break;
	}
}
