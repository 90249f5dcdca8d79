/* SPDX-License-Identifier: MIT */
/* The queue of those who wait, while a script works on it: redis_queue.c has the steps that scripts share. */
#ifndef FAKE_REDIS_LINE_H
#define FAKE_REDIS_LINE_H

#include "redis_call.h"
#include "scripts.h"

struct line {
	struct call *call;
	enum rl_script script;
	struct buffer text, was;
	bool written; /* the script has changed something: it is not stopped any more */
};

/* Of a call with the queue behind the name, and the offers behind that. */
void line_open(struct line *l, struct call *c, enum rl_script script);
void line_close(struct line *l);

struct bytes line_text(const struct line *l);
bool line_has_changed(const struct line *l);

/* Where the entry of a place stands, from its kind on; NULL: nowhere. */
const char *line_stands_at(const struct line *l, struct bytes place);

/* Puts other bytes in the place of some. */
void line_replace(struct line *l, size_t from, size_t size, struct bytes by);

/* Before anybody is told: what is told has to be kept, or it would be told for ever. And whoever has written
 * may write more, though there is no memory. NULL: it may be written, if there is one. */
const char *line_renew(struct line *l);

/* Drops whoever is not to be waited for, and wakes the first one if the key is free. True: that is `place`.
 */
bool line_tidy(struct line *l, bool free, struct bytes place, struct bytes patience);

/* SET or DEL of the queue. NULL: done; else why not. */
const char *line_keep(struct line *l);

#endif
