/* SPDX-License-Identifier: MIT */
/* The settings of redlock.pml, by -DNAME: its size, how far the world may go, and which rule of the algorithm
 * is left out. There are no steps in here, so that the lines that the search must come to are all of one
 * file. */

/* ---- Size ---------------------------------------------------------------------------------------------- */

#ifndef NODES
#define NODES 3
#endif
#ifndef CLIENTS
#define CLIENTS 2
#endif
#ifndef QUORUM
#define QUORUM (NODES / 2 + 1)
#endif
#ifndef TTL
#define TTL 3			/* what SET and EXTEND ask a node for, in ticks */
#endif
#ifndef DRIFT
#define DRIFT 0			/* what the client subtracts from it */
#endif
#define VALIDITY (TTL - DRIFT)

/* ---- Assumptions: how far the world may go ----------------------------------------------------------------
 *
 * CLIENT_SLOW=n   in any n ticks, a client's clock may miss one
 * NODE_FAST=n     in any n ticks, a node's clock may jump ahead once, by NODE_STEP ticks
 * NODE_SLOW       a node's clock may go back or stand still as often as it likes
 * RESTART         nodes restart and have their data
 * AMNESIA         nodes restart without data and then stay away for QUARANTINE ticks
 * SETS_ARE_IN     no SET is on its way any more when a lock is granted
 */

#ifndef CLIENT_SLOW
#define CLIENT_SLOW 0
#endif
#ifndef NODE_STEP
#define NODE_STEP 1
#endif
#ifndef QUARANTINE
#define QUARANTINE TTL
#endif

/* ---- The algorithm, and what it becomes when one of its rules is left out ------------------------------ */

#ifdef VALID_FROM_END		/* instead of: counted from before the first request was sent */
#define REMAINING(c) VALIDITY
#else
#define REMAINING(c) (VALIDITY - age[c])
#endif

#ifdef ACTS_LATE		/* the process goes on until it notices */
#define ACTS(c) (phase[c] == HELD || phase[c] == LOST)
#else
#define ACTS(c) (phase[c] == HELD)
#endif

#ifdef STALE_VOTES		/* replies carry no number: those of the round before count too */
#define NO_VOTES(c) skip
#else
#define NO_VOTES(c) yes[c] = 0
#endif

#ifdef SET_OVERWRITES		/* SET without NX */
#define SET_SUCCEEDS(n) true
#else
#define SET_SUCCEEDS(n) (owner[n] == NOBODY)
#endif

#if defined(RELEASE_ANY_KEY)	/* DEL without a look at the value */
#define RELEASE_DELETES(c, n) (released[c] && owner[n] != NOBODY)
#elif defined(TOKEN_REUSED)	/* an old release finds the token of the new attempt */
#define RELEASE_DELETES(c, n) (released[c] && owner[n] == c)
#elif defined(INSISTS_AFTER_RELEASE)	/* and an old release finds it */
#define RELEASE_DELETES(c, n) (owner[n] == OVER || (released[c] && owner[n] == c))
#else
#define RELEASE_DELETES(c, n) (owner[n] == OVER)
#endif

#ifdef INSISTS_AFTER_RELEASE	/* an attempt gives back, and goes on with the same token */
#define INSIST
#define GO_ON(c) \
	released[c] = true; \
	NO_VOTES(c); \
	for (k : 0 .. NODES - 1) { \
		refused[k] = refused[k] | BIT(c) \
	} \
	k = 0; \
	printf("client %d: release to all nodes, and on with the token\n", c)
#endif

#ifdef EXTEND_COUNTS_ANY_KEY	/* PEXPIRE is answered, also for another's key */
#define EXTEND_COUNTS(c, n) true
#else
#define EXTEND_COUNTS(c, n) (owner[n] == c)
#endif

#ifdef EXTEND_SHORTENS
#define LEFT_AFTER_EXTEND(c, n) ttl[c]
#else
#define LEFT_AFTER_EXTEND(c, n) (left[n] > ttl[c] -> left[n] : ttl[c])
#endif

#ifdef EXTEND_BY_MINORITY
#define EXTEND_QUORUM 1
#else
#define EXTEND_QUORUM QUORUM
#endif

#ifdef ATTACHED			/* extends by token alone, also when nobody knows whether it still holds */
#define MAY_EXTEND(c) (phase[c] == HELD || phase[c] == LOST)
#else
#define MAY_EXTEND(c) (phase[c] == HELD)
#endif

#ifdef SHORT			/* an extend may also ask for this, shorter, TTL */
#define VALIDITY_OF(c) (ttl[c] > DRIFT -> ttl[c] - DRIFT : 0)
#else
#define VALIDITY_OF(c) VALIDITY
#endif

#ifdef DIFFERENT_NODES		/* two lists of servers: one leaves out the first, one the last */
#define KNOWS(c, n) (c == 1 -> n != 0 : n != NODES - 1)
#else
#define KNOWS(c, n) true
#endif
