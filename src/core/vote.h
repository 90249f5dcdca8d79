/* SPDX-License-Identifier: MIT */
/*
 * The answer of one node to one operation: a code, and the fields that came with it. The signature of the
 * operation (ops/NAME.lua) says which fields an answer has; `told` says which ones this answer had.
 */
#ifndef RL_CORE_VOTE_H
#define RL_CORE_VOTE_H

#include <stdbool.h>
#include <stdint.h>

#include <redlock/redlock.h>

#include "core/slice.h"

/* X(NUMBER, its name in struct rl_vote). Texts come last. */
#define RL_FIELD_NUMBERS(X)                                                                                  \
	X(VERDICT, verdict)                                                                                      \
	X(WAITING, waiting)                                                                                      \
	X(PLACE, place)                                                                                          \
	X(NAME, name)                                                                                            \
	X(SLOT, slot)                                                                                            \
	X(FLAGS, flags)                                                                                          \
	X(OURS, ours)                                                                                            \
	X(SIZE, size)                                                                                            \
	X(PTTL, pttl_ms)                                                                                         \
	X(LEFT, left_ms)                                                                                         \
	X(TIME, time_ms)                                                                                         \
	X(NUMBER, number)
#define RL_FIELD_TEXTS(X)                                                                                    \
	X(TOKEN, token)                                                                                          \
	X(ID, id)                                                                                                \
	X(TYPE, type)                                                                                            \
	X(VALUE, value)                                                                                          \
	X(OFFER, offer)                                                                                          \
	X(WORDS, words)

enum rl_field {
	RL_FIELD_END,
	RL_FIELD_SKIPPED,      /* a number that no client reads */
	RL_FIELD_SKIPPED_TEXT, /* the same: a text */
#define RL_FIELD_ENUM(NAME, name) RL_FIELD_##NAME,
	RL_FIELD_NUMBERS(RL_FIELD_ENUM) RL_FIELD_TEXTS(RL_FIELD_ENUM)
#undef RL_FIELD_ENUM
	    RL_FIELD_COUNT
};
#define RL_TOLD(NAME) (UINT32_C(1) << RL_FIELD_##NAME)

/* Smaller numbers are cut off at the limits of their type. An answer has at most one text of each union; the
 * texts point into the answer: they are valid during the step that takes it. */
struct rl_vote {
	enum redlock_vote_code code;
	uint32_t told;   /* RL_TOLD() bits; a field that was not told is 0 */
	int32_t verdict; /* of the script; to a release, 2 and -1 say that somebody waits */
	int32_t waiting; /* how many wait in the queue; -1: the script did not look */
	int32_t place;   /* our place in the queue, 1: the first; 0: none */
	int32_t name;    /* of several names: the one that is held, 1: the first */
	int32_t slot;    /* the slot that was granted, from 0 on */
	int32_t flags;   /* RL_SET_ flags: what differs between the record and our set */
	int32_t ours;    /* 1: the key has our token */
	int64_t size;    /* of the key's value; of a shared lock, the number of holders */
	int64_t pttl_ms; /* of the key; -1: it has no end, -2: there is no key */
	int64_t left_ms; /* of the quarantine; -1: its end is not known */
	int64_t time_ms; /* of the server */
	int64_t number;  /* the fencing token */
	union {
		struct rl_slice token; /* ours, quoted */
		struct rl_slice id;    /* of the question, quoted */
		struct rl_slice type;  /* of the key, as TYPE has it */
	};
	union {
		struct rl_slice value; /* of the key, its first bytes */
		struct rl_slice offer; /* of the next waiter: its place and terms */
		struct rl_slice words; /* of the record of the node set */
	};
};

static inline bool rl_vote_tells(const struct rl_vote *vote, enum rl_field field)
{
	return (vote->told >> field & 1) != 0;
}

#endif
