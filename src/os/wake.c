/* SPDX-License-Identifier: MIT */
#include "os/wake.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>

#include "os/bell.h"

void rl_wake_init(struct rl_wake *w)
{
	sem_init(&w->semaphore, 0, 0);
	w->bell = -1;
}

void rl_wake_close(struct rl_wake *w)
{
	sem_destroy(&w->semaphore);
	rl_bell_close(w->bell);
}

int rl_wake_prepare(struct rl_wake *w, const sigset_t *signals)
{
	if (signals != NULL && w->bell < 0)
		w->bell = rl_bell_open();
	return signals != NULL && w->bell < 0 ? -errno : 0;
}

void rl_wake_post(struct rl_wake *w)
{
	if (w->bell < 0)
		sem_post(&w->semaphore);
	else
		rl_bell_ring(w->bell);
}

static bool await_bell(int bell, const sigset_t *signals)
{
	struct pollfd pollfd = {.fd = bell, .events = POLLIN};
	while (ppoll(&pollfd, 1, NULL, signals) < 0)
		if (signals != NULL)
			return false;
	rl_bell_silence(bell);
	return true;
}

bool rl_wake_await(struct rl_wake *w, const sigset_t *signals)
{
	if (w->bell >= 0)
		return await_bell(w->bell, signals);
	while (sem_wait(&w->semaphore) < 0)
		continue;
	return true;
}
