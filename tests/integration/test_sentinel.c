/* SPDX-License-Identifier: MIT */
/*
 * A node that Sentinels name, on real servers: one master, two replicas and three Sentinels. The vote follows
 * the master when it dies, hangs, or is demoted; a demoted master has none. `integration_sentinel long` fails
 * over ten times, by all of that, and prints for how long there was no vote. With a network that is cut:
 * tests/faults.
 */
#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "fixture.h"
#include "proxy.h"
#include "record.h"

enum { SERVERS = 3, SENTINELS = 3, DOWN_AFTER_MS = 300 };

static struct server sentinels[SENTINELS];
static char url[256], locked_url[320], late_url[256];
static const char *const one_url[] = {url};

/* ---- the Sentinels ---- */

static void take_port(struct server *s)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof address;
	int on = 1;
	s->port_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(s->port_fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	assert_int_equal(bind(s->port_fd, (struct sockaddr *)&address, length), 0);
	assert_int_equal(getsockname(s->port_fd, (struct sockaddr *)&address, &length), 0);
	s->port = ntohs(address.sin_port);
}

static void start_sentinel(struct server *s, unsigned index)
{
	char path[160];
	take_port(s);
	snprintf(path, sizeof path, "%s/sentinel-%u.conf", servers.dir, index);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file,
	        "port %d\nbind 127.0.0.1\nunixsocket %s/sentinel-%u.sock\ndir %s\nlogfile sentinel-%u.log\n"
	        "sentinel monitor jobs 127.0.0.1 %d 2\nsentinel down-after-milliseconds jobs %d\n"
	        "sentinel failover-timeout jobs 2000\n",
	        s->port, servers.dir, index, servers.dir, index, servers.server[0].port, DOWN_AFTER_MS);
	fclose(file);
	snprintf(s->socket, sizeof s->socket, "%s/sentinel-%u.sock", servers.dir, index);
	s->pid = child_fork();
	if (s->pid > 0)
		return;
	child_detach(NULL, 0);
	execlp("redis-server", "redis-server", path, "--sentinel", (char *)NULL);
	_exit(127);
}

static bool says(const struct server *s, const char *field, int value)
{
	char wanted[64];
	struct raw_reply reply;
	snprintf(wanted, sizeof wanted, "%s%d", field, value);
	return strstr(server_ask(s, &reply, "INFO", NULL), wanted) != NULL;
}

/* All of them know both replicas and each other: before that none of them can fail over. */
static bool are_ready(void)
{
	bool ready = true;
	for (unsigned i = 0; i < SENTINELS; i++)
		ready = ready && says(&sentinels[i], ",slaves=", SERVERS - 1) &&
		        says(&sentinels[i], ",sentinels=", SENTINELS);
	return ready;
}

static void start(void)
{
	char port[16];
	servers_start(&servers, SERVERS, NULL);
	snprintf(port, sizeof port, "%d", servers.server[0].port);
	on_servers(0, SERVERS, server_must(it, "OK", "CONFIG", "SET", "repl-diskless-sync-delay", "0", NULL));
	on_servers(1, SERVERS, server_must(it, "OK", "REPLICAOF", "127.0.0.1", port, NULL));
	assert_soon(says(&servers.server[0], "connected_slaves:", SERVERS - 1));
	for (unsigned i = 0; i < SENTINELS; i++)
		start_sentinel(&sentinels[i], i);
	snprintf(url, sizeof url, "redis+sentinel://127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d/jobs",
	         sentinels[0].port, sentinels[1].port, sentinels[2].port);
	snprintf(locked_url, sizeof locked_url, "%s?sentinel_user=ask&sentinel_password=s%%2Cecret", url);
	snprintf(late_url, sizeof late_url, "redis+sentinel://127.0.0.1:%d/other", sentinels[0].port);
	assert_soon(are_ready());
}

static void stop(void)
{
	for (unsigned i = 0; i < SENTINELS; i++) {
		kill(sentinels[i].pid, SIGKILL);
		waitpid(sentinels[i].pid, NULL, 0);
		close(sentinels[i].port_fd);
	}
	servers_stop(&servers);
}

