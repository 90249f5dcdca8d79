/* SPDX-License-Identifier: MIT */
/*
 * A longer wire: one free TCP port of 127.0.0.1 for each Unix socket of a server; every chunk of bytes
 * arrives MICROSECONDS later, in each direction. Prints the ports on one line, and runs until it is ended.
 *
 * With -m it loses every message of PUBLISH, which the server believes to have arrived.
 *
 * usage: delayproxy [-m] MICROSECONDS PATH...
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { MAX_FDS = 4096, CHUNK = 65536 };

/* On its way. The delay is the same for all: what came first is due first. */
struct chunk {
	struct chunk *next;
	uint64_t due_ns;
	int to;
	uint32_t generation; /* of the descriptor: it may be closed by then, and be another connection */
	size_t size;
	char bytes[];
};

static struct {
	const char *path; /* a listener: where its connections go */
	int peer;
	uint32_t generation;
} ends[MAX_FDS];

static struct chunk *first, *last;
static uint64_t delay_ns;
static bool lossy;
static int poller;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void watch(int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
	if (fd >= MAX_FDS || epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event) < 0)
		die("watch");
}

static void listen_for(const char *path)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t size = sizeof address;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) < 0 || listen(fd, 1024) < 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &size) < 0)
		die("listen");
	watch(fd);
	ends[fd].path = path;
	printf("%d ", ntohs(address.sin_port));
}

static void join(int one, int other)
{
	int on = 1;
	setsockopt(one, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	ends[one].peer = other;
	ends[other].peer = one;
	ends[one].generation++;
	ends[other].generation++;
	watch(one);
	watch(other);
}

static void accept_on(int listener)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int client = accept(listener, NULL, NULL);
	int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(address.sun_path, sizeof address.sun_path, "%s", ends[listener].path);
	if (client >= 0 && server >= 0 && connect(server, (struct sockaddr *)&address, sizeof address) == 0) {
		join(client, server);
		return;
	}
	close(client);
	close(server);
}

static void take_bytes(int fd)
{
	static const char message[] = "\r\n$7\r\nmessage\r\n"; /* RESP2 and RESP3 */
	static char bytes[CHUNK];
	ssize_t got = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
	if (got < 0 && (errno == EAGAIN || errno == EBADF))
		return;
	int to = ends[fd].peer;
	if (got <= 0) {
		ends[fd].generation++;
		ends[to].generation++;
		close(fd);
		close(to);
		return;
	}
	if (lossy && memmem(bytes, (size_t)got, message, sizeof message - 1) != NULL)
		return;
	struct chunk *c = malloc(sizeof *c + (size_t)got);
	if (c == NULL)
		die("malloc");
	*c = (struct chunk){
	    .due_ns = now_ns() + delay_ns, .to = to, .generation = ends[to].generation, .size = (size_t)got};
	memcpy(c->bytes, bytes, (size_t)got);
	if (last != NULL)
		last->next = c;
	else
		first = c;
	last = c;
}

static void deliver_due(void)
{
	uint64_t now = now_ns();
	while (first != NULL && first->due_ns <= now) {
		struct chunk *c = first;
		if (ends[c->to].generation == c->generation)
			(void)!send(c->to, c->bytes, c->size, MSG_NOSIGNAL);
		first = c->next;
		if (first == NULL)
			last = NULL;
		free(c);
	}
}

static void wait_and_take(void)
{
	struct epoll_event events[64];
	struct timespec left = {0};
	uint64_t now = now_ns();
	if (first != NULL && first->due_ns > now)
		left = (struct timespec){(time_t)((first->due_ns - now) / 1000000000u),
		                         (long)((first->due_ns - now) % 1000000000u)};
	int count = epoll_pwait2(poller, events, 64, first != NULL ? &left : NULL, NULL);
	for (int i = 0; i < count; i++) {
		int fd = events[i].data.fd;
		if (ends[fd].path != NULL)
			accept_on(fd);
		else
			take_bytes(fd);
	}
}

int main(int argc, char **argv)
{
	lossy = argc > 1 && strcmp(argv[1], "-m") == 0;
	argv += lossy;
	argc -= lossy;
	if (argc < 3 || atoi(argv[1]) <= 0) {
		fprintf(stderr, "usage: delayproxy [-m] MICROSECONDS PATH...\n");
		return 64;
	}
	delay_ns = strtoull(argv[1], NULL, 10) * 1000;
	prctl(PR_SET_TIMERSLACK, 1ul);
	poller = epoll_create1(EPOLL_CLOEXEC);
	for (int i = 2; i < argc; i++)
		listen_for(argv[i]);
	putchar('\n');
	fflush(stdout);
	for (;;) {
		wait_and_take();
		deliver_due();
	}
}
