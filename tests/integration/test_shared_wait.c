/* SPDX-License-Identifier: MIT */
/* The order of waiters for a shared lock, on real servers. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "proxy.h"
#include "readers.h"

#define SOMEBODY "abcdefabcdefabcd"

/* Somebody stands in line at each node: who listens, or who does not any more. */
static void stand_in_line(const char *kind)
{
	char entry[40];
	snprintf(entry, sizeof entry, "1%s%-27s ;", kind, SOMEBODY ".7");
	on_servers(0, NODES, server_must(it, "OK", "SET", "{job}:redlock:queue", entry, "PX", "60000", NULL));
}

static void listen_everywhere(struct raw ears[NODES])
{
	static const char channel[] = "redlock:wake:" SOMEBODY;
	struct raw_reply reply;
	struct raw_arg subscribe[] = {{"SUBSCRIBE", 9}, {channel, sizeof channel - 1}};
	for (unsigned i = 0; i < NODES; i++) {
		assert_int_equal(raw_open(&ears[i], servers.server[i].socket, WAIT_SOON_MS), 0);
		assert_int_equal(raw_send(&ears[i], subscribe, 2), 0);
		assert_int_equal(raw_receive(&ears[i], &reply), 0);
	}
}

/* A waiter for an exclusive lock keeps out later clients, unless nobody hears its messages. A waiter for a
 * shared lock does not. */
TEST(a_waiter_keeps_out_who_comes_later)
{
	struct raw ears[NODES];
	own_client *client = open_client();
	own_lock *a = reader(client, 0), *b = reader(client, 0), *valued = reader_with(client, "mine");
	expect_ok(a, redlock_acquire(a));
	expect_ok(valued, redlock_acquire(valued));
	expect_ok(valued, redlock_release(valued));
	listen_everywhere(ears);
	stand_in_line("w");
	expect_result(b, REDLOCK_E_BUSY, redlock_acquire(b));
	expect_result(valued, REDLOCK_E_BUSY, redlock_acquire(valued));
	expect_settled(client, 0, "job");
	assert_int_equal(nodes_with("1"), NODES);
	expect_ok(a, redlock_extend(a, 0)); /* its holder keeps it */
	stand_in_line("r");
	expect_ok(b, redlock_acquire(b));
	expect_ok(b, redlock_release(b));
	for (unsigned i = 0; i < NODES; i++)
		raw_close(&ears[i]);
	stand_in_line("w");
	expect_ok(b, redlock_acquire(b));
	expect_ok(b, redlock_release(b));
	expect_ok(a, redlock_release(a));
	expect_settled(client, NODES, "job");
}

/* Without a message they would come by themselves, later: who is told is heard by somebody else. */
TEST(all_that_share_at_the_head_of_the_line_are_told)
{
	static const char *const heard[] = {SOMEBODY "\n7", SOMEBODY "\n8", "pong"};
	struct raw ears[NODES];
	struct raw_reply reply;
	struct raw_arg ping = {"PING", 4};
	char line[128];
	own_client *client = open_client();
	own_lock *a = reader(client, 0);
	expect_ok(a, redlock_acquire(a));
	expect_ok(a, redlock_upgrade(a));
	listen_everywhere(ears);
	snprintf(line, sizeof line, "1r%-27s ;1r%-27s ;1w%-27s ;", SOMEBODY ".7", SOMEBODY ".8", SOMEBODY ".9");
	on_servers(0, NODES, server_must(it, "OK", "SET", "{job}:redlock:queue", line, "PX", "60000", NULL));
	expect_ok(a, redlock_downgrade(a));
	for (unsigned i = 0; i < NODES; i++) {
		for (unsigned k = 0; k < 3; k++) {
			if (k == 2)
				assert_int_equal(raw_send(&ears[i], &ping, 1), 0);
			assert_int_equal(raw_receive(&ears[i], &reply), 0);
			assert_non_null(strstr(reply.text, heard[k]));
		}
		raw_close(&ears[i]);
	}
	expect_ok(a, redlock_release(a));
	expect_settled(client, NODES, "job");
}