/* The server that all Sentinels name. NULL: they do not agree. */
static struct server *master(void)
{
	struct raw_reply reply;
	struct server *found = NULL;
	for (unsigned i = 0; i < SENTINELS; i++) {
		struct server *named = NULL;
		on_servers(0, SERVERS, {
			char address[48];
			snprintf(address, sizeof address, "address=127.0.0.1:%d", it->port);
			named = strstr(server_ask(&sentinels[i], &reply, "INFO", NULL), address) != NULL ? it : named;
		});
		if (named == NULL || (i > 0 && named != found))
			return NULL;
		found = named;
	}
	return found;
}

/* All servers run, the Sentinels agree, and a further failover is possible. */
static struct server *settled_master(void)
{
	struct server *now = NULL;
	on_servers(0, SERVERS, {
		if (it->paused)
			server_resume(it);
		if (it->pid == 0)
			server_restart(it);
	});
	for (uint64_t began = wait_now_ns(); wait_elapsed_ms(began) < 60000; wait_ms(20)) {
		now = master();
		if (now != NULL && says(now, "connected_slaves:", SERVERS - 1) && are_ready())
			break;
		now = NULL;
	}
	assert_non_null(now);
	return now;
}

/* ---- failovers ---- */

/* Acquires until it is granted by another server than `old`; returns after how long. Never is it granted by
 * the old one once the new one has voted. */
static uint64_t until_followed(redlock_client *client, redlock_lock *lock, const char *old)
{
	uint64_t began = wait_now_ns();
	while (wait_elapsed_ms(began) < 60000) {
		if (redlock_acquire(lock) == 0) {
			bool moved = strcmp(fixture_status(client, 0).run_id, old) != 0;
			(void)redlock_release(lock);
			if (moved)
				return wait_elapsed_ms(began);
		}
		wait_ms(5);
	}
	fail_msg("the vote has not followed the master");
	return 0;
}

static void demote(struct server *unused)
{
	struct raw_reply reply;
	(void)unused;
	server_ask(&sentinels[1], &reply, "SENTINEL", "FAILOVER", "jobs", NULL);
}

static const struct {
	const char *name;
	void (*harm)(struct server *master);
} harms[] = {{"kill", server_kill}, {"hang", server_pause}, {"demotion", demote}};
enum { HANG = 1 };

/* A failover: the vote follows, and the old master, which may believe to be one when it comes back, has none.
 */
static void fail_over(unsigned how)
{
	struct server *old = settled_master();
	char run_id[41];
	own_client *client = fixture_open(one_url, 1, 200);
	own_lock *lock = fixture_lock(client, "jobs:1", 1000, 0);
	expect_pair(lock);
	memcpy(run_id, fixture_status(client, 0).run_id, sizeof run_id);
	harms[how].harm(old);
	uint64_t took_ms = until_followed(client, lock, run_id);
	if (group.argument != NULL)
		print_message("%s: %llu ms without a vote\n", harms[how].name, (unsigned long long)took_ms);
	if (old->paused)
		server_resume(old); /* it takes itself for the master until the Sentinels have seen it */
	bool released_late = false;
	for (uint64_t began = wait_now_ns(); wait_elapsed_ms(began) < 1000; wait_ms(20)) {
		int error = redlock_acquire(lock);
		if (error == REDLOCK_E_NOQUORUM) /* a Sentinel that is late named a server that is down by now */
			continue;
		if (error == REDLOCK_E_BUSY && released_late) /* a release is on its way */
			continue;
		expect_ok(lock, error);
		assert_string_not_equal(fixture_status(client, 0).run_id, run_id);
		error = redlock_release(lock);
		released_late = error == REDLOCK_E_NOQUORUM;
		/* Sentinels that configure a server end its connections, and a late one names one that is down. */
		if (released_late)
			assert_true(fixture_vote(lock, 0) == REDLOCK_VOTE_CLOSED ||
			            fixture_vote(lock, 0) == REDLOCK_VOTE_DOWN);
		else
			expect_ok(lock, error);
	}
	(void)until_followed(client, lock, run_id);
}

