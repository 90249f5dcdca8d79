/* SPDX-License-Identifier: MIT */
/*
 * The kinds of locks that clients of the fault tests take, and which cells of the counter each may change:
 * one for each thing that can be locked. There are two: the name "counter", which is the first of its two
 * slots too; and its second slot, or the name "other".
 */
#pragma once

#include <redlock/redlock.h>
#include <stdbool.h>

enum { MOST_CELLS = 2, SLOTS = 2 };

struct cells {
	unsigned count, cell[MOST_CELLS];
};

struct kind {
	const char *name;
	const char *names[2]; /* of the lock; the second one may be NULL */
	struct cells cells;
	unsigned slots; /* 0: none; else the slot is the cell */
	bool shares, setnx;
};

/* NULL: there is none of this name. */
const struct kind *kind_named(const char *name);

/* Fills in what makes the kind, and makes the lock. Returns 0 or a REDLOCK_E_ code. */
int kind_lock(const struct kind *kind, redlock_client *client, struct redlock_lock_options *options,
              redlock_lock **ret_lock);

/* The cells that a lock that is held may change. */
struct cells kind_cells(const struct kind *kind, const redlock_lock *lock);

/* "0", "0,1". Returns `buffer`. */
const char *cells_text(const struct cells *cells, char *buffer, size_t size);
