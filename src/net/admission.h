/* SPDX-License-Identifier: MIT */
/*
 * Whether a node of a guarded set may vote, as its record says (set.h). It is asked while the connection
 * opens (MEET), and if the set may be guarded, its requests wait for the answer; again when a script finds
 * that the record has changed, and when a quarantine should be over. Requests that need a vote are then sent
 * in the guarded forms, or nothing is sent and the reason is the vote.
 *
 *     rl_admission_begin()     after rl_handshake_begin()
 *     rl_admission_meet()      the answer to that
 *     rl_admission_settle()    something was learnt of the set, here or at another node
 *     rl_admission_vote()      for each request
 *     rl_admission_hear()      for each answer
 *     rl_admission_next()      votes of requests that have waited in vain
 *
 * An address may lead to another server while the one that it led to before runs on, connected as it is. So
 * no request whose answer counts is sent on a connection that was begun a quarter of the longest TTL ago or
 * longer (but at least a second), and the quarantine of a newcomer is longer by that
 * (docs/decisions/guard.md).
 *
 *     rl_admission_must_leave()    for each request: it may have to wait for a new connection,
 *     rl_admission_leave()         and all others with it,
 *     rl_admission_renews()        which is made when nothing is under way on the old one
 *
 * Part of the node: node.c calls it, and it calls flush.c. Without a guard a node has none of it.
 */
#ifndef RL_NET_ADMISSION_H
#define RL_NET_ADMISSION_H

#include "net/inside.h"
#include "net/set.h"

struct rl_admission {
	struct rl_set *set;
	struct rl_set_opinion opinion;
	bool holds;  /* operations wait: nothing is known yet on this connection, and the set may be guarded */
	bool passed; /* it was admitted on this connection: answers in guarded forms may be under way */
	bool asking; /* MEET or ADMIT is out */
	bool late;   /* the connection before was too old when it was open */
	bool leaves; /* operations wait for a new connection, which is made when nothing is under way on this one
	              */
	char id[RL_SET_ID + 1];
	bool wanted; /* somebody has asked for a vote in vain since */
	uint64_t asked_ns;
	uint64_t over_ns;  /* when the quarantine ends, as far as is known */
	bool timing;       /* it is asked for its time, */
	uint64_t timed_ns; /* since then, or was last */
};

/* Guards a node. False: out of memory. */
bool rl_admission_new(struct rl_node *node, struct rl_set *set);

/* Puts MEET after the opening commands. False: out of memory. */
bool rl_admission_begin(struct rl_node *node, uint64_t now_ns);
void rl_admission_meet(struct rl_node *node, const struct rl_reply *reply, uint64_t now_ns);

void rl_admission_settle(struct rl_node *node, uint64_t now_ns);

/* Operations must wait for the record if this request is for guarded nodes alone, and nothing has left yet.
 */
void rl_admission_hold(struct rl_node *node, const struct rl_request *request);

/* PENDING: it may be asked. */
enum redlock_vote_code rl_admission_vote(struct rl_node *node, const struct rl_request *request,
                                         uint64_t now_ns);

/*
 * A plain set must not wait for its records: requests leave together with the question for the record, in the
 * plain form. Their answers come after the record. They count if the set is plain; if it is guarded they are
 * void, and the node is asked again in the guarded form.
 */
enum rl_admission_weight {
	RL_ADMISSION_COUNTS,
	RL_ADMISSION_WAITS, /* too few nodes have told of their records */
	RL_ADMISSION_VOID
};
enum rl_admission_weight rl_admission_weigh(const struct rl_node *node, const struct rl_entry *entry,
                                            const struct rl_reply *reply, struct rl_vote *ret_vote);

/* A yes to the front entry, in a guarded form: the generation of the configuration that it was asked with. 0:
 * the client goes by another one since, so it is no vote. */
uint8_t rl_admission_generation(const struct rl_node *node, const struct rl_entry *entry);

/* The vote of the front entry, whose answer is void: PENDING, or the vote of a node that is not to be asked
 * again. */
struct rl_vote rl_admission_vote_anew(struct rl_node *node, const struct rl_entry *entry, uint64_t now_ns);

/* The vote that a yes becomes which was asked for in several steps: only a user that may run no scripts asks
 * so. */
enum redlock_vote_code rl_admission_of_talk(const struct rl_node *node);

/* Asks a node of a plain set whether it still has no record. The answer to what is asked from now on waits
 * for that. */
void rl_admission_look(struct rl_node *node, uint64_t now_ns);

/* Whether this request must go by a new connection; and operations wait for that from now on. False: not yet
 * possible, as half a request is under way. */
bool rl_admission_must_leave(const struct rl_node *node, const struct rl_request *request, uint64_t now_ns);
bool rl_admission_leave(struct rl_node *node);

/* Time has passed that our clock did not show: connections are older by that. */
void rl_admission_leap(struct rl_node *node, uint64_t leap_ns);

/* Ends the old connection, if a new one is waited for and nothing is under way. True: that is to be made. */
bool rl_admission_renews(struct rl_node *node, uint64_t now_ns);

/* Whether it is to tell its time with this answer, which costs it some; and that it has been asked. */
bool rl_admission_times(const struct rl_node *node, const struct rl_request *request, uint64_t now_ns);
void rl_admission_timed(struct rl_node *node, uint64_t now_ns);

/* How long its quarantine lasts at most, as far as is known. */
uint64_t rl_admission_left_ms(const struct rl_node *node, uint64_t now_ns);

/* Whether the server's clock went wrong, so that no answer of it is a vote; and the warning about it. */
bool rl_admission_is_off(const struct rl_node *node);
void rl_admission_warn(struct rl_node *node);

/* Takes what the answer to the front entry says of the node, and makes it the core's. */
void rl_admission_hear(struct rl_node *node, const struct rl_entry *entry, struct rl_vote *vote,
                       uint64_t now_ns);

bool rl_admission_next(struct rl_node *node, struct rl_answer *ret_answer, uint64_t now_ns);

/* Asks for its record again, unless that is under way. */
void rl_admission_ask(struct rl_node *node, uint64_t now_ns);

/* Ends its quarantine, whose id it has told. `floor`: digits of its fencing counter; "": that is not known.
 */
void rl_admission_admit(struct rl_node *node, const char *floor, uint64_t now_ns);

/* When the quarantine should be over, if somebody wants to know. */
uint64_t rl_admission_deadline(const struct rl_node *node);
void rl_admission_tick(struct rl_node *node, uint64_t now_ns);

#endif
