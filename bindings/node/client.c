/* SPDX-License-Identifier: MIT */
/* Clients: the descriptor in the loop of the environment, events, and the end together with the environment.
 */
#include "native.h"

/* The part of libuv that is called. Every node has it, its interface is stable, and npm node-api-headers
 * lacks uv.h. */
typedef struct uv_loop_s uv_loop_t;
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

enum { EXIT_DRAIN_MS = 1000 };

static void drop(struct client *client)
{
	if (--client->owners == 0)
		free(client);
}

void operation_begins(struct client *client)
{
	if (client->pending++ == 0)
		uv_ref(client->poll);
}

void operation_ends(struct client *client)
{
	if (client->pending > 0 && --client->pending == 0)
		uv_unref(client->poll);
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
	free_handles(client);
	redlock_drain(client->redlock, drain_ms);
	uv_close(client->poll, on_closed);
	redlock_close(client->redlock);
	client->redlock = NULL;
	napi_delete_reference(client->env, client->turn);
	napi_async_destroy(client->env, client->context);
}

/* Runs when the environment ends, also by worker.terminate(). on_closed() removes the hook, which the
 * environment waits for. */
static void on_exit_hook(napi_async_cleanup_hook_handle hook, void *data)
{
	(void)hook;
	close_client(data, EXIT_DRAIN_MS);
}

/* Calls the function of index.js that takes events. */
static void take_turn(struct client *client)
{
	napi_env env = client->env;
	napi_handle_scope scope;
	napi_value turn, global, error;
	if (napi_open_handle_scope(env, &scope) != napi_ok)
		return;
	if (napi_get_reference_value(env, client->turn, &turn) == napi_ok &&
	    napi_get_global(env, &global) == napi_ok &&
	    napi_make_callback(env, client->context, global, turn, 0, NULL, NULL) == napi_pending_exception &&
	    napi_get_and_clear_last_exception(env, &error) == napi_ok)
		napi_fatal_exception(env, error);
	napi_close_handle_scope(env, scope);
}

/* Receives and sends. True: index.js has something to do. An operation needs the answers of several nodes,
 * each of which may wake the loop, and JavaScript for the last one alone. */
static bool receive(struct client *client)
{
	client->count = redlock_turn(client->redlock, EVENTS, client->events);
	client->received = true;
	return client->count != 0 || client->drains;
}

static void on_readable(uv_handle_t *poll, int status, int events)
{
	struct client *client = uv_handle_get_data(poll);
	(void)status, (void)events;
	if (receive(client))
		take_turn(client);
	client->received = false;
}

static void finalize_client(napi_env env, void *data, void *hint)
{
	(void)env, (void)hint;
	drop(data);
}

static uv_handle_t *new_poll(uv_loop_t *loop, int fd, struct client *client)
{
	int type = 1;
	while (strcmp(uv_handle_type_name(type), "poll") != 0)
		type++;
	uv_handle_t *poll = malloc(uv_handle_size(type));
	if (poll == NULL || uv_poll_init(loop, poll, fd) < 0) {
		free(poll);
		return NULL;
	}
	uv_handle_set_data(poll, client);
	uv_poll_start(poll, UV_READABLE, on_readable);
	uv_unref(poll);
	return poll;
}

/* Puts an open client into the loop. The object owns it from then on. */
static napi_value adopt(napi_env env, redlock_client *redlock, napi_value turn)
{
	struct client *client = calloc(1, sizeof *client);
	uv_loop_t *loop = NULL;
	napi_value object = NULL;
	if (client == NULL || napi_get_uv_event_loop(env, (struct uv_loop_s **)&loop) != napi_ok ||
	    (client->poll = new_poll(loop, redlock_fd(redlock), client)) == NULL) {
		free(client);
		redlock_close(redlock);
		return fail(env, REDLOCK_E_NOMEM, "");
	}
	client->redlock = redlock;
	client->env = env;
	client->owners = 2;
	client->events[0].size = sizeof client->events[0];
	napi_create_external(env, client, finalize_client, NULL, &object);
	napi_create_reference(env, turn, 1, &client->turn);
	napi_async_init(env, object, string(env, "redlock"), &client->context);
	napi_add_async_cleanup_hook(env, on_exit_hook, client, &client->hook);
	return object;
}

/* open(configured, cluster or null, file or null, [name, value, ...], turn) */
CALL(open)
{
	ARGUMENTS(5);
	char why[TEXT] = "";
	struct redlock_options options;
	redlock_client *redlock = NULL;
	int error = 0;
	redlock_options_init(&options);
	options.error_text = why;
	options.error_text_size = sizeof why;
	bool is_configured = false;
	napi_get_value_bool(env, args[0], &is_configured);
	if (is_configured)
		error = redlock_options_load(&options, bytes(env, args[1], NULL), bytes(env, args[2], NULL));
	for (uint32_t i = 0; error == 0 && i < length(env, args[3]); i += 2)
		error = redlock_options_set(&options, bytes(env, element(env, args[3], i), NULL),
		                            bytes(env, element(env, args[3], i + 1), NULL));
	if (error == 0)
		error = redlock_open(&options, &redlock);
	redlock_options_clear(&options);
	return error < 0 ? fail(env, error, why) : adopt(env, redlock, args[4]);
}

/* turn(client, Float64Array): receives and sends. Writes each event, number of the handle, kind, operation
 * and result, and returns how many there are. */
CALL(turn)
{
	ARGUMENTS(2);
	struct client *client = external(env, args[0]);
	void *data = NULL;
	napi_get_typedarray_info(env, args[1], NULL, NULL, &data, NULL, NULL);
	if (client->redlock == NULL)
		return number(env, 0);
	if (!client->received)
		receive(client);
	client->received = false;
	if (client->count < 0)
		return fail(env, client->count, "");
	double *to = data;
	for (const struct redlock_event *event = client->events; event < client->events + client->count;
	     event++) {
		*to++ = (double)(uintptr_t)event->user;
		*to++ = event->kind;
		*to++ = event->operation;
		*to++ = event->result;
		if (event->kind == REDLOCK_EVENT_DONE)
			operation_ends(client);
	}
	return number(env, client->count);
}

/* keep(client, yes): the process stays alive for this client, or not any more. */
CALL(keep)
{
	ARGUMENTS(2);
	struct client *client = external(env, args[0]);
	bool is_yes = false;
	napi_get_value_bool(env, args[1], &is_yes);
	if (client->redlock != NULL)
		(is_yes ? operation_begins : operation_ends)(client);
	return NULL;
}

/* owed(client): how many releases have no answer yet. Until there are none, a turn follows each answer. */
CALL(owed)
{
	ARGUMENTS(1);
	struct client *client = external(env, args[0]);
	int owed = client->redlock == NULL ? 0 : redlock_drain(client->redlock, 0);
	client->drains = owed > 0;
	return number(env, owed);
}

/* releaseAll(client): frees all handles, which releases what they hold. */
CALL(releaseAll)
{
	ARGUMENTS(1);
	struct client *client = external(env, args[0]);
	free_handles(client);
	client->pending = 0; /* their events are dropped */
	uv_unref(client->poll);
	return NULL;
}

/* close(client, ms): waits that long for releases, and blocks meanwhile. */
CALL(close)
{
	ARGUMENTS(2);
	close_client(external(env, args[0]), duration(env, args[1]));
	return NULL;
}
