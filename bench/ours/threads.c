/* SPDX-License-Identifier: MIT */
/*
 * Blocking calls from -c threads on one shared client, each with a handle of its own. Options:
 * common/options.h.
 */
#include <pthread.h>
#include <stdlib.h>

#include "client.h"
#include "result.h"

struct thread {
	pthread_t id;
	redlock_lock *lock;
	struct result result;
};

static struct options options; /* of one thread */
static struct result whole;

static void pair(struct thread *t)
{
	uint64_t begin_ns = clock_now();
	int error = redlock_acquire(t->lock);
	uint64_t held_ns = clock_now();
	if (error == 0)
		error = redlock_release(t->lock);
	if (error < 0) {
		t->result.failed++;
		return;
	}
	samples_add(&t->result.acquire, held_ns - begin_ns);
	samples_add(&t->result.pair, clock_now() - begin_ns);
}

static void *work(void *argument)
{
	struct thread *t = argument;
	while (!result_over(&t->result, &options, 0))
		pair(t);
	return NULL;
}

static void join_all(struct thread *threads)
{
	for (unsigned i = 0; i < options.count; i++) {
		pthread_join(threads[i].id, NULL);
		samples_join(&whole.acquire, &threads[i].result.acquire);
		samples_join(&whole.pair, &threads[i].result.pair);
		whole.failed += threads[i].result.failed;
		result_close(&threads[i].result);
	}
}

int main(int argc, char **argv)
{
	struct options all = options_parse(argc, argv);
	options = options_per_thread(&all);
	redlock_client *client = client_open(&options);
	struct thread *threads = calloc(options.count, sizeof *threads);
	if (threads == NULL)
		die("calloc");
	for (unsigned i = 0; i < options.count; i++) {
		threads[i].lock = client_lock(client, &options, i, NULL);
		result_begin(&threads[i].result, &options);
	}
	client_check(redlock_acquire(threads[0].lock), "acquire"); /* connects */
	client_check(redlock_release(threads[0].lock), "release");
	result_begin(&whole, &all);
	for (unsigned i = 0; i < options.count; i++) {
		threads[i].result.end_ns = whole.end_ns;
		if (pthread_create(&threads[i].id, NULL, work, &threads[i]) != 0)
			die("pthread_create");
	}
	join_all(threads);
	result_print(&whole, &all, "");
	result_close(&whole);
	for (unsigned i = 0; i < options.count; i++)
		redlock_lock_free(threads[i].lock);
	free(threads);
	redlock_close(client);
	return 0;
}
