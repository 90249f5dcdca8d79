/* SPDX-License-Identifier: MIT */
/*
 * The direct hand-off: a release gives the key to a waiter in the same step, and tells it. How to read this
 * language: redlock.pml. README.md says which code the steps stand for, and why one node is enough.
 *
 * A waiter sends ENTER again and again. Each one is an offer: its token may be handed the key. Its number is the time
 * at which it was sent. A holder learns some offer of some waiter, the last one or an older one, and its release names
 * it at every node. So any node may hand the key to any token that was ever on offer, with any of its numbers. In
 * which order waiters stand does not matter here.
 *
 * As in redlock.pml, nobody knows the time of day. A number is kept as the ticks for which it proves something: a TTL
 * when it is sent, then one less with each tick. At 0 it proves nothing, but the request may still come. So runs
 * have no end, and the states are finite.
 */

/* ---- Size -----------------------------------------------------------------------------------------------
 *
 * EXTEND=ticks      holders extend, for so many ticks; at most 7, as is TTL
 */

#ifndef NODES
#define NODES 1
#endif
#ifndef CLIENTS
#define CLIENTS 2
#endif
#define QUORUM (NODES / 2 + 1)
#ifndef TTL
#define TTL 2
#endif
#ifndef EXTEND
#define EXTEND 0
#endif
#define LONGEST (TTL > EXTEND -> TTL : EXTEND)

/* ---- The rules, and what becomes of them when one is left out ------------------------------------------ */

#ifdef FROM_ARRIVAL		/* validity counts from the moment when the message comes */
#define PROVED_BY(c, number) TTL
#elif defined(FROM_LAST_SENT)	/* from the last ENTER, not from the one that was handed the key */
#define PROVED_BY(c, number) (HAS(sent[c], 3) -> 3 : (HAS(sent[c], 2) -> 2 : (HAS(sent[c], 1) -> 1 : 0)))
#else
#define PROVED_BY(c, number) number
#endif

#ifdef SHORT			/* handed over for less than a TTL, and counted as a whole one */
#define HANDED_FOR SHORT
#else
#define HANDED_FOR TTL
#endif

#ifdef NOT_RENEWED		/* an ENTER that finds its own key says yes, and the key expires when it would */
#define RENEWED(n) left[n]
#elif defined(RENEWED_SHORTER)	/* it sets the expiry also where it was extended for longer */
#define RENEWED(n) TTL
#else
#define RENEWED(n) (left[n] > TTL -> left[n] : TTL)
#endif

#ifdef WITHOUT_TOKEN		/* a message for a token that was given back counts for the next one */
#define FORGET(x) skip
#else
#define FORGET(x) told[x] = 0
#endif

/* ---- State --------------------------------------------------------------------------------------------- */

#define NOBODY 0
#define OVER 7			/* a token that is over, or of a client that is gone */

byte owner[NODES];
byte left[NODES];

/* Sets of numbers: bit by bit, 0 to LONGEST. A request comes at any time, any number of times, or never. */
#define HAS(set, number) ((set >> (number)) & 1)
#define AGED(set) ((set >> 1) | (set & 1))
byte sent[CLIENTS + 1];		/* of the ENTERs of its token, to any node; none: it has no token */
byte extends[CLIENTS + 1];	/* of its extends */

/* State of each client and node. */
#define AT(c, n) ((c) * NODES + (n))
#define PLACES ((CLIENTS + 1) * NODES)
byte told[PLACES];		/* with which the node has said that the key is its own: in an answer or a message */
byte vote[PLACES];		/* what the client has heard: for so many ticks this node's vote counts */

byte i, k, holders, votes, spare;	/* for loops, 0 between steps */

/* ---- Promises ------------------------------------------------------------------------------------------ */

