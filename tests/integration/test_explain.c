/* SPDX-License-Identifier: MIT */
/* The sentences of redlock_last_error(), with real servers that are held, killed or paused. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>

#include "fixture.h"

enum { NODES = 3 };

/* A text that is longer than `size` is cut off as by snprintf(3), and the length is that of all. */
static void expect_sentence(const redlock_lock *lock, const char *want)
{
	char text[1024], start[10];
	size_t length = strlen(want);
	int got = redlock_last_error(lock, text, sizeof text);
	assert_string_equal(text, want);
	assert_int_equal(got, length);
	assert_int_equal(redlock_last_error(lock, NULL, 0), length);
	assert_int_equal(redlock_last_error(lock, start, sizeof start), length);
	assert_int_equal(strlen(start), length < sizeof start ? length : sizeof start - 1);
	assert_memory_equal(start, want, strlen(start));
}

static void expect_state(const redlock_lock *lock, const char *cause)
{
	char want[256];
	snprintf(want, sizeof want, "%s: %s", redlock_strerror(REDLOCK_E_STATE), cause);
	expect_sentence(lock, want);
}

static redlock_lock *shared_lock(redlock_client *client, const char *name, uint64_t ttl_ms)
{
	struct redlock_lock_options o = fixture_options(ttl_ms);
	o.mode = REDLOCK_SHARED;
	return fixture_lock_with(client, name, &o);
}

/* The text without the addresses of single nodes. */
static void expect_start(const redlock_lock *lock, const char *want)
{
	char text[1024];
	redlock_last_error(lock, text, sizeof text);
	text[strlen(want)] = '\0';
	assert_string_equal(text, want);
}

TEST(call_that_fails_at_once)
{
	own_client *client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	own_lock *lock = fixture_lock(client, "state", WAIT_LONG_TTL_MS, 0);
	expect_sentence(lock, "success");
	expect_result(lock, REDLOCK_E_STATE, redlock_extend(lock, 0));
	expect_state(lock, "the lock is not held");
	expect_result(lock, REDLOCK_E_STATE, redlock_upgrade(lock));
	expect_state(lock, "the lock is not held");
	expect_result(lock, REDLOCK_E_INVAL, redlock_extend(lock, 1));
	expect_sentence(lock, "an extend is for 10 ms to 30 days, and longer than node timeout + drift "
	                      "(node timeout 20000 ms)");
	expect_ok(lock, redlock_acquire(lock));
	expect_sentence(lock, "success");
	expect_result(lock, REDLOCK_E_STATE, redlock_start_acquire(lock));
	expect_state(lock, "the lock is held already");
	expect_result(lock, REDLOCK_E_STATE, redlock_probe(lock));
	expect_state(lock, "the lock is held already");
	expect_result(lock, REDLOCK_E_STATE, redlock_upgrade(lock));
	expect_state(lock, "locks of this kind do not have this operation");
	expect_ok(lock, redlock_start_release(lock));
	expect_result(lock, REDLOCK_E_STATE, redlock_extend(lock, 0));
	expect_state(lock, "another operation of the handle runs");
	struct pollfd ready = {.fd = redlock_fd(client), .events = POLLIN};
	while (redlock_timeout_ns(client) != 0) {
		assert_int_equal(redlock_process(client), 0);
		(void)poll(&ready, 1, 10);
	}
	expect_result(lock, REDLOCK_E_STATE, redlock_acquire(lock));
	expect_state(lock, "redlock_next() has not returned the end of its last operation");
}

TEST(a_lost_lock_is_not_acquired)
{
	own_client *client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	own_lock *lock = fixture_lock(client, "state-lost", WAIT_LONG_TTL_MS, 0);
	expect_ok(lock, redlock_acquire(lock));
	for (unsigned i = 0; i < NODES; i++)
		server_must(&servers.server[i], "1", "DEL", "state-lost", NULL);
	expect_result(lock, REDLOCK_E_LOST, redlock_extend(lock, 0));
	expect_result(lock, REDLOCK_E_STATE, redlock_acquire(lock));
	expect_state(lock, "the lock was lost, and has to be released first");
	expect_result(lock, REDLOCK_E_GONE, redlock_release(lock));
}

/* An acquire that runs: in an event loop, where other calls of the handle are made meanwhile. */
TEST(a_handle_that_is_busy)
{
	own_client *client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	own_lock *lock = fixture_lock(client, "state-busy", WAIT_LONG_TTL_MS, 0);
	expect_ok(lock, redlock_start_acquire(lock));
	expect_result(lock, REDLOCK_E_STATE, redlock_start_acquire(lock));
	expect_state(lock, "another operation of the handle runs");
	expect_result(lock, REDLOCK_E_STATE, redlock_lock_set_wait(lock, 1));
	expect_state(lock, "another operation of the handle runs");
}

