/* SPDX-License-Identifier: MIT */
/* Locks that were left to whoever has the token (redlock_lock_leave), and are extended or released by others.
 */
#ifndef SIM_ADOPTION_H
#define SIM_ADOPTION_H

#include <stdbool.h>

struct world;
struct handle;

#define SIM_ADOPTIONS 4

struct adoption {
	bool open;
	unsigned resource;
	char token[64];
};

/* Puts up the token of a lock that is being left. */
void adoption_offer(struct world *w, const struct handle *h);

/* Now and then takes a token that was put up, as the handle's own: false otherwise. */
bool adoption_take(struct world *w, struct handle *h);

#endif
