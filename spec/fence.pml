/* SPDX-License-Identifier: MIT */
/*
 * Fencing numbers that only rise, over independent nodes. How to read this language: redlock.pml. README.md says which
 * code the steps stand for, and what follows.
 *
 * There is no time in here: a key may go at any moment, a message may come at any time, an attempt may take as long as
 * it likes. Only a quarantine knows something of time: it ends when all attempts are decided that had begun before
 * the node forgot. (In time: an attempt decides within a TTL of its beginning, a quarantine takes the longest TTL.)
 */

#include "fence_rules.pml"

/* ---- State --------------------------------------------------------------------------------------------- */

mtype = { IDLE, CLAIMING, RAISING, OVER };

#define NOBODY 0
#define BIT(c) (1 << (c))
#define LARGER(a, b) ((a) > (b) -> (a) : (b))

/* A node, for one name. */
byte owner[NODES];		/* NOBODY or an attempt */
byte counter[NODES];		/* of this name; where it is gone, gmax: the highest number ever granted there */
byte floor[NODES];		/* from the admission: each number is above it */
bool admitted[NODES];		/* for fencing. For locks only is the same as not, here */
byte id[NODES];			/* of its quarantine: how often it has forgotten */
byte before[NODES];		/* one bit per attempt: had begun when it forgot, and is not decided */
byte claim_out[NODES];		/* one bit per attempt: its claim has not arrived; it may never arrive */

/* An attempt, each with a token of its own; they are numbered from 1. */
mtype phase[ATTEMPTS + 1];
byte since[ATTEMPTS + 1];	/* the highest number that was issued before it began */
byte most[ATTEMPTS + 1];	/* the number that it wants: the highest of its votes */
#define AT(c, n) ((c) * NODES + (n))
byte vote[(ATTEMPTS + 1) * NODES];	/* the number that the node granted, 0: none, or not heard of */
bool confirmed[(ATTEMPTS + 1) * NODES];

short issued;			/* the numbers that were issued, one bit each */
byte highest;			/* of them */
byte decided;			/* attempts */

/* The repair of a node, by any client. */
byte quoted[NODES];		/* the id that the repair of this node was told; 0: there is none */
bool was_read[NODES];		/* the others, by that repair */
byte found;			/* the highest gmax of those */
bool repairs;

byte forgets;
byte i, k, count, spare;	/* for loops, 0 between steps */

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

/* No node is special: see redlock.pml. */
#ifndef UNSORTED
#define FACTS(c, n) ((vote[AT(c, n)] << 1) | confirmed[AT(c, n)])
#define RANK(n) ((owner[n] << 28) | (counter[n] << 23) | (floor[n] << 19) | (admitted[n] << 18) | (quoted[n] << 16) | \
                 (FACTS(1, n) << 11) | (FACTS(2, n) << 6) | (was_read[n] << 5) | (claim_out[n] << 1))
#define SWAP(array, a, b) spare = array[a]; array[a] = array[b]; array[b] = spare

inline sort_nodes()
{
	i = 0;
	do
	:: i == NODES - 1 -> break
	:: else ->
		if
		:: RANK(i) > RANK(i + 1) ->
			SWAP(owner, i, i + 1);
			SWAP(counter, i, i + 1);
			SWAP(floor, i, i + 1);
			SWAP(admitted, i, i + 1);
			SWAP(id, i, i + 1);
			SWAP(before, i, i + 1);
			SWAP(claim_out, i, i + 1);
			SWAP(quoted, i, i + 1);
			SWAP(was_read, i, i + 1);
			for (k : 1 .. ATTEMPTS) {
				SWAP(vote, AT(k, i), AT(k, i + 1));
				SWAP(confirmed, AT(k, i), AT(k, i + 1))
			}
			k = 0;
			i = (i > 0 -> i - 1 : 0)
		:: else -> i++
		fi
	od;
	i = 0;
	spare = 0
}
#else
#define sort_nodes() skip
#endif

/* When all attempts are decided nothing can go wrong any more. */
#define STEP(condition, action) d_step { decided < ATTEMPTS && (condition) -> SEEN; action; sort_nodes() }

#define COUNT_NODES(condition) \
	for (k : 0 .. NODES - 1) { \
		count = count + (condition -> 1 : 0) \
	} \
	k = 0

/* ---- Steps of an attempt ------------------------------------------------------------------------------- */

