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
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proxy.h"
#include "relay.h"

static struct proxy_faults faults;
static struct relays relays;
static unsigned seed, delay_max_ms;

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

static void set_fault(const char *name, unsigned value)
{
	const struct {
		const char *name;
		atomic_uint *fault;
	} all[] = {{"trickle", &faults.trickle},
	           {"hold_up", &faults.hold_up},
	           {"hold_down", &faults.hold_down},
	           {"drop_down", &faults.drop_down}};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		if (strcmp(name, all[i].name) == 0) {
			atomic_store(all[i].fault, value);
			return;
		}
	}
	fprintf(stderr, "faults-proxy: unknown command %s\n", name);
	exit(64);
}

static void obey(char *line)
{
	static const char *const ends[] = {
	    [PROXY_CUT] = "cut", [PROXY_RESET] = "reset", [PROXY_ABANDON] = "abandon"};
	char *space = strchr(line, ' ');
	unsigned value = space == NULL ? 0 : (unsigned)strtoul(space + 1, NULL, 10);
	if (space != NULL)
		*space = '\0';
	for (unsigned how = PROXY_CUT; how <= PROXY_ABANDON; how++) {
		if (strcmp(line, ends[how]) == 0) {
			relays_close(&relays, &faults, (enum proxy_close)how);
			return;
		}
	}
	if (strcmp(line, "delay") == 0)
		delay_max_ms = value;
	else
		set_fault(line, value);
}

/* Commands are short, and their sender writes whole lines. */
static void read_commands(void)
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
		obey(line);
}

/* Half of all chunks hardly wait, so that they overtake the others. */
static unsigned draw_delay(void)
{
	unsigned most = rand_r(&seed) % 2 == 0 ? delay_max_ms : delay_max_ms / 8;
	return most == 0 ? 0 : (unsigned)rand_r(&seed) % (most + 1);
}

static void vary(struct proxy_faults *of)
{
	of->delay_up_ms = draw_delay();
	of->delay_down_ms = draw_delay();
}

int main(int argc, char **argv)
{
	if (argc != 4) {
		fputs("usage: faults-proxy PORT SERVER-SOCKET SEED\n", stderr);
		return 64;
	}
	relays.listener = listen_on(strtoul(argv[1], NULL, 10));
	relays.server_socket = argv[2];
	relays.vary = vary;
	seed = (unsigned)strtoul(argv[3], NULL, 10);
	for (;;) {
		if (relays_wait(&relays, &faults, STDIN_FILENO))
			read_commands();
		relays_move(&relays, &faults);
	}
}
