/* SPDX-License-Identifier: MIT */
/*
 * Locks of the old SETNX protocol: clients of this library (--compat setnx) and clients that follow its page to the letter,
 * for one name. How to read this language: README.md. README.md says what follows.
 *
 * A tick is a second, as the page counts. A client makes one attempt, and holds, if it gets that far: the next one would
 * have another token, and so be another client. Time has an end.
 */

#ifndef NODES
#define NODES 1
#endif
#ifndef OURS
#define OURS 1			/* clients of this library; the others are of the page */
#endif
#ifndef PAGE
#define PAGE 2
#endif
#ifndef TTL
#define TTL 2			/* of ours */
#endif
#ifndef TIMEOUT
#define TIMEOUT 1		/* of the page's */
#endif
#ifndef AHEAD
#define AHEAD 0			/* the page's clocks, of those of the nodes */
#endif
#ifndef END
#define END 7
#endif
#define CLIENTS (OURS + PAGE)
#define QUORUM (NODES / 2 + 1)

/* GIVES_ALL     the page's give back what their GETSET lost, too
 * TWO_STEPS     ours take over as the page does: GET, and later GETSET
 * NOT_RENEWED   ours are not renewed after a grant
 * LATE_GETSET   any time may pass between GET and GETSET
 * SLOW_ANSWERS  an attempt of ours may take longer than a tick
 * NOT_LONGER    a value is the time of the end, without the second that the page adds
 * ANY_NUMBER    ours extend whatever number they find beside their token
 * STAYS         nobody gives back or releases */

#ifdef NOT_LONGER
#define LONGER 0
#else
#define LONGER 1
#endif

#define NOBODY 255
#define IDLE 0
#define CLAIMS 1
#define HOLDS 2
#define OVER 3

#define UNASKED 0
#define NO 1
#define READ 2			/* a GET found a time that was past */
#define LOST 3			/* the GETSET found another one: it has written over it */
#define YES 4

typedef ballot { byte at[NODES] }

byte now = 2;
byte time[NODES];		/* the value; 0: no key */
byte ends[NODES];		/* when the key expires; 0: never */
byte owner[NODES];		/* beside it: whose token, */
byte wrote[NODES], since[NODES];	/* the value that it wrote, and when it claimed; 0: it was extended since */
byte side_ends[NODES];

byte phase[CLIENTS];
byte begun[CLIENTS], until[CLIENTS];
bool renews[CLIENTS], renewed[CLIENTS];
ballot vote[CLIENTS];
ballot mine[CLIENTS];		/* what the page's has written */
byte holders;
byte reads;			/* GETs of the page's that wait for their GETSET */

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

#define IS_PAST(n, clock) (time[n] != 0 && time[n] < (clock))
#define TOKEN_IS(c, n) (owner[n] == c)

/* ops/lib/setnx.lua */
#ifdef ANY_NUMBER
#define IS_OURS(c, n) (TOKEN_IS(c, n) && time[n] != 0)
#else
#define IS_OURS(c, n) (TOKEN_IS(c, n) && time[n] != 0 && \
	((ends[n] != 0 && time[n] == wrote[n]) || \
	 (ends[n] == 0 && since[n] != 0 && now - since[n] <= 1 && time[n] > now && time[n] <= wrote[n] + 1)))
#endif

/* ---- Clients of this library ---- */

inline our_value_is_set(c, n)
{
	time[n] = now + TTL + LONGER;
	ends[n] = now + TTL;
	owner[n] = c;
	wrote[n] = time[n];
	since[n] = now;
	side_ends[n] = now + TTL;
	printf("node %d: client %d writes %d\n", n, c, time[n])
}

/* ops/setnx.lua */
inline claim_arrives(c, n)
{
	if
	:: time[n] == 0 || (IS_PAST(n, now) && ends[n] == 0) ->
		SEEN;
		our_value_is_set(c, n);
		vote[c].at[n] = YES
	:: else ->
		SEEN;
		vote[c].at[n] = NO
	fi
}

#ifdef TWO_STEPS
inline our_get_arrives(c, n)
{
	if
	:: time[n] == 0 -> SEEN; our_value_is_set(c, n); vote[c].at[n] = YES
	:: IS_PAST(n, now) -> SEEN; vote[c].at[n] = READ
	:: else -> SEEN; vote[c].at[n] = NO
	fi
}

inline our_getset_arrives(c, n)
{
	if
	:: time[n] == 0 || IS_PAST(n, now) -> SEEN; vote[c].at[n] = YES
	:: else -> SEEN; vote[c].at[n] = LOST
	fi;
	our_value_is_set(c, n)
}
#endif

/* ops/setnx_extend.lua */
inline extend_arrives(c, n)
{
	if
	:: IS_OURS(c, n) ->
		SEEN;
		if
		:: ends[n] == 0 || ends[n] < now + TTL ->
			SEEN;
			time[n] = (now + TTL + LONGER > wrote[n] -> now + TTL + LONGER : wrote[n]);
			wrote[n] = time[n];
			since[n] = 0;
			ends[n] = now + TTL;
			side_ends[n] = now + TTL;
			printf("node %d: client %d writes %d, extended\n", n, c, time[n])
		:: else
		fi;
		vote[c].at[n] = YES
	:: else ->
		SEEN;
		vote[c].at[n] = NO;
		printf("node %d: not client %d's\n", n, c)
	fi
}

