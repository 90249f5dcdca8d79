/* SPDX-License-Identifier: MIT */
/*
 * The naive design for threads: -c threads, each with its own connection to every server and blocking calls,
 * one lock after the other. One shared client has to be better than this. Options: common/options.h.
 */
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "result.h"
#include "wire.h"

struct connection {
	int fd;
	unsigned waiting; /* answers to come; only the last is of this round */
};

struct thread {
	pthread_t id;
	struct connection nodes[MAX_NODES];
	struct wire wire;
	struct result result;
};

static struct options options; /* of one thread */
static struct result whole;

/* Counts the answers that are in. Returns whether the newest command is answered; writes the answer. */
static bool receive(struct connection *c, bool *ret_yes)
{
	char bytes[4096];
	ssize_t got = recv(c->fd, bytes, sizeof bytes, 0);
	if (got <= 0)
		die("recv");
	char *end = bytes + got;
	for (char *at = bytes, *next; (next = memchr(at, '\n', (size_t)(end - at))) != NULL; at = next + 1) {
		c->waiting--;
		*ret_yes = at[0] == '+' || (at[0] == ':' && at[1] == '1');
	}
	return c->waiting == 0;
}

/* One command to all servers; back as soon as a majority has said yes. */
static void round_of(struct thread *t, const char *bytes, size_t size)
{
	unsigned yes = 0;
	for (unsigned i = 0; i < options.node_count; i++) {
		if (send(t->nodes[i].fd, bytes, size, MSG_NOSIGNAL) != (ssize_t)size)
			die("send");
		t->nodes[i].waiting++;
	}
	while (yes < options.node_count / 2 + 1) {
		struct pollfd watched[MAX_NODES];
		for (unsigned i = 0; i < options.node_count; i++)
			watched[i] =
			    (struct pollfd){.fd = t->nodes[i].waiting > 0 ? t->nodes[i].fd : -1, .events = POLLIN};
		if (poll(watched, options.node_count, 5000) <= 0)
			die("no answer");
		for (unsigned i = 0; i < options.node_count; i++) {
			bool said_yes = false;
			if (watched[i].revents != 0 && receive(&t->nodes[i], &said_yes))
				yes += said_yes;
		}
	}
}

static void *work(void *argument)
{
	struct thread *t = argument;
	while (!result_over(&t->result, &options, 0)) {
		uint64_t begin_ns = clock_now();
		wire_sign(&t->wire);
		round_of(t, t->wire.set, t->wire.set_size);
		uint64_t held_ns = clock_now();
		round_of(t, t->wire.release, t->wire.release_size);
		samples_add(&t->result.acquire, held_ns - begin_ns);
		samples_add(&t->result.pair, clock_now() - begin_ns);
	}
	return NULL;
}

static void open_thread(struct thread *t, unsigned number)
{
	struct shas shas = {"", ""};
	for (unsigned i = 0; i < options.node_count; i++)
		t->nodes[i].fd = wire_connect(options.nodes[i], &shas);
	wire_make(&t->wire, &options, number, &shas);
}

int main(int argc, char **argv)
{
	struct options all = options_parse(argc, argv);
	options = options_per_thread(&all);
	struct thread *threads = calloc(options.count, sizeof *threads);
	if (threads == NULL)
		die("calloc");
	for (unsigned i = 0; i < options.count; i++)
		open_thread(&threads[i], i);
	for (unsigned i = 0; i < options.count; i++)
		result_begin(&threads[i].result, &options);
	result_begin(&whole, &all);
	for (unsigned i = 0; i < options.count; i++) {
		threads[i].result.end_ns = whole.end_ns;
		if (pthread_create(&threads[i].id, NULL, work, &threads[i]) != 0)
			die("pthread_create");
	}
	for (unsigned i = 0; i < options.count; i++) {
		pthread_join(threads[i].id, NULL);
		samples_join(&whole.acquire, &threads[i].result.acquire);
		samples_join(&whole.pair, &threads[i].result.pair);
		result_close(&threads[i].result);
		wire_free(&threads[i].wire);
	}
	result_print(&whole, &all, "");
	result_close(&whole);
	free(threads);
	return 0;
}
