/* SPDX-License-Identifier: MIT */
/* Steps of queue.pml that decide nothing: how a queue is kept in an array, and what faults do. No marked
 * lines. */

/* ---- The array of a queue ------------------------------------------------------------------------------ */

inline remove(c, n)
{
	j = 0;
	for (k : 0 .. CLIENTS - 1) {
		if
		:: line[n * CLIENTS + k] != c ->
			line[n * CLIENTS + j] = line[n * CLIENTS + k];
			j++
		:: else
		fi
	}
	for (k : j .. CLIENTS - 1) {
		line[n * CLIENTS + k] = 0
	}
	j = 0;
	k = 0;
	DROP(woken_until[n], c);
	DROP(time_over[n], c)
}

inline find(c, n)
{
	found = false;
	for (k : 0 .. CLIENTS - 1) {
		found = found || line[n * CLIENTS + k] == c
	}
	k = 0
}

inline append(c, n)
{
	for (k : 0 .. CLIENTS - 1) {
		if
		:: line[n * CLIENTS + k] == 0 ->
			line[n * CLIENTS + k] = c;
			break
		:: else
		fi
	}
	k = 0
}

inline to_the_front(c, n)
{
	remove(c, n);
	for (k : 1 .. CLIENTS - 1) {
		line[n * CLIENTS + CLIENTS - k] = line[n * CLIENTS + CLIENTS - k - 1]
	}
	k = 0;
	FIRST(n) = c
}

/* ---- Faults -------------------------------------------------------------------------------------------- */

inline gives_up(c)
{
	printf("client %d: gives up\n", c);
	let_go(c, true)
}

/* A client's requests are lost with it. A stopped one keeps its connections: PUBLISH says that somebody
 * hears. */
inline dies(c, how)
{
	for (k : 0 .. NODES - 1) {
		DROP(asked[k], c);
		DROP(yes[k], c);
		DROP(release_out[k], c);
		DROP(leaves[k], c);
		DROP(returns[k], c);
		DROP(told[k], c)
	}
	k = 0;
	phase[c] = how;
	again[c] = false;
	woken[c] = false;
	message[c] = false;
	IS_DONE(c);
	printf("client %d: dies\n", c)
}

inline message_is_lost(c)
{
	message[c] = false;
	printf("client %d: its message is lost\n", c)
}

inline message_comes_twice(c)
{
	message[c] = true;
	printf("client %d: its message comes again, or for no reason\n", c)
}

inline release_is_lost(c, n)
{
	DROP(release_out[n], c);
	DROP(leaves[n], c);
	DROP(returns[n], c);
	key[n] = (key[n] == c -> OVER : key[n]);
	printf("node %d: the release of client %d is lost\n", n, c)
}

inline plain_takes(n)
{
	key[n] = PLAIN;
	printf("node %d: a client of another kind takes the key\n", n)
}

inline node_hangs(n)
{
	hung[n] = true;
	printf("node %d: hangs\n", n)
}

inline node_goes_on(n)
{
	hung[n] = false;
	printf("node %d: goes on\n", n)
}

/* Empty; proof/lock.thm has what becomes of the lock. */
inline queue_is_lost(n)
{
	for (k : 0 .. CLIENTS - 1) {
		line[n * CLIENTS + k] = 0
	}
	k = 0;
	woken_until[n] = 0;
	time_over[n] = 0;
	printf("node %d: the queue is lost\n", n)
}