/* Labels are shown, with what could control a terminal escaped; tokens and values are not. */
TEST(busy_names_the_holder)
{
#define DIGITS "0123456789abcdef0123456789abcdef01234567"
	static const struct {
		const char *value[NODES];
		const char *want;
	} rows[] = {
	    {{DIGITS "|web-1:1234", DIGITS "|web-1:1234"}, "busy: held by web-1:1234 on 2 of 3 nodes"},
	    {{DIGITS "|a\033[2J\\\n%s", DIGITS "|a\033[2J\\\n%s"},
	     "busy: held by a\\x1b[2J\\x5c\\x0a%s on 2 of 3 nodes"},
	    {{DIGITS, DIGITS}, "busy: held by a client without an owner label on 2 of 3 nodes"},
	    {{"secret", "secret"},
	     "busy: held by a client without an owner label on 2 of 3 nodes, by a key that never expires "
	     "(`redlock break` deletes it)"},
	};
	const unsigned endless = sizeof rows / sizeof rows[0] - 1;
#undef DIGITS
	own_client *client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	char name[] = "busy-0";
	for (unsigned row = 0; row <= endless; row++, name[5]++) {
		own_lock *lock = fixture_lock(client, name, WAIT_LONG_TTL_MS, 0);
		for (unsigned i = 0; i < NODES && rows[row].value[i] != NULL; i++)
			server_must(&servers.server[i], "OK", "SET", name, rows[row].value[i],
			            row == endless ? NULL : "PX", "600000", NULL);
		expect_result(lock, REDLOCK_E_BUSY, redlock_acquire(lock));
		expect_sentence(lock, rows[row].want);
	}
}

/* The holder is another client; its label comes with the refusals of the wait. */
TEST(busy_after_a_wait)
{
	own_client *client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	struct redlock_options o = fixture_client(servers.urls, NODES);
	o.owner = "web-2:7";
	own_client *other = fixture_open_with(&o);
	own_lock *held = fixture_held(other, "waited-for", WAIT_LONG_TTL_MS, 0);
	own_lock *lock = fixture_lock(client, "waited-for", WAIT_LONG_TTL_MS, 2000);
	char text[256];
	expect_result(lock, REDLOCK_E_BUSY, redlock_acquire(lock));
	assert_in_range(redlock_last_error(lock, text, sizeof text), 1, sizeof text - 1);
	assert_memory_equal(text, "busy: held by web-2:7, as node ", 31);
	expect_ok(held, redlock_release(held));
	expect_ok(lock, redlock_acquire(lock));
	expect_sentence(lock, "success");
}

static redlock_client *labelled(const char *owner)
{
	struct redlock_options o = fixture_client(servers.urls, NODES);
	o.owner = owner;
	return fixture_open_with(&o);
}

/* A writer is told by the refusals, the first of several readers by the look. */
TEST(busy_between_readers_and_a_writer)
{
	own_client *client = labelled("web-1");
	own_client *other = labelled("web-2:7");
	own_lock *writer = fixture_held(other, "rw", WAIT_LONG_TTL_MS, 0);
	assert_driven(other, servers_with_key(&servers, NODES, "rw") == NODES);
	own_lock *reader = shared_lock(client, "rw", WAIT_LONG_TTL_MS);
	expect_result(reader, REDLOCK_E_BUSY, redlock_acquire(reader));
	expect_start(reader, "busy: held by web-2:7, as node ");
	expect_ok(writer, redlock_release(writer));
	assert_driven(other, servers_with_key(&servers, NODES, "rw") == 0);
	expect_ok(reader, redlock_acquire(reader));
	own_lock *second = shared_lock(client, "rw", WAIT_LONG_TTL_MS);
	expect_ok(second, redlock_acquire(second));
	assert_driven(client, servers_with_key(&servers, NODES, "rw") == NODES);
	expect_result(writer, REDLOCK_E_BUSY, redlock_acquire(writer));
	expect_start(writer, "busy: shared by web-1 and 1 more on ");
}

TEST(busy_slots)
{
	own_client *client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	struct redlock_lock_options o = fixture_options(WAIT_LONG_TTL_MS);
	o.slots = 2;
	own_lock *a = fixture_lock_with(client, "slots", &o), *b = fixture_lock_with(client, "slots", &o);
	own_lock *c = fixture_lock_with(client, "slots", &o);
	expect_ok(a, redlock_acquire(a));
	expect_ok(b, redlock_acquire(b));
	assert_driven(client, servers_with_key(&servers, NODES, "slots") == NODES);
	expect_result(c, REDLOCK_E_BUSY, redlock_acquire(c));
	expect_start(c, "busy: none of the 2 slots is free on ");
}

