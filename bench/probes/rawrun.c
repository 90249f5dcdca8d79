/* SPDX-License-Identifier: MIT */
/*
 * The yardstick for `redlock run NAME -- COMMAND`: connect to N servers, SET NX PX on each, run the command
 * once a majority has answered OK, compare-and-delete on each, wait for a majority. No supervision, no
 * renewal, no error handling worth the name.
 *
 * usage: rawrun PORT[,PORT...] NAME COMMAND [ARG...]
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_NODES 31

extern char **environ;

static const char script[] =
    "if redis.call(\"get\", KEYS[1]) == ARGV[1] then return redis.call(\"del\", KEYS[1]) else return 0 end";

static int fds[MAX_NODES];
static unsigned node_count;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void connect_node(unsigned short port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;

	if (fd < 0)
		die("socket");
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	/* NOLINTNEXTLINE(bugprone-unused-return-value): it goes on while others are connected */
	(void)connect(fd, (struct sockaddr *)&address, sizeof(address));
	fds[node_count++] = fd;
}

static void connect_all(char *ports)
{
	for (char *port = strtok(ports, ","); port && node_count < MAX_NODES; port = strtok(NULL, ","))
		connect_node((unsigned short)atoi(port));
}

/* Sends the request to each node as soon as it can be written to, until `enough` replies begin with `wanted`.
 */
static bool ask(const char *request, char wanted, unsigned enough)
{
	const size_t size = strlen(request);
	bool sent[MAX_NODES] = {false}, done[MAX_NODES] = {false};
	unsigned replies = 0, good = 0;

	while (good < enough && replies < node_count) {
		struct pollfd watched[MAX_NODES];

		for (unsigned i = 0; i < node_count; i++)
			watched[i] = (struct pollfd){.fd = done[i] ? -1 : fds[i], .events = sent[i] ? POLLIN : POLLOUT};
		if (poll(watched, node_count, 1000) <= 0)
			return false;
		for (unsigned i = 0; i < node_count; i++) {
			char reply[128];

			if (!watched[i].revents)
				continue;
			if (!sent[i]) {
				sent[i] = send(fds[i], request, size, MSG_NOSIGNAL) == (ssize_t)size;
				continue;
			}
			/* The reply to the SET of a slow node may come in front of that to the EVAL. */
			ssize_t got = recv(fds[i], reply, sizeof(reply), 0);
			bool right = got > 0 && memchr(reply, wanted, (size_t)got);

			if (got > 0 && !right && reply[0] != '$')
				continue;
			done[i] = true;
			replies++;
			good += right;
		}
	}
	return good >= enough;
}

static void make_token(char token[41])
{
	unsigned char bytes[20];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		die("getrandom");
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(token + 2 * i, 3, "%02x", bytes[i]);
}

int main(int argc, char **argv)
{
	char request[1024], token[41];
	int status;
	pid_t pid;

	if (argc < 4 || strlen(argv[2]) > 255)
		return 64;
	connect_all(argv[1]);
	make_token(token);
	snprintf(request, sizeof(request),
	         "*6\r\n$3\r\nSET\r\n$%zu\r\n%s\r\n$40\r\n%s\r\n$2\r\nNX\r\n$2\r\nPX\r\n$5\r\n30000\r\n",
	         strlen(argv[2]), argv[2], token);
	if (!ask(request, '+', node_count / 2 + 1))
		return 75;
	if (posix_spawnp(&pid, argv[3], NULL, NULL, argv + 3, environ) != 0)
		return 126;
	if (waitpid(pid, &status, 0) < 0)
		die("waitpid");
	snprintf(request, sizeof(request),
	         "*5\r\n$4\r\nEVAL\r\n$%zu\r\n%s\r\n$1\r\n1\r\n$%zu\r\n%s\r\n$40\r\n%s\r\n", strlen(script),
	         script, strlen(argv[2]), argv[2], token);
	if (!ask(request, ':', node_count / 2 + 1))
		return 69;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}
