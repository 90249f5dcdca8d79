/* SPDX-License-Identifier: MIT */
/* The getters of a waiting handle: which client it waits for, since when, and at which place. */
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "client.h"
#include "failmalloc.h"
#include "fixture.h"
#include "seen.h"

enum { NODES = 3, TTL_MS = 100000 };

static redlock_client *open_client(const char *owner)
{
	struct redlock_options options = fixture_client(servers.urls, NODES);
	options.owner = owner;
	return fixture_open_with(&options);
}

static redlock_lock *new_waiter(redlock_client *client)
{
	return fixture_lock(client, "job", TTL_MS, REDLOCK_FOREVER);
}

static struct redlock_wait seen(const redlock_lock *lock)
{
	struct redlock_wait w = {.size = sizeof w};
	expect_ok(NULL, redlock_lock_waiting(lock, &w));
	return w;
}

static bool stands(const redlock_lock *lock, unsigned place, unsigned waiting)
{
	struct redlock_wait w = seen(lock);
	return w.place == place && w.waiting == waiting;
}

static bool is_held_by(const struct redlock_wait *w, const redlock_lock *holder)
{
	struct fixture_token token = fixture_token(holder);
	return w->holder_len == token.length && memcmp(w->holder, token.text, token.length) == 0;
}

static bool sees(const redlock_lock *lock, const redlock_lock *holder)
{
	struct redlock_wait w = seen(lock);
	return is_held_by(&w, holder);
}

static int state(const redlock_lock *lock)
{
	struct redlock_wait w = {.size = sizeof w, .node = 77};
	int error = redlock_lock_waiting(lock, &w);
	assert_true(error == 0 || w.node == 77);
	return error;
}

/* On all nodes, the one at which others wait among them: a connection may be open too late for the quorum. */
static void hold(redlock_client *client, redlock_lock *lock)
{
	expect_ok(lock, redlock_acquire(lock));
	assert_driven(client, servers_with_key(&servers, NODES, "job") == NODES);
}

static void expect_event(redlock_client *client, redlock_lock *lock, int result)
{
	struct redlock_event event = {.size = sizeof event};
	assert_driven(client, redlock_next(client, &event) == 1);
	assert_true(event.lock == lock && event.kind == REDLOCK_EVENT_DONE && event.result == result);
}

static void heal(void)
{
	on_servers(0, NODES, server_must(it, "OK", "ACL", "SETUSER", "default", "+eval", "+evalsha", NULL));
}

TEST(the_holder_and_the_waiters_before)
{
	own_client *one = open_client("one"), *two = open_client("two"), *three = open_client(NULL);
	own_lock *holder = new_waiter(one), *second = new_waiter(two), *third = new_waiter(three);
	uint64_t before_ns = wait_now_ns();
	hold(one, holder);
	assert_int_equal(state(holder), REDLOCK_E_STATE);
	expect_ok(NULL, redlock_start_acquire(second));
	assert_driven(two, state(second) == 0 && stands(second, 1, 1));
	struct redlock_wait first = seen(second);
	assert_true(is_held_by(&first, holder) && first.node >= 0 && first.node < NODES);
	assert_true(before_ns < first.since_ns && first.since_ns <= first.told_ns);
	assert_in_range(first.until_ns, before_ns + TTL_MS * 900000ULL, wait_now_ns() + TTL_MS * 1000000ULL);
	expect_ok(NULL, redlock_start_acquire(third));
	assert_driven(three, state(third) == 0 && stands(third, 2, 2) && sees(third, holder));
	assert_driven(two, stands(second, 1, 2));
	struct redlock_wait later = seen(second);
	assert_true(later.told_ns > first.told_ns && later.since_ns == first.since_ns);

	expect_ok(holder, redlock_release(holder));
	expect_event(two, second, 0);
	assert_int_equal(state(second), REDLOCK_E_STATE);
	assert_driven(three, stands(third, 1, 1) && sees(third, second));
	assert_true(seen(third).since_ns > later.told_ns);
}

