/* SPDX-License-Identifier: MIT */
/* A TCP proxy process that breaks connections. See proxy.h; the relaying of bytes is in relay.c. */
#include "proxy.h"

#include <errno.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "child.h"
#include "relay.h"
#include "wait.h"

/* One round: wait until something wants something, then move what can be moved. */
static void serve_once(struct relays *relays, int wake_fd, struct proxy_faults *faults)
{
	uint64_t count;
	if (relays_wait(relays, faults, wake_fd) && read(wake_fd, &count, sizeof count) < 0 && errno != EAGAIN)
		_exit(1);
	if (faults->close_all != 0) {
		relays_close(relays, faults, (enum proxy_close)faults->close_all);
		faults->close_all = 0;
	} else {
		relays_move(relays, faults);
	}
}

void proxy_start(struct proxy *proxy, const char *server_socket)
{
	static struct relays relays; /* used in the child alone */
	*proxy = (struct proxy){.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
	int listener = child_listen(SOCK_NONBLOCK, &proxy->port);
	snprintf(proxy->url, sizeof proxy->url, "redis://127.0.0.1:%d", proxy->port);
	proxy->faults =
	    mmap(NULL, sizeof *proxy->faults, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (proxy->faults == MAP_FAILED || proxy->wake_fd < 0)
		child_die("the proxy cannot start");
	proxy->pid = child_fork();
	if (proxy->pid == 0) {
		child_detach((int[]){listener, proxy->wake_fd}, 2);
		relays = (struct relays){.listener = listener, .server_socket = server_socket};
		for (;;)
			serve_once(&relays, proxy->wake_fd, proxy->faults);
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
