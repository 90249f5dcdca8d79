/* SPDX-License-Identifier: MIT */
/*
 * Replies as bytes. The same bytes must give the same replies however they are cut into reads; every text of
 * a reply is where it says it is; and what is garbage once stays garbage.
 *
 * Input: one byte for the number of bytes in each read of the second reader (0: it changes with every read),
 * then what the server says. A byte from 0xc0 stands for many `x`: long texts in short inputs.
 */
#include "fuzz.h"

#include "expected.h"
#include "feed.h"
#include "proto/answer.h"

enum { MOST_REPLIES = 64, MOST_BYTES = 3 * RL_RESP_ARENA, FIRST_LONG = 0xc0, LONG_STEP = 80 };

/* All replies that some bytes make, as one number for each. */
struct replies {
	uint64_t marks[MOST_REPLIES];
	unsigned count;
	bool garbage;
};

static uint64_t mix(uint64_t mark, const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		mark = (mark ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3u; /* FNV-1a */
	return mark;
}

static uint64_t mark_of_value(uint64_t mark, const struct rl_reply_value *v)
{
	must(v->type <= RL_REPLY_ARRAY);
	mark = mix(mark, &v->type, sizeof v->type);
	if (v->type == RL_REPLY_INTEGER)
		return mix(mark, &v->integer, sizeof v->integer);
	if (v->type != RL_REPLY_STATUS && v->type != RL_REPLY_ERROR && v->type != RL_REPLY_STRING)
		return mark;
	must(v->text != NULL && v->kept <= v->length && v->kept < RL_RESP_ARENA);
	must(v->text[v->kept] == '\0');
	mark = mix(mark, &v->length, sizeof v->length);
	return mix(mark, v->text, v->kept);
}

static uint64_t mark_of(const struct rl_reply *r)
{
	uint64_t mark = mark_of_value(0xcbf29ce484222325u, &r->value);
	must(r->value.type != RL_REPLY_ARRAY || r->count <= RL_REPLY_ITEMS);
	for (unsigned i = 0; r->value.type == RL_REPLY_ARRAY && i < r->count; i++) {
		must(r->items[i].type != RL_REPLY_ARRAY);
		mark = mark_of_value(mark, &r->items[i]);
	}
	return mark;
}

/* Every operation has a vote for every reply, and only the right shape is a yes. */
static void check_votes(const struct rl_reply *r)
{
	for (unsigned i = REDLOCK_OP_ACQUIRE; i < RL_OP_COUNT; i++) {
		struct rl_vote read;
		rl_answer_read(rl_ops[i].outcomes, r, &read);
		enum redlock_vote_code vote = read.code;
		must(vote > REDLOCK_VOTE_PENDING && vote < REDLOCK_VOTE_COUNT && vote != REDLOCK_VOTE_TIMEOUT);
		must(vote != REDLOCK_VOTE_YES || expected_yes(i, r));
	}
}

/* ---- the same bytes, read by hand: what a reply says must be what is there ---- */

struct hand {
	const char *bytes;
	size_t size;
	size_t at;
};

/* The line at `at`, without its mark and end. */
static struct rl_slice read_line(struct hand *h)
{
	const char *begin = h->bytes + h->at + 1;
	const char *end = h->at < h->size ? memmem(begin, h->size - h->at - 1, "\r\n", 2) : NULL;
	must(end != NULL);
	h->at = (size_t)(end + 2 - h->bytes);
	return (struct rl_slice){begin, (size_t)(end - begin)};
}

/* The line as a number, in the one way to write it. */
static long long read_number(struct hand *h)
{
	char digits[32] = "";
	char again[32];
	struct rl_slice line = read_line(h);
	must(line.size < sizeof digits);
	memcpy(digits, line.bytes, line.size);
	long long value = strtoll(digits, NULL, 10);
	snprintf(again, sizeof again, "%lld", value);
	must(strcmp(digits, again) == 0);
	return value;
}

static void check_text(const struct rl_reply_value *v, enum rl_reply_type type, struct rl_slice text)
{
	must(v->type == type && v->length == text.size);
	must(memcmp(v->text, text.bytes, v->kept) == 0);
}

static void check_string(struct hand *h, const struct rl_reply_value *v)
{
	long long size = read_number(h);
	if (size == -1) {
		must(v->type == RL_REPLY_NIL);
		return;
	}
	must(size >= 0 && h->size - h->at >= (size_t)size + 2);
	check_text(v, RL_REPLY_STRING, (struct rl_slice){h->bytes + h->at, (size_t)size});
	h->at += (size_t)size + 2; /* the reader does not look at the line end either */
}

static void check_one(struct hand *h, const struct rl_reply_value *v)
{
	char mark = h->at < h->size ? h->bytes[h->at] : '\0';
	must(mark == '+' || mark == '-' || mark == ':' || mark == '$' || mark == '*');
	if (mark == '*') /* in an array: no other */
		must(read_number(h) == -1 && v->type == RL_REPLY_NIL);
	else if (mark == '$')
		check_string(h, v);
	else if (mark == ':')
		must(v->type == RL_REPLY_INTEGER && v->integer == read_number(h));
	else
		check_text(v, mark == '+' ? RL_REPLY_STATUS : RL_REPLY_ERROR, read_line(h));
}

static void check_reply(struct hand *h, const struct rl_reply *r)
{
	if (h->at >= h->size || h->bytes[h->at] != '*') {
		check_one(h, &r->value);
		return;
	}
	long long count = read_number(h);
	must(count == -1 ? r->value.type == RL_REPLY_NIL
	                 : r->value.type == RL_REPLY_ARRAY && r->count == (unsigned long long)count);
	for (long long i = 0; i < count; i++)
		check_one(h, &r->items[i]);
}

/* ---- two readers ---- */

/* `hand`: NULL to do without. */
static void collect(struct rl_resp *resp, struct replies *ret, struct hand *hand)
{
	const struct rl_reply *reply;
	int got = 1;
	while (!ret->garbage && ret->count < MOST_REPLIES && (got = rl_resp_next(resp, &reply)) == 1) {
		check_votes(reply);
		if (hand != NULL)
			check_reply(hand, reply);
		ret->marks[ret->count++] = mark_of(reply);
	}
	ret->garbage = ret->garbage || got < 0;
}

static void read_in_parts(const uint8_t *bytes, size_t size, size_t part, struct replies *ret)
{
	struct rl_resp resp;
	must(rl_resp_open(&resp));
	*ret = (struct replies){0};
	struct hand hand = {(const char *)bytes, size, 0};
	for (size_t at = 0, step = 0; at < size && !ret->garbage; at += step) {
		step = part > 0 ? part : 1 + at % 7 + at / 64;
		step = step < size - at ? step : size - at;
		ret->garbage = !feed(&resp, (const char *)bytes + at, step);
		collect(&resp, ret, part == size ? &hand : NULL);
	}
	const struct rl_reply *reply;
	must(!ret->garbage || ret->count == MOST_REPLIES || rl_resp_next(&resp, &reply) != 1);
	rl_resp_close(&resp);
}

/* Expands the input into the server's bytes. Returns its size, at most RL_RESP_UNPARSED: an unfinished reply
 * of more is garbage as soon as the cut lets it be seen. */
static size_t expand(struct feed *f, uint8_t *ret)
{
	size_t size = 0;
	while (f->left > 0) {
		unsigned byte = feed_byte(f);
		size_t many = byte >= FIRST_LONG ? (size_t)(byte - FIRST_LONG + 1) * LONG_STEP : 1;
		if (size + many > MOST_BYTES)
			break;
		memset(ret + size, byte >= FIRST_LONG ? 'x' : (int)byte, many);
		size += many;
	}
	return size;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static uint8_t said[MOST_BYTES];
	struct feed feed = {bytes, size};
	size_t part = feed_byte(&feed);
	struct replies whole;
	struct replies cut;
	size = expand(&feed, said);
	if (size == 0)
		return 0;
	part = part == 0 || size / part < 100 ? part : size / 100;
	read_in_parts(said, size, size, &whole);
	read_in_parts(said, size, part, &cut);
	must(whole.count == cut.count);
	must(memcmp(whole.marks, cut.marks, whole.count * sizeof whole.marks[0]) == 0);
	must(whole.garbage == cut.garbage || whole.count == MOST_REPLIES);
	return 0;
}
