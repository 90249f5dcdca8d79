/* SPDX-License-Identifier: MIT */
/*
 * By which commands a node compares and deletes, extends or looks: the server's own for deleting where it
 * says that it has one (DELEX of Redis 8.4, DELIFEQ of Valkey 9), else the scripts, by EVALSHA then by EVAL,
 * else a transaction under WATCH (transaction.h). Never by version: the server is asked once for each
 * connection (COMMAND INFO), and what it refuses in use is not tried again until it is another process, or
 * until nothing is left to try.
 *
 * A refusal moves the request to the next form, and is no vote. An error about the key, the memory or the
 * state of the server is one.
 */
#ifndef RL_NET_METHOD_H
#define RL_NET_METHOD_H

#include <stdbool.h>

#include "net/request.h"
#include "net/resp.h"

struct rl_methods {
	bool has[RL_FORM_COUNT];     /* native forms: the server says so */
	bool refused[RL_FORM_COUNT]; /* by use */
	bool knows[RL_SCRIPT_COUNT]; /* scripts that this connection has run: EVALSHA will find them */
	char run_id[41];             /* of the server that all this is about; "": unknown */
};

/* A connection begins: what it has run is unknown. */
void rl_methods_connect(struct rl_methods *methods);

/* The server has said who it is ("": it does not): what another one refused does not count. */
void rl_methods_meet(struct rl_methods *methods, const char *run_id);

/* The server's answer to COMMAND INFO delex delifeq. */
void rl_methods_probed(struct rl_methods *methods, const struct rl_reply *reply);

/* The form in which a request is to be asked. */
enum rl_form rl_methods_choose(const struct rl_methods *methods, const struct rl_request *request);

/* Whether this error says that the form is not to be had here, rather than what the answer is; if so it is
 * not chosen again. */
bool rl_methods_refuse(struct rl_methods *methods, enum rl_form form, const char *error);

/* Nothing is left: the next request begins anew, because somebody may change the server's rules. */
void rl_methods_forgive(struct rl_methods *methods);

#endif
