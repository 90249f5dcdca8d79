/* SPDX-License-Identifier: MIT */
/*
 * Redlock, small enough that a program (Spin) can try everything that may ever happen in it.
 *
 * How to read this file without knowing Promela:
 *   - A proctype is something that acts by itself: a client, the link of a client to a node, a node, time.
 *   - Each consists of one loop (do ... od) over alternatives: STEP(condition, what happens). Wherever
 *     conditions hold, Spin follows every choice. A step is indivisible.
 *   - if ... fi: the alternative whose condition holds. (a -> b : c) is C's a ? b : c.
 *   - assert() states what must be true. Spin searches all reachable states for one where it is not.
 *   - printf() does nothing in a search; it tells the story when a counterexample is replayed (check --show).
 *
 * Time is whole ticks. Nobody knows the time of day: only what is left until a key or a lease ends is kept. So
 * the number of states is finite although runs and attempts have no end, and "clean" means clean for ever.
 *
 * Names in capitals are given as -DNAME (rules.pml); `check` has the table of all configurations. README.md says
 * which function of the library each step stands for, what the model leaves out, and what follows from it.
 */

#include "rules.pml"

/* ---- State --------------------------------------------------------------------------------------------- */

mtype = { IDLE, ACQUIRING, HELD, LOST };

#define NOBODY 0
#define OVER 15		/* the token of an attempt that is over: nobody claims it any more */
#define BIT(c) (1 << (c))

/* A node: one key. */
byte owner[NODES];		/* NOBODY, a client (its present token), or OVER */
byte left[NODES];		/* ticks of the node's clock until the key of a client expires */
byte down[NODES];		/* ticks until a node that was restarted takes part again */
byte calm[NODES];		/* ticks until its clock may jump again */
byte set_out[NODES];		/* one bit per client: its SET has not arrived yet. It may never arrive. */
byte extend_out[NODES];		/* and its extend */

#ifdef INSIST			/* split votes: who leads asks again where it was refused */
byte refused[NODES];		/* one bit per client: its SET was refused */
#define REFUSE(c, n) refused[n] = refused[n] | (phase[c] == ACQUIRING -> BIT(c) : 0)
#define REFUSED_NO_MORE(c, n) refused[n] = refused[n] & ~BIT(c)
#define MAY_INSIST(c, n) (phase[c] == ACQUIRING && (refused[n] & BIT(c)) != 0)
#define REFUSED_RANK(n) refused[n]
#else
#define REFUSE(c, n) skip
#define REFUSED_NO_MORE(c, n) skip
#define REFUSED_RANK(n) 0
#endif

#define SET_IS_OUT(c, n) ((set_out[n] & BIT(c)) != 0)
#define EXTEND_IS_OUT(c, n) ((extend_out[n] & BIT(c)) != 0)

/* A client; they are numbered from 1. */
mtype phase[CLIENTS + 1];
bool extending[CLIENTS + 1];	/* an extend is out */
byte yes[CLIENTS + 1];		/* votes of the round that is out */
byte age[CLIENTS + 1];		/* ticks of the client's clock since that round began */
byte lease[CLIENTS + 1];	/* ticks of the client's clock until its lock ends */
byte steady[CLIENTS + 1];	/* ticks until its clock may miss one again */
byte ttl[CLIENTS + 1];		/* what the extend that is out asks for */
bool intruded[CLIENTS + 1];	/* somebody else was granted the lock since this client was */
bool released[CLIENTS + 1];	/* it sent a release at some time; kept only for the two variants that ask */

byte i, k, holders, spare;	/* for loops, 0 between steps */

/* ---- Promises ------------------------------------------------------------------------------------------ */

/* Exclusion: at no time do two clients act.
 * MARGIN, which is stronger: who holds the lock has its key on a quorum of nodes. A node that forgot it and
 * stays away counts, as it serves nobody.
 * CONTINUITY: an extend that succeeds means that nobody else was granted the lock since its client was
 * (confirm_extend). */
