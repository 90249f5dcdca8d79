/* SPDX-License-Identifier: MIT */
/*
 * The direct hand-off: a release gives the key to a waiter in the same step, and tells it. How to read this
 * language: redlock.pml. README.md says what follows from this, and why few nodes are enough.
 *
 * A client registers a fresh token at each node, and refreshes it there. Refreshes are numbered. An entry
 * at a node keeps the number of the last one that arrived. Whoever ends a claim may hand the key to any
 * entry of that node: so the order of a queue does not matter here. The message quotes the number of the
 * entry.
 *
 * As in redlock.pml, nobody knows the time of day. Here a number is kept as its age: the ticks since that
 * refresh was sent. An age stops at TTL, as it then proves nothing any more. So runs have no end, and the
 * states are finite.
 */

/* ---- Size -----------------------------------------------------------------------------------------------
 *
 * TTL is at most 3 (ages have two bits). A client that does not queue is one whose entry is never handed
 * anything. EXTEND          a refresh that finds the key handed over extends it, too
 */

#ifndef NODES
#define NODES 1
#endif
#ifndef CLIENTS
#define CLIENTS 2
#endif
#define QUORUM (NODES / 2 + 1)
#ifndef TTL
#define TTL 3
#endif

/* ---- The rules, and what becomes of them when one is left out ------------------------------------------ */

#ifdef FROM_ARRIVAL		/* validity counts from the moment when the message comes */
#define PROVED_BY_MESSAGE(x) 0
#elif defined(FROM_LAST_HEARD)	/* from the last refresh that was answered "not yet yours" */
#define PROVED_BY_MESSAGE(x) heard[x]
#else
#define PROVED_BY_MESSAGE(x) number[x]
#endif

#ifdef SHORT			/* handed over for less than a TTL, and counted as a whole one */
#define HANDED_FOR SHORT
#else
#define HANDED_FOR TTL
#endif

#ifdef MESSAGE_WITHOUT_TOKEN	/* a message for the last token counts for this one */
#define NO_MESSAGE(c, n) skip
#else
#define NO_MESSAGE(c, n) message[AT(c, n)] = false; number[AT(c, n)] = TTL
#endif

/* ---- State --------------------------------------------------------------------------------------------- */

#define NOBODY 0
#define OVER 7			/* a token that is over, or of a client that is gone */

byte owner[NODES];
byte left[NODES];

/* Of each client and node. */
#define AT(c, n) ((c) * NODES + (n))
#define PLACES ((CLIENTS + 1) * NODES)
bool registers[PLACES];		/* the request that makes the entry has not arrived */
bool refreshes[PLACES];		/* a refresh has not arrived */
byte sent[PLACES];		/* the age of either; no further one is sent before it has arrived */
bool entry[PLACES];
byte number[PLACES];		/* the age of the number that the entry has, or had when the key was handed over */
bool message[PLACES];		/* the message has not arrived */
bool granted[PLACES];		/* this token was granted here */
byte proof[PLACES];		/* the age of the request or refresh that this node's vote counts from; TTL: no vote */
#ifdef FROM_LAST_HEARD
byte heard[PLACES];
#endif

bool tries[CLIENTS + 1];	/* it has a token */
byte i, k, holders, votes, spare;	/* for loops, 0 between steps */

#define OLDER(age) age = (age < TTL -> age + 1 : TTL)

/* ---- What must be true --------------------------------------------------------------------------------- */