inline nothing_stands_beside(n)
{
	owner[n] = NOBODY;
	wrote[n] = 0;
	since[n] = 0;
	side_ends[n] = 0
}

inline our_release_arrives(c, n)
{
	if
	:: IS_OURS(c, n) ->
		SEEN;
		time[n] = 0;
		ends[n] = 0;
		printf("node %d: client %d's is deleted\n", n, c)
	:: else
	fi;
	nothing_stands_beside(n)
}

proctype node_for_ours(byte c, n)
{
end:	do
#ifdef TWO_STEPS
	:: STEP(phase[c] == CLAIMS && vote[c].at[n] == UNASKED, our_get_arrives(c, n))
	:: STEP(phase[c] == CLAIMS && vote[c].at[n] == READ, our_getset_arrives(c, n))
#else
	:: STEP(phase[c] == CLAIMS && vote[c].at[n] == UNASKED, claim_arrives(c, n))
#endif
	:: STEP(phase[c] == HOLDS && renews[c] && vote[c].at[n] == UNASKED, extend_arrives(c, n))
	/* ops/setnx_release.lua; also of what is over by itself */
#ifndef STAYS
	:: STEP(phase[c] == OVER && TOKEN_IS(c, n), our_release_arrives(c, n))
#endif
	od
}

inline votes_are_counted(c, which)
{
	count = 0;
	for (i : 0 .. NODES - 1) {
		count = count + (vote[c].at[i] == which)
	}
	i = 0
}

inline nobody_is_asked(c)
{
	for (i : 0 .. NODES - 1) {
		vote[c].at[i] = UNASKED
	}
	i = 0
}

inline is_granted(c, end)
{
	phase[c] = HOLDS;
	until[c] = end;
	holders++;
	printf("client %d: holds until %d\n", c, end);
	assert(holders <= 1)
}

inline our_time_is_over(c)
{
	holders = holders - (phase[c] == HOLDS);
	phase[c] = OVER;
	renews[c] = false;
	begun[c] = 0;
	until[c] = 0;
	nobody_is_asked(c);
	printf("client %d: ends\n", c)
}

/* Half a second behind a grant: what lay between GET and GETSET then is over. */
#ifdef LATE_GETSET
#define IS_DUE(c) true
#else
#define IS_DUE(c) (reads == 0)
#endif

inline renewal_begins(c)
{
	renews[c] = true;
	begun[c] = now;
	nobody_is_asked(c)
}

inline renewal_is_confirmed(c)
{
	renews[c] = false;
	renewed[c] = true;
	until[c] = begun[c] + TTL;
	nobody_is_asked(c);
	printf("client %d: renewed until %d\n", c, until[c])
}

proctype our_client(byte c)
{
	byte i, count;
end:	do
	:: STEP(phase[c] == IDLE && now + TTL + LONGER < END, phase[c] = CLAIMS; begun[c] = now)
	:: atomic {
		phase[c] == CLAIMS -> votes_are_counted(c, YES);
		if
		:: count >= QUORUM -> SEEN; is_granted(c, begun[c] + TTL); nobody_is_asked(c)
		:: else
		fi;
		count = 0
	}
	:: STEP(phase[c] == CLAIMS, our_time_is_over(c))
#ifndef NOT_RENEWED
	:: STEP(phase[c] == HOLDS && !renews[c] && !renewed[c] && IS_DUE(c), renewal_begins(c))
#endif
	:: atomic {
		phase[c] == HOLDS && renews[c] -> votes_are_counted(c, YES);
		if
		:: count >= QUORUM -> SEEN; renewal_is_confirmed(c)
		:: else
		fi;
		count = 0
	}
	:: atomic {
		phase[c] == HOLDS && renews[c] -> votes_are_counted(c, NO);
		if
		:: count > NODES - QUORUM -> SEEN; our_time_is_over(c)	/* LOST */
		:: else
		fi;
		count = 0
	}
#ifdef STAYS
	:: STEP(phase[c] == HOLDS && now == until[c], our_time_is_over(c))
#else
	:: STEP(phase[c] == HOLDS, our_time_is_over(c))
#endif
	od
}

/* ---- Clients of the page ---- */

#define CLOCK (now + AHEAD)

inline page_value_is_set(c, n)
{
	time[n] = CLOCK + TIMEOUT + LONGER;
	ends[n] = 0;
	mine[c].at[n] = time[n];
	printf("node %d: the page's client %d writes %d\n", n, c, time[n])
}

inline setnx_and_get_arrive(c, n)
{
	if
	:: time[n] == 0 -> SEEN; page_value_is_set(c, n); vote[c].at[n] = YES
	:: IS_PAST(n, CLOCK) -> SEEN; vote[c].at[n] = READ; reads++
	:: else -> SEEN; vote[c].at[n] = NO
	fi
}

