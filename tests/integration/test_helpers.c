/* SPDX-License-Identifier: MIT */
/* The helpers of the other tests: what they break is broken, and they leave nothing behind. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include "child.h"
#include "fixture.h"
#include "proxy.h"
#include "scripted.h"

/* ---- nothing is left behind ---- */

struct found {
	pid_t pids[4];
	char dir[64];
};

static bool is_gone(pid_t pid)
{
	char path[64];
	char state = 'Z';
	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	FILE *file = fopen(path, "r");
	if (file == NULL)
		return true;
	if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
		state = 'Z';
	fclose(file);
	return state == 'Z';
}

/* A test program in small that is killed at its most unfortunate moment. */
static void start_and_report(int report)
{
	struct servers own;
	struct proxy proxy;
	struct scripted scripted;
	struct scripted_plan plan = {0};
	struct found found = {0};
	servers_start(&own, 2, NULL);
	server_pause(&own.server[1]);
	proxy_start(&proxy, own.server[0].socket);
	scripted_start(&scripted, &plan);
	memcpy(found.dir, own.dir, sizeof found.dir);
	const pid_t pids[] = {own.server[0].pid, own.server[1].pid, proxy.pid, scripted.pid};
	memcpy(found.pids, pids, sizeof pids);
	if (write(report, &found, sizeof found) != (ssize_t)sizeof found)
		_exit(1);
	pause();
}

TEST(nothing_outlives_a_killed_test)
{
	struct found found;
	struct stat info;
	int ends[2];
	assert_int_equal(pipe(ends), 0);
	pid_t pid = child_fork();
	if (pid == 0)
		start_and_report(ends[1]);
	assert_int_equal(read(ends[0], &found, sizeof found), sizeof found);
	for (int i = 0; i < 4; i++)
		assert_false(is_gone(found.pids[i]));
	assert_int_equal(stat(found.dir, &info), 0);
	child_kill(pid);
	for (int i = 0; i < 4; i++)
		assert_soon(is_gone(found.pids[i]));
	assert_soon(stat(found.dir, &info) != 0);
	close(ends[0]);
	close(ends[1]);
}

/* ---- servers ---- */

TEST(server_is_dead_and_alive_again)
{
	struct server *server = &servers.server[0];
	struct raw_reply reply;
	int port = server->port;
	server_must(server, "OK", "SET", "key", "value", NULL);
	assert_true(server_has_value(server, "key", "value"));
	assert_false(server_has_value(server, "key", "valu"));
	assert_int_equal(server_pttl(server, "key"), -1);
	server_kill(server);
	assert_string_equal(server_ask(server, &reply, "PING", NULL), "");
	assert_int_equal(reply.type, 0);
	server_restart(server);
	assert_int_equal(server->port, port);
	assert_string_equal(server_ask(server, &reply, "PING", NULL), "PONG");
	assert_false(server_has(server, "key"));
	assert_int_equal(server_pttl(server, "key"), -2);
	server_ask(server, &reply, "CONFIG", "GET", "port", NULL);
	assert_int_equal(strtol(strchr(reply.text, '\n'), NULL, 10), port);
}

/* A run that is to be with another server must not pass with this one. */
TEST(another_server_than_wanted)
{
	int status;
	pid_t pid = child_fork();
	if (pid == 0) {
		struct servers own;
		setenv("REDLOCK_TEST_SERVERS", "redis-1.0", 1);
		servers_start(&own, 1, NULL);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 99);
}

/* ---- the proxy ---- */

/* A plain TCP connection through the proxy, which says PING and waits a little for what comes back. */
struct dialog {
	int fd;
	char answer[64];
};

static void dialog_open(struct dialog *dialog, const struct proxy *proxy)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
	                              .sin_port = htons((uint16_t)proxy->port),
	                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	dialog->fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(dialog->fd, (const struct sockaddr *)&address, sizeof address), 0);
}

static void dialog_ping(const struct dialog *dialog)
{
	assert_int_equal(send(dialog->fd, "PING\r\n", 6, MSG_NOSIGNAL), 6);
}

