/* SPDX-License-Identifier: MIT */
/* RESP as a server speaks it: whole commands out of an inbox, answers into a buffer. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "call.h"
#include "command.h"

/* ---- replies ---- */

void call_reply(struct call *c, const char *line)
{
	buffer_append(c->out, line, strlen(line));
	buffer_append(c->out, "\r\n", 2);
}

void call_reply_number(struct call *c, int64_t number)
{
	char line[32];
	snprintf(line, sizeof line, ":%lld", (long long)number);
	call_reply(c, line);
}

void call_reply_bulk(struct call *c, struct bytes b)
{
	char line[32];
	snprintf(line, sizeof line, "$%zu", b.size);
	call_reply(c, line);
	buffer_append(c->out, b.at, b.size);
	buffer_append(c->out, "\r\n", 2);
}

struct bytes text_bytes(const char *text)
{
	return (struct bytes){text, strlen(text)};
}

/* ---- helpers ---- */

bool word_is(struct bytes word, const char *text)
{
	return word.size == strlen(text) && strncasecmp(word.at, text, word.size) == 0;
}

int64_t word_number(struct bytes word)
{
	int64_t number = 0;
	if (word.size == 0 || word.size > 18)
		return -1;
	for (size_t i = 0; i < word.size; i++) {
		if (word.at[i] < '0' || word.at[i] > '9')
			return -1;
		number = number * 10 + (word.at[i] - '0');
	}
	return number;
}

bool word_integer(struct bytes word, int64_t *ret_number)
{
	bool negative = word.size > 1 && word.at[0] == '-';
	struct bytes digits = {word.at + negative, word.size - negative};
	int64_t number = word_number(digits);
	bool padded = digits.size > 0 && digits.at[0] == '0' && (digits.size > 1 || negative);
	*ret_number = negative ? -number : number;
	return number >= 0 && !padded;
}

/* ---- RESP ---- */

/* Reads a line that begins with `mark` and a number. Its end; 0: not all there; -1 in *ret_number: not RESP.
 */
static size_t read_number(struct bytes in, size_t at, char mark, int64_t *ret_number)
{
	const char *end = at < in.size ? memchr(in.at + at, '\n', in.size - at) : NULL;
	if (end == NULL)
		return 0;
	size_t stop = (size_t)(end - in.at);
	*ret_number = -1;
	if (in.at[at] == mark && stop >= at + 3 && in.at[stop - 1] == '\r')
		*ret_number = word_number((struct bytes){in.at + at + 1, stop - at - 2});
	return stop + 1;
}

/* Reads one command. Its size in bytes; 0: not all there; SIZE_MAX: not RESP. */
static size_t read_command(struct call *c, struct bytes in)
{
	int64_t number;
	size_t at = read_number(in, 0, '*', &number);
	if (at == 0)
		return 0;
	if (number < 1 || number > MAX_WORDS)
		return SIZE_MAX;
	c->count = (unsigned)number;
	for (unsigned i = 0; i < c->count; i++) {
		at = read_number(in, at, '$', &number);
		if (at == 0)
			return 0;
		if (number < 0)
			return SIZE_MAX;
		size_t size = (size_t)number;
		if (in.size - at < size + 2)
			return 0;
		if (memcmp(in.at + at + size, "\r\n", 2) != 0)
			return SIZE_MAX;
		c->words[i] = (struct bytes){in.at + at, size};
		at += size + 2;
	}
	return at;
}

void call_run_queued(struct call *c, struct buffer *queue)
{
	struct call inner = *c;
	inner.in_exec = true;
	while (queue->length > 0) {
		size_t size = read_command(&inner, (struct bytes){buffer_front(queue), queue->length});
		call_execute(&inner);
		buffer_drop(queue, size);
	}
}

void command_run_session(struct world *w, uint32_t conn, unsigned most, struct buffer *out)
{
	struct conn *co = &w->links.conns[conn];
	struct buffer *in = &co->pipe[TO_NODE].inbox;
	struct call call = {.w = w, .node = &w->nodes[co->node], .conn = co, .conn_number = conn, .out = out};
	while (most-- > 0 && co->session.open && in->length > 0) {
		size_t size = read_command(&call, (struct bytes){buffer_front(in), in->length});
		if (size == 0)
			return;
		if (size == SIZE_MAX) {
			check_fail(w, VIOLATION_PROTOCOL, "conn %u: not RESP: '%.*s'", conn,
			           in->length < 300 ? (int)in->length : 300, buffer_front(in));
			co->session.stray = true;
			return;
		}
		call_execute(&call);
		buffer_drop(in, size);
	}
}
