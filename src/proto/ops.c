/* SPDX-License-Identifier: MIT */
/* The table of operations. cmake/operations.py makes its rows of the signatures in the folder ops. */
#include "proto/ops.h"

#include "proto/side.h"

/* clang-format off */ /* its versions do not agree on these */
#define PART(name) {.kind = RL_WORD_##name}
#define RULE(word) {.kind = RL_WORD_RULE + RL_RULE_##word}
#define RECORD(word) {.kind = RL_WORD_RECORD + RL_RECORD_##word}
#define FIXED(text) {RL_WORD_FIXED, {text, sizeof(text) - 1}}
#define WORDS(...) (const struct rl_word[]){__VA_ARGS__, PART(END)}
#define FIELDS(...) (const uint8_t[]){__VA_ARGS__, RL_FIELD_END}
#define OUTCOMES(...) (const struct rl_outcome[]){__VA_ARGS__, {.vote = REDLOCK_VOTE_PENDING}}
/* clang-format on */
#define FORM(name) RL_FORM_BIT(RL_FORM_##name)

const struct rl_op rl_ops[RL_OP_COUNT] = {
    [RL_OP_NONE] = {.script = RL_SCRIPT_COUNT},
#include "proto/operations_generated.h"
};
