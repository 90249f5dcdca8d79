/* SPDX-License-Identifier: MIT */
#include "expected.h"

#include <stdio.h>
#include <stdlib.h>

#include "scripts.h"

#define SCRIPT(call) [RL_FORM_SHA] = "EVALSHA " call, [RL_FORM_TEXT] = "EVAL " call

const struct expected expected[RL_OP_COUNT] = {
    [REDLOCK_OP_ACQUIRE] = {{[RL_FORM_PLAIN] = "SET NAME TOKEN NX PX TTL"}, "+OK\r\n", "$-1\r\n"},
    [REDLOCK_OP_EXTEND] = {{SCRIPT("extend 1 NAME TOKEN TTL")}, ":1\r\n", ":0\r\n"},
    [REDLOCK_OP_RELEASE] = {{[RL_FORM_DELEX] = "DELEX NAME IFEQ TOKEN",
                             [RL_FORM_DELIFEQ] = "DELIFEQ NAME TOKEN",
                             SCRIPT("release 1 NAME TOKEN")},
                            ":1\r\n",
                            ":0\r\n"},
    [REDLOCK_OP_QUERY] = {{SCRIPT("inspect 1 NAME")},
                          "*4\r\n$6\r\nstring\r\n:9\r\n:2\r\n$2\r\nt0\r\n",
                          "*4\r\n$4\r\nnone\r\n:-2\r\n:0\r\n$0\r\n\r\n"},
    [REDLOCK_OP_PROBE] = {{[RL_FORM_PLAIN] = "SET NAME TOKEN XX PX TTL"}, "$-1\r\n", "+OK\r\n"},
};

/* What a word stands for. */
static struct bytes part(const struct rl_request *r, enum rl_form form, struct bytes ttl, struct bytes word)
{
	if (word_is(word, "TTL"))
		return ttl;
	if (word_is(word, "NAME") || word_is(word, "TOKEN")) {
		const struct rl_slice *slice = word.size == 4 ? &r->name : &r->token;
		return (struct bytes){slice->bytes, slice->size};
	}
	for (unsigned i = 0; i < RL_SCRIPT_COUNT; i++)
		if (bytes_equal(word, text_bytes(rl_scripts[i].name)))
			return text_bytes(form == RL_FORM_SHA ? rl_scripts[i].sha : rl_scripts[i].text);
	return word;
}

bool expected_words(const struct rl_request *r, enum rl_form form, char digits[24], struct words *ret)
{
	const char *at = expected[r->operation].words[form];
	int size = snprintf(digits, 24, "%llu", (unsigned long long)r->ttl_ms);
	ret->count = 0;
	for (size_t length; at != NULL && (length = strcspn(at, " ")) > 0; at += length + (at[length] == ' '))
		ret->at[ret->count++] =
		    part(r, form, (struct bytes){digits, (size_t)size}, (struct bytes){at, length});
	return at != NULL;
}

bool expected_yes(unsigned operation, const struct rl_reply *r)
{
	const char *yes = expected[operation].yes;
	if (*yes == '+')
		return r->value.type == RL_REPLY_STATUS && strcmp(r->value.text, "OK") == 0;
	if (*yes == ':')
		return r->value.type == RL_REPLY_INTEGER && r->value.integer == strtoll(yes + 1, NULL, 10);
	if (*yes == '*')
		return r->value.type == RL_REPLY_ARRAY && r->count == strtoul(yes + 1, NULL, 10);
	return r->value.type == RL_REPLY_NIL;
}
