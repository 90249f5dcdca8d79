/* SPDX-License-Identifier: MIT */
/*
 * Requests as bytes: whatever the name, the token and the TTL are, a command has the words it should have,
 * byte for byte; and the form that is made out of EVALSHA when a server does not know the script is the EVAL
 * form.
 *
 * Input: operation, TTL, size of the name, then the name and the token.
 */
#include "fuzz.h"

#include "net/request.h"
#include "words.h"

static void check_word(const struct words *words, unsigned i, const void *bytes, size_t size)
{
	must(words->at[i].size == size);
	must(size == 0 || memcmp(words->at[i].bytes, bytes, size) == 0);
}

static void check_text(const struct words *words, unsigned i, const char *text)
{
	check_word(words, i, text, strlen(text));
}

static void check_form(const struct rl_request *r, const struct rl_buffer *form, bool by_text)
{
	static const char *const set[] = {"SET", NULL, NULL, "NX", "PX", NULL};
	enum rl_script script = rl_script_of(r->operation);
	struct words words;
	char ttl[24];
	must(words_parse(form->bytes, form->size, &words) == form->size);
	must(words.complete);
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
	const struct rl_buffer *by_sha = rl_wire_form(&wire, &r, false);
	const struct rl_buffer *by_text = rl_wire_form(&wire, &r, true);
	must(by_sha != NULL && by_text != NULL);
	check_form(&r, by_sha, false);
	if (r.operation == REDLOCK_OP_ACQUIRE) {
		must(by_sha == by_text);
	} else {
		struct rl_buffer again = {0};
		check_form(&r, by_text, true);
		must(rl_request_by_text(&again, rl_script_of(r.operation),
		                        (struct rl_slice){by_sha->bytes, by_sha->size}));
		must(again.size == by_text->size && memcmp(again.bytes, by_text->bytes, again.size) == 0);
		rl_buffer_free(&again);
	}
	rl_wire_free(&wire);
	return 0;
}
