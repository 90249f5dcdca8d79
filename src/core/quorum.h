/* SPDX-License-Identifier: MIT */
/* How many nodes must agree, and what a set of votes decides. Frama-C proves the contracts, which begin with
 * an at sign (spec/proof/contracts). */
#ifndef RL_CORE_QUORUM_H
#define RL_CORE_QUORUM_H

/* The smallest quorum that two claimants cannot both have: N/2 + 1 of the configured nodes. */
/*@ requires node_count <= 31;
    assigns \nothing;
    ensures node_count < 2 * \result;
    ensures node_count >= 1 ==> 1 <= \result <= node_count; */
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

/*@ predicate is_count(struct rl_count c) = 1 <= c.nodes <= 31 && c.nodes < 2 * c.quorum &&
      c.quorum <= c.nodes && c.yes + c.no + c.out <= c.nodes; */

enum rl_tally {
	RL_UNDECIDED,
	RL_WON,     /* a quorum said yes */
	RL_REFUSED, /* a quorum answered, and it is not a yes */
	RL_NOQUORUM /* fewer than a quorum gave a definite answer */
};

/* Acquire: yes needs a quorum. A round that can no longer be won stays undecided while it is open
 * whether it is refused or has no quorum, so that the two are never mixed up. */
/*@ requires is_count(count);
    assigns \nothing;
    ensures \result == RL_WON <==> count.yes >= count.quorum;
    ensures \result == RL_REFUSED ==> count.yes + count.out < count.quorum <= count.yes + count.no;
    ensures \result == RL_NOQUORUM ==> count.yes + count.no + count.out < count.quorum;
    ensures count.out == 0 ==> \result != RL_UNDECIDED; */
enum rl_tally rl_quorum_for_claim(struct rl_count count);

/* Extend of a lock that is held: refused when a quorum says that it is not ours. */
/*@ requires is_count(count);
    assigns \nothing;
    ensures \result == RL_WON <==> count.yes >= count.quorum;
    ensures \result == RL_REFUSED ==> count.no >= count.quorum;
    ensures count.out == 0 ==> \result != RL_UNDECIDED; */
enum rl_tally rl_quorum_for_extend(struct rl_count count);

/* Query, and extend without an acquire before: refused when no quorum can have the key any more. */
/*@ requires is_count(count);
    assigns \nothing;
    ensures \result == RL_WON <==> count.yes >= count.quorum;
    ensures \result == RL_REFUSED ==> count.nodes - count.no < count.quorum;
    ensures count.out == 0 ==> \result != RL_UNDECIDED; */
enum rl_tally rl_quorum_for_check(struct rl_count count);

/* Release: won when a quorum deleted the key, refused when a quorum did not have it. Also won when a quorum
 * has answered and more than nodes - quorum of them deleted it: the silent nodes cannot change that. */
/*@ requires is_count(count);
    assigns \nothing;
    ensures \result == RL_WON ==> count.nodes - count.yes < count.quorum <= count.yes + count.no;
    ensures \result == RL_REFUSED <==> count.no >= count.quorum;
    ensures count.out == 0 ==> \result != RL_UNDECIDED; */
enum rl_tally rl_quorum_for_release(struct rl_count count);

#endif
