/* SPDX-License-Identifier: MIT */
/*
 * Shared locks: any number of readers, or one writer; a reader becomes a writer, and back. How to read this language:
 * redlock.pml, which has clocks that differ as well. README.md says what follows.
 *
 * A client asks all nodes for one thing at a time. Its earlier requests may come later, any number of times.
 * A claim, an upgrade or an extend of a client that holds by now makes a node stricter: it comes at any
 * moment, whether it was sent or not. A renewal of a reader opens a node for others: it comes late only where
 * it was sent and not answered.
 */

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
#define TTL 2
#endif

/* LEFTOVERS   tokens that are over stay in the keys, at will. Else they are gone at once, which is as if what they keep out
 *             had never come
 * WRITERS     plain locks are claimed too; else writers are those that were upgraded
 * ONE_TURNS   the first client claims, and asks nothing else
 * LATE        a renewal may come after later requests
 * LONG=n      a reader may also extend to this longer TTL, 3 at most */

/* ---- The rules, and what becomes of them when one is left out ------------------------------------------ */

#ifdef UPGRADES_BESIDE		/* although somebody else is in the set */
#define MAY_UPGRADE(c, n) IS_READER(c, n)
#else
#define MAY_UPGRADE(c, n) (IS_READER(c, n) && !over[n] && lefts[n] == LEFT(c, n) << (2 * c))
#endif

#ifdef UPGRADES_BY_MINORITY
#define VOTES(c) (round[c] == UP -> 1 : QUORUM)
#else
#define VOTES(c) QUORUM
#endif

#ifdef UPGRADE_ASKS_TTL		/* though other nodes may have promised more, to a reader */
#define ENOUGH(c) TTL
#else
#define ENOUGH(c) (lease[c] > TTL -> lease[c] : TTL)
#endif

#if defined(UPGRADE_UNDOUBTED)	/* a vote counts although a renewal may come after it */
#define IS_DOUBTED(c, n) false
#elif defined(EXTEND_UNDOUBTED)	/* the same where it extends what was upgraded */
#define IS_DOUBTED(c, n) (round[c] == UP && IS_LATE(c, n))
#else
#define IS_DOUBTED(c, n) IS_LATE(c, n)
#endif

#ifdef DOWNGRADES_LATER		/* when a quorum has confirmed it, and not at once */
#define WRITER_UNTIL_CONFIRMED(c) alone[c]
#else
#define WRITER_UNTIL_CONFIRMED(c) false
#endif

#ifdef RELEASES_ALL		/* the key, and not the token in it */
#define MAY_STAY(n) lefts[n] = 0
#else
#define MAY_STAY(n) skip
#endif

#ifdef ONE_TURNS
#define ASKS(c) (phase[c] == HELD && round[c] == NONE && c != 1)
#else
#define ASKS(c) (phase[c] == HELD && round[c] == NONE)
#endif

#ifdef LEFTOVERS
#define LEFT_BEHIND OVER
#else
#define LEFT_BEHIND NOBODY
#endif

/* ---- State --------------------------------------------------------------------------------------------- */

mtype = { IDLE, SHARING, CLAIMING, HELD };	/* phases */
mtype = { NONE, RENEW, UP, EXTEND };		/* what a holder asks */

#define NOBODY 0
#define OVER 7			/* a token that nobody has any more */
#define BIT(c) (1 << (c))

/* A node: its key is free, a set, or a string. Clients are numbered from 1. */
byte string[NODES];		/* its owner */
bool over[NODES];		/* a token that nobody has any more is in the set */
byte lefts[NODES];		/* two bits per client: ticks until its string, or its place in the set, ends */
byte out[NODES];		/* one bit per client: what it asks has not arrived, and may never */
byte late[NODES];		/* and a renewal of its token that was asked for before */

#define LEFT(c, n) ((lefts[n] >> (2 * (c))) & 3)
#define SET_LEFT(c, n, ticks) lefts[n] = (lefts[n] & ~(3 << (2 * (c)))) | ((ticks) << (2 * (c)))
#define IS_FREE(n) (string[n] == NOBODY && lefts[n] == 0 && !over[n])
#define IS_READER(c, n) (string[n] == NOBODY && LEFT(c, n) > 0)
#define IS_OUT(c, n) ((out[n] & BIT(c)) != 0)
#define IS_LATE(c, n) ((late[n] & BIT(c)) != 0)

mtype phase[CLIENTS + 1];
mtype round[CLIENTS + 1];
bool alone[CLIENTS + 1];	/* the holder is a writer */
byte asked[CLIENTS + 1];	/* for so many ticks */
byte yes[CLIENTS + 1];
byte age[CLIENTS + 1];		/* ticks since the round began */
byte lease[CLIENTS + 1];	/* ticks until it holds no more */

