/* SPDX-License-Identifier: MIT */
/*
 * A guarded node set, as a client knows it: who the nodes are by its own URLs, what the record of each node
 * says (`redlock:set`, proto/ops.c), and which configuration these records agree on. From these it decides
 * whether a node may vote, and if not, why. docs/decisions/guard.md.
 *
 *     rl_set_new()       one for each client, except with REDLOCK_GUARD_OFF; its nodes borrow it
 *     rl_set_learn()     for each answer to MEET
 *     rl_set_judge()     whether a node may vote
 *
 * Records are in the texts of answers: words, `-` for none.
 */
#ifndef RL_NET_SET_H
#define RL_NET_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "core/offset.h"
#include "core/vote.h"
#include "net/url.h"
#include "proto/ops.h"

enum { RL_SET_ID = 16, RL_SET_RUN_ID = 40, RL_SET_PASS = RL_SET_RUN_ID + 1 + RL_SET_ID };

/* First number of an answer. */
enum rl_set_verdict {
	RL_SET_BARE,     /* there is no record */
	RL_SET_ADMITTED, /* and no quarantine is due */
	RL_SET_PLAIN,    /* the set was taken back */
	RL_SET_QUARANTINE,
	RL_SET_OVER,
	RL_SET_NEWER, /* a record that only a later version can read */
	RL_SET_REMOVED,
	RL_SET_SILENT /* of our own: there was no such answer */
};

/* Bits of its fourth number. */
enum {
	RL_SET_MEMBERS = 1, /* are ours */
	RL_SET_QUORUM = 2,
	RL_SET_OLD_MEMBERS = 4, /* those of the configuration before */
	RL_SET_OLD_QUORUM = 8,
	RL_SET_REPLICAS = 16, /* it has some, or is one */
	RL_SET_PROMOTED = 32, /* or was, or had some */
	RL_SET_NAMELESS = 64, /* its run_id is not told */
	RL_SET_DONE = 128     /* the change of members that made its configuration is finished */
};

/* The record of one node. */
struct rl_set_record {
	bool met; /* on this connection */
	enum rl_set_verdict verdict;
	enum redlock_vote_code failure; /* SILENT: why */
	unsigned flags;
	uint64_t left_ms; /* QUARANTINE; ADMITTED: of the time in which no quarantine ends (ops/meet.lua) */
	char run_id[RL_SET_RUN_ID + 1];
	char set[RL_SET_ID + 1];
	char config[RL_SET_ID + 1];
	char old_config[RL_SET_ID + 1];
	uint64_t step, ttl_ms;
	char pass[RL_SET_PASS + 1], old_pass[RL_SET_PASS + 1];
	uint64_t floor, most; /* of the fencing counters; both RL_SET_UNKNOWN, or none */
	char quarantine[RL_SET_ID + 1];
	bool misnamed;    /* it is another member */
	uint64_t reading; /* numbers all that were read */
};
#define RL_SET_UNKNOWN UINT64_MAX

struct rl_set {
	bool require;      /* else a set without records is a plain one, */
	bool told_guarded; /* unless the caller has seen that it is guarded: `id` is what it has seen */
	bool hears_all;    /* a lock needs the guard in any case: as patient as with `require` */
	bool is_plain;     /* a quorum has no record: nodes are asked without a thought of the guard */
	unsigned count, quorum;
	char quorum_text[4];
	char *members; /* canonical: the addresses of all, sorted */
	char *addresses[REDLOCK_MAX_NODES];
	struct rl_set_record records[REDLOCK_MAX_NODES];
	bool changed;   /* something was learnt */
	bool was_plain; /* nodes without a record were asked plainly: votes may have been counted without a guard;
	                 */
	bool noticed;   /* and now it is seen to be guarded, which no handle was told */
	bool at_rest;   /* it is plain, and nothing is under way: there is nothing to do in a turn of the loop */

	/* Nodes that were asked a first time, and those of them that have neither answered nor failed: one of
	 * them may be the only node that still has a record. Where the guard is required, the client waits for
	 * these nearly as long as its most impatient handle waits for a quorum; else only about as long as the
	 * quorum took that has no record, and no longer than an attempt lasts. */
	uint32_t begun, awaited;
	uint64_t patience_ns, plain_patience_ns, begun_ns;
	bool quorum_heard;

