/* SPDX-License-Identifier: MIT */
/* A tiny JSON writer (RFC 8259). */
#include "json.h"

#include <string.h>

#include "printable.h"

void json_init(struct json *json, FILE *out)
{
	json->out = out;
	json->comma = false;
}

/* Invisible characters are escaped as well: people look at JSON in terminals too. */
static void put_unseen(FILE *out, uint32_t point)
{
	if (point > 0xffff)
		fprintf(out, "\\u%04x\\u%04x", 0xd7c0 + (unsigned)(point >> 10), 0xdc00 + (unsigned)(point & 0x3ff));
	else
		fprintf(out, "\\u%04x", (unsigned)point);
}

/* Writes a string; returns whether all of it was valid UTF-8. */
static bool quoted(FILE *out, const unsigned char *text, size_t length)
{
	bool valid = true;
	uint32_t point = 0;
	putc('"', out);
	for (size_t i = 0, step; i < length; i += step) {
		step = utf8_decode(text + i, length - i, &point);
		if (step == 0) {
			fputs("\\ufffd", out);
			valid = false;
			step = 1;
		} else if (is_unseen(point)) {
			put_unseen(out, point);
		} else {
			if (text[i] == '"' || text[i] == '\\')
				putc('\\', out);
			fwrite(text + i, 1, step, out);
		}
	}
	putc('"', out);
	return valid;
}

static void begin(struct json *json, const char *key)
{
	if (json->comma)
		putc(',', json->out);
	json->comma = true;
	if (key != NULL) {
		quoted(json->out, (const unsigned char *)key, strlen(key));
		putc(':', json->out);
	}
}

void json_open(struct json *json, const char *key, char bracket)
{
	begin(json, key);
	putc(bracket, json->out);
	json->comma = false;
}

void json_close(struct json *json, char bracket)
{
	putc(bracket, json->out);
	json->comma = true;
}

void json_text(struct json *json, const char *key, const char *text)
{
	begin(json, key);
	quoted(json->out, (const unsigned char *)text, strlen(text));
}

void json_number(struct json *json, const char *key, int64_t number)
{
	begin(json, key);
	fprintf(json->out, "%lld", (long long)number);
}

void json_decimal(struct json *json, const char *key, double number)
{
	begin(json, key);
	fprintf(json->out, "%.1f", number);
}

void json_bool(struct json *json, const char *key, bool value)
{
	begin(json, key);
	fputs(value ? "true" : "false", json->out);
}

void json_null(struct json *json, const char *key)
{
	begin(json, key);
	fputs("null", json->out);
}

void json_number_or_null(struct json *json, const char *key, bool known, int64_t number)
{
	if (known)
		json_number(json, key, number);
	else
		json_null(json, key);
}

void json_bytes(struct json *json, const char *key, const void *bytes, size_t length)
{
	const unsigned char *text = bytes;
	begin(json, key);
	if (quoted(json->out, text, length))
		return;
	fprintf(json->out, ",\"%s_hex\":\"", key);
	for (size_t i = 0; i < length; i++)
		fprintf(json->out, "%02x", text[i]);
	putc('"', json->out);
}

void json_end(struct json *json)
{
	putc('\n', json->out);
	json->comma = false;
}
