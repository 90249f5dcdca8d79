/* SPDX-License-Identifier: MIT */
/*
 * Members of a node set that change one at a time, while locks are held and numbers are issued. How to read this language:
 * README.md, which says what the steps stand for.
 *
 * There is no time in here: the key of an attempt that claims or holds does not go, which is what proof/lock.thm
 * proves of a TTL. It goes when the client's clock says that the lease is over, or when it is released. To
 * wait "a TTL after" means: until all that a configuration granted is over or was extended under a later one.
 *
 * Configurations are numbered from 1; MEMBERS(1) to MEMBERS(3) are sets of nodes, one bit each. Where a member is
 * replaced, the first list has another number too, RENAMED, from the moment when the first id is refused.
 */

#include "members_rules.pml"

mtype = { IDLE, CLAIMING, HELD, OVER };

#define NOBODY 0
#define BIT(x) (1 << (x))
#define IN(g, n) ((MEMBERS(g) & BIT(n)) != 0)
#define ONE(g, n) (IN(g, n) -> 1 : 0)
#define SIZE(g) (ONE(g, 0) + ONE(g, 1) + ONE(g, 2) + ONE(g, 3))
#define QUORUM(g) (SIZE(g) / 2 + 1)
#define LARGER(a, b) ((a) > (b) -> (a) : (b))

/* A node. */
byte owner[NODES];		/* NOBODY or an attempt */
byte counter[NODES];		/* the highest number that was granted there, or that it must stay above */
byte accepts[NODES];		/* the configuration of its record; 0: it is not admitted */
#define REMOVED 9		/* instead: it was told that it is none of them any more */
bool preceding[NODES];		/* and the one before it is accepted, too */
bool renamed[NODES];		/* the one before is the first list by its other id */
bool fences[NODES];		/* admitted for numbers, not for locks only */

/* An attempt, with one configuration for all that it asks; they are numbered from 1. */
mtype phase[ATTEMPTS + 1];
byte under[ATTEMPTS + 1];	/* the configuration */
byte since[ATTEMPTS + 1];	/* the highest number that was issued before it began */
byte asked[ATTEMPTS + 1];	/* one bit per node: its claim has arrived */
byte votes[ATTEMPTS + 1];	/* one bit per node */
byte most[ATTEMPTS + 1];	/* the highest number of its votes */

byte newest = 1;		/* the step that was begun last */
byte highest;			/* number issued */
byte forgets;
byte i, k, count, worst;	/* for loops, 0 between steps */
bool done;

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

#define STEP(condition, action) d_step { condition -> SEEN; action }

#define ACCEPTS(n, g) \
	(accepts[n] == (g) || (preceding[n] && (ACCEPTS_LIST(n, g) || (!renamed[n] && accepts[n] == (g) + 1))))

#define COUNT_NODES(condition) \
	for (k : 0 .. NODES - 1) { \
		count = count + (condition -> 1 : 0) \
	} \
	k = 0

inline check_promises()
{
	count = 0;
	for (k : 1 .. ATTEMPTS) {
		count = count + (phase[k] == HELD -> 1 : 0)
	}
	k = 0;
	assert(count <= 1);
	count = 0
}

/* ---- Steps of an attempt ------------------------------------------------------------------------------- */

/* With any configuration that it may have heard of. */
inline begin_attempt(c, g)
{
	phase[c] = CLAIMING;
	under[c] = g;
	since[c] = highest;
	printf("client %d: claims under configuration %d\n", c, g)
}

inline claim_arrives(c, n)
{
	asked[c] = asked[c] | BIT(n);
	if
	:: owner[n] == NOBODY && (ACCEPTS(n, under[c]) || MIXED(n, under[c])) ->
		SEEN;
		owner[n] = c;
		if
		:: fences[n] -> counter[n]++
		:: else
		fi;
		votes[c] = votes[c] | BIT(n);
		most[c] = LARGER(most[c], counter[n]);
		printf("node %d: votes for client %d, number %d\n", n, c, counter[n])
	:: else ->
		SEEN;
		printf("node %d: refuses client %d\n", n, c)
	fi
}

