/* SPDX-License-Identifier: MIT */
/*
 * The yardstick: acquire and release over N servers with nothing between the program and the sockets. No
 * library, no timers, no error handling worth the name: what this takes, the kernel and the servers take.
 * Figures of redlock are ratios to it, measured in the same run (bench/run).
 *
 * usage: raw PAIRS PORT...      prints one line of JSON, times in microseconds
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAX_NODES 31
#define WARM_UP 500

static const char script[] =
    "if redis.call(\"get\", KEYS[1]) == ARGV[1] then return redis.call(\"del\", KEYS[1]) else return 0 end";

struct node {
	int fd;
	unsigned asked;    /* commands sent */
	unsigned answered; /* replies received: those of earlier rounds come late and are skipped */
};

static struct node nodes[MAX_NODES];
static unsigned node_count;
static int poller;
static char sha[41];

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static double now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void open_node(const char *port)
{
	struct node *n = &nodes[node_count];
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(port))};
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	int one = 1;
	n->fd = socket(AF_INET, SOCK_STREAM, 0);
	if (n->fd < 0 || connect(n->fd, (struct sockaddr *)&address, sizeof address) < 0)
		die("connect");
	setsockopt(n->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	char bytes[512];
	int size = snprintf(bytes, sizeof bytes, "*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n$%zu\r\n%s\r\n",
	                    sizeof script - 1, script);
	if (send(n->fd, bytes, (size_t)size, 0) != size || recv(n->fd, bytes, sizeof bytes, 0) < 47 ||
	    bytes[0] != '$')
		die("SCRIPT LOAD");
	memcpy(sha, bytes + 5, 40);
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = node_count};
	if (epoll_ctl(poller, EPOLL_CTL_ADD, n->fd, &event) < 0)
		die("epoll_ctl");
	node_count++;
}

/* Counts the replies that are in; returns whether the last one asked for is there and is a yes. */
static bool receive(struct node *n)
{
	char bytes[4096];
	ssize_t got = recv(n->fd, bytes, sizeof bytes, 0);
	if (got <= 0)
		die("recv");
	char last = 0;
	for (char *at = bytes, *end; (end = memchr(at, '\n', (size_t)(bytes + got - at))) != NULL; at = end + 1) {
		n->answered++;
		last = at[0] == '+' || (at[0] == ':' && at[1] == '1') ? 'y' : 'n';
	}
	return n->answered == n->asked && last == 'y';
}

/* One command to all nodes; back as soon as a majority has said yes. */
static void round_of(const char *bytes, size_t size)
{
	unsigned yes = 0;
	for (unsigned i = 0; i < node_count; i++) {
		if (send(nodes[i].fd, bytes, size, MSG_NOSIGNAL) != (ssize_t)size)
			die("send");
		nodes[i].asked++;
	}
	while (yes < node_count / 2 + 1) {
		struct epoll_event events[MAX_NODES];
		int count = epoll_wait(poller, events, MAX_NODES, 5000);
		if (count <= 0)
			die("no answer");
		for (int i = 0; i < count; i++)
			yes += receive(&nodes[events[i].data.u32]);
	}
}

static double pair(unsigned number)
{
	char set[256];
	char release[256];
	char token[41];
	snprintf(token, sizeof token, "%040u", number);
	int set_size = snprintf(
	    set, sizeof set,
	    "*6\r\n$3\r\nSET\r\n$9\r\nbench:raw\r\n$40\r\n%s\r\n$2\r\nNX\r\n$2\r\nPX\r\n$5\r\n30000\r\n", token);
	int release_size = snprintf(
	    release, sizeof release,
	    "*5\r\n$7\r\nEVALSHA\r\n$40\r\n%s\r\n$1\r\n1\r\n$9\r\nbench:raw\r\n$40\r\n%s\r\n", sha, token);
	double begin = now_us();
	round_of(set, (size_t)set_size);
	round_of(release, (size_t)release_size);
	return now_us() - begin;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;
	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	unsigned pairs = argc > 2 ? (unsigned)atoi(argv[1]) : 0;
	if (pairs == 0 || argc - 2 > MAX_NODES) {
		fprintf(stderr, "usage: raw PAIRS PORT...\n");
		return 64;
	}
	poller = epoll_create1(0);
	for (int i = 2; i < argc; i++)
		open_node(argv[i]);
	double *times = calloc(pairs, sizeof *times);
	if (times == NULL)
		die("calloc");
	for (unsigned i = 0; i < WARM_UP; i++)
		pair(i);
	for (unsigned i = 0; i < pairs; i++)
		times[i] = pair(WARM_UP + i);
	qsort(times, pairs, sizeof *times, by_value);
	printf("{\"pairs\":%u,\"pair_us\":{\"p50\":%.1f,\"p99\":%.1f,\"p999\":%.1f}}\n", pairs, times[pairs / 2],
	       times[pairs * 99ul / 100], times[pairs * 999ul / 1000]);
	free(times);
	return 0;
}
