/* SPDX-License-Identifier: MIT */
/* Sockets and poller of the process whose calls run. See os.h. */
#include "os.h"

#include <errno.h>

/* Descriptors that are never asked for bytes. */
enum { POLLER_FD = 1000, TIMER_FD, WAKE_FD, SET_FD };

struct rl_address fake_address(unsigned char kind, unsigned number)
{
	return (struct rl_address){.length = 2, .bytes = {kind, (unsigned char)number}};
}

static void tell(void (*hook)(void))
{
	if (hook != NULL)
		hook();
}

/* ---- sockets ---- */

static struct fake_fd *fd_of(int fd)
{
	int i = fd - FAKE_FIRST_FD;
	if (i >= 0 && i < FAKE_FDS && fake_process->fds[i].used)
		return &fake_process->fds[i];
	fake_world->wrong("uses a descriptor that it does not have", fd);
	return NULL;
}

/* The lowest free descriptor comes next. */
int rl_socket_connect(const struct rl_address *address, int *ret_fd)
{
	uint32_t conn;
	int i = 0;
	while (i < FAKE_FDS && fake_process->fds[i].used)
		i++;
	if (i == FAKE_FDS)
		return -EMFILE;
	if (address->length == 0)
		return -EINVAL;
	int error = fake_world->connect(address, &conn);
	if (error != 0)
		return error;
	fake_process->fds[i] = (struct fake_fd){.used = true, .conn = conn};
	*ret_fd = FAKE_FIRST_FD + i;
	return 0;
}

int rl_socket_connected(int fd)
{
	const struct fake_fd *f = fd_of(fd);
	return f != NULL ? fake_world->connected(f->conn) : -EBADF;
}

ssize_t rl_socket_send(int fd, const void *bytes, size_t size, bool more)
{
	const struct fake_fd *f = fd_of(fd);
	return f != NULL ? fake_world->send(f->conn, bytes, size) : -EBADF;
}

ssize_t rl_socket_receive(int fd, void *bytes, size_t size)
{
	const struct fake_fd *f = fd_of(fd);
	return f != NULL ? fake_world->receive(f->conn, bytes, size) : -EBADF;
}

static void end(int fd, bool abort)
{
	struct fake_fd *f = fd_of(fd);
	if (f == NULL)
		return;
	f->used = false;
	fake_world->close(f->conn, abort);
}

void rl_socket_close(int fd)
{
	end(fd, false);
}

void rl_socket_abort(int fd)
{
	end(fd, true);
}

/* ---- poller: level-triggered, with a timer on the process's clock ---- */

int rl_poller_open(struct rl_poller *poller)
{
	*poller = (struct rl_poller){
	    .fd = POLLER_FD, .timer_fd = TIMER_FD, .wake_fd = WAKE_FD, .set_fd = SET_FD, .armed_ns = UINT64_MAX};
	fake_process->poller_open = true;
	fake_process->armed_ns = UINT64_MAX;
	fake_process->woken = false;
	return 0;
}

void rl_poller_close(struct rl_poller *poller)
{
	fake_process->poller_open = false;
	*poller =
	    (struct rl_poller){.fd = -1, .timer_fd = -1, .wake_fd = -1, .set_fd = -1, .armed_ns = UINT64_MAX};
}

int rl_poller_watch(struct rl_poller *poller, int fd, uint32_t id, uint32_t events, bool known)
{
	struct fake_fd *f = fd_of(fd);
	if (f == NULL)
		return -EBADF;
	if (f->watched != known)
		fake_world->wrong("watches, or does not know that it watches", fd);
	for (unsigned i = 0; i < FAKE_FDS; i++) {
		const struct fake_fd *other = &fake_process->fds[i];
		if (other != f && other->used && other->watched && other->id == id)
			fake_world->wrong("watches two under one id", fd);
	}
	int error = fake_world->watch != NULL ? fake_world->watch() : 0;
	if (error != 0)
		return error;
	f->watched = true;
	f->id = id;
	f->events = events;
	tell(fake_world->woken);
	return 0;
}

void rl_poller_forget(struct rl_poller *poller, int fd)
{
	struct fake_fd *f = fd_of(fd); /* before it is closed */
	if (f != NULL)
		f->watched = false;
}

int rl_poller_arm(struct rl_poller *poller, uint64_t deadline_ns, uint64_t now_ns)
{
	bool fired = poller->armed_ns <= now_ns;
	if (!fired && poller->armed_ns <= deadline_ns)
		return 0;
	poller->armed_ns = fake_process->armed_ns = deadline_ns;
	tell(fake_world->armed);
	return 0;
}

unsigned fake_ready(const struct fake_process *p, const struct fake_fd *fd)
{
	return fd->used && fd->watched ? fake_world->ready(fd) : 0;
}

bool fake_anything_ready(const struct fake_process *p)
{
	bool any = p->woken;
	for (unsigned i = 0; i < FAKE_FDS && !any; i++)
		any = fake_ready(p, &p->fds[i]) != 0;
	for (unsigned i = 0; i < FAKE_LOOKUPS && !any; i++)
		any = p->lookups[i].runs && fake_world->has_ended(&p->lookups[i]);
	return any;
}

int rl_poller_wait(struct rl_poller *poller, struct rl_ready *ready, int max, const sigset_t *signals)
{
	(void)ready;
	(void)max;
	(void)signals;
	fake_world->wrong("waits", poller->fd);
	return -EDEADLK;
}

int rl_poller_look(struct rl_poller *poller, struct rl_ready *ready, int max)
{
	struct fake_process *p = fake_process;
	unsigned first = 0;
	int count = 0;
	(void)poller;
	p->woken = false;
	if (fake_world->first != NULL)
		first = fake_world->first();
	for (unsigned i = 0; i < FAKE_FDS && count < max; i++) {
		const struct fake_fd *f = &p->fds[(first + i) % FAKE_FDS];
		unsigned events = fake_ready(p, f);
		if (events != 0)
			ready[count++] = (struct rl_ready){.id = f->id, .events = events};
	}
	for (unsigned i = 0; i < FAKE_LOOKUPS && count < max; i++)
		if (p->lookups[i].runs && fake_world->has_ended(&p->lookups[i]))
			ready[count++] = (struct rl_ready){.id = p->lookups[i].id, .events = RL_READABLE};
	return count;
}

void rl_poller_wake(struct rl_poller *poller)
{
	fake_process->woken = true;
	tell(fake_world->woken);
}