/* Returns what was read within the time: bytes, 0 at the end, -1 nothing, -2 after a reset. */
static int dialog_read(struct dialog *dialog, int limit_ms)
{
	struct timeval limit = {.tv_sec = limit_ms / 1000, .tv_usec = (limit_ms % 1000) * 1000L};
	setsockopt(dialog->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
	ssize_t got = recv(dialog->fd, dialog->answer, sizeof dialog->answer, 0);
	return got < 0 && errno == ECONNRESET ? -2 : (int)got;
}

TEST(proxy_holds_and_drops)
{
	own_proxy proxy;
	struct dialog dialog;
	proxy_start(&proxy, servers.server[0].socket);
	dialog_open(&dialog, &proxy);
	dialog_ping(&dialog);
	assert_int_equal(dialog_read(&dialog, WAIT_SOON_MS), 7); /* +PONG */
	atomic_uint *const holds[] = {&proxy.faults->hold_up, &proxy.faults->hold_down};
	for (int i = 0; i < 2; i++) {
		proxy_set(&proxy, holds[i], 1);
		dialog_ping(&dialog);
		assert_int_equal(dialog_read(&dialog, 100), -1);
		proxy_set(&proxy, holds[i], 0);
		assert_int_equal(dialog_read(&dialog, WAIT_SOON_MS), 7);
	}
	proxy_set(&proxy, &proxy.faults->drop_down, 1);
	dialog_ping(&dialog);
	assert_int_equal(dialog_read(&dialog, 100), -1);
	assert_soon(proxy.faults->up_bytes == 24);
	proxy_set(&proxy, &proxy.faults->drop_down, 0);
	assert_int_equal(dialog_read(&dialog, 100), -1); /* gone for good */
	close(dialog.fd);
	assert_soon(proxy.faults->open == 0);
}

TEST(proxy_delays)
{
	own_proxy proxy;
	struct dialog dialog;
	proxy_start(&proxy, servers.server[0].socket);
	dialog_open(&dialog, &proxy);
	atomic_uint *const delays[] = {&proxy.faults->delay_up_ms, &proxy.faults->delay_down_ms};
	for (int i = 0; i < 2; i++) {
		proxy_set(&proxy, delays[i], 150);
		uint64_t start_ns = wait_now_ns();
		dialog_ping(&dialog);
		assert_int_equal(dialog_read(&dialog, WAIT_SOON_MS), 7);
		assert_true(wait_elapsed_ms(start_ns) >= 149);
		proxy_set(&proxy, delays[i], 0);
	}
	proxy_set(&proxy, &proxy.faults->trickle, 1);
	dialog_ping(&dialog);
	assert_int_equal(dialog_read(&dialog, WAIT_SOON_MS), 1);
	close(dialog.fd);
}

TEST(proxy_closes)
{
	own_proxy proxy;
	struct dialog dialog;
	proxy_start(&proxy, servers.server[0].socket);
	dialog_open(&dialog, &proxy);
	assert_soon(proxy.faults->open == 1);
	proxy_close(&proxy, PROXY_CUT);
	assert_int_equal(dialog_read(&dialog, WAIT_SOON_MS), 0);
	close(dialog.fd);
	dialog_open(&dialog, &proxy);
	assert_soon(proxy.faults->open == 1);
	proxy_close(&proxy, PROXY_RESET);
	assert_int_equal(dialog_read(&dialog, WAIT_SOON_MS), -2);
	close(dialog.fd);
	/* The bytes of an abandoned connection arrive, late. */
	proxy_set(&proxy, &proxy.faults->delay_up_ms, 200);
	dialog_open(&dialog, &proxy);
	assert_int_equal(send(dialog.fd, "SET abandoned 1\r\n", 17, MSG_NOSIGNAL), 17);
	assert_int_equal(dialog_read(&dialog, 50), -1);
	proxy_close(&proxy, PROXY_ABANDON);
	assert_int_equal(dialog_read(&dialog, WAIT_SOON_MS), -2);
	close(dialog.fd);
	proxy_set(&proxy, &proxy.faults->delay_up_ms, 0);
	assert_soon(server_has(&servers.server[0], "abandoned"));

	assert_int_equal(proxy.faults->accepted, 3);
	proxy_set(&proxy, &proxy.faults->refuse, 1);
	dialog_open(&dialog, &proxy);
	assert_int_equal(dialog_read(&dialog, WAIT_SOON_MS), 0);
	close(dialog.fd);
	assert_int_equal(proxy.faults->accepted, 3);
}

SERVER_TESTS(1)
