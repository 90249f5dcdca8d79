/* SPDX-License-Identifier: MIT */
/*
 * libredlock for Node.js, the part in C: each call of the public header that index.js needs, and the client's
 * one descriptor in the loop of the environment. index.js calls it, nobody else. It decides nothing, starts
 * no thread and has no state outside its clients, so that each worker thread has clients of its own. Names
 * and texts come as Buffers, texts with a NUL at their end; options are texts as redlock_config(3) has them.
 */
#define NAPI_VERSION 8
#include <node_api.h>
#include <redlock/loaded.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { EVENTS = 64 /* in one turn */, FIELDS = 4, TEXT = 1024, ARGUMENTS = 5, EXIT_DRAIN_MS = 1000 };

/* The part of libuv that is called. Every node has it, its interface is stable, and npm node-api-headers
 * lacks uv.h. */
typedef struct uv_loop_s uv_loop_t;
typedef struct uv_handle_s uv_handle_t;
enum { UV_READABLE = 1 };
int uv_poll_init(uv_loop_t *loop, uv_handle_t *handle, int fd);
int uv_poll_start(uv_handle_t *handle, int events,
                  void (*callback)(uv_handle_t *handle, int status, int events));
size_t uv_handle_size(int type);
const char *uv_handle_type_name(int type);
void uv_handle_set_data(uv_handle_t *handle, void *data);
void *uv_handle_get_data(const uv_handle_t *handle);
void uv_ref(uv_handle_t *handle);
void uv_unref(uv_handle_t *handle);
void uv_close(uv_handle_t *handle, void (*closed)(uv_handle_t *handle));

struct client {
	redlock_client *redlock; /* NULL: closed */
	napi_env env;
	napi_ref hear;   /* the function of index.js that takes events, and keeps `numbers` */
	double *numbers; /* of a Float64Array: FIELDS of each event */
	napi_async_context context;
	napi_async_cleanup_hook_handle hook;
	uv_handle_t *poll;
	struct redlock_event events[EVENTS];
	bool drains;     /* index.js waits until no release is owed */
	unsigned owners; /* the object in JavaScript, and the loop */
};

/* ---- arguments and results ---- */

static void *external(napi_env env, napi_value value)
{
	void *data = NULL;
	napi_get_value_external(env, value, &data);
	return data;
}

/* The bytes of a Buffer; NULL for anything else. */
static char *bytes(napi_env env, napi_value value, size_t *ret_len)
{
	void *data = NULL;
	bool is_buffer = false;
	size_t len = 0;
	if (napi_is_buffer(env, value, &is_buffer) == napi_ok && is_buffer)
		napi_get_buffer_info(env, value, &data, &len);
	if (ret_len != NULL)
		*ret_len = len;
	return is_buffer && data == NULL ? "" : data;
}

static double real(napi_env env, napi_value value)
{
	double result = 0;
	napi_get_value_double(env, value, &result);
	return result;
}

static int integer(napi_env env, napi_value value)
{
	return (int)real(env, value);
}

/* A duration in ms; a number too large for the library, Infinity among them, is REDLOCK_FOREVER. */
static uint64_t duration(napi_env env, napi_value value)
{
	double ms = real(env, value);
	return ms >= 9e15 ? REDLOCK_FOREVER : ms > 0 ? (uint64_t)ms : 0;
}

static napi_value number(napi_env env, double value)
{
	napi_value result = NULL;
	napi_create_double(env, value, &result);
	return result;
}

static napi_value string(napi_env env, const char *text)
{
	napi_value result = NULL;
	napi_create_string_utf8(env, text, NAPI_AUTO_LENGTH, &result);
	return result;
}

/* Throws an error that has the name of `error` as its code; "" as `why`: the sentence of the error. */
static napi_value fail(napi_env env, int error, const char *why)
{
	napi_throw_error(env, redlock_error_name(error), *why ? why : redlock_strerror(error));
	return NULL;
}

