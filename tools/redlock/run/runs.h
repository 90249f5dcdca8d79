/* SPDX-License-Identifier: MIT */
/*
 * REDLOCK_RUNS: the runs above a command, which each `redlock run` sets for its own, and continues. The
 * nearest one comes first:
 *
 *     TOKEN,KIND,SLOT,PID,START,NAME[,NAME...] TOKEN,KIND,...
 *
 * PID and START are those of its guard, which is an ancestor of all that it can stop. Names have their prefix
 * in front, and %41 for a byte that is no letter or digit nor one of `._-/:@`. Anybody who can set a variable
 * may have written it: it only says which process to look for, and what to ask the nodes.
 */
#ifndef REDLOCK_TOOL_RUN_RUNS_H
#define REDLOCK_TOOL_RUN_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <redlock/redlock.h>

#include "../options.h"

#define RUNS_IS "REDLOCK_RUNS="

enum {
	RUNS_MAX = 65536, /* bytes; half of what Linux takes as one variable */
	RUNS_HEAD_MAX = sizeof RUNS_IS + REDLOCK_MAX_TOKEN + sizeof ",setnx-safe,4294967295"
};

enum runs_kind { RUNS_PLAIN, RUNS_SHARED, RUNS_SETNX, RUNS_SAFE, RUNS_KINDS };

struct runs_entry {
	char token[REDLOCK_MAX_TOKEN + 1];
	enum runs_kind kind;
	unsigned slot; /* 0: the name itself */
	pid_t guard;
	uint64_t birth;    /* of the guard: family_birth() */
	const char *names; /* as they stand there */
	size_t names_size;
	bool nearest;
	bool stops; /* what runs under it: above_find() */
};

/* The kind of lock that a run with these settings holds. */
enum runs_kind runs_kind_of(const struct settings *settings);

/* Where the list begins; "" if there is none. */
const char *runs_begin(void);

/* Reads the next one. False: there is none, or what follows is no list. */
bool runs_next(const char **at, struct runs_entry *ret);

/* Whether the prefix with the name is one of its names. */
bool runs_has(const struct runs_entry *entry, const char *prefix, const char *name);

/* Writes the list that begins with the run whose guard this process is: what is known before the grant, and
 * the runs above of which there is room for, with RUNS_HEAD_MAX bytes in front for the rest. Returns its
 * place in `buffer`, of RUNS_MAX bytes, or NULL: not even the own names fit. */
char *runs_prepare(char *buffer, uint64_t birth, const char *prefix, const char *name,
                   const struct text_list *also);

/* Puts what the grant tells in front of it. Returns the variable. */
char *runs_complete(char *prepared, const char *token, enum runs_kind kind, const char *slot);

#endif
