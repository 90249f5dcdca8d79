/* SPDX-License-Identifier: MIT */
/* The settings of members.pml, by -DNAME: which members, and which rule is left out. */

/* GROWS, SHRINKS, SWAPS  three configurations, one after the other
 * NUMBERS                each attempt draws a number
 * FORGETS=n              so often, in all, a node forgets, and is admitted for locks only */

#ifndef ATTEMPTS
#define ATTEMPTS 2
#endif
#ifndef FORGETS
#define FORGETS 0
#endif

#if defined(GROWS)
#define NODES 3
#define MEMBERS(g) ((g) == 1 -> 1 : ((g) == 2 -> 3 : 7))
#elif defined(SWAPS)
#define NODES 4
#define MEMBERS(g) ((g) == 1 -> 7 : ((g) == 2 -> 15 : 14))
#else
#define NODES 3
#define MEMBERS(g) ((g) == 1 -> 7 : ((g) == 2 -> 6 : 4))
#endif

#ifdef TWO_AT_ONCE		/* the next change begins while some still accept what came before this one */
#define STILL_ACCEPTED accepts[k] >= g
#else
#define STILL_ACCEPTED false
#endif

#ifdef WAITS_NOT		/* it begins as soon as all refuse */
#define NO_WAIT(c, g) true
#elif defined(EXTENDS_UNCHECKED)	/* what is extended without a look at the record does not end */
#define NO_WAIT(c, g) (phase[c] == HELD && KEYS(c) >= QUORUM(under[c]))
#define KEYS(c) (HAS_KEY(c, 0) + HAS_KEY(c, 1) + HAS_KEY(c, 2))
#define HAS_KEY(c, n) (owner[n] == c -> 1 : 0)
#else
#define NO_WAIT(c, g) false
#endif

#ifdef REMOVED_UNTOLD		/* nobody asks the one that was removed */
#define REMOVED_ONE_UNTOLD true
#else
#define REMOVED_ONE_UNTOLD false
#endif

/* Any client admits a node for locks only, under the configuration that the client has. */
#ifdef ASKS_ALL			/* all members of it answer, and none has a later one */
#define NO_LATER(n, g) (!IN(g, n) || accepts[n] <= (g))
#define MAY_ADMIT(n, g) (NO_LATER(0, g) && NO_LATER(1, g) && NO_LATER(2, g))
#else
#define MAY_ADMIT(n, g) true
#endif