/* A call of index.js. RESULT: one that is an expression. */
#define CALL(name) static napi_value name(napi_env env, const napi_value *args)
#define RESULT(name, expression)                                                                             \
	CALL(name)                                                                                               \
	{                                                                                                        \
		return expression;                                                                                   \
	}

/* ---- clients ---- */

static void drop(struct client *client)
{
	if (--client->owners == 0)
		free(client);
}

static void on_closed(uv_handle_t *poll)
{
	struct client *client = uv_handle_get_data(poll);
	free(poll);
	napi_remove_async_cleanup_hook(client->hook);
	drop(client);
}

static void close_client(struct client *client, uint64_t drain_ms)
{
	if (client->redlock == NULL)
		return;
	redlock_release_all(client->redlock);
	redlock_drain(client->redlock, drain_ms);
	uv_close(client->poll, on_closed);
	redlock_close(client->redlock);
	client->redlock = NULL;
	napi_delete_reference(client->env, client->hear);
	napi_async_destroy(client->env, client->context);
}

/* Runs when the environment ends, also by worker.terminate(). on_closed() removes the hook, which the
 * environment waits for. */
static void on_exit_hook(napi_async_cleanup_hook_handle hook, void *data)
{
	(void)hook;
	close_client(data, EXIT_DRAIN_MS);
}

/* Receives and sends. Writes each event: number of the handle, kind, operation and result. Returns how many
 * there are. */
static int receive(struct client *client)
{
	int count = client->redlock == NULL ? 0 : redlock_turn(client->redlock, EVENTS, client->events);
	double *to = client->numbers;
	for (int i = 0; i < count; i++, to += FIELDS) {
		to[0] = (double)(uintptr_t)client->events[i].user;
		to[1] = client->events[i].kind;
		to[2] = client->events[i].operation;
		to[3] = client->events[i].result;
	}
	return count;
}

/* An operation needs the answers of several nodes, each of which may wake the loop, and JavaScript for the
 * last alone. */
static void on_readable(uv_handle_t *poll, int status, int events)
{
	struct client *client = uv_handle_get_data(poll);
	napi_env env = client->env;
	napi_handle_scope scope;
	napi_value hear, global, error;
	int count = receive(client);
	(void)status, (void)events;
	if ((count == 0 && !client->drains) || napi_open_handle_scope(env, &scope) != napi_ok)
		return;
	napi_value counted = number(env, count);
	if (napi_get_reference_value(env, client->hear, &hear) == napi_ok &&
	    napi_get_global(env, &global) == napi_ok &&
	    napi_make_callback(env, client->context, global, hear, 1, &counted, NULL) == napi_pending_exception &&
	    napi_get_and_clear_last_exception(env, &error) == napi_ok)
		napi_fatal_exception(env, error);
	napi_close_handle_scope(env, scope);
}

static uv_handle_t *new_poll(napi_env env, int fd, struct client *client)
{
	uv_loop_t *loop = NULL;
	int type = 1;
	while (strcmp(uv_handle_type_name(type), "poll") != 0)
		type++;
	uv_handle_t *poll = malloc(uv_handle_size(type));
	if (poll == NULL || napi_get_uv_event_loop(env, &loop) != napi_ok || uv_poll_init(loop, poll, fd) < 0) {
		free(poll);
		return NULL;
	}
	uv_handle_set_data(poll, client);
	uv_poll_start(poll, UV_READABLE, on_readable);
	uv_unref(poll);
	return poll;
}

static void finalize_client(napi_env env, void *data, void *hint)
{
	(void)env, (void)hint;
	drop(data);
}

