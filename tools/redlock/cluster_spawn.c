/* SPDX-License-Identifier: MIT */
/* Starts one server of the local cluster: its configuration, a free port, and a process of its own session.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cluster_server.h"
#include "message.h"

/* A port that is free at this moment. When somebody else takes it, the server ends and is started again. */
static int free_port(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int port = -1;

	if (fd >= 0 && bind(fd, (struct sockaddr *)&address, size) == 0 &&
	    getsockname(fd, (struct sockaddr *)&address, &size) == 0)
		port = ntohs(address.sin_port);
	if (fd >= 0)
		close(fd);
	return port;
}

/* A path as a word of redis.conf. */
static void conf_path(FILE *file, const char *name, const char *dir, const char *base)
{
	fprintf(file, "%s \"", name);
	for (const char *part = dir; *part; part++)
		fprintf(file, "\\x%02x", (unsigned char)*part);
	fprintf(file, "%s%s\"\n", *base ? "/" : "", base);
}

/* No persistence: a lock is a lease, and a server of a trial cluster that restarts has forgotten all of them.
 */
static bool write_conf(const struct cluster_server *server, const char *path)
{
	FILE *file = fopen(path, "we");

	if (!file)
		return false;
	fprintf(file, "# Written by `redlock cluster start`, removed by `redlock cluster stop`.\n");
	fprintf(file, "bind 127.0.0.1\nport %d\nprotected-mode yes\nunixsocketperm 700\n", server->port);
	conf_path(file, "unixsocket", server->dir, "redis.sock");
	conf_path(file, "pidfile", server->dir, "redis.pid");
	conf_path(file, "logfile", server->dir, "redis.log");
	conf_path(file, "dir", server->dir, "");
	fprintf(file, "daemonize no\nsave \"\"\nappendonly no\nmaxmemory-policy noeviction\n");
	return fclose(file) == 0;
}

static void close_other_fds(void)
{
	/* Nothing of the caller may stay open: a shell waits for the end of the pipes it gave us. */
	if (syscall(SYS_close_range, 3U, ~0U, 0U) == 0)
		return;
	for (int fd = 3; fd < 4096; fd++)
		close(fd);
}

static void become_server(const struct cluster_server *server, const char *program, const char *conf)
{
	static const int reset[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE};
	sigset_t none;
	int null;

	for (size_t i = 0; i < sizeof(reset) / sizeof(reset[0]); i++)
		signal(reset[i], SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	umask(077);
	null = open("/dev/null", O_RDWR);
	if (setsid() < 0 || chdir(server->dir) < 0 || null < 0)
		_exit(126);
	for (int fd = 0; fd <= 2; fd++)
		if (dup2(null, fd) < 0)
			_exit(126);
	close_other_fds();
	execl(program, program, conf, (char *)NULL);
	_exit(127);
}

static void remove_stale(const struct cluster_server *server)
{
	static const char *const names[] = {"redis.pid", "redis.log", "redis.sock"};
	char path[CLUSTER_SOCKET_MAX + 16];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", server->dir, names[i]);
		unlink(path);
	}
}

bool cluster_server_spawn(struct cluster_server *server, const char *program)
{
	char conf[CLUSTER_SOCKET_MAX + 16];

	snprintf(conf, sizeof(conf), "%s/redis.conf", server->dir);
	server->port = free_port();
	if (server->port < 0) {
		complain("node %u: no free port on 127.0.0.1: %s", server->number, strerror(errno));
		return false;
	}
	if ((mkdir(server->dir, 0700) < 0 && errno != EEXIST) || !write_conf(server, conf)) {
		complain("%s: %s", conf, strerror(errno));
		return false;
	}
	remove_stale(server);
	server->up = false;
	server->pid = fork();
	if (server->pid == 0)
		become_server(server, program, conf);
	if (server->pid < 0)
		complain("node %u: cannot start a process: %s", server->number, strerror(errno));
	return server->pid > 0;
}

void cluster_server_complain(const struct cluster_server *server)
{
	char path[CLUSTER_SOCKET_MAX + 16], line[512], last[512] = "it wrote no log", shown[PRINTABLE_MAX * 2];
	FILE *file;

	snprintf(path, sizeof(path), "%s/redis.log", server->dir);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		if (line[0])
			memcpy(last, line, sizeof(last));
	}
	if (file)
		fclose(file);
	complain("node %u did not start: %s", server->number,
	         printable(last, strlen(last), shown, sizeof(shown)));
}