/* The name that is busy is told, and after a wait its holder, too. */
TEST(busy_names)
{
	static const char *const names[] = {"alice", "bo\nb"};
	own_client *client = labelled("web-1"), *other = labelled("web-2:7");
	struct redlock_lock_options o = fixture_options(WAIT_LONG_TTL_MS);
	own_lock *held = fixture_held(other, names[1], WAIT_LONG_TTL_MS, 0);
	assert_driven(other, servers_with_key(&servers, NODES, names[1]) == NODES);
	own_lock *lock = NULL;
	expect_ok(NULL, redlock_lock_new_many(client, names, 2, &o, &lock));
	expect_result(lock, REDLOCK_E_BUSY, redlock_acquire(lock));
	expect_start(lock, "busy: somebody else holds bo\\x0ab; ");
	expect_ok(lock, redlock_lock_set_wait(lock, 300));
	expect_result(lock, REDLOCK_E_BUSY, redlock_acquire(lock));
	expect_start(lock, "busy: bo\\x0ab is held by web-2:7, as node ");
	expect_ok(held, redlock_release(held));
}

/* A free lock, whose grant leaves less than was asked for. */
TEST(busy_because_it_is_late)
{
	own_client *client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	/* The drift of this TTL is not a whole number of ms: 10 us are left for an answer. */
	struct redlock_lock_options o = fixture_options(WAIT_LONG_TTL_MS - 1);
	struct redlock_terms terms = {.size = sizeof terms};
	expect_ok(NULL, redlock_client_terms(client, &o, &terms));
	o.min_validity_ms = terms.validity_ms;
	own_lock *lock = fixture_lock_with(client, "late", &o);
	expect_result(lock, REDLOCK_E_BUSY, redlock_acquire(lock));
	char text[256];
	redlock_last_error(lock, text, sizeof text);
	assert_non_null(strstr(text, " of 3 nodes voted yes, but less than min_validity_ms ("));
}

/* The servers are paused for so long that their connections may end before the node timeout does. */
TEST(no_quorum_groups_the_causes)
{
	own_client *client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	own_lock *lock = fixture_lock(client, "missing", WAIT_LONG_TTL_MS, 0);
	char text[1024], want[1024];
	expect_ok(lock, redlock_probe(lock));
	on_servers(1, NODES, server_pause(it));
	server_kill(&servers.server[0]);
	assert_driven(client, !fixture_status(client, 0).connected);
	expect_result(lock, REDLOCK_E_NOQUORUM, redlock_probe(lock));
	assert_in_range(redlock_last_error(lock, text, sizeof text), 1, sizeof text - 1);
	int length = snprintf(want, sizeof want,
	                      "no quorum: 0 of 3 nodes voted yes, 2 are needed; node 1 %s: not reachable: ",
	                      fixture_status(client, 0).address);
	text[length] = '\0';
	assert_string_equal(text, want);
	redlock_last_error(lock, text, sizeof text);
	assert_non_null(strstr(text, "; nodes 2, 3: "));
	servers_heal(&servers);
	assert_driven(client, fixture_status(client, 0).connected);
	expect_ok(lock, redlock_acquire(lock)); /* the outage is over: the next one has its own cause */
	expect_ok(lock, redlock_release(lock));
	on_servers(0, NODES, server_pause(it));
	expect_result(lock, REDLOCK_E_NOQUORUM, redlock_acquire(lock));
	redlock_last_error(lock, text, sizeof text);
	assert_null(strstr(text, strerror(ECONNREFUSED)));
	servers_heal(&servers);
}

/* An answer that comes after the end of the acquire counts in the sentence, which says so then. */
TEST(no_quorum_in_time)
{
	own_client *client = fixture_open(servers.urls, NODES, 100);
	own_lock *lock = fixture_lock(client, "in-time", WAIT_LONG_TTL_MS, 0);
	while (redlock_probe(lock) != 0)
		continue; /* all are connected */
	on_servers(0, NODES, server_pause(it));
	expect_result(lock, REDLOCK_E_NOQUORUM, redlock_acquire(lock));
	expect_start(lock, "no quorum: 0 of 3 nodes voted yes, 2 are needed; nodes 1, 2, 3: no answer in time");
	on_servers(0, NODES, server_resume(it));
	assert_driven(client, fixture_votes_of_kind(lock, NODES, REDLOCK_KIND_YES) == NODES);
	expect_sentence(lock, "no quorum in time: 3 of 3 nodes voted yes, 2 are needed");
	servers_heal(&servers);
}

