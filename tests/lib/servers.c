/* SPDX-License-Identifier: MIT */
/* Starting, stopping and breaking redis-servers. See servers.h; questions to them are in oracle.c. */
#include "servers.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "wait.h"

enum { MAX_ARGUMENTS = 48, START_TRIES = 20 };

/* Binds a free loopback port and keeps it: a bound socket that does not listen keeps others from getting the
 * port, while redis-server, which sets SO_REUSEADDR too, can still listen on it. */
static void take_port(struct server *server)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof address;
	int on = 1;
	if (server->port_fd >= 0)
		close(server->port_fd);
	server->port_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(server->port_fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (bind(server->port_fd, (struct sockaddr *)&address, length) != 0 ||
	    getsockname(server->port_fd, (struct sockaddr *)&address, &length) != 0)
		child_die("no free port");
	server->port = ntohs(address.sin_port);
	snprintf(server->tcp_url, sizeof server->tcp_url, "redis://127.0.0.1:%d", server->port);
}

/* The file that tests/faults/shim_clock.c reads. */
static const char *clock_file(const struct server *server, char path[128])
{
	snprintf(path, 128, "%s/clock", server->dir);
	return path;
}

void server_set_clock(const struct server *server, int64_t off_ns)
{
	char path[128];
	int fd = open(clock_file(server, path), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, &off_ns, sizeof off_ns) != sizeof off_ns)
		child_die("the clock of a server cannot be set");
	close(fd);
}

static void spawn(struct server *server)
{
	char port[16];
	snprintf(port, sizeof port, "%d", server->port);
	/* clang-format off: an option and its value stand together */
	const char *argv[MAX_ARGUMENTS] = {"redis-server",
	                                   "--port",
	                                   port,
	                                   "--bind",
	                                   "127.0.0.1",
	                                   "--unixsocket",
	                                   server->socket,
	                                   "--dir",
	                                   server->dir,
	                                   "--logfile",
	                                   "server.log",
	                                   "--save",
	                                   "",
	                                   "--appendonly",
	                                   "no",
	                                   "--daemonize",
	                                   "no"};
	/* clang-format on */
	size_t count = 0;
	while (argv[count] != NULL)
		count++;
	for (size_t i = 0; server->extra != NULL && server->extra[i] != NULL && count + 1 < MAX_ARGUMENTS; i++)
		argv[count++] = server->extra[i];
	unlink(server->socket);
	server->paused = false;
	if (getenv("REDLOCK_CLOCK") != NULL)
		server_set_clock(server, 0);
	server->pid = child_fork();
	if (server->pid > 0)
		return;
	child_detach(NULL, 0);
	unsetenv("LD_PRELOAD"); /* valgrind's and others' helpers are not meant for it */
	if (getenv("REDLOCK_CLOCK") != NULL) {
		char path[128];
		setenv("LD_PRELOAD", getenv("REDLOCK_CLOCK"), 1);
		setenv("FAULTS_CLOCK", clock_file(server, path), 1);
	}
	execvp(argv[0], (char *const *)argv);
	_exit(127);
}

static bool answers(const struct server *server)
{
	struct raw_reply reply;
	server_ask(server, &reply, "PING", NULL);
	return reply.type == '+' || (reply.type == '-' && strncmp(reply.text, "LOADING", 7) != 0);
}

/* Returns false when the server ended instead, which is what it does when its port is taken. */
static bool wait_for_answer(struct server *server)
{
	uint64_t start_ns = wait_now_ns();
	while (!answers(server)) {
		int status;
		if (waitpid(server->pid, &status, WNOHANG) == server->pid) {
			server->pid = 0;
			return false;
		}
		if (wait_elapsed_ms(start_ns) > WAIT_SOON_MS)
			child_die("a redis-server does not answer");
		wait_ms(3);
	}
	return true;
}

