/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "os/bell.h"
#include "os/poller.h"

enum { SET_ID = INT32_MAX - 2, TIMER_ID, WAKE_ID };
enum { MAX_READY = 64 };

#define LOOK_NS 1000000000u /* where nobody tells that the wall clock was set */

static int add(struct rl_poller *p, int fd, uint32_t id)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = id};
	return epoll_ctl(p->fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

/* A timer for the year 2200, which is cancelled when the clock is set. */
static int open_set(void)
{
	const struct itimerspec never = {.it_value.tv_sec = 7258118400};
	int fd = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);
	if (fd < 0 || timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL) == 0)
		return fd;
	close(fd);
	return -1;
}

int rl_poller_open(struct rl_poller *p)
{
	int error;
	*p = (struct rl_poller){.fd = -1, .timer_fd = -1, .wake_fd = -1, .set_fd = -1, .armed_ns = UINT64_MAX};
	p->fd = epoll_create1(EPOLL_CLOEXEC);
	p->timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
	p->wake_fd = rl_bell_open();
	if (p->fd < 0 || p->timer_fd < 0 || p->wake_fd < 0)
		error = -errno;
	else if ((error = add(p, p->timer_fd, TIMER_ID)) == 0)
		error = add(p, p->wake_fd, WAKE_ID);
	if (error == 0 && (p->set_fd = open_set()) >= 0)
		error = add(p, p->set_fd, SET_ID);
	if (error < 0)
		rl_poller_close(p);
	return error;
}

void rl_poller_close(struct rl_poller *p)
{
	int *fds[] = {&p->fd, &p->timer_fd, &p->wake_fd, &p->set_fd};
	for (unsigned i = 0; i < sizeof fds / sizeof fds[0]; i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
}

int rl_poller_watch(struct rl_poller *p, int fd, uint32_t id, uint32_t events, bool known)
{
	struct epoll_event event = {.data.u32 = id};
	if ((events & RL_READABLE) != 0)
		event.events |= EPOLLIN;
	if ((events & RL_WRITABLE) != 0)
		event.events |= EPOLLOUT;
	return epoll_ctl(p->fd, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

void rl_poller_forget(struct rl_poller *p, int fd)
{
	(void)epoll_ctl(p->fd, EPOLL_CTL_DEL, fd, NULL);
}

int rl_poller_arm(struct rl_poller *p, uint64_t deadline_ns, uint64_t now_ns)
{
	bool fired = p->armed_ns <= now_ns;
	if (p->set_fd < 0 && deadline_ns != UINT64_MAX && deadline_ns > now_ns + LOOK_NS)
		deadline_ns = now_ns + LOOK_NS;
	if (!fired && p->armed_ns <= deadline_ns)
		return 0;
	struct itimerspec when = {0}; /* disarmed; setting a timer also takes back that it fired */
	if (deadline_ns != UINT64_MAX) {
		uint64_t at = deadline_ns > 0 ? deadline_ns : 1;
		when.it_value = (struct timespec){(time_t)(at / 1000000000u), (long)(at % 1000000000u)};
	}
	if (timerfd_settime(p->timer_fd, TFD_TIMER_ABSTIME, &when, NULL) < 0)
		return -errno;
	p->armed_ns = deadline_ns;
	return 0;
}

static int wait_ms(struct rl_poller *p, struct rl_ready *ready, int max, int timeout_ms,
                   const sigset_t *signals)
{
	struct epoll_event events[MAX_READY];
	int count = epoll_pwait(p->fd, events, max < MAX_READY ? max : MAX_READY, timeout_ms, signals);
	if (count < 0)
		return -errno;
	int used = 0;
	for (int i = 0; i < count; i++) {
		uint32_t id = events[i].data.u32;
		uint32_t happened = events[i].events;
		if (id == WAKE_ID) {
			rl_bell_silence(p->wake_fd);
		} else if (id == SET_ID) {
			uint64_t unused;
			(void)!read(p->set_fd, &unused, sizeof unused); /* ECANCELED; it watches on */
		} else if (id != TIMER_ID) {
			bool failed = (happened & (EPOLLERR | EPOLLHUP)) != 0;
			ready[used++] = (struct rl_ready){
			    .id = id,
			    .events = ((happened & EPOLLIN) != 0 || failed ? (uint32_t)RL_READABLE : 0u) |
			              ((happened & EPOLLOUT) != 0 || failed ? (uint32_t)RL_WRITABLE : 0u),
			};
		}
	}
	return used;
}

int rl_poller_look(struct rl_poller *p, struct rl_ready *ready, int max)
{
	int count = wait_ms(p, ready, max, 0, NULL);
	return count == -EINTR ? 0 : count;
}

int rl_poller_wait(struct rl_poller *p, struct rl_ready *ready, int max, const sigset_t *signals)
{
	return wait_ms(p, ready, max, -1, signals);
}

void rl_poller_wake(struct rl_poller *p)
{
	rl_bell_ring(p->wake_fd);
}
