/* SPDX-License-Identifier: MIT */
/*
 * An address of a guarded set that leads to another server, while the former one runs on: clients that are connected
 * stay connected. How to read this language: README.md; the guard itself: proof/guard.thm. One node is enough,
 * requests come at any time, any number of times, in any order, or never, and a number is kept as the ticks for
 * which it proves something.
 */

#ifndef CLIENTS
#define CLIENTS 2
#endif
#ifndef TTL
#define TTL 2			/* the longest that the record permits */
#endif

/* ---- The rules, and what becomes of them when one is left out ------------------------------------------ */

#define AGE 2			/* a connection that was begun so many ticks ago asks no more */

#ifdef NO_AGE			/* a connection is as good as new for ever */
#define MAY_ASK(c) true
#else
#define MAY_ASK(c) (age[c] < AGE)
#endif

#ifdef FROM_OPENED		/* its age counts from when it was open, not from when it was begun */
#define AGE_WHEN_OPEN(c) 0
#else
#define AGE_WHEN_OPEN(c) age[c]
#endif

#ifdef TTL_SUFFICES		/* the quarantine is as long as without ages */
#define QUARANTINE TTL
#else
#define QUARANTINE (TTL + AGE - 1)	/* the last to ask does it AGE - 1 ticks after the last connection */
#endif

/* ---- State --------------------------------------------------------------------------------------------- */

mtype = { ADMITTED, FOREIGN, QUARANTINED };
mtype = { NONE, BEGUN, REACHED, OPEN };

#define NOBODY 0
#define FORMER 0
#define LATER 1

/* The two servers. */
mtype record[2];
byte rest[2];			/* ticks until the quarantine is over */
byte owner[2];
byte left[2];			/* ticks until the key expires */
bit address = FORMER;		/* where a new connection gets to */

/* State of each client. For each server, the set of numbers of its requests, bit by bit, 0 to TTL. */
#define HAS(set, number) ((set >> (number)) & 1)
#define AGED(set) ((set >> 1) | (set & 1))
mtype link_is[CLIENTS + 1] = NONE;
bit reached[CLIENTS + 1];	/* the server */
byte age[CLIENTS + 1];		/* ticks since it was begun; AGE: that, or more */
byte to_former[CLIENTS + 1], to_later[CLIENTS + 1];
byte vote[CLIENTS + 1];		/* for so many ticks the node's vote counts */

byte i, count;			/* for loops, 0 between steps */

/* The promise: of one node, one vote counts, whichever server gave it. */
inline check_promises()
{
	for (i : 1 .. CLIENTS) {
		count = count + (vote[i] > 0 -> 1 : 0)
	}
	assert(count <= 1);
	count = 0;
	i = 0
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

#define STEP(condition, action) d_step { condition -> SEEN; action; check_promises() }

/* ---- Steps of a client --------------------------------------------------------------------------------- */

inline begin(c)
{
	link_is[c] = BEGUN;
	age[c] = 0;
	printf("client %d: begins to connect\n", c)
}

inline reach(c)
{
	link_is[c] = REACHED;
	reached[c] = address;
	printf("client %d: has reached server %d\n", c, reached[c])
}

/* The connection's answers are there: this may take any time. */
inline open(c)
{
	link_is[c] = OPEN;
	age[c] = AGE_WHEN_OPEN(c);
	printf("client %d: its connection is open\n", c)
}

/* A claim or an extend, to be known by the time at which it was sent. */
inline send(c)
{
	if
	:: reached[c] == FORMER -> to_former[c] = to_former[c] | (1 << TTL)
	:: else -> to_later[c] = to_later[c] | (1 << TTL)
	fi;
	printf("client %d: claims, or extends\n", c)
}

/* Or the lock is lost, and this a new one: what is on its way is of no use then. */
inline give_back(c)
{
	for (i : 0 .. 1) {
		if
		:: owner[i] == c ->
			SEEN;
			owner[i] = NOBODY;
			left[i] = 0
		:: else
		fi
	}
	i = 0;
	to_former[c] = 0;
	to_later[c] = 0;
	vote[c] = 0;
	printf("client %d: its token is over\n", c)
}

proctype client(byte c)
{
end:	do
	:: STEP(link_is[c] == NONE || link_is[c] == OPEN, begin(c))
	:: STEP(link_is[c] == BEGUN, reach(c))
	:: STEP(link_is[c] == REACHED, open(c))
	:: STEP(link_is[c] == OPEN && MAY_ASK(c), send(c))
	:: STEP(to_former[c] || to_later[c] || vote[c], give_back(c))
	od
}

/* ---- Steps of a server --------------------------------------------------------------------------------- */

inline claim_arrives(s, c, number)
{
	owner[s] = c;
	left[s] = TTL;
	vote[c] = (number > vote[c] -> number : vote[c]);
	printf("server %d: votes for client %d, number %d\n", s, c, number)
}

proctype link(byte c; byte number)
{
end:	do
	:: STEP(HAS(to_former[c], number) && record[FORMER] == ADMITTED && (owner[FORMER] == NOBODY || owner[FORMER] == c), claim_arrives(FORMER, c, number))
	:: STEP(HAS(to_later[c], number) && record[LATER] == ADMITTED && (owner[LATER] == NOBODY || owner[LATER] == c), claim_arrives(LATER, c, number))
	od
}

/* The server at the later address has no key that counts, and no record, or one of another process. Nobody
 * was there before. */
inline move()
{
	address = LATER;
	printf("the address leads to another server\n")
}

/* The client that asks has connected by the address. */
inline first_contact()
{
	record[LATER] = QUARANTINED;
	rest[LATER] = QUARANTINE;
	printf("server 1: its quarantine begins\n")
}

inline admit()
{
	record[LATER] = ADMITTED;
	printf("server 1: is admitted\n")
}

proctype servers()
{
end:	do
	:: STEP(address == FORMER, move())
	:: STEP(address == LATER && record[LATER] == FOREIGN, first_contact())
	:: STEP(record[LATER] == QUARANTINED && rest[LATER] == 0, admit())
	od
}

/* ---- Time ---------------------------------------------------------------------------------------------- */

inline tick()
{
	printf("---- tick\n");
	for (i : 0 .. 1) {
		rest[i] = (rest[i] > 0 -> rest[i] - 1 : 0);
		left[i] = (left[i] > 0 -> left[i] - 1 : 0);
		owner[i] = (left[i] > 0 -> owner[i] : NOBODY)
	}
	for (i : 1 .. CLIENTS) {
		age[i] = (age[i] < AGE -> age[i] + 1 : AGE);
		to_former[i] = AGED(to_former[i]);
		to_later[i] = AGED(to_later[i]);
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
		record[FORMER] = ADMITTED;
		record[LATER] = FOREIGN;
		for (i : 1 .. CLIENTS) {
			run client(i);
			for (count : 0 .. TTL) {
				run link(i, count)
			}
		}
		i = 0;
		count = 0;
		run servers();
		run time()
	}
}
