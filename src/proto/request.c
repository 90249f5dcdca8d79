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
static const char mark[] = ":redlock:queue";

/* Where it is put together: in `room` if it is short, as nearly all are, else in `large`. */
struct side {
	char room[SHORT], patience[24];
	struct rl_buffer large;
};

/* Beside the lock's own, in the same slot of a cluster. NULL: out of memory. */
static struct rl_slice queue_key(struct rl_slice name, struct side *side)
{
	size_t brace = has_tag(name) ? 0 : 1, size = name.size + 2 * brace + sizeof mark - 1;
	if (size > SHORT && !rl_buffer_reserve(&side->large, size))
		return (struct rl_slice){NULL, 0};
	char *at = size > SHORT ? side->large.bytes : side->room;
	memcpy(at, "{", brace);
	memcpy(at + brace, name.bytes, name.size);
	memcpy(at + brace + name.size, "}", brace);
	memcpy(at + 2 * brace + name.size, mark, sizeof mark - 1);
	return (struct rl_slice){at, size};
}

/* ---- as bytes ---- */

/* False: out of memory. */
static bool put_queue(struct rl_slice *parts, const struct rl_request *r, struct side *side)
{
	parts[RL_WORD_QUEUE] = queue_key(r->name, side);
	parts[RL_WORD_PLACE] = r->place.size > 0 ? r->place : (struct rl_slice){"", 0};
	parts[RL_WORD_PATIENCE] = (struct rl_slice){"0", 1};
	if (r->patience_ms > 0)
		parts[RL_WORD_PATIENCE] =
		    (struct rl_slice){side->patience, rl_command_digits(side->patience, r->patience_ms)};
	return parts[RL_WORD_QUEUE].bytes != NULL;
}

bool rl_request_write(struct rl_buffer *out, const struct rl_request *r, enum rl_form form)
{
	char ttl[24];
	struct side side;
	struct rl_slice words[RL_OP_WORDS], parts[RL_WORD_FIXED];
	const struct rl_word *word = rl_ops[r->operation].words[form];
	unsigned count = 0;
	side.large = (struct rl_buffer){0};
	parts[RL_WORD_NAME] = r->name;
	parts[RL_WORD_TOKEN] = r->token;
	parts[RL_WORD_TTL] = (struct rl_slice){ttl, rl_command_digits(ttl, r->ttl_ms)};
	if ((RL_FORMS_QUEUE >> form & 1) != 0 && !put_queue(parts, r, &side))
		return false;
	for (; word->kind != RL_WORD_END; word++)
		words[count++] = word->kind == RL_WORD_FIXED ? word->fixed : parts[word->kind];
	bool ok = rl_command_write(out, words, count);
	if (side.large.bytes != NULL)
		rl_buffer_free(&side.large);
	return ok;
}

static uint64_t number_of(struct rl_slice digits)
{
	uint64_t number = 0;
	for (size_t i = 0; i < digits.size; i++)
		number = number * 10 + (uint64_t)(digits.bytes[i] - '0');
	return number;
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
	r->patience_ms = number_of(parts[RL_WORD_PATIENCE]);
}