/* MARGIN, for each node alone: a vote that still counts means that the key is there. */
inline check_promises()
{
	holders = 0;
	for (i : 1 .. CLIENTS) {
		votes = 0;
		for (k : 0 .. NODES - 1) {
			votes = votes + (proof[AT(i, k)] < TTL -> 1 : 0);
#ifdef MARGIN
			assert(proof[AT(i, k)] == TTL || owner[k] == i)
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
#define FACTS(c, n) ((registers[AT(c, n)] << 10) | (refreshes[AT(c, n)] << 9) | (entry[AT(c, n)] << 8) | \
                     (message[AT(c, n)] << 7) | (granted[AT(c, n)] << 6) | (sent[AT(c, n)] << 4) | \
                     (number[AT(c, n)] << 2) | proof[AT(c, n)])
#define RANK(n) ((owner[n] << 28) | (left[n] << 24) | (FACTS(1, n) << 12) | FACTS(2, n))
#define SWAP(array, a, b) spare = array[a]; array[a] = array[b]; array[b] = spare
#define SWAP_AT(array) SWAP(array, AT(k, i), AT(k, i + 1))

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
				SWAP_AT(registers);
				SWAP_AT(refreshes);
				SWAP_AT(sent);
				SWAP_AT(entry);
				SWAP_AT(number);
				SWAP_AT(message);
				SWAP_AT(granted);
				SWAP_AT(proof);
#ifdef FROM_LAST_HEARD
				SWAP_AT(heard)
#endif
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

inline register(c)
{
	tries[c] = true;
	for (k : 0 .. NODES - 1) {
		registers[AT(c, k)] = true;
		sent[AT(c, k)] = 0
	}
	k = 0;
	printf("client %d: registers a fresh token at all nodes\n", c)
}

inline refresh(c, n)
{
	refreshes[AT(c, n)] = true;
	sent[AT(c, n)] = 0;
	printf("client %d: refresh to node %d\n", c, n)
}

/* Cancelled, released, lost, or an entry is gone: the token is over. What it was handed is released, at any time or
 * never, and a message for it is for nobody. */
inline give_back(c)
{
	for (k : 0 .. NODES - 1) {
		if
		:: owner[k] == c ->
			owner[k] = OVER;
			left[k] = 0
		:: else
		fi;
		registers[AT(c, k)] = false;
		refreshes[AT(c, k)] = false;
		sent[AT(c, k)] = 0;
		entry[AT(c, k)] = false;
		granted[AT(c, k)] = false;
		proof[AT(c, k)] = TTL;
		NO_MESSAGE(c, k)
	}
	k = 0;
	tries[c] = false;
	printf("client %d: its token is over\n", c)
}

proctype client(byte c)
{
end:	do
	:: STEP(!tries[c], register(c))
	:: STEP(tries[c], give_back(c))
	od
}

/* ---- Steps of a node for a client ---------------------------------------------------------------------- */

inline prove(x, age)
{
	proof[x] = (age < proof[x] -> age : proof[x])
}

inline claim(c, n, ticks)
{
	owner[n] = c;
	left[n] = ticks;
#ifdef ONCE
	assert(!granted[AT(c, n)]);
#endif
	granted[AT(c, n)] = true
}

/* The key is free: taken at once. Else an entry is made. A lost answer is a client that gives back. */
inline register_arrives(c, n)
{
	registers[AT(c, n)] = false;
	if
	:: owner[n] == NOBODY ->
		SEEN;
		claim(c, n, TTL);
		number[AT(c, n)] = sent[AT(c, n)];
		prove(AT(c, n), sent[AT(c, n)]);
		printf("node %d: client %d takes the key\n", n, c)
	:: else ->
		SEEN;
		entry[AT(c, n)] = true;
		number[AT(c, n)] = sent[AT(c, n)];
		printf("node %d: client %d is registered\n", n, c)
	fi;
	sent[AT(c, n)] = 0
}

/* The entry is gone, and so is the key: a new token everywhere. */
inline find_nothing(c, n)
{
#if defined(REGISTERS_AGAIN)	/* the refresh makes a new entry of the same token */
	entry[AT(c, n)] = true;
	number[AT(c, n)] = sent[AT(c, n)];
	sent[AT(c, n)] = 0
#elif defined(FROM_LAST_HEARD)	/* answered like one that waits */
	heard[AT(c, n)] = sent[AT(c, n)];
	sent[AT(c, n)] = 0
#else
	give_back(c)
#endif
}

inline refresh_arrives(c, n, is_heard)
{
	refreshes[AT(c, n)] = false;
	printf("node %d: refresh of client %d, its answer is heard: %d\n", n, c, is_heard);
	if
	:: owner[n] == c ->
		SEEN;
		if
		:: is_heard -> prove(AT(c, n), PROVED_BY_MESSAGE(AT(c, n)))
		:: else
		fi;
#ifdef EXTEND
		left[n] = TTL;
		if
		:: is_heard -> prove(AT(c, n), sent[AT(c, n)])
		:: else
		fi;
#endif
		sent[AT(c, n)] = 0
	:: owner[n] != c && entry[AT(c, n)] ->
		SEEN;
		number[AT(c, n)] = sent[AT(c, n)];
#ifdef FROM_LAST_HEARD
		heard[AT(c, n)] = (is_heard -> sent[AT(c, n)] : heard[AT(c, n)]);
#endif
		sent[AT(c, n)] = 0
	:: owner[n] != c && !entry[AT(c, n)] && is_heard ->
		SEEN;
		find_nothing(c, n)
	:: else ->
		SEEN;
		sent[AT(c, n)] = 0
	fi
}

inline message_arrives(c, n)
{
	message[AT(c, n)] = false;
	printf("client %d: hears that node %d handed it the key\n", c, n);
	if
	:: tries[c] ->
		SEEN;
		prove(AT(c, n), PROVED_BY_MESSAGE(AT(c, n)))
	:: else
	fi
}

/* Behind a release, or when somebody notices that the key has expired. The entry is used up. */
inline hand_over(c, n)
{
	claim(c, n, HANDED_FOR);
	entry[AT(c, n)] = false;
	message[AT(c, n)] = true;
	printf("node %d: the key is handed to client %d\n", n, c)
}

/* Its lease, or the queue, is over. */
inline entry_is_lost(c, n)
{
	entry[AT(c, n)] = false;
	printf("node %d: the entry of client %d is gone\n", n, c)
}

#define MAY_REFRESH(x) (!registers[x] && !refreshes[x])

proctype link(byte c; byte n)
{
end:	do
	:: STEP(tries[c] && MAY_REFRESH(AT(c, n)), refresh(c, n))
	:: STEP(registers[AT(c, n)], register_arrives(c, n))
	:: STEP(refreshes[AT(c, n)], refresh_arrives(c, n, true))
	:: STEP(refreshes[AT(c, n)], refresh_arrives(c, n, false))
	:: STEP(message[AT(c, n)], message_arrives(c, n))
	:: STEP((owner[n] == OVER || owner[n] == NOBODY) && entry[AT(c, n)], hand_over(c, n))
	:: STEP(entry[AT(c, n)], entry_is_lost(c, n))
	od
}

/* ---- Steps of a node, without a client ----------------------------------------------------------------- */

/* A release arrives, or the key expires. */
inline key_is_freed(n)
{
	owner[n] = NOBODY;
	printf("node %d: the key of a token that is over is gone\n", n)
}

/* A late request of a token that is over, or a hand-over to one. */
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
	for (i : NODES .. PLACES - 1) {
		if
		:: registers[i] || refreshes[i] -> OLDER(sent[i])
		:: else
		fi;
		OLDER(number[i]);
		OLDER(proof[i]);
#ifdef FROM_LAST_HEARD
		OLDER(heard[i])
#endif
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
		for (i : 0 .. PLACES - 1) {
			number[i] = TTL;
			proof[i] = TTL;
#ifdef FROM_LAST_HEARD
			heard[i] = TTL
#endif
		}
		for (i : 1 .. CLIENTS) {
			run client(i);
			for (k : 0 .. NODES - 1) {
				run link(i, k)
			}
		}
		for (i : 0 .. NODES - 1) {
			run node(i)
		}
		i = 0;
		k = 0;
		run time()
	}
}
