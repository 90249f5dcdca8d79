/* SPDX-License-Identifier: MIT */
#include "proto/request.h"

#include "proto/command.h"

bool rl_request_write(struct rl_buffer *out, const struct rl_request *r, enum rl_form form)
{
	char digits[24];
	struct rl_slice words[RL_OP_WORDS];
	const struct rl_slice parts[] = {[RL_WORD_NAME] = r->name,
	                                 [RL_WORD_TOKEN] = r->token,
	                                 [RL_WORD_TTL] = {digits, rl_command_digits(digits, r->ttl_ms)}};
	const struct rl_word *word = rl_ops[r->operation].words[form];
	unsigned count = 0;
	for (; word->kind != RL_WORD_END; word++)
		words[count++] = word->kind == RL_WORD_FIXED ? word->fixed : parts[word->kind];
	return rl_command_write(out, words, count);
}

void rl_request_read(struct rl_slice bytes, enum rl_form form, struct rl_request *r)
{
	struct rl_slice words[RL_OP_WORDS];
	struct rl_slice parts[] = {[RL_WORD_NAME] = {"", 0}, [RL_WORD_TOKEN] = {"", 0}, [RL_WORD_TTL] = {"", 0}};
	const struct rl_word *row = rl_ops[r->operation].words[form];
	unsigned count = rl_command_read(bytes, words);
	for (unsigned i = 0; i < count; i++)
		if (row[i].kind < RL_WORD_FIXED)
			parts[row[i].kind] = words[i];
	r->name = parts[RL_WORD_NAME];
	r->token = parts[RL_WORD_TOKEN];
	r->ttl_ms = 0;
	for (size_t i = 0; i < parts[RL_WORD_TTL].size; i++)
		r->ttl_ms = r->ttl_ms * 10 + (uint64_t)(parts[RL_WORD_TTL].bytes[i] - '0');
}
