/* SPDX-License-Identifier: MIT */
/*
 * How long a node has no vote that may have forgotten locks. A node says itself for how long it still is in
 * quarantine, once that has begun. But for one that nobody has met, or whose record is being written, the
 * command has to know what it will be. The rule is the nodes' own: ops/meet.lua; docs/decisions/guard.md
 * says why. A test compares the two.
 */
#ifndef REDLOCK_TOOL_QUARANTINE_H
#define REDLOCK_TOOL_QUARANTINE_H

#include <stdint.h>

/* For the maximum TTL of a set. */
uint64_t quarantine_ms(uint64_t ttl_ms);

#endif
