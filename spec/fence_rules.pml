/* SPDX-License-Identifier: MIT */
/* The settings of fence.pml, by -DNAME: its size, how far the world may go, and which rule is left out. */

/* FORGETS=n         so often, in all, a node forgets what it knew
 * COUNTERS_EXPIRE   a counter that is not there begins above the floor, not above gmax */

#ifndef NODES
#define NODES 3
#endif
#ifndef ATTEMPTS
#define ATTEMPTS 2
#endif
#define QUORUM (NODES / 2 + 1)
#ifndef FORGETS
#define FORGETS 0
#endif

#define HIGHEST_THERE(n) LARGER(counter[n], floor[n])

#ifdef FLOOR_NOT_READ		/* a repair reads what a node has granted, not the floor that it was admitted with */
#define GMAX(n) counter[n]
#else
#define GMAX(n) HIGHEST_THERE(n)
#endif

#ifdef NO_SECOND_ROUND		/* the highest of a quorum is the number */
#define CONFIRMS(c, n) (vote[AT(c, n)] != 0)
#else
#define CONFIRMS(c, n) (vote[AT(c, n)] == most[c])
#endif

#ifdef LATE_VOTES_CONFIRM	/* a vote that is heard late is raised like any other, also one that is above the number */
#define MAY_STILL_COUNT(c, n) true
#else
#define MAY_STILL_COUNT(c, n) (counter[n] <= most[c])
#endif

/* Raises are sent to nodes that voted, as often as one likes. They may come when their attempt is over. */
#define RAISE_IS_OUT(c, n) ((phase[c] == RAISING && vote[AT(c, n)] != 0 && !confirmed[AT(c, n)]) || \
                            (phase[c] == OVER && counter[n] < most[c]))

#ifdef RAISE_UNCHECKED		/* the counter is raised although the key is another's */
#define RAISES(c, n) admitted[n]
#else
#define RAISES(c, n) (owner[n] == c && admitted[n])
#endif

#ifdef HAND_UNCHECKED		/* the release does not look at the record before it hands over */
#define MAY_HAND(n) true
#else
#define MAY_HAND(n) admitted[n]
#endif

#ifdef HAND_KEEPS_NUMBER	/* the heir gets the number of the holder */
#define HANDED(n) counter[n]
#else
#define HANDED(n) (HIGHEST_THERE(n) + 1)
#endif

#ifdef NO_GUARD			/* a node that forgot votes at once */
#define REJOINS_AT_ONCE true
#else
#define REJOINS_AT_ONCE false
#endif

#if defined(TOLD_EARLY)		/* the id is told while the quarantine still runs; the admission waits for its end */
#define MAY_LEARN(n) true
#define MAY_BE_ADMITTED(n) QUARANTINE_IS_OVER(n)
#elif defined(NO_QUARANTINE)	/* repaired, but at once */
#define MAY_LEARN(n) true
#define MAY_BE_ADMITTED(n) true
#else
#define MAY_LEARN(n) QUARANTINE_IS_OVER(n)
#define MAY_BE_ADMITTED(n) QUARANTINE_IS_OVER(n)
#endif

#ifdef ANY_ID			/* the admission quotes nothing */
#define IS_QUOTED(n) true
#else
#define IS_QUOTED(n) (quoted[n] == id[n])
#endif

#ifdef READS_ANYBODY		/* also nodes that are not admitted themselves */
#define MAY_READ(n) true
#else
#define MAY_READ(n) admitted[n]
#endif

#ifdef READS_FEWER		/* for locks only is as good as for fencing */
#define READ_QUORUM 0
#else
#define READ_QUORUM QUORUM
#endif

#ifdef REJOINS_AT_0		/* plain delayed restart: no counters are read */
#define ADMITTED_FLOOR(n) 0
#else
#define ADMITTED_FLOOR(n) LARGER(found, GMAX(n))
#endif
