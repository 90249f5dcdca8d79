/* SPDX-License-Identifier: MIT */
/* How many nodes must agree, and what a set of votes decides. */
#ifndef RL_CORE_QUORUM_H
#define RL_CORE_QUORUM_H

/* The smallest quorum that two claimants cannot both have: N/2 + 1 of the configured nodes. */
unsigned rl_quorum_least(unsigned node_count);

/* Votes of one round. yes + no + out + missing = nodes. */
struct rl_count {
	unsigned nodes;
	unsigned quorum;
	unsigned yes;
	unsigned no;
	unsigned out;   /* still without an answer */
	unsigned fatal; /* of those that are missing: they need an operator */
};

enum rl_tally {
	RL_UNDECIDED,
	RL_WON,     /* a quorum said yes */
	RL_REFUSED, /* a quorum answered, and it is not a yes */
	RL_NOQUORUM /* fewer than a quorum gave a definite answer */
};

/* Acquire: yes needs a quorum. A round that can no longer be won stays undecided while it is open
 * whether it is refused or has no quorum, so that the two are never mixed up. */
enum rl_tally rl_quorum_for_claim(struct rl_count count);

/* Extend of a lock that is held: refused when a quorum says that it is not ours. */
enum rl_tally rl_quorum_for_extend(struct rl_count count);

/* Query, and extend without an acquire before: refused when no quorum can have the key any more. */
enum rl_tally rl_quorum_for_check(struct rl_count count);

/* Release: won when a quorum deleted the key, refused when a quorum did not have it. Also won when a quorum
 * has answered and more than nodes - quorum of them deleted it: the silent nodes cannot change that. */
enum rl_tally rl_quorum_for_release(struct rl_count count);

#endif
