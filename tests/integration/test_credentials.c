/* SPDX-License-Identifier: MIT */
/* Passwords that change on running servers: open connections log in again, lost ones come back. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "fixture.h"

static const char *url_of(unsigned i)
{
	return servers.urls[i];
}

/* The user "worker" may log in with `add` from now on, and no longer with `remove`. */
static void change_password(const char *add, const char *remove)
{
	char more[64], less[64];
	snprintf(more, sizeof more, ">%s", add);
	snprintf(less, sizeof less, "<%s", remove);
	for (unsigned i = 0; i < servers.count; i++) {
		server_must(&servers.server[i], "OK", "ACL", "SETUSER", "worker", "on", "~*", "+@all", more, NULL);
		if (remove[0] != '\0')
			server_must(&servers.server[i], "OK", "ACL", "SETUSER", "worker", less, NULL);
	}
}

static void kill_connections(unsigned first, unsigned count)
{
	struct raw_reply reply;
	on_servers(first, first + count,
	           assert_true(atoi(server_ask(it, &reply, "CLIENT", "KILL", "USER", "worker", NULL)) > 0));
}

static redlock_client *open_as(const char *user, const char *password)
{
	const char *urls[] = {url_of(0), url_of(1), url_of(2)};
	struct redlock_options options = fixture_client(urls, 3);
	options.user = user;
	options.password = password;
	return fixture_open_with(&options);
}

static struct redlock_node_status status_of(redlock_client *client, unsigned node)
{
	expect_ok(NULL, redlock_process(client));
	return fixture_status(client, node);
}

static bool all_connected(redlock_client *client)
{
	for (unsigned i = 0; i < 3; i++)
		if (!status_of(client, i).connected || status_of(client, i).waiting > 0)
			return false;
	return true;
}

static bool logins_refused(redlock_client *client)
{
	for (unsigned i = 0; i < 3; i++)
		if (status_of(client, i).last_failure != REDLOCK_VOTE_AUTH)
			return false;
	return true;
}

/* How many logins redis-server counts. */
static int logins(unsigned node)
{
	struct raw_reply reply;
	const char *at = strstr(server_ask(&servers.server[node], &reply, "INFO", "commandstats", NULL),
	                        "cmdstat_auth:calls=");
	return at != NULL ? atoi(at + 19) : 0;
}

/* The lock is kept over the change, on the same connections; and over their end. */
TEST(rotation)
{
	change_password("first", "");
	own_client *client = open_as("worker", "first");
	own_lock *lock = fixture_held(client, "rotated", WAIT_LONG_TTL_MS, 0);
	assert_soon(all_connected(client));
	char run_id[41];
	memcpy(run_id, status_of(client, 0).run_id, sizeof run_id);
	int before = logins(0);
	change_password("second", "first");
	expect_ok(lock, redlock_extend(lock, 0)); /* a connection that is open stays logged in */
	expect_ok(NULL, redlock_set_credentials(client, "worker", "second"));
	expect_ok(lock, redlock_extend(lock, 0));
	assert_soon(all_connected(client));
	assert_int_equal(logins(0), before + 1);
	assert_int_equal(status_of(client, 0).last_failure, REDLOCK_VOTE_PENDING);
	kill_connections(0, 3);
	assert_soon(redlock_extend(lock, 0) == 0);
	assert_soon(all_connected(client));
	expect_ok(lock, redlock_extend(lock, 0));
	assert_int_equal(servers_with_key(&servers, 3, "rotated"), 3);
	expect_ok(lock, redlock_release(lock));
}

/* Connections that were closed while nobody looked cost no vote, also when new credentials come before the
 * next operation, or a handle is freed: neither of them reads. */
TEST(closed_while_idle)
{
	change_password("second", "");
	own_client *client = open_as("worker", "second");
	for (int i = 0; i < 2; i++) {
		own_lock *lock = fixture_lock(client, "idle", WAIT_LONG_TTL_MS, 0);
		redlock_lock *other = fixture_lock(client, "other", WAIT_LONG_TTL_MS, 0);
		expect_ok(lock, redlock_acquire(lock));
		assert_soon(all_connected(client));
		wait_ms(1200); /* they count as connections that worked */
		kill_connections(0, 3);
		if (i == 0)
			expect_ok(NULL, redlock_set_credentials(client, "worker", "second"));
		redlock_lock_free(other);
		expect_ok(lock, redlock_extend(lock, 0));
		expect_ok(lock, redlock_release(lock));
	}
}

/* Servers from Redis 7.2 to 8.6 and Valkey 8 leave out the answer to an AUTH that they refuse while earlier
 * answers are unsent. The answers after it never grant a lock that somebody else holds: the first of them is
 * sent together with the request that would have followed the login. */
