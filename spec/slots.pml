/* SPDX-License-Identifier: MIT */
/*
 * Slots: at most SLOTS holders of one name. How to read this language: redlock.pml. README.md says what follows.
 *
 * There is no time in it: that a holder stops before its keys expire is what redlock.pml is about. Here the keys of who
 * neither claims nor holds go one by one, at any moment, by a release or by expiry. A client makes one attempt: the next one
 * would have another token, and so be another client.
 */

#ifndef NODES
#define NODES 3
#endif
#ifndef CLIENTS
#define CLIENTS 3
#endif
#ifndef SLOTS
#define SLOTS 2
#endif
#ifndef QUORUM
#define QUORUM (NODES / 2 + 1)
#endif

/* ANY_FIRST   an attempt may begin at any slot
 * STAYS       nobody gives up or releases: what goes wrong, does so before
 * COUNTING    nodes that gave any slot are a quorum: the counting semaphore */

#ifdef ANY_FIRST
#define BEGINS_AT(s) true
#else
#define BEGINS_AT(s) (s == 0)
#endif

#ifdef COUNTING
#define WEIGHS(s) (s == 0)	/* all slots are one */
#else
#define WEIGHS(s) true
#endif

#define UNASKED 0
#define NO 1
#define YES 2	/* and above: the slot */

typedef row { byte has[SLOTS] }
typedef ballot { byte at[NODES] }

row key[NODES];			/* its holder, plus 1 */
ballot vote[CLIENTS];
byte first[CLIENTS];		/* the slot to try first */
bool claims[CLIENTS], holds[CLIENTS];
bool begun[CLIENTS];
byte slot[CLIENTS];
bool had[SLOTS];		/* by a holder */
byte holders;

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

#define STEP(condition, action) atomic { condition -> SEEN; action }

/* scripts/slot.lua: the first one that is free. */
inline slot_is_given(c, n)
{
	s = first[c];
	i = 0;
	do
	:: i < SLOTS && key[n].has[s] != 0 -> s = (s + 1) % SLOTS; i++
	:: else -> break
	od;
	if
	:: i < SLOTS ->
		SEEN;
		key[n].has[s] = c + 1;
		vote[c].at[n] = YES + s;
		printf("node %d: gives slot %d to client %d\n", n, s, c)
	:: else ->
		SEEN;
		vote[c].at[n] = NO;
		printf("node %d: has none for client %d\n", n, c)
	fi;
	s = 0;
	i = 0
}

proctype node_for(byte c, n)
{
	byte s, i;
end:	do
	:: STEP(claims[c] && vote[c].at[n] == UNASKED, slot_is_given(c, n))
	od
}

/* How many have given this slot. */
inline votes_are_counted(c, s)
{
	yes = 0;
	for (i : 0 .. NODES - 1) {
#ifdef COUNTING
		yes = yes + (vote[c].at[i] >= YES)
#else
		yes = yes + (vote[c].at[i] == YES + s)
#endif
	}
	i = 0
}

/* Nobody asks for an attempt that is over. */
inline attempt_is_over(c)
{
	claims[c] = false;
	first[c] = 0;
	for (i : 0 .. NODES - 1) {
		vote[c].at[i] = UNASKED
	}
	i = 0
}

inline slot_is_granted(c, s)
{
	attempt_is_over(c);
	holds[c] = true;
	slot[c] = s;
	holders++;
	printf("client %d: holds slot %d\n", c, s);
#ifndef COUNTING
	assert(!had[s]);
#endif
	had[s] = true;
	assert(holders <= SLOTS)
}

inline attempt_begins(c, from)
{
	begun[c] = true;
	first[c] = from;
	claims[c] = true;
	printf("client %d: claims, from slot %d on\n", c, from)
}

inline slot_is_released(c)
{
	holds[c] = false;
	had[slot[c]] = false;
	slot[c] = 0;
	holders--;
	printf("client %d: releases, or its time is over\n", c)
}

proctype client(byte c, s)
{
	byte i, yes;
end:	do
	:: STEP(!begun[c] && BEGINS_AT(s), attempt_begins(c, s))
	:: atomic {
		claims[c] && WEIGHS(s) -> votes_are_counted(c, s);
		if
		:: yes >= QUORUM -> SEEN; slot_is_granted(c, s)
		:: else
		fi;
		yes = 0
	}
#ifndef STAYS
	:: STEP(claims[c], attempt_is_over(c))
	:: STEP(holds[c] && slot[c] == s, slot_is_released(c))
#endif
	od
}

proctype key_of(byte n, s)
{
end:	do
	:: atomic {
		key[n].has[s] != 0 && !claims[key[n].has[s] - 1] && !holds[key[n].has[s] - 1] ->
		SEEN;
		key[n].has[s] = 0;
		printf("node %d: slot %d is free\n", n, s)
	}
	od
}

byte a, b;

init {
	atomic {
		for (a : 0 .. CLIENTS - 1) {
			for (b : 0 .. NODES - 1) {
				run node_for(a, b)
			}
			for (b : 0 .. SLOTS - 1) {
				run client(a, b)
			}
		}
		for (a : 0 .. NODES - 1) {
			for (b : 0 .. SLOTS - 1) {
				run key_of(a, b)
			}
		}
		a = 0;
		b = 0
	}
}
