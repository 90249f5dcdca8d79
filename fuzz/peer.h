/* SPDX-License-Identifier: MIT */
/*
 * The server at the other end of the connection, for reply.c: it reads the commands off the wire, holds them
 * against the rules of src/net/node.h, and can answer in the right shape, or say anything at all.
 *
 * A token is one acquisition: its SET, and the release after it. Tokens are "t<number>".
 */
#pragma once

#include <redlock/redlock.h>

#include "fuzz.h"
#include "net/node.h"
#include "resp.h"

enum { PEER_TOKENS = 256, PEER_GHOSTS = 16, PEER_QUEUE = 1024 };

struct peer_token {
	enum redlock_vote_code vote; /* of its SET; PENDING: none yet */
	bool set_on_wire;            /* all bytes of it */
	bool said_yes;               /* to it */
	bool release_asked;          /* as owed */
	bool release_on_wire;
};

/* A connection that broke with a SET of unknown outcome. */
struct peer_ghost {
	int64_t client_id;
	char run_id[41];
	bool killed;
};

enum peer_command {
	PEER_AUTH,
	PEER_SELECT,
	PEER_ID,
	PEER_INFO,
	PEER_PROBE,
	PEER_KILL,
	PEER_ASKED, /* a row of the table of operations */
	PEER_OK,    /* MULTI, WATCH */
	PEER_QUEUED,
	PEER_VALUE, /* GETRANGE; `detail` is the token that is asked about */
	PEER_LEFT,  /* PTTL */
	PEER_EXEC,  /* `detail` commands */
	PEER_LOOK   /* EXEC of a query */
};

struct peer_heard {
	enum peer_command command;
	unsigned detail; /* ASKED: the token, if it has one */
	unsigned operation;
	enum rl_form form;
};

struct peer {
	const struct rl_node *node;
	unsigned opening; /* AUTH and SELECT that a connection must begin with */
	unsigned connection;
	unsigned commands; /* on this connection */
	struct peer_heard queue[PEER_QUEUE];
	bool in_multi;
	bool looks;      /* TYPE was queued */
	unsigned multi;  /* commands that were queued */
	unsigned valued; /* GETRANGEs after the last WATCH */
	unsigned queued;
	unsigned answered;
	unsigned login; /* how many were, with the last AUTH on an open connection; 0: none was heard */
	bool odd;       /* it has said what was not asked for, or left an answer out */
	struct peer_token tokens[PEER_TOKENS];
	unsigned token_count;
	struct peer_ghost ghosts[PEER_GHOSTS];
	unsigned ghost_count;
	unsigned ghost_connection; /* the one that the last ghost was */
};

/* Reads what was sent and checks it. */
void peer_listen(struct peer *peer);

/* Answers the oldest command in the right shape; two bytes of the feed say what. */
void peer_answer(struct peer *peer, struct feed *feed);

/* Leaves out the answer to the oldest command. */
void peer_leave_out(struct peer *peer);

/* Says one of the lines that servers say, whatever was asked. */
void peer_say(struct peer *peer, struct feed *feed);

/* The SET of a token has an unknown outcome: the connection has become a ghost. */
void peer_note_ghost(struct peer *peer);

/* The invariants between any two calls. */
void peer_check(struct peer *peer);
