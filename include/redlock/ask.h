/* SPDX-License-Identifier: MIT */
/*
 * Commands to the servers, for programs that monitor them. redlock.h does not include this header: no lock
 * needs it. redlock.h explains clients, errors, sizes and points in time.
 *
 * Questions use separate connections, with the addresses, users, passwords, databases and TLS that the client
 * has when the asker is opened. Locks and votes do not use these connections, and no vote waits for a
 * question. Only one thread at a time may use an asker.
 *
 *     redlock_asker *asker;
 *     const char *const info[] = {"INFO", "server"};
 *     struct redlock_question q = {.size = sizeof q, .node = 0, .argc = 2, .argv = info};
 *     if (redlock_asker_open(client, &asker) == 0) {
 *         if (redlock_ask(asker, &q, 1, 1000) == 0 && q.reply->kind == REDLOCK_REPLY_STRING)
 *             puts(q.reply->text);
 *         redlock_asker_close(asker);
 *     }
 */
#ifndef REDLOCK_ASK_H
#define REDLOCK_ASK_H

#include "redlock.h" /* NOLINT(misc-header-include-cycle): it is a header by itself, too */

#ifdef __cplusplus
extern "C" {
#endif

typedef struct redlock_asker redlock_asker;

enum redlock_reply_kind {
	REDLOCK_REPLY_STATUS = 1, /* "OK" */
	REDLOCK_REPLY_ERROR = 2,  /* "NOPERM ..." */
	REDLOCK_REPLY_INTEGER = 3,
	REDLOCK_REPLY_STRING = 4,
	REDLOCK_REPLY_NIL = 5,
	REDLOCK_REPLY_ARRAY = 6
};

/* The answer of a server (RESP2). It may contain any bytes: escape them before you print them on a terminal.
 * The library makes it, and its `items` are an array: the struct never grows. */
struct redlock_reply {
	enum redlock_reply_kind kind;
	int64_t integer;                   /* INTEGER */
	const char *text;                  /* STATUS, ERROR, STRING: `length` bytes and a NUL; else "" */
	size_t length;                     /* of `text` */
	const struct redlock_reply *items; /* ARRAY: `count` of them */
	size_t count;
};

/* One command for one node. The caller fills in the first five. In an array all have the same `size`, which
 * is the distance from one to the next. */
struct redlock_question {
	size_t size;             /* sizeof(struct redlock_question) */
	unsigned node;           /* from 0, in the order of the URLs */
	size_t argc;             /* words of the command, at least one */
	const char *const *argv; /* they may have any bytes, where `argv_len` says how many */
	const size_t *argv_len;  /* NULL: each word ends with a NUL */

	/* The result. Both texts stay valid until the next redlock_ask() or redlock_asker_close(). */
	const struct redlock_reply *reply; /* NULL: none came, and the server may or may not have executed it */
	enum redlock_vote_code missing;    /* why `reply` is NULL; else PENDING */
	const char *error;                 /* the same in words, or ""; never contains a secret */
	uint64_t sent_ns;                  /* when it was sent; 0: it was not */
	uint64_t answered_ns;              /* when the answer arrived; 0: never */
};

/* Makes an asker for the nodes of a client, which must stay open until the asker is closed. Nothing is sent.
 * Any thread. Errors: INVAL, NOMEM, SYSTEM, FORKED. */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_asker_open(redlock_client *client, redlock_asker **ret_asker);

/* As redlock_asker_open(), for servers of node `node`, a Redis Cluster: `servers` has the HOST:PORT of each,
 * as CLUSTER NODES tells it, at most REDLOCK_MAX_NODES of them. The `node` of a question is then the index of
 * one. Of a cluster, an asker of redlock_asker_open() asks a server to which the client has a connection, and
 * asks a question about a key again where that server says that the key is (MOVED, ASK).
 * Of a master of Sentinels the servers are Sentinels, each as redlock_url.host lists it.
 * Errors: the same; INVAL if the node is neither, a server has no port, or no such Sentinel is in its URL.
 * One without a HOST is at the host of the server that the client is connected to. */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_asker_open_servers(redlock_client *client, unsigned node,
                                                              const char *const *servers, size_t count,
                                                              redlock_asker **ret_asker);

/*
 * Sends all questions at once, those of one node in their order, and waits for all answers, `timeout_ms` at
 * most. Returns the number of questions without an answer. The words of a question may be texts of earlier
 * replies, which this call frees at its end.
 *
 * The asker connects to a node when it is asked for the first time. A connection on which an answer is
 * missing is closed, and opened again when its node is next asked. A command must have one answer, and leave
 * the connection usable for commands: not MONITOR, CLIENT REPLY, HELLO 3 or QUIT, and SUBSCRIBE only as the
 * last one. An answer has at most 1 MiB and 65536 values; a longer one ends the connection (GARBAGE).
 *
 * Signals: as for a blocking call, see redlock.h. Errors: INVAL, NOMEM, INTERRUPTED, SYSTEM, FORKED; answers
 * that arrived before the error are kept.
 */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_ask(redlock_asker *asker, struct redlock_question *questions,
                                               size_t count, uint64_t timeout_ms);

/* Returns as a vote what became of a question: NO for a key of another type, the vote that an operation makes
 * of any other error (NOPERM, AUTH, LOADING, ...), `missing` without a reply, and else YES. Asks no node; any
 * thread. */
REDLOCK_API enum redlock_vote_code redlock_question_vote(const struct redlock_question *question);

/* Closes the connections, without waiting, and frees all replies. */
REDLOCK_API void redlock_asker_close(redlock_asker *asker);

#ifdef __cplusplus
}
#endif

#endif
