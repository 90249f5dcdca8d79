/* SPDX-License-Identifier: MIT */
#include "net/request.h"

#include <stdio.h>
#include <string.h>

#include "net/resp.h"

#define WORD(text) ((struct rl_slice){text, sizeof(text) - 1})

enum rl_script rl_script_of(enum redlock_operation operation)
{
	static const enum rl_script scripts[] = {
	    [REDLOCK_OP_NONE] = RL_SCRIPT_COUNT,    [REDLOCK_OP_ACQUIRE] = RL_SCRIPT_COUNT,
	    [REDLOCK_OP_EXTEND] = RL_SCRIPT_EXTEND, [REDLOCK_OP_RELEASE] = RL_SCRIPT_RELEASE,
	    [REDLOCK_OP_QUERY] = RL_SCRIPT_INSPECT,
	};
	return scripts[operation];
}

static bool format(struct rl_buffer *out, const struct rl_request *r, bool by_text)
{
	char digits[24];
	struct rl_slice ttl = {digits, rl_resp_digits(digits, r->ttl_ms)};
	if (r->operation == REDLOCK_OP_ACQUIRE) {
		struct rl_slice set[] = {WORD("SET"), r->name, r->token, WORD("NX"), WORD("PX"), ttl};
		return rl_resp_command(out, set, 6);
	}
	const struct rl_script_text *script = &rl_scripts[rl_script_of(r->operation)];
	struct rl_slice eval[] = {WORD("EVALSHA"), {script->sha, 40}, WORD("1"), r->name, r->token, ttl};
	if (by_text) {
		eval[0] = WORD("EVAL");
		eval[1] = (struct rl_slice){script->text, script->length};
	}
	static const unsigned words[] = {
	    [REDLOCK_OP_QUERY] = 4, [REDLOCK_OP_RELEASE] = 5, [REDLOCK_OP_EXTEND] = 6};
	return rl_resp_command(out, eval, words[r->operation]);
}

void rl_wire_reset(struct rl_wire *wire)
{
	wire->by_sha.size = 0;
	wire->by_text.size = 0;
}

void rl_wire_free(struct rl_wire *wire)
{
	rl_buffer_free(&wire->by_sha);
	rl_buffer_free(&wire->by_text);
}

const struct rl_buffer *rl_wire_form(struct rl_wire *wire, const struct rl_request *request, bool by_text)
{
	if (rl_script_of(request->operation) == RL_SCRIPT_COUNT)
		by_text = false;
	struct rl_buffer *form = by_text ? &wire->by_text : &wire->by_sha;
	if (form->size == 0 && !format(form, request, by_text))
		return NULL;
	return form;
}

bool rl_request_by_text(struct rl_buffer *out, enum rl_script script, struct rl_slice by_sha)
{
	/* "*N" stays, the command and the digest are replaced, the rest stays. N has one digit. */
	enum { COUNT = sizeof "*5\r\n" - 1, HEAD = COUNT + sizeof "$7\r\nEVALSHA\r\n$40\r\n" - 1 + 40 + 2 };
	const struct rl_script_text *s = &rl_scripts[script];
	size_t rest = by_sha.size - HEAD;
	if (!rl_buffer_reserve(out, COUNT + 64 + s->length + rest))
		return false;
	char *at = out->bytes + out->size;
	memcpy(at, by_sha.bytes, COUNT);
	at += COUNT;
	at += sprintf(at, "$4\r\nEVAL\r\n$%zu\r\n", s->length);
	memcpy(at, s->text, s->length);
	at += s->length;
	memcpy(at, "\r\n", 2);
	at += 2;
	memcpy(at, by_sha.bytes + HEAD, rest);
	out->size = (size_t)(at - out->bytes) + rest;
	return true;
}