/* Puts an open client into the loop. The object owns it from then on. */
static napi_value adopt(napi_env env, redlock_client *redlock, napi_value numbers, napi_value hear)
{
	struct client *client = calloc(1, sizeof *client);
	napi_value object = NULL;
	if (client == NULL || (client->poll = new_poll(env, redlock_fd(redlock), client)) == NULL) {
		free(client);
		redlock_close(redlock);
		return fail(env, REDLOCK_E_NOMEM, "");
	}
	client->redlock = redlock;
	client->env = env;
	client->owners = 2;
	client->events[0].size = sizeof client->events[0];
	napi_get_typedarray_info(env, numbers, NULL, NULL, (void **)&client->numbers, NULL, NULL);
	napi_create_external(env, client, finalize_client, NULL, &object);
	napi_create_reference(env, hear, 1, &client->hear);
	napi_async_init(env, object, string(env, "redlock"), &client->context);
	napi_add_async_cleanup_hook(env, on_exit_hook, client, &client->hook);
	return object;
}

/* open(options, cluster, file, numbers, hear): "" as `cluster` and `file` names none. */
CALL(open_client)
{
	char why[TEXT] = "";
	redlock_client *redlock = NULL;
	int error = redlock_open_words(bytes(env, args[0], NULL), bytes(env, args[1], NULL),
	                               bytes(env, args[2], NULL), why, sizeof why, &redlock);
	return error < 0 ? fail(env, error, why) : adopt(env, redlock, args[3], args[4]);
}

#define CLIENT ((struct client *)external(env, args[0]))

/* turn(client): how many events were written to `numbers`, or an error. */
RESULT(turn, number(env, receive(CLIENT)))

/* keep(client, 1 or 0): the process stays alive for this client, or not any more. */
CALL(keep)
{
	struct client *client = CLIENT;
	if (client->redlock != NULL)
		(integer(env, args[1]) ? uv_ref : uv_unref)(client->poll);
	return NULL;
}

/* releaseAll(client): what its handles hold. */
CALL(release_all)
{
	redlock_release_all(CLIENT->redlock);
	return NULL;
}

/* owed(client): how many releases have no answer yet. Until there are none, index.js hears of each answer. */
CALL(owed)
{
	struct client *client = CLIENT;
	int owed = client->redlock == NULL ? 0 : redlock_drain(client->redlock, 0);
	client->drains = owed > 0;
	return number(env, owed);
}

/* close(client, ms): waits that long for releases, and blocks meanwhile. */
CALL(close)
{
	close_client(CLIENT, duration(env, args[1]));
	return NULL;
}

/* ---- locks ---- */

/* The collector calls it, also after the client was closed. */
static void finalize_lock(napi_env env, void *data, void *hint)
{
	(void)env, (void)hint;
	redlock_lock_free(data);
}

/* lock(client, [name, ...], options, token or null, number) */
CALL(lock)
{
	redlock_client *redlock = CLIENT->redlock;
	struct redlock_name names[REDLOCK_MAX_NAMES + 1];
	uint32_t count = 0, i = 0;
	char why[TEXT] = "";
	redlock_lock *made = NULL;
	napi_value name, object = NULL;
	size_t token_len = 0;
	const char *token = bytes(env, args[3], &token_len);
	napi_get_array_length(env, args[1], &count);
	for (; i < count && i <= REDLOCK_MAX_NAMES && napi_get_element(env, args[1], i, &name) == napi_ok; i++)
		names[i].bytes = bytes(env, name, &names[i].len);
	int error = redlock_lock_new_words(redlock, names, i, bytes(env, args[2], NULL), token, token_len,
	                                   (void *)(uintptr_t)real(env, args[4]), /* NOLINT: a number */
	                                   &made);
	if (error < 0) {
		redlock_client_last_error(redlock, why, sizeof why);
		return fail(env, error, why);
	}
	napi_create_external(env, made, finalize_lock, NULL, &object);
	return object;
}

static int index_of(const redlock_lock *lock, int (*get)(const redlock_lock *, unsigned *))
{
	unsigned found = 0;
	int error = get(lock, &found);
	return error < 0 ? error : (int)found;
}

#define LOCK ((redlock_lock *)external(env, args[0]))

/* start(lock, operation, ms): a negative error, or 0, and an event follows. ms: how long an acquire waits, or
 * the TTL of an extend. */
