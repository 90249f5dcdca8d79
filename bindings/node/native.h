/* SPDX-License-Identifier: MIT */
/*
 * libredlock for Node.js, the part in C: each call of the public header that index.js needs, and the client's
 * one descriptor in the loop of the environment. index.js calls it, nobody else. It decides nothing, starts
 * no thread and has no state outside its clients, so that each worker thread has clients of its own. Names
 * and texts come as Buffers, texts with a NUL at their end; options are texts as the configuration has them.
 *
 *     client.c  open, close, the loop      lock.c  handles      module.c  the list of calls, arguments, the
 * version
 */
#ifndef REDLOCK_NODE_NATIVE_H
#define REDLOCK_NODE_NATIVE_H

#define NAPI_VERSION 8
#include <node_api.h>
#include <redlock/redlock.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 1024 /* bytes of a sentence */, EVENTS = 64 /* in one turn: as index.js has it */ };

typedef struct uv_handle_s uv_handle_t;

struct client {
	redlock_client *redlock; /* NULL: closed */
	napi_env env;
	napi_ref turn; /* the function of index.js that takes events */
	napi_async_context context;
	napi_async_cleanup_hook_handle hook;
	uv_handle_t *poll;
	struct handle *handles;
	struct redlock_event events[EVENTS];
	int count;        /* of them; negative: an error */
	bool received;    /* index.js is called for them: nothing else is received first */
	bool drains;      /* index.js waits until no release is owed */
	unsigned pending; /* operations without an event, and using(): only they keep the process alive */
	unsigned owners;  /* the object in JavaScript, and the loop */
};

/* client.c: an operation of the client has begun, or its event came. */
void operation_begins(struct client *client);
void operation_ends(struct client *client);

/* lock.c: frees all handles of a client, which releases what they hold. */
void free_handles(struct client *client);

/* Arguments. */
void *external(napi_env env, napi_value value);
char *bytes(napi_env env, napi_value value, size_t *ret_len); /* of a Buffer; NULL for anything else */
napi_value element(napi_env env, napi_value array, uint32_t index);
uint32_t length(napi_env env, napi_value array);
uint64_t duration(napi_env env, napi_value value); /* in ms; Infinity is REDLOCK_FOREVER */

/* Results. fail() throws, with the name of the error as `code`; "" as text: the sentence of the error. */
napi_value number(napi_env env, double value);
napi_value string(napi_env env, const char *text);
napi_value fail(napi_env env, int error, const char *why);

#define ARGUMENTS(count)                                                                                     \
	napi_value args[count];                                                                                  \
	size_t given = (count);                                                                                  \
	napi_get_cb_info(env, info, &given, args, NULL, NULL)

/* X(name): what index.js calls. */
#define CALLS(X)                                                                                             \
	X(open)                                                                                                  \
	X(turn)                                                                                                  \
	X(keep)                                                                                                  \
	X(owed)                                                                                                  \
	X(releaseAll)                                                                                            \
	X(close)                                                                                                 \
	X(lock)                                                                                                  \
	X(start)                                                                                                 \
	X(cancel)                                                                                                \
	X(remaining)                                                                                             \
	X(fence)                                                                                                 \
	X(slot)                                                                                                  \
	X(obstacle)                                                                                              \
	X(token)                                                                                                 \
	X(lastError)                                                                                             \
	X(votes)                                                                                                 \
	X(isDuration)                                                                                            \
	X(error)

#define CALL(name) napi_value call_##name(napi_env env, napi_callback_info info)
#define DECLARE(name) CALL(name);
CALLS(DECLARE)
#undef DECLARE

#endif