struct waiter {
	pthread_t thread;
	redlock_lock *lock;
	int result;
};

static void *wait_for_it(void *argument)
{
	struct waiter *w = argument;
	w->result = redlock_acquire(w->lock);
	return NULL;
}

static void begin_to_wait(struct waiter *w, redlock_lock *lock)
{
	struct redlock_wait wait = {.size = sizeof wait};
	*w = (struct waiter){.lock = lock};
	pthread_create(&w->thread, NULL, wait_for_it, w);
	assert_soon(redlock_lock_waiting(lock, &wait) == 0 && wait.place > 0);
}

static void end_of_wait(struct waiter *w)
{
	pthread_join(w->thread, NULL);
	expect_ok(w->lock, w->result);
}

/* Readers of one client and of two, after an exclusive holder: all of them have it at the same time. Then a
 * waiter for an exclusive lock goes before the shared one that came after it. */
TEST(readers_that_wait_together_enter_together)
{
	own_client *one = open_client(), *two = open_client(), *three = open_client();
	own_lock *w = writer(one, 0), *a = reader(two, WAIT_SOON_MS), *b = reader(two, WAIT_SOON_MS),
	         *c = reader(three, WAIT_SOON_MS), *next = writer(one, WAIT_SOON_MS),
	         *late = reader(three, WAIT_SOON_MS);
	struct waiter readers[3], exclusive, last;
	expect_ok(w, redlock_acquire(w));
	expect_on_all(one);
	begin_to_wait(&readers[0], a);
	begin_to_wait(&readers[1], b);
	begin_to_wait(&readers[2], c);
	begin_to_wait(&exclusive, next);
	begin_to_wait(&last, late);
	expect_ok(w, redlock_release(w));
	for (int i = 0; i < 3; i++)
		end_of_wait(&readers[i]);
	assert_int_equal(redlock_deadline_ns(next), 0);
	assert_int_equal(redlock_deadline_ns(late), 0);
	expect_ok(a, redlock_release(a));
	expect_ok(b, redlock_release(b));
	expect_ok(c, redlock_release(c));
	end_of_wait(&exclusive);
	assert_int_equal(redlock_deadline_ns(late), 0);
	expect_ok(next, redlock_release(next));
	end_of_wait(&last);
	expect_ok(late, redlock_release(late));
	expect_settled(three, NODES, "job");
}

/* A value of the caller's own has no place, and its release tells the next one all the same. */
TEST(a_reader_with_an_own_value_wakes_waiters)
{
	struct raw ears[NODES];
	struct raw_reply reply;
	own_client *client = open_client();
	own_lock *valued = reader_with(client, "mine");
	expect_ok(valued, redlock_acquire(valued));
	assert_driven(client, nodes_with("1") == NODES);
	listen_everywhere(ears);
	stand_in_line("w");
	expect_ok(valued, redlock_release(valued));
	for (unsigned i = 0; i < NODES; i++) {
		assert_int_equal(raw_receive(&ears[i], &reply), 0);
		assert_non_null(strstr(reply.text, SOMEBODY "\n7"));
		raw_close(&ears[i]);
	}
	on_servers(0, NODES, server_must(it, "1", "DEL", "{job}:redlock:queue", NULL));
	expect_settled(client, NODES, "job");
}