inline check_promises()
{
	holders = 0;
	for (k : 1 .. CLIENTS) {
		holders = holders + (ACTS(k) -> 1 : 0)
	}
	assert(holders <= 1);
#ifdef MARGIN
	for (k : 1 .. CLIENTS) {
		holders = 0;
		for (i : 0 .. NODES - 1) {
			holders = holders + (owner[i] == k || down[i] > 0 -> 1 : 0)
		}
		assert(phase[k] != HELD || holders >= QUORUM)
	}
#endif
	holders = 0;
	i = 0;
	k = 0
}

/* A model in which nothing can happen breaks no promise. With COVER the search tells which lines marked SEEN it
 * came to; `check` wants all of them. (The only C in here; no part of the model.) */
#ifdef COVER
c_decl {
	static unsigned char seen[1000];
	static void __attribute__((destructor)) tell_seen(void)
	{
		for (int line = 0; line < 1000; line++)
			if (seen[line] != 0)
				printf("seen %d\n", line);
	}
}
#define SEEN c_code { seen[__LINE__] = 1; }
#else
#define SEEN skip
#endif

/* No node is special: states that differ only in which node is which are one state. So every step ends by
 * putting the nodes into order. It makes the search several times shorter, and a story hard to follow: UNSORTED
 * leaves it out. */
#ifndef UNSORTED
#define RANK(n) ((owner[n] << 24) | (left[n] << 20) | (down[n] << 16) | (calm[n] << 12) | \
                 (set_out[n] << 8) | (REFUSED_RANK(n) << 4) | extend_out[n])
#define SWAP(array, n) spare = array[n]; array[n] = array[n + 1]; array[n + 1] = spare

inline sort_nodes()
{
	i = 0;
	do
	:: i == NODES - 1 -> break
	:: else ->
		if
		:: RANK(i) > RANK(i + 1) ->
			SWAP(owner, i);
			SWAP(left, i);
			SWAP(down, i);
			SWAP(calm, i);
			SWAP(set_out, i);
			SWAP(extend_out, i);
#ifdef INSIST
			SWAP(refused, i);
#endif
			i = (i > 0 -> i - 1 : 0)
		:: else ->
			i++
		fi
	od;
	i = 0;
	spare = 0
}
#else
#define sort_nodes() skip
#endif

/* An alternative of a loop: an indivisible step, possible while the condition holds. */
#define STEP(condition, action) d_step { condition -> SEEN; action; sort_nodes() }

/* ---- Steps of a client --------------------------------------------------------------------------------- */

/* A fresh token, asked for everywhere. */
inline begin_attempt(c)
{
	phase[c] = ACQUIRING;
	NO_VOTES(c);
	age[c] = 0;
	for (k : 0 .. NODES - 1) {
		set_out[k] = set_out[k] | BIT(c)
	}
	k = 0;
	printf("client %d: acquire, SET to all nodes\n", c)
}

inline grant(c)
{
	phase[c] = HELD;
	lease[c] = REMAINING(c);
	for (k : 0 .. NODES - 1) {
		REFUSED_NO_MORE(c, k)
	}
	k = 0;
	printf("client %d: %d votes, held for %d ticks\n", c, yes[c], lease[c]);
	NO_VOTES(c);
	age[c] = 0;
#ifdef SETS_ARE_IN
	for (k : 0 .. NODES - 1) {
		set_out[k] = set_out[k] & ~BIT(c)
	}
#endif
#ifdef CONTINUITY
	for (k : 1 .. CLIENTS) {
		intruded[k] = intruded[k] || (k != c && (phase[k] == HELD || phase[k] == LOST))
	}
	k = 0;
#endif
	check_promises()
}

/* The token is over: from now on releases may arrive on every node, at any time or never. So may earlier
 * requests; a SET may come after its own release (old_set_arrives). */