/* MARGIN, for each node alone: a vote that still counts means that the key is there. */
inline check_promises()
{
	holders = 0;
	for (i : 1 .. CLIENTS) {
		votes = 0;
		for (k : 0 .. NODES - 1) {
			votes = votes + (vote[AT(i, k)] > 0 -> 1 : 0);
#ifdef MARGIN
			assert(vote[AT(i, k)] == 0 || owner[k] == i)
#endif
		}
		holders = holders + (votes >= QUORUM -> 1 : 0)
	}
#if NODES > 1
	assert(holders <= 1);
#endif
	holders = 0;
	votes = 0;
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

/* No node is special: see redlock.pml. */
#if NODES > 1 && !defined(UNSORTED)
#define FACTS(c, n) ((told[AT(c, n)] << 3) | vote[AT(c, n)])
#define RANK(n) ((owner[n] << 28) | (left[n] << 24) | (FACTS(1, n) << 12) | FACTS(2, n))
#define SWAP(array, a, b) spare = array[a]; array[a] = array[b]; array[b] = spare

inline sort_nodes()
{
	i = 0;
	do
	:: i == NODES - 1 -> break
	:: else ->
		if
		:: RANK(i) > RANK(i + 1) ->
			SWAP(owner, i, i + 1);
			SWAP(left, i, i + 1);
			for (k : 1 .. CLIENTS) {
				SWAP(told, AT(k, i), AT(k, i + 1));
				SWAP(vote, AT(k, i), AT(k, i + 1))
			}
			k = 0;
			i = (i > 0 -> i - 1 : 0)
		:: else -> i++
		fi
	od;
	i = 0;
	spare = 0
}
#else
#define sort_nodes() skip
#endif

#define STEP(condition, action) d_step { condition -> SEEN; action; check_promises(); sort_nodes() }

/* ---- Steps of a client --------------------------------------------------------------------------------- */

/* With a fresh token if it has none, else with the one that it has. */
inline enter(c)
{
	sent[c] = sent[c] | (1 << TTL);
	printf("client %d: ENTER, which is an offer\n", c)
}

inline begin_extend(c)
{
	extends[c] = extends[c] | (1 << EXTEND);
	printf("client %d: extends\n", c)
}

/* Released, handed over, cancelled, lost, or replaced by a fresh one: the token is over, and revoked. That may come
 * at any time or never: so what it has, and what it is handed from now on, stays as long as it likes, and what is
 * said of it is for nobody. */
inline give_back(c)
{
	for (k : 0 .. NODES - 1) {
		if
		:: owner[k] == c ->
			owner[k] = OVER;
			left[k] = 0
		:: else
		fi;
		FORGET(AT(c, k));
		vote[AT(c, k)] = 0
	}
	k = 0;
	sent[c] = 0;
	extends[c] = 0;
	printf("client %d: its token is over\n", c)
}

proctype client(byte c)
{
end:	do
	:: STEP(!HAS(sent[c], TTL), enter(c))
#if EXTEND
	:: STEP(sent[c] && !HAS(extends[c], EXTEND), begin_extend(c))
#endif
	:: STEP(sent[c], give_back(c))
	od
}

/* ---- Steps of a node for a client: of any request, by its number --------------------------------------- */

inline tell(c, n, number)
{
	told[AT(c, n)] = (told[AT(c, n)] | (1 << number)) & ~1
}

/* Taken if it is free, and renewed if it is its own already. Else it waits, which changes nothing here. */
inline enter_arrives(c, n, number)
{
	if
	:: owner[n] == NOBODY ->
		SEEN;
		owner[n] = c;
		left[n] = TTL;
		printf("node %d: client %d takes the key, number %d\n", n, c, number)
	:: else ->
		SEEN;
		left[n] = RENEWED(n);
		printf("node %d: client %d has the key, number %d\n", n, c, number)
	fi;
	tell(c, n, number)
}

inline extend_arrives(c, n, number)
{
	left[n] = (left[n] > EXTEND -> left[n] : EXTEND);
	tell(c, n, number);
	printf("node %d: client %d extends, number %d\n", n, c, number)
}

/* In a release, of a key that was the releaser's. The node knows nothing of the heir but what it is told. */
inline hand_over(c, n, number)
{
	owner[n] = c;
	left[n] = HANDED_FOR;
	tell(c, n, number);
	printf("node %d: the key is handed to client %d, number %d\n", n, c, number)
}

/* An answer or a message: they may come in any order, and more than once. */
inline take(c, n, number)
{
	vote[AT(c, n)] = (PROVED_BY(c, number) > vote[AT(c, n)] -> PROVED_BY(c, number) : vote[AT(c, n)]);
	printf("client %d: hears that it has the key of node %d, number %d\n", c, n, number)
}

#ifdef DECLINES_OWN		/* releases what it is told of the token that it claims or holds */
inline decline(c, n)
{
	owner[n] = NOBODY;
	printf("client %d: declines the key of node %d\n", c, n)
}
#endif

proctype link(byte c; byte n; byte number)
{
end:	do
	:: STEP(HAS(sent[c], number) && (owner[n] == NOBODY || owner[n] == c), enter_arrives(c, n, number))
	:: STEP(HAS(sent[c], number) && owner[n] == OVER, hand_over(c, n, number))
	:: STEP(HAS(told[AT(c, n)], number) && sent[c], take(c, n, number))
#if EXTEND
	:: STEP(HAS(extends[c], number) && owner[n] == c, extend_arrives(c, n, number))
#endif
#ifdef DECLINES_OWN
	:: STEP(HAS(told[AT(c, n)], number) && owner[n] == c, decline(c, n))
#endif
	od
}

/* ---- Steps of a node, without a client ----------------------------------------------------------------- */

/* A release arrives, or finds that the heir's place is barred; or the key expires. */
inline key_is_freed(n)
{
	owner[n] = NOBODY;
	printf("node %d: the key of a token that is over is gone\n", n)
}

/* A late request of a token that is over. */
inline key_is_taken(n)
{
	owner[n] = OVER;
	printf("node %d: a token that is over has the key\n", n)
}

proctype node(byte n)
{
end:	do
	:: STEP(owner[n] == OVER, key_is_freed(n))
	:: STEP(owner[n] == NOBODY, key_is_taken(n))
	od
}

/* ---- Time ---------------------------------------------------------------------------------------------- */

inline tick()
{
	printf("---- tick\n");
	for (i : 0 .. NODES - 1) {
		if
		:: left[i] > 1 -> left[i]--
		:: left[i] == 1 ->
			SEEN;
			left[i] = 0;
			printf("node %d: the key of client %d expires\n", i, owner[i]);
			owner[i] = NOBODY
		:: else
		fi
	}
	for (i : 1 .. CLIENTS) {
		sent[i] = AGED(sent[i]);
		extends[i] = AGED(extends[i])
	}
	for (i : NODES .. PLACES - 1) {
		told[i] = AGED(told[i]) & ~1;
		vote[i] = (vote[i] > 0 -> vote[i] - 1 : 0)
	}
	i = 0
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
			run client(i);
			for (k : 0 .. NODES - 1) {
				for (spare : 0 .. LONGEST) {
					run link(i, k, spare)
				}
			}
		}
		for (i : 0 .. NODES - 1) {
			run node(i)
		}
		i = 0;
		k = 0;
		spare = 0;
		run time()
	}
}