/* A downgrade lets in waiting readers, and a waiter that gives up lets in the ones after it. */
TEST(others_enter_when_they_can)
{
	own_client *one = open_client(), *two = open_client(), *three = open_client();
	own_lock *a = reader(one, 0), *b = reader(two, WAIT_SOON_MS), *w = writer(two, WAIT_SOON_MS),
	         *c = reader(three, WAIT_SOON_MS);
	struct waiter waits, gives_up, behind;
	expect_ok(a, redlock_acquire(a));
	expect_on_all(one);
	expect_ok(a, redlock_upgrade(a));
	begin_to_wait(&waits, b);
	expect_ok(a, redlock_downgrade(a));
	end_of_wait(&waits);
	begin_to_wait(&gives_up, w);
	begin_to_wait(&behind, c);
	expect_ok(w, redlock_cancel(w));
	pthread_join(gives_up.thread, NULL);
	expect_result(w, REDLOCK_E_CANCELLED, gives_up.result);
	end_of_wait(&behind);
	expect_ok(a, redlock_release(a));
	expect_ok(b, redlock_release(b));
	expect_ok(c, redlock_release(c));
	expect_settled(three, NODES, "job");
}

static const char line_of_job[] = "{job}:redlock:queue";

/* The claim of a reader that will not get the lock, on its way out, at nodes other than the gate: as if there
 * was always one more. Returns the gate. */
static const struct server *let_pass_by(void)
{
	const struct server *gate = NULL;
	on_servers(0, NODES, if (server_has(it, line_of_job)) gate = it;
	           else server_must(it, "1", "ZADD", "job", "9999999999999", "passes by", NULL));
	assert_non_null(gate);
	return gate;
}

/* A writer that has the gate queues at the other nodes too, where such readers hold it up: they are kept out.
 * When it has the lock, no queue is left. */
TEST(a_writer_keeps_out_those_that_pass_by)
{
	struct waiter waits;
	own_client *one = open_client(), *two = open_client();
	own_lock *a = reader(one, 0), *w = writer(two, WAIT_LONG_TTL_MS);
	expect_ok(a, redlock_acquire(a));
	expect_on_all(one);
	begin_to_wait(&waits, w);
	const struct server *gate = let_pass_by();
	expect_ok(a, redlock_release(a));
	on_servers(0, NODES, assert_soon(it == gate || server_has(it, line_of_job)));
	on_servers(0, NODES, server_ask(it, &(struct raw_reply){0}, "ZREM", "job", "passes by", NULL));
	end_of_wait(&waits);
	on_servers(0, NODES, assert_soon(!server_has(it, line_of_job)));
	expect_ok(w, redlock_release(w));
	expect_settled(two, NODES, "job");
}

/* Readers and writers that keep coming, without a pause between two turns; and the order that they must keep.
 */
enum { CROWD_READERS = 4, CROWD_WRITERS = 2, CROWD_MS = 3000, HOLD_MS = 4 };

struct member {
	pthread_t thread;
	bool shares;
	int turns;
	uint64_t longest_ms;
	const char *problem;
};

static atomic_int readers_in, writers_in, most_readers;
static atomic_bool crowd_ends;

static void *take_turns(void *argument)
{
	struct member *m = argument;
	own_client *client = open_client();
	own_lock *lock = m->shares ? reader(client, WAIT_SOON_MS) : writer(client, WAIT_SOON_MS);
	while (!atomic_load(&crowd_ends) && m->problem == NULL) {
		uint64_t since = wait_now_ns();
		if (redlock_acquire(lock) != 0) {
			m->problem = "no turn in time";
			break;
		}
		uint64_t took = wait_elapsed_ms(since);
		m->longest_ms = took > m->longest_ms ? took : m->longest_ms;
		int in = atomic_fetch_add(m->shares ? &readers_in : &writers_in, 1) + 1;
		if (atomic_load(&writers_in) > (m->shares ? 0 : 1) || (!m->shares && atomic_load(&readers_in) > 0))
			m->problem = "one is not alone";
		if (m->shares && in > atomic_load(&most_readers))
			atomic_store(&most_readers, in);
		wait_ms(HOLD_MS);
		atomic_fetch_sub(m->shares ? &readers_in : &writers_in, 1);
		if (redlock_release(lock) != 0)
			m->problem = "not released";
		m->turns++;
	}
	return NULL;
}