/* One place for all handles of a client that wait for the same lock. */
TEST(queued_after_another_handle)
{
	own_client *one = open_client(NULL), *two = open_client(NULL);
	own_lock *holder = new_waiter(one), *first = new_waiter(two), *behind = new_waiter(two);
	own_lock *other = fixture_lock(two, "other", TTL_MS, REDLOCK_FOREVER);
	hold(one, holder);
	expect_ok(NULL, redlock_start_acquire(first));
	assert_driven(two, state(first) == 0 && stands(first, 1, 1));
	expect_ok(NULL, redlock_start_acquire(other));
	expect_event(two, other, 0);
	expect_ok(NULL, redlock_start_acquire(behind));
	assert_driven(two, state(behind) == 0 && stands(behind, 2, 2) && stands(first, 1, 2));
	assert_true(sees(behind, holder));
	expect_ok(NULL, redlock_cancel(first));
	expect_event(two, first, REDLOCK_E_CANCELLED);
	assert_int_equal(state(first), REDLOCK_E_STATE);
	assert_driven(two, stands(behind, 1, 1) && sees(behind, holder));
}

static void *acquire(void *lock)
{
	expect_ok(lock, redlock_acquire(lock));
	return NULL;
}

TEST(asked_by_another_thread_while_one_waits)
{
	own_client *one = open_client(NULL), *two = open_client(NULL);
	own_lock *holder = new_waiter(one), *lock = new_waiter(two);
	pthread_t thread;
	for (unsigned round = 0; round < 3; round++) {
		hold(one, holder);
		assert_int_equal(pthread_create(&thread, NULL, acquire, lock), 0);
		assert_soon(state(lock) == 0 && stands(lock, 1, 1) && sees(lock, holder));
		for (unsigned i = 0; i < 2000; i++)
			assert_int_equal(state(lock), 0);
		expect_ok(holder, redlock_release(holder));
		assert_soon(state(lock) == REDLOCK_E_STATE);
		pthread_join(thread, NULL);
		expect_ok(lock, redlock_release(lock));
		expect_settled(two, NODES, "job"); /* else the next holder may not have the node at which is waited */
	}
}

/* Waiters meet at the next one. A client that has never waited, and does not know of them, asks there when it
 * releases. */
TEST(the_first_gate_is_down)
{
	own_client *one = open_client(NULL), *two = open_client(NULL);
	own_lock *holder = new_waiter(one), *lock = new_waiter(two);
	hold(one, holder);
	for (unsigned i = 0; i < NODES; i++) { /* else another one is the next */
		assert_driven(one, rl_node_is_open(&one->nodes.list[i]));
		assert_driven(two, rl_node_is_open(&two->nodes.list[i]));
	}
	assert_driven(one, rl_nodes_are_identified(&one->nodes)); /* and the order is known */
	assert_driven(two, rl_nodes_are_identified(&two->nodes));
	unsigned first = one->nodes.order[holder->core.queue.turn];
	server_kill(&servers.server[first]);
	assert_driven(one, !rl_node_is_open(&one->nodes.list[first]));
	expect_ok(NULL, redlock_start_acquire(lock));
	assert_driven(two, state(lock) == 0 && stands(lock, 1, 1));
	assert_int_not_equal(seen(lock).node, first);
	assert_false(holder->core.queue.contended);
	expect_ok(holder, redlock_release(holder));
	assert_driven(one, holder->core.queue.contended);
	expect_event(two, lock, 0);
	server_restart(&servers.server[first]);
}

/* Plain refusals tell nothing. */
TEST(without_a_queue)
{
	on_servers(0, NODES, server_must(it, "OK", "ACL", "SETUSER", "default", "-eval", "-evalsha", NULL));
	own_client *one = open_client(NULL), *two = open_client(NULL);
	own_lock *holder = new_waiter(one), *lock = new_waiter(two);
	hold(one, holder);
	expect_ok(NULL, redlock_start_acquire(lock));
	assert_driven(two, state(lock) == 0);
	for (unsigned i = 0; i < 50; i++) {
		wait_ms(2);
		expect_ok(NULL, redlock_process(two));
		struct redlock_wait w = seen(lock);
		assert_true(w.node == -1 && w.place == 0 && w.waiting == 0 && w.holder_len == 0 && w.told_ns == 0);
	}
}

/* The handle waits for nobody. */
TEST(no_wait)
{
	own_client *one = open_client(NULL);
	own_lock *holder = new_waiter(one), *lock = fixture_lock(one, "job", TTL_MS, 0);
	assert_int_equal(state(lock), REDLOCK_E_STATE);
	hold(one, holder);
	expect_ok(NULL, redlock_start_acquire(lock));
	assert_int_equal(state(lock), REDLOCK_E_STATE);
	expect_event(one, lock, REDLOCK_E_BUSY);
	assert_int_equal(state(lock), REDLOCK_E_STATE);
}

/* ---- answers, one by one ---- */

