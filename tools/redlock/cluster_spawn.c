/* SPDX-License-Identifier: MIT */
/* Starts one server of the local cluster: its configuration, and a process of its own session. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cluster_server.h"
#include "message.h"
#include "printable.h"

/* No TCP port: every user of this machine could reach it. No persistence: a lock is a lease, and a server of
 * a trial cluster that restarts has forgotten all of them. The files are in the server's working directory.
 */
static const char conf[] = "# Written by `redlock cluster start`, removed by `redlock cluster stop`.\n"
                           "port 0\nbind 127.0.0.1\nprotected-mode yes\n"
                           "unixsocket redis.sock\nunixsocketperm 700\n"
                           "pidfile redis.pid\nlogfile redis.log\ndaemonize no\n"
                           "save \"\"\nappendonly no\nmaxmemory-policy noeviction\n";

static bool write_conf(const struct cluster_server *server)
{
	FILE *file = cluster_server_file(server, "redis.conf", O_WRONLY | O_CREAT | O_TRUNC);
	if (file == NULL)
		return false;
	fputs(conf, file);
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

static void become_server(const struct cluster_server *server, const char *program)
{
	static const int reset[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE};
	int dir = openat(server->cluster_fd, server->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	for (size_t i = 0; i < sizeof reset / sizeof reset[0]; i++)
		signal(reset[i], SIG_DFL);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	umask(077);
	int null = open("/dev/null", O_RDWR);
	if (setsid() < 0 || dir < 0 || fchdir(dir) < 0 || null < 0)
		_exit(126);
	for (int fd = 0; fd <= 2; fd++)
		if (dup2(null, fd) < 0)
			_exit(126);
	close_other_fds();
	execl(program, program, "redis.conf", (char *)NULL);
	_exit(127);
}

static void remove_stale(const struct cluster_server *server)
{
	static const char *const names[] = {"redis.pid", "redis.log", "redis.sock"};
	char path[64];
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		snprintf(path, sizeof path, "%s/%s", server->dir, names[i]);
		unlinkat(server->cluster_fd, path, 0);
	}
}

bool cluster_server_spawn(struct cluster_server *server, const char *program)
{
	if ((mkdirat(server->cluster_fd, server->dir, 0700) < 0 && errno != EEXIST) || !write_conf(server)) {
		complain(MSG(SERVER_CONFIG), server->number, strerror(errno));
		return false;
	}
	remove_stale(server);
	server->up = false;
	server->pid = fork();
	if (server->pid == 0)
		become_server(server, program);
	if (server->pid < 0)
		complain(MSG(SERVER_PROCESS), server->number, strerror(errno));
	return server->pid > 0;
}

void cluster_server_complain(const struct cluster_server *server)
{
	char line[512], last[512] = "it wrote no log";
	FILE *file = cluster_server_file(server, "redis.log", O_RDONLY);
	while (file != NULL && fgets(line, sizeof line, file) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		if (line[0])
			memcpy(last, line, sizeof last);
	}
	if (file != NULL)
		fclose(file);
	char shown[PRINTABLE_MAX * 2];
	complain(MSG(SERVER_START), server->number, printable(last, strlen(last), shown, sizeof shown));
}
