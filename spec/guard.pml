/* SPDX-License-Identifier: MIT */
/*
 * The guard of one node: what forgot a vote stays away until that vote counts no more. How to read this language:
 * redlock.pml. As in handoff.pml one node is enough, each request has the time as its number, a number is kept as the ticks for
 * which it proves something, and requests come at any time, any number of times, in any order, or never.
 */

#ifndef CLIENTS
#define CLIENTS 2
#endif
#ifndef TTL
#define TTL 2			/* the longest that the record permits */
#endif
#ifndef QUARANTINE
#define QUARANTINE TTL
#endif

/* ---- The rules, and what becomes of them when one is left out ------------------------------------------ */

#ifdef NO_GUARD			/* a node that forgot votes at once */
#define AFTER_FORGETTING ADMITTED
#else
#define AFTER_FORGETTING FOREIGN
#endif

#ifdef HAND_UNCHECKED		/* a release hands over without a look at the record */
#define MAY_HAND true
#else
#define MAY_HAND (record == ADMITTED)
#endif

#ifdef ADMIT_ANY		/* an admission that was sent for an earlier quarantine is as good */
#define ADMISSION_STAYS true
#define MAY_ADMIT (record == QUARANTINED && (rest == 0 || late))
#else
#define ADMISSION_STAYS false
#define MAY_ADMIT (record == QUARANTINED && rest == 0)
#endif

/* ---- State --------------------------------------------------------------------------------------------- */

mtype = { ADMITTED, FOREIGN, QUARANTINED };

#define NOBODY 0
#define OVER 7			/* a token that is over */

/* The node. */
mtype record = ADMITTED;	/* its run_id is that of the record; is not, or there is none; quarantine has begun */
byte rest;			/* ticks until the quarantine is over */
bool late;			/* an admission is on its way: a quarantine was over at some time */
byte owner;
byte left;			/* ticks until the key expires */

/* State of each client. Sets of numbers bit by bit, 0 to TTL. */
#define HAS(set, number) ((set >> (number)) & 1)
#define AGED(set) ((set >> 1) | (set & 1))
byte sent[CLIENTS + 1];		/* its claims and extends; none: it has no token */
byte vote[CLIENTS + 1];		/* for so many ticks the node's vote counts */

byte i, count;			/* for loops, 0 between steps */

/* The promise: of one node, one vote counts. Two majorities share a node. */
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

/* A claim or an extend, to be known by the time at which it was sent. */
inline send(c)
{
	sent[c] = sent[c] | (1 << TTL);
	printf("client %d: claims, or extends\n", c)
}

inline give_back(c)
{
	if
	:: owner == c ->
		SEEN;
		owner = OVER;
		left = 0
	:: else
	fi;
	sent[c] = 0;
	vote[c] = 0;
	printf("client %d: its token is over\n", c)
}

proctype client(byte c)
{
end:	do
	:: STEP(!HAS(sent[c], TTL), send(c))
	:: STEP(sent[c], give_back(c))
	od
}

/* ---- Steps of the node for a client -------------------------------------------------------------------- */

/* Answers that come late count for less; that is the same as a number that is older. */
inline claim_arrives(c, number)
{
	owner = c;
	left = TTL;
	vote[c] = (number > vote[c] -> number : vote[c]);
	printf("node: votes for client %d, number %d\n", c, number)
}

inline hand_over(c, number)
{
	printf("node: hands over\n");
	claim_arrives(c, number)
}

proctype link(byte c; byte number)
{
end:	do
	:: STEP(HAS(sent[c], number) && record == ADMITTED && (owner == NOBODY || owner == c), claim_arrives(c, number))
	:: STEP(HAS(sent[c], number) && MAY_HAND && owner == OVER, hand_over(c, number))
	od
}

/* ---- Steps of the node without a client ---------------------------------------------------------------- */

/* A wipe, a flush, a restart; with data, that may be old: the key is of a token that is over by now, or expires
 * earlier. */
inline forget(key, ticks)
{
	record = AFTER_FORGETTING;
	rest = 0;
	owner = key;
	left = ticks;
	printf("node: forgets, the key is now of %d\n", key)
}

/* With whatever comes first; it is refused. */
inline first_contact()
{
	record = QUARANTINED;
	rest = QUARANTINE;
	printf("node: its quarantine begins\n")
}

inline admit()
{
	late = ADMISSION_STAYS;
	record = ADMITTED;
	rest = 0;
	printf("node: is admitted\n")
}

inline key_is_freed()
{
	owner = NOBODY;
	printf("node: the key of a token that is over is gone\n")
}

inline key_is_taken()
{
	owner = OVER;
	printf("node: a token that is over has the key\n")
}

proctype node()
{
end:	do
	:: STEP(true, forget(NOBODY, 0))
	:: STEP(true, forget(OVER, 0))
	:: STEP(left > 1, forget(owner, 1))
	:: STEP(left > 0, forget(owner, left))
	:: STEP(record == FOREIGN, first_contact())
	:: STEP(MAY_ADMIT, admit())
	:: STEP(owner == OVER, key_is_freed())
	:: STEP(owner == NOBODY, key_is_taken())
	od
}

/* ---- Time ---------------------------------------------------------------------------------------------- */

inline tick()
{
	printf("---- tick\n");
	rest = (rest > 0 -> rest - 1 : 0);
	if
	:: left > 1 -> left--
	:: left == 1 ->
		SEEN;
		left = 0;
		owner = NOBODY
	:: else
	fi;
	for (i : 1 .. CLIENTS) {
		sent[i] = AGED(sent[i]);
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
		for (i : 1 .. CLIENTS) {
			run client(i);
			for (count : 0 .. TTL) {
				run link(i, count)
			}
		}
		i = 0;
		count = 0;
		run node();
		run time()
	}
}
