/* SPDX-License-Identifier: MIT */
/*
 * Fencing counters that expire, and a floor under them: one node, the counter of one name. How to read this language:
 * README.md, which says what follows.
 *
 * A counter lives for 3 PERIODs after its last use. The node's record has the highest number ever granted there, gmax;
 * gold, which is what gmax was at the last rotation; and the floor, which each number is above. Of these only one thing
 * matters here: are they at least the last value of the counter? gmax always is.
 */

#ifndef PERIOD
#define PERIOD 2
#endif
#ifndef LIFE
#define LIFE (3 * PERIOD)
#endif
#ifndef CLOCK_END
#define CLOCK_END (7 * PERIOD)	/* clocks and expiries are 0 to CLOCK_END; a clock that has come there stands */
#endif

/* STEPS_AHEAD       the clock may step ahead, by any time
 * STEPS_BACK        and back
 * DELETED_WHEN_ASKED_ONLY  no assumption to make of a server: what expires is deleted only when it is asked for
 * RAISE_ROTATES_NOT a raise does not rotate first
 * FROM_GMAX         a counter that is not there begins above gmax, not above the floor */

byte clock = PERIOD;
byte rotated = PERIOD;		/* when */
byte expiry;			/* of the counter's key; 0: it is not there */
bool in_floor = true;		/* the floor is at least the last value of the counter */
bool in_gold = true;

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

inline rotate()
{
	if
	:: clock < rotated || clock >= rotated + 2 * PERIOD ->
		SEEN;
		in_floor = true;	/* floor = gold = gmax */
		in_gold = true;
		rotated = clock
	:: clock >= rotated + PERIOD && clock < rotated + 2 * PERIOD ->
		SEEN;
		in_floor = in_floor || in_gold;
		in_gold = true;
		rotated = clock
	:: else
	fi
}

#define IS_THERE (expiry > clock)

#ifdef FROM_GMAX
#define BEGINS_ABOVE true
#else
#define BEGINS_ABOVE in_floor
#endif

/* The promise: a number is above all numbers of that name before it. */
inline next_number()
{
	assert(IS_THERE || BEGINS_ABOVE);
	in_floor = false;
	in_gold = false;
	expiry = clock + LIFE
}

inline claim()
{
	rotate();
	next_number();
	printf("clock %d: a number is granted\n", clock)
}

inline raise()
{
#ifndef RAISE_ROTATES_NOT
	rotate();
#endif
	in_floor = false;
	in_gold = false;
	expiry = clock + LIFE;
	printf("clock %d: the counter is raised\n", clock)
}

inline claim_other_name()
{
	rotate();
	printf("clock %d: a claim of another name\n", clock)
}

inline counter_is_deleted()
{
	expiry = 0;
	printf("clock %d: the counter has expired, the server deletes it\n", clock)
}

inline clock_steps(to)
{
	clock = to;
	printf("clock %d: it has stepped\n", clock)
}

proctype client()
{
end:	do
	:: STEP(clock + LIFE <= CLOCK_END, claim())
	:: STEP(clock + LIFE > CLOCK_END && !IS_THERE, claim())
	:: STEP(IS_THERE && clock + LIFE <= CLOCK_END, raise())
	:: STEP(true, claim_other_name())
	od
}

proctype server(byte to)
{
end:	do
#ifndef DELETED_WHEN_ASKED_ONLY
	:: STEP(expiry > 0 && !IS_THERE, counter_is_deleted())
#endif
	:: STEP(to == clock + 1, clock_steps(to))
#ifdef STEPS_AHEAD
	:: STEP(to > clock, clock_steps(to))
#endif
#ifdef STEPS_BACK
	:: STEP(to < clock, clock_steps(to))
#endif
	od
}

byte i;

init {
	atomic {
		run client();
		for (i : 0 .. CLOCK_END) {
			run server(i)
		}
		i = 0
	}
}