byte i, k, holders, spare;	/* for loops, 0 between steps */

/* ---- Promises ------------------------------------------------------------------------------------------ */

/* Exclusion: no writer beside anybody.
 * MARGIN, which is stronger: a writer has its string on a quorum of nodes; a reader its token, in either form. */
inline check_promises()
{
	for (k : 1 .. CLIENTS) {
		holders = holders + (phase[k] == HELD -> 1 : 0);
		spare = spare + (phase[k] == HELD && alone[k] -> 1 : 0)
	}
	holders = (spare > 0 -> holders : 0);
	spare = 0;
	assert(holders <= 1);
#ifdef MARGIN
	for (k : 1 .. CLIENTS) {
		holders = 0;
		for (i : 0 .. NODES - 1) {
			holders = holders + (string[i] == k || (!alone[k] && IS_READER(k, i)) -> 1 : 0)
		}
		assert(phase[k] != HELD || holders >= QUORUM)
	}
#endif
	holders = 0;
	i = 0;
	k = 0
}

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

/* No node is special: redlock.pml. */
#ifndef UNSORTED
#define RANK(n) ((string[n] << 24) | (lefts[n] << 16) | (over[n] << 8) | (out[n] << 4) | late[n])
#define SWAP(array, n) spare = array[n]; array[n] = array[n + 1]; array[n + 1] = spare