/* Neither starves the other: each has a turn again within some rounds of all of them. */
TEST(readers_and_writers_take_turns)
{
	struct member crowd[CROWD_READERS + CROWD_WRITERS] = {{.turns = 0}};
	enum { ALL = sizeof crowd / sizeof crowd[0] };
	int turns[2] = {0, 0};
	uint64_t longest_ms = 0;
	for (int i = 0; i < ALL; i++) {
		crowd[i].shares = i < CROWD_READERS;
		pthread_create(&crowd[i].thread, NULL, take_turns, &crowd[i]);
	}
	wait_ms(CROWD_MS);
	atomic_store(&crowd_ends, true);
	for (int i = 0; i < ALL; i++)
		pthread_join(crowd[i].thread, NULL);
	for (int i = 0; i < ALL; i++) {
		if (crowd[i].problem != NULL)
			fail_msg("%s", crowd[i].problem);
		turns[crowd[i].shares] += crowd[i].turns;
		longest_ms = crowd[i].longest_ms > longest_ms ? crowd[i].longest_ms : longest_ms;
		printf("%s %d turns, longest wait %llu ms\n", crowd[i].shares ? "reader" : "writer", crowd[i].turns,
		       (unsigned long long)crowd[i].longest_ms);
	}
	printf("most readers at once %d\n", atomic_load(&most_readers));
	for (int i = 0; i < ALL; i++)
		assert_true(crowd[i].turns >=
		            turns[crowd[i].shares] / (crowd[i].shares ? CROWD_READERS : CROWD_WRITERS) / 4);
	assert_true(atomic_load(&most_readers) > 1);
	assert_true(longest_ms < CROWD_MS / 2 || wait_is_slow());
}

/* Waits until a handle has been refused by all nodes that answer, without taking part in its wait. */
static void pass_time(redlock_client *client, uint64_t ms)
{
	for (uint64_t since = wait_now_ns(); wait_elapsed_ms(since) < ms; wait_ms(1))
		assert_int_equal(redlock_process(client), 0);
}

static unsigned lines(void)
{
	return servers_with_key(&servers, NODES, line_of_job);
}

/* While the gate, slow to connect, has not said who it is, a new client forms no line at another node. */
TEST(no_line_forms_beside_a_gate_that_is_slow_to_connect)
{
	own_client *one = open_client(), *two = open_client();
	own_lock *held = writer(one, 0), *first = writer(two, WAIT_LONG_TTL_MS);
	struct waiter waits;
	expect_ok(held, redlock_acquire(held));
	expect_on_all(one);
	begin_to_wait(&waits, first);
	const char *urls[NODES];
	own_proxy slow;
	for (unsigned i = 0; i < NODES; i++) {
		bool gate = server_has(&servers.server[i], line_of_job);
		if (gate)
			proxy_start(&slow, servers.server[i].socket);
		urls[i] = gate ? slow.url : servers.urls[i];
	}
	assert_int_equal(lines(), 1);
	proxy_set(&slow, &slow.faults->hold_down, 1);
	for (int shares = 0; shares < 2; shares++) {
		own_client *late = fixture_open(urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
		own_lock *next = shares ? reader(late, WAIT_LONG_TTL_MS) : writer(late, WAIT_LONG_TTL_MS);
		struct redlock_wait wait = {.size = sizeof wait};
		assert_int_equal(redlock_start_acquire(next), 0);
		pass_time(late, 300);
		assert_int_equal(lines(), 1);
		proxy_set(&slow, &slow.faults->hold_down, 0);
		assert_driven(late, redlock_lock_waiting(next, &wait) == 0 && wait.place > 0);
		assert_int_equal(lines(), 1);
		proxy_set(&slow, &slow.faults->hold_down, 1);
	}
	proxy_set(&slow, &slow.faults->hold_down, 0);
	expect_ok(held, redlock_release(held));
	end_of_wait(&waits);
	expect_ok(first, redlock_release(first));
}

SERVER_TESTS(NODES)
