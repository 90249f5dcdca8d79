/* SPDX-License-Identifier: MIT */
/*
 * Requests as bytes: whatever the name, the token and the TTL are, a command has the words it should have,
 * byte for byte; and the form that is made out of EVALSHA when a server does not know the script is the EVAL
 * form.
 *
 * Input: operation, TTL, size of the name, then the name and the token.
 */
#include "fuzz.h"

#include "proto/wire.h"
#include "resp.h"

static void check_word(const struct words *words, unsigned i, const void *bytes, size_t size)
{
	must(words->at[i].size == size);
	must(size == 0 || memcmp(words->at[i].at, bytes, size) == 0);
}

static void check_text(const struct words *words, unsigned i, const char *text)
{
	check_word(words, i, text, strlen(text));
}

static void check_form(const struct rl_request *r, const struct rl_buffer *form, bool by_text)
{
	static const char *const set[] = {"SET", NULL, NULL, "NX", "PX", NULL};
	enum rl_script script = rl_ops[r->operation].script;
	struct words words;
	char ttl[24];
	must(resp_command(form->bytes, form->size, &words) == form->size);
	snprintf(ttl, sizeof ttl, "%llu", (unsigned long long)r->ttl_ms);
	if (r->operation == REDLOCK_OP_ACQUIRE) {
		must(words.count == COUNT(set));
		for (unsigned i = 0; i < COUNT(set); i++)
			if (set[i] != NULL)
				check_text(&words, i, set[i]);
		check_word(&words, 1, r->name.bytes, r->name.size);
		check_word(&words, 2, r->token.bytes, r->token.size);
		check_text(&words, 5, ttl);
		return;
	}
	check_text(&words, 0, by_text ? "EVAL" : "EVALSHA");
	check_text(&words, 1, by_text ? rl_scripts[script].text : rl_scripts[script].sha);
	check_text(&words, 2, "1");
	check_word(&words, 3, r->name.bytes, r->name.size);
	if (r->operation != REDLOCK_OP_QUERY)
		check_word(&words, 4, r->token.bytes, r->token.size);
	if (r->operation == REDLOCK_OP_EXTEND)
		check_text(&words, 5, ttl);
	must(words.count == (r->operation == REDLOCK_OP_QUERY     ? 4u
	                     : r->operation == REDLOCK_OP_RELEASE ? 5u
	                                                          : 6u));
}

/* The forms that each operation has. */
static const unsigned forms_of[] = {
    [REDLOCK_OP_ACQUIRE] = 1u << RL_FORM_PLAIN,
    [REDLOCK_OP_EXTEND] = 1u << RL_FORM_SHA | 1u << RL_FORM_TEXT,
    [REDLOCK_OP_RELEASE] =
        1u << RL_FORM_SHA | 1u << RL_FORM_TEXT | 1u << RL_FORM_DELEX | 1u << RL_FORM_DELIFEQ,
    [REDLOCK_OP_QUERY] = 1u << RL_FORM_SHA | 1u << RL_FORM_TEXT,
};

static bool same(struct rl_slice a, struct rl_slice b)
{
	return a.size == b.size && memcmp(a.bytes, b.bytes, a.size) == 0;
}

/* What is read from any form is what was written. */
static void check_read(const struct rl_request *r, const struct rl_buffer *bytes, enum rl_form form)
{
	struct rl_request got = {.operation = r->operation};
	must(bytes != NULL);
	rl_request_read((struct rl_slice){bytes->bytes, bytes->size}, form, &got);
	must(same(got.name, r->name));
	must(r->operation == REDLOCK_OP_QUERY || same(got.token, r->token));
	must(r->operation == REDLOCK_OP_QUERY || r->operation == REDLOCK_OP_RELEASE || got.ttl_ms == r->ttl_ms);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct feed feed = {bytes, size};
	const uint8_t *name;
	const uint8_t *token;
	struct rl_request r = {.operation = (enum redlock_operation)(1 + feed_below(&feed, REDLOCK_OP_QUERY)),
	                       .ttl_ms = feed_number(&feed)};
	size_t name_size = feed_take(&feed, feed_byte(&feed), &name);
	size_t token_size = feed_take(&feed, feed.left, &token);
	r.name = (struct rl_slice){name_size > 0 ? (const char *)name : "", name_size};
	r.token = (struct rl_slice){token_size > 0 ? (const char *)token : "", token_size};

	struct rl_wire wire = {0};
	for (unsigned form = 0; form < RL_FORM_WATCH; form++) {
		bool has = rl_ops[r.operation].words[form] != NULL;
		must(has == (forms_of[r.operation] >> form & 1));
		if (!has)
			continue;
		const struct rl_buffer *written = rl_wire_form(&wire, &r, (enum rl_form)form);
		must(written != NULL);
		if (form == RL_FORM_PLAIN || form == RL_FORM_SHA || form == RL_FORM_TEXT)
			check_form(&r, written, form == RL_FORM_TEXT);
		check_read(&r, written, (enum rl_form)form);
	}
	rl_wire_free(&wire);
	return 0;
}