inline begin_attempt(c)
{
	phase[c] = CLAIMING;
	since[c] = highest;
	for (k : 0 .. NODES - 1) {
		claim_out[k] = claim_out[k] | BIT(c)
	}
	k = 0;
	printf("client %d: claims everywhere\n", c)
}

/* The number is the highest of the votes. Confirmed are the nodes that granted just that. */
inline choose(c)
{
	COUNT_NODES(vote[AT(c, k)] != 0);
	if
	:: count >= QUORUM ->
		SEEN;
		phase[c] = RAISING;
		for (k : 0 .. NODES - 1) {
			most[c] = LARGER(most[c], vote[AT(c, k)])
		}
		for (k : 0 .. NODES - 1) {
			confirmed[AT(c, k)] = CONFIRMS(c, k)
		}
		k = 0;
		printf("client %d: %d votes, the number is to be %d\n", c, count, most[c])
	:: else
	fi;
	count = 0
}

/* From now on its key may go, and what it sent may still come. */
inline decide(c)
{
	phase[c] = OVER;
	decided++;
	since[c] = 0;
	for (k : 0 .. NODES - 1) {
		vote[AT(c, k)] = 0;
		confirmed[AT(c, k)] = false;
		before[k] = before[k] & ~BIT(c)
	}
	k = 0
}

/* The promise: a number is issued once, and is higher than all that were issued before its attempt began. */
inline issue(c)
{
	COUNT_NODES(confirmed[AT(c, k)]);
	if
	:: count >= QUORUM ->
		SEEN;
		printf("client %d: number %d is issued\n", c, most[c]);
		assert(most[c] > since[c]);
		assert((issued & BIT(most[c])) == 0);
		issued = issued | BIT(most[c]);
		highest = LARGER(highest, most[c]);
		decide(c)
	:: else
	fi;
	count = 0
}

inline give_up(c)
{
	printf("client %d: gives up\n", c);
	decide(c)
}

#ifdef EXTENDS_FIRST		/* a holder that has extended asks for its number; no quarantine waits for that */
#define HAS_A_QUORUM(c) (phase[c] == RAISING && \
	HAS_KEY(c, 0) + HAS_KEY(c, 1) + HAS_KEY(c, 2) >= QUORUM)
#define HAS_KEY(c, n) (owner[n] == c && admitted[n] -> 1 : 0)

inline extend(c)
{
	for (k : 0 .. NODES - 1) {
		before[k] = before[k] & ~BIT(c)
	}
	k = 0;
	printf("client %d: extends, and has no number yet\n", c)
}
#endif

proctype client(byte c)
{
end:	do
	:: STEP(phase[c] == IDLE && (c == 1 || phase[c - 1] != IDLE), begin_attempt(c))
	:: STEP(phase[c] == CLAIMING, choose(c))
	:: STEP(phase[c] == RAISING, issue(c))
	:: STEP(phase[c] == CLAIMING || phase[c] == RAISING, give_up(c))
#ifdef EXTENDS_FIRST
	:: STEP(HAS_A_QUORUM(c), extend(c))
#endif
	od
}

/* ---- Steps of the network: a request arrives, and its answer is heard or is not ------------------------ */

#define CLAIM_IS_OUT(c, n) ((claim_out[n] & BIT(c)) != 0)

/* A vote that is heard after the number was chosen counts if it is not above it. */
inline grant(c, n, heard)
{
	owner[n] = c;
	claim_out[n] = claim_out[n] & ~BIT(c);
	if
	:: heard && (phase[c] == CLAIMING || (phase[c] == RAISING && MAY_STILL_COUNT(c, n))) ->
		SEEN;
		vote[AT(c, n)] = counter[n];
		confirmed[AT(c, n)] = phase[c] == RAISING && counter[n] == most[c]
	:: else
	fi;
	printf("node %d: granted to client %d, number %d, heard: %d\n", n, c, counter[n], heard)
}

inline claim_arrives(c, n, heard)
{
	counter[n] = HIGHEST_THERE(n) + 1;
	grant(c, n, heard)
}

/* The key of a token that is over, in one step with its release. */
inline hand_over(c, n, heard)
{
	printf("node %d: the key is handed over\n", n);
	counter[n] = HANDED(n);
	grant(c, n, heard)
}

inline raise_arrives(c, n)
{
	counter[n] = LARGER(counter[n], most[c]);
	confirmed[AT(c, n)] = phase[c] == RAISING;
	printf("node %d: raised to %d by client %d\n", n, counter[n], c)
}

