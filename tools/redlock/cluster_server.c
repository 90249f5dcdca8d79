/* SPDX-License-Identifier: MIT */
/* One server of the local cluster: finding, ending and removing it. Starting it is in cluster_spawn.c. */
#include "cluster_server.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "clock.h"
#include "message.h"
#include "printable.h"
#include "safe_dir.h"

enum { ANSWER_TIMEOUT_MS = 1000, END_PATIENCE_MS = 3000, POLL_MS = 10 };

void cluster_server_init(struct cluster_server *server, int cluster_fd, const char *cluster_path,
                         unsigned number)
{
	memset(server, 0, sizeof *server);
	server->number = number;
	server->cluster_fd = cluster_fd;
	snprintf(server->dir, sizeof server->dir, "node-%u", number);
	/* cluster_dir.c has made sure that it fits. */
	snprintf(server->socket, sizeof server->socket, "%.80s/%s/redis.sock", cluster_path, server->dir);
}

FILE *cluster_server_file(const struct cluster_server *server, const char *name, int flags)
{
	char path[64];
	snprintf(path, sizeof path, "%s/%s", server->dir, name);
	return safe_file(server->cluster_fd, path, flags);
}

/* The path in a URL: what has a meaning there is written as %NN. */
void cluster_server_url(const struct cluster_server *server, char *buffer, size_t size)
{
	size_t used = (size_t)snprintf(buffer, size, "unix://");
	for (const unsigned char *c = (const unsigned char *)server->socket; *c && used + 4 < size; c++) {
		if (*c <= ' ' || *c >= 0x7f || strchr("%?#@,:[]", *c) != NULL)
			used += (size_t)snprintf(buffer + used, size - used, "%%%02X", *c);
		else
			buffer[used++] = (char)*c;
	}
	buffer[used] = '\0';
}

/* ---- which process is it ---- */

/* A process is this server when it runs in the server's own directory, which nothing else does. A zombie has
 * no working directory any more, and so is not alive. */
static bool is_alive(const struct cluster_server *server)
{
	if (server->pid <= 0)
		return false;
	char path[64];
	snprintf(path, sizeof path, "/proc/%ld/cwd", (long)server->pid);
	struct stat process;
	struct stat expected;
	return stat(path, &process) == 0 && fstatat(server->cluster_fd, server->dir, &expected, 0) == 0 &&
	       process.st_dev == expected.st_dev && process.st_ino == expected.st_ino;
}

static pid_t pid_from_file(const struct cluster_server *server)
{
	long pid = 0;
	FILE *file = cluster_server_file(server, "redis.pid", O_RDONLY);
	if (file == NULL)
		return 0;
	if (fscanf(file, "%9ld", &pid) != 1)
		pid = 0;
	fclose(file);
	return (pid_t)pid;
}

/* ---- one question over its socket ---- */

/* A connection with time limits for everything; -1 when there is none. */
static int connect_to(const struct cluster_server *server)
{
	const struct timeval limit = {.tv_sec = ANSWER_TIMEOUT_MS / 1000,
	                              .tv_usec = (ANSWER_TIMEOUT_MS % 1000) * 1000L};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	memcpy(address.sun_path, server->socket, strlen(server->socket) + 1);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
	if (connect(fd, (const struct sockaddr *)&address, sizeof address) == 0)
		return fd;
	close(fd);
	return -1;
}

/* The process that listens on the socket, also when it hangs. */
static pid_t pid_from_socket(int fd)
{
	struct ucred peer = {.pid = 0};
	socklen_t size = sizeof peer;
	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.pid : 0;
}

/* Copies the first line of an error, "NOAUTH Authentication required.". */
static void keep_refusal(struct cluster_server *server, const char *answer)
{
	char line[sizeof server->refusal];
	snprintf(line, sizeof line, "%.*s", (int)strcspn(answer, "\r\n"), answer);
	harmless(line, server->refusal, sizeof server->refusal);
}

/* Asks INFO until the process id has come, or an error. */
static void ask(struct cluster_server *server, int fd)
{
	static const char question[] = "INFO server\r\n";
	size_t used = 0;
	if (send(fd, question, sizeof question - 1, MSG_NOSIGNAL) < 0)
		return;
	char answer[8192];
	while (used + 1 < sizeof answer) {
		ssize_t got = recv(fd, answer + used, sizeof answer - 1 - used, 0);
		if (got <= 0)
			return;
		used += (size_t)got;
		answer[used] = '\0';
		if (answer[0] == '-' && strchr(answer, '\n') != NULL) {
			keep_refusal(server, answer + 1);
			return;
		}
		const char *field = strstr(answer, "\nprocess_id:");
		if (field != NULL && strchr(field + 1, '\n') != NULL) {
			server->up = strtol(strchr(field, ':') + 1, NULL, 10) == server->pid;
			return;
		}
	}
}

void cluster_server_look(struct cluster_server *server)
{
	int fd = connect_to(server);
	server->up = false;
	server->refusal[0] = '\0';
	server->pid = pid_from_file(server);
	if (fd >= 0 && !is_alive(server))
		server->pid = pid_from_socket(fd);
	if (!is_alive(server))
		server->pid = 0;
	if (fd >= 0 && server->pid > 0)
		ask(server, fd);
	if (fd >= 0)
		close(fd);
}

/* ---- ending and removing ---- */

void cluster_server_ask_to_end(const struct cluster_server *server)
{
	if (!is_alive(server))
		return;
	kill(server->pid, SIGTERM);
	kill(server->pid, SIGCONT); /* a stopped process takes no SIGTERM */
}

static bool gone_within(const struct cluster_server *server, unsigned limit_ms)
{
	for (unsigned waited = 0; is_alive(server); waited += POLL_MS) {
		if (waited >= limit_ms)
			return false;
		clock_sleep_ms(POLL_MS);
	}
	return true;
}

bool cluster_server_end(struct cluster_server *server)
{
	cluster_server_ask_to_end(server);
	if (!gone_within(server, END_PATIENCE_MS)) {
		kill(server->pid, SIGKILL);
		if (!gone_within(server, END_PATIENCE_MS)) {
			complain(MSG(SERVER_STAYS), server->number, (long)server->pid);
			return false;
		}
	}
	server->pid = 0;
	server->up = false;
	return true;
}

void cluster_server_remove(const struct cluster_server *server)
{
	int fd = openat(server->cluster_fd, server->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	if (fd >= 0 && dir == NULL)
		close(fd);
	if (dir == NULL)
		return;
	struct dirent *entry;
	while ((entry = readdir(dir)) != NULL)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			unlinkat(fd, entry->d_name, 0);
	closedir(dir);
	if (unlinkat(server->cluster_fd, server->dir, AT_REMOVEDIR) < 0)
		complain(MSG(DIRECTORY_STAYS), server->number, strerror(errno));
}
