/* SPDX-License-Identifier: MIT */
/* Starting a redis-server, and talking to it byte by byte. See real_server.h. */
#include "real_server.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "resp.h"

#define START_TRIES 500
#define TRY_NS 10000000L

static void fail(const char *what)
{
	fprintf(stderr, "redlock-sim-differential: %s: %s\n", what, strerror(errno));
	exit(EXIT_FAILURE);
}

/* ---- the process ---- */

static void run_server(const struct real_server *s, const char *path, pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXIT_FAILURE);
	execlp(path, path, "--port", "0", "--unixsocket", s->socket, "--dir", s->data, "--save", "",
	       "--appendonly", "no", "--loglevel", "warning", "--logfile", "/dev/null", "--busy-reply-threshold",
	       "1", "--databases", "16", (char *)NULL);
	_exit(EXIT_FAILURE);
}

static int try_connect(const struct real_server *s)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	snprintf(address.sun_path, sizeof address.sun_path, "%s", s->socket);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

void real_server_start(struct real_server *s, const char *path)
{
	const char *tmp = getenv("TMPDIR");
	snprintf(s->dir, sizeof s->dir, "%s/rl-sim.XXXXXX", tmp != NULL ? tmp : "/tmp");
	if (mkdtemp(s->dir) == NULL)
		fail("mkdtemp");
	snprintf(s->socket, sizeof s->socket, "%s/socket", s->dir);
	snprintf(s->data, sizeof s->data, "%s/data", s->dir);
	if (mkdir(s->data, 0700) < 0)
		fail("mkdir");
	pid_t parent = getpid();
	s->pid = fork();
	if (s->pid < 0)
		fail("fork");
	if (s->pid == 0)
		run_server(s, path, parent);
	for (int i = 0; i < START_TRIES; i++) {
		int fd = try_connect(s);
		if (fd >= 0) {
			close(fd);
			return;
		}
		nanosleep(&(struct timespec){.tv_nsec = TRY_NS}, NULL);
	}
	real_server_stop(s);
	fail(path);
}

void real_server_stop(struct real_server *s)
{
	kill(s->pid, SIGKILL);
	waitpid(s->pid, NULL, 0);
	unlink(s->socket);
	rmdir(s->data);
	rmdir(s->dir);
}

int real_connect(const struct real_server *s)
{
	int fd = try_connect(s);
	if (fd < 0)
		fail("connect");
	return fd;
}

/* ---- RESP ---- */

bool real_send(int fd, const struct buffer *bytes)
{
	size_t sent = 0;
	while (sent < bytes->length) {
		ssize_t n = send(fd, buffer_front(bytes) + sent, bytes->length - sent, MSG_NOSIGNAL);
		if (n < 0 && errno != EINTR)
			return false;
		sent += n > 0 ? (size_t)n : 0;
	}
	return true;
}

/* The size of the reply at the front; 0: not all there. An array is as many replies more as it has items. */
static size_t reply_size(const char *at, size_t size)
{
	size_t used = 0;
	for (long open = 1; open > 0; open--) {
		const char *end = used < size ? memchr(at + used, '\n', size - used) : NULL;
		if (end == NULL)
			return 0;
		char mark = at[used];
		long number = strtol(at + used + 1, NULL, 10);
		used = (size_t)(end - at) + 1;
		if (mark == '$' && number >= 0)
			used += (size_t)number + 2;
		if (mark == '*' && number > 0)
			open += number;
	}
	return used <= size ? used : 0;
}

bool real_receive(int fd, struct buffer *in, struct buffer *reply)
{
	size_t size;
	while ((size = reply_size(buffer_front(in), in->length)) == 0) {
		char bytes[4096];
		ssize_t n = recv(fd, bytes, sizeof bytes, 0);
		if (n <= 0 && errno != EINTR)
			return false;
		if (n == 0)
			return false;
		if (n > 0)
			buffer_append(in, bytes, (size_t)n);
	}
	buffer_move(reply, in, size);
	return true;
}

const char *real_ask(int fd, const char *const *texts)
{
	static char text[8192];
	struct buffer out = {0}, in = {0}, reply = {0};
	struct bytes words[RESP_WORDS];
	unsigned count = 0;
	for (; count < RESP_WORDS && texts[count] != NULL; count++)
		words[count] = text_bytes(texts[count]);
	resp_write(&out, words, count);
	if (!real_send(fd, &out) || !real_receive(fd, &in, &reply))
		fail(texts[0]);
	size_t size = reply.length < sizeof text - 1 ? reply.length : sizeof text - 1;
	memcpy(text, buffer_front(&reply), size);
	text[size] = '\0';
	buffer_free(&out);
	buffer_free(&in);
	buffer_free(&reply);
	return text;
}
