/* SPDX-License-Identifier: MIT */
/* The second link of a node beside real servers: what is published arrives, and whatever becomes of the link,
 * locks do not notice. Nobody waits yet: the test says that somebody does. */
#include <stdio.h>
#include <unistd.h>

#include "child.h"
#include "client.h"
#include "fixture.h"
#include "tlspeer.h"
#include "turn.h"

enum { NODES = 3, AT = 1 }; /* somebody waits at the second one */

#define CHANNEL "redlock:wake:0123456789abcdef"

static unsigned woken, last_slot;

/* The linker leads the library's calls here (--wrap). */
void __wrap_rl_hear_message(redlock_client *c, const struct rl_heard *heard, unsigned node);
void __wrap_rl_hear_message(redlock_client *c, const struct rl_heard *heard, unsigned node)
{
	(void)c;
	assert_int_equal(node, AT);
	woken++;
	last_slot = heard->number;
}

/* Somebody waits. Whether a message would be heard. */
static bool hears(redlock_client *client)
{
	rl_loop_enter_now(&client->loop);
	rl_nodes_listen(&client->nodes, AT, rl_slice_of("name"), CHANNEL, client->loop.now_ns);
	bool heard = rl_node_hears(&client->nodes.list[AT]);
	rl_turn_settle(client);
	rl_loop_leave(&client->loop);
	expect_ok(NULL, redlock_process(client));
	return heard;
}

static int receivers(const char *payload)
{
	struct raw_reply reply;
	return atoi(server_ask(&servers.server[AT], &reply, "PUBLISH", CHANNEL, payload, NULL));
}

static void expect_message(redlock_client *client, const char *payload)
{
	unsigned before = woken;
	assert_soon(hears(client));
	assert_int_equal(receivers(payload), 1);
	assert_driven(client, woken == before + 1);
	assert_int_equal(last_slot, strtoul(payload, NULL, 10));
}

/* The listener is not connected at present. */
static bool is_left(redlock_client *client)
{
	expect_ok(NULL, redlock_process(client));
	const struct rl_listener *l = client->nodes.list[AT].listener;
	return l == NULL || !l->stands;
}

static long long connections(const struct server *server)
{
	struct raw_reply reply;
	const char *line =
	    strstr(server_ask(server, &reply, "INFO", "stats", NULL), "total_connections_received:");
	assert_non_null(line);
	return strtoll(line + strlen("total_connections_received:"), NULL, 10);
}

TEST(messages_arrive)
{
	own_client *client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	expect_message(client, "0");
	expect_message(client, "4294967295");
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(receivers("7"), 1);
	unsigned before = woken;
	assert_driven(client, woken == before + 100);
}

TEST(over_tcp)
{
	own_client *client = fixture_open(servers.tcp_urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	expect_message(client, "5");
}

/* The server has a TLS port besides. */
TEST(over_tls)
{
	char dir[] = "/tmp/redlock-listener.XXXXXX", ca[96], cert[96], key[96], port[16], url[64];
	int number;
	assert_non_null(mkdtemp(dir));
	tlspeer_pki(dir);
	snprintf(ca, sizeof ca, "%s/ca.crt", dir);
	snprintf(cert, sizeof cert, "%s/good.crt", dir);
	snprintf(key, sizeof key, "%s/good.key", dir);
	close(child_listen(0, &number));
	snprintf(port, sizeof port, "%d", number);
	snprintf(url, sizeof url, "rediss://127.0.0.1:%d", number);
	server_must(&servers.server[AT], "OK", "CONFIG", "SET", "tls-ca-cert-file", ca, "tls-cert-file", cert,
	            "tls-key-file", key, "tls-auth-clients", "no", "tls-port", port, NULL);
	const char *urls[NODES] = {servers.urls[0], url, servers.urls[2]};
	struct redlock_options options = fixture_client(urls, NODES);
	options.tls_ca_file = ca;
	own_client *client = fixture_open_with(&options);
	expect_message(client, "5");
	expect_message(client, "6");
	server_must(&servers.server[AT], "OK", "CONFIG", "SET", "tls-port", "0", NULL);
	child_remove_tree(dir);
}

/* A child process closes its copy, and the server does not notice. */
TEST(forked)
{
	redlock_client *client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	expect_message(client, "5");
	long long before = connections(&servers.server[AT]);
	pid_t pid = child_fork();
	if (pid == 0) {
		redlock_close(client);
		_exit(0);
	}
	assert_int_equal(child_join(pid), 0);
	assert_int_equal(connections(&servers.server[AT]), before + 1); /* one is the question itself */
	expect_message(client, "6");
	redlock_close(client);
	assert_soon(receivers("7") == 0);
}

/* The listener goes when nobody needs it: the server has no subscriber. */
TEST(is_left_when_nobody_waits)
{
	own_client *client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	expect_message(client, "5");
	uint64_t since_ns = wait_now_ns();
	assert_driven(client, client->nodes.list[AT].listener == NULL);
	assert_true(wait_elapsed_ms(since_ns) > 8000);
	assert_soon(receivers("5") == 0);
}

/* Idle, it is asked whether it is there, and stays. */
TEST(pings)
{
	own_client *client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	expect_message(client, "5");
	long long before = connections(&servers.server[AT]);
	uint64_t since_ns = wait_now_ns();
	while (wait_elapsed_ms(since_ns) < 7000) {
		assert_true(hears(client));
		wait_ms(10);
	}
	long long asked = connections(&servers.server[AT]) - before; /* one is the question itself */
	assert_int_equal(asked, 1);
	expect_message(client, "6");
}

TEST(killed)
{
	struct raw_reply reply;
	own_client *client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	own_lock *lock = fixture_lock(client, "killed", WAIT_LONG_TTL_MS, 0);
	for (unsigned i = 0; i < 3; i++) {
		expect_message(client, "5");
		expect_ok(lock, redlock_acquire(lock));
		server_ask(&servers.server[AT], &reply, "CLIENT", "KILL", "TYPE", "pubsub", NULL);
		assert_int_equal(reply.integer, 1);
		assert_driven(client, is_left(client));
		expect_ok(lock, redlock_extend(lock, 0));
		assert_driven(client, fixture_vote(lock, AT) == REDLOCK_VOTE_YES);
		expect_ok(lock, redlock_release(lock));
	}
	expect_message(client, "6");
}

/* A server that hangs says nothing: the link is given up within 6 s, and neither locks nor the close wait. */
TEST(stopped)
{
	own_client *client = fixture_open(servers.urls, NODES, 500);
	own_lock *lock = fixture_lock(client, "stopped", WAIT_LONG_TTL_MS, 0);
	expect_message(client, "5");
	server_pause(&servers.server[AT]);
	uint64_t since_ns = wait_now_ns();
	expect_ok(lock, redlock_acquire(lock));
	expect_ok(lock, redlock_release(lock));
	assert_driven(client, is_left(client));
	assert_in_range(wait_elapsed_ms(since_ns), 0, 10000);
	server_resume(&servers.server[AT]);
	expect_message(client, "6");
	expect_pair(lock);
}

TEST(closed_while_stopped)
{
	redlock_client *client = fixture_open(servers.urls, NODES, 500);
	expect_message(client, "5");
	server_pause(&servers.server[AT]);
	uint64_t since_ns = wait_now_ns();
	assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);
	redlock_close(client);
	assert_in_range(wait_elapsed_ms(since_ns), 0, 5000);
	server_resume(&servers.server[AT]);
}

