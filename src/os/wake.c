/* SPDX-License-Identifier: MIT */
#include "os/wake.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>

#include "os/bell.h"

int rl_wake_open(struct rl_wake *w, const sigset_t *signals)
{
	w->bell = signals != NULL ? rl_bell_open() : -1;
	if (signals != NULL)
		return w->bell < 0 ? -errno : 0;
	return sem_init(&w->semaphore, 0, 0);
}

void rl_wake_close(struct rl_wake *w)
{
	if (w->bell < 0)
		sem_destroy(&w->semaphore);
	else
		rl_bell_close(w->bell);
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
