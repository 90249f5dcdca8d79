/* SPDX-License-Identifier: MIT */
/*
 * Names of nodes, on real servers. getaddrinfo(3) is the test's for names that end in ".test": they have the
 * addresses and ports that the test gives them, may be silent for as long as it likes, and may move. Which of
 * several addresses is taken, and whom a name that has moved leads to: unit_dial, and tests/dns with libc's
 * own resolver.
 */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "fixture.h"

enum { NODES = 3, NAMES = 3 };

int __real_getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
                       struct addrinfo **ret);
int __wrap_getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
                       struct addrinfo **ret);

/* ---- the name server ---- */

static struct name {
	atomic_bool held; /* silent */
	atomic_int code;
	atomic_int ports[2]; /* at 127.0.0.1; 0: none */
	atomic_uint asked;
} names[NAMES]; /* a.test, b.test, c.test */

static atomic_uint waiting;
static pthread_t main_thread;

static struct addrinfo *make_list(const struct name *n, const struct addrinfo *hints)
{
	struct addrinfo *list = NULL;
	for (unsigned i = 2; i-- > 0;) {
		struct addrinfo *one;
		char port[8];
		snprintf(port, sizeof port, "%d", n->ports[i]);
		if (n->ports[i] == 0 || __real_getaddrinfo("127.0.0.1", port, hints, &one) != 0)
			continue;
		one->ai_next = list;
		list = one;
	}
	return list;
}

int __wrap_getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
                       struct addrinfo **ret)
{
	if (pthread_equal(pthread_self(), main_thread))
		abort(); /* the caller of the library would wait */
	if (strstr(host, ".test") == NULL)
		return __real_getaddrinfo(host, service, hints, ret);
	struct name *n = &names[host[0] - 'a'];
	n->asked++;
	waiting++;
	while (n->held)
		usleep(1000);
	waiting--;
	int code = n->code;
	*ret = code == 0 ? make_list(n, hints) : NULL;
	return code;
}

static void all_names(bool held, int code)
{
	for (unsigned i = 0; i < NAMES; i++) {
		names[i].code = code;
		names[i].held = held;
	}
}

static void reset(void)
{
	all_names(false, 0);
	for (unsigned i = 0; i < NAMES; i++) {
		names[i].ports[0] = servers.server[i].port;
		names[i].ports[1] = 0;
	}
	assert_soon(waiting == 0);
}

static const char *const named[NODES] = {"redis://a.test:1", "redis://b.test:1", "redis://c.test:1"};

static bool connected(redlock_client *client, unsigned node)
{
	return fixture_status(client, node).connected != 0;
}

/* ---- silent, failing ---- */

TEST(one_name_hangs)
{
	names[0].held = true;
	redlock_client *client = fixture_open(named, NODES, FIXTURE_NODE_TIMEOUT_MS);
	redlock_lock *lock = fixture_held(client, "one", WAIT_LONG_TTL_MS, 0);
	assert_vote(lock, 0, REDLOCK_VOTE_PENDING);
	assert_driven(client, servers_with_key(&servers, NODES, "one") == 2);
	expect_ok(lock, redlock_extend(lock, 0));
	expect_ok(lock, redlock_release(lock));
	assert_true(names[0].held); /* and nobody waited for it */
	redlock_lock_free(lock);
	redlock_close(client);
	assert_soon(waiting == 1); /* its thread may begin late */
}

/* Within the node timeout, then with the reason. */
TEST(all_names_hang)
{
	all_names(true, 0);
	unsigned before = names[0].asked;
	uint64_t began = wait_now_ns();
	own_client *client = fixture_open(named, NODES, 200);
	own_lock *lock = fixture_lock(client, "all", WAIT_LONG_TTL_MS, 0);
	expect_result(lock, REDLOCK_E_NOQUORUM, redlock_acquire(lock));
	assert_true(wait_elapsed_ms(began) >= 200);
	assert_int_equal(fixture_votes_of_kind(lock, NODES, REDLOCK_KIND_MISSING), NODES);
	assert_driven(client, fixture_status(client, 2).last_failure == REDLOCK_VOTE_NAME);
	assert_true(wait_elapsed_ms(began) >= 3000);
	assert_string_equal(fixture_status(client, 2).last_error, "the name server does not answer");
	expect_result(lock, REDLOCK_E_NOQUORUM, redlock_acquire(lock)); /* at once */
	for (unsigned i = 0; i < NODES; i++)
		assert_vote(lock, i, REDLOCK_VOTE_NAME);
	assert_int_equal(names[0].asked, before + 1); /* one lookup at a time */
	assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);
	all_names(false, 0);
	assert_driven(client, connected(client, 0) && connected(client, 1) && connected(client, 2));
	expect_ok(lock, redlock_acquire(lock));
}

static void *heal_names(void *unused)
{
	wait_ms(400);
	all_names(false, 0);
	return unused;
}