inline getset_arrives(c, n)
{
	reads--;
	if
	:: time[n] == 0 || IS_PAST(n, CLOCK) -> SEEN; vote[c].at[n] = YES
	:: else -> SEEN; vote[c].at[n] = LOST
	fi;
	page_value_is_set(c, n)
}

#ifdef GIVES_ALL
#define GIVES_BACK(c, n) (vote[c].at[n] >= LOST)
#else
#define GIVES_BACK(c, n) (vote[c].at[n] == YES)
#endif

/* Without a look at what is there: the page knows no owner. */
inline del_arrives(c, n)
{
	vote[c].at[n] = NO;
	if
	:: mine[c].at[n] >= CLOCK ->
		SEEN;
		time[n] = 0;
		ends[n] = 0;
		printf("node %d: the page's client %d deletes it\n", n, c)
	:: else -> SEEN
	fi;
	mine[c].at[n] = 0
}

proctype node_for_page(byte c, n)
{
end:	do
	:: STEP(phase[c] == CLAIMS && vote[c].at[n] == UNASKED, setnx_and_get_arrive(c, n))
	:: STEP((phase[c] == CLAIMS || phase[c] == OVER) && vote[c].at[n] == READ, getset_arrives(c, n))
#ifndef STAYS
	:: STEP(phase[c] == OVER && GIVES_BACK(c, n), del_arrives(c, n))
#endif
	od
}

inline page_time_is_over(c)
{
	holders = holders - (phase[c] == HOLDS);
	phase[c] = OVER;
	begun[c] = 0;
	until[c] = 0;
	printf("the page's client %d: ends\n", c)
}

proctype page_client(byte c)
{
	byte i, count;
end:	do
	:: STEP(phase[c] == IDLE && CLOCK + TIMEOUT + LONGER < END, phase[c] = CLAIMS; begun[c] = now)
	:: atomic {
		phase[c] == CLAIMS -> votes_are_counted(c, YES);
		if
		:: count >= QUORUM && now <= begun[c] + TIMEOUT -> SEEN; is_granted(c, begun[c] + TIMEOUT)
		:: else
		fi;
		count = 0
	}
	:: STEP(phase[c] == CLAIMS, page_time_is_over(c))
#ifdef STAYS
	:: STEP(phase[c] == HOLDS && now == until[c], page_time_is_over(c))
#else
	:: STEP(phase[c] == HOLDS, page_time_is_over(c))
#endif
	od
}

/* ---- Time ---- */

/* The next second waits for these: a lease, an answer to ours, a first renewal, the time between GET and
 * GETSET. */
inline next_second_waits(ret)
{
	ret = false;
	for (a : 0 .. CLIENTS - 1) {
		ret = ret || (phase[a] == HOLDS && now >= until[a]);
#ifndef SLOW_ANSWERS
		ret = ret || (a < OURS && phase[a] == CLAIMS);
#endif
#ifndef NOT_RENEWED
		ret = ret || (a < OURS && phase[a] == HOLDS && !renewed[a]);
#endif
	}
#ifndef LATE_GETSET
	ret = ret || reads != 0;
#endif
	for (b : 0 .. NODES - 1) {
		ret = ret || (ends[b] != 0 && now >= ends[b]) || (side_ends[b] != 0 && now >= side_ends[b])
	}
	a = 0;
	b = 0
}

/* A holder ends before the keys that it relies on: they came later. */
#define IS_HELD(c) (c < OURS && phase[c] == HOLDS && until[c] <= now)

proctype key_of(byte n)
{
end:	do
	:: atomic {
		ends[n] != 0 && now >= ends[n] && (owner[n] == NOBODY || !IS_HELD(owner[n])) ->
		SEEN;
		time[n] = 0;
		ends[n] = 0;
		printf("node %d: the key expires\n", n)
	}
	:: STEP(side_ends[n] != 0 && now >= side_ends[n] && !IS_HELD(owner[n]), nothing_stands_beside(n))
	od
}

byte a, b;
bool waits;

proctype seconds()
{
end:	do
	:: atomic {
		now < END -> next_second_waits(waits);
		if
		:: !waits -> SEEN; now++; printf("---- %d\n", now)
		:: else
		fi;
		waits = false
	}
	od
}

init {
	atomic {
		for (a : 0 .. CLIENTS - 1) {
			for (b : 0 .. NODES - 1) {
				if
				:: a < OURS -> run node_for_ours(a, b)
				:: else -> run node_for_page(a, b)
				fi
			}
			if
			:: a < OURS -> run our_client(a)
			:: else -> run page_client(a)
			fi
		}
		/* A lock of somebody who is gone: over, or not there. */
		for (b : 0 .. NODES - 1) {
			owner[b] = NOBODY;
			if
			:: time[b] = 1
			:: skip
			fi;
			run key_of(b)
		}
		run seconds();
		a = 0;
		b = 0
	}
}
