/* SPDX-License-Identifier: MIT */
/*
 * Many locks in flight on one thread, over the event-loop calls: -c handles, each acquired and released again
 * and again. Options: common/options.h.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "client.h"
#include "result.h"

struct slot {
	redlock_lock *lock;
	uint64_t begin_ns, held_ns;
};

static struct options options; /* of this phase: warming up, or measuring */
static struct result result;
static uint64_t running;

static void begin_pair(struct slot *slot)
{
	if (result_over(&result, &options, running))
		return;
	running++;
	slot->begin_ns = clock_now();
	client_check(redlock_start_acquire(slot->lock), "start_acquire");
}

static void end_pair(struct slot *slot, bool good)
{
	running--;
	result.failed += !good;
	if (good) {
		samples_add(&result.acquire, slot->held_ns - slot->begin_ns);
		samples_add(&result.pair, clock_now() - slot->begin_ns);
	}
	begin_pair(slot);
}

static void handle(const struct redlock_event *event)
{
	struct slot *slot = redlock_lock_user(event->lock);
	if (event->kind != REDLOCK_EVENT_DONE)
		return;
	if (event->operation == REDLOCK_OP_RELEASE || event->result < 0) {
		end_pair(slot, event->result == 0);
		return;
	}
	slot->held_ns = clock_now();
	client_check(redlock_start_release(slot->lock), "start_release");
}

static void turn(redlock_client *client)
{
	struct pollfd watched = {.fd = redlock_fd(client), .events = POLLIN};
	struct redlock_event event = {.size = sizeof event};
	bool any = false;
	client_check(redlock_process(client), "process");
	while (redlock_next(client, &event) > 0) {
		handle(&event);
		any = true;
	}
	/* The next redlock_process() sends the requests that the events began. */
	if (!any && running > 0 && poll(&watched, 1, -1) < 0 && errno != EINTR)
		die("poll");
}

static void run(redlock_client *client, struct slot *slots, const struct options *phase)
{
	options = *phase;
	result_begin(&result, &options);
	for (unsigned i = 0; i < options.count; i++)
		begin_pair(&slots[i]);
	while (running > 0)
		turn(client);
}

int main(int argc, char **argv)
{
	struct options asked = options_parse(argc, argv);
	struct options warm_up = options_warm_up(&asked);
	redlock_client *client = client_open(&asked);
	struct slot *slots = calloc(asked.count, sizeof *slots);
	if (slots == NULL)
		die("calloc");
	for (unsigned i = 0; i < asked.count; i++) {
		struct redlock_lock_options o;
		redlock_lock_options_init(&o);
		o.user = &slots[i];
		slots[i].lock = client_lock(client, &asked, i, &o);
	}
	run(client, slots, &warm_up);
	result_close(&result);
	client_check(redlock_drain(client, 2000), "drain");
	run(client, slots, &asked);
	result_print(&result, &asked, "");
	result_close(&result);
	for (unsigned i = 0; i < asked.count; i++)
		redlock_lock_free(slots[i].lock);
	free(slots);
	redlock_close(client);
	return 0;
}
