/* SPDX-License-Identifier: MIT */
/* The settings of queue.pml, by -DNAME: its size, what may fail, and which rule is left out. */

/* ---- Size, and what may happen ----------------------------------------------------------------------------
 *
 * FAULTS=n        so many faults, of any kind that proctype world has
 * HANGS           a fault may be that node 0 hangs
 * GATES=2         node 1 is the gate where node 0 does not answer
 * SPLIT_GATES     client 2 takes node 1 for the gate
 * POLLS           who waits asks the gate at any time
 * GIVES_UP        who waits may give up
 * FIRST_SETS      the first request of each call is a SET to all, also at the gate
 * CALM            pauses are random: who tries by itself does it when nobody else asks
 * STUCK, LIVE, OVERTAKES=n: the promise to check
 * STORM=n         another client has the lock for good, on all nodes but the gate: at most n wake-ups
 */

#ifndef NODES
#define NODES 1
#endif
#ifndef CLIENTS
#define CLIENTS 2
#endif
#ifndef QUORUM
#define QUORUM (NODES / 2 + 1)
#endif
#ifndef FAULTS
#define FAULTS 0
#endif
#ifndef GATES
#define GATES 1
#endif

#ifdef SPLIT_GATES
#define FIRST_GATE(c) (c == 2 -> 1 : 0)
#else
#define FIRST_GATE(c) 0
#endif

#ifdef GIVES_UP
#define MAY_GIVE_UP true
#else
#define MAY_GIVE_UP false
#endif

#ifdef FIRST_SETS
#define FIRST_ENTERS false
#else
#define FIRST_ENTERS true
#endif

#ifdef CALM
#if CLIENTS == 2
#define ALONE(c) (phase[3 - c] != ASKING && !woken[3 - c])
#else
#define ALONE(c) ((c == 1 || phase[1] != ASKING) && (c == 2 || phase[2] != ASKING) && (c == 3 || phase[3] != ASKING))
#endif
#else
#define ALONE(c) true
#endif

/* ---- Counters ------------------------------------------------------------------------------------------ */

#ifdef OVERTAKES
#define STANDS(c) stands[c] = true
#define BEGINS(c) \
	for (k : 1 .. CLIENTS) { \
		later[k] = (stands[k] -> later[k] | BIT(c) : later[k]) \
	} \
	k = 0
#define IS_DONE(c) \
	stands[c] = false; \
	later[c] = 0; \
	overtakes[c] = 0; \
	for (k : 1 .. CLIENTS) { \
		DROP(later[k], c) \
	} \
	k = 0
#define GRANTED(c) \
	for (k : 1 .. CLIENTS) { \
		if \
		:: k != c && stands[k] && HAS(later[k], c) -> \
			overtakes[k]++; \
			assert(overtakes[k] <= OVERTAKES) \
		:: else \
		fi \
	} \
	k = 0; \
	IS_DONE(c)
#else
#define STANDS(c) skip
#define BEGINS(c) skip
#define IS_DONE(c) skip
#define GRANTED(c) skip
#endif

#ifdef STORM
#define COUNT_WAKE wakes++; assert(wakes <= STORM)
#define PLAIN_RELEASES false
#else
#define PLAIN_RELEASES true
#define COUNT_WAKE skip
#endif

/* ---- The rules, and what becomes of them when one is left out ------------------------------------------ */

#ifdef POPPED			/* a waiter that is woken is taken out of the queue */
#define WAKE_MARK(n, c) remove(c, n)
#else
#define WAKE_MARK(n, c) PUT(woken_until[n], c)
#endif

#ifdef NO_TIME_LIMIT		/* a waiter that was woken goes first for ever */
#define TIME_LIMIT false
#else
#define TIME_LIMIT true
#endif

#ifdef TURN_EVERYWHERE		/* each node has a queue and respects it */
#define BY_ENTER(c, n) enters[c]
#define GATE_ALONE true
#else
#define BY_ENTER(c, n) (enters[c] && n == gate[c])
#define GATE_ALONE false
#endif

#ifdef ENTERS_AND_SETS		/* a client that knows of waiters asks the gate and the others at once */
#define FIRST_ASKS true
#else
#define FIRST_ASKS GATE_ALONE
#endif

#ifdef PLACE_USED_AGAIN	/* a place has no number of the call: old messages wake the next call */
#define PLACE_IS_OVER(c) skip
#else
#define PLACE_IS_OVER(c) message[c] = false
#endif
#define PLACE_IS_OLD(c) (!WANTS(c))

#ifdef MARK_STAYS		/* a waiter that came and was refused counts as woken still */
#define HAS_COME(c, n) skip
#else
#define HAS_COME(c, n) DROP(woken_until[n], c); DROP(time_over[n], c)
#endif

#ifdef DROPS_ITSELF		/* a waiter that comes late is dropped by its own ENTER */
#define SPARED(c) 0
#else
#define SPARED(c) c
#endif

#ifdef RETURN_LEAVES		/* an attempt that failed gives up its place, and wakes the next one */
#define RETURN(c, n) leave(c, n)
#else
#define RETURN(c, n) \
	if \
	:: BY_ENTER(c, n) -> to_the_front(c, n) \
	:: else -> wake_first(n, 0) \
	fi
#endif

#ifdef WAITS_FOR_MESSAGE	/* an attempt that failed is made again when woken, or by a poll */
#define COMES_AGAIN again[c]
#else
#define COMES_AGAIN true
#endif

#ifdef TELLS_OWNER_ONLY		/* VACATE tells of waiters only if the key was the caller's */
#define TELLS(ours) ours
#else
#define TELLS(ours) true
#endif

#ifdef FORGETS_MESSAGES		/* a message that comes while an attempt is out is nothing */
#define REMEMBERS(c) (phase[c] == WAITING)
#else
#define REMEMBERS(c) true
#endif

/* ---- For loops that a condition cannot have ------------------------------------------------------------ */

#define ANSWERED(c, n) (hung[n] || !HAS(asked[n], c))
#if NODES == 1
#define ALL_ANSWERED(c) ANSWERED(c, 0)
#elif NODES == 2
#define ALL_ANSWERED(c) (ANSWERED(c, 0) && ANSWERED(c, 1))
#else
#define ALL_ANSWERED(c) (ANSWERED(c, 0) && ANSWERED(c, 1) && ANSWERED(c, 2))
#endif