inline give_back(c)
{
	for (k : 0 .. NODES - 1) {
		set_out[k] = set_out[k] & ~BIT(c);
		extend_out[k] = extend_out[k] & ~BIT(c);
		REFUSED_NO_MORE(c, k);
#ifndef TOKEN_REUSED
		if
		:: owner[k] == c ->
			SEEN;
			owner[k] = OVER;
			left[k] = 0
		:: else
		fi
#endif
	}
	k = 0;
	phase[c] = IDLE;
	extending[c] = false;
	NO_VOTES(c);
	age[c] = 0;
	lease[c] = 0;
	ttl[c] = 0;
#if defined(RELEASE_ANY_KEY) || defined(TOKEN_REUSED)
	released[c] = true;
#elif defined(INSISTS_AFTER_RELEASE)
	released[c] = false;		/* the next token is another one */
#endif
	intruded[c] = false
}

inline fail_attempt(c)
{
	printf("client %d: the attempt has failed, release to all nodes\n", c);
	give_back(c)
}

inline release(c)
{
	printf("client %d: release to all nodes\n", c);
	give_back(c)
}

/* The clock has reached the end, or a quorum said "not ours". Terminal. */
inline lose(c)
{
	phase[c] = LOST;
	lease[c] = 0;
	printf("client %d: lost\n", c);
#ifndef ATTACHED
	end_extend(c)
#endif
}

inline begin_extend(c, t)
{
	extending[c] = true;
	ttl[c] = t;
	NO_VOTES(c);
	age[c] = 0;
	for (k : 0 .. NODES - 1) {
		extend_out[k] = extend_out[k] | BIT(c)
	}
	k = 0;
	printf("client %d: extend, %d ticks from now\n", c, t)
}

inline end_extend(c)
{
	extending[c] = false;
	NO_VOTES(c);
	age[c] = 0;
	ttl[c] = 0;
	for (k : 0 .. NODES - 1) {
		extend_out[k] = extend_out[k] & ~BIT(c)
	}
	k = 0
}

/* Never shorter than before. */
inline confirm_extend(c)
{
	phase[c] = HELD;
	if
	:: VALIDITY_OF(c) - age[c] > lease[c] ->
		SEEN;
		lease[c] = VALIDITY_OF(c) - age[c]
	:: else
	fi;
	printf("client %d: %d votes, extended, held for %d ticks\n", c, yes[c], lease[c]);
	end_extend(c);
#ifdef CONTINUITY
	assert(!intruded[c]);
#endif
	check_promises()
}

/* The old deadline stands. */
inline fail_extend(c)
{
	printf("client %d: the extend has failed\n", c);
	end_extend(c)
}

proctype client(byte c)
{
end:	do
	:: STEP(phase[c] == IDLE, begin_attempt(c))
	:: STEP(phase[c] == ACQUIRING && yes[c] >= QUORUM && age[c] < VALIDITY, grant(c))
	:: STEP(phase[c] == ACQUIRING, fail_attempt(c))	/* refused, timed out, cancelled: at any time */
#ifdef INSISTS_AFTER_RELEASE
	:: STEP(phase[c] == ACQUIRING && !released[c], GO_ON(c))
#endif
	:: STEP(phase[c] == HELD || phase[c] == LOST, release(c))
	:: STEP(phase[c] == HELD, lose(c))
#ifdef EXTEND
	:: STEP(MAY_EXTEND(c) && !extending[c], begin_extend(c, TTL))
#ifdef SHORT
	:: STEP(MAY_EXTEND(c) && !extending[c], begin_extend(c, SHORT))
#endif
	:: STEP(extending[c] && yes[c] >= EXTEND_QUORUM && age[c] < VALIDITY_OF(c), confirm_extend(c))
	:: STEP(extending[c], fail_extend(c))
#endif
	od
}

/* ---- Steps of the network ---------------------------------------------------------------------------------
 *
 * A request arrives, is executed, and its reply is counted, in one step. Nothing is lost by that: a reply that
 * takes long is a client that decides late; one that is lost is an attempt that fails.
 */

