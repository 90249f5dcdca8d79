/* SPDX-License-Identifier: MIT */
/*
 * Waiting in turn: the queue at the gate, its wake-ups, and everybody who may fail in it. How to read this
 * language: README.md. README.md says which step stands for what.
 *
 * There is no time in here: a long delay is a step that comes late. The promises of a lease and a TTL are
 * the part of proof/lock.thm, and are taken from there: a key whose client is alive does not expire. So exclusion is
 * checked again, but the purpose of this model is that waiting ends:
 *   - STUCK: without a fault, and without any poll, the lock is never left free while somebody waits;
 *   - LIVE: with finitely many faults, and with all messages lost, polls alone see to it (searched for
 *     cycles);
 *   - OVERTAKES=n: without a fault, a waiter in the queue sees at most n clients go first that came later.
 *
 * A proctype whose steps must come (client, link, node, poll) is treated fairly by a search for cycles.
 * Events that may happen, but need not, are in proctype world: it may always do nothing instead.
 */

#include "queue_rules.pml"

/* ---- State --------------------------------------------------------------------------------------------- */

mtype = { IDLE, ASKING, WAITING, HELD, GONE, DEAD, STOPPED };

#define NOBODY 0
#define PLAIN 14		/* a client of another kind: it does not know of the queue */
#define OVER 15			/* the token of an attempt whose client is gone */
#define BIT(c) (1 << (c))

/* A node: its key, and its queue, which only the gate uses. */
byte key[NODES];
byte line[NODES * CLIENTS];	/* clients in order of arrival, then 0 */
byte woken_until[NODES];	/* one bit per client: its entry was woken, and it goes first */
byte time_over[NODES];		/* its time to go first has passed */
bool hung[NODES];

/* Between clients and nodes: one bit per client. On one connection nothing overtakes: the release, then
 * the request. */
byte asked[NODES];		/* the request has not arrived */
byte yes[NODES];		/* it has: a vote */
byte release_out[NODES];	/* the release has not arrived */
byte leaves[NODES];		/* that release is a LEAVE */
byte returns[NODES];		/* that release is one of an attempt that will be made again */
byte told[NODES];		/* VACATE said that somebody waits: a LEAVE follows */

/* A client; they are numbered from 1. */
mtype phase[CLIENTS + 1];
byte gate[CLIENTS + 1];
bool enters[CLIENTS + 1];	/* the gate is asked by ENTER, not by SET */
bool asks_all[CLIENTS + 1];	/* not the gate alone */
bool again[CLIENTS + 1];	/* it will try again soon, by itself */
bool message[CLIENTS + 1];	/* a wake-up is on its way */
bool woken[CLIENTS + 1];	/* it has arrived */

#ifdef OVERTAKES
bool stands[CLIENTS + 1];	/* it is or was in the queue, and still wants the lock */
byte later[CLIENTS + 1];	/* one bit per client: that one began after this one stood in the queue */
byte overtakes[CLIENTS + 1];
#endif
#ifdef STORM
byte wakes;			/* since the lock changed hands */
#endif

byte faults;
byte i, j, k, held;		/* for loops, 0 between steps */
bool found;

#define HAS(set, c) ((set & BIT(c)) != 0)
#define PUT(set, c) set = set | BIT(c)
#define DROP(set, c) set = set & ~BIT(c)
#define IS_ALIVE(c) (phase[c] != DEAD && phase[c] != STOPPED)
#define WANTS(c) (phase[c] == ASKING || phase[c] == WAITING)
#define FIRST(n) line[(n) * CLIENTS]

#include "queue_steps.pml"

/* ---- Promises ------------------------------------------------------------------------------------------ */

inline count_held()
{
	held = 0;
	for (k : 1 .. CLIENTS) {
		held = held + (phase[k] == HELD -> 1 : 0)
	}
	k = 0
}

/* Nothing is on its way, nobody has the lock, and somebody waits: only a poll can help. */
inline check_stuck()
{
	found = false;
	held = 0;
	for (k : 0 .. NODES - 1) {
		held = held + (key[k] != NOBODY || asked[k] != 0 || release_out[k] != 0 || told[k] != 0 -> 1 : 0)
	}
	for (k : 1 .. CLIENTS) {
		held = held + (phase[k] == HELD || phase[k] == ASKING || again[k] || message[k] || woken[k] -> 1 : 0);
		found = found || phase[k] == WAITING
	}
	k = 0;
	assert(held > 0 || !found);
	held = 0;
	found = false
}

#ifdef STUCK
#define CHECK check_stuck()
#else
#define CHECK skip
#endif

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

#define STEP(condition, action) d_step { condition -> SEEN; action; CHECK }

