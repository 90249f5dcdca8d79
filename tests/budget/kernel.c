/* SPDX-License-Identifier: MIT */
/* System calls, served from memory. See kernel.h; what the servers say is in tests/fake/redis.h. */
#include "kernel.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <time.h>

#ifdef COUNT_ALLOCATIONS
#include "failmalloc.h"
#else
#define failmalloc_pause(on) (void)(on)
#endif
#include "redis.h"

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_TOGGLE_COLLECT (void)0 /* then instructions are not counted, see CMakeLists.txt */
#define CALLGRIND_START_INSTRUMENTATION (void)0
#endif

/* Seen from shared libraries too, whatever the compiler's default is. */
#define SYSTEM_CALL __attribute__((visibility("default")))

enum { FIRST_FD = 1000, MAX_FDS = 64, ROUND_TRIP_NS = 50000 };
enum kind { FREE, SOCKET, EPOLL, TIMER, BELL };

struct server {
	bool silent;
	struct redis redis;
	struct session *session;
	struct buffer in, out;
};

static struct descriptor {
	enum kind kind;
	struct server *server; /* of a connected socket */
	bool watched;
	uint32_t events;
	epoll_data_t data;
	uint64_t fires_ns; /* of a timer; UINT64_MAX: not armed */
	uint64_t rung;     /* of an eventfd */
} descriptors[MAX_FDS];

static struct server servers[KERNEL_SERVERS];
static uint64_t now_ns = 1000000000;
static uint64_t calls;
static bool measuring;

void kernel_silence(unsigned server, bool silent)
{
	servers[server].silent = silent;
}

uint64_t kernel_calls(void)
{
	return calls;
}

/* ---- The cost in here is not the library's ---- */

static void toggle(void)
{
	if (measuring)
		CALLGRIND_TOGGLE_COLLECT;
}

void kernel_measure(bool on)
{
	measuring = on;
	if (on)
		CALLGRIND_START_INSTRUMENTATION; /* the pieces that warm up run without: five times as fast */
	CALLGRIND_TOGGLE_COLLECT;
}

static void enter(void)
{
	toggle();
	failmalloc_pause(true);
	calls++;
}

static ssize_t leave(ssize_t result)
{
	failmalloc_pause(false);
	toggle();
	return result;
}

/* ---- Descriptors ---- */

static struct descriptor *find(int fd)
{
	if (fd < FIRST_FD || fd >= FIRST_FD + MAX_FDS || descriptors[fd - FIRST_FD].kind == FREE)
		abort(); /* not one of ours: the library's mistake, or a call that is missing here */
	return &descriptors[fd - FIRST_FD];
}

static int open_one(enum kind kind)
{
	for (int i = 0; i < MAX_FDS; i++) {
		if (descriptors[i].kind != FREE)
			continue;
		descriptors[i] = (struct descriptor){.kind = kind, .fires_ns = UINT64_MAX};
		return FIRST_FD + i;
	}
	abort();
}

SYSTEM_CALL int close(int fd)
{
	enter();
	struct descriptor *d = find(fd);
	if (d->server != NULL) {
		redis_forget(&d->server->redis, d->server->session);
		buffer_drop(&d->server->in, d->server->in.length);
		buffer_drop(&d->server->out, d->server->out.length);
	}
	d->kind = FREE;
	return (int)leave(0);
}

/* ---- Sockets ---- */

SYSTEM_CALL int socket(int domain, int type, int protocol)
{
	(void)domain, (void)type, (void)protocol;
	enter();
	return (int)leave(open_one(SOCKET));
}

SYSTEM_CALL int connect(int fd, const struct sockaddr *address, socklen_t size)
{
	const struct sockaddr_un *path = (const struct sockaddr_un *)(const void *)address;
	unsigned number = (unsigned)path->sun_path[sizeof "/run/" - 1] - '0';
	(void)size;
	enter();
	if (address->sa_family != AF_UNIX || number >= KERNEL_SERVERS)
		abort();
	struct server *s = find(fd)->server = &servers[number];
	snprintf(s->redis.run_id, sizeof s->redis.run_id, "%040u", number); /* no two servers have the same */
	s->session = redis_accept(&s->redis);
	return (int)leave(0);
}

SYSTEM_CALL int setsockopt(int fd, int level, int name, const void *value, socklen_t size)
{
	(void)level, (void)name, (void)value, (void)size;
	enter();
	find(fd);
	return (int)leave(0);
}

SYSTEM_CALL int getsockopt(int fd, int level, int name, void *restrict value, socklen_t *restrict size)
{
	(void)level, (void)name;
	enter();
	find(fd);
	memset(value, 0, *size); /* SO_ERROR: none */
	return (int)leave(0);
}

/* Not in send() itself: what that saves and restores would be counted. */
__attribute__((noinline)) static void serve(struct server *s, const void *bytes, size_t size)
{
	if (s->silent)
		return;
	buffer_append(&s->in, bytes, size);
	if (s->redis.now_ms != (int64_t)(now_ns / 1000000)) {
		s->redis.now_ms = (int64_t)(now_ns / 1000000);
		redis_expire(&s->redis);
	}
	redis_serve(&s->redis, s->session, &s->in, UINT32_MAX, &s->out);
}