TEST(refused_with_answers_pending)
{
	enum { ROUNDS = 10, FREE = 4 };
	change_password("pending", "");
	redlock_client *client = open_as("worker", "pending"), *rival = open_as("worker", "pending");
	redlock_lock *taken = fixture_lock(rival, "taken", WAIT_LONG_TTL_MS, 0);
	redlock_lock *locks[FREE + 1] = {fixture_lock(client, "taken", WAIT_LONG_TTL_MS, 0)};
	for (unsigned i = 1; i <= FREE; i++)
		locks[i] = fixture_lock(client, (char[]){'f', (char)('0' + i), '\0'}, WAIT_LONG_TTL_MS, 0);
	expect_ok(taken, redlock_acquire(taken));
	assert_soon(all_connected(client));
	for (unsigned round = 0; round < ROUNDS; round++) {
		expect_ok(locks[1], redlock_start_acquire(locks[1]));
		expect_ok(NULL, redlock_set_credentials(client, "worker", "wrong"));
		expect_ok(locks[0], redlock_start_acquire(locks[0]));
		for (unsigned i = 2; i <= FREE; i++)
			expect_ok(locks[i], redlock_start_acquire(locks[i]));
		for (unsigned done = 0; done <= FREE; done++) {
			struct redlock_event event = {.size = sizeof event};
			int got = 0;
			assert_soon(redlock_process(client) == 0 && (got = redlock_next(client, &event)) == 1);
			assert_int_equal(event.kind, REDLOCK_EVENT_DONE);
			expect_result(event.lock, event.lock == locks[0] ? REDLOCK_E_BUSY : 0, event.result);
		}
		assert_soon(logins_refused(client));
		for (unsigned i = 1; i <= FREE; i++)
			expect_ok(locks[i], redlock_release(locks[i]));
		assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);
	}
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(status_of(client, i).connected, 1);
	expect_ok(taken, redlock_release(taken));
	for (unsigned i = 0; i <= FREE; i++)
		redlock_lock_free(locks[i]);
	redlock_lock_free(taken);
	redlock_close(client);
	redlock_close(rival);
}

/* One node logs in after the other, so that a server that hangs costs its own vote only; and not for ever. A
 * request that waits for its login is sent before the client is closed. */
TEST(one_after_the_other)
{
	change_password("one", "");
	change_password("two", "");
	redlock_client *client = open_as("worker", "one");
	redlock_lock *lock = fixture_held(client, "one-by-one", WAIT_LONG_TTL_MS, 0);
	assert_soon(all_connected(client));
	int before = logins(1);
	server_pause(&servers.server[0]);
	uint64_t start_ns = wait_now_ns();
	expect_ok(NULL, redlock_set_credentials(client, "worker", "two"));
	expect_ok(lock, redlock_extend(lock, 0));
	int after = logins(1);
	if (wait_elapsed_ms(start_ns) < 4000)
		assert_int_equal(after, before);
	assert_driven(client, logins(1) == before + 1 && logins(2) > 0);
	assert_true(wait_elapsed_ms(start_ns) >= 4000);
	server_resume(&servers.server[0]);
	assert_soon(all_connected(client));
	expect_ok(lock, redlock_release(lock));
	assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);

	server_pause(&servers.server[0]);
	expect_ok(lock, redlock_acquire(lock));
	expect_ok(NULL, redlock_set_credentials(client, "worker", "one"));
	expect_ok(lock, redlock_release(lock));
	assert_true(redlock_drain(client, 10) > 0);
	redlock_lock_free(lock);
	redlock_close(client);
	server_resume(&servers.server[0]);
	assert_soon(servers_with_key(&servers, 3, "one-by-one") == 0);
}

TEST(own_credentials_stay)
{
	char own[256];
	change_password("fourth", "");
	snprintf(own, sizeof own, "unix://worker:fourth@%s", servers.server[0].socket);
	const char *urls[] = {own, url_of(1), url_of(2)};
	struct redlock_options options = fixture_client(urls, 3);
	own_client *client = fixture_open_with(&options);
	assert_soon(all_connected(client));
	int before = logins(0);
	expect_ok(NULL, redlock_set_credentials(client, "worker", "wrong"));
	assert_soon(status_of(client, 1).last_failure == REDLOCK_VOTE_AUTH);
	assert_soon(status_of(client, 2).last_failure == REDLOCK_VOTE_AUTH);
	assert_int_equal(logins(0), before);
	assert_int_equal(status_of(client, 0).last_failure, REDLOCK_VOTE_PENDING);
	/* From the default user to the worker, on connections that began without a login; and back to none. */
	expect_ok(NULL, redlock_set_credentials(client, "worker", "fourth"));
	assert_soon(status_of(client, 2).last_failure == REDLOCK_VOTE_PENDING && all_connected(client));
	kill_connections(1, 2);
	expect_ok(NULL, redlock_set_credentials(client, NULL, NULL));
	own_lock *lock = fixture_lock(client, "own", WAIT_LONG_TTL_MS, WAIT_SOON_MS);
	expect_pair(lock);
}

