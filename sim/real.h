/* SPDX-License-Identifier: MIT */
/*
 * The record of a run on real servers: real.c writes it, replay.c reads it. Both are of one build, so the
 * structs of the library stand in it as they are in memory.
 */
#ifndef SIM_REAL_H
#define SIM_REAL_H

#include <stdint.h>

#include "client.h"

enum { REAL_NODES = 3, REAL_CLIENTS = 5, REAL_WORDS = 80, REAL_BLOCK = 768, REAL_TEXT = 24000 };

enum real_kind {
	REAL_STEP,    /* of a core, and the token that was made for it */
	REAL_COMMAND, /* that a node ran, as MONITOR tells it */
	REAL_RUN_ID   /* of a node */
};

/* A handle: its memory, and what it points to. */
struct real_lock {
	size_t size;
	_Alignas(redlock_lock) char block[REAL_BLOCK];
	struct rl_rules rules;
	bool has_numbers;
	uint64_t numbers[sizeof(struct rl_numbers) / sizeof(uint64_t) + REAL_NODES];
};

struct real_step {
	uint64_t boot_ns; /* the client's clock when it was noted */
	struct rl_event event;
	struct rl_effects effects;
	struct real_lock before, after, ready;
};

/* The beginning of a record. A step, a lock or words come after it. */
struct real_head {
	uint64_t at_ns; /* of CLOCK_REALTIME */
	enum real_kind kind;
	unsigned who;  /* client, or node */
	uint32_t size; /* of what comes after it */
};

#endif