	struct rl_offset offsets[REDLOCK_MAX_NODES]; /* of their clocks */
	struct rl_offset_rules clocks;
	int64_t wall_ns; /* how far ours was ahead of CLOCK_BOOTTIME when one was read last */
	uint32_t warned; /* bit per node: what was read of it is to be told; */
	uint32_t apart;  /* it differs from others all the time, which was told */
	bool doubts;     /* all are to be read once more */

	/* The configuration that most nodes accept; "" as long as no record is ours. */
	char id[RL_SET_ID + 1];
	char config[RL_SET_ID + 1];
	uint64_t step, ttl_ms;
	bool done;               /* a record says that the change which made it is finished: so it stays */
	uint64_t latest;         /* step of the newest that was seen, */
	uint64_t latest_reading; /* by this reading first */
	uint64_t readings;
	uint64_t unseen_until_ns; /* a lock of a client that has not seen the set may be there */
	uint8_t generation; /* of `config`: another number whenever that changes, never 0 once there is one */
};

/* Why a node without a record does not vote, if a guard or a fencing number is asked for. */
#define RL_SET_NO_RECORD "it has no record: `redlock init` writes it"

struct rl_set_opinion {
	enum {
		RL_SET_HOLD,   /* not known yet */
		RL_SET_ASK,    /* plainly: there is no guard */
		RL_SET_PASSES, /* with `pass` */
		RL_SET_REFUSE
	} kind;
	char pass[RL_SET_PASS + 1];
	enum redlock_vote_code vote; /* REFUSE */
	const char *why;             /* a sentence; NULL: as the vote */
	bool has_no_end;             /* REFUSE: the quarantine begins when another node tells its record */
	const char *objection;       /* PASSES: why a lock with a fencing token does not count its vote; NULL */
};

/* The set of these nodes, plain until a record is seen, unless `require` says otherwise. NULL: out of memory.
 */
struct rl_set *rl_set_new(const struct rl_endpoint *const *endpoints, unsigned count, unsigned quorum,
                          bool require);
void rl_set_free(struct rl_set *set);

/* A connection to node `index` begins: of that nothing is known. */
void rl_set_forget(struct rl_set *set, unsigned index);

/* All nodes of a plain set are asked anew: it is not known to be plain any more. */
void rl_set_doubt(struct rl_set *set);

/* rl_set_await(): a node is asked, maybe for the first time: it may be the only one that has a record.
 * rl_set_limit_wait(): a handle waits so long for a quorum (0: one attempt, of the node timeout).
 * rl_set_give_up(): these nodes are not awaited any more. */
void rl_set_await(struct rl_set *set, unsigned index, uint64_t now_ns);
void rl_set_limit_wait(struct rl_set *set, uint64_t quorum_wait_ns, uint64_t node_timeout_ns);
void rl_set_give_up(struct rl_set *set, uint32_t nodes);

/* Takes from the caller that the set is guarded, and its id ("": unknown). */
void rl_set_assume_guarded(struct rl_set *set, const char *id);

/* Whether a record of the set was ever seen, here or by the caller, and not taken back since. */
bool rl_set_is_guarded(const struct rl_set *set);

/* The records were judged, all of what was learnt: how long those that are missing are waited for. */
void rl_set_settle(struct rl_set *set, uint64_t now_ns);

/* Records that were seen; nodes that say that there is none or that it was taken back; nodes whose record
 * this user may not read. */
struct rl_set_count {
	unsigned records, without, barred;
};
struct rl_set_count rl_set_count(const struct rl_set *set);

/* When those that are awaited are to be given up; UINT64_MAX: nobody waits. */
uint64_t rl_set_deadline(const struct rl_set *set);

/* The answer to MEET of a node that has no record. */
struct rl_vote rl_set_bare_vote(void);

/* The node has answered: `vote` is the answer to MEET, or says why there is no answer. */
void rl_set_learn(struct rl_set *set, unsigned index, const struct rl_vote *vote);

/* The words of MEET or ADMIT to node `index`, and the room for those that are numbers. */
struct rl_set_words {
	struct rl_slice words[RL_RECORD_WORDS];
	char ttl[24], step[24];
};

/* Fills in all words but RL_RECORD_ID and RL_RECORD_FLOOR. They point into `set` and `ret`. */
void rl_set_fill(const struct rl_set *set, unsigned index, unsigned operation, uint64_t now_ns,
                 struct rl_set_words *ret);

void rl_set_judge(const struct rl_set *set, unsigned index, struct rl_set_opinion *ret);

#endif