/* tests/servers says which servers the tests are for ("valkey-9.1 redis-8.6"): another proves nothing. */
static void expect_wanted(const struct server *server, unsigned index)
{
	char names[256], line[64], *word[SERVERS_MAX], *rest = NULL;
	const char *wanted = getenv("REDLOCK_TEST_SERVERS");
	unsigned count = 0;
	struct raw_reply reply;
	if (wanted == NULL)
		return;
	snprintf(names, sizeof names, "%s", wanted);
	for (char *at = strtok_r(names, " ", &rest); at != NULL && count < SERVERS_MAX;
	     at = strtok_r(NULL, " ", &rest))
		word[count++] = at;
	/* Valkey reports a version of Redis too, which is not the one that is asked for. */
	const char *name = word[index % count], *dash = strchr(name, '-');
	snprintf(line, sizeof line, "\n%.*s_version:%s.", (int)(dash - name), name, dash + 1);
	if (strstr(server_ask(server, &reply, "INFO", "server", NULL), line) == NULL)
		child_die("a redis-server is not the one that REDLOCK_TEST_SERVERS names");
}

static void name_paths(struct servers *servers, unsigned index)
{
	struct server *server = &servers->server[index];
	server->port_fd = -1;
	snprintf(server->dir, sizeof server->dir, "%s/%u", servers->dir, index);
	snprintf(server->socket, sizeof server->socket, "%s/%u.sock", servers->dir, index);
	snprintf(server->url, sizeof server->url, "unix://%s/%u.sock", servers->dir, index);
	servers->urls[index] = server->url;
	servers->tcp_urls[index] = server->tcp_url;
	if (mkdir(server->dir, 0700) != 0)
		child_die("mkdir");
}

void servers_start(struct servers *servers, unsigned count, const char *const *extra)
{
	const char *base = getenv("TMPDIR");
	memset(servers, 0, sizeof *servers);
	/* A socket's path has 107 bytes at most. */
	snprintf(servers->dir, sizeof servers->dir, "%s/redlock-test-XXXXXX",
	         base != NULL && *base != '\0' && strlen(base) < 30 ? base : "/tmp");
	if (count > SERVERS_MAX || mkdtemp(servers->dir) == NULL)
		child_die("mkdtemp");
	servers->janitor_fd = child_janitor(servers->dir);
	servers->count = count;
	for (unsigned i = 0; i < count; i++) {
		name_paths(servers, i);
		servers->server[i].extra = extra;
		take_port(&servers->server[i]);
		spawn(&servers->server[i]);
	}
	for (unsigned i = 0; i < count; i++) {
		int tries = 0;
		while (!wait_for_answer(&servers->server[i])) {
			if (++tries == START_TRIES)
				child_die("redis-server does not start");
			take_port(&servers->server[i]);
			spawn(&servers->server[i]);
		}
		expect_wanted(&servers->server[i], i);
	}
}

void servers_stop(struct servers *servers)
{
	for (unsigned i = 0; i < servers->count; i++) {
		server_kill(&servers->server[i]);
		close(servers->server[i].port_fd);
	}
	child_remove_tree(servers->dir);
	close(servers->janitor_fd);
	servers->count = 0;
}

void servers_heal(struct servers *servers)
{
	for (unsigned i = 0; i < servers->count; i++) {
		struct server *server = &servers->server[i];
		if (server->pid == 0)
			server_restart(server);
		if (server->paused)
			server_resume(server);
		server_must(server, "OK", "FLUSHALL", NULL);
	}
}

void server_pause(struct server *server)
{
	child_pause(server->pid);
	server->paused = true;
}

void server_resume(struct server *server)
{
	child_resume(server->pid);
	server->paused = false;
}

void server_kill(struct server *server)
{
	child_kill(server->pid);
	server->pid = 0;
	server->paused = false;
}

void server_restart(struct server *server)
{
	server_kill(server);
	for (int tries = 0; tries < START_TRIES; tries++) {
		spawn(server);
		if (wait_for_answer(server))
			return;
		wait_ms(50); /* what the kernel keeps of the old server may hold our port for a moment */
	}
	child_die("redis-server does not start again");
}
