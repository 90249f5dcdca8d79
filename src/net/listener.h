/* SPDX-License-Identifier: MIT */
/*
 * A node's second link, on which the server speaks unasked: it subscribes to one channel, and hears messages
 * there (proto/heard.h), and events of some keys, if the server sends and permits them. A missed message
 * costs time. A listener that fails costs a wait some time, and never a vote: it has a backoff of its own,
 * and its owner does not look at why it is down.
 *
 * It goes to the address that the node's other link (`asking`) has reached, with the same credentials, and
 * only while that one is open and knows the server's identity. A listener that meets another server process
 * hears nothing: a subscription there would be at the wrong place.
 *
 * A connection that was cut off is silent, as one is on which nothing happens. So it is asked by PING when
 * nothing came for 5 s, and must answer within 1 s.
 *
 *     rl_listener_new()
 *     rl_listener_begin()        somebody waits: it connects, unless it does, or has to wait
 *     rl_listener_ready()        the poller says so; then rl_listener_next() until there is none
 *     rl_listener_tick()         the time says so
 *     rl_listener_free()
 */
#ifndef RL_NET_LISTENER_H
#define RL_NET_LISTENER_H

#include "net/link.h"
#include "proto/heard.h"

#define RL_LISTENER_CHANNEL 48 /* bytes of the longest channel, and its NUL */

struct rl_listener {
	const struct rl_link *asking;
	char channel[RL_LISTENER_CHANNEL];
	bool stands;       /* the server has confirmed the subscription */
	bool refused;      /* it does not permit it: trying again is of no use for now */
	bool no_keys;      /* nor to hear of keys */
	uint64_t until_ns; /* when nobody needs it any more: its owner's */
	uint64_t asked_ns; /* when the server was last asked something, or has last answered it */

	struct rl_link link; /* the last: it ends with a large buffer. Its endpoint is lent by `asking` */
};

/* A listener that is down. `watch_id` is the first of those that it may use in the poller (dial.h). NULL: out
 * of memory. */
struct rl_listener *rl_listener_new(const struct rl_link *asking, uint32_t watch_id, const char *channel);

/* NULL is allowed. The poller may still watch what it closes: rl_listener_end() comes first, unless the
 * poller ends as well. */
void rl_listener_free(struct rl_listener *listener, bool child);
void rl_listener_end(struct rl_listener *listener, uint64_t now_ns);

/* Connects if it is down, the server is known, and its backoff permits it. */
void rl_listener_begin(struct rl_listener *listener, uint64_t now_ns);

/* The listener's credentials or address have changed: reconnects at once. */
void rl_listener_renew(struct rl_listener *listener, uint64_t now_ns);

/* `asking` was told which server it has reached. */
void rl_listener_meet(struct rl_listener *listener, uint64_t now_ns);

/* As rl_link_ready(). */
void rl_listener_ready(struct rl_listener *listener, uint32_t watch_id, uint32_t events, uint64_t now_ns);

/* The next message that was heard, valid until the next call. False: none at present. */
bool rl_listener_next(struct rl_listener *listener, struct rl_heard *ret_heard, uint64_t now_ns);

/* The subscription stands, and both links have reached the same server process. */
bool rl_listener_hears(const struct rl_listener *listener);

/* From now on, or no more, the end of this key is heard, if the server tells it. False: nothing is sent. */
bool rl_listener_follow(struct rl_listener *listener, struct rl_slice key, bool follow, uint64_t now_ns);

/* When rl_listener_tick() is due; UINT64_MAX: never. */
uint64_t rl_listener_deadline(const struct rl_listener *listener);
void rl_listener_tick(struct rl_listener *listener, uint64_t now_ns);

#endif
