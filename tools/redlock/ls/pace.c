/* SPDX-License-Identifier: MIT */
/*
 * The part of a server's time that the command may take. The server itself says how long it works: its clock
 * is asked before and after the questions, in the same request. Other clients that it serves in between count
 * too: a busy server is asked less.
 */
#include <stdlib.h>

#include "../clock.h"
#include "ls.h"

/* So much work needs no pauses: some thousand keys are found at once. */
#define FREE_NS 20e6

/* The server's clock does not show that it reads requests and writes answers: a factor for that. */
#define REST 1.1

/* A step never counts for more: a server that takes longer was stopped, or was busy with others. Counted
 * whole, a second in which it stood still would be followed by a pause of most of a minute. */
#define STEP_NS 50e6

void ls_pace_begin(struct ls_pace *pace, double share)
{
	*pace = (struct ls_pace){.begin_ns = clock_ns(), .share = share};
}

/* The server's clock in nanoseconds; 0: it was not told. */
static double time_of(const struct redlock_question *q)
{
	const struct redlock_reply *r = q->reply;
	if (r == NULL || r->kind != REDLOCK_REPLY_ARRAY || r->count != 2 ||
	    r->items[0].kind != REDLOCK_REPLY_STRING || r->items[1].kind != REDLOCK_REPLY_STRING)
		return 0;
	return strtod(r->items[0].text, NULL) * 1e9 + strtod(r->items[1].text, NULL) * 1e3;
}

void ls_pace_note(struct ls_pace *pace, const struct redlock_question *before,
                  const struct redlock_question *after)
{
	double first = time_of(before), last = time_of(after);
	double took_ns = (double)(after->answered_ns - before->sent_ns);
	if (before->reply == NULL || after->reply == NULL)
		return;
	/* A server that does not tell its time, or whose clock was set: the way to it counts too. */
	bool tells = first > 0 && last >= first && last - first <= took_ns;
	double used_ns = tells ? REST * (last - first) : took_ns;
	pace->used_ns[before->node] += used_ns < STEP_NS ? used_ns : STEP_NS;
}

uint64_t ls_pace_due_ns(const struct ls_pace *pace)
{
	double most_ns = 0;
	for (unsigned i = 0; i < REDLOCK_MAX_NODES; i++)
		most_ns = pace->used_ns[i] > most_ns ? pace->used_ns[i] : most_ns;
	return most_ns <= FREE_NS ? 0 : pace->begin_ns + (uint64_t)(most_ns / pace->share);
}
