/* SPDX-License-Identifier: MIT */
/*
 * The unanswered requests of one node, in order: the bytes of every request, sent or not, and an entry for
 * each. Replies come in the same order, so the front entry is the one a reply belongs to. Bytes are kept
 * until the answer, because a broken connection must know which requests it leaves unanswered.
 */
#ifndef RL_NET_OUTBOX_H
#define RL_NET_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/request.h"

/* Commands that open a connection; they are answered to the node itself. */
enum rl_setup {
	RL_SETUP_NONE,
	RL_SETUP_AUTH,
	RL_SETUP_SELECT,
	RL_SETUP_ID,
	RL_SETUP_ROLE,
	RL_SETUP_INFO,
	RL_SETUP_PROBE,
	RL_SETUP_KILL,
	RL_SETUP_LOOK,
	RL_SETUP_MEET,
	RL_SETUP_SUBSCRIBE,
	RL_SETUP_UNSUBSCRIBE,
	RL_SETUP_MASTER,
	RL_SETUP_ASKING /* before a request: the only one that is no opening command */
};

struct rl_entry {
	struct rl_tag tag;
	uint32_t size; /* bytes of the request */
	uint8_t operation;
	uint8_t setup;
	uint8_t form; /* enum rl_form, of the bytes */
	uint8_t step; /* enum rl_step: one of a transaction, with several replies, rather than a request */
	uint8_t
	    refused;    /* enum redlock_vote_code: of a request without bytes, which is not sent; PENDING: none */
	bool owed;      /* a release whose key may exist: it must reach the node */
	bool fenced;    /* as of its request */
	bool timed;     /* the same */
	bool own_value; /* as of its request: not to be asked again after a later SET of its name */
	bool goes_on;   /* a release of a random token that its attempt goes on with */
	bool given_up;  /* a SET of an own value that nobody wants any more: to be released if it is YES */
	bool set_parked;
	uint16_t wait_ms; /* as of its request; then WAIT for so many replicas comes after it. 0: it does not */
	uint8_t replicas;
	uint8_t hops;        /* as of its request; a late release: so often it was asked */
	uint32_t name_hash;  /* of parked requests */
	uint32_t token_hash; /* of these, and of what goes_on */
	/* A release that was queued before its own SET was sent: the number of that in this outbox, or among the
	 * parked requests if `set_parked`; else 0. */
	uint64_t set_number;
};

struct rl_outbox {
	char *bytes;
	size_t head; /* first byte of the front entry */
	size_t sent; /* first byte that was not sent */
	size_t tail;
	size_t capacity;
	struct rl_entry *ring;
	unsigned first;
	unsigned count;
	unsigned ring_capacity; /* a power of two */
	unsigned secrets;       /* entries whose bytes are wiped when they go: AUTH */
	uint64_t popped;        /* entries are numbered from 1, in order: the front has the number popped + 1 */
};

/* Appends a request. False: out of memory, nothing appended. */
bool rl_outbox_push(struct rl_outbox *outbox, const struct rl_entry *entry, struct rl_slice bytes);

/* As rl_outbox_push(), for a request: WAIT follows it if it waits for replicas. */
bool rl_outbox_ask(struct rl_outbox *outbox, const struct rl_entry *entry, struct rl_slice bytes);

/* The front is answered, and stays until the command after it is: the next reply is taken for one to it. */
void rl_outbox_hold_front(struct rl_outbox *outbox);

/* As rl_outbox_push(), for an AUTH, whose bytes are wiped when it goes. */
bool rl_outbox_push_secret(struct rl_outbox *outbox, const struct rl_entry *entry, struct rl_slice bytes);

/* The oldest entry, NULL if there is none, and its bytes. */
static inline const struct rl_entry *rl_outbox_front(const struct rl_outbox *o)
{
	return o->count > 0 ? &o->ring[o->first] : NULL;
}

static inline struct rl_slice rl_outbox_front_bytes(const struct rl_outbox *o)
{
	return (struct rl_slice){o->bytes + o->head, o->ring[o->first].size};
}

/* No byte of it was sent. */
static inline bool rl_outbox_front_unsent(const struct rl_outbox *o)
{
	return o->sent <= o->head;
}

/* All of them were. */
static inline bool rl_outbox_front_sent(const struct rl_outbox *o)
{
	return o->sent >= o->head + o->ring[o->first].size;
}

/* The oldest entry, if a reply may be its answer: nobody can know the answer to half a request. Its other
 * half would be dropped with it, and the server would read the next requests as a part of it. A step of a
 * transaction has several commands, which are answered one by one. NULL: a reply would answer nothing. */
const struct rl_entry *rl_outbox_answerable(const struct rl_outbox *outbox);

void rl_outbox_pop(struct rl_outbox *outbox);

/* The entry number `index` from the front, which must be there, and its bytes. */
const struct rl_entry *rl_outbox_at(const struct rl_outbox *outbox, unsigned index);
struct rl_slice rl_outbox_bytes_at(const struct rl_outbox *outbox, unsigned index);

/* The request that an entry stands for; its parts point into `bytes`. */
struct rl_request rl_outbox_request(const struct rl_entry *entry, struct rl_slice bytes);

/* The number of the last entry that claims for the handle of `tag`; 0: there is none. */
uint64_t rl_outbox_find_claim(const struct rl_outbox *outbox, struct rl_tag tag);

/* Whether a release that this handle owes is in the outbox. */
bool rl_outbox_owes(const struct rl_outbox *outbox, struct rl_tag tag);

/* Marks that entry as given up. False: there is none. */
bool rl_outbox_give_up(struct rl_outbox *outbox, struct rl_tag tag);

/* Whether no byte of the entry with this number was sent. The entry must be in the outbox. */
bool rl_outbox_is_unsent(const struct rl_outbox *outbox, uint64_t number);

/* The bytes that are not sent yet. rl_outbox_sent() marks the first `size` bytes of them as sent. */
struct rl_slice rl_outbox_unsent(const struct rl_outbox *outbox);
void rl_outbox_sent(struct rl_outbox *outbox, size_t size);

/* Bytes kept, sent or not. */
size_t rl_outbox_size(const struct rl_outbox *outbox);

/* Forgets all entries, keeps the memory. */
void rl_outbox_clear(struct rl_outbox *outbox);
void rl_outbox_free(struct rl_outbox *outbox);

#endif
