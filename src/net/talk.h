/* SPDX-License-Identifier: MIT */
/*
 * The requests of one node that need a transaction (proto/transaction.h), because it runs no scripts and has
 * no command of its own for them. They are parked, in order, and served a batch at a time; those that are at
 * the front stay parked until they have their vote, so that a connection that breaks leaves nothing half
 * known.
 *
 * A request with the name of a parked one is parked after it, whatever it is: so a release is executed after
 * its own SET, and before the SET that was asked for after it. SETs of other names go on meanwhile.
 *
 *     rl_talk_ask()                     asks for a request, or parks it
 *     rl_talk_go_on()                   begins the next transaction, when the connection is open
 *     rl_talk_take(), rl_talk_next()    for each reply to a step; then for each vote that it has led to
 *     rl_talk_front_begun()             the connection is broken: for each that is parked
 *     rl_talk_end()                     after the last of them
 *
 * A talk appends to the outbox `asked`, and knows no connection.
 */
#ifndef RL_NET_TALK_H
#define RL_NET_TALK_H

#include "net/outbox.h"
#include "proto/method.h"
#include "proto/transaction.h"

struct rl_talk {
	struct rl_outbox parked;
	struct rl_transaction transaction; /* with the first of them */
	unsigned resolved;                 /* of these, how many have a vote that is to be handed out */
	unsigned handed;
	unsigned tries;                 /* of the first one, that ended with EXEC nil */
	enum redlock_vote_code refused; /* the vote of those that are not in the transaction */
};

struct rl_talk_result {
	struct rl_entry entry;
	struct rl_vote vote;
	const char *error; /* what the server said, until the next call; NULL: no error */
};

enum rl_talk_news {
	RL_TALK_WAITS, /* there are more replies to come; there is no result at present */
	RL_TALK_TAKEN, /* that was the last reply to the step; here is a result */
	RL_TALK_BROKEN /* the connection is of no use any more: after rl_talk_take(), `refused` and
	                  transaction.error say why, else there is no memory */
};

void rl_talk_free(struct rl_talk *talk);

/* Asks for what an entry stands for, in this form, after all that was asked before. False: out of memory. */
bool rl_talk_ask(struct rl_talk *talk, struct rl_outbox *asked, const struct rl_entry *entry,
                 const struct rl_request *request, enum rl_form form);

/* Parks a request. False: out of memory. */
bool rl_talk_park(struct rl_talk *talk, const struct rl_entry *entry, const struct rl_request *request,
                  struct rl_slice bytes);

/* Whether a request with this name would overtake a parked one. Names with one hash are taken for the same
 * one: that costs time only. */
bool rl_talk_is_parked(const struct rl_talk *talk, struct rl_slice name);

/* Whether the two steps of a transaction are under way: what a WATCH has seen counts for one user only. */
static inline bool rl_talk_is_begun(const struct rl_talk *talk)
{
	return talk->transaction.step != RL_STEP_NONE;
}

/* Whether something is parked whose time has come. */
static inline bool rl_talk_may_go_on(const struct rl_talk *talk)
{
	return talk->parked.count > 0 && talk->resolved == 0 && !rl_talk_is_begun(talk);
}

/* Begins the next transaction, if it is time. False: out of memory. */
bool rl_talk_go_on(struct rl_talk *talk, const struct rl_methods *methods, struct rl_outbox *asked);

/* Takes a reply to a step. */
enum rl_talk_news rl_talk_take(struct rl_talk *talk, struct rl_methods *methods, struct rl_outbox *asked,
                               const struct rl_reply *reply);

/* Pulls what a transaction has led to. */
enum rl_talk_news rl_talk_next(struct rl_talk *talk, const struct rl_methods *methods,
                               struct rl_outbox *asked, struct rl_talk_result *ret_result);

/* The connection is broken: whether the front of `parked`, which its owner pops then, may have been executed.
 * A request that only waited, or whose key was only read, was not executed. */
bool rl_talk_front_begun(struct rl_talk *talk);

/* Nothing is parked any more. */
void rl_talk_end(struct rl_talk *talk);

#endif
