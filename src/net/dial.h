/* SPDX-License-Identifier: MIT */
/*
 * From an endpoint to a connected socket: the lookup of its name, the addresses that were found, and a race
 * of connects to them. The next address is tried when one fails, or is silent for 250 ms; the first that
 * connects wins. (RFC 8305, "Happy Eyeballs Version 2", from which the order of addresses comes too.)
 *
 * A name is looked up again for every connection, but not twice within a second, and when somebody doubts
 * that the server is still the right one. While the name server is silent, its last answer is tried after 250
 * ms; when it fails, at once. Only when it says that there is no such name, nothing is tried.
 *
 * The address of a Sentinel's master comes from its Sentinels (sentinels.h), under the same rules.
 *
 * Nothing here blocks. Its descriptors have ids of their own in the poller, so that a late report about a
 * closed descriptor is ignored.
 */
#ifndef RL_NET_DIAL_H
#define RL_NET_DIAL_H

#include <redlock/redlock.h>

#include "net/url.h"
#include "os/lookup.h"
#include "os/poller.h"

/* Ids in the poller: the link's number, and above it a serial number. A node has its own number, the next
 * one of its listener, which is RL_WATCH_NODES above that, and the one of all links to its Sentinels. */
#define RL_WATCH_NODES 32u
#define RL_WATCH_SENTINELS (2 * RL_WATCH_NODES)
#define RL_WATCH_LINKS (4 * RL_WATCH_NODES)
_Static_assert(REDLOCK_MAX_NODES < RL_WATCH_NODES, "every node has a number");
#define RL_WATCH_NODE(watch_id) ((watch_id) % RL_WATCH_NODES)

enum rl_dial_news {
	RL_DIAL_NOTHING,   /* go on waiting */
	RL_DIAL_CONNECTED, /* rl_dial_take() has the socket */
	RL_DIAL_FAILED,    /* see `failure` */
	RL_DIAL_FOUND,     /* nobody was connecting any more, and the name has been found: connect now */
	RL_DIAL_MOVED      /* the name does not have the address any more that the connection goes to */
};

enum rl_dial_state { RL_DIAL_IDLE, RL_DIAL_RACING, RL_DIAL_WON };

struct rl_attempt {
	int fd; /* -1: none */
	uint32_t watch_id;
};

struct rl_dial {
	const struct rl_endpoint *endpoint;
	struct rl_poller *poller;
	uint32_t next_watch_id;

	bool by_name;              /* else the address is known for ever */
	struct rl_addresses known; /* as far as is known */
	struct rl_lookup *lookup;  /* NULL: none runs */
	bool seeks;                /* the node is a Sentinel's: its owner is to ask, and calls rl_dial_found() */
	bool confirms; /* the address is found, and more Sentinels may soon name it: `told_ns` will rise */
	uint32_t lookup_watch_id;
	uint64_t asked_ns; /* when the lookup began */
	uint64_t told_ns; /* when the last one began that told an address; of Sentinels: that most of them told */
	uint64_t looked_ns; /* when the last one ended */

	enum rl_dial_state state;
	struct rl_attempt attempts[RL_MAX_ADDRESSES]; /* by number of the address */
	unsigned begun;                               /* of these */
	unsigned winner;
	uint64_t next_ns; /* when the next one begins by itself */

	struct rl_address peer; /* of the connection, or of the last one */
	bool elsewhere;         /* it is another one than before, and the caller has not acknowledged that yet */

	enum redlock_vote_code failure; /* the last one */
	char failure_text[160];
};

/* The endpoint and the poller stay the caller's. `number` is the link's, or a later one of its ids. */
void rl_dial_open(struct rl_dial *dial, const struct rl_endpoint *endpoint, struct rl_poller *poller,
                  uint32_t number);

/* Leaves everything. The socket that was taken is not its own any more. The poller may be closed by now. */
void rl_dial_close(struct rl_dial *dial, bool child);

/* Whether it makes sense to begin: not while a name is looked up of which nothing is known. */
bool rl_dial_may_begin(const struct rl_dial *dial);

/* Begins to connect. NOTHING, or FAILED at once. */
enum rl_dial_news rl_dial_begin(struct rl_dial *dial, uint64_t now_ns);

/* A descriptor is ready that was watched as `watch_id`. */
enum rl_dial_news rl_dial_ready(struct rl_dial *dial, uint32_t watch_id, uint32_t events, uint64_t now_ns);

/* When rl_dial_tick() is due; UINT64_MAX: never. */
uint64_t rl_dial_deadline(const struct rl_dial *dial);
enum rl_dial_news rl_dial_tick(struct rl_dial *dial, uint64_t now_ns);

/* CONNECTED: the socket, which is watched for reading and writing as `ret_watch_id`. */
int rl_dial_take(struct rl_dial *dial, uint32_t *ret_watch_id);

/* Stops connecting, or the connection has ended. A lookup goes on. */
void rl_dial_end(struct rl_dial *dial);

/* Connecting takes too long: fills in `failure`. */
void rl_dial_time_out(struct rl_dial *dial);

/* The server that was reached may not be the right one any more: look its name up again. */
void rl_dial_doubt(struct rl_dial *dial, uint64_t now_ns);

/* Whether an address is being looked up. */
static inline bool rl_dial_looks_up(const struct rl_dial *d)
{
	return d->lookup != NULL || d->seeks;
}

/* The answer to a lookup that began at `asked_ns`, where the owner looks up. */
enum rl_dial_news rl_dial_found(struct rl_dial *dial, const struct rl_lookup_result *result,
                                uint64_t asked_ns, uint64_t now_ns);

/* Whether both are known to be one address, before anybody connects. */
bool rl_dial_same(const struct rl_dial *a, const struct rl_dial *b);

#endif