/* ---- threads ---- */

struct worker {
	redlock_client *client;
	char name[16];
	atomic_bool *stop;
	unsigned failures, rounds;
};

static void *work(void *argument)
{
	struct worker *w = argument;
	struct redlock_lock_options options = fixture_options(WAIT_LONG_TTL_MS);
	redlock_lock *lock = NULL;
	options.wait_ms = WAIT_SOON_MS;
	if (redlock_lock_new(w->client, w->name, &options, &lock) < 0) {
		w->failures++;
		return NULL;
	}
	while (!*w->stop) {
		w->rounds++;
		w->failures += redlock_acquire(lock) != 0 || redlock_release(lock) != 0;
	}
	redlock_lock_free(lock);
	return NULL;
}

/* Others work on while it is changed, to and fro. */
TEST(any_thread)
{
	enum { WORKERS = 3, CHANGES = 100 };
	change_password("fifth", "fourth");
	change_password("sixth", "");
	own_client *client = open_as("worker", "fifth");
	atomic_bool stop = false;
	struct worker workers[WORKERS];
	pthread_t threads[WORKERS];
	for (unsigned i = 0; i < WORKERS; i++) {
		workers[i] = (struct worker){.client = client, .stop = &stop};
		snprintf(workers[i].name, sizeof workers[i].name, "thread-%u", i);
		assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
	}
	for (unsigned i = 0; i < CHANGES; i++) {
		expect_ok(NULL, redlock_set_credentials(client, "worker", i % 2 == 0 ? "sixth" : "fifth"));
		wait_ms(1);
	}
	stop = true;
	for (unsigned i = 0; i < WORKERS; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(workers[i].failures, 0);
		assert_true(workers[i].rounds > 0);
	}
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(status_of(client, i).last_failure, REDLOCK_VOTE_PENDING);
}

/* ---- memory ---- */

/* Memory without a file: the heap, and what mmap(2) gave. */
static bool is_allocated(const char *line)
{
	bool named = strchr(line, '/') != NULL || strchr(line, '[') != NULL;
	return strstr(line, " rw-p ") != NULL && (!named || strstr(line, "[heap]") != NULL);
}

/* How often the secret, given XOR 1, is in memory that this process has allocated: all but its beginning. */
static unsigned heap_count(const char *hidden)
{
	hidden += 16;
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];
	unsigned count = 0;
	size_t size = strlen(hidden);
	while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
		unsigned long begin, end;
		if (!is_allocated(line) || sscanf(line, "%lx-%lx", &begin, &end) != 2)
			continue;
		/* NOLINTNEXTLINE(performance-no-int-to-ptr): an address of our own */
		const volatile char *at = (const volatile char *)begin;
		for (size_t left = end - begin; left >= size; left--, at++) {
			size_t same = 0;
			while (same < size && at[same] == (hidden[same] ^ 1))
				same++;
			count += same == size;
		}
	}
	if (maps != NULL)
		fclose(maps);
	return count;
}

static void reveal(char *secret)
{
	for (char *c = secret; *c != '\0'; c++)
		*c ^= 1;
}

/* After a change nothing of the old password is in memory, and after redlock_close() nothing of the new
 * one. */
TEST(nothing_is_left)
{
	if (wait_is_slow())
		skip(); /* their heaps are elsewhere */
	static char old_hidden[] = "PmeR`bsgu8831-free(3) writes over its beginning, this is looked for",
	            new_hidden[] = "Ofv^RdbseuX7-and this is the end of another one, of the same kind";
	char secret[96];
	snprintf(secret, sizeof secret, "%s", old_hidden);
	reveal(secret);
	redlock_client *client = open_as("worker", secret);
	assert_soon(status_of(client, 0).last_failure == REDLOCK_VOTE_AUTH);
	assert_true(heap_count(old_hidden) >= 3); /* one for each node: the search finds what is there */
	snprintf(secret, sizeof secret, "%s", new_hidden);
	reveal(secret);
	expect_ok(NULL, redlock_set_credentials(client, "worker", secret));
	explicit_bzero(secret, sizeof secret);
	assert_driven(client, heap_count(old_hidden) == 0); /* a login with it may be under way */
	assert_true(heap_count(new_hidden) >= 3);
	redlock_close(client);
	assert_int_equal(heap_count(new_hidden), 0);
}

SERVER_TESTS(3)
