/* SPDX-License-Identifier: MIT */
/* Deadlines of the library: it must end every operation, and report every loss, in time. */
#include "handle_inside.h"

/* So many node timeouts split votes may take. */
enum { CONTENTION = 5 };

/* The default: 200 ms, at most a third of the TTL. */
#define MOST_NODE_TIMEOUT_NS (200 * SIM_MS)

/* A process that paused gets the slack again from when it went on, and the time of one round: a query that
 * waited for a renewal begins only then. Later than this is too late. */
static uint64_t latest(const struct actor *a, uint64_t due_ns)
{
	uint64_t from = a->paused ? a->resume_ns : a->resumed_ns;
	uint64_t again_ns = from + MOST_NODE_TIMEOUT_NS + SLACK_NS;
	return again_ns > due_ns ? again_ns : due_ns;
}

static void operation_due(struct world *w, uint32_t subject, uint64_t operation)
{
	const struct actor *a = &w->actors[subject >> 8];
	struct handle *h = handle_of(w, subject);
	if (h->operation != operation || h->running == REDLOCK_OP_NONE)
		return;
	uint64_t stopped_ns = a->stopped_ns - h->stopped_ns;
	h->stopped_ns = a->stopped_ns;
	if (stopped_ns > 0) /* its wait stood still */
		world_after(w, stopped_ns, operation_due, subject, operation);
	else if (latest(a, w->now_ns) > w->now_ns)
		world_at(w, latest(a, w->now_ns), operation_due, subject, operation);
	else
		check_fail(w, VIOLATION_NO_ANSWER, "c%u operation %d on resource %u", a->index, (int)h->running,
		           h->resource);
}

static void notice_due(struct world *w, uint32_t subject, uint64_t claim)
{
	const struct actor *a = &w->actors[subject >> 8];
	const struct handle *h = handle_of(w, subject);
	if (h->claim != claim || h->lock == NULL)
		return;
	if (latest(a, w->now_ns) > w->now_ns)
		world_at(w, latest(a, w->now_ns), notice_due, subject, claim);
	else
		check_fail(w, VIOLATION_NOTICE, "c%u was not told that resource %u is lost", a->index, h->resource);
}

void handle_expect_notice(struct world *w, uint32_t actor, uint32_t slot)
{
	struct handle *h = &w->actors[actor].handles[slot];
	h->claimed_ns = w->now_ns;
	h->claim++;
	world_at(w, h->until_ns + SLACK_NS, notice_due, subject_of(actor, slot), h->claim);
}

static uint64_t node_timeout_ns(const struct handle *h)
{
	uint64_t ns = h->options.ttl_ms * SIM_MS / 3;
	return ns < MOST_NODE_TIMEOUT_NS ? ns : MOST_NODE_TIMEOUT_NS;
}

static uint64_t due_in(const struct handle *h, enum redlock_operation operation)
{
	uint64_t wait_ms = h->options.wait_ms;
	if (operation == REDLOCK_OP_QUERY || operation == REDLOCK_OP_UPGRADE)
		/* A query may wait for a renewal; nodes whose numbers differ are asked once more for an upgrade. */
		return 2 * node_timeout_ns(h) + SLACK_NS;
	if (operation != REDLOCK_OP_ACQUIRE)
		return node_timeout_ns(h) + SLACK_NS;
	if (wait_ms == 0) /* split votes have a bound, and a stage that begins before it has its own time */
		return (CONTENTION + 1) * node_timeout_ns(h) + SLACK_NS;
	if (wait_ms == REDLOCK_FOREVER)
		return SIM_NEVER;
	return wait_ms * SIM_MS + wait_ms * SIM_MS / 100 + SLACK_NS;
}

void handle_expect_answer(struct world *w, uint32_t subject, enum redlock_operation operation)
{
	struct handle *h = handle_of(w, subject);
	uint64_t due = due_in(h, operation);
	h->operation++;
	if (due != SIM_NEVER)
		world_after(w, due, operation_due, subject, h->operation);
}
