/* SPDX-License-Identifier: MIT */
/* A TCP proxy process that breaks connections. See proxy.h; the relaying of bytes is in relay.c. */
#include "proxy.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "child.h"
#include "relay.h"
#include "wait.h"

enum { MAX_PAIRS = 32 };

static int listen_on_loopback(int *ret_port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof address;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (bind(fd, (struct sockaddr *)&address, length) != 0 || listen(fd, 64) != 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &length) != 0)
		child_die("the proxy cannot listen");
	*ret_port = ntohs(address.sin_port);
	return fd;
}

static void accept_pair(int listener, const char *server_socket, struct relay *relays,
                        struct proxy_faults *faults)
{
	int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (client < 0)
		return;
	for (int i = 0; i < MAX_PAIRS && !faults->refuse; i++) {
		if (relays[i].open)
			continue;
		if (relay_open(&relays[i], client, server_socket) == 0)
			faults->accepted++;
		return;
	}
	close(client);
}

static void count_open(const struct relay *relays, struct proxy_faults *faults)
{
	unsigned open = 0;
	for (int i = 0; i < MAX_PAIRS; i++)
		open += relays[i].open && relays[i].fd[RELAY_UP] >= 0;
	faults->open = open;
}

static void close_all(struct relay *relays, struct proxy_faults *faults)
{
	for (int i = 0; i < MAX_PAIRS; i++) {
		if (faults->close_all == PROXY_ABANDON)
			relay_abandon(&relays[i]);
		else
			relay_close(&relays[i], faults->close_all == PROXY_RESET);
	}
	count_open(relays, faults);
	faults->close_all = 0;
}

static int poll_timeout(uint64_t wake_ns)
{
	uint64_t now = wait_now_ns();
	if (wake_ns == UINT64_MAX)
		return -1;
	return wake_ns <= now ? 0 : (int)((wake_ns - now) / 1000000 + 1);
}

/* One round: wait until a socket, a due chunk or the test wants something, then move what can be moved. */
static void serve_once(int listener, int wake_fd, const char *server_socket, struct relay *relays,
                       struct proxy_faults *faults)
{
	struct pollfd fds[2 + 2 * MAX_PAIRS] = {{.fd = listener, .events = POLLIN},
	                                        {.fd = wake_fd, .events = POLLIN}};
	uint64_t wake_ns = UINT64_MAX;
	uint64_t count;
	for (int i = 0; i < MAX_PAIRS; i++)
		relay_prepare(&relays[i], faults, &fds[2 + 2 * i], &wake_ns);
	poll(fds, 2 + 2 * MAX_PAIRS, poll_timeout(wake_ns));
	if (fds[1].revents != 0 && read(wake_fd, &count, sizeof count) < 0 && errno != EAGAIN)
		_exit(1);
	if (faults->close_all != 0) {
		close_all(relays, faults);
		return;
	}
	for (int i = 0; i < MAX_PAIRS; i++)
		relay_move(&relays[i], faults, &fds[2 + 2 * i]);
	if (fds[0].revents != 0)
		accept_pair(listener, server_socket, relays, faults);
	count_open(relays, faults);
}

void proxy_start(struct proxy *proxy, const char *server_socket)
{
	static struct relay relays[MAX_PAIRS]; /* used in the child alone */
	*proxy = (struct proxy){.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
	int listener = listen_on_loopback(&proxy->port);
	snprintf(proxy->url, sizeof proxy->url, "redis://127.0.0.1:%d", proxy->port);
	proxy->faults =
	    mmap(NULL, sizeof *proxy->faults, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (proxy->faults == MAP_FAILED || proxy->wake_fd < 0)
		child_die("the proxy cannot start");
	proxy->pid = child_fork();
	if (proxy->pid == 0) {
		child_detach((int[]){listener, proxy->wake_fd}, 2);
		for (;;)
			serve_once(listener, proxy->wake_fd, server_socket, relays, proxy->faults);
	}
	close(listener);
}

void proxy_stop(struct proxy *proxy)
{
	child_kill(proxy->pid);
	close(proxy->wake_fd);
	munmap(proxy->faults, sizeof *proxy->faults);
	proxy->pid = 0;
}

void proxy_set(struct proxy *proxy, atomic_uint *fault, unsigned value)
{
	uint64_t one = 1;
	atomic_store(fault, value);
	if (write(proxy->wake_fd, &one, sizeof one) < 0)
		child_die("the proxy cannot be woken");
}

void proxy_close(struct proxy *proxy, enum proxy_close how)
{
	uint64_t start_ns = wait_now_ns();
	proxy_set(proxy, &proxy->faults->close_all, how);
	while (atomic_load(&proxy->faults->close_all) != 0) {
		if (wait_elapsed_ms(start_ns) > WAIT_SOON_MS)
			child_die("the proxy does not close its connections");
		wait_ms(1);
	}
}
