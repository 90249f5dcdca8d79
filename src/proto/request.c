/* SPDX-License-Identifier: MIT */
#include "proto/request.h"

#include <string.h>

#include "proto/command.h"

/* ---- the key of the queue ---- */

/* Servers hash what is between the first brace and the next, unless that is nothing: the whole name then. */
static bool has_tag(struct rl_slice name)
{
	const char *open = memchr(name.bytes, '{', name.size);
	if (open == NULL)
		return false;
	size_t behind = name.size - (size_t)(open + 1 - name.bytes);
	const char *close = memchr(open + 1, '}', behind);
	return close != NULL && close > open + 1;
}

enum { SHORT = 256 };

/* Where it is put together: in `room` if it is short, as nearly all are, else in `large`. */
struct side_key {
	char room[SHORT];
	struct rl_buffer large;
};

struct sides {
	struct side_key queue, offers;
	char ttl[24], terms[48];
};

/* Beside the lock's own, in the same slot of a cluster. NULL: out of memory. */
static struct rl_slice side_key(struct side_key *side, struct rl_slice name, struct rl_slice mark)
{
	size_t brace = has_tag(name) ? 0 : 1, size = name.size + 2 * brace + mark.size;
	if (size > SHORT && !rl_buffer_reserve(&side->large, size))
		return (struct rl_slice){NULL, 0};
	char *at = size > SHORT ? side->large.bytes : side->room;
	memcpy(at, "{", brace);
	memcpy(at + brace, name.bytes, name.size);
	memcpy(at + brace + name.size, "}", brace);
	memcpy(at + 2 * brace + name.size, mark.bytes, mark.size);
	return (struct rl_slice){at, size};
}

/* ---- as bytes ---- */

static struct rl_slice digits(char *room, uint64_t number)
{
	return (struct rl_slice){room, rl_command_digits(room, number)};
}

static struct rl_slice terms(char *room, const struct rl_request *r)
{
	size_t used = rl_command_digits(room, r->patience_ms);
	room[used++] = ' ';
	return (struct rl_slice){room, used + rl_command_digits(room + used, r->offered_ns)};
}

static struct rl_slice or_empty(struct rl_slice text)
{
	return text.size > 0 ? text : (struct rl_slice){"", 0};
}

/* NULL: out of memory. */
static struct rl_slice part(const struct rl_request *r, enum rl_word_kind kind, struct sides *sides)
{
	switch (kind) {
	case RL_WORD_NAME:
		return r->name;
	case RL_WORD_TOKEN:
		return or_empty(r->token);
	case RL_WORD_TTL:
		return digits(sides->ttl, r->ttl_ms);
	case RL_WORD_QUEUE:
		return side_key(&sides->queue, r->name, rl_slice_of(":redlock:queue"));
	case RL_WORD_OFFERS:
		return side_key(&sides->offers, r->name, rl_slice_of(":redlock:offers"));
	case RL_WORD_PLACE:
		return or_empty(r->place);
	case RL_WORD_PATIENCE:
		return digits(sides->terms, r->patience_ms);
	case RL_WORD_TERMS:
		return terms(sides->terms, r);
	case RL_WORD_BARS:
		return (struct rl_slice){r->quiet ? "2" : "1", r->bars};
	default:
		return or_empty(r->next);
	}
}

bool rl_request_write(struct rl_buffer *out, const struct rl_request *r, enum rl_form form)
{
	struct sides sides;
	struct rl_slice words[RL_OP_WORDS];
	const struct rl_word *word = rl_ops[r->operation].words[form];
	bool ok = true;
	unsigned count = 0;
	sides.queue.large = sides.offers.large = (struct rl_buffer){0};
	for (; ok && word->kind != RL_WORD_END; word++) {
		words[count] = word->kind == RL_WORD_FIXED ? word->fixed : part(r, word->kind, &sides);
		ok = words[count++].bytes != NULL;
	}
	ok = ok && rl_command_write(out, words, count);
	if (sides.queue.large.bytes != NULL)
		rl_buffer_free(&sides.queue.large);
	if (sides.offers.large.bytes != NULL)
		rl_buffer_free(&sides.offers.large);
	return ok;
}

static uint64_t number_of(struct rl_slice digits)
{
	uint64_t number = 0;
	for (size_t i = 0; i < digits.size; i++)
		number = number * 10 + (uint64_t)(digits.bytes[i] - '0');
	return number;
}

static void read_terms(struct rl_slice text, struct rl_request *r)
{
	const char *space = memchr(text.bytes, ' ', text.size);
	size_t size = space != NULL ? (size_t)(space - text.bytes) : text.size;
	r->patience_ms = number_of((struct rl_slice){text.bytes, size});
	if (space != NULL)
		r->offered_ns = number_of((struct rl_slice){space + 1, text.size - size - 1});
}

void rl_request_read(struct rl_slice bytes, enum rl_form form, struct rl_request *r)
{
	struct rl_slice words[RL_OP_WORDS], parts[RL_WORD_FIXED];
	const struct rl_word *row = rl_ops[r->operation].words[form];
	for (unsigned i = 0; i < RL_WORD_FIXED; i++)
		parts[i] = (struct rl_slice){"", 0};
	unsigned count = rl_command_read(bytes, words);
	for (unsigned i = 0; i < count; i++)
		if (row[i].kind < RL_WORD_FIXED)
			parts[row[i].kind] = words[i];
	r->name = parts[RL_WORD_NAME];
	r->token = parts[RL_WORD_TOKEN];
	r->place = parts[RL_WORD_PLACE];
	r->ttl_ms = number_of(parts[RL_WORD_TTL]);
	r->next = parts[RL_WORD_NEXT];
	r->bars = parts[RL_WORD_BARS].size > 0;
	r->quiet = rl_slice_same(parts[RL_WORD_BARS], rl_slice_of("2"));
	r->patience_ms = number_of(parts[RL_WORD_PATIENCE]);
	if (parts[RL_WORD_TERMS].size > 0)
		read_terms(parts[RL_WORD_TERMS], r);
}