/* A failure that is over explains no later silence. */
TEST(no_quorum_tells_no_history)
{
	own_client *client = fixture_open(servers.urls, NODES, 500);
	own_lock *lock = fixture_lock(client, "history", WAIT_LONG_TTL_MS, WAIT_SOON_MS);
	expect_ok(lock, redlock_acquire(lock));
	expect_ok(lock, redlock_release(lock));
	expect_ok(lock, redlock_lock_set_wait(lock, 0));
	on_servers(0, NODES, server_must(it, "OK", "CONFIG", "SET", "min-replicas-to-write", "1", NULL));
	expect_result(lock, REDLOCK_E_NOQUORUM, redlock_acquire(lock));
	char text[1024];
	redlock_last_error(lock, text, sizeof text);
	assert_non_null(strstr(text, "too few replicas, refuses writes: NOREPLICAS "));
	on_servers(0, NODES, server_must(it, "OK", "CONFIG", "SET", "min-replicas-to-write", "0", NULL));
	assert_driven(client, fixture_status(client, 0).owed == 0);
	on_servers(0, NODES, server_pause(it));
	expect_result(lock, REDLOCK_E_NOQUORUM, redlock_acquire(lock));
	redlock_last_error(lock, text, sizeof text);
	assert_non_null(strstr(text, ": no answer in time"));
	assert_null(strstr(text, "NOREPLICAS"));
	servers_heal(&servers);
}

/* A number is asked for, of nodes that have none: the sentence names the command that makes them count. */
TEST(no_quorum_of_nodes_that_do_not_count)
{
	own_client *client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	struct redlock_lock_options o = fixture_options(WAIT_LONG_TTL_MS);
	o.fence = 1;
	own_lock *lock = fixture_lock_with(client, "uncounted", &o);
	expect_result(lock, REDLOCK_E_NOQUORUM, redlock_acquire(lock));
	char text[1024];
	redlock_last_error(lock, text, sizeof text);
	assert_non_null(strstr(text, ": in no guarded node set: it has no record: "
	                             "`redlock init` writes it"));
}

/* ---- upgrades ---- */

/* Waits until a renewal has failed that nobody waited for. */
static void expect_unrenewed(redlock_client *client)
{
	struct redlock_stats before = {.size = sizeof before}, now = {.size = sizeof now};
	expect_ok(NULL, redlock_stats(client, &before));
	assert_driven(client, redlock_stats(client, &now) == 0 && now.failed_renewals > before.failed_renewals);
}

static void expect_forbidden(const redlock_lock *lock)
{
	char text[1024];
	redlock_last_error(lock, text, sizeof text);
	assert_non_null(strstr(text, "no quorum: 0 of 3 nodes voted yes, 2 are needed; node"));
	assert_non_null(strstr(text, "the user may not run the command"));
	unsigned forbidden = 0; /* two decide; the third may be late */
	for (unsigned i = 0; i < NODES; i++)
		forbidden += fixture_vote(lock, i) == REDLOCK_VOTE_NOPERM;
	assert_in_range(forbidden, 2, NODES);
}

/* The renewal that undoes the upgrade changes nothing that the caller reads, also after its answers. */
TEST(an_upgrade_without_a_quorum_says_why)
{
	own_client *client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	own_lock *lock = shared_lock(client, "upgraded", WAIT_LONG_TTL_MS);
	expect_ok(lock, redlock_acquire(lock));
	on_servers(0, NODES, server_must(it, "OK", "ACL", "SETUSER", "default", "-eval", "-evalsha", NULL));
	expect_result(lock, REDLOCK_E_NOQUORUM, redlock_upgrade(lock));
	expect_forbidden(lock);
	expect_unrenewed(client);
	expect_forbidden(lock);
	expect_result(lock, REDLOCK_E_STATE, redlock_acquire(lock));
	expect_state(lock, "the lock is held already");
	expect_result(lock, REDLOCK_E_NOQUORUM, redlock_downgrade(lock));
	expect_unrenewed(client);
	expect_forbidden(lock);
	expect_result(lock, REDLOCK_E_NOQUORUM, redlock_extend(lock, 0));
	expect_unrenewed(client);
	expect_forbidden(lock);
	on_servers(0, NODES, server_must(it, "OK", "ACL", "SETUSER", "default", "+@all", NULL));
	expect_ok(lock, redlock_extend(lock, 0));
	expect_sentence(lock, "success");
}

