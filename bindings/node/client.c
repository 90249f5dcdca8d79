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

enum { FIELDS = 4, HEAD = 2, EXIT_DRAIN_MS = 1000 };

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

static void on_readable(uv_handle_t *poll, int status, int events)
{
	struct client *client = uv_handle_get_data(poll);
	napi_env env = client->env;
	napi_handle_scope scope;
	napi_value turn, global, error;
	(void)status, (void)events;
	if (napi_open_handle_scope(env, &scope) != napi_ok)
		return;
	if (napi_get_reference_value(env, client->turn, &turn) == napi_ok &&
	    napi_get_global(env, &global) == napi_ok &&
	    napi_make_callback(env, client->context, global, turn, 0, NULL, NULL) == napi_pending_exception &&
	    napi_get_and_clear_last_exception(env, &error) == napi_ok)
		napi_fatal_exception(env, error);
	napi_close_handle_scope(env, scope);
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
	napi_create_external(env, client, finalize_client, NULL, &object);
	napi_create_reference(env, turn, 1, &client->turn);
	napi_async_init(env, object, string(env, "redlock"), &client->context);
	napi_add_async_cleanup_hook(env, on_exit_hook, client, &client->hook);
	return object;
}

/* open(urls or null, cluster or null, file or null, [name, value, ...], turn) */
CALL(open)
{
	ARGUMENTS(5);
	char why[TEXT] = "";
	const char *urls[REDLOCK_MAX_NODES + 1];
	struct redlock_options options;
	redlock_client *redlock = NULL;
	int error = 0;
	redlock_options_init(&options);
	options.error_text = why;
	options.error_text_size = sizeof why;
	bool listed = false;
	napi_is_array(env, args[0], &listed);
	if (!listed)
		error = redlock_options_load(&options, bytes(env, args[1], NULL), bytes(env, args[2], NULL));
	for (uint32_t i = 0; listed && i < length(env, args[0]) && i <= REDLOCK_MAX_NODES; i++) {
		urls[i] = bytes(env, element(env, args[0], i), NULL);
		options.url_count = i + 1;
	}
	if (listed)
		options.urls = urls;
	for (uint32_t i = 0; error == 0 && i < length(env, args[3]); i += 2)
		error = redlock_options_set(&options, bytes(env, element(env, args[3], i), NULL),
		                            bytes(env, element(env, args[3], i + 1), NULL));
	if (error == 0)
		error = redlock_open(&options, &redlock);
	redlock_options_clear(&options);
	return error < 0 ? fail(env, error, why) : adopt(env, redlock, args[4]);
}

/* turn(client, Float64Array): receives and sends. Writes how many events there are, whether another turn is
 * due, and each event: number of the handle, kind, operation, result. */
CALL(turn)
{
	ARGUMENTS(2);
	struct client *client = external(env, args[0]);
	struct redlock_event event = {.size = sizeof event};
	size_t room = 0, count = 0;
	void *data = NULL;
	napi_get_typedarray_info(env, args[1], NULL, &room, &data, NULL, NULL);
	double *to = data;
	to[0] = to[1] = 0;
	if (client->redlock == NULL)
		return NULL;
	int error = redlock_process(client->redlock);
	if (error < 0)
		return fail(env, error, "");
	for (; HEAD + (count + 1) * FIELDS <= room && redlock_next(client->redlock, &event) == 1; count++) {
		double *at = to + HEAD + count * FIELDS;
		at[0] = (double)(uintptr_t)event.user;
		at[1] = event.kind;
		at[2] = event.operation;
		at[3] = event.result;
		if (event.kind == REDLOCK_EVENT_DONE)
			operation_ends(client);
	}
	to[0] = (double)count;
	to[1] = redlock_timeout_ns(client->redlock) == 0;
	return NULL;
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

/* owed(client): how many releases have no answer yet. */
CALL(owed)
{
	ARGUMENTS(1);
	struct client *client = external(env, args[0]);
	return number(env, client->redlock == NULL ? 0 : redlock_drain(client->redlock, 0));
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
