/* SPDX-License-Identifier: MIT */
/* The settings of members.pml, by -DNAME: which members, and which rule is left out. */

/* GROWS, SHRINKS, SWAPS  three configurations, one after the other
 * REPLACES               the same: member 0 goes, member 3 comes, and the first list is accepted all the time, by another id
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
#elif defined(REPLACES)
#define NODES 4
#define MEMBERS(g) ((g) == 2 -> 6 : ((g) == 3 -> 14 : 7))
#elif defined(SWAPS)
#define NODES 4
#define MEMBERS(g) ((g) == 1 -> 7 : ((g) == 2 -> 15 : 14))
#else
#define NODES 3
#define MEMBERS(g) ((g) == 1 -> 7 : ((g) == 2 -> 6 : 4))
#endif

/* The id that the first list has beside configuration 2, and 3. It is learnt together with these. */
#ifdef REPLACES
#define RENAMED 4
#define REPLACING 2
#define CONFIGURATIONS 4
#define KNOWN(g) ((g) == RENAMED -> renamed[1] || renamed[2] : (g) <= newest)
#define LATER(g, before) ((g) != (before))
#else
#define RENAMED 0
#define REPLACING 0
#define CONFIGURATIONS 3
#define KNOWN(g) ((g) <= newest)
#define LATER(g, before) ((g) > (before))
#endif

#ifdef KEEPS_ID			/* the first list stays accepted as it is */
#define ACCEPTS_LIST(n, g) ((g) == 1 && renamed[n])
#else
#define ACCEPTS_LIST(n, g) ((g) == RENAMED && renamed[n])
#endif

#ifdef MIXES_IDS		/* votes for one list add up whatever its id is */
#define MIXED(n, g) (((g) == 1 || (g) == RENAMED) && (ACCEPTS(n, 1) || ACCEPTS(n, RENAMED)))
#else
#define MIXED(n, g) false
#endif

#ifdef ADMITS_RENAMED		/* a client that goes by that id admits nodes for it */
#define MOST_ADMITTED RENAMED
#else
#define MOST_ADMITTED 3
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