/* Votes beyond a quorum, and those that come when validity is over, change nothing. */
inline count_vote(c, counts)
{
	if
	:: counts && yes[c] < QUORUM && age[c] < VALIDITY ->
		SEEN;
		yes[c]++
	:: else
	fi
}

inline set_arrives(c, n)
{
	set_out[n] = set_out[n] & ~BIT(c);
	if
	:: SET_SUCCEEDS(n) ->
		SEEN;
		owner[n] = c;
		left[n] = TTL;
		count_vote(c, phase[c] == ACQUIRING);
		printf("node %d: the SET of client %d is executed\n", n, c)
	:: else ->
		SEEN;
		REFUSE(c, n);
		printf("node %d: the SET of client %d is refused\n", n, c)
	fi
}

/* Asks again for the same token, where it was refused: the first SET was answered there, and no release of
 * the token was sent, so it is as if the first one had come later. The time is counted from the first one. */
inline insist(c, n)
{
	set_out[n] = set_out[n] | BIT(c);
	REFUSED_NO_MORE(c, n);
#ifdef VALID_FROM_INSISTING	/* instead of: from before the first SET of the token */
	age[c] = 0;
#endif
	printf("client %d: the same token again to node %d\n", c, n)
}

inline extend_key(c, n)
{
	if
	:: owner[n] == c ->
		SEEN;
		left[n] = LEFT_AFTER_EXTEND(c, n)
#ifdef EXTEND_RECREATES
	:: owner[n] == NOBODY ->
		owner[n] = c;
		left[n] = TTL
#endif
	:: else
	fi
}

inline extend_arrives(c, n)
{
	extend_out[n] = extend_out[n] & ~BIT(c);
	extend_key(c, n);
	count_vote(c, EXTEND_COUNTS(c, n));
	printf("node %d: the extend of client %d arrives, %d votes\n", n, c, yes[c])
}

/* An extend of an earlier round with the present token; its reply is not counted. */
inline old_extend_arrives(c, n)
{
	left[n] = TTL;
	printf("node %d: an old extend of client %d arrives\n", n, c)
}

/* Deleted only where the value is the token that was sent. */
inline old_release_arrives(c, n)
{
	owner[n] = NOBODY;
	left[n] = 0;
	printf("node %d: an old release of client %d arrives\n", n, c)
}

#define MAY_HAVE_EXTENDED(c) (phase[c] == HELD || phase[c] == LOST)

proctype link(byte c; byte n)
{
end:	do
	:: STEP(SET_IS_OUT(c, n) && down[n] == 0, set_arrives(c, n))
	:: STEP(RELEASE_DELETES(c, n) && down[n] == 0, old_release_arrives(c, n))
#ifdef INSIST
	:: STEP(MAY_INSIST(c, n), insist(c, n))
#endif
#ifdef EXTEND
	:: STEP(EXTEND_IS_OUT(c, n) && down[n] == 0, extend_arrives(c, n))
	:: STEP(MAY_HAVE_EXTENDED(c) && owner[n] == c && down[n] == 0, old_extend_arrives(c, n))
#endif
	od
}

/* ---- Steps of a node, without a client ----------------------------------------------------------------- */

/* A SET whose client gave up long ago: the key is nobody's, and keeps others out. */
inline old_set_arrives(n)
{
	owner[n] = OVER;
	printf("node %d: the SET of an attempt that is over is executed\n", n)
}

inline old_key_expires(n)
{
	owner[n] = NOBODY;
	printf("node %d: the key of an attempt that is over expires\n", n)
}

inline restart_with_data(n)
{
	down[n] = 1;			/* keys expire meanwhile, as their end is stored as a time */
	printf("node %d: restarts with its data\n", n)
}

