/* SPDX-License-Identifier: MIT */
/* One entry of a queue, as the patterns of the scripts read it. */
#ifndef FAKE_REDIS_ENTRY_H
#define FAKE_REDIS_ENTRY_H

#include "redis_call.h"

struct entry {
	bool known;  /* of this version and kind */
	bool reader; /* it waits for a shared lock */
	bool placed; /* it says whose it is */
	struct bytes client, slot;
	double until;
	bool woken;
	bool doubted; /* nobody could tell it: it has that long to ask by itself */
	size_t size;  /* with what ends it */
};

/* The one that a line begins with. */
struct entry entry_first(struct bytes line);

/* How many of the bytes from there on are of these characters. */
size_t entry_run(struct bytes text, size_t from, const char *characters);

#endif
