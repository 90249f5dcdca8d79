/* SPDX-License-Identifier: MIT */
/* A tiny JSON writer: one object, written as it is built; always valid UTF-8, what is not seen is escaped. */
#ifndef REDLOCK_TOOL_JSON_H
#define REDLOCK_TOOL_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct json {
	FILE *out;
	bool comma; /* the next member needs one in front */
};

void json_init(struct json *json, FILE *out);

/* `key` NULL: an element of an array, or the outermost value. */
void json_open(struct json *json, const char *key, char bracket); /* '{' or '[' */
void json_close(struct json *json, char bracket);                 /* '}' or ']' */
void json_text(struct json *json, const char *key, const char *text);
void json_number(struct json *json, const char *key, int64_t number);
void json_decimal(struct json *json, const char *key, double number); /* one digit after the point */
void json_bool(struct json *json, const char *key, bool value);
void json_null(struct json *json, const char *key);
void json_number_or_null(struct json *json, const char *key, bool known, int64_t number);

/* Writes bytes of any kind. Bytes that are not UTF-8 become U+FFFD, and then a second member KEY_hex has all
 * bytes. */
void json_bytes(struct json *json, const char *key, const void *bytes, size_t length);

/* Ends the outermost value with a line end. */
void json_end(struct json *json);

#endif