inline restart_without_data(n)
{
	owner[n] = NOBODY;
	left[n] = 0;
	down[n] = QUARANTINE;
	printf("node %d: restarts without data, stays away for %d ticks\n", n, down[n]);
	check_promises()
}

inline node_time(n, ticks)
{
	down[n] = (down[n] > ticks -> down[n] - ticks : 0);
	if
	:: left[n] > ticks ->
		SEEN;
		left[n] = left[n] - ticks
	:: left[n] > 0 && left[n] <= ticks ->
		SEEN;
		printf("node %d: the key of client %d expires\n", n, owner[n]);
		left[n] = 0;
		owner[n] = NOBODY
	:: else
	fi
}

inline clock_jumps(n)
{
	calm[n] = NODE_FAST;
	printf("node %d: its clock jumps %d ahead\n", n, NODE_STEP);
	node_time(n, NODE_STEP);
	check_promises()
}

inline clock_stands(n)
{
	left[n] = left[n] + 1;
	printf("node %d: its clock is one tick late\n", n)
}

proctype node(byte n)
{
end:	do
	:: STEP(owner[n] == NOBODY && down[n] == 0, old_set_arrives(n))
	:: STEP(owner[n] == OVER, old_key_expires(n))
#ifdef RESTART
	:: STEP(down[n] == 0, restart_with_data(n))
#endif
#ifdef AMNESIA
	:: STEP(owner[n] != NOBODY, restart_without_data(n))
#endif
#ifdef NODE_FAST
	:: STEP(calm[n] == 0 && (left[n] > 0 || down[n] > 0), clock_jumps(n))
#endif
#ifdef NODE_SLOW
	:: STEP(left[n] > 0 && left[n] < TTL, clock_stands(n))
#endif
	od
}

/* ---- Time ---------------------------------------------------------------------------------------------- */

inline client_time(c)
{
	if
	:: (phase[c] == ACQUIRING || extending[c]) && age[c] < VALIDITY -> age[c]++
	:: else
	fi;
	if
	:: age[c] == VALIDITY ->
		SEEN;
		yes[c] = 0
	:: else
	fi;
	if
	:: lease[c] > 1 ->
		lease[c]--
	:: lease[c] == 1 ->
		SEEN;
		lose(c)
	:: else
	fi
}

/* One tick for everybody, but not for the clients whose clock misses it (one bit each). */
inline tick(missed)
{
	printf("---- tick\n");
	for (i : 0 .. NODES - 1) {
		calm[i] = (calm[i] > 0 -> calm[i] - 1 : 0);
		node_time(i, 1)
	}
	for (i : 1 .. CLIENTS) {
		steady[i] = (steady[i] > 0 -> steady[i] - 1 : 0);
		if
		:: (missed & BIT(i)) != 0 ->
			steady[i] = CLIENT_SLOW - 1;
			printf("client %d: its clock misses the tick\n", i)
		:: else ->
			client_time(i)
		fi
	}
	i = 0;
	check_promises()
}

#define MAY_MISS(c) (CLIENT_SLOW > 0 && steady[c] == 0)

/* The clock of a third client is exact. */
proctype time()
{
end:	do
	:: STEP(true, tick(0))
#if CLIENT_SLOW > 0
	:: STEP(MAY_MISS(1), tick(BIT(1)))
	:: STEP(MAY_MISS(2), tick(BIT(2)))
	:: STEP(MAY_MISS(1) && MAY_MISS(2), tick(BIT(1) | BIT(2)))
#endif
	od
}

/* ---- Begin --------------------------------------------------------------------------------------------- */

init
{
	atomic {
		for (i : 1 .. CLIENTS) {
			phase[i] = IDLE;
			run client(i);
			for (k : 0 .. NODES - 1) {
				if
				:: KNOWS(i, k) -> run link(i, k)
				:: else
				fi
			}
		}
		for (k : 0 .. NODES - 1) {
			run node(k)
		}
		i = 0;
		k = 0;
		run time()
	}
}