/* ---- Steps of the gate: the scripts -------------------------------------------------------------------- */

/* The first one whose time is not over is woken, once. PUBLISH tells whether anybody hears it. */
inline wake_first(n, spared)
{
	do
	:: FIRST(n) == 0 || FIRST(n) == spared -> break
	:: else ->
		i = FIRST(n);
		if
		:: HAS(time_over[n], i) ->
			SEEN;
			printf("node %d: the time of client %d is over, it is dropped\n", n, i);
			remove(i, n)
		:: else ->
			if
			:: HAS(woken_until[n], i) -> break
			:: !HAS(woken_until[n], i) && (phase[i] == DEAD || phase[i] == GONE) ->
				SEEN;
				printf("node %d: nobody hears client %d's channel, it is dropped\n", n, i);
				remove(i, n)
			:: else ->
				SEEN;
				WAKE_MARK(n, i);
				message[i] = true;
				COUNT_WAKE;
				printf("node %d: wakes client %d\n", n, i);
				break
			fi
		fi
	od;
	i = 0
}

inline drop_late(n, spared)
{
	do
	:: FIRST(n) != 0 && FIRST(n) != spared && HAS(time_over[n], FIRST(n)) ->
		SEEN;
		i = FIRST(n);
		printf("node %d: the time of client %d is over, it is dropped\n", n, i);
		remove(i, n)
	:: else -> break
	od;
	i = 0
}

inline enter(c, n)
{
	drop_late(n, SPARED(c));
	if
	:: key[n] == NOBODY -> wake_first(n, c)
	:: else
	fi;
	if
	:: key[n] == NOBODY && (FIRST(n) == 0 || FIRST(n) == c) ->
		SEEN;
		key[n] = c;
		remove(c, n);
		PUT(yes[n], c);
		printf("node %d: ENTER of client %d, taken\n", n, c)
	:: else ->
		SEEN;
		find(c, n);
		if
		:: !found -> append(c, n)
		:: else ->
			HAS_COME(c, n)
		fi;
		found = false;
		STANDS(c);
		printf("node %d: ENTER of client %d, it stands in the queue\n", n, c)
	fi
}

inline set_nx(c, n)
{
	if
	:: key[n] == NOBODY ->
		SEEN;
		key[n] = c;
		PUT(yes[n], c);
		printf("node %d: SET of client %d, taken\n", n, c)
	:: else ->
		SEEN;
		printf("node %d: SET of client %d, refused\n", n, c)
	fi
}

inline request_arrives(c, n)
{
	DROP(asked[n], c);
	if
	:: BY_ENTER(c, n) -> enter(c, n)
	:: else -> set_nx(c, n)
	fi
}

inline leave(c, n)
{
	remove(c, n);
	if
	:: key[n] == NOBODY -> wake_first(n, 0)
	:: else
	fi
}

inline release_arrives(c, n)
{
	DROP(release_out[n], c);
	found = key[n] == c;
	key[n] = (found -> NOBODY : key[n]);
	printf("node %d: release of client %d\n", n, c);
	if
	:: HAS(returns[n], c) ->
		found = false;
		DROP(returns[n], c);
		RETURN(c, n)
	:: HAS(leaves[n], c) ->
		SEEN;
		found = false;
		leave(c, n)
	:: else ->
		if
		:: FIRST(n) != 0 && TELLS(found) ->
			SEEN;
			PUT(told[n], c)
		:: else
		fi;
		found = false
	fi;
	DROP(leaves[n], c)
}

/* A LEAVE after the VACATE. It names the place unless that is in use again. */
inline leave_follows(c, n)
{
	DROP(told[n], c);
	printf("node %d: LEAVE of client %d, as it was told that somebody waits\n", n, c);
	if
	:: PLACE_IS_OLD(c) -> leave(c, n)
	:: !PLACE_IS_OLD(c) && key[n] == NOBODY -> wake_first(n, 0)
	:: else
	fi
}

proctype link(byte c; byte n)
{
end:	do
	:: STEP(!hung[n] && HAS(release_out[n], c), release_arrives(c, n))
	:: STEP(!hung[n] && HAS(asked[n], c) && !HAS(release_out[n], c), request_arrives(c, n))
	:: STEP(!hung[n] && HAS(told[n], c), leave_follows(c, n))
	od
}

/* ---- Steps of a client --------------------------------------------------------------------------------- */

inline ask(c, all)
{
	phase[c] = ASKING;
	again[c] = false;
	woken[c] = false;
	asks_all[c] = all;
	for (k : 0 .. NODES - 1) {
		if
		:: all || k == gate[c] -> PUT(asked[k], c)
		:: else
		fi
	}
	k = 0;
	printf("client %d: asks %d (1: all nodes, 0: the gate), by ENTER %d\n", c, all, enters[c])
}