/* ---- what the Sentinels say ---- */

TEST(sentinels_that_hang_or_are_gone_cost_nothing)
{
	settled_master();
	server_pause(&sentinels[0]);
	char longer[320];
	snprintf(longer, sizeof longer, "redis+sentinel://127.0.0.1:1,127.0.0.1:%d,127.0.0.1:%d/jobs",
	         sentinels[0].port, sentinels[1].port);
	const char *urls[] = {longer};
	uint64_t began = wait_now_ns();
	own_client *client = fixture_open(urls, 1, FIXTURE_NODE_TIMEOUT_MS);
	own_lock *lock = fixture_lock(client, "jobs:2", WAIT_LONG_TTL_MS, 0);
	expect_pair(lock);
	assert_true(wait_elapsed_ms(began) < 900); /* the hung one is left after a second */
	server_resume(&sentinels[0]);
}

TEST(no_such_master)
{
	const char *urls[] = {late_url};
	own_client *client = fixture_open(urls, 1, 500);
	own_lock *lock = fixture_lock(client, "jobs:3", WAIT_LONG_TTL_MS, 0);
	expect_result(lock, REDLOCK_E_NOQUORUM, redlock_acquire(lock));
	assert_vote(lock, 0, REDLOCK_VOTE_MASTER);
	assert_string_equal(fixture_status(client, 0).last_error, "no Sentinel knows a master other");
}

/* A Sentinel that names a replica: it must not be asked anything. */
TEST(a_replica_has_no_vote)
{
	char port[16];
	struct raw_reply reply;
	struct server *now = settled_master(),
	              *replica = now == &servers.server[0] ? &servers.server[1] : &servers.server[0];
	snprintf(port, sizeof port, "%d", replica->port);
	server_must(&sentinels[0], "OK", "SENTINEL", "MONITOR", "other", "127.0.0.1", port, "3", NULL);
	const char *urls[] = {late_url};
	own_client *client = fixture_open(urls, 1, 500);
	own_lock *lock = fixture_lock(client, "jobs:4", WAIT_LONG_TTL_MS, 0);
	expect_result(lock, REDLOCK_E_NOQUORUM, redlock_acquire(lock));
	assert_vote(lock, 0, REDLOCK_VOTE_READONLY);
	assert_non_null(strstr(fixture_status(client, 0).last_error, "a replica"));
	server_ask(&sentinels[0], &reply, "SENTINEL", "REMOVE", "other", NULL);
}

/* One Sentinel of three names another server, and answers first. The two others are heard before a vote is
 * asked for, so that the first attempt of a client is at the master. */
TEST(a_sentinel_that_is_wrong_and_fast)
{
	enum { TRIES = 20, LATER_MS = 5 };
	char wrong_port[16], right_port[16], some[256];
	const char *urls[] = {some};
	unsigned good = 0;
	own_proxy first, second, third;
	struct proxy *const slow[SENTINELS] = {&first, &second, &third};
	struct raw_reply reply;
	struct server *now = settled_master(),
	              *wrong = now == &servers.server[0] ? &servers.server[1] : &servers.server[0];
	snprintf(wrong_port, sizeof wrong_port, "%d", wrong->port);
	snprintf(right_port, sizeof right_port, "%d", now->port);
	for (unsigned i = 0; i < SENTINELS; i++) {
		server_must(&sentinels[i], "OK", "SENTINEL", "MONITOR", "odd", "127.0.0.1",
		            i == 0 ? wrong_port : right_port, "3", NULL);
		proxy_start(slow[i], sentinels[i].socket);
		proxy_set(slow[i], &slow[i]->faults->delay_down_ms, i == 0 ? 0 : LATER_MS);
	}
	snprintf(some, sizeof some, "redis+sentinel://127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d/odd", slow[0]->port,
	         slow[1]->port, slow[2]->port);
	for (unsigned i = 0; i < TRIES; i++) {
		own_client *client = fixture_open(urls, 1, FIXTURE_NODE_TIMEOUT_MS);
		own_lock *lock = fixture_lock(client, "jobs:7", WAIT_LONG_TTL_MS, 0);
		good += redlock_acquire(lock) == 0 && redlock_release(lock) == 0;
	}
	for (unsigned i = 0; i < SENTINELS; i++)
		server_ask(&sentinels[i], &reply, "SENTINEL", "REMOVE", "odd", NULL);
	assert_in_range(good, TRIES / 2, TRIES); /* all of them, but for a machine that is slow */
}

