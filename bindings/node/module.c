/* SPDX-License-Identifier: MIT */
/* The module: its calls by name, their arguments and results. */
#include "native.h"

#include <redlock/loaded.h>

void *external(napi_env env, napi_value value)
{
	void *data = NULL;
	napi_get_value_external(env, value, &data);
	return data;
}

/* The bytes of a Buffer; NULL for anything else. */
char *bytes(napi_env env, napi_value value, size_t *ret_len)
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

napi_value element(napi_env env, napi_value array, uint32_t index)
{
	napi_value value = NULL;
	napi_get_element(env, array, index, &value);
	return value;
}

uint32_t length(napi_env env, napi_value array)
{
	uint32_t count = 0;
	napi_get_array_length(env, array, &count);
	return count;
}

/* A duration in ms; a number too large for the library, Infinity among them, is REDLOCK_FOREVER. */
uint64_t duration(napi_env env, napi_value value)
{
	double ms = 0;
	napi_get_value_double(env, value, &ms);
	return ms >= 9e15 ? REDLOCK_FOREVER : ms > 0 ? (uint64_t)ms : 0;
}

napi_value number(napi_env env, double value)
{
	napi_value result = NULL;
	napi_create_double(env, value, &result);
	return result;
}

napi_value string(napi_env env, const char *text)
{
	napi_value result = NULL;
	napi_create_string_utf8(env, text, NAPI_AUTO_LENGTH, &result);
	return result;
}

napi_value fail(napi_env env, int error, const char *why)
{
	napi_throw_error(env, redlock_error_name(error), *why ? why : redlock_strerror(error));
	return NULL;
}

/* error(code): [name, sentence] */
CALL(error)
{
	ARGUMENTS(1);
	int32_t code = 0;
	napi_value pair = NULL;
	napi_get_value_int32(env, args[0], &code);
	napi_create_array(env, &pair);
	napi_set_element(env, pair, 0, string(env, redlock_error_name(code)));
	napi_set_element(env, pair, 1, string(env, redlock_strerror(code)));
	return pair;
}

/* isDuration(name): 1 if the values of this option are durations, else 0. */
CALL(isDuration)
{
	ARGUMENTS(1);
	return number(env, redlock_option_is_duration(bytes(env, args[0], NULL)));
}

NAPI_MODULE_INIT()
{
#define ENTRY(name) {.utf8name = #name, .method = call_##name},
	static const napi_property_descriptor calls[] = {CALLS(ENTRY)};
#undef ENTRY
	static const struct {
		const char *name;
		int value;
	} constants[] = {
	    {"DONE", REDLOCK_EVENT_DONE},        {"DANGER", REDLOCK_EVENT_DANGER},
	    {"LOST", REDLOCK_EVENT_LOST},        {"ACQUIRE", REDLOCK_OP_ACQUIRE},
	    {"EXTEND", REDLOCK_OP_EXTEND},       {"RELEASE", REDLOCK_OP_RELEASE},
	    {"QUERY", REDLOCK_OP_QUERY},         {"UPGRADE", REDLOCK_OP_UPGRADE},
	    {"DOWNGRADE", REDLOCK_OP_DOWNGRADE}, {"E_LOST", REDLOCK_E_LOST},
	    {"E_BUSY", REDLOCK_E_BUSY},          {"E_GONE", REDLOCK_E_GONE},
	};
	char why[TEXT] = "the module was ";
	size_t known = strlen(why);
	if (redlock_check_loaded(why + known, sizeof why - known) < 0) {
		napi_throw_error(env, NULL, why);
		return NULL;
	}
	napi_define_properties(env, exports, sizeof calls / sizeof *calls, calls);
	for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
		napi_set_named_property(env, exports, constants[i].name, number(env, constants[i].value));
	napi_set_named_property(env, exports, "version", string(env, redlock_version()));
	return exports;
}
