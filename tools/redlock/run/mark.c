/* SPDX-License-Identifier: MIT */
#include "mark.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../host.h"
#include "../message.h"
#include "run.h"

enum { CONNECT_MS = 1000 };

#define DEFAULT_KEEP_MS (UINT64_C(30) * 24 * 3600 * 1000)

static bool is_wanted(const struct settings *settings)
{
	return settings->once_per_ms > 0 || settings->remember_ms > 0;
}

/* At least as long as the period: the next run has to find it. */
static uint64_t keep_ms(const struct settings *settings)
{
	uint64_t ms = settings->remember_ms > 0 ? settings->remember_ms : DEFAULT_KEEP_MS;
	return ms > settings->once_per_ms ? ms : settings->once_per_ms;
}

/* A second for new connections, where a renewal can wait that long. */
static uint64_t timeout_ms(const struct run *run)
{
	uint64_t most_ms = run->times.renew_ms / 2, ms = run->times.node_timeout_ms + CONNECT_MS;
	return ms < most_ms ? ms : most_ms > run->times.node_timeout_ms ? most_ms : run->times.node_timeout_ms;
}

/* A run without a known end counts: it may have done its work, or still do it. */
static bool counts(const struct settings *settings, const struct marker_reading *r)
{
	bool failed = r->last.exit_code > 0;
	return marker_is_run(&r->last) && r->age_ms < settings->once_per_ms &&
	       !(failed && settings->retry_failed);
}

static bool is_to_skip(struct run *run, const struct marker_reading *r)
{
	char words[512], period[32];
	run->skipped = run->settings->once_per_ms > 0 && counts(run->settings, r);
	if (run->skipped && run->settings->verbose)
		say_now(run->settings, MSG(NOT_AGAIN),
		        marker_time_text(run->settings->once_per_ms, period, sizeof period),
		        marker_words(r, words, sizeof words));
	return run->skipped;
}

bool mark_look(struct run *run)
{
	struct marker_reading reading;
	if (!is_wanted(run->settings))
		return true;
	errno = ENOMEM;
	if (!marker_open(&run->mark.nodes, &run->session, run->order->name, timeout_ms(run)))
		return false;
	/* Without a quorum the answers to the lock say why. */
	if (marker_read(&run->mark.nodes, &reading) && is_to_skip(run, &reading))
		marker_heal(&run->mark.nodes, &reading);
	return true;
}

static void fill_own(struct run *run)
{
	struct marker *own = &run->mark.own;
	char token[REDLOCK_MAX_TOKEN + 1] = "";
	size_t length;
	int error = redlock_lock_token(run->lock, token, sizeof token, &length);
	const char *label = error == 0 ? strchr(token, '|') : NULL;
	run->mark.began_ns = clock_ns();
	*own = (struct marker){.run = run->mark.before.last.run + 1,
	                       .keep_ms = keep_ms(run->settings),
	                       .start_ms = ((uint64_t)((int64_t)run->mark.began_ns + clock_ahead_ns())) / 1000000,
	                       .exit_code = -1};
	host_name(own->host, sizeof own->host);
	snprintf(own->label, sizeof own->label, "%s", label != NULL && label[1] != '\0' ? label + 1 : "-");
}

/* The job did not run: the run before it is the last one again. The number is a new one, so that a write
 * that a server executes late does not count. */
static void take_back(struct run *run)
{
	struct mark *mark = &run->mark;
	uint64_t gone_ms = (clock_ns() - mark->began_ns) / 1000000, left_ms = mark->before.left_ms;
	struct marker former = mark->before.last;
	if (former.run == 0) {
		former = mark->own;
		former.exit_code = MARKER_NO_RUN;
		left_ms = former.keep_ms;
	}
	former.run = mark->own.run + 1;
	(void)marker_write(&mark->nodes, &former, left_ms > gone_ms ? left_ms - gone_ms : 1);
	mark->own.run = 0;
}

enum mark_verdict mark_begin(struct run *run)
{
	struct mark *mark = &run->mark;
	unsigned quorum = redlock_quorum(run->session.client);
	if (mark->nodes.asker == NULL)
		return MARK_GO;
	bool known = marker_read(&mark->nodes, &mark->before);
	if (known && is_to_skip(run, &mark->before))
		return MARK_SKIP;
	if (known) {
		fill_own(run);
		if (marker_write(&mark->nodes, &mark->own, mark->own.keep_ms) >= quorum)
			return MARK_GO;
		take_back(run);
	}
	if (run->settings->once_per_ms > 0)
		return MARK_FAIL;
	say_now(run->settings, MSG(MARK_LOST), mark->nodes.key, mark->nodes.why);
	return MARK_GO;
}

struct outcome mark_trouble(const struct run *run)
{
	return outcome_of(REDLOCK_E_NOQUORUM, run->mark.nodes.votes, redlock_node_count(run->session.client));
}

/* Another run may have begun since the lock ended, and its marker stays. */
static bool may_write(const struct run *run)
{
	return run->mark.own.run > 0 && run->state != RUN_LOST &&
	       redlock_remaining_ms(run->lock) > run->mark.nodes.timeout_ms;
}

void mark_end(struct run *run)
{
	struct mark *mark = &run->mark;
	if (!may_write(run))
		return;
	if (run->too_late || atomic_load(&run->guard.share->exec_error) != 0) {
		take_back(run);
		return;
	}
	mark->own.took_ms = (clock_ns() - mark->began_ns) / 1000000;
	mark->own.exit_code = run->code;
	uint64_t keep = mark->own.keep_ms;
	(void)marker_write(&mark->nodes, &mark->own, keep > mark->own.took_ms ? keep - mark->own.took_ms : 1);
	mark->own.run = 0;
}

void mark_close(struct run *run)
{
	marker_close(&run->mark.nodes);
}
