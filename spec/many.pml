/* SPDX-License-Identifier: MIT */
/*
 * Several names at once: all or none on each node. How to read this language: README.md. README.md says what follows.
 *
 * Each client wants two of three names in a ring: 0 and 1, 1 and 2, 2 and 0. There is no time in it: the keys
 * of a client that neither claims nor holds go one by one, at any moment, by a release or by expiry. A refused
 * client tries again when none of its keys is left: then its token may be the same, as far as this model goes.
 * A client is done when it has had them. That all of them get so far is checked as the absence of a state in
 * which nothing can happen.
 */

#ifndef NODES
#define NODES 3
#endif
#ifndef CLIENTS
#define CLIENTS 3
#endif
#ifndef QUORUM
#define QUORUM (NODES / 2 + 1)
#endif
#define NAMES 3

/* TAKES_SOME  a node gives those names that are free, and says yes
 * ONE_BY_ONE  a client takes one name after the other, and waits with what it has
 * ONE_ORDER   the same, all in the same order */

#ifdef ONE_ORDER
#define FIRST(c) (c == 2 -> 0 : c)
#define SECOND(c) (c == 2 -> 2 : c + 1)
#else
#define FIRST(c) c
#define SECOND(c) ((c + 1) % NAMES)
#endif

#define UNASKED 0
#define NO 1
#define YES 2

typedef row { byte has[NAMES] }
typedef ballot { byte at[NODES] }

row key[NODES];			/* its holder, plus 1 */
ballot vote[CLIENTS];
byte yes[CLIENTS];		/* so many nodes have given it both names */
byte keys[CLIENTS];		/* so many are its own, on all nodes */
bool claims[CLIENTS], holds[CLIENTS];
byte held[NAMES];		/* by so many */

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

#define IS_FREE(n, name) (key[n].has[name] == 0)

inline vote_is_yes(c, n)
{
	vote[c].at[n] = YES;
	yes[c]++
}

inline name_is_taken(who, where, which)
{
	key[where].has[which] = who + 1;
	keys[who]++
}

/* ops/claim_all.lua */
inline all_or_none(c, n)
{
	if
	:: IS_FREE(n, FIRST(c)) && IS_FREE(n, SECOND(c)) ->
		SEEN;
		name_is_taken(c, n, FIRST(c));
		name_is_taken(c, n, SECOND(c));
		vote_is_yes(c, n);
		printf("node %d: gives both names to client %d\n", n, c)
#ifdef TAKES_SOME
	:: IS_FREE(n, FIRST(c)) && !IS_FREE(n, SECOND(c)) ->
		name_is_taken(c, n, FIRST(c));
		vote_is_yes(c, n);
		printf("node %d: gives its first name to client %d\n", n, c)
#endif
	:: else ->
		SEEN;
		vote[c].at[n] = NO;
		printf("node %d: has not both for client %d\n", n, c)
	fi
}

proctype node_for(byte c, n)
{
end:	do
#ifdef ONE_BY_ONE
	:: STEP(claims[c] && vote[c].at[n] == UNASKED && IS_FREE(n, FIRST(c)), name_is_taken(c, n, FIRST(c)); vote[c].at[n] = NO)
	:: STEP(claims[c] && vote[c].at[n] == NO && IS_FREE(n, SECOND(c)), name_is_taken(c, n, SECOND(c)); vote_is_yes(c, n))
#else
	:: STEP(claims[c] && vote[c].at[n] == UNASKED, all_or_none(c, n))
#endif
	od
}

/* Nobody asks for an attempt that is over. */
inline attempt_is_over(c)
{
	claims[c] = false;
	yes[c] = 0;
	for (i : 0 .. NODES - 1) {
		vote[c].at[i] = UNASKED
	}
	i = 0
}

inline names_are_granted(c)
{
	attempt_is_over(c);
	holds[c] = true;
	held[FIRST(c)]++;
	held[SECOND(c)]++;
	printf("client %d: holds both names\n", c);
	assert(held[FIRST(c)] <= 1);
	assert(held[SECOND(c)] <= 1)
}

inline names_are_released(c)
{
	holds[c] = false;
	held[FIRST(c)]--;
	held[SECOND(c)]--;
	printf("client %d: releases, or its time is over\n", c)
}

proctype client(byte c)
{
	byte i;
	do
	:: STEP(!claims[c] && !holds[c] && keys[c] == 0, claims[c] = true; printf("client %d: claims\n", c))
	:: STEP(claims[c] && yes[c] >= QUORUM, names_are_granted(c))
#ifndef ONE_BY_ONE
	:: STEP(claims[c], attempt_is_over(c))
#endif
	:: STEP(holds[c], names_are_released(c)); break
	od
}

proctype key_of(byte n, name)
{
end:	do
	:: atomic {
		!IS_FREE(n, name) && !claims[key[n].has[name] - 1] && !holds[key[n].has[name] - 1] ->
		SEEN;
		keys[key[n].has[name] - 1]--;
		key[n].has[name] = 0;
		printf("node %d: name %d is free\n", n, name)
	}
	od
}

byte a, b;

init {
	atomic {
		for (a : 0 .. CLIENTS - 1) {
			run client(a);
			for (b : 0 .. NODES - 1) {
				run node_for(a, b)
			}
		}
		for (a : 0 .. NODES - 1) {
			for (b : 0 .. NAMES - 1) {
				run key_of(a, b)
			}
		}
		a = 0;
		b = 0
	}
}