/* A quorum of its configuration: each that is lower is raised now, in one step (proof/fence.thm has them one by one), and
 * that needs the record to accept the configuration still. Without, or where a node does not draw numbers, it holds
 * without a number. */
inline grant(c)
{
	COUNT_NODES((votes[c] & BIT(k)) != 0 && owner[k] == c);
	if
	:: count >= QUORUM(under[c]) ->
		SEEN;
		phase[c] = HELD;
		count = 0;
		COUNT_NODES((votes[c] & BIT(k)) != 0 && ACCEPTS(k, under[c]) && fences[k]);
		printf("client %d: holds\n", c);
		if
		:: count >= QUORUM(under[c]) ->
			SEEN;
			for (k : 0 .. NODES - 1) {
				if
				:: (votes[c] & BIT(k)) != 0 && ACCEPTS(k, under[c]) && fences[k] && counter[k] < most[c] ->
					counter[k] = most[c]
				:: else
				fi
			}
			k = 0;
			printf("client %d: number %d is issued\n", c, most[c]);
#ifdef NUMBERS
			assert(most[c] > since[c]);
			assert(most[c] != highest);
#endif
			highest = LARGER(highest, most[c])
		:: else
		fi;
		most[c] = 0;
		since[c] = 0
	:: else
	fi;
	count = 0;
	check_promises()
}

/* Under a configuration that it knows by now. It is one round, and the record is looked at like by a claim. */
inline extend(c, g)
{
	COUNT_NODES(owner[k] == c && IN(g, k) && ACCEPTS(k, g));
	if
	:: count >= QUORUM(g) ->
		SEEN;
		under[c] = g;
		printf("client %d: extends under configuration %d\n", c, g)
	:: else
	fi;
	count = 0
}

/* Given up, released, or over. */
inline end_attempt(c)
{
	phase[c] = OVER;
	under[c] = 0;
	since[c] = 0;
	most[c] = 0;
	votes[c] = 0;
	asked[c] = ~0;
	for (k : 0 .. NODES - 1) {
		owner[k] = (owner[k] == c -> NOBODY : owner[k])
	}
	k = 0;
	printf("client %d: it is over\n", c)
}

proctype client(byte c; byte g)
{
end:	do
	:: STEP(phase[c] == IDLE && KNOWN(g) && (c == 1 || phase[c - 1] != IDLE), begin_attempt(c, g))
	:: STEP(phase[c] == HELD && KNOWN(g) && LATER(g, under[c]), extend(c, g))
	:: STEP(g == 1 && phase[c] == CLAIMING, grant(c))
	:: STEP(g == 1 && (phase[c] == CLAIMING || phase[c] == HELD), end_attempt(c))
	od
}

proctype link(byte c; byte n)
{
end:	do
	:: STEP(phase[c] == CLAIMING && IN(under[c], n) && (asked[c] & BIT(n)) == 0, claim_arrives(c, n))
	od
}

/* ---- Steps of the change: from configuration newest to the next ---------------------------------------- */

/* The numbers of a quorum are read. Of all quorums, the one whose highest number is the lowest: that number is the
 * lowest one which a quorum is not above. */
inline read_worst(g)
{
	worst = 255;
	for (i : 0 .. NODES - 1) {
		count = 0;
		COUNT_NODES(IN(g, k) && counter[k] <= counter[i]);
		worst = (IN(g, i) && count >= QUORUM(g) && counter[i] < worst -> counter[i] : worst)
	}
	i = 0;
	count = 0
}

/* Each member is brought above the numbers of a quorum. */
inline carry(g)
{
	printf("change: all members are above the numbers of a quorum\n");
	read_worst(g);
	for (k : 0 .. NODES - 1) {
		counter[k] = (IN(g, k) -> LARGER(counter[k], worst) : counter[k])
	}
	k = 0;
	worst = 0
}

/* All members refuse what came before, the removed one too; a TTL has passed. */
inline change_ends(g)
{
	done = true;
	for (k : 0 .. NODES - 1) {
		done = done && (!IN(g, k) || (accepts[k] == g && (!preceding[k] || renamed[k])) || STILL_ACCEPTED)
	}
	k = 0;
	for (k : 0 .. NODES - 1) {
		done = done && (IN(g, k) || g == 1 || !IN(g - 1, k) || accepts[k] == REMOVED || REMOVED_ONE_UNTOLD)
	}
	for (k : 1 .. ATTEMPTS) {
		done = done && (under[k] == 0 || under[k] == g || under[k] == RENAMED || NO_WAIT(k, g))
	}
	k = 0
}

