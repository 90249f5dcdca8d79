/* SPDX-License-Identifier: MIT */
/* Short forms for what nearly every integration test does with the public API. */
#pragma once

#include <stdbool.h>

#include <redlock/redlock.h>

#include "group.h"
#include "servers.h"
#include "wait.h"

/* Node timeout of tests in which every node answers: long enough that a busy machine changes no result. */
#define FIXTURE_NODE_TIMEOUT_MS 20000

/* The servers of the program: SERVER_TESTS(5, .after = hook) is TESTS with five of them, which are healed
 * after each test, after the hook. */
extern struct servers servers;
void fixture_wrap(struct group *group, unsigned server_count);

/* Does this with some of them; each is `it`: on_servers(0, 3, server_pause(it)). */
#define on_servers(first, end, call)                                                                         \
	for (struct server *it = &servers.server[first]; it < &servers.server[end]; it++)                        \
	call

#define SERVER_TESTS(server_count, ...)                                                                      \
	int main(int argc, char **argv)                                                                          \
	{                                                                                                        \
		GROUP_SET(argc, argv, __VA_ARGS__);                                                                  \
		fixture_wrap(&group, server_count);                                                                  \
		return group_run(__FILE__);                                                                          \
	}

/* A variable that is freed, closed or stopped at the end of its block; the last declared is the first. */
#define own_lock __attribute__((cleanup(fixture_free))) redlock_lock
#define own_client __attribute__((cleanup(fixture_close))) redlock_client
#define own_scripted __attribute__((cleanup(scripted_stop))) struct scripted
#define own_proxy __attribute__((cleanup(proxy_stop))) struct proxy
#define own_tlspeer __attribute__((cleanup(tlspeer_stop))) struct tlspeer
void fixture_free(redlock_lock **lock);
void fixture_close(redlock_client **client);

/* Opens a client, or fails the test. */
redlock_client *fixture_open(const char *const *urls, unsigned count, uint32_t node_timeout_ms);

/* As fixture_open(), with options; fixture_client() gives options with FIXTURE_NODE_TIMEOUT_MS, and the
 * defaults otherwise. */
redlock_client *fixture_open_with(const struct redlock_options *options);
struct redlock_options fixture_client(const char *const *urls, size_t count);

/* The client has three node sets, "a", "b" and "c", of one of the servers each; the last one joins the
 * others. */
void fixture_spread(struct redlock_options *options);

/* Makes a handle, or fails the test. */
redlock_lock *fixture_lock(redlock_client *client, const char *name, uint64_t ttl_ms, uint64_t wait_ms);

/* As fixture_lock(), and acquires the lock. */
redlock_lock *fixture_held(redlock_client *client, const char *name, uint64_t ttl_ms, uint64_t wait_ms);

/* Makes one with options. */
redlock_lock *fixture_lock_with(redlock_client *client, const char *name,
                                const struct redlock_lock_options *options);

/* A handle with a value of the caller's own as its token. */
redlock_lock *fixture_value_lock(redlock_client *client, const char *name, uint64_t ttl_ms,
                                 const char *value);

/* Options with this TTL, and the defaults otherwise. */
struct redlock_lock_options fixture_options(uint64_t ttl_ms);

struct fixture_token {
	char text[REDLOCK_MAX_TOKEN + 1];
	size_t length;
};

/* The handle's token. */
struct fixture_token fixture_token(const redlock_lock *lock);

/* The vote of node `index`. */
enum redlock_vote_code fixture_vote(const redlock_lock *lock, unsigned index);

/* How many nodes voted so in the handle's last operation. */
unsigned fixture_votes_of_kind(const redlock_lock *lock, unsigned count, enum redlock_vote_kind kind);

/* The client's status of a node. */
struct redlock_node_status fixture_status(redlock_client *client, unsigned node);

/* Waits for the next event as a program with its own poll loop would: only by the notice descriptor. */
struct redlock_event fixture_next_notice(redlock_client *client);

/* True when there is no event to pull. */
bool fixture_no_notice(redlock_client *client);

/* Opens a client with these options and expects this result. The client is closed again if there is one.
 * `error_text` of the options is filled in. */
void fixture_expect_open(struct redlock_options *options, int want);

/* Fails the test unless `got` is `want`; says both by name, and what each node voted when `lock` is given. */
void fixture_expect(const redlock_lock *lock, int got, int want, const char *what, const char *file,
                    int line);

#define expect_result(lock, want, call) fixture_expect((lock), (call), (want), #call, __FILE__, __LINE__)
#define expect_ok(lock, call) expect_result(lock, 0, call)

/* The lock is free: it can be acquired and released. */
#define expect_pair(lock)                                                                                    \
	do {                                                                                                     \
		expect_ok(lock, redlock_acquire(lock));                                                              \
		expect_ok(lock, redlock_release(lock));                                                              \
	} while (0)

/* All that the client owes is done, and none of so many servers has the key. */
#define expect_settled(client, count, key)                                                                   \
	do {                                                                                                     \
		assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);                                            \
		assert_int_equal(servers_with_key(&servers, count, key), 0);                                         \
	} while (0)

/* Waits for what the client still has to send: after a blocking call has returned with the answers of a
 * quorum, the slower nodes are served when the client is driven the next time. */
#define assert_driven(client, condition) assert_soon(redlock_process(client) == 0 && (condition))

#define assert_vote_is(vote, want) assert_string_equal(redlock_vote_name(vote), redlock_vote_name(want))
#define assert_vote(lock, index, want) assert_vote_is(fixture_vote(lock, index), want)
