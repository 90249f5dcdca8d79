/* SPDX-License-Identifier: MIT */
/*
 * A request that a server of a Redis Cluster has not executed, as its hash slot is, or may be, elsewhere:
 * MOVED, ASK, and TRYAGAIN, which a request with several keys gets while they move; or CLUSTERDOWN. Or one
 * that has never left, as there is no connection. The node keeps what was asked and what was answered, and
 * hands out a vote; cluster.c asks again.
 */
#ifndef RL_NET_REDIRECT_H
#define RL_NET_REDIRECT_H

#include "net/outbox.h"
#include "proto/buffer.h"
#include "proto/reply.h"

enum rl_redirect_kind {
	RL_REDIRECT_NONE,
	RL_REDIRECT_MOVED, /* from now on the slot is there */
	RL_REDIRECT_ASK,   /* this request alone is to be asked there, after ASKING */
	RL_REDIRECT_SPLIT, /* TRYAGAIN: some of the keys are here, others there */
	RL_REDIRECT_LATE,  /* CLUSTERDOWN: no server has the slot, or this one does not know; later one may */
	RL_REDIRECT_UNSENT /* the server was not asked, as it has no open connection: any other may be */
};

struct rl_redirect {
	enum rl_redirect_kind kind; /* of the last answer; NONE: it was no redirect */
	unsigned slot;
	char host[64]; /* "": that of the server that says so */
	uint16_t port;
	struct rl_entry entry; /* what was asked, */
	struct rl_buffer bytes;
};

/* Returns what an error says. MOVED and ASK: `redirect` then has the slot, the host and the port. */
enum rl_redirect_kind rl_redirect_read(const char *error, struct rl_redirect *redirect);

/* Keeps the front entry of `asked`. False: out of memory. */
bool rl_redirect_keep(struct rl_redirect *redirect, enum rl_redirect_kind kind,
                      const struct rl_outbox *asked);

/* Keeps the front entry of `asked`, if the error says that it is to be asked elsewhere. */
bool rl_redirect_take(struct rl_redirect *redirect, const struct rl_outbox *asked, const char *error);

#endif