TEST(restarted)
{
	own_client *client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	own_lock *lock = fixture_lock(client, "restarted", WAIT_LONG_TTL_MS, 0);
	expect_message(client, "5");
	server_kill(&servers.server[AT]);
	assert_driven(client, is_left(client));
	expect_pair(lock);
	server_restart(&servers.server[AT]);
	expect_message(client, "6");
}

/* A user without the channel waits by asking again; when the channel is given to it, it hears. */
TEST(without_the_channel)
{
	static const char *const rules[][3] = {
	    {"+@all", "resetchannels", "~*"}, {"-subscribe", "&*", "~*"}, {"+@all", "&redlock:wake:*", "~*"}};
	struct redlock_options options = fixture_client(servers.urls, NODES);
	for (unsigned i = 0; i < 3; i++) {
		on_servers(0, NODES,
		           server_must(it, "OK", "ACL", "SETUSER", "worker", "reset", "on", ">pw", "+@all",
		                       rules[i][0], rules[i][1], rules[i][2], NULL));
		options.user = "worker";
		options.password = "pw";
		own_client *client = fixture_open_with(&options);
		own_lock *lock = fixture_lock(client, "no-channel", WAIT_LONG_TTL_MS, 0);
		expect_pair(lock);
		if (i < 2) {
			assert_driven(client, !hears(client) && client->nodes.list[AT].deaf_until_ns > 0);
			long long before = connections(&servers.server[AT]);
			assert_false(hears(client));
			expect_pair(lock);
			assert_int_equal(connections(&servers.server[AT]), before + 1);
		} else {
			expect_message(client, "5");
		}
	}
}

/* The channel is taken away: the server closes the link, and the next one is refused. New credentials bring
 * it back. */
TEST(the_channel_is_taken_away)
{
	struct redlock_options options = fixture_client(servers.urls, NODES);
	on_servers(
	    0, NODES,
	    server_must(it, "OK", "ACL", "SETUSER", "worker", "reset", "on", ">pw", "+@all", "~*", "&*", NULL));
	options.user = "worker";
	options.password = "pw";
	own_client *client = fixture_open_with(&options);
	own_lock *lock = fixture_lock(client, "taken-away", WAIT_LONG_TTL_MS, 0);
	expect_message(client, "5");
	server_must(&servers.server[AT], "OK", "ACL", "SETUSER", "worker", "resetchannels", NULL);
	assert_driven(client, !hears(client) && client->nodes.list[AT].deaf_until_ns > 0);
	expect_pair(lock);
	server_must(&servers.server[AT], "OK", "ACL", "SETUSER", "worker", "&redlock:wake:*", ">new", NULL);
	on_servers(0, NODES, server_must(it, "OK", "ACL", "SETUSER", "worker", ">new", NULL));
	assert_false(hears(client));
	expect_ok(NULL, redlock_set_credentials(client, "worker", "new"));
	expect_message(client, "6");
	expect_pair(lock);
}

SERVER_TESTS(NODES)