inline sort_nodes()
{
	do
	:: i == NODES - 1 -> break
	:: else ->
		if
		:: RANK(i) > RANK(i + 1) ->
			SWAP(string, i);
			SWAP(over, i);
			SWAP(lefts, i);
			SWAP(out, i);
			SWAP(late, i);
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

#define STEP(condition, action) d_step { condition -> SEEN; action; sort_nodes() }

/* ---- Steps of a client --------------------------------------------------------------------------------- */

/* From now on a renewal that was not answered is late. */
inline round_ends(c)
{
	for (k : 0 .. NODES - 1) {
#ifdef LATE
		late[k] = late[k] | (round[c] == RENEW -> out[k] & BIT(c) : 0);
#endif
		out[k] = out[k] & ~BIT(c)
	}
	k = 0;
	round[c] = NONE;
	asked[c] = 0;
	yes[c] = 0;
	age[c] = 0
}

inline all_are_asked(c, ticks)
{
	asked[c] = ticks;
	for (k : 0 .. NODES - 1) {
		out[k] = out[k] | BIT(c)
	}
	k = 0
}

inline attempt_begins(c, how)
{
	phase[c] = how;
	all_are_asked(c, TTL);
	printf("client %d: claims %e\n", c, how)
}

inline is_granted(c)
{
	alone[c] = (phase[c] == CLAIMING);
	phase[c] = HELD;
	lease[c] = TTL - age[c];
	printf("client %d: holds for %d ticks, alone %d\n", c, lease[c], alone[c]);
	round_ends(c);
	check_promises()
}

/* The client's token is over. A release may come to each node at any moment or never, and after any other
 * request. */
inline gives_up(c)
{
	printf("client %d: gives up, releases, or its time is over\n", c);
	round_ends(c);
	for (k : 0 .. NODES - 1) {
		if
		:: string[k] == c -> string[k] = LEFT_BEHIND
		:: IS_READER(c, k) -> over[k] = (LEFT_BEHIND == OVER)
		:: else
		fi;
		SET_LEFT(c, k, 0);
		late[k] = late[k] & ~BIT(c)
	}
	k = 0;
	phase[c] = IDLE;
	alone[c] = false;
	lease[c] = 0
}

inline round_begins(c, what, ticks)
{
	round[c] = what;
	all_are_asked(c, ticks);
	printf("client %d: %e for %d ticks\n", c, what, ticks)
}

/* For no less than what is left. */
inline upgrade_begins(c)
{
	round_begins(c, UP, TTL);
	asked[c] = ENOUGH(c)
}

/* The client is a reader from now on. */
inline downgrade_begins(c)
{
	alone[c] = WRITER_UNTIL_CONFIRMED(c);
	round_begins(c, RENEW, TTL)
}

inline is_confirmed(c)
{
	alone[c] = (round[c] != RENEW);
	lease[c] = (asked[c] - age[c] > lease[c] -> asked[c] - age[c] : lease[c]);
	printf("client %d: is confirmed, for %d ticks, alone %d\n", c, lease[c], alone[c]);
	round_ends(c);
	check_promises()
}

/* Refused, unanswered, cancelled, or a call that does not wait for a renewal: an upgrading reader is a reader
 * as before. */
inline round_fails(c)
{
	printf("client %d: no more of that\n", c);
	round_ends(c)
}

proctype client(byte c)
{
end:	do
	:: STEP(phase[c] == IDLE, attempt_begins(c, SHARING))
#ifdef WRITERS
	:: STEP(phase[c] == IDLE, attempt_begins(c, CLAIMING))
#endif
	:: STEP((phase[c] == SHARING || phase[c] == CLAIMING) && yes[c] >= QUORUM, is_granted(c))
	:: STEP(phase[c] != IDLE, gives_up(c))
	:: STEP(ASKS(c) && !alone[c], round_begins(c, RENEW, TTL))
#ifdef LONG
	:: STEP(ASKS(c) && !alone[c], round_begins(c, RENEW, LONG))
#endif
	:: STEP(ASKS(c) && !alone[c], upgrade_begins(c))
	:: STEP(ASKS(c) && alone[c], round_begins(c, EXTEND, TTL))
	:: STEP(ASKS(c) && alone[c], downgrade_begins(c))
	:: STEP(round[c] != NONE && yes[c] >= VOTES(c), is_confirmed(c))
	:: STEP(round[c] != NONE, round_fails(c))
	od
}

/* ---- Steps of the network: a request arrives, is executed, and its answer is counted -------------------- */

/* Votes beyond a quorum change nothing; nor do those of a round that has lasted for as long as what it asks for. */
inline vote_counts(c, n)
{
	yes[c] = (yes[c] < QUORUM && age[c] < asked[c] -> yes[c] + 1 : yes[c]);
	printf("node %d: yes to client %d\n", n, c)
}

/* Never shorter. */
inline ends_later(c, n, ticks)
{
	SET_LEFT(c, n, (LEFT(c, n) > ticks -> LEFT(c, n) : ticks))
}

/* scripts/share.lua */
inline share_arrives(c, n)
{
	out[n] = out[n] & ~BIT(c);
	if
	:: string[n] == NOBODY ->
		SEEN;
#ifdef CHECKS_FIRST
		late[n] = late[n] | BIT(c)	/* it enters at some time */
#else
		SET_LEFT(c, n, TTL);
		vote_counts(c, n)
#endif
	:: else -> SEEN
	fi
}

/* SET NX */
inline set_arrives(c, n)
{
	out[n] = out[n] & ~BIT(c);
	if
	:: IS_FREE(n) ->
		SEEN;
		string[n] = c;
		SET_LEFT(c, n, TTL);
		vote_counts(c, n)
	:: else -> SEEN
	fi
}

/* scripts/share_extend.lua: a string becomes a set again. */
inline renewal_arrives(c, n)
{
	out[n] = out[n] & ~BIT(c);
	if
	:: string[n] == c || IS_READER(c, n) ->
		SEEN;
		string[n] = NOBODY;
		ends_later(c, n, asked[c]);
		vote_counts(c, n)
	:: else -> SEEN
	fi
}

/* scripts/upgrade.lua, by which a writer extends, too */
inline upgrade_arrives(c, n)
{
	out[n] = out[n] & ~BIT(c);
	if
	:: string[n] == c || MAY_UPGRADE(c, n) ->
		SEEN;
		string[n] = c;
		lefts[n] = LEFT(c, n) << (2 * c);
		over[n] = false;
		ends_later(c, n, asked[c]);
		if
		:: !IS_DOUBTED(c, n) -> SEEN; vote_counts(c, n)
		:: else -> SEEN
		fi
	:: else -> SEEN
	fi
}

/* A late renewal is executed at some time on a connection that was given up, and after the requests on the
 * next one. */
inline late_renewal_arrives(c, n)
{
	string[n] = NOBODY;
	ends_later(c, n, TTL);
	printf("node %d: a late renewal of client %d\n", n, c)
}

/* A late renewal was answered by now, or the next connection has ended the one that it was sent on. */
inline late_renewal_is_ended(c, n)
{
	late[n] = late[n] & ~BIT(c);
	printf("node %d: no late renewal of client %d comes any more\n", n, c)
}

/* The token is in the set alone, and it was a reader. */
inline old_upgrade_arrives(c, n)
{
	string[n] = c;
	printf("node %d: an old upgrade of client %d\n", n, c)
}

inline old_share_arrives(c, n)
{
	SET_LEFT(c, n, TTL);
	printf("node %d: an old claim or renewal of client %d, as a reader\n", n, c)
}

inline old_set_arrives(c, n)
{
	string[n] = c;
	SET_LEFT(c, n, TTL);
	printf("node %d: an old claim of client %d, as a writer\n", n, c)
}

inline old_extend_arrives(c, n)
{
	SET_LEFT(c, n, TTL);
	printf("node %d: an old extend of client %d\n", n, c)
}

#ifdef CHECKS_FIRST
inline enters(c, n)
{
	late[n] = late[n] & ~BIT(c);
	SET_LEFT(c, n, TTL);
	vote_counts(c, n)
}
#endif

proctype link(byte c, n)
{
end:	do
	:: STEP(IS_OUT(c, n) && phase[c] == SHARING, share_arrives(c, n))
#ifdef WRITERS
	:: STEP(IS_OUT(c, n) && phase[c] == CLAIMING, set_arrives(c, n))
	:: STEP(phase[c] == HELD && IS_FREE(n), old_set_arrives(c, n))
#endif
	:: STEP(IS_OUT(c, n) && round[c] == RENEW, renewal_arrives(c, n))
	:: STEP(IS_OUT(c, n) && (round[c] == UP || round[c] == EXTEND), upgrade_arrives(c, n))
	:: STEP(phase[c] == HELD && MAY_UPGRADE(c, n), old_upgrade_arrives(c, n))
	:: STEP(phase[c] == HELD && string[n] == NOBODY && LEFT(c, n) < TTL, old_share_arrives(c, n))
	:: STEP(string[n] == c && LEFT(c, n) < TTL, old_extend_arrives(c, n))
#ifdef LATE
	:: STEP(IS_LATE(c, n) && (string[n] == c || IS_READER(c, n)), late_renewal_arrives(c, n))
	:: STEP(IS_LATE(c, n), late_renewal_is_ended(c, n))
#endif
#ifdef CHECKS_FIRST
	:: STEP(IS_LATE(c, n) && phase[c] == SHARING, enters(c, n))
#endif
	od
}

/* ---- Steps of a node, without a client ----------------------------------------------------------------- */

/* scripts/share_release.lua, or its time is over. */
inline old_token_goes(n)
{
	printf("node %d: a token that is over goes\n", n);
	string[n] = (string[n] == OVER -> NOBODY : string[n]);
	over[n] = false;
	MAY_STAY(n)
}

inline old_token_comes(n)
{
	over[n] = true;
	printf("node %d: a claim comes whose token is over\n", n)
}

/* Late upgrades and renewals, and claims of plain locks that come late. */
inline old_token_turns(n)
{
	string[n] = (string[n] == OVER -> NOBODY : OVER);
	over[n] = (string[n] == NOBODY);
	printf("node %d: a token that is over is turned\n", n)
}

proctype node(byte n)
{
end:	do
	:: STEP(string[n] == OVER || over[n], old_token_goes(n))
	:: STEP(string[n] == NOBODY && !over[n], old_token_comes(n))
	:: STEP(string[n] == OVER || (string[n] == NOBODY && lefts[n] == 0), old_token_turns(n))
	od
}

/* ---- Time ---------------------------------------------------------------------------------------------- */

inline node_time(c, n)
{
	if
	:: LEFT(c, n) > 0 ->
		SET_LEFT(c, n, LEFT(c, n) - 1);
		string[n] = (string[n] == c && LEFT(c, n) == 0 -> NOBODY : string[n])
	:: else
	fi
}

inline client_time(c)
{
	age[c] = (asked[c] > 0 && age[c] < asked[c] -> age[c] + 1 : age[c]);
	yes[c] = (age[c] >= asked[c] -> 0 : yes[c]);
	if
	:: lease[c] > 1 -> lease[c]--
	:: lease[c] == 1 -> SEEN; gives_up(c)
	:: else
	fi
}

inline tick()
{
	printf("---- tick\n");
	for (spare : 1 .. CLIENTS) {
		for (i : 0 .. NODES - 1) {
			node_time(spare, i)
		}
		client_time(spare)
	}
	spare = 0;
	i = 0;
	check_promises()
}

proctype time()
{
end:	do
	:: STEP(true, tick())
	od
}

init {
	atomic {
		for (i : 1 .. CLIENTS) {
			phase[i] = IDLE;
			round[i] = NONE;
			run client(i);
			for (k : 0 .. NODES - 1) {
				run link(i, k)
			}
		}
#ifdef LEFTOVERS
		for (k : 0 .. NODES - 1) {
			run node(k)
		}
#endif
		i = 0;
		k = 0;
		run time()
	}
}
