/* SPDX-License-Identifier: MIT */
/* The queue of those who wait, as the scripts that keep it see it: entries in order of arrival. */
#ifndef FAKE_REDIS_QUEUE_H
#define FAKE_REDIS_QUEUE_H

#include "redis_call.h"
#include "redis_entry.h"
#include "scripts.h"

struct line {
	struct call *call;
	enum rl_script script;
	struct buffer text, was;
	char kind;    /* of an entry that is made */
	bool written; /* the script has changed something: it is not stopped any more */
};

struct bytes line_text(const struct line *l);
void line_open(struct line *l, struct call *c, enum rl_script script);
void line_close(struct line *l);
bool line_changed(const struct line *l);

/* Where the entry of a place of one of these kinds stands, from its kind on; NULL: nowhere. */
const char *line_find(const struct line *l, const char *kinds, struct bytes place);

/* Puts other bytes in the place of some. */
void line_replace(struct line *l, size_t from, size_t size, struct bytes by);

/* Until when the first one goes first; or, where it could not be told, has to ask. */
void line_mark(struct line *l, const struct entry *e, struct bytes patience);
void line_doubt(struct line *l, const struct entry *e);

/* How many hear it. -1: it is not permitted. */
int line_wake(const struct line *l, const struct entry *e);

/* Those behind the first one, up to one who waits for an exclusive lock. */
void line_wake_readers(const struct line *l);

/* Drops whoever is not to be waited for, and wakes the first one if it can have the key: it is `free`, or
 * `open` to those who share it. True: that is `place`. */
bool line_tidy(struct line *l, bool free, bool open, struct bytes place, struct bytes patience);

/* Whether those who share a lock may have the key. */
bool queue_is_open(const struct key *key);

/* Returns the place in the line, from 1 on. */
int64_t line_stand(struct line *l, bool mine, struct bytes place);

/* False: it is not there. */
bool line_give_up(struct line *l, struct bytes place);

/* SET or DEL of the queue. NULL: done; else why not. */
const char *line_keep(struct line *l);

/* Before anybody is told: what is told has to be kept, or it would be told for ever. And whoever has written
 * may write more, though there is no memory. NULL: it may be written, if there is one. */
const char *line_renew(struct line *l);

#endif
