/* SPDX-License-Identifier: MIT */
/* The kinds of locks: a row each, which says what is its own (policy.h). */
#ifndef RL_CORE_KINDS_H
#define RL_CORE_KINDS_H

#include "core/policy.h"

/* The kind of a lock: a row of the table. */
enum rl_kind {
	RL_KIND_EXCLUSIVE,     /* a fresh token for each attempt */
	RL_KIND_OWN_VALUE,     /* the caller's value: one attempt; extend and release need no acquire before */
	RL_KIND_FENCED,        /* as exclusive, and each grant has a number that is higher than all before */
	RL_KIND_MANY,          /* several names, with one token, on each node all or none */
	RL_KIND_MANY_FENCED,   /* the same, with one number, which is higher than all before of each of them */
	RL_KIND_SETNX,         /* the value is a time, as the old SETNX protocol has it; the token is beside it */
	RL_KIND_SETNX_OWN,     /* the same with the caller's value as that token */
	RL_KIND_NUMBER,        /* as exclusive, and the token reads as a number in the far future */
	RL_KIND_SHARED,        /* any number of these at once, each with a fresh token, and nobody else */
	RL_KIND_SHARED_FENCED, /* as shared, and an upgrade has a number that is higher than all before */
	RL_KIND_SHARED_OWN,    /* as shared, with the caller's value */
	RL_KIND_ALONE,         /* of a shared lock that was upgraded: what it asks until it is shared again */
	RL_KIND_SLOTS,         /* one of k names, whichever is free */
	RL_KIND_SLOTS_OWN,     /* of a holder of such a name: extends, asks for and releases what has its token */
	RL_KIND_COUNT
};

/* By number. */
extern const struct rl_policy rl_kinds[RL_KIND_COUNT];

#endif