/* A waiter for a lock goes on waiting: names may come back, as they do when a whole cluster starts. */
TEST(names_that_come_back)
{
	static const int codes[] = {EAI_AGAIN, EAI_NONAME};
	for (unsigned i = 0; i < 2; i++) {
		pthread_t thread;
		all_names(false, codes[i]);
		unsigned before = names[0].asked;
		own_client *client = fixture_open(named, NODES, FIXTURE_NODE_TIMEOUT_MS);
		own_lock *lock = fixture_lock(client, "back", WAIT_LONG_TTL_MS, WAIT_SOON_MS);
		assert_driven(client, fixture_status(client, 0).last_failure == REDLOCK_VOTE_NAME);
		assert_string_equal(fixture_status(client, 0).last_error, gai_strerror(codes[i]));
		assert_int_equal(pthread_create(&thread, NULL, heal_names, NULL), 0);
		expect_ok(lock, redlock_acquire(lock));
		pthread_join(thread, NULL);
		assert_true(names[0].asked - before < 20); /* the backoff of connections */
	}
}

TEST(closed_during_lookups)
{
	all_names(true, 0);
	unsigned before = waiting;
	for (unsigned i = 0; i < 20; i++) {
		own_client *client = fixture_open(named, NODES, 200);
		own_lock *lock = fixture_lock(client, "closed", WAIT_LONG_TTL_MS, 0);
		expect_ok(NULL, redlock_start_acquire(lock));
		expect_ok(NULL, redlock_process(client));
	}
	assert_soon(waiting == before + 60); /* nobody has waited for them */
}

TEST(event_loop)
{
	all_names(true, 0);
	own_client *client = fixture_open(named, NODES, FIXTURE_NODE_TIMEOUT_MS);
	own_lock *lock = fixture_lock(client, "loop", WAIT_LONG_TTL_MS, 0);
	struct pollfd watched = {.fd = redlock_fd(client), .events = POLLIN};
	struct redlock_event event = {.size = sizeof event};
	expect_ok(NULL, redlock_start_acquire(lock));
	expect_ok(NULL, redlock_process(client));
	assert_int_equal(poll(&watched, 1, 0), 0);
	all_names(false, 0);
	while (redlock_next(client, &event) == 0) {
		assert_int_equal(poll(&watched, 1, WAIT_SOON_MS), 1);
		expect_ok(NULL, redlock_process(client));
	}
	assert_int_equal(event.result, 0);
}

/* ---- names that move ---- */

/* a.test, which is the first server at first, and the third server by its path. */
static redlock_client *open_pair(void)
{
	const char *urls[] = {named[0], servers.urls[2]};
	redlock_client *client = fixture_open(urls, 2, FIXTURE_NODE_TIMEOUT_MS);
	assert_driven(client, connected(client, 0) && connected(client, 1));
	return client;
}

TEST(stays_when_read_only)
{
	own_client *client = open_pair();
	own_lock *lock = fixture_lock(client, "moved", WAIT_LONG_TTL_MS, 0);
	server_must(&servers.server[0], "OK", "REPLICAOF", "127.0.0.1", "1", NULL);
	unsigned before = names[0].asked;
	wait_ms(1000); /* what was found a moment ago is not doubted */
	for (unsigned i = 0; i < 20; i++) {
		expect_result(lock, REDLOCK_E_NOQUORUM, redlock_acquire(lock));
		assert_vote(lock, 0, REDLOCK_VOTE_READONLY);
	}
	assert_soon(names[0].asked == before + 1);
	server_must(&servers.server[0], "OK", "REPLICAOF", "NO", "ONE", NULL);
	expect_ok(lock, redlock_acquire(lock));
	assert_int_equal(fixture_status(client, 0).last_failure, REDLOCK_VOTE_READONLY); /* no break since */
}

/* The name moves, and the connection to the server before breaks. */
static void move(redlock_client *client, unsigned from, unsigned to)
{
	struct raw_reply reply;
	char before[41];
	memcpy(before, fixture_status(client, 0).run_id, sizeof before);
	wait_ms(1000); /* what was found a moment ago is not looked up again */
	names[0].ports[0] = servers.server[to].port;
	server_ask(&servers.server[from], &reply, "CLIENT", "KILL", "TYPE", "normal", NULL);
	assert_driven(client, connected(client, 0) && strcmp(before, fixture_status(client, 0).run_id) != 0);
}

/* A release follows the name. Where the next server has a copy of the key, all is well; the key at a server
 * that is left behind without one lingers, and that is told. */
TEST(debts_follow_the_name)
{
	own_client *client = open_pair();
	own_lock *lock = fixture_held(client, "debt", WAIT_LONG_TTL_MS, 0);
	server_must(&servers.server[1], "OK", "SET", "debt", fixture_token(lock).text, "PX", "60000", NULL);
	move(client, 0, 1);
	redlock_release(lock);
	assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);
	assert_driven(client, !server_has(&servers.server[1], "debt"));
	assert_int_equal(fixture_status(client, 0).lingering, 0);

	expect_ok(lock, redlock_acquire(lock));
	assert_driven(client, server_has(&servers.server[1], "debt"));
	server_must(&servers.server[0], "OK", "FLUSHALL", NULL);
	move(client, 1, 0);
	redlock_release(lock);
	assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);
	assert_driven(client, fixture_status(client, 0).lingering == 1);
	assert_true(server_has(&servers.server[1], "debt"));
}

