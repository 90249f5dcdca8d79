/* SPDX-License-Identifier: MIT */
/*
 * Reports a wait to people and programs while it lasts: who has the lock, for how long at least, when its key
 * expires, and at which place this client stands. It comes from the answers to the wait itself. On a terminal
 * it is one line that is kept up to date; else a line each time that holder or place change: with -v at once,
 * without -v after 5 s and then at most once a minute.
 */
#ifndef REDLOCK_TOOL_WAIT_VIEW_H
#define REDLOCK_TOOL_WAIT_VIEW_H

#include "holder.h"
#include "json.h"
#include "options.h"
#include "standing.h"

/* Nobody would ask about a shorter wait. */
#define WAIT_VIEW_AFTER_NS 300000000u

struct wait_view {
	const struct settings *settings;
	const char *name; /* which is waited for: of several, another one than the first at times */
	const char *first;
	uint64_t begin_ns, end_ns;
	uint64_t show_ns;                 /* when it may be shown next; UINT64_MAX: not yet */
	uint64_t least_ns;                /* not before, where nobody has asked for it */
	struct redlock_wait wait;         /* what was told last; node -1: nothing */
	char found[HOLDER_TEXT_MAX + 64]; /* the holder, found in another way; "": nobody */
	char split[256];                  /* in place of the holder: that nobody has a quorum; "": somebody may */
	char said[HOLDER_TEXT_MAX + 64];  /* what the last line said; "": there was none */
	bool renewed;                     /* the holder has extended its key since it was seen first */
	bool quarantine_told;
	bool is_live;
	bool is_told;  /* by lines */
	bool is_asked; /* with -v, or there is a terminal, if without a cursor; else lines are few */
};

/* The wait for a lock begins. */
void wait_view_begin(struct wait_view *view, const struct settings *settings, const char *name);

/* Takes what the handle knows. */
void wait_view_look(struct wait_view *view, const redlock_lock *lock);

/* When wait_view_show() has something to show. UINT64_MAX: nothing is known to come. */
uint64_t wait_view_due_ns(const struct wait_view *view);

/* Shows what there is to be shown by now. */
void wait_view_show(struct wait_view *view);

/* Nothing is shown any more; on a terminal nothing stays. */
void wait_view_end(struct wait_view *view);

/* Somebody finds out who has the lock: nothing is shown before. */
void wait_view_hold_back(struct wait_view *view, bool on);

/* The holder of the lock, as the nodes reported it. False: they did not report it, or there was no key. */
bool wait_view_holder(const struct wait_view *view, struct redlock_finding *ret);

/* Notes for how long the holder is known to have it, if the wait was told of the same one. */
void wait_view_date(const struct wait_view *view, struct standing *standing);

/* The members "waited_ms", "place" and "waiting". */
void wait_view_json(const struct wait_view *view, struct json *json);

#endif