SYSTEM_CALL ssize_t send(int fd, const void *bytes, size_t size, int flags)
{
	(void)flags;
	enter();
	serve(find(fd)->server, bytes, size);
	return leave((ssize_t)size);
}

SYSTEM_CALL ssize_t recv(int fd, void *bytes, size_t size, int flags)
{
	(void)flags;
	enter();
	size_t got = buffer_take(&find(fd)->server->out, bytes, size);
	errno = EAGAIN;
	return leave(got > 0 ? (ssize_t)got : -1);
}

/* ---- Timers, bells, random bytes, time ---- */

SYSTEM_CALL int timerfd_create(clockid_t clock, int flags)
{
	(void)clock, (void)flags;
	enter();
	return (int)leave(open_one(TIMER));
}

SYSTEM_CALL int timerfd_settime(int fd, int flags, const struct itimerspec *when, struct itimerspec *old)
{
	uint64_t at = (uint64_t)when->it_value.tv_sec * 1000000000u + (uint64_t)when->it_value.tv_nsec;
	(void)flags, (void)old;
	enter();
	find(fd)->fires_ns = at > 0 ? at : UINT64_MAX;
	return (int)leave(0);
}

SYSTEM_CALL int eventfd(unsigned count, int flags)
{
	(void)count, (void)flags;
	enter();
	return (int)leave(open_one(BELL));
}

SYSTEM_CALL ssize_t write(int fd, const void *bytes, size_t size)
{
	(void)bytes;
	enter();
	find(fd)->rung++;
	return leave((ssize_t)size);
}

SYSTEM_CALL ssize_t read(int fd, void *bytes, size_t size)
{
	enter();
	struct descriptor *d = find(fd);
	bool rung = d->rung > 0;
	memcpy(bytes, &d->rung, size);
	d->rung = 0;
	errno = EAGAIN;
	return leave(rung ? (ssize_t)size : -1);
}

SYSTEM_CALL ssize_t getrandom(void *buffer, size_t size, unsigned flags)
{
	static unsigned char next;
	(void)flags;
	enter();
	for (size_t i = 0; i < size; i++)
		((unsigned char *)buffer)[i] = next++;
	return leave((ssize_t)size);
}

/* Not counted: it needs no kernel. */
SYSTEM_CALL int clock_gettime(clockid_t clock, struct timespec *ret)
{
	(void)clock;
	toggle();
	*ret = (struct timespec){(time_t)(now_ns / 1000000000u), (long)(now_ns % 1000000000u)};
	return (int)leave(0);
}

/* ---- Waiting ---- */

static uint32_t ready_for(const struct descriptor *d)
{
	uint32_t events = 0;
	if (d->kind == SOCKET)
		events = EPOLLOUT | (d->server->out.length > 0 ? (uint32_t)EPOLLIN : 0u);
	else if ((d->kind == TIMER && d->fires_ns <= now_ns) || (d->kind == BELL && d->rung > 0))
		events = EPOLLIN;
	return events & d->events;
}

static int collect(struct epoll_event *events, int most)
{
	int count = 0;
	for (int i = 0; i < MAX_FDS && count < most; i++) {
		struct descriptor *d = &descriptors[i];
		uint32_t ready = d->kind != FREE && d->watched ? ready_for(d) : 0;
		if (ready != 0)
			events[count++] = (struct epoll_event){.events = ready, .data = d->data};
	}
	return count;
}

/* Lets the next timer fire. */
static void sleep_until_timer(void)
{
	uint64_t next = UINT64_MAX;
	for (int i = 0; i < MAX_FDS; i++)
		if (descriptors[i].kind == TIMER && descriptors[i].watched && descriptors[i].fires_ns < next)
			next = descriptors[i].fires_ns;
	if (next == UINT64_MAX)
		abort(); /* would wait for ever */
	now_ns = next > now_ns ? next : now_ns;
}

static int wait_for(struct epoll_event *events, int most, int timeout_ms)
{
	int count = collect(events, most);
	if (timeout_ms == 0)
		return count;
	now_ns += ROUND_TRIP_NS;
	if (count == 0)
		sleep_until_timer();
	return collect(events, most);
}

SYSTEM_CALL int epoll_create1(int flags)
{
	(void)flags;
	enter();
	return (int)leave(open_one(EPOLL));
}

SYSTEM_CALL int epoll_ctl(int poller, int operation, int fd, struct epoll_event *event)
{
	enter();
	struct descriptor *d = find(fd);
	find(poller);
	d->watched = operation != EPOLL_CTL_DEL;
	if (d->watched) {
		d->events = event->events;
		d->data = event->data;
	}
	return (int)leave(0);
}

SYSTEM_CALL int epoll_pwait(int poller, struct epoll_event *events, int most, int timeout_ms,
                            const sigset_t *signals)
{
	(void)signals;
	enter();
	find(poller);
	return (int)leave(wait_for(events, most, timeout_ms));
}

/* For the caller's own loop, which watches the library's descriptor. */
SYSTEM_CALL int poll(struct pollfd *watched, nfds_t count, int timeout_ms)
{
	struct epoll_event event;
	(void)count;
	enter();
	find(watched->fd);
	int ready = wait_for(&event, 1, timeout_ms);
	watched->revents = ready > 0 ? POLLIN : 0;
	return (int)leave(ready);
}