inline begin(c)
{
	BEGINS(c);
	ask(c, !enters[c] || FIRST_ASKS)
}

inline count_votes(c)
{
	i = 0;
	found = true;			/* all have answered that can */
	for (k : 0 .. NODES - 1) {
		i = i + (HAS(yes[k], c) -> 1 : 0);
		found = found && (hung[k] || !HAS(asked[k], c))
	}
	k = 0
}

inline forget_votes(c)
{
	for (k : 0 .. NODES - 1) {
		DROP(yes[k], c)
	}
	k = 0
}

inline grant(c)
{
	phase[c] = HELD;
	asks_all[c] = false;
	again[c] = false;
	woken[c] = false;
	forget_votes(c);
	printf("client %d: holds the lock\n", c);
	count_held();
	assert(held <= 1);
	held = 0;
	GRANTED(c)
}

/* The gate was won alone: now the others. */
inline ask_rest(c)
{
	asks_all[c] = true;
	for (k : 0 .. NODES - 1) {
		if
		:: k != gate[c] -> PUT(asked[k], c)
		:: else
		fi
	}
	k = 0;
	printf("client %d: asks the other nodes\n", c)
}

/* Gives back the client's votes. A client that got some, or has not entered yet, or was woken meanwhile tries
 * again by itself. */
inline refused(c)
{
	again[c] = !enters[c];
	enters[c] = true;
	if
	:: hung[gate[c]] && HAS(asked[gate[c]], c) ->	/* only with HANGS, too large to be searched completely */
		gate[c] = (gate[c] + 1) % GATES;
		again[c] = true
	:: else
	fi;
	for (k : 0 .. NODES - 1) {
		DROP(asked[k], c);	/* requests to a hung node: its release follows them */
		if
		:: HAS(yes[k], c) ->
			SEEN;
			PUT(release_out[k], c);
			PUT(returns[k], c);
			again[c] = COMES_AGAIN
		:: else
		fi
	}
	k = 0;
	forget_votes(c);
	asks_all[c] = false;
	phase[c] = WAITING;
	printf("client %d: is refused, waits\n", c)
}

/* Once all have answered that can, or a quorum has. */
inline decide(c)
{
	count_votes(c);
	if
	:: i >= QUORUM -> SEEN; i = 0; found = false; grant(c)
	:: i < QUORUM && found && !asks_all[c] && HAS(yes[gate[c]], c) -> SEEN; i = 0; found = false; ask_rest(c)
	:: i < QUORUM && found && (asks_all[c] || !HAS(yes[gate[c]], c)) -> SEEN; i = 0; found = false; refused(c)
	:: else -> i = 0; found = false
	fi
}

inline let_go(c, by_leave)
{
	for (k : 0 .. NODES - 1) {
		PUT(release_out[k], c);
		DROP(asked[k], c);
		DROP(yes[k], c);
		DROP(returns[k], c);
		if
		:: by_leave -> PUT(leaves[k], c)
		:: else
		fi
	}
	k = 0;
	phase[c] = IDLE;
	gate[c] = FIRST_GATE(c);
	enters[c] = FIRST_ENTERS;
	again[c] = false;
	woken[c] = false;
	PLACE_IS_OVER(c);
	IS_DONE(c)
}

inline release(c, by_leave)
{
	printf("client %d: release (1: LEAVE, 0: VACATE) %d\n", c, by_leave);
	let_go(c, by_leave)
}

inline retire(c)
{
	phase[c] = GONE
}

proctype client(byte c)
{
end:	do
	:: STEP(phase[c] == IDLE, begin(c))
#ifdef LIVE
	:: STEP(phase[c] == IDLE, retire(c))
#endif
	:: STEP(phase[c] == ASKING && ALL_ANSWERED(c), decide(c))
	:: STEP(phase[c] == WAITING && woken[c], ask(c, true))
	:: STEP(phase[c] == WAITING && again[c] && ALONE(c), ask(c, GATE_ALONE))
	:: STEP(phase[c] == HELD && ALL_ANSWERED(c), release(c, true))
	:: STEP(phase[c] == HELD && ALL_ANSWERED(c), release(c, false))
	od
}

/* In a slot that does not wait, a message is nothing. */
inline message_arrives(c)
{
	message[c] = false;
	woken[c] = WANTS(c) && REMEMBERS(c)
}

#ifdef POLLS
#define MAY_POLL(c) (phase[c] == WAITING && ALONE(c))
#else
#define MAY_POLL(c) false
#endif

