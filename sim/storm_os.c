/* SPDX-License-Identifier: MIT */
/* The seam of the storm, instead of rl_os: a thousand processes, each with its poller, and connections that
 * take a millisecond each way. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "memory.h"
#include "net/node.h"
#include "os/clock.h"
#include "os/random.h"
#include "os/resolve.h"
#include "storm.h"

enum { FIRST_FD = 10, POLLER_FD = 1000, TIMER_FD, WAKE_FD };

static struct storm_fd *fd_of(int fd)
{
	return &storm.current->fds[fd - FIRST_FD];
}

static bool is_down(unsigned node)
{
	return node == 0 && storm.now_ns >= storm.down_ns && storm.now_ns < storm.up_ns;
}

uint64_t storm_due(const struct storm_client *c)
{
	uint64_t due_ns = c->armed_ns;
	for (unsigned i = 0; i < STORM_FDS; i++)
		if (c->fds[i].used && c->fds[i].watched && c->fds[i].ready_ns < due_ns)
			due_ns = c->fds[i].ready_ns;
	return due_ns;
}

void storm_lose(void)
{
	for (unsigned i = 0; i < STORM_CLIENTS; i++)
		for (unsigned j = 0; j < STORM_FDS; j++) {
			struct storm_fd *f = &storm.clients[i].fds[j];
			if (!f->used || f->node != 0)
				continue;
			f->reset = true;
			f->ready_ns = storm.now_ns;
		}
}

void storm_forget(struct storm_client *c)
{
	for (unsigned i = 0; i < STORM_FDS; i++) {
		buffer_free(&c->fds[i].up);
		buffer_free(&c->fds[i].down);
	}
}

/* ---- time and chance ---- */

uint64_t rl_clock_now(void)
{
	return storm.now_ns;
}

int rl_random_bytes(void *buffer, size_t size)
{
	unsigned char *at = buffer;
	for (size_t i = 0; i < size; i++)
		at[i] = storm.broken == STORM_NO_JITTER ? 0 : (unsigned char)prng_next(&storm.random);
	return 0;
}

int rl_random_take(struct rl_random_pool *pool, uint64_t now_ns, void *buffer, size_t size)
{
	(void)pool;
	(void)now_ns;
	return rl_random_bytes(buffer, size);
}

/* The library's backoff, or none worth the name. */
void real_backoff(struct rl_node *node, uint64_t now_ns) __asm__("__real_rl_backoff_begin");
void hooked_backoff(struct rl_node *node, uint64_t now_ns) __asm__("__wrap_rl_backoff_begin");

void hooked_backoff(struct rl_node *node, uint64_t now_ns)
{
	real_backoff(node, now_ns);
	if (storm.broken == STORM_NO_BACKOFF)
		node->retry_at_ns = now_ns + 20 * STORM_MS + prng_below(&storm.random, 20) * STORM_MS;
}

/* buffer.c asks the linker for the realloc(3) behind the simulator's count. Here nothing is counted. */
void *plain_realloc(void *old, size_t size) __asm__("__wrap_realloc");

void *plain_realloc(void *old, size_t size)
{
	return memory_system_realloc(old, size);
}

/* ---- sockets ---- */

static void count_arrival(void)
{
	uint64_t ms = (storm.now_ns - storm.down_ns) / STORM_MS;
	if (storm.now_ns >= storm.down_ns && ms < storm.arrival_ms)
		storm.arrivals[ms]++;
}

int rl_socket_connect(const struct rl_address *address, int *ret_fd)
{
	unsigned i = 0;
	while (i < STORM_FDS && storm.current->fds[i].used)
		i++;
	if (i == STORM_FDS)
		return -EMFILE;
	struct storm_fd *f = &storm.current->fds[i];
	struct buffer up = f->up, down = f->down;
	buffer_drop(&up, up.length);
	buffer_drop(&down, down.length);
	*f = (struct storm_fd){.used = true, .node = address->bytes[0], .up = up, .down = down};
	f->refused = is_down(f->node);
	f->ready_ns = storm.now_ns + STORM_MS;
	if (f->node == 0)
		count_arrival();
	*ret_fd = FIRST_FD + (int)i;
	return 0;
}