proctype link(byte c; byte n)
{
end:	do
	:: STEP(CLAIM_IS_OUT(c, n) && owner[n] == NOBODY && admitted[n], claim_arrives(c, n, true))
#ifdef UNHEARD
	:: STEP(CLAIM_IS_OUT(c, n) && owner[n] == NOBODY && admitted[n], claim_arrives(c, n, false))
#endif
	:: STEP(CLAIM_IS_OUT(c, n) && owner[n] != NOBODY && owner[n] != c && phase[owner[n]] == OVER && MAY_HAND(n),
		hand_over(c, n, true))
	:: STEP(RAISE_IS_OUT(c, n) && RAISES(c, n), raise_arrives(c, n))
	od
}

/* ---- Steps of a node ----------------------------------------------------------------------------------- */

inline key_goes(n)
{
	printf("node %d: the key of client %d is gone\n", n, owner[n]);
	owner[n] = NOBODY
}

#ifdef COUNTERS_EXPIRE
inline counter_expires(n)
{
	counter[n] = 0;
	printf("node %d: the counter has expired\n", n)
}
#endif

/* Wiped, flushed, or restarted with data of any age: at worst the key is still there, and the numbers are not. */
inline forget(n, keeps_key)
{
	forgets++;
	id[n]++;
	counter[n] = 0;
	floor[n] = 0;
	owner[n] = (keeps_key -> owner[n] : NOBODY);
	admitted[n] = REJOINS_AT_ONCE;
	before[n] = 0;
	for (k : 1 .. ATTEMPTS) {
		before[n] = before[n] | (phase[k] == CLAIMING || phase[k] == RAISING -> BIT(k) : 0)
	}
	k = 0;
	printf("node %d: forgets, key kept: %d\n", n, keeps_key)
}

#define QUARANTINE_IS_OVER(n) (before[n] == 0)

/* Learns the counters of one node at a time. The answer that tells the id comes before anything is read. */
inline learn(n)
{
	repairs = true;
	quoted[n] = id[n];
	printf("node %d: its repair is told %d\n", n, id[n])
}

inline read(n)
{
	was_read[n] = true;
	found = LARGER(found, GMAX(n));
	printf("node %d: is read, %d\n", n, GMAX(n))
}

inline end_repair(n)
{
	repairs = false;
	quoted[n] = 0;
	found = 0;
	for (k : 0 .. NODES - 1) {
		was_read[k] = false
	}
	k = 0
}

/* An admission may come twice, which stands for another client that has read the same. */
inline admit(n)
{
	COUNT_NODES(was_read[k]);
	if
	:: IS_QUOTED(n) && MAY_BE_ADMITTED(n) && count >= READ_QUORUM ->
		SEEN;
		admitted[n] = true;
		floor[n] = ADMITTED_FLOOR(n);
		printf("node %d: is admitted, floor %d\n", n, floor[n])
	:: else ->
		SEEN
	fi;
	count = 0;
	if
	:: forgets == FORGETS -> end_repair(n)	/* once more changes nothing then */
	:: else
	fi
}

proctype node(byte n)
{
end:	do
	:: STEP(owner[n] != NOBODY, key_goes(n))
#ifdef COUNTERS_EXPIRE
	:: STEP(counter[n] != 0, counter_expires(n))
#endif
#if FORGETS
	:: STEP(forgets < FORGETS, forget(n, false))
	:: STEP(forgets < FORGETS && owner[n] != NOBODY, forget(n, true))
	:: STEP(!repairs && !admitted[n] && MAY_LEARN(n), learn(n))
	:: STEP(repairs && !was_read[n] && quoted[n] == 0 && MAY_READ(n), read(n))
	:: STEP(quoted[n] != 0, admit(n))
	:: STEP(quoted[n] != 0, end_repair(n))
#endif
	od
}

/* ---- Begin: the counters differ, as attempts have failed ----------------------------------------------- */

init {
	atomic {
		for (i : 1 .. ATTEMPTS) {
			phase[i] = IDLE;
			run client(i);
			for (k : 0 .. NODES - 1) {
				run link(i, k)
			}
		}
		for (k : 0 .. NODES - 1) {
			admitted[k] = true;
			run node(k)
		}
		if
#ifdef START
		:: counter[NODES - 2] = START - 2; counter[NODES - 1] = 2
#else
		:: counter[NODES - 1] = 0
		:: counter[NODES - 1] = 2
		:: counter[NODES - 2] = 1; counter[NODES - 1] = 2
		:: counter[NODES - 2] = 2; counter[NODES - 1] = 2
#endif
		fi;
		i = 0;
		k = 0
	}
}
