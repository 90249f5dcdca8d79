/* SPDX-License-Identifier: MIT */
/* The resources that the applications lock, by number. */
#ifndef SIM_RESOURCE_H
#define SIM_RESOURCE_H

#include "keyspace.h"
#include "plan.h"

#define SIM_MAX_RESOURCES 4
#define SIM_MAX_KEY 400

/* The name that the applications use: spaces, NUL, line ends and length are tried too. */
struct bytes resource_name(unsigned resource);

/* The key on the nodes: the plan's prefix and the name. Written into `buffer`. */
struct bytes resource_key(const struct plan *plan, unsigned resource, char buffer[SIM_MAX_KEY]);

#endif