inline next_change(g)
{
	change_ends(g);
	if
	:: done ->
		SEEN;
		printf("change: begins configuration %d\n", g + 1);
#ifndef CARRIES_NOT
		carry(g);
#endif
		newest = g + 1
	:: else
	fi;
	done = false
}

/* A member takes the new configuration, and accepts the preceding one; one that is new begins above the numbers of a
 * quorum. */
inline takes(n)
{
	if
	:: accepts[n] == 0 ->
		SEEN;
		read_worst(newest - 1);
		counter[n] = LARGER(counter[n], worst);
		worst = 0
	:: else
	fi;
	accepts[n] = newest;
	preceding[n] = true;
	fences[n] = true;
	printf("node %d: takes configuration %d\n", n, newest)
}

inline refuses_preceding(n)
{
	preceding[n] = false;
	printf("node %d: accepts configuration %d only\n", n, accepts[n])
}

/* Instead, where a member is replaced: from now on only members that stay vote for the first list. */
inline renames(n)
{
	renamed[n] = true;
	printf("node %d: accepts the first list by its other id\n", n)
}

inline is_removed(n)
{
	accepts[n] = REMOVED;
	printf("node %d: is told that it was removed\n", n)
}

#define ALL_TOOK(g) \
	((!IN(g, 0) || accepts[0] == (g)) && (!IN(g, 1) || accepts[1] == (g)) && \
	 (!IN(g, 2) || accepts[2] == (g)) && (!IN(g, 3) || accepts[3] == (g)))

/* ---- A node forgets, and is admitted for locks only ---------------------------------------------------- */

/* The node's quarantine lies in between: all that it had granted is over. */
inline forget(n)
{
	forgets++;
	accepts[n] = 0;
	preceding[n] = false;
	renamed[n] = false;
	fences[n] = false;
	owner[n] = NOBODY;
	counter[n] = 0;
	printf("node %d: has forgotten, and its quarantine is over\n", n)
}

/* By a client that has this configuration. */
inline admit(n, g)
{
	accepts[n] = g;
	printf("node %d: is admitted under configuration %d, for locks only\n", n, g)
}

proctype node(byte n; byte g)
{
end:	do
	:: STEP(g == newest && g > 1 && IN(g, n) && accepts[n] != g && (accepts[n] == g - 1 || !IN(g - 1, n)), takes(n))
	:: STEP(g == newest && g != REPLACING && accepts[n] == g && preceding[n] && ALL_TOOK(g), refuses_preceding(n))
#ifdef REPLACES
	:: STEP(g == REPLACING && newest == g && accepts[n] == g && preceding[n] && !renamed[n] && ALL_TOOK(g), renames(n))
#endif
	:: STEP(g == newest && g > 1 && !IN(g, n) && accepts[n] == g - 1 && ALL_TOOK(g), is_removed(n))
#if FORGETS
	:: STEP(g == 1 && forgets < FORGETS && accepts[n] != 0 && owner[n] == NOBODY, forget(n))
	:: STEP(forgets > 0 && accepts[n] == 0 && !fences[n] && IN(g, n) && KNOWN(g) && MAY_ADMIT(n, g), admit(n, g))
#endif
	od
}

proctype change()
{
end:	do
	:: STEP(newest == 1, next_change(1))
	:: STEP(newest == 2, next_change(2))
	od
}

init {
	atomic {
		for (i : 0 .. NODES - 1) {
			accepts[i] = (IN(1, i) -> 1 : 0);
			fences[i] = IN(1, i);
			for (k : 1 .. MOST_ADMITTED) {
				run node(i, k)
			}
		}
		for (i : 1 .. ATTEMPTS) {
			phase[i] = IDLE;
			for (k : 1 .. CONFIGURATIONS) {
				run client(i, k)
			}
			for (k : 0 .. NODES - 1) {
				run link(i, k)
			}
		}
		i = 0;
		k = 0;
		run change()
	}
}