TEST(an_upgrade_with_silent_nodes_says_so)
{
	own_client *client = fixture_open(servers.urls, NODES, 1000);
	own_lock *lock = shared_lock(client, "silent", WAIT_LONG_TTL_MS);
	expect_ok(lock, redlock_acquire(lock));
	on_servers(0, NODES, server_pause(it));
	expect_result(lock, REDLOCK_E_NOQUORUM, redlock_upgrade(lock));
	expect_start(lock, "no quorum: 0 of 3 nodes voted yes, 2 are needed; nodes 1, 2, 3: no answer in time");
	servers_heal(&servers);
}

/* The sentence does not quote what an earlier query found. */
TEST(an_upgrade_among_others)
{
	own_client *client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	own_lock *lock = shared_lock(client, "among", WAIT_LONG_TTL_MS);
	own_lock *other = shared_lock(client, "among", WAIT_LONG_TTL_MS);
	expect_ok(lock, redlock_acquire(lock));
	expect_ok(lock, redlock_query(lock));
	expect_ok(other, redlock_acquire(other));
	assert_driven(client, servers_with_key(&servers, NODES, "among") == NODES);
	expect_result(lock, REDLOCK_E_BUSY, redlock_upgrade(lock));
	char text[256];
	redlock_last_error(lock, text, sizeof text);
	assert_memory_equal(text, "busy: others share the lock, on ", 32);
}

/* ---- losses ---- */

static redlock_lock *renewed(redlock_client *client, const char *name, uint64_t ttl_ms, uint64_t danger_ms)
{
	struct redlock_lock_options o = fixture_options(ttl_ms);
	o.renew_ms = 300;
	o.danger_ms = danger_ms;
	o.wait_ms = WAIT_SOON_MS; /* the node timeouts are short */
	redlock_lock *lock = fixture_lock_with(client, name, &o);
	expect_ok(lock, redlock_acquire(lock));
	return lock;
}

/* The keeper sees them, before any call of the program. */
TEST(a_loss_in_the_background_says_why)
{
	own_client *client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	expect_ok(NULL, redlock_keeper_start(client));
	own_lock *gone = renewed(client, "gone", 60000, 0);
	on_servers(0, NODES, server_must(it, "1", "DEL", "gone", NULL));
	assert_int_equal(fixture_next_notice(client).kind, REDLOCK_EVENT_LOST);
	static const char no[] =
	    "the lock was lost: a quorum of nodes no longer has it; the last renewal: 0 of 3 "
	    "nodes voted yes and ";
	expect_start(gone, no);
	expect_result(gone, REDLOCK_E_LOST, redlock_extend(gone, 0));
	expect_start(gone, no);
	expect_result(gone, REDLOCK_E_GONE, redlock_release(gone));
}

TEST(a_danger_and_a_loss_by_the_clock_say_why)
{
	own_client *client = fixture_open(servers.urls, NODES, 100);
	expect_ok(NULL, redlock_keeper_start(client));
	own_lock *danger = renewed(client, "danger", 16000, 15000);
	on_servers(0, NODES, server_pause(it));
	assert_int_equal(fixture_next_notice(client).kind, REDLOCK_EVENT_DANGER);
	expect_start(danger,
	             "the validity ends soon; the last renewal: 0 of 3 nodes voted yes, 2 are needed; node");
	on_servers(0, NODES, server_resume(it));
	assert_soon(redlock_last_error(danger, NULL, 0) == strlen("success"));
	own_lock *ended = renewed(client, "ended", 1500, 0);
	on_servers(0, NODES, server_kill(it));
	while (fixture_next_notice(client).kind != REDLOCK_EVENT_LOST)
		continue;
	static const char want[] =
	    "the lock was lost: its validity has ended; the last renewal: 0 of 3 nodes voted "
	    "yes, 2 are needed; node";
	expect_start(ended, want);
	expect_result(ended, REDLOCK_E_LOST, redlock_extend(ended, 0));
	expect_start(ended, want);
	servers_heal(&servers);
}

/* Nothing has renewed it. */
TEST(a_loss_without_a_renewal)
{
	own_client *client = fixture_open(servers.urls, NODES, 100);
	own_lock *lock = fixture_lock(client, "short", 200, WAIT_SOON_MS);
	expect_ok(lock, redlock_acquire(lock));
	assert_driven(client, redlock_deadline_ns(lock) == 0);
	expect_result(lock, REDLOCK_E_LOST, redlock_extend(lock, 0));
	expect_sentence(lock, "the lock was lost: its validity has ended");
}

SERVER_TESTS(NODES)
