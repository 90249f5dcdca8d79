/* SPDX-License-Identifier: MIT */
/* Lock handles: one object in JavaScript each, which frees its handle at the latest when it is collected. */
#include "native.h"

struct handle {
	redlock_lock *lock; /* NULL: freed, since the client was closed; the library then returns INVAL, or 0 */
	struct client *client;
	struct handle *next, **link;
};

void free_handles(struct client *client)
{
	for (struct handle *handle = client->handles; handle != NULL; handle = handle->next) {
		redlock_lock_free(handle->lock);
		handle->lock = NULL;
		handle->client = NULL;
	}
	client->handles = NULL;
}

static void finalize_handle(napi_env env, void *data, void *hint)
{
	struct handle *handle = data;
	(void)env, (void)hint;
	if (handle->client != NULL) {
		redlock_lock_free(handle->lock);
		*handle->link = handle->next;
		if (handle->next != NULL)
			handle->next->link = handle->link;
	}
	free(handle);
}

static int make_lock(napi_env env, struct client *client, napi_value names,
                     const struct redlock_lock_options *options, redlock_lock **ret_lock)
{
	struct redlock_name list[REDLOCK_MAX_NAMES + 1];
	uint32_t count = 0;
	bool several = false;
	napi_is_array(env, names, &several);
	if (!several) {
		list[0].bytes = bytes(env, names, &list[0].len);
		return redlock_lock_new_bytes(client->redlock, list[0].bytes, list[0].len, options, ret_lock);
	}
	for (; count < length(env, names) && count <= REDLOCK_MAX_NAMES; count++)
		list[count].bytes = bytes(env, element(env, names, count), &list[count].len);
	return redlock_lock_new_many_bytes(client->redlock, list, count, options, ret_lock);
}

/* lock(client, name or [name, ...], [name, value, ...], token or null, number) */
CALL(lock)
{
	ARGUMENTS(5);
	struct client *client = external(env, args[0]);
	char why[TEXT] = "";
	struct redlock_lock_options options = {.size = sizeof options};
	struct handle *handle = calloc(1, sizeof *handle);
	napi_value object = NULL;
	if (handle == NULL)
		return fail(env, REDLOCK_E_NOMEM, "");
	int error =
	    client->redlock == NULL ? REDLOCK_E_STATE : redlock_client_lock_options(client->redlock, &options);
	for (uint32_t i = 0; error == 0 && i < length(env, args[2]); i += 2)
		error = redlock_lock_options_set(&options, bytes(env, element(env, args[2], i), NULL),
		                                 bytes(env, element(env, args[2], i + 1), NULL), why, sizeof why);
	options.token = bytes(env, args[3], &options.token_len);
	double id = 0;
	napi_get_value_double(env, args[4], &id);
	options.user = (void *)(uintptr_t)id; /* NOLINT: a number, as the event returns it */
	if (error == 0 && (error = make_lock(env, client, args[1], &options, &handle->lock)) < 0)
		redlock_client_last_error(client->redlock, why, sizeof why);
	if (error < 0) {
		free(handle);
		return fail(env, error, error == REDLOCK_E_STATE ? "the client was closed" : why);
	}
	handle->client = client;
	handle->next = client->handles;
	handle->link = &client->handles;
	if (handle->next != NULL)
		handle->next->link = &handle->next;
	client->handles = handle;
	napi_create_external(env, handle, finalize_handle, NULL, &object);
	return object;
}

/* start(lock, operation, ms): a negative error, or 0, and an event follows. ms: how long an acquire waits, or
 * the TTL of an extend. */
CALL(start)
{
	ARGUMENTS(3);
	struct handle *handle = external(env, args[0]);
	uint32_t operation = 0;
	napi_get_value_uint32(env, args[1], &operation);
	int result = redlock_start(handle->lock, (enum redlock_operation)operation, duration(env, args[2]));
	if (result == 0)
		operation_begins(handle->client);
	return number(env, result);
}

static int index_of(const redlock_lock *lock, int (*get)(const redlock_lock *, unsigned *))
{
	unsigned found = 0;
	int error = get(lock, &found);
	return error < 0 ? error : (int)found;
}

#define NUMBER(name, value)                                                                                  \
	CALL(name)                                                                                               \
	{                                                                                                        \
		ARGUMENTS(1);                                                                                        \
		redlock_lock *lock = ((struct handle *)external(env, args[0]))->lock;                                \
		return number(env, (double)(value));                                                                 \
	}
NUMBER(cancel, redlock_cancel(lock))
NUMBER(remaining, redlock_remaining_ms(lock))
NUMBER(fence, redlock_lock_fence(lock))
NUMBER(slot, index_of(lock, redlock_lock_slot))
NUMBER(obstacle, index_of(lock, redlock_lock_obstacle))

CALL(token)
{
	ARGUMENTS(1);
	char text[REDLOCK_MAX_TOKEN + 1];
	size_t len = 0;
	napi_value result = NULL;
	if (redlock_lock_token(((struct handle *)external(env, args[0]))->lock, text, sizeof text, &len) < 0)
		len = 0;
	napi_create_buffer_copy(env, len, text, NULL, &result);
	return result;
}

CALL(lastError)
{
	ARGUMENTS(1);
	char text[TEXT] = "";
	redlock_last_error(((struct handle *)external(env, args[0]))->lock, text, sizeof text);
	return string(env, text);
}

/* votes(lock): [{node, name, text, kind, rtt}] */
CALL(votes)
{
	ARGUMENTS(1);
	struct handle *handle = external(env, args[0]);
	struct redlock_vote vote = {.size = sizeof vote};
	napi_value list = NULL, item = NULL;
	napi_create_array(env, &list);
	unsigned nodes = handle->lock == NULL ? 0 : redlock_node_count(handle->client->redlock);
	for (unsigned node = 0; node < nodes && redlock_lock_vote(handle->lock, node, &vote) == 0; node++) {
		napi_create_object(env, &item);
		napi_set_named_property(env, item, "node", number(env, node));
		napi_set_named_property(env, item, "name", string(env, redlock_vote_name(vote.code)));
		napi_set_named_property(env, item, "text", string(env, redlock_vote_text(vote.code)));
		napi_set_named_property(env, item, "kind", number(env, redlock_vote_kind(vote.code)));
		napi_set_named_property(env, item, "rtt", number(env, (double)vote.rtt_ns / 1e6));
		napi_set_element(env, list, node, item);
	}
	return list;
}
