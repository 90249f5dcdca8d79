/* SPDX-License-Identifier: MIT */
/* Whose key is it? Recognises what redlock and other clients write under the name of a lock. */
#ifndef REDLOCK_TOOL_HOLDER_H
#define REDLOCK_TOOL_HOLDER_H

#include <stdbool.h>
#include <stddef.h>

#include <redlock/redlock.h>

enum holder_kind {
	HOLDER_UNKNOWN,  /* the node did not answer */
	HOLDER_NONE,     /* no key */
	HOLDER_TOKEN,    /* 40 hex digits, maybe |owner, or a number in the far future: this library */
	HOLDER_TIME,     /* a number that looks like a unix time: SETNX <unix time> clients */
	HOLDER_REDISSON, /* a hash of client:thread to hold count */
	HOLDER_SHARED,   /* any number of these, which share it: this library */
	HOLDER_VALUE,    /* any other string: another client's token */
	HOLDER_TYPE      /* a key of another type */
};

enum holder_kind holder_kind_of(const struct redlock_finding *finding);

/* The text of holder_text() for HOLDER_VALUE. */
#define HOLDER_TEXT_OTHER "'%s' of another client"

/* "token", "setnx-time", ...: for programs. */
const char *holder_kind_name(enum holder_kind kind);

/* A sentence part for people: "a1b2... (owner host:17)", "Redisson client ... thread 1". Returns `buffer`. */
const char *holder_text(const struct redlock_finding *finding, char *buffer, size_t size);

/* The bytes after the first `|` of a redlock token, NULL when there is no label. */
const char *holder_owner(const struct redlock_finding *finding, size_t *ret_length);

/* The owner label alone where there is one, else as holder_text(). Returns `buffer`. */
const char *holder_who(const struct redlock_finding *finding, char *buffer, size_t size);

/* Whether a token looks like those that this library makes, which are never used again. */
bool holder_made_here(const char *token, size_t length);

/* How many other names were acquired with this token by `redlock acquire --also`, as its label says; 0: none,
 * or it does not say. A label of the user's own may end like that, too. */
unsigned holder_more_names(const char *token, size_t length);

/* A hash of the key's value, which changes with the holder. */
uint64_t holder_identity(const struct redlock_finding *finding);

/* The seconds until a key of the old SETNX protocol ends by the time in its value, negative when it has
 * ended; 0 for other keys. */
double holder_time_left(const struct redlock_finding *finding);

/* True when two nodes have the same thing under the name. */
bool holder_same(const struct redlock_finding *a, const struct redlock_finding *b);

enum { HOLDER_TEXT_MAX = 640 };

#endif
