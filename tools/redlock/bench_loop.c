/* SPDX-License-Identifier: MIT */
/* redlock bench --concurrency N: N locks in flight on one thread, over the event-loop calls. */
#include "bench.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "clock.h"
#include "exit_codes.h"
#include "message.h"
#include "signals.h"

enum { BUCKETS = 4096 };

struct slot {
	redlock_lock *lock;
	struct slot *next; /* in its bucket */
	unsigned index;
	bool idle;
	uint64_t begin_ns;
	uint64_t held_ns;
};

struct loop {
	struct bench *bench;
	struct slot *slots;
	struct slot *bucket[BUCKETS]; /* from the lock of an event to its slot */
	uint64_t running;
	int code; /* what ended it early */
};

/* ---- locks and slots ---- */

static struct slot **bucket_of(struct loop *loop, const redlock_lock *lock)
{
	return &loop->bucket[((uintptr_t)lock >> 4) * 2654435761u % BUCKETS];
}

static void fill_slot(struct loop *loop, struct slot *slot)
{
	slot->lock = NULL;
	slot->idle = true;
	loop->code = bench_lock(loop->bench, slot->index, &slot->lock);
	if (loop->code != EXIT_OK)
		return;
	struct slot **bucket = bucket_of(loop, slot->lock);
	slot->next = *bucket;
	*bucket = slot;
}

static struct slot **find_slot(struct loop *loop, const redlock_lock *lock)
{
	struct slot **at = bucket_of(loop, lock);
	while (*at != NULL && (*at)->lock != lock)
		at = &(*at)->next;
	return at;
}

/* Abandons the handle, which releases without waiting, and makes a new one. */
static void renew_slot(struct loop *loop, struct slot *slot)
{
	struct slot **at = find_slot(loop, slot->lock);
	*at = slot->next;
	redlock_lock_free(slot->lock);
	fill_slot(loop, slot);
}

/* ---- one pair after the other in each slot ---- */

static void failed(struct loop *loop, struct slot *slot, int result)
{
	slot->idle = true;
	loop->running--;
	if (!bench_failure(loop->bench, slot->lock, result))
		loop->code = loop->bench->report.outcome.code;
}

static void begin_pair(struct loop *loop, struct slot *slot)
{
	slot->idle = false;
	loop->running++;
	slot->begin_ns = clock_ns();
	int result = redlock_start_acquire(slot->lock);
	if (result < 0)
		failed(loop, slot, result);
}

static void end_pair(struct loop *loop, struct slot *slot)
{
	bench_count(loop->bench, slot->begin_ns, slot->held_ns);
	slot->idle = true;
	loop->running--;
}

static void granted(struct loop *loop, struct slot *slot)
{
	int result = 0;
	slot->held_ns = clock_ns();
	if (loop->bench->no_wait) {
		renew_slot(loop, slot);
		end_pair(loop, slot);
		return;
	}
	result = redlock_start_release(slot->lock);
	if (result < 0)
		failed(loop, slot, result);
}

static void handle(struct loop *loop, const struct redlock_event *event)
{
	struct slot *slot = *find_slot(loop, event->lock);
	if (slot == NULL || event->kind != REDLOCK_EVENT_DONE)
		return;
	if (event->result < 0)
		failed(loop, slot, event->result);
	else if (event->operation == REDLOCK_OP_ACQUIRE)
		granted(loop, slot);
	else
		end_pair(loop, slot);
	if (slot->idle && loop->code == EXIT_OK && !bench_over(loop->bench, loop->running))
		begin_pair(loop, slot);
}

static void turn(struct loop *loop)
{
	struct pollfd watched[2] = {{.fd = redlock_fd(loop->bench->session->client), .events = POLLIN},
	                            {.fd = signals_caught() ? -1 : signals_fd(), .events = POLLIN}};
	struct redlock_event event = {.size = sizeof event};
	int more = redlock_process(loop->bench->session->client);
	while (more >= 0 && (more = redlock_next(loop->bench->session->client, &event)) > 0)
		handle(loop, &event);
	if (more < 0) {
		complain(MSG(LIBRARY), redlock_strerror(more));
		loop->code = EXIT_INTERNAL;
	} else if (loop->running > 0 && redlock_timeout_ns(loop->bench->session->client) != 0 &&
	           poll(watched, 2, -1) < 0 && errno != EINTR) {
		loop->code = EXIT_INTERNAL;
	}
}

int bench_run_loop(struct bench *bench)
{
	struct loop *loop = calloc(1, sizeof *loop);
	int code = EXIT_INTERNAL;
	if (loop != NULL)
		loop->slots = calloc(bench->concurrency, sizeof *loop->slots);
	if (loop == NULL || loop->slots == NULL) {
		complain(MSG(NO_MEMORY));
		goto out;
	}
	loop->bench = bench;
	for (unsigned i = 0; i < bench->concurrency && loop->code == EXIT_OK; i++) {
		loop->slots[i].index = i;
		fill_slot(loop, &loop->slots[i]);
	}
	for (unsigned i = 0; i < bench->concurrency && loop->code == EXIT_OK; i++)
		if (!bench_over(bench, loop->running))
			begin_pair(loop, &loop->slots[i]);
	while (loop->running > 0 && loop->code == EXIT_OK)
		turn(loop);
	code = loop->code;
	for (unsigned i = 0; i < bench->concurrency; i++)
		redlock_lock_free(loop->slots[i].lock);
out:
	if (loop != NULL)
		free(loop->slots);
	free(loop);
	return code;
}
