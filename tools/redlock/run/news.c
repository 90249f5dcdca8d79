/* SPDX-License-Identifier: MIT */
#include "news.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "run.h"
#include "term.h"

static enum news_state state_of(const struct run *run)
{
	return !run_has_processes(run)                                                 ? NEWS_FOLLOWER
	       : run->state == RUN_HELD && !atomic_load(&run->order->term->page->over) ? NEWS_LEADER
	                                                                               : NEWS_STEPPING_DOWN;
}

/* "": a lock that has ended says nothing of the next leader. */
static void find_leader(const struct run *run, char *buffer, size_t size)
{
	const char *text = run->state == RUN_WAITING ? run->leader.label : "";
	if (run_has_processes(run)) {
		const char *label = strchr(share_token(run->guard.share), '|');
		text = label != NULL ? label + 1 : share_token(run->guard.share);
	}
	snprintf(buffer, size, "%.*s", (int)size - 1, text);
}

static bool is_same(const struct news *a, const struct news *b)
{
	return a->state == b->state && a->deadline_ns == b->deadline_ns && a->fence == b->fence &&
	       strcmp(a->leader, b->leader) == 0;
}

/* A follower that ends has no news. */
void news_observe(const struct run *run)
{
	static struct news last;
	struct news news;
	if (run->state != RUN_WAITING && run->acquired_ns == 0)
		return;
	memset(&news, 0, sizeof news); /* all of its bytes are written */
	news.state = state_of(run);
	find_leader(run, news.leader, sizeof news.leader);
	if (run_has_processes(run)) {
		news.deadline_ns = run->deadline_ns;
		news.fence = redlock_lock_fence(run->lock);
	}
	if (!is_same(&news, &last) && write(run->order->term->news, &news, sizeof news) == (ssize_t)sizeof news)
		last = news;
}