RESULT(start, number(env, redlock_start(LOCK, (enum redlock_operation)integer(env, args[1]),
                                        duration(env, args[2]))))
RESULT(cancel, number(env, redlock_cancel(LOCK)))
RESULT(remaining, number(env, (double)redlock_remaining_ms(LOCK)))
RESULT(fence, number(env, (double)redlock_lock_fence(LOCK)))
RESULT(slot, number(env, index_of(LOCK, redlock_lock_slot)))
RESULT(obstacle, number(env, index_of(LOCK, redlock_lock_obstacle)))

CALL(token)
{
	char text[REDLOCK_MAX_TOKEN + 1];
	size_t len = 0;
	napi_value result = NULL;
	if (redlock_lock_token(LOCK, text, sizeof text, &len) < 0)
		len = 0;
	napi_create_buffer_copy(env, len, text, NULL, &result);
	return result;
}

CALL(last_error)
{
	char text[TEXT] = "";
	redlock_last_error(LOCK, text, sizeof text);
	return string(env, text);
}

/* vote(lock, node): as index.d.ts has it, or undefined where there is no such node. */
CALL(vote)
{
	struct redlock_vote found = {.size = sizeof found};
	napi_value vote = NULL;
	if (redlock_lock_vote(LOCK, (unsigned)integer(env, args[1]), &found) < 0)
		return NULL;
	napi_create_object(env, &vote);
	napi_set_named_property(env, vote, "node", args[1]);
	napi_set_named_property(env, vote, "name", string(env, redlock_vote_name(found.code)));
	napi_set_named_property(env, vote, "text", string(env, redlock_vote_text(found.code)));
	napi_set_named_property(env, vote, "kind", number(env, redlock_vote_kind(found.code)));
	napi_set_named_property(env, vote, "rtt", number(env, (double)found.rtt_ns / 1e6));
	return vote;
}

/* ---- the library ---- */

#define CODE integer(env, args[0])

RESULT(error_name, string(env, redlock_error_name(CODE)))
RESULT(error_text, string(env, redlock_strerror(CODE)))
RESULT(is_duration, number(env, redlock_option_is_duration(bytes(env, args[0], NULL))))
RESULT(constant, number(env, (double)(int64_t)redlock_constant(bytes(env, args[0], NULL))))

static const struct call {
	const char *name;
	napi_value (*run)(napi_env env, const napi_value *args);
} calls[] = {
    /* clang-format off */
    {"open", open_client}, {"turn", turn}, {"keep", keep}, {"releaseAll", release_all}, {"owed", owed}, {"close", close},
    {"lock", lock}, {"start", start}, {"cancel", cancel}, {"remaining", remaining}, {"fence", fence}, {"slot", slot},
    {"obstacle", obstacle}, {"token", token}, {"lastError", last_error}, {"vote", vote}, {"errorName", error_name},
    {"errorText", error_text}, {"isDuration", is_duration}, {"constant", constant},
    /* clang-format on */
};

static napi_value run(napi_env env, napi_callback_info info)
{
	napi_value args[ARGUMENTS];
	size_t given = ARGUMENTS;
	void *data = NULL;
	napi_get_cb_info(env, info, &given, args, NULL, &data);
	return ((const struct call *)data)->run(env, args);
}

NAPI_MODULE_INIT()
{
	char why[TEXT] = "the module was ";
	size_t known = strlen(why);
	if (redlock_check_loaded(why + known, sizeof why - known) < 0) {
		napi_throw_error(env, NULL, why);
		return NULL;
	}
	for (const struct call *call = calls; call < calls + sizeof calls / sizeof *calls; call++) {
		napi_property_descriptor property = {.utf8name = call->name, .method = run, .data = (void *)call};
		napi_define_properties(env, exports, 1, &property);
	}
	napi_set_named_property(env, exports, "version", string(env, redlock_version()));
	return exports;
}
