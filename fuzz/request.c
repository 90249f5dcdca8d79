/* SPDX-License-Identifier: MIT */
/*
 * Requests as bytes: whatever the name, the token and the TTL are, each operation has in each of its forms
 * the words it should have, byte for byte, and no other forms; and what is read back is what was written.
 *
 * Input: TTL, size of the name, then the name and the token.
 */
#include "fuzz.h"

#include "expected.h"
#include "proto/request.h"

static bool same(struct rl_slice a, struct rl_slice b)
{
	return a.size == b.size && memcmp(a.bytes, b.bytes, a.size) == 0;
}

static void check_written(const struct rl_buffer *bytes, const struct words *want)
{
	struct words words;
	must(bytes != NULL && resp_command(bytes->bytes, bytes->size, &words) == bytes->size);
	must(words.count == want->count);
	for (unsigned i = 0; i < words.count; i++)
		must(bytes_equal(words.at[i], want->at[i]));
}

/* A request that is read from any form equals the one that was written, as far as it is in the words. */
static void check_read(const struct rl_request *r, const struct rl_buffer *bytes, enum rl_form form)
{
	const char *words = expected[r->operation].words[form];
	struct rl_request got = {.operation = r->operation};
	rl_request_read((struct rl_slice){bytes->bytes, bytes->size}, form, &got);
	must(strstr(words, "NAME") == NULL || same(got.name, r->name));
	must(strstr(words, "TOKEN") == NULL || same(got.token, r->token));
	must(strstr(words, "TTL") == NULL || got.ttl_ms == r->ttl_ms);
	must(strstr(words, "PLACE") == NULL || same(got.place, r->place));
	must(strstr(words, "PATIENCE") == NULL || got.patience_ms == r->patience_ms);
	must(strstr(words, "TERMS") == NULL || got.offered_ns == r->offered_ns);
	must(strstr(words, "NEXT") == NULL || same(got.next, r->next));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct feed feed = {bytes, size};
	const uint8_t *name;
	const uint8_t *token;
	struct rl_request r = {.ttl_ms = feed_number(&feed), .place = {"0123456789abcdef.7", 18}};
	size_t name_size = feed_take(&feed, feed_byte(&feed), &name);
	size_t token_size = feed_take(&feed, feed.left, &token);
	r.name = (struct rl_slice){name_size > 0 ? (const char *)name : "", name_size};
	r.line = r.name;
	r.patience_ms = r.ttl_ms >> 1;
	r.offered_ns = ~r.ttl_ms;
	r.next = r.place;
	struct rl_slice record[RL_RECORD_WORDS];
	for (unsigned i = 0; i < RL_RECORD_WORDS; i++)
		record[i] = (struct rl_slice){"0123456789", i};
	r.record = record;
	r.pass = record[5];
	r.token = (struct rl_slice){token_size > 0 ? (const char *)token : "", token_size};

	struct rl_wire wire = {0};
	for (r.operation = 0; r.operation < RL_OP_COUNT; r.operation++) {
		rl_request_free(&wire);
		bool raises = r.operation == RL_OP_RAISE;
		r.number = raises ? 1 + (r.ttl_ms >> 1) : 0;
		r.fenced = raises || name_size % 2 == 1;
		for (unsigned form = 0; form < RL_FORM_WATCH; form++) {
			struct words want;
			struct expected_room room;
			bool has = rl_ops[r.operation].words[form] != NULL;
			must(has == expected_words(&r, (enum rl_form)form, &room, &want));
			const struct rl_buffer *written = has ? rl_request_bytes(&wire, &r, (enum rl_form)form) : NULL;
			if (has) {
				check_written(written, &want);
				check_read(&r, written, (enum rl_form)form);
			}
			expected_free(&room);
		}
	}
	rl_request_free(&wire);
	return 0;
}