proctype poll(byte c)
{
end:	do
	:: STEP(message[c] && IS_ALIVE(c), message_arrives(c))
	:: STEP(MAY_POLL(c), ask(c, GATE_ALONE))
	od
}

/* ---- Steps of a node, without a client ----------------------------------------------------------------- */

inline key_expires(n)
{
	key[n] = NOBODY;
	printf("node %d: a key expires\n", n)
}

inline turn_ends(n)
{
	PUT(time_over[n], FIRST(n));
	printf("node %d: the time of client %d to go first is over\n", n, FIRST(n))
}

/* While nothing fails, who was woken comes in time. */
#define IS_COMING(c) (IS_ALIVE(c) && (message[c] || woken[c] || again[c] || phase[c] == ASKING))
#define TURN_IS_ON(n) (FIRST(n) != 0 && HAS(woken_until[n], FIRST(n)) && !HAS(time_over[n], FIRST(n)))
#define IS_ORPHAN(n) ((key[n] == PLAIN && PLAIN_RELEASES) || key[n] == OVER || (key[n] != NOBODY && !IS_ALIVE(key[n])))

proctype node(byte n)
{
end:	do
	:: STEP(IS_ORPHAN(n), key_expires(n))
	:: STEP(TIME_LIMIT && TURN_IS_ON(n) && !IS_COMING(FIRST(n)), turn_ends(n))
	od
}

/* ---- Events that may happen, but need not -------------------------------------------------------------- */

#define FAULT(condition, action) STEP(faults < FAULTS && condition, faults++; action)
#define MAY_FAIL(c) (IS_ALIVE(c) && phase[c] != GONE)
#define GIVE_UPS(c) STEP(MAY_GIVE_UP && WANTS(c) && ALL_ANSWERED(c), gives_up(c))

proctype world()
{
end:	do
	:: d_step { true -> i = 0 }	/* nothing happens */
	:: GIVE_UPS(1)
	:: GIVE_UPS(2)
#if CLIENTS > 2
	:: GIVE_UPS(3)
#endif
#ifdef HANGS
	:: FAULT(!hung[0], node_hangs(0))
	:: STEP(hung[0], node_goes_on(0))
#endif
	od
}

/* The faults of a client, and those of a node. */
#if FAULTS > 0
proctype bad_luck(byte c)
{
end:	do
	:: FAULT(MAY_FAIL(c), dies(c, DEAD))
	:: FAULT(MAY_FAIL(c), dies(c, STOPPED))
	:: FAULT(message[c], message_is_lost(c))
	:: FAULT(MAY_FAIL(c) && !message[c], message_comes_twice(c))
	:: FAULT(HAS(release_out[0], c), release_is_lost(c, 0))
#if NODES > 1
	:: FAULT(HAS(release_out[1], c), release_is_lost(c, 1))
#endif
	:: faults == FAULTS -> break
	od
}

proctype bad_node(byte n)
{
end:	do
	:: FAULT(key[n] == NOBODY, plain_takes(n))
	:: FAULT(TURN_IS_ON(n), turn_ends(n))
	:: FAULT(FIRST(n) != 0, queue_is_lost(n))
	:: faults == FAULTS -> break
	od
}
#endif

init {
	atomic {
		for (i : 1 .. CLIENTS) {
			phase[i] = IDLE;
			gate[i] = FIRST_GATE(i);
			enters[i] = FIRST_ENTERS
		}
		for (i : 1 .. CLIENTS) {
			run client(i);
			run poll(i);
			for (j : 0 .. NODES - 1) {
				run link(i, j)
			}
		}
		for (i : 0 .. NODES - 1) {
			run node(i)
		}
#ifdef STORM
		for (i : 1 .. NODES - 1) {
			key[i] = PLAIN
		}
#endif
#if FAULTS > 0
		for (i : 1 .. CLIENTS) {
			run bad_luck(i)
		}
		for (i : 0 .. NODES - 1) {
			run bad_node(i)
		}
#endif
		i = 0;
		j = 0;
		run world()
	}
}

/* "Again and again: somebody holds the lock, or nobody wants it." This looks for the opposite. */
#ifdef LIVE
#if CLIENTS == 2
#define GOES_ON (phase[1] == HELD || phase[2] == HELD || !(WANTS(1) || WANTS(2)))
#else
#define GOES_ON (phase[1] == HELD || phase[2] == HELD || phase[3] == HELD || !(WANTS(1) || WANTS(2) || WANTS(3)))
#endif
never {
	do
	:: true
	:: !GOES_ON -> goto accept_free
	od;
accept_free:
	do
	:: !GOES_ON
	od
}
#endif