struct answer {
	const char *holder;
	size_t size;
	int64_t pttl_ms;
};

/* At `now_ns`; a handle that stands in line and has asked with number 7. */
static void tell_of(redlock_lock *lock, unsigned node, const struct answer *a, uint32_t seq, uint64_t now_ns)
{
	struct rl_event event = {.kind = RL_EV_REPLY,
	                         .reply.seq = seq,
	                         .node = node,
	                         .reply.vote = {.code = REDLOCK_VOTE_NO,
	                                        .told = RL_TOLD(VALUE),
	                                        .waiting = 5,
	                                        .pttl_ms = a->pttl_ms,
	                                        .place = 3,
	                                        .value = {a->holder, a->size}}};
	rl_seen_learn(lock, &event, now_ns);
}

static void tell(redlock_lock *lock, const struct answer *a, uint32_t seq, uint64_t now_ns)
{
	tell_of(lock, 2, a, seq, now_ns);
}

TEST(the_content_of_an_answer)
{
	static char big[2000] = "big";
	static const struct {
		struct answer answer;
		size_t holder_len;
		uint64_t since_ns, until_ns;
	} rows[] = {
	    {{"a", 1, 9}, 1, 1000, 9001000},
	    {{"a", 1, 5}, 1, 1000, 5001001}, /* the same one */
	    {{"b", 1, 9}, 1, 1002, 9001002},
	    {{"bb", 2, 9}, 2, 1003, 9001003},
	    {{"bb", 2, -1}, 2, 1003, REDLOCK_NEVER_NS},
	    {{"", 0, -2}, 0, 0, 0}, /* no key */
	    {{"", 0, 9}, 0, 1006, 9001006},
	    {{big, sizeof big, 9}, 1024, 1007, 9001007},
	};
	own_client *client = open_client(NULL);
	own_lock *lock = new_waiter(client);
	rl_places_line_up(&client->places, lock, true, client->loop.now_ns);
	lock->core.round.seq = 7;
	lock->core.queue.gate = 2;
	assert_int_equal(seen(lock).node, -1);
	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		tell(lock, &rows[i].answer, 7, 1000 + i);
		tell(lock, &(struct answer){"late", 4, 1}, 6, 1000 + i);
		tell_of(lock, 1, &(struct answer){"no gate", 7, 1}, 7, 1000 + i);
		struct redlock_wait w = seen(lock);
		assert_true(w.node == 2 && w.told_ns == 1000 + i && w.waiting == 5 && w.place == 0);
		assert_int_equal(w.holder_len, rows[i].holder_len);
		assert_memory_equal(w.holder, rows[i].answer.holder, w.holder_len);
		assert_true(w.since_ns == rows[i].since_ns && w.until_ns == rows[i].until_ns);
	}
	lock->core.queue.placed = true;
	lock->core.queue.place = 3;
	assert_int_equal(seen(lock).place, 3);
	lock->core.queue.gate = 1;
	assert_int_equal(seen(lock).place, 0); /* that is at another node */
	lock->core.queue.gate = 2;
	if (failmalloc_works()) {
		failmalloc_arm(1, false);
		tell(lock, &rows[0].answer, 7, 2000);
		failmalloc_disarm();
		assert_int_equal(seen(lock).node, -1);
	}
	tell(lock, &rows[0].answer, 7, 3000); /* stays after the line, for redlock_last_error() */
	lock->core.queue.placed = false;
	rl_places_line_up(&client->places, lock, false, client->loop.now_ns);
	assert_true(lock->seen != NULL && state(lock) == REDLOCK_E_STATE);
	tell(lock, &rows[0].answer, 7, 4000);
	assert_int_equal(lock->seen->told_ns, 3000);
}

/* A caller that was built against a shorter struct. */
TEST(a_struct_that_ends_sooner)
{
	own_client *client = open_client(NULL);
	own_lock *lock = new_waiter(client);
	rl_places_line_up(&client->places, lock, true, client->loop.now_ns);
	lock->core.queue.gate = 2;
	tell(lock, &(struct answer){"a", 1, 9}, 0, 1000);
	struct redlock_wait w = {.size = offsetof(struct redlock_wait, until_ns), .until_ns = 5, .holder_len = 6};
	expect_ok(NULL, redlock_lock_waiting(lock, &w));
	assert_true(w.since_ns == 1000 && w.until_ns == 5 && w.holder_len == 6);
	rl_places_line_up(&client->places, lock, false, client->loop.now_ns);
}

SERVER_TESTS(NODES, .after = heal)
