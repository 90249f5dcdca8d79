/* SPDX-License-Identifier: MIT */
/* Keys beside a lock's own: no lock has such a name, and a release of which the token alone is known wakes
 * the waiters in a queue. */
#include <stdio.h>
#include <string.h>

#include "fixture.h"
#include "raw.h"

#define A "aaaaaaaaaaaaaaaa.1"
#define ANY_SLOT "aaaaaaaaaaaaaaaa.01" /* waits for a slot, whichever is free */

static const char *queue = "{job}:redlock:queue";
static struct raw ears;

static void listen_to_a(void)
{
	struct raw_reply reply;
	struct raw_arg args[] = {{"SUBSCRIBE", 9}, {"redlock:wake:aaaaaaaaaaaaaaaa", 29}};
	assert_int_equal(raw_send(&ears, args, 2), 0);
	assert_int_equal(raw_receive(&ears, &reply), 0);
}

/* The next message tells this place, which is also the first one: nothing was said before. */
static void expect_woken(const char *place)
{
	char want[64];
	struct raw_reply reply;
	snprintf(want, sizeof want, "message\nredlock:wake:%.16s\n%s", place, place + 17);
	assert_int_equal(raw_receive(&ears, &reply), 0);
	assert_memory_equal(reply.text, want, strlen(want));
}

/* Adds a waiter, whatever it waits for. */
static void enter_line(const char *place)
{
	char entry[40];
	snprintf(entry, sizeof entry, "1w%-27s ;", place);
	server_must(&servers.server[0], "OK", "SET", queue, entry, "PX", "60000", NULL);
}

/* A caller that knows the token alone, of each kind of lock that has a queue, in a client that has just been
 * opened or that knows its nodes. */
TEST(a_release_by_token_wakes)
{
	static const struct {
		const char *const set[5];
		int mode;
		uint32_t slots, slot;
	} kinds[] = {{{"SET", "job", "t", NULL}, REDLOCK_EXCLUSIVE, 0, 0},
	             {{"ZADD", "job", "9999999999999", "t", NULL}, REDLOCK_SHARED, 0, 0},
	             {{"SET", "job", "t", NULL}, REDLOCK_EXCLUSIVE, 2, 0},
	             {{"SET", "{job}:redlock:slot:1", "t", NULL}, REDLOCK_EXCLUSIVE, 2, 1}};
	const struct server *s = &servers.server[0];
	struct redlock_lock_options options = fixture_options(WAIT_LONG_TTL_MS);
	options.token = "t";
	options.token_len = 1;
	assert_int_equal(raw_open(&ears, s->socket, WAIT_SOON_MS), 0);
	listen_to_a();
	for (unsigned i = 0; i < 2 * sizeof kinds / sizeof kinds[0]; i++) {
		const char *const *set = kinds[i / 2].set;
		const char *place = kinds[i / 2].slots > 0 ? ANY_SLOT : A;
		bool knows = i % 2 != 0;
		options.mode = kinds[i / 2].mode;
		options.slots = kinds[i / 2].slots;
		options.slot = kinds[i / 2].slot;
		own_client *client = fixture_open(servers.urls, 1, FIXTURE_NODE_TIMEOUT_MS);
		own_lock *lock = fixture_lock_with(client, "job", &options);
		server_must(s, set[3] == NULL ? "OK" : "1", set[0], set[1], set[2], set[3], NULL);
		server_must(s, "1", "PEXPIRE", set[1], "300000", NULL);
		enter_line(place);
		if (knows)
			expect_ok(lock, redlock_query(lock));
		expect_ok(lock, redlock_release(lock));
		expect_woken(place);
		assert_false(server_has(s, set[1]));
		server_must(s, "1", "DEL", queue, NULL);
	}
	raw_close(&ears);
}

/* All keys while one handle holds the name and another one waits for it. */
static void ask_for_keys(redlock_client *client, redlock_client *other, const char *of, unsigned kind,
                         struct raw_reply *ret)
{
	static const struct {
		int mode, compat;
		uint32_t slots;
	} kinds[] = {{REDLOCK_EXCLUSIVE, REDLOCK_COMPAT_OFF, 0},
	             {REDLOCK_SHARED, REDLOCK_COMPAT_OFF, 0},
	             {REDLOCK_EXCLUSIVE, REDLOCK_COMPAT_OFF, 1},
	             {REDLOCK_EXCLUSIVE, REDLOCK_COMPAT_SETNX, 0}};
	struct redlock_lock_options options = fixture_options(WAIT_LONG_TTL_MS);
	struct redlock_wait wait = {.size = sizeof wait};
	options.mode = kinds[kind].mode;
	options.compat = kinds[kind].compat;
	options.slots = kinds[kind].slots;
	own_lock *holder = fixture_lock_with(client, of, &options);
	own_lock *waiter = fixture_lock(other, of, WAIT_LONG_TTL_MS, WAIT_SOON_MS);
	expect_ok(holder, redlock_acquire(holder));
	expect_ok(waiter, redlock_start_acquire(waiter));
	assert_soon(redlock_process(other) == 0 && redlock_lock_waiting(waiter, &wait) == 0 && wait.place > 0);
	server_ask(&servers.server[0], ret, "KEYS", "*", NULL);
	redlock_cancel(waiter);
	expect_ok(holder, redlock_release(holder));
}

/* Nobody can have a lock whose name is a key that another lock has made (unit_request: of all operations). */
TEST(keys_beside_a_lock_are_no_names)
{
	static const char *const names[] = {"a",      "{a}", "}a{", "{}a", "x:redlock:", "{a}:redlock:slot",
	                                    "redlock"};
	own_client *client = fixture_open(servers.urls, 1, FIXTURE_NODE_TIMEOUT_MS),
	           *other = fixture_open(servers.urls, 1, FIXTURE_NODE_TIMEOUT_MS);
	unsigned beside = 0;
	for (unsigned i = 0; i < 4 * sizeof names / sizeof names[0]; i++) {
		struct raw_reply reply;
		redlock_lock *lock = NULL;
		server_must(&servers.server[0], "OK", "FLUSHALL", NULL);
		ask_for_keys(client, other, names[i / 4], i % 4, &reply);
		for (char *rest, *key = strtok_r(reply.text, "\n", &rest); key != NULL;
		     key = strtok_r(NULL, "\n", &rest))
			if (strcmp(key, names[i / 4]) != 0) {
				assert_int_equal(redlock_lock_new(client, key, NULL, &lock), REDLOCK_E_INVAL);
				beside++;
			}
	}
	assert_true(beside > 0);
}

SERVER_TESTS(1)
