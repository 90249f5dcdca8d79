/* SPDX-License-Identifier: MIT */
/* The record of a guarded node set, as `redlock init` writes it, for tests of what clients do with it. */
#pragma once

#include "servers.h"

/* To the first `count` servers, which are a set of their own. `floor`: of the fencing counters; NULL: they
 * are not known. */
void record_write(const struct servers *servers, unsigned count, unsigned max_ttl_ms, const char *floor);

/* To the server of a set of one, which the set knows as `member`. */
void record_write_alone(const struct server *server, const char *member, unsigned max_ttl_ms);
