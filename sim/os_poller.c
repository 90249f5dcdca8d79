/* SPDX-License-Identifier: MIT */
/* The seam: one poller for each client process, level-triggered, with a timer on the client's clock. */
#include "os/poller.h"

#include <errno.h>

#include "world.h"

/* Descriptors that are never asked for bytes. */
enum { POLLER_FD = 1000, TIMER_FD, WAKE_FD };

int rl_poller_open(struct rl_poller *poller)
{
	struct actor *a = sim_world->current;
	*poller =
	    (struct rl_poller){.fd = POLLER_FD, .timer_fd = TIMER_FD, .wake_fd = WAKE_FD, .armed_ns = SIM_NEVER};
	a->poller_open = true;
	a->armed_ns = SIM_NEVER;
	a->woken = false;
	return 0;
}

void rl_poller_close(struct rl_poller *poller)
{
	sim_world->current->poller_open = false;
	*poller = (struct rl_poller){.fd = -1, .timer_fd = -1, .wake_fd = -1, .armed_ns = SIM_NEVER};
}

int rl_poller_watch(struct rl_poller *poller, int fd, uint32_t id, uint32_t events, bool known)
{
	struct actor *a = sim_world->current;
	int i = fd - SIM_FIRST_FD;
	if (poller->fd != POLLER_FD || i < 0 || i >= SIM_MAX_FDS || !a->fds[i].used ||
	    a->fds[i].watched != known) {
		check_fail(sim_world, VIOLATION_DESCRIPTOR, "c%u watches descriptor %d", a->index, fd);
		return -EBADF;
	}
	a->fds[i].watched = true;
	a->fds[i].watch_id = id;
	a->fds[i].watch_events = events;
	actor_poke(sim_world, a->index);
	return 0;
}

void rl_poller_forget(struct rl_poller *poller, int fd)
{
	(void)poller;
	(void)fd; /* a closed connection is never ready here */
}

int rl_poller_arm(struct rl_poller *poller, uint64_t deadline_ns, uint64_t now_ns)
{
	bool fired = poller->armed_ns <= now_ns;
	if (!fired && poller->armed_ns <= deadline_ns)
		return 0;
	poller->armed_ns = deadline_ns;
	sim_world->current->armed_ns = deadline_ns;
	actor_plan_timer(sim_world, sim_world->current->index);
	return 0;
}

int rl_poller_wait(struct rl_poller *poller, struct rl_ready *ready, int max, bool block)
{
	struct world *w = sim_world;
	struct actor *a = w->current;
	int count = 0;
	(void)poller;
	if (block) {
		check_fail(w, VIOLATION_BLOCKED, "c%u waits", a->index);
		return -EDEADLK;
	}
	a->woken = false;
	unsigned first = (unsigned)prng_below(&w->net, SIM_MAX_FDS);
	for (unsigned i = 0; i < SIM_MAX_FDS && count < max; i++) {
		const struct fd_slot *slot = &a->fds[(first + i) % SIM_MAX_FDS];
		unsigned events = actor_slot_ready(w, slot);
		if (events != 0)
			ready[count++] = (struct rl_ready){.id = slot->watch_id, .events = events};
	}
	for (unsigned i = 0; i < SIM_MAX_NODES && count < max; i++) {
		const struct rl_lookup *l = &a->lookups[i];
		if (l->runs && l->ends_ns <= w->now_ns)
			ready[count++] = (struct rl_ready){.id = l->watch_id, .events = RL_READABLE};
	}
	return count;
}

void rl_poller_wake(struct rl_poller *poller)
{
	(void)poller;
	sim_world->current->woken = true;
	actor_poke(sim_world, sim_world->current->index);
}