/* The Sentinels have a user and a password of their own. */
TEST(sentinels_with_a_password)
{
	const char *urls[] = {locked_url};
	settled_master();
	for (unsigned i = 0; i < SENTINELS; i++) {
		server_must(&sentinels[i], "OK", "ACL", "SETUSER", "ask", "on", ">s,ecret", "+subscribe",
		            "+unsubscribe", "+sentinel|get-master-addr-by-name", "allchannels", NULL);
	}
	own_client *client = fixture_open(urls, 1, FIXTURE_NODE_TIMEOUT_MS);
	own_lock *lock = fixture_lock(client, "jobs:5", WAIT_LONG_TTL_MS, 0);
	expect_pair(lock);
	locked_url[strlen(locked_url) - 1] = 'x';
	own_client *refused = fixture_open(urls, 1, 500);
	own_lock *none = fixture_lock(refused, "jobs:5", WAIT_LONG_TTL_MS, 0);
	expect_result(none, REDLOCK_E_NOQUORUM, redlock_acquire(none));
	assert_non_null(strstr(fixture_status(refused, 0).last_error, "no Sentinel names the master: WRONGPASS"));
}

/* Until it may be asked no more by the connection that there was: a quarter of the longest TTL. */
static bool is_granted_for(redlock_lock *lock, uint64_t ms)
{
	for (uint64_t began = wait_now_ns(); wait_elapsed_ms(began) < ms; wait_ms(20))
		if (redlock_acquire(lock) != 0 || redlock_release(lock) != 0)
			return false;
	return true;
}

/* In a guarded set the address must be confirmed, again and again, by most of the Sentinels: any of them,
 * also when the first of the list is gone. */
TEST(a_guarded_master_votes_while_most_sentinels_name_it)
{
	enum { MAX_TTL_MS = 4000, MORE_THAN_AGE_MS = 1200 };
	char some[256], member[256];
	const char *urls[] = {some};
	own_proxy first, second;
	settled_master();
	proxy_start(&first, sentinels[0].socket);
	proxy_start(&second, sentinels[1].socket);
	snprintf(member, sizeof member, "sentinel:127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d/jobs/0", first.port,
	         second.port, sentinels[2].port);
	snprintf(some, sizeof some, "redis+sentinel://127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d/jobs", first.port,
	         second.port, sentinels[2].port);
	record_write_alone(master(), member, MAX_TTL_MS);
	own_client *client = fixture_open(urls, 1, 1000);
	own_lock *lock = fixture_lock(client, "jobs:6", MAX_TTL_MS, 0);
	expect_pair(lock);
	proxy_set(&first, &first.faults->refuse, 1);
	proxy_close(&first, PROXY_CUT);
	assert_true(is_granted_for(lock, MORE_THAN_AGE_MS));
	proxy_set(&second, &second.faults->refuse, 1);
	proxy_close(&second, PROXY_CUT);
	assert_false(is_granted_for(lock, MORE_THAN_AGE_MS));
	expect_result(lock, REDLOCK_E_NOQUORUM, redlock_acquire(lock));
	assert_vote(lock, 0, REDLOCK_VOTE_MASTER);
	proxy_set(&second, &second.faults->refuse, 0);
	assert_soon(redlock_acquire(lock) == 0);
	expect_ok(lock, redlock_release(lock));
}

TEST(failover)
{
	fail_over(HANG);
	for (unsigned i = 0; group.argument != NULL && i < 3 * 3; i++)
		fail_over(i % 3);
}

/* The set is plain again. */
static void forget_record(void)
{
	struct raw_reply reply;
	on_servers(0, SERVERS, server_ask(it, &reply, "DEL", "redlock:set", NULL));
}

TESTS(.start = start, .stop = stop, .after = forget_record)