int rl_socket_connected(int fd)
{
	struct storm_fd *f = fd_of(fd);
	f->connected = true;
	f->ready_ns = STORM_NEVER;
	return f->refused ? -ECONNREFUSED : 0;
}

ssize_t rl_socket_send(int fd, const void *bytes, size_t size, bool more)
{
	struct storm_fd *f = fd_of(fd);
	(void)more;
	if (f->reset)
		return -EPIPE;
	buffer_append(&f->up, bytes, size);
	storm_answer(f);
	if (f->down.length > 0 && f->ready_ns == STORM_NEVER)
		f->ready_ns = storm.now_ns + 2 * STORM_MS;
	return (ssize_t)size;
}

ssize_t rl_socket_receive(int fd, void *bytes, size_t size)
{
	struct storm_fd *f = fd_of(fd);
	if (f->reset)
		return -ECONNRESET;
	if (f->down.length == 0 || f->ready_ns > storm.now_ns)
		return -EAGAIN;
	size_t moved = f->down.length < size ? f->down.length : size;
	memcpy(bytes, buffer_front(&f->down), moved);
	buffer_drop(&f->down, moved);
	if (f->down.length == 0)
		f->ready_ns = STORM_NEVER;
	return (ssize_t)moved;
}

void rl_socket_close(int fd)
{
	fd_of(fd)->used = false;
}

void rl_socket_abort(int fd)
{
	fd_of(fd)->used = false;
}

/* ---- poller ---- */

int rl_poller_open(struct rl_poller *poller)
{
	*poller = (struct rl_poller){
	    .fd = POLLER_FD, .timer_fd = TIMER_FD, .wake_fd = WAKE_FD, .armed_ns = STORM_NEVER};
	storm.current->armed_ns = STORM_NEVER;
	return 0;
}

void rl_poller_close(struct rl_poller *poller)
{
	(void)poller;
}

int rl_poller_watch(struct rl_poller *poller, int fd, uint32_t id, uint32_t events, bool known)
{
	struct storm_fd *f = fd_of(fd);
	(void)poller;
	(void)known;
	f->watched = true;
	f->watched_events = events;
	f->id = id;
	return 0;
}

void rl_poller_forget(struct rl_poller *poller, int fd)
{
	(void)poller;
	fd_of(fd)->watched = false;
}

int rl_poller_arm(struct rl_poller *poller, uint64_t deadline_ns, uint64_t now_ns)
{
	(void)now_ns;
	poller->armed_ns = storm.current->armed_ns = deadline_ns;
	return 0;
}

int rl_poller_wait(struct rl_poller *poller, struct rl_ready *ready, int max, bool block)
{
	int count = 0;
	(void)poller;
	(void)block;
	for (unsigned i = 0; i < STORM_FDS && count < max; i++) {
		const struct storm_fd *f = &storm.current->fds[i];
		if (f->used && f->watched && f->ready_ns <= storm.now_ns)
			ready[count++] = (struct rl_ready){
			    .id = f->id, .events = f->connected ? RL_READABLE : RL_READABLE | RL_WRITABLE};
	}
	return count;
}

void rl_poller_wake(struct rl_poller *poller)
{
	(void)poller;
}

/* ---- the rest ---- */

/* Nodes are addresses here: nothing is looked up. */
bool rl_resolve_literal(const char *host, uint16_t port, struct rl_address *ret)
{
	unsigned node = 0;
	(void)port;
	(void)sscanf(host, "node%u", &node);
	*ret = (struct rl_address){.length = 1};
	ret->bytes[0] = (unsigned char)node;
	return true;
}

int rl_resolve_path(const char *path, struct rl_address *ret)
{
	(void)path;
	(void)ret;
	return -ENOSYS;
}

int rl_lookup_start(const char *host, uint16_t port, struct rl_poller *poller, uint32_t id,
                    struct rl_lookup **ret)
{
	(void)host, (void)port, (void)poller, (void)id, (void)ret;
	return -ENOSYS;
}

bool rl_lookup_take(struct rl_lookup *lookup, struct rl_poller *poller, struct rl_lookup_result *ret)
{
	(void)lookup, (void)poller, (void)ret;
	return false;
}

void rl_lookup_leave(struct rl_lookup *lookup, bool child)
{
	(void)lookup, (void)child;
}