/* The name moves onto the server of another node. That one keeps its vote, and what is held is extended; the
 * vote of the name that moved is back when the name is. Two nodes have no quorum meanwhile. */
TEST(moves_onto_another_node)
{
	for (unsigned count = 2; count <= NODES; count++) {
		own_client *client = fixture_open(named, count, FIXTURE_NODE_TIMEOUT_MS);
		own_lock *lock = fixture_lock(client, "onto", WAIT_LONG_TTL_MS, 0);
		expect_ok(lock, redlock_acquire(lock));
		assert_driven(client, fixture_votes_of_kind(lock, count, REDLOCK_KIND_YES) == count);
		move(client, 0, 1);
		for (unsigned i = 0; i < 10; i++) {
			struct raw_reply reply;
			expect_result(lock, count == 2 ? REDLOCK_E_NOQUORUM : 0, redlock_extend(lock, 0));
			assert_driven(client, fixture_votes_of_kind(lock, count, REDLOCK_KIND_PENDING) == 0);
			assert_int_equal(fixture_votes_of_kind(lock, count, REDLOCK_KIND_YES), count - 1);
			if (i % 2 == 1) /* both connect again, in any order */
				server_ask(&servers.server[1], &reply, "CLIENT", "KILL", "TYPE", "normal", NULL);
			wait_ms(20);
			assert_driven(client, connected(client, 0) && connected(client, 1));
		}
		own_lock *other = fixture_lock(client, "meanwhile", WAIT_LONG_TTL_MS, 0);
		for (unsigned i = 0; i < 10; i++) {
			expect_result(other, count == 2 ? REDLOCK_E_DUPLICATE : 0, redlock_acquire(other));
			if (count > 2)
				expect_ok(other, redlock_release(other));
		}
		expect_settled(client, NODES, "meanwhile");
		move(client, 1, 0);
		assert_driven(client, connected(client, 1));
		expect_ok(lock, redlock_extend(lock, 0));
		assert_driven(client, fixture_votes_of_kind(lock, count, REDLOCK_KIND_YES) == count);
		expect_ok(lock, redlock_release(lock));
	}
}

/* ---- two names of one server ---- */

/* Servers that do not tell who they are are told apart by their addresses. */
TEST(two_names_without_identity)
{
	on_servers(0, 2,
	           server_must(it, "OK", "ACL", "SETUSER", "mute", "on", ">pw", "~*", "+@all", "-info", NULL));
	const char *twice[] = {"redis://mute:pw@a.test:1", "redis://mute:pw@b.test:1", servers.urls[2]};
	names[1].ports[0] = servers.server[0].port;
	for (unsigned i = 0; i < 20; i++) {
		own_client *two = fixture_open(twice, 2, FIXTURE_NODE_TIMEOUT_MS);
		own_lock *refused = fixture_lock(two, "twice", WAIT_LONG_TTL_MS, 0);
		expect_result(refused, REDLOCK_E_DUPLICATE, redlock_acquire(refused));
		assert_int_equal(redlock_drain(two, WAIT_SOON_MS), 0);
		own_client *three = fixture_open(twice, 3, FIXTURE_NODE_TIMEOUT_MS);
		own_lock *once = fixture_held(three, "once", WAIT_LONG_TTL_MS, 0);
		expect_ok(once, redlock_extend(once, 0));
		assert_driven(three, fixture_votes_of_kind(once, 3, REDLOCK_KIND_PENDING) == 0);
		assert_int_equal(fixture_votes_of_kind(once, 3, REDLOCK_KIND_YES), 2);
		expect_ok(once, redlock_release(once));
		assert_int_equal(redlock_drain(three, WAIT_SOON_MS), 0);
	}
	names[1].ports[0] = servers.server[1].port;
	const char *urls[] = {"redis://mute:pw@a.test:1", "redis://mute:pw@b.test:1", servers.urls[2]};
	own_client *client = fixture_open(urls, 3, FIXTURE_NODE_TIMEOUT_MS);
	own_lock *lock = fixture_lock(client, "mute", WAIT_LONG_TTL_MS, 0);
	for (unsigned i = 0; i < 5; i++) {
		expect_ok(lock, redlock_acquire(lock));
		assert_driven(client, fixture_votes_of_kind(lock, 3, REDLOCK_KIND_YES) == 3);
		expect_ok(lock, redlock_release(lock));
	}
}

static void start(void)
{
	main_thread = pthread_self();
}

static void stop(void)
{
	all_names(false, 0);
	assert_soon(waiting == 0);
	wait_ms(50); /* the last threads free what is theirs, before a leak checker looks */
}

SERVER_TESTS(NODES, .start = start, .stop = stop, .before = reset)
