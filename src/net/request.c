/* SPDX-License-Identifier: MIT */
#include "net/request.h"

#include <stdio.h>

#include "net/resp.h"

#define WORD(text) ((struct rl_slice){text, sizeof(text) - 1})

enum rl_script rl_script_of(enum redlock_operation operation)
{
	static const enum rl_script scripts[] = {
	    [REDLOCK_OP_NONE] = RL_SCRIPT_COUNT,    [REDLOCK_OP_ACQUIRE] = RL_SCRIPT_COUNT,
	    [REDLOCK_OP_EXTEND] = RL_SCRIPT_EXTEND, [REDLOCK_OP_RELEASE] = RL_SCRIPT_RELEASE,
	    [REDLOCK_OP_QUERY] = RL_SCRIPT_INSPECT, [REDLOCK_OP_PROBE] = RL_SCRIPT_COUNT,
	};
	return scripts[operation];
}

bool rl_request_write(struct rl_buffer *out, const struct rl_request *r, enum rl_form form)
{
	char digits[24];
	struct rl_slice ttl = {digits, rl_resp_digits(digits, r->ttl_ms)};
	if (rl_script_of(r->operation) == RL_SCRIPT_COUNT) {
		struct rl_slice if_not = WORD("NX"), if_there = WORD("XX");
		struct rl_slice when = r->operation == REDLOCK_OP_PROBE ? if_there : if_not;
		struct rl_slice set[] = {WORD("SET"), r->name, r->token, when, WORD("PX"), ttl};
		return rl_resp_command(out, set, 6);
	}
	if (form == RL_FORM_DELEX)
		return rl_resp_command(out, (struct rl_slice[]){WORD("DELEX"), r->name, WORD("IFEQ"), r->token}, 4);
	if (form == RL_FORM_DELIFEQ)
		return rl_resp_command(out, (struct rl_slice[]){WORD("DELIFEQ"), r->name, r->token}, 3);
	const struct rl_script_text *script = &rl_scripts[rl_script_of(r->operation)];
	struct rl_slice eval[] = {WORD("EVALSHA"), {script->sha, 40}, WORD("1"), r->name, r->token, ttl};
	if (form == RL_FORM_TEXT) {
		eval[0] = WORD("EVAL");
		eval[1] = (struct rl_slice){script->text, script->length};
	}
	static const unsigned words[] = {
	    [REDLOCK_OP_QUERY] = 4, [REDLOCK_OP_RELEASE] = 5, [REDLOCK_OP_EXTEND] = 6};
	return rl_resp_command(out, eval, words[r->operation]);
}

void rl_wire_reset(struct rl_wire *wire)
{
	for (unsigned i = 0; i < RL_FORM_COUNT; i++)
		wire->forms[i].size = 0;
}

void rl_wire_free(struct rl_wire *wire)
{
	for (unsigned i = 0; i < RL_FORM_COUNT; i++)
		rl_buffer_free(&wire->forms[i]);
}

const struct rl_buffer *rl_wire_form(struct rl_wire *wire, const struct rl_request *request,
                                     enum rl_form form)
{
	struct rl_buffer *bytes = &wire->forms[form];
	if (bytes->size == 0 && !rl_request_write(bytes, request, form))
		return NULL;
	return bytes;
}

/* ---- reading what was written ---- */

enum { MOST_WORDS = 6 };

static size_t read_number(const char **at)
{
	size_t number = 0;
	for ((*at)++; **at != '\r'; (*at)++)
		number = number * 10 + (size_t)(**at - '0');
	*at += 2;
	return number;
}

/* Only ever what rl_resp_command() wrote: whole, and well formed. Returns how many words. */
static unsigned read_words(struct rl_slice bytes, struct rl_slice *words)
{
	const char *at = bytes.bytes;
	unsigned count = (unsigned)read_number(&at);
	for (unsigned i = 0; i < count; i++) {
		size_t size = read_number(&at);
		words[i] = (struct rl_slice){at, size};
		at += size + 2;
	}
	return count;
}

void rl_request_read(struct rl_slice bytes, enum rl_form form, struct rl_request *r)
{
	static const struct {
		uint8_t name, token, ttl;
	} places[RL_FORM_COUNT] = {
	    [RL_FORM_SHA] = {3, 4, 5},
	    [RL_FORM_TEXT] = {3, 4, 5},
	    [RL_FORM_DELEX] = {1, 3, 0},
	    [RL_FORM_DELIFEQ] = {1, 2, 0},
	};
	struct rl_slice words[MOST_WORDS] = {{NULL, 0}};
	bool set = rl_script_of(r->operation) == RL_SCRIPT_COUNT;
	unsigned count = read_words(bytes, words);
	unsigned token = set ? 2 : places[form].token, ttl = set ? 5 : places[form].ttl;
	r->name = words[set ? 1 : places[form].name];
	r->token = token < count ? words[token] : (struct rl_slice){"", 0};
	r->ttl_ms = 0;
	for (size_t i = 0; ttl > 0 && ttl < count && i < words[ttl].size; i++)
		r->ttl_ms = r->ttl_ms * 10 + (uint64_t)(words[ttl].bytes[i] - '0');
}
