/* SPDX-License-Identifier: MIT */
/*
 * A TCP proxy in front of one server that delays what passes, each chunk by another random time: order holds
 * within a connection, and is lost between connections. Other faults are those of tests/lib/proxy.h.
 *
 *     faults-proxy PORT SERVER-SOCKET SEED
 *
 * Listens on every address of its namespace. Commands on stdin, one per line; at its end the proxy ends:
 *     delay MAX-MS | trickle 0|1 | hold_up 0|1 | hold_down 0|1 | drop_down 0|1 | cut | reset | abandon
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proxy.h"
#include "relay.h"
#include "wait.h"

enum { MAX_PAIRS = 64 };

struct state {
	struct proxy_faults faults;
	struct relay relays[MAX_PAIRS];
	const char *server_socket;
	int listener;
	unsigned seed, delay_max_ms;
};

static int listen_on(unsigned long port)
{
	int on = 1;
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, 64) != 0) {
		perror("faults-proxy: listen");
		exit(1);
	}
	return fd;
}

static void close_all(struct state *s, enum proxy_close how)
{
	for (int i = 0; i < MAX_PAIRS; i++) {
		if (how == PROXY_ABANDON)
			relay_abandon(&s->relays[i]);
		else
			relay_close(&s->relays[i], how == PROXY_RESET);
	}
}

static void set_fault(struct state *s, const char *name, unsigned value)
{
	const struct {
		const char *name;
		atomic_uint *fault;
	} faults[] = {{"trickle", &s->faults.trickle},
	              {"hold_up", &s->faults.hold_up},
	              {"hold_down", &s->faults.hold_down},
	              {"drop_down", &s->faults.drop_down}};
	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
		if (strcmp(name, faults[i].name) == 0) {
			atomic_store(faults[i].fault, value);
			return;
		}
	}
	fprintf(stderr, "faults-proxy: unknown command %s\n", name);
	exit(64);
}

static void obey(struct state *s, char *line)
{
	static const char *const ends[] = {
	    [PROXY_CUT] = "cut", [PROXY_RESET] = "reset", [PROXY_ABANDON] = "abandon"};
	char *space = strchr(line, ' ');
	unsigned value = space == NULL ? 0 : (unsigned)strtoul(space + 1, NULL, 10);
	if (space != NULL)
		*space = '\0';
	for (unsigned how = PROXY_CUT; how <= PROXY_ABANDON; how++) {
		if (strcmp(line, ends[how]) == 0) {
			close_all(s, (enum proxy_close)how);
			return;
		}
	}
	if (strcmp(line, "delay") == 0)
		s->delay_max_ms = value;
	else
		set_fault(s, line, value);
}

/* Commands are short, and whoever sends them writes whole lines. */
static void read_commands(struct state *s)
{
	char text[512];
	char *rest = text;
	ssize_t got = read(STDIN_FILENO, text, sizeof text - 1);
	if (got == 0)
		exit(0);
	if (got < 0)
		return;
	text[got] = '\0';
	for (char *line; (line = strtok_r(rest, "\n", &rest)) != NULL;)
		obey(s, line);
}

static void accept_pair(struct state *s)
{
	int client = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (client < 0)
		return;
	for (int i = 0; i < MAX_PAIRS; i++) {
		if (s->relays[i].open)
			continue;
		relay_open(&s->relays[i], client, s->server_socket);
		return;
	}
	close(client);
}

static int poll_timeout(uint64_t wake_ns)
{
	uint64_t now_ns = wait_now_ns();
	if (wake_ns == UINT64_MAX)
		return -1;
	return wake_ns <= now_ns ? 0 : (int)((wake_ns - now_ns) / 1000000 + 1);
}

/* Half of all chunks hardly wait, so that they overtake the others. */
static unsigned draw_delay(struct state *s)
{
	unsigned most = rand_r(&s->seed) % 2 == 0 ? s->delay_max_ms : s->delay_max_ms / 8;
	return most == 0 ? 0 : (unsigned)rand_r(&s->seed) % (most + 1);
}

static void serve_once(struct state *s)
{
	struct pollfd fds[2 + 2 * MAX_PAIRS] = {{.fd = s->listener, .events = POLLIN},
	                                        {.fd = STDIN_FILENO, .events = POLLIN}};
	uint64_t wake_ns = UINT64_MAX;
	for (int i = 0; i < MAX_PAIRS; i++)
		relay_prepare(&s->relays[i], &s->faults, &fds[2 + 2 * i], &wake_ns);
	poll(fds, 2 + 2 * MAX_PAIRS, poll_timeout(wake_ns));
	for (int i = 0; i < MAX_PAIRS; i++) {
		s->faults.delay_up_ms = draw_delay(s);
		s->faults.delay_down_ms = draw_delay(s);
		relay_move(&s->relays[i], &s->faults, &fds[2 + 2 * i]);
	}
	if (fds[1].revents != 0)
		read_commands(s);
	if (fds[0].revents != 0)
		accept_pair(s);
}

int main(int argc, char **argv)
{
	static struct state s;
	if (argc != 4) {
		fputs("usage: faults-proxy PORT SERVER-SOCKET SEED\n", stderr);
		return 64;
	}
	s.listener = listen_on(strtoul(argv[1], NULL, 10));
	s.server_socket = argv[2];
	s.seed = (unsigned)strtoul(argv[3], NULL, 10);
	for (;;)
		serve_once(&s);
}
